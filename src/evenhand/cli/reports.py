"""The command that writes a report: a page with its numbers, or a bundle with all that checks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, reply
from evenhand.cli.files import writing
from evenhand.cli.manifests import SignOffOption, read_sign_off
from evenhand.cli.options import (
    ConfidenceOption,
    ForceOption,
    FrequenciesOption,
    HideBelowOption,
    MappingArgument,
    MissingOption,
    SeedOption,
    WeightsOption,
    asked,
    counting,
    typed,
)
from evenhand.cli.sections import counted_once
from evenhand.data import FEW_PEOPLE
from evenhand.errors import SpecError
from evenhand.render.section import Column, Fact, Note, Section, Table

if TYPE_CHECKING:
    from evenhand.data.domain import Value
    from evenhand.mapping import Mapping
    from evenhand.use.bundle import Bundle
    from evenhand.use.reporting import Report


def report(
    context: typer.Context,
    mapping: MappingArgument,
    out: Annotated[Path, typer.Option(help="Where to write the page; its numbers go beside it, as .json.")] = Path(
        "report.html"
    ),
    bundle: Annotated[
        Path | None,
        typer.Option(
            help="Write a folder in place of a page: the report, the proof and its verifier, impact ratios, a "
            "datasheet, a summary for a job, and checksums."
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="A CSV or Parquet file to fit a plain model on: its mean scores and its decisions. Of a bundle, whose "
            "impact ratios are told."
        ),
    ] = None,
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    manifest: Annotated[
        Path | None,
        typer.Option(help="OUT.manifest.json of a file that this mapping wrote: does that very file keep the bounds?"),
    ] = None,
    sign_off: SignOffOption = None,
    selected: Annotated[
        str | None,
        typer.Option(
            help="With --bundle: the outcome that counts as being selected; by default the favourable one, or of two "
            "the last."
        ),
    ] = None,
    hide_below: HideBelowOption = FEW_PEOPLE,
    show_all_groups: Annotated[
        bool,
        typer.Option(
            "--show-all-groups",
            help="With --bundle: name every category in the table of impact ratios, as a law may ask: small ones too.",
        ),
    ] = False,
    frontier: Annotated[bool, typer.Option(help="Trace what other parity bounds would cost.")] = True,
    points: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="How many bounds the frontier is solved at, beside the mapping's own and one that changes nobody: 12, "
            "or 6 where the table has more than 2,000 cells.",
        ),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    missing: MissingOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write one page for the person who signs off: what was asked, what is bounded, who is changed, at what cost."""
    given = counting(weights, frequencies, table, "--table; the fitted one has its own")
    if missing is not None and table is None:
        raise typer.BadParameter("goes with --table", param_hint="--missing")
    if bundle is None and (selected is not None or show_all_groups):
        hint = "--show-all-groups" if selected is None else "--selected"
        raise typer.BadParameter("goes with --bundle", param_hint=hint)
    # The numbers of a page of another name could have the same name, and no browser would open the page.
    if out.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"must end in .html, not {out.name!r}", param_hint="--out")
    screen.load()
    from evenhand.mapping import Mapping
    from evenhand.use.reporting import json_path, report_on

    options: dict[str, Any] = {
        **given, **asked(missing), "frame": table, "hide_below": hide_below, "trace": frontier, "points": points,
        "confidence": confidence, "seed": seed, "manifest": manifest, "source": mapping, "command": typed(context),
    }  # fmt: skip

    def made(write: Callable[..., Any]) -> tuple[Mapping, Any]:
        options["sign_off"] = read_sign_off(sign_off)
        with screen.progress_bar() as progress:
            progress("reading", 0.0)
            fitted = Mapping.load(mapping)
            return fitted, write(fitted, **options, progress=progress)

    if bundle is None:
        with writing(force, out, json_path(out), inputs=(mapping, table, manifest, sign_off)):
            fitted, found = made(report_on)
            written = _written(found, *found.save(out))
        sections, whole, facts = [written], found, {"report": found.document}
    else:
        fitted, folder = made(_bundled(bundle, options, selected, show_all_groups=show_all_groups, force=force))
        sections, whole, facts = [_listed(folder), *folder.impact.sections], folder.report, {}
    cells = Note("written.cells" if bundle is None else "written.all_cells")
    notes = (*_hidden(whole), cells, *counted_once(fitted, table, given))
    sections[0] = Section(sections[0].key, sections[0].facts, tables=sections[0].tables, notes=notes)
    reply(as_json, "report", sections, facts=facts)


def _bundled(
    path: Path, options: dict[str, Any], selected: str | None, *, show_all_groups: bool, force: bool
) -> Callable[..., Bundle]:
    """Return what writes a bundle, whose folder is refused now where it could not be written."""
    from evenhand.use.bundle import bundle, check_folder

    check_folder(path, force=force)
    if options["frame"] is not None and "missing" not in options:
        # People of whom a protected column says nothing are counted in impact ratios; a report alone must be told so.
        options |= {"missing": "level", "command": f"{options['command']} --missing level"}

    def write(mapping: Mapping, **given: Any) -> Bundle:
        level = None if selected is None else _level(mapping, selected)
        return bundle(mapping, path, selected=level, show_all_groups=show_all_groups, force=force, **given)

    return write


def _written(found: Report, page: Path, numbers: Path) -> Section:
    rows = ((page, Note("written.report")), (numbers, Note("written.numbers")))
    facts = Fact("page", page, detail=True), Fact("numbers", numbers, detail=True)
    return Section("written", facts=facts, tables=(Table("files", (Column("file"), Column("what")), rows),))


def _listed(found: Bundle) -> Section:
    columns = Column("file"), Column("what"), Column("sha256", data=True)
    rows = tuple((found.path / name, what, found.sha256.get(name)) for name, what in found.files.items())
    return Section("written", facts=(Fact("folder", found.path, detail=True),), tables=(Table("files", columns, rows),))


def _hidden(found: Report) -> Iterator[Note]:
    """Yield how many cells and groups are not shown."""
    from evenhand.findings.discretion import not_shown

    first = found.sections[0]
    for what in ("cells", "groups"):
        if hidden := first.value(f"{what}_hidden"):
            yield Note(
                "written.hidden", {"hidden": not_shown(hidden, first.value(what), what, first.value("hide_below"))}
            )


def _level(mapping: Mapping, text: str) -> Value:
    """Return the level of the outcome that a word of the command line means."""
    outcome = mapping.counts.domain.outcome
    for level in outcome.levels:
        if str(level) == text:
            return level
    raise SpecError(
        f"--selected names {outcome.name}={text}, which does not exist; the levels are {list(map(str, outcome.levels))}"
    )
