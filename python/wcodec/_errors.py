# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Exceptions, one class for each status of the library.

Each is a `WcodecError`, and also the built-in class that fits, so that `except OSError`,
`except ValueError` or `except KeyError` do what a reader of the code expects. All can be pickled.
"""

from __future__ import annotations

import errno
from typing import Any

from . import _declarations as c


class WcodecError(Exception):
    """Base of all errors of this package.

    Attributes:
        text: what was wrong, where, and what was expected; one line.
        file: path of the file, or None where no single one is at fault.
        tensor: name of the tensor, or None.
    """

    def __init__(self, text: str, *, file: str | None = None, tensor: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.file = file or None
        self.tensor = tensor

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.text, self.file, self.tensor)


def _restore(
    kind: type[WcodecError], text: str, file: str | None, tensor: str | None
) -> WcodecError:
    return kind(text, file=file, tensor=tensor)


class UsageError(WcodecError, ValueError):
    """A wrong argument or option, or calls in the wrong order."""


class SharedTensorsError(UsageError, RuntimeError):
    """Tensors to be saved share memory, and would not when loaded again."""


class OutOfMemoryError(WcodecError, MemoryError):
    """An allocation failed, of host memory or of a device's."""


class FileError(WcodecError, OSError):
    """Reading, writing or opening failed, or a file changed while it was used. `filename` is
    `file`, and `errno` what the class stands for, if that is one."""

    _errno: int | None = None

    def __init__(self, text: str, *, file: str | None = None, tensor: str | None = None) -> None:
        super().__init__(text, file=file, tensor=tensor)
        self.errno = self._errno
        self.filename = self.file


class MissingFileError(FileError, FileNotFoundError):
    """There is no file of that path."""

    _errno = errno.ENOENT


class BusyError(FileError, BlockingIOError):
    """Another process, or thread, is changing it; nothing was done, and it may be tried again."""

    _errno = errno.EAGAIN


class ExistsError(FileError, FileExistsError):
    """The output is there already, and `force` was not given."""

    _errno = errno.EEXIST


def file_error(error: OSError, path: str) -> FileError:
    """What Python says of a file, as ours; a missing one is a `MissingFileError`."""
    kind = MissingFileError if isinstance(error, FileNotFoundError) else FileError
    return kind(f"{path}: {error.strerror or error}", file=path)


class CorruptError(WcodecError, ValueError):
    """The input is damaged, or is no such file at all."""


class NewerFormatError(WcodecError):
    """The input needs a newer version of the library."""


class LimitError(WcodecError):
    """A limit that the caller set, or a default one, would be passed."""


class CancelledError(WcodecError):
    """The caller asked to stop, by `cancel()` or from a progress function."""


class BackendError(WcodecError, RuntimeError):
    """The backend that was asked for cannot be used; the text says why."""


class DeviceError(WcodecError, RuntimeError):
    """A device failed while it worked."""


class TensorNotFoundError(WcodecError, KeyError):
    """There is no tensor of that name."""


class MismatchError(WcodecError):
    """Data is intact but not what it was compared with."""


class UnsupportedError(WcodecError, NotImplementedError):
    """The request is right, but this build, backend or framework cannot do it."""


BY_STATUS: dict[int, type[WcodecError]] = {
    c.WCODEC_ERROR_USAGE: UsageError,
    c.WCODEC_ERROR_MEMORY: OutOfMemoryError,
    c.WCODEC_ERROR_IO: FileError,
    c.WCODEC_ERROR_CORRUPT: CorruptError,
    c.WCODEC_ERROR_NEWER: NewerFormatError,
    c.WCODEC_ERROR_LIMIT: LimitError,
    c.WCODEC_ERROR_CANCELLED: CancelledError,
    c.WCODEC_ERROR_BACKEND: BackendError,
    c.WCODEC_ERROR_DEVICE: DeviceError,
    c.WCODEC_ERROR_NOT_FOUND: TensorNotFoundError,
    c.WCODEC_ERROR_MISMATCH: MismatchError,
    c.WCODEC_ERROR_UNSUPPORTED: UnsupportedError,
    c.WCODEC_ERROR_BUSY: BusyError,
}
