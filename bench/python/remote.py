# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""A compressed model behind HTTP, on loopback with a latency and a bandwidth, beside the download
of the file that it was made of.

    python3 bench/python/remote.py [--tensors N] [--kilobytes N] [--milliseconds N] [--gigabit N]
                                   [--rounds N]

Gaussian bf16. The bandwidth is that of all connections together."""

from __future__ import annotations

import argparse
import http.server
import multiprocessing
import re
import statistics
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import ml_dtypes
import numpy as np
import wcodec
import wcodec.numpy

PIECE = 64 << 10


def serve(folder, latency, rate, port, gets):
    """A server of a folder's files, in a process of its own."""
    lock = threading.Lock()
    free_at = [0.0]

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, with_body):
            time.sleep(latency)
            path = Path(folder) / self.path[1:]
            size = path.stat().st_size
            match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            begin, end = (int(match[1]), min(int(match[2]) + 1, size)) if match else (0, size)
            self.send_response(206 if match else 200)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(end - begin))
            self.end_headers()
            if not with_body:
                return
            with gets.get_lock():
                gets.value += 1
            with open(path, "rb") as file:
                file.seek(begin)
                while begin < end:
                    data = file.read(min(PIECE, end - begin))
                    with lock:
                        now = time.monotonic()
                        free_at[0] = max(free_at[0], now) + len(data) / rate
                        pause = free_at[0] - now
                    if pause > 0.002:
                        time.sleep(pause)
                    self.wfile.write(data)
                    begin += len(data)

        def do_HEAD(self):
            self.answer(False)

        def do_GET(self):
            self.answer(True)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    port.value = server.server_address[1]
    server.serve_forever()


def timed(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tensors", type=int, default=2000)
    parser.add_argument("--kilobytes", type=int, default=128, help="of a tensor")
    parser.add_argument("--milliseconds", type=float, default=20)
    parser.add_argument("--gigabit", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    tensors = {
        f"model.layers.{i}.weight": (
            random.standard_normal((options.kilobytes, 512), np.float32) * 0.02
        ).astype(ml_dtypes.bfloat16)
        for i in range(options.tensors)
    }
    with tempfile.TemporaryDirectory() as folder:
        raw, coded = Path(folder) / "raw", Path(folder) / "coded.wcodec"
        wcodec.numpy.save_file(tensors, coded)
        wcodec.decompress(coded, raw)
        port, gets = multiprocessing.Value("i", 0), multiprocessing.Value("i", 0)
        server = multiprocessing.Process(
            target=serve,
            args=(folder, options.milliseconds / 1e3, options.gigabit * 1e9 / 8, port, gets),
            daemon=True,
        )
        server.start()
        while port.value == 0:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{port.value}"
        ratio = coded.stat().st_size / raw.stat().st_size
        print(f"{len(tensors)} tensors, {raw.stat().st_size / 1e6:.0f} MB, coded {ratio:.3f}")
        downloads, loads, opens, requests = [], [], [], []

        def download():
            with urllib.request.urlopen(f"{url}/raw") as answer:
                while answer.read(1 << 20):
                    pass

        def open_it():
            wcodec.safe_open(f"{url}/coded.wcodec").close()

        for _ in range(options.rounds):
            downloads.append(timed(download))
            before = gets.value
            opens.append(timed(open_it))
            requests.append(1 + gets.value - before)
            before = gets.value
            loads.append(timed(lambda: wcodec.numpy.load_file(f"{url}/coded.wcodec")))
            loaded = gets.value - before
        name = f"model.layers.{options.tensors // 2}.weight"
        got = wcodec.numpy.load_file(f"{url}/coded.wcodec", names=[name])[name]
        assert np.array_equal(got, tensors[name])
        server.kill()
    whole = statistics.median(downloads)
    print(f"open: {requests} requests, {statistics.median(opens) * 1e3:.0f} ms")
    print(f"load of all: {loaded} requests, {statistics.median(loads):.3f} s")
    print(
        f"download of the raw file: {whole:.3f} s; of that {statistics.median(loads) / whole:.3f}"
    )


if __name__ == "__main__":
    main()
