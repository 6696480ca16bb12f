# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Damaged and hostile input: an exception of a documented class, with the file named; no crash."""

import json
import os
import random

import numpy as np
import pytest
import wcodec
from conftest import TOP, safetensors_bytes, weights
from wcodec.numpy import load, load_file

DAMAGE = (wcodec.CorruptError, wcodec.NewerFormatError, wcodec.LimitError)


@pytest.fixture
def model(packed):
    rng = np.random.default_rng(2)
    return packed(
        {
            "w": ("BF16", (100, 300), weights(np, 30000)),
            "i": ("I8", (64, 64), rng.integers(-3, 4, 4096, np.int8).tobytes()),
            "c": ("F32", (500,), bytes(2000)),
            "z": ("U8", (40,), bytes(range(40))),
        }
    )


def outcome(path):
    """What loading it gives: the bytes of all tensors, or the exception."""
    try:
        return b"".join(a.tobytes() for a in load_file(path).values())
    except wcodec.WcodecError as error:
        assert isinstance(error, DAMAGE), repr(error)
        assert error.file == str(path)
        assert str(path) in str(error)
        return error


def test_flipped_bytes(model):
    data = model.read_bytes()
    good = outcome(model)
    rng = random.Random(4)
    found = 0
    for _ in range(400):
        at, bit = rng.randrange(len(data)), rng.randrange(8)
        model.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
        result = outcome(model)
        if isinstance(result, Exception):
            found += 1
        else:  # in padding, which only test() looks at
            assert result == good, (at, bit)
            with pytest.raises(DAMAGE):
                wcodec.test(model)
    assert found > 300


def test_cut_short(model):
    data = model.read_bytes()
    for size in [0, 1, 7, 8, 63, 64, 127, 128, *range(200, len(data), 997)]:
        model.write_bytes(data[:size])
        assert isinstance(outcome(model), wcodec.CorruptError), size
        with pytest.raises(DAMAGE):
            load(data[:size])
    model.write_bytes(data + b"x")
    assert isinstance(outcome(model), wcodec.CorruptError)


def test_the_tensor_is_named(model):
    data = bytearray(model.read_bytes())
    data[len(data) // 2] ^= 255  # of a payload
    model.write_bytes(data)
    error = outcome(model)
    with wcodec.safe_open(model) as f:
        names = sorted(set(f.keys()) - {error.tensor})
        assert len(names) == 3
        for name in names:
            f.get_tensor(name)
        with pytest.raises(wcodec.CorruptError) as caught:
            f.get_tensor(error.tensor)
        assert caught.value.tensor == error.tensor
    with pytest.raises(wcodec.CorruptError) as caught:
        wcodec.test(model)
    assert (caught.value.file, caught.value.tensor) == (str(model), error.tensor)


def test_golden_files():
    """Every file of the past, and odd ones, loads as the library restores it."""
    for path in sorted((TOP / "tests" / "golden").glob("*.wcodec")):
        with wcodec.Reader(path) as reader:
            kind = wcodec.info(path)["files"][0]["kind"]
            restored = bytearray()
            from wcodec._files import restore

            restore(reader, 0, restored.extend)
            if kind == "safetensors":
                ours, plain = load_file(path), load(bytes(restored))
                assert list(ours) == list(plain)
                assert all(ours[k].tobytes() == plain[k].tobytes() for k in ours)


W = {"w": ("F32", (2,), bytes(8))}


def header(text):
    data = text if isinstance(text, bytes) else text.encode()
    return len(data).to_bytes(8, "little") + data + bytes(8)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        b"\xff" * 16,
        (8).to_bytes(8, "little") + b"{}",
        header("[]"),
        header("null"),
        header("{"),
        header(b'{"\xff": 1}'),
        header('{"w": 1}'),
        header('{"w": {}}'),
        header('{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0]}}'),
        header('{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8, 8]}}'),
        header('{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}'),
        header('{"w": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}}'),
        header('{"w": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}'),
        header('{"w": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}'),
        header('{"w": {"dtype": "F32", "shape": [2.0], "data_offsets": [0, 8]}}'),
        header('{"w": {"dtype": "F32", "shape": [true, 2], "data_offsets": [0, 8]}}'),
        header('{"w": {"dtype": "F32", "shape": "2", "data_offsets": [0, 8]}}'),
        header('{"w": {"dtype": 7, "shape": [2], "data_offsets": [0, 8]}}'),
        header('{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 9e99]}}'),
        header('{"w": {"dtype": "F32", "shape": [%s], "data_offsets": [0, 8]}}' % ("9" * 5000)),
        header('{"__metadata__": {"a": 1}}'),
        header('{"__metadata__": []}'),
        header("[" * 100000),
        header('{"a": ' * 5000),
        header(
            '{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},'
            ' "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
        ),
        header(
            '{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},'
            ' "b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
        ),
        safetensors_bytes(W) + b"x",
        safetensors_bytes(W)[:-1],
    ],
)
def test_bad_safetensors(data, tmp_path):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(data)
    with pytest.raises(wcodec.CorruptError) as caught:
        load_file(path)
    assert caught.value.file == str(path)
    with pytest.raises(wcodec.CorruptError):
        load(data)


