# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""torch.distributed.checkpoint to and from .wcodec files.

    import torch.distributed.checkpoint as dcp
    from wcodec.engines.distributed import WcodecStorageReader, WcodecStorageWriter

    dcp.save(state, storage_writer=WcodecStorageWriter("step-1000", save_distributed=True))
    dcp.load(state, storage_reader=WcodecStorageReader("step-1000"))

The layout is that of torch's HuggingFaceStorageWriter, with each file compressed: decompressed, the
files are read by torch's HuggingFaceStorageReader; saved by one rank alone they are a model folder.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Union

import torch
from torch.distributed.checkpoint.hf_storage import (
    HuggingFaceStorageReader,
    HuggingFaceStorageWriter,
)
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from torch.distributed.checkpoint.storage import WriteResult
from torch.futures import Future

from .._dtypes import DTYPES
from .._errors import (
    CorruptError,
    MissingFileError,
    UnsupportedError,
    UsageError,
    WcodecError,
    file_error,
)
from .._files import SUFFIX
from .._frameworks import Request
from .._open import open_any
from .._options import encode_options
from .._reader import AnyReader, TensorInfo
from ..torch import _NAMES, Framework, _dtypes, save_file, shared_groups
from ._weights import BATCH, batches

__all__ = ["WcodecStorageReader", "WcodecStorageWriter"]

log = logging.getLogger("wcodec")

Path = Union[str, "os.PathLike[str]"]

PLAIN = ".safetensors"
SHARDING = "DCP_SHARDING_INFO"
"""In a file's metadata: offsets of each part in its tensor, as torch writes and reads them; beside
them the tensor's size, by which a lost file is noticed."""


class _Stored(NamedTuple):
    """Of a part that was written, by the names that torch's finish() uses."""

    relative_path: str
    length: int


