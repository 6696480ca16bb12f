#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Write wcodec/_declarations.py from the public headers.

    python generate_declarations.py [--check] [HEADER-FOLDER]

Needs pycparser and a C preprocessor ($CC -E). --check writes nothing and fails where the
committed file differs.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from pycparser import c_ast, c_parser

HERE = Path(__file__).resolve().parent
TARGET = HERE / "wcodec" / "_declarations.py"

# What the headers take from the system, so that none of its headers is parsed.
PRELUDE = """
typedef unsigned long size_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long int64_t;
"""

SCALARS = {
    "int": "c_int",
    "unsigned": "c_uint",
    "unsigned int": "c_uint",
    "double": "c_double",
    "float": "c_float",
    "char": "c_char",
    "size_t": "c_size_t",
    "uint8_t": "c_uint8",
    "uint16_t": "c_uint16",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
    "int64_t": "c_int64",
}
PYTHON_TYPES = {"c_double": "float", "c_float": "float", "c_char": "bytes"}

HEAD = '''# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The public C interface as ctypes sees it. Generated from the headers by
generate_declarations.py: do not edit. The headers in include/wcodec say what all this means."""

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any
'''


class Headers:
    """The declarations of all public headers, in their order."""

    def __init__(self, folder: Path) -> None:
        text = "".join(
            re.sub(r"#\s*include\b.*", "", (folder / "wcodec" / name).read_text())
            for name in (
                "base.h",
                "context.h",
                "reader.h",
                "bases.h",
                "writer.h",
                "load.h",
                "save.h",
                "delta.h",
                "resident.h",
                "vectors.h",
                "search.h",
                "state.h",
                "recurrent.h",
                "learn.h",
            )
        )
        text = text.replace("#ifdef __cplusplus", "#if 0").replace("__GNUC__", "NO_COMPILER")
        compiler = os.environ.get("CC", "cc").split()
        flat = subprocess.run(
            [*compiler, "-E", "-P", "-undef", "-x", "c", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        # Inline functions are the caller's own: only what the library exports is declared.
        flat = re.sub(r"static inline[^{;]*\{[^}]*\}", "", flat)
        self.version = tuple(
            int(re.search(rf"WCODEC_VERSION_{part} (\d+)", text).group(1))  # type: ignore[union-attr]
            for part in ("MAJOR", "MINOR", "PATCH")
        )
        self.enums: dict[str, list[tuple[str, int]]] = {}
        self.structures: dict[str, list[Any]] = {}
        self.callbacks: dict[str, Any] = {}
        self.functions: dict[str, Any] = {}
        self.order: list[tuple[str, str]] = []
        for node in c_parser.CParser().parse(PRELUDE + flat).ext:
            self.add(node)

    def add(self, node: Any) -> None:
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            self.functions[node.name] = node.type
            return
        if not isinstance(node, c_ast.Typedef) or not node.name.startswith("wcodec_"):
            return
        kind = node.type.type if isinstance(node.type, c_ast.TypeDecl) else node.type
        if isinstance(kind, c_ast.Enum):
            self.enums[node.name] = [
                (value.name, int(value.value.value)) for value in kind.values.enumerators
            ]
            self.order.append(("enum", node.name))
        elif isinstance(kind, c_ast.Struct) and kind.decls:
            self.structures[node.name] = kind.decls
            self.order.append(("structure", node.name))
        elif isinstance(node.type, c_ast.PtrDecl):
            self.callbacks[node.name] = node.type.type
            self.order.append(("callback", node.name))

    def ctype(self, node: Any) -> str:
        """The ctypes expression of a C type."""
        if isinstance(node, c_ast.ArrayDecl):
            return f"{self.ctype(node.type)} * {node.dim.value}"
        if isinstance(node, c_ast.PtrDecl):
            return self.pointer(node.type)
        if isinstance(node, c_ast.FuncDecl):
            arguments = [self.ctype(parameter.type) for parameter in node.args.params]
            return f"CFUNCTYPE({', '.join([self.ctype(node.type), *arguments])})"
        name = " ".join(getattr(node.type, "names", ()))
        if name == "void":
            return "None"
        if name in self.enums:
            return "c_int"
        if name in self.structures or name in self.callbacks:
            return name
        return SCALARS[name]

    def pointer(self, node: Any) -> str:
        if isinstance(node, c_ast.FuncDecl):
            return self.ctype(node)
        if isinstance(node, c_ast.PtrDecl):
            inner = self.pointer(node.type)
            return f"POINTER({inner})"
        name = " ".join(getattr(node.type, "names", ()))
        if name == "char":
            return "c_char_p"
        if name in self.structures:
            return f"POINTER({name})"
        if name in SCALARS and name not in ("uint8_t",):
            return f"POINTER({SCALARS[name]})"
        return "c_void_p"  # void, and handles, whose structures are the library's own

    def python_type(self, ctype: str) -> str:
        if ctype in PYTHON_TYPES:
            return PYTHON_TYPES[ctype]
        if ctype == "c_char_p":
            return "bytes | None"
        if ctype == "c_void_p":
            return "int | None"
        if ctype in SCALARS.values():
            return "int"
        if ctype.startswith("c_char *"):
            return "bytes"
        return ctype if ctype in self.structures else "Any"


def generate(folder: Path) -> str:
    headers = Headers(folder)
    out = [HEAD]
    major, minor, patch = headers.version
    out.append(f"VERSION = ({major}, {minor}, {patch})")
    for kind, name in headers.order:
        if kind == "enum":
            out.append(f"\n# {name}")
            out += [f"{value} = {number}" for value, number in headers.enums[name]]
        elif kind == "callback":
            out.append(f"\n{name} = {headers.ctype(headers.callbacks[name])}")
        else:
            fields = [(f.name, headers.ctype(f.type)) for f in headers.structures[name]]
            out.append(f"\n\nclass {name}(Structure):")
            out += [f"    {field}: {headers.python_type(ctype)}" for field, ctype in fields]
            out.append("    _fields_ = (")
            out += [f'        ("{field}", {ctype}),' for field, ctype in fields]
            out.append("    )\n")
    out.append("\nENUMERATIONS: dict[str, dict[str, int]] = {")
    for name, values in headers.enums.items():
        out.append(f'    "{name}": {{')
        out += [f'        "{value}": {value},' for value, _ in values]
        out.append("    },")
    out.append("}\n\nSTRUCTURES: dict[str, type[Structure]] = {")
    out += [f'    "{name}": {name},' for name in headers.structures]
    out.append("}\n\n# Of each function: what it returns, and its arguments.")
    out.append("FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {")
    for name, function in headers.functions.items():
        result = headers.ctype(function.type)
        arguments = [
            headers.ctype(parameter.type)
            for parameter in function.args.params
            if headers.ctype(parameter.type) != "None"
        ]
        tail = "," if len(arguments) == 1 else ""
        out.append(f'    "{name}": ({result}, ({", ".join(arguments)}{tail})),')
    out.append("}\n")
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(out))


def main() -> int:
    arguments = sys.argv[1:]
    check = "--check" in arguments
    folders = [argument for argument in arguments if argument != "--check"]
    text = generate(Path(folders[0]) if folders else HERE.parent / "include")
    if not check:
        TARGET.write_text(text)
    elif TARGET.read_text() != text:
        print(f"{TARGET.name} is not what the headers say: run generate_declarations.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
