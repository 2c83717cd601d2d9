"""A report in headless Chromium: it opens offline, is quiet, and is readable on every medium, whatever the table.

What is read is measured in the page itself: the size of every chart, text that is cut or turned, labels that meet, what
is wider than the page, and the sheets of paper.
"""

import re
import shutil
import subprocess

import pytest
import reports

import evenhand as eh

pytestmark = pytest.mark.browser

WIDTHS = (1280, 400)
REAL = ("compas", "adult", "german", "survey")
PAGES = (*REAL, "hostile", "long", "wide", "leaves", "signed")
MOST_SHEETS = {"compas": 10}
MOST_OF_ANY = 20
"""How many sheets of paper a report on any table takes."""

SMALLEST_TEXT = 12.0
"""The smallest letters, in pixels, that count as readable."""

SMALLEST_NUMBER = 10.0
"""The smallest ones beside an axis."""

FIRST_SCREEN = 900
"""The height of a screen, in pixels, on which all six answers stand, beside the rates."""


@pytest.fixture(scope="module")
def pages(compas, compas_mapping, adult_mapping, tmp_path_factory):
    """Every page, made when it is first asked for."""
    folder = tmp_path_factory.mktemp("pages")
    makers = {
        "compas": lambda: reports.full(compas, compas_mapping, folder),
        "adult": lambda: eh.report_on(adult_mapping),
        "german": lambda: eh.report_on(reports.german_mapping(folder), points=4),
        "survey": lambda: eh.report_on(reports.survey_mapping(), points=2),
        "hostile": lambda: eh.report_on(reports.hostile_mapping()),
        "long": lambda: eh.report_on(reports.long_mapping(), trace=False),
        "wide": lambda: eh.report_on(reports.wide_mapping("many of both"), hide_below=0, trace=False),
        "leaves": lambda: eh.report_on(reports.leaves_mapping(), trace=False),
        "signed": lambda: reports.signed_leaves(folder),
    }
    made = {}

    def page(name):
        if name not in made:
            made[name] = makers[name]().save(folder / f"{name}.html")[0]
        return made[name]

    return page


class Opened:
    """A page, with whatever it said or asked for."""

    def __init__(self, browser, path, width, **options):
        self.said, self.asked = [], []
        context = browser.new_context(viewport={"width": width, "height": FIRST_SCREEN}, **options)
        self.page = context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        context.set_offline(True)
        self.page.goto(path.as_uri())

    def unfolded(self):
        self.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        return self.page


def marked(name):
    return pytest.param(name, marks=pytest.mark.download) if name == "german" else name


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((name, width), marks=[pytest.mark.download] if name == "german" else [], id=f"{name}-{width}")
        for name in PAGES
        for width in WIDTHS
    ],
)
def opened(request, browser, pages):
    name, width = request.param
    found = Opened(browser, pages(name), width)
    found.name, found.width = name, width
    found.unfolded()
    yield found
    found.page.context.close()


def test_it_opens_offline_and_says_nothing(opened):
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith(("file:", "data:"))] == []


NARROWER = 80
"""So many pixels less a page still fits: scroll bars take some, and there are narrower phones."""


def test_nothing_is_wider_than_the_page(opened):
    size = opened.page.viewport_size
    for width in (size["width"], size["width"] - NARROWER):
        opened.page.set_viewport_size({**size, "width": width})
        inner, whole = opened.page.evaluate("[window.innerWidth, document.documentElement.scrollWidth]")
        assert inner == width
        assert whole <= inner
    opened.page.set_viewport_size(size)
    outside = opened.page.evaluate(
        """[...document.querySelectorAll("body *")]
            .filter(e => !e.closest("script, style, thead") && e.getClientRects().length)
            .filter(e => { const r = e.getBoundingClientRect();
                return r.right > window.innerWidth + 1 || r.left < -1; })
            .map(e => e.className || e.tagName)"""
    )
    assert outside == []


def test_every_chart_is_as_wide_as_its_column_and_no_higher_than_a_few_screens(opened):
    sizes = opened.page.evaluate(
        """[...document.querySelectorAll("figure.eh-chart")].map(figure => {
            const box = figure.getBoundingClientRect(), rest = figure.parentElement.getBoundingClientRect();
            const svgs = [...figure.querySelectorAll("svg")].filter(e => e.getClientRects().length);
            return [figure.dataset.chart, box.width, rest.width, box.height, svgs.length,
                svgs[0].getBoundingClientRect().width, svgs[0].querySelectorAll("circle, path, rect").length]; })"""
    )
    assert len(sizes) >= 3
    for name, width, column, height, shown, drawn, marks in sizes:
        assert width == pytest.approx(column, abs=1), name
        assert drawn >= (320 if opened.width == 400 else 400), name
        assert 40 <= height <= 3600, name
        assert shown == 1, name
        assert marks > 0, name


