# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Stores of compressed vectors, and search in them."""

import fcntl
import threading

import pytest

np = pytest.importorskip("numpy")

import wcodec  # noqa: E402
from wcodec import VectorStore  # noqa: E402


def clusters(n, d=24, seed=1):
    random = np.random.default_rng(seed)
    centres = 3 * np.random.default_rng(7).standard_normal((15, d))
    return (centres[random.integers(0, 15, n)] + random.standard_normal((n, d))).astype(np.float32)


def nearest(rows, queries, k, metric="l2"):
    rows, queries = rows.astype(float), queries.astype(float)
    products = queries @ rows.T
    if metric == "l2":
        products = 2 * products - (rows**2).sum(1)
    if metric == "cosine":
        products = products / np.linalg.norm(rows, axis=1)
    return np.argsort(-products, axis=1, kind="stable")[:, :k]


def recall(found, wanted):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), wanted.tolist())])


def test_add_and_search(tmp_path):
    rows, queries = clusters(2000), clusters(40, seed=2)
    store = VectorStore(tmp_path / "store", threads=2)
    store.train(rows, anchors=30)
    added = store.add(rows[:1500])
    assert (
        added.ids == range(1500)
        and added.recall >= 0.95
        and added.energy > 0
        and added.clipped == 0
    )
    assert added.coded_size < 0.25 * rows[:1500].nbytes
    assert VectorStore(tmp_path / "store").add(rows[1500:]).ids == range(1500, 2000)
    store.reload()
    assert len(store) == 2000 and store.info().segments == 2 and store.info().next_id == 2000
    for metric in ("l2", "inner_product", "cosine"):
        scores, ids = store.search(queries, 10, metric=metric)
        assert scores.shape == ids.shape == (40, 10)
        assert scores.dtype == np.float32 and ids.dtype == np.int64
        assert recall(ids, nearest(rows, queries, 10, metric)) > 0.9
        assert (np.diff(scores) >= 0 if metric == "l2" else np.diff(scores) <= 0).all()
    assert store.info().device_memory == 0
    with pytest.raises(wcodec.BackendError):
        VectorStore(tmp_path / "store", backend="none").info()
    few = store.search(queries, 10, probes=8)[1]
    assert recall(few, nearest(rows, queries, 10)) > 0.7
    assert (
        VectorStore(tmp_path / "store", threads=1).search(queries)[1] == store.search(queries)[1]
    ).all()


def test_tune(tmp_path):
    rows, queries = clusters(1000), clusters(50, seed=2)
    store = VectorStore(tmp_path / "store")
    store.train(rows, anchors=40)
    store.add(rows, bits=4)
    wanted = store.search(queries, 10)[1]
    probes = store.tune(queries, 10, recall=0.9)
    assert 1 < probes < 40
    assert recall(store.search(queries, 10, probes=probes)[1], wanted) >= 0.9
    assert recall(store.search(queries, 10, probes=probes - 1)[1], wanted) < 0.9
    for wrong in ({"recall": 1}, {"k": 1001}, {"metric": "l3"}):
        with pytest.raises(wcodec.UsageError):
            store.tune(queries, **wrong)


def test_rerank(tmp_path):
    rows, queries = clusters(1000), clusters(30, seed=2)
    store = VectorStore(tmp_path / "store")
    store.train(rows, anchors=16)
    store.add(rows, bits=1.5, first_id=100)
    wanted = nearest(rows, queries, 10) + 100
    coarse = recall(store.search(queries, 10)[1], wanted)
    scores, ids = store.search(queries, 10, rerank=rows, rerank_first_id=100)
    assert recall(ids, wanted) > coarse + 0.1
    exact = ((queries[:, None].astype(float) - rows[ids - 100]) ** 2).sum(2)
    assert np.allclose(scores, exact, rtol=1e-5)
    ids = store.search(queries, 10, rerank=rows, rerank_factor=100, rerank_first_id=100)[1]
    assert recall(ids, wanted) == 1
    for wrong in (
        {"rerank": rows},
        {"rerank": rows[:, :3], "rerank_first_id": 100},
        {"rerank": rows, "rerank_first_id": 100, "rerank_factor": 0},
        {"rerank_factor": 3},
        {"rerank": rows.astype("i4")},
    ):
        with pytest.raises(wcodec.WcodecError):
            store.search(queries, 10, **wrong)


def test_filters_and_removing(tmp_path):
    rows = clusters(300)
    store = VectorStore(tmp_path)
    store.train(rows)
    store.add(rows, first_id=1000, bits=5)
    allowed = np.zeros(1299, bool)
    allowed[1100:1103] = True
    scores, ids = store.search(rows[:2], 5, allowed=allowed)
    assert (np.sort(ids)[:, 2:] == [1100, 1101, 1102]).all() and (ids[:, 3:] == -1).all()
    assert np.isinf(scores[:, 3:]).all()
    assert (store.search(rows[:2], 1, allowed=np.zeros(0, bool))[1] == -1).all()
    store.remove(np.arange(1000, 1002))
    store.remove([1005])
    assert len(store) == 297 and store.info().removed == 3
    assert not np.isin(store.search(rows[:6], 1)[1], [1000, 1001, 1005]).any()
    assert (store.search(rows[2:5], 1)[1].ravel() == [1002, 1003, 1004]).all()
    with pytest.raises(wcodec.TensorNotFoundError, match="no vector of id 1005"):
        store.remove([1006, 1005])
    assert len(store) == 297


