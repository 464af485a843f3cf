"""LLVM itself, through llvmlite: from module text to an optimized module, an object or assembly."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm
from llvmlite.binding import ModulePassManager, ModuleRef, TargetMachine, create_new_module_pass_manager

from ..targets import TARGETS, Machine


@cache
def initialize() -> None:
    """Registers all back ends, with the options of all targets, once in a process."""
    for option in sorted({option for target in TARGETS for abi in target.abis for option in abi.llvm_options}):
        llvm.set_option("ccml", option)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def triple(machine: Machine) -> str:
    """The machine's triple with its vendor written out: LLVM reads the parts by position, clang by meaning."""
    parts = machine.abi.triple.split("-")
    return "-".join((parts[0], "unknown", *parts[1:])) if len(parts) == 3 else machine.abi.triple


def relocation(machine: Machine) -> str:
    """Hosted code may be loaded anywhere; bare metal is linked to fixed addresses."""
    return "pic" if machine.target.hosted else "static"


def target_machine(machine: Machine, *, reloc: str, code_model: str = "default") -> TargetMachine:
    """The code generator for ``machine``. ``reloc`` is ``pic`` or ``static``."""
    initialize()
    target = llvm.Target.from_triple(triple(machine))
    cpu = machine.cpu
    return target.create_target_machine(cpu.llvm_cpu, cpu.llvm_features, opt=3, reloc=reloc, codemodel=code_model)


def optimize(
    text: str, generator: TargetMachine, *, speed_level: int = 3, few_passes: bool = False
) -> ModuleRef:
    """Parses and verifies module text and runs LLVM's default pipeline, or ``few_passes`` of it, in a new context.

    Loops are vectorized and unrolled by the schedule alone, but for short sums, of which the module says so. LLVM's
    vectorizers gain nothing on x86, and on a Cortex-M55 they turned scalar code into gathers that read outside the
    arena; its unrolling doubles the code of the MLPerf Tiny models on a Cortex-M4 (resnet8: 41 for 20 KB), saves no
    instructions there or time on x86, and takes longer than all the rest.
    """
    module = llvm.parse_assembly(text, llvm.create_context())
    module.data_layout = str(generator.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=speed_level)
    tuning.loop_unrolling = False
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(generator, tuning)
    manager = _few_passes() if few_passes else builder.getModulePassManager()
    manager.run(module, builder)
    return module


def _few_passes() -> ModulePassManager:
    """What loops need that are printed without repetitions, and with what does not depend on them in front: registers
    for variables, simpler control flow and arithmetic, no loops that have a single pass."""
    manager = create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    manager.add_sroa_pass()
    manager.add_simplify_cfg_pass()
    manager.add_instruction_combine_pass()
    manager.add_loop_deletion_pass()
    manager.add_simplify_cfg_pass()
    return manager
