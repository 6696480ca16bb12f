# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Checkpoints loaded by several ranks of torch.distributed together, by gloo: all plans, and ranks
that fail, see other files, or are killed."""

import os
import signal

import pytest
import ranks

torch = pytest.importorskip("torch")
ours = pytest.importorskip("wcodec.torch")
pytest.importorskip("torch.distributed.tensor")
if not torch.distributed.is_available():
    pytest.skip("torch has no distributed package", allow_module_level=True)

BEGIN = """
import os, signal, sys, time, warnings
warnings.simplefilter("ignore")
import torch, torch.distributed as dist
import wcodec, wcodec.torch
from wcodec import _crew, distributed
rank, world, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
expected = wcodec.torch.load_file(folder + "/model.wcodec")
def same(left, right):
    assert left.dtype == right.dtype and left.shape == right.shape, (left.shape, right.shape)
    assert torch.equal(left.reshape(-1).view(torch.uint8), right.reshape(-1).view(torch.uint8))
def part(tensor, dimension, of=None, number=None):
    chunks = torch.chunk(tensor, of or world, dimension)
    number = rank if number is None else number
    return chunks[number] if number < len(chunks) else tensor.narrow(dimension, 0, 0)
"""


def model():
    torch.manual_seed(1)
    return {
        "embed.weight": torch.randn(5003, 512).bfloat16(),  # larger than what one rank decodes
        "layers.0.q.weight": torch.randn(64, 48).bfloat16(),
        "layers.0.q.bias": torch.randn(64),
        "layers.0.o.weight": torch.randn(48, 66),
        "layers.0.o.bias": torch.randn(48),
        "deep": torch.randn(5, 7, 9),
        "few": torch.randn(2, 3),
        "row": torch.randn(1, 96),
        "step": torch.tensor(7),
        "none": torch.empty(0, 4),
        "mask": torch.rand(9, 9) > 0.5,
        "complex": torch.randn(6, 5, dtype=torch.complex64),
        **{f"small.{i}": torch.randn(8, 8).half() for i in range(30)},
    }


@pytest.fixture(scope="module")
def coded(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranks") / "model.wcodec"
    ours.save_file(model(), path, level=1)
    return path


def expect_good(code, folder, world, fresh=False):
    ranks.expect_good(BEGIN + code, world, folder, fresh)


@pytest.fixture
def folder(coded, tmp_path):
    os.link(coded, tmp_path / "model.wcodec")
    return tmp_path


PLANS = """
got = distributed.load(folder + "/model.wcodec")
assert list(got) == list(expected)
for name, tensor in expected.items():
    same(got[name], tensor)
some = distributed.load(folder + "/model.wcodec", names=["step", "embed.weight"])
assert list(some) == ["step", "embed.weight"]
same(some["embed.weight"], expected["embed.weight"])
plan = {"layers.*.q": "colwise", "layers.*.o": "rowwise", "deep": -1, "few": 0, "embed*": 1,
        "none": 1, "complex": 1, "mask": 0, "small.3": "replicate", "small.*": 1, "step": None}
got = distributed.load(folder + "/model.wcodec", plan=plan)
cut = {"layers.0.q.weight": 0, "layers.0.q.bias": 0, "layers.0.o.weight": 1, "deep": 2, "few": 0,
       "embed.weight": 1, "none": 1, "complex": 1, "mask": 0}
cut.update({f"small.{i}": 1 for i in range(30) if i != 3})
for name, tensor in expected.items():
    same(got[name], part(tensor, cut[name]).contiguous() if name in cut else tensor)
class Model:
    tp_plan = {"layers.*.q": "colwise", "layers.*.o": "rowwise"}
got = distributed.load(folder + "/model.wcodec", plan=Model())
same(got["layers.0.o.weight"], part(expected["layers.0.o.weight"], 1).contiguous())
same(got["layers.0.o.bias"], expected["layers.0.o.bias"])
"""


@pytest.mark.parametrize("world", [1, 2, 4])
def test_plans(folder, world):
    expect_good(PLANS, folder, world, fresh=world == 2)


def test_small_batches(folder):
    """Several at once, of which one is passed on while others are read."""
    code = """
