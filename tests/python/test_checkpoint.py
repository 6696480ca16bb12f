# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The names under which the package was promised."""

import sys

import numpy as np
import pytest
import wcodec
from conftest import run, weights
from wcodec import WCodecCheckpoint, encode_safetensors_to_wcodec


@pytest.fixture
def model(packed):
    return packed(
        {
            "embed.weight": ("BF16", (30, 64), weights(np, 1920)),
            "layers.0.norm.weight": ("F32", (64,), bytes(256)),
            "layers.0.norm.bias": ("F32", (64,), bytes(256)),
            "layers.1.norm.weight": ("F32", (64,), bytes(256)),
            "top": ("F32", (2,), bytes(8)),
        }
    )


def test_a_mapping(model):
    with WCodecCheckpoint(model, framework="np") as checkpoint:
        assert len(checkpoint) == 5
        assert next(iter(checkpoint)) == "embed.weight"
        assert "top" in checkpoint
        assert "bottom" not in checkpoint
        assert 3 not in checkpoint
        assert checkpoint["embed.weight"].shape == (30, 64)
        assert checkpoint.get("bottom") is None
        assert list(checkpoint.items())[4][1].shape == (2,)
        assert checkpoint.layers() == ["embed", "layers.0.norm", "layers.1.norm"]
        assert list(checkpoint.layer("layers.0")) == ["norm.weight", "norm.bias"]
        assert list(checkpoint.layer("layers.0.norm")) == ["weight", "bias"]
        assert len(checkpoint.state_dict()) == 5
        for name in ("layer", "layers.0.norm.weight", ""):
            with pytest.raises(KeyError):
                checkpoint.layer(name)
        with pytest.raises(KeyError):
            checkpoint["bottom"]
    with pytest.raises(wcodec.UsageError):
        checkpoint["top"]


def test_map_location(model):
    torch = pytest.importorskip("torch")
    load = wcodec.load_wcodec_checkpoint
    assert load(model)["top"].device.type == "cpu"
    for where in ("meta", torch.device("meta"), {"cpu": "meta"}):
        assert load(model, map_location=where)["top"].is_meta
    assert load(model, {"cuda:0": "meta"})["top"].device.type == "cpu"
    with pytest.raises(wcodec.UnsupportedError, match="map_location"):
        load(model, lambda storage, where: storage)


def test_encoding_with_a_bar(plain, capsys):
    path = plain({"w": ("BF16", (300, 300), weights(np, 90000))})
    made = encode_safetensors_to_wcodec(path)
    assert made["tensors"] == 1
    if "tqdm" in sys.modules:
        assert "model.safetensors: 100%" in capsys.readouterr().err
    encode_safetensors_to_wcodec(path, force=True, show_progress=False)
    assert capsys.readouterr().err == ""


def test_without_torch(model):
    made = run(
        """
        import sys
        sys.modules["torch"] = None
        import wcodec
        decoder = wcodec.GPUDecoder(sys.argv[1])
        print(decoder.reason, decoder.device, type(decoder.decode_layer("top")).__name__)
        print(sorted(decoder.decode_layer("layers.0.norm")), decoder.layers()[0])
        try:
            wcodec.load_wcodec_checkpoint(sys.argv[1])
        except ImportError as error:
            print("ImportError")
        """,
        model,
    )
    assert made.stdout == (
        "torch is not installed cpu ndarray\n['bias', 'weight'] embed\nImportError\n"
    )
    assert "torch is not installed; decoding on the CPU" in made.stderr


