"""A report's summary and a table of impact ratios as Markdown: a datasheet, a summary for a job that runs by itself.

Reads plain values alone. What comes from a table is escaped: no name of a column is read as a link, a table or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from evenhand.data.weighting import Unit
from evenhand.findings.document import NONE, Json
from evenhand.findings.impact import LEAST_SHARE, Impact
from evenhand.report.brief import percent
from evenhand.report.page import MOST_LEVELS
from evenhand.text import printable
from evenhand.tolerances import ROUNDING

SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$&@]|:(?=//)|(?<=\bwww)\.)", re.IGNORECASE)
"""What Markdown reads as more than a letter; programs that show it make links of bare addresses."""


def escaped(text: Any) -> str:
    """Return a text that Markdown shows as it is, in one line of printable characters.

    Examples
    --------
    >>> escaped("a|b <c> [d]")
    'a\\\\|b \\\\<c\\\\> \\\\[d\\\\]'
    >>> escaped("&lt; http://x.org")
    '\\\\&lt; http\\\\://x.org'
    """
    return SPECIAL.sub(r"\\\1", printable(" ".join(str(text).split())))


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], numbers: int = 0) -> Iterator[str]:
    """Yield the lines of a table; so many of its last columns hold numbers."""
    yield f"| {' | '.join(headings)} |"
    first = len(headings) - numbers
    yield "|" + "|".join(" ---: " if at >= first else " --- " for at in range(len(headings))) + "|"
    for row in rows:
        yield f"| {' | '.join(map(escaped, row))} |"
    yield ""


def impact_lines(found: Impact, outcome: str, about: str) -> Iterator[str]:
    """Yield a table of impact ratios for each way to form categories."""
    unit = Unit.of(weighed=found.weighed)
    chosen = escaped(f"{outcome}={found.selected}")
    yield f"Selected is {chosen}, of the {unit.write(found.people)} of {about}."
    yield "An impact ratio is a category's selection rate over the highest selection rate of all categories that are"
    yield f"formed in the same way and have at least {LEAST_SHARE:.0%} of the people. After: in expectation over the"
    yield "draws."
    yield ""
    for by in dict.fromkeys(category.by for category in found.categories):
        own = [category for category in found.categories if category.by == by]
        yield f"### By {escaped(by)}"
        yield ""
        headings = (
            "Category",
            unit.heading,
            "Selected before",
            "Rate",
            "Impact ratio",
            "Selected after",
            "Rate",
            "Impact ratio",
        )
        yield from table(
            headings,
            (
                (
                    c.category, f"{c.people:,.0f}", _selected(c.selected_before), f"{c.rate_before:.3f}",
                    _ratio(c.ratio_before), _selected(c.selected_after), f"{c.rate_after:.3f}", _ratio(c.ratio_after),
                )
                for c in own
            ),
            7,
        )  # fmt: skip
        for note in dict.fromkeys(c.note for c in own if c.note):
            names = "; ".join(f"{c.category} ({unit.write(c.people)})" for c in own if c.note == note)
            yield f"{note.capitalize()}. {escaped(names)}."
            yield ""
    if found.unknown:
        said = "; ".join(
            f"{name}: {'not shown' if people is None else f'{people:,.0f}'}" for name, people in found.unknown.items()
        )
        yield f"{unit.heading} whose category is not known, who are in no ratio by that column: {escaped(said)}."
    else:
        yield "Nobody's category is unknown."
    yield ""
    yield from _noted(found)
    yield "These are ratios, not a verdict: whether a ratio is acceptable is for people and the law to say."


def _noted(found: Impact) -> Iterator[str]:
    """Yield what else there is to know of who was counted."""
    if found.notes:
        yield from (f"- {escaped(note)}" for note in found.notes)
        yield ""


def _selected(number: float) -> str:
    """Write a number of people: whole people as such, what is expected or by weight to a tenth."""
    return f"{number:,.0f}" if abs(number - round(number)) < ROUNDING else f"{number:,.1f}"


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def datasheet(s: Json, impact: Impact, files: Sequence[str], features: Sequence[str], *, weighed: bool = False) -> str:
    """Return a datasheet of the released table: what it is, who is in it, what was changed, what it is not for.

    ``features`` are the problem's; ``weighed``, if the people of the fitted table count by weight.
    """
    return "\n".join(_datasheet(s, impact, files, features, weighed=weighed)) + "\n"


def _datasheet(
    s: Json, impact: Impact, files: Sequence[str], features: Sequence[str], *, weighed: bool
) -> Iterator[str]:
    asked = [(pair["heading"], pair["text"]) for pair in s["asked"]]
    outcome = asked[0][1]
    yield "# Datasheet of a table released by evenhand"
    yield ""
    yield "## What is it?"
    yield ""
    yield (
        f"A table whose outcome {escaped(outcome)}, and whose features where that is said below, were changed at "
        f"random by a mapping that bounds how far the outcome depends on the protected columns. It was made with "
        f"evenhand {s['evenhand']} from a table of {s['table']['people']:,} people."
    )
    yield ""
    yield "## Who and what is in it?"
    yield ""
    rows = []
    listed = {column["name"] for column in s["table"]["columns"]}
    for column in s["table"]["columns"]:
        if "learned_over" in column:
            # Its levels are no values of the file: what the file has are the columns that cells are learned from.
            own = [name for name in features if name not in listed]
            read = {True: "as read; cells are learned from it", False: "as read; no cell asks about it"}
            rows += [(name, column["role"], read[name in column["learned_over"]]) for name in own]
            continue
        levels = [str(level) for level in column["levels"][:MOST_LEVELS]]
        more = len(column["levels"]) - len(levels)
        said = "; ".join(levels) + (f"; and {more} more" if more else "")
        hidden = f"; {column['levels_hidden']} not shown" if column["levels_hidden"] else ""
        rows.append((column["name"], column["role"], said + hidden))
    yield from table(("Column", "Role", "Levels"), rows)
    yield "Columns that are not listed are passed through as they are; nothing bounds what can be learned from them."
    yield ""
    yield "## What was asked of the mapping?"
    yield ""
    yield from (f"- **{escaped(heading)}**: {escaped(text)}" for heading, text in asked)
    yield ""
    yield "## What was changed, and for whom?"
    yield ""
    yield escaped(s["changes"]["words"])
    yield ""
    for words in (s["ledger"] or {"words": []})["words"]:
        yield f"- {escaped(words)}"
    told = [row for row in s["rates"]["rows"] if row["outcome"] == impact.selected]
    yield ""
    yield f"Rates of {escaped(f'{outcome}={impact.selected}')}, after in expectation over the draws:"
    yield ""
    yield from table(
        ("Group", Unit.of(weighed=weighed).heading, "Before", "After"),
        (
            (", ".join(f"{n}={v}" for n, v in row["group"].items()), f"{row['weight']:,.0f}", percent(row["before"]),
             percent(row["after"]))
            for row in told
        ),
        3,
    )  # fmt: skip
    yield "## How sure is that?"
    yield ""
    yield from (f"- **{escaped(p['heading'])}**: {escaped(p['text'])}" for p in s["certificate"]["words"])
    yield ""
    if s["this_file"]:
        yield "## Which file was released?"
        yield ""
        yield escaped(s["this_file"]["verdict"])
        yield ""
        yield from (f"- **{escaped(p['heading'])}**: {escaped(p['text'])}" for p in s["this_file"]["pairs"])
        yield ""
    yield "## What should it not be used for?"
    yield ""
    yield from (f"- {escaped(words)}" for words in s["not_covered"])
    yield ""
    yield "## Who answers for it?"
    yield ""
    if s["sign_off"]:
        yield from (f"- **{escaped(p['heading'])}**: {escaped(p['text'])}" for p in s["sign_off"])
    else:
        yield "No sign-off was given."
    yield ""
    yield "## How can it be checked?"
    yield ""
    yield f"- Mapping: {escaped(s['repeat']['mapping_file'] or 'not named')}"
    if s["repeat"]["mapping_sha256"]:
        yield f"- SHA-256 of the mapping: `{s['repeat']['mapping_sha256']}`"
    yield "- `evenhand verify proof.json`, or the script `verifier.py` alone, rechecks the proof in exact arithmetic."
    yield (
        "- `sha256sum -c SHA256SUMS` rechecks the files beside this one: "
        + ", ".join(f"`{name}`" for name in files)
        + "."
    )


def job_summary(s: Json, impact: Impact, outcome: str) -> str:
    """Return a short summary for the page of a job: what a signer asks, the certificate and the impact ratios."""
    return "\n".join(_job_summary(s, impact, outcome)) + "\n"


def _job_summary(s: Json, impact: Impact, outcome: str) -> Iterator[str]:
    c = s["certificate"]
    yield "# evenhand: evidence of a mapping"
    yield ""
    yield from table(("Question", "Answer"), ((part["question"], part["answer"]) for part in s["brief"]))
    yield (
        f"Certificate: **{escaped(c['status'])}**, utility loss {c['objective']:.7f}, largest violation "
        f"{c['max_violation']:.1e}."
    )
    yield ""
    yield f"Impact ratios of {escaped(f'{outcome}={impact.selected}')} by all protected columns together, no verdict:"
    yield ""
    yield from table(
        ("Category", Unit.of(weighed=impact.weighed).heading, "Before", "After"),
        (
            (x.category, f"{x.people:,.0f}", _ratio(x.ratio_before), _ratio(x.ratio_after))
            for x in impact.categories
            if x.by == impact.together
        ),
        3,
    )
    yield from _noted(impact)
    yield "Not covered, among others:"
    yield ""
    yield from (f"- {escaped(words)}" for words in s["not_covered"][:3])
