"""Programs whose constants are in a file of their own, and that file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .identity import identity_of, model_id
from .program import Program
from .weights import Item, file_content, lay_out


def with_external_weights(programs: Sequence[Program], natural: int = 1) -> list[Program]:
    """Programs of one library, all of whose constants are in one file, and which share an identity.

    A constant of ``natural`` bytes or more begins at a multiple of as many, where that is good for speed.
    """
    layouts = lay_out([_items(program, natural) for program in programs])
    placed = [replace(program, weights=layout, identity=0) for program, layout in zip(programs, layouts, strict=True)]
    identity = identity_of(placed)
    return [replace(program, identity=identity) for program in placed]


def weights_file(programs: Sequence[Program]) -> bytes:
    """The file of weights of programs that :func:`with_external_weights` made."""
    layout = programs[0].weights
    assert layout is not None
    placed = (
        (program.weights.offsets[name], array)
        for program in programs
        if program.weights is not None
        for name, array in program.constants.items()
    )
    return file_content(model_id(programs[0]), layout.size, placed)


def _items(program: Program, natural: int) -> list[Item]:
    wanted = {name: program.buffers[name].dtype.size for name in program.constants}
    kernels = {kernel.name: kernel for kernel in program.kernels}
    for call in program.calls:
        for param, name in zip(kernels[call.kernel].params, call.args):
            if name in wanted:
                wanted[name] = max(wanted[name], param.align)
    return [
        Item(name, array, wanted[name], natural if array.nbytes >= natural else 1)
        for name, array in program.constants.items()
    ]
