# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Whole files and folders, beside the command."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import wcodec
import wcodec.numpy
from conftest import TOP, run, safetensors_bytes, weights
from wcodec import _mirror


@pytest.fixture
def original(plain):
    path = plain(
        {"w": ("BF16", (50, 300), weights(np, 15000)), "c": ("U8", (9,), bytes(9))}, {"a": "b"}
    )
    os.chmod(path, 0o640)
    os.utime(path, (1_500_000_000, 1_500_000_000))
    return path


def command(*arguments):
    """What the program prints."""
    made = subprocess.run(
        [sys.executable, "-m", "wcodec", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    if "was not found" in made.stderr:
        pytest.skip("the program wcodec is not at hand")
    return made


def test_there_and_back(original, tmp_path):
    made = wcodec.compress(original)
    assert made["output"] == f"{original}.wcodec"
    assert (made["kind"], made["tensors"], made["lossy"]) == ("safetensors", 2, 0)
    assert made["bytes"] == original.stat().st_size
    assert made["coded_bytes"] == os.stat(made["output"]).st_size
    back = wcodec.decompress(made["output"], tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == original.read_bytes()
    assert back["xxh128"] == made["xxh128"]
    assert (tmp_path / "back").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "back").stat().st_mtime == 1_500_000_000
    assert wcodec.test(made["output"])["ok"]
    assert wcodec.test(made["output"], quick=True)["files"] == 1


def test_same_bytes_by_default(original, tmp_path, monkeypatch):
    copy = tmp_path / "copy"
    copy.write_bytes(original.read_bytes())
    once, again = wcodec.compress(original)["output"], wcodec.compress(copy)["output"]
    with open(once, "rb") as a, open(again, "rb") as b:
        assert a.read() == b.read()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "2000000000")
    named = wcodec.compress(original, tmp_path / "named.wcodec", name=True)["output"]
    file = wcodec.info(named)["files"][0]
    assert (file["name"], file["mode"], file["mtime"]) == (original.name, "0640", 1_500_000_000)
    os.utime(original, ns=(0, 1_500_000_000_999_999_999))  # as a float, the next second
    wcodec.compress(original, named, name=True, force=True)
    assert wcodec.info(named)["files"][0]["mtime"] == 1_500_000_000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    wcodec.compress(original, named, name=True, force=True)
    assert wcodec.info(named)["files"][0]["mtime"] == 1_000_000_000
    os.utime(named)
    wcodec.decompress(named, tmp_path / "back")
    assert (tmp_path / "back").stat().st_mtime == 1_000_000_000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "now")
    with pytest.raises(wcodec.UsageError, match="SOURCE_DATE_EPOCH"):
        wcodec.compress(original, named, name=True, force=True)


def test_outputs_are_not_replaced_unasked(original):
    target = f"{original}.wcodec"
    with open(target, "w") as file:
        file.write("mine")
    with pytest.raises(FileExistsError):
        wcodec.compress(original)
    assert Path(target).read_text() == "mine"
    wcodec.compress(original, force=True)
    with pytest.raises(wcodec.ExistsError):
        wcodec.decompress(target)
    wcodec.decompress(target, force=True)


def test_a_damaged_file_leaves_no_output(original, tmp_path):
    target = wcodec.compress(original)["output"]
    data = bytearray(Path(target).read_bytes())
    data[500] ^= 4
    Path(target).write_bytes(data)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(wcodec.CorruptError):
        wcodec.decompress(target, tmp_path / "new")
    assert sorted(os.listdir(tmp_path)) == before


