# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the Python package share. WCODEC_LIBRARY names the library under test; the
package is taken from this tree unless WCODEC_INSTALLED is set."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
PACKAGE = TOP / "python"
if not os.environ.get("WCODEC_INSTALLED"):
    sys.path.insert(0, str(PACKAGE))
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX beside torch on one device

BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32,
    "U64": 64, "I64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


def safetensors_bytes(tensors, metadata=None):
    """A safetensors file of {name: (dtype, shape, bytes)}, made without any library."""
    header = {} if metadata is None else {"__metadata__": metadata}
    at, data = 0, b""
    for name, (dtype, shape, content) in tensors.items():
        end = at + len(content)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at, data = end, data + content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def run(code, *arguments, check=True, **environment):
    """A Python program in a process of its own; its result, with output as text."""
    setting = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        **environment,
    }
    made = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={key: value for key, value in setting.items() if value is not None},
    )
    if check:
        assert made.returncode == 0, made.stderr
    return made


@pytest.fixture(scope="module")
def opencl_plugin():
    """The OpenCL plugin is the build tree's, where the library is that of a build tree."""
    import wcodec

    with pytest.MonkeyPatch.context() as patch:
        # PoCL asks hwloc, whose OpenCL component asks PoCL.
        patch.setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-gl")
        library = Path(os.environ.get("WCODEC_LIBRARY", "/nowhere/.libs/x")).absolute()
        folder = library.parents[1] / "backends/opencl/.libs"
        if folder.is_dir() and "WCODEC_BACKEND_PATH" not in os.environ:
            patch.setenv("WCODEC_BACKEND_PATH", str(folder))
        wcodec.release()  # contexts keep the plugins that they found
        yield
    wcodec.release()


@pytest.fixture
def plain(tmp_path):
    """Write a plain safetensors file: plain(tensors, metadata, name) gives its path."""

    def write(tensors, metadata=None, name="model.safetensors"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(safetensors_bytes(tensors, metadata))
        return path

    return write


@pytest.fixture
def packed(plain):
    """The same, compressed."""
    import wcodec

    def write(tensors, metadata=None, name="model.safetensors"):
        path = plain(tensors, metadata, name)
        return Path(wcodec.compress(path)["output"])

    return write


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """The file of cuda_support.large()."""
    from cuda_support import large
    from wcodec.torch import save_file

    path = tmp_path_factory.mktemp("large") / "m.wcodec"
    save_file(large(), path, level=1)
    return path


def weights(np, count, seed=1):
    """Gaussian bf16 elements, as bytes."""
    values = np.random.default_rng(seed).standard_normal(count, dtype=np.float32) * 0.02
    return (values.view(np.uint32) >> 16).astype(np.uint16).tobytes()
