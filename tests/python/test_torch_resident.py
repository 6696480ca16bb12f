# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Layers and models of torch whose weights stay coded in host memory."""

import copy
import gc

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

import wcodec  # noqa: E402
from conftest import run  # noqa: E402
from wcodec.torch import (  # noqa: E402
    DecodedLinear,
    DecodedOnUse,
    Embedding,
    Linear,
    load_resident,
    save_file,
    save_model,
)

nn = torch.nn
FORMS = ["auto", "coded", "fixed", "plain"]
N, K = 256, 320
FLOATS = [torch.bfloat16, torch.float16, torch.float32]


def normal(*shape, seed=1, dtype=torch.float32):
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return made.to(dtype)


def matrix():
    return (normal(N, K) / 16).bfloat16()


@pytest.fixture
def file(tmp_path):
    save_file(
        {"w": matrix(), "int8": (normal(64, 48) * 30).to(torch.int8), "vector": torch.ones(3)},
        tmp_path / "m.wcodec",
    )
    return tmp_path / "m.wcodec"


@pytest.fixture(params=FORMS)
def resident(request, file):
    with wcodec.Resident(file, form=request.param) as made:
        yield made


def near(y, exact, size, terms):
    """Within the bound of a sum of so many products, and of rounding to y's type; `size` is the sum
    of their magnitudes."""
    unit = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float32: 2.0**-24}[y.dtype]
    bound = (terms + 7) * 2.0**-24 * size + unit * exact.abs() + 2.0**-24
    return bool(((y.double() - exact).abs() <= bound).all())


def test_tensors_of_torch(resident):
    w, x = matrix(), normal(3, 4, K)
    y = resident.linear("w", x, torch.ones(N))
    assert isinstance(y, torch.Tensor) and y.shape == (3, 4, N)
    exact = x.double() @ w.double().T + 1
    assert near(y, exact, x.double().abs() @ w.double().abs().T + 1, K / 16)
    for other in (x.mT.contiguous().mT, x.expand(2, 3, 4, K)[1], x.flip(0).flip(0)):
        assert torch.equal(resident.linear("w", other, torch.ones(N)), y)
    out = torch.empty(4, 3, N).transpose(0, 1)
    assert resident.linear("w", x, torch.ones(N), out=out) is out
    assert torch.equal(out, y)
    rows = torch.tensor([[5, 1], [0, 255]], dtype=torch.int32)
    assert torch.equal(resident.gather("w", rows), w[rows.long()])
    out = torch.empty(N, K, dtype=torch.bfloat16)
    assert torch.equal(resident.decode("w", out), w)
    assert torch.equal(resident.decode("w", out[:7], first=9, count=7), w[9:16])
    with pytest.raises(wcodec.UsageError, match="requires gradients"):
        resident.linear("w", x.requires_grad_())
    with pytest.raises(wcodec.UsageError, match="x is on meta: these resident tensors are"):
        resident.linear("w", x.detach().to("meta"))
    for out in (torch.zeros(3, 4, N, dtype=torch.complex64).conj().imag, torch._neg_view(y)):
        with pytest.raises(wcodec.UsageError, match="out is a view of the negated"):
            resident.linear("w", x.detach(), out=out)


def test_what_comes_without_an_array(file):
    with wcodec.Resident(file, framework="pt") as resident:
        assert torch.equal(resident.decode("w"), matrix())
        assert torch.equal(resident.gather("w", [3, 3]), matrix()[[3, 3]])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bias", [None, torch.float32, torch.bfloat16])
