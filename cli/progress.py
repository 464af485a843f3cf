"""What a command is doing, on one line of a terminal, with the time that passed and the share that is done."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import click

from .verbosity import settings

_TICK = 1.0
"""Seconds between updates of the time."""
_SLOW = 2.0
"""Seconds from which on the time is shown."""


@contextmanager
def progress() -> Iterator[None]:
    """Shows the latest step on stderr while something takes its time, where that is a terminal and no dumb one.

    Steps are log records of level INFO; one that is repeated says by the attribute ``share`` how much is done (0..1).
    """
    logger = logging.getLogger("ccml")
    level = logger.level
    wanted = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not settings().quiet
    if not wanted or level < logging.WARNING:
        yield
        return
    status = StatusLine()
    logger.handlers.insert(0, status)
    logger.setLevel(logging.INFO)
    try:
        with status:
            yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(status)
        status.clear()


class StatusLine(logging.Handler):
    """One line of the terminal, overwritten by each step, and out of the way of warnings."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = 0
        self._step = ""
        self._began = monotonic()
        self._end = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> StatusLine:
        self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._ticker.join()

    def emit(self, record: logging.LogRecord) -> None:
        self.clear()
        if record.levelno == logging.INFO:
            share = getattr(record, "share", None)
            self._step = record.getMessage() + ("" if share is None else f" ({share:.0%})")
            self._show()

    def clear(self) -> None:
        if self._shown:
            click.echo(f"\r{' ' * self._shown}\r", nl=False, err=True)
            self._shown = 0

    def _tick(self) -> None:
        while not self._end.wait(_TICK):
            with self.lock or threading.RLock():
                if self._step:
                    self.clear()
                    self._show()

    def _show(self) -> None:
        text = status_text(self._step, monotonic() - self._began, shutil.get_terminal_size().columns)
        click.echo(text, nl=False, err=True)
        self._shown = len(text)


def status_text(step: str, seconds: float, columns: int) -> str:
    """The line for a step, ``seconds`` after the beginning; it leaves a column of the terminal free."""
    end = " ..." if seconds < _SLOW else f" ... {_duration(seconds)}"
    return step[: max(columns - 1 - len(end), 0)] + end


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
