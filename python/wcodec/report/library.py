# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The charting library that a page carries: Vega, from the Python package vl-convert-python."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .._errors import UnsupportedError
from .errors import missing


@dataclass(frozen=True)
class Library:
    """A script that defines vegaEmbed, and its licences."""

    version: str
    script: str
    licences: str


@cache
def load() -> Library:
    """The bundle of Vega that vl-convert-python has, which is the same for one version of it.

    Making it takes some seconds; it is kept for the process.
    """
    try:
        import vl_convert
    except ImportError:
        raise missing("vl-convert-python", "a page with charts") from None
    try:
        script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    except (RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise UnsupportedError(f"vl-convert-python cannot make Vega's script: {reason}") from None
    if "</script" in script.lower() or "<!--" in script or "window.vegaEmbed=" not in script:
        raise UnsupportedError(
            "vl-convert-python has a bundle of Vega that cannot be put into a page: "
            "python3 -m pip install --upgrade vl-convert-python"
        )
    licences = files(__package__).joinpath("notices.txt").read_text("utf-8")
    return Library(vl_convert.get_vega_version(), script, licences)
