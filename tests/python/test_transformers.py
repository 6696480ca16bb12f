# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Models of transformers whose weights stay coded, and adapters of peft on them."""

import copy
import json
import logging
import os
import re

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("safetensors")

import wcodec  # noqa: E402
from conftest import TOP, run  # noqa: E402
from wcodec.engines.transformers import WcodecConfig  # noqa: E402
from wcodec.torch import DecodedLinear, Embedding, Linear, load_file, save_file  # noqa: E402

Auto = transformers.AutoModelForCausalLM
MODES = ["product", "decode"]
TOKENS = torch.arange(18).reshape(2, 9) * 7 % 500


def llama(**options):
    return transformers.LlamaConfig(**{
        "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 500, "dtype": "bfloat16",
        **options,
    })  # fmt: skip


def saved(folder, config, cls=Auto, **options):
    """A model saved and compressed, in folder/plain and folder/packed."""
    torch.manual_seed(1)
    model = cls.from_config(config).to(config.dtype)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name and "ln_" not in name:
                parameter.normal_(std=0.05)
    model.save_pretrained(folder / "plain", **options)
    wcodec.compress(folder / "plain", folder / "packed")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("llama"), llama())


def plain(folder, cls=Auto, **options):
    return cls.from_pretrained(folder / "plain", **options)


def coded(folder, cls=Auto, mode="decode", form="auto", **options):
    config = WcodecConfig(form=form, mode=mode)
    return cls.from_pretrained(folder / "packed", quantization_config=config, **options)


def logits(model, tokens=TOKENS):
    with torch.no_grad():
        return model(tokens).logits


def near(given, expected, limit=0.02):
    """By their norms: of bf16 after a few layers."""
    given, expected = given.double(), expected.double()
    return bool((given - expected).norm() <= limit * expected.norm())


def set_config(folder, **entries):
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **entries}
    path.write_text(json.dumps({key: v for key, v in config.items() if v is not None}))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("shards", [None, "200KB"])
def test_the_same_logits(tmp_path, tied, shards):
    options = {} if shards is None else {"max_shard_size": shards}
    saved(tmp_path, llama(tie_word_embeddings=tied, attention_bias=True), **options)
    assert (len(list((tmp_path / "packed").glob("*.wcodec"))) > 2) == (shards is not None)
    expected = plain(tmp_path)
    tokens = expected.generate(TOKENS, max_new_tokens=6, do_sample=False)
    maps = [None, "cpu", {"": "cpu"}, {"": torch.device("cpu")}]
    for form, device_map in zip(("auto", "coded", "fixed", "plain"), maps):
        if device_map is not None:
            pytest.importorskip("accelerate")
        model = coded(tmp_path, form=form, device_map=device_map)
        assert torch.equal(logits(model), logits(expected))
        assert torch.equal(model.generate(TOKENS, max_new_tokens=6, do_sample=False), tokens)
        resident = model.hf_quantizer.resident
        assert len(resident) == 2 * 7 + 2 - tied
        assert not [n for n, _ in model.named_parameters() if "proj.weight" in n or "embed" in n]
        product = coded(tmp_path, mode="product", form=form)
        assert near(logits(product), logits(expected))
        assert type(product.lm_head) is Linear and type(model.lm_head) is DecodedLinear
        assert type(model.model.embed_tokens) is Embedding and not model.training
        assert product.generate(TOKENS, max_new_tokens=6, do_sample=False).shape == tokens.shape
        for one in (model, product):
            one.tie_weights()  # finds nothing to tie
    assert model.hf_quantizer.resident.path.startswith(str(tmp_path / "packed"))
    assert "transformers_weights" not in model.config.to_dict()


