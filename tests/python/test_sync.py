# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Messages of what changed between two snapshots of weights."""

import os

import pytest
from conftest import TOP, run

np = pytest.importorskip("numpy")

import wcodec  # noqa: E402
from wcodec.numpy import load_file, save_file  # noqa: E402


def snapshots(seed=1):
    """Weights, and the same after a step."""
    rng = np.random.default_rng(seed)
    old = {
        "w": rng.normal(0, 0.02, (300, 401)).astype(np.float32),
        "half": rng.normal(0, 1, 5000).astype(np.float16),
        "bytes": rng.integers(0, 255, 77, np.uint8),
        "nothing": np.zeros((0, 3), np.float64),
        "scalar": np.array(3.5),
        "same": np.arange(70000, dtype=np.int64),
    }
    new = {name: array.copy() for name, array in old.items()}
    new["w"][rng.integers(0, 300, 60), rng.integers(0, 401, 60)] *= 1.0001
    new["half"][::50] += np.float16(0.01)
    new["bytes"][3] ^= 1
    new["scalar"] += 1
    return old, new


def copies(tensors):
    return {name: array.copy() for name, array in tensors.items()}


def expect(got, wanted):
    assert got.keys() == wanted.keys()
    for name in wanted:
        assert got[name].tobytes() == wanted[name].tobytes(), name


@pytest.mark.parametrize("verify", ["before", "trial", "after"])
def test_brings_weights_to_the_new_snapshot(verify):
    old, new = snapshots()
    message = wcodec.delta_encode(old, new)
    assert isinstance(message, bytes) and len(message) < 4000
    weights = dict(reversed(copies(old).items()))
    weights["more"] = np.ones(5)
    states = {}
    wcodec.delta_apply(weights, message, verify=verify, states=states)
    assert states.pop("more") == "before" and set(states.values()) == {"after"}
    assert (weights.pop("more") == 1).all()
    expect(weights, new)


def test_may_be_a_file_with_the_old_one_as_base(tmp_path):
    old, new = snapshots()
    save_file(old, tmp_path / "old.wcodec")
    message = wcodec.delta_encode(old, new, level=7, file=True)
    (tmp_path / "message.wcodec").write_bytes(message)
    expect(load_file(tmp_path / "message.wcodec", base=tmp_path / "old.wcodec"), new)


def test_takes_other_buffers_and_nothing():
    old, new = snapshots()
    message = wcodec.delta_encode(old, new, threads=1)
    for kind in (bytearray, memoryview):
        weights = copies(old)
        wcodec.delta_apply(weights, kind(message), threads=2)
        expect(weights, new)
    wcodec.delta_apply({}, wcodec.delta_encode({}, {}))


def test_says_what_is_wrong():
    old, new = snapshots()
    message = wcodec.delta_encode(old, new)
    weights, states = copies(old), {}
    weights["w"][200, 100] += 1
    kept = copies(weights)
    for verify in ("before", "trial"):
        with pytest.raises(wcodec.MismatchError, match="old snapshot") as raised:
            wcodec.delta_apply(weights, message, verify=verify, states=states)
        assert raised.value.tensor == "w"
        assert set(states.values()) == {"before"}
        expect(weights, kept)
    with pytest.raises(wcodec.MismatchError):
        wcodec.delta_apply(weights, message, verify="after", states=states)
    assert states["w"] == "broken"
    weights = copies(old)
    del weights["half"]
    with pytest.raises(wcodec.TensorNotFoundError) as raised:
        wcodec.delta_apply(weights, message)
    assert raised.value.tensor == "half"
    weights = {**copies(old), "half": old["half"].reshape(50, 100).copy()}
    with pytest.raises(wcodec.MismatchError, match="half"):
        wcodec.delta_apply(weights, message)
    with pytest.raises(wcodec.CorruptError):
        wcodec.delta_apply(copies(old), message[:-1])
    with pytest.raises(wcodec.CorruptError):
        wcodec.delta_apply(copies(old), b"")


