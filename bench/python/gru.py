#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""wcodec.nn.GRU on a CUDA device beside cuDNN's gated recurrent unit by torch: a unit of 64 inputs
in a CUDA graph, by turns, microseconds of a replay, median of 101. Prints a line for each number of
hidden values and of sequences over 50 steps, in float32 (cuDNN with TF32 as torch has it, and
without), and with products of bfloat16 and cuDNN's in bfloat16, with how far each of ours, and
cuDNN's in bfloat16, is from cuDNN's in float32; then cuBLAS's products of hidden values alone,
[sequences, hidden] x [hidden, 3 hidden] of bfloat16, once for each step; then one step of one
sequence, one of 16 in a graph that wait for each other, and one by itself from a call to its end as
the host sees it; then rollouts of an ensemble of one member from many starts (wcodec.RSSM, products
of bfloat16): a call from arrays in host memory to these, and the kernel by torch's profiler."""

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
import wcodec.nn

STEPS, INPUTS, CALLS, WARM = 50, 64, 101, 20


def capture(work: Callable[[], object]) -> torch.cuda.CUDAGraph:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def measure(*graphs: torch.cuda.CUDAGraph) -> list[float]:
    """Of each, by turns."""
    times: list[list[float]] = [[] for _ in graphs]
    for _ in range(CALLS + WARM):
        for graph, of in zip(graphs, times, strict=True):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            of.append(begin.elapsed_time(end) * 1e3)
    return [statistics.median(of[WARM:]) for of in times]


def pair(hidden: int) -> tuple[torch.nn.GRU, wcodec.nn.GRU]:
    theirs = torch.nn.GRU(INPUTS, hidden).to("cuda").requires_grad_(False)
    ours = wcodec.nn.GRU(INPUTS, hidden).to("cuda")
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def compare(hidden: int, batch: int) -> tuple[list[float], list[float]]:
    """Times, and differences of ours, ours with products of bfloat16, and cuDNN's in bfloat16."""
    theirs, ours = pair(hidden)
    rounded = wcodec.nn.GRU(INPUTS, hidden, products=torch.bfloat16).to("cuda")
    half = torch.nn.GRU(INPUTS, hidden).to("cuda", torch.bfloat16).requires_grad_(False)
    for other in (rounded, half):
        other.load_state_dict(theirs.state_dict())
    x = torch.randn(STEPS, batch, INPUTS, device="cuda")
    x_half = x.bfloat16()
    graphs = [capture(lambda: ours(x)), capture(lambda: theirs(x))]
    torch.backends.cudnn.allow_tf32 = False
    graphs.append(capture(lambda: theirs(x)))
    want = theirs(x)[0]
    torch.backends.cudnn.allow_tf32 = True
    graphs += [capture(lambda: rounded(x)), capture(lambda: half(x_half))]
    wrong = [
        (got - want).abs().max().item() for got in (ours(x)[0], rounded(x)[0], half(x_half)[0])
    ]
    return measure(*graphs), wrong


def products(hidden: int, batch: int) -> float:
    """What the products alone take, one after the other."""
    h, weights, out = (
        torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
        for rows, columns in ((batch, hidden), (hidden, 3 * hidden), (batch, 3 * hidden))
    )

    def work() -> None:
        for _ in range(STEPS):
            torch.matmul(h, weights, out=out)

    return measure(capture(work))[0]


def step(gru: torch.nn.GRU, count: int) -> torch.cuda.CUDAGraph:
    x, hidden = torch.randn(1, 1, INPUTS, device="cuda"), torch.zeros(1, 1, 256, device="cuda")

    def work() -> torch.Tensor:
        last = hidden
        for _ in range(count):
            last = gru(x, last)[1]
        return last

    return capture(work)


def rollouts(hidden: int, starts: int, calls: int = 11) -> tuple[float, float]:
    """Medians of the call, and of the kernel."""
    rng = np.random.default_rng(hidden)
    shapes = {"W": (hidden, INPUTS), "U": (hidden, hidden)}
    member = {
        f"{kind}_{gate}": rng.standard_normal(shape) / hidden**0.5
        for kind, shape in shapes.items()
        for gate in "zrh"
    }
    head = rng.uniform(-0.01, 0.01, hidden + 32)
    model = wcodec.RSSM([member], head, device="cuda", products=torch.bfloat16)
    features, loss = rng.standard_normal((starts, INPUTS)).astype(np.float32), np.full(starts, 2.5)
    times = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(calls):
            begin = time.perf_counter()
            model.rollout(None, features, loss, STEPS)
            times.append((time.perf_counter() - begin) * 1e6)
    kernels = [
        event.device_time_total for event in profile.events() if "wcodec_rollout" in event.name
    ]
    return statistics.median(times), statistics.median(kernels)


def call(gru: torch.nn.GRU) -> float:
    x, hidden = torch.randn(1, 1, INPUTS, device="cuda"), torch.zeros(1, 1, 256, device="cuda")
    times = []
    for _ in range(CALLS + WARM):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        gru(x, hidden)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times[WARM:])


print("| hidden | sequences | wcodec f32 | cuDNN tf32 | f32 | wcodec bf16 | cuDNN bf16 | off by |")
print("| --- | --- | --- | --- | --- | --- | --- | --- |")
for size, sequences in (
    *((size, count) for size in (64, 128, 256, 512, 1024) for count in (1, 5)),
    *((256, count) for count in (32, 64, 512, 4096)),
    (64, 4096),
    (128, 4096),
):
    found, differences = compare(size, sequences)
    print(f"| {size} | {sequences} |", *(f"{us:.0f} |" for us in found), end=" ")
    print(*(f"{difference:.1g}" for difference in differences), sep=", ", end=" |\n", flush=True)
print("| cuBLAS, hidden | sequences | us |\n| --- | --- | --- |")
for size in (64, 128, 256, 512, 1024):
    print(f"| {size} | 4096 | {products(size, 4096):.0f} |", flush=True)
units = pair(256)
print("| H 256, one step | cuDNN | wcodec |\n| --- | --- | --- |")
chained = [us / 16 for us in measure(*(step(unit, 16) for unit in units))]
single = measure(*(step(unit, 1) for unit in units))
print("| of 16 in a graph |", *(f"{us:.2f} |" for us in chained))
print("| a graph of one |", *(f"{us:.2f} |" for us in single))
print("| a call, to its end |", *(f"{call(unit):.1f} |" for unit in units))
print("| rollouts, hidden | starts | a call | the kernel |\n| --- | --- | --- | --- |")
for size in (64, 128, 256, 512, 1024):
    print(f"| {size} | 4096 |", *(f"{us:.0f} |" for us in rollouts(size, 4096)), flush=True)
