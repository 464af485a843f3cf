"""What the header says of inputs that come row by row."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.program import Interface, Program
from .spelling import MEMORY_TYPES
from .symbols import wrapped


def rows_error(program: Program, macro: str) -> Iterator[str]:
    """What the run function returns where a row fails."""
    if program.by_rows:
        yield f"#define {macro}_ERROR_ROWS 9 /* the function that brings the rows of an input failed */"


def rows_type(program: Program, name: str) -> Iterator[str]:
    """The structure ``name``, which brings the rows of inputs."""
    if not program.by_rows:
        return
    c_type = MEMORY_TYPES[program.by_rows[0].type.dtype]
    yield from wrapped(
        "/* Brings an input row by row, as a camera or a microphone does: row writes all elements of row number row to "
        "where to points, and returns 0; anything else ends the run. During a run it is called once for each row of an "
        "input, in ascending order from 0, exactly; it may wait for the row, but must return. What context is, is up "
        "to the caller. */"
    )
    yield f"typedef struct {name} {{"
    yield f"  int (*row)(void *context, size_t row, {c_type} *to);"
    yield "  void *context;"
    yield f"}} {name};"
    yield ""


def row_macros(item: Interface, stem: str) -> Iterator[str]:
    """Of an input that comes by rows, how many there are, and what one is."""
    if item.row_axis is None:
        return
    place = ", ".join("row" if axis == item.row_axis else ":" for axis in range(item.type.rank))
    row = f"[{', '.join(map(str, item.row_shape))}]"
    yield f"/* It comes by rows: row number row is [{place}], {item.type.dtype.value}{row}, row-major. */"
    yield f"#define {stem}_ROWS {item.row_count}"
    yield f"#define {stem}_ROW_ELEMENTS {item.type.size // item.row_count}"
