# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The package on a CPU, beside safetensors.

    python bench/python/cpu.py [--model MODEL.safetensors] [--rounds N] [--json OUT]

Without --model, weights are Gaussian. WCODEC_LIBRARY names the library; PYTHONPATH has
python/, or the package is installed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import safetensors.numpy
import wcodec
import wcodec.numpy
from timing import in_turns, table, write


def weights(rng, *shape):
    """Gaussian bf16, as ml_dtypes has it."""
    import ml_dtypes

    return (rng.standard_normal(shape, dtype=np.float32) * 0.02).astype(ml_dtypes.bfloat16)


def whole_files(model, folder, rounds):
    packed = os.path.join(folder, "model.wcodec")
    wcodec.compress(model, packed, force=True)
    size = os.path.getsize(model)

    def copied():
        return {name: array.copy() for name, array in safetensors.numpy.load_file(model).items()}

    times = in_turns(
        {
            "wcodec, compressed": lambda: wcodec.numpy.load_file(packed),
            "wcodec, plain": lambda: wcodec.numpy.load_file(model),
            "safetensors, with a copy": copied,
            "safetensors": lambda: safetensors.numpy.load_file(model),
        },
        rounds,
    )
    base = statistics.median(times["safetensors, with a copy"])
    print(
        f"compressed takes {statistics.median(times['wcodec, compressed']) / base:.2f} of the "
        "time of safetensors with a copy"
    )
    return table("load_file to numpy", times, size, "safetensors, with a copy")


def many(function, count):
    def call():
        for _ in range(count):
            function()

    return call


def small_calls(folder, rounds):
    rng = np.random.default_rng(1)
    many_path, rows_path = os.path.join(folder, "2000.wcodec"), os.path.join(folder, "rows.wcodec")
    tensors = {f"model.layers.{i // 10}.{i % 10}.weight": weights(rng, 64, 64) for i in range(2000)}
    wcodec.numpy.save_file(tensors, many_path)
    wcodec.numpy.save_file(tensors, many_path + ".safetensors")
    big = {"embed": weights(rng, 30000, 384)}
    wcodec.numpy.save_file(big, rows_path)
    wcodec.numpy.save_file(big, rows_path + ".safetensors")

    def keys(module, path):
        with module.safe_open(path, framework="np") as f:
            return f.keys()

    results = [
        table(
            "safe_open() and keys() of 2,000 tensors",
            in_turns(
                {
                    "wcodec": lambda: keys(wcodec, many_path),
                    "safetensors": lambda: keys(safetensors, many_path + ".safetensors"),
                },
                rounds * 5,
            ),
        )
    ]
    with (
        wcodec.safe_open(rows_path) as f,
        safetensors.safe_open(rows_path + ".safetensors", framework="np") as g,
    ):
        kept = f.get_slice("embed")
        times = in_turns(
            {
                "wcodec": many(lambda: f.get_slice("embed")[0:8], 100),
                "wcodec, one slice kept": many(lambda: kept[0:8], 100),
                "safetensors": many(lambda: g.get_slice("embed")[0:8], 100),
            },
            rounds * 5,
        )
    each = {name: [t / 100 for t in taken] for name, taken in times.items()}
    results.append(table("get_slice()[0:8] of rows of 384 bf16", each))
    return results


IMPORT = """
import time, numpy
begun = time.perf_counter()
import %s
print(time.perf_counter() - begun)
"""


def imports(rounds):
    with tempfile.TemporaryDirectory() as cache:
        setting = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        setting.pop("PYTHONDONTWRITEBYTECODE", None)

        def one(module):
            made = subprocess.run(
                [sys.executable, "-c", IMPORT % module],
                env=setting,
                capture_output=True,
                text=True,
                check=True,
            )
            return float(made.stdout)

        times = {"wcodec": [], "safetensors": []}
        for turn in range(rounds * 3 + 2):
            for module, taken in times.items():
                value = one(module)
                if turn > 1:
                    taken.append(value)
    return table("import beyond numpy's", times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    print(
        f"wcodec {wcodec.__version__}, safetensors {safetensors.__version__}, "
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}"
    )
    with tempfile.TemporaryDirectory() as folder:
        model = arguments.model
        if model is None:
            model = os.path.join(folder, "gaussian.safetensors")
            rng = np.random.default_rng(1)
            tensors = {f"w{i}": weights(rng, 1024, 1024) for i in range(32)}
            wcodec.numpy.save_file(tensors, model)
        results = [whole_files(model, folder, arguments.rounds)]
        results += small_calls(folder, arguments.rounds)
        results.append(imports(arguments.rounds))
    write(arguments.json, results)


if __name__ == "__main__":
    main()
