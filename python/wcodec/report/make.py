# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""From names of models to the page or the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import _library
from .._describe import describe
from .._reader import AnyReader, Reader
from . import decoded, library, original, page, picture
from .exponents import Distribution, count, sample, supported
from .model import Model, from_info


@dataclass(frozen=True)
class Report:
    """All that is shown: models, and the distributions of the exponents of each."""

    models: tuple[Model, ...]
    distributions: tuple[dict[int, Distribution], ...]
    """By the number of the tensor in its model; empty if none were to be counted."""


def _distributions(model: Model, reader: AnyReader) -> dict[int, Distribution]:
    found = {}
    for i, tensor in enumerate(model.tensors):
        if not tensor.elements or not supported(tensor.dtype):
            continue
        cuts = sample(tensor.shape, tensor.elements)
        distribution = count(tensor.dtype, (decoded.rows(reader, i, *cut) for cut in cuts))
        if distribution is not None:
            found[i] = distribution
    return found


def collect(
    paths: Sequence[str],
    originals: Sequence[str] = (),
    *,
    exponents: bool = True,
    backend: str | None = None,
    threads: int | None = None,
) -> Report:
    """Read the models at `paths`, .wcodec files or folders of them.

    Args:
        originals: those of the models, in their order: lossy tensors are measured on them. There
            may be fewer than models.
        exponents: count the exponents of the tensors, of at most 2^22 elements of each; without
            it only the index is read.
        backend, threads: as for wcodec.Reader.

    Raises:
        MissingPackageError, MismatchError, and whatever opening and decoding raise.
    """
    if exponents or originals:
        decoded.require_numpy()
    models, counted = [], []
    for i, path in enumerate(paths):
        with Reader(path, backend=backend, threads=threads) as reader:
            model = from_info(path, describe(reader)["files"])
            if i < len(originals):
                model = original.measure(model, reader, originals[i])
            models.append(model)
            if exponents:
                counted.append(_distributions(model, reader))
    return Report(tuple(models), tuple(counted))


def make_page(report: Report) -> bytes:
    """The report as one HTML page, in UTF-8. Raises MissingPackageError and LimitError."""
    return page.render(report.models, report.distributions, library.load(), _library.version())


def make_picture(report: Report) -> bytes:
    """The report's plots as one PNG. Raises MissingPackageError."""
    return picture.draw(report.models, report.distributions)
