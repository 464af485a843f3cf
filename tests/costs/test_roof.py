"""The roof of this machine: there is one for floats, and it is that of the widest instruction."""

from __future__ import annotations

from ccml.costs.roof import roof
from ccml.emit_llvm.jit import host_machine
from ccml.ir.types import DType
from ccml.targets import select


def test_a_roof_for_every_type_that_has_an_instruction() -> None:
    machine = host_machine()
    found = roof(machine, DType.F32)
    assert found is not None and 1e8 < found < 1e13
    assert roof(machine, DType.F64) is None


def test_plain_arithmetic_on_integers_has_none() -> None:
    assert roof(select("generic"), DType.I8) is None
    assert roof(select("generic"), DType.F32) is not None
