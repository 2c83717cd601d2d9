"""The charts of a page, as places on a line in percent: a browser draws them at any width, with text as text.

Reads the summary alone. Colours say better and worse for a person, wherever it is known which outcome is good, and
signs say the same again; where it is not known nothing has either. What is too much to show is cut, and that is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.findings.discretion import not_shown
from evenhand.findings.document import Json
from evenhand.findings.naming import short_name
from evenhand.render.numbers import people as expected_people
from evenhand.report.brief import outcome_name
from evenhand.report.extent import foremost, groups_drawn
from evenhand.tolerances import AT_BOUND, ROUNDING

TICKS = 5
"""About how many numbers stand along an axis, so that they do not meet on a phone."""

STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
"""The distances between them, in shares."""

STILL = 5e-4
"""A rate that moves by less is written as the same."""

MOST_FLOWS = 14
MOST_LEVELS = 40

LETTER = 2.8
"""How wide a letter below an axis is on a phone, in percent of the axis; letters that would meet stand together."""

SIGNS = {"better": "▲", "worse": "▼", "still": "=", "plain": ""}


@dataclass(frozen=True)
class Axis:
    """A line from a lowest to a highest value, with the places in percent and the words of its ticks."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def at(self, value: float) -> float:
        """Return where a value is, in percent; what is beyond an end is at it."""
        span = (self.high - self.low) or 1.0
        return round(100 * min(1.0, max(0.0, (value - self.low) / span)), 3)


def shares_axis(values: Iterable[float]) -> Axis:
    """Return an axis of shares from zero on, as far as the values go.

    Examples
    --------
    >>> axis = shares_axis([0.12, 0.4])
    >>> axis.high, axis.at(0.2), [label for _, label in axis.ticks]
    (0.4, 50.0, ['0%', '10%', '20%', '30%', '40%'])
    """
    top = max(values, default=1.0) or STEPS[0]
    step = next((step for step in STEPS if top / step <= TICKS), STEPS[-1])
    high = min(1.0, math.ceil(round(top / step, 9)) * step)
    axis = Axis(0.0, high, ())
    marks = [step * i for i in range(round(high / step) + 1)]
    return Axis(0.0, high, tuple((axis.at(mark), f"{100 * mark:.0f}%") for mark in marks))


@dataclass(frozen=True)
class Rows:
    """Rows of a chart, one below the other."""

    title: str
    note: str
    rows: tuple[Pair, ...] | tuple[Bar, ...]

    @property
    def described(self) -> str:
        """What it shows, for those who cannot see it."""
        return f"{self.title}. {'; '.join(f'{row.label}: {row.value}' for row in self.rows)}."


@dataclass(frozen=True)
class Pair:
    """A rate before and after: where both are, the interval after, whether it moved for better or worse, and words."""

    label: str
    people: str
    before: float
    after: float
    interval: tuple[float, float] | None
    tone: str
    value: str

    @property
    def line(self) -> tuple[float, float]:
        """Where the line between both begins, and how long it is."""
        return min(self.before, self.after), round(abs(self.after - self.before), 3)


@dataclass(frozen=True)
class Pairs(Rows):
    """Rates before and after, on one axis; ``band`` is where the rates after must lie."""

    rows: tuple[Pair, ...]
    axis: Axis
    band: tuple[float, float] | None = None

    @property
    def toned(self) -> bool:
        """Whether any row moved for better or worse, so that the key must say which is which."""
        return any(row.tone in ("better", "worse") for row in self.rows)


@dataclass(frozen=True)
class Bar:
    """A number as the length of a bar, in percent; ``inner`` bars are parts of it that stand below."""

    label: str
    length: float
    tone: str
    value: str
    inner: tuple[Bar, ...] = ()


@dataclass(frozen=True)
class Bars(Rows):
    rows: tuple[Bar, ...]


