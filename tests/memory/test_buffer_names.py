"""Names of buffers and kernels beside those of a model's values."""

from __future__ import annotations

from ccml.program.lowering_memory import LoweringMemory
from ccml.program.room import NO_ROOM


def test_names_that_many_values_have() -> None:
    """More of them than Python calls a function within itself."""
    memory = LoweringMemory({}, 0, NO_ROOM, named={f"add_{number}" for number in range(2000)})
    assert [memory.numbered("add"), memory.numbered("add"), memory.numbered("mul")] == ["add_2000", "add_2001", "mul_0"]
