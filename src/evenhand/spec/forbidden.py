"""Records that make no sense, which nobody may become: "under 18" with "a high income".

A rule is about the released record: the protected columns, which stay, the released features and the released outcome.
It binds whoever is not such a record already: what the table holds may stay as it is, for no mapping can keep away what
new people bring. Knows levels and cells; nothing of moves, programmes or tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from evenhand import records
from evenhand.arrays import Cells, Flags
from evenhand.data.domain import Domain
from evenhand.errors import SpecError
from evenhand.spec.by import Group, Where, codes_of, fields_of, holds_at, where_of

if TYPE_CHECKING:
    from evenhand.spec.problem import Problem


@dataclass(frozen=True)
class Forbidden:
    """A kind of record that nobody may become.

    Parameters
    ----------
    when, then : mapping of column name to level, or to a list of levels
        A released record is of this kind where all columns of both have one of their levels. They may name protected
        columns, features and the outcome, each of them once.

    Examples
    --------
    >>> Forbidden(when={"age": ["<18", "18 to 20"]}, then={"income": "high"}).words
    'age=<18 or 18 to 20 with income=high'
    """

    when: Annotated[Group, where_of]
    then: Annotated[Group, where_of]

    def __post_init__(self) -> None:
        records.check(self)
        if twice := sorted(set(self.when) & set(self.then)):
            raise SpecError(
                f"a forbidden record names {twice[0]!r} both in when and in then; list all of its levels in one of them"
            )

    @property
    def where(self) -> dict[str, Any]:
        """All columns of the rule, with the level or the levels that each must have."""
        return {**self.when, **self.then}

    @property
    def words(self) -> str:
        """The records, in words."""
        return f"{_words(self.when)} with {_words(self.then)}"

    def holds(self, domain: Domain, d: Cells, x: Cells, y: Cells, *, whoever: bool = False) -> Flags:
        """Return which records (d, x, y) are of this kind; ``whoever`` they are, where groups are not known."""
        named = {column: its for column, its in self.where.items() if not (whoever and column in domain.d.names)}
        fields = fields_of(domain.d, d) | fields_of(domain.x, x) | fields_of(domain.y, y)
        return holds_at("a forbidden record", named, fields, len(y))

    def codes(self, domain: Domain) -> dict[str, list[int]]:
        """Return the codes of the levels that each column must have."""
        return {name: codes_of("a forbidden record", domain.variable(name), its) for name, its in self.where.items()}


def becomes_forbidden(
    problem: Problem, domain: Domain, d: Cells, x: Cells, y: Cells, to_x: Cells, to_y: Cells
) -> Flags:
    """Return which moves (d, x, y) → (x̂, ŷ) make a forbidden record of one that is not of that kind.

    A blind mapping does not know whose record it is: what is forbidden to some group is then so to everybody.
    """
    found = np.zeros(len(to_x), dtype=bool)
    for rule in problem.forbidden_records:
        after = rule.holds(domain, d, to_x, to_y, whoever=problem.blind)
        place = np.flatnonzero(after & ~found)
        found[place] = ~rule.holds(domain, d[place], x[place], y[place], whoever=problem.blind)
    return found


def _words(where: Where) -> str:
    each = (
        f"{column}={' or '.join(map(str, levels)) if isinstance(levels, tuple) else levels}"
        for column, levels in where.items()
    )
    return " and ".join(each)
