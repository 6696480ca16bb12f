# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Checkpoints loaded by the ranks of torch.distributed together.

    import torch.distributed as dist
    from wcodec import distributed

    dist.init_process_group()
    tensors = distributed.load("model")                              # all of it, on every rank
    tensors = distributed.load("model", plan={"*.q_proj.weight": 0, "*.o_proj.weight": 1})
    tensors = distributed.load("model", plan=model)                  # by its tp_plan
    distributed.load_into(fsdp_model.state_dict(), "model")          # parts of DTensors, in place

The ranks of one host read and decode each byte once between them, and pass on what others need:
through gloo in host memory, through the group's own backend (NCCL) in that of devices. Hosts do not
pass anything on to each other.

All ranks of the group call the same function with the same arguments, and devices of one kind. A
rank that fails makes all fail: each raises the error of the first, with its number. A rank that
ends makes the others raise as soon as they need to hear of it: within seconds while they load, but
while one opens the file, reads its index or allocates, only when it has done so.

Where NCCL passes on, a rank that ends in the midst of it leaves the others' devices waiting, which
NCCL's own watchdog ends (by default the process, after the timeout of the group).

Connections that ranks make for the first load stay open for the next.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Union

import torch
import torch.distributed as dist

from ._bases import Base
from ._crew import Crew, Cut, Load, chunk_of, crew_of
from ._dtypes import DTYPES
from ._errors import (
    MismatchError,
    UnsupportedError,
    UsageError,
)
from ._frameworks import Request, compute_backend, described
from ._loading import Started
from ._open import open_any
from ._reader import AnyReader, TensorInfo
from ._remote import StorageOptions
from .engines._weights import batches
from .torch import Device, Framework, empty

__all__ = ["load", "load_into"]

Path = Union[str, "os.PathLike[str]"]
Plan = Union[Mapping[str, Union[int, str, None]], object, None]
"""Pattern of names (fnmatch; of tensors, or of the modules that have them) to the dimension of
which each rank keeps a chunk, or to a style of transformers' tp_plan; the first that fits counts.
None as a value, or no pattern that fits: whole. A model stands for its `tp_plan`."""

BATCH = 256 << 20
"""Bytes that a rank decodes of a batch: what others need of one is passed on while the next ones
are read and decoded."""

_LANES = 2  # batches that are read and decoded at once, so that one begins while one ends
_STREAMS = 4  # of all lanes of a rank
_HOST_MEMORY = 64 << 20  # likewise, of staging memory: that of all ranks is to stay in caches
_HOST_MEMORY_ALONE = 96 << 20  # where a rank has the host to itself
_ROWS = 4 << 20  # decoded bytes above which ranks share one tensor's rows

# Styles of tp_plan by what they do to a weight of two dimensions.
_ROW_CUT = ("colwise", "colwise_rep", "colwise_gather_output", "local_colwise", "embedding_colwise")
_COLUMN_CUT = ("rowwise", "rowwise_rep", "rowwise_split_input", "local_rowwise")
_WHOLE = ("replicate", "sequence_parallel", "gather", "local", "isolated")


