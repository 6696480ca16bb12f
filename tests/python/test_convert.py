# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""`wcodec convert` on files that their own packages made: what safetensors reads of it."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import wcodec
from conftest import TOP

safetensors = pytest.importorskip("safetensors.numpy")


def command():
    """The command beside the library under test; else that of a build of the tree."""
    library = os.environ.get("WCODEC_LIBRARY", "")
    for folder in (Path(library).parent.parent, TOP / "build" / "check-gcc"):
        if (folder / "wcodec").exists():
            return str(folder / "wcodec")
    pytest.skip("there is no command wcodec beside the library")


def convert(path, *options):
    """Convert a file, and its .wcodec file, to the same; that file, and its metadata."""
    made = path.with_name("made.safetensors")
    for source in (path, Path(wcodec.compress(path, level=1, force=True)["output"])):
        before = made.read_bytes() if source != path else None
        arguments = [command(), "convert", "-qqf", *options, "-o", str(made), str(source)]
        subprocess.run(arguments, check=True)
        assert before is None or made.read_bytes() == before
    with wcodec.safe_open(made, framework="np") as f:
        return made, f.metadata()


TYPES = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"]


def random_blocks(gguf, kind, rng):
    """Any bytes, with scales that are numbers: half floats stand at these bytes of a block."""
    halves = {"Q2_K": (80, 82), "Q3_K": (108,), "Q6_K": (208,), "Q4_0": (0,), "Q5_0": (0,)}
    halves |= {"Q8_0": (0,)}
    size = gguf.GGML_QUANT_SIZES[kind][1]
    rows = rng.integers(0, 256, (64, 5 * size), np.uint8)
    blocks = rows.reshape(-1, size)
    for at in halves.get(kind.name, (0, 2)):
        scales = (rng.standard_normal(len(blocks)) * 0.01).astype("<f2")
        scales[:3] = [0, 6e-8, -6e4]
        blocks[:, at : at + 2] = scales.view(np.uint8).reshape(-1, 2)
    return rows


@pytest.fixture
def quantised(tmp_path):
    gguf = pytest.importorskip("gguf")
    rng = np.random.default_rng(3)
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    rows = {}
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        rows[name] = random_blocks(gguf, kind, rng)
        writer.add_tensor(name, rows[name], raw_dtype=kind)
    rows["plain"] = rng.standard_normal((30, 40)).astype(np.float32)
    writer.add_tensor("plain", rows["plain"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return rows


def test_blocks_as_bytes(quantised, tmp_path):
    made, metadata = convert(tmp_path / "a.gguf")
    tensors = safetensors.load_file(made)
    assert set(tensors) == set(quantised)
    for name, rows in quantised.items():
        np.testing.assert_array_equal(tensors[name], rows, strict=True)
    assert all(metadata[f"gguf.type.{name}"] == name for name in TYPES)
    assert (metadata["format"], metadata["general.architecture"]) == ("pt", "llama")


@pytest.mark.parametrize("wanted", ["f32", "f16", "bf16"])
def test_blocks_as_numbers(quantised, tmp_path, wanted):
    """The same numbers as the reference, bit for bit."""
    gguf = pytest.importorskip("gguf")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[wanted]
    made, metadata = convert(tmp_path / "a.gguf", f"--dequantize={wanted}")
    tensors = safetensors.load_file(made)
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        numbers = gguf.quants.dequantize(quantised[name], kind)
        with np.errstate(over="ignore"):
            expected = numbers.astype(dtype)
        assert tensors[name].shape == numbers.shape
        assert tensors[name].tobytes() == expected.tobytes(), name
    np.testing.assert_array_equal(tensors["plain"], quantised["plain"], strict=True)
    assert not any(key.startswith("gguf.type") for key in metadata)


def test_numpy(tmp_path):
    rng = np.random.default_rng(4)
    arrays = {
        "matrix": rng.standard_normal((30, 50)).astype(np.float32),
        "mask": rng.random(7) > 0.5,
        "words": rng.integers(0, 9, (3, 4, 5), np.uint16),
        "number": np.float64(2.5),
        "none": np.zeros((0, 3), np.int8),
    }
    turned = {f"f_{name}": np.asfortranarray(a) for name, a in arrays.items() if np.ndim(a) > 1}
    np.savez(tmp_path / "a.npz", **arrays, **turned)
    made, metadata = convert(tmp_path / "a.npz")
    tensors = safetensors.load_file(made)
    assert set(tensors) == {*arrays, *turned}
    for name, array in {**arrays, **turned}.items():
        np.testing.assert_array_equal(tensors[name], array)
    assert metadata == {"format": "pt"}


def test_torch(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    weights = torch.randn(40, 50)
    state = {
        "a": weights, "tied": weights, "tied.turned": weights.t(), "turned": torch.randn(5, 6).t(),
        "kernel": torch.randn(8, 4, 3, 3).contiguous(memory_format=torch.channels_last),
        "half": torch.randn(9).bfloat16(), "float8": torch.randn(3).to(torch.float8_e4m3fn),
    }  # fmt: skip
    torch.save(state, tmp_path / "a.pt")
    loaded = load_file(convert(tmp_path / "a.pt")[0])
    assert set(loaded) == set(state)
    for name, tensor in state.items():
        assert loaded[name].dtype == tensor.dtype and loaded[name].shape == tensor.shape
        assert torch.equal(loaded[name].float(), tensor.float()), name


@pytest.mark.parametrize("apart", [False, True])
def test_onnx_with_external_data(tmp_path, apart):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(5)
    arrays = {f"w{i}": rng.standard_normal((200, 30 + i)).astype("f4") for i in range(5)}
    arrays["small"] = np.arange(3, dtype=np.int64)
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    folder, mirror = tmp_path / "model", tmp_path / "model.wcodec"
    folder.mkdir()
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w0"], ["y"])], "g", [], [output], tensors
    )
    onnx.save(
        helper.make_model(graph), folder / "a.onnx", save_as_external_data=True,
        all_tensors_to_one_file=not apart, location=None if apart else "a.onnx_data",
        size_threshold=1024,
    )  # fmt: skip
    made = tmp_path / "made.safetensors"
    subprocess.run([command(), "convert", "-qq", "-o", made, folder / "a.onnx"], check=True)
    loaded = safetensors.load_file(made)
    made.unlink()
    subprocess.run([command(), "compress", "-q", "-o", mirror, folder], check=True)
    assert not list(mirror.glob("w*[0-9]")) and not (mirror / "a.onnx_data").exists()
    arguments = [command(), "convert", "-qq", "-o", made, mirror / "a.onnx.wcodec"]
    subprocess.run(arguments, check=True)
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array, strict=True)
        np.testing.assert_array_equal(safetensors.load_file(made)[name], array, strict=True)
    if not apart:
        made = wcodec.compress(
            folder / "a.onnx_data", tmp_path / "one.wcodec", onnx_model=folder / "a.onnx"
        )
        assert (made["kind"], made["tensors"]) == ("onnxdata", 5)
        with wcodec.safe_open(tmp_path / "one.wcodec", framework="np") as f:
            np.testing.assert_array_equal(f.get_slice("w2")[3:5], arrays["w2"][3:5])
        found = wcodec.info(mirror / "a.onnx_data.wcodec")["files"][0]
        assert (found["kind"], found["tensor_count"]) == ("onnxdata", 5)
