#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: tests/build/cuda.sh nvcc|clang [ARCHITECTURE...]
#
# Do the CUDA kernels assemble for every architecture, by the toolkit's assembler, and are registers
# enough? Prints each kernel's registers and the bytes that it spills. What is spilled once a tile
# costs little, spills within the loop over groups would cost much, and none is allowed to have
# them. The most bytes are therefore SPILL_MOST [160], with these exceptions, whose machine code was
# looked at: by clang 14 the fast kernels and those of blocks of residuals have 80 more (a second
# copy of the loop over groups, with spills around it, and around a unit), and so have products of 16
# vectors by pairs (sums, around a tile: 40 by nvcc); by clang 14 the encoder's kernels of 24 and 11 raw
# bits have 96 more, of which the loop over groups has a part (23 of its 382 instructions; registers for
# them would halve the warps); by nvcc 13 for sm_100
# and later lossy tiles by P8 have 96 more (52 of the 5,083 instructions of a unit, none in the loop
# over groups; none at all on sm_90). Warpgroups' kernels, which fill their registers, spill nothing.
#
# By nvcc from the toolkit, or by CUDA_CLANG [clang], for the architectures that it knows; JOBS at a
# time. Exit code 77: skipped.
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

# code ARCHITECTURE: what nvcc makes for it; of 9.0 there are only such devices as have all of 9.0a
code () {
    case $compiler:$1 in
    nvcc:90) echo 90a ;;
    *) echo "$1" ;;
    esac
}

# texts ARCHITECTURE: PTX to ARCHITECTURE.ptx; 77: not by this compiler
texts () {
    if [ "$compiler" != clang ]; then
        "$nvcc" -std=c++17 -arch="compute_$(code "$1")" -I. -ptx -o "$folder/$1.ptx" backends/cuda/shell.cu
        return
    fi
    sh backends/cuda/by-clang.sh check . "$1" >"$folder/$1.check" 2>&1 || {
        echo "sm_$1: not by $CUDA_CLANG: $(head -n 1 "$folder/$1.check")"
        return 77
    }
    # One text, and a zero byte at its end.
    PTXAS='' sh backends/cuda/by-clang.sh build . "$folder/$1.text" "$1" || return 1
    tr -d '\000' <"$folder/$1.text" >"$folder/$1.ptx"
}

# registers ARCHITECTURE: a line for each kernel, from the assembler's messages
registers () {
    awk -v arch="$1" -v compiler="$compiler" -v general="${SPILL_MOST:-160}" '
        /Compiling entry function/ {split($0, part, "\047"); name = part[2]}
        /bytes spill stores/ {
            spilled = 0
            for (i = 2; i <= NF; i++)
                if ($i == "spill" && $(i + 1) ~ /^stores/)
                    spilled = $(i - 2)
        }
        /Used [0-9]+ registers/ {
            for (i = 1; i < NF; i++) if ($i == "Used") registers = $(i + 1)
            most = name ~ /wide[0-9]/ ? 0 : general
            if (compiler == "clang")
                most += name ~ /blocks_8|fast|coded_pairs_16/ ? 80 : name ~ /code_(32_24|16_11)/ ? 96 : 0
            else if (arch >= 100 && name ~ /lossy_p8/)
                most += 96
            printf "sm_%s %-36s %3d registers, %3d bytes spilled%s\n", arch, name, registers,
                spilled, (spilled > most ? ": too many" : "")
            kernels++
            bad += spilled > most
        }
        END {exit bad > 0 || kernels == 0}' "$folder/$1.log"
}

# one ARCHITECTURE: 0, 1: something is wrong, or 77
one () {
    texts "$1" || return
    "$ptxas" -v -arch="sm_$(code "$1")" -o /dev/null "$folder/$1.ptx" >"$folder/$1.log" 2>&1 || {
        cat "$folder/$1.log"
        return 1
    }
    registers "$1"
}

jobs=${JOBS:-$(nproc)}
result=0 built=0
while [ $# -gt 0 ]; do
    batch=
    while [ $# -gt 0 ] && [ "$(echo "$batch" | wc -w)" -lt "$jobs" ]; do
        batch="$batch $1"
        (
            status=0
            one "$1" >"$folder/$1.out" 2>&1 || status=$?
            echo $status >"$folder/$1.status"
        ) &
        shift
    done
    wait
    for arch in $batch; do
        cat "$folder/$arch.out"
        case $(cat "$folder/$arch.status") in
        0) built=$((built + 1)) ;;
        77) ;;
        *) result=1 ;;
        esac
    done
done
if [ $built -eq 0 ] && [ $result -eq 0 ]; then
    echo "skipped: $compiler builds for none of these architectures"
    exit 77
fi
exit $result