def load(
    path: Path,
    group: dist.ProcessGroup | None = None,
    plan: Plan = None,
    *,
    device: Device | None = "cpu",
    names: Iterable[str] | None = None,
    backend: str | None = None,
    threads: int | None = None,
    base: Base = None,
    storage_options: StorageOptions = None,
    timeout: float = 1800.0,
) -> dict[str, torch.Tensor]:
    """Tensors of a checkpoint, on all ranks of a group at once.

    Args:
        path: as of safe_open().
        group: whose ranks load; None: all.
        plan: what a rank keeps of which tensors; None: all of all. The part is that of
            `torch.chunk(tensor, world, dimension)[rank]`, empty where there are fewer chunks.
        device: where they go, on this rank. For devices other than the CPU the group's backend must
            work on their memory.
        names: only these tensors.
        backend, base, storage_options: as of safe_open().
        threads: of the CPU; None: the host's cores, divided by its ranks.
        timeout: seconds that a rank waits for others that say nothing.

    Returns:
        Tensors by name, in the order of their data; each has storage of its own.

    Raises:
        What load_file() of wcodec.torch does, on all ranks; of another rank the text begins with
        its number. MismatchError where ranks see different files. CancelledError where a rank has
        ended, or says nothing for `timeout`.
    """
    with crew_of(group, timeout) as crew:
        reader = _open(crew, path, backend, threads, base, storage_options)
        try:
            wanted = crew.do(lambda: _planned(reader, crew, plan, names))
            made = crew.do(lambda: _framework(crew, wanted, device, backend))
            _same_everywhere(crew, wanted, [made.device] * len(wanted))
            rooms = crew.do(lambda: {i: _room(w, made.device) for i, w in enumerate(wanted)})
            # What each reads for itself is not passed on, and waits for no batch.
            sizes = [want.info.nbytes if _is_passed_on(crew, want) else 0 for want in wanted]
            _bring(crew, reader, made, wanted, rooms, batches(sizes, BATCH * crew.fewest))
            return {want.info.name: rooms[i] for i, want in enumerate(wanted)}
        finally:
            reader.close()


def load_into(
    state: Mapping[str, Any],
    path: Path,
    group: dist.ProcessGroup | None = None,
    *,
    backend: str | None = None,
    threads: int | None = None,
    base: Base = None,
    storage_options: StorageOptions = None,
    timeout: float = 1800.0,
) -> None:
    """Load to tensors that are there, such as a model's state_dict() after fully_shard().

    Args:
        state: names to tensors, with shapes as in the file; values are converted to their types. Of
            a DTensor, a rank reads and decodes the rows that its part is in. Others are loaded by
            the ranks of a host together. Not all tensors of the file need be there.
        path, group, backend, threads, base, storage_options, timeout: as of load().

    Raises:
        What load() does; TensorNotFoundError for a name that the file has not, UsageError for
        another shape, or a DTensor with partial sums. Some tensors may have been loaded then.
    """
    with crew_of(group, timeout) as crew:
        reader = _open(crew, path, backend, threads, base, storage_options)
        try:
            wanted = crew.do(lambda: [_part_of(reader, n, t) for n, t in state.items()])
            devices = [_local(target).device for target in state.values()]
            _same_everywhere(crew, wanted, devices)
            for device in dict.fromkeys(devices):
                here = [
                    (want, target)
                    for want, target, its in zip(wanted, state.values(), devices)
                    if its == device
                ]
                needs = [want for want, _ in here]
                made = crew.do(partial(_framework, crew, needs, device, backend))
                parts = batches([want.info.nbytes for want in needs], BATCH)
                _bring(crew, reader, made, needs, {}, parts, partial(_fill, here))
        finally:
            reader.close()


class _Want(NamedTuple):
    """What this rank keeps of a tensor."""

    info: TensorInfo
    dimension: int | None = None
    """That is cut, of a plan; None: whole."""
    rows: tuple[int, int] | None = None
    """First and count that this rank reads itself."""
    parts: tuple[tuple[int, int], ...] = ()
    """Of dimension 1 and up, of those rows: offset and size."""

    def cut_from(self, tensor: torch.Tensor) -> torch.Tensor:
        for dimension, (offset, size) in enumerate(self.parts, 1):
            tensor = tensor.narrow(dimension, offset, size)
        return tensor


