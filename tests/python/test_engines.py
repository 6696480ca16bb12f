# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Loaders for serving programs. Those that cannot be installed here are replaced by stand-ins of
the interface that they publish: that proves our side of it, not theirs."""

import importlib
import re
import sys
import types

import pytest
import wcodec
from conftest import PACKAGE, run

torch = pytest.importorskip("torch")
ours = pytest.importorskip("wcodec.torch")


def model(seed=1):
    generator = torch.Generator().manual_seed(seed)
    sizes = [(50, 64), (64,), (0, 3), (), (7, 9, 5), (200, 64)]
    return {
        f"model.layers.{i}.weight": torch.randn(size, generator=generator).bfloat16()
        for i, size in enumerate(sizes)
    }


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "packed"
    path.mkdir()
    ours.save_file(model(), path / "model.safetensors.wcodec")
    return path


def same(left, right):
    assert left.keys() == right.keys()
    assert all(torch.equal(tensor, right[name]) for name, tensor in left.items())


def test_importing_wcodec_imports_no_engine():
    made = run("import sys, wcodec, wcodec.engines; print('torch' in sys.modules)")
    assert made.stdout == "False\n"


# ---- the stream of tensors that loaders take


@pytest.mark.parametrize("batch", [1, 6400, 1 << 30])
def test_weights(folder, batch):
    from wcodec.engines._weights import weights

    same(dict(weights(folder, batch=batch)), model())
    order = [name for name, _ in weights(folder, batch=batch)]
    with wcodec.safe_open(folder, "pt") as f:
        assert order == f.offset_keys()
    stream = weights(folder, batch=batch)
    next(stream)
    stream.close()  # cancels what is on its way


def test_batches():
    from wcodec.engines._weights import batches

    def made(sizes, limit):
        return [list(numbers) for numbers in batches(sizes, limit)]

    assert made([], 10) == []
    assert made([0, 0], 10) == [[0, 1]]
    assert made([5, 5, 5], 10) == [[0, 1], [2]]
    assert made([50, 5, 5, 50], 10) == [[0], [1, 2], [3]]


def test_weights_of_damaged_files(folder):
    from wcodec.engines._weights import weights

    path = folder / "model.safetensors.wcodec"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(wcodec.CorruptError) as caught:
        list(weights(folder, batch=1))
    assert caught.value.file == str(path)
    assert caught.value.tensor in model()
    with pytest.raises(wcodec.MissingFileError):
        next(weights(folder / "none"))


# ---- stand-ins


def modules(monkeypatch, name, **parts):
    """A module `a.b.c` with the packages that it is in."""
    at = ""
    for part in name.split("."):
        at = f"{at}.{part}" if at else part
        if at not in sys.modules:
            made = types.ModuleType(at)
            made.__path__ = []
            monkeypatch.setitem(sys.modules, at, made)
            if "." in at:
                setattr(sys.modules[at.rpartition(".")[0]], part, made)
    for key, value in parts.items():
        setattr(sys.modules[name], key, value)


def fresh(monkeypatch, name):
    monkeypatch.delitem(sys.modules, name, raising=False)
    made = importlib.import_module(name)
    monkeypatch.delitem(sys.modules, name)
    return made


class Source(types.SimpleNamespace):
    subfolder = None
    revision = None
    prefix = ""


class DefaultModelLoader:
    """What both of the serving programs' loaders of that name have in common."""

    def __init__(self, load_config):
        self.load_config = load_config

    def _get_weights_iterator(self, source):
        raise AssertionError("is to be overridden")

    def all_weights(self, path, secondary):
        yield from self._get_weights_iterator(Source(model_or_path=path))
        yield from self._get_weights_iterator(Source(model_or_path=secondary, prefix="draft."))


def config(**parts):
    return types.SimpleNamespace(download_dir=None, ignore_patterns=[], device=None, **parts)


def downloaded(folder, calls):
    def download(name, cache_dir, allow_patterns, revision=None, ignore_patterns=None):
        calls.append((name, allow_patterns, revision))
        return str(folder)

    return download


def test_vllm(folder, monkeypatch):
    found, calls = {}, []

    def register_model_loader(name):
        return lambda cls: found.setdefault(name, cls)

    base = "vllm.model_executor.model_loader"
    modules(monkeypatch, base, register_model_loader=register_model_loader)
    modules(monkeypatch, base + ".default_loader", DefaultModelLoader=DefaultModelLoader)
    download = downloaded(folder, calls)
    modules(monkeypatch, base + ".weight_utils", download_weights_from_hf=download)
    platform = types.SimpleNamespace(device_type="cpu")
    modules(monkeypatch, "vllm.platforms", current_platform=platform)
    fresh(monkeypatch, "wcodec.engines.vllm").register()
    loader = found["wcodec"](config())
    expected = model()
    expected |= {"draft." + name: tensor for name, tensor in model().items()}
    same(dict(loader.all_weights(str(folder), "some/name")), expected)
    loader.download_model(types.SimpleNamespace(model="some/name", revision="main"))
    assert calls == [("some/name", ["*.wcodec"], None), ("some/name", ["*.wcodec"], "main")]
    (folder / "part").mkdir()
    with pytest.raises(wcodec.MissingFileError):
        source = Source(model_or_path=str(folder), subfolder="part")
        next(loader._get_weights_iterator(source))


