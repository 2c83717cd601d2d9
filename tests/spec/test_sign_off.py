"""A sign-off: its fields are checked, it is read from TOML and JSON, and it holds from its date to its last day."""

from datetime import date, datetime

import pytest

import evenhand as eh

GIVEN = {
    "name": "A. Byron",
    "date": date(2026, 11, 18),
    "purpose": "the scorecard of 2027",
    "why": "four fifths, with room",
    "expires": date(2027, 11, 17),
}


@pytest.mark.parametrize("expires", [GIVEN["expires"], None])
def test_it_comes_back_from_toml_and_from_json(expires):
    signed = eh.SignOff(**GIVEN | {"expires": expires})
    assert eh.SignOff.from_toml(signed.to_toml()) == signed
    assert eh.SignOff.from_toml("[sign_off]\n" + signed.to_toml()) == signed
    assert eh.SignOff.from_dict(signed.as_dict()) == signed


@pytest.mark.parametrize(
    ("day", "said"),
    [("2026-11-17", "still to come"), ("2026-11-18", None), ("2027-11-17", None), ("2027-11-18", "expired on")],
)
def test_it_holds_from_its_date_to_its_last_day(day, said):
    found = eh.SignOff(**GIVEN).lapsed(date.fromisoformat(day))
    assert found is None if said is None else said in found


def test_without_a_last_day_it_holds_for_good():
    assert eh.SignOff(**GIVEN | {"expires": None}).lapsed(date(2999, 1, 1)) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": " "}, "name of a sign-off is empty"),
        ({"why": 3}, "why of a sign-off must be a text"),
        ({"date": "2026-11-18"}, "date of a sign-off must be a date"),
        ({"date": datetime(2026, 11, 18, 12)}, "date of a sign-off must be a date"),
        ({"expires": True}, "expires of a sign-off must be a date"),
        ({"expires": date(2026, 11, 17)}, "must not be before its date"),
    ],
)
def test_fields_of_another_kind_are_refused(change, said):
    with pytest.raises(eh.SpecError, match=said):
        eh.SignOff(**GIVEN | change)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "written in TOML"),
        ('name = "A"\ndate = 2026-11-18', "lacks purpose and why"),
        ('name = "A"\ndate = 2026-11-18\npurpose = "p"\nwhy = "w"\nexpire = 2027-01-01', "Did you mean 'expires'"),
        ('name = "A"\ndate = "18.11.2026"\npurpose = "p"\nwhy = "w"', "without quotes"),
        ('name = "A"\ndate = 2026-11-18T10:00:00\npurpose = "p"\nwhy = "w"', "must be a date"),
    ],
)
def test_toml_that_is_no_sign_off_is_refused(text, said):
    with pytest.raises(eh.SpecError, match=said):
        eh.SignOff.from_toml(text)
