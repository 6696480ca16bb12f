# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Models whose weights stay coded in the memory of a CUDA device. See cuda_support.py."""

import copy
import gc

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

import wcodec  # noqa: E402
from cuda_support import CUDA, DEVICE, ON, marks, on_cuda, on_device  # noqa: E402
from test_torch_resident import ROWS, made_model, meta_model  # noqa: E402
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
pytestmark = [*marks, on_device]
HERE = ROWS.to(DEVICE)


@pytest.fixture
def file(tmp_path):
    save_model(made_model(), tmp_path / "m.wcodec")
    return tmp_path / "m.wcodec"


def loaded(file, start=meta_model, **options):
    model = start()
    return model, load_resident(model, file, device=ON, **options).resident


def close(logits, expected, limit=0.03):
    """By their norms: of bf16 after a few layers."""
    logits, expected = logits.double(), expected.double()
    return bool((logits - expected).norm() <= limit * expected.norm())


def on_one_device(model):
    tensors = [*model.parameters(), *model.buffers()]
    return {t.device for t in tensors} == {torch.empty(0, device=DEVICE).device}


@pytest.mark.parametrize("start", [made_model, meta_model])
@pytest.mark.parametrize("form", ["auto", "plain"])
def test_a_model(file, start, form):
    original = made_model().to(DEVICE)
    model, resident = loaded(file, start, form=form)
    assert type(model.embed) is Embedding and type(model.blocks[2].up) is Linear
    assert model.head._number == model.embed._number
    assert resident.info("blocks.1.up.weight").form == {"auto": "fixed"}.get(form, form)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, original.state_dict()[name]), name
    for block in model.blocks:
        block.unsaved = block.unsaved.to(DEVICE)  # one on the meta device stays there
    assert on_one_device(model)
    with torch.no_grad():
        assert close(model(HERE), original(HERE))
        assert torch.equal(model.embed(HERE), original.embed(HERE))


def test_parameters_that_others_hold(file):
    model = made_model()
    held = model.blocks[0].up.bias
    model.mix.weight.grad = torch.ones_like(model.mix.weight)
    expected = held.detach().clone()
    held.data.zero_()
    load_resident(model, file, device=ON)
    assert model.blocks[0].up.bias is held and held.device.type == DEVICE.type
    assert torch.equal(held.detach().cpu(), expected)
    assert model.mix.weight.grad.device == model.mix.weight.device


@on_cuda
def test_a_model_that_is_there(file):
    original = made_model().to(DEVICE)
    model = made_model().to(DEVICE)
    resident = load_resident(model, file).resident
    assert resident.device == str(torch.empty(0, device=DEVICE).device)
    with torch.no_grad():
        assert close(model(HERE), original(HERE))
    with pytest.raises(wcodec.UnsupportedError, match="is on cuda:0, and the model is to be on c"):
        load_resident(made_model().to(DEVICE), file, device="cpu")
    mixed = made_model()
    mixed.head.to(DEVICE)
    with pytest.raises(wcodec.UnsupportedError, match="name a device"):
        load_resident(mixed, file)
    load_resident(mixed, file, device=DEVICE)
    with torch.no_grad():
        assert close(mixed(HERE), original(HERE))


def test_what_cannot_be(file):
    for device in ("meta", "opencl:0"):
        with pytest.raises(wcodec.UsageError, match="device is"):
            load_resident(made_model(), file, device=device)


def test_as_in_the_file(file):
    original = made_model().to(DEVICE)
    model, resident = loaded(file, made_model, form="coded")
    assert any(resident.info(name).form == "coded" for name in resident)
    with torch.no_grad():
        assert close(model(HERE), original(HERE))


def test_gradients(file):
    original = made_model().to(DEVICE)
    model, _ = loaded(file, made_model)
    for module in (original, model):
        module(HERE).float().square().mean().backward()
    grads = {name: p.grad for name, p in original.named_parameters()}
    compared = 0
    for name, parameter in model.named_parameters():
        assert close(parameter.grad, grads[name], 0.05), name
        compared += 1
    assert compared == 3 * 3 + 2  # norms, biases, the convolution


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_compiled_model(file, backend):
    if backend == "inductor" and not CUDA:
        pytest.skip("no CUDA device")
    model, _ = loaded(file, made_model)
    expected = made_model().to(DEVICE)
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    with torch.no_grad():
        assert close(compiled(HERE), expected(HERE))
        assert close(compiled(HERE[:, :2]), expected(HERE[:, :2]))
    compiled(HERE).float().sum().backward()
    expected(HERE).float().sum().backward()
    assert close(model.mix.bias.grad, expected.mix.bias.grad, 0.05)


