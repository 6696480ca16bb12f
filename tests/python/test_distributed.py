# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""torch.distributed.checkpoint to and from .wcodec files."""

import json
import re
import shutil

import pytest
import ranks
import wcodec

torch = pytest.importorskip("torch")
dcp = pytest.importorskip("torch.distributed.checkpoint")
ours = pytest.importorskip("wcodec.torch")
engine = pytest.importorskip("wcodec.engines.distributed")
hf_storage = pytest.importorskip("torch.distributed.checkpoint.hf_storage")

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is")


def state(seed=1):
    generator = torch.Generator().manual_seed(seed)
    made = {
        "embed": torch.randn(300, 64, generator=generator).bfloat16(),
        "norm": torch.randn(64, generator=generator),
        "step": torch.tensor(seed * 1000),
        "none": torch.empty(0, 8),
        "mask": torch.rand(9, 9, generator=generator) > 0.5,
    }
    return {**made, "columns": torch.randn(12, 40, generator=generator)[:, 8:24]}


def empty(like):
    return {name: torch.zeros_like(tensor) for name, tensor in like.items()}


def same(left, right):
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        assert tensor.dtype == right[name].dtype
        assert torch.equal(tensor, right[name]), name


def load(path, like):
    target = empty(like)
    dcp.load(target, storage_reader=engine.WcodecStorageReader(path))
    return target


