"""Kernels as text: what a rewrite of their loops makes of one, and what that should be."""

from __future__ import annotations

from textwrap import dedent

from ccml.ir.loops import Block, Kernel
from ccml.ir.loops_text import parse_kernel, print_kernel


def parsed(text: str) -> Kernel:
    return parse_kernel(dedent(text).strip() + "\n")


def printed(kernel: Kernel, body: Block) -> str:
    """``kernel`` with another body."""
    return print_kernel(Kernel(kernel.name, kernel.params, body, kernel.loc)).strip()


def expected(text: str) -> str:
    return dedent(text).strip()