def test_what_cannot_be_opened(tmp_path):
    for call in (wcodec.compress, wcodec.test, wcodec.info):
        with pytest.raises(wcodec.FileError) as caught:
            call(tmp_path / "none")
        assert caught.value.file == str(tmp_path / "none")
    with pytest.raises(wcodec.UsageError, match=r"does not end in \.wcodec"):
        wcodec.decompress(tmp_path / "none")
    with pytest.raises(FileNotFoundError) as caught:
        wcodec.decompress(tmp_path / "none.wcodec")
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename == str(tmp_path / "none.wcodec")
    for name in ("a.wcodec", "a.safetensors"):  # said of the format that its name promises
        for content in (b"", b"hello", b"no such file at all"):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(wcodec.CorruptError, match=rf"a\{name[1:]}: .*{name[2:]} file"):
                wcodec.safe_open(tmp_path / name).keys()
    (tmp_path / "a.wcodec").write_bytes(safetensors_bytes({"w": ("U8", (1,), b"1")}))
    assert wcodec.safe_open(tmp_path / "a.wcodec").keys() == ["w"]
    with pytest.raises(wcodec.UsageError):
        wcodec.compress("a\0b")


@pytest.mark.parametrize(
    "options",
    [
        {"level": 0}, {"level": 10}, {"level": True}, {"level": "3"}, {"tune": "x"}, {"tile": 5},
        {"profile": "p9"}, {"predict": 3}, {"lossy": "x"}, {"lossy": "bits"}, {"lossy": "bits:x"},
        {"lossy": "none:1"}, {"lossy": "bits:99"}, {"lossy_scale": "column"}, {"include": "w*"},
        {"include": [1]}, {"name": "\0"}, {"vectors": "w"}, {"vectors": [1]}, {"vectors_bits": 4},
        {"vectors": True, "vectors_bits": 33}, {"vectors": True, "vectors_bits": "4"},
        {"vectors": True, "vectors_recall": 1}, {"vectors": True, "vectors_anchors": 0},
        {"vectors": True, "vectors_bits": 4, "vectors_recall": 0.9}, {"vectors": ["none"]},
    ],
)  # fmt: skip
def test_wrong_options(original, options):
    with pytest.raises(wcodec.UsageError):
        wcodec.compress(original, **options)
    assert os.listdir(original.parent) == [original.name]
    with pytest.raises(TypeError):
        wcodec.compress(original, no_such_option=1)


def test_tables_of_vectors(tmp_path):
    table = np.random.default_rng(1).standard_normal(2100 * 16).astype("<f4").tobytes()
    path = tmp_path / "model.safetensors"
    path.write_bytes(
        safetensors_bytes({"e": ("F32", (2100, 16), table), "h": ("F32", (40, 32), table[:5120])})
    )

    def coded(**options):
        made = wcodec.compress(path, force=True, **options)
        tensors = wcodec.info(made["output"])["files"][0]["tensors"]
        return {t["name"]: t for t in tensors if t["lossy"]}

    all_tables = coded(vectors=True, vectors_bits=4.5)
    assert list(all_tables) == ["e"]
    assert all_tables["e"]["coding"]["anchors"] == 16
    assert all_tables["e"]["coded_bytes"] * 8 <= 4.5 * 2100 * 16
    named = coded(vectors=["h"], vectors_anchors=17, vectors_recall=0.8)
    assert list(named) == ["h"]
    assert named["h"]["coding"]["anchors"] == 17
    with pytest.raises(wcodec.UsageError, match="fewer rows than anchors"):
        coded(vectors=["h"], vectors_anchors=41)
    assert coded(vectors=["none", "h"], vectors_optional=True).keys() == {"h"}
    assert not coded(vectors=["none"], vectors_optional=True)


def test_options_do_what_they_say(original):
    def coded(**options):
        made = wcodec.compress(original, force=True, **options)
        return wcodec.info(made["output"])["files"][0], made

    assert coded(raw=True)[0]["kind"] == "opaque"
    assert coded(lossy="bits:4")[1]["lossy"] == 1
    assert coded(exclude=["w"])[0]["tensors"][0]["coding"]["kind"] == "chunks"
    assert coded(include=["c"])[0]["tensors"][0]["coding"]["kind"] == "chunks"
    assert coded(profile="p12")[0]["tensors"][0]["coding"]["profile"] == "p12"
    assert coded(tile=4096)[0]["tensors"][0]["coding"]["tile"] == 4096
    original.write_bytes(b"no safetensors")
    assert coded()[1]["note"]
    with pytest.raises(wcodec.CorruptError):
        coded(strict=True)


