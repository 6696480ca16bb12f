# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Resident tensors in the memory of an OpenCL device, by arrays of numpy."""

import pytest

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")

import wcodec  # noqa: E402
from wcodec.numpy import save_file  # noqa: E402

BF16 = ml_dtypes.bfloat16
N, K = 96, 320


def normal(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(BF16)


@pytest.fixture(scope="module")
def weights():
    return {
        "w": (normal(N, K) / 16).astype(BF16),
        "odd": normal(100, 77, seed=2),
        "table": normal(500, K, seed=5),
        "stack": normal(4, 64, 256, seed=3),
        "int8": (np.random.default_rng(4).standard_normal((64, 48)) * 30).astype(np.int8),
        "vector": normal(3, seed=6),
        "scalar": np.float32(4),
        "empty": np.empty((0, 5), np.float32),
    }


@pytest.fixture(scope="module")
def resident(weights, opencl_plugin, tmp_path_factory):
    file = tmp_path_factory.mktemp("opencl") / "m.wcodec"
    save_file(weights, file)
    try:
        made = wcodec.Resident(file, device="opencl")
    except wcodec.BackendError as error:
        pytest.skip(str(error))
    with made:
        yield made


def test_elements_are_those_of_the_file(resident, weights):
    assert resident.device == "opencl"
    assert resident.info("w").form == resident.info("stack").form == "fixed"
    assert resident.info("int8").form == "plain"
    for name, w in weights.items():
        assert resident.decode(name).tobytes() == w.tobytes(), name
    assert resident.decode("w", first=3, count=20).tobytes() == weights["w"][3:23].tobytes()
    assert resident.decode("int8", first=3, count=20).tobytes() == weights["int8"][3:23].tobytes()
    out = np.zeros((N, K), BF16)
    assert resident.decode("w", out) is out
    assert out.tobytes() == weights["w"].tobytes()


def test_rows_by_an_index(resident, weights):
    index = np.array([[3, 0, 3], [63, 1, 2]])
    for name in ("w", "odd", "int8"):
        got = resident.gather(name, index)
        assert got.tobytes() == weights[name][index].tobytes(), name
    assert resident.gather("stack", [2, 0]).tobytes() == weights["stack"][[2, 0]].tobytes()
    for row in (-1, N):
        out = np.full((2, K), 7, BF16)
        with pytest.raises(wcodec.UsageError, match=f"tensor 'w': index 1 is row {row}, of {N}"):
            resident.gather("w", [0, row], out)
        assert (out == 7).all()


@pytest.mark.parametrize("vectors", [0, 1, 8, 9, 33])
def test_products(resident, weights, vectors):
    x, bias = normal(vectors, K, seed=7), normal(N, seed=8)
    w = weights["w"].astype(np.float64)
    exact = x.astype(np.float64) @ w.T + bias.astype(np.float64)
    y = resident.linear("w", x, bias)
    assert y.dtype == BF16 and y.shape == (vectors, N)
    assert np.allclose(y.astype(np.float64), exact, rtol=2**-8, atol=1e-3)
    wide = np.full((vectors, N + 5), 7, np.float32)
    assert resident.linear("w", x, bias.astype(np.float32), out=wide[:, :N]).shape == (vectors, N)
    assert np.allclose(wide[:, :N], exact, atol=1e-3)
    assert (wide[:, N:] == 7).all()
    spaced = np.zeros((vectors, K + 3), BF16)
    spaced[:, :K] = x
    assert resident.linear("w", spaced[:, :K], bias).tobytes() == y.tobytes()


def test_as_in_the_file(resident, weights):
    with wcodec.Resident(resident.path, device="opencl", form="coded") as coded:
        assert coded.info("w").form == coded.info("int8").form == "coded"
        for name, w in weights.items():
            assert coded.decode(name).tobytes() == w.tobytes(), name
            if len(w.shape) > 1 and len(w):
                assert coded.gather(name, [1, 0]).tobytes() == w[[1, 0]].tobytes(), name
        index = [499, 0, 7, 7]  # straight from the tiles
        assert coded.info("table").is_gathered(len(index))
        assert coded.gather("table", index).tobytes() == weights["table"][index].tobytes()
        assert coded.decode("w", first=3, count=20).tobytes() == weights["w"][3:23].tobytes()
        x = normal(3, K, seed=9)
        assert np.allclose(
            coded.linear("w", x, out=np.empty((3, N), np.float32)),
            x.astype(np.float32) @ weights["w"].astype(np.float32).T,
            atol=1e-3,
        )


def test_transposed(resident, weights):
    x = normal(5, N, seed=8)
    y = resident.linear("w", x, transposed=True)
    assert y.shape == (5, K)
    expected = x.astype(np.float32) @ weights["w"].astype(np.float32)
    assert np.allclose(y.astype(np.float32), expected, atol=0.05, rtol=0.01)


def test_other_types(resident, weights):
    rng = np.random.default_rng(10)
    x = rng.standard_normal((5, K)).astype(np.float32)
    expected = x @ weights["w"].astype(np.float32).T
    assert np.allclose(resident.linear("w", x), expected, atol=1e-3)
    x, scales = rng.standard_normal((9, 48)).astype(np.float32), np.linspace(0.5, 2, 64, dtype="f4")
    expected = x @ weights["int8"].astype(np.float32).T * scales
    assert np.allclose(resident.linear("int8", x, scales=scales), expected, rtol=1e-3, atol=1e-2)
    y = rng.standard_normal((2, 64)).astype(np.float32)
    expected = (y * scales) @ weights["int8"].astype(np.float32)
    got = resident.linear("int8", y, scales=scales, transposed=True)
    assert np.allclose(got, expected, rtol=1e-3, atol=1e-2)


def test_what_it_refuses(resident):
    with pytest.raises(wcodec.BackendError):
        wcodec.Resident(resident.path, device="opencl:99")
