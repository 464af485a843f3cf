"""The driver's view of a program: macros for ``c/main.c``, and the files that it reads and writes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from signal import Signals

import numpy as np

from ..emit_c.header import offset_macro
from ..emit_c.symbols import assign_symbols
from ..errors import CcmlError, ErrorCode
from ..ir.extents import cropped
from ..ir.external_weights import weights_file
from ..ir.program import Interface, Program, Role

DRIVER_FOLDER = Path(__file__).parent / "c"
INPUTS_FILE = "inputs.bin"
OUTPUTS_FILE = "outputs.bin"
WEIGHTS_FILE = "weights.bin"

_FAILURES = {
    1: "it could not open its files",
    2: "it could not read or write its files",
    3: "the model returned an error",
    4: "the model wrote behind its working memory",
    5: "it could not load the library",
}
"""What the driver's exit codes say."""


def driver_macros(program: Program, library: Path | None = None, in_arena: bool = False) -> list[str]:
    """Compiler options that fit ``c/main.c`` to a program; ``library`` is the shared library that it loads. Inputs and
    outputs are kept ``in_arena``: in their pool, where they have a place there."""
    symbols = assign_symbols(program)
    tensors = [
        f"TENSOR({number}, {stem}_BYTES, {side.type.dtype.size}, {_place(program, side, stem) if in_arena else 0})"
        for number, (side, stem) in enumerate(zip(program.interfaces, symbols.stems))
    ]
    pools = [
        f"POOL({number}, {stem}_SIZE{'_WITH_IO' if in_arena else ''}, {stem}_ALIGN)"
        for number, stem in enumerate(symbols.pool_stems)
    ]
    tensor_numbers = count()
    numbers = {Role.POOL: count(), Role.INPUT: tensor_numbers, Role.OUTPUT: tensor_numbers}
    numbers |= {Role.STATE: count(), Role.WEIGHTS: count(), Role.THREADS: count()}
    stems = {Role.POOL: "pool", Role.INPUT: "tensor", Role.OUTPUT: "tensor"}
    stems |= {Role.STATE: "state", Role.WEIGHTS: "weights", Role.THREADS: "threads"}
    arguments = [
        f"{'&rows' if item.by_rows else stems[item.role]}_{next(numbers[item.role])}" for item in program.parameters
    ]
    macros = {
        "MODEL_HEADER": f'"{symbols.prefix}.h"',
        "MODEL_RUN": symbols.run,
        "MODEL_ARGUMENTS": ", ".join(arguments),
        "MODEL_POOLS": " ".join(pools),
        "MODEL_INPUTS": " ".join(tensors[: len(program.inputs)]),
        "MODEL_OUTPUTS": " ".join(tensors[len(program.inputs) :]),
    }
    if program.states:
        macros["MODEL_RESET"] = symbols.reset
        macros["MODEL_STATE"] = f"POOL(0, {symbols.state_stem}_SIZE, {symbols.state_stem}_ALIGN)"
        macros["MODEL_STATES"] = " ".join(f"STATE({stem}_OFFSET, {stem}_BYTES)" for stem in symbols.state_stems)
    if program.weights is not None:
        macros["MODEL_WEIGHTS"] = f"POOL(0, {symbols.macro}_WEIGHTS_FILE_SIZE, {symbols.macro}_WEIGHTS_ALIGN)"
        macros["MODEL_CHECK_WEIGHTS"] = symbols.check_weights
    if program.threads:
        macros |= {"MODEL_WORKERS_START": symbols.workers_start, "MODEL_WORKERS_STOP": symbols.workers_stop}
    if program.by_rows:
        macros["MODEL_ROWS_TYPE"] = symbols.rows
        macros["MODEL_ROWS"] = " ".join(
            f"ROWS({number}, {stem}_TYPE, {stem}_ROWS, {stem}_ROW_ELEMENTS)"
            for number, (side, stem) in enumerate(zip(program.inputs, symbols.stems))
            if side.row_axis is not None
        )
    if program.sliced and library is None:
        macros |= {"MODEL_JOB": symbols.job, "MODEL_BEGIN": symbols.begin, "MODEL_STEP": symbols.step}
        macros["MODEL_AGAIN"] = f"{symbols.macro}_AGAIN"
    if in_arena:
        macros["MODEL_IN_ARENA"] = "1"
    if library is not None:
        macros["MODEL_LIBRARY"] = f'"{library}"'
        macros[f"{symbols.macro}_UNCHECKED"] = "1"
    return [f"-D{name}={value}" for name, value in macros.items()]