def _planned(reader: AnyReader, crew: Crew, plan: Plan, names: Iterable[str] | None) -> list[_Want]:
    patterns: Any = plan if plan is None or isinstance(plan, Mapping) else _tp_plan(plan)
    wanted = []
    for info in described(reader, None if names is None else list(names)):
        dimension = _dimension(info, patterns or {})
        if dimension is None:
            wanted.append(_Want(info))
            continue
        known = DTYPES.get(info.dtype)
        if known is None or known.bits % 8:
            text = f"tensor {info.name!r} of type {info.dtype} has no parts of whole bytes"
            raise UnsupportedError(text, tensor=info.name)
        rows = crew.chunk(info.shape[0]) if dimension == 0 else None
        wanted.append(_Want(info, dimension, rows))
    return wanted


def _tp_plan(model: object) -> Mapping[str, Any]:
    found = getattr(model, "tp_plan", None) or getattr(model, "_tp_plan", None)
    if not isinstance(found, Mapping):
        raise UsageError(f"plan is {type(model).__name__}, which has no tp_plan")
    return found


def _dimension(info: TensorInfo, plan: Mapping[str, Any]) -> int | None:
    """Which one of a tensor is cut; None: it stays whole."""
    for pattern, value in plan.items():
        if not any(fnmatch.fnmatchcase(info.name, p) for p in (pattern, pattern + ".*")):
            continue
        if value is None or value in _WHOLE:
            return None
        if value in _ROW_CUT:
            value = 0
        elif value in _COLUMN_CUT:
            if len(info.shape) < 2:  # a bias is added once
                return None
            value = 1
        if not isinstance(value, int) or isinstance(value, bool):
            text = f"the plan has {value!r} for tensor {info.name!r}: expected a dimension"
            raise UsageError(text, tensor=info.name)
        if not -len(info.shape) <= value < len(info.shape):
            text = f"tensor {info.name!r} has no dimension {value}"
            raise UsageError(text, tensor=info.name)
        return value % len(info.shape)
    return None


def _local(tensor: Any) -> torch.Tensor:
    made: torch.Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return made


def _part_of(reader: AnyReader, name: str, tensor: Any) -> _Want:
    """What of a file's tensor a tensor that is there holds."""
    if not isinstance(tensor, torch.Tensor):
        raise UsageError(f"{name!r} is {type(tensor).__name__}, not a tensor", tensor=name)
    info = reader.tensor(reader.find(name))
    if tuple(tensor.shape) != info.shape:
        text = f"tensor {name!r} is {list(info.shape)} in the file, here {list(tensor.shape)}"
        raise UsageError(text, tensor=name)
    if not hasattr(tensor, "to_local") or not info.shape:
        return _Want(info)
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    if any(placement.is_partial() for placement in tensor.placements):  # type: ignore[attr-defined]
        raise UsageError(f"tensor {name!r} has partial sums", tensor=name)
    sizes, offsets = compute_local_shape_and_global_offset(
        info.shape,
        tensor.device_mesh,  # type: ignore[attr-defined]
        tensor.placements,  # type: ignore[attr-defined]
    )
    # Where a part is empty, its offset may be anything.
    places = [(offset if size else 0, size) for offset, size in zip(offsets, sizes)]
    return _Want(info, rows=places[0], parts=tuple(places[1:]))


def _fill(targets: Sequence[tuple[_Want, Any]], rooms: Mapping[int, torch.Tensor]) -> None:
    with torch.no_grad():
        for i, room in rooms.items():
            want, target = targets[i]
            _local(target).copy_(want.cut_from(room))


def _framework(
    crew: Crew, wanted: Sequence[_Want], device: Device | None, backend: str | None
) -> Framework:
    made = Framework(device, compute_backend(backend))
    if any(_is_passed_on(crew, want) for want in wanted):
        crew.check_passes(made.device)
    return made


def _room(want: _Want, device: torch.device) -> torch.Tensor:
    """A tensor for what this rank keeps; of what is cut in columns it is made later."""
    if want.rows is not None:
        return empty(Request(want.info, *want.rows), device)
    if want.dimension is not None:
        return torch.empty(0)
    return empty(Request(want.info), device)


