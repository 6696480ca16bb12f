# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""torch on a CUDA device: what only a device shows. See cuda_support.py."""

import gc
import math
import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import BITS, safetensors_bytes

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

import wcodec  # noqa: E402
from cuda_support import (  # noqa: E402
    CUDA,
    DEVICE,
    equal,
    large,
    marks,
    on_cuda,
    raw,
    two_devices,
)
from wcodec.torch import Framework, Shard, load, load_file, save, save_file  # noqa: E402

pytestmark = marks
DAMAGE = (wcodec.CorruptError, wcodec.NewerFormatError, wcodec.LimitError)


@pytest.fixture(params=["m.wcodec", "m.safetensors"])
def path(request, tmp_path):
    save_file(large(3, 300), tmp_path / request.param)
    return tmp_path / request.param


def test_every_type_is_what_the_cpu_gives(tmp_path):
    rng, given = random.Random(1), {}
    for dtype, bits in BITS.items():
        for shape in ((), (16,), (40, 72), (3, 0), (1, 5, 8)):
            size = math.prod(shape) * bits // 8
            if math.prod(shape) * bits % 8:
                continue
            content = bytes(i % 2 for i in range(size)) if dtype == "BOOL" else rng.randbytes(size)
            given[f"{dtype}{shape}"] = (dtype, shape, content)
    path = tmp_path / "m.safetensors"
    path.write_bytes(safetensors_bytes(given))
    wcodec.compress(path)
    for name in (path, f"{path}.wcodec"):
        loaded = load_file(name, device=DEVICE)
        assert all(tensor.device.type == DEVICE.type for tensor in loaded.values())
        equal(loaded, load_file(name))
        with wcodec.safe_open(name, "pt", DEVICE) as f:
            equal({key: f.get_tensor(key) for key in f.keys()}, load_file(name))  # noqa: SIM118
    for key, (_, _, content) in given.items():
        assert raw(loaded[key]) == content


def test_random_bytes_and_lossy_tensors(tmp_path):
    """Tensors that are stored as they are, that repeat, and that were approximated."""
    generator = torch.Generator().manual_seed(2)
    made = {
        "noise": torch.randint(0, 256, (1 << 20,), generator=generator, dtype=torch.uint8),
        "zeros": torch.zeros(1 << 20, dtype=torch.bfloat16),
        "sparse": torch.randn(1 << 20, generator=generator)
        * (torch.rand(1 << 20, generator=generator) > 0.9),
        "text": torch.frombuffer(bytearray(b"all work and no play " * 9999), dtype=torch.uint8),
    }
    for options in ({}, {"level": 9}, {"tune": "latency"}, {"lossy": "snr:40"}):
        save_file(made, tmp_path / "m.wcodec", **options)
        equal(load_file(tmp_path / "m.wcodec", DEVICE), load_file(tmp_path / "m.wcodec"))


@on_cuda
def test_names_of_devices(path):
    first = torch.device("cuda", torch.cuda.current_device())
    expected = load_file(path)
    for name in ("cuda", f"cuda:{first.index}", first, torch.device("cuda"), first.index):
        loaded = load_file(path, name)
        assert {tensor.device for tensor in loaded.values()} == {first}
        equal(loaded, expected)
        with wcodec.safe_open(path, "pt", device=name) as f:
            assert f.get_tensor("layers.0.weight").device == first
        assert wcodec.load_wcodec_checkpoint(path, name)["layers.0.weight"].device == first
        assert load(path.read_bytes(), name)["layers.0.weight"].device == first
    with pytest.raises(wcodec.BackendError, match=r"cuda:77.*torch finds"):
        load_file(path, "cuda:77")
    with pytest.raises(wcodec.UsageError):
        load_file(path, "cuda:-3")


@two_devices
@on_cuda
def test_two_devices(path):
    expected = load_file(path)
    equal(load_file(path, "cuda:1"), expected)
    loaded = load_file(path, device_map={"": 0, "layers.1": "cuda:1"})
    assert [loaded[f"layers.{i}.weight"].device.index for i in range(3)] == [0, 1, 0]
    equal(loaded, expected)
    with torch.cuda.device(1):
        assert load_file(path, "cuda")["layers.0.weight"].device.index == 1


@pytest.mark.parametrize("where", [DEVICE.type, f"{DEVICE.type}:0"])
def test_a_device_map(path, where):
    loaded = load_file(path, device_map={"": "cpu", "layers.1": where, "layers.2": "meta"})
    assert [loaded[f"layers.{i}.weight"].device.type for i in range(3)] == [
        "cpu",
        DEVICE.type,
        "meta",
    ]
    expected = load_file(path)
    for i in range(2):
        assert raw(loaded[f"layers.{i}.weight"]) == raw(expected[f"layers.{i}.weight"])


