"""The ``ccml`` command: its group, and how it ends.

Nothing heavy is imported here or at the head of a command's file, so that ``ccml --help`` and shell completion are
quick; commands import the compiler when they run.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from .. import __version__
from ..errors import CcmlError, ErrorCode, ExitCode
from . import boards, doctor, features, inspect, link, new, ops, page, profile, quantize, run, targets, tune, verify
from . import compile as compile_command
from .options import JSON_FLAG
from .output import print_error, print_json_error
from .verbosity import logging_options, plain_output, settings

_INTERRUPTED = 130
_ALLOCATIONS = 400_000
"""Between two searches for cycles: a hundred megabytes at most."""


_HELP = """Compiles ONNX models to C, objects and libraries for {}.

    \b
    ccml compile kws.onnx -t cortex-m4            C sources, a library, a report
    ccml verify kws.onnx                          against the ONNX reference
    ccml page kws_cortex-m4                       the report as a page to look at
    """


class _Group(click.Group):
    """A group that ends with ccml's exit codes, and shows a traceback to those only who ask for it."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """With what the targets are for, which take long to import."""
        from ..targets import FAMILIES

        self.help = _HELP.format(FAMILIES)
        super().format_help_text(ctx, formatter)

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        """``standalone_mode`` ends the process, as click documents it."""
        run = partial(super().main, args, standalone_mode=False, **extra)
        settings().answered = False
        words = sys.argv[1:] if args is None else list(args)
        return sys.exit(_exit_code(run, JSON_FLAG in words)) if standalone_mode else run()


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 ok, 1 failure, 2 usage, 3 unsupported model, 4 verification mismatch, 5 over budget, "
    "6 toolchain missing.",
)
@click.version_option(__version__, "--version", "-V", message="ccml %(version)s")
@logging_options
@click.pass_context
def cli(context: click.Context) -> None:
    if plain_output():
        context.color = False


_COMMANDS = (
    compile_command, link, run, quantize, verify, inspect, profile, tune, page, features, new, targets, boards, ops,
    doctor,
)  # fmt: skip

for command in _COMMANDS:
    cli.add_command(command.command)


def _exit_code(invoke: Callable[[], object], as_json: bool) -> int:
    """Runs the command line and prints the error it ends with, if any. Where JSON is wanted, the error takes the place
    of a result that was not printed."""

    def show(error: CcmlError) -> None:
        print_error(error)
        if as_json and not settings().answered:
            print_json_error(error)

    try:
        result = invoke()
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return int(ExitCode.USAGE)
    except click.ClickException as error:
        show(_usage_error(error))
        return int(ExitCode.USAGE)
    except click.Abort:
        click.echo("aborted", err=True)
        return _INTERRUPTED
    except CcmlError as error:
        show(error)
        if settings().debug:
            traceback.print_exc()
        return int(error.kind.exit_code)
    except BrokenPipeError:
        # Whoever read our output has gone; nothing more can be said, not even by the interpreter at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.FAILURE)
    except MemoryError:
        click.echo("error: out of memory", err=True)
        return int(ExitCode.FAILURE)
    except Exception as error:  # a fault of ccml
        _report_internal(error)
        return int(ExitCode.FAILURE)
    return result if isinstance(result, int) else int(ExitCode.OK)


def _usage_error(error: click.ClickException) -> CcmlError:
    """What click has against the command line, as an error of ccml."""
    reason = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = None if context is None else f"'{context.command_path} --help' lists what there is"
    return CcmlError(ErrorCode.BAD_OPTION, reason[:1].lower() + reason[1:], hint=hint)


def _report_internal(error: Exception) -> None:
    click.echo(f"internal error: {type(error).__name__}: {error}", err=True)
    if settings().debug:
        traceback.print_exc()
        click.echo("please report this with the traceback and, if you may, the model", err=True)
    else:
        click.echo("please report this, with the output of the same command and --debug", err=True)


def main() -> None:
    """The entry point of the ``ccml`` script.

    NumPy's linear algebra, which tunes weights, gets one thread unless the user says otherwise: the matrices are small,
    and threads that wait for each other took twice the time on two busy cores. It has to be said before NumPy loads.
    Trees of loop IR have no cycles: the search for such, over all of them, is made seldom, and not at the end, where
    the interpreter would make it twice for memory that goes with the process.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(_ALLOCATIONS, 20, 20)
    try:
        cli.main(prog_name="ccml")
    finally:
        gc.freeze()
