# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""wcodec.report: figures, the page and what must not be in it, outputs, errors, exit codes."""

import itertools
import json
import math
import os
import re
import signal
import stat
import subprocess
import sys

import pytest
from conftest import PACKAGE, run, safetensors_bytes
from report_support import HOSTILE, Page, floats, hostile_tensors

numpy = pytest.importorskip("numpy")

import wcodec  # noqa: E402
from wcodec import report  # noqa: E402
from wcodec.report import charts, exponents, frame, library, page, text  # noqa: E402

STUB = library.Library("6.0.0", "window.vegaEmbed=null;", "a licence <of> sorts")


def made(paths, **options):
    """The parsed page of these models, without the real library."""
    found = report.collect([str(path) for path in paths], **options)
    return Page(page.render(found.models, found.distributions, STUB, "1.2.3"))


def data_of(parsed):
    return next(json.loads(s) for a, s in parsed.scripts if a.get("type") == "application/json")


@pytest.fixture
def model(packed):
    """A model of several dtypes; one tensor is predicted, one constant, one empty."""
    ramp = numpy.cumsum(numpy.random.default_rng(1).integers(-2, 3, (512, 512)), axis=1)
    return packed(
        {
            "layers.0.weight": ("F32", [64, 96], floats(64 * 96)),
            "layers.1.weight": ("F32", [300, 96], floats(300 * 96, 4)),
            "ramp": ("I8", [512, 512], ramp.astype("i1").tobytes()),
            "zeros": ("BF16", [100], bytes(200)),
            "none": ("F16", [0, 5], b""),
            "scalar": ("F64", [], numpy.float64(3.5).tobytes()),
        },
        {"note": "<b>of&nbsp;the maker</b>"},
    )


def test_figures_are_those_of_info(model):
    parsed = made([model])
    rows = {row["name"]: row for row in parsed.rows("tensors")}
    file = wcodec.info(model)["files"][0]
    listed = file["tensors"]
    assert [*rows] == [tensor["name"] for tensor in listed]
    for tensor in listed:
        row = rows[tensor["name"]]
        assert int(row["bytes"].replace(",", "")) == tensor["bytes"]
        assert int(row["coded"].replace(",", "")) == tensor["coded_bytes"]
        assert row["dtype"] == tensor["dtype"]
        if tensor["bytes"]:
            assert float(row["bits"]) == pytest.approx(tensor["bits_per_element"], abs=6e-4)
            assert float(row["ratio"][:-2]) / 100 == pytest.approx(tensor["ratio"], abs=6e-5)
        else:
            assert (row["bits"], row["ratio"], row["bound"]) == ("–", "–", "–")
    bound = listed[0]["order0_bits"] / (64 * 96)
    assert bound > 0
    assert float(rows["layers.0.weight"]["bound"]) == pytest.approx(bound, abs=6e-4)
    over = listed[0]["coded_bytes"] * 8 / listed[0]["order0_bits"] - 1
    assert float(rows["layers.0.weight"]["over"][:-2]) == pytest.approx(over * 100, abs=6e-3)
    total = parsed.rows("summary")[0]
    assert float(total["over"][:-2]) == pytest.approx(
        file["totals"]["over_order0_percent"], abs=6e-3
    )
    assert float(total["bits"]) == pytest.approx(file["totals"]["bits_per_element"], abs=6e-4)
    assert float(total["ratio"][:-2]) == pytest.approx(file["ratio"] * 100, abs=6e-3)
    assert rows["layers.0.weight"]["shape"] == "64 × 96"
    assert rows["scalar"]["shape"] == "scalar"


def test_modes(model):
    rows = {row["name"]: row for row in made([model]).rows("tensors")}
    tensor = next(t for t in wcodec.info(model)["files"][0]["tensors"] if t["name"] == "ramp")
    modes = tensor["coding"]["predict"]["modes"]
    assert modes, "the ramp was not predicted"
    assert rows["ramp"]["modes"].count("%") == len(modes)
    assert rows["ramp"]["modes"].startswith(modes[0]["predictor"])
    assert rows["zeros"]["modes"] == "–"
    shares = data_of(made([model]))["models"][0]["modes"]
    assert math.fsum(share for _, share in shares) == pytest.approx(1)


