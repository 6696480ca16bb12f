# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of reports share: models with odd names, and a reader of the page."""

import html.parser
import struct

HOSTILE = [
    "</script><script>document.title = 'ran'</script>",
    "<img src=x onerror=\"document.title = 'ran'\">",
    '"><svg/onload=document.title="ran">',
    "'--><!--",
    "</title></style></table><b>bold",
    "]]><![CDATA[",
    "&lt;b&gt;&amp;",
    "javascript:document.title='ran'",
    "\\u003cb\\u003e",
    "right\u202eto left\u2066",
    "line\nbreak\tand\x1b[31mcolour\x7f",
    "\u2028\u2029\ufeff",
    "日本.é.\U0001f600",
    "__proto__",
    "constructor.prototype",
    "$x^2$ \\frac",
    "%s {0} {{}}",
    "..",
    "all",
    "1.2.3",
    " ",
    "long." + "x" * 5000,
]
"""Names that would do something if anything took them for more than text."""


def floats(count, seed=3):
    """Gaussian f32 elements, as bytes."""
    import numpy

    values = numpy.random.default_rng(seed).standard_normal(count, dtype=numpy.float32) * 0.02
    return values.tobytes()


def hostile_tensors():
    """A small tensor of each hostile name."""
    return {name: ("F32", [16, 24], floats(384, seed)) for seed, name in enumerate(HOSTILE)}


class Page(html.parser.HTMLParser):
    """A parsed page: its elements, the text of scripts, and the cells of its tables."""

    def __init__(self, content):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.scripts = []
        self.text = ""
        self.tables = []
        self._in = None
        self._cell = None
        self.feed(content.decode("utf-8"))
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        self._end_cell()
        if tag == "table":
            self.tables.append({"class": attributes["class"], "keys": [], "rows": []})
        elif tag == "tr" and self.tables and self._body:
            self.tables[-1]["rows"].append([])
        elif tag in ("th", "td"):
            if "data-key" in attributes:
                self.tables[-1]["keys"].append(attributes["data-key"])
            else:
                self._cell = ""
        elif tag in ("thead", "tbody"):
            self._body = tag == "tbody"
        elif tag in ("script", "style"):
            self._in = (tag, attributes)

    def handle_endtag(self, tag):
        self._end_cell()
        if tag in ("script", "style"):
            self._in = None

    def handle_data(self, data):
        if self._in is not None:
            if self._in[0] == "script":
                self.scripts.append((self._in[1], data))
        elif self._cell is not None:
            self._cell += data
        else:
            self.text += data

    def _end_cell(self):
        if self._cell is not None:
            self.tables[-1]["rows"][-1].append(self._cell.rstrip("\n"))
            self._cell = None

    def rows(self, kind):
        """The rows of the tables of a kind, each a dict by the keys of the columns."""
        return [
            dict(zip(table["keys"], row))
            for table in self.tables
            if table["class"] == kind
            for row in table["rows"]
        ]


def float_of(bits):
    """The f32 of a pattern."""
    return struct.unpack("<f", struct.pack("<I", bits))[0]