import gc
distributed.BATCH = 3000
began, finished, passed = distributed._begin, _crew.Crew.finish, distributed._pass_on
said = ""
most = 0
bands = []
def begin(*arguments):
    global said
    said += "b"
    batch = began(*arguments)
    bands.extend(weakref.ref(band) for band in batch.bands)
    return batch
def finish(crew, loads):
    global said, most
    said += "f"
    most = max(most, len(loads))
    held = sum(isinstance(o, distributed._Batch) for o in gc.get_objects())
    assert held == len(loads), (held, loads)  # what was passed on is not kept
    return finished(crew, loads)
def pass_on(crew, there, *others):
    global said
    if there:
        said += "p"
    old = [ref for batch in there for band in batch.bands for ref in bands if ref() is band]
    passed(crew, there, *others)
    assert all(ref() is None for ref in old), old
distributed._begin, _crew.Crew.finish, distributed._pass_on = begin, finish, pass_on
"""
    after = """
assert most == 2 and "fbp" in said and said.count("b") > 12 and bands, (most, said)
said, most, taken, fill = "", 0, [], distributed._fill
def take(targets, rooms):
    assert all(ref() is None for ref in taken), taken  # of the parts before
    taken.extend(weakref.ref(room) for room in rooms.values())
    fill(targets, rooms)
distributed._fill = take
state = {name: torch.zeros_like(tensor) for name, tensor in expected.items()}
distributed.load_into(state, folder + "/model.wcodec")
for name, tensor in expected.items():
    same(state[name], tensor)
assert re.search("fb+p", said) and said.count("b") > 4, said
assert len(taken) == len(expected) and all(ref() is None for ref in taken)
"""
    expect_good("import re, weakref\n" + code + PLANS + after, folder, 2)


def test_connections_are_kept(folder):
    """For all loads of a group; where one rank has not kept its own, all make new ones."""
    code = """
made = []
gloo = _crew.Crew._gloo
def count(crew, name, ranks):
    made.append(name)
    return gloo(crew, name, ranks)
_crew.Crew._gloo = count
def load(expects):
    same(distributed.load(folder + "/model.wcodec", names=["deep"])["deep"], expected["deep"])
    assert len(made) == expects, (made, expects)
load(1)
load(1)
if rank == 1:
    _crew._kept.popitem()[1].close()
load(2)
load(2)
try:
    distributed.load(folder + "/gone.wcodec")
except wcodec.MissingFileError:
    pass
load(3)
group = dist.new_group(list(range(world)))
got = distributed.load(folder + "/model.wcodec", group, names=["few"])
same(got["few"], expected["few"])
same(distributed.load(folder + "/model.wcodec", group, names=["few"])["few"], expected["few"])
assert len(made) == 4 and len(_crew._kept) == 2, made
dist.destroy_process_group(group)
try:
    distributed.load(folder + "/model.wcodec", group)
except wcodec.UsageError as error:
    assert "destroyed" in str(error), error
else:
    raise AssertionError("a group that was destroyed")
del group
dist.destroy_process_group()
dist.init_process_group("gloo", init_method=f"file://{folder}/again", rank=rank, world_size=world)
assert not _crew._kept, list(_crew._kept)
load(5)
"""
    expect_good(code, folder, 2)


def test_groups_of_the_same_ranks(folder):
    """Each has its connections, in whatever order their threads make them."""
    code = """
import threading
groups, names, got = [dist.new_group([0, 1]) for _ in range(2)], ["deep", "few"], {}
began = threading.Event()
meet = _crew.meet
def begins(*arguments):
    began.set()
    return meet(*arguments)
_crew.meet = begins
def load(i):
    path = folder + "/model.wcodec"
    got.update(distributed.load(path, groups[i], names=[names[i]], timeout=20))
