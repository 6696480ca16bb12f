# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""What every page has around its contents: one HTML document with everything in it.

The policy of contents allows the page's script and the charting library's, by their hashes, and no
request to anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files

from .library import Library
from .tables import escape


def dump(value: object) -> str:
    """JSON that can stand in a script element: no character of it ends one or begins a comment."""
    dumped = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return dumped.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def resource(name: str) -> str:
    """A file of this package."""
    return files(__package__).joinpath(name).read_text("utf-8")


def begin(title: str, library: Library, script: str, summary: str) -> str:
    """The page up to its charts.

    Args:
        title: text, not escaped.
        script: the page's own, as scripts() gets it.
        summary: HTML.
    """
    policy = (
        f"default-src 'none'; script-src {_hash(library.script)} {_hash(script)}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}: wcodec report</title>"
        f"<style>\n{resource('page.css')}</style></head><body>\n"
        f"<main><h1>wcodec report</h1>\n{summary}\n"
        "<noscript><style>#charts { display: none; }</style>"
        '<p class="note">Without JavaScript the tables are whole, but there are no charts.</p>'
        "</noscript>\n"
    )


def end(library: Library, version: str) -> str:
    """What is below all contents: who made the page, and licences."""
    return (
        f'</main><footer><p class="note">Made by wcodec {escape(version)}, drawn by Vega '
        f"{escape(library.version)}.</p><details><summary>Licences of what this page contains"
        f"</summary><pre>{escape(library.licences)}</pre></details></footer>\n"
    )


def scripts(data: object, library: Library, script: str) -> str:
    """The scripts, the last of the page; the page's own finds `data` in the element "data"."""
    return (
        f'<script type="application/json" id="data">{dump(data)}</script>\n'
        f"<script>{library.script}</script>\n<script>{script}</script>\n</body></html>\n"
    )
