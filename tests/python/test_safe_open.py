# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""safe_open and its slices, beside numpy."""

import os
import random

import numpy as np
import pytest
import wcodec
from conftest import weights
from wcodec.numpy import load_file, save_file


@pytest.fixture(params=["model.wcodec", "model.safetensors"])
def path(request, tmp_path):
    rng = np.random.default_rng(3)
    save_file(
        {
            "m": rng.standard_normal((70, 33)).astype(np.float32),
            "t": rng.integers(0, 9, (5, 4, 6), np.int16),
            "v": np.arange(100000, dtype=np.int32),
            "s": np.array(2.5),
            "e": np.zeros((0, 3), np.int8),
        },
        tmp_path / request.param,
        {"format": "np"},
    )
    return tmp_path / request.param


def test_names_and_metadata(path):
    with wcodec.safe_open(path, framework="np") as f:
        assert f.keys() == ["e", "m", "s", "t", "v"]
        assert f.offset_keys() == ["s", "m", "v", "t", "e"]
        assert f.metadata() == {"format": "np"}
        assert list(f.get_tensors()) == f.offset_keys()


def index(rng, shape):
    """A random index that numpy takes in the same sense: one list at most."""
    parts, lists = [], 0
    for size in shape[: rng.randint(0, len(shape))]:
        kind = rng.randrange(4)
        if kind == 0 and size:
            parts.append(rng.randrange(-size, size))
        elif kind == 1 and not lists and size:
            lists = 1
            parts.append([rng.randrange(-size, size) for _ in range(rng.randint(0, 5))])
        else:
            ends = [rng.choice([None, rng.randint(-size - 2, size + 2)]) for _ in range(2)]
            parts.append(slice(*ends, rng.choice([None, 1, 2, 3, -1, -2])))
    if rng.random() < 0.3:
        parts.insert(rng.randint(0, len(parts)), ...)
        after = len(parts) - parts.index(...) - 1
        for i, part in enumerate(parts[len(parts) - after :]):
            size = shape[len(shape) - after + i]
            if isinstance(part, int) and not -size <= part < size:
                parts[len(parts) - after + i] = slice(None)
            if isinstance(part, list):
                parts[len(parts) - after + i] = slice(1, None, 2)
    return parts[0] if len(parts) == 1 and rng.random() < 0.5 else tuple(parts)


def test_slices_are_those_of_numpy(path):
    rng = random.Random(5)
    whole = load_file(path)
    with wcodec.safe_open(path) as f:
        for turn in range(1500):
            name = rng.choice("mtvse")
            where = index(rng, whole[name].shape)
            lists = isinstance(where, tuple) and any(isinstance(p, list) for p in where)
            if lists and any(isinstance(p, int) for p in where):
                continue  # numpy moves the dimensions about
            expected = whole[name][where]
            part = f.get_slice(name)[where]
            assert part.shape == expected.shape, (turn, name, where)
            assert np.array_equal(part, expected), (turn, name, where)
            assert part.dtype == expected.dtype


def test_lists_in_several_dimensions_are_taken_one_by_one(path):
    whole = load_file(path)["t"]
    with wcodec.safe_open(path) as f:
        part = f.get_slice("t")[[3, 1], :, [5, 0, 0]]
    assert np.array_equal(part, whole[[3, 1]][:, :, [5, 0, 0]])


@pytest.mark.parametrize("where", [5, -6, (0, 4), (0, 0, 0, 0), ([5],), (slice(None), [9])])
def test_indexes_out_of_range(path, where):
    with wcodec.safe_open(path) as f, pytest.raises(IndexError, match="tensor 't'"):
        f.get_slice("t")[where]


@pytest.mark.parametrize("where", ["a", 1.5, None, True, (..., ...), [True, False], object()])
def test_what_is_no_index(path, where):
    with wcodec.safe_open(path) as f, pytest.raises(wcodec.UsageError):
        f.get_slice("t")[where]


