# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Opens what it is given: a .wcodec or .safetensors file, a model folder, an index, or bytes."""

from __future__ import annotations

import os

from ._bases import Base
from ._errors import CorruptError, MissingFileError, UsageError, file_error
from ._reader import AnyReader, Reader, Source
from ._remote import StorageOptions, is_remote
from ._safetensors import SafetensorsReader

MAGIC = b"\x89WCD\r\n\x1a\n"
INDEX_SUFFIX = ".safetensors.index.json"
PYTORCH_INDEX_SUFFIX = ".bin.index.json"
INDEX_SUFFIXES = (INDEX_SUFFIX, PYTORCH_INDEX_SUFFIX)
USUAL_INDEX = "model" + INDEX_SUFFIX


def open_any(
    source: Source,
    *,
    backend: str | None = None,
    threads: int | None = None,
    base: Base = None,
    storage_options: StorageOptions = None,
) -> AnyReader:
    """A reader for a path or for bytes, whichever of the two formats they are in; or for a URL of
    what is compressed."""
    if is_remote(source):
        return Reader(
            source, backend=backend, threads=threads, base=base, storage_options=storage_options
        )
    if storage_options is not None:
        raise UsageError("storage_options are for URLs")
    if isinstance(source, (bytes, bytearray, memoryview)):
        if bytes(source[:8]) == MAGIC:
            return Reader(source, backend=backend, threads=threads, base=base)
        return SafetensorsReader([bytes(source)])
    path = os.fspath(source)
    if not isinstance(path, str):
        raise TypeError(f"the path is {type(path).__name__}: expected str or os.PathLike[str]")
    if "\0" in path:
        raise UsageError("the path has a zero byte in it", file=path)
    if os.path.isdir(path):
        return _open_folder(path, backend, threads, base)
    if path.endswith(INDEX_SUFFIXES):
        return _open_index(path, backend, threads, base)
    if _is_compressed(path):
        return Reader(path, backend=backend, threads=threads, base=base)
    return SafetensorsReader([path], path)


def _is_compressed(path: str) -> bool:
    """By its first bytes; or by its name, if it cannot be the other format either."""
    try:
        with open(path, "rb", buffering=0) as file:
            begin = file.read(9)
    except OSError as error:
        raise file_error(error, path) from None
    return begin[:8] == MAGIC or (path.endswith(".wcodec") and begin[8:] != b"{")


def _open_folder(path: str, backend: str | None, threads: int | None, base: Base) -> AnyReader:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise file_error(error, path) from None
    if any(name.endswith(".wcodec") for name in names):
        return Reader(path, backend=backend, threads=threads, base=base)
    indexes = [name for name in names if name.endswith(INDEX_SUFFIX)]
    if USUAL_INDEX in indexes or len(indexes) == 1:
        name = USUAL_INDEX if USUAL_INDEX in indexes else indexes[0]
        return _open_index(os.path.join(path, name), backend, threads, base)
    if indexes:
        raise UsageError(f"{path}: several indexes ({', '.join(indexes)}): name one", file=path)
    shards = [os.path.join(path, name) for name in names if name.endswith(".safetensors")]
    if not shards:
        raise MissingFileError(f"{path}: no .wcodec or .safetensors file is in it", file=path)
    return SafetensorsReader(shards, path)


def are_weights(path: str) -> bool:
    """Whether it is a file of a model's weights, by the rules of the command (utils/model_index.c):
    of PyTorch's those that torch.save() makes, which are zip archives."""
    base = os.path.basename(path)
    if base.endswith(".safetensors"):
        return True
    if not base.endswith(".bin") or "model" not in base:
        return False
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(4) == b"PK\3\4"
    except OSError:
        return False


def read_index(path: str) -> dict[str, str]:
    """The tensors that an index names, each with the name of its file."""
    import json

    why = 'it has no "weight_map" of names'
    try:
        with open(path, "rb") as file:
            names: dict[str, str] = json.load(file)["weight_map"]
        wrong = [tensor for tensor, name in names.items() if not isinstance(name, str)]
        if not wrong:
            return names
        why = f"tensor {wrong[0]!r:.200} is mapped to what is no file name"
    except OSError as error:
        raise file_error(error, path) from None
    except json.JSONDecodeError as error:
        why = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        why = str(error)
    except (TypeError, KeyError, AttributeError):
        pass
    raise CorruptError(f"{path}: no index of a model: {why}", file=path)


def _open_index(path: str, backend: str | None, threads: int | None, base: Base) -> AnyReader:
    """The shards that an index names, in the folder of the index and nowhere else."""
    names = read_index(path)
    shards = sorted(set(names.values()))
    folder = os.path.dirname(path)
    for shard in shards:
        if os.path.basename(shard) != shard or "\0" in shard:
            raise CorruptError(f"{path}: {shard!r:.200} is no name of a file", file=path)
    if any(os.path.exists(os.path.join(folder, shard + ".wcodec")) for shard in shards):
        return Reader(path, backend=backend, threads=threads, base=base)
    if path.endswith(PYTORCH_INDEX_SUFFIX):
        text = f"{path}: none of its files is there compressed: PyTorch's own are not read"
        raise MissingFileError(text, file=path)
    reader = SafetensorsReader([os.path.join(folder, shard) for shard in shards], path)
    held = {info.name: info.file for info in reader.tensors()}
    for name, shard in names.items():
        if os.path.basename(held.get(name, "")) != shard:
            text = f"{path}: tensor {name!r} is not in {shard}"
            raise CorruptError(text, file=path, tensor=name)
    return reader
