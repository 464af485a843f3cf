"""The options that say how code and weights come into the product."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .help import ArtifactOption
from .parameter_types import BindingNames, EmitKinds, PackageNames

if TYPE_CHECKING:
    from ..program.placing import Placing

F = TypeVar("F", bound=Callable[..., Any])


_SECTION = re.compile(r"[A-Za-z0-9_.$]+")


class PlaceName(click.ParamType):
    """``code:LAYER=SECTION`` or ``weights:LAYER=SECTION``."""

    name = "what:layer=section"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Placing:
        from ..program.placing import CODE, WEIGHTS, Placing

        if isinstance(value, Placing):
            return value
        what, _, rest = str(value).partition(":")
        layer, _, section = rest.rpartition("=")
        if what not in (CODE, WEIGHTS) or not layer or not _SECTION.fullmatch(section):
            self.fail(f"'{value}' is not code:LAYER=SECTION or weights:LAYER=SECTION", param, ctx)
        return Placing(what, layer, section)


name_option = click.option(
    "--name", metavar="NAME", help="Prefix of files and symbols.  [default: from the model's file]"
)


def emit_option(kinds: str) -> Callable[[F], F]:
    """``--emit``; ``kinds`` are those that the command writes."""
    return click.option(
        "--emit", type=EmitKinds(), default="c,lib", show_default=True, help=f"What to write: {kinds}."
    )


jobs_option = click.option(
    "--jobs", type=click.IntRange(1, 256), default=1, show_default=True, metavar="N",
    help="How many processes make the code for the CPUs of an ABI.",
)  # fmt: skip

bindings_option = click.option(
    "--bindings", type=BindingNames(), default=(), metavar="NAMES",
    help="How other languages call the model, separated by commas: cpp (C++17 header), python (module for a wheel), "
    "rust (no_std crate), js (ES module, for wasm), java (class and jar).",
)  # fmt: skip

package_option = click.option(
    "--package", "packages", type=PackageNames(), default=(), metavar="NAMES",
    help="Packages with an application that runs the model on a sample, separated by commas: cmake, make, arduino, "
    "platformio, zephyr, esp-idf, cmsis-pack, cube; for all ABIs: aar (Android), xcframework (Apple).",
)  # fmt: skip

page_option = click.option("--page", type=click.Path(), metavar="FILE", help="Write a page of HTML about all of it.")

slices_option = click.option(
    "--slices", cls=ArtifactOption, is_flag=True,
    help="With functions NAME_begin and NAME_step besides, which run the model layer by layer.",
)  # fmt: skip

weights_option = click.option(
    "--weights", cls=ArtifactOption, type=click.Choice(["internal", "external"]), default="internal",
    show_default=True,
    help="external: weights are in the file NAME.weights, which the caller maps or has in a flash of its own.",
)  # fmt: skip


def artifact_options(function: F) -> F:
    """All of them, as one argument ``artifact``: an :class:`ArtifactOptions`."""

    @wraps(function)
    def command(
        *args: Any, weights: str, slices: bool, slice_cycles: int | None, place: tuple[Placing, ...], **values: Any
    ) -> Any:
        from ..artifact.options import ArtifactOptions

        options = ArtifactOptions(weights == "external", slices, place, slice_cycles)
        return function(*args, artifact=options, **values)

    place = click.option(
        "--place", cls=ArtifactOption, multiple=True, type=PlaceName(), metavar="WHAT:LAYER=SECTION",
        help="Put code or weights of layers into a section, as code:conv*=.itcm or weights:3=.dtcm; repeatable.",
    )  # fmt: skip
    cycles = click.option(
        "--slice-cycles", cls=ArtifactOption, type=click.IntRange(1), metavar="N",
        help="As --slices, with steps of at most N cycles where layers can be taken apart (Cortex-M).",
    )  # fmt: skip
    return weights_option(slices_option(cycles(place(command))))  # type: ignore[return-value]
