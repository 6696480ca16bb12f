# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The report's own error; all others are those of the package."""

from __future__ import annotations

from .._errors import WcodecError


class MissingPackageError(WcodecError, ImportError):
    """An optional dependency is not installed; the text has the command that installs it."""


def missing(package: str, purpose: str) -> MissingPackageError:
    """The error for a package that is not there; one of wcodec's extras would have brought it."""
    return MissingPackageError(
        f"{purpose} needs the Python package {package}: python3 -m pip install {package}"
    )
