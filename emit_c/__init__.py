"""Loop IR to C99 through pycparser's trees."""

from __future__ import annotations

from .artifact import write_c
from .kernel import kernel_function
from .requirements import Requirements
from .tree import print_c

__all__ = ["Requirements", "kernel_function", "print_c", "write_c"]
