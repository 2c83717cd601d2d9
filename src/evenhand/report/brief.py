"""The first screen of a report: what a person who signs asks first, in this order, each with its answer in words.

Reads the summary alone, and holds no number of its own. Every answer names the section that has its numbers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from evenhand.data.weighting import Unit
from evenhand.findings.assurance import ANSWERED
from evenhand.findings.document import NONE, Json, plain
from evenhand.findings.manifest import number
from evenhand.findings.naming import short_name
from evenhand.render.numbers import people as expected_people
from evenhand.spec.distance import Ratio

Tone = Literal["better", "worse", "open", "plain"]
"""Whether an answer is good or bad for people or for what is promised, is still open, or is neither."""

TARGET = "the target"
"""What rates are held against that are not those of other people."""

SOME_PEOPLE = 0.01
"""Fewer people than this are what a solver leaves, and nobody."""

MOST_NAMED = 3
"""How many groups, constraints or moves an answer names."""


@dataclass(frozen=True)
class Answer:
    """A question that a signer asks, the answer in a few words, sentences beside it, and where its numbers are."""

    key: str
    question: str
    answer: str
    words: tuple[str, ...]
    tone: Tone
    section: str


def brief(s: Json) -> list[Json]:
    """Return the answers of the first screen, in the order in which they are asked."""
    asked = (_apart, _changed, _gains, _file, _new_people, _not_covered)
    return [plain(asdict(answer(s))) for answer in asked]


def people_words(s: Json) -> str:
    """Return what people are counted by: themselves, or their weight."""
    return Unit.of(weighed=s["table"]["weighed"])


def _apart(s: Json) -> Answer:
    question, section = "How far apart are the groups, before and after?", "rates"
    told = [part for part in s["bounds"]["parity"] if part["said"] is not None]
    if not told:
        few = any(part["comparisons_hidden"] for part in s["bounds"]["parity"])
        why = "Only groups that are not shown are compared." if few else "No parity bound was asked for."
        return Answer("apart", question, "not bounded" if not few else "not shown", (why,), "open", section)
    # Of several that which has to do something: the table as it is may keep others.
    first = next(
        (part for part in told if number(part["furthest_before"]["apart"]) > number(part["smallest_bound"])), told[0]
    )
    said, before, after = first["said"], first["furthest_before"], first["furthest_after"]
    # After, another outcome may be the one whose rates are furthest apart.
    then = "After" if after["outcome"] == before["outcome"] else f"{after['outcome']}, after"
    words = [
        f"{before['outcome']}, before: {pair(before)}.",
        f"{then}: {pair(after)}.",
        f"The bound is {said['bound']}.",
    ]
    if first["comparisons_hidden"]:
        words.append("It holds for everybody, those who are not shown here included.")
    if after["against"] == TARGET:
        words += _between(s)
    for more in [part for part in told if part is not first][:MOST_NAMED]:
        also = more["said"]
        words.append(f"Also bounded ({more['words']}): {also['before']} → {also['after']}, bound {also['bound']}.")
    beside = (
        "" if after["against"] != TARGET else f" {TARGET}" if said["after"].endswith("times") else f", beside {TARGET}"
    )
    return Answer("apart", question, f"{said['before']} → {said['after']}{beside}", tuple(words), "plain", section)


def _between(s: Json) -> list[str]:
    """Say how far apart the groups themselves are, where each is held against a target."""
    rows = [row for row in s["rates"]["rows"] if row["outcome"] == s["rates"]["told"]]
    if len(rows) < 2:
        return []
    before, after = (sorted(row[when] for row in rows) for when in ("before", "after"))
    apart = [Ratio().said(rates[-1], rates[0]) for rates in (before, after)]
    return [f"Between groups, the highest rate is {apart[0]} the lowest before, {apart[1]} after."]


def pair(found: Json) -> str:
    """Say two rates that are compared; a target is nobody's."""
    other = f"{percent(found['other'])} of {found['against']}"
    if found["against"] == TARGET:
        other = f"the target is {percent(found['other'])}"
    return f"{percent(found['rate'])} of {found['of']}; {other}"