def test_a_folder_is_mirrored(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "sub").mkdir()
    for name in ("a.safetensors", "b.safetensors"):
        (folder / name).write_bytes(safetensors_bytes({name[0]: ("U8", (4,), b"1234")}))
    made = wcodec.compress(folder)
    assert sorted(os.listdir(tmp_path / "model.wcodec")) == [
        "a.safetensors.wcodec", "b.safetensors.wcodec", "config.json",
    ]  # fmt: skip
    assert len(made["files"]) == 2
    assert wcodec.test(made["output"])["files"] == 2
    with pytest.raises(FileExistsError) as caught:
        wcodec.compress(folder)
    assert caught.value.errno == errno.EEXIST
    assert made["left_out"] == {str(folder / "sub"): "a folder: recursive=True goes into it"}
    index = tmp_path / "model.wcodec" / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}')
    with pytest.raises(wcodec.UsageError, match="several files"):
        wcodec.decompress(index, tmp_path / "out")
    index.write_text('{"weight_map": {"a": "a.safetensors", "b": "gone.safetensors"}}')
    with pytest.raises(wcodec.MissingFileError, match=r"gone\.safetensors"):
        wcodec.decompress(tmp_path / "model.wcodec", tmp_path / "short")
    assert (tmp_path / "short" / "a.safetensors").exists()
    for bad, why in (
        ("[]", 'it has no "weight_map" of names'),
        ('{"weight_map": {"a": 5}}', "tensor 'a' is mapped to what is no file name"),
        ('{"weight_map":\n}', "line 2, column 1: "),
    ):
        index.write_text(bad)
        with pytest.raises(wcodec.CorruptError, match=rf"index\.json: no index of a model: {why}"):
            wcodec.decompress(tmp_path / "model.wcodec", tmp_path / "short", force=True)
        with pytest.raises(wcodec.CorruptError, match=rf"index\.json: no index of a model: {why}"):
            wcodec.numpy.load_file(index)
    index.unlink()
    back = wcodec.decompress(tmp_path / "model.wcodec", tmp_path / "back")
    assert len(back["files"]) == 2
    assert contents(tmp_path / "back") == {k: v for k, v in contents(folder).items() if k != "sub"}


def test_other_kinds_in_a_folder(tmp_path):
    folder = tmp_path / "forms"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(safetensors_bytes({"a": ("U8", (4,), b"1234")}))
    for name in ("model.gguf", "w.npy", "w.npz", "notes.txt"):
        (folder / name).write_bytes(b"GGUF\3\0\0\0" + bytes(500))
    made = wcodec.compress(folder)
    assert sorted(os.listdir(made["output"])) == [
        "model.gguf.wcodec", "model.safetensors.wcodec", "notes.txt", "w.npy.wcodec",
        "w.npz.wcodec",
    ]  # fmt: skip
    with wcodec.Reader(made["output"]) as reader:
        assert reader.names() == ["a"]
    wcodec.decompress(made["output"], tmp_path / "back")
    assert contents(tmp_path / "back") == contents(folder)


