# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""torch: on the CPU, and the same on a CUDA device where there is one."""

import logging
import os

import pytest
from conftest import BITS, run, safetensors_bytes

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

import wcodec  # noqa: E402
from wcodec.torch import (  # noqa: E402
    Framework,
    Shard,
    load,
    load_file,
    load_model,
    save,
    save_file,
    save_model,
)

CUDA = torch.cuda.is_available()
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not CUDA, reason="no CUDA device"))]

FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
SMALL = [torch.float8_e4m3fn, torch.float8_e5m2]
OTHERS = [
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.complex64,
]


def tensors():
    generator = torch.Generator().manual_seed(1)
    made = {}
    for dtype in FLOATS + SMALL + OTHERS:
        values = torch.randn(40, 96, generator=generator) * 3
        made[f"{dtype}".removeprefix("torch.")] = values.to(dtype)
    made["scalar"] = torch.tensor(2.5)
    made["empty"] = torch.zeros(0, 5, dtype=torch.bfloat16)
    made["large"] = (torch.randn(700, 1024, generator=generator) / 50).bfloat16()
    return made


def equal(a, b):
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and torch.equal(
            a.contiguous().flatten().view(torch.uint8).cpu() if a.numel() else a.new_empty(0).cpu(),
            b.contiguous().flatten().view(torch.uint8).cpu() if b.numel() else b.new_empty(0).cpu(),
        )
    )


@pytest.fixture(params=["m.wcodec", "m.safetensors"])
def path(request, tmp_path):
    save_file(tensors(), tmp_path / request.param, {"format": "pt"})
    return tmp_path / request.param


@pytest.mark.parametrize("device", DEVICES)
def test_there_and_back(path, device):
    loaded = load_file(path, device=device)
    assert set(loaded) == set(tensors())
    for name, tensor in tensors().items():
        assert loaded[name].device.type == device
        assert equal(loaded[name], tensor), name
    loaded["large"].zero_()
    assert equal(load_file(path, names=["large"])["large"], tensors()["large"])


@pytest.mark.parametrize("device", DEVICES)
def test_slices(path, device):
    whole = tensors()
    wanted = (
        np.s_[3], np.s_[-1], np.s_[2:9], np.s_[::3], np.s_[::-2], np.s_[:, 5:7], np.s_[1:4, -1],
        np.s_[..., 0], np.s_[[3, 1, 1]], np.s_[:, ::-1], np.s_[5:5], np.s_[()], np.s_[...],
    )  # fmt: skip
    with wcodec.safe_open(path, "pt", device) as f:
        for name in ("bfloat16", "float32", "int8", "large"):
            for where in wanted:
                expected = torch.from_numpy(whole[name].float().numpy()[where].copy())
                part = f.get_slice(name)[where]
                assert part.device.type == device
                assert torch.equal(part.float().cpu(), expected), (name, where)
                assert part.dtype == whole[name].dtype
        assert f.get_slice("scalar")[()].item() == 2.5


def test_names_of_devices(path):
    for device in ("cpu", torch.device("cpu"), None):
        assert load_file(path, device)["scalar"].device.type == "cpu"
    assert load_file(path, "meta")["large"].is_meta
    with pytest.raises(wcodec.UsageError, match="device is 'mars'"):
        load_file(path, "mars")


def test_a_device_map(path):
    wanted = {"": "cpu", "large": "meta", "bfloat": "meta"}
    loaded = load_file(path, device_map=wanted)
    assert loaded["large"].is_meta
    assert not loaded["bfloat16"].is_meta  # prefixes are whole components
    assert not loaded["scalar"].is_meta
    save_file({"a.b.c": torch.ones(2), "a.b": torch.ones(1), "a": torch.ones(1)}, path)
    loaded = load_file(path, device_map={"a.b": "meta"})
    assert [loaded[name].is_meta for name in ("a.b.c", "a.b", "a")] == [True, True, False]


