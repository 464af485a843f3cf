"""Writes docs/operators.md, the table of supported ONNX operators, from the tables of the importer.

``make docs`` runs it; ``tests/test_docs.py`` fails where the page is not what it would write.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ccml.frontend_onnx.supported import How, supported_operators
from ccml.frontend_onnx.versions import NEWEST_OPSET, OLDEST_OPSET
from ccml.ir.types import DType

PAGE = Path(__file__).with_name("operators.md")

_HEAD = f"""\
# Operators

<!-- Made by `make docs` from the tables of the importer. -->

The operators of ONNX that a model may have, in opset {OLDEST_OPSET} to opset {NEWEST_OPSET}. `ccml ops` prints the same
list, `ccml ops --json` for programs. *Versions* are the operator sets that changed the definition. *Types* are the
element types that ONNX allows for the first operand (or the result, where there is none), as far as ccml has them;
an operator may have further conditions, and a model that does not meet them is refused with the reason and a way out.
[conformance.md](conformance.md) tells where others do something else.

*By* tells how an operator becomes part of the program:

- *{How.RULE.value}*: ccml has it.
- *{How.FUNCTION.value}*: by the function that ONNX (or ONNX Runtime's documentation) defines it with.
- *{How.NESTED.value}*: its subgraphs become part of the graph.

"""

_FLOATS = (DType.F16, DType.F32, DType.F64)
_INTEGERS = (DType.I8, DType.I16, DType.I32, DType.I64, DType.U8, DType.U16, DType.U32, DType.U64)
_GROUPS: Sequence[tuple[str, Sequence[DType]]] = (
    ("floats", _FLOATS),
    ("integers", _INTEGERS),
    ("narrow", [dtype for dtype in DType if dtype.is_narrow and dtype not in (DType.BF16, DType.F6E2M3, DType.F6E3M2)]),
)


def operators_page() -> str:
    """The text of the page."""
    named = "; ".join(f"*{name}* are {', '.join(dtype.value for dtype in group)}" for name, group in _GROUPS)
    named += f"; *{DType.CHAR.value}* are strings ([strings.md](strings.md))"
    lines = [f"{named}.\n", "| operator | versions | by | types |", "| --- | --- | --- | --- |"]
    for op in supported_operators():
        versions = ", ".join(map(str, op.since))
        lines.append(f"| {op.name} | {versions} | {op.how.value} | {_types(op.types)} |")
    return _HEAD + "\n".join(lines) + "\n"


def _types(types: Sequence[DType]) -> str:
    """Groups of which all are there by their name, and the rest."""
    names, rest = [], list(types)
    for name, group in _GROUPS:
        if set(group) <= set(types):
            names.append(name)
            rest = [dtype for dtype in rest if dtype not in group]
    return ", ".join([*names, *(dtype.value for dtype in rest)])


if __name__ == "__main__":
    PAGE.write_text(operators_page(), encoding="utf-8")