def test_linear_and_its_gradients(resident, dtype, bias):
    own = None if bias is None else nn.Parameter(normal(N, seed=2, dtype=bias))
    layer = Linear(resident, "w", own)
    assert (layer.in_features, layer.out_features) == (K, N)
    assert list(layer.state_dict()) == ([] if bias is None else ["bias"])
    assert layer.bias is own
    w, b = matrix().double(), 0.0 if own is None else own.detach().double()
    for shape in ((K,), (5, K), (2, 3, K), (0, K)):
        x = normal(*shape, seed=4, dtype=dtype).requires_grad_()
        y = layer(x)
        wide = x.detach().double()
        assert y.dtype == dtype and y.shape == (*shape[:-1], N)
        assert near(y.detach(), wide @ w.T + b, wide.abs() @ w.abs().T + 9, K / 16)
        given = normal(*y.shape, seed=5, dtype=dtype)
        if own is not None:
            own.grad = None
        y.backward(given)
        wide = given.double()
        assert x.grad.dtype == dtype
        assert near(x.grad, wide @ w, wide.abs() @ w.abs(), N)
        if own is not None:
            assert own.grad.dtype == bias
            exact = wide.reshape(-1, N).sum(0)
            assert torch.allclose(own.grad.double(), exact, rtol=2.0**-7, atol=1e-5)


