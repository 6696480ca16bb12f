# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""External data of ONNX models: which files of a folder belong to a model beside them."""

from __future__ import annotations

import ctypes
import os

from . import _declarations as c
from ._context import context, host_backend
from ._library import lib

_PREFIX = "onnx.external."


class Externals:
    """The models that folders have, each folder read once."""

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, str]] = {}

    def model_of(self, path: str) -> str | None:
        """The model whose external data the file is: of several the first one by name."""
        folder, base = os.path.split(path)
        if base.endswith(".onnx"):
            return None
        if folder not in self._folders:
            self._folders[folder] = _read_folder(folder)
        return self._folders[folder].get(base)


def _read_folder(folder: str) -> dict[str, str]:
    models: dict[str, str] = {}
    for name in sorted(os.listdir(folder or ".")):
        if name.endswith(".onnx"):
            model = os.path.join(folder, name)
            for file in _files_of(model):
                models.setdefault(file, model)
    return models


def _files_of(model: str) -> list[str]:
    """What is wrong with a model is said where it is compressed, not here."""
    original, info = ctypes.c_void_p(), c.wcodec_original_info()
    try:
        fd = os.open(model, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        used = context(host_backend(None), None)
        status = lib.wcodec_original_open_fd(used.handle, fd, None, None, original, None)
    finally:
        os.close(fd)
    if status != c.WCODEC_OK:
        return []
    files = []
    lib.wcodec_original_describe(original, info)
    for i in range(info.metadata):
        key, value = ctypes.c_char_p(), ctypes.c_char_p()
        lib.wcodec_original_metadata(original, i, key, value, None)
        name = os.fsdecode(key.value or b"")
        if name.startswith(_PREFIX):
            files.append(name.removeprefix(_PREFIX))
    lib.wcodec_original_close(original)
    return files
