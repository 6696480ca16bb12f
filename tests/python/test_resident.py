# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Resident tensors with numpy: elements, products, bad arguments, closing, forking."""

import copy
import gc
import os
import pickle
import threading
import warnings

import numpy as np
import pytest
import wcodec
from conftest import weights

ml_dtypes = pytest.importorskip("ml_dtypes")
BF16 = np.dtype(ml_dtypes.bfloat16)
FORMS = ["auto", "coded", "fixed", "plain"]
N, K = 200, 700


def content():
    random = np.random.default_rng(7)
    table = weights(np, N * K)
    return {
        "bytes": ("I8", (40, 33), random.integers(-127, 127, 40 * 33, np.int8).tobytes()),
        "counts": ("I64", (5,), np.arange(5, dtype="<i8").tobytes()),
        "empty": ("BF16", (0, 5), b""),
        "half": ("F16", (33, 100), random.standard_normal(3300).astype("<f2").tobytes()),
        "none": ("BF16", (5, 0), b""),
        "packed": ("F4", (6, 8), bytes(range(24))),
        "scalar": ("F32", (), np.float32(2.5).tobytes()),
        "single": ("F32", (40, 33), random.standard_normal(1320).astype("<f4").tobytes()),
        "tied": ("BF16", (N, K), table),
        "w": ("BF16", (N, K), table),
    }


def matrix(name):
    dtype, shape, data = content()[name]
    kind = {"BF16": BF16, "F16": "<f2", "F32": "<f4", "I8": "i1"}[dtype]
    return np.frombuffer(data, kind).reshape(shape)


@pytest.fixture
def file(packed):
    return packed(content())


@pytest.fixture(params=FORMS)
def resident(request, file):
    with wcodec.Resident(file, form=request.param) as made:
        yield made