def test_marks_and_texts_lie_within_their_chart_and_texts_do_not_meet(opened):
    """Numbers beside an axis are read there; a mark that is beyond an end of its axis is at it."""
    found = opened.page.evaluate(
        """(least) => [...document.querySelectorAll("figure.eh-chart svg")].flatMap(svg => {
            const view = svg.getBoundingClientRect(), wrong = [];
            if (!view.width) return [];
            for (const mark of svg.querySelectorAll("circle, rect, path, line")) {
                const box = mark.getBoundingClientRect();
                if (box.left < view.left - 2 || box.right > view.right + 2 || box.bottom > view.bottom + 2)
                    wrong.push(["beyond", mark.getAttribute("class")]);
            }
            const texts = [...svg.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect(),
                parseFloat(getComputedStyle(text).fontSize) * view.width / svg.viewBox.baseVal.width]);
            texts.forEach(([said, box, size], at) => {
                if (box.left < view.left - 1 || box.right > view.right + 1 || box.bottom > view.bottom + 1)
                    wrong.push(["cut", said]);
                if (size < least) wrong.push(["small", said, size]);
                for (const [other, its] of texts.slice(at + 1))
                    if (Math.min(box.right, its.right) - Math.max(box.left, its.left) > 1.5
                        && Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top) > 3)
                        wrong.push(["meet", said, other]);
            });
            return wrong; })""",
        SMALLEST_NUMBER,
    )
    assert found == []


def test_every_chart_has_an_axis_with_numbers_and_a_title(opened):
    bare = opened.page.evaluate(
        """[...document.querySelectorAll("figure.eh-chart svg")].filter(e => e.getClientRects().length)
            .filter(svg => !svg.querySelector("line.c-axis")
                || [...svg.querySelectorAll("text.c-soft")].filter(t => /\\d/.test(t.textContent)).length < 2
                || ![...svg.querySelectorAll("text.c-soft")].some(t => /^[^\\d]*[a-z]{3}/i.test(t.textContent)))
            .map(svg => svg.closest("figure").dataset.chart)"""
    )
    assert bare == []


def test_no_text_is_cut_or_turned(opened):
    cut = opened.page.evaluate(
        """[...document.querySelectorAll("body *")].filter(e => !e.closest("script, style, thead, svg"))
            .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
            .filter(e => { const s = getComputedStyle(e), m = new DOMMatrix(s.transform);
                const clipped = e.clientWidth && e.scrollWidth > e.clientWidth + 1
                    || s.overflow !== "visible" && e.clientHeight && e.scrollHeight > e.clientHeight + 1;
                return clipped || s.textOverflow === "ellipsis" || m.b || m.c || s.writingMode !== "horizontal-tb"; })
            .map(e => `${e.className || e.tagName}: ${e.textContent.trim().slice(0, 60)}`)"""
    )
    assert cut == []


OVERLAPPING = """[...document.querySelectorAll("table, .first, nav")].flatMap(part => {
    const leaves = [...part.querySelectorAll("figcaption, .c-note, td, th, .answer p, .answer h2, dt, dd, nav a")]
        .filter(e => e.textContent.trim() && !e.closest("thead") && e.getClientRects().length);
    const boxes = leaves.map(e => { const range = document.createRange(); range.selectNodeContents(e);
        return { text: e.textContent.trim(), own: [...range.getClientRects()] }; });
    const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
    const found = [];
    // Only neighbours can meet: the page is set in rows.
    for (let i = 0; i < boxes.length; i++)
        for (let j = i + 1; j < Math.min(i + 14, boxes.length); j++)
            if (boxes[i].own.some(a => boxes[j].own.some(b => meet(a, b)))) found.push([boxes[i].text, boxes[j].text]);
    return found;
})"""


BROKEN = r"""[...document.querySelectorAll("th, td")]
    .filter(e => !e.classList.contains("long") && e.clientHeight > 1 && !(innerWidth < 640 && e.closest("thead")))
    .flatMap(e => [...e.childNodes].filter(n => n.nodeType === 3).flatMap(n =>
        [...n.textContent.matchAll(/\p{L}+/gu)].filter(word => {
            const range = document.createRange();
            range.setStart(n, word.index);
            range.setEnd(n, word.index + word[0].length);
            return new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1;
        }).map(word => word[0])))"""


def test_words_of_a_table_stay_whole(opened):
    assert opened.page.evaluate(BROKEN) == []
    if opened.width == 1280:
        opened.page.emulate_media(media="print")
        opened.page.set_viewport_size({"width": 690, "height": FIRST_SCREEN})
        assert opened.page.evaluate(BROKEN) == []
        opened.page.set_viewport_size({"width": opened.width, "height": FIRST_SCREEN})
        opened.page.emulate_media(media="screen")


def test_labels_do_not_meet(opened):
    assert opened.page.evaluate(OVERLAPPING) == []


