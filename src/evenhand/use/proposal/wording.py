"""A draft as TOML with comments: what each line means, how it was chosen, and what to change."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence

from evenhand.errors import in_number
from evenhand.spec import PairwiseParity
from evenhand.spec.bins import Edges, MergedLevels, PooledLevels
from evenhand.spec.csv_format import CsvFormat
from evenhand.spec.distance import Ratio
from evenhand.spec.toml import key
from evenhand.spec.toml import literal as value
from evenhand.tables.survey import Survey, by_code
from evenhand.use.proposal.bounding import Bounds
from evenhand.use.proposal.draft import Draft
from evenhand.use.proposal.leaks import TELLING
from evenhand.use.proposal.levels import Levelled
from evenhand.use.proposal.outcome import Direction, any_way, forbidding, moves, one_way
from evenhand.use.proposal.protected import Rated

WIDTH = 100
SMALLEST = 5e-5
"""A smaller number is written as 0."""

MOST_TINY = 3
"""How many small groups are named."""

ROOM = 4
"""A group of so many times the people that all leaves need does not keep leaves few."""

MOST_SHOWN = 8
"""How many levels a comment lists."""


def write(
    draft: Draft,
    bounds: Bounds,
    direction: Direction,
    beside: Bounds | None,
    *,
    source: str,
    target: str,
    weights: str | None,
    csv: CsvFormat | None,
    tokens: Sequence[str],
) -> str:
    """Return the whole document."""
    parts = [
        _opening(draft, source, target, weights),
        _columns(draft, direction),
        _confidence(bounds.confidence),
        _missing(draft, tokens),
        _csv(csv),
        _cells(draft),
        _bins(draft),
        _distortion(draft, direction),
        _bounds(draft, bounds, direction, beside),
    ]
    return "\n".join("\n".join(lines) + "\n" for part in parts if (lines := list(part)))


def _rows(items: Sequence[str]) -> Iterator[str]:
    """Write items in lines of about the usual width; none is broken."""
    line = " "
    for item in items:
        if len(line) + len(item) + 2 > WIDTH and line.strip():
            yield line
            line = " "
        line += f" {item},"
    yield line


def _comment(text: str, indent: str = "# ") -> Iterator[str]:
    """Write a text as comment lines; what cannot be printed has no place there."""
    for paragraph in text.split("\n"):
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in paragraph)
        hang = indent if indent == "# " else f"{indent}  "
        yield from textwrap.wrap(
            shown, WIDTH, initial_indent=indent, subsequent_indent=hang, break_on_hyphens=False, break_long_words=False
        )


def _opening(draft: Draft, source: str, target: str, weights: str | None) -> Iterator[str]:
    yield from _comment(
        f"A problem for evenhand, proposed from {source} ({size(draft.found, weights)}).\n"
        f"Every line is a proposal: what is right to bound, and what may be changed, is for people to decide.\n"
        f"Read it, change it, then:"
    )
    files = shlex.join([target, source, *(() if weights is None else ("--weights", weights))])
    yield from _comment(f"evenhand diagnose {files} (what the bounds cost, or why they cannot be met)", indent="#   ")
    yield from _comment(f"evenhand fit {files} (learns the mapping)", indent="#   ")


def size(found: Survey, weights: str | None) -> str:
    """Say how large a table is, and how its rows count."""
    if weights is None:
        return f"{found.rows:,} rows"
    if found.people > found.rows:
        return f"{found.rows:,} rows, which stand for {found.people:,} people by {weights}"
    return f"{found.rows:,} rows, weighted by {weights}"


def _columns(draft: Draft, direction: Direction) -> Iterator[str]:
    people = [group.people for group in draft.groups]
    yield from _comment(
        f"Read, never changed. People are compared by every combination of these columns: {len(people)} groups here, "
        f"of {people[0]:,} to {people[-1]:,} people. Beside a level are its people and their rate of "
        f"{draft.rated.words}; everybody's is {draft.rated.overall:.1%}."
    )
    for column in draft.protected:
        if column.binning is None:
            said = f" {column.why}" if column.why else ""
            yield from _comment(f"{column.name}: {_levels(column, draft.rated)}.{said}", indent="#   ")
    if draft.tiny_groups:
        yield from _comment(
            f'{tiny_groups(draft)} Put together levels that belong together (by = "merging" in [bins.NAME], with '
            f'into = {{ name = ["level", "level"] }}), choose fewer edges, compare by one column at a time (for each a '
            f'[[parity]] with on = ["column"]), or leave a column out.'
        )
    yield f"protected = {value([column.name for column in draft.protected])}"
    yield ""
    listed = [value(feature.name) for feature in draft.features]
    if draft.cells is None:
        yield from _comment(
            "What may be changed, where a rule below allows it. Every feature splits people into smaller cells, so a "
            "few that matter are better than many. Columns that are not listed are passed through as they are and "
            "bound by nothing: a model that is meant to be covered must not see them."
        )
        if (tried := leaves_or_levels(draft)) is not None:
            yield from _comment(tried)
        yield f"features = [{', '.join(listed)}]"
    else:
        yield from _comment(
            "Read as they are, never changed: the cells below are learned from these columns, and nothing else of "
            "people decides whose outcome changes, but their groups and outcomes. A column that is known only after "
            "the outcome must not be among them."
        )
        for feature in draft.features:
            if feature.remark is not None:
                yield from _comment(f"{feature.name}: {feature.remark}", indent="#   ")
        yield "features = ["
        yield from _rows(listed)
        yield "]"
    if draft.left_out:
        yield from _comment("Left out, and why; add what should be among the features:")
        for reason in dict.fromkeys(reason for _, reason in draft.left_out):
            names = ", ".join(name for name, given in draft.left_out if given == reason)
            yield from _comment(f"{names}: {reason}", indent="#   ")
    yield ""
    yield from _comment("The decision whose rates are compared between groups. It may be changed, too.")
    yield f"outcome = {value(draft.outcome.name)}"
    if direction.favourable is not None:
        yield from _comment("The outcome that is good for a person: audits say who is helped, and who is harmed.")
        yield f"favourable = {value(direction.favourable)}"


def _confidence(confidence: float | None) -> Iterator[str]:
    """Write whether bounds are asked for in the population."""
    if confidence is None:
        yield from _comment(
            "The bounds hold in this table. To ask that they hold in the population that it is a random sample of, "
            "take the sign from the next line; it costs more, and needs larger bounds where groups are small (init "
            "--confidence finds some that will do)."
        )
        yield "# confidence = 0.95"
        return
    yield from _comment(
        "The bounds are to hold at once in the population that this table is a random sample of, with this confidence. "
        "They were made so wide that they can be met with the margins that it takes."
    )
    yield f"confidence = {confidence:.12g}"


def tiny_groups(draft: Draft) -> str:
    """Name the smallest groups with their rates, and say why they are a trouble."""
    tiny = draft.tiny_groups
    named = "; ".join(f"{group.name} ({in_number(group.people)}, {group.rate:.0%})" for group in tiny[:MOST_TINY])
    more = f"; and {len(tiny) - MOST_TINY} more" * (len(tiny) > MOST_TINY)
    return (
        f"Small, with the rate of {draft.rated.words}: {named}{more}. The rates of so few people say little, and yet "
        f"every other group is held against them; in one draw, and among new people, they scatter far around a bound."
    )


def leaves_or_levels(draft: Draft) -> str | None:
    """Say what leaves over all columns tell beside the best few as levels; None where there was no question."""
    tried, outcome = draft.tried, draft.outcome.name
    if tried is None:
        return None
    if tried.trial is None:
        many = f"More columns tell something about {outcome} than these. The leaves of a tree over all of them"
        if tried.install is not None:
            return (
                f"{many} can be proposed where scikit-learn is installed: pip install 'evenhand[sklearn]', and then "
                f"run init again."
            )
        return f"{many} could not be learned: {tried.refused}."
    trial = tried.trial
    few = f"the best {len(trial.few)} columns as levels ({', '.join(trial.few)})" if trial.few else "a choice"
    by_leaves, by_few = max(trial.told, 0.0), max(trial.told_by_few, 0.0)
    said = (
        f"Of people whom they were not learned from, the leaves of a tree over all columns tell {by_leaves:.0%} of "
        f"what is not known about {outcome}, {few} {by_few:.0%}"
    )
    smallest = draft.groups[0]
    small = smallest.people < ROOM * trial.cells.most * trial.cells.at_least
    why = f"every leaf has people of every group, and {smallest.name} has {in_number(smallest.people)}"
    if draft.cells is None:
        return f"{said}. No leaves are proposed that tell nothing" + (
            f": {why}. Put that group together with another, compare by fewer columns, or leave those people out; then "
            f"run init again."
            if small
            else "; init --cells leaves proposes them all the same."
        )
    if by_leaves > by_few:
        return f"{said}: that choice would lose {1 - by_few / by_leaves:.0%} of what the leaves tell."
    more = "no more" if by_leaves == by_few else "less"
    said = f"{said}: leaves tell {more} here, but no column is left out, and nobody new is in a cell that nobody had."
    if by_leaves < by_few and small:
        said = f"{said} They could tell more, but {why}: groups that are put together leave room for more leaves."
    return f"{said} init --cells levels proposes that choice."


def _cells(draft: Draft) -> Iterator[str]:
    if draft.cells is None:
        return
    yield from _comment(
        "The cells within which outcomes change: the leaves of a tree over the features, at most so many, each with "
        "at least so many people of every group. Numbers need no bins, words no order, and missing values are a "
        "branch. Fewer leaves are easier to read, more tell more; the fewer people a leaf has, the more it tells of "
        "these people alone."
    )
    if (tried := leaves_or_levels(draft)) is not None:
        yield from _comment(tried)
    yield "[cells]"
    yield f"kind = {value(draft.cells.word)}"
    yield f"most = {draft.cells.most}"
    yield f"at_least = {draft.cells.at_least}"


def _missing(draft: Draft, tokens: Sequence[str]) -> Iterator[str]:
    lacking = [f"{c.name} ({c.column.missing:,})" for c in draft.levelled if c.column.missing]
    if lacking:
        yield from _comment(
            f'Missing in {", ".join(lacking)}. "level": a missing value is a level of its own, and stays missing; '
            f'"error" refuses it.'
        )
        yield 'missing = "level"'
    if tokens:
        yield from _comment("Words that stand for a missing value.")
        yield f"missing_values = {value(list(tokens))}"


def _csv(csv: CsvFormat | None) -> Iterator[str]:
    if csv is None:
        return
    yield from _comment("How the files are written; names are for files without a header.")
    yield "[csv]"
    yield f"delimiter = {value(csv.delimiter)}"
    if csv.names is not None:
        yield "names = ["
        yield from _rows([value(name) for name in csv.names])
        yield "]"


def _bins(draft: Draft) -> Iterator[str]:
    binned = [column for column in draft.levelled if column.binning is not None]
    if binned:
        yield from _comment(
            "How values become levels. An edge belongs to the bin above it. Move edges to where they mean something; a "
            "changed person gets a value that somebody in the new bin had."
        )
    for column in binned:
        yield ""
        if column.why:
            yield from _comment(column.why)
        yield f"[bins.{key(column.name)}]"
        if isinstance(column.binning, Edges):
            edges = [int(edge) if float(edge).is_integer() else edge for edge in column.binning.edges]
            yield 'by = "edges"'
            yield f"edges = {value(edges)}"
        elif isinstance(column.binning, PooledLevels):
            yield 'by = "pooling"'
            yield "keep = ["
            yield from _rows([value(level) for level in column.binning.keep or ()])
            yield "]"
            yield f"into = {value(column.binning.into)}"
            yield from _comment(_in_the_pool(column, column.binning))
        elif isinstance(column.binning, MergedLevels):
            yield 'by = "merging"'
            yield f"[bins.{key(column.name)}.into]"
            for name, members in column.binning.into.items():
                yield f"{key(name)} = ["
                yield from _rows([value(level) for level in members])
                yield "]"
            yield from _comment("A value that is new in another table is a group of its own.")
        yield from _comment(_levels(column, draft.rated if column in draft.protected else None))


def _in_the_pool(column: Levelled, pool: PooledLevels) -> str:
    """Say which values share a level, and that new ones do."""
    own = column.column
    kept = set(pool.keep or ())
    shown = [f"{v} ({n:,.0f})" for v, n in zip(own.values, own.people, strict=True) if v not in kept]
    more = f" and {len(shown) - MOST_SHOWN} more" * (len(shown) > MOST_SHOWN)
    new = "every value that is new in another table."
    return f"{pool.into}: {', '.join(shown[:MOST_SHOWN])}{more}; and {new}" if shown else f"{pool.into}: {new}"


def _levels(column: Levelled, rated: Rated | None = None) -> str:
    """List the levels, how many people each has, and their rates where asked for."""
    people = by_code(column.codes, column.column.row_people, 0)
    rates = [""] * len(people) if rated is None else [f", {rate:.1%}" for rate in rated.by(column.codes)]
    known = min(len(column.levels), MOST_SHOWN)
    shown = [f"{column.levels[i]} ({people[i]:,.0f}{rates[i]})" for i in range(known)]
    more = len(column.levels) - len(shown)
    missing = [f"missing ({people[-1]:,.0f}{rates[-1]})"] if column.column.missing else []
    return ", ".join([*shown, *([f"and {more} more"] if more else []), *missing])


def _distortion(draft: Draft, direction: Direction) -> Iterator[str]:
    if draft.cells is not None:
        yield from _comment("What a change of the outcome costs; a cost counts against the budget below.")
        yield from _outcome(draft.outcome, direction)
        return
    yield from _comment(
        'What a change costs; changes of several columns add up ("max": the costliest counts). "ordinal": step for '
        'each step, at most max_steps; up = false or down = false forbids a direction. "nominal": one cost for any '
        'other level. "fixed": never. A cost counts against the budget below.'
    )
    yield "[distortion]"
    yield 'combine = "sum"'
    for feature in draft.features:
        column = feature.levelled
        yield ""
        if column.binning is None:
            yield from _comment(_levels(column))
        if feature.tells_groups >= TELLING:
            yield from _comment(f"Tells {feature.tells_groups:.0%} of what the protected columns say.")
        if feature.remark is not None:
            yield from _comment(f"{feature.remark[0].upper()}{feature.remark[1:]}")
        yield f"[distortion.rules.{key(feature.name)}]"
        yield f"rule = {value(feature.rule)}"
        if feature.rule == "ordinal":
            yield "step = 1"
            yield "max_steps = 1"
            if column.binning is None and column.column.numeric:
                yield from _comment('If these numbers are codes without an order, write rule = "nominal", cost = 2.')
            if column.order is not None:
                yield f"levels = {value(list(column.order))}"
        elif feature.rule == "nominal":
            yield "cost = 2"
    yield ""
    yield from _outcome(draft.outcome, direction)


def _outcome(column: Levelled, direction: Direction) -> Iterator[str]:
    if column.binning is None:
        yield from _comment(_levels(column))
    price = "Each step of the outcome costs 1." if column.ordered else "Any change of the outcome costs 1."
    if direction.only and direction.favourable is not None:
        rule = one_way(column, direction.favourable)
        yield from _comment(
            f"Towards {direction.favourable} only, the outcome named as good for a person: nobody moves away from it. "
            f"{price}"
        )
    else:
        rule, said = any_way(column), [price, f"{moves(column)[0].upper()}{moves(column)[1:]}."]
        if direction.favourable is not None:
            reach = "no bound" if direction.reach is None else f"no bound below {direction.reach:.4f}"
            towards = f"Moving people towards {direction.favourable} alone would meet {reach}"
            said[1:] = [f"{towards}, so both directions are allowed: {moves(column)}."]
        forbid = "To forbid one direction, write"
        if not column.ordered:
            forbid += f' rule = "ordinal", step = 1, levels = {value(list(column.levels))} and'
        ways = " or ".join(forbidding(column))
        alone = "If one outcome is good for a person, init --favourable lets people move to it alone."
        yield from _comment(" ".join([*said, f"{forbid} {ways}." if ways else alone]))
    yield f"[distortion.rules.{key(column.name)}]"
    costs = rule.pop("cost") if isinstance(rule.get("cost"), list) else None
    yield from (f"{name} = {value(given)}" for name, given in rule.items())
    if costs is not None:
        yield "cost = ["
        for row in costs:
            yield f"  {{ from = {value(row['from'])}, to = {value(row['to'])}, cost = {value(row['cost'])} }},"
        yield "]"


def _bounds(draft: Draft, bounds: Bounds, direction: Direction, beside: Bounds | None) -> Iterator[str]:
    asked, without = asked_for(bounds), "" if bounds.confidence is None else ", without the confidence,"
    yield from _comment(
        f"{asked[0].upper()}{asked[1:]} after the release, on average over its draws. Smaller is tighter."
        + _known(
            bounds.smallest_bound, f"With the budget below, the smallest bound that any mapping meets{without} is {{}}."
        )
    )
    if bounds.losing is not None:
        yield from _comment(who_loses(draft, bounds, direction, beside))
    if beside is not None:
        way = f"towards {direction.favourable} only" if beside.one_way else "either way"
        yield from _comment(
            f"For that, write {_distance(beside) or 'no distance'} and bound = {beside.bound:g} here, limit = "
            f"{beside.limit:g} below, and let {draft.outcome.name} change {way} above."
        )
    yield "[[parity]]"
    yield 'kind = "pairwise"'
    yield f"bound = {bounds.bound:g}"
    if _distance(bounds):
        yield _distance(bounds)
    yield ""
    yield from _comment(
        f"No person's changes cost more than {bounds.limit:g} on average over the draws: with a cost of 1 for another "
        f"outcome, nobody's outcome changes with a probability above {bounds.limit:g}."
        + _known(
            bounds.smallest_limit, f"With the bound above, the smallest budget that any mapping keeps{without} is {{}}."
        )
    )
    yield "[[budget]]"
    yield 'kind = "expected"'
    yield f"limit = {bounds.limit:g}"
    yield ""
    kept = "features" if draft.cells is None else "cells"
    yield from _comment(
        f"What is kept close: the distribution of {kept} and outcome together (evenhand schema lists other measures)."
    )
    yield "[utility]"
    yield 'measure = "KL"'


def _distance(bounds: Bounds) -> str:
    """Write the distance, where it is not the usual one."""
    if bounds.distance == Ratio():
        return ""
    said = {"measure": bounds.distance.word} | vars(bounds.distance)
    return f"distance = {{ {', '.join(f'{name} = {value(given)}' for name, given in said.items())} }}"


def asked_for(bounds: Bounds) -> str:
    """Say what is asked of every two groups."""
    return PairwiseParity(bounds.bound, bounds.distance).words


def who_loses(draft: Draft, bounds: Bounds, direction: Direction, beside: Bounds | None) -> str:
    """Say how many people lose the favourable outcome, and how many by another distance, where that was looked at."""

    def people(share: float | None) -> str:
        everybody = draft.found.people
        return f"about {share * everybody:,.0f} of {everybody:,} people ({share:.1%})" if share else "nobody"

    good = f"the outcome that is good for a person, {draft.outcome.name} {direction.favourable}"
    own = f"{people(bounds.losing)} would lose {good}."
    said = f"{own[0].upper()}{own[1:]}"
    if beside is None:
        return said
    chosen = "which is why the ratio is not proposed" if beside.distance == Ratio() else "but that bound is wide"
    return f"{said} If {beside.distance.apart(beside.bound)}, {people(beside.losing)} would, {chosen}."


def _known(number: float | None, sentence: str) -> str:
    return "" if number is None else " " + sentence.format(f"{number:.4f}" if number >= SMALLEST else "0")
