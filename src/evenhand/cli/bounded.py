"""Commands that read tables take --memory and --threads: added to them here, once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from evenhand.errors import SpecError
from evenhand.resources import LEAST, MOST, MOST_THREADS, USUAL, in_bytes, using


def _memory(value: str | None) -> str | None:
    """Refuse what is no size, or too small a one."""
    if value is not None:
        try:
            size = in_bytes(value)
        except SpecError:
            raise typer.BadParameter(f"must look like 512MB or 2GB, not {value!r}") from None
        if not in_bytes(LEAST) <= size <= in_bytes(MOST):
            raise typer.BadParameter(f"must be from {LEAST} to {MOST}, not {value!r}")
    return value


OPTIONS: dict[str, Any] = {
    "memory": Annotated[
        str | None,
        typer.Option(
            callback=_memory,
            help=f"What work on files may hold at once, such as 2GB; by default EVENHAND_MEMORY, or {USUAL}.",
        ),
    ],
    "threads": Annotated[
        int | None,
        typer.Option(min=1, max=MOST_THREADS, help="How many cores to use; by default EVENHAND_THREADS, or all."),
    ],
}


def bounded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that also takes the options, and runs within them."""

    @wraps(command)
    def run(*, memory: str | None = None, threads: int | None = None, **given: Any) -> None:
        with using(memory=memory, threads=threads):
            command(**given)

    # Typer reads a command's options from its signature.
    own = inspect.signature(command, eval_str=True)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in OPTIONS.items()
    ]
    signature = own.replace(parameters=[*own.parameters.values(), *more])
    run.__dict__["__signature__"] = signature
    run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
    return run
