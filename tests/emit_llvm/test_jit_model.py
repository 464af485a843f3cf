"""Whole programs in this process: calls, memory, taps and the checks of inputs."""

from __future__ import annotations

import ctypes
import re
import threading
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from ccml.driver import compile_model
from ccml.emit_llvm import jit
from ccml.emit_llvm.entry import ModuleOptions
from ccml.emit_llvm.jit import JitLibrary, JitModel, host_machine
from ccml.emit_llvm.module import module_text
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.program import MemoryPlan, Pool
from ccml.targets import select

from tests.emit_llvm.programs import scale_and_shift, scale_and_shift_reference


def test_run_gives_outputs_by_onnx_name() -> None:
    program, inputs = scale_and_shift()
    outputs = JitModel(program).run(inputs)
    assert list(outputs) == ["scores:0"]
    np.testing.assert_array_equal(outputs["scores:0"], scale_and_shift_reference(program, inputs))


def test_caller_binds_everything_once() -> None:
    program, inputs = scale_and_shift()
    model = JitModel(program)
    call = model.caller(inputs)
    del model, inputs
    assert call() is None


BRANCH_AND_LOOP = onnx.parser.parse_model("""
    <ir_version: 9, opset_import: ["" : 21]>
    both (bool[1] way, int64 times, float[4096] x) => (float[4096] y) <bool always = {1}> {
      chosen = If (way) <
        then_branch = a () => (float[4096] p) { p = Exp (x) },
        else_branch = b () => (float[4096] q) { q = Sin (x) }
      >
      y = Loop (times, always, chosen) <body = turn (int64 i, bool go, float[4096] s) => (bool on, float[4096] t) {
        on = Identity (go)
        t = Tanh (s)
      }>
    }""")


def test_timer_times_what_runs(tmp_path: Path) -> None:
    """Calls of the branch that is not taken, and of loops without a pass, have no time; all others have some."""
    onnx.save(BRANCH_AND_LOOP, tmp_path / "both.onnx")
    program = compile_model(tmp_path / "both.onnx", host_machine()).program
    model = JitModel(program)
    x = np.ones(4096, np.float32)
    timed = {}
    for way in (True, False):
        for times in (0, 3):
            inputs = {"way": np.array([way]), "times": np.array(times), "x": x}
            timed[way, times] = model.timer(inputs)()
            assert len(timed[way, times]) == len(program.calls)
    kernels = [call.kernel for call in program.calls]
    then, other, turn = (next(i for i, name in enumerate(kernels) if op in name) for op in ("exp", "sin", "tanh"))
    assert all((timed[way, times][then] > 0) == way for way, times in timed)
    assert all((timed[way, times][other] > 0) == (not way) for way, times in timed)
    assert all((timed[way, times][turn] > 0) == (times > 0) for way, times in timed)


def test_times_are_not_short_because_a_call_that_does_nothing_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    program, inputs = scale_and_shift()
    model = JitModel(program)
    slow = (3 <= number < 9 or number >= 100 for number in count())
    monkeypatch.setattr(
        jit, "_nanoseconds", lambda function, _: 700 if function is not model._run else 9000 if next(slow) else 200
    )
    take = model.timer(inputs)
    assert [take() for _ in range(4)] == [[500] * len(program.calls)] * 4


def test_observe_copies_each_tap_when_it_is_complete() -> None:
    """``t`` is overwritten by nothing here, but its copy must not change with the next run."""
    program, inputs = scale_and_shift()
    model = JitModel(program)
    seen = model.observe(inputs)
    assert set(seen) == {"product", "scores:0"}
    product = inputs["data:0"] * program.constants["w"]
    model.run({"data:0": inputs["data:0"] + 1})
    np.testing.assert_array_equal(seen["product"], product)
    np.testing.assert_array_equal(seen["scores:0"], scale_and_shift_reference(program, inputs))


