"""Large kernels in chunks, which may run on several threads at once.

A kernel is taken apart where one of its outermost loops is behind the other; of each phase that is large enough, one or
two outer loops are split into chunks, whose sizes are chosen here and now, so that results do not depend on threads::

    kernel conv_0(x, w, y)                      kernel conv_0_halo(x, y)
      for h:58:  (copies x into y)
      for nb:4, o:56:                           kernel conv_0_main(w, y) chunked 2
        (a row of 64 channels)                    parallel c:4, d:4
                                                    for o:14:
                                                      (row d*14 + o of channels from c*64 on)
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field, replace
from itertools import combinations

from ..errors import CcmlError, ErrorCode
from ..ir.loops import Access, Block, Buffer, Expr, Kernel
from ..ir.loops_rewrite import map_accesses, used_buffers
from ..ir.program import BufferDecl, Program, Storage
from ..ir.steps import Call, map_calls, walk_calls, walk_steps
from ..record import record
from ..schedule.params import accessed
from ..targets.target import Machine
from .chunking import Split, merged, operations, phases, split
from .goal import Goal
from .validity import is_valid

log = logging.getLogger(__name__)


def partition(program: Program, machine: Machine, goal: Goal) -> Program:
    """``program`` with its large kernels in chunks, where there are to be threads.

    Raises ``BAD_OPTION`` where the target has none, or memory is scarce: tensors that share memory as far as the order
    of accesses allows cannot be written in any order.
    """
    if not goal.threads:
        return program
    if not machine.target.threads:
        raise CcmlError(ErrorCode.BAD_OPTION, f"--threads is not for {machine.name}: nothing is known of its threads")
    if goal.scarce_ram or machine.target.scarce_ram:
        reason = "--threads does not go with --optimize ram, --max-ram and --pool: its layers share no memory"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="leave one of them out")
    return _Partition(program, goal.threads).run()


class _Partition:
    def __init__(self, program: Program, threads: int) -> None:
        self.program, self.threads = program, threads
        self.names = {kernel.name for kernel in program.kernels}
        self.parts: dict[str, tuple[_Part, ...]] = {}
        self.shared: dict[str, list[tuple[str, str]]] = {}
        self.temporaries: dict[str, set[str]] = {}
        self.decls: dict[str, dict[str, BufferDecl]] = {}
        self.buffers = dict(program.buffers)
        steps = (step for step in walk_steps(program.body) if not isinstance(step, Call))
        self.kept = {*program.taps.values(), *(name for step in steps for name in step.buffers)}

    def run(self) -> Program:
        program = self.program
        named = {kernel.name: kernel for kernel in program.kernels}
        uses = Counter(name for call in walk_calls(program.body) for name in set(call.args))
        for call in walk_calls(program.body):
            self._note_shared_places(call, named[call.kernel])
            self._note_temporaries(call, named[call.kernel], uses)
        for kernel in program.kernels:
            if not kernel.scalars and kernel.foreign is None and not kernel.fetches and not kernel.chunked:
                self.parts[kernel.name] = tuple(self._parts_of(kernel))
        kernels = [
            made
            for kernel in program.kernels
            for made in ([part.kernel for part in self.parts[kernel.name]] if kernel.name in self.parts else [kernel])
        ]
        body = map_calls(program.body, self._calls)
        return replace(
            program, kernels=tuple(kernels), body=body, buffers=self.buffers, threads=self.threads, chunks={}
        )

    def _note_shared_places(self, call: Call, kernel: Kernel) -> None:
        """Parameters behind which there is one tensor, or the old and the new value of a state."""
        places = [self.program.buffers[name].updates or name for name in call.args]
        for (one, place), (other, again) in combinations(zip(kernel.params, places, strict=True), 2):
            if place == again:
                self.shared.setdefault(kernel.name, []).append((one.name, other.name))

    def _note_temporaries(self, call: Call, kernel: Kernel, uses: Mapping[str, int]) -> None:
        """Parameters behind which there is working memory of this call alone, in every call."""
        own = {
            param.name
            for param, name in zip(kernel.params, call.args, strict=True)
            if uses[name] == 1 and param.access is Access.WRITE and name not in self.kept
            and self.program.buffers[name].storage is Storage.ARENA
        }  # fmt: skip
        self.temporaries[kernel.name] = self.temporaries.get(kernel.name, own) & own
        self.decls[kernel.name] = {
            param.name: self.program.buffers[name] for param, name in zip(kernel.params, call.args, strict=True)
        }

    def _sizes(self, kernel: Kernel, phase: Block) -> Mapping[Storage, int]:
        """Bytes of what a phase uses, by where they are stored."""
        sizes: Counter[Storage] = Counter()
        for name in {buffer.name for buffer in used_buffers(phase)} & self.decls.get(kernel.name, {}).keys():
            decl = self.decls[kernel.name][name]
            sizes[decl.storage] += decl.nbytes
        return sizes

    def _is_apart(self, kernel: Kernel, phase: Block) -> bool:
        """Whether nothing that a phase writes is behind another parameter as well."""
        read, stored = ({buffer.name for buffer in buffers} for buffers in accessed(phase))
        pairs = (set(pair) for pair in self.shared.get(kernel.name, ()))
        return not any(pair <= read | stored and pair & stored for pair in pairs)

    def _calls(self, _: int, call: Call) -> Sequence[Call]:
        parts = self.parts.get(call.kernel)
        if parts is None:
            return (call,)
        largest = max(range(len(parts)), key=lambda number: parts[number].work)
        for part in parts:
            for param, place in zip(part.kernel.params, part.places, strict=True):
                if param.name in part.own:
                    decl = self.program.buffers[call.args[place]]
                    self.buffers[decl.name] = replace(decl, shape=(*part.own[param.name], *decl.shape))
        return [
            replace(
                call, kernel=part.kernel.name, args=tuple(call.args[place] for place in part.places),
                macs=call.macs if number == largest else 0,
            )
            for number, part in enumerate(parts)
        ]  # fmt: skip

    def _parts_of(self, kernel: Kernel) -> Sequence[_Part]:
        """The kernel itself, where nothing of it is split, or not all accesses of its chunks are shown to be in
        range."""
        found = list(phases(kernel.body))
        seen = Counter(name for phase in found for name in {buffer.name for buffer in used_buffers(phase)})
        temporaries = {name for name in self.temporaries.get(kernel.name, ()) if seen[name] == 1}
        splits = [
            split(phase, self.threads, temporaries, self._sizes(kernel, phase), self.program.chunks.get(kernel.name))
            if self._is_apart(kernel, phase)
            else Split(phase)
            for phase in found
        ]
        whole = _Part(kernel, tuple(range(len(kernel.params))), 0)
        if not any(each.chunked for each in splits):
            return (whole,)
        parts = self._parts_by(kernel, _grouped(splits))
        if all(is_valid(part.kernel) for part in parts if part.kernel.chunked):
            return parts
        log.warning("%s is not split for threads: its chunks are not shown to stay in range", kernel.name)
        return (whole,)

    def _parts_by(self, kernel: Kernel, groups: Sequence[Split]) -> Sequence[_Part]:
        parts: list[_Part] = []
        written: set[str] = set()
        for number, group in enumerate(groups):
            params = _parameters(kernel, group, written)
            body = map_accesses(group.body, _rebinding(params))
            places = tuple(place for place, param in enumerate(kernel.params) if param.name in params)
            name = kernel.name if len(groups) == 1 else self._name(f"{kernel.name}_phase{number}")
            made = replace(kernel, name=name, params=tuple(params.values()), body=body, chunked=group.chunked)
            parts.append(_Part(made, places, operations(body), group.own))
            written |= {name for name, param in params.items() if param.access is not Access.READ}
        return parts

    def _name(self, wanted: str) -> str:
        while wanted in self.names:
            wanted += "_"
        self.names.add(wanted)
        return wanted


def _grouped(splits: Sequence[Split]) -> list[Split]:
    """Neighbours together that run one right behind the other, and those that are not split."""
    groups: list[Split] = []
    for each in splits:
        both = merged(groups[-1], each) if groups else None
        if groups and not each.chunked and not groups[-1].chunked:
            both = Split((*groups[-1].body, *each.body))
        if both is None:
            groups.append(each)
        else:
            groups[-1] = both
    return groups


def _rebinding(params: Mapping[str, Buffer]) -> Callable[[Buffer, tuple[Expr, ...]], tuple[Buffer, tuple[Expr, ...]]]:
    return lambda buffer, index: (params.get(buffer.name, buffer), index)


def _parameters(kernel: Kernel, part: Split, written: Set[str]) -> dict[str, Buffer]:
    """The parameters of a part of ``kernel``, by name, where parts before it have ``written`` some of them."""
    read, stored = ({buffer.name for buffer in buffers} for buffers in accessed(part.body))

    def access(name: str, whole: Access) -> Access:
        if name not in stored:
            return Access.READ
        return Access.READ_WRITE if name in read and name in written else whole

    return {
        param.name: replace(
            param, access=access(param.name, param.access), shape=(*part.own.get(param.name, ()), *param.shape)
        )
        for param in kernel.params
        if param.name in read | stored
    }


@record
class _Part:
    """A part of a kernel, the ``places`` of its parameters among those of the whole, its operations, and the parameters
    that are larger than those of the whole."""

    kernel: Kernel
    places: tuple[int, ...]
    work: float
    own: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
