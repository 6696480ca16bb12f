# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Models of transformers whose weights stay coded in the memory of a CUDA device. See
cuda_support.py."""

import gc

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("safetensors")
pytest.importorskip("accelerate")

import wcodec  # noqa: E402
from cuda_support import CUDA, DEVICE, ON, marks, on_cuda, on_device  # noqa: E402
from test_transformers import (  # noqa: E402
    MODES,
    TOKENS,
    Auto,
    adapted,
    coded,
    gradients,
    llama,
    logits,
    near,
    plain,
    saved,
    trained,
)
from wcodec.engines import transformers as engine  # noqa: E402
from wcodec.engines.transformers import WcodecConfig  # noqa: E402
from wcodec.torch import DecodedLinear, Embedding, Linear, save_file  # noqa: E402

pytestmark = [*marks, on_device]
MAPS = ["cuda", {"": 0}, "auto", {"": torch.device("cuda:0")}] if CUDA else ["cpu", {"": "cpu"}]
HERE = TOKENS.to(DEVICE)


@pytest.fixture(autouse=True)
def where(monkeypatch):
    """What transformers has on the CPU is resident on the fake device."""
    if not CUDA:
        monkeypatch.setattr(
            engine,
            "Resident",
            lambda *a, **options: wcodec.Resident(*a, **{**options, "device": ON}),
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("llama"), llama())


@pytest.mark.parametrize("tied", [False, True])
def test_the_same_logits(tmp_path, tied):
    saved(tmp_path, llama(tie_word_embeddings=tied, attention_bias=True))
    expected = plain(tmp_path, device_map=MAPS[0])
    tokens = expected.generate(HERE, max_new_tokens=6, do_sample=False)
    for device_map in MAPS:
        model = coded(tmp_path, device_map=device_map)
        assert {t.device for t in (*model.parameters(), *model.buffers())} == {expected.device}
        assert torch.equal(logits(model, HERE), logits(expected, HERE))
        assert torch.equal(model.generate(HERE, max_new_tokens=6, do_sample=False), tokens)
        resident = model.hf_quantizer.resident
        assert len(resident) == 2 * 7 + 2 - tied
        assert resident.info("model.layers.1.mlp.up_proj.weight").form == "fixed"
        assert type(model.lm_head) is DecodedLinear
    product = coded(tmp_path, mode="product", device_map=MAPS[0])
    assert near(logits(product, HERE), logits(expected, HERE))
    assert type(product.lm_head) is Linear and type(product.model.embed_tokens) is Embedding
    made = product.generate(HERE, max_new_tokens=6, do_sample=False)
    assert made.shape == tokens.shape and made.device == tokens.device
    dense = product.dequantize()
    assert torch.equal(logits(dense, HERE), logits(expected, HERE))


def test_each_product_is_within_its_bound(folder):
    model = coded(folder, mode="product", device_map=MAPS[0])
    checked = []

    def check(layer, given, y):
        x, w = given[0].double(), layer.weight.double()
        size = x.abs() @ w.abs().T
        exact = x @ w.T
        bound = (layer.in_features + 8) * 2.0**-22 * size + 2.0**-8 * exact.abs() + 2.0**-24
        assert ((y.double() - exact).abs() <= bound).all(), layer.name
        checked.append(layer.name)

    for module in model.modules():
        if isinstance(module, Linear):
            module.register_forward_hook(check)
    logits(model, HERE)
    assert len(checked) == 2 * 7 + 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_gradients_and_compiling(folder, mode, backend):
    if backend == "inductor" and not CUDA:
        pytest.skip("no CUDA device")
    model = coded(folder, mode=mode, device_map=MAPS[0])
    expected = plain(folder, device_map=MAPS[0])
    rows = expected.model.embed_tokens(HERE).detach()
    assert near(*gradients((model, expected), rows), 0 if mode == "decode" else 0.03)
    torch._dynamo.reset()
    with torch.no_grad():
        compiled = torch.compile(model, backend=backend, fullgraph=True)(HERE).logits
    assert near(compiled, logits(model, HERE))


@on_cuda
@pytest.mark.parametrize("mode", MODES)
def test_generating_with_a_static_cache(folder, mode):
    """transformers compiles the model for that, with CUDA graphs."""
    options = {"max_new_tokens": 12, "do_sample": False, "cache_implementation": "static"}
    torch._dynamo.reset()
    model = coded(folder, mode=mode, device_map="cuda")
    tokens = model.generate(HERE[:1], **options)
    assert tokens.shape == (1, 21)
    again = model.generate(HERE[:1], **options)
    assert torch.equal(tokens, again)


@pytest.mark.parametrize("mode", MODES)
def test_adapters(folder, mode):
    peft = pytest.importorskip("peft")
    from wcodec.engines.peft import lora

    config = peft.LoraConfig(r=4, target_modules=["q_proj", "down_proj", "lm_head"])
    model = adapted(coded(folder, mode=mode, device_map=MAPS[0]), lora(config))
    if CUDA:
        with torch.cuda.device(0):
            assert trained_here(model)
    else:
        assert len(trained(model)) == 2 * 5


def trained_here(model):
    loss = model(HERE, labels=HERE).loss
    loss.backward()
    return all(p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)


@on_cuda
def test_several_devices_are_refused(folder):
    with pytest.raises(wcodec.UnsupportedError, match="cpu, cuda:0: weights that stay coded are"):
        coded(folder, device_map={"model": 0, "lm_head": "cpu"})


@on_cuda
def test_memory_is_that_of_the_coded_form(tmp_path):
    config = llama(
        hidden_size=2048, intermediate_size=8192, num_hidden_layers=4, num_attention_heads=16,
        vocab_size=4000,
    )  # fmt: skip
    with torch.device("meta"):
        shapes = {k: v.shape for k, v in Auto.from_config(config).state_dict().items()}
    config.save_pretrained(tmp_path)
    tensors = {
        name: torch.randn(shape, device=DEVICE).div(30).bfloat16().cpu()
        for name, shape in shapes.items()
    }
    decoded = sum(tensor.nbytes for tensor in tensors.values())
    save_file(tensors, tmp_path / "model.safetensors.wcodec", level=1)
    del tensors
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    model = Auto.from_pretrained(
        tmp_path, quantization_config=WcodecConfig(mode="product"), device_map="cuda"
    )
    grown = torch.cuda.max_memory_reserved() - before
    assert model.hf_quantizer.resident.nbytes < 0.72 * decoded
    assert grown < 0.05 * decoded
    with torch.no_grad():
        model(torch.ones(1, 4, dtype=torch.long, device=DEVICE))
    grown = torch.cuda.max_memory_reserved() - before
    assert grown < 0.1 * decoded
