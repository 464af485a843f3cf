"""``--dump-ir``: the text of the graph after every pass, and of the kernels."""

from __future__ import annotations

from pathlib import Path

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph
from ..ir.graph_text import print_graph
from ..ir.loops_text import print_kernel
from ..ir.program import Program
from ..targets import Machine


class GraphDump:
    """Writes each graph it is called with as ``<pass>.ccml``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def __call__(self, name: str, graph: Graph) -> None:
        self._count += 1
        self.write(name, print_graph(graph))

    def next_number(self) -> str:
        return f"{self._count:02}"

    def write(self, name: str, text: str) -> None:
        """Raises ``OUTPUT_FOLDER`` where the file cannot be written."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{name}.ccml").write_text(text, encoding="utf-8", newline="\n")
        except OSError as problem:
            reason, hint = f"cannot write: {problem.strerror or problem}", "choose another folder with --dump-ir"
            raise CcmlError(ErrorCode.OUTPUT_FOLDER, reason, loc=str(self._folder), hint=hint) from problem


def dump_kernels(dump: GraphDump, program: Program, machine: Machine) -> None:
    """The scheduled kernels, after the graphs: ``09-kernels-cortex-m4-eabihf.ccml``."""
    dump.write(f"{dump.next_number()}-kernels-{machine.name}-{machine.abi.name}", kernels_text(program))


def kernels_text(program: Program) -> str:
    """The loop IR of all kernels, in the order of their first call."""
    return "\n".join(print_kernel(kernel) for kernel in program.kernels)
