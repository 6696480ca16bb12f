# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The ranks of a group that load together: what they tell each other, and pass on."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import datetime
import hashlib
import math
import socket
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
import torch.distributed as dist

from . import _errors
from ._errors import CancelledError, UnsupportedError, UsageError, WcodecError
from ._loading import Started
from ._rendezvous import meet

_TELL = 1.0  # seconds between two times that ranks tell each other that they are at it
_FAILED = b"!"  # what a rank says begins with, if it failed
_TEXT = 1024  # bytes in which a rank says how it went
_T = TypeVar("_T")


class Load:
    """What this rank reads and decodes beside what it is at."""

    def __init__(self, begin: Callable[[], tuple[Started, Callable[[], None]]]) -> None:
        self._raised: BaseException | None = None
        self._started: Started | None = None
        self._is_there = False
        try:
            self._started, self._bring = begin()
        except BaseException as error:  # which all hear of when they ask for this load
            self._raised = error

    def wait(self, seconds: float) -> bool:
        """Whether it ended well by then; raises what it failed with."""
        if self._is_there:
            return True
        if self._started is None:
            assert self._raised is not None
            raise self._raised
        begun = now = time.monotonic()
        while not self._started.ended():
            if now - begun >= seconds:
                return False
            time.sleep(min(0.0002 + (now - begun) / 64, 0.01))
            now = time.monotonic()
        self._started.finish()
        self._bring()
        self._started = None  # which keeps the memory that it filled
        del self._bring
        self._is_there = True
        return True

    def stop(self) -> None:
        """End it, for better or worse."""
        if self._started is not None:
            self._started.cancel()
            with contextlib.suppress(Exception):
                self._started.finish()


def chunk_of(size: int, number: int, of: int) -> tuple[int, int]:
    """First index and length of a chunk, as torch.chunk() cuts."""
    step = -(-size // of)
    begin = min(number * step, size)
    return begin, min(step, size - begin)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).view(torch.uint8)


class Cut(NamedTuple):
    """A band of rows that is cut into what each rank of the host keeps."""

    sent: torch.Tensor
    """The parts for all of them, one after the other."""
    sizes: list[int]
    """Bytes of each part."""
    kept: torch.Tensor
    """Room for what this rank keeps; where it has the host to itself, its part."""


