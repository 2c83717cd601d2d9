"""Charts: numbers and titles on every axis, bounds where they belong, nothing that runs, no text upon another."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from xml.etree import ElementTree

import pytest
from drawn_charts import HOSTILE, plain, random_chart, rates

import evenhand as eh
from evenhand.render.chart import Picture, figure, page, save, svg
from evenhand.render.chart.axes import scaled
from evenhand.render.chart.canvas import LEADING, MIDDLE, SIZE, width_of, wrap
from evenhand.render.chart.contents import described
from evenhand.render.chart.grids import FULL, HALF
from evenhand.render.chart.style import COLOURS, CSS, NARROW, WIDE
from evenhand.render.html import fragments
from evenhand.render.section import Chart, Column, Section, Table

NAME = "{http://www.w3.org/2000/svg}"
PLAIN = plain()


def elements(drawn, tag):
    """Every element of a kind, with how far it is moved to the right and down."""

    def below(node, x, y):
        moved = re.match(r"translate\(([\d.-]+) ([\d.-]+)\)", node.get("transform", ""))
        x, y = (x + float(moved[1]), y + float(moved[2])) if moved else (x, y)
        if node.tag == NAME + tag:
            yield node, x, y
        for child in node:
            yield from below(child, x, y)

    return list(below(ElementTree.fromstring(drawn), 0.0, 0.0))


def texts(drawn):
    return ["".join(node.itertext()) for node, _, _ in elements(drawn, "text")]


def boxes(drawn):
    """The place of every text: left, top, right, bottom, and what it says."""
    found = []
    for node, right, down in elements(drawn, "text"):
        size, x, y = float(node.get("font-size", SIZE)), float(node.get("x")) + right, float(node.get("y")) + down
        lines = [child.text for child in node] or [node.text or ""]
        width = max(width_of(line.strip(), size) for line in lines)
        if node.get("transform"):
            found.append((x - size, y - width, x + 0.3 * size, y, lines[0]))
            continue
        left = x - width * {"middle": 0.5, "end": 1.0}.get(node.get("text-anchor"), 0.0)
        top = y - size * (LEADING / 2 + MIDDLE)
        found.append((left, top, left + width, top + len(lines) * size * LEADING, " ".join(lines)))
    return found


def across(drawn):
    """Where values are along the lower axis, read off its numbers."""
    look = ("c-soft", "middle", "11")
    texts = (node for node, _, _ in elements(drawn, "text"))
    numbers = [n for n in texts if (n.get("class"), n.get("text-anchor"), n.get("font-size")) == look]
    # The last is moved in from the edge.
    found = [(float(n.text.strip("%")) / (100 if "%" in n.text else 1), float(n.get("x"))) for n in numbers[:-1]]
    (low, start), (high, end) = found[0], found[-1]
    return lambda value: pytest.approx(start + (end - start) * (value - low) / (high - low), abs=0.3)


def places(drawn, tag, class_, name):
    return [float(node.get(name)) for node, _, _ in elements(drawn, tag) if node.get("class") == class_]


@pytest.mark.parametrize("mark", PLAIN)
def test_axes_have_numbers_and_titles(mark):
    said = texts(svg(PLAIN[mark]))
    expected = {
        "dots": ["0%", "20%", "40%", "After"],
        "bars": ["0%", "10%", "30%", "Share"],
        "lines": ["0.00", "0.40", "0.0", "0.2", "Bound", "Loss"],
        "batches": ["0.0×", "week 1", "week 2", "Batch", "Apart"],
        "heat": ["a", "b", "25", "100", "↓ From → To"],
    }[mark]
    assert set(expected) <= {" ".join(text.split()) for text in said}


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_a_bound_is_drawn_where_its_value_is_on_the_axis(width):
    drawn = svg(PLAIN["dots"], width=width)
    at = across(drawn)
    bounds = places(drawn, "line", "c-bound", "x1")
    assert bounds == [at(0.1)] * len(bounds)
    assert len(bounds) >= 2
    # The first mark of a kind is that of the legend.
    assert places(drawn, "circle", "c-before", "cx")[1:] == [at(0.2), at(0.6), at(0.4)]
    assert places(drawn, "rect", "c-band", "x")[1:] == [at(0.3)] * 3


def test_bars_share_a_scale_that_begins_at_zero():
    drawn = svg(PLAIN["bars"])
    at = across(drawn)
    for class_, values in (("c-worse", [0.3, 0.2]), ("c-better", [0.1])):
        starts, widths = (places(drawn, "rect", class_, name)[1:] for name in ("x", "width"))
        assert starts == [at(0.0)] * len(values)
        assert [start + width for start, width in zip(starts, widths, strict=True)] == [at(value) for value in values]


def test_what_is_infeasible_is_shaded_up_to_the_smallest_bound():
    drawn = svg(PLAIN["lines"])
    ((start, width),) = [
        (float(box.get("x")), float(box.get("width")))
        for box, _, _ in elements(drawn, "rect")
        if box.get("class") == "c-nothing" and float(box.get("height")) > 20
    ]
    at = across(drawn)
    assert start == at(0.0)
    assert start + width == at(0.1)
    assert places(drawn, "line", "c-bound", "x1") == [at(0.1)] * 2


def test_an_infinite_end_is_drawn_to_the_top_and_a_missing_value_not_at_all():
    drawn = svg(PLAIN["batches"])
    ends = [float(line.get("y2")) for line, _, _ in elements(drawn, "line") if line.get("class") == "c-interval"]
    grid = [float(line.get("y1")) for line, _, _ in elements(drawn, "line") if line.get("class") == "c-grid"]
    assert min(ends[1:]) == pytest.approx(min(grid), abs=0.2)
    rows = [("a", None, 0.3, None, None, None), ("b", 0.2, float("nan"), 0.1, 0.3, "better")]
    drawn = svg(rates(rows))
    assert len([dot for dot, _, _ in elements(drawn, "circle") if dot.get("class") == "c-before"]) == 1 + 1
    assert "– → 30.0%" in texts(drawn)


def test_better_and_worse_have_signs_and_shapes_of_their_own():
    drawn = svg(PLAIN["dots"])
    values = [text for text in texts(drawn) if "→" in text]
    assert values == ["20.0% → 30.0% ▲", "60.0% → 40.0% ▼", "40.0% → 40.0%"]
    assert {"▲ better for people", "▼ worse for people"} <= set(texts(drawn))
    assert [n.tag for c in ("c-better", "c-worse") for n in ElementTree.fromstring(drawn).iter() if n.get("class") == c
            and not n.text] == [f"{NAME}circle"] * 2 + [f"{NAME}path"] * 2  # fmt: skip


@pytest.mark.parametrize("width", [NARROW, 520, WIDE])
@pytest.mark.parametrize("seed", range(30))
def test_no_text_is_on_another_or_cut_by_the_edge(seed, width):
    drawn = svg(random_chart(seed), width=width)
    found = boxes(drawn)
    assert len(found) > 3
    left, top, across, down = map(float, ElementTree.fromstring(drawn).get("viewBox").split())
    for x1, y1, x2, y2, said in found:
        assert left <= x1 < x2 <= left + across, said
        assert top <= y1 < y2 <= top + down, said
    for a, b in combinations(found, 2):
        apart = a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1
        assert apart, (a, b)


def test_a_name_is_broken_where_its_parts_meet():
    assert wrap("Caucasian · 25 to 45 · Male", 110) == ["Caucasian ·", "25 to 45 · Male"]
    assert wrap("x" * 30, 100) == ["x" * 12, "x" * 12, "x" * 6]
    assert wrap("word " * 100, 60)[-1].endswith("…")
    assert wrap("", 10) == [""]


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def hostile(mark):
    def bad(value):
        return HOSTILE if isinstance(value, str) and value not in ("better", "worse") else value

    chart = PLAIN[mark]
    columns = tuple(Column(c.name, c.kind, own=True) for c in chart.table.columns)
    table = Table(HOSTILE, columns, tuple(tuple(map(bad, row)) for row in chart.table.rows))
    lines = tuple(replace(line, key=HOSTILE) for line in chart.lines)
    return replace(chart, key=HOSTILE, table=table, lines=lines, fields={"title": HOSTILE})


@pytest.mark.parametrize("mark", PLAIN)
def test_nothing_that_a_user_named_becomes_an_element(mark):
    chart = hostile(mark)
    expected = {tag for tag, _ in Tags(figure(PLAIN[mark])).found} | {"tspan"}
    found = Tags(figure(chart)).found
    assert {tag for tag, _ in found} <= expected
    assert not [name for _, attributes in found for name in attributes if name.startswith("on") or name == "href"]
    whole = page(chart)
    assert "<script" not in whole
    assert "<img" not in whole
    drawn = ElementTree.fromstring(svg(chart))
    assert {node.tag.removeprefix(NAME) for node in drawn.iter()} <= {
        "svg", "style", "title", "desc", "rect", "g", "line", "path", "circle", "text", "tspan",
    }  # fmt: skip
    assert HOSTILE.replace("\x1b", "␛").replace("\x00", "␀")[:9] in drawn.findtext(f"{NAME}title")


def test_a_page_lets_nothing_run_and_only_its_own_style():
    whole = page(*PLAIN.values())
    policy = next(attributes["content"] for tag, attributes in Tags(whole).found if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script" not in policy
    assert "unsafe" not in policy
    assert not [1 for _, attributes in Tags(whole).found if "style" in attributes]


def test_who_cannot_see_a_chart_hears_its_numbers():
    (told,) = [
        attributes["aria-label"] for _, attributes in Tags(figure(PLAIN["dots"])).found if "aria-label" in attributes
    ]
    assert told == ("Rates by group. a: 20.0% → 30.0% ▲; b: 60.0% → 40.0% ▼; c: 40.0% → 40.0%; Bound.")
    assert described(PLAIN["heat"]) == "Grid. a, a: 75.0%; a, b: 25.0%; b, a: –; b, b: 100.0%."
    assert "and 40 more" in described(rates([("a", 0.1, 0.2, 0.1, 0.2, None)] * 100))


def test_a_section_shows_its_charts():
    section = Section("rates", charts=(PLAIN["dots"], replace(PLAIN["bars"], table=PLAIN["bars"].table.kept([]))))
    assert [attributes["data-chart"] for tag, attributes in Tags(fragments([section])).found if tag == "figure"] == [
        "rates"
    ]


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<svg"), ("html", b"<!DOCTYPE html>"), ("png", b"\x89PNG")])
def test_a_picture_is_written_by_its_ending(tmp_path, ending, start):
    if ending == "png":
        pytest.importorskip("vl_convert")
    Picture((PLAIN["dots"], PLAIN["heat"])).save(tmp_path / f"x.{ending}")
    assert (tmp_path / f"x.{ending}").read_bytes().startswith(start)


def test_another_ending_and_a_missing_extra_are_refused(tmp_path, monkeypatch):
    with pytest.raises(eh.SpecError, match=r"ends in \.png, \.svg or \.html"):
        save(PLAIN["dots"], tmp_path / "x.gif")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(eh.MissingExtraError, match=r"pip install 'evenhand\[charts\]'"):
        save(PLAIN["dots"], tmp_path / "x.png")
    assert not list(tmp_path.iterdir())


def test_a_picture_shows_itself_with_its_style():
    shown = Picture((PLAIN["dots"],))._repr_html_()
    assert shown.startswith("<style>")
    assert CSS in shown
    assert repr(Picture((PLAIN["dots"],))) == "<Picture: Rates by group>"
    assert Picture((PLAIN["dots"],)).to_svg(width=500) == svg(PLAIN["dots"], width=500)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def mixed(colour, ground, share):
    parts = (int(colour[i : i + 2], 16) * share + int(ground[i : i + 2], 16) * (1 - share) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part):02x}" for part in parts)


@pytest.mark.parametrize("scheme", [0, 1])
@pytest.mark.parametrize("name", ["shade", "better", "worse", "up", "down"])
def test_a_number_can_be_read_on_every_shade(name, scheme):
    for share in [step / 20 for step in range(21)]:
        ground = mixed(COLOURS["rule"][scheme], COLOURS["ground"][scheme], 0.25)
        look = "#000000" if HALF < share <= FULL else COLOURS["ground" if share > FULL else "ink"][scheme]
        assert contrast(look, mixed(COLOURS[name][scheme], ground, share)) > 3.5


@pytest.mark.parametrize("scheme", [0, 1])
@pytest.mark.parametrize(
    ("name", "least"), [("ink", 7), ("soft", 4.5), ("better", 4.5), ("worse", 4.5), ("before", 3), ("shade", 3)]
)
def test_text_and_marks_stand_out_from_the_ground(name, least, scheme):
    assert contrast(COLOURS[name][scheme], COLOURS["ground"][scheme]) >= least


@pytest.mark.parametrize("values", [[0.0], [3.0, 3.0], [-2.0, 5.0], [1e-9, 2e-9], [1e12], [float("nan"), 0.1], []])
def test_a_scale_has_all_its_values_and_few_numbers(values):
    scale = scaled(values, 0, 100, 5)
    known = [value for value in values if value == value]
    assert all(scale.low <= value <= scale.high * (1 + 1e-9) for value in known)
    assert 2 <= len(scale.ticks) <= 7
    assert scale.at(scale.low) == 0
    assert scale.at(float("inf")) == 100


def test_a_legend_says_how_far_each_side_of_a_grid_goes():
    rows = (("a", "b", 0.12, "better"), ("a", "c", -0.03, "worse"), ("a", "d", None, None))
    columns = (Column("from"), Column("to"), Column("change", "points"), Column("tone"))
    chart = Chart("x", "heat", Table("x", columns, rows), ("from",), ("to",), ("change",), tone="tone")
    said = texts(svg(chart))
    assert {"▲ better for people, + up to 12.0 points", "▼ worse for people, − up to 3.0 points", "+12", "−3"} <= set(
        said
    )
    more = replace(chart, table=chart.table.kept([0]))
    assert not [text for text in texts(svg(more)) if text.startswith("▼")]


@pytest.mark.parametrize("mark", PLAIN)
def test_a_chart_without_rows_is_still_one(mark):
    assert svg(replace(PLAIN[mark], table=PLAIN[mark].table.kept([]))).startswith("<svg")
