"""Whether kernels are what code is generated from: scheduled, and with every access in range."""

from __future__ import annotations

from ..blocks import BLOCKS
from ..errors import CcmlError
from ..instructions import INSTRUCTIONS
from ..ir.loops import Kernel
from ..ir.loops_verify import verify_kernel


def verify_scheduled(kernel: Kernel) -> None:
    """Raises ``IR_INVALID`` where it is not."""
    verify_kernel(kernel, scheduled=True, instructions=INSTRUCTIONS, blocks=BLOCKS)


def is_valid(kernel: Kernel) -> bool:
    """Whether it is, as far as can be shown."""
    try:
        verify_scheduled(kernel)
    except CcmlError:
        return False
    return True
