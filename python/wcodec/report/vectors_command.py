# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The command line of `python -m wcodec report vectors`."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _errors
from .._safe_open import safe_open
from .decoded import require_numpy
from .vectors import RECALLS, collect_vectors, make_vectors_page

_DESCRIPTION = """\
Show what becomes of vectors: the course of a training of anchors, the sizes of their cells, and
recall against bytes. ROWS is a .safetensors or .wcodec file with a tensor [n, d] of F16, BF16 or
F32. The page needs nothing but itself."""


def threads(value: str) -> int:
    """A number of threads, of an option."""
    number = int(value) if value.isascii() and value.isdigit() else -1
    if not 0 <= number <= 4096:
        raise argparse.ArgumentTypeError("threads must be a number from 0 (all cores) to 4096")
    return number


def _anchors(value: str) -> int:
    number = int(value) if value.isascii() and value.isdigit() else 0
    if not 1 <= number <= 1 << 32:
        raise argparse.ArgumentTypeError("anchors must be a number from 1 on")
    return number


def _recalls(value: str) -> list[float]:
    try:
        numbers = [float(part) for part in value.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(0 < number < 1 for number in numbers):
        raise argparse.ArgumentTypeError("recalls are numbers above 0 and below 1, with commas")
    return numbers


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    made = argparse.ArgumentParser(
        prog="wcodec report vectors",
        usage="wcodec report vectors [OPTIONS] ROWS -o REPORT.html",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("rows", metavar="ROWS", help="a .safetensors or .wcodec file")
    made.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the page; - stands for standard output",
    )
    made.add_argument("--tensor", metavar="NAME", help="the tensor, where there are several")
    made.add_argument(
        "--anchors", type=_anchors, metavar="M", default=256, help="how many (default: 256)"
    )
    made.add_argument(
        "--recalls",
        type=_recalls,
        metavar="R,...",
        default=list(RECALLS),
        help="recall@10 to compress for (default: " + ",".join(map(str, RECALLS)) + ")",
    )
    made.add_argument(
        "--schedule", choices=("best", "compat"), default="best", help="of the training"
    )
    made.add_argument("-f", "--force", action="store_true", help="replace the output")
    made.add_argument(
        "-T", "--threads", type=threads, metavar="N", help="worker threads (0: one a core)"
    )
    return made


def _read(path: str, tensor: str | None) -> tuple[str, Any]:
    """The name of the vectors and their rows."""
    with safe_open(path) as file:
        names = list(file.keys())
        if tensor is None:
            tables = [n for n in names if len(file.get_slice(n).get_shape()) == 2]
            if len(tables) != 1:
                raise _errors.UsageError(
                    f"{path}: has {len(tables)} tensors [n, d]: --tensor names one", file=path
                )
            tensor = tables[0]
        return tensor, file.get_tensor(tensor)


def page(options: argparse.Namespace) -> bytes:
    """The page of what the options name."""
    require_numpy()
    name, rows = _read(options.rows, options.tensor)
    report = collect_vectors(
        rows,
        options.anchors,
        name=name,
        recalls=options.recalls,
        threads=options.threads,
        schedule=options.schedule,
    )
    return make_vectors_page(report)
