"""A draft as TOML with comments: what each line means, how it was chosen, and what to change."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evenhand.spec.bins import Edges, PooledLevels
from evenhand.spec.csv_format import CsvFormat
from evenhand.spec.toml import key
from evenhand.spec.toml import literal as value
from evenhand.use.proposal.draft import TELLING, Draft
from evenhand.use.proposal.levels import Levelled
from evenhand.use.proposal.outcome import Direction, any_way, forbidding, moves, one_way

WIDTH = 100
SMALLEST = 5e-5
"""A smaller number is written as 0."""

MOST_TINY = 3
"""How many small groups are named."""

MOST_SHOWN = 8
"""How many levels a comment lists."""


@dataclass(frozen=True)
class Bounds:
    """The two numbers that are proposed, and how far each could be tightened while the other stays."""

    bound: float
    limit: float
    smallest_bound: float | None = None
    smallest_limit: float | None = None


def write(
    draft: Draft,
    bounds: Bounds,
    direction: Direction,
    *,
    source: str,
    target: str,
    csv: CsvFormat | None,
    tokens: Sequence[str],
) -> str:
    """Return the whole document."""
    parts = [
        _opening(draft, source, target),
        _columns(draft),
        _missing(draft, tokens),
        _csv(csv),
        _bins(draft),
        _distortion(draft, direction),
        _bounds(draft, bounds),
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


def _opening(draft: Draft, source: str, target: str) -> Iterator[str]:
    yield from _comment(
        f"A problem for evenhand, proposed from {source} ({draft.rows:,} rows).\n"
        f"Every line is a proposal: what is right to bound, and what may be changed, is for people to decide.\n"
        f"Read it, change it, then:"
    )
    files = shlex.join([target, source])
    yield from _comment(f"evenhand diagnose {files} (what the bounds cost, or why they cannot be met)", indent="#   ")
    yield from _comment(f"evenhand fit {files} (learns the mapping)", indent="#   ")


def _columns(draft: Draft) -> Iterator[str]:
    sizes = [size for _, size in draft.group_sizes]
    yield from _comment(
        f"Read, never changed. People are compared by every combination of these columns: {len(sizes)} groups here, of "
        f"{sizes[0]:,} to {sizes[-1]:,} people."
    )
    if draft.tiny_groups:
        pooling = "Choose fewer edges below, or leave a column out."
        words = [column for column in draft.protected if not column.column.numeric]
        if words:
            widest = max(words, key=lambda column: len(column.levels))
            pooled = "raise fewer_than in" if isinstance(widest.binning, PooledLevels) else 'write by = "merging" in'
            pooling = f"Pool them ({pooled} [bins.{key(widest.name)}]), or leave a column out."
        yield from _comment(f"{tiny_groups(draft)} {pooling}")
    yield f"protected = {value([column.name for column in draft.protected])}"
    yield ""
    yield from _comment(
        "What may be changed, where a rule below allows it. Every feature splits people into smaller cells, so a few "
        "that matter are better than many. Columns that are not listed are passed through as they are and bound by "
        "nothing: a model that is meant to be covered must not see them."
    )
    yield f"features = {value([feature.name for feature in draft.features])}"
    if draft.left_out:
        yield from _comment("Left out, and why; add what should be among the features:")
        for reason in dict.fromkeys(reason for _, reason in draft.left_out):
            names = ", ".join(name for name, given in draft.left_out if given == reason)
            yield from _comment(f"{names}: {reason}", indent="#   ")
    yield ""
    yield from _comment("The decision whose rates are compared between groups. It may be changed, too.")
    yield f"outcome = {value(draft.outcome.name)}"


def tiny_groups(draft: Draft) -> str:
    """Name the smallest groups, and say why they are a trouble."""
    tiny = draft.tiny_groups
    named = "; ".join(f"{name} ({size:,})" for name, size in tiny[:MOST_TINY])
    more = f"; and {len(tiny) - MOST_TINY} more" * (len(tiny) > MOST_TINY)
    return (
        f"Small: {named}{more}. The rates of so few people say little, and yet every other group is held against them."
    )


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
        yield f"[bins.{key(column.name)}]"
        if isinstance(column.binning, Edges):
            edges = [int(edge) if float(edge).is_integer() else edge for edge in column.binning.edges]
            yield 'by = "edges"'
            yield f"edges = {value(edges)}"
        elif isinstance(column.binning, PooledLevels):
            yield 'by = "pooling"'
            yield f"fewer_than = {value(column.binning.fewer_than)}"
            yield f"into = {value(column.binning.into)}"
        yield from _comment(_levels(column))


def _levels(column: Levelled) -> str:
    """List the levels and how many people each has."""
    weights = column.weights
    shown = [f"{level} ({weights[i]:,.0f})" for i, level in enumerate(column.levels[:MOST_SHOWN])]
    more = len(column.levels) - len(shown)
    missing = [f"missing ({column.column.missing:,})"] if column.column.missing else []
    return ", ".join([*shown, *([f"and {more} more"] if more else []), *missing])


def _distortion(draft: Draft, direction: Direction) -> Iterator[str]:
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
        if feature.decides:
            levels = ", ".join(str(level) for level in feature.decides)
            yield from _comment(f"Everybody with {levels} has one outcome: is this known only after it?")
        yield f"[distortion.rules.{key(feature.name)}]"
        yield f"rule = {value(feature.rule)}"
        if feature.rule == "ordinal":
            yield "step = 1"
            yield "max_steps = 1"
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


def _bounds(draft: Draft, bounds: Bounds) -> Iterator[str]:
    yield from _comment(
        f"For every two groups, each outcome's rates differ by a factor of at most {1 + bounds.bound:g} after the "
        f"release, on average over its draws. Smaller is tighter."
        + _known(bounds.smallest_bound, "With the budget below, the smallest bound that any mapping meets is {}.")
    )
    yield "[[parity]]"
    yield 'kind = "pairwise"'
    yield f"bound = {bounds.bound:g}"
    yield ""
    yield from _comment(
        f"No person's changes cost more than {bounds.limit:g} on average over the draws: with a cost of 1 for another "
        f"outcome, nobody's outcome changes with a probability above {bounds.limit:g}."
        + _known(bounds.smallest_limit, "With the bound above, the smallest budget that any mapping keeps is {}.")
    )
    yield "[[budget]]"
    yield 'kind = "expected"'
    yield f"limit = {bounds.limit:g}"
    yield ""
    yield from _comment(
        "What is kept close: the distribution of features and outcome together (see docs/guide.md for others)."
    )
    yield "[utility]"
    yield 'measure = "KL"'


def _known(number: float | None, sentence: str) -> str:
    return "" if number is None else " " + sentence.format(f"{number:.4f}" if number >= SMALLEST else "0")
