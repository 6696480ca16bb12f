# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The tutorial runs, the other pages name what there is."""

import doctest
import re

import pytest
import wcodec
from conftest import PACKAGE

pytest.importorskip("numpy")


def test_the_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = doctest.testfile(
        str(PACKAGE / "TUTORIAL.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert made.failed == 0
    assert made.attempted > 30


@pytest.mark.parametrize("page", ["README.md", "SAFETENSORS.md", "TUTORIAL.md", "ENGINES.md"])
def test_names_in_pages(page):
    text = (PACKAGE / page).read_text()
    modules = {"torch", "numpy", "jax", "engines"}
    for name in set(re.findall(r"`wcodec\.([a-zA-Z_]+)", text)):
        assert name in modules or hasattr(wcodec, name), name
    for target in re.findall(r"\]\(([A-Za-z./]+)", text):
        assert (PACKAGE / target).exists(), target


def test_everything_public_is_documented():
    for name in wcodec.__all__:
        thing = getattr(wcodec, name)
        assert thing.__doc__, name
        for method, value in vars(thing).items() if isinstance(thing, type) else ():
            if not method.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{method}"
