"""The targets that are data alone: 32-bit RISC-V in QEMU's user mode, and WebAssembly in Node.js."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ccml.emit_c.symbols import assign_symbols
from ccml.targets import Machine

from tests.artifacts.commands import make, run
from tests.artifacts.machines import NATIVE, RISCV, WASM
from tests.artifacts.routes import assert_expected, assert_same_bits, by_llvm, by_make, in_process, make_case, stacked
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import DIGITS, IC, INT8, KWS, Model
from tests.models import needs_models
from tests.tools import needs

KWS8, IC8, *_ = INT8
MACHINES = [
    pytest.param(RISCV, marks=needs("make", "riscv64-unknown-elf-gcc", "qemu-riscv32"), id="riscv32"),
    pytest.param(WASM, marks=needs("make", "clang", "llvm-ar", "wasm-ld", "node"), id="wasm32"),
]
pytestmark = needs_models


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("model", [KWS, IC, DIGITS], ids=str)
def test_floats(model: Model, machine: Machine, workshop: Workshop, record_property: Any) -> None:
    """Both routes print the same loop IR: the same bits."""
    case = make_case(workshop, model, machine, 1)
    by_c = by_make()(case)
    assert_expected(case, by_c, record_property)
    assert_same_bits(stacked(by_c), stacked(by_llvm("a")(case)))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("model", [KWS8, IC8], ids=str)
def test_integers_are_those_of_the_host(model: Model, machine: Machine, workshop: Workshop) -> None:
    host = stacked(in_process(make_case(workshop, model, NATIVE, 2)))
    case = make_case(workshop, model, machine, 2)
    assert_same_bits(stacked(by_make()(case)), host)
    assert_same_bits(stacked(by_llvm("o")(case)), host)


@needs("make", "riscv64-unknown-elf-gcc", "clang")
def test_riscv_by_clang(workshop: Workshop) -> None:
    folder = workshop.built_by_make(DIGITS, RISCV, "CC=clang")
    assert (folder / f"lib{DIGITS}.a").exists()


PAGE = """
const fs = require("fs");
const [file, run, arena, inputs, outputs, ...bytes] = process.argv.slice(2);
const model = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(file))).exports;
const sizes = [Number(arena), ...bytes.map(Number)];
let top = model.__heap_base.value;
const places = sizes.map((size) => { const at = top + 15 & ~15; top = at + size; return at; });
model.memory.grow(Math.ceil(Math.max(0, top - model.memory.buffer.byteLength) / 65536));
const memory = new Uint8Array(model.memory.buffer);
memory.set(fs.readFileSync(inputs), places[1]);
const status = model[run](...places);
const last = places.length - 1;
fs.writeFileSync(outputs, memory.subarray(places[last], places[last] + sizes[last]));
console.log(status, model[run](1, 0, 0), Object.keys(model).sort().join(" "));
"""
"""What a page does with a module of one input and one output: memory behind __heap_base."""


@needs("node", "wasm-ld")
@pytest.mark.parametrize("route", ["llvm", pytest.param("c", marks=needs("make", "clang"))])
def test_the_module_itself(route: str, workshop: Workshop, tmp_path: Path) -> None:
    """It needs nothing from outside, and exports the functions, the memory and where memory is free."""
    case = make_case(workshop, KWS8, WASM, 1)
    if route == "c":
        folder = workshop.built_by_make(KWS8, WASM)
        make(folder, f"{KWS8}.wasm", "CFLAGS=-Werror")
    else:
        folder = workshop.machine_code(KWS8, WASM)
    (sample,) = case.samples
    (x,), (y,) = case.program.inputs, case.program.outputs
    page, inputs, outputs = (tmp_path / name for name in ("page.cjs", "inputs", "outputs"))
    page.write_text(PAGE)
    inputs.write_bytes(sample[x.name].tobytes())
    sizes = [case.program.plan.pools[0].size, x.type.nbytes, y.type.nbytes]
    symbols = assign_symbols(case.program)
    symbol = symbols.run
    said = run("node", page, folder / f"{KWS8}.wasm", symbol, str(sizes[0]), inputs, outputs, *map(str, sizes[1:]))
    assert said.split() == ["0", "1", "__heap_base", symbols.model_id, symbol, "memory"]
    (host,) = in_process(make_case(workshop, KWS8, NATIVE, 1))
    assert np.array_equal(np.frombuffer(outputs.read_bytes(), y.type.dtype.numpy), host[y.name].ravel())