def test_models_of_transformers(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=500, dtype="bfloat16",
    )  # fmt: skip
    torch.manual_seed(1)
    model = transformers.LlamaForCausalLM(config).bfloat16().eval()
    model.save_pretrained(tmp_path / "plain")
    wcodec.compress(tmp_path / "plain", tmp_path / "packed")
    assert not list((tmp_path / "packed").glob("*.safetensors"))
    tokens = torch.randint(0, 500, (2, 9))
    original = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "plain")
    with torch.no_grad():
        expected = original(tokens).logits
    maps = [None]
    try:
        import accelerate  # noqa: F401

        maps += [device, {"": device}, "auto"]
    except ImportError:
        pass
    for device_map in maps:
        loaded = wcodec.WCodecModel.from_pretrained(tmp_path / "packed", device_map=device_map)
        assert type(loaded) is transformers.LlamaForCausalLM
        assert loaded.dtype == torch.bfloat16
        assert loaded.generation_config.to_dict() == model.generation_config.to_dict()
        for name, tensor in model.state_dict().items():
            assert torch.equal(loaded.state_dict()[name].cpu(), tensor), name
        if device_map is None:
            with torch.no_grad():
                assert torch.equal(loaded(tokens).logits, expected)
    loaded = wcodec.WCodecModel.from_pretrained(
        tmp_path / "packed", model_class=transformers.AutoModel, dtype=torch.float32
    )
    assert type(loaded) is transformers.LlamaModel
    assert loaded.dtype == torch.float32
    # Weights for one device are decoded by one load, when the first is taken.
    loads, load = [], wcodec.torch.Framework.load

    def counted(self, reader, requests, progress=None):
        loads.append(len(requests))
        return load(self, reader, requests, progress)

    monkeypatch.setattr(wcodec.torch.Framework, "load", counted)
    wcodec.WCodecModel.from_pretrained(tmp_path / "packed")
    assert loads == [len(model.state_dict())]
    again = wcodec.WCodecModel.from_pretrained(tmp_path / "plain")
    assert torch.equal(again.lm_head.weight, model.lm_head.weight)
    with pytest.raises(FileNotFoundError):
        wcodec.WCodecModel.from_pretrained(tmp_path / "none")


def small_model(folder):
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=500, dtype="bfloat16",
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).bfloat16().save_pretrained(folder / "plain")
    wcodec.compress(folder / "plain", folder / "packed")
    return folder / "packed"


def test_a_damaged_model(tmp_path):
    pytest.importorskip("torch")
    (path,) = small_model(tmp_path).glob("*.wcodec")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(wcodec.CorruptError) as caught:
        wcodec.WCodecModel.from_pretrained(tmp_path / "packed")
    assert caught.value.file == str(path)
    assert caught.value.tensor.startswith("model.")


def test_an_interrupt_stops_what_loads_for_transformers(tmp_path):
    """It loads in a thread of its own, where no signal is seen."""
    pytest.importorskip("torch")
    made = run(
        """
        import os, signal, sys, threading, time, wcodec, wcodec.torch
        ended = threading.Event()
        def load(self, reader, requests, progress):
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                for _ in range(600):
                    time.sleep(0.1)
                    progress(0, 1)
            except wcodec.CancelledError:
                ended.set()
                raise
        wcodec.torch.Framework.load = load
        try:
            wcodec.WCodecModel.from_pretrained(sys.argv[1])
        except KeyboardInterrupt:
            print("interrupted", ended.wait(10))
        """,
        small_model(tmp_path),
    )
    assert made.stdout == "interrupted True\n"


def test_jax(model):
    pytest.importorskip("jax")
    from wcodec.jax import load, load_file, save

    loaded = load_file(model)
    expected = wcodec.numpy.load_file(model)
    for name, array in expected.items():
        assert np.array_equal(np.asarray(loaded[name]), array)
        assert loaded[name].dtype == array.dtype
    assert np.array_equal(np.asarray(load(save(loaded))["top"]), expected["top"])
    with wcodec.safe_open(model, "jax", device="cpu") as f:
        assert f.get_slice("embed.weight")[2:4].shape == (2, 64)


def test_jax_takes_over_tensors_of_torch():
    """What a CUDA device goes through, on the CPU."""
    pytest.importorskip("jax")
    torch = pytest.importorskip("torch")
    from wcodec.jax import _taken_over

    kinds = [torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.int8, torch.uint8]
    kinds += [torch.bool, torch.float8_e4m3fn, torch.float8_e5m2]
    for kind in kinds:
        tensor = (torch.arange(24) % 3).reshape(4, 6).to(kind)
        array = _taken_over(tensor)
        assert array.shape == (4, 6)
        assert str(array.dtype) == str(kind).removeprefix("torch.")
        assert np.array_equal(np.asarray(array, np.float32), tensor.float().numpy())
        empty = _taken_over(tensor[:0])
        assert empty.shape == (0, 6)
        assert empty.dtype == array.dtype
    assert _taken_over(torch.arange(9)).tolist() == list(range(9))
    assert _taken_over(torch.tensor(2.5)).item() == 2.5
