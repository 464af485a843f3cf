"""The options that say how code and weights come into the product."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from .help import ArtifactOption
from .options import EmitKinds

F = TypeVar("F", bound=Callable[..., Any])


name_option = click.option(
    "--name", metavar="NAME", help="Prefix of files and symbols.  [default: from the model's file]"
)


def emit_option(kinds: str) -> Callable[[F], F]:
    """``--emit``; ``kinds`` are those that the command writes."""
    return click.option(
        "--emit", type=EmitKinds(), default="c,lib", show_default=True, help=f"What to write: {kinds}."
    )


slices_option = click.option(
    "--slices", cls=ArtifactOption, is_flag=True,
    help="With functions NAME_begin and NAME_step besides, which run the model layer by layer.",
)  # fmt: skip


def artifact_options(function: F) -> F:
    """All of them, as one argument ``artifact``: an :class:`ArtifactOptions`."""

    @wraps(function)
    def command(*args: Any, weights: str, slices: bool, **values: Any) -> Any:
        from ..artifact.options import ArtifactOptions

        return function(*args, artifact=ArtifactOptions(weights == "external", slices), **values)

    weights = click.option(
        "--weights", cls=ArtifactOption, type=click.Choice(["internal", "external"]), default="internal",
        show_default=True,
        help="external: weights are in the file NAME.weights, which the caller maps or has in a flash of its own.",
    )  # fmt: skip
    return weights(slices_option(command))  # type: ignore[return-value]
