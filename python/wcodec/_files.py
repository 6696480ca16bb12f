# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Whole files and model folders: compress, decompress, test, describe; as the command does."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Sequence
from typing import Any, Union

from . import _declarations as c
from ._bases import Base, base_paths, for_encoding
from ._context import Progress, Watch, context, error_of, host_backend
from ._describe import describe
from ._errors import ExistsError, UsageError, file_error
from ._external import Externals
from ._library import lib
from ._mirror import Mirror, check_index
from ._open import INDEX_SUFFIXES, are_weights
from ._options import encode_options
from ._reader import ListingReader, Reader, Source
from ._remote import is_remote
from ._write import Output, give_mode, replacing

Path = Union[str, "os.PathLike[str]"]
SUFFIX = ".wcodec"
# Of files in folders that are compressed whatever else they are called (utils/compress.c).
HELD = (".gguf", ".npy", ".npz", ".onnx")


def _path(value: Path) -> str:
    path = os.fspath(value)
    if not isinstance(path, str):
        raise TypeError(f"the path is {type(path).__name__}: expected str or os.PathLike[str]")
    if "\0" in path:
        raise UsageError("the path has a zero byte in it", file=path)
    if is_remote(path):
        raise UsageError(
            f"{path}: expected a path: files behind URLs can be opened only", file=path
        )
    return path


def _refuse_existing(path: str, force: bool) -> None:
    if not force and os.path.lexists(path):
        raise ExistsError(f"{path} is there already: give force=True to replace it", file=path)


def compress(
    source: Path,
    target: Path | None = None,
    *,
    force: bool = False,
    recursive: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    base: Base = None,
    **options: Any,
) -> dict[str, Any]:
    """Compress a file, or mirror a model folder: its .safetensors files, weights of PyTorch
    (pytorch_model*.bin), GGUF files, NumPy's .npy and .npz, and ONNX models with their external
    data are compressed, and all others copied.

    Args:
        source: a .safetensors file, or another that holds tensors (NumPy's .npy and .npz, PyTorch's
            zip files, GGUF, ONNX; anything else is stored as opaque bytes), or a folder.
        target: the output; None: `source` with ".wcodec" appended.
        force: replace outputs that are there.
        recursive: go into folders in the folder too, but not by symbolic links.
        threads: None: WCODEC_THREADS, else one for each core.
        progress: called as progress(done, total) with bytes, for each file anew.
        base: files, or folders of them, whose tensors those of the same names are coded as the
            difference from, where that is smaller: the same are needed to decode.
        **options: level=3 (1 to 9), tune="size", tile=None, profile="auto", predict="auto",
            lossy=None ("snr:DB", "error:E", "bits:N"), lossy_scale="tensor", raw=False,
            strict=False, verify=True, include=[], exclude=[], name=None: those of the command;
            name=True notes name, mode and time of the original, as its --name. onnx_model=None: of
            a file of external data, the path of the ONNX model beside it.

    Returns:
        For a file: "path", "output", "kind", "note" (why it is opaque, or ""), "bytes",
        "coded_bytes", "ratio", "tensors", "aliases", "lossy" (tensors approximated), "xxh128".
        For a folder: "path", "output", "files" (one such dict for each that was compressed),
        "copied" (paths of the copies), "left_out" (path to reason; the log "wcodec" says so too).

    Raises:
        ExistsError, FileError, UsageError, OutOfMemoryError, LimitError, CorruptError (with
        strict=True), CancelledError.
    """
    path = _path(source)
    out = _output_beside(path, force) if target is None else _path(target)
    if os.path.isdir(path):
        encode_options(**options)  # errors before anything is made
        externals = Externals()

        def name_of(name: str) -> str | None:
            file = os.path.join(path, name)
            coded = name.endswith(HELD) or are_weights(file) or externals.model_of(file)
            return name + SUFFIX if coded else None

        def make(original: str, copy: str) -> dict[str, Any]:
            model = None if options.get("raw") else externals.model_of(original)
            beside = options if model is None else {**options, "onnx_model": model}
            return compress(
                original, copy, force=force, threads=threads, progress=progress, base=base, **beside
            )

        return Mirror(path, out, force=force, recursive=recursive).run(name_of, make)
    _refuse_existing(out, force)
    made, report, error = encode_options(**options), c.wcodec_encode_report(), c.wcodec_error()
    used = context(host_backend(None), threads)
    bases = for_encoding(used, base_paths(base))
    if bases is not None:
        _spare(out, bases.paths())
        made.bases = bases.handle.value
    if options.get("name") is True:
        _note_original(made, path)
    watch = Watch(progress)
    made.progress = watch.progress
    status = watch.run(
        lambda: lib.wcodec_compress_path(
            used.handle, os.fsencode(path), os.fsencode(out), made, report, error
        )
    )
    if status != c.WCODEC_OK:
        raise error_of(status, error, files=[path])
    if bases is not None:
        _narrow(out, bases.paths())
    return {
        "path": path,
        "output": out,
        "kind": report.kind.decode(),
        "note": report.note.decode("utf-8", "replace"),
        "bytes": report.size,
        "coded_bytes": report.coded_size,
        "ratio": report.coded_size / report.size if report.size else 0.0,
        "tensors": report.tensors,
        "aliases": report.aliases,
        "lossy": report.lossy,
        "xxh128": bytes(report.xxh128).hex(),
    }