def test_rows_and_columns(large_file):
    whole = large()["layers.1.weight"]
    with wcodec.safe_open(large_file, "pt", DEVICE) as f:
        part = f.get_slice("layers.1.weight")
        for key in (
            np.s_[0:8],
            np.s_[2000:],
            np.s_[7],
            np.s_[:, 512:1024],
            np.s_[100:900:3, -5:],
            np.s_[::-1],
            np.s_[[5, 0, 5]],
            np.s_[..., 3],
        ):
            expected = torch.from_numpy(whole.float().numpy()[key].copy()).bfloat16()
            assert part[key].device.type == DEVICE.type
            assert raw(part[key]) == raw(expected), key
    for world in (2, 3):
        for rank in range(world):
            cut = {"layers.0.*": 0, "layers.1.*": 1}
            loaded = load_file(large_file, DEVICE, shard=Shard(rank, world, cut))
            for i in range(2):
                expected = large()[f"layers.{i}.weight"].chunk(world, i)[rank]
                assert raw(loaded[f"layers.{i}.weight"]) == raw(expected)


@on_cuda
def test_the_device_decodes(large_file, caplog):
    with wcodec.Reader(large_file) as reader:
        assert Framework("cuda")._decodes_on_device(reader)
    load_file(large_file, "cuda")
    assert "decoding on the CPU" not in caplog.text


@on_cuda
def test_work_of_the_current_stream_comes_first(large_file):
    """Memory that a stream still writes to when torch gives it out again is not decoded to before
    that has ended; and what is loaded is there for every stream."""
    expected, side, other = large(), torch.cuda.Stream(), torch.cuda.Stream()
    for turn in range(12):
        with torch.cuda.stream(side):
            busy = [torch.empty(2048, 2048, dtype=torch.bfloat16, device="cuda") for _ in range(8)]
            torch.cuda._sleep(20_000_000)
            for tensor in busy:
                tensor.fill_(7)
            del busy, tensor
            if turn % 2:
                loaded = load_file(large_file, "cuda")
            else:
                loaded = wcodec.async_load(large_file, "pt", "cuda").wait()
        with torch.cuda.stream(other):
            sums = {name: tensor.float().sum() for name, tensor in loaded.items()}
        torch.cuda.synchronize()
        equal(loaded, expected)
        for name, tensor in loaded.items():
            assert torch.equal(sums[name], tensor.float().sum())
        del loaded, sums


@on_cuda
def test_threads_with_streams_of_their_own(large_file):
    expected = large()

    def work(number):
        with torch.cuda.stream(torch.cuda.Stream()):
            for i in range(6):
                if i % 2:
                    loaded = load_file(large_file, "cuda")
                    torch.cuda.current_stream().synchronize()
                    equal(loaded, expected)
                else:
                    with wcodec.safe_open(large_file, "pt", "cuda") as f:
                        name = f"layers.{(number + i) % 8}.weight"
                        assert raw(f.get_tensor(name)) == raw(expected[name])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))


def test_a_load_beside_the_caller(large_file):
    loading = wcodec.async_load(large_file, "pt", DEVICE)
    seen = []
    while not loading.done():
        seen.append(loading.progress()[0])
        time.sleep(0.0002)
    assert seen == sorted(seen)
    equal(loading.wait(), large())
    done, total = loading.progress()
    assert done == total == 8 * 2048 * 2048 * 2
    assert loading.wait() is loading.wait(0)
    part = wcodec.async_load(large_file, "pt", DEVICE, names=["layers.3.weight"]).wait()
    assert list(part) == ["layers.3.weight"]


def test_a_load_that_is_cancelled(large_file):
    ended = 0
    for _ in range(10):
        loading = wcodec.async_load(large_file, "pt", DEVICE)
        loading.cancel()
        try:
            equal(loading.wait(), large())  # it was complete already
        except wcodec.CancelledError:
            ended += 1
        assert loading.done()
    assert ended
    equal(load_file(large_file, DEVICE), large())


def test_memory_of_a_load_that_was_dropped_is_not_written(large_file):
    for _ in range(10):
        loading = wcodec.async_load(large_file, "pt", DEVICE)
        del loading
        gc.collect()
        taken = [torch.full((2048, 2048), 7.0, device=DEVICE).bfloat16() for _ in range(16)]
        time.sleep(0.01)
        assert all(bool((tensor == 7).all()) for tensor in taken)


