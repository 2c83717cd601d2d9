"""What all parts of a problem share that come in several kinds: a word for each, by which TOML distinguishes them."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Self, TypeVar

from evenhand import records

P = TypeVar("P", bound="Part")


class Part(ABC):
    """A part of a problem: a utility, a distance, a form of parity, a rule, a budget, a binning, learned cells.

    The classes of these derive from it, and their kinds from them.

    Attributes
    ----------
    key : str
        The key under which TOML has the word for the kind.
    word : str
        That word; the name of the class where this is empty.
    holds_functions : bool
        Whether it holds a user's functions, which no file can keep.
    made_by_fit : bool
        Whether only fit makes it, in place of one that holds functions.
    """

    key: ClassVar[str]
    word: ClassVar[str] = ""
    holds_functions: ClassVar[bool] = False
    made_by_fit: ClassVar[bool] = False

    def __post_init__(self) -> None:
        records.check(self)

    @classmethod
    def kinds(cls) -> dict[str, type[Self]]:
        """Return the kinds that users may write, by their words; what holds functions has none."""
        from evenhand.spec import registry

        base = cls._base()
        listed = [kind for kind in vars(registry).values() if isinstance(kind, type) and issubclass(kind, base)]
        return {records.word_of(kind): kind for kind in listed if not kind.holds_functions}

    @classmethod
    def made(cls) -> dict[str, type[Self]]:
        """Return the kinds that only fit writes."""
        return {kind.word: kind for kind in _below(cls._base()) if kind.made_by_fit}

    @classmethod
    def _base(cls) -> type[Self]:
        """Return the class of all kinds that it is one of."""
        return next(each for each in cls.__mro__ if Part in each.__bases__)


def _below(kind: type[P]) -> list[type[P]]:
    return [each for own in kind.__subclasses__() for each in (own, *_below(own))]