@dataclass(frozen=True)
class Panel:
    """One curve above the axis that all panels share, from the top in percent, with the ends of its own axis."""

    title: str
    points: str
    dots: tuple[tuple[float, float, str], ...]
    here: tuple[float, float] | None
    extent: str


@dataclass(frozen=True)
class Curves:
    """Panels along one bound: the marks are letters on the axis, whose meaning is told beside it."""

    title: str
    note: str
    panels: tuple[Panel, ...]
    marks: tuple[tuple[float, str], ...]
    meanings: tuple[tuple[str, str], ...]
    infeasible: float

    @property
    def described(self) -> str:
        """What it shows, for those who cannot see it."""
        return f"{self.title}. {'; '.join(f'{letter}: {words}' for letter, words in self.meanings)}."


def tone_of(before: float, after: float, rising: bool | None) -> str:
    """Say whether a rate moved for the better, where it is known whether a higher one is (``rising``).

    Examples
    --------
    >>> tone_of(0.2, 0.3, True), tone_of(0.2, 0.3, False), tone_of(0.2, 0.3, None), tone_of(0.2, 0.2001, True)
    ('better', 'worse', 'plain', 'still')
    """
    if abs(after - before) < STILL:
        return "still"
    return "plain" if rising is None else "better" if (after > before) == rising else "worse"


def moved(before: float, after: float, tone: str) -> str:
    """Write a rate before and after, with the points between and a sign for better or worse."""
    if tone == "still":
        return f"{100 * after:.1f}%, as before"
    change = f"{100 * (after - before):+.1f}".replace("-", "−")
    return f"{100 * before:.1f}% → {100 * after:.1f}% ({SIGNS[tone]}{' ' * bool(SIGNS[tone])}{change})"


def drawn(s: Json) -> dict[str, Any]:
    """Return every chart of a page by its name; None, or none, where there is nothing to show."""
    return {
        "rates": rates(s),
        "levels": levels(s),
        "flows": flows(s),
        "gains": gains(s),
        "decisions": decisions(s),
        "frontier": frontier(s),
    }


def good_outcome(s: Json) -> Any:
    """Return the outcome that is good for a person; None where nobody said so."""
    return None if s["ledger"] is None else s["ledger"]["favourable"]


def told_outcomes(s: Json) -> list[Any]:
    """Return the outcomes whose rates are shown: of two the one that is told, for the other follows from it."""
    shown = s["rates"]["shown"]
    return [s["rates"]["told"]] if len(shown) == 1 else list(shown)


def largest_groups(s: Json, outcomes: int) -> tuple[set[str], str]:
    """Return the groups that are drawn, and say of how many these are where some are left out."""
    people = {short_name(row["group"]): row["weight"] for row in s["changes"]["groups"]}
    kept = foremost(people, groups_drawn(outcomes))
    total = s["table"]["groups"]
    said = f"The {len(kept)} largest of {total} groups. " if len(kept) < len(people) else ""
    few = s["small_cells"]["groups_hidden"]
    if few:
        hidden = not_shown(few, total, "groups", s["small_cells"]["hide_below"])
        said += f"{hidden}; the bounds hold for them too. "
    return kept, said


def rates(s: Json) -> list[Pairs]:
    """Draw each group's rate before and after, one chart per outcome: of two outcomes the one that is told."""
    name, good = outcome_name(s), good_outcome(s)
    outcomes = told_outcomes(s)
    kept, said = largest_groups(s, len(outcomes))
    every = [row for row in s["rates"]["rows"] if row["outcome"] in outcomes and short_name(row["group"]) in kept]
    axis = shares_axis(row[field] for row in every for field in ("before", "after", "after_high"))
    charts = []
    for outcome in outcomes:
        own = [row for row in every if row["outcome"] == outcome]
        if not own:
            continue
        band, low, high = None, own[0]["permitted_low"], own[0]["permitted_high"]
        if low is not None and high is not None:
            band = axis.at(low), round(axis.at(high) - axis.at(low), 3)
        rising = None if good is None else outcome == good
        # Of several outcomes that are not the good one none is known to be bad by itself.
        rising = None if rising is False and len(outcomes) > 1 else rising
        better = " A higher rate is better for people." if rising else ""
        better = " A lower rate is better for people." if rising is False else better
        shaded = " Shaded: where the rates after must lie." if band else ""
        charts.append(
            Pairs(
                f"Rate of {name}={outcome} by group, before and after",
                f"{said}The line is the {s['rates']['confidence']:.0%} interval after.{shaded}{better}",
                tuple(_rate(axis, row, rising) for row in own), axis, band,
            )
        )  # fmt: skip
    return charts


