"""Everything that evenhand raises or warns.

An error says what is wrong, where, and the smallest change to try. What to try is data, which each face words in its
own way: Python here, options and TOML on the command line (``evenhand.cli.wording``)::

    DataError("3 rows are new; with ", Option("unseen", "keep"), " they are left unchanged")

A message without advice is one piece, a plain text. The tree::

    EvenhandError
    ├── SpecError          the statement of the problem is wrong in itself
    ├── DataError          the table does not fit the statement
    ├── InfeasibleError    no mapping meets every bound; carries the nearest one that can be met
    ├── SolverError        no answer within the named tolerances
    │   └── TimeLimitError     the time limit came first
    ├── StorageError       a mapping file is damaged, foreign or of another format version
    │   └── VerificationError  a file is not what its manifest states, or a manifest was altered
    └── MissingExtraError  an optional package is needed

    EvenhandWarning        the answer stands, but something in it should be known
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import EllipsisType


class Advice:
    """A piece of a message that says what to write; as text it is what people type in Python."""


@dataclass(frozen=True)
class Option(Advice):
    """An argument of a call, which is an option of a command: with a value to try, or for people to choose one.

    Examples
    --------
    >>> str(Option("unseen", "keep")), str(Option("memory"))
    ("unseen='keep'", 'memory=')
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        return f"{self.name}={'' if self.value is None else spelled(self.value)}"


@dataclass(frozen=True)
class Made(Advice):
    """A value that a class makes from what it is given; ``...`` stands for what only its author knows.

    Examples
    --------
    >>> str(Made("Ordinal", {"step": 1})), str(Made("Edges", {"edges": [...]})), str(Made("PairwiseParity", ...))
    ('eh.Ordinal(step=1)', 'eh.Edges(edges=[...])', 'eh.PairwiseParity(...)')
    """

    kind: str
    given: Mapping[str, object] | EllipsisType = field(default_factory=dict)

    def __str__(self) -> str:
        if isinstance(self.given, EllipsisType):
            return f"eh.{self.kind}(...)"
        return f"eh.{self.kind}({', '.join(f'{name}={spelled(value)}' for name, value in self.given.items())})"


@dataclass(frozen=True)
class Setting(Advice):
    """What a problem, or a part of one, is to say: of itself, or of one column.

    Examples
    --------
    >>> str(Setting("missing", "level")), str(Setting("parity", [Made("PairwiseParity", ...)]))
    ("missing='level'", 'parity=[eh.PairwiseParity(...)]')
    >>> str(Setting("bins", Made("Quantiles", {"number": 4}), column="age"))
    "bins={'age': eh.Quantiles(number=4)}"
    """

    name: str
    value: object
    column: str | None = None

    def __str__(self) -> str:
        if self.column is None:
            return f"{self.name}={spelled(self.value)}"
        entry = f"{{{self.column!r}: {spelled(self.value)}}}"
        return f"{self.name}={entry}" if self.table == self.name else f"{entry} in the {self.name}"

    @property
    def table(self) -> str:
        """Where TOML keeps what is said of single columns."""
        # A distortion is a value of its own, which holds more than the rules of its columns.
        return "distortion.rules" if self.name == "distortion" else self.name


@dataclass(frozen=True)
class Verb(Advice):
    """Something to run: a function of the library, and a command of the same name."""

    name: str

    def __str__(self) -> str:
        return f"eh.{self.name}"


def spelled(value: object) -> str:
    """Return a value as it is typed in Python."""
    if isinstance(value, list):
        return f"[{', '.join(map(spelled, value))}]"
    if value is ...:
        return "..."
    return str(value) if isinstance(value, Advice) else repr(value)


class Message:
    """What errors and warnings share: a message in pieces, in the order in which they are read.

    Whoever knows nothing of pieces, such as a logger, finds one text in ``args``, as in any other exception.
    """

    pieces: tuple[object, ...]

    def __init__(self, *pieces: object) -> None:
        self.pieces = pieces
        super().__init__(*["".join(map(str, pieces))][: len(pieces)])

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What to try, as data: options, settings, kinds and verbs, in the order of the message."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Advice))


