"""Everything that evenhand raises or warns.

An error says what is wrong, where, and the smallest change to try::

    EvenhandError
    ├── SpecError          the statement of the problem is wrong in itself
    ├── DataError          the table does not fit the statement
    ├── InfeasibleError    no mapping meets every bound; carries the nearest one that can be met
    ├── SolverError        no answer within the named tolerances
    │   └── TimeLimitError     the time limit came first
    ├── StorageError       a mapping file is damaged, foreign or of a newer format
    └── MissingExtraError  an optional package is needed

    EvenhandWarning        the answer stands, but something in it should be known
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class EvenhandError(Exception):
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
    """

    def __init__(
        self,
        message: str,
        smallest_parity_bound: float | None = None,
        smallest_budget_factor: float | None = None,
    ) -> None:
        super().__init__(message)
        self.smallest_parity_bound = smallest_parity_bound
        self.smallest_budget_factor = smallest_budget_factor


class SolverError(EvenhandError):
    """No answer was found within the named tolerances."""


class TimeLimitError(SolverError):
    """The time limit came before an answer."""


class StorageError(EvenhandError):
    """A mapping file is damaged, altered, foreign or of a newer format."""


class MissingExtraError(EvenhandError, ImportError):
    """An optional package is needed; the message names the command that installs it."""


class EvenhandWarning(UserWarning):
    """The answer stands, but something in it should be known."""


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return ``" Did you mean 'x'?"`` for the nearest known word, or nothing.

    Examples
    --------
    >>> did_you_mean("bugdet", ["budget", "parity"])
    " Did you mean 'budget'?"
    """
    names = {str(name).lower(): str(name) for name in known}
    near = get_close_matches(str(word).lower(), names, n=1)
    return f" Did you mean {names[near[0]]!r}?" if near else ""