def _place(program: Program, side: Interface, stem: str) -> str:
    """Where in the pools an input or output is kept, or where its rows come from."""
    if side.row_axis is not None:
        return f"brought_{program.interfaces.index(side)}"
    return f"pool_{program.plan.places[side.buffer].pool} + {offset_macro(program, side, stem)}"


def write_inputs(program: Program, samples: Sequence[Mapping[str, np.ndarray]], folder: Path) -> None:
    """``inputs.bin``: the count of samples, then the tensors of each; and ``weights.bin``, where the program has such a
    file. Raises ``BAD_INPUT`` where a tensor does not fit."""
    parts = [struct.pack("<I", len(samples))]
    parts += [_bytes(side, sample) for sample in map(program.filled, samples) for side in program.inputs]
    (folder / INPUTS_FILE).write_bytes(b"".join(parts))
    if program.weights is not None:
        (folder / WEIGHTS_FILE).write_bytes(weights_file([program]))


def read_outputs(program: Program, count: int, folder: Path) -> list[dict[str, np.ndarray]]:
    """The outputs of each sample by name, from ``outputs.bin``, with the new values of states under theirs."""
    content = (folder / OUTPUTS_FILE).read_bytes()
    written = [(side.name, side.type) for side in program.outputs]
    written += [(state.output, state.type) for state in program.states]
    expected = count * sum(type_.nbytes for _, type_ in written)
    if len(content) != expected:
        raise failure(f"it wrote {len(content)} bytes of outputs, not {expected}")
    results, position = [], 0
    for number in range(count):
        arrays = {}
        for name, type_ in written:
            flat = np.frombuffer(content, type_.dtype.numpy, type_.size, position)
            arrays[name] = flat.reshape(type_.shape)
            position += type_.nbytes
        results.append(cropped(program.extents, arrays, _extents(program, number, folder)))
    return results


def _extents(program: Program, number: int, folder: Path) -> dict[str, np.ndarray]:
    """The inputs of a sample that hold extents, from ``inputs.bin``."""
    content, size = (folder / INPUTS_FILE).read_bytes(), sum(side.type.nbytes for side in program.inputs)
    found, position = {}, struct.calcsize("<I") + number * size
    for side in program.inputs:
        if side not in program.tensors:
            found[side.name] = np.frombuffer(content, side.type.dtype.numpy, 1, position).reshape(())
        position += side.type.nbytes
    return found


def exit_reason(code: int) -> str:
    """What an exit code of the driver, or of the emulator that ran it, means; negative ones are signals."""
    if code < 0:
        return f"it ended with {Signals(-code).name}"
    return _FAILURES.get(code, f"it ended with exit code {code}")


def failure(reason: str, said: Iterable[str] = ()) -> CcmlError:
    """The error of a driver that did not do its work."""
    text = "\n".join(filter(None, (line.strip() for line in said)))
    return CcmlError(ErrorCode.MISMATCH, f"the compiled model does not run: {reason}" + (f"\n{text}" if text else ""))


def _bytes(side: Interface, sample: Mapping[str, np.ndarray]) -> bytes:
    if side.name not in sample:
        raise CcmlError(ErrorCode.BAD_INPUT, "this input is missing", loc=side.name)
    array = np.asarray(sample[side.name])
    if array.dtype != side.type.dtype.numpy or array.size != side.type.size:
        wanted = f"{side.type.dtype.numpy}{list(side.type.shape)}"
        raise CcmlError(ErrorCode.BAD_INPUT, f"expected {wanted}, got {array.dtype}{list(array.shape)}", loc=side.name)
    return (array if side.row_axis is None else side.rows_of(array.reshape(side.type.shape))).tobytes()
