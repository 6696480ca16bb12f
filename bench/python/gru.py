#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""cuDNN's gated recurrent unit by torch, as a peer of bench/gpu-rollout: one unit of a batch of 5
over 50 steps in a CUDA graph, microseconds of a replay, median of 101. Prints a line for each
number of hidden values."""

import statistics

import torch

BATCH, STEPS, INPUTS, CALLS = 5, 50, 64, 101


def measure(hidden: int, dtype: torch.dtype) -> float:
    gru = torch.nn.GRU(INPUTS, hidden).to("cuda", dtype)
    x = torch.randn(STEPS, BATCH, INPUTS, device="cuda", dtype=dtype)
    with torch.no_grad():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                gru(x)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gru(x)
    times = []
    for _ in range(CALLS + 20):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times[20:])


print("| hidden | f32 | bf16 |\n| --- | --- | --- |")
for size in (64, 128, 256, 512, 1024):
    print(f"| {size} | {measure(size, torch.float32):.0f} | {measure(size, torch.bfloat16):.0f} |")
