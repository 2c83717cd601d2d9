"""The pictures of a mapping hold the findings, and say what they leave out."""

import re
from dataclasses import replace
from itertools import product

import pytest
from families import small_frame
from reports import WIDE_TABLES, wide_mapping

import evenhand as eh
from evenhand.findings.changes import first_groups, most_changed
from evenhand.findings.naming import matching
from evenhand.findings.rates import cohorts
from evenhand.report import pictures


def every_group(counts):
    return [counts.domain.d.labels(int(cell)) for cell in counts.groups.cells]


def test_charts_hold_these_rows(compas_mapping):
    m = compas_mapping
    spec = m.chart("rates").to_dict()
    audit = m.audit().rates.query("is_recid == 1")
    drawn = [v["rate"] for v in spec["data"]["values"] if v["when"] == "after"]
    assert drawn == pytest.approx(audit["after"].tolist())
    assert m.chart("changes").description.startswith("Who changes, to what, how likely. Largest: ")


def cells(chart):
    return [row for part in chart.to_dict()["concat"] for row in _data(chart.to_dict(), part)]


def _data(spec, part):
    layer = part["layer"][0]["data"] if "data" in part["layer"][0] else part["data"]
    return layer.get("values") or spec["datasets"][layer["name"]]


def test_a_chart_of_cohorts_hides_the_same(compas_mapping):
    m = compas_mapping
    for hide in (0, 20, 60):
        drawn = cells(m.chart("cohorts", show="rates", hide_below=hide))
        groups = [{}, *every_group(m.counts)]
        assert len(drawn) == len(cohorts(m.counts, m.kernel, groups, hide_below=hide))
        assert all(float(cell["people"].replace(",", "")) >= hide for cell in drawn)
    signed = cells(m.chart("cohorts", show="change"))
    assert all(cell["label"][0] in "+−" for cell in signed if abs(cell["value"]) > 0.006)


@pytest.mark.parametrize(
    ("good", "outcome", "scheme", "reverse"),
    [(0, 0, "blueorange", True), (0, 1, "blueorange", False), (None, 1, "purplegreen", False)],
)
def test_blue_is_better_and_orange_worse_whichever_outcome_is_shown(compas_mapping, good, outcome, scheme, reverse):
    """The scheme begins with blue: reversed where more of the outcome is better."""
    mapping = replace(compas_mapping, problem=replace(compas_mapping.problem, favourable=good))
    chart = mapping.chart("cohorts", show="change", outcome=outcome).to_dict()
    scale = chart["concat"][0]["layer"][0]["encoding"]["color"]["scale"]
    assert (scale["scheme"], scale["reverse"]) == (scheme, reverse)


@pytest.mark.parametrize("kind", ["heat", "cohorts", "changes"])
def test_no_label_of_a_column_is_turned(compas_mapping, kind):
    text = compas_mapping.chart(kind).to_json()
    assert '"labelAngle": 0' in text
    assert '"labelAngle": -90' not in text


@pytest.mark.parametrize(
    ("kind", "options", "error", "words"),
    [
        ("pie", {}, eh.SpecError, "kind must be one of"),
        ("heat", {"where": {"sax": "Male"}}, eh.SpecError, "Did you mean 'sex'"),
        ("heat", {"where": {"sex": "male"}}, eh.DataError, "no level 'male'"),
        ("heat", {"where": {"sex": "Male"}, "hide_below": 1e9}, eh.DataError, "nobody to show"),
        ("cohorts", {"hide_below": 1e9}, eh.DataError, "lower hide_below"),
        ("cohorts", {"show": "nothing"}, eh.SpecError, "show must be one of"),
    ],
)
def test_what_cannot_be_drawn(compas_mapping, kind, options, error, words):
    with pytest.raises(error, match=words):
        compas_mapping.chart(kind, **options)


def test_many_groups_are_cut_to_the_largest():
    frame = small_frame()
    counts = eh.fit(_loose(frame), frame).counts
    assert len(first_groups(counts, counts.groups.probability, 1)) == 1