@on_cuda
def test_memory_is_given_back(large_file):
    def held():
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0]

    load_file(large_file, "cuda")
    before = held()
    for _ in range(30):
        load_file(large_file, "cuda")
        with wcodec.safe_open(large_file, "pt", "cuda") as f:
            f.get_slice("layers.0.weight")[5:9]
        wcodec.async_load(large_file, "pt", "cuda").cancel()
    after = held()
    assert after[0] == before[0]
    # What other processes do on the device is not ours.
    assert before[1] - after[1] < 512 << 20


def outcome(path, device):
    """The bytes of all tensors, or the class and tensor of the error."""
    try:
        return {name: raw(tensor) for name, tensor in load_file(path, device).items()}
    except wcodec.WcodecError as error:
        assert isinstance(error, DAMAGE), repr(error)
        assert error.file == str(path)
        assert str(path) in str(error)
        return type(error)


def test_damage_is_an_error(tmp_path):
    """As on the CPU, and the device works on."""
    path = tmp_path / "m.wcodec"
    save_file(large(3, 300), path)
    data, rng, found = path.read_bytes(), random.Random(3), 0
    for _ in range(150):
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        result = outcome(path, DEVICE)
        assert result == outcome(path, "cpu"), at
        found += isinstance(result, type)
    assert found > 100
    for size in (0, 5, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        assert outcome(path, DEVICE) is wcodec.CorruptError
    # In a tensor's data, which is named; by each way to load.
    path.write_bytes(data[: len(data) // 2] + b"\x55" * 64 + data[len(data) // 2 + 64 :])
    with pytest.raises(wcodec.CorruptError, match="tensor 'layers") as caught:
        load_file(path, DEVICE)
    assert caught.value.tensor.startswith("layers")
    with pytest.raises(wcodec.CorruptError):
        wcodec.async_load(path, "pt", DEVICE).wait()
    with wcodec.safe_open(path, "pt", DEVICE) as f:
        with pytest.raises(wcodec.CorruptError):
            f.get_tensor(caught.value.tensor)
        for name in set(f.keys()) - {caught.value.tensor}:
            assert raw(f.get_tensor(name)) == raw(large(3, 300)[name])
    path.write_bytes(data)
    equal(load_file(path, DEVICE), large(3, 300))


@on_cuda
def test_out_of_memory_of_torch(large_file):
    load_file(large_file, "cuda")
    gc.collect()
    torch.cuda.empty_cache()
    whole = torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_allocated() + (24 << 20)) / whole)
    try:
        with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
            load_file(large_file, "cuda")
        with pytest.raises(torch.OutOfMemoryError):
            wcodec.async_load(large_file, "pt", "cuda")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    equal(load_file(large_file, "cuda"), large())


@pytest.mark.parametrize("backend", ["cpu", "opencl", "auto", "cuda", "cuda:0", None])
def test_backends(path, backend):
    """Whatever decodes, tensors arrive; or what cannot be used is said."""
    expected = load_file(path)
    known = {device["backend"]: device["available"] for device in wcodec.devices()}
    known.update({"cpu": True, "auto": True})
    if known.get((backend or "cpu").partition(":")[0]) or path.suffix == ".safetensors":
        for where in (DEVICE, "cpu"):
            equal(load_file(path, where, backend=backend), expected)
            with wcodec.safe_open(path, "pt", where, backend=backend) as f:
                assert raw(f.get_slice("layers.0.weight")[7:9]) == raw(
                    expected["layers.0.weight"][7:9]
                )
            equal(wcodec.async_load(path, "pt", where, backend=backend).wait(), expected)
    else:
        with pytest.raises(wcodec.BackendError, match=backend):
            load_file(path, DEVICE, backend=backend)


@on_cuda
def test_a_backend_that_is_none(path):
    for backend in ("cuda:77", "mars:0"):
        if path.suffix == ".wcodec":
            with pytest.raises((wcodec.UsageError, wcodec.BackendError), match=backend):
                load_file(path, "cuda", backend=backend)
    with pytest.raises(wcodec.UsageError, match="itself"):
        wcodec.safe_open(path, "pt", "cuda:0", backend="cuda:77")


@on_cuda
def test_the_environment_names_what_decodes(path, monkeypatch):
    monkeypatch.setenv("WCODEC_BACKEND", "cpu")
    with wcodec.safe_open(path, "pt", "cuda") as f:
        assert not f._framework._decodes_on_device(f._reader)
    equal(load_file(path, "cuda"), load_file(path))


def test_the_decoder(large_file, tmp_path, caplog):
    whole = large()
    for device in (None, DEVICE, str(DEVICE)) if CUDA else (None,):
        decoder = wcodec.GPUDecoder(large_file, device=device)
        assert (decoder.reason is None) == CUDA
        assert torch.device(decoder.device).type == DEVICE.type
        assert raw(decoder.decode_layer("layers.2.weight")) == raw(whole["layers.2.weight"])
        layer = decoder.decode_layer("layers.3")
        assert raw(layer["weight"]) == raw(whole["layers.3.weight"])
        assert layer["weight"].device.type == DEVICE.type
        assert decoder.layers()[:2] == ["layers.0", "layers.1"]
        with pytest.raises(KeyError):
            decoder.decode_layer("layers.77")
        decoder.close()
    assert ("decoding on the CPU" in caplog.text) == (not CUDA)
    assert wcodec.GPUDecoder(large_file, use_gpu=False).decode_layer("layers.0.weight").is_cpu
    decoder = wcodec.GPUDecoder(large_file, device="cuda:77")
    assert "no CUDA device" in decoder.reason or "'cuda:77'" in decoder.reason
    assert decoder.decode_layer("layers.0.weight").is_cpu
    save_file(large(1, 30), tmp_path / "m.safetensors")
    decoder = wcodec.GPUDecoder(tmp_path / "m.safetensors")
    assert decoder.reason
    assert decoder.decode_layer("layers.0.weight").shape == (30, 30)


def test_saving_from_a_device(tmp_path):
    made = {name: tensor.to(DEVICE) for name, tensor in large(2, 200).items()}
    save_file(made, tmp_path / "m.wcodec")
    equal(load_file(tmp_path / "m.wcodec"), large(2, 200))
    equal(load(save(made), DEVICE), large(2, 200))


@on_cuda
def test_saving_what_a_stream_still_makes(tmp_path):
    with torch.cuda.stream(torch.cuda.Stream()):
        made = torch.zeros(1 << 20, device="cuda")
        torch.cuda._sleep(50_000_000)
        made.fill_(3)
        save_file({"w": made}, tmp_path / "m.wcodec")
    assert bool((load_file(tmp_path / "m.wcodec")["w"] == 3).all())


def test_weights_for_engines(large_file):
    from wcodec.engines._weights import weights

    for batch in (1, 20 << 20, 1 << 30):
        equal(dict(weights(large_file, DEVICE, batch=batch)), large())


def test_torch_distributed_checkpoint(tmp_path):
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    engine = pytest.importorskip("wcodec.engines.distributed")
    made = {name: tensor.to(DEVICE) for name, tensor in large(3, 200).items()}
    made["columns"] = made["layers.0.weight"][:, 8:24]
    dcp.save(made, storage_writer=engine.WcodecStorageWriter(tmp_path / "a"))
    target = {name: torch.zeros_like(tensor) for name, tensor in made.items()}
    target["columns"] = torch.zeros(300, 300, device=DEVICE).bfloat16()[:200, 4:20]
    dcp.load(target, storage_reader=engine.WcodecStorageReader(tmp_path / "a"))
    equal(target, made)
    assert target["layers.0.weight"].device.type == DEVICE.type


def test_inference_is_the_same(tmp_path):
    """A model of transformers by its own loader and by ours, bit for bit."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")  # transformers needs it for device_map
    config = transformers.LlamaConfig(
        hidden_size=256, intermediate_size=512, num_hidden_layers=3, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=2000, dtype="bfloat16", tie_word_embeddings=True,
    )  # fmt: skip
    torch.manual_seed(1)
    model = transformers.LlamaForCausalLM(config).bfloat16()
    model.save_pretrained(tmp_path / "plain")
    wcodec.compress(tmp_path / "plain", tmp_path / "packed")
    tokens = torch.randint(0, 2000, (2, 33)).to(DEVICE)
    where = str(DEVICE)
    theirs = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "plain", device_map=where)
    for device_map in (where, {"": DEVICE}, "auto"):
        ours = wcodec.WCodecModel.from_pretrained(tmp_path / "packed", device_map=device_map)
        equal(ours.state_dict(), theirs.state_dict())
        if next(ours.parameters()).device.type == DEVICE.type:
            with torch.no_grad():
                assert torch.equal(ours(tokens).logits, theirs(tokens).logits)
        del ours


@on_cuda
def test_a_model_takes_its_own_size(tmp_path):
    """transformers reserves a model's size before the weights are loaded: into that they go."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    config = transformers.LlamaConfig(
        hidden_size=1024, intermediate_size=8192, num_hidden_layers=4, num_attention_heads=8,
        vocab_size=32000, dtype="bfloat16",
    )  # fmt: skip
    with torch.device("cuda"):
        model = transformers.LlamaForCausalLM(config).bfloat16()
    size = sum(p.nbytes for p in model.parameters())
    model.save_pretrained(tmp_path / "plain")
    wcodec.compress(tmp_path / "plain", tmp_path / "packed", level=1, verify=False)
    del model
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    wcodec.WCodecModel.from_pretrained(tmp_path / "packed", device_map="cuda")
    assert torch.cuda.max_memory_reserved() - before < 1.6 * size


