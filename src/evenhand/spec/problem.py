"""The whole statement of a problem: frozen, validated when built, and the same in TOML."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from evenhand import check, records
from evenhand.data.domain import Value, same_level
from evenhand.data.weighting import FREQUENCIES, WEIGHTS, Weighting
from evenhand.errors import Made, Setting, SpecError, did_you_mean
from evenhand.records import Nothing
from evenhand.render.finding import Finding
from evenhand.render.section import Section
from evenhand.spec import toml
from evenhand.spec.bins import Binning
from evenhand.spec.budget import Budget, Charge
from evenhand.spec.by import By, each
from evenhand.spec.cells import Learned
from evenhand.spec.conditional import Conditional
from evenhand.spec.csv_format import CsvFormat
from evenhand.spec.distortion import Distortion, Fixed
from evenhand.spec.forbidden import Forbidden
from evenhand.spec.parity import Parity
from evenhand.spec.suppression import STRATEGIES, Suppression
from evenhand.spec.utility import KL, Utility

WITHIN_PROTECTED = (
    " To compare groups within a protected column, bound those pairs alone: a bound of inf, with a case for each pair."
)

LEAST_CONFIDENCE = 0.5
"""What a fit without margins has: bounds that bite hold in the population for about half of all samples."""

Targets = Literal["observed", "all"]
TieBreak = Annotated[Literal["least_change", "even"] | None, Nothing("none")]
Suppress = Annotated[Literal[True, "fixed", "alternating"] | None, Nothing("no")]
Missing = Literal["error", "level"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Problem(Finding):
    """What to bound, for whom, and what to keep.

    Parameters
    ----------
    protected : sequence of str
        The columns D. They are read, never changed.
    features : sequence of str
        The columns X.
    outcome : str
        The column Y, of two or more values.
    weights : str, optional
        A column of survey weights: a row is one person, who counts more or less.
    frequencies : str, optional
        The column of a table of counts that says for how many people a row stands.
    favourable : level of the outcome, optional
        The outcome that is good for a person, where one is. It changes no mapping: the audit then says who is helped
        and who is harmed. Every :class:`FourFifths` must name the same.
    distortion : Distortion
        What each change costs; the outcome needs a rule, a feature without one is fixed.
    parity : PairwiseParity or TargetParity, or a sequence of them
        The bounds on the outcome's dependence on D. All of them hold at once.
    budget : ExpectedDistortion, ExcessDistortion or a sequence of them, optional
        The bounds on each individual's distortion. None leaves only the forbidden moves.
    utility : Utility
        The measure Δ that is minimised.
    targets : {"observed", "all"}
        Which feature combinations x̂ may be released: those that somebody in the table has, or every
        combination of levels.
    tie_break : {"least_change", "even", None}
        Which of the equally useful mappings to choose: the one of least expected distortion and then least
        change, the one that spreads the expected distortion most evenly, or whatever the solver finds.
    suppress_protected : {None, True, "fixed", "alternating"}
        For models that may not see D (section 3.2.2). True, where no feature can change: the parity bounds hold for the
        table's own rates and for the mean scores of a model without D (eq. 9), given estimated propensities. Elsewhere
        True is ``"fixed"``: P(x̂, ŷ | d, x, y) = p(ŷ|x̂) P(x̂ | d, x, y), so that the released outcome depends on the
        released features alone, with p(ŷ|x̂) held at the table's own p(y|x), or at ``conditional``;
        ``"alternating"`` improves it and the mapping in turns, to a local optimum.
    conditional : Conditional, dataframe or fitted classifier, optional
        With ``suppress_protected="fixed"``: the class probabilities p(ŷ|x̂) of a model that exists already. The mapping
        then bounds that model's mean score on the released features, and the utility is taken on the features alone.
        A classifier is asked once, at fit, for every combination of features in the table.
    blind : bool
        Whether the mapping must be the same for every group, for people whose D is unknown when it is applied.
    bins : mapping of column name to Edges, Quantiles, ChosenBins, MergedLevels or PooledLevels
        How the values of a column become levels. A column of real numbers needs bins; any other has its distinct values
        as levels unless it is named here.
    missing : {"error", "level"}
        What a missing value in a protected column or a feature is: an error, or a level of its own, called
        ``"(missing)"``, which stays as it is unless a rule names it. A missing outcome is an error.
    missing_values : sequence, optional
        Values that stand for a missing one, such as ``"?"``.
    cells : Leaves or ScoreLevels, optional
        Cells that are learned over the features, which then may be any columns as they are: numbers, words, truths,
        dates, with missing values. Outcomes may change; features stay. Columns that a parity bound is ``given`` keep
        their own levels: no cell has people of two of them.
    forbidden : sequence of Forbidden, or of mappings with ``when`` and ``then``, optional
        Released records that make no sense, by levels, such as
        ``[{"when": {"age": "under 18"}, "then": {"income": "high"}}]``. Nobody becomes one who is not one already; who
        is may stay one. With learned cells, the features that they name keep their own levels.
    csv : CsvFormat, optional
        How the CSV files of this problem are written, where it is not with commas and a header.
    confidence : float, optional
        Such as 0.95: the parity bounds are to hold, all at once, among the people of whom the table is a random sample,
        and not only in the table. Every bound is then kept with a margin; ``mapping.assurance`` tells them, and what
        exactly is promised. Covered are bounds on each outcome's rates in the whole table, by the distances that have a
        name. From 0.5 on; None bounds the table as it is.

    Examples
    --------
    >>> from evenhand.spec import ExpectedDistortion, Ordinal, PairwiseParity
    >>> problem = Problem(
    ...     protected=["sex"], features=["age"], outcome="hired",
    ...     parity=[PairwiseParity(0.1)],
    ...     distortion=Distortion({"age": Ordinal(step=1, max_steps=1), "hired": Ordinal(step=1)}),
    ...     budget=ExpectedDistortion(0.5),
    ... )
    >>> Problem.from_toml(problem.to_toml()) == problem
    True

    For readers who may not see the protected column, and for people whose group is unknown:

    >>> from dataclasses import replace
    >>> replace(problem, suppress_protected="fixed").suppress_protected
    'fixed'
    >>> replace(problem, blind=True).blind
    True

    Which outcome is good for a person is a level of it, in its own type:

    >>> replace(problem, favourable=1).to_toml().splitlines()[6:8]
    ['outcome = "hired"', 'favourable = 1']
    """

    protected: check.Columns
    features: check.Columns
    outcome: check.Column
    weights: check.Column | None = None
    frequencies: check.Column | None = None
    favourable: Value | None = None
    distortion: Distortion
    parity: Sequence[Parity] = ()
    budget: Budget | Sequence[Budget] | None = None
    utility: Utility = field(default_factory=KL)
    targets: Targets = "observed"
    tie_break: TieBreak = "least_change"
    suppress_protected: Suppress = None
    conditional: Conditional | Any = None
    blind: bool = False
    bins: Mapping[check.Column, Binning] = field(default_factory=dict)
    missing: Missing = "error"
    missing_values: Sequence[Value] = ()
    cells: Learned | None = None
    forbidden: Sequence[Forbidden | Mapping[str, Any]] = ()
    csv: CsvFormat | None = None
    confidence: check.Share | None = None
    called: ClassVar[str] = ""
    stated: ClassVar = ("utility", "targets", "tie_break", "suppress_protected", "blind", "missing")

    @property
    def sections(self) -> tuple[Section, ...]:
        """What is asked for, fact by fact."""
        from evenhand.spec.statement import statement

        return (statement(self),)

    def __repr__(self) -> str:
        kinds = ", ".join(type(each).__name__ for each in (*self.parity, *self.budgets, self.utility))
        return f"<Problem: {self.outcome} by {' × '.join(self.protected)}, {len(self.features)} features; {kinds}>"

    def __post_init__(self) -> None:
        records.check(self)
        self._check_suppression()
        self._check_values()
        self._check_columns()
        self._check_forbidden()
        self._check_cells()
        self._check_favourable()
        self._check_confidence()
        self._check_scored()

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """The budgets as a tuple, whether none, one or several were given."""
        if self.budget is None:
            return ()
        return (self.budget,) if isinstance(self.budget, Budget) else tuple(self.budget)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge of every budget."""
        charges = (charge for budget in self.budgets for charge in budget.charges)
        # A blind mapping does not know who of those to come has whose row.
        return tuple(replace(c, of_any_group=self.blind and c.per == "individual") for c in charges)

    @property
    def one_limit(self) -> float | None:
        """The limit, where one number is all that the budgets say; None where there are none or several."""
        limits = [charge.limit for charge in self.charges]
        return limits[0] if len(limits) == 1 and not isinstance(limits[0], By) else None

    @property
    def one_bound(self) -> float | None:
        """The bound that all parity constraints share; None where there are none, or several, or cases without one."""
        bounds = {float(bound) for parity in self.parity for bound in each(parity.bound)}
        return bounds.pop() if len(bounds) == 1 else None

    @property
    def smallest_bound(self) -> float:
        """The smallest of all parity bounds; zero where there are none."""
        return min((parity.smallest_bound for parity in self.parity), default=0.0)

    def with_bounds(self, change: Callable[[float], float]) -> Problem:
        """Return the same problem with every parity bound changed; what is not bounded stays so."""
        check.function("change", change, takes=1)
        return replace(self, parity=[parity.with_bounds(change) for parity in self.parity])

    def with_limits(self, change: Callable[[float], float]) -> Problem:
        """Return the same problem with every limit of its budgets changed; what is not limited stays so."""
        check.function("change", change, takes=1)
        return replace(self, budget=[budget.with_limits(change) for budget in self.budgets])

    @property
    def suppression(self) -> Suppression:
        """Where p(ŷ|x̂) comes from, where the released outcome may depend on the released features alone."""
        chosen = self.suppress_protected
        return STRATEGIES["fixed" if chosen is True and not self.records_stay else chosen](self.conditional)

    @property
    def records_stay(self) -> bool:
        """Whether no feature can change: cells are learned, or every feature is fixed."""
        rules = self.distortion.rules
        moving = [name for name in self.features if not isinstance(rules.get(name, Fixed()), Fixed)]
        return self.cells is not None or (self.distortion.function is None and not moving)

    @property
    def reads(self) -> str:
        """The axes that train mode reads, on which a person's probabilities may depend; apply mode reads no outcome.

        What is not among them is summed over: in the sources of the program, in kernels, in what limits apply.
        """
        return "xy" if self.blind else "dxy"

    @property
    def observed_only(self) -> bool:
        """Whether only feature combinations that somebody in the table has may be released."""
        return self.targets == "observed"

    @property
    def missing_is_level(self) -> bool:
        """Whether a missing value is a level of its own, not an error."""
        return self.missing == "level"

    @property
    def cell_words(self) -> str:
        """What people are told apart by, beside groups and outcomes: features, or learned cells."""
        return "features" if self.cells is None else "learned cells"

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the problem reads, in the order D, X, Y."""
        return (*self.protected, *self.features, self.outcome)

    @property
    def weighting(self) -> Weighting | None:
        """The column by which rows count, where they do not count once each."""
        found = Weighting.of(self.weights, self.frequencies)
        return None if found is None else replace(found, deliberate=True)

    @property
    def given(self) -> tuple[str, ...]:
        """The features that some parity bound is given or some forbidden record names, in their order."""
        named = {column for parity in self.parity for column in parity.given or ()}
        named |= {column for rule in self.forbidden_records for column in rule.where}
        return tuple(column for column in self.features if column in named)

    @property
    def forbidden_records(self) -> tuple[Forbidden, ...]:
        """The kinds of records that nobody may become."""
        return tuple(rule for rule in self.forbidden if isinstance(rule, Forbidden))

    @property
    def feature_variables(self) -> tuple[str, ...]:
        """The names of the variables of X: the features; or, where cells are learned, those given and the cell."""
        return tuple(self.features) if self.cells is None else (*self.given, self.cells.variable)

    @property
    def levelled(self) -> tuple[str, ...]:
        """The columns whose own values are levels, in the order D, X, Y: all but those that cells are learned over."""
        features = self.features if self.cells is None else self.given
        return (*self.protected, *features, self.outcome)

    @property
    def learned_over(self) -> tuple[str, ...]:
        """The features over which cells are learned."""
        return () if self.cells is None else tuple(name for name in self.features if name not in self.given)

    def to_toml(self) -> str:
        """Return the whole statement as TOML."""
        return toml.write(self)

    @classmethod
    def from_toml(cls, text: str) -> Problem:
        """Read a statement from TOML; a misspelt key is an error that suggests the right one."""
        return toml.read(text, cls)

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return the JSON schema of a problem's TOML, by which editors complete and check it; ``evenhand schema``."""
        return toml.schema(cls)

    def _check_suppression(self) -> None:
        if self.conditional is not None and self.suppress_protected != "fixed":
            raise SpecError('a conditional p(ŷ|x̂) is held fixed: write suppress_protected="fixed" with it')
        if self.suppression.redraws and not self.observed_only:
            raise SpecError(
                f'suppress_protected="{self.suppress_protected}" needs p(y|x̂) for every x̂, which only observed '
                f'features have; write targets="observed"'
            )
        given = self.conditional
        known = isinstance(given, Conditional) or hasattr(given, "predict_proba") or hasattr(given, "columns")
        if given is not None and not known:
            raise SpecError(
                f"conditional must be an eh.Conditional, a dataframe of features, outcome and probability, or a fitted "
                f"classifier with predict_proba, not {type(given).__name__}"
            )

    def _check_values(self) -> None:
        """Check how values become levels."""
        for column in self.bins:
            if column not in self.columns:
                hint = did_you_mean(column, self.columns)
                raise SpecError(f"bins name {column!r}, which is not a column here.{hint}")
        for value in self.missing_values:
            if isinstance(value, float) and not math.isfinite(value):
                raise SpecError(
                    f"missing_values must be words or finite numbers; leave {value} out (NaN is always missing)"
                )

    def _check_columns(self) -> None:
        """Check that each column has one role, and that parity and distortion name columns of the right one."""
        seen: dict[str, str] = {}
        roles = [(c, "protected") for c in self.protected] + [(c, "features") for c in self.features]
        for column, role in [*roles, (self.outcome, "outcome")]:
            if column in seen:
                where = f"twice in {role}" if seen[column] == role else f"in both {seen[column]} and {role}"
                raise SpecError(f"column {column!r} is listed {where}; each column has one role")
            seen[column] = role
        for what in (WEIGHTS, FREQUENCIES):
            column = getattr(self, what)
            if column is not None and column in seen:
                raise SpecError(f"column {column!r} is part of the problem and cannot also be the {what}")
        Weighting.of(self.weights, self.frequencies)
        for parity in self.parity:
            name = type(parity).__name__
            for what, known in (("on", self.protected), ("given", self.features), ("features", self.features)):
                for column in getattr(parity, what) or ():
                    if column not in known:
                        kind = "protected" if what == "on" else "features"
                        hint = did_you_mean(column, known)
                        raise SpecError(
                            f"{what} of {name} names {column!r}, which is not in {kind} {list(known)}.{hint}"
                            + WITHIN_PROTECTED * (column in self.protected)
                        )
        for column in self.distortion.rules:
            if column in self.protected:
                raise SpecError(
                    f"the distortion has a rule for {column!r}, but protected columns are never changed; "
                    f"remove the rule, or list the column in features"
                )
            if column not in self.columns:
                hint = did_you_mean(column, self.columns)
                raise SpecError(
                    f"the distortion has a rule for {column!r}, which is not a column here: it is neither among the "
                    f"features {list(self.features)} nor the outcome {self.outcome!r}.{hint}"
                )
        if self.outcome not in self.distortion.rules and self.distortion.function is None:
            raise SpecError(
                f"the outcome {self.outcome!r} has no rule, so it is not known what changing it costs; write for "
                f"example ",
                Setting("distortion", Made("Ordinal", {"step": 1}), column=self.outcome),
                ", or ",
                Made("Fixed"),
                " if it may never change",
            )

    def _check_forbidden(self) -> None:
        """Check that forbidden records name columns of the problem, at least one of which may change."""
        for rule in self.forbidden_records:
            for column in rule.where:
                if column not in self.columns:
                    hint = did_you_mean(column, self.columns)
                    raise SpecError(f"a forbidden record names {column!r}, which is not a column here.{hint}")
            if all(column in self.protected for column in rule.where):
                raise SpecError(
                    f"the forbidden record {rule.words} names protected columns alone, which are never changed; name a "
                    f"feature or the outcome, too"
                )
            if self.suppression.redraws and self.outcome in rule.where:
                raise SpecError(
                    f"suppress_protected draws the outcome from p(ŷ|x̂), so that of all who are released with the same "
                    f"features somebody has each of their outcomes; the forbidden record {rule.words} may name "
                    f"features and protected columns alone"
                )

    def _check_cells(self) -> None:
        """Refuse by name what does not go together with learned cells."""
        if self.cells is None:
            return
        name = type(self.cells).__name__
        over = set(self.features)
        if binned := [column for column in self.bins if column in self.learned_over]:
            raise SpecError(
                f"{name} reads the features as they are, so that bins of {binned[0]!r} mean nothing; leave them out"
            )
        if ruled := [column for column in self.distortion.rules if column in over]:
            raise SpecError(
                f"with {name} features stay as they are, so that a rule for {ruled[0]!r} means nothing; leave it out"
            )
        if self.distortion.function is not None:
            raise SpecError(
                f"a user's distortion reads features, of which {name} leaves cells alone; write a rule for the outcome"
            )
        if compared := [type(parity).__name__ for parity in self.parity if parity.compares_features]:
            raise SpecError(
                f"{compared[0]} bounds released features, which with {name} stay as they are; leave it out, or state "
                f"features that may change"
            )
        if not self.observed_only:
            raise SpecError(f'with {name} features stay as they are: write targets="observed"')
        if self.conditional is not None:
            raise SpecError(f"a conditional p(ŷ|x̂) is about features as levels, and does not go together with {name}")
        named = {column for value in self._varying for column in value.columns}
        if unknown := sorted(named & (over - set(self.given))):
            raise SpecError(
                f"a case names {unknown[0]!r}, over which {name} learns cells; cases may name protected columns, the "
                f"outcome, and features that a parity bound is given"
            )
        if self.cells.variable in self.columns:
            raise SpecError(f"{self.cells.variable!r} is what learned cells are called here; rename that column")
        if not self.learned_over:
            raise SpecError(
                f"every feature is given to a parity bound, or named by a forbidden record, so that {name} has nothing "
                f"to learn cells over"
            )
        self.cells.refuse_columns(self.learned_over)

    @property
    def _varying(self) -> list[By]:
        """The bounds and limits that depend on who it is."""
        values: list[Any] = [*(p.bound for p in self.parity), *(charge.limit for charge in self.charges)]
        values += [getattr(parity, "target", None) for parity in self.parity]
        return [value for value in values if isinstance(value, By)]

    def _check_favourable(self) -> None:
        """Check that all who say which outcome is good for a person say the same."""
        if self.favourable is None:
            return
        for parity in self.parity:
            other = parity.distance.good_outcome
            if other is not None and not same_level(other, self.favourable):
                whose = f"the {type(parity.distance).__name__} of {type(parity).__name__}"
                raise SpecError(
                    f"favourable says that {self.outcome}={self.favourable!r} is good for a person, {whose} says "
                    f"{self.outcome}={other!r}; name the same outcome in both"
                )

    def _check_confidence(self) -> None:
        """Refuse what is no confidence, and by name what it does not cover."""
        if self.confidence is None:
            return
        asked = self.confidence
        if asked < LEAST_CONFIDENCE:
            # Margins would be negative, and the bounds wider than they were stated.
            raise SpecError(
                f"confidence must be at least {LEAST_CONFIDENCE:g}, not {asked:g}: without any, bounds hold in the "
                f"population for about half of all samples; leave it out"
            )
        if not self.parity:
            raise SpecError("confidence is about parity bounds, and there are none; state one, or leave it out")
        for parity in self.parity:
            if (form := parity.beyond_confidence) is not None:
                raise SpecError(
                    f"confidence does not cover {type(parity).__name__} with {form}: no margin for it was ever tried; "
                    f"leave out confidence, and hold the mapping against people who were not fitted"
                )
            for bound in each(parity.bound):
                if parity.distance.largest_bound < bound < math.inf:
                    raise SpecError(
                        f"the bound {bound:g} of {type(parity).__name__} restrains nothing that confidence could be "
                        f"about; state a smaller one, or leave out confidence"
                    )
        if not self.suppression.convex:
            raise SpecError(
                'confidence does not cover suppress_protected="alternating", whose optima are local; write "fixed", or '
                "leave out confidence"
            )

    def _check_scored(self) -> None:
        """Refuse by name what has no mean score of a model without D that is linear in the mapping."""
        if not self.suppression.scored:
            return
        for parity in self.parity:
            if (form := parity.beyond_scores) is not None:
                raise SpecError(
                    f"suppress_protected=True bounds mean scores of a model without D, which {type(parity).__name__} "
                    f"{form}; leave it out, or suppress_protected"
                )
        if self.confidence is not None:
            raise SpecError(
                "confidence does not cover suppress_protected=True: everybody is in every mean score, so that its "
                "margins do not hold; leave out confidence, and hold the mapping against held-out people"
            )


def check_problem(problem: Any) -> None:
    """Refuse anything but a problem, where one comes first."""
    check.kind("the problem comes first and", problem, Problem, "an eh.Problem")


def weighting_of(problem: Problem, weights: Any, frequencies: Any) -> Weighting | None:
    """Return by what the rows of the problem's own table count: as it is asked, else as the problem says."""
    check_problem(problem)
    return Weighting.chosen(Weighting.of(weights, frequencies), problem.weighting)


def weighted_by(problem: Problem, weighting: Weighting | None) -> Problem:
    """Return a problem that states by which column rows count."""
    return problem if weighting is None or weighting.sampled else replace(problem, **Weighting.named_by(weighting))
