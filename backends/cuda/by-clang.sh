#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: by-clang.sh check SOURCE ARCHITECTURE         can clang build the kernels for it?
#        by-clang.sh build SOURCE OUT ARCHITECTURE...  build them, for all of these, the least first
#
# The CUDA kernels by clang, without NVIDIA's toolkit: machine code where its assembler is there
# (PTXAS and FATBINARY, both or none), and PTX of the last architecture; else PTX of all, one text
# after the other, each ended by a zero byte, for the driver to compile. CUDA_CLANG is the compiler,
# CUDA_CLANGFLAGS are flags of its own.
set -eu

# The oldest PTX that knows the architecture, and what the kernels use: older drivers take it.
ptx_version () {
    case $1 in
    7? | 80 | 86 | 87) echo 74 ;;
    89 | 90) echo 78 ;;
    100 | 101) echo 86 ;;
    120) echo 87 ;;
    110) echo 90 ;;
    *) echo 88 ;;
    esac
}

# compile ARCHITECTURE FLAG...
compile () {
    arch=$1
    shift
    # shellcheck disable=SC2086
    $CUDA_CLANG -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/nonexistent --cuda-gpu-arch="sm_$arch" \
        -Xclang -target-feature -Xclang "+ptx$(ptx_version "$arch")" -O3 -fno-unroll-loops \
        -ffp-contract=off -std=c++17 -Wall -Wextra -Werror "-I$source" -include "$source/backends/cuda/clang.cuh" \
        ${CUDA_CLANGFLAGS-} "$@" "$source/backends/cuda/shell.cu"
}

mode=$1 source=$2
shift 2
if [ "$mode" = check ]; then
    compile "$1" -fsyntax-only
    exit
fi

out=$1
shift
images=
for arch; do
    compile "$arch" -S -o "$out.$arch.ptx"
    if [ -n "${PTXAS-}" ]; then
        "$PTXAS" -arch="sm_$arch" -o "$out.$arch.cubin" "$out.$arch.ptx"
        images="$images --image3=kind=elf,sm=$arch,file=$out.$arch.cubin"
    fi
done
if [ -n "${PTXAS-}" ]; then
    # shellcheck disable=SC2086
    "$FATBINARY" -64 --create="$out.tmp" $images "--image3=kind=ptx,sm=$arch,file=$out.$arch.ptx"
else
    for arch; do
        cat "$out.$arch.ptx"
        printf '\0'
    done >"$out.tmp"
fi
for arch; do
    rm -f "$out.$arch.ptx" "$out.$arch.cubin"
done
mv "$out.tmp" "$out"
