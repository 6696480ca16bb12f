# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files of other kinds, made by their own packages: their tensors are there, and they come back."""

import json
import os

import numpy as np
import pytest
import wcodec


def there_and_back(path, kind):
    """Compress, restore and compare; the opened file."""
    made = wcodec.compress(path)
    assert (made["kind"], made["note"]) == (kind, "")
    back = path.with_name("back")
    wcodec.decompress(made["output"], back, force=True)
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


def same_bytes(found, tensor):
    """Equal, whatever NumPy calls the type; of a tensor that is dense."""
    torch = pytest.importorskip("torch")
    expected = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    return found.tobytes() == expected.tobytes()


@pytest.fixture
def state():
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    weights = torch.randn(200, 300) * 0.02
    return {
        "layer.weight": weights,
        "half": weights.half(),
        "bfloat": weights.bfloat16(),
        "float8": weights.to(torch.float8_e4m3fn),
        "words": torch.arange(1000, dtype=torch.int32).to(torch.uint16),
        "double": torch.randn(30, dtype=torch.float64),
        "mask": weights > 0,
        "steps": torch.arange(1000),
        "number": torch.tensor(3.0),
        "none": torch.zeros(0, 4),
        "parameter": torch.nn.Parameter(torch.randn(7, 9)),
    }


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_torch(state, tmp_path, protocol):
    torch = pytest.importorskip("torch")
    saved = {"model": state, "optimizer": [{"lr": 0.1, "moment": torch.randn(50)}], "step": 5}
    torch.save(saved, tmp_path / "a.pt", pickle_protocol=protocol)
    with there_and_back(tmp_path / "a.pt", "pytorch") as f:
        assert set(f.keys()) == {"optimizer.0.moment", *(f"model.{name}" for name in state)}
        for name, tensor in state.items():
            found = f.get_slice(f"model.{name}")
            assert found.get_shape() == list(tensor.shape)
            assert same_bytes(f.get_tensor(f"model.{name}"), tensor), name
    with wcodec.safe_open(tmp_path / "a.pt.wcodec", framework="pt") as f:
        assert torch.equal(f.get_tensor("model.bfloat"), state["bfloat"])
        assert torch.equal(f.get_slice("model.half")[5:9], state["half"][5:9])
    loaded = torch.load(tmp_path / "back", weights_only=False)
    assert torch.equal(loaded["model"]["layer.weight"], state["layer.weight"])


def test_torch_views(tmp_path):
    """Tensors that share bytes, and ones whose dimensions are in another order."""
    torch = pytest.importorskip("torch")
    weights = torch.randn(40, 50)
    kernel = torch.randn(8, 4, 3, 3).contiguous(memory_format=torch.channels_last)
    saved = {
        "a": weights, "tied": weights, "rows": weights[3:7], "turned": torch.randn(5, 6).t(),
        "kernel": kernel, "repeated": torch.randn(1, 4).expand(3, 4),
        "flat": weights.view(-1),
    }  # fmt: skip
    torch.save(saved, tmp_path / "a.pt")
    made = wcodec.compress(tmp_path / "a.pt")
    assert (made["kind"], made["tensors"]) == ("pytorch", 4)
    assert made["note"].startswith("3 tensors are not listed")
    wcodec.decompress(made["output"], tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "a.pt").read_bytes()
    with wcodec.safe_open(made["output"], framework="pt") as f:
        metadata = f.metadata()
        assert metadata["pytorch.shared.tied"] == "a"
        assert metadata["pytorch.permuted.turned"] == "shape 6,5 strides 1,6"
        assert torch.equal(f.get_tensor("turned"), saved["turned"].t())
        assert torch.equal(f.get_tensor("kernel"), kernel.permute(0, 2, 3, 1))
        assert [name for name in f.keys() if name.startswith("data/")] == ["data/3"]  # noqa: SIM118