def test_a_huge_header_is_a_limit(tmp_path):
    path = tmp_path / "big.safetensors"
    with open(path, "wb") as file:
        file.write((200_000_000).to_bytes(8, "little"))
        file.truncate(300_000_000)
    with pytest.raises(wcodec.LimitError):
        load_file(path)


def shard(folder, name, tensors):
    (folder / name).write_bytes(safetensors_bytes(tensors))
    return name


@pytest.fixture(params=["plain", "packed"])
def folder(request, tmp_path):
    one = shard(tmp_path, "a-1.safetensors", {"x": ("U8", (2,), b"ab")})
    two = shard(tmp_path, "a-2.safetensors", {"y": ("U8", (3,), b"cde")})
    index = {"metadata": {}, "weight_map": {"x": one, "y": two}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    if request.param == "packed":
        for name in (one, two):
            wcodec.compress(tmp_path / name)
            os.unlink(tmp_path / name)
    return tmp_path


def test_folders(folder):
    for path in (folder, folder / "model.safetensors.index.json"):
        loaded = load_file(path)
        assert {k: v.tobytes() for k, v in loaded.items()} == {"x": b"ab", "y": b"cde"}
        assert list(loaded) == ["x", "y"]
        with wcodec.safe_open(path) as f:
            assert f.get_slice("y")[1:].tobytes() == b"de"
    os.unlink(folder / "model.safetensors.index.json")
    assert list(load_file(folder)) == ["x", "y"]


@pytest.mark.parametrize(
    "index",
    [
        "",
        "[]",
        "{}",
        '{"weight_map": []}',
        '{"weight_map": {"x": 1, "y": "a-2.safetensors"}}',
        '{"weight_map": {"x": "../a-1.safetensors", "y": "a-2.safetensors"}}',
        '{"weight_map": {"x": "/etc/passwd"}}',
        '{"weight_map": {"x": "a-2.safetensors", "y": "a-2.safetensors"}}',
        '{"weight_map": {"z": "a-2.safetensors"}}',
        '{"weight_map": {"x": "a-1.safetensors", "y": "a-\\u0000.safetensors"}}',
    ],
)
def test_a_bad_index(folder, index):
    path = folder / "model.safetensors.index.json"
    path.write_text(index)
    with pytest.raises((wcodec.CorruptError, wcodec.MissingFileError)):
        load_file(path)


def test_a_missing_shard(folder):
    for path in folder.glob("a-2.*"):
        os.unlink(path)
    with pytest.raises((FileNotFoundError, wcodec.CorruptError), match="a-2"):
        load_file(folder)


def test_a_name_in_two_shards(folder):
    os.unlink(folder / "model.safetensors.index.json")
    for path in folder.glob("a-1.*"):
        (folder / path.name.replace("1", "3")).write_bytes(path.read_bytes())
    with pytest.raises(wcodec.CorruptError, match="x"):
        load_file(folder)


def test_empty_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no .wcodec or .safetensors file"):
        load_file(tmp_path)


def test_what_is_no_file():
    with pytest.raises(wcodec.WcodecError):
        load_file("/dev/null")
    with pytest.raises(wcodec.WcodecError):
        load_file("/proc/self/mem")


def test_a_file_that_gets_shorter(plain):
    path = plain({"w": ("U8", (1 << 20,), bytes(1 << 20))})
    with wcodec.safe_open(path) as f:
        os.truncate(path, 5000)
        with pytest.raises(wcodec.FileError, match="shorter"):
            f.get_tensor("w")
