"""A draft as TOML with comments: each key in at most two lines. docs/reference/init.md says how each is chosen."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.data.weighting import Weighting
from evenhand.errors import some_of
from evenhand.render.sentences import paragraph, sentence
from evenhand.spec.bins import Edges, MergedLevels, PooledLevels
from evenhand.spec.csv_format import CsvFormat
from evenhand.spec.distance import Ratio
from evenhand.spec.toml import key, literal
from evenhand.text import printable
from evenhand.use.proposal.bounding import Bounds
from evenhand.use.proposal.draft import Draft
from evenhand.use.proposal.levels import Levelled
from evenhand.use.proposal.outcome import Direction, any_way, one_way
from evenhand.use.proposal.shown import asked_for, size, small_groups, who_loses

WIDTH = 100
SMALLEST = 5e-5
"""A smaller number is written as 0."""

RULES = {"ordinal": {"step": 1, "max_steps": 1}, "nominal": {"cost": 2}, "fixed": {}}


def write(
    draft: Draft,
    bounds: Bounds,
    direction: Direction,
    beside: Bounds | None,
    *,
    source: str,
    target: str,
    weighting: Weighting | None,
    csv: CsvFormat | None,
    tokens: Sequence[str],
) -> str:
    """Return the whole document."""
    files = shlex.join([target, source])
    opening = _block(
        "", {},
        f"A problem for evenhand, proposed from {source} ({sentence(size(draft.found, weighting))}).",
        "Read it and change it (docs/reference/init.md: how each line was chosen). Then run:",
        f"  evenhand diagnose {files}",
        f"  evenhand fit {files}",
    )  # fmt: skip
    sections = (
        _columns(draft, direction, weighting),
        _reading(draft, csv, tokens),
        _bins(draft),
        _distortion(draft, direction),
    )
    blocks = [block for section in sections for block in section]
    return "\n".join([opening, *blocks, *_bounds(draft, bounds, direction, beside)])


def _block(header: str, keys: dict[str, Any], *comments: str | None) -> str:
    """Write comments, the header of a table, and keys, each in a line or a list in several."""
    lines = [line for comment in comments if comment is not None for line in _comment(comment)]
    lines += [header] if header else []
    for name, given in keys.items():
        line = f"{key(name)} = {_value(given)}"
        if isinstance(given, list) and len(line) > WIDTH:
            lines += [f"{key(name)} = [", *_rows([_value(item) for item in given]), "]"]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _value(given: Any) -> str:
    if isinstance(given, dict):
        return f"{{ {', '.join(f'{key(name)} = {_value(item)}' for name, item in given.items())} }}"
    return f"[{', '.join(map(_value, given))}]" if isinstance(given, list) else literal(given)


def _rows(items: Sequence[str]) -> Iterator[str]:
    """Write items in lines of about the usual width; none is broken."""
    line = " "
    for item in items:
        if len(line) + len(item) + 2 > WIDTH and line.strip():
            yield line
            line = " "
        line += f" {item},"
    yield line


def _comment(text: str) -> list[str]:
    """Write a text, which may be indented, as comment lines; what cannot be printed has no place there."""
    shown, hang = f"# {printable(text)}", "#     " if text.startswith(" ") else "# "
    return textwrap.wrap(shown, WIDTH, subsequent_indent=hang, break_on_hyphens=False, break_long_words=False)


def _columns(draft: Draft, direction: Direction, weighting: Weighting | None) -> Iterator[str]:
    people = [group.people for group in draft.groups]
    yield _block(
        "",
        {"protected": [column.name for column in draft.protected]},
        f"Groups are the combinations of these columns: {len(people)}, of {people[0]:,} to {people[-1]:,} people.",
        *(f"{column.name}: {why(column)}" for column in draft.protected if column.binning is None and column.why),
        f"{paragraph([small_groups(draft)])} See docs/how-to/small-groups.md." if draft.tiny_groups else None,
    )
    features = {"features": [feature.name for feature in draft.features]}
    learned = "The columns that cells are learned from. They are read, never changed."
    yield _block("", features, "What may be changed, where a rule below allows it." if draft.cells is None else learned)
    if draft.left_out:
        left = [(name, sentence(reason)) for name, reason in draft.left_out]
        reasons = {reason: some_of(name for name, given in left if given == reason) for _, reason in left}
        yield _block(
            "", {},
            "Left out, and released as they are: hide them from a model that the bounds must cover.",
            *(f"  {names}: {reason}" for reason, names in reasons.items()),
        )  # fmt: skip
    yield _block(
        "", {"outcome": draft.outcome.name}, "The column whose rates are compared between groups. It may be changed."
    )
    if weighting is not None:
        counted = "For how many people a row stands." if weighting.repeats else "A survey weight: a row is one person."
        yield _block("", {weighting.option: weighting.column}, counted)
    if not draft.sees_protected:
        yield _block(
            "",
            {"suppress_protected": True},
            "The model may not see the protected columns: its mean scores are bounded beside the table's own rates.",
        )
    if direction.favourable is not None:
        yield _block("", {"favourable": direction.favourable}, "The outcome that is good for a person.")
    # Of mean scores no margins are known.
    population = "Remove the # to require the bounds in the population, too (docs/how-to/confidence.md)."
    if draft.sees_protected:
        yield _block("", {}, population, "confidence = 0.95")


def why(column: Levelled) -> str:
    """Return how the levels of a column were chosen, in sentences."""
    return " ".join(map(sentence, column.why))


def _reading(draft: Draft, csv: CsvFormat | None, tokens: Sequence[str]) -> Iterator[str]:
    lacking = [f"{c.name} ({c.column.missing:,})" for c in draft.levelled if c.column.missing]
    if lacking:
        words = f'Missing in {some_of(lacking)}. "level": a category of its own; "error": refused.'
        yield _block("", {"missing": "level"}, words)
    if tokens:
        yield _block("", {"missing_values": list(tokens)}, "Strings that stand for a missing value.")
    if csv is not None:
        names = {} if csv.names is None else {"names": list(csv.names)}
        words = "How the files are written; names are for files without a header."
        yield _block("[csv]", {"delimiter": csv.delimiter} | names, words)
    if draft.cells is not None:
        yield _block(
            "[cells]",
            {"kind": draft.cells.word, "most": draft.cells.most, "at_least": draft.cells.at_least},
            "Outcomes change within cells: leaves of a tree, each with at_least people of every group.",
        )


def _bins(draft: Draft) -> Iterator[str]:
    """Write how values become categories."""
    for column in draft.levelled:
        binning, header = column.binning, f"bins.{key(column.name)}"
        if isinstance(binning, Edges):
            edges = [int(edge) if float(edge).is_integer() else edge for edge in binning.edges]
            comment = why(column) or "An edge belongs to the bin above it."
            yield _block(f"[{header}]", {"by": "edges", "edges": edges}, comment)
        elif isinstance(binning, PooledLevels):
            kept = {"by": "pooling", "keep": list(binning.keep or ()), "into": binning.into}
            yield _block(f"[{header}]", kept, "Every other value, also a new one, is pooled.")
        elif isinstance(binning, MergedLevels):
            yield _block(f"[{header}]", {"by": "merging"}, why(column))
            yield _block(f"[{header}.into]", {name: list(members) for name, members in binning.into.items()})


def _distortion(draft: Draft, direction: Direction) -> Iterator[str]:
    if draft.cells is None:
        yield _block(
            "[distortion]",
            {"combine": "sum"},
            'What a change costs, against the limit below. "ordinal": step for each step, at most max_steps; '
            '"nominal": cost for any other category; "fixed": never. Costs add up.',
        )
        for feature in draft.features:
            rule: dict[str, Any] = {"rule": feature.rule} | RULES[feature.rule]
            if feature.rule == "ordinal" and feature.levelled.order is not None:
                rule["levels"] = list(feature.levelled.order)
            yield _block(f"[distortion.rules.{key(feature.name)}]", rule)
    column, good = draft.outcome, direction.favourable
    rule, way = any_way(column), "either way; init --favourable LEVEL allows one direction only"
    if good is not None and direction.only:
        rule, way = one_way(column, good), f"towards {good} only"
    elif good is not None:
        reach = "no bound" if direction.reach is None else f"no bound below {direction.reach:.4f}"
        way = f"either way; towards {good} only, {reach} can be met"
    yield _block(f"[distortion.rules.{key(column.name)}]", rule, f"The outcome changes {way}.")


def _bounds(draft: Draft, bounds: Bounds, direction: Direction, beside: Bounds | None) -> Iterator[str]:
    asked, kept = asked_for(bounds), "features" if draft.cells is None else "cells"
    lost = who_loses(draft, bounds, direction, beside)
    distance = {"distance": {"measure": bounds.distance.word} | vars(bounds.distance)}
    yield _block(
        "[[parity]]",
        {"kind": "pairwise", "bound": bounds.bound} | ({} if bounds.distance == Ratio() else distance),
        f"{asked[0].upper()}{asked[1:]}, in expectation.{_smallest('bound at this limit', bounds.smallest_bound)}",
        None if lost is None else paragraph([lost]),
    )
    yield _block(
        "[[budget]]",
        {"kind": "expected", "limit": bounds.limit},
        f"Nobody's changes cost more, in expectation.{_smallest('limit at this bound', bounds.smallest_limit)}",
    )
    yield _block("[utility]", {"measure": "KL"}, f"What is kept close: the distribution of {kept} and outcome.")


def _smallest(what: str, number: float | None) -> str:
    return "" if number is None else f" Smallest feasible {what}: {f'{number:.4f}' if number >= SMALLEST else '0'}."