def naive_exponents(dtype, data):
    """Exponents by struct, element by element."""
    size, bits, bias = {
        "F32": (4, 8, 127),
        "F64": (8, 11, 1023),
        "BF16": (2, 8, 127),
        "F16": (2, 5, 15),
        "F8_E4M3": (1, 4, 7),
        "F8_E5M2": (1, 5, 15),
    }[dtype]
    counts = {}
    for at in range(0, len(data), size):
        pattern = int.from_bytes(data[at : at + size], "little") & ((1 << (8 * size - 1)) - 1)
        exponent = (pattern >> (8 * size - 1 - bits)) - bias
        counts[exponent] = counts.get(exponent, 0) + 1
    return counts


@pytest.mark.parametrize("dtype", ["F32", "F64", "BF16", "F16", "F8_E4M3", "F8_E5M2"])
def test_exponents_against_one_by_one(dtype):
    data = numpy.random.default_rng(7).integers(0, 256, 8000, dtype="u1")
    found = exponents.count(dtype, [data[:4000], data[4000:]])
    expected = naive_exponents(dtype, data.tobytes())
    assert {found.first + i: c for i, c in enumerate(found.counts) if c} == expected
    total = sum(expected.values())
    assert found.elements == total
    entropy = -sum(c / total * math.log2(c / total) for c in expected.values())
    assert found.entropy == pytest.approx(entropy)


@pytest.mark.parametrize("dtype", ["I8", "U8", "BOOL", "I16", "U16", "I32", "U32", "I64", "U64"])
def test_magnitudes(dtype):
    unit = exponents._SIGNED.get(dtype) or exponents._UNSIGNED[dtype]
    bits = numpy.dtype(unit).itemsize * 8
    signed = dtype.startswith("I")
    values = [0, 1, 2, 3, 4, 100, (1 << (bits - 1)) - 1]
    values += [-1, -2, -128, -(1 << (bits - 1))] if signed else [(1 << bits) - 1]
    data = numpy.array(values, dtype=unit).view("u1")
    found = exponents.count(dtype, [data])
    counts = {}
    for value in values:
        counts[abs(value).bit_length()] = counts.get(abs(value).bit_length(), 0) + 1
    assert {found.first + i: c for i, c in enumerate(found.counts) if c} == counts


def test_distribution_in_the_page(model):
    data = data_of(made([model]))
    info = [tensor["name"] for tensor in wcodec.info(model)["files"][0]["tensors"]]
    counted, entropy, runs = data["models"][0]["distributions"][str(info.index("layers.0.weight"))]
    expected = naive_exponents("F32", floats(64 * 96))
    shares = {run[0] + i: share for run in runs for i, share in enumerate(run[1:]) if share}
    assert counted == 64 * 96
    assert {*shares} == {*expected}
    for exponent, share in shares.items():
        assert share == pytest.approx(expected[exponent] * 1e5 / counted, abs=1)
    assert 1 < entropy < 4
    assert data["kinds"]["F32"] == ["exponent", -127, 128]
    assert str(info.index("none")) not in data["models"][0]["distributions"]


def test_sample_covers_a_large_tensor():
    assert exponents.sample((100, 100), 10000) == [(0, 0)]
    rows, columns = 100_000, 1000
    cuts = exponents.sample((rows, columns), rows * columns)
    assert cuts[0][0] == 0 and sum(cuts[-1]) == rows
    assert sum(count for _, count in cuts) * columns <= exponents.SAMPLE
    assert all(a[0] + a[1] <= b[0] for a, b in itertools.pairwise(cuts))


