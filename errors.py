"""The one error class of ccml: a stable code, the ONNX node, the reason and a way out.

Every error that bad input can cause is a :class:`CcmlError`; the command line prints it without a traceback and
ends with the exit code that belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import Any

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
    """Stable codes, one per kind of error, with the exit code that the command line ends with, and what they mean."""

    NOT_ONNX = (
        "E101", ExitCode.FAILURE,
        "The file cannot be read, or is no ONNX model. For files of other frameworks the hint names the converter.",
    )  # fmt: skip
    INVALID_MODEL = (
        "E102", ExitCode.FAILURE,
        "The model contradicts the ONNX standard or itself. `onnx.checker` mostly says where.",
    )  # fmt: skip
    EXTERNAL_DATA = (
        "E103", ExitCode.FAILURE,
        "The external data of the model are missing, too short or outside of its folder. Keep them beside the model.",
    )  # fmt: skip
    UNBOUND_DIMENSION = (
        "E104", ExitCode.USAGE,
        "Dimensions are open that `--dim` or `--shape` has to bind. The hint shows the options.",
    )  # fmt: skip
    UNSUPPORTED_OPERATOR = (
        "E105", ExitCode.UNSUPPORTED,
        "The model has operators that ccml does not support. All are listed; `--custom-op` takes one of your own.",
    )  # fmt: skip
    UNSUPPORTED_FEATURE = (
        "E106", ExitCode.UNSUPPORTED,
        "The model has a form of an operator that ccml does not support. The reason says which form works.",
    )  # fmt: skip
    SHAPE_MISMATCH = (
        "E107", ExitCode.FAILURE,
        "Shapes or types of a node's inputs do not fit: mostly an option, or an export that went wrong.",
    )  # fmt: skip
    ACCUMULATOR_OVERFLOW = (
        "E108", ExitCode.FAILURE,
        "Sums of an integer layer could exceed 32 bits. Quantize the layer anew, or keep it in float.",
    )  # fmt: skip
    BAD_INPUT = (
        "E201", ExitCode.USAGE,
        "Data or a report that do not fit the model, or cannot be read.",
    )  # fmt: skip
    UNKNOWN_TARGET = (
        "E202", ExitCode.USAGE,
        "There is no such target, ABI or CPU. `ccml targets` lists them.",
    )  # fmt: skip
    BAD_OPTION = (
        "E203", ExitCode.USAGE,
        "There is no such command or option, or it does not take the value. `--help` lists them.",
    )  # fmt: skip
    OUTPUT_FOLDER = (
        "E204", ExitCode.FAILURE,
        "The output cannot be written, or a file is in the way that ccml did not write.",
    )  # fmt: skip
    IR_SYNTAX = (
        "E301", ExitCode.FAILURE,
        "A text of ccml's own representation cannot be read: a fault of ccml, unless it was edited. Please report it.",
    )  # fmt: skip
    IR_INVALID = (
        "E302", ExitCode.FAILURE,
        "ccml's own representation is not well-formed: a fault of ccml. Please report it with the model, if you may.",
    )  # fmt: skip
    MISMATCH = (
        "E401", ExitCode.MISMATCH,
        "`verify`: a result differs from the reference, or there was no number to compare.",
    )  # fmt: skip
    BUDGET = (
        "E501", ExitCode.BUDGET,
        "The model does not fit the memory, flash, stack or time it was given. The hint says what stands in the way.",
    )  # fmt: skip
    TOOLCHAIN = (
        "E601", ExitCode.TOOLCHAIN,
        "A compiler, linker or emulator is missing. `ccml doctor` shows what is there, and how the rest is installed.",
    )  # fmt: skip

    def __init__(self, code: str, exit_code: ExitCode, meaning: str) -> None:
        self.code = code
        self.exit_code = exit_code
        self.meaning = meaning


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

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        where = f"{in_short(self.loc)}: " if self.loc else ""
        way_out = f"\n  hint: {self.hint}" if self.hint else ""
        return printable(f"[{self.kind.code}] {where}{_WORD.sub(lambda word: in_short(word[0]), self.reason)}{way_out}")


def not_by_rows(name: str, reason: str) -> CcmlError:
    """The error of the input ``name``, whose rows cannot come one by one."""
    return CcmlError(ErrorCode.BAD_OPTION, f"--input rows: {reason}", loc=name, hint="leave '--input rows' out")


def _restored(kind: type[CcmlError], args: tuple[str, ...], parts: dict[str, Any]) -> CcmlError:
    """The error that another process has raised."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(parts)
    return error


_WORD = re.compile(r"\S{201,}")
"""A name that is too long for a message. What a hint says is typed, and so never cut."""
