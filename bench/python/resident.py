# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Products with resident matrices on a CUDA device, beside torch's with plain ones.

    python3 bench/python/resident.py [--shapes 4096x4096,...] [--vectors 1,8,...] [--limit SECONDS]

A row is a chain of 16 products with distinct weights (as many as are larger than the last cache
several times; Gaussian bf16) in one CUDA graph, the median of 15 replays in turn with torch's: the
time of a product in microseconds, and torch's over it. Then decoding, and rows by an index."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
import wcodec
import wcodec.torch

CHAIN = 16
REPLAYS = 15
SIGMA = 0.02


def graph_of(body):
    """A CUDA graph of what body() launches."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        body()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        body()
    return graph


def times(graphs, divisor):
    """Medians in microseconds, the graphs in turn."""
    taken = [[] for _ in graphs]
    for turn in range(REPLAYS + 2):
        for i, graph in enumerate(graphs):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            if turn >= 2:
                taken[i].append(begin.elapsed_time(end) * 1e3 / divisor)
    return [statistics.median(t) for t in taken]


def make(n, k, count, folder):
    """Weights, and the same resident."""
    weights = {f"w{i}": (torch.randn(n, k, device="cuda") * SIGMA).bfloat16() for i in range(count)}
    path = Path(folder) / f"{n}x{k}.wcodec"
    wcodec.torch.save_file({name: w.cpu() for name, w in weights.items()}, path, level=1)
    begin = time.monotonic()
    resident = wcodec.Resident(path, device="cuda", framework="pt")
    print(
        f"  {n} x {k}: made resident in {time.monotonic() - begin:.1f} s, "
        f"{resident.nbytes * 8 / (count * n * k):.3f} bits an element",
        flush=True,
    )
    path.unlink()
    return weights, resident


def check(weights, resident, n, k):
    """Elements are equal, and products near those in double precision."""
    assert torch.equal(resident.decode("w0"), weights["w0"])
    for vectors in (1, 5, 8, 16, 27, 32, 70):
        x = torch.randn(vectors, k, device="cuda").bfloat16()
        bias = torch.randn(n, device="cuda")
        got = resident.linear("w1", x, bias, out=torch.empty(vectors, n, device="cuda"))
        exact = x.double() @ weights["w1"].double().T + bias.double()
        error = ((got.double() - exact).norm() / exact.norm()).item()
        assert error < 3e-3, (vectors, error)
    rows = torch.randint(0, n, (1000,), device="cuda")
    assert torch.equal(resident.gather("w1", rows), weights["w1"][rows])


def decode_coded(weights, names, out, folder, vectors):
    """Decoding of what stays as it is coded in files of two kinds, and products with it beside
    torch's after decoding."""
    n, k = out.shape
    path = Path(folder) / "coded.wcodec"
    host = {name: w.cpu() for name, w in weights.items()}
    for tune in ("size", "compute"):
        wcodec.torch.save_file(host, path, level=1, tune=tune)
        with wcodec.Resident(path, device="cuda", framework="pt", form="coded") as resident:
            check(weights, resident, n, k)
            (taken,) = times(
                [graph_of(lambda r=resident: [r.decode(name, out) for name in names])], CHAIN
            )
            bits = resident.nbytes * 8 / (len(weights) * n * k)
            print(
                f"  {n} x {k}, coded ({tune}, {bits:.3f} bits), decode: {taken:.1f} us, "
                f"{2e-3 * n * k / taken:.0f} GB/s",
                flush=True,
            )
            for m in vectors if tune == "compute" else ():
                x = torch.randn(m, k, device="cuda").bfloat16()
                own, then = times(
                    [
                        graph_of(lambda r=resident, x=x: [r.linear(name, x) for name in names]),
                        graph_of(
                            lambda r=resident, x=x: [
                                torch.nn.functional.linear(x, r.decode(name, out)) for name in names
                            ]
                        ),
                    ],
                    CHAIN,
                )
                print(
                    f"  {n} x {k}, coded, {m}: {own:.1f} us, {own / then:.2f} of {then:.1f} us "
                    "for decoding and torch's product",
                    flush=True,
                )
        path.unlink()


def measure(n, k, folder, arguments):
    """All rows of a shape."""
    count = max(2, min(CHAIN, (600 << 20) // (2 * n * k)))
    weights, resident = make(n, k, count, folder)
    if not arguments.no_check:
        check(weights, resident, n, k)
    names = [f"w{i % count}" for i in range(CHAIN)]
    for vectors in map(int, arguments.vectors.split(",")):
        x = torch.randn(vectors, k, device="cuda").bfloat16()
        own, other = times(
            [
                graph_of(lambda x=x: [resident.linear(name, x) for name in names]),
                graph_of(
                    lambda x=x: [torch.nn.functional.linear(x, weights[name]) for name in names]
                ),
            ],
            CHAIN,
        )
        print(f"  {n} x {k}, {vectors}: {own:.1f} {other:.1f} {other / own:.2f}", flush=True)
        y = torch.randn(vectors, n, device="cuda").bfloat16()
        own, other = times(
            [
                graph_of(lambda y=y: [resident.linear(name, y, transposed=True) for name in names]),
                graph_of(lambda y=y: [torch.matmul(y, weights[name]) for name in names]),
            ],
            CHAIN,
        )
        print(f"  {n} x {k}, x W, {vectors}: {own:.1f} {other:.1f} {other / own:.2f}", flush=True)
    out = torch.empty(n, k, dtype=torch.bfloat16, device="cuda")
    (taken,) = times([graph_of(lambda: [resident.decode(name, out) for name in names])], CHAIN)
    print(f"  {n} x {k}, decode: {taken:.1f} us, {2e-3 * n * k / taken:.0f} GB/s")
    rows = torch.randint(0, n, (4096,), device="cuda")
    decode_coded(weights, names, out, folder, map(int, arguments.vectors.split(",")))
    own, other = times(
        [
            graph_of(lambda: [resident.gather(name, rows) for name in names]),
            graph_of(lambda: [weights[name].index_select(0, rows) for name in names]),
        ],
        CHAIN,
    )
    print(f"  {n} x {k}, 4096 rows: {own:.1f} {other:.1f} us, {own / other:.2f} of torch's")
    resident.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default="4096x4096,14336x4096,4096x14336,8192x8192")
    parser.add_argument("--vectors", default="1,8,16,32")
    parser.add_argument("--limit", type=float, default=240)
    parser.add_argument("--no-check", action="store_true", help="for profilers")
    arguments = parser.parse_args()
    begin = time.monotonic()
    torch.manual_seed(1)
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    print("n x k, vectors: wcodec us, torch us, torch / wcodec")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for shape in arguments.shapes.split(","):
            if time.monotonic() - begin > arguments.limit:
                print("left out:", shape)
                continue
            n, k = map(int, shape.split("x"))
            measure(n, k, folder, arguments)


if __name__ == "__main__":
    main()
