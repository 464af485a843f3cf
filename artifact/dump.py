"""``--dump-ir``: the text of the graph after every pass, and of the program after every step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph
from ..ir.graph_text import print_graph
from ..ir.loops_text import print_kernel
from ..ir.program import Program
from ..ir.program_text import print_program
from ..targets import Machine


class IrDump:
    """Writes each graph that it is called with as ``<pass>.ccml``, and programs behind them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._graphs = 0

    def __call__(self, name: str, graph: Graph) -> None:
        self._graphs += 1
        self._write(name, print_graph(graph))

    def programs(self, machine: Machine) -> Callable[[str, Program], None]:
        """What writes the program for ``machine`` after each step, as ``11-lower_nodes-cortex-m4-eabihf.ccml``."""
        count = self._graphs

        def dump(name: str, program: Program) -> None:
            nonlocal count
            self._write(f"{count:02}-{name}-{machine.name}-{machine.abi.name}", print_program(program))
            count += 1

        return dump

    def _write(self, name: str, text: str) -> None:
        """Raises ``OUTPUT_FOLDER`` where the file cannot be written."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{name}.ccml").write_text(text, encoding="utf-8", newline="\n")
        except OSError as problem:
            reason, hint = f"cannot write: {problem.strerror or problem}", "choose another folder with --dump-ir"
            raise CcmlError(ErrorCode.OUTPUT_FOLDER, reason, loc=str(self._folder), hint=hint) from problem


def kernels_text(program: Program) -> str:
    """The loop IR of all kernels, in the order of their first call."""
    return "\n".join(print_kernel(kernel) for kernel in program.kernels)
