"""Charts in headless Chromium, which measures text with the letters that it has: nothing is cut, nothing meets."""

import pytest
from drawn_charts import plain, random_chart

from evenhand.render.chart import page

pytestmark = pytest.mark.browser

SMALLEST_TEXT = 10.0
"""The smallest letters, in pixels, beside an axis or in a cell."""

MEASURE = """(least) => {
  const cut = [], met = [], small = [];
  for (const svg of document.querySelectorAll("figure svg")) {
    const view = svg.getBoundingClientRect();
    if (!view.width) continue;
    const texts = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect(),
      parseFloat(getComputedStyle(text).fontSize) * view.width / svg.viewBox.baseVal.width]);
    texts.forEach(([said, box, size], at) => {
      if (box.left < view.left - 1 || box.right > view.right + 1 || box.top < view.top - 1 ||
          box.bottom > view.bottom + 1) cut.push(said);
      if (size < least) small.push([said, size]);
      for (const [other, its] of texts.slice(at + 1)) {
        const across = Math.min(box.right, its.right) - Math.max(box.left, its.left);
        const down = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
        if (across > 1.5 && down > 3) met.push([said, other]);
      }
    });
  }
  const shown = [...document.querySelectorAll("figure svg")].filter((svg) => svg.getBoundingClientRect().width);
  return {cut, met, small, shown: shown.length, wider: document.documentElement.scrollWidth - innerWidth,
    ground: getComputedStyle(document.querySelector("figure")).backgroundColor};
}"""


@pytest.mark.parametrize(("scheme", "ground"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 29)")])
@pytest.mark.parametrize("width", [1280, 760, 400])
def test_charts_can_be_read_at_any_width_in_light_and_dark(browser, tmp_path, width, scheme, ground):
    charts = [*plain().values(), *map(random_chart, range(30))]
    path = tmp_path / "charts.html"
    path.write_text(page(*charts), encoding="utf-8")
    opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said = []
    opened.on("console", lambda message: said.append(message.text))
    opened.goto(path.as_uri())
    found = opened.evaluate(MEASURE, SMALLEST_TEXT)
    opened.close()
    assert said == []
    assert found == {"cut": [], "met": [], "small": [], "shown": len(charts), "wider": 0, "ground": ground}
