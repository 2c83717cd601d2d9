"""A report in headless Chromium: it opens offline, is quiet, draws its charts, and is readable on every medium."""

import os
import re
import shutil

import pytest
import reports

import evenhand as eh

pytestmark = pytest.mark.browser

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WIDTHS = (1280, 400)
PAGES = ("compas", "adult", "hostile", "long", "wide")
MOST_SHEETS = 30
"""How many sheets of paper a report on any table takes."""

SMALLEST_TEXT = 8.0
"""The smallest height of a letter, in pixels, that counts as readable."""


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "headless Chromium is needed: apt-get install chromium, or set CHROMIUM"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def pages(compas, compas_mapping, adult_mapping, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "compas": reports.full(compas, compas_mapping, folder),
        "adult": eh.report_on(adult_mapping),
        "hostile": eh.report_on(reports.hostile_mapping()),
        "long": eh.report_on(reports.long_mapping(), trace=False),
        "wide": eh.report_on(reports.wide_mapping("many of both"), hide_below=0, trace=False),
    }
    return {name: report.save(folder / f"{name}.html")[0] for name, report in made.items()}


class Opened:
    """A page that has finished drawing, with whatever it said or asked for."""

    def __init__(self, browser, path, width, **options):
        self.said, self.asked = [], []
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        self.page = context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        context.set_offline(True)
        self.page.goto(path.as_uri())

    def drawn(self):
        self.page.wait_for_function(
            "document.querySelectorAll('figure.is-live').length === document.querySelectorAll('figure').length"
        )
        return self.page


@pytest.fixture(scope="module", params=[(name, width) for name in PAGES for width in WIDTHS])
def opened(request, browser, pages):
    name, width = request.param
    found = Opened(browser, pages[name], width)
    found.drawn()
    yield found
    found.page.context.close()


def test_it_opens_offline_and_says_nothing(opened):
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith(("file:", "data:"))] == []


def test_every_chart_is_drawn(opened):
    figures = opened.page.query_selector_all("figure")
    assert len(figures) >= 3
    for figure in figures:
        assert figure.query_selector(".live svg").bounding_box()["width"] > 200
        assert figure.query_selector(".live svg text") is not None
        assert not figure.query_selector(".still").is_visible()


def test_nothing_is_wider_than_the_page(opened):
    inner, whole = opened.page.evaluate("[window.innerWidth, document.documentElement.scrollWidth]")
    assert whole <= inner
    outside = opened.page.evaluate(
        """[...document.querySelectorAll("body *")]
            .filter(e => !e.closest("figure, .wide, script, style"))
            .filter(e => e.getBoundingClientRect().right > window.innerWidth + 1).map(e => e.tagName)"""
    )
    assert outside == []


def test_the_letters_can_be_read(opened):
    heights = opened.page.evaluate(
        """[...document.querySelectorAll("figure .live svg")].map(svg =>
            Math.min(...[...svg.querySelectorAll("text")].filter(t => t.textContent.trim())
                .map(t => parseFloat(getComputedStyle(t).fontSize)))
            * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"""
    )
    assert min(heights) >= SMALLEST_TEXT
    sizes = opened.page.evaluate(
        """[...document.querySelectorAll("p, li, td, th, dd, dt")]
            .map(e => parseFloat(getComputedStyle(e).fontSize))"""
    )
    assert min(sizes) >= 12


OVERPRINTED = """[...document.querySelectorAll("figure .live svg .role-axis")].flatMap(axis => {
    const boxes = kind => [...axis.querySelectorAll(`.role-axis-${kind} text`)]
        .filter(t => t.textContent.trim()).map(t => t.getBoundingClientRect());
    const meet = (a, b) =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return boxes("title").flatMap(t => boxes("label").filter(l => meet(t, l)));
}).length"""


