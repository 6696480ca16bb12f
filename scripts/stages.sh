# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# The stages of scripts/check, which sources this: stage_NAME runs one and counts what it found.
# Lists of words are split on purpose; the names in them have no spaces.
# shellcheck shell=sh disable=SC2046,SC2086,SC2016,SC2034

# unit_tests STAGE PATTERN: its programs of unit tests whose names match
unit_tests () {
    (cd "$top/build/check-$1" && find tests/unit -maxdepth 1 -name 'test_*' -type f -perm -u+x) |
        grep -E "$2" | sort
}

# The build of the gcc stage is there.
gcc_ready () {
    [ -x build/check-gcc/wcodec ] || { configure gcc CC=gcc $everything && compile gcc; }
}

# Where kernels are not what is looked at: those of AVX-512 take a third of the time of all.
few_kernels=--with-cpu-levels=sse41,avx2,neon
everything='--enable-werror --with-cmocka --with-hwloc --with-lz4'
# Nor does the quick form build them where the processor cannot run them.
if [ $level = quick ] && grep -qw avx2 /proc/cpuinfo && ! grep -qw avx512_vbmi2 /proc/cpuinfo; then
    everything="$everything $few_kernels"
fi
# The CUDA plugin needs no toolkit; its tests skip what needs a driver. One architecture, whose
# kernels take a minute.
cuda='--with-cuda --with-cuda-compiler=clang --with-cuda-arch=80 PTXAS=no'
# No optional library, no shared library.
plain='--without-hwloc --without-lz4 --disable-shared --enable-static'
# Under sanitizers no OpenCL: its drivers bring whole compilers into the process, whose leaks and
# races would be reported as ours. Assertions are compiled in.
sanitized="$everything --without-opencl --enable-debug"

# What is neither there nor could be installed is left out, and counts as skipped.
leave_out_missing () {
    for part in cmocka:cmocka hwloc:hwloc lz4:liblz4; do
        name=${part%:*}
        pkg-config --exists "${part#*:}" 2>/dev/null && continue
        everything=$(echo "$everything" | sed "s/--with-$name/--without-$name/")
        sanitized=$(echo "$sanitized" | sed "s/--with-$name/--without-$name/")
        skipped setup "$name is not there: what needs it"
    done
}

# have_clang STAGE
have_clang () {
    command -v clang >/dev/null 2>&1 || skipped "$1" "no clang"
}

# What no compiler checks: layout, scripts, headers.
stage_lint () {
    now lint scripts/lint
    sh scripts/lint >"$log" 2>&1
    grep -v '^ok: ' "$log" | sed '$d'
    set -- $(tail -n 1 "$log") 0 0
    result lint scripts/lint "$1" "$3" "$5"
}

# cached COMMAND...: with gcc behind ccache, where that is. It finds an object again whose source is
# at the same place beside the build folder, "../..", and whose flags are the same.
cached () {
    without=$PATH
    if [ $level != quick ] && command -v ccache >/dev/null; then
        mkdir -p "$state/ccache"
        ln -sf "$(command -v ccache)" "$state/ccache/gcc"
        PATH=$state/ccache:$PATH
    fi
    "$@"
    ended=$?
    PATH=$without
    return $ended
}

stage_gcc () {
    [ $level = quick ] || set -- $cuda
    if pkg-config --exists ompi-c 2>/dev/null || pkg-config --exists mpich 2>/dev/null; then
        set -- "$@" --with-mpi
    fi
    cached whole gcc CC=gcc $everything "$@"
}

# python_ready STAGE PACKAGE...: a virtual environment build/STAGE with these packages of PyPI, in the
# versions that the tests passed with, where they can be had; it is kept for the next time
python_ready () {
    stage=$1 venv=$top/build/$1
    shift
    gcc_ready || return
    [ "$(cat "$venv/packages" 2>/dev/null)" != "$*" ] || return 0
    now "$stage" installing_Python_packages
    rm -rf "$venv"
    pip="$venv/bin/python -m pip install -q --disable-pip-version-check"
    if python3 -m venv "$venv" >"$log" 2>&1 &&
        { $pip -c tests/python/versions.txt "$@" >>"$log" 2>&1 || $pip "$@" >>"$log" 2>&1; }
    then
        echo "$*" >"$venv/packages"
    else
        tail -n 5 "$log"
        skipped "$stage" "its packages cannot be installed"
    fi
}

