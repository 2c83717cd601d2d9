"""What models decide, before and after, which no bound covers: plain ones, and one that was fitted.

A plain model is the table of shares that everybody's features show, of the table as it is and of what is released: of
one file, else of the expanded table. It sees the protected columns or does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.findings.charts import left_out, tone_of
from evenhand.findings.discretion import Behind
from evenhand.findings.extent import foremost, groups_drawn
from evenhand.findings.models import EXPANDED, predicted_scores
from evenhand.findings.naming import short_name
from evenhand.findings.subject import Subject
from evenhand.kernel import unchanged
from evenhand.render.section import Chart, Column, Fact, Note, Section, Table
from evenhand.spec.distance import Difference, Ratio
from evenhand.tables import own_name

if TYPE_CHECKING:
    import pandas as pd

SIGHTS = {False: "not_seeing_protected", True: "seeing_protected"}
FITTED = "fitted"
MODELS = {
    FITTED: "decisions.fitted", "not_seeing_protected": "decisions.not_seeing_protected",
    "seeing_protected": "decisions.seeing_protected",
}  # fmt: skip
COLUMNS = (
    Column("model"), Column("group", "group"), Column("before", "rate"), Column("after", "rate"), Column("tone"),
)  # fmt: skip
SCORES = {
    "score_before": "score_before", "score": "score", "predicted": "predicted", "released": "released_rate",
    "decision_before": "decision_before", "decision": "decision",
}  # fmt: skip
"""The numbers of a fitted model, and what their columns are called."""


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
        every = Note("decisions.every_result") if self.learned_from == EXPANDED else None
        fields = {"model": model, "sight": _sight(self.sees_protected), "learned_from": self.learned_from}
        return Note("decisions.fitted_on", fields | {"every": every})

    def table(self, m: Subject) -> Table:
        """Return all of its rates."""
        size = m.counts.domain.y.size
        numbers = self.rates[[own_name(self.rates, m.problem.outcome), *SCORES]].itertuples(index=False, name=None)
        who = [each for each in zip(m.groups, self.people, strict=True) for _ in range(size)]
        columns = (Column("group", "group"), Column("outcome"), *(Column(name, "rate") for name in SCORES.values()))
        return Table(
            "fitted_model", columns, tuple((dict(group), *row) for (group, _), row in zip(who, numbers, strict=True)),
            tuple((group, Behind(float(people))) for group, people in who), {"learned_from": self.learned_from},
            implied=m.spared(m.counts.domain.outcome.levels[at % size] for at in range(len(who))),
            totals=(("outcome",),),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Decisions:
    """For which share of each group models decide the outcome that is told: a table of those who may be shown.

    ``learned_from`` is what plain models learn from that is released.
    """

    m: Subject
    table: Table
    learned_from: str
    fitted: Fitted | None

    @classmethod
    def of(cls, m: Subject, released: tuple[str, Counts] | None, fitted: Fitted | None) -> Decisions:
        """Work out what plain models decide, of a released file or of the expanded table, beside a fitted one."""
        learned_from, counts = (EXPANDED, None) if released is None else released
        found = {
            SIGHTS[sees]: [
                predicted_scores(m.problem, m.counts, kernel, protected=sees, decided=True, released=of)[:, m.told]
                for kernel, of in ((unchanged(m.counts), None), (m.kernel, counts))
            ]
            for sees in (False, True)
        }
        if fitted is not None:
            level = m.counts.domain.outcome.levels[m.told]
            told = fitted.rates[fitted.rates[own_name(fitted.rates, m.problem.outcome)] == level]
            found = {FITTED: [told["decision_before"].to_numpy(), told["decision"].to_numpy()], **found}
        people = m.counts.group_people if fitted is None else fitted.people
        rows, about = [], []
        for model, (before, after) in found.items():
            for group, heads, *rates in zip(m.groups, people, before, after, strict=True):
                was, now = map(float, rates)
                tone = tone_of(m.problem, m.counts, m.counts.domain.outcome.levels[m.told], now - was)
                rows.append((model, dict(group), was, now, tone))
                about.append((group, Behind(float(heads))) if model == FITTED else (group,))
        every = Table("decisions", COLUMNS, tuple(rows), tuple(about), totals=(("model",),))
        return cls(m, m.shown.passed_on(every), learned_from, fitted)

    @property
    def models(self) -> list[str]:
        """Those that decide for anybody who may be shown; a fitted one first."""
        return list(dict.fromkeys(self.table.values("model")))

    def spread(self, model: str) -> list[tuple[float, float]]:
        """Return the lowest and the highest share that a model decides for, before and after."""
        own = [row for row in self.table.records() if row["model"] == model]
        ends = ([row[when] for row in own] for when in ("before", "after"))
        return [(min(shares), max(shares)) for shares in ends]

    def section(self, predicted: Section) -> Section:
        """Return what models decide, and with what mean scores; ``predicted`` is what an audit says of the latter."""
        fitted = self.fitted
        asked = Note("decisions.no_table") if fitted is None else fitted.note
        facts = Fact("outcome", self.m.outcome, detail=True), Fact("learned_from", self.learned_from, detail=True)
        return Section(
            "decisions", facts=facts, charts=(self._chart(),), notes=(self.note, Note("decisions.not_bounded"), asked),
            tables=(self._apart(), *([] if fitted is None else [fitted.table(self.m)])), parts=(predicted,),
        )  # fmt: skip

    @property
    def note(self) -> Note:
        """How far apart the decisions of a model are: of one that was fitted, or else of a plain one."""
        if not self.models:
            return Note("decisions.too_few")
        fitted, plain = self.fitted, SIGHTS[False]
        first = FITTED if fitted is not None and FITTED in self.models else plain
        before, after = map(_range, self.spread(first))
        more = None
        if fitted is not None and plain in self.models and _decides(self.spread(plain)):
            more = Note("decisions.plain_too", {"learned_from": self.learned_from, "times": _times(self.spread(plain))})
        return Note("decisions.decides", {
            "which": Note("decisions.plain_one" if fitted is None else "decisions.fitted_one"), "more": more,
            "sight": self._sight, "outcome": self.m.outcome,
            "before": before, "after": after, "times": _times(self.spread(first)),
            "learned_from": self.learned_from if fitted is None else fitted.learned_from,
        })  # fmt: skip

    @property
    def _sight(self) -> Note:
        return _sight(self.fitted is not None and self.fitted.sees_protected)

    def _apart(self) -> Table:
        names = ("model", "when", "low", "high", "times", "points")
        rows = [
            (model, when, *ends, Ratio().said(*ends[::-1]), Difference().said(*ends[::-1]))
            for model in self.models
            for when, ends in zip(("before", "after"), self.spread(model), strict=True)
        ]
        return Table("apart", tuple(map(Column, names)), tuple(rows), most=0)

    def _chart(self) -> Chart:
        m, weight = self.m, zip(self.m.groups, self.m.counts.group_weight, self.m.shown.groups, strict=True)
        large = foremost({short_name(group): float(of) for group, of, shown in weight if shown}, groups_drawn(1))
        kept = [at for at, group in enumerate(self.table.values("group")) if short_name(group) in large]
        return Chart(
            "chart.decisions", "dots", self.table.kept(kept), ("group",), ("before", "after"), tone="tone",
            panel="model", notes=(*left_out(m.counts, len(large), "largest", m.shown.hide_below), *self._between()),
            fields={
                "outcome": m.outcome, "learned_from": self.learned_from,
                "sight": self._sight,
            },
        )  # fmt: skip

    def _between(self) -> Iterator[Note]:
        for model in self.models:
            (low, high), (low_after, high_after) = self.spread(model)
            yield Note("decisions.between", {
                "which": Note(MODELS[model], {"sight": self._sight}),
                "before": [Ratio().said(high, low), Difference().said(high, low)],
                "after": [Ratio().said(high_after, low_after), Difference().said(high_after, low_after)],
            })  # fmt: skip


def _sight(sees: bool) -> Note:
    return Note("decisions.with" if sees else "decisions.without")


def _decides(spread: list[tuple[float, float]]) -> bool:
    """Whether the outcome is decided for anybody."""
    return any(high for _, high in spread)


def _times(spread: list[tuple[float, float]]) -> Note | None:
    """Return how far apart decisions are as factors, before and after; None where nothing is decided for anybody."""
    before, after = (Ratio().said(high, low) for low, high in spread)
    return Note("decisions.times", {"before": before, "after": after}) if _decides(spread) else None


def _range(ends: tuple[float, float]) -> Note:
    """Return for which shares of the groups something is decided."""
    low, high = (round(end, 3) for end in ends)
    if low != high:
        return Note("decisions.range", {"low": low, "high": high})
    return Note({1.0: "decisions.everybody", 0.0: "decisions.nobody"}.get(low, "decisions.all_alike"), {"share": low})