def contents(folder):
    """Paths below a folder with what is in the files."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.fixture
def pipeline(tmp_path):
    """A model of several folders."""
    folder = tmp_path / "pipe"
    (folder / "unet" / "deep").mkdir(parents=True)
    for name in ("model_index.json", "unet/config.json", "unet/deep/notes"):
        (folder / name).write_text(name)
    (folder / "unet" / "notes").write_text("x")
    (folder / "unet" / "notes").chmod(0o640)
    for name in ("a", "unet/b", "unet/deep/c"):
        data = safetensors_bytes({"w": ("U8", (400,), bytes(400))})
        (folder / f"{name}.safetensors").write_bytes(data)
    (folder / "unet" / "b.safetensors.wcodec").write_text("another")
    (folder / "link").symlink_to("unet")
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    return folder


def test_folders_below_are_mirrored_as_the_command_does_it(pipeline, tmp_path, caplog):
    made = wcodec.compress(pipeline, recursive=True)
    assert {os.path.relpath(path, pipeline): why for path, why in made["left_out"].items()} == {
        "dangling": "a symbolic link to what is not there",
        "link": "a symbolic link to a folder",
        "pipe": "neither a file nor a folder",
        "unet/b.safetensors.wcodec": "its name is that of a file that is compressed",
    }
    assert all(f"{path}: left out: {why}" in caplog.text for path, why in made["left_out"].items())
    command("compress", "-r", "-o", tmp_path / "theirs", pipeline)
    ours, theirs = contents(tmp_path / "pipe.wcodec"), contents(tmp_path / "theirs")
    assert ours == theirs
    assert "unet/deep/c.safetensors.wcodec" in ours
    assert (tmp_path / "pipe.wcodec" / "unet" / "notes").stat().st_mode & 0o777 == 0o640
    back = wcodec.decompress(tmp_path / "pipe.wcodec", tmp_path / "back", recursive=True)
    assert back["left_out"] == {}
    assert len(back["files"]) == 3
    left = {"dangling", "link", "pipe", "unet/b.safetensors.wcodec"}
    expected = {name: data for name, data in contents(pipeline).items() if name not in left}
    assert contents(tmp_path / "back") == {k: v for k, v in expected.items() if k[:5] != "link/"}


def test_temporary_files_of_runs_that_were_ended_are_left_out(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    temporary = [
        ".a.safetensors.wcodec.bi80ki0tc4", ".a.safetensors.bi80ki0tc4", ".a.wcodec.x9-_Qa",
        ".config.json.bi80ki0tc4", ".config.json.0123456789ab.part", ".a.wcodec.0a2b4c6d8e0f.part",
    ]  # fmt: skip
    kept = [
        ".a.wcodec.backups", ".a.wcodec.20261123", ".a.wcodec.123456", ".a.wcodec.BACKUP",
        ".none.json.bi80ki0tc4", ".none.json.0123456789ab.part", ".config.json.x9-_Qa",
        "a.wcodec.bi80ki0tc4", "config.json", ".a.wcodec.0a2b4c6d8e0f.parts",
    ]  # fmt: skip
    for name in temporary + kept:
        (folder / name).write_text(name)
    made = wcodec.compress(folder)
    assert set(os.listdir(made["output"])) == set(kept)
    why = "a temporary file of a run that was ended"
    assert made["left_out"] == {str(folder / name): why for name in temporary}


def test_what_a_mirror_does_not_overwrite(pipeline, tmp_path):
    (pipeline / "a.safetensors").unlink()
    made = wcodec.compress(pipeline)
    again = wcodec.compress(pipeline)  # copies that are the same stay
    assert again["copied"] == made["copied"] == [str(tmp_path / "pipe.wcodec/model_index.json")]
    (tmp_path / "pipe.wcodec" / "model_index.json").write_text("mine")
    with pytest.raises(wcodec.ExistsError, match="model_index"):
        wcodec.compress(pipeline)
    wcodec.compress(pipeline, force=True)
    assert (tmp_path / "pipe.wcodec" / "model_index.json").read_text() == "model_index.json"
    (tmp_path / "pipe.wcodec" / "unet").symlink_to(tmp_path)
    with pytest.raises(wcodec.UsageError, match="symbolic link"):
        wcodec.compress(pipeline, recursive=True, force=True)
    for target in (pipeline, pipeline / "new", tmp_path):
        with pytest.raises(wcodec.UsageError, match="must be apart"):
            wcodec.compress(pipeline, target)


@pytest.mark.parametrize("coded", [True, False])
def test_links_that_come_into_a_mirror_lead_nowhere(pipeline, tmp_path, monkeypatch, coded):
    """Whoever may write in a mirror puts a link in a folder's place while it is filled."""
    target, outside, kept = tmp_path / "made", tmp_path / "outside", tmp_path / "kept"
    outside.mkdir()
    if not coded:
        pipeline = wcodec.compress(pipeline, recursive=True)["output"]
    given = _mirror.give_mode

    def give_mode(handle, *rest):
        given(handle, *rest)
        if os.path.isdir(target / "unet" / "deep") and not kept.exists():
            os.rename(target / "unet", kept)
            os.symlink(outside, target / "unet")

    monkeypatch.setattr(_mirror, "give_mode", give_mode)
    run = wcodec.compress if coded else wcodec.decompress
    made = run(pipeline, target, recursive=True)
    assert os.listdir(outside) == []
    assert str(target / "unet" / "notes") in made["copied"]
    assert {os.path.dirname(file["output"]) for file in made["files"]} == {
        str(target), str(target / "unet"), str(target / "unet" / "deep")
    }  # fmt: skip
    names = {name.removesuffix(".wcodec") for name in contents(kept)}
    assert names >= {"b.safetensors", "config.json", "notes", "deep/c.safetensors", "deep/notes"}