def test_heat_maps_show_who_changes_most_and_say_of_how_many(compas_mapping):
    m = compas_mapping
    chosen = most_changed(m.counts, m.kernel, m.achieved.changed, panels=2)
    mass = m.counts.weight * m.achieved.changed
    assert chosen.held == ("c_charge_degree",)  # of the features, the one that changes least
    every = [
        mass[matching(m.counts, {**group, "is_recid": y, "c_charge_degree": degree})].sum()
        for group in every_group(m.counts)
        for y in (0, 1)
        for degree in "FM"
    ]
    assert [mass[matching(m.counts, part)].sum() for part in chosen.parts] == sorted(every, reverse=True)[:2]
    assert chosen.number == sum(people > 0 for people in every)
    subtitle = " ".join(m.chart("heat").to_dict()["title"]["subtitle"])
    assert f"Shown: of {chosen.number} parts of the table (by sex × race × is_recid × c_charge_degree)" in subtitle
    assert "the 4 with the most people changed" in subtitle
    assert "7 of 36 cells of them are not shown" in " ".join(
        m.chart("heat", hide_below=20).to_dict()["title"]["subtitle"]
    )
    asked = m.chart("heat", where={"sex": "Male"}).to_dict()["title"]["subtitle"]
    assert "Shown" not in " ".join(asked)


@pytest.mark.slow
def test_cohorts_say_what_is_averaged_over(compas_mapping):
    def said(**options):
        return " ".join(compas_mapping.chart("cohorts", **options).to_dict()["title"]["subtitle"])

    assert "averaged over c_charge_degree, priors_count" in said(by=["age_cat"], hide_below=0)
    assert "averaged" not in said()
    assert said().startswith("Grey: nobody, or fewer than 20 people before or after (23 of 90 cohorts)")
    assert said(hide_below=0) == "Grey: nobody."
    assert "Of 1 of these groups nothing is left to draw." in said(
        groups=[{"sex": "Female", "is_recid": 0}], hide_below=400
    )


def test_the_chart_of_changes_says_how_many_are_left_out(compas_mapping):
    def said(**options):
        return " ".join(compas_mapping.chart("changes", **options).to_dict()["title"]["subtitle"])

    assert said().startswith("All 6 changes")
    assert said(most=2).startswith("The 2 commonest of 6 changes")
    assert "Shown: the 1 most changed of 4 groups." in said(most_groups=1)
    with pytest.raises(eh.DataError, match="who may be shown with this hide_below"):
        said(hide_below=500)


def _loose(frame):
    return eh.Problem(
        protected=["group"], features=["score"], outcome="hired", parity=[eh.PairwiseParity(5.0)],
        distortion=eh.Distortion({"hired": eh.Ordinal(1)}),
    )  # fmt: skip


def test_where_nobody_changes_there_is_nothing_to_draw():
    frame = small_frame()
    mapping = eh.fit(_loose(frame), frame)
    for kind in ("changes", "heat"):
        with pytest.raises(eh.DataError, match="nobody"):
            pictures.picture(kind, mapping.problem, mapping.counts, mapping.kernel, mapping.achieved)


# ---------------------------------------------------------------------------------------------------------------------
# Whatever the table
# ---------------------------------------------------------------------------------------------------------------------

HIGHEST, WIDEST = 3600, 2000
"""The largest extent of a picture, in its units: about three sheets of paper."""

CASES = list(product(WIDE_TABLES, (0, 30)))


def drawn(kind, name, hide_below):
    """Return a picture of a wide table, its subtitle and its specification; none where nobody is left to draw."""
    try:
        chart = wide_mapping(name).chart(kind, hide_below=hide_below)
    except eh.DataError:
        return None
    spec = chart.to_dict()
    return chart, " ".join(spec["title"]["subtitle"]), spec


def counted(pattern, subtitle):
    """The numbers that a subtitle says, where it says them."""
    found = re.search(pattern, subtitle)
    return None if found is None else tuple(map(int, found.groups()))


def held(chart):
    return [cell for rows in chart.datasets.values() for cell in rows]


def few_groups(name, hide_below):
    return int((wide_mapping(name).counts.group_weight < hide_below).sum())


def check_groups(name, hide_below, which, subtitle, number):
    """A subtitle says how many groups are shown and hidden, of all that there are."""
    total, few = len(wide_mapping(name).counts.groups.cells), few_groups(name, hide_below)
    # One alone would be the total less the others.
    few += few == 1
    assert counted(r"(\d+) of (\d+) groups (?:ha|are not shown)", subtitle) == ((few, total) if few else None)
    said = counted(rf"the (\d+) {which} of (\d+) groups", subtitle)
    assert said == (None if number == total - few else (number, total))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rates", "heat", "cohorts", "changes"])