def vectors(*shape, dtype=np.float32, seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


UNIT = {BF16: 2.0**-8, np.dtype("f2"): 2.0**-11, np.dtype("f4"): 2.0**-24}


def near(y, x, w, added=0.0, sums=16):
    """Within the bound of wcodec/resident.h for x w^T, with two roundings more for scales and bias,
    and of rounding to y's type."""
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    exact = x @ w.T + added
    size = np.abs(x) @ np.abs(w.T) + np.abs(added)
    bound = (w.shape[1] / sums + 7) * 2.0**-24 * size + UNIT[y.dtype] * np.abs(exact)
    assert np.all(np.abs(np.asarray(y, np.float64) - exact) <= bound + 2.0**-24)


def test_what_is_there(resident, request):
    form = request.node.callspec.params["resident"]
    assert sorted(resident.names()) == sorted(content())
    held = 0
    for name, (dtype, shape, data) in content().items():
        info = resident.info(name)
        assert (info.name, info.dtype, info.shape, info.nbytes) == (name, dtype, shape, len(data))
        held += info.held
    assert held == resident.nbytes
    matrix_form = {"auto": "coded"}.get(form, form)
    assert resident.info("w").form == resident.info("tied").form == matrix_form
    half = resident.info("half")
    assert half.form == ("coded" if form in ("coded", "auto") else "plain")
    assert half.form == "plain" or half.held <= half.nbytes * 7 // 8
    aliases = {resident.info("w").alias, resident.info("tied").alias}
    assert aliases in ({None, "w"}, {None, "tied"})
    if matrix_form != "plain":
        assert resident.info("w").held + resident.info("tied").held < 0.85 * 2 * N * K
    assert repr(resident.nbytes) in repr(resident)


def test_some_tensors_in_the_order_asked_for(file):
    with wcodec.Resident(file, ["w", "bytes"]) as resident:
        assert resident.names() == resident.keys() == list(resident) == ["w", "bytes"]
        assert len(resident) == 2 and "w" in resident
        assert "half" not in resident and 0 not in resident and ["w"] not in resident
        assert resident.info("bytes").number == 1
        assert np.array_equal(resident.decode("bytes"), matrix("bytes"))
        with pytest.raises(wcodec.TensorNotFoundError, match="'half' is resident") as raised:
            resident.decode("half")
        assert raised.value.tensor == "half" and raised.value.file == str(file)
    with wcodec.Resident(file, []) as resident:
        assert resident.names() == [] and resident.nbytes == 0
        assert resident and len(resident) == 0 and list(resident) == []
    with wcodec.Resident(file.read_bytes(), ["scalar"]) as resident:
        assert resident.decode("scalar") == 2.5


def test_elements(resident):
    for name, (dtype, _, data) in content().items():
        if dtype != "F4":
            assert resident.decode(name).tobytes() == data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # told once: that it comes as bytes
        assert resident.decode("packed").tobytes() == content()["packed"][2]
    w = matrix("w")
    assert np.array_equal(resident.decode("w", first=17, count=70), w[17:87])
    assert np.array_equal(resident.decode("w", first=150), w[150:])
    assert resident.decode("w", first=5, count=0).shape == (0, K)
    out = np.zeros((N, K), BF16)
    assert resident.decode("w", out) is out
    assert np.array_equal(out, w)
    for first, count in ((-1, 2), (0, N + 1), (N, 1), (3, -1)):
        with pytest.raises(wcodec.UsageError, match="'w': rows from"):
            resident.decode("w", first=first, count=count)
    assert np.array_equal(resident.decode("w", first=np.int32(5), count=np.uint8(2)), w[5:7])
    for wrong in ({"first": 1.5}, {"first": False}, {"count": True}, {"count": "2"}):
        with pytest.raises(wcodec.UsageError, match=r"'w': (first|count) is .*: expected a whole"):
            resident.decode("w", **wrong)
    assert resident.decode("scalar", first=0, count=1) == 2.5
    for wrong in ({"first": 1}, {"count": 0}, {"count": 2}, {"first": -1}):
        with pytest.raises(wcodec.UsageError, match="'scalar': a scalar has no rows"):
            resident.decode("scalar", **wrong)


def test_rows_by_an_index(resident):
    w = matrix("w")
    rows = np.random.default_rng(1).integers(0, N, (4, 9))
    for index in (rows, rows.astype("u1"), rows.astype(">i4"), rows[:, ::2], rows.tolist(), 3):
        assert np.array_equal(resident.gather("w", index), w[np.asarray(index)])
    assert resident.gather("w", []).shape == (0, K)
    assert resident.gather("counts", [4, 4]).tolist() == [4, 4]
    out = np.zeros((4, 9, K), BF16)
    assert resident.gather("w", rows, out) is out
    assert np.array_equal(out, w[rows])
    for wrong in ([0, N], [-1]):
        with pytest.raises(wcodec.UsageError, match=f"is row {wrong[-1]} of {N}"):
            resident.gather("w", wrong, out[0, : len(wrong)])
    assert np.array_equal(out, w[rows])
    for wrong in ([0.5], [True], np.array([2**64 - 1], "u8")):
        with pytest.raises(wcodec.UsageError, match=r"rows are|outside"):
            resident.gather("w", wrong)
    with pytest.raises(wcodec.UsageError, match="scalar has no rows"):
        resident.gather("scalar", [0])


@pytest.mark.parametrize("form", FORMS)
def test_rows_by_an_index_in_the_memory_of_the_result(packed, form):
    table = np.random.default_rng(2).integers(50, 100, (100, 2), "<i8")
    path = packed({"ids": ("I64", (100, 2), table.tobytes())})
    rows = np.arange(90)[::-1].copy()
    with wcodec.Resident(path, form=form) as resident:
        out = np.zeros((90, 2), "<i8")
        index = out.reshape(-1)[60:150]
        index[:] = rows
        assert np.array_equal(resident.gather("ids", index, out), table[rows])


@pytest.mark.parametrize("dtype", [BF16, "f2", "f4"])
@pytest.mark.parametrize("name", ["w", "half", "single", "bytes"])
def test_products(resident, name, dtype):
    w = matrix(name)
    n, k = w.shape
    bias, scales = vectors(n, dtype=dtype), vectors(n, seed=8)
    for shape in ((k,), (1, k), (3, 5, k), (0, k)):
        x = vectors(*shape, dtype=dtype)
        y = resident.linear(name, x)
        assert y.shape == (*shape[:-1], n) and y.dtype == x.dtype
        near(y, x, w)
        near(resident.linear(name, x, bias), x, w, np.asarray(bias, np.float64))
    scaled = np.asarray(w, np.float64) * scales[:, None]
    near(resident.linear(name, x, scales=scales), x, scaled)
    near(resident.linear(name, x, scales=scales[:, None]), x, scaled)
    x = vectors(4, n, dtype=dtype)
    near(resident.linear(name, x, transposed=True), x, w.T, sums=1)
    near(resident.linear(name, x, scales=scales, transposed=True), x, scaled.T, sums=1)


def test_all_forms_give_the_same_bits(file):
    x, z = vectors(5, K, dtype=BF16), vectors(5, N, dtype=BF16)
    made = []
    for form in FORMS:
        for threads in (1, 3):
            with wcodec.Resident(file, form=form, threads=threads) as resident:
                y = resident.linear("w", x)
                made.append(y.tobytes() + resident.linear("w", z, transposed=True).tobytes())
                assert np.array_equal(y, resident.linear("tied", x))
    assert len(set(made)) == 1


def test_any_layout(resident):
    large = vectors(8, 6, 2 * K)
    for x in (
        large[..., :K],  # rows apart
        large[..., ::2],  # elements apart
        large[:, ::2, :K],  # no single distance
        large[::-1, :, :K],
        np.broadcast_to(large[:1, :1, :K], (8, 6, K)),
        np.asfortranarray(large[..., :K]),
        large[..., :K].astype(">f4"),
        np.frombuffer(b"." + large[..., :K].tobytes(), "<f4", offset=1).reshape(8, 6, K),
        large[0, 0, :K],
    ):
        same = np.array(x, "<f4", order="C")
        assert np.array_equal(resident.linear("w", x), resident.linear("w", same))
    spread = vectors(2 * N)
    x = np.ascontiguousarray(large[..., :K])
    assert np.array_equal(
        resident.linear("w", x, spread[::2]), resident.linear("w", x, spread[::2].copy())
    )


def test_where_the_result_goes(resident):
    x = vectors(8, 6, K)
    y = resident.linear("w", x)
    wide = np.full((8, 6, 2 * N), 9, "f4")
    for out in (np.empty((8, 6, N), "f4"), wide[..., :N], np.empty((6, 8, N), "f4").swapaxes(0, 1)):
        assert resident.linear("w", x, out=out) is out
        assert np.array_equal(out, y)
    assert np.all(wide[..., N:] == 9)
    for dtype in (BF16, "f2"):
        out = np.empty((8, 6, N), dtype)
        assert np.array_equal(resident.linear("w", x, out=out), y.astype(dtype))
    both = vectors(350, K)  # more than the library takes at once
    expected = resident.linear("w", both[:300])
    assert np.array_equal(resident.linear("w", both[:300], out=both[50:, :N]), expected)


def test_without_elements(resident):
    assert resident.linear("none", np.zeros((3, 0), "f4")).tolist() == [[0] * 5] * 3
    assert resident.linear("none", np.zeros((3, 0), "f4"), vectors(5)).shape == (3, 5)
    assert resident.linear("none", np.zeros((3, 5), "f4"), transposed=True).shape == (3, 0)
    assert resident.linear("empty", np.zeros((3, 5), "f4")).shape == (3, 0)
    assert not resident.linear("empty", np.zeros((3, 0), "f4"), transposed=True).any()


WRONG = {
    r"shape \(3, 699\): its last dimension must be 700": {"x": np.zeros((3, K - 1), "f4")},
    r"shape \(\): its last dimension": {"x": np.float32(1)},
    "x is float64: expected BF16, F16 or F32|x is F64": {"x": np.zeros((3, K))},
    r"bias has shape \(1, 200\): expected \(200,\)": {"bias": np.zeros((1, N), "f4")},
    "bias is I32": {"bias": np.zeros(N, "i4")},
    r"scales has shape \(700,\)": {"scales": np.zeros(K, "f4")},
    r"out is F32 of shape \(3, 200, 1\)": {"out": np.zeros((3, N, 1), "f4")},
    "out is F64": {"out": np.zeros((3, N))},
    "out is list: expected numpy.ndarray": {"out": [0]},
    "out is read-only": {"out": np.broadcast_to(np.float32(0), (3, N))},
    "another byte order": {"out": np.zeros((3, N), ">f4")},
    "takes no bias": {"x": np.zeros((3, N), "f4"), "transposed": True, "bias": np.zeros(N, "f4")},
    "'counts': a product needs 2 dimensions": {"name": "counts"},
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_arguments(file, text):
    arguments = {"name": "w", "x": np.zeros((3, K), "f4"), **WRONG[text]}
    with wcodec.Resident(file) as resident, pytest.raises(wcodec.UsageError, match=text):
        resident.linear(**arguments)


def test_other_errors(file, plain, packed):
    with wcodec.Resident(file) as resident:
        with pytest.raises(wcodec.UnsupportedError, match="'packed': there are no products"):
            resident.linear("packed", np.zeros((1, 8), "f4"))
        for out in (np.zeros((N, K), "f2"), np.zeros((N, K - 1), BF16), np.zeros((K, N), BF16).T):
            with pytest.raises(wcodec.UsageError, match="'w': out is"):
                resident.decode("w", out)
        with pytest.raises(TypeError, match="is a str, not int"):
            resident.info(3)
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(resident)
        assert copy.deepcopy(resident) is copy.copy(resident) is resident
        names = resident.names()
        assert [resident.name_of(i) for i in range(len(names))] == names
        for number in (-1, len(names)):
            with pytest.raises(wcodec.UsageError, match=f"no resident tensor {number}, but 10"):
                resident.name_of(number)
    for device in ("cuda:99", "opencl:x", None):
        with pytest.raises(wcodec.WcodecError, match="device is"):
            wcodec.Resident(file, device=device)
    with pytest.raises(wcodec.UsageError, match="form is 'best': expected one of 'auto'"):
        wcodec.Resident(file, form="best")
    with pytest.raises(wcodec.UsageError, match="framework is 'jax'"):
        wcodec.Resident(file, framework="jax")
    with pytest.raises(wcodec.UsageError, match="names is 'w'"):
        wcodec.Resident(file, "w")
    with pytest.raises(wcodec.UsageError):
        wcodec.Resident(file, ["w", "w"])
    with pytest.raises(wcodec.TensorNotFoundError, match="'nothing'"):
        wcodec.Resident(file, ["w", "nothing"])
    with pytest.raises(wcodec.MissingFileError):
        wcodec.Resident(file.with_name("nothing.wcodec"))
    with pytest.raises(wcodec.UnsupportedError, match="is not compressed"):
        wcodec.Resident(plain(content()))


@pytest.mark.parametrize("form", FORMS)
def test_damage_is_found_when_it_becomes_resident(packed, form):
    path = packed({"w": content()["w"]}, name="damaged.safetensors")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    with pytest.raises(wcodec.CorruptError) as raised:
        wcodec.Resident(path, form=form)
    assert raised.value.file == str(path) and raised.value.tensor == "w"


def test_progress_and_stopping(file):
    told = []
    with wcodec.Resident(file, progress=lambda done, total: told.append((done, total))):
        assert told[-1][0] == told[-1][1] > 0

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wcodec.Resident(file, progress=stop)


def test_closed(file):
    resident = wcodec.Resident(file)
    resident.close()
    resident.close()
    assert resident.closed and "closed" in repr(resident)
    calls = [
        lambda: resident.nbytes,
        lambda: resident.names(),
        lambda: resident.keys(),
        lambda: list(resident),
        lambda: len(resident),
        lambda: "w" in resident,
        lambda: resident.info("w"),
        lambda: resident.decode("w"),
        lambda: resident.gather("w", [1]),
        lambda: resident.linear("w", np.zeros(K, "f4")),
    ]
    for call in calls:
        with pytest.raises(wcodec.UsageError, match="are closed"):
            call()


def test_it_keeps_what_it_needs(file, monkeypatch):
    x = vectors(4, K)
    monkeypatch.setenv("WCODEC_BACKEND", "none")  # which is for files: these are the CPU's
    resident = wcodec.Resident(file, threads=2)
    expected = resident.linear("w", x)
    wcodec.release()
    file.unlink()
    gc.collect()
    assert np.array_equal(resident.linear("w", x), expected)
    y = resident.decode("w")
    del resident
    gc.collect()
    assert np.array_equal(y, matrix("w"))


def test_closing_while_others_compute(file):
    x = vectors(4, K)
    with wcodec.Resident(file) as resident:
        expected = resident.linear("w", x)
    for form in FORMS * 3:
        resident = wcodec.Resident(file, form=form)
        begun, wrong = threading.Barrier(5), []

        def work(resident=resident, begun=begun, wrong=wrong):
            begun.wait()
            try:
                while True:
                    if not np.array_equal(resident.linear("w", x), expected):
                        wrong.append("differs")
            except wcodec.UsageError as error:
                if "closed" not in str(error):
                    wrong.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun.wait()
        resident.linear("w", x)
        resident.close()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert not wrong


def test_a_forked_child_cannot_use_it(file):
    resident = wcodec.Resident(file)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with pytest.raises(wcodec.UsageError, match="forked"):
                resident.linear("w", np.zeros(K, "f4"))
            resident.close()
            with wcodec.Resident(file) as own:
                own.linear("w", np.zeros(K, "f4"))
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(resident.decode("w"), matrix("w"))
