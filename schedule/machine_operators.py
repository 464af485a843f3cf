"""Operators of integers in the form that a machine is fastest, or able, to compute."""

from __future__ import annotations

from ..ir.graph import Graph
from ..targets.target import Machine
from .bitwise_roots import find_roots_bitwise
from .byte_tables import separate_lookups
from .fixed_requantization import requantize_in_integers
from .short_requantization import requantize_short
from .small_products import mark_small_products
from .unsigned_lookups import look_up_unsigned


def in_terms_of(graph: Graph, machine: Machine) -> Graph:
    """``graph`` in the operators by which ``machine`` computes integers: what kernels are made of."""
    if machine.cpu.pipeline.in_order:
        graph = requantize_short(graph)
        if "mve" not in machine.cpu.extensions:
            graph = look_up_unsigned(graph)
    if machine.cpu.features & {"saturating_lanes", "saturate8"}:
        graph = mark_small_products(graph)
    if "pick_bytes" in machine.cpu.features or machine.cpu.lookups_apart:
        graph = separate_lookups(graph)
    return graph if machine.cpu.has_fpu else find_roots_bitwise(requantize_in_integers(graph))