class Crew:
    """The ranks of a group, and those of them on this host, who work together. What they tell each
    other goes by gloo, over connections that are closed with it: who waits for a rank that has
    failed, or ended, hears of it."""

    def __init__(self, group: dist.ProcessGroup | None, timeout: float) -> None:
        self.group = group
        self._ranks = tuple(dist.get_process_group_ranks(group))
        self.rank, self.world = dist.get_rank(group), len(self._ranks)
        if self.rank < 0:
            raise UsageError("this rank is not in the group")
        self.timeout = timeout
        self._spread: dist.ProcessGroup | None = None
        name = f"wcodec/{_object_of(group).group_name}/{'.'.join(map(str, self._ranks))}"
        try:
            self._key = f"{name}/{meet(_store(), name, self.world, timeout)}"
        except (RuntimeError, TimeoutError) as error:
            raise self._gone(error) from None
        self._all = self._gloo("all", range(self.world))
        hosts = self.tell(_host_name())
        self.host = [rank for rank in range(self.world) if hosts[rank] == hosts[self.rank]]
        """Ranks of the group on this host."""
        self.place = self.host.index(self.rank)
        counts = [hosts.count(host) for host in hosts]
        self.fewest, self.most = min(counts), max(counts)
        """Ranks of a host, where there are fewest and most."""
        alone = len(self.host) == self.world
        self._here = self._all if alone else self._gloo(f"host{self.host[0]}", self.host)

    def close(self) -> None:
        self._all = self._here = None

    def _gloo(self, name: str, ranks: Sequence[int]) -> Any:
        own: Any = dist  # of which not all that is there is declared
        store = own.PrefixStore(f"{self._key}/{name}", _store())
        timeout = datetime.timedelta(seconds=self.timeout)
        try:
            return own.ProcessGroupGloo(store, list(ranks).index(self.rank), len(ranks), timeout)
        except RuntimeError as error:
            raise self._gone(error) from None

    def _gone(self, error: Exception) -> WcodecError:
        text = " ".join(str(error).split())
        return CancelledError(f"rank {self.rank}: another rank ended, or says nothing: {text}")

    @contextlib.contextmanager
    def _passing(self) -> Iterator[None]:
        """Passing on fails as others have ended, if a backend says so; all else is this rank's."""
        known: Any = dist
        try:
            yield
        except RuntimeError as error:
            if isinstance(error, known.DistError) or "gloo" in str(error).lower():
                raise self._gone(error) from None
            raise

    def check_passes(self, device: torch.device) -> None:
        """Whether ranks of this host can pass on what is in such memory."""
        if device.type == "cpu" or len(self.host) == 1:
            return
        try:
            _object_of(self.group)._get_backend(device)
        except RuntimeError as error:
            text = f"the group has no backend for tensors on {device.type}: {error}"
            raise UsageError(text) from None

    def chunk(self, size: int) -> tuple[int, int]:
        """First index and length of what this rank keeps of a dimension."""
        return chunk_of(size, self.rank, self.world)

    def tell(self, said: bytes) -> list[bytes]:
        """What each rank says, in their order: at most _TEXT bytes."""
        return self._told(self._all, self.world, said)

    def _told(self, connections: Any, count: int, said: bytes) -> list[bytes]:
        text = said[:_TEXT]
        mine = torch.frombuffer(
            bytearray(len(text).to_bytes(2, "little") + text.ljust(_TEXT, b"\0")), dtype=torch.uint8
        )
        heard = [torch.empty_like(mine) for _ in range(count)]
        try:
            connections.allgather([heard], [mine]).wait()
        except RuntimeError as error:
            raise self._gone(error) from None
        texts = [ctypes.string_at(one.data_ptr(), one.numel()) for one in heard]
        return [one[2 : 2 + int.from_bytes(one[:2], "little")] for one in texts]

    def do(self, work: Callable[[], _T]) -> _T:
        """What this rank does by itself; all go on only if it went well with all."""
        raised: BaseException | None = None
        result: Any = None
        try:
            result = work()
        except BaseException as error:
            raised = error
        self._agree(raised)
        return result  # type: ignore[no-any-return]

    def finish(self, loads: Sequence[Load]) -> int:
        """How many of the first of these loads have ended well on all ranks, one at least. While
        they wait they tell each other now and then that they are at it: who ends is soon missed."""
        all_ended = 0
        while not all_ended:
            raised: BaseException | None = None
            ended = 0
            try:
                while ended < len(loads) and loads[ended].wait(0 if ended else _TELL):
                    ended += 1
            except BaseException as error:
                raised = error
            all_ended = min(heard[0] for heard in self._agree(raised, bytes([ended])))
        return all_ended

    def _agree(self, raised: BaseException | None, said: bytes = b"") -> list[bytes]:
        """What all ranks say; raises what one of them has raised."""
        if raised is not None:
            said = _FAILED + f"{type(raised).__name__}: {raised}".encode(
                "utf-8", "backslashreplace"
            )
        try:
            heard = self.tell(said)
        except WcodecError:
            if raised is not None:
                raise raised from None
            raise
        if raised is not None:
            raise raised
        for rank, text in enumerate(heard):
            if text.startswith(_FAILED):
                whole = text[len(_FAILED) :].decode("utf-8", "replace")
                kind, _, why = whole.partition(": ")
                known = getattr(_errors, kind, WcodecError)
                fits = isinstance(known, type) and issubclass(known, WcodecError)
                raise (known if fits else WcodecError)(f"rank {rank}: {why if fits else whole}")
        return heard

    def _device_group(self) -> dist.ProcessGroup | None:
        """What moves bytes between devices of this host: None stands for all ranks."""
        if len(self.host) == self.world:
            return self.group
        if self._spread is None:
            whole = _object_of(self.group)
            known = _between.get(whole)
            name = known.group_name if known is not None and _is_registered(known) else ""
            if set(self._told_here(name)) != {name} or not name:
                known = _between[whole] = self._new_group([self._ranks[rank] for rank in self.host])
            self._spread = known
        return self._spread

    def _told_here(self, text: str) -> list[str]:
        heard = self._told(self._here, len(self.host), text.encode())
        return [one.decode() for one in heard]

    def _new_group(self, ranks: list[int]) -> Any:
        """One of torch's, of these ranks. Its name comes of a counter, which is the same on all
        ranks of the program only while all make the same groups: it is set to what these agree on,
        and left as it was."""
        torchs: Any = dist.distributed_c10d
        state, digest = torchs._world, hashlib.sha256(self._key.encode()).digest()
        before = state.group_count
        try:
            state.group_count = int.from_bytes(digest[:6], "little")
            if len(set(self._told_here(torchs._hash_ranks_to_str(ranks)))) > 1:
                text = "ranks of one host are in different numbers of groups, of which this version"
                raise UnsupportedError(f"{text} of torch makes the names of new ones")
            return dist.new_group(ranks, use_local_synchronization=True)
        finally:
            state.group_count = before

    def spread(self, parts: Sequence[tuple[torch.Tensor, int]]) -> None:
        """Tensors that one of the host's ranks has, to all others of it."""
        if len(self.host) == 1:
            return
        between: list[tuple[torch.Tensor, int]] = []
        with self._passing():
            for tensor, owner in parts:
                if not tensor.numel():
                    continue
                raw = _bytes(tensor)
                if tensor.device.type == "cpu":
                    # One after the other: what is under way keeps connections open, and others
                    # waiting.
                    self._here.broadcast(raw, owner).wait()
                else:
                    between.append((raw, owner))
            self._spread_on_device(between)

    def _spread_on_device(self, parts: Sequence[tuple[torch.Tensor, int]]) -> None:
        """At once, in all directions, where the backend can; else one after the other."""
        if not parts:
            return
        group, device = self._device_group(), parts[0][0].device
        if not _coalesces(group, device):
            for raw, owner in parts:
                dist.broadcast(raw, self._ranks[self.host[owner]], group)
            return
        operations: list[Any] = []
        for raw, owner in parts:
            others = [place for place in range(len(self.host)) if place != owner]
            peers = others if owner == self.place else [owner]
            send = dist.isend if owner == self.place else dist.irecv
            operations += [
                dist.P2POp(send, raw, self._ranks[self.host[peer]], group) for peer in peers
            ]
        with _current(device):  # NCCL groups what is for the current device
            for work in dist.batch_isend_irecv(operations):
                work.wait()  # the stream's: what follows there finds it

    def cut(self, band: torch.Tensor, whole: Sequence[int], dimension: int) -> Cut:
        """Of a tensor of that shape, of which each rank of the host has a band of rows: the band's
        parts for each, whose chunks of a dimension they keep."""
        chunks = [chunk_of(whole[dimension], rank, self.world) for rank in self.host]
        after = list(band.shape[dimension + 1 :])
        shapes = [[*band.shape[:dimension], length, *after] for _, length in chunks]
        counts = [math.prod(shape) for shape in shapes]
        sent = torch.empty(sum(counts), dtype=band.dtype, device=band.device)
        for part, shape, chunk in zip(torch.split(sent, counts), shapes, chunks):
            part.view(shape).copy_(band.narrow(dimension, *chunk))
        if len(self.host) == 1:
            kept = sent.view(shapes[0])
        else:
            rows = [whole[0], *shapes[self.place][1:]]
            kept = torch.empty(rows, dtype=band.dtype, device=band.device)
        return Cut(sent, [count * band.element_size() for count in counts], kept)

    def exchange(self, cut: Cut) -> torch.Tensor:
        """What this rank keeps, of the bands of all ranks of the host."""
        if len(self.host) == 1:
            return cut.kept
        count = cut.kept.shape[0]
        row = cut.kept[:1].numel() * cut.kept.element_size()
        taken = [chunk_of(count, place, len(self.host))[1] * row for place in range(len(self.host))]
        kept, sent = _bytes(cut.kept), _bytes(cut.sent)
        with self._passing():
            if sent.device.type == "cpu":
                options = dist.distributed_c10d.AllToAllOptions()
                self._here.alltoall_base(kept, sent, taken, cut.sizes, options).wait()
            else:
                dist.all_to_all_single(kept, sent, taken, cut.sizes, self._device_group())
        return cut.kept


