# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files behind a network: by URLs of fsspec's file systems, from servers that are good, slow, cut
their answers short, or fail."""

import contextlib
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import numpy as np
import pytest
import wcodec
import wcodec.numpy
from wcodec import _remote

fsspec = pytest.importorskip("fsspec")
aiohttp = pytest.importorskip("aiohttp")

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    monkeypatch.setattr(_remote, "PAUSES", (0.01, 0.01, 0.01))


def model(count=40, rows=96, columns=256, seed=1):
    random = np.random.default_rng(seed)
    return {
        f"layer.{i}.weight": random.normal(size=(rows, columns)).astype(np.float32)
        for i in range(count)
    }


@pytest.fixture(scope="module")
def coded(tmp_path_factory):
    """A compressed model: its bytes, and its tensors."""
    path = tmp_path_factory.mktemp("remote") / "model.safetensors.wcodec"
    tensors = model()
    wcodec.numpy.save_file(tensors, path)
    return path.read_bytes(), tensors


def expect(tensors, got):
    assert sorted(got) == sorted(tensors)
    for name, array in tensors.items():
        assert np.array_equal(got[name], array), name


class Server:
    """Bytes over HTTP on loopback, with requests counted and faults as set."""

    def __init__(self, content, latency=0.0):
        self.content, self.latency = content, latency
        self.gets = 0
        self.ranges = []
        self.fault = None
        self.left = 0  # requests that the fault still meets; -1: all
        self.ignores_ranges = self.hides_size = False
        self.sent_too_much = 0  # bytes of an answer without end
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.send_response(200 if self.path == "/m.wcodec" else 404)
                if not outer.hides_size:
                    self.send_header("Content-Length", str(len(outer.content)))
                self.send_header("Accept-Ranges", "none" if outer.hides_size else "bytes")
                self.end_headers()

            def do_GET(self):
                outer.answer(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/m.wcodec"
        self.lock = threading.Lock()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request):
        time.sleep(self.latency)
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", ""))
        begin, end = (int(match[1]), int(match[2]) + 1) if match else (0, len(self.content))
        end = min(end, len(self.content))
        with self.lock:
            self.gets += 1
            self.ranges.append((begin, end))
            fault = self.fault if self.left else None
            self.left -= self.left > 0
        body = self.content[begin:end]
        if fault == "reset":
            request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            request.close_connection = True
            request.connection.close()
            return
        if isinstance(fault, int):
            request.send_response(fault)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        if fault == "slow":
            time.sleep(2.5)
        if self.ignores_ranges:
            body = self.content
            request.send_response(200)
        else:
            request.send_response(206)
            said = f"bytes {begin}-{end - 1}/{len(self.content)}"
            request.send_header("Content-Range", said)
        if fault == "endless":
            self.send_endlessly(request)
            return
        if fault == "short":  # an answer that is whole, and has less than was asked for
            body = body[: len(body) // 2]
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if fault == "cut":  # an answer that ends before it should
            request.close_connection = True
            body = body[: len(body) // 2]
        with contextlib.suppress(OSError):
            request.wfile.write(body)

    def send_endlessly(self, request):
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        with contextlib.suppress(OSError):
            while self.sent_too_much < 256 << 20:
                self.sent_too_much += request.connection.send(bytes(1 << 16))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def server(coded):
    made = Server(coded[0])
    yield made
    made.close()


def test_memory_url(coded):
    content, tensors = coded
    with fsspec.open("memory://there/model.wcodec", "wb") as file:
        file.write(content)
    expect(tensors, wcodec.numpy.load_file("memory://there/model.wcodec"))
    with wcodec.safe_open("memory://there/model.wcodec") as f:
        assert sorted(f.keys()) == sorted(tensors)
        name = "layer.3.weight"
        assert np.array_equal(f.get_tensor(name), tensors[name])
        assert np.array_equal(f.get_slice(name)[5:9], tensors[name][5:9])
        assert f.get_slice(name).get_shape() == [96, 256]
    with wcodec.Reader("memory://there/model.wcodec") as reader:
        assert reader.files() == ["memory://there/model.wcodec"]
    assert wcodec.test("memory://there/model.wcodec")
    with pytest.raises(wcodec.MissingFileError, match=r"memory://there/none\.wcodec"):
        wcodec.safe_open("memory://there/none.wcodec")


def test_folder_and_index(tmp_path):
    first, second = model(3, seed=2), {f"b.{k}": v for k, v in model(3, seed=3).items()}
    fs = fsspec.filesystem("memory")
    for name, tensors in (("a-1.safetensors", first), ("a-2.safetensors", second)):
        wcodec.numpy.save_file(tensors, tmp_path / "x.wcodec")
        fs.pipe_file(f"/shards/{name}.wcodec", (tmp_path / "x.wcodec").read_bytes())
    fs.pipe_file("/shards/readme.txt", b"no weights")
    expect({**first, **second}, wcodec.numpy.load_file("memory://shards"))
    place = {**dict.fromkeys(first, "a-1.safetensors"), **dict.fromkeys(second, "a-2.safetensors")}
    index = "memory://shards/model.safetensors.index.json"

    def write(weight_map):
        fs.pipe_file(
            "/shards/model.safetensors.index.json", json.dumps({"weight_map": weight_map}).encode()
        )

    write(place)
    expect({**first, **second}, wcodec.numpy.load_file(index))
    write({**place, "layer.1.weight": "a-2.safetensors"})
    with pytest.raises(wcodec.CorruptError, match=r"layer\.1\.weight.* is not in .*a-2"):
        wcodec.numpy.load_file(index)
    for wrong in ({"a": "../x"}, {"a": 5}, {}, [], {"a": "no\0"}):
        write(wrong)
        with pytest.raises(wcodec.CorruptError, match="no index of a model"):
            wcodec.numpy.load_file(index)
    write({"a": "gone.safetensors"})
    with pytest.raises(wcodec.MissingFileError, match=r"gone\.safetensors\.wcodec"):
        wcodec.numpy.load_file(index)
    fs.pipe_file("/empty/readme.txt", b"")
    with pytest.raises(wcodec.MissingFileError, match=r"no \.wcodec file is in it"):
        wcodec.numpy.load_file("memory://empty")


def test_requests(server, coded):
    """Opening takes three requests, HEAD among them, loading few large ones, rows what holds
    them."""
    content, tensors = coded
    server.latency = 0.02
    with wcodec.safe_open(server.url) as f:
        assert server.gets <= 2
        opened = server.gets
        row = f.get_slice("layer.7.weight")[3:4]
        assert np.array_equal(row, tensors["layer.7.weight"][3:4])
        assert sum(end - begin for begin, end in server.ranges[opened:]) < 200000
    server.gets, server.ranges = 0, []
    expect(tensors, wcodec.numpy.load_file(server.url))
    assert server.gets <= 2 + len(content) // (16 << 20) + 2
    assert sum(end - begin for begin, end in server.ranges) < len(content) + 100000


@pytest.mark.parametrize("fault", ["reset", "cut", "short", 500, 503, 429, 408])
def test_passing_faults(server, coded, fault):
    server.fault, server.left = fault, 3
    expect(coded[1], wcodec.numpy.load_file(server.url))


@pytest.mark.parametrize(
    ("fault", "text", "tries"),
    [
        ("reset", "4 tries", 4),
        ("cut", "4 tries", 4),
        ("short", r"EOFError: the server gave \d+ bytes \(4 tries\)", 4),
        (503, "503", 4),
        (403, "403", 1),
        (404, "", 1),
    ],
)
def test_lasting_faults(server, fault, text, tries):
    """The reason, with the URL, after a bounded number of tries."""
    server.fault, server.left = fault, -1
    begin = time.monotonic()
    with pytest.raises(wcodec.FileError, match=re.escape(server.url) + ".*" + text):
        wcodec.numpy.load_file(server.url)
    assert time.monotonic() - begin < 20
    assert server.gets <= 4 * tries  # head and tail; aiohttp tries once more where it was reset


def test_fault_while_loading(server, coded):
    """What is open stays usable."""
    with wcodec.safe_open(server.url) as f:
        server.fault, server.left = "reset", -1
        with pytest.raises(wcodec.FileError, match="127"):
            f.get_tensors()
        server.left = 0
        expect(coded[1], f.get_tensors())


def test_slow(server, coded):
    patience = {"client_kwargs": {"timeout": aiohttp.ClientTimeout(sock_read=1)}}
    server.fault, server.left = "slow", 2
    with wcodec.safe_open(server.url, storage_options=patience) as f:
        expect(coded[1], f.get_tensors())
    server.left = -1
    with pytest.raises(wcodec.FileError, match=r"Timeout.*4 tries"):
        wcodec.safe_open(server.url, storage_options=patience)


def test_whole_files_only(server):
    server.ignores_ranges = True
    with pytest.raises(wcodec.FileError, match="it ignores ranges"):
        wcodec.safe_open(server.url)
    assert server.gets <= 2
    server.hides_size = True
    with pytest.raises(wcodec.WcodecError, match=r"how long it is|not ranges"):
        wcodec.safe_open(server.url)


@pytest.mark.parametrize("ignores_ranges", [False, True])
def test_answers_without_end(server, ignores_ranges):
    """No more is taken than was asked for, and what connections hold."""
    server.fault, server.left, server.ignores_ranges = "endless", -1, ignores_ranges
    text = "it ignores ranges" if ignores_ranges else "more bytes than"
    with pytest.raises(wcodec.FileError, match=text):
        wcodec.safe_open(server.url)
    assert server.sent_too_much < 64 << 20


def test_index_without_end(server, monkeypatch):
    monkeypatch.setattr(_remote, "INDEX_MOST", 1 << 20)
    server.fault, server.left = "endless", -1
    url = server.url.replace("m.wcodec", "m.safetensors.index.json")
    with pytest.raises(wcodec.LimitError, match=r"index\.json: an index of more than 1048576"):
        wcodec.safe_open(url)
    assert server.sent_too_much < 64 << 20


def test_other_bytes(coded):
    """What is no .wcodec file, is damaged, or is cut short, is told by its URL."""
    content = bytearray(coded[0])
    for i in range(9000, len(content), 20000):  # more than padding between tensors
        content[i] ^= 1
    for wrong in (b"x" * 100000, content, content[:-9]):
        server = Server(bytes(wrong))
        with pytest.raises(wcodec.CorruptError, match=re.escape(server.url)):
            wcodec.numpy.load_file(server.url)
        server.close()


def test_wrong_use(coded, tmp_path, monkeypatch):
    path = tmp_path / "m.wcodec"
    path.write_bytes(coded[0])
    with pytest.raises(wcodec.UsageError, match="storage_options are for URLs"):
        wcodec.safe_open(str(path), storage_options={})
    with pytest.raises(wcodec.UsageError, match="nowhere"):
        wcodec.safe_open("nowhere://a/b.wcodec")
    with pytest.raises(wcodec.FileError, match="127"):
        wcodec.safe_open("http://127.0.0.1:9/b.wcodec")
    with monkeypatch.context() as without:
        without.setitem(__import__("sys").modules, "fsspec", None)
        with pytest.raises(wcodec.UnsupportedError, match="pip install fsspec"):
            wcodec.safe_open("memory://a/b.wcodec")
    for call in (wcodec.compress, wcodec.decompress):
        with pytest.raises(wcodec.UsageError, match="expected a path"):
            call("memory://there/model.wcodec", tmp_path / "out")
        with pytest.raises(wcodec.UsageError, match="expected a path"):
            call(path, "memory://there/out")
    assert os.listdir(tmp_path) == ["m.wcodec"]
    local = wcodec.numpy.load_file(f"file://{path}")
    expect(coded[1], local)


def test_threads(server, coded):
    """One reader, many readers' threads."""
    failures = []
    with wcodec.safe_open(server.url) as f:

        def work(start):
            names = sorted(coded[1])
            for name in names[start:] + names[:start]:
                if not np.array_equal(f.get_tensor(name), coded[1][name]):
                    failures.append(name)

        threads = [threading.Thread(target=work, args=(i,)) for i in (0, 7, 19, 33)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_nginx(coded, tmp_path):
    port = free_port()
    root = tmp_path / "root"
    root.mkdir()
    (root / "m.safetensors.wcodec").write_bytes(coded[0])
    os.chmod(tmp_path, 0o755)
    (tmp_path / "conf").write_text(
        f"""daemon off; pid {tmp_path}/pid; error_log {tmp_path}/errors;
        {"user root;" if os.geteuid() == 0 else ""}
        events {{}}
        http {{
            access_log {tmp_path}/requests;
            client_body_temp_path {tmp_path}/t1; proxy_temp_path {tmp_path}/t2;
            fastcgi_temp_path {tmp_path}/t3; uwsgi_temp_path {tmp_path}/t4;
            scgi_temp_path {tmp_path}/t5;
            server {{ listen 127.0.0.1:{port}; root {root}; }}
        }}"""
    )
    process = subprocess.Popen([NGINX, "-c", str(tmp_path / "conf"), "-p", str(tmp_path)])
    try:
        url = f"http://127.0.0.1:{port}/m.safetensors.wcodec"
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        expect(coded[1], wcodec.numpy.load_file(url))
        with wcodec.safe_open(url) as f:
            got = f.get_slice("layer.0.weight")[10:11]
            assert np.array_equal(got, coded[1]["layer.0.weight"][10:11])
        with pytest.raises(wcodec.MissingFileError, match="gone"):
            wcodec.safe_open(f"http://127.0.0.1:{port}/gone.wcodec")
    finally:
        process.terminate()
        process.wait()
    requests = (tmp_path / "requests").read_text().splitlines()
    assert sum('"GET' in line and " 206 " in line for line in requests) >= 3
