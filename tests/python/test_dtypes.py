# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Every element type and odd shape, both ways."""

import math
import warnings

import numpy as np
import pytest
import wcodec
from conftest import BITS, run, safetensors_bytes, weights
from wcodec.numpy import load, load_file, save, save_file

SHAPES = [(), (0,), (1,), (3, 0, 2), (8,), (5, 8), (2, 3, 4, 8), (64, 256)]


def content(dtype, shape, seed=1):
    size = math.prod(shape) * BITS[dtype]
    if size % 8:
        return None
    data = np.random.default_rng(seed).integers(0, 256, size // 8, dtype=np.uint8)
    return bytes(data % 2 if dtype == "BOOL" else data)


def all_tensors():
    made = {}
    for dtype in BITS:
        for shape in SHAPES:
            data = content(dtype, shape, len(made))
            if data is not None:
                made[f"{dtype}.{'x'.join(map(str, shape))}"] = (dtype, shape, data)
    return made


@pytest.mark.filterwarnings("ignore:numpy has no type")
def test_every_type_and_shape(plain, tmp_path):
    tensors = all_tensors()
    path = plain(tensors)
    wcodec.compress(path)
    for name in (path, f"{path}.wcodec"):
        loaded = load_file(name)
        assert list(loaded) == list(tensors)
        with wcodec.safe_open(name, "np") as f:
            for key, (dtype, shape, data) in tensors.items():
                array = loaded[key]
                assert array.tobytes() == data, key
                assert array.flags.c_contiguous
                assert array.flags.writeable
                assert array.flags.owndata
                if BITS[dtype] % 8 == 0:
                    assert array.shape == shape
                    assert array.dtype.itemsize * 8 == BITS[dtype]
                assert f.get_slice(key).get_dtype() == dtype
                assert f.get_slice(key).get_shape() == list(shape)
                assert f.get_tensor(key).tobytes() == data


def test_packed_types_come_as_bytes(packed):
    path = packed(
        {
            "rows": ("F4", (3, 4), bytes(range(6))),
            "odd": ("F4", (2, 3), bytes(range(3))),
            "six": ("F6_E2M3", (2, 4), bytes(range(6))),
        }
    )
    with pytest.warns(UserWarning, match="numpy has no type for F4: it comes as bytes"):
        from wcodec import numpy

        numpy._warned.clear()
        loaded = load_file(path)
    assert {key: (a.dtype.name, a.shape) for key, a in loaded.items()} == {
        "rows": ("uint8", (3, 2)),
        "odd": ("uint8", (3,)),
        "six": ("uint8", (2, 3)),
    }
    with wcodec.safe_open(path) as f, pytest.raises(wcodec.UnsupportedError, match="'rows'"):
        f.get_slice("rows")[0]


def test_nan_payloads_stay(packed):
    bits = np.array([0x7FC00001, 0xFFC12345, 0x7F800001, 0x80000000, 0x7F800000], np.uint32)
    data = {
        "a": ("F32", (5,), bits.tobytes()),
        "b": ("BF16", (5,), (bits >> 16).astype("<u2").tobytes()),
    }
    path = packed(data)
    assert np.array_equal(load_file(path)["a"].view(np.uint32), bits)
    assert load_file(path)["b"].tobytes() == data["b"][2]
    again = load(save(load_file(path)))
    assert np.array_equal(again["a"].view(np.uint32), bits)


def test_without_ml_dtypes_bits_come_as_integers(packed):
    path = packed({"w": ("BF16", (2, 2), bytes(range(8)))})
    made = run(
        """
        import sys, warnings
        sys.modules["ml_dtypes"] = None
        warnings.simplefilter("error")
        from wcodec.numpy import load_file
        try:
            load_file(sys.argv[1])
        except UserWarning as warning:
            print(warning)
        print(load_file(sys.argv[1])["w"].dtype)
        """,
        path,
    )
    assert made.stdout == "BF16 needs ml_dtypes: without it, its bits come as uint16\nuint16\n"


def test_arrays_of_any_layout_are_saved(tmp_path):
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    given = {
        "transposed": base.T,
        "strided": base[::2, ::3],
        "big-endian": base.astype(">f4"),
        "scalar": np.float64(2.5),
        "0-d": np.array(7, np.int16),
        "empty": np.zeros((0, 3), np.uint8),
        "bool": base > 5,
        "complex": base.astype(np.complex64),
        "read-only": np.broadcast_to(np.float32(1), (3, 3)),
    }
    for name in ("a.wcodec", "a.safetensors"):
        save_file(given, tmp_path / name, {"k": "v"})
        loaded = load_file(tmp_path / name)
        assert set(loaded) == set(given)
        for key, array in given.items():
            assert np.array_equal(loaded[key], array), key
            assert loaded[key].shape == array.shape
        assert wcodec.safe_open(tmp_path / name).metadata() == {"k": "v"}


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_types_of_ml_dtypes(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.arange(1, 5).astype(getattr(ml_dtypes, dtype))
    loaded = load(save({"a": array}))["a"]
    assert loaded.dtype == array.dtype
    assert loaded.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"a": np.zeros(2, np.complex128)}, "tensor 'a' is of type complex128"),
        ({"a": np.array(["x"])}, "tensor 'a' is of type <U1"),
        ({"a": [1, 2]}, "tensor 'a' is list: expected an array"),
        ([1], "expected a dict of arrays, got list"),
        ({"a\0b": np.zeros(1)}, "cannot be called"),
        ({"__metadata__": np.zeros(1)}, "cannot be called"),
    ],
)
def test_what_cannot_be_saved(given, text, tmp_path):
    target = tmp_path / "a.wcodec"
    with pytest.raises(wcodec.UsageError, match=text):
        save_file(given, target)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TypeError):
        save({1: np.zeros(1)})
    with pytest.raises(TypeError):
        save({}, {"a": 1})


def test_more_dimensions_than_numpy_has(packed):
    path = packed({"deep": ("U8", (1,) * 200, b"\x05")})
    with pytest.raises(wcodec.UnsupportedError, match="tensor 'deep'"):
        load_file(path)


def test_types_of_the_future_come_as_bytes(plain):
    data = safetensors_bytes(
        {"new": ("F3", (8,), b"abc"), "w": ("BF16", (4096,), weights(np, 4096))}
    )
    path = plain({})
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert load_file(path)["new"].tobytes() == b"abc"
        assert load_file(wcodec.compress(path)["output"])["new"].tobytes() == b"abc"
