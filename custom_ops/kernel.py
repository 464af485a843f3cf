"""A node ``custom`` as a foreign kernel."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.c_spelling import MEMORY_TYPES
from ..ir.foreign import Foreign
from ..ir.loops import Access, Buffer, Kernel, Type
from ..ir.types import DType, TensorType
from .attributes import NO_WORKSPACE, Attrs, input_dtypes, result_dtypes, result_types

WORKSPACE = "workspace"
WORKSPACE_ALIGN = 16
ABSENT = -1


def foreign_kernel(inputs: Sequence[TensorType | None], attrs: Attrs) -> Kernel:
    """The kernel of a node with operands of these types: parameters for the inputs and outputs that are there, in
    order, and for the workspace where it has bytes."""
    params: list[Buffer] = []
    arguments: list[int] = []
    types: list[str] = []
    dtypes, results = input_dtypes(attrs), result_types(attrs)

    def add(type_: TensorType | None, dtype: DType, access: Access, name: str) -> None:
        arguments.append(len(params) if type_ is not None else ABSENT)
        types.append(f"{'const ' if access is Access.READ else ''}{MEMORY_TYPES[dtype]}")
        if type_ is not None:
            params.append(Buffer(name, Type(dtype.stored), type_.shape, access=access))

    for number, dtype in enumerate(dtypes):
        add(inputs[number] if number < len(inputs) else None, dtype, Access.READ, f"in{number}")
    for number, (result, dtype) in enumerate(zip(results, result_dtypes(attrs), strict=True)):
        add(result, dtype, Access.WRITE, f"out{number}")
    workspace = attrs["workspace"]
    assert isinstance(workspace, int)
    if workspace != NO_WORKSPACE:
        arguments.append(len(params) if workspace else ABSENT)
        types.append("void")
    if workspace > 0:
        params.append(
            Buffer(WORKSPACE, Type(DType.U8), (workspace,), access=Access.WRITE, align=WORKSPACE_ALIGN)
        )
    foreign = Foreign(
        operator=str(attrs["operator"]),
        function=str(attrs["function"]),
        file=str(attrs["file"]),
        code=str(attrs["code"]),
        constants=str(attrs["constants"]),
        arguments=tuple(arguments),
        types=tuple(types),
        in_place=_pairs(attrs, arguments, len(dtypes), params),
    )
    return Kernel("", tuple(params), (), foreign=foreign)


def _pairs(
    attrs: Attrs, arguments: Sequence[int], first: int, params: Sequence[Buffer]
) -> tuple[tuple[int, int], ...]:
    """Results and operands that may be one memory, as far as they are of one type and size in this node."""
    declared = attrs["in_place"]
    assert isinstance(declared, tuple)
    found = []
    for number, operand in enumerate(declared):
        pair = (arguments[first + number], ABSENT if operand == ABSENT else arguments[int(operand)])
        if ABSENT not in pair:
            written, read = (params[place] for place in pair)
            if (written.type, _size(written)) == (read.type, _size(read)):
                found.append(pair)
    return tuple(found)


def _size(buffer: Buffer) -> int:
    total = 1
    for extent in buffer.shape:
        total *= extent
    return total
