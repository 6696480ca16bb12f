# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Pages of wcodec.report in headless Chromium: charts, sorting, themes, widths, hostile names.

Needs the packages playwright and vl-convert-python, and a Chromium of the system; skipped without.
"""

import shutil

import pytest
from report_support import HOSTILE, floats, hostile_tensors

pytest.importorskip("numpy")
pytest.importorskip("vl_convert")
playwright = pytest.importorskip("playwright.sync_api")

import wcodec  # noqa: E402
from wcodec import report  # noqa: E402
from wcodec.report import text  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as run:
        opened = run.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def show(browser, tmp_path):
    """Opens the page of these models: show(paths, **options of the context). Afterwards nothing may
    have gone wrong in it, and nothing been asked of a network."""
    troubles, contexts = [], []

    def note(request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            troubles.append(request.url)

    def open_page(*paths, originals=(), drawn=True, content=None, **options):
        made = tmp_path / f"page-{len(contexts)}.html"
        if content is None:
            found = report.collect([str(path) for path in paths], originals)
            content = report.make_page(found)
        made.write_bytes(content)
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("console", lambda message: troubles.append(message.text))
        tab.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        tab.on("request", note)
        tab.goto(made.as_uri())
        if drawn:
            tab.wait_for_selector("body[data-drawn]", state="attached")
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture
def model(packed):
    return packed(
        {
            f"layers.{i}.{part}.weight": ("F32", [16, 8 * (i + 1)], floats(128 * (i + 1), seed + i))
            for i in range(12)
            for part, seed in (("up", 0), ("down", 100))
        }
    )


def column(tab, number):
    return tab.locator(f"table.tensors tbody tr > :nth-child({number})").all_inner_texts()


def test_charts_are_drawn(show, model):
    tab = show(model)
    assert tab.locator("#treemap svg .mark-rect.tensor path").count() == 24
    assert tab.locator("#bound svg .mark-symbol.tensor path").count() == 24
    assert tab.locator("#exponents svg .mark-rect path").count() > 5
    for chart in ("modes", "snr", "comparison"):
        assert not tab.locator(f"#{chart}").is_visible(), "there is nothing to draw in it"
    for svg in tab.locator("figure:visible svg.marks").all():
        assert svg.locator("xpath=ancestor::*[@aria-label]").count() > 0 or svg.get_attribute(
            "aria-label"
        )


def test_a_click_shows_the_tensor(show, model):
    tab = show(model)
    assert tab.locator("#detail h3").inner_text().startswith("layers.11.")
    cell = tab.locator("#treemap svg .mark-rect.tensor path").first
    cell.click()
    playwright.expect(tab.locator("#detail h3")).to_have_text("layers.0.up.weight")
    selected = tab.locator("tr[aria-selected=true] th").inner_text()
    assert selected == "layers.0.up.weight"
    facts = tab.locator("#detail dd").all_inner_texts()
    row = tab.locator("tr[aria-selected=true] td").all_inner_texts()
    assert [fact for fact in row if fact != "–"] == facts
    tab.get_by_role("button", name="Show in the table").click()
    assert tab.evaluate("document.activeElement.cells[0].textContent") == "layers.0.up.weight"
    tab.locator("table.tensors tbody tr").nth(5).focus()
    tab.keyboard.press("Enter")
    playwright.expect(tab.locator("#detail h3")).to_have_text("layers.2.down.weight")


def test_sorting_and_filtering(show, model):
    tab = show(model)
    heading = tab.locator("table.tensors th[data-key=coded]")
    for direction, reverse in (("descending", True), ("ascending", False)):
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == direction
        numbers = [int(cell.replace(",", "")) for cell in column(tab, 5)]
        assert numbers == sorted(numbers, reverse=reverse) and len({*numbers}) > 5
    tab.locator("table.tensors th[data-key=name]").get_by_role("button").click()
    names = column(tab, 1)
    assert names.index("layers.9.up.weight") < names.index("layers.10.up.weight")
    assert heading.get_attribute("aria-sort") is None
    tab.get_by_label("Only names with").fill("S.3.")
    visible = tab.locator("table.tensors tbody tr:visible th").all_inner_texts()
    assert visible == ["layers.3.down.weight", "layers.3.up.weight"]


def test_hostile_names(show, packed):
    tab = show(packed(hostile_tensors()))
    title = tab.title()
    names = tab.locator("table.tensors tbody th").all_text_contents()
    assert sorted(names) == sorted(map(text.name, HOSTILE))
    for i in range(len(HOSTILE)):
        row = tab.locator("table.tensors tbody tr").nth(i)
        row.focus()
        row.press("Enter")
        playwright.expect(tab.locator("#detail h3")).to_have_text(names[i])
    for cell in tab.locator("#treemap svg .mark-rect.tensor path").all():
        cell.hover(force=True)
        tip = tab.locator("#vg-tooltip-element")
        assert tip.locator("script, img, svg, b").count() == 0
    assert "<" in tab.locator("#vg-tooltip-element").inner_text() or tip.count() == 1
    assert tab.title() == title != "ran"
    assert tab.locator("script").count() == 3


def test_themes(show, model):
    tab = show(model, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('#bound svg .role-axis-title text')).fill"
    light = tab.evaluate(ground), tab.evaluate(ink)
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_selector("body[data-drawn='2']", state="attached")
    dark = tab.evaluate(ground), tab.evaluate(ink)
    assert light == ("rgb(255, 255, 255)", "rgb(26, 29, 33)")
    assert dark == ("rgb(20, 23, 26)", "rgb(232, 234, 237)")


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_widths(show, packed, width):
    tab = show(packed(hostile_tensors()), viewport={"width": width, "height": 700})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.locator("#treemap svg").bounding_box()["width"] <= width
    tab.set_viewport_size({"width": 500, "height": 700})
    playwright.expect(tab.locator("#treemap svg")).not_to_have_attribute("width", str(width))
    assert tab.evaluate("document.documentElement.scrollWidth") <= 500


def test_without_scripts(show, model):
    tab = show(model, drawn=False, java_script_enabled=False)
    assert tab.locator("table.tensors tbody tr:visible").count() == 24
    assert not tab.locator("#charts").is_visible()
    assert tab.locator("noscript p").is_visible()


def test_two_models(show, model):
    lossy = model.with_name("lossy.wcodec")
    original = model.with_name("model.safetensors")
    wcodec.compress(original, lossy, lossy="bits:5")
    tab = show(model, lossy, originals=[str(original)] * 2)
    assert tab.locator("#comparison svg .mark-symbol.tensor path").count() == 24
    assert not tab.locator("#snr").is_visible()
    tab.locator("#model").select_option("1")
    tab.wait_for_selector("body[data-drawn='2']", state="attached")
    lossy_rows = [t for t in wcodec.info(lossy)["files"][0]["tensors"] if t["lossy"]]
    assert lossy_rows
    assert tab.locator("#snr svg .mark-symbol.tensor path").count() == len(lossy_rows)
    assert tab.locator("#measured").inner_text() == "Measured on the original."
    assert tab.locator("#modes svg .mark-rect path").count() == 1
    tab.locator("table.tensors").first.locator("tbody tr").nth(3).click()
    playwright.expect(tab.locator("#detail h3")).to_have_text("layers.1.down.weight")
    assert tab.locator("#model").input_value() == "0"


def test_many_tensors(show, packed):
    names = [f"layers.{i // 10}.part{i % 10}" for i in range(700)]
    tab = show(packed({name: ("F32", [4, 32], floats(128, i)) for i, name in enumerate(names)}))
    assert tab.locator("#treemap canvas").count() == 1
    assert tab.locator("table.tensors tbody tr").count() == 700
    box = tab.locator("#treemap canvas").bounding_box()
    before = tab.locator("#detail h3").inner_text()
    tab.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.5)
    playwright.expect(tab.locator("#detail h3")).not_to_have_text(before)


def test_tables_are_shown_if_charts_fail(show, packed, browser, tmp_path):
    path = packed({f"t{i}": ("F32", [32], floats(32, i)) for i in range(150)})
    content = report.make_page(report.collect([str(path)])).decode()
    broken = tmp_path / "broken.html"
    broken.write_text(content.replace("script-src 'sha256-", "script-src 'sha256-x", 1))
    tab = browser.new_context().new_page()
    tab.goto(broken.as_uri())
    playwright.expect(tab.locator("table.tensors tbody tr").first).to_be_visible()
    tab.context.close()


def test_vectors(show):
    numpy = pytest.importorskip("numpy")
    rows = numpy.frombuffer(floats(300 * 8), "<f4").reshape(300, 8)
    found = report.collect_vectors(rows, 8, name=HOSTILE[0], recalls=(0.5, 0.9))
    page = report.make_vectors_page(found)
    for scheme in ("light", "dark"):
        tab = show(content=page, color_scheme=scheme)
        assert tab.locator("#rates svg .mark-symbol path").count() == 2
        assert tab.locator("#course svg .mark-symbol path").count() == len(found.course)
        assert tab.locator("#cells svg .mark-area path").count() == 1
        bar = tab.locator("#cells svg .mark-area path").first.get_attribute("fill")
        assert bar == {"light": "#2f6fb0", "dark": "#6aa8e8"}[scheme]
        assert tab.locator("table.course tbody tr").count() == len(found.course)
        assert tab.title().startswith("</script>")
