# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""wcodec.report of vectors: figures, the page, the command and its errors."""

import json

import pytest
from conftest import run, safetensors_bytes
from report_support import HOSTILE, Page

numpy = pytest.importorskip("numpy")

import wcodec  # noqa: E402
from wcodec import report, vectors  # noqa: E402
from wcodec.report import library  # noqa: E402
from wcodec.report import vectors as vectors_report  # noqa: E402

STUB = library.Library("6.0.0", "window.vegaEmbed=null;", "a licence <of> sorts")


@pytest.fixture(scope="module")
def rows():
    """600 vectors around 12 centres."""
    random = numpy.random.default_rng(7)
    centres = random.standard_normal((12, 24))
    noise = 0.2 * random.standard_normal((600, 24))
    return (centres[random.integers(0, 12, 600)] + noise).astype("<f4")


@pytest.fixture
def file(tmp_path, rows):
    path = tmp_path / "rows.safetensors"
    path.write_bytes(
        safetensors_bytes({"e": ("F32", rows.shape, rows.tobytes()), "b": ("F32", (4,), bytes(16))})
    )
    return path


def drawn(found):
    """The parsed page and the data of its charts."""
    page = Page(vectors_report.render(found, STUB, "1.2.3"))
    data = next(json.loads(s) for a, s in page.scripts if a.get("type") == "application/json")
    return page, data["values"]


def test_figures(rows):
    found = report.collect_vectors(rows, 16, recalls=(0.95, 0.5), seed=3)
    trained = vectors.train(rows, 16, seed=3)
    assert found.course == tuple(trained.course)
    counts = numpy.bincount(trained.index, minlength=16)
    assert found.cells == tuple(sorted(counts.tolist(), reverse=True))
    assert found.quality == vectors.evaluate(trained, rows)
    assert [rate.asked for rate in found.rates] == [0.5, 0.95]
    assert all(rate.recall >= rate.asked for rate in found.rates)
    assert found.rates[0].coded_size < found.rates[1].coded_size < found.plain_size
    assert found.rates[1].energy < found.rates[0].energy < found.quality.energy

    page, values = drawn(found)
    course = page.rows("course")
    assert [float(row["energy"]) for row in course] == pytest.approx(
        [one.energy for one in trained.course], rel=1e-5
    )
    assert [point["energy"] for point in values["course"]] == [one.energy for one in found.course]
    rates = page.rows("rates")
    assert [row["name"] for row in rates] == ["0.5", "0.95"]
    assert [int(row["coded"].replace(",", "")) for row in rates] == [
        rate.coded_size for rate in found.rates
    ]
    assert [point["rows"] for point in values["cells"]] == list(found.cells)
    assert sum(found.cells) == 600


def test_what_cannot_be_reached_is_said(rows):
    spread = numpy.random.default_rng(1).standard_normal((300, 8)).astype("<f4")
    spread[0] = 40  # so that a step that holds it is wide
    found = report.collect_vectors(spread, 1, recalls=(0.5, 0.999))
    assert found.unreached == (0.999,)
    page, _ = drawn(found)
    assert "Not reached by residuals of 7 bits" in page.text


def test_cells_of_many_anchors_are_thinned(rows, monkeypatch):
    monkeypatch.setattr(vectors_report, "LISTED", 10)
    _, values = drawn(report.collect_vectors(rows, 32, recalls=(0.5,)))
    assert len(values["cells"]) == 8
    assert [point["rank"] for point in values["cells"]] == list(range(1, 33, 4))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(rows, name):
    found = report.collect_vectors(rows[:40], 2, recalls=(0.5,), name=name)
    page, _ = drawn(found)
    assert [tag for tag, _ in page.elements].count("script") == 3
    assert not any("onerror" in given or "onload" in given for _, given in page.elements)


@pytest.mark.parametrize("recall", [0, 1, 1.0, 0.0, True, "0.5", float("nan")])
def test_wrong_recalls(rows, recall):
    with pytest.raises(wcodec.UsageError, match="a recall is"):
        report.collect_vectors(rows, 4, recalls=(recall,))


def command(*arguments):
    program = "import sys; from wcodec.__main__ import main; sys.exit(main())"
    return run(program, "report", "vectors", *arguments, check=False)


def test_command(file, tmp_path):
    pytest.importorskip("vl_convert")
    output = tmp_path / "page.html"
    arguments = (file, "-o", output, "--tensor=e", "--anchors=8", "--recalls=0.9", "-T1")
    assert command(*arguments).returncode == 0
    page = Page(output.read_bytes())
    assert [row["name"] for row in page.rows("rates")] == ["0.9"]
    again = command(*arguments)
    assert again.returncode == 1
    assert "exists already" in again.stderr
    before = output.read_bytes()
    assert command(*arguments, "-f").returncode == 0
    assert output.read_bytes() == before
    packed = wcodec.compress(file)["output"]
    standard = command(packed, "-o", "-", *arguments[3:])
    assert standard.stdout == before.decode()


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--tensor=none"], 1, "none"),
        (["--tensor=b"], 2, "expected [n, d]"),
        (["--anchors=601"], 2, "601 anchors for 600"),
        (["--anchors=0"], 2, "anchors must be"),
        (["--recalls=1"], 2, "recalls are"),
        (["--recalls=0.5,x"], 2, "recalls are"),
        (["--threads=-1"], 2, "threads must be"),
        (["--schedule=other"], 2, "invalid choice"),
    ],
)
def test_errors(file, tmp_path, arguments, code, text):
    made = command(file, "-o", tmp_path / "page.html", *arguments)
    assert made.returncode == code, made.stderr
    assert text in made.stderr
    assert not (tmp_path / "page.html").exists()


def test_which_tensor(tmp_path, rows):
    two = tmp_path / "two.safetensors"
    table = ("F32", rows.shape, rows.tobytes())
    two.write_bytes(safetensors_bytes({"a": table, "b": table}))
    made = command(two, "-o", tmp_path / "page.html")
    assert made.returncode == 2
    assert "two.safetensors: has 2 tensors [n, d]: --tensor names one" in made.stderr
    assert command(tmp_path / "none.safetensors", "-o", tmp_path / "p.html").returncode == 1
    made = command(two, "-o", two, "-f")
    assert made.returncode == 1
    assert "is an input" in made.stderr
