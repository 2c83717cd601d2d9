"""The proof file: a table's counts, the statement written out, the kernel and the multipliers, as JSON.

Everything is in the statement's own terms: groups, outcomes, pairs, cells. Nothing of the programme is in it, and
nothing of evenhand is needed to check it: ``verifier.py`` is a script of the standard library alone. Numbers mean
exactly their decimal text.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand import verifier
from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Variable
from evenhand.errors import InfeasibleError, SolverError
from evenhand.files import replace_file
from evenhand.findings.assurance import says_nothing
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import ParityAchieved, achieved
from evenhand.optimize.certificate import Certificate, bounding
from evenhand.optimize.compile import (
    Barring,
    Compiled,
    allowed_moves,
    barred_outcomes,
    compile_problem,
)
from evenhand.optimize.compile.inverse import budget_multipliers, entry_multipliers, free_event
from evenhand.optimize.program import Multipliers, least_price
from evenhand.optimize.tabulate import tabulated
from evenhand.spec import (
    AGAINST_TARGET,
    EVERYWHERE,
    Comparisons,
    Features,
    Problem,
    all_comparisons,
)
from evenhand.spec.margins import WithMargin

CONSERVATIVE = 1 - 1e-6
"""Of an excess in floating point this share is claimed."""

STRANDED = 1.0
"""The excess that is claimed where somebody has no move: multipliers can make it as large as one likes."""

AMPLE = 16.0
"""A multiplier that only has to be large enough is this many times as large."""

LEAST_SHARE = 1e-12
"""A group with a smaller share of its record counts as this much, so that multipliers stay finite."""

Document = dict[str, Any]


def write_mapping(
    path: str | os.PathLike[str],
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    multipliers: Multipliers,
    certificate: Certificate,
) -> None:
    compiled = compile_problem(bounding(problem), counts)
    writer = _Writer(problem, counts, compiled)
    document = writer.document("mapping") | {
        "kernel": writer.kernel_rows(kernel),
        "multipliers": writer.multipliers(multipliers, released=True),
        "claims": {
            "status": certificate.status,
            "objective": certificate.objective,
            "lower_bound": certificate.lower_bound,
            "gap": certificate.gap,
            "max_violation": _largest_violation(problem, counts, kernel),
        },
    }
    _write(path, document)


def _largest_violation(problem: Problem, counts: Counts, kernel: Kernel) -> float:
    """Return by how much a bound is exceeded at most, in the units of the document: some distances are lines there."""
    measured = achieved(problem, counts, kernel)
    return replace(measured, parity=tuple(map(_as_written, measured.parity))).max_violation


def _as_written(part: ParityAchieved) -> ParityAchieved:
    if _named(part.compared):
        return part
    beyond = [line.on_p * part.rate + line.on_q * part.other - line.limit for line in part.compared.lines]
    return replace(part, excess=np.max(beyond, axis=0))


def write_infeasible(
    path: str | os.PathLike[str], problem: Problem, counts: Counts, multipliers: Multipliers | None = None
) -> None:
    """Write the proof that no mapping meets every bound.

    Without multipliers it is the proof that somebody is left without any move: by what the statement forbids, by limits
    of zero, or by ratios to zero.
    """
    problem = tabulated(problem, counts)
    compiled = None if multipliers is None else compile_problem(problem, counts)
    writer = _Writer(problem, counts, compiled)
    document = writer.document("infeasible")
    claimed: float | None
    if compiled is None or multipliers is None:
        document["multipliers"] = writer.written(*writer.closing(barred_outcomes(problem, counts), 1.0))
        claimed = STRANDED if _can_move(replace(problem, parity=[], budget=None), counts) else None
    else:
        document["multipliers"] = writer.multipliers(multipliers, released=False)
        claimed = CONSERVATIVE * least_price(compiled.program, multipliers)
    # The verifier has the last word on whether this is a proof, and no say in what is claimed: it reads the file.
    read = json.loads(json.dumps(document), parse_float=verifier.Exact)
    statement = verifier.read_problem(read)
    exact = verifier.priced(statement, verifier.read_multipliers(read["multipliers"], statement))
    if claimed is not None and not 0 < claimed <= (math.inf if exact is None else exact):
        raise SolverError(
            f"in exact arithmetic multipliers do not prove infeasibility (their excess is {float(exact or 0):.3g}): "
            f"the bounds are too near to where they can be met"
        )
    document["claims"] = {"infeasibility": claimed}
    _write(path, document)


def _can_move(problem: Problem, counts: Counts) -> bool:
    """Whether what the statement forbids leaves everybody a move."""
    try:
        compile_problem(problem, counts)
    except InfeasibleError:
        return False
    return True


def _write(path: str | os.PathLike[str], document: Document) -> None:
    document["sha256"] = verifier.digest(document)
    replace_file(path, json.dumps(document, ensure_ascii=False, allow_nan=False).encode())


class _Writer:
    """Writes a problem on a table out in full."""

    def __init__(self, problem: Problem, counts: Counts, compiled: Compiled | None) -> None:
        self.problem, self.counts, self.given = problem, counts, compiled
        self.domain = counts.domain
        # Alternating chooses p(ŷ|x̂) itself, so that the statement does not give it.
        self.conditional: Numbers | None = None
        if problem.suppression.stated:
            self.conditional = problem.suppression.conditional(counts)
        self.compared = all_comparisons(problem, counts)
        self.places = [self._places(part) for part in self.compared]

    def document(self, kind: str) -> Document:
        """Return everything but the kernel, the multipliers and the claims."""
        return {
            "format": "evenhand-proof",
            "version": 1,
            "kind": kind,
            "columns": {
                "protected": [_column(v) for v in self.domain.d.variables],
                "features": [_column(v) for v in self.domain.x.variables],
                "outcome": _column(self.domain.outcome),
            },
            "counts": [
                [d, x, int(y), float(w)]
                for d, x, y, w in zip(
                    _codes(self.domain.d, self.counts.d),
                    _codes(self.domain.x, self.counts.x),
                    self.counts.y,
                    self.counts.weight,
                    strict=True,
                )
            ],
            "statement": self.statement(),
        }

    def statement(self) -> Document:
        """Return the problem with every bound, limit and cost in its place."""
        problem = self.problem
        features = _codes(self.domain.x, self.counts.features.cells)
        shares = self.conditional
        return {
            "utility": {
                "measure": type(problem.utility).__name__,
                "on": problem.suppression.utility_axes,
            },
            "targets": problem.targets,
            "new_cells": bool(problem.utility.new_cells) or problem.suppression.utility_axes == "x",
            "blind": problem.blind,
            "suppressed": problem.suppression.redraws,
            "conditional": None
            if shares is None
            else [[x, row] for x, row in zip(features, shares.tolist(), strict=True)],
            "distortion": self.distortion(),
            "forbidden": self.forbidden(),
            "parity": [block for part in self.compared for block in self.parity(part)],
            "budgets": [self.budget(i) for i in range(len(problem.charges))],
            **self.propensities(),
        }

    def propensities(self) -> Document:
        """Return the sums of propensities by which mean scores are bounded, where they are."""
        known = self.counts.propensities
        if not self.problem.suppression.scored or known is None:
            return {}
        found = {
            "within": list(known.within),
            "groups": _codes(self.domain.d, self.counts.groups.cells),
            "sums": known.sums.tolist(),
            "shift": known.shift.tolist(),
        }
        return {"propensities": found}

    def distortion(self) -> Document:
        distortion, domain = self.problem.distortion, self.domain
        if distortion.table is None:
            variables = (*domain.x.variables, domain.outcome)
            costs = {
                v.name: [[float(c) if np.isfinite(c) else None for c in row] for row in distortion.costs(v)]
                for v in variables
            }
            return {"combine": distortion.combine, "costs": costs}
        origin, target, cost = distortion.table.arrays
        (x, y), (to_x, to_y) = domain.split_xy(origin), domain.split_xy(target)
        rows = zip(_codes(domain.x, x), y.tolist(), _codes(domain.x, to_x), to_y.tolist(), cost.tolist(), strict=True)
        return {"table": [list(row) for row in rows]}

    def forbidden(self) -> list[Document]:
        """Return the kinds of records that nobody may become, by the codes of each column.

        A blind mapping does not know groups: what is forbidden to one is so to all, and names no protected column.
        """
        unknown = self.domain.d.names if self.problem.blind else ()
        rules = (rule.codes(self.domain) for rule in self.problem.forbidden_records)
        return [{name: codes for name, codes in rule.items() if name not in unknown} for rule in rules]

    def _places(self, part: Comparisons) -> list[tuple[int, int]]:
        """Return, for each entry, its block among those of its constraint and its position in the block.

        A user's distance has lines of its own for every bound (and target), so each of those is a block.
        """
        seen: dict[Any, list[int]] = {}
        places = []
        for key in _block_keys(part):
            block = seen.setdefault(key, [len(seen), 0])
            places.append((block[0], block[1]))
            block[1] += 1
        return places

    def parity(self, part: Comparisons) -> list[Document]:
        keys = _block_keys(part)
        return [
            {
                "name": type(part.parity).__name__,
                "kind": "features" if part.events.free else "target" if part.against_target else "pairwise",
                **self.about(part),
                "distance": {"measure": _measure(part)}
                if _named(part)
                else {"measure": "lines", "lines": _lines(part, keys.index(key))},
                "on": list(part.groups.names),
                "given": [] if part.segments is None else list(part.segments.names),
                "released": part.within_released,
                "bounds": [self.entry(part, e) for e in range(len(part)) if keys[e] == key],
            }
            for key in dict.fromkeys(keys)
        ]

    def about(self, part: Comparisons) -> Document:
        """Return what is compared, where it is not the rates of single outcomes."""
        events = part.events
        found: Document = {}
        if isinstance(events, Features):
            found = {"features": list(events.axis.names)}
        elif not part.parity.of_outcomes:
            found = {"cumulative": True}
        if part.scored:
            found["scored"] = True
        groups = np.unique(self.domain.d.cells_of(part.groups, self.counts.d))
        unknown = _codes(part.groups, groups[part.groups.has_missing(groups)])
        return found | ({"unknown": unknown} if unknown and any(each.rest for each in part.populations) else {})

    def entry(self, part: Comparisons, e: int) -> Document:
        own, against = part.populations[int(part.population[e])], int(part.against[e])
        other: Any = {"target": float(part.target[e])}
        if against != AGAINST_TARGET:
            held = part.populations[against]
            other = "rest" if held.rest else _codes(part.groups, np.array([held.group]))[0]
        place = int(part.segment[e]) if part.segment[e] != EVERYWHERE else own.segment
        segment = None
        if part.segments is not None and place != EVERYWHERE:
            segment = _codes(part.segments, np.array([place]))[0]
        return {
            "outcome": int(part.event[e]),
            "group": _codes(part.groups, np.array([own.group]))[0],
            "against": other,
            "segment": segment,
            "bound": float(part.bound[e]),
            **self.margins(part, e),
        }

    def margins(self, part: Comparisons, e: int) -> Document:
        """Return by how much more and less a rate must keep its bound, where there are margins."""
        held = part.parity.distance
        return {"margins": [held.margin.above[e], held.margin.below[e]]} if isinstance(held, WithMargin) else {}

    def budget(self, number: int) -> Document:
        charge = self.problem.charges[number]
        limits = charge.limits(self.counts)
        holders: list[Any] = list(range(len(limits)))
        if charge.averaged:
            x, y = self.domain.split_xy(self.counts.records.cells)
            holders = [[codes, int(b)] for codes, b in zip(_codes(self.domain.x, x), y, strict=True)]
        kept = self._limited(number)
        return {
            "threshold": charge.threshold,
            # What is limited is listed, so that it does not matter who else could have been.
            "per": "xy" if charge.averaged else "individual",
            "limits": [[holders[i], float(limits[i])] for i in kept],
        }

    def _limited(self, number: int) -> list[int]:
        return np.flatnonzero(np.isfinite(self.problem.charges[number].limits(self.counts))).tolist()

    def kernel_rows(self, kernel: Kernel) -> list[list[Any]]:
        to_x, to_y = self.domain.split_xy(kernel.targets)
        rows = zip(kernel.rows, _codes(self.domain.x, to_x), to_y, kernel.probability, strict=True)
        return [[int(row), x, int(y), float(p)] for row, x, y, p in rows]

    def multipliers(self, multipliers: Multipliers, *, released: bool) -> Document:
        compiled = self.given
        assert compiled is not None
        found = entry_multipliers(compiled.parity, compiled.compared, multipliers.parity)
        nothing = [[says_nothing(line) for line in part.lines] for part in self.compared]
        parity: dict[tuple[int, int, int], float] = {}
        for i, e, line, value in zip(found.constraint, found.entry, found.line, found.multiplier, strict=True):
            key = self._line(int(i), int(e), int(line))
            # What asks for nothing proves nothing: a multiplier that a solver left there could only weaken the rest.
            if not nothing[i][line][e]:
                parity[key] = parity.get(key, 0.0) + float(value)
        budgets: dict[tuple[int, int], float] = {}
        worth = budget_multipliers(compiled.program, multipliers)
        for charge, holder, value in zip(compiled.budgets.charge, compiled.budgets.holder, worth, strict=True):
            if value > 0:
                budgets[int(charge), int(holder)] = float(value)
        program = compiled.program
        on_rates = (program.parity.matrix.T @ multipliers.parity)[: program.n_rates]
        price = program.prices(multipliers.released, on_rates, multipliers.budgets)
        closed = self.closing(compiled.barred, float(np.abs(price).max(initial=0.0)) + 1.0)
        parity = {key: parity.get(key, 0.0) + closed[0].get(key, 0.0) for key in {**parity, **closed[0]}}
        written = self.written(parity, budgets | closed[1])
        if events := self._events(multipliers.parity):
            written["events"] = events
        return written | ({"released": self._released(multipliers)} if released else {})

    def written(self, parity: dict[tuple[int, int, int], float], budgets: dict[tuple[int, int], float]) -> Document:
        """Return multipliers on lines of entries and on limits as the file has them."""
        rows = []
        for (i, e, line), value in sorted(parity.items()):
            # What the verifier knows by name it writes as usual: not divided by a scale.
            part = self.compared[i]
            written = value / float(part.lines[line].scale[e]) if _named(part) else value
            if written > 0:
                rows.append([*self._place(i, e), line, written])
        return {
            "released": [],
            "parity": rows,
            "budgets": [
                [charge, self._limited(charge).index(holder), value]
                for (charge, holder), value in sorted(budgets.items())
            ],
        }

    def _place(self, constraint: int, entry: int) -> tuple[int, int]:
        """Return the block of an entry, numbered through all constraints, and its position there."""
        before = sum(len(dict.fromkeys(_block_keys(earlier))) for earlier in self.compared[:constraint])
        block, position = self.places[constraint][entry]
        return before + block, position

    def _events(self, on_parity: Numbers) -> list[list[Any]]:
        """Return which set of features the multiplier of each bound on them is about: values with their shares."""
        compiled = self.given
        assert compiled is not None
        moves, rows = compiled.moves, []
        for i, part in enumerate(self.compared):
            if not isinstance(part.events, Features):
                continue
            _, place = part.events.told_apart(self.domain, *self.domain.split_xy(moves.target))
            codes = _codes(part.events.axis, compiled.parity.values[i])
            for e in range(len(part)):
                reached = np.zeros(len(codes), dtype=bool)
                reached[place[part.populations[int(part.against[e])].member[moves.source]]] = True
                share = free_event(compiled.parity, i, e, on_parity, reached)
                rows += [[*self._place(i, e), codes[v], float(share[v])] for v in np.flatnonzero(share)]
        return rows

    def _line(self, constraint: int, entry: int, line: int) -> tuple[int, int, int]:
        """Return where a line is written: the last of an entry stands for its repetitions."""
        part = self.compared[constraint]
        return constraint, entry, line if _named(part) else min(line, len(_lines(part, entry)) - 1)

    def _released(self, multipliers: Multipliers) -> list[list[Any]]:
        assert self.given is not None
        cells = self.given.targets
        if self.problem.suppression.utility_axes == "x":
            return [
                [x, None, float(v)] for x, v in zip(_codes(self.domain.x, cells), multipliers.released, strict=True)
            ]
        x, y = self.domain.split_xy(cells)
        rows = zip(_codes(self.domain.x, x), y, multipliers.released, strict=True)
        return [[codes, int(b), float(value)] for codes, b, value in rows]

    def closing(
        self, rounds: list[list[Barring]], largest: float
    ) -> tuple[dict[tuple[int, int, int], float], dict[tuple[int, int], float]]:
        """Price out the moves that were left out from the start: those a limit of zero, or a ratio to zero, rules out.

        Their bounds cost nothing however large the multiplier, so it only has to be large enough beside the ``largest``
        price of other moves; what was ruled out first must outweigh what was ruled out because of it.
        """
        parity: dict[tuple[int, int, int], float] = {}
        budgets: dict[tuple[int, int], float] = {}
        needed = AMPLE * largest
        for barred in reversed(rounds):
            later = 0.0
            for bar in barred:
                part = self.compared[bar.constraint]
                weights = part.weights[[bar.population]].data * bar.weight
                value = needed / float(weights.min())
                key = self._line(bar.constraint, bar.entry, bar.line)
                parity[key] = parity.get(key, 0.0) + value
                later = max(later, value * (2 + float(part.bound[bar.entry])))
            needed = AMPLE * (needed + later * len(barred))
        for number, charge in enumerate(self.problem.charges):
            zero = np.flatnonzero(charge.limits(self.counts) == 0)
            if not len(zero):
                continue
            # Moves that only a limit of zero rules out are among those that it must price out.
            amount = charge.of(allowed_moves(replace(self.problem, budget=None), self.counts).distortion)
            share = float(self.counts.given("xy").min()) if charge.averaged else 1.0
            smallest = float(np.min(amount[amount > 0], initial=1.0))
            for holder in zero:
                budgets[number, int(holder)] = needed / smallest / max(share, LEAST_SHARE)
        return parity, budgets


def _column(variable: Variable) -> Document:
    return {"name": variable.name, "levels": list(variable.levels)}


def _codes(axis: Axis, cells: Cells) -> list[list[int]]:
    found: list[list[int]] = np.column_stack(axis.unravel(cells)).tolist()
    return found


def _named(part: Comparisons) -> bool:
    """Whether the verifier knows a constraint's distance by name; any other is written as its lines."""
    return _measure(part) in verifier.MEASURES


def _measure(part: Comparisons) -> str:
    """Return the word for a constraint's distance, whatever margins it has."""
    held = part.parity.distance
    return (held.of if isinstance(held, WithMargin) else held).word


def _block_keys(part: Comparisons) -> list[Any]:
    if _named(part):
        return [None] * len(part)
    return [
        (float(bound), None if np.isnan(target) else float(target))
        for bound, target in zip(part.bound, part.target, strict=True)
    ]


def _lines(part: Comparisons, entry: int) -> list[list[float]]:
    """Return the lines of an entry, without the repetitions of the last that fill up where others have more."""
    lines = [[float(at[entry]) for at in (line.on_p, line.on_q, line.limit)] for line in part.lines]
    while lines[-2:-1] == lines[-1:]:
        del lines[-1]
    return lines
