#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Anchors of vectors beside faiss's k-means, one thread: seconds of an iteration, and energies.

usage: WCODEC_LIBRARY=BUILD/.libs/libwcodec.so.0 PYTHONPATH=python \\
       python3 bench/peers/kmeans.py [-r ROUNDS] [SHAPE...]

Needs the Python packages faiss-cpu and numpy (1.15.1 and 2.4.6 were used). A SHAPE is n,d,m; by
default 10000,128,256 and 100000,128,1024. Times are those of the process, since others use the
machine: of an iteration, what five more of them take. Energies are mean squared distances, found
by faiss's exact search: best's (F16) to its end beside those of 25 iterations of faiss by three
seeds, begun at random, its default, and by k-means++. Data: Gaussian clusters, and the published
test data for what stands after the word "published".
"""

import argparse
import ctypes
import os
import statistics
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import faiss
import numpy
from wcodec import _declarations as c
from wcodec._context import context
from wcodec._library import lib

MORE, SEEDS = 5, (1, 2, 3)
METHODS = {
    "at random": faiss.ClusteringInitMethod_RANDOM,
    "k-means++": faiss.ClusteringInitMethod_KMEANS_PLUS_PLUS,
}


def clusters(n, d, seed=1):
    rng = numpy.random.default_rng(seed)
    centres = rng.standard_normal((max(n // 150, 1), d))
    rows = centres[rng.integers(len(centres), size=n)] + 0.5 * rng.standard_normal((n, d))
    return rows.astype(numpy.float16)


def published(n, d):
    i = numpy.arange(n * d, dtype=numpy.float32).reshape(n, d)
    steps = 5 * (numpy.arange(n, dtype=numpy.float32) % 3)[:, None]
    return (steps + numpy.float32(0.5) * numpy.sin(i * numpy.float32(0.1))).astype(numpy.float16)


def train(rows, m, iterations, seed=0):
    """Anchors, and when each iteration was over."""
    options = c.wcodec_vectors_options()
    lib.wcodec_vectors_options_init_size(options, ctypes.sizeof(options))
    options.anchors, options.max_iterations, options.seed = m, iterations, seed
    times = []

    def note(_opaque, _iteration):
        times.append(time.process_time())
        return 0

    options.iteration = c.wcodec_vectors_iteration_fn(note)
    given = c.wcodec_vector_rows()
    given.dtype, (given.count, given.dimensions) = c.WCODEC_DTYPE_F16, rows.shape
    given.data = rows.ctypes.data
    handle, error, info = ctypes.c_void_p(), c.wcodec_error(), c.wcodec_vectors_info()
    start = time.process_time()
    one = context("cpu", 1)
    if lib.wcodec_vectors_train(one.handle, given, options, ctypes.byref(handle), error):
        raise SystemExit(error.text.decode())
    lib.wcodec_vectors_describe(handle, info)
    anchors = numpy.ctypeslib.as_array(info.anchor, (m * rows.shape[1],)).copy()
    lib.wcodec_vectors_destroy(handle)
    return anchors.view(numpy.float16).reshape(m, -1), [start, *times]


def train_faiss(rows, m, iterations, seed=1, method=faiss.ClusteringInitMethod_RANDOM):
    kmeans = faiss.Kmeans(
        rows.shape[1],
        m,
        niter=iterations,
        seed=seed,
        init_method=method,
        max_points_per_centroid=1 << 30,
    )
    start = time.process_time()
    kmeans.train(rows)
    return kmeans.centroids, time.process_time() - start


def energy(rows, anchors):
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(numpy.ascontiguousarray(anchors, dtype=numpy.float32))
    nearest = index.search(rows, 1)[1][:, 0]
    difference = rows.astype(numpy.float64) - anchors[nearest]
    return float((difference**2).sum(1).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("shapes", nargs="*", default=["10000,128,256", "100000,128,1024"])
    arguments = parser.parse_args()
    faiss.omp_set_num_threads(1)
    make = clusters
    for shape in arguments.shapes:
        if shape == "published":
            make = published
            continue
        n, d, m = map(int, shape.split(","))
        rows = make(n, d)
        wide = rows.astype(numpy.float32)
        ours, theirs, starts = [], [], []
        for _ in range(arguments.rounds):
            _, times = train(rows, m, MORE + 1)
            ours.append((times[-1] - times[1]) / (len(times) - 2))
            starts.append(times[1] - times[0] - ours[-1])
            few, many = train_faiss(wide, m, 1)[1], train_faiss(wide, m, MORE + 1)[1]
            theirs.append((many - few) / MORE)
        ratios = [b / a for a, b in zip(ours, theirs)]
        median = statistics.median
        print(
            f"{n} x {d} x {m}: {median(ours):.4f} s an iteration (start {median(starts):.2f} s), "
            f"faiss {median(theirs):.4f} s, {median(ratios):.2f} x",
            flush=True,
        )
        best, times = train(rows, m, 100)
        found = energy(wide, best)
        print(f"  energy after {len(times) - 1} iterations {found:.6g}", flush=True)
        for name, method in METHODS.items():
            others = [energy(wide, train_faiss(wide, m, 25, seed, method)[0]) for seed in SEEDS]
            print(
                f"    faiss, {name}: {', '.join(f'{x:.6g}' for x in others)}: "
                f"{100 * (found / median(others) - 1):+.2f} % against their median",
                flush=True,
            )


main()