def _changed(s: Json) -> Answer:
    changes = s["changes"]
    share, people = changes["share"], changes["people"]
    answer = "nobody"
    if share > 0:
        answer = f"{expected_people(share * people)} of {people:,.0f} {people_words(s)} ({percent(share)})"
    words, rest = [], changes["outcome_people"]
    outcome = outcome_name(s)
    moves = [move for move in changes["outcome"] if move["people"] >= SOME_PEOPLE]
    for move in sorted(moves, key=lambda row: -row["people"])[:MOST_NAMED]:
        which = "" if move["way"] is None else f", for the {move['way']}"
        some = _begin(expected_people(move["people"]))
        words.append(f"{some} go from {outcome}={move['from']} to {move['to']}{which}.")
        rest -= move["people"]
    if words and round(rest) >= 1:
        words.append(f"{expected_people(rest)} change in {outcome} in other ways.")
    features = changes["share_features"] * people
    if changes["suppressed"]:
        words.append("The outcome is drawn anew for everybody, from the released features alone.")
    if features >= SOME_PEOPLE:
        top = next((row for row in changes["columns"] if row["column"] != outcome), None)
        most = f"; most often {top['column']}: {top['from']} → {top['to']}" if top is not None else ""
        words.append(f"{_begin(expected_people(features))} change in their features{most}.")
    elif share > 0:
        words.append("Nobody's features change.")
    return Answer("changed", "How many people change, and how?", answer, tuple(words), "plain", "changed")


def _gains(s: Json) -> Answer:
    question, ledger = "Who is better off, and who is worse off?", s["ledger"]
    if ledger is None:
        why = (
            "The problem does not say which outcome is good for a person (favourable), so nobody can be called either."
        )
        return Answer("gains", question, "not stated", (why,), "open", "gains")
    good = f"{outcome_name(s)}={ledger['favourable']}"
    helped, harmed = ledger["helped"], ledger["harmed"]
    by = ", by weight" if s["table"]["weighed"] and (helped or harmed) else ""
    answer = f"{_who(helped)} better off, {_who(harmed)} worse off{by}"
    down, words = ledger["levelled_down"], list[str]()
    if down:
        named = [f"{short_name(row['group'])} from {percent(row['before'])} to {percent(row['after'])}" for row in down]
        rest = f", and {len(down) - MOST_NAMED} more" if len(down) > MOST_NAMED else ""
        words.append(f"The rate of {good} is levelled down: {'; '.join(named[:MOST_NAMED])}{rest}.")
    elif not harmed or not s["small_cells"]["groups_hidden"]:
        words.append(f"No group has a lower rate of {good} than before: nobody is levelled down.")
    else:
        words.append(f"No group that is shown has a lower rate of {good} than before.")
    if harmed and s["small_cells"]["groups_hidden"]:
        words.append("Groups that are not shown may have a lower rate; all are counted.")
    if s["changes"]["suppressed"]:
        words.append("As if the drawn outcome were released.")
    return Answer("gains", question, answer, tuple(words), "worse" if harmed or down else "better", "gains")


def _file(s: Json) -> Answer:
    question, file = "Does this very file keep the bound?", s["this_file"]
    if file is not None:
        kept = {True: "yes", False: "no", None: "not decided"}[file["kept"]]
        tone: dict[bool | None, Tone] = {True: "better", False: "worse", None: "open"}
        return Answer("file", question, f"{kept}: {file['name']}", tuple(file["brief"]), tone[file["kept"]], "file")
    new = s["new_people"]
    words = ["No released file was given with this report."]
    if new["releases_over"] is not None:
        words.append(
            f"Constraints hold in expectation: with independent draws {percent(new['releases_over'])} of "
            f"{new['releases']:,} simulated releases violate one. Pass the manifest that evenhand release writes "
            f"beside a file to see that file's rates here."
        )
    return Answer("file", question, "not looked at", tuple(words), "open", "file")