def test_errors_of_a_mirror_name_its_files(pipeline, tmp_path):
    made = tmp_path / "pipe.wcodec"
    for name in ("unet/deep/c.safetensors.wcodec", "unet/notes"):
        (made / name).mkdir(parents=True)
        with pytest.raises(wcodec.WcodecError, match=f"^{re.escape(str(made / name))}"):
            wcodec.compress(pipeline, recursive=True, force=True)
        (made / name).rmdir()


def test_names_of_outputs(original, tmp_path, monkeypatch):
    made = wcodec.compress(original)
    with pytest.raises(wcodec.UsageError, match=r"ends in \.wcodec already"):
        wcodec.compress(made["output"])
    assert wcodec.compress(made["output"], force=True)["output"] == made["output"] + ".wcodec"
    monkeypatch.chdir(tmp_path)
    for path in (".", "..", "/"):
        with pytest.raises(wcodec.UsageError, match="no name"):
            wcodec.compress(path)


def test_info_is_that_of_the_command(original):
    wcodec.compress(original)
    changed = bytearray(original.read_bytes())
    changed[-100] ^= 1
    second = original.with_name("second.safetensors")
    second.write_bytes(changed)
    wcodec.compress(second, base=f"{original}.wcodec")
    assert wcodec.info(f"{second}.wcodec")["files"][0]["bases"]
    paths = [
        f"{original}.wcodec",
        f"{second}.wcodec",
        *sorted(map(str, (TOP / "tests" / "golden").glob("*.wcodec"))),
    ]
    for path in paths:
        expected = json.loads(command("info", "--json", path).stdout)
        # The command writes 12 significant digits.
        told = json.loads(
            json.dumps(wcodec.info(path)), parse_float=lambda t: float(f"{float(t):.12g}")
        )
        assert told == expected, path


def test_devices_are_those_of_the_command():
    made = wcodec.devices()
    assert next(d for d in made if d["backend"] == "cpu")["available"]
    assert made == json.loads(command("devices", "--json").stdout)["devices"]
    for device in made:
        assert device["available"] == ("name" in device) != ("reason" in device)


def test_the_command(original):
    assert command("--version").stdout.startswith("wcodec 0.")
    assert command("compress", original).returncode == 0
    assert command("test", f"{original}.wcodec").returncode == 0
    assert command("nonsense").returncode == 2


