"""One kernel in the making: its tensors, names, packed constants, and the body behind its anchor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..ir.build import store
from ..ir.graph import Graph, Node, Value
from ..ir.loops import Access, Alloc, Block, Buffer, Expr, For, Let, LoopKind, Space, Stmt, Type, Var, as_expr, const
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.fused import body_of
from ..ops.opdef import Kind
from ..ops.table import OPS
from ..targets.target import Cpu
from .alike import Alike, Nest
from .blocking import Blocking, Product
from .body import Body
from .byte_tables import LANES
from .decision import Decision
from .names import Names
from .tensors import TensorRef
from .turned_copies import shuffled_widths, turn_copies
from .unroll import unroll_bytes, unroll_short
from .vectorize import vectorize, vectorize_copies
from .vectorizer import LONG_DTYPES, VECTOR_DTYPES, Able, NotVectorizable, Vectorizer

_STACK_BYTES = 32 << 10
"""On the stack of a machine with vectors and memory for them, at most."""


@dataclass
class KernelContext:
    """What generators share while they build one kernel from a fused node.

    ``refs`` map the names of outside values (and of the output) to how the kernel sees them; ``packed`` collects the
    constants in the order in which the kernel reads them, by buffer name, and ``scratch`` memory that lives during a
    call. ``decision`` is what the loops are to be like, where that is known. ``by_rows``: the operand is there row by
    row, so that rows are not joined. ``room``: the bytes of working memory that are free during a call, so that
    temporaries may take them. ``alike`` knows loops of other nodes.
    """

    node: Node
    cpu: Cpu
    refs: dict[str, TensorRef]
    outer_constants: Callable[[Value | None], np.ndarray | None]
    names: Names = field(default_factory=Names)
    packed: dict[str, np.ndarray] = field(default_factory=dict)
    scratch: dict[str, Buffer] = field(default_factory=dict)
    decision: Decision | None = None
    by_rows: bool = False
    room: int = 0
    alike: Alike | None = None
    asked: int = field(default=0, init=False)
    """How often a generator asked for the values of a constant."""

    @property
    def body(self) -> Graph:
        return body_of(self.node.attrs)

    @cached_property
    def anchor(self) -> Node | None:
        """The node that owns the loop nest, if there is one."""
        return next((n for n in self.body.nodes if OPS[n.op].kind is Kind.ANCHOR), None)

    @property
    def result(self) -> Value:
        """The anchor's result, which the work behind it begins with; of an anchor with several, the first that is used.
        Fusion puts no work behind an anchor of which several are used."""
        assert self.anchor is not None
        read = {value.name for node in self.body.nodes for value in node.operands}
        used = read | {value.name for value in self.body.outputs}
        return next(value for value in self.anchor.outputs if value.name in used)

    @property
    def output(self) -> Value:
        """The result of the kernel; of an anchor with several results and no body behind it, the first that is used."""
        return self.body.outputs[0]

    def constant(self, value: Value | None) -> np.ndarray | None:
        """The array behind an operand, wherever it is kept."""
        inside = self.body.constant(value)
        if inside is not None:
            return inside
        self.asked += 1
        return self.outer_constants(value)

    @property
    def contraction(self) -> tuple[Node, np.ndarray | None]:
        """An anchor with weights as its second operand, and these where they are constant."""
        assert self.anchor is not None
        return self.anchor, self.constant(self.anchor.inputs[1])

    def pack(self, stem: str, array: np.ndarray, align: int = 0) -> Buffer:
        """Adds a constant in its physical form, at a multiple of ``align`` bytes, and returns its buffer."""
        data, name = np.ascontiguousarray(array), self.names.fresh(stem)
        buffer = Buffer(name, Type(DType.from_numpy(data.dtype)), data.shape, access=Access.READ, align=align)
        self.packed[buffer.name] = data
        return buffer

    def loops(self, make: Callable[[], Block], *parts: object) -> Block:
        """``make()``, or what it was for a node of the same structure, where that is known.

        Of the values of constants, what it makes may depend on the shapes of what is packed so far, and on ``parts``.
        Where it asks for them, or packs more, nothing is kept.
        """
        if self.alike is None:
            return make()
        packed = tuple((name, array.dtype.str, array.shape) for name, array in self.packed.items())
        before = len(self.scratch)
        key = (self.alike.structure, self.decision, parts, packed, tuple(self.scratch.values()), self.names.taken())
        known = self.alike.nests.get(key)
        if known is not None:
            self.names.continue_from(known.taken)
            self.scratch |= {buffer.name: buffer for buffer in known.scratch}
            return known.block
        asked = self.asked
        block = make()
        if self.asked == asked and len(self.packed) == len(packed):
            added = tuple(self.scratch.values())[before:]
            self.alike.nests[key] = Nest(block, self.names.taken(), added)
        return block

    def temporary(self, stem: str, dtype: DType, shape: Sequence[int], align: int = 0) -> Buffer:
        """Memory of the arena for the time of a call; undefined at its beginning."""
        buffer = Buffer(self.names.fresh(stem), Type(dtype), tuple(shape), align=align)
        self.scratch[buffer.name] = buffer
        return buffer

    def own_memory(
        self, stem: str, dtype: DType, shape: Sequence[int], needed: int, align: int = 0
    ) -> tuple[Buffer, Block]:
        """Memory for one passage of the outermost loops, and the statements that provide it: on the stack where the
        bytes ``needed`` for all such memory are few, so that each thread has its own, else of the arena."""
        if needed > _STACK_BYTES:
            return self.temporary(stem, dtype, shape, align), ()
        buffer = Buffer(self.names.fresh(stem), Type(dtype), tuple(shape), Space.STACK, align=align)
        return buffer, (Alloc(buffer),)

    def blocking(self, product: Product) -> Blocking:
        """How a product is cut into blocks: as decided, or with the fewest estimated cycles."""
        shape = None if self.decision is None else self.decision.shape
        decided = None if shape is None else product.decided(self.cpu, shape)
        return product.cheapest(self.cpu) if decided is None else decided

    def form(self, count: int) -> int | None:
        """Which of ``count`` forms was decided on, if any."""
        decided = None if self.decision is None else self.decision.form
        return decided if decided is not None and decided < count else None

    def vectorized(self, block: Block, *, once: bool = False) -> Block:
        """``block``, which a call may run only ``once``, with the CPU's vectors in place of its loops, and loops that
        stay scalar unrolled: short ones where these are dear, and without vectors those over bytes."""
        if self.cpu.copied_bytes:
            block = vectorize_copies(block, self.cpu.copied_bytes, self.names)
        halves = any(value.dtype is DType.F16 for value in (*self.node.operands, self.output))
        widths = self.cpu.f16_lanes if halves else self.cpu.f32_lanes
        if not self.by_rows and not self.cpu.microcontroller:
            block = turn_copies(block, shuffled_widths(self.cpu), self.names)
        wide = vectorize(block, widths, self.names, self._able, by_rows=self.by_rows)
        if max(self.cpu.f32_lanes) == 1:
            return unroll_bytes(wide, self.names, once=once)
        return unroll_short(wide, self.names) if self.cpu.short_loops else wide

    def rolled(self, block: Block) -> Block:
        """:meth:`vectorized`, where compilers leave loops of vectors as they are."""
        if max(self.cpu.f32_lanes) > 1:
            loops = (replace(stmt, kind=LoopKind.ROLLED) if isinstance(stmt, For) else stmt for stmt in block)
            block = tuple(loops)
        return self.vectorized(block)

    @property
    def _able(self) -> Able:
        dtypes = VECTOR_DTYPES | LONG_DTYPES if "long_lanes" in self.cpu.features else VECTOR_DTYPES
        words = max(self.cpu.f32_lanes) if "pick_words" in self.cpu.features else 0
        sums = 1 if self.cpu.microcontroller else 4
        return Able(dtypes, words, LANES if "pick_bytes" in self.cpu.features else 0, sums)

    def rounded(self, value: Expr) -> Expr:
        """Sums of the anchor in the element type of its result."""
        return Type(self.result.dtype, value.type.lanes)(value)

    def trial(self) -> KernelContext:
        """The same kernel, for loops that are made only to be looked at: what they pack and name is not kept."""
        names = deepcopy(self.names)
        return KernelContext(
            self.node, self.cpu, self.refs, self.outer_constants, names, decision=self.decision, by_rows=self.by_rows,
            room=self.room,
        )  # fmt: skip

    def with_dense_tensors(self) -> KernelContext:
        """A kernel for the same node whose tensors have no halo: what is known before there are any."""
        dense = KernelContext(
            self.node, self.cpu, {}, self.outer_constants, decision=self.decision, by_rows=self.by_rows, room=self.room
        )
        for value in (*self.node.operands, *self.node.outputs):
            buffer = Buffer(dense.names.fresh("tensor"), Type(value.dtype.stored), value.shape)
            dense.refs[value.name] = TensorRef.whole(buffer)
        return dense

    # ---- storing results

    def store_element(
        self,
        index: Sequence[Expr],
        element: Expr,
        refs: dict[str, TensorRef] | None = None,
        done: str | None = None,
    ) -> Block:
        """The body behind the anchor applied to one scalar ``element``, and the store. ``element`` is the anchor's
        result, or that of the value ``done`` of the body."""
        tensors = self.refs if refs is None else refs
        anchor = self.anchor
        seeds = {} if anchor is None else {done or self.result.name: element}
        body = Body(self.body, tensors, self.names, seeds)
        value = body.element(self.output, tuple(index))
        out = tensors[self.output.name]
        return (*body.lets, store(out[index], value))

    def store_vector(
        self,
        index: Callable[[Expr], Sequence[Expr]],
        column: Expr,
        vector: Expr,
        active: int,
        refs: dict[str, TensorRef],
    ) -> Block:
        """The same for lanes ``column``, ``column + 1``, ...; ``index`` maps a column to an output index.

        Lane by lane through the stack where the body does not vectorize.
        """
        lanes = vector.type.lanes
        if lanes == 1:
            return self.store_element(index(column), vector, refs)
        lane, element = Var(self.names.fresh("n")), Var(self.names.fresh("r"), vector.type.with_lanes(1))
        scalar = self.store_element(index(lane), element, refs)
        named = Var(self.names.fresh("v"), vector.type)
        mask = None if active == lanes else as_expr(active)
        try:
            seeds: dict[Var, Expr] = {element: named}
            vectorizer = Vectorizer(lane, lanes, column, self.names, active=mask, seeds=seeds, able=self._able)
            return (Let(named, vector), *vectorizer.block(scalar))
        except NotVectorizable:
            return self._store_lanes(scalar, lane, element, column, vector, active)

    def _store_lanes(
        self, scalar: Block, lane: Var, element: Var, column: Expr, vector: Expr, active: int
    ) -> Block:
        spill = Buffer(self.names.fresh("lanes"), element.type, (vector.type.lanes,), Space.STACK)
        step = Var(self.names.fresh("l"))
        body = (Let(lane, column + step), Let(element, spill[step]), *scalar)
        return (Alloc(spill), store(spill[0], vector), For(step, as_expr(active), body))

    # ---- halo

    def fill_halo(self, fill: int) -> Block:
        """``fill`` around the output, strip by strip: dimension by dimension, before and after the tensor."""
        out = self.refs[self.output.name]
        if out.dense:
            return ()
        stmts: list[Stmt] = []
        rank = len(out.shape)
        for dim in range(rank):
            before = out.offset[dim]
            after = out.buffer.shape[dim] - out.shape[dim] - before
            for start, extent in ((0, before), (before + out.shape[dim], after)):
                if extent:
                    spans = [(o, s) for o, s in zip(out.offset[:dim], out.shape[:dim])]
                    spans += [(start, extent)] + [(0, p) for p in out.buffer.shape[dim + 1 :]]
                    stmts.extend(self._fill(out.buffer, spans, fill))
        return tuple(stmts)

    def _fill(self, buffer: Buffer, spans: Sequence[tuple[int, int]], fill: int) -> Block:
        axes = [Var(self.names.fresh("z")) for _ in spans]
        index = tuple(var + start if extent > 1 else as_expr(start) for var, (start, extent) in zip(axes, spans))
        value = const(fill, buffer.type)
        block: Block = (store(buffer[index], value),)
        for var, (_, extent) in reversed(list(zip(axes, spans))):
            block = loop(var, extent, *block)
        return block


@dataclass
class OneScratch(KernelContext):
    """The same kernel, for parts of it that follow each other: equal temporaries are one."""

    made: dict[tuple[str, DType, tuple[int, ...], int], Buffer] = field(default_factory=dict)

    @staticmethod
    def of(ctx: KernelContext) -> OneScratch:
        return OneScratch(
            ctx.node, ctx.cpu, ctx.refs, ctx.outer_constants, ctx.names, ctx.packed, ctx.scratch, ctx.decision,
            ctx.by_rows,
        )

    def temporary(self, stem: str, dtype: DType, shape: Sequence[int], align: int = 0) -> Buffer:
        key = (stem, dtype, tuple(shape), align)
        if key not in self.made:
            self.made[key] = super().temporary(stem, dtype, shape, align)
        return self.made[key]


def has_vectors(ctx: KernelContext) -> bool:
    """Whether the CPU has vectors of floats, and memory to spend for their sake."""
    return max(ctx.cpu.f32_lanes) > 1 and not ctx.cpu.microcontroller