threads = [threading.Thread(target=load, args=(i,)) for i in (rank, 1 - rank)]
threads[0].start()
began.wait()
threads[1].start()
for thread in threads:
    thread.join()
for name in names:
    same(got[name], expected[name])
"""
    expect_good(code, folder, 2)


def test_devices_pass_on(folder):
    """What goes between devices, here by the group's backend in host memory: one after the other,
    and at once."""
    code = """
for coalesces in (False, True):
    _crew._coalesces = lambda group, device: coalesces
    with _crew.crew_of(None, 60) as crew:
        owners = [0, world - 1, 1, 0]
        parts = [torch.full((size,), rank, dtype=torch.uint8) for size in (5, 70000, 1, 3)]
        crew._spread_on_device(list(zip(parts, owners)))
        for part, owner in zip(parts, owners):
            assert (part == owner).all(), (part, owner, coalesces)
        crew._spread_on_device([])
"""
    expect_good(code, folder, 3)


def test_hosts_and_groups(folder):
    """Two hosts of two ranks each, and a group of some ranks."""
    code = (
        """
own = _crew._host_name
_crew._host_name = lambda: own() + (b"a" if rank < 2 else b"b")
crew = _crew.Crew(None, 60)
assert crew.host == ([0, 1] if rank < 2 else [2, 3])
del crew
"""
        + PLANS
        + """
_crew._host_name = lambda: own() + b"%d" % rank
for plan in ({"row": 1}, {"row": 0}):  # the kept connections are of other hosts: a new timeout
    row = distributed.load(folder + "/model.wcodec", plan=plan, names=["row"], timeout=60)["row"]
    same(row, part(expected["row"], *plan.values()).contiguous())
    assert row.untyped_storage().nbytes() == row.nbytes, plan