def _new_people(s: Json) -> Answer:
    question, new = "For whom does the bound hold?", s["new_people"]
    first = " of the first bound" if len(s["bounds"]["parity"]) > 1 else ""
    strays = f"On {new['resamples']:,} resampled tables the rates{first} are mostly {new['resamples_apart']}"
    over = new["resamples_over"]
    strays += "." if over is None else f", and violate a bound in {percent(over)} of them."
    if new["confidence"] is not None:
        answer = f"another sample of the same population, at a confidence of {percent(new['confidence'], 0)}"
        constrained = (
            "Constrained are the expected rates of this mapping on another sample of the same population whose "
            "outcomes are known. That is checked by simulation, not proved. It is not about single draws, about people "
            "whose outcomes are not known yet, or about changes over time."
        )
        return Answer("new", question, answer, (constrained, *ANSWERED, strays), "better", "fresh")
    alone = "No confidence was asked for: the bound is about the people of the table alone."
    return Answer("new", question, "the people of this table", (alone, strays), "worse" if over else "open", "fresh")


def _not_covered(s: Json) -> Answer:
    words = ["Whatever a model decides at a threshold, and what it learns from columns outside the problem."]
    if not s["bounds"]["budgets"]:
        words.append("How much one person may change: no budget was asked for.")
    protected = [column["name"] for column in s["table"]["columns"] if column["role"] == "protected"]
    if all(set(columns) != set(protected) for columns in s["bounded_on"]):
        bounded = {name for columns in s["bounded_on"] for name in columns}
        alone = "".join(f"groups by {name}, " for name in protected if name not in bounded)
        words.append(_begin(f"{alone}groups that {' × '.join(protected)} form together."))
    words.append(f"{len(s['not_covered'])} sentences below say what else, and for whom the bounds hold.")
    answer = "decisions of models, other columns, other people"
    return Answer("covered", "What is not covered?", answer, tuple(words), "open", "covered")


def decided(s: Json) -> str:
    """Say how far apart the decisions of a model are, before and after: one that was fitted, or else a plain one."""
    found, fitted = s["decisions"], s["models"]["fitted"]
    plain_one = found["apart"]["not_seeing_protected"]
    apart = plain_one if fitted is None else fitted["apart"]
    if apart["before"] is None or apart["after"] is None:
        return "No group has people enough to be shown."
    which, sight, source, more = "A plain model", "without", found["learned_from"], ""
    if fitted is not None:
        more = f" A plain model, learned from {source}: {_times(plain_one)}."
        which, source = "The model fitted here", fitted["learned_from"]
        sight = "with" if fitted["sees_protected"] else "without"
    times = "" if not apart["before"]["high"] and not apart["after"]["high"] else f": {_times(apart)}"
    return (
        f"{which}, {sight} the protected columns, decides {found['outcome']} for {_range(apart['before'])} before, "
        f"and for {_range(apart['after'])} after learning from {source}{times}.{more} Equally likely outcomes count in "
        f"equal parts, of two a half each. No bound covers decisions."
    )


def _times(apart: Json) -> str:
    return f"{apart['before']['times']} → {apart['after']['times']}"


def _range(spread: Json) -> str:
    """Say for which shares of the groups something is decided."""
    low, high = percent(spread["low"]), percent(spread["high"])
    if low != high:
        return f"{low} to {high} of a group’s people"
    return {percent(1.0): "everybody", percent(0.0): "nobody"}.get(low, f"{low} of every group’s people")


def _begin(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _who(people: float) -> str:
    return expected_people(people) if people else "nobody"


def outcome_name(s: Json) -> str:
    return str(next(column["name"] for column in s["table"]["columns"] if column["role"] == "outcome"))


def percent(share: Any, digits: int = 1) -> str:
    """Write a share; what is not there, or no number, is a dash."""
    # Without what rounding left, so that a half is written alike everywhere.
    return NONE if share is None or isinstance(share, str) else f"{100 * round(share, 9):.{digits}f}%"
