"""The arguments and options that several commands share."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.errors import SpecError
from evenhand.resources import LEAST, MOST, MOST_THREADS, USUAL, in_bytes, using

MOST_POINTS = 100_000
"""More points than anybody waits for."""

ProblemArgument = Annotated[str, typer.Argument(help="A problem in TOML, or an embedded study: compas, adult.")]
TableArgument = Annotated[
    Path | None, typer.Argument(help="A CSV or Parquet file, one row per person; an embedded study has its own.")
]
MappingArgument = Annotated[Path, typer.Argument(help="A mapping file, as written by fit, shield or demo.")]
WeightsOption = Annotated[
    str | None,
    typer.Option(
        help="A column of survey weights: a row is one person, who counts more or less. By default what the problem "
        "says.",
        show_default=False,
    ),
]
FrequenciesOption = Annotated[
    str | None,
    typer.Option(
        help="The column of a table of counts that says for how many people a row stands. By default what the problem "
        "says.",
        show_default=False,
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
ProofOption = Annotated[Path | None, typer.Option(help="Write a proof, for: evenhand verify.")]


def _checked(holds: Callable[[float], bool], what: str) -> Callable[[float | None], float | None]:
    """Return what refuses a number of another kind than an option takes."""

    def check(value: float | None) -> float | None:
        if value is not None and not holds(value):
            hint = f"; write {value / 100:g}" if 2 <= value < 100 and holds(value / 100) else ""
            raise typer.BadParameter(f"must be {what}, not {value:g}{hint}")
        return value

    return check


_share = _checked(lambda value: 0 < value < 1, "between 0 and 1, such as 0.95")
sure: Callable[[float | None], float | None] = _checked(
    lambda value: 0.5 <= value < 1, "between 0.5 and 1, such as 0.95"
)
_above_zero = _checked(lambda value: value > 0, "a number of seconds above 0")
_at_least_zero = _checked(lambda value: 0 <= value < math.inf, "0 or more")
LimitOption = Annotated[float | None, typer.Option(callback=_above_zero, help="Seconds after which to stop.")]
ConfidenceOption = Annotated[float, typer.Option(callback=_share, help="Of every interval and statement.")]
SureOption = Annotated[
    float | None,
    typer.Option(
        "--confidence",
        callback=sure,
        help="That all parity bounds hold at once in the population that the table is a sample of, such as 0.95; by "
        "default what the problem says.",
    ),
]
MarginOption = Annotated[
    float, typer.Option(callback=_at_least_zero, help="How much the parity bound may widen on fresh people.")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Makes the draws repeatable.")]


class Missing(StrEnum):
    """What a missing value is where the fitted table had none."""

    level = "level"
    error = "error"


MissingOption = Annotated[
    Missing | None,
    typer.Option(
        help="A missing value where the fitted table had none: a level that nobody had, so that its row is kept as it "
        "is and counted, or an error; by default what the problem says."
    ),
]


class Unseen(StrEnum):
    """What becomes of rows in cells that nobody had."""

    typical = "typical"
    keep = "keep"
    error = "error"


class Policy(StrEnum):
    """The same where nothing can be refused."""

    typical = "typical"
    keep = "keep"


ROWS_UNSEEN = (
    "Rows in cells that nobody had: outcomes as people of their group and outcome get on average, or left as they are"
)
BY_DEFAULT = "By default typical."
UnseenOption = Annotated[Unseen | None, typer.Option(help=f"{ROWS_UNSEEN}, or refused. {BY_DEFAULT}")]
PolicyOption = Annotated[Policy | None, typer.Option(help=f"{ROWS_UNSEEN}. {BY_DEFAULT}")]


def asked(missing: Missing | None, unseen: Unseen | Policy | None = None) -> dict[str, Any]:
    """Return what was said of missing values and new cells as arguments; nothing where the default holds."""
    said = {"unseen": unseen, "missing": missing}
    return {name: value.value for name, value in said.items() if value is not None}


def numbers(option: str, text: str | None) -> list[float] | None:
    """Read ``from:to:count`` or a list of numbers.

    Examples
    --------
    >>> numbers("--bounds", "0:1:3"), numbers("--bounds", "0.1,0.2")
    ([0.0, 0.5, 1.0], [0.1, 0.2])
    """
    if text is None:
        return None
    try:
        if ":" in text:
            low, high, count = text.split(":")
            points = int(count)
            if not 2 <= points <= MOST_POINTS:
                raise ValueError
            found = [float(low) + (float(high) - float(low)) * i / (points - 1) for i in range(points)]
        else:
            found = [float(part) for part in text.split(",")]
        if not all(0 <= number < math.inf for number in found):
            raise ValueError
        return found
    except ValueError:
        raise typer.BadParameter(
            f"must look like 0:0.7:50 (from, to, how many, at most {MOST_POINTS:,}) or 0.1,0.2,0.5, not {text!r}",
            param_hint=option,
        ) from None


def check_ending(option: str, path: Path | None, endings: Sequence[str]) -> None:
    """Refuse a file of a kind that is not written."""
    if path is not None and not path.name.lower().endswith(tuple(endings)):
        listed = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise typer.BadParameter(f"must end in {listed}, not {path.name!r}", param_hint=option)


HideBelowOption = Annotated[
    float, typer.Option(min=0, help="Cells and groups of fewer people are not shown; 0 shows all.")
]


def words(option: str, text: str | None) -> list[str] | None:
    """Read a list of words, separated by commas.

    Examples
    --------
    >>> words("--protected", "sex, race")
    ['sex', 'race']
    """
    if text is None:
        return None
    found = [part.strip() for part in text.split(",")]
    if not all(found):
        raise typer.BadParameter(f"must look like age,hours, not {text!r}", param_hint=option)
    return found


BESIDE = ("out", "proof", "bundle", "selected", "show_all_groups", "force", "as_json", "threads")
"""Where an answer goes, and how fast it comes: what is in a mapping or on a page does not depend on them."""


def typed(context: typer.Context) -> str:
    """Return the command that is being run with the options that it was given, but for those beside its answer."""
    from evenhand.cli import screen

    words: list[Any] = [context.command.name]
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or name in BESIDE:
            continue
        value = context.params[name]
        if isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            words += [] if parameter.param_type_name == "argument" else parameter.opts[:1]
            words.append(f"{value:.15g}" if isinstance(value, float) else value)
    # Files hold text: a name that is none is spelled, though a shell would not take it so.
    return screen.command(*words).encode(errors="backslashreplace").decode()


def _size(least: str) -> Callable[[str | None], str | None]:
    """Return what refuses what is no size, or too small a one."""

    def check(value: str | None) -> str | None:
        if value is not None:
            try:
                size = in_bytes(value)
            except SpecError:
                raise typer.BadParameter(f"must look like 512MB or 2GB, not {value!r}") from None
            if not in_bytes(least) <= size <= in_bytes(MOST):
                raise typer.BadParameter(f"must be from {least} to {MOST}, not {value!r}")
        return value

    return check


RESOURCES: dict[str, Any] = {
    "memory": Annotated[
        str | None,
        typer.Option(
            callback=_size(LEAST),
            help=f"What work on files may hold at once, such as 2GB; by default EVENHAND_MEMORY, or {USUAL}.",
        ),
    ],
    "threads": Annotated[
        int | None,
        typer.Option(min=1, max=MOST_THREADS, help="How many cores to use; by default EVENHAND_THREADS, or all."),
    ],
    "unpacked": Annotated[
        str | None,
        typer.Option(
            callback=_size("1B"),
            help="How large a packed file may be unpacked, such as 20GB; by default 100 times its packed size, and "
            "256MB at least.",
        ),
    ],
}


def bounded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that also takes --memory, --threads and --unpacked, and runs within them."""

    @wraps(command)
    def run(
        *, memory: str | None = None, threads: int | None = None, unpacked: str | None = None, **given: Any
    ) -> None:
        with using(memory=memory, threads=threads, unpacked=unpacked):
            command(**given)

    # Typer reads a command's options from its signature.
    own = inspect.signature(command, eval_str=True)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in RESOURCES.items()
    ]
    signature = own.replace(parameters=[*own.parameters.values(), *more])
    run.__dict__["__signature__"] = signature
    run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
    return run


def counting(
    weights: str | None,
    frequencies: str | None,
    table: object = True,
    whose: str = "a table; the fitted one has its own",
) -> dict[str, Any]:
    """Return by which column rows count, as calls take it; refused without the table that has the column."""
    both = {"weights": weights, "frequencies": frequencies}
    given = {option: column for option, column in both.items() if column is not None}
    if given and table is None:
        raise typer.BadParameter(f"goes with {whose}", param_hint=f"--{next(iter(given))}")
    return given