_crew._host_name = own
group = dist.new_group([1, 3])
if rank % 2:
    got = distributed.load(folder + "/model.wcodec", group, {"embed*": 0, "layers.0.o.weight": 1})
    same(got["embed.weight"], part(expected["embed.weight"], 0, 2, rank // 2))
    column = part(expected["layers.0.o.weight"], 1, 2, rank // 2)
    same(got["layers.0.o.weight"], column.contiguous())
    same(got["deep"], expected["deep"])
dist.barrier()
"""
    )
    expect_good(code, folder, 4)


def test_groups_of_hosts(folder):
    """Of torch's, where devices pass on: once for a group, whatever others a rank is in, and
    without a trace in the names of those that come after."""
    code = """
own = _crew._host_name
_crew._host_name = lambda: own() + (b"a" if rank < 2 else b"b")
if rank == 1:
    dist.new_group([1], use_local_synchronization=True)
count = dist.distributed_c10d._world.group_count
def between():
    with _crew.crew_of(None, 60) as crew:
        group = crew._device_group()
        total = torch.tensor(rank)
        dist.all_reduce(total, group=group)
        assert total == (1 if rank < 2 else 5), total
        return group
first = between()
try:
    distributed.load(folder + "/gone.wcodec")
except wcodec.MissingFileError:
    assert not _crew._kept
assert between() is first
_crew._kept.clear()
if rank < 2:
    _crew._between.clear()
assert (between() is first) == (rank > 1)
assert dist.distributed_c10d._world.group_count == count
torchs, names = dist.distributed_c10d, dist.distributed_c10d._hash_ranks_to_str
torchs._hash_ranks_to_str = lambda ranks: names(ranks) + str(rank % 3)  # as older versions' were
_crew._between.clear()
_crew._kept.clear()
try:
    between()
    assert rank > 1
except (wcodec.UnsupportedError, wcodec.CancelledError) as error:
    assert "different numbers of groups" in str(error) or rank > 1, error
"""
    expect_good(code, folder, 4)


def test_one_rank_comes_too_late(folder):
    """All come together the next time, although one was in fewer rounds."""
    code = """
path = folder + "/model.wcodec"
for late in (2, 0, 0):
    if rank != late:
        try:
            distributed.load(path, timeout=0.5)
            raise AssertionError("not all were there")
        except wcodec.CancelledError as error:
            assert "2 of 3 ranks came" in str(error), error
    dist.barrier()
same(distributed.load(path, names=["deep"])["deep"], expected["deep"])
assert len({*_crew._kept.values()}) == 1
"""
    expect_good(code, folder, 3)


def test_sharded_state(folder):
    """DTensors as fully_shard() makes them, and others, in place and of other types."""
    code = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
meshes = {"flat": init_device_mesh("cpu", (world,)),
          "both": init_device_mesh("cpu", (2, world // 2))}
layouts = [("flat", [Shard(0)]), ("flat", [Shard(1)]), ("flat", [Replicate()]),
           ("both", [Replicate(), Shard(0)]), ("both", [Shard(0), Shard(1)])]
for mesh, placements in layouts:
    state = {}
    for name, tensor in expected.items():
        if tensor.dim() == 2 and tensor.dtype.is_floating_point:
            zero = torch.zeros(tensor.shape, dtype=torch.float32)
            state[name] = distribute_tensor(zero, meshes[mesh], placements)
        else:
            state[name] = torch.zeros_like(tensor)
    distributed.load_into(state, folder + "/model.wcodec")
    for name, tensor in expected.items():
        if hasattr(state[name], "to_local"):
            want = distribute_tensor(tensor.float(), meshes[mesh], placements).to_local()
            assert torch.equal(state[name].to_local(), want), (name, mesh, placements)
        else:
            same(state[name], tensor)
for wrong in ({"deep": torch.zeros(5, 7, 8)}, {"gone": torch.zeros(1)}, {"deep": 5}):
    try:
        distributed.load_into(wrong, folder + "/model.wcodec")
    except (wcodec.UsageError, wcodec.TensorNotFoundError) as error:
        assert next(iter(wrong)) in str(error), error
    else:
        raise AssertionError(wrong)
from torch.distributed.fsdp import fully_shard
torch.manual_seed(2)
def network():
    return torch.nn.Sequential(torch.nn.Linear(33, 65), torch.nn.Linear(65, 17, bias=False))
original = network()
if rank == 0:
    wcodec.torch.save_file(original.state_dict(), folder + "/net.wcodec")
dist.barrier()
sharded = network()
fully_shard(sharded, mesh=meshes["flat"])
distributed.load_into(sharded.state_dict(), folder + "/net.wcodec")
for name, tensor in sharded.state_dict().items():
    assert torch.equal(tensor.full_tensor(), original.state_dict()[name]), name
"""
    expect_good(code, folder, 4)


def test_one_rank_fails(folder):
    """All raise the same, with the number of the rank; then all can load again."""
    (folder / "wrong.wcodec").write_bytes((folder / "model.wcodec").read_bytes()[:-5])
    code = """
def raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return str(error)
    raise AssertionError(text)
path = folder + ("/wrong.wcodec" if rank == 1 else "/model.wcodec")
said = raises(wcodec.CorruptError, "wrong.wcodec", lambda: distributed.load(path))
assert said.startswith("rank 1: ") == (rank != 1), said
path = folder + ("/gone.wcodec" if rank == 2 else "/model.wcodec")
raises(wcodec.MissingFileError, "gone.wcodec", lambda: distributed.load(path))
raises(wcodec.UsageError, "the plan has 'diagonal' for tensor 'deep'",
       lambda: distributed.load(folder + "/model.wcodec", plan={"deep": "diagonal"}))
raises(wcodec.UsageError, "no dimension 5",
       lambda: distributed.load(folder + "/model.wcodec", plan={"deep": 5}))
raises(wcodec.UsageError, "no tp_plan", lambda: distributed.load(folder + "/model.wcodec", plan=7))
names = ["deep"] if rank == 0 else ["few"]
raises(wcodec.MismatchError, "different", lambda: distributed.load(folder + "/model.wcodec",
                                                                   names=names))
raises(wcodec.TensorNotFoundError, "nothing",
       lambda: distributed.load(folder + "/model.wcodec", names=["nothing"]))
path = folder + ("/gone\\udcff.wcodec" if rank == 1 else "/model.wcodec")
raises(wcodec.MissingFileError, "gone", lambda: distributed.load(path))
raises(wcodec.UsageError, "no backend for tensors on meta",
       lambda: distributed.load(folder + "/model.wcodec", device="meta"))
def out_of_memory(*_):
    if rank == 1:
        raise torch.OutOfMemoryError("no room")
kind = torch.OutOfMemoryError if rank == 1 else wcodec.OutOfMemoryError
cut, fill = _crew.Crew.cut, distributed._fill
_crew.Crew.cut = lambda *a: out_of_memory() or cut(*a)
distributed._fill = lambda *a: out_of_memory() or fill(*a)
said = raises(kind, "no room",
              lambda: distributed.load(folder + "/model.wcodec", plan={"layers.0.o.weight": 1}))
assert said == ("no room" if rank == 1 else "rank 1: no room"), said
raises(kind, "no room", lambda: distributed.load_into({"deep": torch.zeros(5, 7, 9)},
                                                      folder + "/model.wcodec"))
_crew.Crew.cut, distributed._fill = cut, fill
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
zero = torch.zeros(64, 48)
split = distribute_tensor(zero, init_device_mesh("cpu", (world,)), [Shard(0)])
for odd, text in ((zero.to("meta"), "on meta"), (split, "has a part")):
    state = {"step": torch.tensor(0), "layers.0.q.weight": zero if rank == 1 else odd}
    said = raises(wcodec.MismatchError, text,
                  lambda: distributed.load_into(state, folder + "/model.wcodec", timeout=20))
    assert "'layers.0.q.weight'" in said and "step" not in said, said
same(distributed.load(folder + "/model.wcodec")["deep"], expected["deep"])
"""
    expect_good(code, folder, 3)


def test_not_initialized(coded):
    import wcodec
    from wcodec import distributed

    with pytest.raises(wcodec.UsageError, match="init_process_group"):
        distributed.load(coded)


@pytest.mark.parametrize("when", ["before", "decoding", "waited for", "spreading"])
def test_one_rank_is_killed(folder, when):
    """All others end soon, and say why."""
    code = f"""
when = {when!r}
if rank == 2:
    def die(*_, **__):
        with open(folder + "/killed", "w") as file:
            file.write(str(time.time()))
        os.kill(os.getpid(), signal.SIGKILL)
    if when == "before":
        distributed._planned = die
    elif when == "decoding":
        wcodec.torch.Framework.begin_to = die
    elif when == "waited for":
        time.sleep(0.5)
        _crew.Load.wait = die
    else:
        _crew.Crew.spread = die
stopped = []
if rank != 2 and when == "waited for":
    class Never:  # a load of which nobody would hear for long
        def ended(self): return False
        def cancel(self): stopped.append("cancel")
        def finish(self): stopped.append("finish")
    wcodec.torch.Framework.begin_to = lambda *_, **__: (Never(), None)
try:
    distributed.load(folder + "/model.wcodec", plan={{"layers.0.o.weight": 1}})
    print("no error")
except wcodec.CancelledError as error:
    assert stopped == (["cancel", "finish"] if when == "waited for" else []), stopped
    print(str(error).splitlines()[0], time.time() - float(open(folder + "/killed").read()) < 10)
"""
    processes = ranks.start(BEGIN + code, 4, folder)
    results = ranks.ended(processes)
    for rank, (out, err) in enumerate(results):
        if rank == 2:
            assert processes[rank].returncode == -signal.SIGKILL
        else:
            assert out.startswith(f"rank {rank}: another rank ended"), out + err
            assert out.endswith("True\n"), out