@on_cuda
def test_cupy_takes_tensors_over(large_file):
    cupy = pytest.importorskip("cupy")
    save = large_file.parent / "f.wcodec"
    save_file({"w": torch.randn(500, 300), "i": torch.arange(9)}, save)
    loaded, expected = load_file(save, "cuda"), load_file(save)
    for name, tensor in loaded.items():
        for array in (cupy.from_dlpack(tensor), cupy.asarray(tensor)):
            assert array.data.ptr == tensor.data_ptr()
            assert np.array_equal(cupy.asnumpy(array), expected[name].numpy())
    # And the other way round: what another library holds is saved.
    save_file({"w": torch.from_dlpack(cupy.arange(100, dtype=cupy.float32))}, save)
    assert torch.equal(load_file(save)["w"], torch.arange(100.0))


@on_cuda
def test_jax_takes_tensors_over(large_file):
    jax = pytest.importorskip("jax")
    try:
        device = jax.devices("gpu")[0]
    except RuntimeError:
        pytest.skip("JAX finds no GPU")
    path = large_file.parent / "j.wcodec"
    generator = torch.Generator().manual_seed(1)
    kinds = (torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.bool,
             torch.float8_e4m3fn)  # fmt: skip
    made = {str(kind): (torch.randn(40, 64, generator=generator) * 3).to(kind) for kind in kinds}
    save_file({**made, "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 4)}, path)
    from wcodec.jax import load_file as load_jax

    for where in (None, device, "gpu:0"):
        loaded = load_jax(path, where)
        for name, tensor in load_file(path).items():
            assert loaded[name].devices() == {device}
            assert loaded[name].shape == tuple(tensor.shape)
            assert np.asarray(loaded[name]).tobytes() == raw(tensor)
    with wcodec.safe_open(path, "jax") as f:
        assert np.asarray(f.get_slice("torch.float32")[2:4]).tobytes() == raw(
            made["torch.float32"][2:4]
        )
    loading = wcodec.async_load(path, "jax")
    assert np.asarray(loading.wait()["torch.float32"]).tobytes() == raw(made["torch.float32"])


def test_the_context_is_let_go(large_file):
    equal(load_file(large_file, DEVICE), large())
    wcodec.release()
    gc.collect()
    equal(load_file(large_file, DEVICE), large())
    with wcodec.safe_open(large_file, "pt", DEVICE) as f:
        wcodec.release()
        assert raw(f.get_tensor("layers.0.weight")) == raw(large(1)["layers.0.weight"])


def test_saves_from_the_device(tmp_path):
    given = {name: tensor.to(DEVICE) for name, tensor in large(3, 300).items()}
    given["again"] = next(iter(given.values())).clone()
    given["nothing"] = torch.zeros(0, device=DEVICE)
    on_host = {name: tensor.cpu() for name, tensor in given.items()}
    here, there = tmp_path / "device.wcodec", tmp_path / "host.wcodec"
    save_file(on_host, there)
    save_file(given, here)
    assert here.read_bytes() == there.read_bytes() == save(given)
    # Mixed ones come by way of host memory.
    given["again"] = on_host["again"]
    save_file(given, here)
    assert here.read_bytes() == there.read_bytes()
    equal(load_file(here, device=DEVICE), on_host)


def test_a_save_waits_for_the_stream(tmp_path):
    stream = torch.cuda.Stream(DEVICE) if CUDA else None
    made = torch.zeros(2048, 2048, device=DEVICE)
    with torch.cuda.stream(stream):
        for _ in range(200):
            made += torch.ones_like(made)
        saving = wcodec.torch.async_save_file({"w": made}, tmp_path / "a.wcodec")
    saving.wait()
    assert torch.equal(load_file(tmp_path / "a.wcodec")["w"], torch.full((2048, 2048), 200.0))