# run_pytest STAGE ARGUMENT...: on the library of the gcc stage; each test counts
run_pytest () {
    stage=$1 name=pytest
    shift
    [ "$1" != -p ] || name="pytest, $2"
    now "$stage" pytest
    WCODEC_LIBRARY=$top/build/check-gcc/.libs/libwcodec.so.0 \
        WCODEC_FAKE_PATH=$top/build/check-gcc/backends/fake/.libs PYTHONDONTWRITEBYTECODE=1 \
        timeout 900 "$top/build/$stage/bin/python" -m pytest -q -p no:cacheprovider "$@" \
        >"$log" 2>&1 </dev/null
    status=$?
    # "3 failed, 98 passed, 13 skipped, 2 warnings in 29.67s (0:01:11)"
    set -- $(tail -n 1 "$log" | tr ',' '\n' | awk '
        / passed/ {p = $1} / failed/ {f += $1} / error/ {f += $1} / skipped/ {s = $1}
        END {print p + 0, f + 0, s + 0}')
    [ $status -eq 0 ] || [ "$2" -ne 0 ] || set -- "$1" 1 "$3"
    result "$stage" "$name" "$1" "$2" "$3"
    [ "$2" -eq 0 ] || tail -n 80 "$log"
}

# The Python package with numpy; its declarations are those of the headers.
stage_python () {
    python_ready python numpy pytest safetensors ml_dtypes gguf onnx pycparser ruff fsspec \
        aiohttp || return
    one python "layout and lint by ruff" sh -c \
        'set -- --no-cache --config python/pyproject.toml python tests/python bench/python
         build/python/bin/ruff format -q --check "$@" && build/python/bin/ruff check -q "$@"'
    run_pytest python tests/python
}

# With torch, transformers and the types that mypy looks at.
stage_python_torch () {
    python_ready python-torch numpy pytest torch transformers accelerate safetensors ml_dtypes \
        diffusers peft scikit-learn vl-convert-python mypy || return
    one python-torch "mypy --strict" sh -c \
        'cd python && ../build/python-torch/bin/mypy --cache-dir ../build/mypy'
    run_pytest python-torch tests/python/test_torch.py tests/python/test_ladder.py \
        tests/python/test_learn.py tests/python/test_checkpoint.py \
        tests/python/test_cuda.py tests/python/test_cuda_process.py \
        tests/python/test_cuda_models.py tests/python/test_cuda_nn.py \
        tests/python/test_cuda_resident.py tests/python/test_cuda_transformers.py \
        tests/python/test_containers.py tests/python/test_convert.py \
        tests/python/test_distributed.py tests/python/test_distributed_load.py \
        tests/python/test_engines.py tests/python/test_documents.py \
        tests/python/test_nn.py tests/python/test_rssm.py tests/python/test_torch_resident.py \
        tests/python/test_transformers.py \
        tests/python/test_vectors.py
    run_pytest python-torch -p tests.python.fake_device tests/python/test_cuda.py
    run_pytest python-torch -p tests.python.fake_resident tests/python/test_cuda_models.py \
        tests/python/test_cuda_nn.py tests/python/test_cuda_resident.py \
        tests/python/test_cuda_transformers.py
}

# Reports with all that draws them, and in Chromium.
stage_python_report () {
    python_ready python-report numpy pytest vl-convert-python matplotlib squarify playwright || return
    run_pytest python-report tests/python/test_report.py tests/python/test_report_browser.py \
        tests/python/test_report_vectors.py
}

# A wheel of the Python package, tried where nothing else is. Without CUDA, whose kernels take
# minutes.
stage_wheel () {
    gcc_ready || return
    wheel=$top/build/check-wheel
    rm -rf "$wheel/wheels"
    one wheel scripts/make-wheel cached scripts/make-wheel --cuda=no --build="$wheel" \
        --output="$wheel/wheels" || return
    now wheel trying_the_wheel
    timeout 600 sh tests/build/wheel.sh "$wheel"/wheels/*.whl "$wheel/tools" \
        "$top/build/check-gcc/.libs/libwcodec.so.0" >"$log" 2>&1
    set -- $(tail -n 1 "$log" | grep ' passed, ') 0 1 1
    result wheel tests/build/wheel.sh "$1" "$3" "${5:-0}"
    [ "$3" -eq 0 ] || cat "$log"
}

# The unit tests alone, as compiled for users: by the same compiler the stage of sanitizers runs more.
stage_clang () {
    have_clang clang && configure clang CC=clang $everything && compile clang &&
        run_tests clang "$(all_tests clang | grep '^tests/unit/')"
}

# CUDA's kernels assemble, by each compiler that is there: for the oldest and newest architectures
# and Hopper's, in --full for all.
stage_cuda () {
    clang='75' nvcc='90 120'
    [ $level != full ] || clang='' nvcc=''
    registers "kernels by clang" sh tests/build/cuda.sh clang $clang
    registers "kernels by nvcc" sh tests/build/cuda.sh nvcc $nvcc
    registers "OpenCL's kernels by libnvvm" python3 tests/build/opencl_nvidia.py
}

# registers NAME COMMAND...: one that prints a line of registers and spills for each kernel
registers () {
    name=$1
    shift
    now cuda "$(echo "$name" | tr ' ' _)"
    "$@" >"$log" 2>&1
    case $? in
    0) result cuda "$name: $(grep -c registers "$log")" 1 0 0 ;;
    77) skipped cuda "$name: $(tail -n 1 "$log")" ;;
    *)
        result cuda "$name" 0 1 0
        grep -v ' registers, .* spilled$' "$log"
        ;;
    esac
}

# Tests that measure time, memory or stacks, or compare with the second decoder, run in the gcc stage. What
# compares kernels and codes whole tensors again and again is ten times as slow here, and what tries the
# command's options and headers of containers starts it hundreds of times: asan-gcc runs them in --full.
stage_asan () {
    have_clang asan || return
    configure asan CC=clang CFLAGS='-O1 -g' $sanitized --enable-sanitizers=address,undefined &&
        compile asan || return
    elsewhere='^tests/(oracle|build)/|^tests/unit/test_(write_memory|sched_background)$'
    elsewhere="$elsewhere|^tests/command/(bench|memory|options|containers|headers)|^fuzz/round_trip$"
    elsewhere="$elsewhere|^tests/unit/(checkdsp|test_(backend_emulated|encode_(tensor|levels)))$"
    run_tests asan "$(all_tests asan | grep -E -v "$elsewhere")"
}

stage_asan_gcc () {
    WCODEC_TEST_EXHAUSTIVE=1
    export WCODEC_TEST_EXHAUSTIVE
    whole asan-gcc CC=gcc CFLAGS='-O1 -g' $sanitized --enable-sanitizers=address,undefined
    unset WCODEC_TEST_EXHAUSTIVE
}

# tsan_with STAGE COMPILER [ELSEWHERE]: the programs that start threads (those of the format and
# registry_decode start none), but for the one that measures memory by coding everything again and
# again, and those of tests/unit/test_ELSEWHERE
tsan_with () {
    threaded='(sched|backend|registry|read|write|core_context|recurrent)'
    configure "$1" CC="$2" CFLAGS='-O1 -g' $sanitized $few_kernels --enable-sanitizers=thread ||
        return
    chosen=$(all_tests "$1" | grep -E "^tests/unit/test_$threaded" |
        grep -Ev "_(backend_lanes|registry_decode|sched_background|write_memory${3:+|$3})\$")
    # No other programs: the gcc stage has compiled those.
    programs="check_PROGRAMS=$(echo $chosen)"
    compile "$1" "$programs" && run_tests "$1" "$chosen" "$programs"
}

# What takes the longest of those that decode by the same threads, tsan-clang alone runs.
stage_tsan () {
    tsan_with tsan gcc 'read_(salvage|fragments|lossy)|write_compress_lossy'
}

stage_tsan_clang () {
    tsan_with tsan-clang clang
}

# opencl_ready STAGE: the OpenCL plugin's test is there
opencl_ready () {
    gcc_ready || return
    test=$top/build/check-gcc/tests/unit/test_backend_opencl
    [ -x "$test" ] || skipped "$1" "the plugin was not built"
}

# with_intel STAGE NAME COMMAND...: a check on Intel's OpenCL runtime for processors alone
with_intel () {
    stage=$1 name=$2
    shift 2
    one "$stage" "$name" env top_builddir="$top/build/check-gcc" \
        OCL_ICD_VENDORS="$top/build/intel-opencl/icd" \
        LD_LIBRARY_PATH="$top/build/intel-opencl/lib" "$@"
}

# Intel's runtime, by pip, where that finds it
intel_ready () {
    now "$1" "fetching_Intel's_runtime"
    scripts/setup-intel-opencl build/intel-opencl >"$log" 2>&1 ||
        skipped "$1" "Intel's runtime was not found"
}

# two_drivers STAGE TEST: on Intel's device and those of the installed drivers in one process
two_drivers () {
    mkdir -p build/opencl-drivers
    cp build/intel-opencl/icd/*.icd /etc/OpenCL/vendors/*.icd build/opencl-drivers 2>/dev/null
    one "$1" "two drivers: $2" env OCL_ICD_VENDORS="$top/build/opencl-drivers" \
        LD_LIBRARY_PATH="$top/build/intel-opencl/lib" \
        HWLOC_COMPONENTS=-opencl,-cuda,-nvml,-gl WCODEC_OPENCL_OPTIONS=-cl-opt-disable \
        make -C build/check-gcc -s check TESTS="$2"
}

# Sub-groups of all widths, which PoCL has not: a small part, compiled without the optimising that
# takes a minute for each kernel.
stage_subgroups () {
    opencl_ready subgroups && intel_ready subgroups || return
    with_intel subgroups "Intel's runtime, widths of 8 to 64" env WCODEC_TEST_VARIANT=subgroup \
        WCODEC_TEST_WIDTHS=1 WCODEC_OPENCL_FAST=1 WCODEC_OPENCL_OPTIONS=-cl-opt-disable \
        timeout 600 "$test" small
    two_drivers subgroups tests/unit/test_load_devices
}

# The OpenCL plugin in all forms: PoCL without sub-groups, oclgrind, and Intel's runtime with them.
stage_opencl () {
    opencl_ready opencl || return
    one opencl "installed drivers, every bit flipped" env top_builddir="$top/build/check-gcc" \
        WCODEC_TEST_EXHAUSTIVE=1 timeout 3600 "$test"
    one opencl "oclgrind" env top_builddir="$top/build/check-gcc" SANITIZER_FLAGS= \
        timeout 3600 sh tests/build/oclgrind.sh
    intel_ready opencl || return
    for variant in loops local subgroup; do
        with_intel opencl "Intel's runtime, $variant" env WCODEC_TEST_VARIANT=$variant \
            timeout 3600 "$test"
    done
    with_intel opencl "Intel's runtime, widths of 8 to 64" env WCODEC_TEST_VARIANT=subgroup \
        WCODEC_TEST_WIDTHS=1 WCODEC_OPENCL_FAST=1 WCODEC_OPENCL_OPTIONS=-cl-opt-disable \
        timeout 3600 "$test"
    two_drivers opencl tests/command/opencl.sh
}

# A few programs that cover parsing and memory; all of them would take an hour.
stage_valgrind () {
    gcc_ready || return
    parsing='_(core|io|sched_topology|coding_table|format_index|format_safetensors)'
    for program in $(unit_tests gcc "$parsing"); do
        one valgrind "$program" timeout 600 valgrind -q --error-exitcode=99 --leak-check=full \
            --show-leak-kinds=definite,indirect "build/check-gcc/$program"
    done
}

# Time and memory of the command are linear in all that a file has many of, and bounded for 1 MiB.
stage_linear () {
    gcc_ready || return
    if ! command -v valgrind >/dev/null || [ ! -x build/check-gcc/.libs/wcodec ]; then
        skipped linear "no valgrind, or no shared library"
        return
    fi
    for script in linear bombs; do
        now linear "tests/bad/$script.py"
        env top_builddir="$top/build/check-gcc" python3 -B "tests/bad/$script.py" >"$log" 2>&1
        set -- $(tail -n 1 "$log" | grep ' passed, ') 0 1 1
        result linear "tests/bad/$script.py" "$1" "$3" 0
        [ "$3" -eq 0 ] || cat "$log"
    done
}

# tarball_ready STAGE: made of this tree, in this run
tarball=
tarball_ready () {
    [ -z "$tarball" ] || return 0
    [ -d build/check-gcc ] || configure gcc CC=gcc $everything || return
    rm -f build/check-gcc/wcodec-*.tar.xz
    one "$1" "make dist" make -C build/check-gcc -s dist || return
    tarball=$(ls build/check-gcc/wcodec-*.tar.xz)
}

# unpacked FOLDER: the tarball's files, in a folder that may be there, even read-only, already
unpacked () {
    [ ! -d "$1" ] || chmod -R u+w "$1"
    rm -rf "$1"
    mkdir -p "$1"
    tar -xf "$tarball" -C "$1" --strip-components=1
}

# The tarball is the same each time and holds all that is tracked, and it builds without Autotools,
# as README says: "make check" with nothing optional there.
stage_dist () {
    tarball_ready dist || return
    first=$(sha256sum <"$tarball")
    rm "$tarball"
    one dist "make dist again" make -C build/check-gcc -s dist
    one dist "the same tarball" test "$first" = "$(sha256sum <"$tarball")"
    if [ -d .git ] || [ -f .git ]; then
        tar -tf "$tarball" | sed 's,^[^/]*/,,' | sort >build/check-gcc/shipped
        git ls-files | grep -Ev '^(\.|issues/)' | sort >build/check-gcc/tracked
        comm -13 build/check-gcc/shipped build/check-gcc/tracked >build/check-gcc/missing
        one dist "every tracked file is in it" sh -c \
            'cat build/check-gcc/missing; ! test -s build/check-gcc/missing'
    fi
    unpacked build/check-dist
    mkdir -p build/check-dist/usr
    one dist "builds and installs from it" env -u CONFIG_SHELL sh -c "cd build/check-dist &&
        ./configure -q --prefix=/usr --libdir=/usr/lib/any --with-plugindir=/usr/lib/any/wcodec \
            --without-cmocka --without-lz4 --without-opencl $few_kernels &&
        make -s -j$jobs && make -s -j$jobs check TESTS=tests/command/usage.sh &&
        make -s install DESTDIR=\$PWD/usr &&
        test -x usr/usr/bin/wcodec && test -f usr/usr/lib/any/libwcodec.so.0"
    # shellcheck disable=SC2016 # for that shell
    if command -v zsh >/dev/null; then
        one dist "zsh looks for completions there" sh -c 'cd build/check-dist/usr || exit
            for folder in $(zsh -fc "print -l \$fpath"); do
                test ! -f ".$folder/_wcodec" || exit 0
            done
            exit 1'
    else
        skipped dist "no zsh to complete with"
    fi
    rm -rf build/check-dist
}

# Packages of the tarball: RPMs, and Debian's, and what a bare system does with these.
stage_package () {
    tarball_ready package || return
    rm -rf build/check-package
    # Without what it says that it needs: of RPM's own packages a machine with another manager has none.
    if command -v rpmbuild >/dev/null; then
        mkdir -p build/check-package/rpm/SOURCES
        cp "$tarball" build/check-package/rpm/SOURCES/
        one package packaging/wcodec.spec rpmbuild -ba --nodeps \
            --define "_topdir $top/build/check-package/rpm" packaging/wcodec.spec
    else
        skipped package "no rpmbuild"
    fi
    one package tests/build/reproducible.sh sh tests/build/reproducible.sh "$tarball"
    for tool in dpkg-buildpackage dh dh_python3; do
        command -v $tool >/dev/null || { skipped package "no $tool"; return; }
    done
    # Its tests are run by the dist and minimal stages.
    one package scripts/make-deb env DEB_BUILD_OPTIONS="nocheck parallel=$jobs" scripts/make-deb \
        --build="$top/build/check-package/build" --output="$top/build/check-package/debs" "$tarball" ||
        return
    now package trying_the_packages
    sh tests/build/deb.sh build/check-package/debs >"$log" 2>&1
    set -- $(tail -n 1 "$log" | grep ' passed, ') 0 1 1
    result package tests/build/deb.sh "$1" "$3" "${5:-0}"
    [ "$3" -eq 0 ] || cat "$log"
}

# What no configuration changes, and takes long: what variants of kernels compute, how much memory
# is taken, and what damaged files get.
settled='tests/unit/checkdsp
tests/unit/test_backend_emulated
tests/unit/test_encode_levels
tests/unit/test_encode_tensor
tests/unit/test_save_coder
tests/unit/test_sched_background
tests/unit/test_sync_devices
tests/unit/test_write_memory
tests/command/memory.sh
tests/build/macos.sh
tests/bad/damage.py
tests/bad/wrong.py
tests/oracle/cross.py
tests/oracle/deltas.py
fuzz/round_trip'

# What a minimal system builds: no optional library, no shared library. All tests but those, from
# the tarball, whose files cannot be written to: all that a test reads is in it, and none writes
# there. Objects are those of a shared library, which the gcc stage has compiled.
stage_minimal () {
    tarball_ready minimal || return
    unpacked build/minimal-source
    mkdir -p build/minimal-source/build/objects
    chmod -R a-w build/minimal-source
    chmod u+w build/minimal-source/build/objects
    rm -rf build/check-minimal
    ln -s minimal-source/build/objects build/check-minimal
    source=$top/build/minimal-source
    cached configure minimal CC=gcc --enable-werror --with-cmocka --with-pic $plain &&
        cached compile minimal && run_tests minimal "$(all_tests minimal | grep -v -x -F "$settled")"
    source=$top
    chmod -R u+w build/minimal-source
}

# distcheck_with "TESTS" FLAGS: those tests, of whose programs no others are built; or all of them
# where there are none
distcheck_with () {
    some_programs=$(echo "$1" | tr ' ' '\n' | grep '^tests/unit/')
    one distcheck "flags: $2" make -C build/check-distcheck -s -j"$jobs" distcheck \
        ${1:+TESTS="$1" check_PROGRAMS="$(echo $some_programs tests/command/make_safetensors)"} \
        DISTCHECK_CONFIGURE_FLAGS="--with-cmocka $2"
}

# The tarball builds, installs, uninstalls and cleans up, with the tests of what is installed and of
# plugins, which the minimal stage has not: that runs all others from the tarball. In --full each
# option alone, with all tests; and static by clang with sanitizers, without optional libraries.
stage_distcheck () {
    configure distcheck CC=gcc $everything || return
    some='tests/unit/test_read_restore tests/command/roundtrip.sh'
    some="$some tests/build/abi.sh tests/build/installed.sh"
    if [ $level = full ]; then
        for flags in '' '--without-hwloc --without-lz4' '--enable-static --disable-shared' \
            '--enable-sanitizers=address,undefined --without-opencl' 'CC=clang --enable-werror'; do
            distcheck_with '' "$flags"
        done
        distcheck_with "$some" "$plain $few_kernels CC=clang CFLAGS=-O1 --enable-werror \
            --enable-sanitizers=address,undefined"
        return
    fi
    with_plugins=$(all_tests distcheck | grep -E '^tests/unit/test_(load|registry|read_devices)')
    WCODEC_TEST_LEVEL=quick
    cached distcheck_with "$some $(echo $with_plugins)" --enable-werror
    WCODEC_TEST_LEVEL=$level
    export WCODEC_TEST_LEVEL
}

# An instruction newer than the oldest x86-64 processors must be behind a run-time check.
stage_nehalem () {
    gcc_ready || return
    # Not OpenCL's, whose drivers compile for the processor that they see: that would be a test of
    # theirs, for hours.
    for program in $(unit_tests gcc . | grep -v opencl); do
        one nehalem "$program" timeout 3600 env top_srcdir="$top" \
            top_builddir="$top/build/check-gcc" qemu-x86_64 -cpu Nehalem "build/check-gcc/$program"
    done
}

# cross_names TRIPLET: what Debian's multi-arch and qemu call it
cross_names () {
    multiarch=$1 processor=${1%%-*}
    case $processor in
    i686) multiarch=i386-linux-gnu processor=i386 ;;
    powerpc64le) processor=ppc64le ;;
    esac
}

