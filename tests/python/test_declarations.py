# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The declarations are those of the headers, by the generator and by the C compiler."""

import ctypes
import os
import subprocess
import sys

import pytest
from conftest import PACKAGE, TOP
from wcodec import _declarations as c
from wcodec._library import lib


def compiler():
    return os.environ.get("CC", "cc").split()


def test_committed_file_is_what_the_generator_gives():
    pytest.importorskip("pycparser")
    made = subprocess.run(
        [sys.executable, PACKAGE / "generate_declarations.py", "--check"],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr


def test_sizes_offsets_and_values_are_those_of_the_compiler(tmp_path):
    expected = []
    lines = ["#include <stdio.h>", "#include <wcodec.h>", "int main(void) {"]
    for name, kind in c.STRUCTURES.items():
        expected.append(f"{name} {ctypes.sizeof(kind)}")
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, _ in kind._fields_:
            member = getattr(kind, field)
            expected.append(f"{name}.{field} {member.offset} {member.size}")
            size = f"sizeof((({name} *)0)->{field})"
            lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), {size});')
    for values in c.ENUMERATIONS.values():
        for name, value in values.items():
            expected.append(f"{name} {value}")
            lines.append(f'printf("{name} %d\\n", (int){name});')
    lines.append("return 0; }")
    source, program = tmp_path / "t.c", tmp_path / "t"
    source.write_text("\n".join(lines))
    try:
        subprocess.run([*compiler(), f"-I{TOP}/include", source, "-o", program], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert output.split("\n")[:-1] == expected
    assert len(expected) > 200


def test_every_structure_of_the_library_has_this_size():
    for name, kind in c.STRUCTURES.items():
        assert lib.wcodec_structure_size(name.encode()) == ctypes.sizeof(kind)


def test_every_function_of_the_map_is_declared():
    text = (TOP / "lib" / "libwcodec.map").read_text()
    listed = [line.strip(" ;\n") for line in text.split("\n") if line.startswith("    wcodec_")]
    assert sorted(listed) == sorted(c.FUNCTIONS)
