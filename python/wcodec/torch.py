# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Checkpoints as torch tensors: the functions of `safetensors.torch`, for both formats.

    >>> from wcodec.torch import load_file, save_file
    >>> save_file(model.state_dict(), "model.wcodec")                  # doctest: +SKIP
    >>> model.load_state_dict(load_file("model.wcodec", device="cuda"))  # doctest: +SKIP

Tensors are allocated by torch on the device asked for and decoded there, with no copy in between:
on CUDA devices by the device, after what was given to torch's current stream. Where the CUDA
backend cannot be used, and on other devices, the CPU decodes and the tensors are copied; the log
"wcodec" then says why.

Types that torch lacks come as packed bytes, with a warning.
"""

from __future__ import annotations

import fnmatch
import importlib
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import torch

from ._bases import Base
from ._context import Progress
from ._dtypes import DTYPES, packed_shape
from ._errors import BackendError, SharedTensorsError, UnsupportedError, UsageError
from ._frameworks import Request, compute_backend, described
from ._loading import Saving, Started
from ._open import open_any
from ._reader import AnyReader, Item, TensorInfo
from ._sync import Message, apply, encode
from ._write import Place, Tensor, place, start_file, write_bytes, write_file

if TYPE_CHECKING:
    from ._torch_decoded import DecodedLinear
    from ._torch_layers import Embedding, Linear
    from ._torch_resident import DecodedOnUse, ResidentModel, load_resident

__all__ = [
    "DecodedLinear",
    "DecodedOnUse",
    "Embedding",
    "Linear",
    "ResidentModel",
    "Shard",
    "delta_apply",
    "delta_encode",
    "load",
    "load_file",
    "load_model",
    "load_resident",
    "save",
    "save_file",
    "save_model",
]

_LAYERS = {
    "DecodedLinear": "_torch_decoded",
    "DecodedOnUse": "_torch_resident",
    "Embedding": "_torch_layers",
    "Linear": "_torch_layers",
    "ResidentModel": "_torch_resident",
    "load_resident": "_torch_resident",
}


def __getattr__(name: str) -> Any:
    """What needs torch 2.4, imported when it is first asked for: the rest needs less."""
    if name not in _LAYERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not hasattr(torch.library, "register_autograd"):
        raise UnsupportedError(f"wcodec.torch.{name} needs torch 2.4, this is {torch.__version__}")
    return getattr(importlib.import_module("." + _LAYERS[name], __package__), name)


log = logging.getLogger("wcodec")

Path = Union[str, "os.PathLike[str]"]
Device = Union[str, int, torch.device]

_dtypes: dict[str, torch.dtype] = {
    name: getattr(torch, known.torch)
    for name, known in DTYPES.items()
    if known.torch and hasattr(torch, known.torch)
}
_usual = {name: dtype for name, dtype in _dtypes.items() if DTYPES[name].bits % 8 == 0}
_NAMES = {dtype: name for name, dtype in _dtypes.items()}
_warned: set[str] = set()


def _warn(dtype: str) -> None:
    if dtype not in _warned:
        _warned.add(dtype)
        warnings.warn(f"torch has no type for {dtype}: it comes as bytes", stacklevel=6)


def device_of(device: Device | None) -> torch.device:
    """The torch device that is meant: a number stands for that one of the default accelerator."""
    try:
        made = torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError) as error:
        raise UsageError(f"device is {device!r}: {error}") from None
    if made.type == "cuda" and made.index is None and torch.cuda.is_available():
        made = torch.device("cuda", torch.cuda.current_device())
    return made


def empty(request: Request, device: torch.device) -> torch.Tensor:
    """A tensor for what is requested, whose contents are undefined."""
    usual = _usual.get(request.info.dtype)
    if usual is not None:
        return torch.empty(request.shape, dtype=usual, device=device)
    known = DTYPES.get(request.info.dtype)
    dtype = _dtypes.get(request.info.dtype, torch.uint8)
    shape = request.shape
    if known is None or known.torch is None or request.info.dtype not in _dtypes:
        _warn(request.info.dtype)
    if known is None:
        shape = (request.nbytes,)
    elif known.bits % 8:
        shape = packed_shape(request.info.dtype, shape)
        if len(shape) != max(len(request.shape), 1):
            dtype = torch.uint8
    elif request.info.dtype not in _dtypes:
        shape = (*shape, known.bits // 8)
    return torch.empty(shape, dtype=dtype, device=device)


def _items(requests: Sequence[Request], tensors: Sequence[torch.Tensor]) -> list[Item]:
    """What is loaded to the tensors that have memory."""
    return [
        request.item(tensor.data_ptr())
        for request, tensor in zip(requests, tensors)
        if request.nbytes and not tensor.is_meta
    ]


class Framework:
    """Tensors on one device."""

    def __init__(self, device: Device | None = "cpu", backend: str | None = None) -> None:
        self.device = device_of(device)
        if self.device.type == "cuda" and (self.device.index or 0) >= torch.cuda.device_count():
            found = torch.cuda.device_count() or "no"
            raise BackendError(f"device is {str(self.device)!r}: torch finds {found} CUDA devices")
        # A list of backends means the first that can be used.
        named = backend or os.environ.get("WCODEC_BACKEND") or "auto"
        self._asked = [name.strip() for name in named.split(",")]
        self._name = self._library_device()
        self._direct: dict[str, bool] = {}

    def _library_device(self) -> str | None:
        """The library's name of this device; None: something else is to decode."""
        if self.device.type != "cuda" or torch.version.hip:
            return None
        index, asked = self.device.index or 0, self._asked[0]
        if asked == "cuda" and index == 0:
            return asked  # one context with that of the reader
        if asked in ("auto", "cuda", f"cuda:{index}"):
            return f"cuda:{index}"
        if asked.startswith("cuda:"):
            raise UsageError(f"backend is {asked!r}: tensors are decoded on {self.device} itself")
        return None

    def _decodes_on_device(self, reader: AnyReader) -> bool:
        """Whether the library writes to this device's memory. Where it does not, the log says why,
        once for a file."""
        if self._name is None:
            return False
        known = self._direct.get(reader.path)
        if known is None:
            torch.empty(0, device=self.device)  # raises what torch has to say, as in a forked child
            try:
                known = reader.on(self._name)
            except BackendError as error:
                if all(name.startswith("cuda") for name in self._asked):
                    raise
                log.warning("%s: %s; decoding on the CPU", reader.path or "bytes", error)
                known = False
            self._direct[reader.path] = known
        return known

    def load(
        self, reader: AnyReader, requests: Sequence[Request], progress: Progress | None = None
    ) -> list[Any]:
        tensors, items, where = self._tensors(reader, requests)
        reader.load(items, progress=progress, **where)
        return self._moved(tensors)

    def begin(
        self, reader: AnyReader, requests: Sequence[Request]
    ) -> tuple[Started, Callable[[], list[Any]]]:
        tensors, items, where = self._tensors(reader, requests)
        return reader.start(items, tensors, **where), lambda: self._moved(tensors)

    def _tensors(
        self, reader: AnyReader, requests: Sequence[Request]
    ) -> tuple[list[torch.Tensor], list[Item], dict[str, Any]]:
        """Tensors on the device, or in host memory where the library does not write to it; what is
        loaded to them, and how."""
        on, where = self._memory(reader)
        tensors = [empty(request, on) for request in requests]
        return tensors, _items(requests, tensors), where

    def _memory(self, reader: AnyReader) -> tuple[torch.device, dict[str, Any]]:
        """Where the library writes, and the arguments that say so."""
        if self.device.type == "meta":
            return self.device, {}
        if not self._decodes_on_device(reader):
            return torch.device("cpu"), {}
        # Memory that torch's stream still uses is not written before that has ended.
        return self.device, {
            "memory": "cuda",
            "backend": self._name,
            "queue": torch.cuda.current_stream(self.device).cuda_stream,
        }

    def load_to(
        self, reader: AnyReader, requests: Sequence[Request], tensors: Sequence[torch.Tensor]
    ) -> None:
        """Load to tensors that are there: on this device, contiguous, of the types of the file and
        of the shapes of the requests."""
        on, where = self._memory(reader)
        if on == self.device:
            reader.load(_items(requests, tensors), **where)
            return
        for tensor, loaded in zip(tensors, self.load(reader, requests)):
            tensor.copy_(loaded)

    def begin_to(
        self,
        reader: AnyReader,
        requests: Sequence[Request],
        tensors: Sequence[torch.Tensor],
        *,
        streams: int = 0,
        host_memory: int = 0,
    ) -> tuple[Started, Callable[[], None]]:
        """load_to() beside the caller: the load, and what is to be called when it has ended. Of
        several loads at once each takes its part of streams and of staging memory; 0: the
        library's."""
        on, where = self._memory(reader)
        there = list(tensors) if on == self.device else [empty(r, on) for r in requests]
        started = reader.start(
            _items(requests, there), there, streams=streams, host_memory=host_memory, **where
        )

        def bring() -> None:
            for tensor, loaded in zip(tensors, there):
                if tensor is not loaded:
                    tensor.copy_(loaded)

        return started, bring

    def _moved(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        for i, tensor in enumerate(tensors):  # one after the other, to hold no model twice
            if tensor.device != self.device:
                tensors[i] = tensor.to(self.device)
        return tensors

    def row(self, reader: AnyReader, request: Request) -> Any:
        if self.device.type != "cpu":
            return self.load(reader, [request])[0]
        tensor = empty(request, self.device)
        if request.nbytes:
            reader.rows(
                request.info.number,
                request.first,
                request.shape[0],
                tensor.data_ptr(),
                request.nbytes,
            )
        return tensor


class Shard(NamedTuple):
    """What one rank of several keeps of each tensor, for tensor-parallel loading.

        Shard(rank, world, {"*.q_proj.weight": 0, "*.o_proj.weight": 1})

    The part is that of `torch.chunk(tensor, world, dimension)[rank]`, empty where there are fewer
    chunks. Of dimension 0, only those rows are read and decoded; other parts are cut from whole
    tensors on the device.
    """

    rank: int
    world: int
    dimensions: Mapping[str, int]
    """Pattern of names (fnmatch) to the dimension that is cut; the first that fits counts. Tensors
    that none fits are whole."""

    def of(self, info: TensorInfo) -> tuple[int, int, int] | None:
        """Dimension, first index and stop of the part; None: whole."""
        if not 0 <= self.rank < self.world:
            raise UsageError(f"rank is {self.rank} of {self.world}")
        for pattern, dimension in self.dimensions.items():
            if not fnmatch.fnmatchcase(info.name, pattern):
                continue
            if not -len(info.shape) <= dimension < len(info.shape):
                raise UsageError(
                    f"tensor {info.name!r} has no dimension {dimension}", tensor=info.name
                )
            dimension %= len(info.shape)
            size = info.shape[dimension]
            step = -(-size // self.world)
            return dimension, min(self.rank * step, size), min((self.rank + 1) * step, size)
        return None


class _Part(NamedTuple):
    """What is loaded, and what is then cut from it: dimension, first index and stop."""

    request: Request
    cut: tuple[int, int, int] | None = None

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        if self.cut is None:
            return tensor
        dimension, begin, stop = self.cut
        return tensor.narrow(dimension, begin, stop - begin).clone(
            memory_format=torch.contiguous_format
        )


_CUT_AT_ONCE = 1 << 30  # bytes, if no tensor alone has more


def _part(info: TensorInfo, shard: Shard | None) -> _Part:
    part = shard.of(info) if shard is not None else None
    if part is None:
        return _Part(Request(info))
    known = DTYPES.get(info.dtype)
    if known is None or known.bits % 8:
        raise UnsupportedError(
            f"tensor {info.name!r} of type {info.dtype} has no parts of whole bytes",
            tensor=info.name,
        )
    dimension, begin, stop = part
    if dimension == 0:
        return _Part(Request(info, begin, stop - begin))
    return _Part(Request(info), part)


def _device_for(name: str, devices: Mapping[str, torch.device]) -> torch.device:
    """Of the longest prefix of the name, by whole components, that the map has."""
    prefix = name
    while prefix and prefix not in devices:
        prefix = prefix.rpartition(".")[0]
    return devices[prefix]


def _groups(
    names: Sequence[str], device: Device | None, device_map: Mapping[str, Device] | None
) -> dict[torch.device, list[int]]:
    """Which of the names go to which device, by their places in the list."""
    if not device_map:
        return {device_of(device): list(range(len(names)))}
    devices = {"": device_of(device)} if "" not in device_map else {}
    devices.update({prefix: device_of(where) for prefix, where in device_map.items()})
    groups: dict[torch.device, list[int]] = {}
    for i, name in enumerate(names):
        groups.setdefault(_device_for(name, devices), []).append(i)
    return groups


def _batches(parts: Sequence[_Part], places: Sequence[int]) -> Iterator[list[int]]:
    """Places of what is loaded at the same time: all that stays as it is loaded, then what is cut
    afterwards, so much at once that it takes little memory besides."""
    batch = [i for i in places if parts[i].cut is None]
    size = _CUT_AT_ONCE
    for i in places:
        if parts[i].cut is None:
            continue
        size += parts[i].request.nbytes
        if size > _CUT_AT_ONCE:
            yield batch
            batch, size = [], parts[i].request.nbytes
        batch.append(i)
    yield batch


def load_into(
    reader: AnyReader,
    names: Sequence[str] | None,
    device: Device | None = "cpu",
    *,
    backend: str | None = None,
    device_map: Mapping[str, Device] | None = None,
    shard: Shard | None = None,
    progress: Progress | None = None,
) -> dict[str, torch.Tensor]:
    """Tensors of an open reader, as load_file() gives them; None: all."""
    infos = described(reader, names)
    wanted = [info.name for info in infos]
    parts = [_part(info, shard) for info in infos]
    loaded: list[Any] = [None] * len(parts)
    for where, places in _groups(wanted, device, device_map).items():
        made = Framework(where, backend)
        for batch in _batches(parts, places):
            tensors = made.load(reader, [parts[i].request for i in batch], progress)
            for at, i in enumerate(batch):
                loaded[i], tensors[at] = parts[i].of(tensors[at]), None
    return dict(zip(wanted, loaded))


def load_file(
    filename: Path,
    device: Device | None = "cpu",
    *,
    backend: str | None = None,
    threads: int | None = None,
    names: Iterable[str] | None = None,
    device_map: Mapping[str, Device] | None = None,
    shard: Shard | None = None,
    progress: Progress | None = None,
    base: Base = None,
) -> dict[str, torch.Tensor]:
    """All tensors of a .wcodec or .safetensors file, a model folder, or a *.safetensors.index.json.

    Args:
        filename: its path.
        device: where tensors go: "cpu", "cuda", 1, torch.device(...), "meta".
        backend: what decodes, "cpu", "cuda:0", "opencl" or "auto"; None: the device itself, else
            the CPU. "mmap" and "pread", which safetensors takes here, mean None.
        threads: of the CPU; None: one for each core.
        names: only these tensors.
        device_map: prefix of names to device, as of accelerate: {"model.layers.0": 0, "": "cpu"}.
        shard: the part of each tensor that one rank keeps.
        progress: called as progress(done, total) with bytes; anew for each device, and for each GiB
            of what a shard cuts from whole tensors.
        base: of deltas: files that they are differences from, or folders of them. Those in the
            file's own folder are found by themselves.

    Returns:
        Tensors by name, in the order of their data; each has storage of its own.

    Raises:
        MissingFileError, FileError, CorruptError, NewerFormatError, LimitError, OutOfMemoryError,
        TensorNotFoundError, BackendError, DeviceError, UsageError: all are WcodecError;
        torch.OutOfMemoryError where torch cannot allocate.
    """
    backend = compute_backend(backend)
    reader = open_any(filename, backend=backend, threads=threads, base=base)
    try:
        return load_into(
            reader,
            None if names is None else list(names),
            device,
            backend=backend,
            device_map=device_map,
            shard=shard,
            progress=progress,
        )
    finally:
        reader.close()


def load(data: bytes, device: Device | None = "cpu") -> dict[str, torch.Tensor]:
    """The same from the bytes of a .wcodec or .safetensors file."""
    reader = open_any(data)
    try:
        return load_into(reader, None, device)
    finally:
        reader.close()


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """First address and end of what a strided tensor shows of its storage."""
    if tensor.numel() == 0:
        return tensor.data_ptr(), tensor.data_ptr()
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


def shared_groups(tensors: Mapping[str, torch.Tensor]) -> list[list[str]]:
    """Names of tensors that show the same memory, in groups of two and more."""
    by_storage: dict[tuple[Any, int], list[tuple[int, int, str]]] = {}
    for name, tensor in tensors.items():
        if tensor.device.type == "meta" or tensor.layout != torch.strided or not tensor.numel():
            continue
        storage = tensor.untyped_storage().data_ptr()
        by_storage.setdefault((tensor.device, storage), []).append((*_extent(tensor), name))
    groups: list[list[str]] = []
    for extents in by_storage.values():
        end = -1
        for begin, stop, name in sorted(extents):
            if begin < end:
                groups[-1].append(name)
            else:
                groups.append([name])
            end = max(end, stop)
    return [group for group in groups if len(group) > 1]


def _check(tensors: dict[str, torch.Tensor], shared: bool = False) -> None:
    if not isinstance(tensors, dict):
        raise UsageError(f"expected a dict of tensors, got {type(tensors).__name__}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise UsageError(
                f"tensor {name!r} is {type(tensor).__name__}: expected torch.Tensor",
                tensor=str(name),
            )
        if tensor.layout != torch.strided:
            raise UsageError(f"tensor {name!r} is sparse: make it dense first", tensor=str(name))
        if tensor.dtype not in _NAMES:
            raise UsageError(
                f"tensor {name!r} is of type {tensor.dtype}, which the format lacks",
                tensor=str(name),
            )
        if tensor.device.type == "meta":
            raise UsageError(f"tensor {name!r} is on the meta device: no data", tensor=str(name))
        if not tensor.is_contiguous():
            raise UsageError(
                f"tensor {name!r} is not contiguous: call .contiguous() first", tensor=str(name)
            )
    groups = [] if shared else shared_groups(tensors)
    if groups:
        raise SharedTensorsError(
            f"these tensors share memory, and would not when loaded again: {groups}; "
            "save_model() keeps one of each"
        )


def _tensors(
    tensors: dict[str, torch.Tensor], direct: bool, threads: int | None
) -> tuple[list[Tensor], Place | None]:
    """What is written, and the device whose memory all of it is in, if the library reads that:
    else copies in host memory."""
    _check(tensors)
    found = _place(tensors.values(), threads) if direct else None
    return [_tensor(name, t, None if found else "cpu") for name, t in tensors.items()], found


def _place(tensors: Iterable[torch.Tensor], threads: int | None) -> Place | None:
    """The device that all of them are on, if the library reads its memory."""
    devices = {tensor.device for tensor in tensors if tensor.numel()}
    if len(devices) != 1 or torch.version.hip:
        return None
    device = devices.pop()
    if device.type != "cuda":
        return None
    queue = torch.cuda.current_stream(device).cuda_stream
    try:
        return place(f"cuda:{device.index or 0}", threads, queue)
    except BackendError as error:
        log.warning("%s; tensors are copied to host memory", error)
        return None


def _tensor(name: str, tensor: torch.Tensor, device: str | None) -> Tensor:
    held = tensor.detach()
    if device is not None:
        held = held.to(device)
    held = held.resolve_conj().resolve_neg()
    shape = tuple(held.shape)
    dtype = _NAMES[held.dtype]
    if DTYPES[dtype].bits == 4:  # torch shows pairs
        shape = (*shape[:-1], shape[-1] * 2) if shape else (2,)
    return Tensor(name, dtype, shape, held.data_ptr(), held.numel() * held.element_size(), held)


def save(
    tensors: dict[str, torch.Tensor], metadata: dict[str, str] | None = None, **options: Any
) -> bytes:
    """The bytes of a .wcodec file with these tensors; arguments as those of save_file()."""
    made, found = _tensors(tensors, True, options.get("threads"))
    return write_bytes(made, metadata, place=found, **options)


def save_file(
    tensors: dict[str, torch.Tensor],
    filename: Path,
    metadata: dict[str, str] | None = None,
    **options: Any,
) -> None:
    """Write tensors to a .wcodec file, compressed, or to a .safetensors file if that is its name.

    The file appears when it is complete; one of that name is replaced then, and kept on failure.

    Args:
        tensors: contiguous, dense, on any device, no two of which share memory. Where all are on
            one CUDA device, they come from there by pieces, when torch's current stream is done.
        filename: its path.
        metadata: text to keep with them (`__metadata__`).
        **options: as those of wcodec.compress(): level=3, lossy=None, threads=None, ...

    Raises:
        UsageError (a ValueError): a tensor that is sparse, not contiguous or of a type that the
        format lacks, or an option that is wrong. SharedTensorsError (a RuntimeError too).
        FileError, OutOfMemoryError, CancelledError.
    """
    direct = not str(os.fspath(filename)).endswith(".safetensors")
    made, found = _tensors(tensors, direct, options.get("threads"))
    write_file(made, filename, metadata, place=found, **options)


def async_save_file(
    tensors: dict[str, torch.Tensor],
    filename: Path,
    metadata: dict[str, str] | None = None,
    **options: Any,
) -> Saving:
    """Begin to write tensors to a .wcodec file and return at once; arguments as those of
    save_file(), without progress.

        saving = wcodec.torch.async_save_file(model.state_dict(), "checkpoint.wcodec")
        ...
        saving.wait()

    The tensors must not change until it has ended; those that are not all on one CUDA device, or in
    host memory, are copied to host memory before it begins.

    Returns:
        A Saving: done(), progress(), cancel(), wait().
    """
    made, found = _tensors(tensors, True, options.get("threads"))
    return start_file(made, filename, metadata, place=found, **options)


def delta_encode(
    old: dict[str, torch.Tensor], new: dict[str, torch.Tensor], **options: Any
) -> bytes:
    """As wcodec.delta_encode(): old and new tensors are each on any device; where all of one are on
    one CUDA device they come from there, when torch's current stream is done. Tied weights may be
    the same memory."""
    for tensors in (old, new):
        _check(tensors, shared=True)
    threads = options.get("threads")
    places = [_place(tensors.values(), threads) for tensors in (old, new)]
    if places[0] is not None and places[1] is not None and places[0] != places[1]:
        places[0] = None  # of two devices one is copied
    made = [
        [_tensor(name, t, None if found else "cpu") for name, t in tensors.items()]
        for tensors, found in zip((old, new), places)
    ]
    return encode(*made, old_place=places[0], new_place=places[1], **options)


def delta_apply(weights: dict[str, torch.Tensor], message: Message, **options: Any) -> None:
    """As wcodec.delta_apply(), to tensors in host memory or all on one CUDA device, where it is
    done when torch's current stream is, and before this returns."""
    _check(weights, shared=True)
    found = _place(weights.values(), options.get("threads"))
    if found is None and any(t.device.type != "cpu" for t in weights.values()):
        raise UsageError(
            "weights are changed in host memory, or in that of one CUDA device that the library "
            "can use: see the log"
        )
    made = [_tensor(name, t, None) for name, t in weights.items()]
    for tensor in made:
        if tensor.address != weights[tensor.name].data_ptr():
            raise UsageError(
                f"tensor {tensor.name!r} is a conjugate or negative view: resolve it first",
                tensor=tensor.name,
            )
    states = options.pop("states", None)
    became: dict[str, str] = {}
    try:
        apply(made, message, place=found, states=became, **options)
    finally:
        for name, state in became.items():
            if state != "before":  # autograd refuses what it kept of the old ones
                torch.autograd.graph.increment_version(weights[name])
        if states is not None:
            states.update(became)


def _tied(state: Mapping[str, torch.Tensor], preferred: Iterable[str] = ()) -> dict[str, str]:
    """Which names are left out of a file, each with the one that is kept for it: of tensors that
    share memory the one that shows all of it; of several the preferred one, then the first."""
    wanted = set(preferred)
    left_out: dict[str, str] = {}
    for group in shared_groups(state):
        extents = {name: _extent(state[name]) for name in group}
        begin, end = min(e[0] for e in extents.values()), max(e[1] for e in extents.values())
        whole = sorted(
            name
            for name in group
            if extents[name] == (begin, end)
            and state[name].numel() * state[name].element_size() == end - begin
        )
        if not whole:
            raise SharedTensorsError(
                f"these tensors share memory of which none shows all: {sorted(group)}"
            )
        kept = next((name for name in whole if name in wanted), whole[0])
        left_out.update({name: kept for name in sorted(group) if name != kept})
    return left_out


def save_model(
    model: torch.nn.Module,
    filename: Path,
    metadata: dict[str, str] | None = None,
    force_contiguous: bool = True,
    **options: Any,
) -> None:
    """Write a model's state_dict(); of tensors that share memory (tied weights) one is kept, and
    the metadata says under which name the others are found.

    Args:
        model: the model.
        filename, metadata, **options: as in save_file().
        force_contiguous: make tensors contiguous; otherwise one that is not is a UsageError.
    """
    state = model.state_dict()
    metadata = dict(metadata or {})
    for name, kept in _tied(state).items():
        metadata.setdefault(name, kept)
        del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    save_file(dict(state), filename, metadata, **options)


def load_model(
    model: torch.nn.Module,
    filename: Path,
    strict: bool = True,
    device: Device | None = "cpu",
    *,
    backend: str | None = None,
) -> tuple[list[str], list[str]]:
    """Load a file into a model, also one that save_model() wrote.

    Args:
        model: the model.
        filename, device, backend: as in load_file().
        strict: raise RuntimeError where names are missing or too many.

    Returns:
        (missing, unexpected): names of the model that were not in the file, and names of the file
        that the model has no use for.
    """
    loaded = load_file(filename, device, backend=backend)
    tied = _tied(model.state_dict(), loaded)
    result = model.load_state_dict(loaded, strict=False)
    missing = [name for name in result.missing_keys if name not in tied]
    unexpected = list(result.unexpected_keys)
    unexpected += [name for name in tied if name in loaded]
    if strict and (missing or unexpected):
        lines = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        if missing:
            lines.append(f"    Missing key(s) in state_dict: {', '.join(sorted(missing))}")
        if unexpected:
            lines.append(f"    Unexpected key(s) in state_dict: {', '.join(sorted(unexpected))}")
        raise RuntimeError("\n".join(lines))
    return missing, unexpected
