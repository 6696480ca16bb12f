# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""examples/ladder.py: trainings whose losses an ensemble learns to foresee, the same on all levels
and backends within 1e-4, without growth of memory; what is drawn. GPT-2 is only counted."""

import importlib.util
import json
import os
from pathlib import Path

import pytest
from conftest import TOP, run

np = pytest.importorskip("numpy")

found = importlib.util.spec_from_file_location("ladder", TOP / "examples" / "ladder.py")
ladder = importlib.util.module_from_spec(found)
found.loader.exec_module(ladder)

ROLL = """
import sys
import numpy as np
import wcodec
from wcodec import _rssm
_rssm._check_device = str  # the fake device, too
path, given, device, to = sys.argv[1:]
given = np.load(given)
model = wcodec.RSSM.open(path, device=device)
r = model.rollout(given["hidden"], given["features"], float(given["loss"]), 10)
assert np.isfinite(r.trajectories).all()
np.savez(to, trajectories=r.trajectories, hidden=r.hidden, mean=r.mean)
"""


def climb(rung, steps, ensemble=3, hidden=32, **options):
    made = ladder.Climb(rung, ladder.make_ensemble(ensemble, hidden, 16), **options)
    for _ in range(steps):
        made.step()
    assert np.isfinite(made.losses).all() and made.predictions
    for prediction in made.predictions:
        assert np.isfinite([*prediction.mean, *prediction.lower, *prediction.upper]).all()
        assert (prediction.lower <= prediction.mean).all()
        assert (prediction.mean <= prediction.upper).all()
    return made


def compare(made, folder):
    """What each level and backend that is here says, beside the CPU's best level."""
    wanted = made.rollout(made.model)
    given = folder / "given.npz"
    np.savez(given, hidden=made.learner.hidden, features=made.state.features(),
             loss=made.losses[-1])  # fmt: skip
    made.model.save(folder / "ensemble.wcodec")
    tried = [("cpu", {}), ("cpu", {"WCODEC_CPU_MASK": "scalar"}), ("cpu", {"WCODEC_THREADS": "3"})]
    if "WCODEC_FAKE_PATH" in os.environ:  # the kernels, emulated
        tried.append(("fake", {"WCODEC_BACKEND_PATH": os.environ["WCODEC_FAKE_PATH"]}))
    plugin = Path(os.environ.get("WCODEC_LIBRARY", "/nowhere/.libs/x")).absolute().parents[1]
    plugin = plugin / "backends/opencl/.libs"
    if plugin.is_dir() and "WCODEC_BACKEND_PATH" not in os.environ:
        environment = {
            "WCODEC_BACKEND_PATH": str(plugin),
            "HWLOC_COMPONENTS": "-opencl,-cuda,-nvml,-gl",
        }
        if "opencl" in run("import wcodec; print(wcodec.devices())", **environment).stdout:
            tried.append(("opencl", environment))
    for device, environment in tried:
        to = folder / "said.npz"
        arguments = (folder / "ensemble.wcodec", given, device, to)
        made_by = run(ROLL, *arguments, check=False, **environment)
        if device == "opencl" and "BackendError" in made_by.stderr:
            continue  # there is a plugin, but no driver
        assert made_by.returncode == 0, made_by.stderr
        said = np.load(to)
        for name in said.files:
            limit = 0 if device == "cpu" else 1e-4
            np.testing.assert_allclose(said[name], getattr(wanted, name), rtol=0, atol=limit)


def test_xor(tmp_path):
    made = climb(ladder.Xor(), 1500)
    assert made.rung.count == sum(w.size for w in made.rung.weights) == 17
    assert made.losses[-1] < 0.1 * made.losses[0]
    errors = made.errors()
    assert np.mean(errors[-10:]) < 0.3 * np.mean(errors[:10])
    compare(made, tmp_path)


def test_digits(tmp_path):
    pytest.importorskip("sklearn")
    made = climb(ladder.Digits(), 60, every=10)
    assert made.rung.count == sum(w.size for w in made.rung.weights) == 23466
    assert np.mean(made.losses[-10:]) < 0.8 * np.mean(made.losses[:10])
    compare(made, tmp_path)


@pytest.mark.parametrize("name", ["xor", "digits"])
def test_gradients(name):
    """A small step goes down by rate times the squared norm."""
    if name == "digits":
        pytest.importorskip("sklearn")
    first, second = ladder.RUNGS[name](), ladder.RUNGS[name]()
    first.rate = second.rate = 1e-4
    if name == "digits":  # the same batch twice
        first.random = second.random = np.random.default_rng(1)
    before, norm = first.step()
    if name == "digits":
        first.random = np.random.default_rng(1)
    after, _ = first.step()
    assert (before - after) / (1e-4 * norm**2) == pytest.approx(1, rel=0.02)


def test_gpt2():
    assert ladder.Gpt2.count == 124_439_808
    assert ladder.Gpt2.memory == 16 * 124_439_808
    pytest.importorskip("torch")
    model = ladder.Gpt2(device="meta")
    assert sum(p.numel() for p in model.modules.parameters()) == ladder.Gpt2.count


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
def test_memory_does_not_grow():
    """Over 10,000 steps, each a lesson, with a rollout every 50."""
    made = climb(ladder.Xor(), 1000, 2, 16)
    before = resident()
    for step in range(10_000):
        made.step()
        del made.losses[:-1], made.predictions[:]
        if step % 50 == 0:
            made.predict()
    assert resident() - before < 1 << 20


def test_plot():
    made = climb(ladder.Xor(), 100, 2, 16, every=20, horizon=5)
    spec = ladder.plot(made)
    bounds, true, predicted = (layer["data"]["values"] for layer in spec["layer"])
    assert [p["loss"] for p in true] == made.losses and bounds == predicted
    assert len(predicted) == 5 * 5 and {p["of"] for p in predicted} == {20, 40, 60, 80, 100}
    assert predicted[5]["loss"] == made.predictions[1].mean[0]
    convert = pytest.importorskip("vl_convert")
    picture = convert.vegalite_to_svg(json.dumps(spec))
    assert picture.count("#d55e00") >= 10 and "#0072b2" in picture


def test_command(tmp_path):
    made = run(
        "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], None, '__main__')",
        TOP / "examples" / "ladder.py",
        *("xor", "--steps=120", f"--save={tmp_path}/x.wcodec"),
    )
    lines = made.stdout.splitlines()
    assert lines[0] == "xor: 17 weights, 120 steps" and lines[2].startswith("predictions off by")
    assert ladder.wcodec.RSSM.open(tmp_path / "x.wcodec").ensemble == 5
