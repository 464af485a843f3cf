"""What tells programs apart: digests of all that a run executes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from .. import __version__
from .by_content import bytes_of
from .program import Program
from .program_text import print_program


def program_digest(program: Program) -> str:
    """64 hexadecimal digits, the same for programs that differ in their name alone.

    The values of constants count, unless they are in a file of their own.
    """
    found = program.constants if program.weights is None else {}
    digest = hashlib.sha256(print_program(replace(program, name="", constants=found)).encode())
    for name, array in sorted(found.items()):
        digest.update(name.encode())
        digest.update(bytes_of(array).data)
    if program.weights is not None:
        digest.update(repr((sorted(program.weights.offsets.items()), program.weights.size)).encode())
    return digest.hexdigest()


def model_id(program: Program) -> int:
    """The 32 bits, never 0, by which a header, a library and a file of weights know each other: those of the program
    and the version of ccml, unless the program was given another identity."""
    return program.identity or identity_of([program])


def identity_of(programs: Sequence[Program]) -> int:
    """The identity of programs that are compiled into one library."""
    text = " ".join((__version__, *(f"{program.target} {program_digest(program)}" for program in programs)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") or 1
