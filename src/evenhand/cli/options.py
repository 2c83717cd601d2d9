"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ProblemArgument = Annotated[str, typer.Argument(help="A problem in TOML, or an embedded study: compas, adult.")]
TableArgument = Annotated[
    Path | None, typer.Argument(help="A CSV or Parquet file, one row a person; an embedded study has its own.")
]
MappingArgument = Annotated[Path, typer.Argument(help="A mapping file, as written by fit, shield or demo.")]
WeightsOption = Annotated[str | None, typer.Option(help="A column of weights, for a table of counts.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
ProofOption = Annotated[Path | None, typer.Option(help="Write a proof, for: evenhand verify.")]
LimitOption = Annotated[float | None, typer.Option(help="Seconds after which to stop.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Makes the draws repeatable.")]


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
            if points < 2:
                raise ValueError
            return [float(low) + (float(high) - float(low)) * i / (points - 1) for i in range(points)]
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"must look like 0:0.7:50 (from, to, how many) or 0.1,0.2,0.5, not {text!r}", param_hint=option
        ) from None


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
