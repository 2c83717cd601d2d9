"""What models decide, before and after, which no bound covers: a plain one, and one that was fitted.

The plain model is the table of shares that everybody's features show, of the table as it is and of what is released: of
one file, else of the expanded table. It sees the protected columns or does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.findings.charts import left_out, tone_of
from evenhand.findings.discretion import Behind
from evenhand.findings.extent import foremost, groups_drawn
from evenhand.findings.models import EXPANDED, predicted_scores
from evenhand.findings.naming import short_name
from evenhand.findings.subject import Subject
from evenhand.kernel import Kernel, unchanged
from evenhand.render.section import Chart, Column, Fact, Note, Section, Table
from evenhand.spec.distance import Difference, Ratio
from evenhand.tables import own_name

if TYPE_CHECKING:
    import pandas as pd

FITTED = "fitted"

SIGHTS = {False: "not_seeing_protected", True: "seeing_protected"}


@dataclass(frozen=True)
class Spread:
    """The lowest and the highest of some rates."""

    low: float
    high: float

    @classmethod
    def of(cls, rates: Numbers) -> Spread | None:
        """Return them; None of no rates.

        Examples
        --------
        >>> found = Spread.of(np.array([0.2, 0.5]))
        >>> found.times, found.points
        ('2.5 times', '30.0 points')
        """
        return cls(float(rates.min()), float(rates.max())) if len(rates) else None

    @property
    def times(self) -> str:
        """How far apart they are, as a factor."""
        return Ratio().said(self.high, self.low)

    @property
    def points(self) -> str:
        """The same as a difference."""
        return Difference().said(self.high, self.low)

    @property
    def note(self) -> Note:
        """For which shares of the groups something is decided."""
        if round(self.low, 3) != round(self.high, 3):
            return Note("decisions.range", {"low": self.low, "high": self.high})
        key = {1.0: "decisions.everybody", 0.0: "decisions.nobody"}.get(round(self.low, 3), "decisions.all_alike")
        return Note(key, {"share": self.low})


@dataclass(frozen=True, eq=False)
class Decided:
    """What one model decides: for which share of each group the outcome that is told is the likeliest.

    Attributes
    ----------
    model : str
        ``fitted``, or what a plain one sees.
    sees_protected : bool
        Whether it sees the protected columns.
    before, after : array
        By group, learning from the table as it is and from what is released.
    shown : array of bool
        Which groups are shown.
    """

    model: str
    sees_protected: bool
    before: Numbers
    after: Numbers
    shown: Any

    @property
    def apart(self) -> tuple[Spread, Spread] | None:
        """How far apart the groups are that are shown, before and after; None where none is."""
        spreads = Spread.of(self.before[self.shown]), Spread.of(self.after[self.shown])
        return None if spreads[0] is None or spreads[1] is None else (spreads[0], spreads[1])

    @property
    def times(self) -> Note | None:
        """The same as a note, unless nothing is decided for anybody."""
        if self.apart is None or not (self.apart[0].high or self.apart[1].high):
            return None
        return Note("decisions.times", {"before": self.apart[0].times, "after": self.apart[1].times})


@dataclass(frozen=True, eq=False)
class Fitted:
    """The rates of a model that was fitted on a table as it is, and on what is released of it.

    Attributes
    ----------
    rates : pandas.DataFrame
        By group and outcome: the ``released`` rate, the ``predicted`` score, the mean ``score`` and the ``decision``,
        and of the model of the table as it is ``score_before`` and ``decision_before``.
    people : array
        How many people of that table each fitted group has.
    name : str or None
        The class of the model; None of a table of shares.
    sees_protected : bool
        Whether it sees the protected columns.
    learned_from : str
        What is released of the table.
    """

    rates: pd.DataFrame
    people: Numbers
    name: str | None
    sees_protected: bool
    learned_from: str

    @property
    def note(self) -> Note:
        """What it learned from, and whom it scores."""
        model = Note("decisions.shares" if self.name is None else "decisions.model", {"name": self.name})
        sight = Note("decisions.with" if self.sees_protected else "decisions.without")
        every = Note("decisions.every_result") if self.learned_from == EXPANDED else None
        return Note(
            "decisions.fitted_on",
            {"model": model, "sight": sight, "learned_from": self.learned_from, "every": every},
        )

    def decided(self, m: Subject) -> Decided:
        """Return what it decides."""
        told = self.rates[self.rates[own_name(self.rates, m.problem.outcome)] == m.counts.domain.outcome.levels[m.told]]
        shown = m.shown.groups_of(self.people)
        before, after = (told[name].to_numpy(dtype=float) for name in ("decision_before", "decision"))
        return Decided(FITTED, self.sees_protected, before, after, shown)

    def table(self, m: Subject) -> Table:
        """Return all of its rates."""
        outcome = own_name(self.rates, m.problem.outcome)
        names = ("score_before", "score", "predicted", "released", "decision_before", "decision")
        numbers = zip(self.rates[outcome], *(self.rates[name] for name in names), strict=True)
        groups = [(group, people) for group, people in zip(m.groups, self.people, strict=True)]
        who = [each for each in groups for _ in range(m.counts.domain.y.size)]
        columns = (Column("group", "group"), Column("outcome"), *(Column(name, "rate") for name in names))
        rows = tuple((dict(group), *row) for (group, _), row in zip(who, numbers, strict=True))
        drawn = m.counts.domain.shown_outcomes
        return Table(
            "fitted_model", columns, rows, tuple((group, Behind(float(people))) for group, people in who),
            {"learned_from": self.learned_from}, totals=(("outcome",),),
            implied=frozenset(at for at in range(len(rows)) if at % m.counts.domain.y.size not in drawn),
        )  # fmt: skip


def plain_models(m: Subject, released: Counts | None = None) -> tuple[Decided, ...]:
    """Return what plain models decide that do not see the protected columns, and that do."""

    def decided(kernel: Kernel, of: Counts | None, *, sees: bool) -> Numbers:
        found = predicted_scores(m.problem, m.counts, kernel, protected=sees, decided=True, released=of)
        return np.asarray(found[:, m.told])

    return tuple(
        Decided(
            name, sees, decided(unchanged(m.counts), None, sees=sees), decided(m.kernel, released, sees=sees),
            m.shown.groups,
        )
        for sees, name in SIGHTS.items()
    )  # fmt: skip


def decisions(
    m: Subject, models: Sequence[Decided], learned_from: str, fitted: Fitted | None, predicted: Section
) -> Section:
    """Return what models decide, and with what mean scores; ``predicted`` is what an audit says of the latter."""
    own = [] if fitted is None else [fitted.note]
    asked = [] if fitted is not None else [Note("decisions.no_table")]
    return Section(
        "decisions",
        facts=(Fact("outcome", m.outcome, detail=True), Fact("learned_from", learned_from, detail=True)),
        charts=(_chart(m, models, learned_from),),
        tables=(_table(m, models), _apart(models), *([] if fitted is None else [fitted.table(m)])),
        notes=(decided_note(m, models, learned_from, fitted), Note("decisions.not_bounded"), *own, *asked),
        parts=(predicted,),
    )


def decided_note(m: Subject, models: Sequence[Decided], learned_from: str, fitted: Fitted | None) -> Note:
    """Return how far apart the decisions of a model are: of one that was fitted, or else of a plain one."""
    plain = next(each for each in models if each.model == SIGHTS[False])
    first = models[0]
    if first.apart is None:
        return Note("decisions.too_few")
    before, after = (each.note for each in first.apart)
    fields: dict[str, Any] = {
        "outcome": m.outcome, "before": before, "after": after, "times": None, "learned_from": learned_from,
        "sight": Note("decisions.with" if first.sees_protected else "decisions.without"),
        "which": Note("decisions.plain_one" if fitted is None else "decisions.fitted_one"), "more": None,
    }  # fmt: skip
    if (times := first.times) is not None:
        fields["times"] = Note("decisions.which_is", {"times": times})
    if fitted is not None and plain.times is not None:
        fields["learned_from"] = fitted.learned_from
        fields["more"] = Note("decisions.plain_too", {"learned_from": learned_from, "times": plain.times})
    return Note("decisions.decides", fields)


def _table(m: Subject, models: Sequence[Decided]) -> Table:
    """Return the shares of each group for whom the outcome is decided, by model; charts show them."""
    plain = [each for each in models if each.model != FITTED]
    columns = [Column("group", "group")]
    columns += [Column(f"{each.model}_{when}", "rate") for each in plain for when in ("before", "after")]
    rows = tuple(
        (dict(group), *(float(of[at]) for each in plain for of in (each.before, each.after)))
        for at, group in enumerate(m.groups)
    )
    return Table("decided", tuple(columns), rows, tuple((group,) for group in m.groups), most=0)


def _apart(models: Sequence[Decided]) -> Table:
    """Return how far apart the decisions of each model are."""
    columns = (
        Column("model"), Column("when"), Column("low", "rate"), Column("high", "rate"), Column("times"),
        Column("points"),
    )  # fmt: skip
    rows = tuple(
        (each.model, when, spread.low, spread.high, spread.times, spread.points)
        for each in models
        if each.apart is not None
        for when, spread in zip(("before", "after"), each.apart, strict=True)
    )
    return Table("apart", columns, rows, most=0)


def _chart(m: Subject, models: Sequence[Decided], learned_from: str) -> Chart:
    shown = zip(m.groups, m.counts.group_weight, m.shown.groups, strict=True)
    large = foremost({short_name(group): float(weight) for group, weight, some in shown if some}, groups_drawn(1))
    level = m.counts.domain.outcome.levels[m.told]
    rows: list[tuple[Any, ...]] = []
    notes = left_out(m.counts, len(large), "largest", m.shown.hide_below)
    for each in models:
        name = each.model if each.model != FITTED else f"fitted_{SIGHTS[each.sees_protected]}"
        for group, some, *rates in zip(m.groups, each.shown, each.before, each.after, strict=True):
            if some and short_name(group) in large:
                before, after = map(float, rates)
                rows.append((name, dict(group), before, after, tone_of(m.problem, m.counts, level, after - before)))
        if each.apart is not None:
            said = [f"{spread.times}, {spread.points}" for spread in each.apart]
            notes.append(
                Note("decisions.between", {"which": Note(f"decisions.{name}"), "before": said[0], "after": said[1]})
            )
    columns = (
        Column("model"), Column("group", "group"), Column("before", "rate"), Column("after", "rate"), Column("tone"),
    )  # fmt: skip
    return Chart(
        "chart.decisions", "dots", Table("decisions", columns, tuple(rows)), ("group",), ("before", "after"),
        tone="tone", panel="model", notes=tuple(notes), fields={"outcome": m.outcome, "learned_from": learned_from},
    )  # fmt: skip