def test_sglang(folder, monkeypatch):
    hooks, formats, calls = {}, [], []

    class HookRegistry:
        @staticmethod
        def register(target, hook, hook_type):
            assert hook_type == "around"
            hooks[target] = hook

    class Loader(DefaultModelLoader):
        def load_model(self, *, model_config, device_config):
            return dict(self.all_weights(model_config.model_path, "some/name"))

        def _filter_mtp_weights(self, stream, prefix, number):
            return [(prefix + name, tensor) for name, tensor in stream if f".{number}." in name]

    kinds = types.SimpleNamespace(AROUND="around")
    modules(
        monkeypatch, "sglang.srt.plugins.hook_registry", HookRegistry=HookRegistry, HookType=kinds
    )
    modules(monkeypatch, "sglang.srt.server_args", add_load_format_choices=formats.extend)
    fresh(monkeypatch, "wcodec.engines.sglang").register()
    assert formats == ["wcodec"]
    (verify,) = hooks.values()
    base = "sglang.srt.model_loader"
    modules(monkeypatch, base + ".loader", DefaultModelLoader=Loader)
    download = downloaded(folder, calls)
    modules(monkeypatch, base + ".weight_utils", download_weights_from_hf=download)
    other, chosen = config(load_format="auto"), config(load_format="wcodec", draft_model_idx=None)
    seen = []
    verify(seen.append, other)
    verify(seen.append, chosen)
    assert seen == [other]
    assert other.load_format == "auto"
    loader = chosen.load_format(chosen)
    device, where = (
        types.SimpleNamespace(device="cpu"),
        types.SimpleNamespace(model_path=str(folder)),
    )
    loaded = loader.load_model(model_config=where, device_config=device)
    expected = model()
    expected |= {"draft." + name: tensor for name, tensor in model().items()}
    same(loaded, expected)
    chosen.draft_model_idx = 4
    loaded = loader.load_model(model_config=where, device_config=device)
    assert list(loaded) == ["model.layers.4.weight", "draft.model.layers.4.weight"]
    loader.download_model(types.SimpleNamespace(model_path="some/name", revision="main"))
    assert calls[-1] == ("some/name", ["*.wcodec"], "main")


def test_tensorrt_llm(folder, monkeypatch):
    found = {}
    base = "tensorrt_llm._torch.models"
    modules(monkeypatch, base + ".checkpoints.base_weight_loader", BaseWeightLoader=object)
    modules(
        monkeypatch,
        base + ".modeling_utils",
        register_checkpoint_weight_loader=lambda name: lambda cls: found.setdefault(name, cls),
    )
    loader = fresh(monkeypatch, "wcodec.engines.tensorrt_llm").WcodecWeightLoader
    assert found == {"wcodec": loader}
    same(loader().load_weights(str(folder), mapping=None, use_consolidated=False), model())
    with pytest.raises(wcodec.MissingFileError):
        loader().load_weights(str(folder / "none"), mapping=None)


def test_comfyui(folder, monkeypatch):
    known = {
        kind: ([str(folder)], {".safetensors"}) for kind in ("checkpoints", "diffusion_models")
    }

    def names(kind):
        paths, suffixes = known[kind]
        return [p.name for path in paths for p in sorted(type(folder)(path).iterdir())
                if p.suffix in suffixes]  # fmt: skip

    modules(
        monkeypatch,
        "folder_paths",
        folder_names_and_paths=known,
        get_folder_paths=lambda kind: known[kind][0] if kind in known else [],
        get_filename_list=names,
        get_full_path_or_raise=lambda kind, name: f"{known[kind][0][0]}/{name}",
    )
    modules(
        monkeypatch,
        "comfy.sd",
        load_diffusion_model_state_dict=lambda state: state,
        load_state_dict_guess_config=lambda state, embedding_directory: (state, "clip", "vae", 0),
    )
    nodes = fresh(monkeypatch, "wcodec.engines.comfyui").NODE_CLASS_MAPPINGS
    for name, outputs in (("WcodecDiffusionModel", 1), ("WcodecCheckpoint", 3)):
        node = nodes[name]()
        ((key, (files,)),) = node.INPUT_TYPES()["required"].items()
        assert files == ["model.safetensors.wcodec"]
        made = getattr(node, node.FUNCTION)(**{key: files[0]})
        assert len(made) == len(node.RETURN_TYPES) == outputs
        same(made[0], model())
    assert known["checkpoints"][1] == {".safetensors"}
    sys.modules["comfy.sd"].load_diffusion_model_state_dict = lambda state: None
    with pytest.raises(wcodec.UnsupportedError, match=r"model\.safetensors\.wcodec: "):
        nodes["WcodecDiffusionModel"]().load("model.safetensors.wcodec")


