#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Compressed vectors: recall@10 against bytes, beside faiss's quantisers, and the time of a query.

usage: WCODEC_LIBRARY=BUILD/.libs/libwcodec.so.0 PYTHONPATH=python \\
       python3 bench/peers/search.py [--speed N | --batch N | --embeddings FILE.npy]

Needs the Python packages faiss-cpu and numpy (1.15.1 and 2.4.6 were used). Recall is that of 500
rows, without themselves, by an exhaustive scan of what is decoded; exact neighbours are by faiss in
binary32. Bytes are those of files: wcodec's segment with its anchors, and faiss's index. --speed:
N x 128, 1024 anchors, 5 bits a dimension, single queries that are no rows, medians of 200, by
probes. --batch: the same rows, 500 queries in one call and one by one, which find the same.
--embeddings: rows that embeddings.py has made, with more of faiss's quantisers, of which the
smallest that reaches 0.95 is named last; all learn from 20,000 rows, all lists of IVF are looked
at, and OPQ's rotation takes 10 rounds, not 50.
"""

import argparse
import os
import statistics
import tempfile
import time

import faiss
import numpy
from wcodec import VectorStore

QUERIES, K, WANTED = 500, 10, 0.95
PEERS = ("SQ4", "SQ6", "SQ8", "IVF64,SQ4", "IVF64,SQ6", "RaBitQ4", "RaBitQ5", "PQ32", "PQ64")
ASKED = ({"bits": 3.4}, {"bits": 3.9}, {"recall": 0.95})
# Of real embeddings; 15 % of f32 are 4.8 bits a dimension.
CODES = "SQ4 SQ6 SQ8 RaBitQ3 RaBitQ4 RaBitQ5 RaBitQ6 RaBitQ7 PQ96 PQ192".split()
LARGE_PEERS = (
    *(lists + code for code in CODES for lists in ("", "IVF256,")),
    *("OPQ96,PQ96", "OPQ192,PQ192", "OPQ192,IVF256,PQ192"),
)
LARGE_ASKED = ({"bits": 3.4}, {"bits": 3.9}, {"bits": 4.75}, {"recall": 0.95}, {"recall": 0.98})
LEARN = 20000


def published(n, d):
    i = numpy.arange(n * d, dtype=numpy.float32).reshape(n, d)
    steps = 5 * (numpy.arange(n, dtype=numpy.float32) % 3)[:, None]
    rows = steps + numpy.float32(0.5) * numpy.sin(i * numpy.float32(0.1))
    return rows.astype(numpy.float16).astype(numpy.float32)


def embeddings(n, d, seed=1, clusters=64, rank=32):
    """Unit vectors around centres, in subspaces of their own, with noise."""
    rng = numpy.random.default_rng(seed)
    centres = numpy.random.default_rng(7).standard_normal((clusters, d))
    bases = numpy.random.default_rng(8).standard_normal((clusters, rank, d)) / numpy.sqrt(rank)
    which = rng.integers(clusters, size=n)
    rows = centres[which] + 0.09 * rng.standard_normal((n, d))
    for c in range(clusters):
        rows[which == c] += 0.5 * rng.standard_normal(((which == c).sum(), rank)) @ bases[c]
    return (rows / numpy.linalg.norm(rows, axis=1, keepdims=True)).astype(numpy.float32)


def exact(rows, queries, k):
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(rows)
    return index.search(queries, k)[1]


def recall(found, wanted):
    return numpy.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, wanted)])


def others(ids, own):
    """Without the query itself, K of each."""
    return [[i for i in row if i != q][:K] for row, q in zip(ids.tolist(), own.tolist())]


def learn(index, rows):
    if isinstance(index, faiss.IndexPreTransform):
        rotation = faiss.downcast_VectorTransform(index.chain.at(0))
        rotation.niter = 10
    index.train(rows[:LEARN])
    index.add(rows)
    ivf = faiss.try_extract_index_ivf(index)
    if ivf is not None:
        ivf.nprobe = ivf.nlist


def compare(name, rows, anchors, asked=ASKED, peers=PEERS):
    own = numpy.arange(QUERIES) * len(rows) // QUERIES
    wanted = others(exact(rows, rows[own], K + 1), own)
    smallest = (1, "none")
    print(f"{name}: {len(rows)} x {rows.shape[1]}, {anchors} anchors", flush=True)
    for rate in asked:
        with tempfile.TemporaryDirectory() as folder:
            store = VectorStore(folder)
            store.train(rows[:LEARN], anchors)
            added = store.add(rows, **rate)
            found = others(store.search(rows[own], K + 1)[1], own)
        size = added.coded_size / rows.nbytes
        print(f"  wcodec {rate}: {added.bits:.2f} bits, {size:.4f} of f32, recall"
              f" {recall(found, wanted):.4f}", flush=True)  # fmt: skip
    for peer in peers:
        try:
            index = faiss.index_factory(rows.shape[1], peer)
        except RuntimeError:
            print(f"  faiss {peer}: not there")
            continue
        learn(index, rows)
        size = len(faiss.serialize_index(index)) / rows.nbytes
        reached = recall(others(index.search(rows[own], K + 1)[1], own), wanted)
        smallest = min(smallest, (size, peer)) if reached >= WANTED else smallest
        print(f"  faiss {peer}: {size:.4f} of f32, recall {reached:.4f}", flush=True)
    print(f"  the smallest of faiss with {WANTED}: {smallest[1]}, {smallest[0]:.4f} of f32")


def speed(n):
    rows, queries = embeddings(n, 128), embeddings(200, 128, seed=2)
    wanted = exact(rows, queries, K).tolist()
    with tempfile.TemporaryDirectory() as folder:
        store = VectorStore(folder)
        store.train(rows[:: max(1, n // 50000)], 1024, max_iterations=10)
        begin = time.time()
        added = store.add(rows, bits=5)
        print(f"{n} x 128: {added.coded_size / rows.nbytes:.4f} of f32, added in"
              f" {time.time() - begin:.1f} s, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")  # fmt: skip
        for probes in (4, 8, 16, 32, 64, 128, None):
            times, found = [], []
            for query in queries:
                begin = time.perf_counter()
                found.append(store.search(query[None], K, probes=probes)[1][0].tolist())
                times.append(1e3 * (time.perf_counter() - begin))
            print(f"  probes {probes}: recall {recall(found, wanted):.4f}, a query"
                  f" {statistics.median(times[20:]):.2f} ms", flush=True)  # fmt: skip


def batch(n):
    rows, queries = embeddings(n, 128), embeddings(500, 128, seed=2)
    with tempfile.TemporaryDirectory() as folder:
        store = VectorStore(folder)
        store.train(rows[:: max(1, n // 20000)], 256, max_iterations=5)
        store.add(rows, bits=5)
        for metric in ("l2", "cosine"):
            for probes in (None, 32, 8):
                ratios = []
                for _ in range(3):
                    begin = time.perf_counter()
                    single = [
                        store.search(q[None], K, metric=metric, probes=probes) for q in queries
                    ]
                    middle = time.perf_counter()
                    scores, ids = store.search(queries, K, metric=metric, probes=probes)
                    ratios.append((middle - begin) / (time.perf_counter() - middle))
                    assert all((ids[i] == s[1][0]).all() and (scores[i] == s[0][0]).all()
                               for i, s in enumerate(single))  # fmt: skip
                print(f"{n} x 128, {metric}, probes {probes}: a batch of 500 is"
                      f" {statistics.median(ratios):.2f} times as fast as one by one", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--speed", type=int, metavar="N")
    parser.add_argument("--batch", type=int, metavar="N")
    parser.add_argument("--embeddings", metavar="FILE")
    parser.add_argument("--anchors", type=int, default=256)
    options = parser.parse_args()
    if options.batch:
        batch(options.batch)
        return
    if options.embeddings:
        rows = numpy.load(options.embeddings)
        compare("embeddings", rows, options.anchors, LARGE_ASKED, LARGE_PEERS)
        return
    if options.speed:
        speed(options.speed)
        return
    compare("published", published(10000, 128), 256)
    compare("embedding-like", embeddings(20000, 128), 256)


if __name__ == "__main__":
    main()
