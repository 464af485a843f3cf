"""An independent check of a memory plan: it knows nothing of how the plan was made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ..errors import CcmlError, ErrorCode
from ..ir.loops import Access, Kernel
from ..ir.program import Pool, Program, StateTensor, Storage
from ..ir.specialize import specialized_call
from ..ir.steps import Branch, Call, Repeat, Step
from .owners import NOBODY, Owners
from .replay import replay

_FOREIGN = 255
"""The mark of bytes that belong to none of the tensors that a replay looks at."""


def check_plan(program: Program) -> None:
    """Simulates the steps, remembering which tensor owns each byte of the pools. Behind a branch that is who owns it
    behind both of its bodies; a loop is simulated until its passes change nothing any more.

    Tensors of the caller's that have a place in a pool count as if they were there. A call whose tensors overlap is
    replayed access by access. Raises ``IR_INVALID`` where a pool is larger than it may be, a tensor leaves its pool or
    is misaligned, or where a kernel reads bytes that are not (or no longer) those of the tensor it asks for.
    """
    _Check(program).run()


class _Check:
    """The pools lie one behind the other: a byte has the number ``starts[pool] + offset``."""

    def __init__(self, program: Program) -> None:
        self.program, self.plan = program, program.plan
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.starts = [0, *accumulate(pool.ram for pool in self.plan.all_pools)]
        self.number = {name: n for n, name in enumerate(self.plan.places)}
        self.owners = Owners(self.plan.ram)
        self.replayed: set[tuple[str, tuple[int, ...], tuple[int | None, ...]]] = set()

    def run(self) -> None:
        if len(self.plan.places) < sum(len(pool.offsets) for pool in self.plan.all_pools):
            raise _invalid("a tensor lies in two pools")
        for pool in self.plan.all_pools:
            self._check_pool(pool)
        for state in self.program.states:
            self._check_state(state)
        for side in self.program.inputs:
            if side.buffer in self.plan.places:
                self._expect_free(side.buffer)
                self._own(side.buffer)
        self._steps(self.program.body, 0)
        for side in self.program.outputs:
            if side.buffer in self.plan.places:
                self._expect(side.buffer, "the caller")
        for state in self.program.states:
            self._expect(state.updated, "the next run")

    def _check_state(self, state: StateTensor) -> None:
        """Before a run, the old value is there; the new one has to be in the same place behind it."""
        if self._span(state.buffer) != self._span(state.updated):
            raise _invalid(f"{state.updated} does not lie where {state.buffer} does")
        self._expect_free(state.buffer)
        self._own(state.buffer)

    def _steps(self, body: Sequence[Step], number: int) -> int:
        """Simulates steps whose first call has that ``number``; that of the call behind them."""
        for step in body:
            if isinstance(step, Call):
                self._call(step, f"call {number} ({step.loc})")
                number += 1
                continue
            for name in step.buffers:
                self._control(step, name)
            number = self._branch(step, number) if isinstance(step, Branch) else self._repeat(step, number)
        return number

    def _control(self, step: Branch | Repeat, name: str) -> None:
        """A buffer that control flow itself looks at or sets."""
        if name not in self.plan.places:
            return
        place, size = self.plan.places[name], self.program.buffers[name].dtype.size
        if place.offset % size or self.plan.all_pools[place.pool].align % size:
            raise _invalid(f"{step.loc}: {name} is misaligned at {place.offset}")
        if not (isinstance(step, Repeat) and name == step.number):
            self._expect(name, step.loc)

    def _branch(self, step: Branch, number: int) -> int:
        before = self.owners.copy()
        number = self._steps(step.then, number)
        then, self.owners = self.owners, before
        number = self._steps(step.orelse, number)
        self.owners = then.met(self.owners)
        return number

    def _repeat(self, step: Repeat, number: int) -> int:
        """A pass begins with what holds before the first as well as behind any other: fewer bytes at each round."""
        while True:
            before = self.owners.copy()
            if step.number is not None and step.number in self.plan.places:
                self._own(step.number)
            end = self._steps(step.body, number)
            for name in step.buffers:
                if name != step.number:
                    self._control(step, name)
            behind, self.owners = self.owners, before.met(self.owners)
            if self.owners == before:
                self.owners = behind if step.has_a_pass else before
                return end

    def _check_pool(self, pool: Pool) -> None:
        if pool.limit is not None and pool.ram > pool.limit:
            raise _invalid(f"{pool.name} takes {pool.ram} bytes of {pool.limit}")
        for name, first in pool.offsets.items():
            decl = self.program.buffers[name]
            limit = pool.size if decl.storage in (Storage.ARENA, Storage.STATE) else pool.whole
            if first < 0 or first + decl.nbytes > limit:
                raise _invalid(f"{name} lies at {first}..{first + decl.nbytes} of {limit} in {pool.name}")

    def _call(self, call: Call, where: str) -> None:
        kernel = specialized_call(self.program, self.kernels, call)
        planned = [(p, a) for p, a in zip(kernel.params, call.args, strict=True) if a in self.plan.places]
        for param, name in planned:
            place = self.plan.places[name]
            align = max(param.align, param.dtype.size)
            if place.offset % align or self.plan.all_pools[place.pool].align % align:
                raise _invalid(f"{where}: {name} is misaligned at {place.offset}")
        written = {name for param, name in planned if param.access is not Access.READ}
        read = {name for param, name in planned if param.access is Access.READ} - written
        for param, name in planned:
            if param.access is Access.READ_WRITE and self._holds_old_value(name):
                continue
            if param.access is not Access.WRITE:
                self._expect(name, where)
        if any(self._overlap(a, b) for a in written for b in written if a < b):
            raise _invalid(f"{where}: two tensors that it writes overlap")
        if any(self._overlap(a, b) for a in written for b in read):
            self._replay(kernel, call, where)
        for name in written:
            self._own(name)

    def _replay(self, kernel: Kernel, call: Call, where: str) -> None:
        """Once for every arrangement of the tensors of a kernel."""
        places = [self._span(name)[0] if name in self.plan.places else None for name in call.args]
        spans = [self._span(name) for name in set(call.args) if name in self.plan.places]
        start, end = min(first for first, _ in spans), max(end for _, end in spans)
        key = (kernel.name, call.scalars, tuple(None if place is None else place - start for place in places))
        if key in self.replayed:
            return
        self.replayed.add(key)
        marks = {name: mark for mark, name in enumerate(dict.fromkeys(call.args))}
        memory = bytearray([_FOREIGN]) * (end - start)
        for name, mark in marks.items():
            if name in self.plan.places:
                for first, stop in self.owners.parts(*self._span(name), self.number[name]):
                    memory[first - start : stop - start] = bytes([mark]) * (stop - first)
        found = replay(
            kernel,
            {
                param.name: (self._span(name)[0] - start, marks[name])
                for param, name in zip(kernel.params, call.args, strict=True)
                if name in self.plan.places
            },
            memory,
        )
        if found is not None:
            raise _invalid(f"{where}: byte {found}, but was overwritten by then: its tensors overlap too far")

    # ---- bytes and their owners

    def _span(self, name: str) -> tuple[int, int]:
        pool, offset = self.plan.places[name]
        first = self.starts[pool] + offset
        return first, first + self.program.buffers[name].nbytes

    def _overlap(self, a: str, b: str) -> bool:
        (start, end), (other, stop) = self._span(a), self._span(b)
        return start < stop and other < end

    def _own(self, name: str) -> None:
        self.owners.own(*self._span(name), self.number[name])

    def _expect_free(self, name: str) -> None:
        if self.owners.stranger(*self._span(name), NOBODY) is not None:
            raise _invalid(f"{name} overlaps another input or state")

    def _holds_old_value(self, name: str) -> bool:
        """Whether a tensor that updates a state finds the old value in its place: then it may write some of it."""
        old = self.program.buffers[name].updates
        return old is not None and self.owners.stranger(*self._span(name), self.number[old]) is None

    def _expect(self, name: str, where: str) -> None:
        found = self.owners.stranger(*self._span(name), self.number[name])
        if found is not None:
            byte, owner = found
            other = next((n for n, i in self.number.items() if i == owner), "nobody")
            pool = self.plan.places[name].pool
            spelled = f"byte {byte - self.starts[pool]} of {self.plan.all_pools[pool].name}"
            raise _invalid(f"{where} reads {name}, but {spelled} belongs to {other}")


def _invalid(reason: str) -> CcmlError:
    return CcmlError(ErrorCode.IR_INVALID, reason)