def test_torch_folder(tmp_path):
    """Shards with their index, as transformers wrote them before it wrote safetensors files."""
    torch = pytest.importorskip("torch")
    weights = {f"layer.{i}.weight": torch.randn(40, 50) for i in range(4)}
    names = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]
    folder, index = tmp_path / "model", "pytorch_model.bin.index.json"
    folder.mkdir()
    where = {name: names[i // 2] for i, name in enumerate(weights)}
    for shard in names:
        held = {name: tensor for name, tensor in weights.items() if where[name] == shard}
        torch.save(held, folder / shard)
    torch.save({"lr": 0.1}, folder / "training_args.bin")
    (folder / index).write_text(json.dumps({"metadata": {}, "weight_map": where}))
    made = wcodec.compress(folder)
    assert [file["kind"] for file in made["files"]] == ["pytorch"] * 2
    assert sorted(os.path.basename(path) for path in made["copied"]) == [index, "training_args.bin"]
    coded = tmp_path / "model.wcodec"
    pytest.importorskip("wcodec.torch")
    for path in (coded, coded / index):
        loaded = wcodec.torch.load_file(path)
        assert set(loaded) == set(weights)
        assert all(torch.equal(loaded[name], tensor) for name, tensor in weights.items())
    wcodec.decompress(coded, tmp_path / "back")
    for name in [*names, index, "training_args.bin"]:
        assert (tmp_path / "back" / name).read_bytes() == (folder / name).read_bytes()
    with pytest.raises(wcodec.MissingFileError, match="compressed"):
        wcodec.safe_open(folder / index, framework="pt")
    (coded / (names[1] + ".wcodec")).unlink()
    with pytest.raises(wcodec.MissingFileError, match=names[1]):
        wcodec.torch.load_file(coded)
    with pytest.raises(wcodec.MissingFileError, match=names[1]):
        wcodec.decompress(coded, tmp_path / "part")


def test_torch_whole_module(tmp_path):
    """A module that was pickled whole: its class is never looked for."""
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.LayerNorm(40))
    torch.save(module, tmp_path / "a.pt")
    with there_and_back(tmp_path / "a.pt", "pytorch") as f:
        found = {name.rsplit(".", 1)[-1]: name for name in f.keys()}  # noqa: SIM118
        assert set(found) == {"weight", "bias"} and len(f.keys()) == 4
    torch.save(torch.randn(100, 3), tmp_path / "one.pt")
    with there_and_back(tmp_path / "one.pt", "pytorch") as f:
        assert list(f.keys()) == ["tensor"]


def test_torch_of_before_1_6(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.randn(5)}, tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    made = wcodec.compress(tmp_path / "a.pt")
    assert made["kind"] == "opaque"
    assert "before version 1.6" in made["note"]


def test_torch_executes_nothing(tmp_path):
    torch = pytest.importorskip("torch")

    class Hostile:
        def __reduce__(self):
            return (open, (str(tmp_path / "executed"), "w"))

    torch.save({"a": Hostile(), "b": torch.randn(50)}, tmp_path / "a.pt")
    with there_and_back(tmp_path / "a.pt", "pytorch") as f:
        assert list(f.keys()) == ["b"]
    assert not (tmp_path / "executed").exists()


def test_gguf(tmp_path):
    gguf = pytest.importorskip("gguf")
    types = gguf.GGMLQuantizationType
    weights = (np.random.default_rng(1).standard_normal((64, 512)) * 0.02).astype(np.float32)
    tensors = {"f32": (weights, None), "f16": (weights.astype(np.float16), None)}
    tensors["i8"] = (np.arange(-5, 30, dtype=np.int8).reshape(5, 7), None)
    for kind in (types.BF16, types.Q8_0, types.Q4_0, types.Q5_1, types.TQ2_0):
        tensors[kind.name] = (gguf.quants.quantize(weights, kind), kind)
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_description("a test")
    writer.add_float32("rate", 0.5)
    writer.add_token_list([f"token {i}" for i in range(5000)])
    for name, (array, kind) in tensors.items():
        writer.add_tensor(name, array, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with there_and_back(tmp_path / "a.gguf", "gguf") as f:
        assert set(f.keys()) == set(tensors)
        for name, (array, kind) in tensors.items():
            found = f.get_tensor(name)
            assert found.tobytes() == array.tobytes(), name
            if kind is not None and kind is not types.BF16:
                assert f.metadata()[f"gguf.type.{name}"] == kind.name
                np.testing.assert_array_equal(
                    gguf.quants.dequantize(found, kind), gguf.quants.dequantize(array, kind)
                )
        assert f.metadata()["general.architecture"] == "llama"
        assert f.get_slice("Q8_0").get_shape() == [64, 512 // 32 * 34]


def test_gguf_types(tmp_path):
    """Bytes of a row of each type, as the reference has them."""
    gguf = pytest.importorskip("gguf")
    for kind, (elements, size) in gguf.GGML_QUANT_SIZES.items():
        if kind is gguf.GGMLQuantizationType.Q8_1:  # never in files; two sizes are about
            continue
        head = b"GGUF" + np.array([3], "<u4").tobytes() + np.array([1, 0], "<u8").tobytes()
        head += np.array([1], "<u8").tobytes() + b"t" + np.array([2], "<u4").tobytes()
        head += np.array([2 * elements, 3], "<u8").tobytes()
        head += np.array([kind], "<u4").tobytes() + np.array([0], "<u8").tobytes()
        path = tmp_path / f"{kind.name}.gguf"
        path.write_bytes(head + bytes(-len(head) % 32) + bytes(range(6)) * size)
        with there_and_back(path, "gguf") as f:
            assert len(f.get_tensor("t").tobytes()) == 6 * size, kind.name


def onnx_model(onnx, arrays):
    """A model with these initialisers, a constant, and a graph with one of its own in a node."""
    from onnx import TensorProto, helper, numpy_helper

    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    for kind, size in (("BFLOAT16", 2), ("FLOAT8E4M3FN", 1), ("FLOAT8E8M0", 1)):
        data = np.random.default_rng(2).integers(0, 256, 600 * size, np.uint8).tobytes()
        tensors.append(
            helper.make_tensor(kind, getattr(TensorProto, kind), [20, 30], data, raw=True)
        )
    tensors.append(helper.make_tensor("INT4", TensorProto.INT4, [3, 5], range(-8, 7), raw=False))
    tensors.append(helper.make_tensor("odd", TensorProto.UINT4, [3, 5], b"12345678", raw=True))
    tensors.append(helper.make_tensor("floats", TensorProto.FLOAT, [4], [1.0, 2.0, 3.0, 4.0]))
    tensors.append(helper.make_tensor("longs", TensorProto.INT64, [2], [1, -1]))
    tensors.append(helper.make_tensor("texts", TensorProto.STRING, [1], [b"text"]))
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    inner = numpy_helper.from_array(np.arange(10, dtype=np.float32), "layer.weight")
    identity = helper.make_node("Identity", ["layer.weight"], ["y"])
    branch = helper.make_graph([identity], "branch", [], [output], [inner])
    unnamed = numpy_helper.from_array(np.arange(7, dtype=np.float64))
    constant = helper.make_node("Constant", [], ["constant"], value=unnamed)
    choice = helper.make_node("If", ["mask"], ["z"], then_branch=branch, else_branch=branch)
    graph = helper.make_graph([constant, choice], "graph", [], [output], tensors)
    return helper.make_model(graph, producer_name="test")


def test_onnx_folder(arrays, tmp_path):
    """As compress -r does it: the model and its external data, by whatever name."""
    onnx = pytest.importorskip("onnx")
    folder = tmp_path / "model"
    folder.mkdir()
    for location in ("weights.data", "weights.safetensors"):
        model = onnx_model(onnx, arrays)
        path = folder / f"{location}.onnx"
        onnx.save(model, path, save_as_external_data=True, location=location, size_threshold=0)
    (folder / "config.json").write_text("{}")
    made = wcodec.compress(folder)
    assert [file["kind"] for file in made["files"]] == ["onnxdata", "onnx", "onnxdata", "onnx"]
    assert made["copied"] == [str(tmp_path / "model.wcodec" / "config.json")]
    wcodec.decompress(made["output"], tmp_path / "back")
    for file in folder.iterdir():
        assert (tmp_path / "back" / file.name).read_bytes() == file.read_bytes()
    opaque = wcodec.compress(folder, tmp_path / "opaque", raw=True)
    assert {file["kind"] for file in opaque["files"]} == {"opaque"}


def test_onnx(arrays, tmp_path):
    onnx = pytest.importorskip("onnx")
    model = onnx_model(onnx, arrays)
    onnx.save(model, tmp_path / "a.onnx")
    made = wcodec.compress(tmp_path / "a.onnx")
    assert made["kind"] == "onnx"
    assert made["note"].startswith('3 of 19 tensors are not listed: "INT4" is stored as numbers')
    wcodec.decompress(made["output"], tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "a.onnx").read_bytes()
    with wcodec.safe_open(made["output"], framework="np") as f:
        others = {"constant.value", "layer.weight.2", "layer.weight.3", "floats", "odd"}
        others |= {"BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E8M0"}
        assert set(f.keys()) == {*arrays, *others}
        stored = {t.name: t for t in model.graph.initializer}
        # The branches come before the initialisers of the graph around them.
        names = {"layer.weight": "layer.weight.3"}
        for name, array in arrays.items():
            found = f.get_tensor(names.get(name, name))
            assert found.tobytes() == array.tobytes(), name
            assert f.get_slice(names.get(name, name)).get_shape() == list(array.shape)
        for name in ("BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E8M0", "odd"):
            assert f.get_tensor(name).tobytes() == stored[name].raw_data
        np.testing.assert_array_equal(f.get_tensor("layer.weight"), np.arange(10, dtype="f4"))
        np.testing.assert_array_equal(f.get_tensor("constant.value"), np.arange(7, dtype="f8"))
        np.testing.assert_array_equal(f.get_tensor("floats"), np.array([1, 2, 3, 4], "f4"))
        np.testing.assert_array_equal(
            f.get_slice("layer.weight.3")[3:9], arrays["layer.weight"][3:9]
        )
        assert f.metadata()["onnx.type.odd"] == "UINT4 3,5"
        assert f.metadata()["onnx.producer_name"] == "test"
