# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Resident tensors in the memory of a CUDA device. See cuda_support.py."""

import gc

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

import wcodec  # noqa: E402
from cuda_support import DEVICE, ON, marks, on_cuda, on_device, raw  # noqa: E402
from wcodec.torch import Embedding, Linear, save_file  # noqa: E402

pytestmark = [*marks, on_device]
N, K = 768, 1024
VECTORS = [0, 1, 3, 8, 16, 31, 32, 33, 200]


def normal(*shape, seed=1, dtype=torch.bfloat16):
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return made.to(DEVICE).to(dtype)


@pytest.fixture(autouse=True)
def exact_sums():
    """Torch's products with sums of 32 bits to their end."""
    matmul = torch.backends.cuda.matmul
    names = ("tf32", "bf16_reduced_precision_reduction", "fp16_reduced_precision_reduction")
    before = {f"allow_{name}": getattr(matmul, f"allow_{name}") for name in names}
    for name in before:
        setattr(matmul, name, False)
    yield
    for name, value in before.items():
        setattr(matmul, name, value)


@pytest.fixture
def weights():
    return {
        "w": normal(N, K) / 16,
        "odd": normal(100, 77, seed=2),
        "stack": normal(4, 64, 256, seed=3),
        "int8": (normal(64, 48, seed=4) * 30).to(torch.int8),
        "half": normal(40, 30, seed=5, dtype=torch.float16),
        "vector": normal(3, seed=6),
        "empty": torch.empty(0, 5, device=DEVICE),
    }


@pytest.fixture
def resident(weights, tmp_path):
    save_file({name: w.cpu() for name, w in weights.items()}, tmp_path / "m.wcodec")
    with wcodec.Resident(tmp_path / "m.wcodec", device=ON, framework="pt") as made:
        yield made


def near(y, x, w, bias=None):
    exact = x.double() @ w.double().T
    size = x.double().abs() @ w.double().abs().T
    if bias is not None:
        exact += bias.double()
        size += bias.double().abs()
    unit = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-10, torch.float32: 0}[y.dtype]
    bound = (x.shape[-1] + 8) * 2.0**-22 * size + unit * exact.abs() + 2.0**-24
    return y.shape == exact.shape and bool(((y.double() - exact).abs() <= bound).all())


def test_elements_are_those_of_the_file(resident, weights):
    assert resident.info("w").form == "fixed"
    assert resident.info("int8").form == "plain"
    assert resident.nbytes < 0.76 * sum(w.nbytes for w in weights.values())
    for name, w in weights.items():
        got = resident.decode(name)
        assert got.device == w.device and got.dtype == w.dtype
        assert torch.equal(got, w)
    assert torch.equal(resident.decode("stack", first=1, count=2), weights["stack"][1:3])
    out = torch.empty(5, K, dtype=torch.bfloat16, device=DEVICE)
    assert resident.decode("w", out, first=700, count=5) is out
    assert torch.equal(out, weights["w"][700:705])


@pytest.mark.parametrize("name", ["w", "int8", "half", "odd"])
def test_rows_by_an_index(resident, weights, name):
    rows = torch.randint(0, weights[name].shape[0], (7, 9), device=DEVICE)
    assert torch.equal(resident.gather(name, rows), weights[name][rows])
    assert torch.equal(resident.gather(name, rows.int()), weights[name][rows])
    with pytest.raises(wcodec.UsageError, match="expected whole numbers"):
        resident.gather(name, rows.float())


@pytest.mark.parametrize("name", ["w", "int8", "half", "odd"])
def test_rows_that_are_none_are_zeros(resident, weights, name):
    n = weights[name].shape[0]
    got = resident.gather(name, [0, -1, n, 1 << 40, n - 1, -(1 << 40)])
    assert torch.equal(got[[0, 4]], weights[name][[0, n - 1]])
    assert not got[[1, 2, 3, 5]].any()
    with pytest.raises(wcodec.UsageError, match=r"^.*4 of the rows that were gathered are none"):
        resident.check()
    resident.check()
    none = resident.gather("empty", [0, 7])
    assert none.shape == (2, 5) and not none.any()


