#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# The library and the command name nothing that macOS has not, as far as that is known (macos.h); at
# the level full they are configured and built so, with the library's symbols by a list, and run.
set -u
: "${CC:?}" "${top_srcdir:?}" "${top_builddir:?}"
. "$top_srcdir/tests/build/checks.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-macos.XXXXXX") || exit 99
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
if [ "$(uname -s)" != Linux ]; then
    skip "another system than Linux"
    finish
fi
source=$(cd "$top_srcdir" && pwd)
libraries=$(sed -n 's/^\(ZSTD\|XXHASH\|JANSSON\|LZ4\)_CFLAGS = //p' "$top_builddir/Makefile")
# Headers that are not there.
mkdir -p "$work/absent/sys" "$work/absent/linux"
for header in link.h malloc.h sys/auxv.h sys/epoll.h sys/eventfd.h sys/prctl.h sys/sendfile.h sys/signalfd.h \
    sys/syscall.h sys/sysinfo.h sys/timerfd.h sys/vfs.h linux/landlock.h linux/seccomp.h; do
    echo "#error macOS has no $header" >"$work/absent/$header"
done
as_macos="-U__linux__ -I$work/absent -include $source/tests/build/macos.h"

# compiles NAME FILE...
compiles () {
    name=$1
    shift
    # shellcheck disable=SC2086 # several words each
    run "$name" $CC -std=c11 -fsyntax-only -Wall -Wextra -Werror -D_GNU_SOURCE \
        -Dst_mtim=st_mtimespec -Dst_ctim=st_ctimespec '-DWCODEC_PLUGINDIR="/nowhere"' \
        -I"$source/include" -I"$source/lib" -I"$source" $libraries $as_macos "$@"
}

# Files without a call of the system are left out: they are most of the code.
calls='<(dirent|dlfcn|errno|fcntl|pthread|sched|setjmp|signal|unistd|sys/[a-z]*)\.h>|core/(conf|system)\.h'
# shellcheck disable=SC2046 # a list of files
compiles "sources with calls of the system" \
    $(cd "$source" && grep -lE "$calls" $(find lib utils backends/cpu -name '*.c' ! -path 'utils/mpi/*') |
        sed "s,^,$source/,")
# Of what is not there, something is found.
for bad in 'int f(void) { return secure_getenv("HOME") == NULL; }' '#include <malloc.h>'; do
    echo "$bad" >"$work/bad.c"
    # shellcheck disable=SC2086
    run "found: $bad" sh -c '! "$@" 2>/dev/null' sh $CC -fsyntax-only -D_GNU_SOURCE $as_macos "$work/bad.c"
done

# built: configured, compiled and tried
built () {
    cd "$work" &&
        "$source/configure" -q CC="$CC" CFLAGS=-O1 --without-hwloc --without-opencl \
            --with-cpu-levels=no --with-cmocka ac_cv_func_secure_getenv=no ac_cv_func_issetugid=yes \
            ac_cv_func_getrandom=no ac_cv_func_sched_getaffinity=no ac_cv_header_ucontext_h=no \
            ac_cv_member_struct_stat_st_mtim=no ac_cv_member_struct_stat_st_mtimespec=yes \
            wcodec_cv_version_script=no >/dev/null &&
        make -s -j2 CPPFLAGS="$as_macos" wcodec tests/unit/test_io_safefile tests/unit/test_core_conf tests/unit/test_write_dedup &&
        for program in io_safefile core_conf write_dedup; do
            top_srcdir=$source top_builddir=$work tests/unit/test_$program >"$work/log" 2>&1 || return
        done &&
        sed -n 's/^ *\(wcodec_[a-z0-9_]*\);.*/\1/p' "$source/lib/libwcodec.map" | sort >wanted &&
        nm -D --defined-only .libs/libwcodec.so | awk '$2 != "A" {print $3}' | sort | cmp - wanted &&
        head -c 100000 "$source/configure" >sample && ./wcodec compress -q -o sample.wcodec sample &&
        ./wcodec verify -q sample.wcodec sample
}
if [ "${WCODEC_TEST_LEVEL-quick}" = full ]; then
    run "built and run" built
fi
finish
