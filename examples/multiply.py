# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Keeps the matrices of a .wcodec file or model folder in memory as they are coded, and multiplies
each by a vector of ones: prints the sum of the result, and what memory they take. As multiply.c.

    python multiply.py model.safetensors.wcodec
"""

import sys

import numpy as np
import wcodec


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: multiply.py FILE.wcodec")
    with wcodec.Resident(sys.argv[1]) as resident:
        print(f"{resident.nbytes} bytes resident")
        for name in resident:
            info = resident.info(name)
            if len(info.shape) != 2:
                continue
            try:
                y = resident.linear(name, np.ones(info.shape[1], np.float32))
            except wcodec.UnsupportedError as error:  # not of a dtype that there are products with
                print(f"{name}: {error}")
                continue
            shape = ", ".join(map(str, info.shape))
            print(
                f"{name} [{shape}] {info.form}, {info.held} of {info.nbytes} bytes: "
                f"{y.sum(dtype=np.float64):g}"
            )


if __name__ == "__main__":
    try:
        main()
    except (wcodec.WcodecError, MemoryError) as error:
        sys.exit(f"multiply.py: {error}")
