"""The one error class of ccml: a stable code, the ONNX node, the reason and a way out.

Every error that bad input can cause is a :class:`CcmlError`; the command line prints it without a traceback and
ends with the exit code that belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

from .printable import in_short, printable


class ExitCode(int, Enum):
    """Documented exit codes of the command line."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    UNSUPPORTED = 3
    MISMATCH = 4
    BUDGET = 5
    TOOLCHAIN = 6


class ErrorCode(Enum):
    """Stable codes, one per kind of error, with the exit code that the command line ends with."""

    NOT_ONNX = ("E101", ExitCode.FAILURE)
    INVALID_MODEL = ("E102", ExitCode.FAILURE)
    EXTERNAL_DATA = ("E103", ExitCode.FAILURE)
    UNBOUND_DIMENSION = ("E104", ExitCode.USAGE)
    UNSUPPORTED_OPERATOR = ("E105", ExitCode.UNSUPPORTED)
    UNSUPPORTED_FEATURE = ("E106", ExitCode.UNSUPPORTED)
    SHAPE_MISMATCH = ("E107", ExitCode.FAILURE)
    ACCUMULATOR_OVERFLOW = ("E108", ExitCode.FAILURE)
    BAD_INPUT = ("E201", ExitCode.USAGE)
    UNKNOWN_TARGET = ("E202", ExitCode.USAGE)
    BAD_OPTION = ("E203", ExitCode.USAGE)
    OUTPUT_FOLDER = ("E204", ExitCode.FAILURE)
    IR_SYNTAX = ("E301", ExitCode.FAILURE)
    IR_INVALID = ("E302", ExitCode.FAILURE)
    MISMATCH = ("E401", ExitCode.MISMATCH)
    BUDGET = ("E501", ExitCode.BUDGET)
    TOOLCHAIN = ("E601", ExitCode.TOOLCHAIN)

    def __init__(self, code: str, exit_code: ExitCode) -> None:
        self.code = code
        self.exit_code = exit_code


class CcmlError(Exception):
    """An error for people.

    ``kind`` is the stable code, ``reason`` says what is wrong, ``loc`` names the ONNX node (or file, or tensor) where
    it is wrong and ``hint`` says what would work. ``deciding`` are the tensors, of the graph where it is raised and
    inputs of the model in the end, with whose values the compiler could go on.
    """

    def __init__(
        self, kind: ErrorCode, reason: str, *, loc: str | None = None, hint: str | None = None,
        deciding: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.kind = kind
        self.reason = reason
        self.loc = loc
        self.hint = hint
        self.deciding = tuple(deciding)
        super().__init__(str(self))

    def __str__(self) -> str:
        where = f"{in_short(self.loc)}: " if self.loc else ""
        way_out = f"\n  hint: {self.hint}" if self.hint else ""
        return printable(f"[{self.kind.code}] {where}{_WORD.sub(lambda word: in_short(word[0]), self.reason)}{way_out}")


_WORD = re.compile(r"\S{201,}")
"""A name that is too long for a message. What a hint says is typed, and so never cut."""