class EvenhandError(Message, Exception):
    """The parent of every error that evenhand raises on purpose."""


class SpecError(EvenhandError, ValueError):
    """The statement of the problem is wrong in itself, whatever the table."""


class DataError(EvenhandError, ValueError):
    """The table does not fit the statement of the problem."""


class InfeasibleError(EvenhandError):
    """No mapping meets every bound.

    Attributes
    ----------
    smallest_parity_bound : float or None
        The smallest parity bound that the given budgets allow; None where no bound would do.
    smallest_budget_factor : float or None
        The smallest number by which all budgets would have to be multiplied for the given parity bounds to
        hold; None where no factor would do.
    people_needed : float or None
        Where the bounds can be met but not with the margins of a confidence: about how many people like those of the
        table would be needed; None where no number would do, or none is asked for.
    """

    def __init__(
        self,
        *message: object,
        smallest_parity_bound: float | None = None,
        smallest_budget_factor: float | None = None,
        people_needed: float | None = None,
    ) -> None:
        super().__init__(*message)
        self.smallest_parity_bound = smallest_parity_bound
        self.smallest_budget_factor = smallest_budget_factor
        self.people_needed = people_needed


class SolverError(EvenhandError):
    """No answer was found within the named tolerances."""


class TimeLimitError(SolverError):
    """The time limit came before an answer."""


class StorageError(EvenhandError):
    """A mapping file is damaged, altered, foreign or of another format version."""


class VerificationError(StorageError):
    """A file is not what its manifest states, or a manifest was altered."""


class MissingExtraError(EvenhandError, ImportError):
    """An optional package is needed; the message names the command that installs it."""


class EvenhandWarning(Message, UserWarning):
    """The answer stands, but something in it should be known."""


PASSED_OVER = ("evenhand", "sklearn", "joblib", "imblearn")
"""Packages whose lines a warning does not name: users call evenhand, or have these call it."""


def warn(*pieces: object) -> None:
    """Warn, in pieces as an error has, at the line of the user's own code, however deep in evenhand this is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(EvenhandWarning(*pieces), stacklevel=level + 1)


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return ``" Did you mean 'x'?"`` for the nearest known word, or nothing.

    Examples
    --------
    >>> did_you_mean("bugdet", ["budget", "parity"]), did_you_mean("css", ["mcs", "ccs"])
    (" Did you mean 'budget'?", " Did you mean 'ccs'?")
    """
    names = {str(name).lower(): str(name) for name in known}
    own = str(word).lower()
    # Few errors are about names, and every command would wait for this module.
    from difflib import get_close_matches

    near = get_close_matches(own, names, n=len(names) or 1)
    if not near:
        return ""
    return f" Did you mean {names[min(near, key=lambda name: _edits(own, name))]!r}?"


def _edits(one: str, other: str) -> int:
    """Count the letters to insert, delete or replace to make one word of another.

    Examples
    --------
    >>> _edits("css", "ccs"), _edits("css", "mcs"), _edits("bugdet", "budget")
    (1, 2, 2)
    """
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row = row, [i]
        for j, wanted in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != wanted)))
    return row[-1]


def in_number(people: float) -> str:
    """Write how many people there are.

    Examples
    --------
    >>> in_number(1), in_number(1200)
    ('1 person', '1,200 people')
    """
    return f"{people:,.0f} {'person' if round(people) == 1 else 'people'}"


def some_of(names: Iterable[object], most: int = 12) -> str:
    """Name some of many, and say how many more there are: a table may have thousands of columns.

    Examples
    --------
    >>> some_of(["age", "job"]), some_of("abcde", most=2)
    ('age, job', 'a, b and 3 more')
    """
    listed = list(map(str, names))
    return ", ".join(listed[:most]) + f" and {len(listed) - most} more" * (len(listed) > most)