def test_refuses_what_cannot_be_changed_in_place():
    old, new = snapshots()
    message = wcodec.delta_encode(old, new)
    weights = copies(old)
    for bad in (
        weights["w"].T.copy().T,
        weights["w"].astype(">f4"),
        np.broadcast_to(np.float32(1), (300, 401)),
    ):
        with pytest.raises(wcodec.UsageError, match="w"):
            wcodec.delta_apply({**weights, "w": bad}, message)
    weights["w"].flags.writeable = False
    with pytest.raises(wcodec.UsageError, match="read-only"):
        wcodec.delta_apply(weights, message)
    with pytest.raises(wcodec.UsageError, match="verify"):
        wcodec.delta_apply(copies(old), message, verify="never")
    with pytest.raises(TypeError):
        wcodec.delta_apply(copies(old), "text")
    with pytest.raises(wcodec.UsageError):
        wcodec.delta_apply([], message)
    with pytest.raises(wcodec.UsageError):
        wcodec.delta_encode(old, new, lossy="snr:40")


def test_cancels_before_anything_is_changed():
    old, new = snapshots()
    message = wcodec.delta_encode(old, new)
    weights, told = copies(old), []
    wcodec.delta_apply(weights, message, progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == sum(array.nbytes for array in old.values())
    expect(weights, new)


TORCH = """
    import torch, wcodec, wcodec.torch
    torch.manual_seed(1)
    tied = torch.randn(300, 200).bfloat16()
    old = {"a": tied, "b": tied, "c": torch.randn(70001), "d": torch.zeros(3, dtype=torch.int64)}
    step = torch.nn.Parameter(tied.clone())
    with torch.no_grad():
        step.view(-1)[::97] *= 1.01
    new = {"a": step, "b": step, "c": old["c"].clone(), "d": old["d"] + 1}
    new["c"][5] = 7
    weights = {name: tensor.clone() for name, tensor in old.items()}
    weights["b"] = weights["a"]
"""


def test_torch():
    pytest.importorskip("torch")
    run(
        TORCH
        + """
    message = wcodec.delta_encode(old, new)
    assert len(message) < 5000, len(message)
    wcodec.delta_apply(weights, message)
    assert weights["b"] is weights["a"]
    for name in new:
        assert torch.equal(weights[name], new[name]), name
    for bad in (weights["a"].t(), torch.empty(3, device="meta"), 5):
        try:
            wcodec.delta_apply({**weights, "a": bad, "b": bad}, message)
        except wcodec.UsageError:
            continue
        raise AssertionError(bad)
    """
    )


def test_example():
    """examples/sync_weights.py."""
    pytest.importorskip("torch")
    made = run((TOP / "examples" / "sync_weights.py").read_text())
    lines = made.stdout.splitlines()
    assert len(lines) == 3 and all(line.endswith("the same") for line in lines), made.stdout


def test_torch_by_a_device():
    """Of the fake device, whose memory the host sees only by copies."""
    pytest.importorskip("torch")
    folder = os.environ.get("WCODEC_FAKE_PATH")
    if folder is None:
        pytest.skip("WCODEC_FAKE_PATH is not set")
    run(
        TORCH
        + """
    from wcodec._write import Place
    here = Place("fake", "fake", 1)
    plain = wcodec.delta_encode(old, new)
    for sides in ((here, None), (None, here), (here, here)):
        asked = iter(sides)
        wcodec.torch._place = lambda tensors, threads: next(asked)
        assert wcodec.delta_encode(old, new) == plain
    wcodec.torch._place = lambda tensors, threads: here
    states = {}
    wcodec.delta_apply(weights, plain, states=states)
    assert set(states.values()) == {"after"}
    for name in new:
        assert torch.equal(weights[name], new[name]), name
    try:
        wcodec.delta_apply(weights, plain, states=states)
    except wcodec.MismatchError:
        assert set(states.values()) == {"before"}
    else:
        raise AssertionError("applied twice")
    """,
        WCODEC_BACKEND_PATH=folder,
    )
