# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Vectors as anchors and indices."""

import threading

import pytest

np = pytest.importorskip("numpy")

import wcodec  # noqa: E402
from wcodec import vectors  # noqa: E402

PUBLISHED = {
    "cooling": 0.05,
    "step": 0.2,
    "max_iterations": 50,
    "tolerance": 1e-3,
    "min_changes": 1,
}


def published(n, d):
    at = np.arange(n * d, dtype=np.float32).reshape(n, d)
    step = 5 * (np.arange(n, dtype=np.float32) % 3)[:, None]
    return (step + np.float32(0.5) * np.sin(at * np.float32(0.1))).astype(np.float16)


def energy(found, rows):
    return ((rows.astype(float) - found.anchors[found.index].astype(float)) ** 2).sum(1).mean()


def test_golden_energies():
    rows = published(1000, 64)
    found = vectors.train(rows, 32, schedule="compat", maintenance=20, **PUBLISHED)
    assert len(found.course) == 8
    assert found.course[-1].energy == pytest.approx(0.287837, abs=2e-6)
    assert found.course[0].changes == 1000 and found.course[0].temperature == pytest.approx(0.95)
    found = vectors.train(published(300, 64), 10, schedule="compat", maintenance=20, **PUBLISHED)
    assert found.course[19].energy == pytest.approx(2.339, abs=5e-4)


def test_anchors_and_indices():
    rows = published(300, 64)
    found = vectors.train(rows, 22, threads=1)
    assert found.anchors.shape == (22, 64) and found.anchors.dtype == np.float16
    assert found.index.shape == (300,) and found.index.dtype == np.uint32
    distances = ((rows[:, None].astype(float) - found.anchors[None].astype(float)) ** 2).sum(2)
    assert (distances.argmin(1) == found.index).mean() > 0.99
    assert energy(found, rows) < 0.5
    quality = vectors.evaluate(found, rows, queries=50, k=5)
    assert quality.energy == pytest.approx(energy(found, rows), rel=1e-5)
    assert 0 < quality.recall <= 1 and quality.queries == 50
    assert 0 < quality.index_bits <= np.log2(22)
    assert vectors.evaluate(found, rows, queries=0).recall is None
    assert vectors.evaluate(found, rows, queries=10**6).queries == 300


@pytest.mark.parametrize("change", ["columns", "every second", "big-endian", "float32"])
def test_other_layouts_are_the_same(change):
    rows = published(200, 12)
    wanted = vectors.train(rows, 9, seed=3)
    if change == "columns":
        rows = np.asfortranarray(rows)
    elif change == "every second":
        rows = np.repeat(rows, 2, axis=0)[::2]
    else:
        rows = rows.astype(">f2" if change == "big-endian" else np.float32)
    found = vectors.train(rows, 9, seed=3, threads=3, backend="cpu")
    assert (found.anchors == wanted.anchors).all() and (found.index == wanted.index).all()


def test_torch():
    torch = pytest.importorskip("torch")
    rows = published(200, 12)
    wanted = vectors.train(rows, 9)
    found = vectors.train(torch.from_numpy(rows).requires_grad_(), 9)
    assert isinstance(found.anchors, torch.Tensor) and found.anchors.dtype == torch.float16
    assert (found.anchors.numpy() == wanted.anchors).all()
    assert (found.anchors[found.index].numpy() == wanted.anchors[wanted.index]).all()
    assert vectors.evaluate(found, torch.from_numpy(rows)).energy > 0
    assert vectors.train(torch.from_numpy(rows).bfloat16(), 9).index.shape == (200,)


def test_what_is_wrong_is_named():
    rows = published(40, 6)
    for arguments, text in (
        ({"anchors": 41}, "41 anchors for 40 vectors"),
        ({"anchors": 0}, "anchors is 0"),
        ({"anchors": True}, "anchors is True"),
        ({"anchors": 2, "schedule": "fast"}, "schedule is 'fast': expected one of best, compat"),
        ({"anchors": 2, "max_iterations": 0}, "max_iterations is 0"),
        ({"anchors": 2, "cooling": 2.0}, "cooling and step are from 0 to 1"),
    ):
        with pytest.raises(wcodec.UsageError, match=text):
            vectors.train(rows, **arguments)
    with pytest.raises(TypeError, match="colling"):
        vectors.train(rows, 2, colling=1)
    with pytest.raises(wcodec.UnsupportedError, match="I64"):
        vectors.train(np.zeros((4, 4), np.int64), 2)
    with pytest.raises(wcodec.UsageError, match=r"\[4\]: expected \[n, d\]"):
        vectors.train(np.zeros(4, np.float32), 2)
    found = vectors.train(rows, 3)
    with pytest.raises(wcodec.UsageError, match=r"\[40, 6\] vectors, and not of \[39, 6\]"):
        vectors.evaluate(found, rows[1:])
    with pytest.raises(wcodec.UsageError, match="1001 neighbours"):
        vectors.evaluate(found, rows, k=1001)
    rows[17, 4] = np.nan
    with pytest.raises(wcodec.UsageError, match="row 17: element 4 is NaN"):
        vectors.train(rows, 3)


def test_progress_and_cancelling():
    rows, told = published(300, 8), []
    vectors.train(rows, 8, progress=lambda *now: told.append(now))
    assert told[-1] == (300 * 8 * 4 * 100,) * 2

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        vectors.train(rows, 8, progress=stop)
    with pytest.raises(RuntimeError, match="enough"):
        vectors.evaluate(vectors.train(rows, 8), rows, progress=stop)


def test_from_threads():
    rows, found = published(300, 8), []
    threads = [
        threading.Thread(target=lambda: found.append(vectors.train(rows, 8))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all((f.index == found[0].index).all() for f in found)