def test_compacting(tmp_path):
    rows = clusters(300)
    store = VectorStore(tmp_path, threads=1)
    store.train(rows, anchors=8)
    store.add(rows[:200], bits=5)
    for i in range(200, 300, 20):
        VectorStore(tmp_path).add(rows[i : i + 20])
    store.reload()
    store.remove([3, 250])
    before = [store.search(rows, 7, metric=m) for m in ("l2", "inner_product", "cosine")]
    told = []
    done = store.compact(progress=lambda *now: told.append(now))
    assert done[:4] == (6, 1, 298, 2) and done.size_before > done.size_after > 0
    assert told[-1][0] == told[-1][1] > 0
    assert len(store) == 298 and store.info().segments == 1 and store.info().removed == 0
    after = [store.search(rows, 7, metric=m) for m in ("l2", "inner_product", "cosine")]
    for a, b in zip(before, after):
        assert (a[0] == b[0]).all() and (a[1] == b[1]).all()
    assert store.compact(max_rows=9)[:4] == (1, 1, 298, 0)
    with pytest.raises(wcodec.UsageError, match="and not 0"):
        store.compact(max_rows=0)
    with pytest.raises(wcodec.FileError):
        VectorStore(tmp_path / "none").compact()


def test_types(tmp_path):
    rows = clusters(200)
    store = VectorStore(tmp_path)
    store.train(rows.astype(np.float16), anchors=5)
    store.add(rows.astype(">f4"), bits=6)
    assert (store.search(rows[:50], 1)[1].ravel() == np.arange(50)).all()
    torch = pytest.importorskip("torch")
    store.add(torch.from_numpy(rows + 50).bfloat16())
    assert (store.search(torch.from_numpy(rows[:9]), 1)[1].ravel() == np.arange(9)).all()


def test_what_is_wrong_is_named(tmp_path):
    rows = clusters(100)
    path = tmp_path / "store"
    store = VectorStore(path)
    with pytest.raises(wcodec.MissingFileError):
        len(store)
    path.mkdir()
    with pytest.raises(wcodec.UsageError, match="no store of vectors"):
        store.search(rows)
    with pytest.raises(wcodec.UsageError, match="no store of vectors"):
        store.add(rows)
    store.train(rows)
    store.add(rows)
    for arguments, text in (
        ({"bits": 8.0}, "0.5 to 7 bits"),
        ({"recall": 1.5}, "above 0 and below 1"),
        ({"bits": 3, "recall": 0.9}, "not both"),
        ({"first_id": 99}, "id 99 was used: the first that never was is 100"),
        ({"first_id": -1}, "first_id is -1"),
    ):
        with pytest.raises(wcodec.UsageError, match=text):
            store.add(rows, **arguments)
    for arguments, text in (
        ({"k": 101}, "101 nearest of 100 vectors"),
        ({"k": 0}, "and not 0"),
        ({"k": 5000}, "1 to 4096"),
        ({"k": True}, "k is True"),
        ({"metric": "l1"}, "metric is 'l1'"),
        ({"probes": -1}, "probes is -1"),
        ({"allowed": np.zeros(5)}, "allowed is an array of bool"),
    ):
        with pytest.raises(wcodec.UsageError, match=text):
            store.search(rows, **arguments)
    with pytest.raises(wcodec.UsageError, match="queries of 23 dimensions"):
        store.search(rows[:, 1:])
    wrong = rows.copy()
    wrong[7, 3] = np.nan
    with pytest.raises(wcodec.UsageError, match="queries: row 7: element 3 is NaN"):
        store.search(wrong)
    with pytest.raises(wcodec.UsageError, match="row 7: element 3 is NaN"):
        store.add(wrong)
    for wrong_id in (-1, 1 << 63, 1 << 64):
        with pytest.raises(wcodec.UsageError, match=f"id {wrong_id} is not from 0"):
            store.remove([5, wrong_id])
    for what in ([0.5], [True], ["5"], [[5]], np.array([0.5])):
        with pytest.raises(wcodec.UsageError, match="whole numbers"):
            store.remove(what)
    store.remove([])
    with open(path / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="another is changing") as caught:
            store.remove([5])
        assert isinstance(caught.value, wcodec.BusyError) and caught.value.filename == str(path)
    (path / "vectors.manifest").write_bytes(b"nothing")
    store.reload()
    with pytest.raises(wcodec.CorruptError, match="no manifest"):
        store.search(rows)


def test_from_threads(tmp_path):
    rows, found = clusters(500), []
    store = VectorStore(tmp_path)
    store.train(rows)
    store.add(rows)
    store.info()
    threads = [
        threading.Thread(target=lambda: found.append(store.search(rows[:20])[1])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all((f == found[0]).all() for f in found)


def test_progress(tmp_path):
    rows, told = clusters(300), []
    store = VectorStore(tmp_path)
    store.train(rows)
    store.add(rows, progress=lambda *now: told.append(now))
    assert told[-1][0] == told[-1][1] > 0

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        store.add(rows, progress=stop)
    assert len(store) == 300