def test_names_are_only_text(packed):
    path = packed(hostile_tensors())
    parsed = made([path])
    names = [row["name"] for row in parsed.rows("tensors")]
    stored = [tensor["name"] for tensor in wcodec.info(path)["files"][0]["tensors"]]
    assert sorted(stored) == sorted(HOSTILE)
    assert names == [text.name(name) for name in stored]
    assert all(name.isprintable() for name in names)
    allowed = set(re.findall(r"<([a-z]+[0-9]?)", page._CHARTS)) | {
        *"html head main meta title style body noscript script section h1 details summary".split(),
        *"dl dt dd table caption thead tbody tr th td footer pre".split(),
    }
    assert {tag for tag, _ in parsed.elements} <= allowed
    assert len(parsed.scripts) == 3
    for tag, attributes in parsed.elements:
        assert not any(key.startswith("on") or key in ("src", "href") for key in attributes), tag
    for _, script in parsed.scripts:
        assert "ran'" not in script and "</" not in script


def test_policy_allows_the_two_scripts_only(model):
    parsed = made([model])
    policy = next(
        a["content"] for t, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy and "http" not in policy
    executed = [script for a, script in parsed.scripts if "type" not in a]
    for script in executed:
        assert frame._hash(script) in policy
    assert len(executed) == policy.count("sha256-") == 2


def test_paths_and_metadata_are_only_text(model):
    other = model.with_name("<script>x.wcodec")
    model.rename(other)
    parsed = made([other])
    assert len(parsed.scripts) == 3
    assert parsed.rows("summary")[0]["name"] == str(other)
    assert "<b>of&nbsp;the maker</b>" in parsed.text


def test_visible():
    assert text.visible("a\x00\u202e\ud800") == "a\\u0000\\u202e\\ud800"
    assert text.visible("é 日本 😀") == "é 日本 😀"
    assert len(text.name("y" * 100_000)) < 500
    assert text.size(1023) == "1023 B" and text.size(1 << 20) == "1.00 MiB"


def test_page_stays_small(monkeypatch, packed):
    """As the limit shrinks distributions go first, then rows, those of the smallest tensors."""
    path = packed({f"layer.{i}": ("F32", [8, i + 1], floats(8 * (i + 1))) for i in range(60)})
    whole = report.collect([str(path)])
    limit = len(page.render(whole.models, whole.distributions, STUB, "1")) + page.CHARTS_SIZE
    left = []
    while not left or left[-1][0] > 5:
        monkeypatch.setattr(page, "LIMIT", limit)
        content = page.render(whole.models, whole.distributions, STUB, "1")
        assert len(content) <= limit
        parsed = Page(content)
        kept = {int(row["name"].split(".")[1]) for row in parsed.rows("tensors")}
        assert kept == set(range(60 - len(kept), 60)), "not the largest"
        note = f"the {60 - len(kept)} smallest are left out"
        assert (note in parsed.text) == (len(kept) < 60)
        left.append((len(kept), len(data_of(parsed)["models"][0]["distributions"])))
        limit -= 500
    assert left[0] == (60, 60)
    assert left == sorted(left, reverse=True)
    assert any(rows == 60 and 0 < counted < 60 for rows, counted in left)
    assert all(rows == 60 or counted == 0 for rows, counted in left)
    monkeypatch.setattr(page, "LIMIT", 1000)
    with pytest.raises(wcodec.LimitError, match=r"model\.safetensors\.wcodec"):
        page.render(whole.models, whole.distributions, STUB, "1")


def test_charts_fit_into_their_share():
    assert len(json.dumps(charts.all_charts())) < page.CHARTS_SIZE


@pytest.fixture
def lossy(plain):
    tensors = {f"w{i}": ("F32", [64, 64], floats(4096, i)) for i in range(3)}
    tensors["bias"] = ("F32", [64], floats(64, 9))
    original = plain(tensors)
    path = original.with_name("lossy.wcodec")
    wcodec.compress(original, path, lossy="bits:5")
    return path, original


def test_snr(lossy):
    path, original = lossy
    recorded = {row["name"]: row for row in made([path]).rows("tensors")}
    measured = {row["name"]: row for row in made([path], originals=[str(original)]).rows("tensors")}
    assert recorded["bias"]["snr"] == "–"
    for name in ("w0", "w1", "w2"):
        assert 15 < float(recorded[name]["snr"]) < 40
        assert float(measured[name]["snr"]) == pytest.approx(float(recorded[name]["snr"]), abs=0.02)
        assert measured[name]["error"] == recorded[name]["error"]
        assert recorded[name]["bound"] == "–"
    assert data_of(made([path]))["models"][0]["measured"] is False
    assert data_of(made([path], originals=[str(original)]))["models"][0]["measured"] is True


def test_snr_in_pieces(lossy, monkeypatch):
    path, original = lossy
    whole = report.collect([str(path)], [str(original)], exponents=False)
    monkeypatch.setattr(report.decoded, "CHUNK", 1000)
    pieces = report.collect([str(path)], [str(original)], exponents=False)
    for a, b in zip(whole.models[0].tensors, pieces.models[0].tensors):
        assert a.snr_db is None or a.snr_db == pytest.approx(b.snr_db, rel=1e-9)


@pytest.mark.parametrize(
    "tensors, message",
    [
        ({"w0": ("F32", [64, 64], floats(4096))}, "tensor 'w1' is not there"),
        ({"w0": ("F32", [4096], floats(4096))}, "'w0' is F32 of 4096, and approximated as F32"),
        ({"w0": ("F32", [64, 64], b"\0\0\xc0\x7f" * 4096)}, "'w0' has NaN"),
    ],
)
def test_another_original(lossy, plain, tensors, message):
    other = plain(tensors, name="other/model.safetensors")
    with pytest.raises(wcodec.MismatchError, match=message) as caught:
        report.collect([str(lossy[0])], [str(other)], exponents=False)
    assert str(other) in str(caught.value)
    assert caught.value.tensor in ("w0", "w1")


def test_comparison(lossy, packed):
    path, original = lossy
    exact = original.with_name("exact.wcodec")
    wcodec.compress(original, exact)
    other = packed(
        {"w0": ("F32", [4096], floats(4096)), "w9": ("BF16", [4], b"12345678")}, name="o/m"
    )
    parsed = made([exact, path])
    pairs = {row["name"]: row for row in parsed.rows("pairs")}
    assert {*pairs} == {"w0", "w1", "w2", "bias"}
    assert pairs["w0"]["difference"] == "–"
    first = int(pairs["w0"]["coded1"].replace(",", ""))
    second = int(pairs["w0"]["coded2"].replace(",", ""))
    assert float(pairs["w0"]["change"][:-2]) == pytest.approx((second / first - 1) * 100, abs=0.006)
    assert pairs["w0"]["snr1"] == "–" and float(pairs["w0"]["snr2"]) > 15
    changes = [
        abs(int(p["coded1"].replace(",", "")) - int(p["coded2"].replace(",", "")))
        for p in parsed.rows("pairs")
    ]
    assert changes == sorted(changes, reverse=True)
    pairs = {row["name"]: row for row in made([exact, other]).rows("pairs")}
    assert pairs["w0"]["difference"] == "other shape"
    assert pairs["w1"]["difference"] == "only in the first"
    assert pairs["w9"]["difference"] == "only in the second"
    assert pairs["w9"]["coded1"] == pairs["w9"]["bits1"] == "–"
    assert not made([exact]).rows("pairs") and not made([exact, path, other]).rows("pairs")


def test_folder(packed):
    for i in range(2):
        packed({f"t{i}": ("F32", [32, 8], floats(256, i))}, name=f"folder/part-{i}.safetensors")
    folder = packed({"t2": ("F32", [8], floats(8))}, name="folder/part-2.safetensors").parent
    for original in folder.glob("*.safetensors"):
        original.unlink()
    parsed = made([folder])
    rows = parsed.rows("tensors")
    assert [row["name"] for row in rows] == ["t0", "t1", "t2"]
    assert [os.path.basename(row["file"]) for row in rows] == [
        f"part-{i}.safetensors.wcodec" for i in range(3)
    ]
    assert "part-1.safetensors.wcodec" in parsed.text


def test_no_tensors(tmp_path):
    (tmp_path / "notes.txt").write_bytes(b"nothing of note\n" * 100)
    wcodec.compress(tmp_path / "notes.txt", tmp_path / "notes.wcodec")
    parsed = made([tmp_path / "notes.wcodec"])
    assert parsed.rows("tensors") == []
    assert parsed.rows("summary")[0]["tensors"] == "0"


def test_pages_are_the_same_twice(model):
    found = [report.collect([str(model)]) for _ in range(2)]
    pages = [page.render(f.models, f.distributions, STUB, "1") for f in found]
    assert pages[0] == pages[1]


def command(*arguments, **environment):
    """`python -m wcodec report` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "wcodec", "report", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), **environment},
        timeout=120,
    )


@pytest.fixture
def stubbed(monkeypatch):
    """The command in this process, with a stub of the library that draws."""
    monkeypatch.setattr(library, "load", lambda: STUB)
    return lambda *arguments: report.main([str(argument) for argument in arguments])


def test_exit_codes(stubbed, model, lossy, tmp_path, capsys):
    output = tmp_path / "page.html"
    plain = tmp_path / "model.safetensors"
    cut = tmp_path / "cut.wcodec"
    cut.write_bytes(model.read_bytes()[:-40])
    cases = [
        (1, "missing.wcodec", "No such file", ["missing.wcodec"]),
        (3, "cut.wcodec", "cut short", [cut]),
        (3, "model.safetensors", "is no .wcodec file", [plain]),
        (1, "nothere", "No such file", [lossy[0], "--original", "nothere"]),
        (3, "o.safetensors", "'w0' is not there: not the original",
         [model, lossy[0], "--original", plain, "--original", tmp_path / "o.safetensors"]),
        (4, "nonsense", "cannot be used", [model, "--backend", "nonsense"]),
        (1, str(tmp_path), "is no regular file", [model, "-o", tmp_path]),
        (1, "page.html", "No such file", [model, "-o", tmp_path / "nowhere" / "page.html"]),
    ]  # fmt: skip
    (tmp_path / "o.safetensors").write_bytes(safetensors_bytes({}))
    for code, place, message, arguments in cases:
        given = arguments if "-o" in arguments else [*arguments, "-o", output]
        assert stubbed(*given) == code, arguments
        error = capsys.readouterr().err
        assert error.startswith("wcodec: ") and error.count("\n") == 1
        assert place in error and message in error
        assert not output.exists()


def test_damage_names_file_and_tensor(stubbed, packed, tmp_path, capsys):
    weights = ("F32", [64, 64], floats(4096))
    path = packed({"hurt\n": weights, "whole": ("F32", [64, 64], floats(4096, 2))})
    content = bytearray(path.read_bytes())
    content[-9000] ^= 1
    path.write_bytes(content)
    with pytest.raises(wcodec.CorruptError):
        wcodec.test(path)
    assert stubbed(path, "-o", tmp_path / "page.html") == 3
    error = capsys.readouterr().err
    assert "model.safetensors.wcodec" in error and ("hurt" in error or "whole" in error)
    assert error.count("\n") == 1
    assert not (tmp_path / "page.html").exists()
    assert stubbed(path, "--no-exponents", "-o", tmp_path / "page.html") == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "MODEL"),
        (["m"], "where should the report go"),
        (["m", "-o", ""], "name is empty"),
        (["", "-o", "x"], "name is empty"),
        (["m", "-o", "x", "--png", "x"], "the same file"),
        (["m", "-o", "x", "--original", "a", "--original", "b"], "more originals"),
        (["m", "-o", "x", "-T", "many"], "0 (all cores) to 4096"),
        (["m", "-o", "x", "--frobnicate"], "--frobnicate"),
    ],
)
def test_usage(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        report.main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_outputs(stubbed, model, tmp_path, capfdbinary):
    output = tmp_path / "page.html"
    before = sorted(os.listdir(tmp_path))
    assert stubbed(model, "-o", output) == 0
    first = output.read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "page.html"])
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(output.stat().st_mode) == 0o666 & ~mask
    assert stubbed(model, "-o", output) == 1
    assert b"exists already; -f replaces it" in capfdbinary.readouterr().err
    output.write_bytes(b"old")
    link = tmp_path / "link.html"
    link.symlink_to(output)
    assert stubbed(model, "-f", "-o", link) == 0
    assert not link.is_symlink() and link.read_bytes() == first
    assert output.read_bytes() == b"old", "a link was followed"
    capfdbinary.readouterr()
    assert stubbed(model, "-o", "-") == 0
    assert capfdbinary.readouterr().out == first


@pytest.mark.parametrize("option", ["-o", "--png"])
def test_inputs_are_not_outputs(stubbed, lossy, tmp_path, capsys, option):
    path, original = lossy
    link = tmp_path / "link"
    link.symlink_to(path)
    for output in (path, original, link):
        before = output.read_bytes()
        assert stubbed(path, "--original", original, "-f", option, output) == 1
        assert "is an input" in capsys.readouterr().err
        assert output.read_bytes() == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_standard_output(model):
    program = """
        import os, sys
        from wcodec import report
        from wcodec.report import library
        library.load = lambda: library.Library("6", "window.vegaEmbed=null;", "")
        if sys.argv[2] == "full":
            os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        else:
            os.close(1)
        sys.exit(report.main([sys.argv[1], "-o", "-"]))
    """
    for kind, reason in (("full", "No space left"), ("closed", "Bad file descriptor")):
        done = run(program, model, kind, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("wcodec: standard output: cannot write: " + reason)
        assert done.stderr.count("\n") == 1


def test_interrupt(model):
    program = """
        import sys
        from wcodec import report
        from wcodec.report import command
        def interrupted(*_, **__):
            raise KeyboardInterrupt
        command.collect = interrupted
        sys.exit(report.main([sys.argv[1], "-o", "page.html"]))
    """
    done = run(program, model, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_areas_of_many_tensors(packed, monkeypatch):
    """squarify recurses once for each area where each is half of the one before."""
    pytest.importorskip("squarify")
    pytest.importorskip("matplotlib")
    from wcodec.report import picture

    tensors = {f"t{i}": ("F32", [i + 1], floats(i + 1, i)) for i in range(picture.LARGEST + 40)}
    model = report.collect([str(packed(tensors))], exponents=False).models[0]
    areas = picture._areas(model)
    stored = sum(t.coded_bytes > 0 for t in model.tensors)
    assert areas[-1][0] == f"{stored - picture.LARGEST} smaller" and stored > picture.LARGEST + 30
    assert sum(size for _, size, _ in areas) == sum(t.coded_bytes for t in model.tensors)
    monkeypatch.setattr(
        picture, "_areas", lambda _: [("t", 2**i, 0.5) for i in range(picture.LARGEST, 0, -1)]
    )
    assert picture.draw([model], []).startswith(b"\x89PNG")


def test_failed_write_leaves_nothing(stubbed, model, tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = sorted(os.listdir(tmp_path))
    assert stubbed(model, "-o", tmp_path / "page.html") == 1
    assert "page.html: No space left" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    "package, option, name",
    [
        ("numpy", "-o", "numpy"),
        ("vl_convert", "-o", "vl-convert-python"),
        ("matplotlib", "--png", "matplotlib"),
        ("squarify", "--png", "squarify"),
    ],
)
def test_missing_packages(model, tmp_path, package, option, name):
    if package == "squarify":
        pytest.importorskip("matplotlib")
    program = f"""
        import sys
        sys.modules[{package!r}] = None
        from wcodec.report import main
        sys.exit(main(sys.argv[1:]))
    """
    output = tmp_path / "out"
    done = run(program, model, option, output, check=False)
    assert done.returncode == 1, done.stderr
    assert f"python3 -m pip install {name}\n" in done.stderr and done.stderr.count("\n") == 1
    assert not output.exists()


def test_index_alone_needs_no_numpy(model):
    program = """
        import sys
        sys.modules["numpy"] = None
        from wcodec.report import collect
        print(len(collect([sys.argv[1]], exponents=False).models[0].tensors))
    """
    assert run(program, model).stdout == "6\n"


def test_import_is_light():
    program = """
        import sys, wcodec
        assert not any(name.startswith("wcodec.report") for name in sys.modules)
        import wcodec.report
        print(sorted({"numpy", "matplotlib", "vl_convert", "torch"} & set(sys.modules)))
    """
    assert run(program).stdout == "[]\n"


def test_the_module_is_the_command(model, tmp_path):
    pytest.importorskip("vl_convert")
    output = tmp_path / "page.html"
    done = command(model, "-o", output)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    content = output.read_bytes()
    assert 300_000 < len(content) < page.LIMIT
    parsed = Page(content)
    assert parsed.rows("tensors")[0]["name"] == "layers.0.weight"
    for words in ("University of Washington", "Mike Bostock", "Redistribution and use"):
        assert words in parsed.text, "licences"


def test_charts_are_right_specifications():
    """Vega draws each with a few values; the library checks what a browser would only report."""
    vl_convert = pytest.importorskip("vl_convert")
    point = {"x": 5, "y": 7, "area": 10, "dtype": "F32", "row": 0, "tooltip": {"title": "t"}}
    values = {
        "treemap": [
            {"id": "all"},
            {"id": "g", "parent": "all", "label": "group"},
            {"id": "t", "parent": "g", "label": "leaf", "area": 5, "ratio": 0.5, "row": 0},
        ],
        "exponents": [{"x": "-3", "share": 0.4}, {"x": "-2", "share": 0.6}],
        "modes": [{"mode": "left", "share": 1}],
    }
    for name, chart in charts.all_charts().items():
        chart["data"][0]["values"] = values.get(name, [point])
        chart["signals"][0] = {"name": "width", "value": 400}
        svg = vl_convert.vega_to_svg(chart)
        assert svg.startswith("<svg") and "NaN" not in svg, name
    treemap = charts.treemap()
    treemap["data"][0]["values"] = values["treemap"]
    treemap["signals"][0] = {"name": "width", "value": 400}
    assert "leaf" in vl_convert.vega_to_svg(treemap)


def test_png(packed, lossy, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("squarify")
    output = tmp_path / "plots.png"
    hostile = packed(hostile_tensors(), name="$hostile$.safetensors")
    assert report.main([str(hostile), str(lossy[0]), "--png", str(output)]) == 0
    assert output.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert output.stat().st_size > 20_000
    (tmp_path / "empty").write_bytes(b"")
    wcodec.compress(tmp_path / "empty", tmp_path / "empty.wcodec")
    assert report.main([str(tmp_path / "empty.wcodec"), "-f", "--png", str(output)]) == 0
    assert capsys.readouterr().err == ""


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_contrast():
    """WCAG 2's ratios: 4.5 for text, 3 for what is drawn, in both themes."""
    themes = re.findall(r":root \{([^}]*)\}", frame.resource("page.css"))
    assert len(themes) == 2
    for theme in themes:
        colors = dict(re.findall(r"--(\w+): (#\w+);", theme))
        colors = {
            name: value if len(value) == 7 else "#" + "".join(2 * c for c in value[1:])
            for name, value in colors.items()
        }

        def contrast(one, other, colors=colors):
            a, b = sorted((luminance(colors[one]), luminance(colors[other])), reverse=True)
            return (a + 0.05) / (b + 0.05)

        for ground in ("page", "panel"):
            for ink in ("text", "faint", "link"):
                assert contrast(ink, ground) >= 4.5, (ink, ground)
            assert contrast("bar", ground) >= 3