def test_second_derivatives(resident):
    layer = Linear(resident, "w")
    x = normal(2, K).requires_grad_()
    (first,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    w = matrix().double()
    assert torch.allclose(second.double(), (2 * (w.T @ w).sum(0)).expand(2, K), rtol=1e-3)


def test_forward_derivatives(resident):
    bias, w = nn.Parameter(normal(N, seed=2)), matrix().float()
    layer = Linear(resident, "w", bias)
    x, dx, dbias = normal(2, K), normal(2, K, seed=3), normal(N, seed=4)
    y, dy = torch.func.jvp(layer, (x,), (dx,))
    assert torch.equal(y, layer(x)) and torch.equal(dy, Linear(resident, "w")(dx))
    assert torch.allclose(dy, dx @ w.T, rtol=1e-3, atol=1e-4)

    def call(x, bias):
        return torch.func.functional_call(layer, {"bias": bias}, (x,))

    y, dy = torch.func.jvp(call, (x, bias.detach()), (dx, dbias))
    assert torch.allclose(dy, dx @ w.T + dbias, rtol=1e-3, atol=1e-4)
    y, dy = torch.func.jvp(lambda bias: call(x, bias), (bias.detach(),), (dbias,))
    assert torch.equal(dy, dbias.expand(2, N))
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        assert torch.equal(layer(x), y) and ad.unpack_dual(layer(x)).tangent is None
        dy = ad.unpack_dual(layer(ad.make_dual(x, dx))).tangent
    assert torch.allclose(dy, dx @ w.T, rtol=1e-3, atol=1e-4)
    scaled = Linear(resident, "w", scales=torch.ones(N))
    with pytest.raises(wcodec.UnsupportedError, match="no derivatives by scales"):
        torch.func.jvp(
            lambda scales: torch.func.functional_call(scaled, {"scales": scales}, (x,)),
            (torch.ones(N),),
            (torch.ones(N),),
        )


def test_scales_of_int8_rows(resident):
    scales = normal(64, seed=9).abs() / 100
    w = resident.decode("int8", torch.empty(64, 48, dtype=torch.int8)).double()
    w = w * scales.double()[:, None]
    layer = Linear(resident, "int8", scales=scales[:, None])
    assert list(layer.state_dict()) == ["scales"]
    x = normal(7, 48).requires_grad_()
    y = layer(x)
    exact = x.detach().double() @ w.T
    assert near(y.detach(), exact, x.detach().double().abs() @ w.abs().T, 48 / 16)
    y.sum().backward()
    assert near(x.grad, w.sum(0).expand(7, 48), w.abs().sum(0).expand(7, 48), 64)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("biased", [False, True])
def test_decoded_for_each_product(resident, dtype, biased):
    """What torch computes, bit for bit, gradients too; and autograd keeps no decoded matrix."""
    bias = nn.Parameter(normal(N, seed=2, dtype=dtype)) if biased else None
    layer = DecodedLinear(resident, "w", bias, dtype=dtype)
    dense = nn.Linear(K, N, biased, dtype=dtype)
    with torch.no_grad():
        dense.weight.copy_(matrix())
        if biased:
            dense.bias.copy_(bias)
    assert list(layer.state_dict()) == (["bias"] if biased else [])
    assert torch.equal(layer.weight, dense.weight) and layer.weight.dtype == dtype
    for shape in ((K,), (5, K), (2, 3, K), (0, K)):
        x = normal(*shape, seed=4, dtype=dtype).requires_grad_()
        same = x.detach().clone().requires_grad_()
        kept = []

        def keep(tensor, kept=kept):
            kept.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            y = layer(x)
        assert N * K not in kept
        expected = dense(same)
        assert torch.equal(y, expected)
        given = normal(*y.shape, seed=5, dtype=dtype)
        layer.zero_grad()
        dense.zero_grad()
        y.backward(given)
        expected.backward(given)
        assert torch.equal(x.grad, same.grad)
        if biased:
            assert torch.equal(bias.grad, dense.bias.grad)
    with torch.no_grad():
        x = normal(4, K, dtype=dtype)
        torch._dynamo.reset()
        assert torch.equal(torch.compile(layer, backend="eager", fullgraph=True)(x), layer(x))
        assert torch.equal(torch.func.jvp(layer, (x,), (x,))[1], x @ dense.weight.T)


def test_embedding(resident):
    layer = Embedding(resident, "w", padding_idx=3)
    assert (layer.num_embeddings, layer.embedding_dim, layer.padding_idx) == (N, K, 3)
    for rows in (torch.tensor(7), torch.tensor([[1, 255], [0, 1]]), torch.empty(0, 2).int()):
        assert torch.equal(layer(rows), matrix()[rows.long()])
    assert Embedding(resident, "w", dtype=torch.float32)(torch.tensor([1])).dtype == torch.float32
    assert not layer.state_dict()
    with pytest.raises(wcodec.UsageError, match="is row 256 of 256"):
        layer(torch.tensor([0, 256]))


def test_operators(resident):
    layer = Linear(resident, "w", nn.Parameter(normal(N)))
    key, number = resident.key, resident.info("w").number
    ops = torch.ops.wcodec
    x = normal(3, K).requires_grad_()
    torch.library.opcheck(ops.linear, (x, layer.bias, None, key, number, N, K))
    torch.library.opcheck(
        ops.linear_transposed, (normal(3, N).requires_grad_(), None, key, number, N, K)
    )
    torch.library.opcheck(ops.gather, (torch.tensor([[1, 2]]), key, number, [K], torch.bfloat16))
    torch.library.opcheck(ops.decode, (key, number, [N, K], torch.bfloat16))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_whole_graphs(resident, backend):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = Embedding(resident, "w", dtype=torch.float32)
            self.up = Linear(resident, "w", nn.Parameter(normal(N)))
            self.up_again = Linear(resident, "w")

        def forward(self, rows):
            x = self.embed(rows)
            x = x + x @ self.up_again.weight.float().T @ self.up.weight.float()
            return self.up(x).relu() + self.up_again(x)

    torch._dynamo.reset()
    model, rows = Model(), torch.tensor([[3, 1, 9], [0, 255, 7]])
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    expected = model(rows)
    assert torch.equal(compiled(rows), expected)
    compiled(rows).sum().backward()
    assert torch.equal(model.up.bias.grad, torch.autograd.grad(expected.sum(), model.up.bias)[0])
    assert compiled(rows[:, :2]).shape == (2, 2, N)  # other shapes, later


def test_wrong_arguments(file):
    resident = wcodec.Resident(file)
    layer = Linear(resident, "w", nn.Parameter(normal(N)))
    embedding = Embedding(resident, "w")
    with pytest.raises(wcodec.UsageError, match="no resident tensor -1, but 3"):
        torch.ops.wcodec.decode(resident.key, -1, [3], torch.float32)
    with pytest.raises(wcodec.UsageError, match="last dimension must be 320"):
        layer(torch.zeros(2, 3))
    with pytest.raises(wcodec.UsageError, match="x is F64: expected BF16"):
        layer(torch.zeros(2, K).double())
    with pytest.raises(wcodec.UsageError, match=r"'w': bias has shape \(1,\)"):
        Linear(resident, "w", torch.zeros(1))
    with pytest.raises(wcodec.UsageError, match="'vector' has shape"):
        Linear(resident, "vector")
    with pytest.raises(wcodec.TensorNotFoundError):
        Embedding(resident, "nothing")
    twin = copy.deepcopy(layer)
    assert twin.resident is resident and twin.bias is not layer.bias
    assert torch.equal(twin(torch.ones(K)), layer(torch.ones(K)))
    resident.close()
    with pytest.raises(wcodec.UsageError, match="are closed"):
        layer(torch.zeros(2, K))
    assert "in_features=320" in repr(layer) and "form=" in repr(embedding)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width, bias=False)
        self.register_buffer("gain", torch.full((width,), 0.5))
        self.register_buffer("unsaved", torch.ones(width), persistent=False)

    def forward(self, x):
        return x + self.gain * self.down(nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, tied=True, width=128):
        super().__init__()
        self.embed = nn.Embedding(512, width, padding_idx=0)
        self.blocks = nn.ModuleList(Block(width) for _ in range(3))
        self.mix = nn.Conv1d(width, width, 1)
        self.head = nn.Linear(width, 512, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, rows):
        x = self.embed(rows)
        for block in self.blocks:
            x = block(x)
        return self.head(self.mix(x.mT).mT)