# libraries_ready STAGE COMPILER TRIPLET [DEBIAN-ARCHITECTURE]: in $sysroot, from Debian's multi-arch,
# or, where none is given, by that compiler from the distribution's sources
libraries_ready () {
    if ! command -v "$2" >/dev/null || ! command -v apt-get >/dev/null; then
        skipped "$1" "no $2"
        return 1
    fi
    sysroot=$top/build/sysroot-${4:-$3}
    [ ! -d "$sysroot/usr/include" ] || return 0
    if [ $# -gt 3 ]; then
        one "$1" "libraries" scripts/cross-sysroot "$4" "$sysroot"
    else
        one "$1" "libraries from sources" scripts/cross-sources "$2" "$3" "$sysroot"
    fi
}

# cross_configure STAGE TRIPLET [DEBIAN-ARCHITECTURE]: for another processor
cross_configure () {
    cross_names "$2"
    libraries_ready "$1" "$2-gcc" "$2" ${3:+"$3"} &&
        sysroot_configure "$1" "$multiarch" --host="$2"
}

# sysroot_configure STAGE MULTIARCH ARGUMENT: with the libraries in $sysroot
sysroot_configure () {
    include=$sysroot/usr/include libraries=$sysroot/usr/lib
    paths=$libraries/$2:$sysroot/lib/$2
    PKG_CONFIG_SYSROOT_DIR=$sysroot \
        PKG_CONFIG_LIBDIR=$libraries/$2/pkgconfig:$libraries/pkgconfig:$sysroot/usr/share/pkgconfig \
        configure "$1" "$3" --with-cmocka --without-hwloc --without-lz4 --disable-shared \
        --enable-static CPPFLAGS="-I$include -I$include/$2" \
        LDFLAGS="-L$libraries/$2 -L$sysroot/lib/$2 -L$libraries -Wl,-rpath-link,$paths"
}

# cross_run STAGE TRIPLET PROGRAM...: under qemu
cross_run () {
    stage=$1 triplet=$2
    shift 2
    cross_names "$triplet"
    paths=$sysroot/usr/lib/$multiarch:/usr/$triplet/lib
    for program; do
        one "$stage" "$program" timeout 3600 env QEMU_LD_PREFIX="/usr/$triplet" \
            QEMU_SET_ENV="LD_LIBRARY_PATH=$paths" "qemu-$processor" \
            "build/check-$stage/$program"
    done
}

# cross STAGE TRIPLET [DEBIAN-ARCHITECTURE]: all unit tests
cross () {
    cross_configure "$@" && compile "$1" && cross_run "$1" "$2" $(unit_tests "$1" .)
}

# The CPU backend at the levels that this machine may lack: an instruction newer than Nehalem's is
# behind a check, and NEON is equal to the reference. In the quick form, since all is ten times as
# slow here; the stages nehalem and aarch64 run the whole.
stage_levels () {
    WCODEC_TEST_LEVEL=quick
    levels_by_qemu
    WCODEC_TEST_LEVEL=$level
    export WCODEC_TEST_LEVEL
}

levels_by_qemu () {
    programs='tests/unit/checkdsp tests/unit/test_backend_cpu tests/unit/test_coding_tile'
    gcc_ready || return
    if command -v qemu-x86_64 >/dev/null && [ "$(uname -m)" = x86_64 ]; then
        for program in $programs; do
            one levels "Nehalem: $program" timeout 600 qemu-x86_64 -cpu Nehalem \
                "build/check-gcc/$program"
        done
    else
        skipped levels "no qemu-x86_64"
    fi
    cross_configure levels aarch64-linux-gnu arm64 || return
    one levels "aarch64: make" make -C build/check-levels -s -j"$jobs" $programs &&
        cross_run levels aarch64-linux-gnu $programs
}

stage_aarch64 () {
    cross aarch64 aarch64-linux-gnu arm64
}

# 32 bits.
stage_armhf () {
    cross armhf arm-linux-gnueabihf armhf
}

# Big-endian.
stage_s390x () {
    cross s390x s390x-linux-gnu s390x
}

# 32 bits of x86, without its kernels.
stage_i386 () {
    cross i386 i686-linux-gnu i386
}

stage_ppc64el () {
    cross ppc64el powerpc64le-linux-gnu ppc64el
}

# Not every release has an archive for it.
stage_riscv64 () {
    cross riscv64 riscv64-linux-gnu
}

# Another C library, which this machine's processor runs.
stage_musl () {
    libraries_ready musl musl-gcc "$(uname -m)-linux-musl" &&
        sysroot_configure musl . CC=musl-gcc && compile musl || return
    for program in $(unit_tests musl .); do
        one musl "$program" timeout 3600 "build/check-musl/$program"
    done
}

# Each target for its share of an hour, from the corpus that is kept.
stage_fuzz () {
    configure fuzz CC=clang CFLAGS='-O1 -g' --enable-fuzzing --enable-sanitizers=address,undefined &&
        compile fuzz || return
    targets=$(cd build/check-fuzz/fuzz && find . -maxdepth 1 -type f -perm -u+x | sed 's,^\./,,' |
        sort)
    number=$(echo "$targets" | wc -w)
    if [ "$number" -eq 0 ]; then
        say 'fuzz: no target was built\n'
        count 0 1 0
        return
    fi
    for target in $targets; do
        seconds=$((${FUZZ_SECONDS:-3600} / number))
        one fuzz "$target" scripts/fuzz-long.py -t $seconds -s $seconds "$target"
    done
}
