"""A sample for a model: bytes of its inputs, and of the outputs that they give."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from ..ir.program import Interface, Program
from ..ir.strings import encoded, is_text
from ..ir.types import DType
from ..record import record


@record
class Sample:
    """``inputs`` in the order of the run function, ``expected`` outputs likewise; dense, little endian. ``expected``
    has the elements within the extents of the run, and nothing where they are not known."""

    inputs: tuple[bytes, ...]
    expected: tuple[bytes, ...]

    @property
    def digest(self) -> str:
        """What tells samples apart: CRC-32 of the inputs, in hexadecimal."""
        return f"{zlib.crc32(b''.join(self.inputs)):08x}"


def encode_sample(
    program: Program, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray] | None = None
) -> Sample:
    """The sample ``inputs`` of ``program``, by name, with the ``outputs`` that it gives. Raises ``BAD_INPUT`` where an
    input does not fit."""
    filled = program.filled(inputs)
    found = outputs or {}
    return Sample(
        tuple(tensor_bytes(side, filled[side.name]) for side in program.inputs),
        tuple(tensor_bytes(side, found[side.name]) if side.name in found else b"" for side in program.outputs),
    )


def tensor_bytes(side: Interface, array: np.ndarray) -> bytes:
    """The elements of ``array`` as the artifact has them in memory."""
    if side.type.dtype is DType.CHAR:
        array = encoded(array, side.type.shape[-1], side.name) if is_text(array) else array
        return np.ascontiguousarray(array).tobytes()
    return np.ascontiguousarray(array, side.type.dtype.numpy).tobytes()


def words(content: bytes) -> Sequence[int]:
    """``content`` as little-endian words of 32 bits, at least one."""
    padded = content + bytes(-len(content) % 4) or bytes(4)
    return [int(word) for word in np.frombuffer(padded, "<u4")]
