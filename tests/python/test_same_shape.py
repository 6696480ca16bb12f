# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Call by call beside the installed package safetensors, on the same file in both formats. What
differs on purpose is in DIFFERENT, each with its reason."""

import math

import numpy as np
import pytest
import wcodec
import wcodec.numpy

safetensors = pytest.importorskip("safetensors")
safetensors_numpy = pytest.importorskip("safetensors.numpy")

TENSORS = {
    "a": np.arange(24, dtype=np.float32).reshape(4, 3, 2),
    "b": np.ones((2, 2), np.int64),
    "bool": np.array([True, False, True]),
    "e": np.zeros((0, 3), np.int8),
    "s": np.array(3, np.float32),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("same")
    safetensors_numpy.save_file(TENSORS, folder / "m.safetensors", {"format": "np"})
    wcodec.compress(folder / "m.safetensors")
    return folder


def result(call):
    """What a call gives, comparable: a value, or the kind of failure."""
    try:
        value = call()
    except Exception as error:
        missing = isinstance(error, FileNotFoundError)
        kind = "missing" if missing else "type" if isinstance(error, TypeError) else "error"
        return ("raises", kind)
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.name, value.tobytes())
    if isinstance(value, dict):
        return {key: result(lambda v=v: v) for key, v in value.items()}
    return value


CALLS = """
f.keys()
f.offset_keys()
f.metadata()
f.get_tensor("a")
f.get_tensor("b")
f.get_tensor("bool")
f.get_tensor("e")
f.get_tensor("s")
f.get_tensor("zz")
f.get_tensor(3)
f.get_tensors()
f.get_slice("zz")
f.get_slice("a").get_shape()
f.get_slice("a").get_dtype()
f.get_slice("s").get_shape()
f.get_slice("e").get_dtype()
a[0]
a[-1]
a[4]
a[-5]
a[1:3]
a[:]
a[...]
a[0, ...]
a[..., 0]
a[0, 1, 1]
a[0:2, 1]
a[[]]
a[::2]
a[()]
a[:, :, :]
a[1:2:1]
a[:, 1:]
a[:, :, 0]
a[2:, 0:2, 1:]
a[None]
a[1.5]
a["a"]
a[0, 0, 0, 0]
a[..., ...]
a[np.int64(1)]
s[()]
s[...]
s[0]
e[0]
""".strip().split("\n")


@pytest.mark.parametrize("call", CALLS)
def test_call(folder, call):
    results = []
    for module, name in (
        (safetensors, "m.safetensors"),
        (wcodec, "m.safetensors"),
        (wcodec, "m.safetensors.wcodec"),
    ):
        with module.safe_open(folder / name, framework="np") as f:
            names = {"f": f, "np": np}
            names.update({n: f.get_slice(n) for n in ("a", "s", "e")})
            results.append(result(lambda names=names: eval(call, names)))
    assert results[1] == results[0]
    assert results[2] == results[0]


# Where safetensors raises, or does what numpy does not, and what is given here instead.
DIFFERENT = {
    # Lists of rows, in any order, are part of what was promised here.
    "a[[0, 2]]": lambda a: a[[0, 2]],
    "a[[2, 0]]": lambda a: a[[2, 0]],
    "a[[0, 2], 1]": lambda a: a[[0, 2], 1],
    "a[:, [0, 2]]": lambda a: a[:, [0, 2]],
    "a[np.array([0, 1])]": lambda a: a[[0, 1]],
    "a[range(2)]": lambda a: a[[0, 1]],
    # Steps back, and ends that are negative or beyond the end: as in numpy.
    "a[::-1]": lambda a: a[::-1],
    "a[-2:]": lambda a: a[-2:],
    "a[-100:2]": lambda a: a[-100:2],
    "a[0:100]": lambda a: a[0:100],
    # Empty parts: as in numpy.
    "a[3:1]": lambda a: a[3:1],
    "a[4:4]": lambda a: a[4:4],
    "e[:]": lambda a: a[:],
    "e[0:0]": lambda a: a[0:0],
    # True is no index: numpy would make a mask of it, safetensors takes it for 1.
    "a[True]": None,
}


@pytest.mark.parametrize("call", DIFFERENT)
def test_what_differs(folder, call):
    def with_file(module, name):
        with module.safe_open(folder / name, framework="np") as f:
            names = {"a": f.get_slice("a"), "e": f.get_slice("e"), "np": np}
            return result(lambda: eval(call, names))

    theirs = with_file(safetensors, "m.safetensors")
    expected = ("raises", "error")
    if DIFFERENT[call] is not None:
        expected = result(lambda: DIFFERENT[call](TENSORS[call[0]]))
    for name in ("m.safetensors", "m.safetensors.wcodec"):
        assert with_file(wcodec, name) == expected
    assert theirs != expected, "no longer different: move it to CALLS"


OPENING = [
    "safe_open('/nonexistent', 'np')",
    "safe_open(path, 'zz')",
    "safe_open(path, framework='np', device='cuda')",
    "safe_open(path, framework='np', device=0)",
    "safe_open(None, 'np')",
    "safe_open(3, 'np')",
    "safe_open(path, 'numpy').keys()",
    "safe_open(path, 'np', 'cpu').keys()",
    "safe_open(path, framework='np', backend='pread').keys()",
]


@pytest.mark.parametrize("call", OPENING)
def test_opening(folder, call):
    path = folder / "m.safetensors"
    theirs = result(lambda: eval(call, {"safe_open": safetensors.safe_open, "path": path}))
    for ours in (path, f"{path}.wcodec"):
        assert (
            result(lambda o=ours: eval(call, {"safe_open": wcodec.safe_open, "path": o})) == theirs
        )


def test_a_saved_file_is_the_same_bytes(tmp_path):
    """save_file() to a .safetensors name, and the original that a .wcodec file restores to."""
    for metadata in (None, {"format": "np"}):
        theirs = safetensors_numpy.save(TENSORS, metadata)
        wcodec.numpy.save_file(TENSORS, tmp_path / "m.safetensors", metadata)
        assert (tmp_path / "m.safetensors").read_bytes() == theirs
        wcodec.numpy.save_file(TENSORS, tmp_path / "m.wcodec", metadata)
        wcodec.decompress(tmp_path / "m.wcodec", tmp_path / "m", force=True)
        assert (tmp_path / "m").read_bytes() == theirs
    assert safetensors_numpy.load_file(tmp_path / "m").keys() == TENSORS.keys()


def test_order_of_types_is_theirs():
    """Of every type that both have."""
    import ctypes

    from conftest import BITS

    memory = ctypes.create_string_buffer(64)
    from wcodec._dtypes import DTYPES, SAVE_ORDER

    specs = {}
    for name, known in DTYPES.items():
        if known.torch is not None:
            specs[name] = safetensors.TensorSpec(
                dtype=known.torch,
                shape=(4,),
                data_ptr=ctypes.addressof(memory),
                data_len=4 * max(BITS[name], 8) // 8,
            )
    data = safetensors.serialize(specs)
    import json

    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    theirs = sorted(header, key=lambda name: header[name]["data_offsets"][0])
    assert theirs == sorted(specs, key=SAVE_ORDER.__getitem__)


def test_functions_have_their_arguments():
    import inspect

    def names(function):
        return [
            name
            for name, p in inspect.signature(function).parameters.items()
            if p.kind is not inspect.Parameter.VAR_KEYWORD
        ]

    pairs = [("numpy", name) for name in ("load", "load_file", "save", "save_file")]
    try:
        import torch  # noqa: F401
    except ImportError:
        pass
    else:
        extra = ("load_model", "save_model")
        pairs += [("torch", n) for n in ("load", "load_file", "save", "save_file", *extra)]
    import importlib

    for module, name in pairs:
        theirs = names(getattr(importlib.import_module(f"safetensors.{module}"), name))
        ours = names(getattr(importlib.import_module(f"wcodec.{module}"), name))
        common = [n for n in theirs if n in ours]
        assert common == theirs, (module, name)
        assert math.prod(n in ours for n in theirs)
