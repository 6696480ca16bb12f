# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Finds and opens libwcodec, and makes sure that it is the one these declarations are for."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from . import _declarations as c

SONAME = "libwcodec.0.dylib" if sys.platform == "darwin" else "libwcodec.so.0"
NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native", "lib")


def _by_pkg_config() -> str | None:
    """The library that pkg-config knows of, outside of the loader's folders."""
    import subprocess

    try:
        found = subprocess.run(
            [os.environ.get("PKG_CONFIG", "pkg-config"), "--variable=libdir", "wcodec"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    folder = found.stdout.strip()
    return os.path.join(folder, SONAME) if found.returncode == 0 and folder else None


def _open() -> ctypes.CDLL:
    """WCODEC_LIBRARY alone, if it is set; else the package's own library, that of the system's
    loader, and that of pkg-config, in this order."""
    named = os.environ.get("WCODEC_LIBRARY")
    if named:
        try:
            return ctypes.CDLL(named)
        except OSError as error:
            raise ImportError(f"WCODEC_LIBRARY cannot be opened: {error}", path=named) from None
    tried = []
    own = os.path.join(NATIVE, SONAME)
    for path in (own if os.path.exists(own) else None, SONAME, _by_pkg_config):
        name = path() if callable(path) else path
        if name is None:
            continue
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(
        f"{SONAME} was not found ({'; '.join(tried)}). Install wcodec, or set WCODEC_LIBRARY to "
        "the path of the library"
    )


def _number(version: tuple[int, int, int]) -> int:
    return (version[0] * 100 + version[1]) * 100 + version[2]


def _check(library: ctypes.CDLL) -> None:
    """The version must be of this interface, and every structure as long as declared here. Options
    say their length themselves and may be longer in a newer library."""
    name = library._name
    try:
        version = int(library.wcodec_version_number())
        size_of = library.wcodec_structure_size
    except AttributeError as error:
        raise ImportError(f"{name} is not libwcodec, or is too old: {error}", path=name) from None
    if version < _number(c.VERSION) or version // 10000 != c.VERSION[0]:
        text = ".".join(map(str, c.VERSION))
        raise ImportError(
            f"{name} is version {version // 10000}.{version // 100 % 100}.{version % 100}; this "
            f"package needs {text} or a later {c.VERSION[0]}.x",
            path=name,
        )
    size_of.restype = ctypes.c_size_t
    for structure, kind in c.STRUCTURES.items():
        there, here = size_of(structure.encode()), ctypes.sizeof(kind)
        grows = kind._fields_[0][0] == "struct_size" and there >= here
        if there != here and not grows:
            raise ImportError(
                f"{name} was built for another interface: {structure} has {there} bytes there and "
                f"{here} here",
                path=name,
            )


def _bind(library: ctypes.CDLL) -> None:
    for name, (result, arguments) in c.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{library._name} has no {name}", path=library._name) from None
        function.restype = result
        function.argtypes = arguments


def _load() -> ctypes.CDLL:
    library = _open()
    _check(library)
    _bind(library)
    return library


lib: Any = _load()
"""The library: every function of the headers, with argument and result types set."""


def path() -> str:
    """Path of the library in use, as it was given to the loader."""
    return str(lib._name)


def version() -> str:
    """Version of the library in use."""
    return str(lib.wcodec_version_string().decode())
