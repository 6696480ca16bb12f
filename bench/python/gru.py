#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""wcodec.nn.GRU on a CUDA device beside cuDNN's gated recurrent unit by torch: a unit of 64 inputs
in a CUDA graph, by turns, microseconds of a replay, median of 101. Prints a line for each number of
hidden values and of sequences over 50 steps, in float32 (cuDNN with TF32 as torch has it, and
without), and cuDNN's in bfloat16; then one step of one sequence, one of 16 in a graph that wait for
each other, and one by itself from a call to its end as the host sees it."""

import statistics
import time
from collections.abc import Callable

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


def compare(hidden: int, batch: int) -> list[float]:
    theirs, ours = pair(hidden)
    half = torch.nn.GRU(INPUTS, hidden).to("cuda", torch.bfloat16).requires_grad_(False)
    x = torch.randn(STEPS, batch, INPUTS, device="cuda")
    graphs = [capture(lambda: ours(x)), capture(lambda: theirs(x))]
    torch.backends.cudnn.allow_tf32 = False
    graphs.append(capture(lambda: theirs(x)))
    wrong = (ours(x)[0] - theirs(x)[0]).abs().max().item()
    torch.backends.cudnn.allow_tf32 = True
    x_half = x.bfloat16()
    graphs.append(capture(lambda: half(x_half)))
    return [*measure(*graphs), wrong]


def step(gru: torch.nn.GRU, count: int) -> torch.cuda.CUDAGraph:
    x, hidden = torch.randn(1, 1, INPUTS, device="cuda"), torch.zeros(1, 1, 256, device="cuda")

    def work() -> torch.Tensor:
        last = hidden
        for _ in range(count):
            last = gru(x, last)[1]
        return last

    return capture(work)


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


print("| hidden | sequences | wcodec f32 | cuDNN tf32 | f32 | bf16 | difference |")
print("| --- | --- | --- | --- | --- | --- | --- |")
for size, sequences in (
    *((size, count) for size in (64, 128, 256, 512, 1024) for count in (1, 5)),
    *((256, count) for count in (32, 64, 512, 4096)),
):
    *found, difference = compare(size, sequences)
    print(f"| {size} | {sequences} |", *(f"{us:.0f} |" for us in found), f"{difference:.1g} |")
units = pair(256)
print("| H 256, one step | cuDNN | wcodec |\n| --- | --- | --- |")
chained = [us / 16 for us in measure(*(step(unit, 16) for unit in units))]
single = measure(*(step(unit, 1) for unit in units))
print("| of 16 in a graph |", *(f"{us:.2f} |" for us in chained))
print("| a graph of one |", *(f"{us:.2f} |" for us in single))
print("| a call, to its end |", *(f"{call(unit):.1f} |" for unit in units))