def test_each_product_is_within_its_bound(folder):
    model = coded(folder, mode="product", form="coded")
    checked = []

    def check(layer, given, y):
        x, w = given[0].double(), layer.weight.double()
        exact = x @ w.T
        size = x.abs() @ w.abs().T
        bound = (layer.in_features / 16 + 5) * 2.0**-24 * size + 2.0**-8 * exact.abs() + 2.0**-24
        assert ((y.double() - exact).abs() <= bound).all(), layer.name
        checked.append(layer.name)

    for module in model.modules():
        if isinstance(module, Linear):
            module.register_forward_hook(check)
    logits(model)
    assert len(checked) == 2 * 7 + 1


def test_the_example(tmp_path):
    """examples/generate.py."""
    pytest.importorskip("accelerate")
    tokenizers = pytest.importorskip("tokenizers")
    words = {f"w{i}": i for i in range(500)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    saved(tmp_path, llama(bos_token_id=None, eos_token_id=None, pad_token_id=0))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="w0")
    for folder in ("plain", "packed"):
        tokenizer.save_pretrained(tmp_path / folder)
    program = (TOP / "examples" / "generate.py").read_text()
    shown = run(program, tmp_path / "packed", "w7 w9 w11").stdout.splitlines()
    held, decoded = map(int, re.fullmatch(r"on .*: (\d+) of (\d+) bytes res.*", shown[0]).groups())
    assert held < 0.8 * decoded
    assert shown[1].startswith("w7 w9 w11 w") and len(shown[1].split()) == 3 + 40
    wrong = run(program, tmp_path / "plain", "w7", check=False)
    assert wrong.returncode == 1
    assert re.fullmatch("generate.py: .*: is not compressed.*", wrong.stderr.splitlines()[-1])


def test_ways_to_ask_for_it(folder, tmp_path):
    expected = logits(plain(folder))
    decode = {"quant_method": "wcodec", "mode": "decode"}
    wanted = [
        WcodecConfig(mode="decode"),
        decode,
        {**decode, "form": "fixed", "modules_to_not_convert": None, "threads": 2},
    ]
    for config in wanted:
        for load in (Auto.from_pretrained, wcodec.WCodecModel.from_pretrained):
            model = load(folder / "packed", quantization_config=config)
            assert torch.equal(logits(model), expected)
            assert type(model.lm_head) is DecodedLinear
    wcodec.compress(folder / "plain", tmp_path / "packed")
    set_config(tmp_path / "packed", quantization_config=decode)
    assert torch.equal(logits(Auto.from_pretrained(tmp_path / "packed")), expected)
    made = run(
        """
        import sys, wcodec
        model = wcodec.WCodecModel.from_pretrained(sys.argv[1])
        print(type(model.lm_head).__name__, model.quantization_method)
        """,
        tmp_path / "packed",
    )
    assert made.stdout == "DecodedLinear wcodec\n"
    with pytest.raises(wcodec.UsageError, match="backend is 'cuda'"):
        wcodec.WCodecModel.from_pretrained(tmp_path / "packed", backend="cuda")


@pytest.mark.parametrize("dtype", ["float32", torch.float16, "auto"])
def test_other_types_than_the_file(folder, dtype):
    expected = plain(folder, dtype=dtype)
    model = coded(folder, dtype=dtype)
    assert model.dtype == expected.dtype == logits(model).dtype
    assert torch.equal(logits(model), logits(expected))
    product = logits(coded(folder, mode="product", dtype=dtype))
    assert product.dtype == expected.dtype
    assert near(product, logits(expected), 1e-6 if dtype == "float32" else 0.02)


def test_a_config_without_a_type(folder, tmp_path):
    wcodec.compress(folder / "plain", tmp_path / "packed")
    set_config(tmp_path / "packed", dtype=None)
    model = coded(tmp_path)
    assert model.dtype == torch.bfloat16
    assert torch.equal(logits(model), logits(plain(folder)))


def resaved(source, target, change):
    """A copy of a folder with other tensors, plain and packed."""
    tensors = change(load_file(source / "plain"))
    target.mkdir(exist_ok=True)
    (target / "plain").mkdir()
    config = (source / "plain" / "config.json").read_bytes()
    (target / "plain" / "config.json").write_bytes(config)
    from safetensors.torch import save_file as save_plain

    save_plain(tensors, target / "plain" / "model.safetensors", {"format": "pt"})
    wcodec.compress(target / "plain", target / "packed")
    return target


