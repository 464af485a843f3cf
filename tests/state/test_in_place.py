"""Where the new value of a state may be made, and what the check of the plan says where somebody is wrong about it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ccml.errors import CcmlError
from ccml.ir.build import store
from ccml.ir.loops import F32, Access, Buffer, Kernel, Var
from ccml.ir.loops_rewrite import loop
from ccml.ir.loops_text import print_kernel
from ccml.ir.program import MemoryPlan, Program, Storage
from ccml.ir.program_verify import verify_program
from ccml.ir.states import State
from ccml.ir.steps import Call
from ccml.memory.check import check_plan
from ccml.program.in_place import without_copies
from ccml.program.states import Memory, update_states
from ccml.targets import select

from tests.state.models import MODELS
from tests.state.test_runs import compiled


def program(name: str) -> Program:
    return compiled(MODELS[name](), select("cortex-m4")).program


def test_the_check_finds_a_read_of_what_was_overwritten() -> None:
    """The call that reads the old state early, moved behind the one that updates it."""
    good = program("read early")
    first, *rest = good.body
    assert isinstance(first, Call) and good.states[0].buffer in first.args
    check_plan(good)
    with pytest.raises(CcmlError, match="reads h, but byte 0 of state belongs to hn"):
        check_plan(replace(good, body=(*rest, first)))


def test_the_check_finds_a_state_that_nobody_updates() -> None:
    good = program("read late")
    with pytest.raises(CcmlError, match="the next run reads hn, but byte 0 of state belongs to h"):
        check_plan(replace(good, body=good.body[:-1]))


def test_the_check_finds_an_update_elsewhere() -> None:
    good = program("pointwise")
    assert good.plan.state is not None
    apart = replace(good.plan.state, offsets={"h": 0, "hn": 160}, size=320)
    with pytest.raises(CcmlError, match="hn does not lie where h does"):
        check_plan(replace(good, plan=MemoryPlan(good.plan.pools, apart)))


def test_a_state_is_no_input_of_the_caller() -> None:
    good = program("pointwise")
    wrong = replace(good.buffers["h"], storage=Storage.INPUT)
    with pytest.raises(CcmlError, match="invariant 9"):
        verify_program(replace(good, buffers={**good.buffers, "h": wrong}))


def test_states_lie_behind_each_other_and_not_in_the_arena() -> None:
    found = program("LSTM")
    assert found.plan.state is not None
    assert dict(found.plan.state.offsets) == {"h": 0, "hn": 0, "c": 12, "cn": 12}
    assert not {"h", "hn", "c", "cn"} & found.plan.pools[0].offsets.keys()
    assert [item.role.value for item in found.parameters] == ["pool", "state", "input", "output"]


AT = Var("i")


def copying(*extra: object, shift: int = 0) -> Kernel:
    """``y[i] = x[i + shift]`` and whatever else."""
    x = Buffer("x", F32, (8,), access=Access.READ)
    y = Buffer("y", F32, (8,), access=Access.WRITE)
    return Kernel("k", (x, y), loop(AT, 8 - shift, store(y[AT], x[AT + shift])))


def test_a_copy_to_the_same_place_is_left_out() -> None:
    row = Buffer("row", F32, (1,), access=Access.READ)
    plain = copying()
    y = plain.params[1]
    kernel = replace(plain, params=(row, *plain.params), body=(*plain.body, store(y[3], row[0])))
    found = without_copies(kernel, Call("k", ("new", "old", "both")), "old", "both")
    assert found is not None
    assert print_kernel(found.kernel) == "kernel k(row: f32[1] const, y: f32[8] inout)\n  y[3] = row[0]\n"
    assert found.args == ("new", "both")


def test_a_copy_to_another_place_or_behind_a_write_stays() -> None:
    assert without_copies(copying(shift=1), Call("k", ("old", "both")), "old", "both") is None
    plain = copying()
    late = replace(plain, body=(store(plain.params[1][3], 0.0), *plain.body))
    assert without_copies(late, Call("k", ("old", "both")), "old", "both") is None


def test_rows_that_move_down_may_do_so_in_place_but_not_up() -> None:
    """A loop upwards reads each element before it is overwritten by the one above it, not by the one below."""
    from ccml.ir.program import StateTensor
    from ccml.ir.types import DType, TensorType

    state = StateTensor("s", TensorType(DType.F32, (8,)), "s", "t", State("s", "t"))
    down = copying(shift=1)
    x, y = down.params
    up = replace(down, body=loop(AT, 7, store(y[AT + 1], x[AT])))
    for kernel, copied in ((down, False), (up, True)):
        memory = Memory({"k": kernel}, lambda k: k.name, lambda stem, _: stem, lambda *_: ())
        _, (found,) = update_states((Call("k", ("s", "t")),), [state], memory)
        assert found.copied == copied


def test_scatters_one_behind_the_other_update_one_cache() -> None:
    found = program("ScatterND")
    assert [call.kernel for call in found.calls if "scatter" in call.kernel] == ["scatter_in_place_0"] * 2
    assert not any("flat_past" in call.args or "once" in call.args for call in found.calls)
