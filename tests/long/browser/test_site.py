"""The site, as it is built: strict, offline, and every page readable on every medium.

It is built once for all tests; where EVENHAND_SITE names one that was just built, as CI does, that one is looked at.
"""

import functools
import http.server
import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[3]
WIDTHS = (1280, 400)
SCHEMES = ("light", "dark")
PARTS = ("tutorials", "how-to", "explanation", "reference", "benchmarks", "decisions")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    if built := os.environ.get("EVENHAND_SITE"):
        return (ROOT / built).resolve()
    folder = tmp_path_factory.mktemp("site") / "site"
    search = os.pathsep.join([str(ROOT / "scripts"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "handbook", "--out", folder],
        env=os.environ | {"PYTHONPATH": search}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def pages(site):
    found = [path.relative_to(site) for path in site.rglob("*.html")]
    found = sorted(path.as_posix() for path in found if not path.parts[0].startswith("_"))
    for part in PARTS:
        assert f"{part}/index.html" in found
    return found


@pytest.fixture(scope="session")
def address(site):
    """The site on a server of its own, which tells nothing."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def visitor(browser, address):
    """A page of the browser that takes note of complaints, and of whatever is asked for from elsewhere."""
    context = browser.new_context()
    page, noted = context.new_page(), []
    page.on("console", lambda said: noted.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: noted.append(str(error)))
    # The icon of a page that was left for the next one is given up; what is not there fails otherwise.
    given_up = "net::ERR_ABORTED"
    page.on("requestfailed", lambda asked: None if asked.failure == given_up else noted.append(f"failed: {asked.url}"))
    page.on("request", lambda asked: None if _own(asked.url, address) else noted.append(f"asked for {asked.url}"))
    yield page, noted
    context.close()


def _own(url, address):
    return url.startswith((address, "file:", "data:"))


def test_every_page_is_quiet_and_fits(visitor, pages, address):
    """Each page in one of the two schemes, the next in the other: pages share their style."""
    page, noted = visitor
    wrong = []
    for name, scheme in zip(pages, itertools.cycle(SCHEMES), strict=False):
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{address}/{name}")
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            wrong += [f"{name}: {beyond} px too wide at {width}"] if beyond > 0 else []
        unseen = "[...document.images].filter(each => !each.complete || !each.naturalWidth).map(each => each.src)"
        wrong += [f"{name}: no picture {source}" for source in page.evaluate(unseen)]
        wrong += [f"{name}: {said}" for said in noted]
        noted.clear()
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("opened", ["by a server", "as a file"])
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("four-fifths rule", "choose-a-bound"),
        ("PairwiseParity", "evenhand.PairwiseParity"),
        ("missing values", "missing-values"),
    ],
)
def test_search_finds_what_is_asked_for(visitor, site, address, opened, words, wanted):
    page, noted = visitor
    page.goto(f"{address if opened == 'by a server' else site.as_uri()}/search.html?q={words.replace(' ', '+')}")
    page.locator("#search-results ul.search li a").first.wait_for()
    page.wait_for_function("document.querySelector('.search-summary')?.textContent.includes('found')")
    found = page.eval_on_selector_all("#search-results li a", "all => all.map(each => each.getAttribute('href'))")
    assert any(wanted in each for each in found), found
    assert not noted, noted


def test_equations_are_drawn_by_the_browser_itself(visitor, address):
    page, _ = visitor
    page.goto(f"{address}/explanation/paper.html")
    heights = page.eval_on_selector_all(".equation math", "all => all.map(each => each.getBoundingClientRect().height)")
    assert len(heights) >= 8
    assert min(heights) > 15, "an equation that is not drawn has no height"


def test_what_tutorials_show_is_what_they_answered(visitor, address):
    page, _ = visitor
    page.goto(f"{address}/tutorials/loans.html")
    assert page.locator(".output").count() >= 6
    assert "Largest violation" in page.locator(".output").all_inner_texts()[4]
    page.locator("a[href$='report.html']").click()
    assert page.url.endswith("report.html")
    assert "granted" in page.content()


def test_a_broken_link_and_what_is_fetched_are_told(tmp_path):
    from handbook.links import broken

    (tmp_path / "index.html").write_text('<a href="b.html#x">b</a><a href="c.html">c</a><p id="here"></p>')
    (tmp_path / "b.html").write_text(
        '<a href="index.html#here">a</a><script src="https://cdn.example.org/x.js"></script><a href="http://x">x</a>'
    )
    told = broken(tmp_path)
    assert len(told) == 4, told
    for words in ("b.html#x: there is no such place", "c.html leads nowhere", "fetched from elsewhere", "an address"):
        assert any(words in each for each in told), words


def test_docstrings_and_equations_are_read():
    from handbook.docstrings import read
    from handbook.mathml import drawn
    from sphinx.errors import ExtensionError

    assert read(["The ratio |p/q − 1|: at most ``a|b``."]) == [r"The ratio \|p/q − 1\|: at most ``a|b``."]
    assert "<mfrac>" in drawn(r"\frac{p}{q}")
    with pytest.raises(ExtensionError, match="cannot be drawn"):
        drawn(r"\nosuch{p}")
