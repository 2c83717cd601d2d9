"""Make docs/benchmarks/speed.md and its chart from the results that the benchmarks kept.

    python benchmarks/write.py

Says what was measured and nothing else; a benchmark without a result has no section. Knows the results' form, and
nothing of how they came about.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import distribution
import harness
import splits

WIDTH = 120
PICTURE = "scaling.svg"
FAMILIES_PICTURE = "families.svg"
KEPT = 1e-6
"""A bound that is exceeded by no more than this is called kept."""
LISTED = 10
"""So many problems in which HiGHS was faster are listed one by one."""
SLOW = 10
"""A transformation that takes longer than so many gathers is listed as slow."""
NAMES = {
    "l1": "evenhand, ℓ1",
    "kl": "evenhand, KL",
    "HiGHS": "HiGHS, ℓ1",
    "cvxpy l1": "dense cvxpy, ℓ1",
    "cvxpy kl": "dense cvxpy, KL",
}
COLOURS = dict(zip(NAMES.values(), ("#0b5fa5", "#4aa3df", "#3a3a3a", "#c4501b", "#e8a33d"), strict=True))
RIVALS = {"HiGHS": "l1", "cvxpy l1": "l1", "cvxpy kl": "kl"}
"""Whom each of the others is compared with."""

HOW = """
Each measurement runs in a process of its own, the alternatives in turns; `make bench` measures everything again and
writes this page. Every mapping is judged by the same lines of NumPy (`benchmarks/paper.py`), whoever found it.
"""
QUICK = """
**Small settings (`make bench BENCH=--quick`), single runs: they show that everything runs, and are not for quoting.**
"""
MACHINE = """
{processor}, {cores} cores, {memory} GB of memory, {system} ({kernel}), Python {python}; {period}. {versions}.
"""
FIT = """
Seconds of wall-clock time, {rounds}, and the ratio to evenhand; memory is the largest resident size of the process.
evenhand counts people from a frame and includes tie-break, repair and certificate. The others start from finished
counts (cvxpy, HiGHS) or from a finished dataset (AIF360), and choose nothing among the optima: like is compared with
like in the line of evenhand without a tie-break, from counts. HiGHS ipm is its interior point without crossover on the
linear programme that evenhand compiled, compilation included.
"""
JUDGED = """
Δ is the utility that the problem states. *Parity*: by how much the largest ratio of rates exceeds its bound.
*Averaged*: by how much a budget of distortion is exceeded given (x, y), averaged over groups. *Individual*: the
same for each (d, x, y), as the paper's equation reads. *Forbidden*: the largest probability with which somebody
makes a move of infinite distortion. The paper's Adult study has averaged budgets (with the others it is
infeasible), so that nobody bounds individuals there, evenhand included; the other problems have individual ones.
"""
AIF360 = """
AIF360's OptimPreproc solves a problem of its own: it minimises half the ℓ1 distance, bounds *differences* of rates
between groups, averages distortion over groups, and has no expected distortion. Forbidden moves are written for it
as a cost of 10,000 with probability 0; the expected distortion of COMPAS as Pr[δ ≥ 1] ≤ c and no δ of 2 or more,
which would keep it if it held for individuals. ε is given once as the paper has it, once as the difference that the
paper's bound leaves between rates at the optimum. A run may take {limit:g} seconds of processor time, and
{memory:g} GB.
"""
FRONTIER = """
COMPAS, KL, c = {budget:g}, {points} bounds from 0 to 0.7; {rounds}. *Found* counts the bounds with an answer, *off*
is the largest difference from single fits without a tie-break. AIF360 fits three bounds of its own problem: only
its time for a point compares.
"""
APPLY = """
{rows:,} people with Adult's columns and a key, in memory, {rounds}. The gather puts the same frame into a random
order by the library's own method, all columns, with a ready index. Draws by key need one MD5 per row.
"""
SINGLE = """
One person at a time, as a service asks, by key: microseconds of processor time for each. `mapping.person` takes and
gives a dict; the others are frames of one row, with the same result.
"""
LADDER = """
Seconds of processor time on one thread, in the chart with compilation and without the tie-break; peak memory of the
process. A cross is where a method was ended, and what it had used: cvxpy and HiGHS may take {limit:g} seconds,
cvxpy {memory:g} GB. A dense statement has a variable for every (d, x, y) → (x̂, ŷ), allowed or not. Adult:
{rounds}; elsewhere {others}.
"""
FAMILIES = """
{problems} problems drawn at random from the seed {seed}, nobody choosing among them (`make bench BENCH='--seed {seed}'`
draws the same; without a seed a new one is taken): {smallest:,} to {largest:,} moves, about, evenly on a logarithmic
scale; 2 to 6 groups, 2 or 3 outcomes whose changes are free, costly or forbidden; every form of parity, several at once
and within segments; budgets of every form, for individuals and averaged; few and many moves per source; generated
tables of many blocks or of one, and the embedded tables. Mappings see D, and targets are the observed ones: blind and
suppressed mappings, and functions and measures of a user's own, are not drawn. Bounds lie between the smallest that
changed outcomes can meet and what the table has. Problems for KL and ℓ1 are solved with both, which makes two fits; the
others have one of the other eight measures.
"""
FAMILIES_TIMES = """
Seconds of processor time on one thread: one run, or the faster of two below a second. Solve is the optimum without a
tie-break and without compilation. HiGHS is its interior point without crossover on the same linear programme; where it
was ended after {limit:g} seconds ({ended}), the ratio is at least what is counted. evenhand may take {own_limit:g}
seconds for the optimum, and again for optimum and tie-break.
"""
FAMILIES_SHARES = """
*Answered* is the share of fits that the specialised method answered alone: its optimum is certified (a gap of at most
1e-7, every bound kept within 1e-9), and its tie-break holds. *Suitable*: it tried. *Optimum*: it found the optimum.
*Certified* and *tie-break*: there is a certificate, and a tie-break that holds, by whichever method. Small problems are
the general solvers'. Who died counts as not answered.
"""
FAMILIES_SLOWEST = """
The {number} slowest by seconds per move, optimum and tie-break together; a fit that died comes first. *No.* is the
number to draw it again: `families.draw({seed}, number{sizes})` in a Python session that has `benchmarks/` on its path.
"""
NEW_PEOPLE = """
Mappings are fitted on some people of public tables, and their expected rates are those of the others. *Apart* is J of
the parity constraint: the largest ratio of two groups' rates of an outcome, less one. *New cells* is the share of the
others in a (d, x, y) that nobody fitted had; *kept*: they stay as they are; *typical*: they keep x and draw an
outcome from the mean row of their group and outcome (`unseen="typical"`). *Outcomes alone*: what it would be if
everybody's outcome changed like that; then what is left is that outcomes among the others are not those of the
fitted, which no treatment of unseen cells can help. An outcome may change either way at a cost of 1, a feature in an
order by one step at a cost of 1; everybody's expected distortion is at most 0.5. `benchmarks/real_tables.py` has the
tables, their bands and which features are added in which order.
"""
NEW_PEOPLE_OWN = """
The splits that the tables come with: adult.data and adult.test, train.csv and test.csv of bank marketing.
"""
NEW_PEOPLE_SPLITS = """
{splits} random splits, seven tenths fitted: means with 95 % intervals by Student's t. Splits of one table overlap, so
that these are intervals of the mean over splits, not of what another table would show. *Within* is the share of
splits in which typical is within the bound. *Pooled* is J of the rates averaged over all splits: the largest ratio of
rates of few people is large by chance, and is not where they are averaged first.
"""
WIDE = """
Learned cells on public tables as they are, every column read ({splits} random splits, seven tenths fitted; means with
95 % intervals by Student's t over splits, which overlap). Outcomes alone may change, at a cost of 1 either way, and
each pair of groups is within 0.05, as a ratio of rates. Everybody's expected distortion is at most the smallest that
will do, plus a fifth; or three times that, with ties broken evenly. Cells are at most 64 leaves of a tree over all
columns but the protected one, or at most 20 levels of a score that the same kind of model, without the protected
column, gave out of fold.
"""
WIDE_MAPPINGS = """
The mapping itself: expected rates of people who were not fitted, *apart* as J of the parity constraint has it, of
either outcome. *Outcomes alone* is what it would be if everybody's outcome changed as those of the fitted people of
their group and outcome do on average: what is left then is that the new people's outcomes are not those of the fitted.
*Pooled* is J of rates averaged over the splits first.
"""
WIDE_MODELS = """
Models trained with all columns and the protected one, on the raw table or on `mapping.expand` of it, and judged by the
outcomes that new people really have. *Apart* is J of mean scores, by group. *Raw, shifted* is the raw model with each
group's scores shifted on the logit, by constants that are chosen with the very people who are judged, until mean scores
are within 0.05: each group's mean goes to the nearest end of an interval that the bound allows, and of these intervals
it is the one of least log loss. *Beyond* is AUC less that of raw, shifted, split by split; *shifted too*: AUC, and AUC
beyond, where a released model's scores are shifted in the same way, so that both are within the bound. An expanded
table has some people twice; the smallest leaf of boosted trees has 20 people, as in the raw table, not 20 rows.
"""
WIDE_TIMES = """
Processor time of a fit and of a release of the whole table, the best of three rounds in turns, and the ratio to the
same people with five hand-made features (four in COMPAS) and the same statement. A fit includes the tree; a score is
there already. *Features too* is the statement of `benchmarks/real_tables.py`, in which features may change.
"""
CLUSTER = """
{rows:,} rows in {partitions} partitions on a standalone cluster of one master and two workers of one core each, all on
this machine; Parquet to Parquet, draws by key, one run. Every result is compared, row for row, with what evenhand
writes from file to file without Spark.
"""


def paragraph(text):
    """Return text as lines of the page."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def table(head, rows):
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def number(value):
    """Return a number to three digits, or what else was given, as text."""
    if value is None or value != value:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    if value and abs(value) < 0.001:
        return f"{value:.0e}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def times(value):
    """Return a ratio."""
    return f"× {value:.2f}" if value < 10 else f"× {value:,.0f}"


def excess(value):
    """Return by how much a bound is exceeded."""
    return "kept" if value <= KEPT else f"+{value:.3f}" if value >= 0.001 else f"+{value:.0e}"


def memory(row):
    """Return the memory that a method took; at least this much where it was ended."""
    return f"{'≥ ' if 'died' in row else ''}{row['peak']:,.0f} MB" if "peak" in row else "–"


def in_rounds(result):
    """Return how many rounds numbers are from."""
    return "one round" if result["rounds"] == 1 else f"the best of {result['rounds']} rounds"


def why_not(row):
    """Return why a method has no numbers."""
    return row.get("died") or row.get("error", "no result")


def fit_section(result):
    """Yield the section on single fits."""
    yield "## A fit"
    yield paragraph(FIT.format(rounds=in_rounds(result)))
    yield paragraph(JUDGED)
    for case in result["cases"].values():
        yield f"### {case['title']}"
        head = ["", "seconds", "ratio", "peak memory", "Δ", "parity", "averaged", "individual", "forbidden"]
        yield table(head, [[method, *_fit_row(row, case)] for method, row in case["methods"].items()])
    if any(method.startswith("AIF360") for case in result["cases"].values() for method in case["methods"]):
        yield paragraph(AIF360.format(limit=result["limit"], memory=result["memory"]))


def _fit_row(row, case):
    if "seconds" not in row:
        return [why_not(row), "–", memory(row), *["–"] * 5]
    ratio = times(row["seconds"] / case["methods"]["evenhand"]["seconds"])
    judged = [excess(row[key]) for key in ("parity", "averaged", "individual", "forbidden")]
    return [number(row["seconds"]), ratio, memory(row), f"{row['objective']:.6f}", *judged]


def frontier_section(result):
    """Yield the section on the frontier."""
    yield "## The trade-off curve"
    yield paragraph(FRONTIER.format(budget=result["budget"], points=result["points"], rounds=in_rounds(result)))
    head = ["", "seconds", "per point", "ratio", "found", "off", "peak memory"]
    yield table(head, [[method, *_frontier_row(row)] for method, row in result["methods"].items()])


def _frontier_row(row):
    if "a_point" not in row:
        return [why_not(row), *["–"] * 4, memory(row)]
    point = f"{1000 * row['a_point']:,.0f} ms"
    found = [number(row.get(key)) for key in ("found", "off")]
    return [number(row.get("seconds")), point, times(row["ratio"]), *found, memory(row)]


def apply_section(result):
    """Yield the section on rows per second."""
    yield "## Apply, in memory"
    yield paragraph(APPLY.format(rows=result["rows"], rounds=in_rounds(result)))
    rows = []
    for kind, methods in result["kinds"].items():
        for method, row in methods.items():
            gathers = times(row["seconds"] / methods["gather"]["seconds"])
            rate = f"{row['rate'] / 1e6:.2f}"
            rows.append([kind, method, number(row["seconds"]), rate, gathers, f"{row['added']:,.0f} MB"])
    yield table(["table", "", "seconds", "million rows per second", "gathers", "memory added"], rows)
    if single := result.get("single"):
        yield paragraph(SINGLE)
        asked = [[way, *(number(row[mode] * 1e6) for mode in ("seconds", "release"))] for way, row in single.items()]
        yield table(["", "µs, apply", "µs, release"], asked)
    if result.get("aif360"):
        yield paragraph(_against_aif360(result["aif360"], result["kinds"].get("pandas, strings", {})))


def _against_aif360(usual, ours):
    """Return what is to be said of AIF360's transform."""
    if "rate" not in usual:
        return f"AIF360: {why_not(usual)}."
    text = (
        f"AIF360 transforms {usual['rate']:,.0f} rows per second in train mode ({usual['rows']:,} rows, from its own "
        f"indicator columns; {usual['rate with building']:,.0f} with building these from text)."
    )
    for method, verb in (("by position", "applies"), ("release, by position", "releases")):
        if method in ours:
            ready, built = (ours[method]["rate"] / usual[key] for key in ("rate", "rate with building"))
            text += f" From plain string columns evenhand {verb} {ready:,.0f} and {built:,.0f} times as many."
    for key, what in (
        ("without outcome", "AIF360's mode without outcomes"),
        ("unknown value", "A value not in its fit"),
    ):
        if "error" in usual[key]:
            text += f" {what} ended with `{usual[key]['error']}`."
    return text


def ladder_section(result):
    """Yield the section on large domains."""
    yield "## Large domains"
    yield f"![Seconds and memory against the number of moves]({PICTURE})"
    yield paragraph(
        LADDER.format(
            limit=result["limit"], memory=result["memory"], rounds=in_rounds(result), others=in_rounds(result["others"])
        )
    )
    for family, cases in result["families"].items():
        if cases:
            yield f"### {family}"
            rows = [
                [f"{case['moves']:,.0f}", NAMES[method], *_ladder_row(row, case["methods"].get("HiGHS", {}), method)]
                for case in cases
                for method, row in case["methods"].items()
            ]
            yield table(["moves", "", "solve", "HiGHS takes", "tie-break", "peak memory", "Δ", "bounds"], rows)


def _ladder_row(row, highs, method):
    if "solve" not in row:
        return [why_not(row), "–", "–", memory(row), "–", "–"]
    ratio = times(highs["solve"] / row["solve"]) if method == "l1" and "solve" in highs else "–"
    # With both measured, the difference may be less than nothing.
    tie_break = f"+ {number(max(0.0, row['whole'] - row['solve']))} s" if "whole" in row else "–"
    solve = f"{number(row['solve'])} s"
    return [solve, ratio, tie_break, memory(row), f"{row['objective']:.6f}", excess(row["exceeded"])]


def families_section(result):
    """Yield the section on random problems: distributions, shares, the slowest."""
    found = distribution.fits(result["drawn"])
    yield "## Random families"
    yield f"![HiGHS's time over evenhand's, and evenhand's per move, against the number of moves]({FAMILIES_PICTURE})"
    yield paragraph(FAMILIES.format(**result))
    yield paragraph(_what_became(result["drawn"], found))
    ended = sum(fit.get("at_least", False) for fit in found)
    yield paragraph(FAMILIES_TIMES.format(ended=f"{ended} fit{'s' * (ended != 1)}", **result))
    head = ["", "fits", *(f"{each} %" if each != 50 else "median" for each in distribution.QUANTILES), "worst"]
    yield table(head, [[name, *map(number, row.values())] for name, row in distribution.distributions(found).items()])
    yield paragraph(FAMILIES_SHARES)
    columns = ("number", "suitable", "optimum", "certified", "tie_break", "died")
    head = ["", "fits", *(column.replace("_", "-") for column in columns[1:]), "answered"]
    rows = [[row["fits"], *(row[c] for c in columns), f"{row['answered']:.0%}"] for row in distribution.shares(found)]
    yield table(head, rows)
    slow = distribution.slowest(found)
    usual = (result["smallest"], result["largest"]) == (1_000, 300_000)
    sizes = "" if usual else f", smallest={result['smallest']}, largest={result['largest']}"
    yield paragraph(FAMILIES_SLOWEST.format(number=len(slow), seed=result["seed"], sizes=sizes))
    head = ["no.", "measure", "moves", "solve", "tie-break", "µs per move", "HiGHS takes", "optimum by", "what it is"]
    yield table(head, [_family_row(fit) for fit in slow])


def _what_became(drawn, found):
    """Say how many problems were loosened, could not be met, lose nothing, and how far HiGHS's optima are off."""
    loosened = sum(row["tags"]["loosened"] > 0 for row in drawn)
    infeasible = sum(any(method.get("infeasible") for method in row["methods"].values()) for row in drawn)
    lossless = sum(fit["objective"] <= distribution.NO_LOSS for fit in found if "objective" in fit)
    off = max((fit["off"] for fit in found if "off" in fit), default=0.0)
    methods = [item for row in drawn for item in row["methods"].items()]
    without = sum(name.startswith("HiGHS") and "died" in row and "ended" not in row for name, row in methods)
    return (
        f"Bounds that could not be met were loosened in {loosened} problems, and could not be met even so in "
        f"{infeasible}. {lossless} of {len(found)} fits lose nothing: groups trade places. "
        f"HiGHS's optimum differs from ours by at most {off:.0e}; in {without} fits it ended without one."
    )


def _family_row(fit):
    """Return a line of the slowest fits."""
    by = "the specialised method" if fit.get("specialised") else "the general solver"
    what = "; ".join([distribution.words(fit), *fit.get("notes", ())])
    size = f"{fit['moves']:,}" if "moves" in fit else "–"
    if "solve" not in fit:
        return [fit["number"], fit["measure"], size, why_not(fit), "–", "–", "–", "–", what]
    ratio = ("≥ " if fit["at_least"] else "") + times(fit["ratio"]) if "ratio" in fit else "–"
    solve = f"{number(fit['solve'])} s"
    if "whole" not in fit:
        return [fit["number"], fit["measure"], size, solve, why_not(fit), "–", ratio, by, what]
    tie_break = f"+ {number(distribution.choosing(fit))} s ({fit['tie_break']})"
    return [fit["number"], fit["measure"], size, solve, tie_break, number(distribution.per_move(fit)), ratio, by, what]


def new_people_section(result):
    """Yield the section on people that were not fitted."""
    yield "## New people"
    yield paragraph(NEW_PEOPLE)
    head = ["", "features", "measure", "bound", "new cells", "before", "kept", "typical", "outcomes alone"]
    if own := splits.fits(result["drawn"], own=True):
        yield paragraph(NEW_PEOPLE_OWN)
        rows = [[*_whose(fit), *(f"{fit[name]:.3f}" for name in splits.APART)] for fit in own]
        yield table(head, rows)
    found = splits.summaries(result["drawn"])
    yield paragraph(NEW_PEOPLE_SPLITS.format(splits=len(result["seeds"])))
    rows = [[*_whose(line), *(_mean(*line[name]) for name in splits.APART), f"{line['within']:.0%}"] for line in found]
    yield table([*head, "within"], rows)
    head = [*head[:5], *(f"{name}, pooled" for name in head[5:])]
    yield table(head, [[*_whose(line), *(f"{value:.3f}" for value in line["pooled"].values())] for line in found])
    loosened, left_out = (sum(line[key] for line in found) for key in ("loosened", "left_out"))
    if loosened:
        yield f"In {loosened} fits the bound could not be met, and the smallest that can was taken."
    if left_out:
        yield f"{left_out:,} people, over all fits, had values that no level fits, and were left out."


def _whose(line):
    """Return what a line of new people is about."""
    return [line["title"], line["features"], line["measure"], f"{line['asked']:g}", f"{line['new']:.1%}"]


def _mean(mean, half):
    """Return a mean with its interval, if it has one."""
    return f"{mean:.3f}" if half is None else f"{mean:.3f} ± {half:.3f}"


def wide_section(result):
    """Yield the section on learned cells over all columns of public tables."""
    rows = result["drawn"]
    yield "## Wide tables"
    yield paragraph(WIDE.format(splits=len(result["seeds"])))
    yield paragraph(WIDE_MAPPINGS)
    yield wide_mappings_table(splits.wide_mappings(rows))
    yield paragraph(WIDE_MODELS)
    found = splits.wide_models(rows)
    for name, title in {line["table"]: line["title"] for line in found}.items():
        yield f"### {title}"
        yield wide_models_table([line for line in found if line["table"] == name])
    yield paragraph(WIDE_TIMES)
    yield wide_times_table(splits.wide_times(rows))


def wide_mappings_table(lines):
    """Return the table of what mappings do to new people."""
    head = ["", "cells", "budget", "cells in all", "limit", "before", "apart", "outcomes alone", "pooled"]
    rows = []
    for line in lines:
        cells = line["cells"] if line["scored_by"] is None else f"{line['cells']}, {line['scored_by']}"
        apart = [_mean(*line[name]) for name in ("before", "apart", "outcomes_alone")]
        size = [f"{line['number']:.0f}", f"{line['budget']:.2f}"]
        rows.append([line["title"], cells, line["setting"], *size, *apart, f"{line['pooled']:.3f}"])
    return table(head, rows)


def wide_models_table(lines):
    """Return the table of what models of one table do, each with its shifted self beside it."""
    head = ["", "trained on", "budget", "AUC", "beyond", "log loss", "apart", "pooled", "shifted too", "beyond"]
    key = lambda line: (line["model"], line["trained_on"], line["setting"])  # noqa: E731
    also = {key(line): line for line in lines if line["shifted"]}
    rows = []
    for line in lines:
        if line["shifted"]:
            continue
        numbers = [f"{line['log_loss'][0]:.3f}", f"{line['apart'][0]:.3f}", f"{line['pooled']:.3f}"]
        other = also[key(line)]
        shown = [_fine(*line["auc"]), _signed(*line["beyond"]), *numbers]
        if line["trained_on"] != splits.RAW:
            shown += [f"{other['auc'][0]:.3f}", _signed(*other["beyond"])]
            rows.append([line["model"], line["trained_on"], line["setting"], *shown])
            continue
        rows.append([line["model"], splits.RAW, "–", *shown, "–", "–"])
        numbers = [f"{other['log_loss'][0]:.3f}", f"{other['apart'][0]:.3f}", f"{other['pooled']:.3f}"]
        rows.append([line["model"], f"{splits.RAW}, shifted", "–", _fine(*other["auc"]), "–", *numbers, "–", "–"])
    return table(head, rows)


def wide_times_table(lines):
    """Return the table of times, and how many times as long as by hand they are."""
    head = ["", "people", "cells", "fit, s", "ratio", "release, s", "ratio"]
    rows = [
        [
            line["title"], number(line["people"]), line["cells"], number(line["fit"]), times(line["fit_ratio"]),
            number(line["release"]), times(line["release_ratio"]),
        ]
        for line in lines
    ]  # fmt: skip
    return table(head, rows)


def _fine(mean, half):
    """Return a mean to four places with its interval, if it has one."""
    return f"{mean:.4f}" if half is None else f"{mean:.4f} ± {half:.4f}"


def _signed(mean, half):
    """Return a difference with its sign and its interval, if it has one."""
    return f"{mean:+.4f}" if half is None else f"{mean:+.4f} ± {half:.4f}"


def cluster_section(result):
    """Yield the section of Spark with and without a lost worker."""
    yield "## A Spark cluster, and a worker that is lost"
    yield paragraph(CLUSTER.format(**result))
    copy = result["plain_copy_seconds"]
    empty = "nothing" if result["nothing_under_the_final_name"] else "something"
    came = "complete and identical" if result["identical"] else "not identical"
    came = came if result["error"] is None else f"{result['error']}; {empty} under the final name"
    lost = f"apply, one worker killed after {result['killed_after']}"
    runs = {"apply": result["seconds"], lost: result["seconds_with_a_worker_lost"]}
    rows = [["a plain copy", number(copy), times(1.0), "–"]]
    rows += [[name, number(seconds), times(seconds / copy), came] for name, seconds in runs.items()]
    yield table(["", "seconds", "ratio", "result"], rows)


def plain_section(result):
    """Yield the section of a benchmark that says of itself what its rows are."""
    yield f"## {result.get('title', result['name'])}"
    if result.get("words"):
        yield paragraph(result["words"])
    if rows := result.get("rows"):
        yield table(list(rows[0]), [[number(row.get(key)) for key in rows[0]] for row in rows])
    else:
        single = {key: value for key, value in result.items() if isinstance(value, (int, float, str))}
        yield table(["", ""], [[key, number(value)] for key, value in single.items() if key not in STAMP])


STAMP = ("name", "date", "load", "minutes", "title", "words")
SECTIONS = {
    "fit": fit_section,
    "frontier": frontier_section,
    "apply": apply_section,
    "ladder": ladder_section,
    "families": families_section,
    "new_people": new_people_section,
    "wide_tables": wide_section,
    "spark_cluster": cluster_section,
}


def slower(results):
    """Yield a line for everything in which another way was faster, or many gathers were."""
    for case in results.get("fit", {}).get("cases", {}).values():
        ours = case["methods"]["evenhand"]["seconds"]
        for method, row in case["methods"].items():
            if not method.startswith("evenhand") and row.get("seconds", ours) < ours:
                yield f"{case['title']}: {method} took {row['seconds'] / ours:.2f} of evenhand's time."
    for method, row in results.get("frontier", {}).get("methods", {}).items():
        if row.get("ratio", 1) < 1:
            yield f"The trade-off curve: {method} took {row['ratio']:.2f} of evenhand's time."
    for family, cases in results.get("ladder", {}).get("families", {}).items():
        for case in cases:
            for rival, own in RIVALS.items():
                theirs, ours = (case["methods"].get(method, {}).get("solve") for method in (rival, own))
                if theirs and ours and theirs < ours:
                    size = f"{case['moves']:,.0f} moves"
                    yield f"{family}, {size}: {NAMES[rival]}, took {theirs / ours:.2f} of evenhand's time."
    yield from _slower_families(results.get("families", {}).get("drawn", ()))
    for kind, methods in results.get("apply", {}).get("kinds", {}).items():
        for method, row in methods.items():
            ratio = row["seconds"] / methods["gather"]["seconds"]
            if ratio > SLOW:
                yield f"Apply, {kind}, {method}: {ratio:.0f} times as long as a gather."


def _slower_families(drawn):
    """Yield the random problems in which HiGHS was faster, the worst of many, and those in which somebody died."""
    found = distribution.fits(drawn)
    behind = distribution.behind(found)
    for fit in behind[:LISTED]:
        what = f"Random families, no. {fit['number']}, {fit['moves']:,} moves, {fit['measure']}"
        yield f"{what}: HiGHS took {fit['ratio']:.2f} of evenhand's time. It is {distribution.words(fit)}."
    if rest := behind[LISTED:]:
        largest = max(fit["moves"] for fit in rest)
        yield f"Random families: HiGHS was faster in {len(rest)} more, of up to {largest:,} moves."
    for fit in found:
        if "died" in fit:
            size = f", {fit['moves']:,} moves" if "moves" in fit else ""
            what = f"Random families, no. {fit['number']}{size}, {fit['measure']}"
            theirs = f"; HiGHS took {number(fit['HiGHS'])} s" if isinstance(fit.get("HiGHS"), float) else ""
            yield f"{what}: evenhand did not answer ({why_not(fit)}){theirs}."


def page(results, quick=False):
    """Return the page for results by name."""
    parts = ["# Speed and memory", paragraph(HOW), *([paragraph(QUICK)] if quick else []), *_circumstances(results)]
    for name in [*(name for name in SECTIONS if name in results), *(name for name in results if name not in SECTIONS)]:
        parts += SECTIONS.get(name, plain_section)(results[name])
    if weak := list(slower(results)):
        parts += ["## Where evenhand is slower", "\n".join(f"- {line}" for line in weak)]
    return "\n\n".join(parts) + "\n"


def _circumstances(results):
    """Yield what the page must say of machine, versions, dates and duration."""
    each = list(results.values())
    machine = each[0]["machine"]
    versions = {name: value for result in each for name, value in result["versions"].items()}
    dates = sorted({result["date"] for result in each})
    period = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    yield paragraph(MACHINE.format(**machine, period=period, versions=_listed(versions)))
    if usual := _aif360(results):
        text = f"AIF360 runs in an environment of its own, Python {usual['python']}: {_listed(usual['versions'])}."
        yield paragraph(text)
    if others := [name for name, result in results.items() if result["machine"] != machine]:
        yield f"Measured on another machine or with another Python: {', '.join(others)}."
    load = max(result.get("load", 0) for result in each)
    if load > 1.5 * machine["cores"]:
        text = f"The machine was busy with other work too (a load of {load:.1f} on {machine['cores']} cores)"
        yield paragraph(f"{text}: neither seconds nor ratios are exact.")
    minutes = ", ".join(f"{name} {result['minutes']:.0f}" for name, result in results.items())
    yield f"Minutes that each part took: {minutes}."


def _listed(versions):
    return ", ".join(f"{name} {value}" for name, value in versions.items())


def _aif360(value):
    """Return the first row that has AIF360's versions, wherever it stands."""
    if not isinstance(value, dict):
        return None
    if "aif360" in value.get("versions", ()):
        return value
    return next((found for inner in value.values() if (found := _aif360(inner))), None)


def points(result):
    """Return what the chart shows: a row for each family, method and case, and what was used where it was ended."""
    rows = []
    for family, cases in result["families"].items():
        for case in cases:
            for method, row in case["methods"].items():
                ended = "solve" not in row
                stating = 0 if ended or method.startswith("cvxpy") else row["compile"]
                seconds = row.get("spent") if ended else row["solve"] + stating
                shown = {"family": family, "method": NAMES[method], "moves": case["moves"], "ended": ended}
                rows.append(shown | {"seconds": seconds, "megabytes": row.get("peak")})
    return [row for row in rows if row["seconds"] and row["megabytes"]]


DECADES = [10.0**power for power in range(-3, 8)]
TICKS = sorted(digit * decade for decade in DECADES for digit in (1, 2, 5))


def chart(result):
    """Return the chart of seconds and memory against moves, a row of panels a family."""
    import altair as alt

    rows = points(result)
    names = [name for name in COLOURS if any(row["method"] == name for row in rows)]

    def axis(kind, column, title, ticks):
        values = [row[column] for row in rows]
        scale = alt.Scale(type="log", domain=[min(values) / 1.4, max(values) * 1.4], nice=False)
        return kind(f"{column}:Q", title=title, scale=scale, axis=alt.Axis(format=",~r", values=ticks))

    across = axis(alt.X, "moves", "moves", DECADES)
    heights = (axis(alt.Y, "seconds", "seconds", DECADES), axis(alt.Y, "megabytes", "peak memory, MB", TICKS))
    colour = alt.Color(
        "method:N",
        title=None,
        sort=names,
        scale=alt.Scale(domain=names, range=[COLOURS[name] for name in names]),
        legend=alt.Legend(orient="top", labelFontSize=12, symbolSize=120),
    )

    def panel(family, height):
        mine = alt.Data(values=[row for row in rows if row["family"] == family])
        base = alt.Chart(mine).encode(across, height, colour)
        dots = base.transform_filter("!datum.ended").mark_point(filled=True, size=45, opacity=1)
        ends = base.transform_filter("datum.ended")
        ends = ends.mark_point(shape="cross", angle=45, size=110, filled=True, opacity=1)
        return (base.mark_line(strokeWidth=2) + dots + ends).properties(width=320, height=200, title=family)

    families = [family for family, cases in result["families"].items() if cases]
    panels = [alt.hconcat(*(panel(family, height) for height in heights)) for family in families]
    return alt.vconcat(*panels).configure_title(fontSize=12).configure_view(stroke="#dddddd")


def families_chart(result):
    """Return the chart of the random problems: HiGHS's time over ours, and ours per move, against moves."""
    import altair as alt

    found = [
        fit | {"per_move": 1e6 * fit["solve"] / fit["moves"]}
        for fit in distribution.fits(result["drawn"])
        if "solve" in fit
    ]
    kept = ("moves", "per_move", "ratio", "at_least", "kind")
    kinds = {"L1": "ℓ1", "KL": "KL"}
    rows = [
        {key: value for key, value in (fit | {"kind": kinds.get(fit["measure"], "others")}).items() if key in kept}
        for fit in found
    ]
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=["ℓ1", "KL", "others"], range=["#0b5fa5", "#4aa3df", "#c4501b"]),
        legend=alt.Legend(orient="top", labelFontSize=12, symbolSize=120),
    )

    def panel(column, title):
        mine = [row for row in rows if row.get(column)]
        across, height = (
            kind(
                f"{name}:Q",
                title=words,
                scale=alt.Scale(type="log", domain=_around(mine, name), nice=False),
                axis=alt.Axis(format=",~r", values=ticks),
            )
            for kind, name, words, ticks in ((alt.X, "moves", "moves", DECADES), (alt.Y, column, title, TICKS))
        )
        base = alt.Chart(alt.Data(values=mine)).encode(across, height, colour)
        dots = base.transform_filter("!datum.at_least").mark_point(filled=True, size=40, opacity=0.8)
        ends = base.transform_filter("datum.at_least == true").mark_point(shape="triangle-up", size=70, filled=True)
        even = alt.Chart(alt.Data(values=[{"one": 1}])).mark_rule(color="#888888", strokeDash=[4, 3]).encode(y="one:Q")
        return (dots + ends + even if column == "ratio" else dots + ends).properties(width=320, height=220)

    panels = [("ratio", "HiGHS's time over evenhand's (▲ at least)"), ("per_move", "µs per move, optimum")]
    shown = [panel(*each) for each in panels if any(row.get(each[0]) for row in rows)]
    return alt.hconcat(*shown).configure_view(stroke="#dddddd")


def _around(rows, column):
    """Return the ends of an axis."""
    values = [row[column] for row in rows] + ([1.0] if column == "ratio" else [])
    return [min(values) / 1.4, max(values) * 1.4]


def write(docs, quick=False):
    """Write the page and the chart from the results that are there; return the page's path."""
    results = harness.kept()
    if not results:
        raise SystemExit(f"no results in {harness.RESULTS}; run the benchmarks first")
    target, picture = Path(docs) / "speed.md", Path(docs) / PICTURE
    picture.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(results, quick), encoding="utf-8")
    if "ladder" in results:
        chart(results["ladder"]).save(picture)
    if "families" in results:
        families_chart(results["families"]).save(Path(docs) / FAMILIES_PICTURE)
    return target


if __name__ == "__main__":
    print(write(harness.ROOT / "docs" / "benchmarks"))
    sys.exit(0)