@pytest.mark.parametrize("device", DEVICES)
def test_shards(path, device):
    whole = tensors()
    for world in (1, 2, 3, 7, 50):
        for rank in (0, 1, world - 1):
            if rank >= world:
                continue
            shard = Shard(rank, world, {"large": 0, "bf*": 1, "float32": -1})
            loaded = load_file(path, device, shard=shard)
            for name, dimension in (("large", 0), ("bfloat16", 1), ("float32", 1)):
                chunks = whole[name].chunk(world, dimension)
                shape = list(whole[name].shape)
                shape[dimension] = 0
                expected = chunks[rank] if rank < len(chunks) else whole[name].new_empty(shape)
                assert equal(loaded[name], expected), (name, rank, world)
                assert loaded[name].is_contiguous()
                assert loaded[name].untyped_storage().nbytes() == loaded[name].nbytes
            assert equal(loaded["int8"], whole["int8"])
    with pytest.raises(wcodec.UsageError, match="rank is 2 of 2"):
        load_file(path, shard=Shard(2, 2, {"large": 0}))
    with pytest.raises(wcodec.UsageError, match="'large' has no dimension 2"):
        load_file(path, shard=Shard(0, 2, {"large": 2}))


def test_few_whole_tensors_are_held_while_parts_are_cut(path, monkeypatch):
    """Columns are cut from whole tensors, of which only so many are decoded at once."""
    counts, load = [], Framework.load

    def counted(self, reader, requests, progress=None):
        counts.append(len(requests))
        return load(self, reader, requests, progress)

    monkeypatch.setattr(Framework, "load", counted)
    monkeypatch.setattr(wcodec.torch, "_CUT_AT_ONCE", 40 * 96 * 6)
    shard = Shard(1, 2, {"large": 1, "float32": 1, "bfloat16": 1, "int8": 1, "float64": 0})
    loaded, whole = load_file(path, shard=shard), tensors()
    assert sum(counts) == len(whole)
    assert counts[0] == len(whole) - 4
    assert len(counts) == 4
    for name in ("large", "float32", "bfloat16", "int8"):
        assert equal(loaded[name], whole[name].chunk(2, 1)[1])


@pytest.mark.filterwarnings("ignore:torch has no type")
def test_every_type_of_the_format(tmp_path):
    import math

    given = {}
    for dtype, bits in BITS.items():
        for shape in ((16,), (4, 8), (2, 0)):
            size = math.prod(shape) * bits // 8
            given[f"{dtype}{shape}"] = (dtype, shape, bytes(i % 2 for i in range(size)))
    path = tmp_path / "m.safetensors"
    path.write_bytes(safetensors_bytes(given))
    wcodec.compress(path)
    for name in (path, f"{path}.wcodec"):
        loaded = load_file(name)
        for key, (dtype, shape, data) in given.items():
            tensor = loaded[key]
            raw = tensor.flatten().view(torch.uint8) if tensor.numel() else tensor
            assert bytes(raw.tolist() if tensor.numel() else b"") == data, key
            if BITS[dtype] >= 8 and tensor.dtype != torch.uint8:
                assert tuple(tensor.shape) == shape
    assert loaded["F4(4, 8)"].shape == (4, 4)
    assert loaded["F4(4, 8)"].dtype == getattr(torch, "float4_e2m1fn_x2", torch.uint8)
    assert loaded["F6_E2M3(4, 8)"].dtype == torch.uint8


def test_pairs_of_four_bits_are_saved(tmp_path):
    kind = getattr(torch, "float4_e2m1fn_x2", None)
    if kind is None:
        pytest.skip("torch has no type of 4 bits")
    given = torch.arange(8, dtype=torch.uint8).reshape(2, 4).view(kind)
    loaded = load(save({"w": given}))["w"]
    assert loaded.dtype == kind
    assert torch.equal(loaded.view(torch.uint8), given.view(torch.uint8))
    with wcodec.safe_open(save({"w": given}), "pt") as f:
        assert f.get_slice("w").get_shape() == [2, 8]


def test_bytes():
    loaded = load(save(tensors(), {"a": "b"}))
    assert all(equal(loaded[name], tensor) for name, tensor in tensors().items())


def test_what_cannot_be_saved(tmp_path):
    base = torch.zeros(4, 6)
    for given, text in (
        ({"a": base.T}, "not contiguous"),
        ({"a": base.to_sparse()}, "sparse"),
        ({"a": base.to("meta")}, "meta"),
        ({"a": [1]}, "expected torch.Tensor"),
        ([base], "expected a dict"),
        ({"a": base.to(torch.complex128)}, "complex128"),
    ):
        with pytest.raises(ValueError, match=text):
            save_file(given, tmp_path / "m.wcodec")
    with pytest.raises(RuntimeError, match="share memory"):
        save({"a": base, "b": base})
    with pytest.raises(wcodec.SharedTensorsError):
        save({"a": base[:3], "b": base[2:]})
    assert len(load(save({"a": base[:2], "b": base[2:]}))) == 2
    assert os.listdir(tmp_path) == []


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(8, 8, bias=False)
        self.two = torch.nn.Linear(8, 8)
        self.two.weight = self.one.weight