_between: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
"""What moves bytes between devices of a host, of groups that have ranks on others too."""
_kept: weakref.WeakKeyDictionary[Any, Crew] = weakref.WeakKeyDictionary()
"""Of groups whose last load ended well. It goes with the group: its connections hold its store."""
atexit.register(_kept.clear)


@contextlib.contextmanager
def crew_of(group: dist.ProcessGroup | None, timeout: float) -> Iterator[Crew]:
    """The crew of a group for one load."""
    if not dist.is_available() or not dist.is_initialized():
        raise UsageError("torch.distributed is not initialized: call init_process_group()")
    if not _is_registered(group):
        raise UsageError("the group was destroyed")
    crew = _kept_crew(group, timeout) or Crew(group, timeout)
    try:
        yield crew
        crew.do(lambda: None)  # that it ended well is known to all: so all keep it, or none
    except BaseException:
        crew.close()
        raise
    crew.group = None
    _kept[_object_of(group)] = crew


def _kept_crew(group: dist.ProcessGroup | None, timeout: float) -> Crew | None:
    """The crew of the last load, if its connections are still there."""
    known = _object_of(group)
    crew = _kept.pop(known, None) if isinstance(known, dist.ProcessGroup) else None
    if crew is None or crew.timeout != timeout:
        return None
    try:
        crew.tell(b"")
    except CancelledError:  # one of the ranks has not kept it
        crew.close()
        return None
    crew.group = group
    return crew


def _object_of(group: dist.ProcessGroup | None) -> Any:
    made: Any = dist
    return made.group.WORLD if group is None else group


def _store() -> Any:
    """Which all ranks of the program see."""
    own: Any = dist.distributed_c10d
    return own._get_default_store()


def _is_registered(group: dist.ProcessGroup | None) -> bool:
    """Whether a group is there; whoever is not in it has no more than a number."""
    if group is None or not isinstance(group, dist.ProcessGroup):
        return True
    try:
        return bool(dist.get_process_group_ranks(group))
    except KeyError:
        return False


def _coalesces(group: dist.ProcessGroup | None, device: torch.device) -> bool:
    """Whether a backend makes one operation of many sends and receives."""
    return bool(getattr(_object_of(group)._get_backend(device), "supports_coalescing", False))


def _current(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Make it the current device of its kind."""
    kind: Any = getattr(torch, device.type)
    made: contextlib.AbstractContextManager[Any] = (
        kind.device(device) if hasattr(kind, "device") else contextlib.nullcontext()
    )
    return made


def _host_name() -> bytes:
    """What tells hosts apart: containers of one host may have its name, or not."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip().encode() + socket.gethostname().encode()
    except OSError:
        return socket.gethostname().encode()
