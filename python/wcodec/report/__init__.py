# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""A page that shows how a model is coded: `python -m wcodec report MODEL... -o report.html`; or
what becomes of vectors: `python -m wcodec report vectors ROWS -o report.html`.

Nothing here is imported by `import wcodec`. The page needs the packages of the extra "report", the
picture those of "png"; whichever is missing is named, with the command that installs it.
"""

from __future__ import annotations

from .command import main
from .errors import MissingPackageError
from .make import Report, collect, make_page, make_picture
from .vectors import VectorsReport, collect_vectors, make_vectors_page

__all__ = [
    "MissingPackageError",
    "Report",
    "VectorsReport",
    "collect",
    "collect_vectors",
    "main",
    "make_page",
    "make_picture",
    "make_vectors_page",
]