@pytest.mark.parametrize("device", DEVICES)
def test_models_with_tied_weights(tmp_path, device):
    model, other = Tied().to(device), Tied().to(device)
    path = tmp_path / "m.wcodec"
    save_model(model, path)
    with wcodec.safe_open(path, "pt") as f:
        assert f.keys() == ["one.weight", "two.bias"]
        assert f.metadata() == {"two.weight": "one.weight"}
    assert load_model(other, path, device=device) == ([], [])
    assert torch.equal(other.two.weight, model.two.weight)
    save_file({"one.weight": torch.zeros(8, 8), "more": torch.zeros(1)}, path)
    with pytest.raises(RuntimeError, match=r"Missing.*two.bias(.|\n)*Unexpected.*more"):
        load_model(other, path)
    assert load_model(other, path, strict=False) == (["two.bias"], ["more"])
    assert not other.two.weight.any()


def test_models_saved_by_safetensors_and_back(tmp_path):
    theirs = pytest.importorskip("safetensors.torch")
    model, other = Tied(), Tied()
    theirs.save_model(model, tmp_path / "m.safetensors")
    assert load_model(other, tmp_path / "m.safetensors") == ([], [])
    save_model(model, tmp_path / "ours.safetensors")
    assert theirs.load_model(other, str(tmp_path / "ours.safetensors"))[1] == []
    ours, expected = (
        load_file(tmp_path / "m.safetensors"),
        theirs.load_file(tmp_path / "m.safetensors"),
    )
    assert ours.keys() == expected.keys()
    given = tensors()
    assert save_file(given, tmp_path / "a.safetensors") == theirs.save_file(given, tmp_path / "b")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b").read_bytes()


def test_training_goes_on(tmp_path):
    """torch.save-style: a loop that saves and resumes gives what one without a break gives."""

    def steps(model, optimizer, count):
        generator = torch.Generator().manual_seed(5)
        for _ in range(count):
            optimizer.zero_grad()
            model(torch.randn(4, 8, generator=generator)).square().sum().backward()
            optimizer.step()

    torch.manual_seed(0)
    model = torch.nn.Linear(8, 3)
    save_file(model.state_dict(), tmp_path / "0.wcodec")
    steps(model, torch.optim.SGD(model.parameters(), 0.01), 3)
    again = torch.nn.Linear(8, 3)
    again.load_state_dict(load_file(tmp_path / "0.wcodec"))
    steps(again, torch.optim.SGD(again.parameters(), 0.01), 3)
    assert torch.equal(model.weight, again.weight)


@pytest.mark.parametrize("device", DEVICES)
def test_loads_beside_the_caller(path, device):
    loading = wcodec.async_load(path, "pt", device)
    result = loading.wait()
    assert loading.progress()[0] == loading.progress()[1] > 0
    assert all(equal(result[name], tensor) for name, tensor in tensors().items())
    for _ in range(5):
        dropped = wcodec.async_load(path, "pt", device)
        dropped.cancel()


def test_loads_by_way_of_the_same_code_as_a_device(tmp_path):
    """The library's memory and queues of a backend, as for CUDA, by a plugin for tests whose memory
    is the host's."""
    folder = os.environ.get("WCODEC_FAKE_PATH")
    if not folder:
        pytest.skip("WCODEC_FAKE_PATH names no folder with the plugin wcodec_fake.so")
    save_file(tensors(), tmp_path / "m.wcodec")
    made = run(
        """
        import sys, torch, wcodec
        from wcodec._reader import Item
        from wcodec.torch import Framework, load_file
        from wcodec._frameworks import Request
        expected = load_file(sys.argv[1])
        with wcodec.Reader(sys.argv[1]) as reader:
            assert reader.on("fake")
            made = Framework("cpu")
            made._decodes_on_device = lambda reader: False
            requests = [Request(reader.tensor(i)) for i in range(len(expected))]
            arrays, items, _ = made._tensors(reader, requests)
            for where in ({"backend": "fake"}, {"backend": "fake", "memory": "fake"}):
                for array in arrays:
                    array.zero_()
                reader.load(items, **where)
                for info, array in zip(reader.tensors(), arrays):
                    assert torch.equal(
                        array.flatten().view(torch.uint8) if array.numel() else array,
                        expected[info.name].flatten().view(torch.uint8)
                        if array.numel() else expected[info.name])
                started = reader.start(items, arrays, **where)
                started.finish()
        print("done")
        """,
        tmp_path / "m.wcodec",
        WCODEC_BACKEND_PATH=folder,
    )
    assert made.stdout == "done\n"