def test_a_part_keeps_no_whole_tensor(path):
    with wcodec.safe_open(path) as f:
        part = f.get_slice("v")[::1000]
        assert part.base is None or part.base.nbytes == part.nbytes


def test_only_the_rows_asked_for_are_read(packed):
    """Of a file whose first tile is damaged, later rows can be had."""
    path = packed({"w": ("BF16", (4096, 64), weights(np, 4096 * 64))})
    data = bytearray(path.read_bytes())
    data[8000:8016] = bytes(16)
    path.write_bytes(data)
    with wcodec.safe_open(path) as f:
        assert f.get_slice("w")[4000:].shape == (96, 64)
        with pytest.raises(wcodec.CorruptError) as caught:
            f.get_tensor("w")
        assert (caught.value.file, caught.value.tensor) == (str(path), "w")


def test_unknown_names(path):
    with wcodec.safe_open(path) as f:
        for call in (f.get_tensor, f.get_slice):
            for name in ("x", "", "m\0", "\ud800", "M"):
                with pytest.raises(wcodec.TensorNotFoundError) as caught:
                    call(name)
                assert caught.value.tensor == name
                assert caught.value.file == str(path)
            with pytest.raises(KeyError):
                call("x")
            with pytest.raises(TypeError):
                call(3)


def test_a_closed_file(path):
    with wcodec.safe_open(path) as f:
        part = f.get_slice("m")
    for call in (f.keys, f.metadata, f.offset_keys, f.get_tensors, lambda: f.get_tensor("m")):
        with pytest.raises(wcodec.UsageError, match="closed"):
            call()
    with pytest.raises(wcodec.UsageError, match="closed"):
        part[0]
    f.close()


def test_arguments(path, tmp_path):
    with pytest.raises(wcodec.UsageError, match="framework is 'x'"):
        wcodec.safe_open(path, "x")
    with pytest.raises(wcodec.UnsupportedError, match="'tf'"):
        wcodec.safe_open(path, "tf")
    with pytest.raises(wcodec.UsageError, match="numpy arrays are on 'cpu' only"):
        wcodec.safe_open(path, "np", device="cuda")
    with pytest.raises(FileNotFoundError):
        wcodec.safe_open(tmp_path / "none")
    with pytest.raises(wcodec.UsageError, match="zero byte"):
        wcodec.safe_open("a\0b")
    with pytest.raises(wcodec.UsageError, match="threads is 0"):
        wcodec.Reader(path, threads=0)
    with pytest.raises(TypeError):
        wcodec.safe_open(3)
    for storage in ("mmap", "pread"):
        assert len(load_file(path, backend=storage)) == 5
    assert list(load_file(path, names=["m", "s"])) == ["m", "s"]
    with pytest.raises(wcodec.TensorNotFoundError):
        load_file(path, names=["x"])


def test_a_backend_that_cannot_be_used(packed):
    path = packed({"w": ("BF16", (64,), weights(np, 64))})
    with pytest.raises(wcodec.BackendError, match="nonsense cannot be used"):
        wcodec.safe_open(path, backend="nonsense")
    with pytest.raises(wcodec.UsageError):
        wcodec.safe_open(path, backend="cpu\0")


def test_bytes(path):
    data = path.read_bytes()
    for given in (data, bytearray(data), memoryview(data)):
        with wcodec.safe_open(given) as f:
            assert np.array_equal(f.get_tensor("m"), load_file(path)["m"])
            assert repr(f) == "<wcodec.safe_open 'of bytes'>"


def test_paths_that_are_no_text(tmp_path):
    name = os.fsdecode(b"\xff-\xc3\xa9.wcodec")
    save_file({"a": np.ones(3)}, tmp_path / name)
    assert load_file(tmp_path / name)["a"].sum() == 3
    (tmp_path / name).write_bytes(b"x" * 200)
    with pytest.raises(wcodec.WcodecError):
        load_file(tmp_path / name)
