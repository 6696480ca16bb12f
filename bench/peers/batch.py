#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""10,000 queries in a batch by faiss's indices on all cores, each tuned to a recall@10 of 0.95.

usage: python3 bench/peers/batch.py FOLDER [DIMENSIONS [THREADS]]

FOLDER is where `bench/gpu-search BACKEND THREADS ROWS DIMENSIONS FOLDER` has left its vectors and
queries, so that both are measured with the same. Needs faiss-cpu and numpy. Of each index the
first setting that reaches the recall (of 200 queries, against an exhaustive scan), and the least
of three batches; last the exhaustive scan itself, of 1,000 queries.
"""

import sys
import time

import faiss
import numpy

K, ASKED, WANTED = 10, 200, 0.95


def best(index, queries):
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        index.search(queries, K)
        times.append(1e3 * (time.perf_counter() - begin))
    return min(times)


def recall(found, wanted):
    return numpy.mean([len(set(a) & set(b)) / K for a, b in zip(found.tolist(), wanted.tolist())])


def tune(name, index, settings, queries, wanted):
    for setting, apply in settings:
        apply()
        reached = recall(index.search(queries[:ASKED], K)[1], wanted)
        if reached >= WANTED:
            print(f"{name}, {setting}: recall {reached:.4f}, {len(queries)} queries"
                  f" {best(index, queries):.1f} ms", flush=True)  # fmt: skip
            return
    print(f"{name}: recall {reached:.4f} at most", flush=True)


def main():
    folder = sys.argv[1]
    d = int(sys.argv[2]) if len(sys.argv) > 2 else 128
    if len(sys.argv) > 3:
        faiss.omp_set_num_threads(int(sys.argv[3]))
    rows = numpy.fromfile(f"{folder}/vectors.f32", numpy.float32).reshape(-1, d)
    queries = numpy.fromfile(f"{folder}/queries.f32", numpy.float32).reshape(-1, d)
    print(f"faiss {faiss.__version__}, {faiss.omp_get_max_threads()} threads,"
          f" {len(rows)} x {d}", flush=True)  # fmt: skip
    flat = faiss.IndexFlatL2(d)
    flat.add(rows)
    wanted = flat.search(queries[:ASKED], K)[1]
    for name in ("IVF1024,Flat", f"IVF1024,PQ{d // 2}x4fs,RFlat"):
        begin = time.time()
        index = faiss.index_factory(d, name)
        index.train(rows[:100000])
        index.add(rows)
        ivf = faiss.extract_index_ivf(index)

        def choose(probes, factor, index=index, ivf=ivf):
            ivf.nprobe = probes
            if factor:
                index.k_factor = factor

        settings = [
            (f"{p} probes, refined by {x}" if x else f"{p} probes", lambda p=p, x=x, f=choose: f(p, x))
            for x in ((8, 32, 128) if "RFlat" in name else (0,))
            for p in (4, 6, 8, 10, 12, 14, 16, 24, 32, 64)
        ]  # fmt: skip
        tune(f"{name} (built in {time.time() - begin:.0f} s)", index, settings, queries, wanted)
    begin = time.time()
    index = faiss.IndexHNSWFlat(d, 16)
    index.hnsw.efConstruction = 40
    index.add(rows)

    def set_effort(effort, index=index):
        index.hnsw.efSearch = effort

    settings = [(f"ef {e}", lambda e=e: set_effort(e)) for e in (16, 32, 64, 128, 256, 512)]
    tune(f"HNSW16 (built in {time.time() - begin:.0f} s)", index, settings, queries, wanted)
    print(f"flat, 1000 queries: {best(flat, queries[:1000]):.1f} ms", flush=True)


if __name__ == "__main__":
    main()