def test_what_decodes_for_a_cuda_device(monkeypatch):
    """By backend= and WCODEC_BACKEND; the device itself, unless something else is named first."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("WCODEC_BACKEND", raising=False)
    first, second = torch.device("cuda", 0), torch.device("cuda", 1)
    for backend, on_first, on_second in (
        (None, "cuda:0", "cuda:1"),
        ("auto", "cuda:0", "cuda:1"),
        ("cuda", "cuda", "cuda:1"),
        ("cuda, cpu", "cuda", "cuda:1"),
        ("cpu", None, None),
        ("cpu,cuda", None, None),
        ("opencl:1", None, None),
    ):
        assert Framework(first, backend)._name == on_first
        assert Framework(second, backend)._name == on_second
        if backend:
            monkeypatch.setenv("WCODEC_BACKEND", backend)
            assert Framework(first)._name == on_first
            monkeypatch.delenv("WCODEC_BACKEND")
    monkeypatch.setenv("WCODEC_BACKEND", "cpu")
    assert Framework(second, "cuda:1")._name == "cuda:1"
    with pytest.raises(wcodec.UsageError, match="backend is 'cuda:0'"):
        Framework(second, "cuda:0")
    assert Framework("cpu", "cuda:0")._name is None


@pytest.mark.skipif(CUDA, reason="there is a CUDA device")
def test_without_a_gpu_its_name_is_an_error(path):
    for call in (
        lambda: load_file(path, "cuda"),
        lambda: load_file(path, device_map={"large": "cuda:1"}),
        lambda: load(path.read_bytes(), "cuda"),
        lambda: wcodec.safe_open(path, "pt", "cuda:0"),
        lambda: wcodec.load_wcodec_checkpoint(path, "cuda"),
        lambda: wcodec.async_load(path, "pt", "cuda"),
    ):
        with pytest.raises(wcodec.BackendError, match="torch finds no CUDA device"):
            call()


@pytest.mark.skipif(CUDA, reason="there is a CUDA device")
def test_without_a_gpu_the_decoder_says_why(path, caplog):
    with caplog.at_level(logging.WARNING, "wcodec"):
        decoder = wcodec.GPUDecoder(path)
    assert decoder.reason == "torch finds no CUDA device"
    assert "decoding on the CPU" in caplog.text
    assert str(decoder.device) == "cpu"
    assert equal(decoder.decode_layer("large"), tensors()["large"])
    caplog.clear()
    assert wcodec.GPUDecoder(path, use_gpu=False).reason == "use_gpu is False"
    assert not caplog.text


@pytest.mark.skipif(not CUDA, reason="no CUDA device")
class TestCuda:
    """What only a device shows."""

    def test_the_device_decodes(self, tmp_path):
        save_file(tensors(), tmp_path / "m.wcodec")
        with wcodec.Reader(tmp_path / "m.wcodec") as reader:
            assert Framework("cuda")._decodes_on_device(reader)
        decoder = wcodec.GPUDecoder(tmp_path / "m.wcodec")
        assert decoder.reason is None
        assert decoder.decode_layer("large").is_cuda

    def test_the_current_stream_is_kept(self, tmp_path):
        """Memory that a stream still writes to when torch gives it out again."""
        save_file(tensors(), tmp_path / "m.wcodec")
        expected = tensors()["large"]
        stream = torch.cuda.Stream()
        for _ in range(20):
            with torch.cuda.stream(stream):
                busy = torch.empty(700, 1024, dtype=torch.bfloat16, device="cuda")
                torch.cuda._sleep(2_000_000)
                busy.fill_(7)
                del busy
                loaded = load_file(tmp_path / "m.wcodec", "cuda", names=["large"])["large"]
                doubled = loaded * 2
            stream.synchronize()
            assert equal(loaded, expected)
            assert torch.equal(doubled.cpu(), expected * 2)

    def test_threads(self, tmp_path):
        from concurrent.futures import ThreadPoolExecutor

        save_file(tensors(), tmp_path / "m.wcodec")
        with (
            wcodec.safe_open(tmp_path / "m.wcodec", "pt", "cuda") as f,
            ThreadPoolExecutor(4) as pool,
        ):
            for _ in range(10):
                names = list(tensors())
                for name, tensor in zip(names, pool.map(f.get_tensor, names)):
                    assert equal(tensor, tensors()[name])

    def test_a_damaged_file(self, tmp_path):
        path = tmp_path / "m.wcodec"
        save_file(tensors(), path)
        data = bytearray(path.read_bytes())
        data[len(data) // 3] ^= 1
        path.write_bytes(data)
        with pytest.raises(wcodec.CorruptError) as caught:
            load_file(path, "cuda")
        assert caught.value.tensor
        assert torch.ones(5, device="cuda").sum().item() == 5


def test_saves_beside_the_caller(tmp_path):
    given = {"w": torch.randn(700, 900), "tied": torch.zeros(0), "b": torch.arange(9)}
    given["again"] = given["w"].clone()
    path, other = tmp_path / "a.wcodec", tmp_path / "b.wcodec"
    saving = wcodec.torch.async_save_file(given, path, {"format": "pt"}, level=2)
    saving.wait()
    assert saving.done() and saving.progress()[0] == saving.progress()[1] > 0
    assert str(path) in repr(saving)
    wcodec.torch.save_file(given, other, {"format": "pt"}, level=2)
    assert path.read_bytes() == other.read_bytes()
    assert path.read_bytes() == wcodec.torch.save(given, {"format": "pt"}, level=2)
    # What it restores to compresses to the same bytes; equal tensors are stored once.
    wcodec.decompress(path, tmp_path / "plain.safetensors")
    wcodec.compress(tmp_path / "plain.safetensors", tmp_path / "c.wcodec", level=2)
    assert path.read_bytes() == (tmp_path / "c.wcodec").read_bytes()
    assert os.path.getsize(path) < given["w"].nbytes * 1.1
    loaded = load_file(path)
    assert all(torch.equal(loaded[name], tensor) for name, tensor in given.items())


def test_saves_beside_the_caller_fail_as_others(tmp_path):
    given = {"w": torch.randn(3000, 1000)}
    with pytest.raises(wcodec.MissingFileError):
        wcodec.torch.async_save_file(given, tmp_path / "none" / "a.wcodec")
    with pytest.raises(wcodec.UsageError):
        wcodec.torch.async_save_file(given, tmp_path / "a.safetensors")
    with pytest.raises(wcodec.UsageError):
        wcodec.torch.async_save_file(given, tmp_path / "a.wcodec", level=10)
    path = tmp_path / "a.wcodec"
    path.write_bytes(b"old")
    saving = wcodec.torch.async_save_file(given, path, level=9)
    saving.cancel()
    try:
        saving.wait()
    except wcodec.CancelledError:
        assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.wcodec"]
    with pytest.raises(TimeoutError):
        wcodec.torch.async_save_file(given, path, level=9).wait(0)
    for write in (wcodec.torch.save_file, wcodec.torch.async_save_file):
        with pytest.raises(wcodec.UsageError):
            write(given, f"{path}\0b.wcodec")


def test_a_save_that_nobody_waits_for(tmp_path):
    (tmp_path / "folder").mkdir()
    program = """
        import sys, torch, wcodec.torch
        given = {"w": torch.randn(2000, 1000)}
        wcodec.torch.async_save_file(given, sys.argv[1] + "/dropped.wcodec", level=9)
        kept = wcodec.torch.async_save_file(given, sys.argv[1] + "/kept.wcodec", level=9)
        lost = wcodec.torch.async_save_file(given, sys.argv[1] + "/folder", level=9)
    """
    ran = run(program, tmp_path)
    assert f"{tmp_path / 'folder'} was not saved" in ran.stderr
    for name in ("dropped", "kept"):
        assert load_file(tmp_path / f"{name}.wcodec")["w"].shape == (2000, 1000)