def test_taps_of_inputs_and_constants() -> None:
    program, inputs = scale_and_shift()
    seen = JitModel(replace(program, taps={"in": "x", "weights": "w"})).observe(inputs)
    np.testing.assert_array_equal(seen["in"], inputs["data:0"])
    np.testing.assert_array_equal(seen["weights"], program.constants["w"])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "data:0: this input is missing"),
        ({"data:0": np.zeros((4, 8))}, "data:0: expected float32, got float64"),
        ({"data:0": np.zeros((8, 4), np.float32)}, r"data:0: expected shape \[4, 8\], got \[8, 4\]"),
        ({"data:0": np.zeros((4, 8), np.float32), "more": np.zeros(1)}, "more: the model has no such input"),
    ],
)
def test_bad_inputs_are_named(inputs: dict[str, np.ndarray], message: str) -> None:
    program, _ = scale_and_shift()
    with pytest.raises(CcmlError, match=message) as caught:
        JitModel(program).run(inputs)
    assert caught.value.kind is ErrorCode.BAD_INPUT


def test_inputs_may_be_strided() -> None:
    program, inputs = scale_and_shift()
    strided = np.repeat(inputs["data:0"], 2, axis=1)[:, ::2]
    outputs = JitModel(program).run({"data:0": strided})
    np.testing.assert_array_equal(outputs["scores:0"], scale_and_shift_reference(program, inputs))


def test_threads_may_share_a_model() -> None:
    program, inputs = scale_and_shift()
    model, wrong = JitModel(program), []

    def work(offset: int) -> None:
        mine = {"data:0": inputs["data:0"] + np.float32(offset)}
        for _ in range(200):
            if not np.array_equal(model.run(mine)["scores:0"], scale_and_shift_reference(program, mine)):
                wrong.append(offset)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_entry_checks_its_pointers() -> None:
    program, inputs = scale_and_shift()
    library = JitLibrary(module_text(program, host_machine()), ["small_run"], host_machine())
    run = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(library.functions["small_run"])
    memory = np.zeros(176, np.uint8)
    arena = memory.ctypes.data + -memory.ctypes.data % 16
    x, y = inputs["data:0"], np.zeros((4, 8), np.float32)
    assert [run(None, x.ctypes.data, y.ctypes.data), run(arena, None, y.ctypes.data)] == [1, 1]
    assert run(arena, x.ctypes.data, None) == 1
    assert run(arena + 8, x.ctypes.data, y.ctypes.data) == 2
    assert not y.any()
    assert run(arena, x.ctypes.data, y.ctypes.data) == 0
    np.testing.assert_array_equal(y, scale_and_shift_reference(program, inputs))


def test_arena_may_be_null_where_it_is_not_needed() -> None:
    program, _ = scale_and_shift()
    program = replace(program, body=program.body[:0], plan=MemoryPlan((Pool("arena", {}, 0, 64),)))
    text = module_text(program, select("x86"))
    assert "%arena, null" not in text and "ptrtoint" not in text


def test_only_the_entry_is_visible() -> None:
    program, _ = scale_and_shift()
    text = module_text(program, select("x86"), ModuleOptions())
    defined = re.findall(r"^define (?!internal|weak hidden)(\w+) .*@(\w+)\(", text, re.MULTILINE)
    kernels, entries = ("small_scale", "small_shift"), ("small_run", "small_model_id")
    assert defined == [*(("hidden", name) for name in kernels), *(("i32", name) for name in entries)]
    assert {kind for _, kind in re.findall(r"^@(\w+) = (\w+)", text, re.MULTILINE)} == {"internal"}


def test_older_levels_run_here_too() -> None:
    program, inputs = scale_and_shift()
    for cpu in ("x86-64-v2", host_machine().cpu.name):
        outputs = JitModel(program, select("x86", cpu=cpu)).run(inputs)
        np.testing.assert_array_equal(outputs["scores:0"], scale_and_shift_reference(program, inputs))
