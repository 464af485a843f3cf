"""The order of the passes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter

from ..ir.graph import Graph
from ..ir.types import DType
from ..ir.verify import verify_graph
from ..ops.table import OPERATORS
from .bfloats import bfloats
from .byte_signs import signed_bytes, unsigned_bytes
from .cancel_transposes import cancel_transposes
from .channels_last import channels_last
from .contract_before_resize import contract_before_resize
from .control import in_bodies, name_apart
from .drop_channels import drop_channels
from .eliminate_common_subexpressions import eliminate_common_subexpressions
from .eliminate_dead_code import eliminate_dead_code
from .fold_affine import fold_affine
from .fold_constants import fold_constants
from .fuse import fuse
from .integerize import integerize
from .join_taps import join_taps
from .merge_linear_layers import merge_linear_layers
from .merge_reduced_axes import merge_reduced_axes
from .pool_planes import pool_planes
from .precision import FloatFormat, halves
from .repeat_elements import repeat_elements
from .rewrite import Pass, until_stable
from .signed_halfwords import signed_halfwords
from .simplify import simplify
from .sink_reshapes import sink_reshapes

log = logging.getLogger(__name__)

Dump = Callable[[str, Graph], None]


def clean_up(graph: Graph) -> Graph:
    """Folds, simplifies and merges until nothing changes."""
    return until_stable(graph, lambda g: eliminate_common_subexpressions(simplify(fold_constants(g))))


def clean_up_stored(graph: Graph) -> Graph:
    """The same, with constants that are stored quantized left as they are."""

    def step(g: Graph) -> Graph:
        return eliminate_common_subexpressions(simplify(fold_constants(g, dequantize=False)))

    return until_stable(graph, step)


def settle_layout(graph: Graph) -> Graph:
    """Lets transposes and reshapes move until they cancel or nothing changes."""
    return until_stable(graph, lambda g: clean_up(sink_reshapes(cancel_transposes(g))))


PASSES: tuple[tuple[str, Pass], ...] = (
    ("eliminate_dead_code", eliminate_dead_code),
    ("clean_up", clean_up_stored),
    ("sink_reshapes", sink_reshapes),
    ("fold_affine", fold_affine),
    ("signed_halfwords", signed_halfwords),
    ("integerize", integerize),
    ("signed_bytes", signed_bytes),
    ("unsigned_bytes", unsigned_bytes),
    ("channels_last", channels_last),
    ("settle_layout", settle_layout),
    ("pool_planes", pool_planes),
    ("fold_affine", fold_affine),
    ("contract_before_resize", contract_before_resize),
    ("merge_linear_layers", merge_linear_layers),
    ("clean_up", clean_up),
    ("drop_channels", drop_channels),
    ("merge_reduced_axes", merge_reduced_axes),
    ("join_taps", join_taps),
    ("repeat_elements", repeat_elements),
    ("halves", halves),
    ("bfloats", bfloats),
    ("fuse", fuse),
)
"""In order. Those that are for some machines or options only are left out by :func:`optimize` for others."""


def before(last: str, graph: Graph) -> Graph:
    """``graph`` after the passes that come before the first of the name ``last``."""
    names = [name for name, _ in PASSES]
    for _, run in PASSES[: names.index(last)]:
        graph = in_bodies(run)(graph)
    return graph


def optimize(
    graph: Graph,
    *,
    dump: Dump | None = None,
    bytes_as: DType | None = None,
    precision: FloatFormat = FloatFormat.FP32,
    exact: bool = False,
) -> Graph:
    """``graph`` ready for scheduling: channels-last, folded, and grouped into kernels; with ``bytes_as`` for machines
    that prefer bytes of one type, and floats in ``precision``. ``exact`` keeps the sums of each layer of floats apart
    from those of others. Passes go into the graphs of control flow.

    The graph is verified after every pass. ``dump(name, graph)`` sees it under the names ``00-import``,
    ``01-eliminate_dead_code`` and so on.
    """
    _checked("00-import", graph, dump)
    signs = {"signed_bytes": bytes_as is DType.I8, "unsigned_bytes": bytes_as is DType.U8}
    sums = dict.fromkeys(("contract_before_resize", "merge_linear_layers"), not exact)
    wanted = {**signs, **sums, "halves": precision is FloatFormat.FP16, "bfloats": precision is FloatFormat.BF16}
    left_out = {name for name, take in wanted.items() if not take}
    for number, (name, run) in enumerate((step for step in PASSES if step[0] not in left_out), 1):
        start = perf_counter()
        result = in_bodies(run)(graph)
        seconds = perf_counter() - start
        log.debug("%02d-%s: %d -> %d nodes in %.3f s", number, name, len(graph.nodes), len(result.nodes), seconds)
        graph = result
        _checked(f"{number:02}-{name}", graph, dump)
    return name_apart(graph)


def _checked(name: str, graph: Graph, dump: Dump | None) -> None:
    if dump is not None:
        dump(name, graph)
    verify_graph(graph, OPERATORS)