def test_equal_tensors_of_other_shapes(packed):
    """They are kept once, in rows of the first."""
    w = normal(96, 128, seed=20)
    shapes = {"b": (192, 64), "c": (48, 256), "d": (2, 48, 128), "e": (96 * 128,), "f": (32, 384)}
    tensors = {"a": w, **{name: w.reshape(shape).clone() for name, shape in shapes.items()}}
    path = packed({name: ("BF16", tuple(t.shape), raw(t)) for name, t in tensors.items()})
    with wcodec.Resident(path, device=ON) as resident:
        assert {resident.info(name).alias for name in tensors} == {None, "a"}
        assert resident.info("a").form == "fixed"
        for name, t in tensors.items():
            n = len(t)
            rows = torch.tensor([[n - 1, 0], [-1, n // 2]], device=DEVICE)
            expected = t[rows.clamp(0)] * (rows >= 0).reshape(2, 2, *[1] * (t.dim() - 1))
            assert torch.equal(resident.decode(name), t)
            assert torch.equal(resident.decode(name, first=1, count=n - 1), t[1:])
            assert torch.equal(resident.gather(name, rows), expected)
            if t.dim() == 2:
                x, z = normal(3, t.shape[1], seed=21), normal(3, n, seed=22)
                assert near(resident.linear(name, x), x, t)
                assert near(resident.linear(name, z, transposed=True), z, t.T)


def test_types_that_torch_packs_or_lacks(packed):
    """As in host memory."""
    path = packed(
        {
            "f4": ("F4", (6, 8), bytes(range(24))),
            "f4.long": ("F4", (5, 3, 2), bytes(range(15))),
            "f6": ("F6_E2M3", (4, 4), bytes(range(12))),
            "f6.odd": ("F6_E3M2", (8, 3), bytes(range(18))),
            "f8": ("F8_E4M3", (4, 3), bytes(range(12))),
            "one": ("I64", (), bytes(range(8))),
            "bool": ("BOOL", (3, 2), b"\0\1" * 3),
        }
    )
    with (
        wcodec.Resident(path, framework="pt") as host,
        wcodec.Resident(path, device=ON) as resident,
    ):
        for name in host:
            expected, got = host.decode(name), resident.decode(name)
            assert got.dtype == expected.dtype and got.shape == expected.shape
            assert raw(got) == raw(expected)
            out = torch.empty(expected.shape, dtype=expected.dtype, device=DEVICE)
            assert resident.decode(name, out) is out and raw(out) == raw(expected)
        for name in ("f4", "f6", "f8", "bool"):
            part = resident.decode(name, first=1, count=2)
            assert raw(part) == raw(host.decode(name, first=1, count=2))
            rows = torch.tensor([2, 0])
            got, expected = resident.gather(name, rows.to(DEVICE)), host.gather(name, rows)
            assert got.shape == expected.shape and raw(got) == raw(expected)
        with pytest.raises(wcodec.UsageError, match="do not lie on whole bytes"):
            resident.decode("f6.odd", first=0, count=1)
        with pytest.raises(wcodec.UsageError, match="do not lie on whole bytes"):
            resident.gather("f6.odd", [0])
        with pytest.raises(wcodec.UnsupportedError, match="no products with BOOL"):
            resident.linear("bool", torch.ones(1, 2, device=DEVICE))


@pytest.mark.parametrize("vectors", VECTORS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_products(resident, weights, vectors, dtype):
    x, bias = normal(vectors, K, seed=7, dtype=dtype), normal(N, seed=8, dtype=torch.float32)
    assert near(resident.linear("w", x), x, weights["w"])
    assert near(resident.linear("w", x, bias.to(dtype)), x, weights["w"], bias.to(dtype))
    out = torch.empty(vectors, N, dtype=torch.float32, device=DEVICE)
    if dtype == torch.bfloat16 and vectors <= 32:
        assert resident.linear("w", x, bias, out=out) is out
        assert near(out, x, weights["w"], bias)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_vectors_of_more_bits_than_weights(dtype, tmp_path):
    """Nothing of x is lost, nor of weights that the type of x lacks; infinities stay."""
    w = normal(64, 256, seed=23) * torch.logspace(-14, 20, 64, 2, device=DEVICE)[:, None]
    w = w.bfloat16()
    w[40, 3] = float("inf")
    save_file({"w": w.cpu()}, tmp_path / "m.wcodec")
    x = normal(10, 256, seed=24, dtype=dtype) * 2.0**-6
    x[:, ::2] = x[:, ::2].bfloat16().to(dtype)
    x[4, 7], x[5, 9] = float("inf"), float("nan")
    if dtype == torch.float32:
        x[6, 8] = torch.finfo(dtype).max
    with wcodec.Resident(tmp_path / "m.wcodec", device=ON) as resident:
        assert resident.info("w").form == "fixed"
        for vectors in (x, x[3], x[4], x.repeat(4, 1)):
            out = torch.empty(*vectors.shape[:-1], 64, device=DEVICE)
            y = resident.linear("w", vectors, out=out).double()
            exact = vectors.double() @ w.double().T
            size = vectors.double().abs() @ w.double().abs().T
            finite = size.isfinite() & (size < 3e38)
            error = (y - exact).abs()
            assert (error <= 264 * 2.0**-22 * size)[finite].all()
            assert torch.equal(y.isnan(), exact.isnan())
            assert torch.equal(y.isinf() & ~finite, exact.isinf() | (y.isinf() & ~finite))
            assert resident.linear("w", vectors).dtype == dtype


def test_results_are_rounded_once(resident, weights):
    bias = normal(N, seed=25, dtype=torch.float32) * 8
    x = normal(40, K, seed=26)
    for vectors in (3, 40):
        assert near(resident.linear("w", x[:vectors], bias), x[:vectors], weights["w"], bias)
        out = torch.empty(vectors, N, device=DEVICE)
        assert near(
            resident.linear("w", x[:vectors], bias, out=out), x[:vectors], weights["w"], bias
        )
    z, scales = normal(40, 48, seed=12), normal(64, seed=13, dtype=torch.float32)
    added = normal(64, seed=14, dtype=torch.float32)
    w = weights["int8"].double() * scales.double()[:, None]
    assert near(resident.linear("int8", z, added, scales=scales), z, w, added)


def test_few_rows_of_what_stays_as_in_the_file(weights, tmp_path, monkeypatch):
    """Straight from its tiles: nothing else is decoded."""
    w, decoded = weights["w"], []
    ragged = normal(500, 1044, seed=28)
    save_file({"w": w.cpu(), "ragged": ragged.cpu()}, tmp_path / "m.wcodec")
    with wcodec.Resident(tmp_path / "m.wcodec", device=ON, framework="pt", form="coded") as made:
        device = made._device
        decode = device._decode
        monkeypatch.setattr(device, "_decode", lambda *a: (decoded.append(a), decode(*a)))
        for name, table in (("w", w), ("ragged", ragged)):
            n = len(table)
            rows = torch.tensor([[3, n - 1, 0], [3, n // 2, n // 3]], device=DEVICE)
            assert torch.equal(made.gather(name, rows), table[rows])
            got = made.gather(name, [1, n, -1, n - 1])
            assert torch.equal(got[[0, 3]], table[[1, n - 1]]) and not got[1:3].any()
            assert not decoded
            with pytest.raises(wcodec.UsageError, match="2 of the rows"):
                made.check()
            out = torch.zeros(3 * table.shape[1] + 4, dtype=w.dtype, device=DEVICE)[4:]
            out = out.view(3, -1)
            assert torch.equal(made.gather(name, [7, 7, 9], out), table[[7, 7, 9]])
            assert len(decoded) == 1, "an array that is not aligned"
            many = torch.arange(n, device=DEVICE).flip(0)
            assert torch.equal(made.gather(name, many), table.flip(0))
            assert len(decoded) == 2, "rows of all tiles"
            decoded.clear()


@pytest.mark.parametrize("tune", ["size", "compute"])
def test_what_stays_as_in_the_file(weights, tmp_path, tune):
    host = {name: w.cpu() for name, w in weights.items()}
    save_file(host, tmp_path / "m.wcodec", tune=tune)
    with wcodec.Resident(tmp_path / "m.wcodec", device=ON, framework="pt", form="coded") as made:
        assert made.info("w").form == "coded"
        for name, w in weights.items():
            assert torch.equal(made.decode(name), w)
        assert torch.equal(made.decode("w", first=5, count=700), weights["w"][5:705])
        assert torch.equal(made.decode("w", first=16, count=64), weights["w"][16:80])
        rows = torch.tensor([3, N - 1, 0, 3], device=DEVICE)
        assert torch.equal(made.gather("w", rows), weights["w"][rows])
        bias = normal(N, seed=8)
        for vectors in VECTORS:
            x = normal(vectors, K, seed=9)
            assert near(made.linear("w", x, bias), x, weights["w"], bias)
            wide = normal(vectors, K + 1, seed=10)[:, 1:]
            assert near(made.linear("w", wide), wide, weights["w"])
        x = normal(3, K, seed=11, dtype=torch.float32)
        assert near(made.linear("w", x), x, weights["w"])
        x = normal(3, N, seed=12)
        assert near(made.linear("w", x, transposed=True), x, weights["w"].t())


def test_large_matrices_are_decoded_by_pieces(resident, weights, monkeypatch):
    monkeypatch.setattr("wcodec._resident_cuda.DECODED_AT_ONCE", 2 * K * 100)
    bias = normal(N, seed=27, dtype=torch.float32)  # where it is of the type of x, torch adds it
    for dtype in (torch.bfloat16, torch.float32):
        x, z = normal(40, K, seed=28, dtype=dtype), normal(2, 3, N, seed=29, dtype=dtype)
        assert near(resident.linear("w", x), x, weights["w"])
        assert near(resident.linear("w", x, bias), x, weights["w"], bias)
        assert near(resident.linear("w", z, transposed=True), z, weights["w"].T)


def test_x_of_any_layout(resident, weights):
    x = normal(5, 2 * K + 2, seed=9)
    for view in (
        x[:, :K],
        x[:, 1 : K + 1],
        x[:, 2 : K + 2],
        x[:, ::2][:, :K],
        x[:1, :K],
        x[0, :K],
        x[:1, :K].expand(5, K),
    ):
        assert near(resident.linear("w", view), view, weights["w"])
    y = normal(7, 77, seed=10)
    assert near(resident.linear("odd", y), y, weights["odd"])
    assert resident.linear("w", normal(2, 3, K)).shape == (2, 3, N)


def test_transposed_and_scaled_products(resident, weights):
    x = normal(4, N, seed=11, dtype=torch.float32)
    assert near(resident.linear("w", x, transposed=True), x, weights["w"].T)
    z, scales = (
        normal(4, 48, seed=12, dtype=torch.float32),
        normal(64, seed=13, dtype=torch.float32),
    )
    got = resident.linear("int8", z, scales=scales)
    assert near(got, z, weights["int8"].double() * scales.double()[:, None])


def test_few_vectors_are_multiplied_without_decoding(resident, weights, tmp_path, monkeypatch):
    def decoded(*_):
        raise AssertionError("a matrix was decoded")

    monkeypatch.setattr(type(resident._device), "_pieces", decoded)
    w = normal(32, 8192, seed=31) / 16
    save_file({"w": w.cpu()}, tmp_path / "wide.wcodec")
    with wcodec.Resident(tmp_path / "wide.wcodec", device=ON, framework="pt") as wide:
        for dtype, most in (torch.bfloat16, 16), (torch.float16, 8), (torch.float32, 5):
            for vectors in 1, most:
                x = normal(vectors, 32, seed=vectors, dtype=dtype)
                y = wide.linear("w", x, transposed=True)
                assert y.dtype == dtype and near(y, x, w.T)
        with pytest.raises(AssertionError, match="was decoded"):
            wide.linear("w", normal(17, 32), transposed=True)
    x = normal(64, K, seed=3)
    assert near(resident.linear("w", x), x, weights["w"])
    with pytest.raises(AssertionError, match="was decoded"):
        resident.linear("w", normal(257, K))


@on_cuda
@pytest.mark.parametrize("k", [512, 1000])
def test_tall_matrices_take_more_vectors(tmp_path, monkeypatch, k):
    def decoded(*_):
        raise AssertionError("a matrix was decoded")

    w = normal(8200, k, seed=31) / 16
    save_file({"w": w.cpu()}, tmp_path / "m.wcodec")
    with wcodec.Resident(tmp_path / "m.wcodec", device=ON, framework="pt") as made:
        monkeypatch.setattr(type(made._device), "_pieces", decoded)
        for vectors in (33, 64, 65, 128):
            x, bias = normal(vectors, k, seed=vectors), normal(8200, seed=32)
            y = made.linear("w", x, bias)
            assert near(y, x, w, bias)
            assert torch.equal(y, made.linear("w", x, bias))


@on_cuda
@pytest.mark.parametrize("vectors", [8, 100])
def test_the_same_from_run_to_run_and_in_a_graph(resident, vectors):
    x = normal(vectors, K, seed=14)
    y = torch.empty(vectors, N, dtype=torch.bfloat16, device=DEVICE)
    first = resident.linear("w", x)
    rows = torch.tensor([5, 6], device=DEVICE)
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream):
        resident.linear("w", x, out=y)
        table = resident.gather("w", rows)
        whole = resident.decode("w")
    for _ in range(3):
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(y, first)
        assert torch.equal(table, whole[5:7])


def test_layers_and_gradients(resident, weights):
    bias = torch.nn.Parameter(normal(N, seed=15))
    layer = Linear(resident, "w", bias)
    x = normal(6, K, seed=16).requires_grad_()
    y = layer(x)
    assert near(y.detach(), x.detach(), weights["w"], bias.detach())
    y.backward(torch.ones_like(y))
    assert near(x.grad, torch.ones(6, N, device=DEVICE, dtype=torch.bfloat16), weights["w"].T)
    assert torch.equal(bias.grad, torch.full_like(bias, 6))
    assert torch.equal(layer.weight, weights["w"])
    table = Embedding(resident, "w")
    rows = torch.tensor([[3, 4]], device=DEVICE)
    assert torch.equal(table(rows), weights["w"][rows])


@on_cuda
def test_no_decoded_weight_stays_in_memory(resident):
    x = normal(4, K, seed=17)
    resident.linear("w", x)
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    resident.linear("w", x)
    assert torch.cuda.max_memory_allocated() - before < N * K // 4


def test_what_is_wrong_is_told(resident, tmp_path, weights):
    x = normal(2, K)
    for wrong, text in (
        (x.to("meta"), "on meta"),
        (x[:, 1:], "its last dimension must be"),
        (x.double(), "expected bfloat16, float16 or float32"),
        ([1.0], "expected torch.Tensor"),
        (x.clone().requires_grad_(), "requires gradients"),
    ):
        with pytest.raises(wcodec.UsageError, match=text):
            resident.linear("w", wrong)
    with pytest.raises(wcodec.UsageError, match="bias has shape"):
        resident.linear("w", x, x[0])
    with pytest.raises(wcodec.UsageError, match="2 dimensions"):
        resident.linear("stack", x)
    with pytest.raises(wcodec.UsageError, match="out is"):
        resident.decode("w", torch.empty(3, device=DEVICE))
    with pytest.raises(wcodec.WcodecError, match="devices"):
        wcodec.Resident(tmp_path / "m.wcodec", device="cuda:99")
    kept = resident.decode("int8")
    resident.close()
    with pytest.raises(wcodec.UsageError, match="closed"):
        resident.linear("w", x)
    assert torch.equal(kept, weights["int8"])
