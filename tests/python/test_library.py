# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Finding the library, the handshake with it, and what importing does not do."""

import os
import subprocess

import pytest
from conftest import run

FAKE = """
unsigned wcodec_version_number(void) { return %d; }
unsigned long wcodec_structure_size(const char *name) { return %d; }
"""


def fake(tmp_path, version, size):
    source, library = tmp_path / "fake.c", tmp_path / "libfake.so"
    source.write_text(FAKE % (version, size))
    compiler = os.environ.get("CC", "cc").split()
    try:
        subprocess.run([*compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    return library


@pytest.mark.parametrize(
    ("version", "size", "text"),
    [
        (99, 0, "is version 0.0.99; this package needs 0.1.0 or a later 0.x"),
        (10000, 0, "is version 1.0.0; this package needs"),
        (100, 8, "was built for another interface: wcodec_error has 8 bytes there and 1024 here"),
    ],
)
def test_a_library_that_does_not_fit_is_refused(tmp_path, version, size, text):
    library = fake(tmp_path, version, size)
    made = run("import wcodec", check=False, WCODEC_LIBRARY=str(library))
    assert made.returncode == 1
    assert "ImportError: " in made.stderr
    assert text in made.stderr


def test_what_is_no_library_is_refused(tmp_path):
    made = run("import wcodec", check=False, WCODEC_LIBRARY=str(tmp_path / "nothing.so"))
    assert "ImportError: WCODEC_LIBRARY cannot be opened" in made.stderr
    made = run("import wcodec", check=False, WCODEC_LIBRARY="libc.so.6")
    assert "ImportError: libc.so.6 is not libwcodec, or is too old" in made.stderr


def test_importing_imports_no_framework_and_starts_no_thread():
    made = run(
        """
        import os, sys
        import wcodec
        for name in ("numpy", "torch", "jax", "transformers", "json", "subprocess"):
            assert name not in sys.modules, name
        assert len(os.listdir("/proc/self/task")) == 1
        print(wcodec.__version__)
        """
    )
    assert made.stdout == "0.1.0\n"


def test_version_is_that_of_the_headers():
    import wcodec
    from wcodec import _declarations, _library

    assert ".".join(map(str, _declarations.VERSION)) == wcodec.__version__ == _library.version()