def _mode_by(found: os.stat_result, bases: Sequence[str]) -> int:
    """No permission that a base does not give, without which the file could not be had."""
    mode = found.st_mode & 0o777
    for path in bases:
        with contextlib.suppress(OSError):
            base = os.stat(path)
            mode &= base.st_mode & 0o077 | 0o700
            if base.st_gid != found.st_gid:  # its group is another
                mode &= ~0o070 | (mode & 0o007) << 3
    return mode


def _narrow(path: str, bases: Sequence[str]) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fchmod(handle, _mode_by(os.fstat(handle), bases))
    finally:
        os.close(handle)


def _spare(out: str, bases: Sequence[str]) -> None:
    for path in bases:
        if os.path.exists(out) and os.path.exists(path) and os.path.samefile(out, path):
            raise UsageError(f"{out} is a base, without which nothing could be decoded", file=out)


def _note_original(made: c.wcodec_encode_options, path: str) -> None:
    """Name, mode and time of the path, which is no later than SOURCE_DATE_EPOCH."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise file_error(error, path) from None
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch and not (epoch.isascii() and epoch.isdigit() and len(epoch) <= 18):
        raise UsageError(f"SOURCE_DATE_EPOCH is {epoch!r}: expected seconds since 1970")
    time = found.st_mtime_ns // 10**9
    made.name = os.fsencode(os.path.basename(path))
    made.mode = found.st_mode & 0o777
    made.mtime = -1 if time < 0 else min(time, int(epoch)) if epoch else time


def _output_beside(path: str, force: bool) -> str:
    """The output's name where none is given."""
    plain = path.rstrip("/")
    if os.path.basename(plain) in ("", ".", ".."):
        raise UsageError(f"{path}: there is no name to make an output's from: give one", file=path)
    if plain.endswith(SUFFIX) and not force:
        text = f"{path}: ends in {SUFFIX} already: name the output, or give force=True"
        raise UsageError(text, file=path)
    return plain + SUFFIX


