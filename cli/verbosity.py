"""How much the process says on stderr, and in which colours."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from .help import GeneralOption

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Settings:
    """How talkative the process is. ``answered``: the JSON that was asked for is on stdout."""

    debug: bool = False
    quiet: bool = False
    verbosity: int = 0
    answered: bool = False


_SETTINGS = Settings()


def settings() -> Settings:
    return _SETTINGS


def logging_options(function: F) -> F:
    """``-v``, ``-q`` and ``--debug``, on the group and on every command."""
    verbose = click.option(
        "-v", "--verbose", cls=GeneralOption, count=True, expose_value=False, is_eager=True, callback=_set_verbosity,
        help="Say what is being done; twice for more.",
    )  # fmt: skip
    quiet = click.option(
        "-q", "--quiet", cls=GeneralOption, is_flag=True, expose_value=False, is_eager=True, callback=_set_quiet,
        help="Say nothing but errors, and what was asked for.",
    )  # fmt: skip
    debug = click.option(
        "--debug", cls=GeneralOption, is_flag=True, expose_value=False, is_eager=True, callback=_set_debug,
        help="Show tracebacks of errors.",
    )  # fmt: skip
    return verbose(quiet(debug(function)))


def _set_verbosity(context: click.Context, _: click.Parameter, count: int) -> None:
    if context.parent is None:
        _SETTINGS.verbosity = 0
    _SETTINGS.verbosity = max(_SETTINGS.verbosity, count)
    _set_up_logging()


def _set_quiet(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if context.parent is None:
        _SETTINGS.quiet = False
    _SETTINGS.quiet = _SETTINGS.quiet or wanted
    _set_up_logging()


def _set_debug(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if context.parent is None:
        _SETTINGS.debug = False
    _SETTINGS.debug = _SETTINGS.debug or wanted


def plain_output() -> bool:
    """Whether the user wants no escape sequences: ``NO_COLOR`` is set, or the terminal knows none."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def say(text: str, *, error: bool = True) -> None:
    """A line on stderr, or on stdout; its colours are left out where they are not wanted or the stream is no
    terminal."""
    click.echo(text, err=error, color=False if plain_output() else None)


def note(text: str) -> None:
    """A remark on stderr, unless nothing is to be said."""
    if not _SETTINGS.quiet:
        say(text)


class _Formatter(logging.Formatter):
    """Warnings say that they are."""

    def format(self, record: logging.LogRecord) -> str:
        if record.levelno < logging.WARNING:
            return record.getMessage()
        return f"{click.style(f'{record.levelname.lower()}:', fg='yellow')} {record.getMessage()}"


class _StderrHandler(logging.Handler):
    """Writes to what ``sys.stderr`` is at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


def _set_up_logging() -> None:
    logger = logging.getLogger("ccml")
    handler = next((h for h in logger.handlers if isinstance(h, _StderrHandler)), None)
    if handler is None:
        handler = _StderrHandler()
        handler.setFormatter(_Formatter())
        logger.addHandler(handler)
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(_SETTINGS.verbosity, 2)]
    level = logging.ERROR if _SETTINGS.quiet else level
    handler.setLevel(level)
    logger.setLevel(level)