def test_one_process(tmp_path):
    original = state()
    tied = {**original, "head": original["embed"]}
    writer = engine.WcodecStorageWriter(tmp_path / "a", level=1)
    dcp.save(tied, storage_writer=writer)
    same(load(tmp_path / "a", tied), tied)
    # Saved by one rank it is a model folder, with an index that names the files.
    same(ours.load_file(tmp_path / "a"), tied)
    index = json.loads((tmp_path / "a" / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == set(tied)
    assert wcodec.test(tmp_path / "a")["ok"]
    # Some of the tensors, as another type.
    part = {"norm": torch.zeros(64, dtype=torch.float64)}
    dcp.load(part, storage_reader=engine.WcodecStorageReader(tmp_path / "a"))
    assert torch.equal(part["norm"].float(), original["norm"])
    # A checkpoint may be replaced.
    newer = {**state(2), "head": original["embed"]}
    dcp.save(newer, storage_writer=engine.WcodecStorageWriter(tmp_path / "a"))
    same(load(tmp_path / "a", newer), newer)


def test_several_files(tmp_path):
    original = state()
    names = {name: 1 + i % 3 for i, name in enumerate(original)}
    dcp.save(original, storage_writer=engine.WcodecStorageWriter(tmp_path / "a", names))
    files = sorted(path.name for path in (tmp_path / "a").glob("*.wcodec"))
    assert files == [f"model-0000{i}-of-00003.safetensors.wcodec" for i in (1, 2, 3)]
    same(load(tmp_path / "a", original), original)
    same(ours.load_file(tmp_path / "a"), original)


def test_beside_torch(tmp_path):
    pytest.importorskip("safetensors")
    original = state()
    original["columns"] = original["columns"].contiguous()
    dcp.save(original, storage_writer=hf_storage.HuggingFaceStorageWriter(str(tmp_path / "plain")))
    same(load(tmp_path / "plain", original), original)
    wcodec.compress(tmp_path / "plain", tmp_path / "packed")
    same(load(tmp_path / "packed", original), original)
    dcp.save(original, storage_writer=engine.WcodecStorageWriter(tmp_path / "ours"))
    for path in (tmp_path / "ours").glob("*.wcodec"):
        wcodec.decompress(path)
    target = empty(original)
    dcp.load(target, storage_reader=hf_storage.HuggingFaceStorageReader(str(tmp_path / "ours")))
    same(target, original)


def test_training_state(tmp_path):
    """A model and an optimizer after some steps, as torch's own helpers give their state."""
    helper = pytest.importorskip("torch.distributed.checkpoint.state_dict")

    def made(seed):
        torch.manual_seed(seed)
        model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.Linear(8, 2))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        for _ in range(3):
            model(torch.randn(4, 16)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return model, optimizer

    def tensors(model, optimizer):
        options = helper.StateDictOptions(flatten_optimizer_state_dict=True)
        parts = helper.get_state_dict(model, optimizer, options=options)
        return {name: t for part in parts for name, t in part.items() if torch.is_tensor(t)}

    original, target = tensors(*made(1)), tensors(*made(2))
    dcp.save(original, storage_writer=engine.WcodecStorageWriter(tmp_path / "a"))
    dcp.load(target, storage_reader=engine.WcodecStorageReader(tmp_path / "a"))
    same(target, original)


def failure(call, *arguments, **keywords):
    """The error in torch's CheckpointException."""
    with pytest.raises(BaseException) as caught:  # what CheckpointException is
        call(*arguments, **keywords)
    ((inner, _),) = caught.value.failures.values()
    return inner


def test_what_cannot_be_written(tmp_path):
    def save(tensors, *arguments, **options):
        writer = engine.WcodecStorageWriter(tmp_path / "a", *arguments, **options)
        return failure(dcp.save, tensors, storage_writer=writer)

    error = save({"epoch": 3, "w": torch.zeros(2)})
    assert isinstance(error, wcodec.UsageError)
    assert error.tensor == "epoch"
    assert "model-00001-of-00001" in error.file
    error = save({"w": torch.zeros(2), "v": torch.zeros(2)}, {"w": 1})
    assert isinstance(error, wcodec.UsageError)
    assert error.tensor == "v"
    error = save({"w": torch.zeros(2, dtype=torch.complex128)})
    assert isinstance(error, wcodec.UsageError)
    assert error.tensor == "w"
    with pytest.raises(wcodec.UsageError, match="level"):
        engine.WcodecStorageWriter(tmp_path / "a", level=30)
    with pytest.raises(TypeError):
        engine.WcodecStorageWriter(tmp_path / "a", depth=30)
    assert not list((tmp_path / "a").iterdir())


def logged(log):
    """What was said since the last time. Of what reading metadata raises, torch 2.11 keeps nothing,
    and newer versions the text."""
    text = "\n".join(record.getMessage() for record in log.records if record.name == "wcodec")
    log.clear()
    return text


def test_what_cannot_be_read(tmp_path, caplog):
    def broken(path):
        reader = engine.WcodecStorageReader(path)
        return failure(dcp.load, empty(state()), storage_reader=reader)

    broken(tmp_path / "none")
    assert f"{tmp_path}/none: No such file" in logged(caplog)
    broken(tmp_path)
    assert f"{tmp_path}: no .wcodec or .safetensors file" in logged(caplog)
    with pytest.raises(wcodec.MissingFileError):
        engine.WcodecStorageReader(tmp_path).read_metadata()
    original = state()
    dcp.save(original, storage_writer=engine.WcodecStorageWriter(tmp_path / "a"))
    (path,) = (tmp_path / "a").glob("*.wcodec")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1  # in the largest tensor
    path.write_bytes(content)
    error = broken(tmp_path / "a")
    assert isinstance(error, wcodec.CorruptError)
    assert error.file == str(path)
    assert error.tensor == "embed"
    path.write_bytes(content[:1000])
    broken(tmp_path / "a")
    assert str(path) in logged(caplog)
    with pytest.raises(wcodec.CorruptError):
        engine.WcodecStorageReader(tmp_path / "a").read_metadata()


def shard(path, tensors, sharding):
    metadata = {
        "DCP_SHARDING_INFO": sharding if isinstance(sharding, str) else json.dumps(sharding)
    }
    ours.save_file(tensors, path, metadata)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"w": {"saved_offsets": [0, 0], "size": [4, 3]}}, None),
        ({"w": {"saved_offsets": [0, 0]}}, {"w": {"saved_offsets": [3, 0]}}),
        ({"w": {"saved_offsets": [0, 0]}}, {"w": {"saved_offsets": [1, 0]}}),
        ({"w": {"saved_offsets": [0, 0]}}, {"w": {"saved_offsets": [0, 0]}}),
        ({"w": {"saved_offsets": [0, 0], "size": [4, 3]}}, {"w": {"saved_offsets": [2, 0]}}),
        (
            {"w": {"saved_offsets": [0, 0], "size": [4, 3]}},
            {"w": {"saved_offsets": [1, 0], "size": [4, 3]}},
        ),
        (
            {"w": {"saved_offsets": [0, 0], "size": [2, 6]}},
            {"w": {"saved_offsets": [0, 2], "size": [2, 6]}},
        ),
        ({"w": {"saved_offsets": [1, 0], "size": [2, 3]}}, None),
        ({"w": {"saved_offsets": [0]}}, None),
        ({"w": {"saved_offsets": [-2, 0]}}, None),
        ({"w": {"saved_offsets": [1.5, 0]}}, None),
        ({"w": {"saved_offsets": "00"}}, None),
        ({"w": 7}, None),
        ({"v": {}}, None),
        (["w"], None),
        ("nothing", None),
        ("[" * 100000, None),
    ],
)
def test_hostile_shards(tmp_path, first, second):
    for i, sharding in enumerate((first, second)):
        if sharding is not None:
            shard(tmp_path / f"shard-{i}.wcodec", {"w": torch.ones(2, 3)}, sharding)
    with pytest.raises(wcodec.CorruptError) as caught:
        engine.WcodecStorageReader(tmp_path).read_metadata()
    assert caught.value.file.startswith(str(tmp_path))
    assert re.search("'w'|DCP_SHARDING_INFO", str(caught.value))