def test_missing_and_unexpected_names(folder, tmp_path):
    left_out = ("model.layers.1.mlp.up_proj.weight", "model.norm.weight", "lm_head.weight")

    def change(tensors):
        kept = {name: t for name, t in tensors.items() if name not in left_out}
        return {**kept, "extra.weight": torch.ones(3, 4), "model.layers.1.extra": torch.ones(2)}

    resaved(folder, tmp_path, change)
    _, expected = plain(tmp_path, output_loading_info=True)
    model, info = coded(tmp_path, output_loading_info=True)
    assert info == expected
    assert info["missing_keys"] == set(left_out)
    assert info["unexpected_keys"] == {"extra.weight", "model.layers.1.extra"}
    assert type(model.model.layers[1].mlp.up_proj) is torch.nn.Linear  # with new values
    assert torch.equal(model.model.norm.weight, torch.ones(128, dtype=torch.bfloat16))
    assert model.model.layers[1].mlp.up_proj.weight.float().std() < 0.03
    assert logits(model).isfinite().all()


def test_a_missing_bias(tmp_path):
    """Its layer is transformers' own, which gives the bias its first values."""
    saved(tmp_path / "a", llama(attention_bias=True))
    name = "model.layers.0.self_attn.q_proj.bias"
    resaved(tmp_path / "a", tmp_path / "b", lambda t: {k: v for k, v in t.items() if k != name})
    model, info = coded(tmp_path / "b", output_loading_info=True)
    assert info["missing_keys"] == {name}
    layer = model.model.layers[0].self_attn.q_proj
    assert type(layer) is torch.nn.Linear and not layer.bias.any()
    assert type(model.model.layers[0].self_attn.k_proj) is DecodedLinear


@pytest.mark.parametrize("name", ["model.layers.0.mlp.up_proj.weight", "model.norm.weight"])
def test_shapes_that_differ(folder, tmp_path, name):
    resaved(folder, tmp_path, lambda tensors: {**tensors, name: tensors[name][:100].clone()})
    with pytest.raises(RuntimeError, match=rf"size mismatch for {name}: \(100.*in the file"):
        coded(tmp_path)


def test_tied_in_the_model_only(folder, tmp_path, caplog):
    """As transformers, which does not tie what the files have with different values."""
    resaved(folder, tmp_path / "two", lambda tensors: tensors)
    same = resaved(
        folder, tmp_path / "one",
        lambda tensors: {**tensors, "lm_head.weight": tensors["model.embed_tokens.weight"].clone()},
    )  # fmt: skip
    for each in (tmp_path / "two", same):
        for kind in ("plain", "packed"):
            set_config(each / kind, tie_word_embeddings=True)
    with caplog.at_level(logging.WARNING, "wcodec"):
        model = coded(tmp_path / "two")
    assert "lm_head.weight" in caplog.text and "not tied" in caplog.text
    assert torch.equal(logits(model), logits(plain(tmp_path / "two")))
    assert len(model.hf_quantizer.resident) == 2 * 7 + 2
    model = coded(same)
    assert torch.equal(logits(model), logits(plain(same)))
    assert len(model.hf_quantizer.resident) == 2 * 7 + 1


def test_a_base_model_of_a_larger_one(folder):
    """Names in the file have a prefix that those of the model lack."""
    model, info = coded(folder, transformers.AutoModel, output_loading_info=True)
    expected = plain(folder, transformers.AutoModel)
    with torch.no_grad():
        assert torch.equal(model(TOKENS)[0], expected(TOKENS)[0])
    assert len(model.hf_quantizer.resident) == 2 * 7 + 1 and info["missing_keys"] == set()