def made_model(tied=True, dtype=torch.bfloat16):
    torch.manual_seed(11)
    return Model(tied).to(dtype).eval()


def meta_model(tied=True, dtype=torch.bfloat16):
    with torch.device("meta"):
        model = Model(tied).to(dtype).eval()
    for block in model.blocks:
        block.unsaved = torch.ones(128, dtype=dtype)
    return model


ROWS = torch.tensor([[5, 1, 0, 511, 77], [9, 9, 300, 2, 4]])


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("start", [made_model, meta_model])
def test_a_model(tmp_path, tied, start):
    original = made_model(tied)
    save_model(original, tmp_path / "m.wcodec")
    with torch.no_grad():
        expected = original(ROWS)
        made = []
        for form in FORMS:
            model = start(tied)
            resident, missing, unexpected = load_resident(model, tmp_path / "m.wcodec", form)
            assert missing == unexpected == []
            assert type(model.embed) is Embedding and type(model.blocks[2].up) is Linear
            assert not model.blocks[0].up.training
            assert not any(tensor.is_meta for tensor in model.state_dict().values())
            assert isinstance(model.blocks[0].up.bias, nn.Parameter)
            assert resident.info("blocks.1.up.weight").form == {"auto": "coded"}.get(form, form)
            made.append(model(ROWS))
            assert model.head._number == model.embed._number or not tied
        plain = 2 * sum(p.numel() for n, p in original.named_parameters() if "weight" in n)
        assert resident.nbytes <= plain
    for logits in made[1:]:
        assert torch.equal(logits, made[0])  # whatever the form
    # The steps between are rounded to bf16 either way: a product's last bit may differ, and then
    # what follows from it.
    scale = expected.double().abs().mean()
    assert (made[0].double() - expected.double()).abs().max() < 2.0**-5 * scale + 2.0**-6
    bits = [name for name in original.state_dict() if "weight" not in name or "norm" in name]
    for name in bits:
        assert torch.equal(model.state_dict()[name], original.state_dict()[name]), name


def test_every_product_of_a_model(tmp_path):
    """In bf16, each layer's result against double precision from the same input."""
    original = made_model()
    save_model(original, tmp_path / "m.wcodec")
    model = meta_model()
    load_resident(model, tmp_path / "m.wcodec", "fixed")
    checked = []

    def check(layer, inputs, y):
        (x,) = inputs
        w = original.get_submodule(names[layer]).weight.double()
        x, bias = x.double(), 0 if layer.bias is None else layer.bias.double()
        size = x.abs() @ w.abs().T + (0 if layer.bias is None else bias.abs())
        assert near(y, x @ w.T + bias, size, layer.in_features / 16)
        checked.append(names[layer])

    names = {layer: name for name, layer in model.named_modules() if type(layer) is Linear}
    for layer in names:
        layer.register_forward_hook(check)
    with torch.no_grad():
        model(ROWS)
    assert len(checked) == 7


