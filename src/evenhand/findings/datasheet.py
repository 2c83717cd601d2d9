"""What a bundle says in Markdown: a datasheet of the released table, and a summary for the page of a job.

Both are sections of the report, which are filtered already, and impact ratios, in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evenhand._version import __version__
from evenhand.findings.impact import Impact
from evenhand.render.section import Note, Section

MOST_CAVEATS = 3
"""How many sentences a summary says of what is not covered."""

OF_A_DATASHEET = ("asked", "changes", "gains", "outcomes", "rates", "certificate", "file", "caveats")


def datasheet(report: Sequence[Section], files: Sequence[str]) -> tuple[Section, ...]:
    """Return what the released table is, who is in it, what was changed, what it is not for, and who answers for it."""
    first, *sections = report
    known = {section.key: section for section in sections}
    about = {name: first.value(name) for name in ("outcome", "people")} | {"evenhand": __version__}
    what = Section("datasheet", notes=(Note("datasheet.what", about), Note("datasheet.passed_through")))
    told = [_plain(known[key]) for key in OF_A_DATASHEET if key in known]
    signed = [part for part in first.parts if part.key == "sign_off"]
    signed = signed or [Section("sign_off", notes=(Note("datasheet.not_signed"),))]
    repeat = known["repeat"]
    facts = tuple(fact for fact in repeat.facts if fact.key == "mapping_file")
    notes = Note("datasheet.proof"), Note("datasheet.sums", {"files": list(files)})
    return (what, *told, *signed, Section("checks", facts=facts, notes=notes))


def job_summary(report: Sequence[Section], found: Impact) -> tuple[Section, ...]:
    """Return what a signer asks, the certificate, impact ratios by all columns together, and what is not covered."""
    first, *sections = report
    known = {section.key: section for section in sections}
    cards = tuple(part for part in first.parts if part.form == "card")
    caveats = replace(known["caveats"], notes=known["caveats"].notes[:MOST_CAVEATS])
    return (replace(first, key="job", parts=cards), known["certificate"], found.in_short, caveats)


def _plain(section: Section) -> Section:
    """Return a section without its parts; of the columns of the table, those that a file has."""
    if section.key != "asked":
        return replace(section, parts=())
    (columns,) = section.tables
    read = [at for at, learned in enumerate(columns.values("learned")) if not learned]
    return replace(section, parts=(), tables=(columns.kept(read),))