def _open(
    crew: Crew,
    path: Path,
    backend: str | None,
    threads: int | None,
    base: Base,
    storage_options: StorageOptions,
) -> AnyReader:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    share = max(1, (cores or 1) // len(crew.host)) if not os.environ.get("WCODEC_THREADS") else None
    return crew.do(
        lambda: open_any(
            path,
            backend=compute_backend(backend),
            threads=threads or share,
            base=base,
            storage_options=storage_options,
        )
    )


def _same_everywhere(crew: Crew, wanted: Sequence[_Want], devices: Sequence[torch.device]) -> None:
    """Ranks that see different files, or have their tensors elsewhere, would wait for tensors that
    never come."""
    order = list(dict.fromkeys(devices))
    seen = []
    for want, device in zip(wanted, devices):
        info = want.info
        text = f"tensor {info.name!r}, {info.dtype} {list(info.shape)}"
        if want.dimension is not None:
            text += f", cut in dimension {want.dimension}"
        elif want.rows is not None:
            text += ", of which it has a part"
        text += f", on {device.type}, of devices number {order.index(device)}"
        seen.append(text.encode("utf-8", "backslashreplace"))
    if len(set(crew.tell(hashlib.sha256(repr(seen).encode()).digest()))) == 1:
        return
    what = "the ranks see different files, or were given different arguments"
    for text_of_all in (crew.tell(said) for said in [*seen, b"no more"]):
        for rank, said in enumerate(text_of_all):
            if said != text_of_all[0]:
                first, other = (s.decode("utf-8", "replace") for s in (text_of_all[0], said))
                raise MismatchError(f"{what}: rank 0 has {first}; rank {rank} has {other}")
    raise MismatchError(what)


class _Unit(NamedTuple):
    """Rows of a tensor that one rank of the host decodes for all, or a whole small one."""

    number: int
    owner: int
    first: int
    length: int
    """0: all."""


def _shared(numbers: Sequence[int], wanted: Sequence[_Want], ranks: int) -> list[_Unit]:
    """Who decodes what: the largest first, each to the one who has least."""
    pieces = []
    for number in numbers:
        info = wanted[number].info
        known = DTYPES.get(info.dtype)
        if info.nbytes < _ROWS or known is None or known.bits % 8 or info.shape[0] < ranks:
            pieces.append((info.nbytes, number, 0, 0))
            continue
        step = -(-info.shape[0] // ranks)
        for first in range(0, info.shape[0], step):
            count = min(step, info.shape[0] - first)
            pieces.append((info.nbytes // info.shape[0] * count, number, first, count))
    held = [0] * ranks
    units = []
    for nbytes, number, first, count in sorted(pieces, key=lambda piece: -piece[0]):
        owner = held.index(min(held))
        held[owner] += nbytes
        units.append(_Unit(number, owner, first, count))
    return units


class _Batch(NamedTuple):
    """Tensors that are loaded together, and what follows when they are there."""

    load: Load
    numbers: Sequence[int]
    """Of all of them."""
    units: list[_Unit]
    cut: list[int]
    """Numbers of those that are cut in columns."""
    bands: list[torch.Tensor]
    """Of each of these, the rows that this rank decodes."""


Rooms = dict[int, torch.Tensor]
"""Where tensors are loaded to, by their numbers."""


def _bring(
    crew: Crew,
    reader: AnyReader,
    made: Framework,
    wanted: Sequence[_Want],
    rooms: Rooms,
    parts: Iterable[Sequence[int]],
    take: Callable[[Rooms], None] | None = None,
) -> None:
    """Load what is wanted, in parts: what others need of one is passed on while the next ones are
    read and decoded.

    take: gets the rooms of each part when its tensors are there, after which they go; a tensor that
    has no room gets one when its part begins.
    """
    left = deque(parts)
    lanes = min(_LANES, len(left))
    under_way: deque[_Batch] = deque()
    there: list[_Batch] = []
    try:
        while left or under_way:
            while left and len(under_way) < lanes:
                under_way.append(_begin(crew, reader, made, wanted, rooms, left.popleft(), lanes))
            _pass_on(crew, there, wanted, rooms, take)
            there.clear()  # and their memory
            there = [under_way.popleft() for _ in range(crew.finish([b.load for b in under_way]))]
        _pass_on(crew, there, wanted, rooms, take)
    finally:
        for batch in under_way:
            batch.load.stop()


def _is_passed_on(crew: Crew, want: _Want) -> bool:
    return want.rows is None and (want.dimension is not None or crew.most > 1)


def _pass_on(
    crew: Crew,
    there: Iterable[_Batch],
    wanted: Sequence[_Want],
    rooms: Rooms,
    take: Callable[[Rooms], None] | None,
) -> None:
    for batch in there:
        crew.spread([(_rows(rooms[u.number], u), u.owner) for u in batch.units])
        if batch.cut:
            cuts = crew.do(partial(_cut, crew, batch, wanted))
            for i in batch.cut:
                rooms[i] = crew.exchange(cuts.popleft())
        if take is not None:
            crew.do(partial(take, {i: rooms.pop(i) for i in batch.numbers}))


def _cut(crew: Crew, batch: _Batch, wanted: Sequence[_Want]) -> deque[Cut]:
    """What is sent of each band, in the bands' place."""
    cuts: deque[Cut] = deque()
    for i in batch.cut:
        info, dimension = wanted[i].info, wanted[i].dimension
        assert dimension is not None
        cuts.append(crew.cut(batch.bands.pop(0), info.shape, dimension))
    return cuts


def _begin(
    crew: Crew,
    reader: AnyReader,
    made: Framework,
    wanted: Sequence[_Want],
    rooms: Rooms,
    some: Sequence[int],
    lanes: int,
) -> _Batch:
    own = [i for i in some if wanted[i].rows is not None]
    cut = [i for i in some if wanted[i].rows is None and wanted[i].dimension is not None]
    whole = [i for i in some if wanted[i].rows is None and wanted[i].dimension is None]
    units = _shared(whole, wanted, len(crew.host))
    bands: list[torch.Tensor] = []
    host_memory = _HOST_MEMORY if len(crew.host) > 1 else _HOST_MEMORY_ALONE

    def begin() -> tuple[Started, Callable[[], None]]:
        for i in some:
            if i not in rooms:
                rooms[i] = _room(wanted[i], made.device)
        pairs = [(Request(wanted[i].info, *(wanted[i].rows or ())), rooms[i]) for i in own]
        for unit in units:
            if unit.owner == crew.place:
                rows = (unit.first, unit.length) if unit.length else ()
                request = Request(wanted[unit.number].info, *rows)
                pairs.append((request, _rows(rooms[unit.number], unit)))
        of_cut = _bands(crew, [wanted[i].info for i in cut], made)
        bands.extend(band for _, band in of_cut)
        filled = [(request, target) for request, target in pairs + of_cut if request.nbytes]
        return made.begin_to(
            reader,
            [request for request, _ in filled],
            [target for _, target in filled],
            streams=_STREAMS // lanes,
            host_memory=host_memory // lanes,
        )

    return _Batch(Load(begin), some, units, cut, bands)


def _rows(tensor: torch.Tensor, unit: _Unit) -> torch.Tensor:
    return tensor.narrow(0, unit.first, unit.length) if unit.length else tensor


def _bands(
    crew: Crew, infos: Sequence[TensorInfo], made: Framework
) -> list[tuple[Request, torch.Tensor]]:
    """Of tensors that are cut in columns, the rows that this rank decodes for its host."""
    places = [chunk_of(info.shape[0], crew.place, len(crew.host)) for info in infos]
    requests = [Request(info, *place) for info, place in zip(infos, places)]
    return [(request, empty(request, made.device)) for request in requests]
