# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files of other kinds, made by their own packages: their tensors are there, and they come back."""

import numpy as np
import pytest
import wcodec


def there_and_back(path, kind):
    """Compress, restore and compare; the opened file."""
    made = wcodec.compress(path)
    assert (made["kind"], made["note"]) == (kind, "")
    back = path.with_name("back")
    wcodec.decompress(made["output"], back)
    assert back.read_bytes() == path.read_bytes()
    assert wcodec.info(made["output"])["files"][0]["kind"] == kind
    return wcodec.safe_open(made["output"], framework="np")


@pytest.fixture
def arrays():
    rng = np.random.default_rng(1)
    weights = (rng.standard_normal((200, 300)) * 0.02).astype(np.float32)
    return {
        "layer.weight": weights,
        "half": weights.astype(np.float16),
        "convolution": (rng.standard_normal((8, 4, 3, 3)) * 0.02).astype(np.float64),
        "steps": np.arange(5000, dtype=np.int64),
        "mask": weights > 0,
        "complex": weights.astype(np.complex64),
        "number": np.float32(3),
        "none": np.zeros((0, 7), np.uint16),
    }


def test_npz(arrays, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays, transposed=np.asfortranarray(arrays["half"]))
    with there_and_back(tmp_path / "a.npz", "npz") as f:
        assert set(f.keys()) == {*arrays, "transposed"}
        for name, array in arrays.items():
            if array.dtype != np.complex64:
                np.testing.assert_array_equal(f.get_tensor(name), array, strict=True)
        np.testing.assert_array_equal(f.get_tensor("transposed"), arrays["half"].T)
        np.testing.assert_array_equal(
            f.get_slice("layer.weight")[10:20], arrays["layer.weight"][10:20]
        )
        assert f.metadata()["npy.transposed.transposed"] == "fortran_order"


def test_npz_of_many(tmp_path):
    """More members, and longer names, than one page of the directory."""
    arrays = {f"{'n' * 200}{i}": np.full(3, i, np.int32) for i in range(3000)}
    np.savez(tmp_path / "a.npz", **arrays)
    with there_and_back(tmp_path / "a.npz", "npz") as f:
        assert len(f.keys()) == 3000
        np.testing.assert_array_equal(f.get_tensor(f"{'n' * 200}2999"), [2999] * 3)


def test_npz_compressed(arrays, tmp_path):
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    made = wcodec.compress(tmp_path / "a.npz")
    assert made["kind"] == "opaque"
    assert "it is compressed" in made["note"]


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy(arrays, tmp_path, version):
    with open(tmp_path / "a.npy", "wb") as f:
        np.lib.format.write_array(f, arrays["layer.weight"], version)
    with there_and_back(tmp_path / "a.npy", "npy") as f:
        np.testing.assert_array_equal(f.get_tensor("arr_0"), arrays["layer.weight"], strict=True)


@pytest.mark.parametrize(
    "array",
    [
        np.array(["text"]),
        np.zeros(3, [("a", "<f4"), ("b", "<i2")]),
        np.zeros(3, ">f4"),
        np.zeros(3, np.complex128),
        np.zeros(3, np.longdouble),
        np.zeros(3, "M8[s]"),
    ],
    ids=lambda array: array.dtype.str,
)
def test_npy_without_numbers(array, tmp_path):
    np.save(tmp_path / "a.npy", array)
    made = wcodec.compress(tmp_path / "a.npy")
    assert made["kind"] == "opaque"
    assert made["note"].startswith("is a NumPy array (.npy), but: its elements are ")
    wcodec.decompress(made["output"], tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "a.npy").read_bytes()