@pytest.mark.parametrize(("name", "hide_below"), CASES)
def test_no_picture_is_higher_than_a_few_sheets(kind, name, hide_below):
    found = drawn(kind, name, hide_below)
    if found is None:
        assert hide_below
        return
    width, height = map(float, re.search(r'<svg[^>]*?width="([\d.]+)" height="([\d.]+)"', found[0].to_svg()).groups())
    assert height <= HIGHEST
    assert width <= WIDEST


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize(("name", "hide_below"), CASES)
def test_the_rates_that_are_shown_are_counted(name, hide_below):
    if (found := drawn("rates", name, hide_below)) is None:
        return
    _, subtitle, spec = found
    rows = spec["data"]["values"]
    levels, outcomes = {row["level"] for row in rows}, WIDE_TABLES[name][1]
    said = counted(r"the (\d+) commonest of (\d+) outcomes", subtitle)
    occur = wide_mapping(name).counts.domain.y.size
    assert said == (None if len(levels) == occur or outcomes == 2 else (len(levels), occur))
    check_groups(name, hide_below, "largest", subtitle, len({row["group"] for row in rows}))


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize(("name", "hide_below"), CASES)
def test_the_changes_that_are_shown_are_counted(name, hide_below):
    if (found := drawn("changes", name, hide_below)) is None:
        return
    chart, subtitle, spec = found
    (panel,) = spec["concat"]
    encoding = panel["layer"][0]["encoding"]
    check_groups(name, hide_below, "most changed", subtitle, len(encoding["x"]["scale"]["domain"]))
    rows = {cell["row"] for cell in held(chart)}
    assert set(encoding["y"]["scale"]["domain"]) == rows
    every = held(wide_mapping(name).chart("changes", hide_below=hide_below, most=10**6))
    number = len({cell["row"] for cell in every})
    some = counted(r"^The (\d+) commonest of (\d+) changes", subtitle)
    assert (some or counted(r"^All (\d+) changes", subtitle) * 2) == (len(rows), number)


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize(("name", "hide_below"), CASES)
def test_the_parts_that_a_heat_map_shows_are_counted(name, hide_below):
    if (found := drawn("heat", name, hide_below)) is None:
        return
    _, subtitle, spec = found
    mapping, panels = wide_mapping(name), spec["concat"]
    number = most_changed(mapping.counts, mapping.kernel, mapping.achieved.changed, hide_below=hide_below).number
    some = counted(r"of (\d+) parts .* the (\d+) with the most people changed", subtitle)
    assert (some or counted(r"all (\d+) parts", subtitle) * 2) == (number, len(panels))
    rows = panels[0]["layer"][0]["encoding"]["y"]["scale"]["domain"]
    if said := counted(r"Of (\d+) rows, the (\d+) of the most people", subtitle):
        assert said[1] == len(rows) < said[0]


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize(("name", "hide_below"), CASES)
def test_the_cohorts_that_are_shown_are_counted(name, hide_below):
    if (found := drawn("cohorts", name, hide_below)) is None:
        return
    chart, subtitle, spec = found
    mapping, above = wide_mapping(name), spec["vconcat"][0]["concat"]
    shown, there = 0, 0
    for panel, own in zip(above, chart.datasets.values(), strict=False):
        axes = panel["layer"][0]["encoding"]
        rows, columns = (axes[way]["scale"]["domain"] for way in "yx")
        shown += len(own)
        name_of = own[0]["panel"]
        where = {} if name_of == "everybody" else {"group": name_of}
        for row in cohorts(mapping.counts, mapping.kernel, [where], hide_below=0):
            *down, across = map(str, mapping.counts.domain.x.labels(row["cell"]).values())
            there += (" · ".join(down) or "all") in rows and across in columns
    said = counted(r"\((\d+) of (\d+) cohorts\)", subtitle)
    assert said == (None if shown == there else (there - shown, there))
    groups = counted(r"and of (\d+) groups the (\d+) that are largest", subtitle)
    assert groups in (None, (len(mapping.counts.groups.cells), len(above) - 1))
    columns = above[0]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    if cut := counted(r"(\d+) of (\d+) levels", subtitle):
        assert cut[0] == len(columns) < cut[1]


@pytest.mark.slow
def test_a_part_that_is_asked_for_is_cut_too():
    chart = wide_mapping("many cohorts").chart("heat", where=[{"y": 1}])
    subtitle = " ".join(chart.to_dict()["title"]["subtitle"])
    every, rows = counted(r"Of (\d+) rows, the (\d+) of the most people", subtitle)
    (panel,) = chart.to_dict()["concat"]
    assert every > rows == len(panel["layer"][0]["encoding"]["y"]["scale"]["domain"])
    assert len({cell["row"] for cell in held(chart)}) > rows / 2
    most = counted(r"such columns of a panel, the (\d+) with the largest sums", subtitle)
    assert most == (len({cell["column"] for cell in held(chart)}),)
