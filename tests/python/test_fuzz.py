# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Seeds of fuzz/corpus and small files, mutated, by all functions that take bytes: what they give,
or an exception of the package's. WCODEC_FUZZ_RUNS mutations of each, by WCODEC_TEST_SEED."""

import os
import random
import struct

import numpy as np
import pytest
import wcodec
from conftest import TOP, safetensors_bytes, weights
from wcodec import numpy as wn

RUNS = int(os.environ.get("WCODEC_FUZZ_RUNS", "150"))
SEED = int(os.environ.get("WCODEC_TEST_SEED", "1"), 0)


def mutated(rng, data):
    data = bytearray(data)
    for _ in range(1 << rng.randrange(4)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6) if data else 5
        if kind < 3:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 3:
            data[at % len(data)] = rng.choice(b'\0\1\x7f\x80\xff09"[]{},:-')
        elif kind == 4:
            del data[at : at + rng.randrange(16)]
        else:
            data[at:at] = rng.randbytes(rng.randrange(16))
    return bytes(data)


def model():
    return {
        "w": ("BF16", (40, 60), weights(np, 2400)),
        "i": ("I8", (64, 64), np.random.default_rng(2).integers(-3, 4, 4096, np.int8).tobytes()),
        "z": ("U8", (40,), bytes(40)),
        "e": ("F4", (2, 2), b"ab"),
    }


def coded():
    arrays = {"w": np.arange(3000, dtype=np.float32).reshape(30, 100), "z": np.zeros(70, np.int8)}
    return wn.save(arrays, {"a": "b"})


def sealed(data):
    """A safetensors file whose length word is right."""
    return struct.pack("<Q", max(0, len(data.rstrip(b"\0")) - 8)) + data[8:]


def take(run, *arguments, **options):
    """Whether it is taken; what refuses it is an exception of the package's, with a text."""
    try:
        run(*arguments, **options)
    except wcodec.WcodecError as error:
        assert str(error)
        return False
    return True


def load_all(data):
    for name, array in wn.load(data).items():
        assert isinstance(name, str)
        array.tobytes()


def seeds():
    folder = TOP / "fuzz" / "corpus" / "container_open"
    return [p.read_bytes() for p in sorted(folder.iterdir()) if p.stat().st_size < 20000]


@pytest.mark.parametrize("make", [coded, lambda: safetensors_bytes(model(), {"k": "v"})])
def test_bytes(make):
    rng, good = random.Random(SEED), make()
    assert take(load_all, good)
    taken = 0
    for i in range(RUNS):
        data = mutated(rng, good)
        taken += take(load_all, sealed(data) if i % 2 and good[:1] != b"\x89" else data)
    assert taken < RUNS


def test_seeds():
    rng, files = random.Random(SEED), seeds()
    assert len(files) > 3
    for i in range(RUNS):
        take(load_all, mutated(rng, files[i % len(files)]))


def test_paths(tmp_path):
    rng = random.Random(SEED)
    path, out = tmp_path / "m.safetensors.wcodec", tmp_path / "out"
    for _ in range(RUNS // 3):
        path.write_bytes(mutated(rng, coded()))
        take(wcodec.info, path)
        take(wcodec.test, path)
        take(wcodec.decompress, path, out)
        out.unlink(missing_ok=True)
        plain = tmp_path / "m.safetensors"
        plain.write_bytes(mutated(rng, safetensors_bytes(model())))
        take(wn.load_file, plain)
        take(wcodec.info, plain)


def test_messages():
    rng = random.Random(SEED)
    old = {"w": np.arange(20000, dtype=np.int16), "v": np.ones(5000, np.int8)}
    new = {name: array.copy() for name, array in old.items()}
    new["w"][::50] += 1
    message = wcodec.delta_encode(old, new)
    for i in range(RUNS):
        given = {name: array.copy() for name, array in old.items()}
        states = {}
        data = mutated(rng, message) if i else message
        done = take(wcodec.delta_apply, given, data, verify="trial", states=states)
        assert done or i
        for name, array in given.items():
            wanted = new if states.get(name) == "after" else old
            assert states.get(name) == "broken" or (array == wanted[name]).all()