def test_logits_in_f32(tmp_path):
    """Against double precision with the same weights."""
    original = made_model()
    save_model(original, tmp_path / "m.wcodec")
    exact = made_model().double()(ROWS)
    for form in FORMS:
        model = meta_model(dtype=torch.float32)
        load_resident(model, tmp_path / "m.wcodec", form)
        logits = model(ROWS)
        assert logits.dtype == torch.float32
        assert (logits.double() - exact).abs().max() < 1e-5 * exact.abs().max()


def test_training_what_is_not_frozen(tmp_path):
    original = made_model(dtype=torch.float32)
    save_model(original, tmp_path / "m.wcodec")
    model = meta_model(dtype=torch.float32)
    load_resident(model, tmp_path / "m.wcodec")
    for module in (original, model):
        module(ROWS).square().mean().backward()
    grads = {name: p.grad for name, p in original.named_parameters()}
    compared = 0
    for name, parameter in model.named_parameters():
        assert torch.allclose(parameter.grad, grads[name], rtol=1e-3, atol=1e-6), name
        compared += 1
    assert compared == 3 * 3 + 2  # norms, biases, the convolution


def test_a_compiled_model(tmp_path):
    save_model(made_model(), tmp_path / "m.wcodec")
    model = meta_model()
    load_resident(model, tmp_path / "m.wcodec")
    torch._dynamo.reset()
    with torch.no_grad():
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        assert torch.equal(compiled(ROWS), model(ROWS))


def test_names_and_shapes_that_differ(tmp_path):
    state = dict(made_model(False).state_dict())
    path = tmp_path / "m.wcodec"
    model = made_model(False)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    def refused(text):
        with pytest.raises(RuntimeError, match=text):
            load_resident(model, path)
        assert type(model.head) is nn.Linear
        assert all(torch.equal(before[n], t) for n, t in model.state_dict().items())

    save_file({name: tensor + 1 for name, tensor in state.items() if name != "mix.bias"}, path)
    refused("loading state_dict for Model:\n    Missing key.*: mix.bias$")
    save_file({**{n: t + 1 for n, t in state.items()}, "b": torch.ones(1)}, path)
    refused("Unexpected key.*: b$")
    save_file({**{n: t + 1 for n, t in state.items()}, "head.weight": torch.ones(512, 64)}, path)
    refused(r"size mismatch for head.weight: \(512, 64\) in the file, \(512, 128\) in the model")
    del state["head.weight"], state["mix.bias"]
    save_file({**state, "b": torch.ones(1)}, path)
    _, missing, unexpected = load_resident(model, path, strict=False)
    assert (missing, unexpected) == (["mix.bias", "head.weight"], ["b"])
    assert type(model.head) is nn.Linear and type(model.embed) is Embedding
    assert torch.equal(model.head.weight, before["head.weight"])


def test_tied_weights_that_differ(tmp_path, monkeypatch):
    state = dict(made_model(False).state_dict())
    save_file(state, tmp_path / "m.wcodec")
    model = made_model(True)
    for at_once in (1000, 64 << 20):
        monkeypatch.setattr("wcodec._torch_resident._COMPARED_AT_ONCE", at_once)
        with pytest.raises(RuntimeError, match=r"embed.weight and head.weight are tied in the mod"):
            load_resident(model, tmp_path / "m.wcodec")
        assert type(model.embed) is nn.Embedding
    state["head.weight"] = state["embed.weight"].clone()
    save_file(state, tmp_path / "m.wcodec")
    monkeypatch.setattr("wcodec._torch_resident._COMPARED_AT_ONCE", 1000)
    resident, *_ = load_resident(model, tmp_path / "m.wcodec")
    assert model.head.name == model.embed.name == "embed.weight"
    assert "head.weight" not in resident.names()
    assert torch.equal(model.head.weight, state["head.weight"])