def test_renamed_weights(folder, tmp_path):
    def change(tensors):
        return {name.replace(".mlp.", ".ffn."): tensor for name, tensor in tensors.items()}

    resaved(folder, tmp_path, change)
    model = coded(tmp_path, key_mapping={r"\.ffn\.": ".mlp."})
    assert torch.equal(logits(model), logits(plain(folder)))
    assert "model.layers.0.ffn.up_proj.weight" in model.hf_quantizer.resident


def test_weights_that_are_converted(tmp_path):
    """Experts are merged when they are loaded, and are decoded."""
    config = transformers.MixtralConfig(
        hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=500, num_local_experts=4, dtype="bfloat16",
    )  # fmt: skip
    saved(tmp_path, config)
    model = coded(tmp_path)
    assert torch.equal(logits(model), logits(plain(tmp_path)))
    names = model.hf_quantizer.resident.names()
    assert "lm_head.weight" in names and not [name for name in names if "expert" in name]


def test_layers_of_other_classes(tmp_path):
    """GPT-2 has matrices that are not of torch.nn.Linear; its embedding is tied to the last one."""
    config = transformers.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=500)
    config.dtype = torch.float32
    saved(tmp_path, config)
    model = coded(tmp_path, form="coded")
    assert torch.equal(logits(model), logits(plain(tmp_path)))
    assert sorted(model.hf_quantizer.resident) == [
        "transformer.wpe.weight",
        "transformer.wte.weight",
    ]
    assert type(model.lm_head) is DecodedLinear and type(model.transformer.wte) is Embedding


def test_what_a_model_keeps_in_float32(tmp_path):
    """T5 does so with some of its layers where it is in float16."""
    config = transformers.T5Config(
        d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4, vocab_size=500, dtype="bfloat16"
    )
    cls = transformers.AutoModelForSeq2SeqLM
    saved(tmp_path, config, cls)
    for dtype in (torch.float16, torch.bfloat16):
        expected, model = plain(tmp_path, cls, dtype=dtype), coded(tmp_path, cls, dtype=dtype)
        kept = model.encoder.block[0].layer[1].DenseReluDense.wo
        assert type(kept) is (DecodedLinear if dtype == torch.bfloat16 else torch.nn.Linear)
        with torch.no_grad():
            given, wanted = (
                one(input_ids=TOKENS, decoder_input_ids=TOKENS).logits for one in (model, expected)
            )
        assert torch.equal(given, wanted)


class Shared(transformers.PreTrainedModel):
    """One module under two names."""

    config_class = transformers.PreTrainedConfig

    def __init__(self, config):
        super().__init__(config)
        self.a = torch.nn.Linear(64, 64, bias=False)
        self.b = self.a
        self.c = torch.nn.Linear(64, 64, bias=False)
        self.post_init()

    def forward(self, x):
        return self.c(self.b(self.a(x)))


@pytest.mark.parametrize("contradictory", [False, True])
def test_a_module_of_two_names(tmp_path, contradictory):
    from safetensors.torch import save_file as save_plain

    torch.manual_seed(1)
    w = torch.randn(3, 64, 64) / 8
    (tmp_path / "plain").mkdir()
    transformers.PreTrainedConfig(dtype="float32").save_pretrained(tmp_path / "plain")
    tensors = {
        "a.weight": w[0].clone(),
        "b.weight": w[int(contradictory)].clone(),
        "c.weight": w[2],
    }
    save_plain(tensors, tmp_path / "plain" / "model.safetensors", {"format": "pt"})
    wcodec.compress(tmp_path / "plain", tmp_path / "packed")
    expected, model = plain(tmp_path, Shared), coded(tmp_path, Shared)
    x = torch.randn(3, 64)
    assert torch.equal(model(x), expected(x))
    assert type(model.a) is (torch.nn.Linear if contradictory else DecodedLinear)
    assert model.a is model.b and type(model.c) is DecodedLinear


