# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Text from files made safe and short, and numbers as people read them.

Names of tensors and files are hostile input. `visible()` makes every character one that can be
seen and moves no other; escaping for HTML comes after it, in `page`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

NAME_LIMIT = 400
"""Characters of a name that are shown; a longer one loses its middle."""

_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Unicode categories that have no sign of their own, or that change those beside them."""


def visible(text: str) -> str:
    """`text` with each control, format, private or unassigned character as \\uNNNN."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in _UNSEEN else c for c in text)


def shorten(text: str, limit: int = NAME_LIMIT) -> str:
    """`text` without its middle where it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}…{text[-half:]} ({len(text)} characters)"


def name(text: str) -> str:
    """A name from a file as it is shown."""
    return visible(shorten(text))


def size(count: int) -> str:
    """A number of bytes with a unit of powers of 1024, as the command writes it."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1023.995:
            return f"{count} B" if unit == "B" else f"{value:.2f} {unit}"
        value /= 1024
    return f"{value:.2f} PiB"


def shape(dimensions: Sequence[int]) -> str:
    """ "[3, 4]" as 3 × 4; a tensor of no dimensions is a scalar."""
    return " × ".join(str(d) for d in dimensions) if dimensions else "scalar"


def decimal(value: float | None, digits: int) -> str:
    """A number with so many decimals; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share as a percentage; a dash where there is none."""
    return "–" if share is None else f"{share * 100:.{digits}f} %"