def test_titles_of_axes_are_not_printed_over_labels(opened):
    assert opened.page.query_selector("figure .live svg .role-axis-title text")
    assert opened.page.evaluate(OVERPRINTED) == 0


def test_what_is_wider_than_its_box_says_so_and_can_be_reached(opened):
    boxes = opened.page.query_selector_all(".wide, figure")
    wide = [box for box in boxes if box.evaluate("b => b.scrollWidth > b.clientWidth + 1")]
    if opened.page.viewport_size["width"] == 400:
        assert wide
    for box in boxes:
        assert box.evaluate("b => b.classList.contains('scrolls')") == (box in wide)
    for box in wide:
        assert "scroll" in box.evaluate("b => getComputedStyle(b, '::before').content")
        box.evaluate("b => { b.scrollLeft = b.scrollWidth; }")
        opened.page.wait_for_function("b => b.classList.contains('at-end')", arg=box)
        ends = box.evaluate(
            """b => [...b.querySelectorAll("tr > :last-child, .live svg, code")]
                .map(e => e.getBoundingClientRect().right - b.getBoundingClientRect().right)"""
        )
        assert max(ends) <= 1
        box.evaluate("b => { b.scrollLeft = 0; }")


def test_rates_after_can_be_seen_on_a_phone_with_their_group(browser, pages):
    opened = Opened(browser, pages["compas"], 400)
    page = opened.drawn()
    table = page.locator("table", has_text="Rates by group, with").first
    after = table.locator("thead th", has_text="After").first
    after.evaluate("e => { e.closest('.wide').scrollLeft = 150; }")
    name, rate = (table.locator(f"tbody tr:first-child > :nth-child({at})").bounding_box() for at in (1, 5))
    assert name["x"] >= 0
    assert rate["x"] + rate["width"] <= 400
    page.context.close()


def test_a_chart_answers_the_pointer(browser, pages):
    opened = Opened(browser, pages["compas"], 1280)
    page = opened.drawn()
    page.locator("#figure-rates .live .mark-symbol path").first.hover()
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert "Female" in page.inner_text("#vg-tooltip-element")
    page.context.close()


def test_names_in_the_table_run_nothing(browser, pages):
    opened = Opened(browser, pages["hostile"], 1280)
    page = opened.drawn()
    assert page.evaluate("document.querySelectorAll('img[onerror], b').length") == 0
    assert reports.HOSTILE in page.inner_text("main")
    page.locator("#figure-rates .live .mark-symbol path").nth(1).hover()
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert opened.said == []
    page.context.close()


def test_the_print_view(browser, pages):
    opened = Opened(browser, pages["compas"], 1280)
    page = opened.drawn()
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    for figure in page.query_selector_all("figure"):
        assert figure.query_selector(".still img").is_visible()
        assert not figure.query_selector(".live").is_visible()
    for folded in page.query_selector_all("details > :last-child"):
        assert folded.is_visible()
    inner, whole = page.evaluate("[window.innerWidth, document.documentElement.scrollWidth]")
    assert whole <= inner
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert len(paper) > 20_000
    page.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_it_is_printed_on_a_few_sheets(browser, pages, name):
    opened = Opened(browser, pages[name], 1280)
    page = opened.drawn()
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= MOST_SHEETS
    page.context.close()


def test_details_are_folded_and_opened_for_paper(browser, pages):
    opened = Opened(browser, pages["compas"], 1280)
    page = opened.drawn()
    inside = page.locator("#fresh ~ details h4").first
    assert not inside.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert inside.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not inside.is_visible()
    page.context.close()


def test_without_scripts_the_still_images_remain(browser, pages):
    opened = Opened(browser, pages["compas"], 1280, java_script_enabled=False)
    images = opened.page.locator("figure .still img")
    assert images.count() == 5
    assert all(images.nth(i).is_visible() for i in range(5))
    assert opened.page.locator("#fresh ~ details h4").first.is_visible()
    assert opened.said == []
    opened.page.context.close()