@on_cuda
@pytest.mark.parametrize("decoded", [False, True])
def test_a_model_in_a_graph(file, decoded):
    model, resident = loaded(file, made_model)
    if decoded:
        for block in model.blocks:
            block.up = DecodedLinear(resident, block.up.name, block.up.bias)
    rows, stream, graph = HERE.clone(), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.no_grad():
        with torch.cuda.stream(stream):
            model(rows)
        stream.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            logits = model(rows)
        for seed in range(3):
            torch.manual_seed(seed)
            rows.copy_(torch.randint(0, 512, rows.shape))
            graph.replay()
            torch.cuda.synchronize()
            assert torch.equal(logits, model(rows))


def test_modules_decoded_on_use(file):
    original = made_model().to(DEVICE)
    model = made_model().to(DEVICE)
    with wcodec.Resident(file, device=ON) as resident, torch.no_grad():
        handles = [
            DecodedOnUse(model.mix, resident, "mix."),
            DecodedOnUse(model.blocks[1], resident, "blocks.1."),
        ]
        assert model.mix.weight.is_meta and model.blocks[1].up.bias.is_meta
        assert torch.equal(model(HERE), original(HERE))
        assert torch.equal(copy.deepcopy(model)(HERE), original(HERE))
        assert model.mix.weight.is_meta and model.blocks[1].up.bias.is_meta
        for handle in handles:
            handle.remove()
        assert model.mix.weight.device == original.mix.weight.device
    with torch.no_grad():
        assert torch.equal(model(HERE), original(HERE))
    x = original.embed(HERE).detach()
    with wcodec.Resident(file, device=ON) as resident:
        block = copy.deepcopy(original.blocks[0])
        DecodedOnUse(block, resident, "blocks.0.")
        given, expected = x.clone().requires_grad_(), x.clone().requires_grad_()
        block(given).sum().backward()
        original.blocks[0](expected).sum().backward()
        assert torch.equal(given.grad, expected.grad)


def test_layers_with_torchs_own_results(file):
    original = made_model().to(DEVICE)
    with wcodec.Resident(file, device=ON) as resident:
        for form, count in (("bf16", 3), ("bf16", 70)):
            old = original.blocks[0].up
            layer = DecodedLinear(resident, "blocks.0.up.weight", old.bias)
            x = torch.randn(count, 128, device=DEVICE).bfloat16().requires_grad_()
            y, expected = layer(x), old(x)
            assert torch.equal(y, expected), form
            (a,) = torch.autograd.grad(y.sum(), x)
            (b,) = torch.autograd.grad(expected.sum(), x)
            assert torch.equal(a, b)


@on_cuda
def test_memory_is_that_of_the_coded_form(tmp_path):
    torch.manual_seed(1)
    layers = {
        f"{i}.weight": (torch.randn(2048, 2048, device=DEVICE) / 30).bfloat16().cpu()
        for i in range(96)
    }
    save_file(layers, tmp_path / "m.wcodec", level=1)
    decoded = sum(layer.nbytes for layer in layers.values())
    with torch.device("meta"):
        model = nn.Sequential(*[nn.Linear(2048, 2048, False, dtype=torch.bfloat16) for _ in layers])
    x = torch.ones(1, 2048, dtype=torch.bfloat16, device=DEVICE)
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    free, before = torch.cuda.mem_get_info()[0], torch.cuda.memory_allocated()
    resident = load_resident(model, tmp_path / "m.wcodec", device=DEVICE).resident
    with torch.no_grad():
        model(x)
    torch.cuda.synchronize()
    assert resident.nbytes < 0.72 * decoded
    assert torch.cuda.max_memory_allocated() - before < 1 << 20
    assert free - torch.cuda.mem_get_info()[0] < 0.95 * decoded
