"""The C functions of block instructions: assembly where a compiler can take it, else what the meaning says, printed."""

from __future__ import annotations

from importlib.resources import files

from ..blocks import BLOCKS
from . import tree
from .kernel import kernel_function
from .requirements import Requirements

ASSEMBLY = "CCML_BLOCK_{}"
"""What the header with the assembly of a block instruction defines where it is taken."""


def block_functions(needs: Requirements) -> list[str]:
    """The printed functions of the blocks that kernels invoke, which stand behind all headers.

    ``needs`` takes the headers of those with assembly, and what the functions use of the runtime themselves.
    """
    out = []
    for name in sorted(needs.blocks):
        if (files("ccml.runtime_c") / f"ccml_{name}.h").is_file():
            needs.header(f"ccml_{name}.h")
        function = kernel_function(BLOCKS[name].general(), f"ccml_{name}", needs, inline=True)
        guard = ASSEMBLY.format(name.upper())
        out.append(f"#ifndef {guard}\n#define {guard} 1\n{tree.print_c(function)}#endif\n")
    return out