def test_layers_that_stay(tmp_path):
    class Other(nn.Linear):
        pass

    def model():
        torch.manual_seed(3)
        made = nn.ModuleDict(
            {
                "a": nn.Linear(64, 64),
                "derived": Other(64, 64),
                "hooked": nn.Linear(64, 64),
                "saved": nn.Linear(64, 64),
                "patched": nn.Linear(64, 64),
                "adapted": nn.Linear(64, 64),
                "normed": nn.Embedding(64, 64, max_norm=1.0),
                "wide": nn.Linear(64, 64).double(),
                "shared": nn.Linear(64, 64),
            }
        )
        made["again"] = made["shared"]
        made.register_parameter("alias", made["a"].weight)
        made["hooked"].register_forward_hook(lambda *_: None)
        made["saved"].register_state_dict_pre_hook(lambda *_: None)
        made["patched"].forward = lambda x: x * 0 + 7
        made["adapted"].register_parameter("more", nn.Parameter(torch.ones(2)))
        return made

    original, path = model(), tmp_path / "m.wcodec"
    save_model(original, path)
    loaded = model()
    for parameter in loaded.parameters():
        parameter.data.zero_()
    resident, *_ = load_resident(loaded, path)
    stay = ("a", "hooked", "saved", "patched", "adapted", "wide")
    assert [type(loaded[n]) for n in stay] == [nn.Linear] * len(stay)
    assert type(loaded["derived"]) is Other and type(loaded["normed"]) is nn.Embedding
    assert type(loaded["shared"]) is Linear and loaded["again"] is loaded["shared"]
    assert len(resident.names()) == 1
    for name in (*stay, "derived", "normed", "shared"):
        assert torch.equal(loaded[name].weight, original[name].weight), name
    assert loaded.alias is loaded["a"].weight


@pytest.mark.parametrize("start", ["cpu", "meta"])
def test_replaced_layers_that_are_held_elsewhere(tmp_path, start):
    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)
            self.layers = [self.layer]

    save_model(Holder(), tmp_path / "m.wcodec")
    with torch.device(start):
        model = Holder()
    load_resident(model, tmp_path / "m.wcodec")
    assert model.layer(torch.ones(1, 8)).shape == (1, 8)
    with pytest.raises(AttributeError, match="no attribute 'weight'"):
        model.layers[0](torch.ones(1, 8))


def test_a_model_of_another_type_than_the_file(tmp_path):
    original = made_model()
    save_model(original, tmp_path / "m.wcodec")
    for dtype, kind in ((torch.float16, Linear), (torch.float64, nn.Linear)):
        model = meta_model(dtype=dtype)
        load_resident(model, tmp_path / "m.wcodec")
        assert type(model.head) is kind
        assert model(ROWS).dtype == dtype
        exact = made_model().double()(ROWS)
        assert torch.allclose(model(ROWS).double(), exact, rtol=0.02, atol=0.02)


def test_what_is_left_on_the_meta_device(tmp_path, file):
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    save_file({"0.weight": torch.ones(4, 4)}, tmp_path / "part.wcodec")
    with pytest.warns(UserWarning, match=r"meta device: 0.bias, 1.weight, 1.bias$") as warned:
        load_resident(model, tmp_path / "part.wcodec", strict=False)
    assert warned[0].filename == __file__
    with pytest.raises(wcodec.UsageError, match="bias is on meta, x on cpu"):
        model[0](torch.ones(16, 4))
    resident = wcodec.Resident(file)
    layer = Linear(resident, "int8", scales=torch.ones(64, device="meta"))
    with pytest.raises(wcodec.UsageError, match="scales is on meta, x on cpu"):
        layer(torch.ones(3, 48))
    key, number = resident.key, resident.info("int8").number
    with pytest.raises(wcodec.UsageError, match="scales is on meta, x on cpu"):
        torch.ops.wcodec.linear_transposed(torch.ones(3, 64), layer.scales, key, number, 64, 48)


