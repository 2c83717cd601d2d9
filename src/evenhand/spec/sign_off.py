"""Who signed off on what is released: a statement by a person, with its TOML; nothing here checks that it is true."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date as Day
from datetime import datetime
from typing import Any

import tomli_w

from evenhand import check
from evenhand.errors import SpecError, did_you_mean
from evenhand.render.section import Fact

A_DATE = "a date, such as 2026-11-18 in TOML (without quotes) and datetime.date(2026, 11, 18) in Python"


@dataclass(frozen=True)
class SignOff:
    """A sign-off: who answers for a release, since when, for what, why with this bound, and until when.

    It is shown in manifests and reports as it was stated. A release with one that has expired, or whose date is still
    to come, is refused.

    Parameters
    ----------
    name : str
        Who signs, as others know them.
    date : datetime.date
        When they did.
    purpose : str
        What the released table is for.
    why : str
        Why the bound is what it is.
    expires : datetime.date, optional
        The last day on which it holds.

    Examples
    --------
    >>> from datetime import date
    >>> until = date(2027, 11, 17)
    >>> signed = SignOff("A. Byron", date(2026, 11, 18), "the scorecard of 2027", "four fifths, with room", until)
    >>> signed.lapsed(until), signed.lapsed(date(2027, 11, 18))
    (None, 'expired on 2027-11-17')
    >>> SignOff.from_toml(signed.to_toml()) == signed
    True
    """

    name: str
    date: Day
    purpose: str
    why: str
    expires: Day | None = None

    def __post_init__(self) -> None:
        for field in ("name", "purpose", "why"):
            if not check.text(f"{field} of a sign-off", getattr(self, field)).strip():
                raise SpecError(f"{field} of a sign-off is empty; say it in words")
        for field in ("date", *([] if self.expires is None else ["expires"])):
            _check_day(f"{field} of a sign-off", getattr(self, field))
        if self.expires is not None and self.expires < self.date:
            raise SpecError(f"expires of a sign-off must not be before its date, {self.date}: {self.expires}")

    def lapsed(self, on: Day) -> str | None:
        """Say why it does not hold on a day, in words that follow "the sign-off"; None where it does."""
        _check_day("on", on)
        if self.expires is not None and on > self.expires:
            return f"expired on {self.expires}"
        return f"is of {self.date}, which is still to come" if on < self.date else None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The same as data, for people to read."""
        name, purpose, why = (" ".join(text.split()) for text in (self.name, self.purpose, self.why))
        values = {
            "signed_off_by": name,
            "on": self.date,
            "for": purpose,
            "why_this_bound": why,
            "expires": self.expires,
        }
        return tuple(Fact(key, value) for key, value in values.items())

    def as_dict(self) -> dict[str, str | None]:
        """Return it as JSON can hold it."""
        return {name: None if value is None else str(value) for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> SignOff:
        """Read what :meth:`as_dict` returns."""
        table = check.mapping("a sign-off", given, "a mapping of its fields to values")
        return cls(**_known({name: _dated(name, value) for name, value in table.items()}))

    def to_toml(self) -> str:
        """Return it as TOML."""
        return tomli_w.dumps({name: value for name, value in vars(self).items() if value is not None})

    @classmethod
    def from_toml(cls, text: str) -> SignOff:
        """Read a sign-off from TOML: its fields at the top, or all of them in a table ``[sign_off]``."""
        try:
            given = tomllib.loads(check.text("a sign-off", text))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise SpecError(f"a sign-off is written in TOML, which this is not: {error}") from None
        if set(given) == {"sign_off"} and isinstance(given["sign_off"], dict):
            given = given["sign_off"]
        return cls(**_known(given))


def _known(given: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse fields that a sign-off does not have, and one that lacks some."""
    names = [field.name for field in fields(SignOff)]
    for name in given:
        if name not in names:
            raise SpecError(f"a sign-off has no field {name!r}; it has {', '.join(names)}.{did_you_mean(name, names)}")
    if lacking := [name for name in names if name not in given and name != "expires"]:
        raise SpecError(f"the sign-off lacks {' and '.join(lacking)}; it needs {', '.join(names[:-1])}")
    return dict(given)


def _check_day(what: str, value: Any) -> None:
    # A moment is a date to Python, but no day that people could compare; what is no date at all is neither.
    if not isinstance(value, Day) or isinstance(value, datetime):
        raise check.refused(what, A_DATE, value)


def _dated(name: str, value: Any) -> Any:
    """Return the day that a text names, where a field has one."""
    if name not in ("date", "expires") or not isinstance(value, str):
        return value
    try:
        return Day.fromisoformat(value)
    except ValueError:
        raise check.refused(f"{name} of a sign-off", A_DATE, value) from None