def test_the_letters_can_be_read(opened):
    sizes = opened.page.evaluate(
        """[...document.querySelectorAll("p, li, td, th, dd, dt, figcaption")]
            .map(e => parseFloat(getComputedStyle(e).fontSize))"""
    )
    assert min(sizes) >= SMALLEST_TEXT


def test_a_row_of_a_table_is_lines_on_a_phone(opened):
    """Every number has its heading beside it, and nothing must be scrolled."""
    beside = opened.page.evaluate(
        """[...document.querySelectorAll("tbody td")].map(e =>
            [getComputedStyle(e, "::before").content, e.dataset.label])"""
    )
    assert beside
    for shown, label in beside:
        assert (shown != "none") == (opened.width == 400)
        assert label


@pytest.mark.parametrize("name", [marked(name) for name in REAL])
def test_the_first_screen_has_all_the_answers(browser, pages, name):
    opened = Opened(browser, pages(name), 1280)
    bottoms = opened.page.evaluate(
        """[...document.querySelectorAll(".answer, #in_short dd, .first figure")]
            .map(e => e.getBoundingClientRect().bottom)"""
    )
    assert len(bottoms) == 9
    assert max(bottoms) <= FIRST_SCREEN
    order = opened.page.evaluate("""[...document.querySelectorAll(".answer")].map(e => e.dataset.key)""")
    assert order == ["apart", "changed", "better_off", "this_file", "new_people", "covered"]
    opened.page.context.close()


def test_names_in_the_table_run_nothing(browser, pages):
    opened = Opened(browser, pages("hostile"), 1280)
    page = opened.unfolded()
    assert page.evaluate("document.querySelectorAll('img, [onerror]').length") == 0
    assert reports.HOSTILE in page.inner_text("main")
    assert opened.said == []
    page.context.close()


@pytest.mark.parametrize("kind", ["rates", "heat", "cohorts", "changes"])
def test_names_in_a_chart_run_nothing(browser, tmp_path, kind):
    reports.hostile_mapping().chart(kind).save(tmp_path / "chart.html")
    opened = Opened(browser, tmp_path / "chart.html", 1280)
    assert opened.page.evaluate("document.querySelectorAll('img, [onerror], script').length") == 0
    shown = " ".join(" ".join(opened.page.locator("figure").all_text_contents()).split())
    assert "<script>alert" in shown
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith(("file:", "data:"))] == []
    opened.page.context.close()


def sheets(page):
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


@pytest.mark.parametrize("name", [marked(name) for name in PAGES])
def test_it_is_printed_on_a_few_sheets(browser, pages, name):
    opened = Opened(browser, pages(name), 1280)
    assert 4 <= sheets(opened.page) <= MOST_SHEETS.get(name, MOST_OF_ANY)
    opened.page.context.close()


@pytest.mark.parametrize("name", [marked(name) for name in REAL])
def test_on_paper_headings_stay_with_what_they_head(browser, pages, name, tmp_path):
    """No sheet ends with a heading or a caption; and nothing reaches beyond it."""
    assert shutil.which("pdftotext"), "pdftotext is needed: apt-get install poppler-utils"
    opened = Opened(browser, pages(name), 1280)
    page = opened.page
    (tmp_path / "page.pdf").write_bytes(page.pdf(format="A4"))
    headings = page.evaluate(
        """[...document.querySelectorAll("main h2, main h3, main h4, caption, figcaption, summary")]
            .map(e => e.textContent.replace(/\\s+/g, ' ').trim())"""
    )
    text = subprocess.run(
        ["pdftotext", "-layout", "page.pdf", "-"], cwd=tmp_path, capture_output=True, check=True, text=True
    ).stdout
    ends = [[line.strip() for line in sheet.splitlines() if line.strip()][-1:] for sheet in text.split("\f")]
    last = [re.sub(r"\s+", " ", end[0]) for end in ends if end]
    assert len(last) >= 4
    assert [line for line in last if any(line == head or head.endswith(line) for head in headings)] == []
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    page.context.close()


def test_details_are_folded_and_opened_for_paper(browser, pages):
    opened = Opened(browser, pages("compas"), 1280)
    page = opened.page
    inside = page.locator("#theory details h3").first
    assert not inside.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert inside.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not inside.is_visible()
    page.context.close()


def test_without_scripts_everything_is_there(browser, pages):
    opened = Opened(browser, pages("compas"), 1280, java_script_enabled=False)
    charts = opened.page.locator("figure.eh-chart")
    assert charts.count() >= 6
    assert all(charts.nth(i).is_visible() for i in range(charts.count()))
    assert opened.page.locator("#theory details h3").first.is_visible()
    assert opened.said == []
    opened.page.context.close()


def test_leaves_are_told_in_words(browser, pages):
    opened = Opened(browser, pages("leaves"), 400)
    text = opened.unfolded().inner_text("main")
    assert "The learned cells" in text
    assert re.search(r"income (at most|at least|from) [\d.]+", text)
    opened.page.context.close()
