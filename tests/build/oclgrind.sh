#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Small tensors, good and damaged, through oclgrind, which sees every access outside of a buffer and
# every race between work-items: it must report nothing. Minutes, which the quick form leaves out.

skip () {
    echo "skipped: $1"
    exit 77
}

test=$top_builddir/tests/unit/test_backend_opencl
icd=
[ "${WCODEC_TEST_LEVEL:-quick}" != quick ] || skip "scripts/check --ci runs it"
command -v oclgrind >/dev/null || skip "oclgrind is not installed"
[ -x "$test" ] || skip "no OpenCL plugin, or no cmocka"
for folder in /usr/lib/oclgrind /usr/lib64/oclgrind /usr/local/lib; do
    [ ! -f "$folder/liboclgrind-rt-icd.so" ] || icd=$folder/liboclgrind-rt-icd.so
done
[ -n "$icd" ] || skip "liboclgrind-rt-icd.so was not found"
# Its memory map and a sanitizer's do not go together.
[ -z "$SANITIZER_FLAGS" ] || skip "built with sanitizers"

folder=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-oclgrind.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
echo "$icd" >"$folder/oclgrind.icd"
result=0
for variant in loops local; do
    # Optimised code has instructions that it does not know, and so have the fast kernels.
    OCL_ICD_VENDORS=$folder OCLGRIND_BUILD_OPTIONS=-cl-opt-disable OCLGRIND_CHECK_API=1 \
        OCLGRIND_DATA_RACES=1 OCLGRIND_LOG=$folder/log WCODEC_OPENCL_FAST=0 WCODEC_TEST_VARIANT=$variant \
        "$test" small >"$folder/out" 2>&1 || { result=1; cat "$folder/out"; }
    grep -q Oclgrind "$folder/out" || { echo "$variant: it did not run in oclgrind"; cat "$folder/out"; result=1; }
    if [ -s "$folder/log" ]; then
        echo "oclgrind on the kernels \"$variant\":"
        head -n 60 "$folder/log"
        result=1
    fi
done
exit $result
