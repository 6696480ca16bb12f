#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: tests/build/cuda.sh nvcc|clang [ARCHITECTURE...]
#
# Do the CUDA kernels assemble for every architecture, by the toolkit's assembler, and are registers
# enough? Prints each kernel's registers and the bytes that it spills. What is put away through a
# tile costs little, more would be within the loop over groups: SPILL_MOST bytes [160]. By clang 14
# all kernels with a second copy of that loop put away up to 184 bytes around it, and those that
# make blocks of residuals up to 230 around a unit, but nothing within the loop; their limits are
# 192 and 240. By nvcc from the toolkit, or by CUDA_CLANG [clang], for the architectures that it
# knows. Exit code 77: skipped.
set -eu
cd "$(dirname "$0")/../.."
compiler=$1
shift
[ $# -gt 0 ] || set -- 75 80 86 89 90 100 120

# tool NAME: in PATH, or where NVIDIA's packages put it
tool () {
    command -v "$1" || command -v "/usr/local/cuda/bin/$1" || { echo "skipped: $1 was not found" >&2; exit 77; }
}
ptxas=$(tool ptxas) || exit 77
[ "$compiler" = clang ] || nvcc=$(tool nvcc) || exit 77
CUDA_CLANG=${CUDA_CLANG:-clang}
export CUDA_CLANG

folder=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-cuda.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
result=0 built=0
for arch; do
    if [ "$compiler" = clang ]; then
        sh backends/cuda/by-clang.sh check . "$arch" >"$folder/log" 2>&1 || {
            echo "sm_$arch: not by $CUDA_CLANG: $(head -n 1 "$folder/log")"
            continue
        }
        # One text, and the zero byte behind it.
        if ! PTXAS='' sh backends/cuda/by-clang.sh build . "$folder/text" "$arch"; then
            result=1
            continue
        fi
        tr -d '\000' <"$folder/text" >"$folder/ptx"
    else
        "$nvcc" -std=c++17 -arch="compute_$arch" -I. -ptx -o "$folder/ptx" \
            backends/cuda/shell.cu || {
            result=1
            continue
        }
    fi
    "$ptxas" -v -arch="sm_$arch" -o /dev/null "$folder/ptx" >"$folder/log" 2>&1 || {
        result=1
        cat "$folder/log"
        continue
    }
    built=$((built + 1))
    awk -v arch="$arch" -v compiler="$compiler" -v general="${SPILL_MOST:-160}" '
        /Compiling entry function/ {split($0, part, "\047"); name = part[2]}
        /bytes spill stores/ {
            spilled = 0
            for (i = 2; i <= NF; i++)
                if ($i == "spill" && $(i + 1) ~ /^stores/)
                    spilled = $(i - 2)
        }
        /Used [0-9]+ registers/ {
            for (i = 1; i < NF; i++) if ($i == "Used") registers = $(i + 1)
            most = general
            if (compiler == "clang")
                most += name ~ /blocks_8/ ? 160 : name ~ /fast/ ? 112 : 0
            printf "sm_%s %-36s %3d registers, %3d bytes spilled%s\n", arch, name, registers,
                spilled, (spilled > most ? ": too many" : "")
            kernels++
            bad += spilled > most
        }
        END {exit bad > 0 || kernels == 0}' "$folder/log" || result=1
done
if [ $built -eq 0 ] && [ $result -eq 0 ]; then
    echo "skipped: $compiler builds for none of these architectures"
    exit 77
fi
exit $result