def test_entry_points():
    """What pyproject.toml names is there."""
    text = (PACKAGE / "pyproject.toml").read_text()
    points = re.findall(r'^\[project.entry-points."(.*)"\]\nwcodec = "(.*):(.*)"$', text, re.M)
    assert {group for group, _, _ in points} == {"vllm.general_plugins", "sglang.srt.plugins"}
    for _, module, function in points:
        source = (PACKAGE / (module.replace(".", "/") + ".py")).read_text()
        assert f"\ndef {function}() -> None:" in source


# ---- programs that are here


def test_the_training_loop(tmp_path, monkeypatch):
    """The page's example: interrupted and resumed it ends as it does in one go."""
    blocks = re.findall(r"```python\n(.*?)```", (PACKAGE / "ENGINES.md").read_text(), re.S)
    (code,) = [block for block in blocks if "def train(" in block]

    def made(steps, folder):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        space = {}
        exec(code, space)
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
        for count in steps:
            space["train"](net, optimizer, count)
            torch.manual_seed(len(steps))  # a new process knows nothing of the old one's
            net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
            optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
        space["resume"](net, optimizer)
        return {**net.state_dict(), **space["flat"](optimizer)}

    same(made([6], tmp_path / "a"), made([2, 4, 6], tmp_path / "b"))


def test_transformers_with_slices(tmp_path):
    """from_pretrained() with slices as its state dict, each decoded when it is taken."""
    transformers = pytest.importorskip("transformers")
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 99}
    config = transformers.LlamaConfig(**shape, num_attention_heads=4, dtype="bfloat16")
    original = transformers.LlamaForCausalLM(config).bfloat16()
    ours.save_model(original, tmp_path / "model.wcodec")
    with wcodec.safe_open(tmp_path / "model.wcodec", "pt") as f:
        loaded = transformers.LlamaForCausalLM.from_pretrained(
            None,
            config=config,
            state_dict={name: f.get_slice(name) for name in f.offset_keys()},
            dtype="bfloat16",
        )
    same(loaded.state_dict(), original.state_dict())


def test_diffusers(tmp_path):
    diffusers = pytest.importorskip("diffusers")
    from wcodec.engines.diffusers import load_model, load_pipeline

    torch.manual_seed(1)
    unet = diffusers.UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, norm_num_groups=2,
        block_out_channels=(8, 8), down_block_types=("DownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    scheduler = diffusers.DDPMScheduler(num_train_timesteps=4)
    diffusers.DDPMPipeline(unet, scheduler).save_pretrained(tmp_path / "a")
    for path in (tmp_path / "a").rglob("*.safetensors"):
        wcodec.compress(path)
        path.unlink()
    same(load_model(tmp_path / "a" / "unet", diffusers.UNet2DModel).state_dict(), unet.state_dict())
    half = load_model(tmp_path / "a" / "unet", diffusers.UNet2DModel, dtype=torch.bfloat16)
    assert half.dtype == torch.bfloat16
    made = load_pipeline(tmp_path / "a")
    assert type(made) is diffusers.DDPMPipeline
    same(made.unet.state_dict(), unet.state_dict())
    images = [
        p(
            num_inference_steps=2, output_type="np", generator=torch.Generator().manual_seed(3)
        ).images
        for p in (made, diffusers.DDPMPipeline(unet.eval(), scheduler))
    ]
    assert (images[0] == images[1]).all()
    index = tmp_path / "a" / "model_index.json"
    for text in ("[1]", "{", "[" * 100000):
        index.write_text(text)
        with pytest.raises(wcodec.CorruptError, match=r"model_index\.json"):
            load_pipeline(tmp_path / "a")
    with pytest.raises(wcodec.MissingFileError):
        load_pipeline(tmp_path / "none")
    with pytest.raises(wcodec.MissingFileError):
        load_model(tmp_path / "none", diffusers.UNet2DModel)
    (path,) = (tmp_path / "a" / "unet").glob("*.wcodec")
    state = ours.load_file(path)
    state.pop("conv_in.weight")
    ours.save_file(state, path)
    with pytest.raises(wcodec.MismatchError, match=r"conv_in\.weight"):
        load_model(tmp_path / "a" / "unet", diffusers.UNet2DModel)