def test_parts_of_other_types(tmp_path):
    for i, dtype in enumerate((torch.float32, torch.bfloat16)):
        sharding = {"w": {"saved_offsets": [2 * i, 0], "size": [4, 3]}}
        shard(tmp_path / f"shard-{i}.wcodec", {"w": torch.ones(2, 3, dtype=dtype)}, sharding)
    with pytest.raises(wcodec.CorruptError, match=r"shard-1.*'w' contradicts"):
        engine.WcodecStorageReader(tmp_path).read_metadata()


RANK = """
import sys, warnings
warnings.simplefilter("ignore")
import torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from wcodec.engines.distributed import WcodecStorageReader, WcodecStorageWriter

rank, folder = int(sys.argv[1]), sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
mesh = init_device_mesh("cpu", (2,))
sizes = {"rows": (30, 8), "odd": (5, 7), "one": (1, 6), "flat": (9,)}
rows, columns, whole = Shard(0), Shard(1), Replicate()
layouts = [(rows, columns, rows, whole), (columns, rows, whole, rows)]
def made(seed, layout):
    torch.manual_seed(seed)
    tensors = {"whole": torch.full((3,), float(seed))}
    for (name, size), placement in zip(sizes.items(), layout):
        tensor = torch.randn(size) if seed else torch.zeros(size)
        tensors[name] = distribute_tensor(tensor, mesh, [placement])
    return tensors
original = made(1, layouts[0])
writer = WcodecStorageWriter(folder + "/a", save_distributed=True, threads=1)
dcp.save(original, storage_writer=writer)
for layout in layouts:
    target, expected = made(0, layout), made(1, layout)
    dcp.load(target, storage_reader=WcodecStorageReader(folder + "/a", threads=1))
    for name, tensor in expected.items():
        local = [t.to_local() if hasattr(t, "to_local") else t for t in (target[name], tensor)]
        assert torch.equal(*local), (rank, layout, name)
dist.barrier()
dist.destroy_process_group()
"""


def test_two_ranks(tmp_path, caplog):
    if not torch.distributed.is_gloo_available():
        pytest.skip("torch is without gloo")
    ranks.expect_good(RANK, 2, tmp_path)
    files = sorted((tmp_path / "a").glob("*.wcodec"))
    assert [path.name[:11] for path in files] == ["shard-00001", "shard-00002"]
    # One process reads what two have written.
    torch.manual_seed(1)
    sizes = {"rows": (30, 8), "odd": (5, 7), "one": (1, 6), "flat": (9,)}
    expected = {name: torch.randn(size) for name, size in sizes.items()}
    expected["whole"] = torch.ones(3)
    same(load(tmp_path / "a", expected), expected)
    # A file that was lost is noticed, also where what is left looks whole.
    shutil.move(files[1], tmp_path / "aside")
    target = engine.WcodecStorageReader(tmp_path / "a")
    failure(dcp.load, empty(expected), storage_reader=target)
    assert re.search("shard-00001.*'(odd|rows)'.*files are missing", logged(caplog))


SAVED_BY_FOUR = """
import sys, warnings
warnings.simplefilter("ignore")
import torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from torch.distributed.fsdp import fully_shard
from wcodec.engines.distributed import WcodecStorageReader, WcodecStorageWriter

rank, world, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{folder}/store{world}", rank=rank,
                        world_size=world)
def network(seed):
    torch.manual_seed(seed)
    made = torch.nn.Sequential(torch.nn.Linear(33, 65), torch.nn.Embedding(7, 40),
                               torch.nn.Linear(40, 2), torch.nn.Linear(3, 1, bias=False))
    return made
original, model = network(1), network(1 if world == 4 else 2)
for layer in model:
    fully_shard(layer)
fully_shard(model)
state = model.state_dict()
if world == 4:
    writer = WcodecStorageWriter(folder + "/a", save_distributed=True, threads=1)
    saving = dcp.async_save(state, storage_writer=writer)
    saving.result()
else:
    dcp.load(state, storage_reader=WcodecStorageReader(folder + "/a", threads=1))
    model.load_state_dict(state)
for name, tensor in model.state_dict().items():
    assert torch.equal(tensor.full_tensor(), original.state_dict()[name]), name
dist.barrier()
dist.destroy_process_group()
"""


def test_saved_by_four_loaded_by_others(tmp_path):
    """Shards of FSDP2, saved beside the program, and loaded by other numbers of ranks."""
    pytest.importorskip("torch.distributed.fsdp", reason="torch without fully_shard()")
    if not hasattr(torch.distributed.fsdp, "fully_shard"):
        pytest.skip("torch without fully_shard()")
    for world in (4, 3, 2, 1):
        ranks.expect_good(SAVED_BY_FOUR, world, tmp_path)
    assert len(list((tmp_path / "a").glob("*.wcodec"))) == 4
