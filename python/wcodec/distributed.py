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

All ranks of the group call the same function with the same arguments but for `device`. A rank that
fails makes all fail: each raises the error of the first, with its number. A rank that ends makes
the others raise as soon as they need to hear of it.
"""

from __future__ import annotations

import datetime
import fnmatch
import hashlib
import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, Union

import torch
import torch.distributed as dist

from . import _errors
from ._bases import Base
from ._dtypes import DTYPES
from ._errors import (
    CancelledError,
    MismatchError,
    UnsupportedError,
    UsageError,
    WcodecError,
)
from ._frameworks import Request, compute_backend, described
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

BATCH = 512 << 20
"""Decoded bytes of all ranks of a host between two times that they tell each other how it went."""

_ROWS = 4 << 20  # decoded bytes above which ranks share one tensor's rows
_TEXT = 1024  # bytes in which a rank says how it went
_T = TypeVar("_T")

# Styles of tp_plan by what they do to a weight of two dimensions.
_ROW_CUT = ("colwise", "colwise_rep", "colwise_gather_output", "local_colwise", "embedding_colwise")
_COLUMN_CUT = ("rowwise", "rowwise_rep", "rowwise_split_input", "local_rowwise")
_WHOLE = ("replicate", "sequence_parallel", "gather", "local", "isolated")

_calls: dict[tuple[int, ...], int] = {}  # loads that began in a group of these ranks


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
    with _Crew(group, timeout) as crew:
        reader = _open(crew, path, backend, threads, base, storage_options)
        try:
            wanted = crew.do(lambda: _planned(reader, crew, plan, names))
            _same_everywhere(crew, wanted)
            made = crew.do(lambda: Framework(device, compute_backend(backend)))
            tensors = crew.do(partial(_rooms, wanted, made.device))
            _bring(crew, reader, made, wanted, tensors)
            return {want.info.name: tensor for want, tensor in zip(wanted, tensors)}
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
    with _Crew(group, timeout) as crew:
        reader = _open(crew, path, backend, threads, base, storage_options)
        try:
            wanted = crew.do(lambda: [_part_of(reader, n, t) for n, t in state.items()])
            _same_everywhere(crew, wanted)
            for device in sorted({str(_local(t).device) for t in state.values()}):
                made = crew.do(partial(Framework, device, compute_backend(backend)))
                here = [
                    (want, target)
                    for want, target in zip(wanted, state.values())
                    if str(_local(target).device) == device
                ]
                for some in batches([want.info.nbytes for want, _ in here], BATCH):
                    chosen = [here[i][0] for i in some]
                    rooms = crew.do(partial(_rooms, chosen, made.device))
                    _bring(crew, reader, made, chosen, rooms)
                    with torch.no_grad():
                        for i, room in zip(some, rooms):
                            want, target = here[i]
                            _local(target).copy_(want.cut_from(room))
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


def _planned(
    reader: AnyReader, crew: _Crew, plan: Plan, names: Iterable[str] | None
) -> list[_Want]:
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


def _rooms(wanted: Sequence[_Want], device: torch.device) -> list[torch.Tensor]:
    return [_room(want, device) for want in wanted]


def _room(want: _Want, device: torch.device) -> torch.Tensor:
    """A tensor for what this rank keeps; of what is cut in columns it is made later."""
    if want.rows is not None:
        return empty(Request(want.info, *want.rows), device)
    if want.dimension is not None:
        return torch.empty(0)
    return empty(Request(want.info), device)


def _open(
    crew: _Crew,
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


def _same_everywhere(crew: _Crew, wanted: Sequence[_Want]) -> None:
    """Ranks that see different files would wait for tensors that never come."""
    seen = hashlib.sha256()
    for want in wanted:
        info = want.info
        seen.update(repr((info.name, info.dtype, info.shape, want.dimension)).encode())
    if len(set(crew.tell(seen.digest()))) > 1:
        raise MismatchError("the ranks see different files, or were given different arguments")


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


def _bring(
    crew: _Crew,
    reader: AnyReader,
    made: Framework,
    wanted: Sequence[_Want],
    tensors: list[torch.Tensor],
) -> None:
    """Load what is wanted to the tensors, which are in its order."""
    for some in batches([want.info.nbytes for want in wanted], BATCH):
        own = [i for i in some if wanted[i].rows is not None]
        cut = [i for i in some if wanted[i].rows is None and wanted[i].dimension is not None]
        units = _shared(
            [i for i in some if wanted[i].rows is None and wanted[i].dimension is None],
            wanted,
            len(crew.host),
        )
        requests = [Request(wanted[i].info, *(wanted[i].rows or ())) for i in own]
        targets = [tensors[i] for i in own]
        for unit in units:
            if unit.owner == crew.place:
                rows = (unit.first, unit.length) if unit.length else ()
                requests.append(Request(wanted[unit.number].info, *rows))
                targets.append(_rows(tensors[unit.number], unit))
        bands = crew.do(partial(_bands, crew, [wanted[i].info for i in cut], made))
        requests += [request for request, _ in bands]
        targets += [band for _, band in bands]
        filled = [(r, t) for r, t in zip(requests, targets) if r.nbytes]
        crew.do(partial(made.load_to, reader, [r for r, _ in filled], [t for _, t in filled]))
        crew.spread([(_rows(tensors[u.number], u), u.owner) for u in units])
        for i, (_, band) in zip(cut, bands):
            tensors[i] = crew.columns(band, wanted[i])


def _rows(tensor: torch.Tensor, unit: _Unit) -> torch.Tensor:
    return tensor.narrow(0, unit.first, unit.length) if unit.length else tensor


def _bands(
    crew: _Crew, infos: Sequence[TensorInfo], made: Framework
) -> list[tuple[Request, torch.Tensor]]:
    """Of tensors that are cut in columns, the rows that this rank decodes for its host."""
    places = [_chunk(info.shape[0], crew.place, len(crew.host)) for info in infos]
    requests = [Request(info, *place) for info, place in zip(infos, places)]
    return [(request, empty(request, made.device)) for request in requests]


def _chunk(size: int, number: int, of: int) -> tuple[int, int]:
    """First index and length of a chunk, as torch.chunk() cuts."""
    step = -(-size // of)
    begin = min(number * step, size)
    return begin, min(step, size - begin)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).view(torch.uint8)


class _Crew:
    """The ranks of a group, and those of them on this host, who work together. What they tell each
    other goes by gloo, over connections that are closed with it: who waits for a rank that has
    failed, or ended, hears of it."""

    def __init__(self, group: dist.ProcessGroup | None, timeout: float) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise UsageError("torch.distributed is not initialized: call init_process_group()")
        self._group = group
        self._ranks = tuple(dist.get_process_group_ranks(group))
        self.rank, self.world = dist.get_rank(group), len(self._ranks)
        if self.rank < 0:
            raise UsageError("this rank is not in the group")
        self._timeout = datetime.timedelta(seconds=timeout)
        self._spread: dist.ProcessGroup | None = None
        number = _calls[self._ranks] = _calls.get(self._ranks, 0) + 1
        self._key = f"wcodec/{'.'.join(map(str, self._ranks))}/{number}"
        self._all = self._gloo("all", range(self.world))
        hosts = self.tell(_host_name())
        self.host = [rank for rank in range(self.world) if hosts[rank] == hosts[self.rank]]
        """Ranks of the group on this host."""
        self.place = self.host.index(self.rank)
        alone = len(self.host) == self.world
        self._here = self._all if alone else self._gloo(f"host{self.host[0]}", self.host)

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._all = self._here = None

    def _gloo(self, name: str, ranks: Sequence[int]) -> Any:
        own: Any = dist  # of which not all that is there is declared
        store = own.PrefixStore(f"{self._key}/{name}", own.distributed_c10d._get_default_store())
        try:
            return own.ProcessGroupGloo(
                store, list(ranks).index(self.rank), len(ranks), self._timeout
            )
        except RuntimeError as error:
            raise self._gone(error) from None

    def _gone(self, error: RuntimeError) -> WcodecError:
        text = " ".join(str(error).split())
        return CancelledError(f"rank {self.rank}: another rank ended, or says nothing: {text}")

    def chunk(self, size: int) -> tuple[int, int]:
        """First index and length of what this rank keeps of a dimension."""
        return _chunk(size, self.rank, self.world)

    def tell(self, said: bytes) -> list[bytes]:
        """What each rank says, in their order: at most _TEXT bytes."""
        mine = torch.zeros(_TEXT + 2, dtype=torch.uint8)
        text = said[:_TEXT]
        mine[: len(text) + 2] = torch.tensor(
            list(len(text).to_bytes(2, "little") + text), dtype=torch.uint8
        )
        heard = [torch.empty_like(mine) for _ in range(self.world)]
        try:
            self._all.allgather([heard], [mine]).wait()
        except RuntimeError as error:
            raise self._gone(error) from None
        texts = [bytes(one.tolist()) for one in heard]
        return [one[2 : 2 + int.from_bytes(one[:2], "little")] for one in texts]

    def do(self, work: Callable[[], _T]) -> _T:
        """What this rank does by itself; all go on only if it went well with all."""
        raised: BaseException | None = None
        result: Any = None
        try:
            result = work()
        except BaseException as error:
            raised = error
        said = b"" if raised is None else f"{type(raised).__name__}: {raised}".encode()
        try:
            heard = self.tell(said)
        except WcodecError:
            if raised is not None:
                raise raised from None
            raise
        if raised is not None:
            raise raised
        for rank, text in enumerate(heard):
            if text:
                kind, _, why = text.decode("utf-8", "replace").partition(": ")
                known = getattr(_errors, kind, WcodecError)
                fits = isinstance(known, type) and issubclass(known, WcodecError)
                raise (known if fits else WcodecError)(
                    f"rank {rank}: {why if fits else text.decode('utf-8', 'replace')}"
                )
        return result  # type: ignore[no-any-return]

    def _device_group(self) -> dist.ProcessGroup | None:
        """What moves bytes between devices of this host: None stands for all ranks."""
        if len(self.host) == self.world:
            return self._group
        if self._spread is None:
            ranks = [self._ranks[rank] for rank in self.host]
            made: Any = dist.new_group(ranks, use_local_synchronization=True)
            self._spread = made
        return self._spread

    def spread(self, parts: Sequence[tuple[torch.Tensor, int]]) -> None:
        """Tensors that one of the host's ranks has, to all others of it."""
        if len(self.host) == 1:
            return
        try:
            for tensor, owner in parts:
                if not tensor.numel():
                    continue
                raw = _bytes(tensor)
                if tensor.device.type == "cpu":
                    # One after the other: what is under way keeps connections open, and others
                    # waiting.
                    self._here.broadcast(raw, owner).wait()
                else:
                    dist.broadcast(raw, self._ranks[self.host[owner]], self._device_group())
        except RuntimeError as error:
            raise self._gone(error) from None

    def columns(self, band: torch.Tensor, want: _Want) -> torch.Tensor:
        """Of a tensor of which each rank of the host has a band of rows, what this one keeps."""
        info, dimension = want.info, want.dimension
        assert dimension is not None
        size = info.shape[dimension]
        parts = [
            band.narrow(dimension, *_chunk(size, rank, self.world)).contiguous()
            for rank in self.host
        ]
        if len(parts) == 1:
            return parts[0].clone() if parts[0] is band else parts[0]
        shape = list(info.shape)
        shape[dimension] = self.chunk(size)[1]
        kept = torch.empty(shape, dtype=band.dtype, device=band.device)
        row = kept[:1].numel() * kept.element_size()
        rows = [_chunk(shape[0], place, len(self.host))[1] for place in range(len(self.host))]
        sent = torch.cat([_bytes(part) for part in parts])
        sizes = [part.numel() * part.element_size() for part in parts]
        taken = [count * row for count in rows]
        try:
            if band.device.type == "cpu":
                options = dist.distributed_c10d.AllToAllOptions()
                self._here.alltoall_base(_bytes(kept), sent, taken, sizes, options).wait()
            else:
                dist.all_to_all_single(_bytes(kept), sent, taken, sizes, self._device_group())
        except RuntimeError as error:
            raise self._gone(error) from None
        return kept


def _host_name() -> bytes:
    """What tells hosts apart: containers of one host may have its name, or not."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip().encode() + socket.gethostname().encode()
    except OSError:
        return socket.gethostname().encode()
