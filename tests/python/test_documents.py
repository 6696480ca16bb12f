# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The tutorial and examples run, the other pages name what there is."""

import doctest
import os
import re
import subprocess
import sys

import pytest
import wcodec
from conftest import PACKAGE, TOP

pytest.importorskip("numpy")


def test_the_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = doctest.testfile(
        str(PACKAGE / "TUTORIAL.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert made.failed == 0
    assert made.attempted > 30


def test_the_example_of_compute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = doctest.testfile(
        str(TOP / "doc" / "compute.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert made.failed == 0
    assert made.attempted > 5


def test_the_program_that_multiplies(packed):
    """As examples/multiply.c, which tests/build/installed.sh runs. Zeros take no memory."""
    import numpy as np

    path = packed(
        {
            "counts": ("I64", (2, 2), bytes(32)),
            "vector": ("F32", (3,), bytes(12)),
            "w": ("F32", (4, 3), np.arange(12, dtype="<f4").tobytes()),
        }
    )

    def multiply(*arguments):
        program = [sys.executable, str(TOP / "examples" / "multiply.py"), *map(str, arguments)]
        environment = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        return subprocess.run(
            program, capture_output=True, text=True, env={**os.environ, **environment}
        )

    made = multiply(path)
    assert made.returncode == 0, made.stderr
    lines = made.stdout.splitlines()
    assert lines[0] == "48 bytes resident" and len(lines) == 3
    assert lines[1].startswith("counts: ") and "I64" in lines[1]
    assert lines[2] == "w [4, 3] plain, 48 of 48 bytes: 66"
    for wrong, text in (((), "usage"), (("none.wcodec",), "multiply.py: none.wcodec: No such")):
        made = multiply(*wrong)
        assert made.returncode == 1 and made.stderr.startswith(text)


PAGES = ["README.md", "SAFETENSORS.md", "TUTORIAL.md", "ENGINES.md", "../doc/compute.md"]


@pytest.mark.parametrize("page", PAGES)
def test_names_in_pages(page):
    text = (PACKAGE / page).read_text()
    modules = {"torch", "numpy", "jax", "engines", "distributed", "nn", "vectors"}
    for name in set(re.findall(r"`wcodec\.([a-zA-Z_]+)", text)):
        assert name in modules or hasattr(wcodec, name), name
    for target in re.findall(r"\]\(([A-Za-z./]+)", text):
        assert ((PACKAGE / page).parent / target).exists(), target


def test_everything_public_is_documented():
    for name in wcodec.__all__:
        thing = getattr(wcodec, name)
        assert thing.__doc__, name
        for method, value in vars(thing).items() if isinstance(thing, type) else ():
            if not method.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{method}"