class WcodecStorageWriter(HuggingFaceStorageWriter):
    """Writes .wcodec files, each of which appears when it is complete."""

    def __init__(
        self,
        path: Path,
        fqn_to_index_mapping: dict[str, int] | None = None,
        save_distributed: bool = False,
        **options: Any,
    ) -> None:
        """
        Args:
            path: the folder of the checkpoint, made where it is not there.
            fqn_to_index_mapping: names to numbers of files, from 1; None: one file.
            save_distributed: every rank writes files with its own parts of tensors; otherwise one
                rank has and writes all, and the folder is a model folder with an index.
            **options: as those of save_file(): level=3, threads=None, lossy=None, ...

        Raises:
            UsageError for an option that is wrong. dcp.save() raises its CheckpointException, in
            which an error of save_file() names file and tensor.
        """
        super().__init__(
            os.fspath(path),
            fqn_to_index_mapping=fqn_to_index_mapping,
            save_distributed=save_distributed,
        )
        encode_options(**{key: options[key] for key in options if key != "threads"})
        self._options = options

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        mapping = plan.storage_data.get("fqn_to_index_mapping") if plan.storage_data else None
        shard = plan.storage_data.get("shard_index") if plan.storage_data else None
        files: dict[int, list[WriteItem]] = {}
        for item in plan.items:
            name = item.index.fqn
            if mapping is not None and name not in mapping:
                raise UsageError(f"fqn_to_index_mapping has no file for {name!r}", tensor=name)
            files.setdefault(1 if mapping is None else mapping[name], []).append(item)
        results: list[WriteResult] = []
        for number, items in files.items():
            base = f"model-{number:05}-of-{max(mapping.values()) if mapping else 1:05}{PLAIN}"
            if shard is not None:
                base = f"shard-{shard:05}-{base}"
            results += self._write(base, items, planner)
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def _write(self, base: str, items: list[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        path = os.path.join(os.fspath(self.path), base + SUFFIX)
        tensors: dict[str, torch.Tensor] = {}
        sharding: dict[str, Any] = {}
        for item in items:
            name = item.index.fqn
            _check_item(path, item, tensors)
            assert item.tensor_data is not None
            data = planner.resolve_data(item)
            assert isinstance(data, torch.Tensor)
            tensors[name] = data.detach().to("cpu").contiguous()
            sharding[name] = {
                "saved_offsets": list(item.tensor_data.chunk.offsets),
                "size": list(item.tensor_data.size),
            }
        for group in shared_groups(tensors):  # of tied weights each is kept; the file holds one
            for name in group[1:]:
                tensors[name] = tensors[name].clone()
        metadata = {SHARDING: json.dumps(sharding), "DCP_VERSION": "1.0", "format": "pt"}
        save_file(tensors, path, metadata, **self._options)
        results = []
        for item in items:
            size = tensors[item.index.fqn].nbytes
            results.append(WriteResult(item.index, size, _Stored(base, size)))
        return results


def _check_item(path: str, item: WriteItem, taken: Mapping[str, torch.Tensor]) -> None:
    name = item.index.fqn
    if item.type == WriteItemType.BYTE_IO or item.tensor_data is None:
        text = f"{path}: {name!r} is no tensor: keep numbers and objects in tensors or elsewhere"
        raise UsageError(text, file=path, tensor=name)
    if name in taken:
        text = f"{path}: one rank has several parts of {name!r}, of which a file can hold one"
        raise UnsupportedError(text, file=path, tensor=name)
    dtype = item.tensor_data.properties.dtype
    if dtype not in _NAMES or DTYPES[_NAMES[dtype]].bits % 8:
        text = f"{path}: tensor {name!r} is of type {dtype}: "
        raise UsageError(text + "expected one of whole bytes", file=path, tensor=name)


class _Part(NamedTuple):
    """Where a part of a tensor is kept."""

    path: str
    info: TensorInfo
    offsets: tuple[int, ...]
    """Of its first element in the tensor."""
    size: tuple[int, ...] | None
    """Of the whole tensor, where the file says it."""


class WcodecStorageReader(HuggingFaceStorageReader):
    """Reads what WcodecStorageWriter wrote, to any number of ranks and any sharding; and what
    torch's HuggingFaceStorageWriter wrote, and model folders, compressed or not."""

    def __init__(
        self, path: Path, *, backend: str | None = None, threads: int | None = None
    ) -> None:
        """
        Args:
            path: the folder.
            backend, threads: as in load_file().

        dcp.load() raises its CheckpointException, in which are: MissingFileError, FileError,
        CorruptError (also where parts of a tensor are missing or overlap), UnsupportedError (a type
        that torch lacks), naming file and tensor.
        """
        super().__init__(os.fspath(path))
        self._backend = backend
        self._threads = threads

    def read_metadata(self, *_args: Any, **_kwargs: Any) -> Metadata:
        try:
            return self._metadata()
        except WcodecError as error:
            log.error("%s", error)  # dcp.load() of torch 2.11 drops what is raised here
            raise

    def _metadata(self) -> Metadata:
        by_name: dict[str, list[_Part]] = {}
        for file in _files(os.fspath(self.path)):
            reader = open_any(file, backend=self._backend, threads=self._threads)
            try:
                for part in _parts(file, reader):
                    by_name.setdefault(part.info.name, []).append(part)
            finally:
                reader.close()
        stored = {
            MetadataIndex(name, torch.Size(part.offsets)): part
            for name, parts in by_name.items()
            for part in parts
        }
        described: dict[str, Any] = {name: _described(p) for name, p in by_name.items()}
        return Metadata(
            described, storage_data=stored, storage_meta=StorageMeta(load_id=self.load_id)
        )

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        by_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            by_file.setdefault(self.storage_data[item.storage_index].path, []).append(item)
        for file, items in by_file.items():
            reader = open_any(file, backend=self._backend, threads=self._threads)
            try:
                self._read(reader, items, planner)
            finally:
                reader.close()
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def _read(self, reader: AnyReader, items: list[ReadItem], planner: LoadPlanner) -> None:
        """Many tensors at once: rows that fit are decoded to where the planner wants them, others
        to memory of that device, from which the columns that are asked for are copied."""
        requests = [_request(self.storage_data[item.storage_index], item) for item in items]
        for numbers in batches([request.nbytes for request in requests], BATCH):
            targets = {i: planner.resolve_tensor(items[i]).detach() for i in numbers}
            for device in {target.device for target in targets.values()}:
                framework = Framework(device, self._backend)
                group = [i for i in numbers if targets[i].device == device]
                fits = [i for i in group if _fits(requests[i], targets[i])]
                others = [i for i in group if not _fits(requests[i], targets[i])]
                framework.load_to(reader, [requests[i] for i in fits], [targets[i] for i in fits])
                loaded = framework.load(reader, [requests[i] for i in others])
                for i, tensor in zip(others, loaded):
                    _copy(reader, items[i], tensor, targets[i])
            for i, target in targets.items():
                planner.commit_tensor(items[i], target)


def _fits(request: Request, target: torch.Tensor) -> bool:
    """Whether the decoded bytes of a request are those of the target."""
    same = (_dtypes.get(request.info.dtype), request.shape) == (target.dtype, tuple(target.shape))
    return same and target.is_contiguous() and not target.is_conj() and not target.is_neg()


def _request(part: _Part, item: ReadItem) -> Request:
    if not part.info.shape:
        return Request(part.info)
    return Request(part.info, item.storage_offsets[0], item.lengths[0])


def _copy(reader: AnyReader, item: ReadItem, rows: torch.Tensor, target: torch.Tensor) -> None:
    for dimension in range(1, rows.dim()):
        rows = rows.narrow(dimension, item.storage_offsets[dimension], item.lengths[dimension])
    if target.size() != rows.size():
        name = item.storage_index.fqn
        text = f"{reader.path}: tensor {name!r} is asked for as {list(target.size())}: "
        text += f"the part that is stored is {list(rows.size())}"
        raise UsageError(text, file=reader.path, tensor=name)
    target.copy_(rows)


def _files(folder: str) -> list[str]:
    """Files of a checkpoint; of one that is there in both forms, the compressed."""
    try:
        names = set(os.listdir(folder))
    except OSError as error:
        raise file_error(error, folder) from None
    found = {name for name in names if name.endswith(SUFFIX)}
    found |= {name for name in names if name.endswith(PLAIN) and name + SUFFIX not in names}
    if not found:
        text = f"{folder}: no {SUFFIX} or {PLAIN} file is in it"
        raise MissingFileError(text, file=folder)
    return [os.path.join(folder, name) for name in sorted(found)]


def _parts(file: str, reader: AnyReader) -> Iterable[_Part]:
    """The tensors of a file, with where they belong."""
    text = reader.metadata().get(SHARDING)
    try:
        sharding: Any = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        raise CorruptError(f"{file}: its {SHARDING} is no JSON", file=file) from None
    for number in range(len(reader.names())):
        info = reader.tensor(number)
        if text is None:
            yield _Part(file, info, (0,) * len(info.shape), None)
            continue
        entry = sharding.get(info.name) if isinstance(sharding, dict) else None
        entry = entry if isinstance(entry, dict) else {}
        offsets = _numbers(entry.get("saved_offsets"), info)
        size = _numbers(entry.get("size", offsets), info)
        if offsets is None or size is None:
            text = f"{file}: tensor {info.name!r} has no offsets in {SHARDING}"
            raise CorruptError(text, file=file, tensor=info.name)
        yield _Part(file, info, offsets, size if "size" in entry else None)


def _numbers(value: Any, info: TensorInfo) -> tuple[int, ...] | None:
    """One number of 64 bits for each dimension, or None."""
    if not isinstance(value, (list, tuple)) or len(value) != len(info.shape):
        return None
    good = all(type(number) is int and 0 <= number < 1 << 62 for number in value)
    return tuple(value) if good else None


def _overlap(parts: Sequence[_Part]) -> bool:
    """Whether two parts, none of which is empty, have an element in common: in the order of the
    dimension in which most begin apart each is compared with those that have not ended."""
    if len(parts) < 2 or not parts[0].info.shape:
        return len(parts) > 1
    rank = range(len(parts[0].info.shape))
    axis = max(rank, key=lambda i: len({part.offsets[i] for part in parts}))
    still: list[tuple[tuple[int, int], ...]] = []
    for part in sorted(parts, key=lambda part: part.offsets[axis]):
        spans = tuple((o, o + n) for o, n in zip(part.offsets, part.info.shape))
        still = [other for other in still if other[axis][1] > spans[axis][0]]
        for other in still:
            if all(a < d and c < b for (a, b), (c, d) in zip(spans, other)):
                return True
        still.append(spans)
    return False


def _described(parts: Sequence[_Part]) -> TensorStorageMetadata:
    """A tensor as torch's planner wants it described, when its parts make it up."""
    first = parts[0]
    info = first.info
    dtype = _dtypes.get(info.dtype)
    if dtype is None or DTYPES[info.dtype].bits % 8:
        text = f"{first.path}: tensor {info.name!r} is of type {info.dtype}, which torch lacks"
        raise UnsupportedError(text, file=first.path, tensor=info.name)
    ends = [tuple(o + n for o, n in zip(part.offsets, part.info.shape)) for part in parts]
    size = first.size or tuple(map(max, zip(*ends)))
    for part, end in zip(parts, ends):
        same = (part.info.dtype, len(part.info.shape)) == (info.dtype, len(info.shape))
        if not same or part.size != first.size or any(e > s for e, s in zip(end, size)):
            text = f"{part.path}: tensor {info.name!r} contradicts {first.path}"
            raise CorruptError(text, file=part.path, tensor=info.name)
    held, needed = sum(math.prod(part.info.shape) for part in parts), math.prod(size)
    if held != needed or _overlap([part for part in parts if part.info.nbytes]):
        text = (
            f"{first.path}: parts of tensor {info.name!r} in this folder have {held} elements of "
        )
        text += f"{needed}: files are missing, or are left over from another checkpoint"
        raise CorruptError(text, file=first.path, tensor=info.name)
    return TensorStorageMetadata(
        TensorProperties(dtype=dtype),
        torch.Size(size),
        [ChunkStorageMetadata(torch.Size(p.offsets), torch.Size(p.info.shape)) for p in parts],
    )