def _rate(axis: Axis, row: Json, rising: bool | None) -> Pair:
    tone = tone_of(row["before"], row["after"], rising)
    return Pair(
        short_name(row["group"]), f"{row['weight']:,.0f}", axis.at(row["before"]), axis.at(row["after"]),
        (axis.at(row["after_low"]), round(axis.at(row["after_high"]) - axis.at(row["after_low"]), 3)), tone,
        moved(row["before"], row["after"], tone),
    )  # fmt: skip


def _plain_pairs(title: str, note: str, rows: Sequence[tuple[str, str, float, float]], rising: bool | None) -> Pairs:
    axis = shares_axis(value for _, _, before, after in rows for value in (before, after))
    pairs = []
    for label, people, before, after in rows:
        tone = tone_of(before, after, rising)
        pairs.append(Pair(label, people, axis.at(before), axis.at(after), None, tone, moved(before, after, tone)))
    return Pairs(title, note, tuple(pairs), axis)


def decisions(s: Json) -> list[Pairs]:
    """Draw what models decide by group, before and after: a model that was fitted first, then the plain ones."""
    found, fitted, charts = s["decisions"], s["models"]["fitted"], []
    rising = None if good_outcome(s) is None else True
    kept, said = largest_groups(s, 1)
    people = {short_name(row["group"]): f"{row['weight']:,.0f}" for row in s["changes"]["groups"]}

    def chart(title: str, note: str, rows: list[Json], before: str, after: str) -> None:
        listed = [
            (short_name(row["group"]), people[short_name(row["group"])], row[before], row[after])
            for row in rows
            if short_name(row["group"]) in kept
        ]
        if listed:
            charts.append(_plain_pairs(title, f"{said}{note}", listed, rising))

    if fitted is not None:
        told = [row for row in fitted["rows"] if row["outcome"] == s["rates"]["told"]]
        sight = "sees" if fitted["sees_protected"] else "does not see"
        title = f"Decided {found['outcome']} by the model fitted here, which {sight} the protected columns"
        chart(title, _apart_words(fitted["apart"]), told, "decision_before", "decision")
    for name, sight in (("not_seeing_protected", "does not see"), ("seeing_protected", "sees")):
        title = f"Decided {found['outcome']} by a plain model that {sight} the protected columns"
        note = f"After learning from {found['learned_from']}. {_apart_words(found['apart'][name])}"
        chart(title, note, found["rows"], f"{name}_before", f"{name}_after")
    return charts


def _apart_words(apart: Json) -> str:
    before, after = apart["before"], apart["after"]
    if before is None or after is None:
        return ""
    return (
        f"Between the groups shown: {before['times']} → {after['times']}, {before['points']} → {after['points']}. "
        f"Not bounded."
    )


def levels(s: Json) -> Pairs | None:
    """Draw the rate of the outcome that is told among the people of each level, feature by feature, in their order."""
    rows = s["by_level"]["rows"]
    if not rows:
        return None
    cut = f" The first {MOST_LEVELS} of {len(rows)} levels." if len(rows) > MOST_LEVELS else ""
    listed = [
        (f"{row['column']}: {row['level']}", f"{row['people']:,.0f}", row["before"], row["after"])
        for row in rows[:MOST_LEVELS]
    ]
    note = f"The same people before and after. Rates of levels are not bounded.{cut}"
    rising = None if good_outcome(s) is None else True
    return _plain_pairs(f"Rate of {s['by_level']['outcome']} by level of each feature", note, listed, rising)