def decompress(
    source: Path,
    target: Path | None = None,
    *,
    force: bool = False,
    recursive: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    base: Base = None,
) -> dict[str, Any]:
    """Restore the original of a .wcodec file, byte for byte, with its mode and time; or mirror a
    folder: its .wcodec files are restored, and all others copied.

    Args:
        source: a path.
        target: the output; None: `source` without ".wcodec".
        force: replace outputs that are there.
        recursive, threads, progress: as in compress().
        base: of deltas: files that they are differences from, or folders of them. Those in the
            file's own folder are found by themselves.

    Returns:
        For a file: "path", "output", "bytes", "lossy" (how many tensors are approximations),
        "xxh128". For a folder: as compress() does.

    Raises:
        CorruptError where any check differs; nothing is left at `target` then. Of a folder,
        MissingFileError after all else was restored, if an index.json names a file that is not
        there. ExistsError,
        MissingFileError, FileError, NewerFormatError, LimitError, OutOfMemoryError, CancelledError.
    """
    path = _path(source)
    plain = path.rstrip("/") if os.path.isdir(path) else path
    if target is None and not plain.endswith(SUFFIX):
        raise UsageError(f"{path} does not end in {SUFFIX}: name the output", file=path)
    out = plain.removesuffix(SUFFIX) if target is None else _path(target)
    if os.path.isdir(path):
        mirrored = Mirror(path, out, force=force, recursive=recursive).run(
            lambda name: name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else None,
            lambda coded, copy: decompress(
                coded, copy, force=force, threads=threads, progress=progress, base=base
            ),
        )
        for copied in mirrored["copied"]:
            if copied.endswith(INDEX_SUFFIXES):
                check_index(copied)
        return mirrored
    with Reader(path, threads=threads, base=base) as reader:
        if len(reader.files()) != 1:
            raise UsageError(f"{path} stands for several files: restore each", file=path)
        _refuse_existing(out, force)
        bases, file = reader.bases(), c.wcodec_file_info()
        _spare(out, bases)
        lib.wcodec_reader_file(reader.opened().handle, 0, file, None)

        def finish(handle: int) -> None:
            found = os.stat(path)
            give_mode(handle, _mode_by(found, bases), found.st_gid)
            times = (found.st_atime_ns, found.st_mtime_ns)
            if file.mtime >= 0 and file.mtime != found.st_mtime_ns // 10**9:
                times = (file.mtime * 10**9, file.mtime * 10**9)
            os.utime(handle, ns=times)

        with replacing(out, finish) as sink:
            restore(reader, 0, sink, progress)
        return {
            "path": path,
            "output": out,
            "bytes": file.size,
            "lossy": file.lossy,
            "xxh128": bytes(file.xxh128).hex(),
        }


def restore(reader: Reader, number: int, sink: Any, progress: Progress | None = None) -> None:
    """One original of an open reader, in order, as memoryviews to `sink`."""
    opened, error, output = reader.opened(), c.wcodec_error(), Output(sink)
    options, watch = _decode_options(), Watch(progress)
    options.progress = watch.progress
    status = watch.run(
        lambda: lib.wcodec_reader_restore(
            opened.handle, number, output.function, None, options, error
        )
    )
    output.check()
    reader.check(status, error)


def _decode_options() -> c.wcodec_decode_options:
    options = c.wcodec_decode_options()
    lib.wcodec_decode_options_init_size(options, ctypes.sizeof(options))
    return options


def test(
    source: Source,
    *,
    quick: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    base: Base = None,
) -> dict[str, Any]:
    """Verify a .wcodec file, or all of a folder: every byte, all checks, and the hash of each
    original.

    Args:
        source: a path, or the bytes of a file.
        quick: only the structure and the index.
        threads, progress: as in compress().
        base: as in decompress().

    Returns:
        "path", "ok" (True), "files" (how many), "lossy" (how many tensors are approximations).

    Raises:
        CorruptError naming file and tensor if anything is wrong; else as decompress().
    """
    with Reader(source, threads=threads, base=base) as reader:
        opened, paths, lossy = reader.opened(), reader.files(), 0
        for number in range(len(paths)):
            file = c.wcodec_file_info()
            lib.wcodec_reader_file(opened.handle, number, file, None)
            lossy += file.lossy
            _test_one(reader, number, quick, progress)
        return {"path": reader.path, "ok": True, "files": len(paths), "lossy": lossy}


def _test_one(reader: Reader, number: int, quick: bool, progress: Progress | None) -> None:
    opened, error, options = reader.opened(), c.wcodec_error(), _decode_options()
    watch = Watch(progress)
    options.progress = watch.progress
    status = watch.run(
        lambda: lib.wcodec_reader_test(opened.handle, number, int(quick), options, error)
    )
    reader.check(status, error)


def info(source: Source) -> dict[str, Any]:
    """What a .wcodec file or a folder of them is and how each tensor is coded: the object that
    `wcodec info --json` prints.

    Raises:
        MissingFileError, FileError, CorruptError, NewerFormatError, LimitError.
    """
    with ListingReader(source) as reader:
        return describe(reader)