def test_environment(original, packed):
    made = run(
        """
        import sys, wcodec
        try:
            wcodec.Reader(sys.argv[1])
        except wcodec.BackendError as error:
            print("nonsense" in str(error))
        """,
        wcodec.compress(original)["output"],
        WCODEC_BACKEND="nonsense",
    )
    assert made.stdout == "True\n"


def test_save_replaces_safely(tmp_path):
    from wcodec.numpy import load_file, save_file

    target = tmp_path / "a.wcodec"
    save_file({"a": np.ones(4)}, target)
    os.chmod(tmp_path, 0o755)
    with pytest.raises(ZeroDivisionError):
        save_file({"a": np.zeros(4)}, target, progress=lambda done, total: 1 // 0)
    assert load_file(target)["a"].sum() == 4
    assert os.listdir(tmp_path) == ["a.wcodec"]
    with pytest.raises(wcodec.MissingFileError, match="No such file") as caught:
        save_file({}, tmp_path / "none" / "a.wcodec")
    assert caught.value.errno == errno.ENOENT
    assert caught.value.file == str(tmp_path / "none" / "a.wcodec")
    save_file({}, target)
    assert load_file(target) == {}
    umask = os.umask(0o027)
    try:
        save_file({}, tmp_path / "b.wcodec")
    finally:
        os.umask(umask)
    assert (tmp_path / "b.wcodec").stat().st_mode & 0o777 == 0o640


def test_a_full_disk_is_an_error(tmp_path):
    from wcodec._write import Output

    made = Output(lambda data: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert made.function(None, 1, 0) == 28
    with pytest.raises(OSError, match="No space"):
        made.check()


def test_what_is_private_stays_so(original, tmp_path, monkeypatch):
    """Folders and files of mirrors, and what is restored, also while it is written."""
    source, coded, back = tmp_path / "model", tmp_path / "model.wcodec", tmp_path / "back"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "note").write_text("secret")
    (source / "w.safetensors").write_bytes(original.read_bytes())
    for path, mode in ((source / "sub", 0o750), (source, 0o700), (source / "w.safetensors", 0o600)):
        path.chmod(mode)
    seen = []
    replace = os.replace

    def look(temporary, path):
        seen.append(os.stat(temporary).st_mode & 0o777)
        replace(temporary, path)

    opened = os.open

    def note(path, flags, mode=0o777, **more):
        if flags & os.O_CREAT:
            seen.append(mode)
        return opened(path, flags, mode, **more)

    monkeypatch.setattr(os, "replace", look)
    monkeypatch.setattr(os, "open", note)
    umask = os.umask(0o022)
    try:
        wcodec.compress(source, recursive=True)
        wcodec.decompress(coded, back, recursive=True)
    finally:
        os.umask(umask)
    for made in (coded, back):
        assert [p.stat().st_mode & 0o777 for p in (made, made / "sub")] == [0o700, 0o750]
        assert (made / "sub" / "note").stat().st_mode & 0o777 == 0o644
    assert (back / "w.safetensors").stat().st_mode & 0o777 == 0o600
    # Temporary files are nobody else's before they are whole: the two copies, and the tensors.
    assert seen == [0o600, 0o644, 0o600, 0o644, 0o600, 0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to any group")
def test_a_group_gets_what_was_for_it(original, tmp_path, monkeypatch):
    wcodec.compress(original, tmp_path / "a.wcodec")
    os.chown(tmp_path / "a.wcodec", -1, 12345)
    os.chmod(tmp_path / "a.wcodec", 0o640)
    wcodec.decompress(tmp_path / "a.wcodec", tmp_path / "back")
    found = (tmp_path / "back").stat()
    assert (found.st_gid, found.st_mode & 0o777) == (12345, 0o640)

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    wcodec.decompress(tmp_path / "a.wcodec", tmp_path / "other")
    found = (tmp_path / "other").stat()
    assert found.st_gid != 12345
    assert found.st_mode & 0o777 == 0o600