def flows(s: Json) -> Bars | None:
    """Draw who becomes what: only what changes, the commonest first; moves of the outcome by group as well."""
    changes, outcome = s["changes"], outcome_name(s)
    moves = [row for row in changes["columns"] if not (changes["suppressed"] and row["column"] == outcome)]
    if not moves:
        return None
    every, top = len(moves), max(row["people"] for row in moves)
    whole = [row for row in moves if row["people"] >= 1]
    # Changes of less than a person would be a long tail of nothing.
    moves = (whole or moves)[:MOST_FLOWS]
    kept, _ = largest_groups(s, 1)
    rows = []
    for move in moves:
        tone, inner = move["way"] or "plain", []
        if move["column"] == outcome:
            same = [
                row for row in changes["by_group"]
                if all(row[name] == move[name] for name in ("column", "from", "to")) and row["group"] in kept
            ]  # fmt: skip
            inner = [
                Bar(row["group"], round(100 * row["people"] / top, 3), tone,
                    f"{expected_people(row['people'])} of {row['had']:,.0f} ({100 * row['probability']:.1f}%)")
                for row in sorted(same, key=lambda row: -row["people"])
            ]  # fmt: skip
        sign = f"{SIGNS[tone]} " if SIGNS[tone] else ""
        rows.append(
            Bar(
                f"{move['column']}: {move['from']} → {move['to']}", round(100 * move["people"] / top, 3), tone,
                f"{sign}{expected_people(move['people'])} ({100 * move['share']:.2f}% of all)", tuple(inner),
            )
        )  # fmt: skip
    cut = f" The {len(moves)} commonest of {every} changes." if len(moves) < every else ""
    return Bars(
        "Who becomes what", f"How many people are expected to change so; what stays is left out.{cut}", tuple(rows)
    )


def gains(s: Json) -> Bars | None:
    """Draw which share of each group is helped and which is harmed."""
    if s["ledger"] is None:
        return None
    kept, said = largest_groups(s, 1)
    rows = [row for row in s["ledger"]["rows"] if short_name(row["group"]) in kept]
    shares = {
        tone: [row[name] / row["weight"] for row in rows] for tone, name in (("better", "helped"), ("worse", "harmed"))
    }
    top = max((share for part in shares.values() for share in part), default=0.0)
    if not top:
        return None
    bars = []
    for at, row in enumerate(rows):
        words = {"better": ("helped", "better off"), "worse": ("harmed", "worse off")}
        told = [tone for tone in words if shares[tone][at] > 0]
        if not told:
            bars.append(Bar(short_name(row["group"]), 0.0, "plain", f"nobody of {row['weight']:,.0f}"))
        for tone in told:
            name, word = words[tone]
            value = (
                f"{SIGNS[tone]} {expected_people(row[name])} of {row['weight']:,.0f} ({100 * shares[tone][at]:.1f}%)"
            )
            length = round(100 * shares[tone][at] / top, 3)
            bars.append(Bar(f"{short_name(row['group'])}: {word}", length, tone, value))
    return Bars("Better and worse off, by group", f"{said}Of each group's people, in expectation.", tuple(bars))