def test_modules_that_are_left(folder):
    config = WcodecConfig("coded", "decode", ["lm_head", "layers.1", "q_proj"])
    model = Auto.from_pretrained(folder / "packed", quantization_config=config)
    kinds = {name: type(module) for name, module in model.named_modules()}
    for name, kind in kinds.items():
        if kind in (torch.nn.Linear, DecodedLinear):
            left = "lm_head" in name or "layers.1" in name or "q_proj" in name
            assert (kind is torch.nn.Linear) == left, name
    assert torch.equal(logits(model), logits(plain(folder)))
    all_left = WcodecConfig(modules_to_not_convert=["model", "lm_head"])
    model = Auto.from_pretrained(folder / "packed", quantization_config=all_left)
    assert model.hf_quantizer.resident is None
    assert torch.equal(logits(model), logits(plain(folder)))


def test_saving(folder, tmp_path):
    model = coded(folder, mode="product")
    with pytest.raises(wcodec.UnsupportedError, match=r"copy the folder.*dequantize\(\)"):
        model.save_pretrained(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    dense = model.dequantize()
    assert type(dense.lm_head) is torch.nn.Linear and dense.lm_head.weight.requires_grad
    assert torch.equal(logits(dense), logits(plain(folder)))
    dense.save_pretrained(tmp_path / "plain")
    assert torch.equal(logits(plain(tmp_path)), logits(plain(folder)))
    assert "quantization_config" not in json.loads((tmp_path / "plain/config.json").read_text())


def test_dequantized_tied_weights(tmp_path):
    saved(tmp_path, llama(tie_word_embeddings=True))
    model = coded(tmp_path).dequantize()
    assert model.lm_head.weight is model.model.embed_tokens.weight
    model.tie_weights()
    model.save_pretrained(tmp_path / "again" / "plain")
    assert torch.equal(logits(plain(tmp_path / "again")), logits(plain(tmp_path)))


@pytest.mark.parametrize(
    "options, text",
    [
        ({"form": "small"}, "form is 'small': expected one of 'auto', 'coded', 'fixed', 'plain'"),
        ({"form": None}, "form is None"),
        ({"mode": "fast"}, "mode is 'fast': expected one of 'product', 'decode'"),
        ({"threads": 0}, "threads is 0"),
        ({"threads": True}, "threads is True"),
        ({"modules_to_not_convert": "lm_head"}, "modules_to_not_convert is 'lm_head'"),
        ({"modules_to_not_convert": [1]}, r"modules_to_not_convert is \[1\]"),
        ({"bits": 4, "group": 2}, "has no bits, group: it has form, mode"),
    ],
)
def test_wrong_configurations(folder, options, text):
    with pytest.raises(wcodec.UsageError, match=text):
        WcodecConfig(**options)
    config = {"quant_method": "wcodec", **options}
    with pytest.raises(ValueError, match=text):
        Auto.from_pretrained(folder / "packed", quantization_config=config)


def test_what_cannot_be(folder, tmp_path):
    pytest.importorskip("accelerate")
    for device_map, kind, text in (
        ("cuda:99", wcodec.BackendError, "torch finds (no|1) CUDA device"),
        ({"model": "cpu", "lm_head": "disk"}, wcodec.UnsupportedError, "has 'disk'"),
        ("meta", wcodec.UsageError, "expected 'cpu', 'cuda' or 'cuda:N'"),
    ):
        with pytest.raises(kind, match=text):
            coded(folder, device_map=device_map)
    config = WcodecConfig()
    with pytest.raises(wcodec.UnsupportedError, match="is not compressed"):
        Auto.from_pretrained(folder / "plain", quantization_config=config)
    with pytest.raises(wcodec.UsageError, match="come from the files of a folder"):
        transformers.LlamaForCausalLM.from_pretrained(
            None, config=llama(), state_dict={}, quantization_config=config
        )
    (tmp_path / "packed").mkdir()
    config = (folder / "packed" / "config.json").read_bytes()
    (tmp_path / "packed" / "config.json").write_bytes(config)
    with pytest.raises(wcodec.MissingFileError, match=r"no \.wcodec or \.safetensors file"):
        coded(tmp_path)
    wcodec.compress(folder / "plain", tmp_path / "packed", force=True)
    (file,) = (tmp_path / "packed").glob("*.wcodec")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(wcodec.CorruptError) as raised:
        coded(tmp_path)
    assert raised.value.file == str(file) and raised.value.tensor.startswith("model.")


def test_nothing_is_left_in_the_temporary_folder(folder, tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model = coded(folder)
    assert os.listdir(tmp_path) == []
    assert torch.equal(logits(model), logits(plain(folder)))


def test_memory_is_that_of_the_coded_form(tmp_path):
    config = llama(
        hidden_size=1024, intermediate_size=4096, num_hidden_layers=4, num_attention_heads=8,
        vocab_size=4000,
    )  # fmt: skip
    small = saved(tmp_path / "small", llama())
    large = tmp_path / "large"
    with torch.device("meta"):
        shapes = {k: v.shape for k, v in Auto.from_config(config).state_dict().items()}
    (large / "packed").mkdir(parents=True)
    config.save_pretrained(large / "packed")
    tensors = {name: torch.randn(shape).div(30).bfloat16() for name, shape in shapes.items()}
    decoded = sum(tensor.nbytes for tensor in tensors.values())
    save_file(tensors, large / "packed" / "model.safetensors.wcodec", level=1)
    made = run(
        """
        import sys, torch, transformers
        from wcodec.engines.transformers import WcodecConfig
        def peak():
            with open("/proc/self/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        def use(path):
            model = transformers.AutoModelForCausalLM.from_pretrained(
                path, quantization_config=WcodecConfig("coded", threads=2))
            with torch.no_grad():
                model(torch.ones(1, 4, dtype=torch.long))
            return model
        use(sys.argv[1])  # what a process has once
        before = peak()
        model = use(sys.argv[2])
        print(model.hf_quantizer.resident.nbytes, (peak() - before) * 1024)
        """,
        small / "packed",
        large / "packed",
    )
    held, grown = map(int, made.stdout.split())
    assert held < 0.72 * decoded
    assert grown < 0.82 * decoded


def gradients(models, rows):
    """Of what the models make of embedded tokens, by these."""
    for model in models:
        x = rows.clone().requires_grad_()
        model(inputs_embeds=x).logits.float().square().sum().backward()
        yield x.grad


def test_gradients_and_compiling(folder):
    for mode in MODES:
        model, expected = coded(folder, mode=mode), plain(folder)
        rows = expected.model.embed_tokens(TOKENS).detach()
        assert near(*gradients((model, expected), rows), 0 if mode == "decode" else 0.03)
        torch._dynamo.reset()
        with torch.no_grad():
            compiled = torch.compile(model, backend="eager")(TOKENS).logits
        assert near(compiled, logits(model))


def adapted(model, config, seed=3):
    peft = pytest.importorskip("peft")
    torch.manual_seed(seed)
    return peft.get_peft_model(model, config)


def trained(model):
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.5)
    for _ in range(4):
        model(TOKENS, labels=TOKENS).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return {name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad}


@pytest.mark.parametrize("mode", MODES)
def test_adapters(folder, tmp_path, mode, recwarn):
    peft = pytest.importorskip("peft")
    from wcodec.engines.peft import LoraLinear, lora

    config = peft.LoraConfig(r=4, target_modules=["q_proj", "down_proj", "lm_head"])
    expected = adapted(plain(folder), copy.deepcopy(config))
    model = adapted(coded(folder, mode=mode), lora(config))
    assert not [one for one in recwarn if "Unsupported layer" in str(one.message)]
    layer = model.base_model.model.model.layers[1].mlp.down_proj
    assert type(layer) is LoraLinear and isinstance(layer.base_layer, Linear)
    given, wanted = trained(model), trained(expected)
    assert given.keys() == wanted.keys() and len(given) == 2 * 5
    for name in wanted:
        assert wanted[name].any()
        if mode == "decode":
            assert torch.equal(given[name], wanted[name]), name
        else:
            assert near(given[name], wanted[name], 0.03), name
    for merge in (
        model.merge_adapter,
        model.merge_and_unload,
        lambda: model.merge_and_unload(safe_merge=True),
    ):
        with pytest.raises(wcodec.UnsupportedError, match="no adapter can be merged") as raised:
            merge()
        assert raised.value.tensor
    before = logits(model)
    model.save_pretrained(tmp_path / "adapter")
    assert torch.equal(logits(model), before)
    again = peft.PeftModel.from_pretrained(
        coded(folder, mode=mode),
        tmp_path / "adapter",
        config=lora(peft.LoraConfig.from_pretrained(tmp_path / "adapter")),
    )
    assert torch.equal(logits(again), before)
    with again.disable_adapter():
        assert torch.equal(logits(again), logits(coded(folder, mode=mode)))
    again.base_model.model.dequantize()
    merged = again.merge_and_unload()
    assert type(merged.lm_head) is torch.nn.Linear
    assert near(logits(merged), before, 0.03)
    assert not near(logits(merged), logits(plain(folder)), 0.1)


def test_adapters_of_transformers(folder, tmp_path):
    peft = pytest.importorskip("peft")
    from wcodec.engines.peft import lora

    model = coded(folder)
    model.add_adapter(lora(peft.LoraConfig(r=4, target_modules=["v_proj"])))
    assert logits(model).shape == (2, 9, 500)
    model.save_pretrained(tmp_path)
    assert "adapter_model.safetensors" in os.listdir(tmp_path)


def test_adapters_that_cannot_be(folder):
    peft = pytest.importorskip("peft")
    from wcodec.engines.peft import lora

    for first in ("pissa", "olora", "pissa_niter_4"):
        config = peft.LoraConfig(init_lora_weights=first)
        with pytest.raises(wcodec.UnsupportedError, match=f"init_lora_weights is '{first}'"):
            lora(config)
    assert lora(peft.LoraConfig(init_lora_weights="gaussian"))._custom_modules
    with pytest.raises(wcodec.UsageError, match="'all-linear' finds no layer"):
        lora(peft.LoraConfig(target_modules="all-linear"))
    with pytest.raises(ValueError, match="not supported"):  # peft's own text
        adapted(coded(folder), lora(peft.LoraConfig(target_modules=["embed_tokens"])))


def test_an_older_transformers(folder, monkeypatch):
    monkeypatch.setattr(transformers, "__version__", "5.16.2")
    with pytest.raises(
        wcodec.UnsupportedError, match=r"needs transformers 5\.17, this is 5\.16\.2"
    ):
        coded(folder)


def test_training_by_transformers(folder, tmp_path):
    """With checkpoints of activations; without an adapter it is refused."""
    pytest.importorskip("accelerate")
    peft = pytest.importorskip("peft")
    from wcodec.engines.peft import lora

    rows = [{"input_ids": row, "labels": row} for row in TOKENS]
    arguments = transformers.TrainingArguments(
        str(tmp_path), max_steps=2, per_device_train_batch_size=2, report_to=[], save_steps=2,
        gradient_checkpointing=True, use_cpu=True, disable_tqdm=True,
    )  # fmt: skip
    model = coded(folder, mode="product")
    with pytest.raises(ValueError, match="purely quantized"):  # transformers' own text
        transformers.Trainer(model, arguments, train_dataset=rows)
    model = adapted(model, lora(peft.LoraConfig(r=4, target_modules=["q_proj", "up_proj"])))
    loss = transformers.Trainer(model, arguments, train_dataset=rows).train().training_loss
    assert 0 < loss < 20
    assert "adapter_model.safetensors" in os.listdir(tmp_path / "checkpoint-2")
    grown = [p for name, p in model.named_parameters() if "lora_B" in name and p.any()]
    assert len(grown) == 2 * 2
