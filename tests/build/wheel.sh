#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: tests/build/wheel.sh WHEEL TOOLS LIBRARY
#
# Tries a wheel of scripts/make-wheel: in an empty virtual environment, without environment
# variables or PATH; after it was moved; and in a root folder that has Python and the C library
# alone. Then what `pip install` of the sources does where there is a library, a wrong one, or
# nothing to build with. TOOLS is the virtual environment that made the wheel, LIBRARY a
# libwcodec.so.0 that belongs to the sources. Run by the stage "wheel" of scripts/check.
set -u
cd "$(dirname "$0")/../.." || exit 99
[ $# -eq 3 ] || { echo "usage: tests/build/wheel.sh WHEEL TOOLS LIBRARY" >&2; exit 2; }
top=$(pwd) wheel=$1 tools=$2 library=$3
. tests/build/checks.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-wheel-test.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

# check NAME COMMAND...: the command's success is one check
check () {
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        run "$name" true
    else
        run "$name" false
        tail -n 20 "$work/log"
    fi
}

# says FILE TEXT...: each text is in it
says () {
    file=$1
    shift
    for text; do
        grep -qF -- "$text" "$file" || { echo "not said: $text"; cat "$file"; return 1; }
    done
}

# What is in it.
mkdir "$work/files"
check "the archive" "$tools/bin/python" -m zipfile -e "$wheel" "$work/files"
info=$(echo "$work"/files/wcodec-*.dist-info)
version=$(sed -n 's/^AC_INIT(\[wcodec\], \[\(.*\)\])$/\1/p' configure.ac)
check "version $version" says "$info/METADATA" "Version: $version"
tag=$(sed -n 's/^Tag: py3-none-//p' "$info/WHEEL")
check "tag $tag" sh -c 'case $1 in *"-py3-none-$2.whl") expr "$2" : manylinux_2_ ;; *) false ;; esac' \
    sh "$wheel" "$tag"
PATH=$tools/bin:$PATH auditwheel show "$wheel" 2>&1 | tr '\n' ' ' >"$work/show"
check "auditwheel show" says "$work/show" "platform tag: \"$tag\""
for file in "$work"/files/wcodec.libs/*; do
    name=$(basename "$file" | sed 's,-[0-9a-f]*\.so.*,,')
    check "licence of $name" grep -rqi copyright "$info/licenses/$name"
done
check "licence of wcodec" cmp COPYING "$info/licenses/COPYING"
check "no path of the build" sh -c '! grep -rlF "$1" "$2"' sh "$top" "$work/files"

# Installed, with nothing beside it.
check "venv" "$tools/bin/python" -m venv "$work/venv"
check "pip install" "$work/venv/bin/python" -m pip install -q --disable-pip-version-check \
    --no-index "$wheel"

# try NAME VARIABLE...: the program of this test in that environment alone, and without OpenCL
# drivers: PoCL ends the process where it finds no linker
try () {
    name=$1
    shift
    check "$name" env -i PATH= OCL_ICD_VENDORS=/nonexistent "$@" "$work/venv/bin/python" -B "$top/tests/build/wheel.py" "$work"
    cp "$work/log" "$work/tried"
}

try "without PATH and environment"
native=$(sed -n 's/^package=//p' "$work/tried")/_native
check "its own library" says "$work/tried" "library=$native/lib/libwcodec.so.0"
check "its own plugins" says "$work/tried" "plugin=$native/lib/wcodec/wcodec_cuda.so" \
    "plugin=$native/lib/wcodec/wcodec_opencl.so"
best=$(sed -n 's/^level=//p' "$work/tried")
case $best in
avx512) levels='scalar sse41 avx2 avx512' ;;
avx2) levels='scalar sse41 avx2' ;;
sse41) levels='scalar sse41' ;;
*) levels="scalar $best" ;;
esac
for level in $levels; do
    try "CPU level $level" WCODEC_CPU_MASK="$level"
    check "which is $level" says "$work/tried" "level=$level"
done
check "the command" env -i PATH= "$work/venv/bin/wcodec" test "$work/a.wcodec"
check "python -m wcodec" env -i PATH= "$work/venv/bin/python" -m wcodec list "$work/a.wcodec"
site=$(dirname "$(dirname "$native")")
mkdir "$work/moved"
mv "$site/wcodec" "$site/wcodec.libs" "$work/moved"
try "moved elsewhere" PYTHONPATH="$work/moved"
check "its own plugins, moved" says "$work/tried" \
    "plugin=$work/moved/wcodec/_native/lib/wcodec/wcodec_opencl.so"

# A root folder with Python, what it is linked with, and nothing else.
root=$work/root
isolate="unshare --mount --pid --fork --root=$root --mount-proc"
[ "$(id -u)" -eq 0 ] || isolate="$isolate --map-root-user"
python=$("$tools/bin/python" -c 'import os, sys; print(os.path.realpath(sys.executable))')
library_of_python=$("$tools/bin/python" -c 'import os; print(os.path.dirname(os.__file__))')
mkdir -p "$root/proc" "$root/tmp" "$root$library_of_python" "$root$(dirname "$python")"
cp "$python" "$root$python"
(cd "$library_of_python" && tar -cf - --exclude=test --exclude=site-packages \
    --exclude=dist-packages --exclude=__pycache__ --exclude='config-*' .) |
    tar -xf - -C "$root$library_of_python"
ldd "$python" "$library_of_python"/lib-dynload/*.so 2>/dev/null |
    sed -n 's,^[^/]*\(/[^ :]*\) (0x.*,\1,p' | sort -u | while read -r file; do
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
done
cp -r "$work/moved" tests/build/wheel.py "$root/tmp"
# shellcheck disable=SC2086
if $isolate "$python" -c '' >/dev/null 2>&1; then
    check "none of the libraries is in the root folder" sh -c \
        '! find "$1" -name "*.so*" -not -path "$1/tmp/*" | grep -E "zstd|xxhash|jansson|OpenCL|cuda"' \
        sh "$root"
    check "with Python and the C library alone" env -i PYTHONPATH=/tmp/moved $isolate \
        "$python" -B /tmp/wheel.py /tmp
else
    skip "a root folder of its own: not permitted here"
fi

# pip_install LIBRARY PATH: of the sources, into $work/source
pip_install () {
    rm -rf "$work/source"
    env -i PATH="$2" HOME="$work" WCODEC_LIBRARY="$1" "$tools/bin/python" -m pip install \
        --disable-pip-version-check --no-index --no-deps --no-build-isolation \
        --target "$work/source" ./python >"$work/pip" 2>&1
}

refuses () {
    ! pip_install "$@" && ! [ -e "$work/source/wcodec" ]
}

other=$(ldd "$library" | sed -n 's/.*libzstd.* => \([^ ]*\) .*/\1/p')
check "pip install for a library" pip_install "$library" "$PATH"
check "takes it" env -i PATH= OCL_ICD_VENDORS=/nonexistent PYTHONPATH="$work/source" \
    "$tools/bin/python" -B tests/build/wheel.py "$work"
cp "$work/log" "$work/tried"
check "and has it" says "$work/tried" "library=$work/source/wcodec/_native/lib/libwcodec.so.0"
check "the same" cmp "$library" "$work/source/wcodec/_native/lib/libwcodec.so.0"
check "a library of another project is refused" refuses "$other" "$PATH"
check "and it says why" says "$work/pip" "WCODEC_LIBRARY cannot be used" "is not libwcodec"
if "$tools/bin/python" -c 'import ctypes; ctypes.CDLL("libwcodec.so.0")' 2>/dev/null; then
    skip "without a compiler: an installed library is taken"
else
    check "without a compiler it is refused" refuses '' /nonexistent
    check "and it says what to install" says "$work/pip" "libwcodec is not installed" \
        "a C compiler" "pkg-config" "libzstd >= 1.4.0" "WCODEC_LIBRARY" "libjansson-dev"
fi
check "WCODEC_LIBRARY=system" pip_install system "$PATH"
check "puts none into it" sh -c 'test -d "$1" && ! test -e "$1/_native"' sh "$work/source/wcodec"

finish