def frontier(s: Json) -> Curves | None:
    """Draw what is lost, and how many people change, along the bound: from its smallest edge to where nobody need."""
    found = s["frontier"]
    chosen = found["chosen"]
    known = [row for row in found["points"] if isinstance(row["objective"], int | float)]
    if chosen is None or len(known) < 2:
        return None
    column = "bound" if "bound" in chosen else "bound_factor"
    edges = found["edges"] or {}
    low, high = min(row[column] for row in known), max(row[column] for row in known)
    unchanged = edges.get("identity_from")
    if isinstance(unchanged, int | float):
        # Beyond where nobody need change there is nothing to see.
        high = max(unchanged, chosen[column])
        known = [row for row in known if row[column] <= high + AT_BOUND]
    smallest = edges.get("smallest_feasible")
    from_zero = isinstance(smallest, int | float) and smallest > STILL
    axis = Axis(0.0 if from_zero else low, high, ())
    marks, meanings = _marks(axis, column, found)
    panels = [_panel("Utility lost", known, chosen, axis, column, "objective", lambda value: f"{value:.3g}")]
    if any(isinstance(row.get("changed"), int | float) for row in known):
        people = s["changes"]["people"]
        panels.append(
            _panel(
                "People changed", known, chosen, axis, column, "changed",
                lambda value: f"{100 * value:.1f}% ({expected_people(value * people)})",
            )
        )  # fmt: skip
    return Curves(
        "What other bounds would cost", f"Along {ALONG[column]}, everything else held as it is.", tuple(panels), marks,
        meanings, axis.at(smallest) if from_zero and smallest is not None else 0.0,
    )  # fmt: skip


def _panel(
    title: str, rows: Sequence[Json], chosen: Json, axis: Axis, column: str, field: str, words: Callable[[float], str]
) -> Panel:
    there = [row for row in rows if isinstance(row.get(field), int | float)]
    top = max(row[field] for row in there)
    # What rounding leaves is nothing.
    none = top <= ROUNDING

    def height(value: float) -> float:
        return 100.0 if none else round(100 * (1 - value / top), 3)

    dots = tuple((axis.at(row[column]), height(row[field]), f"{row['said']}: {words(row[field])}") for row in there)
    own = chosen.get(field)
    here = (axis.at(chosen[column]), height(own)) if isinstance(own, int | float) else None
    points = " ".join(f"{x},{y}" for x, y, _ in dots)
    return Panel(title, points, dots, here, "none anywhere" if none else f"{words(0.0)} to {words(top)}")


ALONG = {"bound": "the parity bound", "bound_factor": "the parity bounds, all multiplied alike"}


def _beside(value: float, said: str, chosen: Json, column: str) -> str:
    """Tell a bound from the chosen one where both are written alike."""
    if said != chosen["said"] or abs(value - chosen[column]) <= AT_BOUND:
        return ""
    return f", a little {'tighter' if value < chosen[column] else 'looser'} than this mapping’s"


def _marks(axis: Axis, column: str, found: Json) -> tuple[Any, Any]:
    """Return letters along the axis, those that would meet as one, and what each means."""
    edges, said, chosen = found["edges"] or {}, found["edges_said"] or {}, found["chosen"]
    told = {
        "smallest_feasible": "the smallest bound that can be met",
        "lossless_from": "from here on nothing is lost",
        "identity_from": "from here on nobody need change",
    }
    places = [
        (edges[name], f"{words}: {said[name]}{_beside(edges[name], said[name], chosen, column)}")
        for name, words in told.items()
        if isinstance(edges.get(name), int | float)
    ]
    places.append((chosen[column], f"this mapping: {chosen['said']}"))
    letters: list[tuple[float, str]] = []
    meanings = []
    # Edges that rounding tells apart stay in the order in which they are told.
    for number, (value, words) in enumerate(sorted(places, key=lambda place: round(place[0], 6))):
        letter, at = chr(ord("A") + number), axis.at(value)
        meanings.append((letter, words))
        if letters and at - letters[-1][0] < LETTER * (len(letters[-1][1]) + 2) / 2:
            letters[-1] = (letters[-1][0], f"{letters[-1][1]} {letter}")
        else:
            letters.append((at, letter))
    return tuple(letters), tuple(meanings)
