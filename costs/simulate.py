"""Runs translated code on the host, and gives the counters."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np

from ..emit_llvm import backend
from ..record import record
from .function_ir import FUEL, STATE_WORDS
from .translate import Translation

FUEL_OF_A_RUN = 1 << 30
"""Backward jumps, some seconds on the host. The longest run of the MLPerf Tiny models, in float on a core without an
FPU, takes a fraction of them."""


@record
class Run:
    """``counts`` is a matrix: a row for the entry function and for each of its call sites, a column for each counter.
    ``finished``: it came to its end, with ``result`` in the first register."""

    counts: np.ndarray
    result: int
    finished: bool


def simulate(
    translation: Translation, memory: np.ndarray, registers: dict[int, int], jumps: int = FUEL_OF_A_RUN
) -> Run:
    """``memory`` is read and written; ``registers`` are those at the start, the others are zero. The run ends after so
    many ``jumps`` backward."""
    state = np.zeros(STATE_WORDS + 2, np.uint32)
    for number, value in registers.items():
        state[number] = value
    fuel = state[FUEL : FUEL + 2].view(np.int64)
    fuel[0] = jumps
    counts = np.zeros((translation.rows, translation.width), np.int64)
    engine = _compiled(translation.text)
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(engine.get_function_address("run"))(
        memory.ctypes.data, state.ctypes.data, counts.ctypes.data
    )
    return Run(counts, int(state[0]), bool(fuel[0] > 0))


def _compiled(text: str) -> llvm.ExecutionEngine:
    """Machine code after the passes that make registers of variables; more, and code that is selected with more care,
    would take longer than they save."""
    backend.initialize()
    triple = llvm.get_process_triple()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    generator = llvm.Target.from_triple(triple).create_target_machine(cpu, features, opt=0, reloc="pic")
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = triple
    module.data_layout = str(generator.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(generator, tuning)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    return llvm.create_mcjit_compiler(module, generator)