def test_models_that_cannot_be(tmp_path, file):
    with pytest.raises(wcodec.UsageError, match="the model is one Linear"):
        load_resident(nn.Linear(K, N), file)
    with pytest.warns(UserWarning, match=r"still on the meta device: blocks.0.unsaved, blocks.1"):
        with torch.device("meta"):
            model = Model().bfloat16()
        save_model(made_model(), tmp_path / "m.wcodec")
        load_resident(model, tmp_path / "m.wcodec")
    with pytest.raises(wcodec.MissingFileError):
        load_resident(made_model(), tmp_path / "nothing.wcodec")
    for device, kind, text in (
        ("cuda:99", wcodec.BackendError, "torch finds (no|1) CUDA device"),
        ("meta", wcodec.UsageError, "expected 'cpu', 'cuda' or 'cuda:N'"),
    ):
        model = made_model()
        with pytest.raises(kind, match=text):
            load_resident(model, tmp_path / "m.wcodec", device=device)
        assert type(model.head) is nn.Linear


def test_a_damaged_file_changes_nothing(tmp_path):
    path = tmp_path / "m.wcodec"
    save_model(made_model(), path)
    data = bytearray(path.read_bytes())
    data[len(data) * 3 // 4] ^= 1
    path.write_bytes(data)
    model = Model().bfloat16()
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(wcodec.CorruptError):
        load_resident(model, path)
    assert type(model.head) is nn.Linear
    assert all(torch.equal(before[n], t) for n, t in model.state_dict().items())


def test_modules_decoded_on_use(tmp_path):
    original = made_model()
    save_model(original, tmp_path / "m.wcodec")
    model = made_model()
    nn.init.zeros_(model.mix.weight)
    with wcodec.Resident(tmp_path / "m.wcodec") as resident, torch.no_grad():
        handles = [
            DecodedOnUse(model.mix, resident, "mix."),
            DecodedOnUse(model.blocks[1], resident, "blocks.1."),
        ]
        assert model.mix.weight.is_meta and model.blocks[1].up.bias.is_meta
        assert torch.equal(model(ROWS), original(ROWS))
        assert model.mix.weight.is_meta and model.blocks[1].up.bias.is_meta
        with pytest.raises(RuntimeError):
            model.mix(torch.zeros(1, 3, 3).bfloat16())
        assert model.mix.weight.is_meta  # after a failure, too
        with pytest.raises(wcodec.UsageError, match="no parameter"):
            DecodedOnUse(model.head, resident, "none.")
        with pytest.raises(wcodec.UsageError, match=r"'blocks.1.up.weight' has shape"):
            DecodedOnUse(nn.Linear(3, 3), resident, "blocks.1.up.")
        for handle in handles:
            handle.remove()
    with torch.no_grad():
        assert torch.equal(model(ROWS), original(ROWS))
    assert torch.equal(model.mix.weight, original.mix.weight)


def test_copies_of_a_module_decoded_on_use(tmp_path):
    original, x = made_model(), normal(2, 128, 3, dtype=torch.bfloat16)
    save_model(original, tmp_path / "m.wcodec")
    model = made_model()
    with wcodec.Resident(tmp_path / "m.wcodec") as resident, torch.no_grad():
        handle = DecodedOnUse(model.mix, resident, "mix.")
        twin = copy.deepcopy(model)
        assert torch.equal(twin.mix(x), original.mix(x))
        assert twin.mix.weight.is_meta and model.mix.weight.is_meta
        handle.remove()
        assert torch.equal(twin.mix(x), original.mix(x)) and twin.mix.weight.is_meta
        assert torch.equal(copy.deepcopy(twin)(ROWS), original(ROWS))


def test_types_and_names_of_what_is_decoded_on_use(packed):
    class Holder(nn.Module):
        def __init__(self, *shape, dtype=torch.float32):
            super().__init__()
            self.a = nn.Parameter(torch.empty(shape, dtype=dtype), requires_grad=False)
            self.b = self.a

        def forward(self):
            return self.a.clone()

    path = packed(
        {
            "b": ("F32", (2,), b"\0\0\x80\x3f" * 2),
            "f4.b": ("F4", (6, 8), bytes(range(24))),
            "f6.a": ("F6_E2M3", (4, 4), bytes(12)),
        }
    )
    with wcodec.Resident(path) as resident:
        module = Holder(2)
        DecodedOnUse(module, resident)
        assert module.a.is_meta and module().tolist() == [1, 1]
        with pytest.raises(wcodec.UsageError, match=r"'f6.a' is F6_E2M3, which torch lacks"):
            DecodedOnUse(Holder(4, 3), resident, "f6.")
        packed_f4 = getattr(torch, "float4_e2m1fn_x2", None)
        refused = "does not convert" if packed_f4 else "lacks"
        with pytest.raises(wcodec.UsageError, match=f"'f4.b' is F4, which torch {refused}"):
            DecodedOnUse(Holder(6, 4), resident, "f4.")
        if packed_f4:
            module = Holder(6, 4, dtype=packed_f4)
            DecodedOnUse(module, resident, "f4.")
            assert module().view(torch.uint8).flatten().tolist() == list(range(24))
            with pytest.raises(wcodec.UsageError, match=r"'f4.b' has shape \(6, 8\), the"):
                DecodedOnUse(Holder(6, 8, dtype=packed_f4), resident, "f4.")


def test_gradients_through_a_module_decoded_on_use(tmp_path):
    original, x = made_model(), normal(2, 3, 128, dtype=torch.bfloat16).requires_grad_()
    save_model(original, tmp_path / "m.wcodec")
    (expected,) = torch.autograd.grad(original.blocks[0](x).sum(), x)
    with wcodec.Resident(tmp_path / "m.wcodec") as resident:
        block = Block(128).bfloat16()
        DecodedOnUse(block, resident, "blocks.0.")
        (given,) = torch.autograd.grad(block(x).sum(), x)
        assert torch.equal(given, expected)
        assert all(parameter.is_meta for parameter in block.parameters())


def test_memory_is_that_of_the_coded_form(tmp_path):
    layers = {f"{i}.weight": normal(2048, 2048, seed=i).bfloat16() for i in range(24)}
    save_file(layers, tmp_path / "m.wcodec", level=1)
    save_file({"0.weight": normal(64, 64).bfloat16()}, tmp_path / "small.wcodec")
    made = run(
        """
        import sys, torch
        from wcodec.torch import load_resident
        def peak():
            with open("/proc/self/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        def use(path, width, count):
            with torch.device("meta"):
                model = torch.nn.Sequential(*[
                    torch.nn.Linear(width, width, False, dtype=torch.bfloat16)
                    for _ in range(count)
                ])
            resident, *_ = load_resident(model, path, "coded", threads=2)
            with torch.no_grad():
                model(torch.ones(1, width, dtype=torch.bfloat16))
            return resident
        use(sys.argv[1], 64, 1)  # what a process has once
        before = peak()
        resident = use(sys.argv[2], 2048, 24)
        print(resident.nbytes, (peak() - before) * 1024)
        """,
        tmp_path / "small.wcodec",
        tmp_path / "m.wcodec",
    )
    held, grown = map(int, made.stdout.split())
    decoded = 24 * 2048 * 2048 * 2
    assert held < 0.72 * decoded
    assert grown < 0.8 * decoded


def test_a_model_of_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=500,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
    )
    original = transformers.LlamaForCausalLM(config).bfloat16().eval()
    save_model(original, tmp_path / "m.wcodec")
    model = transformers.LlamaForCausalLM(config).bfloat16().eval()
    resident, *_ = load_resident(model, tmp_path / "m.wcodec")
    assert len(resident.names()) == 2 * 7 + 1
    with torch.no_grad():
        logits, expected = model(ROWS % 500).logits, original(ROWS % 500).logits
    scale = expected.double().abs().mean()
    assert (logits.double() - expected.double()).abs().max() < 2.0**-4 * scale
    assert model.generate(ROWS % 500, max_new_tokens=4, do_sample=False).shape == (2, 9)


def test_the_resident_lives_as_long_as_its_layers(tmp_path):
    save_model(made_model(), tmp_path / "m.wcodec")
    model = meta_model()
    with torch.no_grad():
        load_resident(model, tmp_path / "m.wcodec")
        gc.collect()
        assert model(ROWS).shape == (2, 5, 512)
