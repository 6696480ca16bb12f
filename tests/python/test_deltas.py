# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files that are differences from others."""

import os
import shutil

import pytest

np = pytest.importorskip("numpy")

import wcodec  # noqa: E402
from wcodec.numpy import load_file, save_file  # noqa: E402


def steps(folder, count=3):
    """Checkpoints of which each differs a little from the one before, as safetensors files."""
    rng, made = np.random.default_rng(1), []
    weights = rng.normal(0, 0.02, (300, 400)).astype(np.float32)
    for i in range(count):
        weights = weights.copy()
        weights[rng.integers(0, 300, 40), rng.integers(0, 400, 40)] += 0.001
        made.append(folder / f"step-{i}.safetensors")
        save_file({"w": weights, "same": np.arange(5000, dtype=np.int32)}, made[-1])
    return made


def delta(folder):
    """A delta of two steps, its base elsewhere."""
    first, second = steps(folder, 2)
    apart = folder / "apart"
    apart.mkdir()
    target = apart / "second.wcodec"
    wcodec.compress(second, target, base=first)
    assert os.path.getsize(target) < os.path.getsize(second) / 20
    return first, second, target


def test_decodes_by_what_is_given(tmp_path):
    first, second, target = delta(tmp_path)
    expected = load_file(second)
    for base in (first, str(first), [first], tmp_path):
        loaded = load_file(target, base=base)
        assert all((loaded[name] == expected[name]).all() for name in expected)
    with wcodec.safe_open(target, "np", base=first) as f:
        assert (f.get_slice("w")[7:9] == expected["w"][7:9]).all()
    assert wcodec.test(target, base=first)["ok"]
    wcodec.decompress(target, tmp_path / "again", base=first)
    assert (tmp_path / "again").read_bytes() == second.read_bytes()


def test_info_names_the_chain(tmp_path):
    made = []
    for path in steps(tmp_path):
        made.append(f"{path}.wcodec")
        wcodec.compress(path, base=made[-2] if len(made) > 1 else None)
    bases = wcodec.info(made[2])["files"][0]["bases"]
    assert [(base["path"], base["of"]) for base in bases] == [(made[1], None), (made[0], made[1])]
    os.unlink(made[1])
    bases = wcodec.info(made[2])["files"][0]["bases"]
    assert [(base["path"], base["of"]) for base in bases] == [(None, None)]


def test_finds_what_is_in_the_folder(tmp_path):
    first, second, target = delta(tmp_path)
    with pytest.raises(wcodec.MissingFileError, match="as base"):
        load_file(target)
    assert wcodec.info(target)["files"]  # can be listed all the same
    wcodec.compress(first, target.parent / "renamed.wcodec")
    assert (load_file(target)["w"] == load_file(second)["w"]).all()
    assert wcodec.test(target)["ok"]


def test_tensors_that_need_no_base(tmp_path):
    first, second, target = delta(tmp_path)
    more = target.parent / "more.safetensors"
    save_file({"own": np.arange(9000.0), **load_file(second)}, more)
    wcodec.compress(more, target, base=first, force=True)
    os.remove(more)
    with wcodec.Reader(target) as reader, wcodec.safe_open(target, "np") as f:
        assert "own" in reader.names()
        assert (f.get_tensor("own") == np.arange(9000.0)).all()
        with pytest.raises(wcodec.MissingFileError, match="'w'"):
            f.get_tensor("w")


def test_a_wrong_base(tmp_path):
    first, second, target = delta(tmp_path)
    with pytest.raises(wcodec.MissingFileError, match="hash"):
        load_file(target, base=second)
    with pytest.raises(wcodec.MissingFileError):
        load_file(target, base=tmp_path / "none")
    with pytest.raises(TypeError):
        load_file(target, base=1)
    with pytest.raises(TypeError):
        wcodec.compress(second, tmp_path / "x.wcodec", base=[b"x"])
    with pytest.raises(wcodec.UsageError):
        wcodec.Reader(target, base="a\0b")
    assert not (tmp_path / "x.wcodec").exists()
    assert first.exists()


def test_chains(tmp_path):
    paths = steps(tmp_path, 4)
    coded = [tmp_path / "chain" / (path.stem + ".wcodec") for path in paths]
    coded[0].parent.mkdir()
    wcodec.compress(paths[0], coded[0])
    for i in range(1, 4):
        wcodec.compress(paths[i], coded[i], base=coded[i - 1])
    expected = load_file(paths[3])
    assert (load_file(coded[3])["w"] == expected["w"]).all()
    moved = tmp_path / "moved.wcodec"
    shutil.move(coded[3], moved)
    assert (load_file(moved, base=coded[0].parent)["w"] == expected["w"]).all()


def test_plain_files_need_none(tmp_path):
    (path,) = steps(tmp_path, 1)
    wcodec.compress(path)
    with wcodec.Reader(f"{path}.wcodec", base=path) as reader:
        assert reader.names() == ["same", "w"] or reader.names() == ["w", "same"]
    assert (load_file(path, base=path)["w"] == load_file(f"{path}.wcodec")["w"]).all()
