"""Kernels and whole programs compiled into this process: for calibration, verification and tests."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import NoReturn

import llvmlite.binding as llvm
import numpy as np

from ..custom_ops.host import HostLibrary
from ..errors import CcmlError, ErrorCode
from ..ir.extents import cropped
from ..ir.loops import Access, Kernel
from ..ir.program import Interface, Program, Role, Storage
from ..ir.states import initial_value
from ..ir.steps import Branch, Call, Repeat, Step, walk_calls
from ..ir.threads import WORKERS_BYTES
from ..targets import TARGETS, CpuidBit, HwcapBit, Machine, host, in_process
from ..targets.detection import ARCH_PRCTL, REQUEST_STATE
from . import backend
from .elf import undefined_symbols
from .entry import ModuleOptions, call_symbol, reset_symbol, run_symbol
from .guard import AUXILIARY_VECTOR
from .kernels import kernel_function
from .module import constant_array, foreign_kernels, module_text
from .rows import row_source
from .runtime import helper_object
from .threads import system_functions, workers_symbols

_CACHE_LINE = 64
_CALLS_AROUND = 100
"""Calls that do nothing, timed before the first of those that do something."""


@cache
def host_machine() -> Machine:
    """The machine that this process runs on, at the highest instruction-set level that it has."""
    backend.initialize()
    architecture = llvm.get_process_triple().split("-")[0]
    machine = host(architecture, host_features())
    if machine is None:
        known = {name for target in TARGETS for abi in target.abis for name in abi.host_architectures}
        hint = f"machines that can: {', '.join(sorted(known))}"
        raise CcmlError(ErrorCode.TOOLCHAIN, f"no in-process compilation on {architecture}", hint=hint)
    return machine


def host_features() -> set[str]:
    """What this machine's processor has, as LLVM knows it, and as Linux tells where LLVM does not ask for it; without
    what Linux has to be asked for and refuses."""
    found = {feature for feature, there in llvm.get_host_cpu_features().items() if there}
    linux = ctypes.CDLL(None) if sys.platform == "linux" else None
    architecture = llvm.get_process_triple().split("-")[0]
    abis = (abi for target in TARGETS for abi in target.abis if architecture in abi.host_architectures)
    for detection in (abi.detection for abi in abis if abi.detection is not None):
        for name, feature in detection.features.items():
            flag = feature.flag
            if isinstance(flag, HwcapBit) and linux is not None and _auxiliary(linux, flag.entry) >> flag.bit & 1:
                found.add(name)
            if isinstance(flag, CpuidBit) and flag.granted and name in found and not _granted(linux, flag.granted):
                found.remove(name)
    return found


def _auxiliary(linux: ctypes.CDLL, entry: int) -> int:
    getauxval = getattr(linux, AUXILIARY_VECTOR)
    getauxval.argtypes, getauxval.restype = [ctypes.c_ulong], ctypes.c_ulong
    return int(getauxval(entry))


def _granted(linux: ctypes.CDLL | None, state: int) -> bool:
    """Whether Linux lets this process use registers that it has to be asked for, from now on."""
    return linux is not None and linux.syscall(ARCH_PRCTL, REQUEST_STATE, state) == 0


class JitLibrary:
    """A module in executable memory, for as long as this object lives. ``functions`` maps symbols to addresses."""

    def __init__(
        self, text: str, symbols: Sequence[str], machine: Machine, given: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """``given`` are addresses of functions that the module calls."""
        generator = backend.target_machine(machine, reloc="pic")
        image = generator.emit_object(backend.optimize(text, generator, few_passes=machine.cpu.few_passes))
        self._engine = llvm.create_lljit_compiler(generator, use_jit_link=True)
        builder = llvm.JITLibraryBuilder().add_object_img(image)
        helpers = helper_object(undefined_symbols(image), machine)
        if helpers is not None:
            builder.add_object_img(helpers)
        for symbol, address in given.items():
            builder.import_symbol(symbol, address)
        for symbol in symbols:
            builder.export_symbol(symbol)
        self._tracker = builder.link(self._engine, "ccml")
        self.functions = {symbol: self._tracker[symbol] for symbol in symbols}


class JitKernel:
    """One kernel, compiled for this machine.

    >>> JitKernel(kernel, host_machine()).run({"x": x, "y": y})  # writes y
    """

    def __init__(
        self, kernel: Kernel, machine: Machine | None = None, *, noalias: frozenset[str] = frozenset()
    ) -> None:
        self.kernel = kernel
        chosen = in_process(machine or host_machine(), sys.platform)
        function = kernel_function(kernel, chosen, noalias=noalias, linkage="")
        text = "\n".join((f'target triple = "{backend.triple(chosen)}"', *sorted(function.declarations), function.text))
        self._library = JitLibrary(text, [kernel.name], chosen)
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kernel.params))
        self._function = signature(self._library.functions[kernel.name])

    def run(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Runs the kernel on contiguous arrays, one for each parameter by name; writes in place."""
        self._check(arrays)
        memory = {param.name: _aligned(arrays[param.name], max(param.align, 1)) for param in self.kernel.params}
        self._function(*(memory[param.name].ctypes.data for param in self.kernel.params))
        for param in self.kernel.params:
            if param.access is not Access.READ and memory[param.name] is not arrays[param.name]:
                arrays[param.name][...] = memory[param.name]

    def caller(self, arrays: Sequence[np.ndarray]) -> Callable[[], None]:
        """A function that runs the kernel on memory for its parameters, in their order, for benchmarks: nothing is
        checked."""
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        function = self._function

        def call(_alive: object = (self, arrays)) -> None:
            function(*pointers)

        return call

    def _check(self, arrays: Mapping[str, np.ndarray]) -> None:
        for param in self.kernel.params:
            array = arrays[param.name]
            if array.dtype != param.dtype.numpy or array.size != int(np.prod(param.shape, dtype=np.int64)):
                wanted = f"{param.dtype.numpy}{list(param.shape)}"
                _refuse(param.name, f"expected {wanted}, got {array.dtype}{list(array.shape)}")
            if not array.flags.c_contiguous or (param.access is not Access.READ and not array.flags.writeable):
                _refuse(param.name, "the array must be contiguous, and writable where the kernel writes it")


def _system_functions(program: Program, machine: Machine) -> dict[str, int]:
    """The addresses of what the functions that start threads call."""
    names = system_functions(machine) if program.threads else ()
    return {name: ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0 for name in names}


@contextmanager
def _allocated(program: Program) -> Iterator[None]:
    """Raises ``BUDGET`` where this machine does not give the memory of a run."""
    try:
        yield
    except MemoryError as problem:
        needed = program.plan.ram + sum(side.type.nbytes for side in program.outputs)
        reason = f"a run takes {needed:,} bytes of memory, which this machine does not give"
        raise CcmlError(ErrorCode.BUDGET, reason) from problem


class StateMemory:
    """The states of one sequence of runs, as a caller of the artifact keeps them; ``values`` are views by the name of
    the input. A new one holds the first values."""

    def __init__(self, program: Program) -> None:
        pool = program.plan.state
        with _allocated(program):
            self.memory = aligned_empty(0 if pool is None else pool.size, 1 if pool is None else pool.align)
        self.values: dict[str, np.ndarray] = {}
        for state in program.states:
            begin = program.plan.places[state.buffer].offset
            content = self.memory[begin : begin + state.type.nbytes]
            self.values[state.name] = content.view(state.type.dtype.numpy).reshape(state.type.shape)
        self._first = {state.name: initial_value(state.state, state.type) for state in program.states}
        self.reset()

    def reset(self) -> None:
        """Begins a new sequence."""
        self.memory[...] = 0
        for name, value in self._first.items():
            self.values[name][...] = value


class JitModel:
    """A whole program, compiled for this machine. ``run`` and ``observe`` may be called from several threads.

    Where it has states, a run updates those that it is given, or else the model's own, ``state``."""

    def __init__(self, program: Program, machine: Machine | None = None) -> None:
        self.program = program
        self._constants = {name: _aligned(constant_array(program, name), _CACHE_LINE) for name in program.constants}
        addresses = {name: array.ctypes.data for name, array in self._constants.items()}
        options = ModuleOptions(addresses=addresses, call_symbols=True, workers=bool(program.threads))
        chosen = in_process(machine or host_machine(), sys.platform)
        calls = [call_symbol(program, number) for number in range(len(program.calls))]
        reset = [reset_symbol(program)] if program.states else []
        symbols = [run_symbol(program), *reset, *workers_symbols(program), *calls]
        foreign = foreign_kernels(program)
        self._custom = HostLibrary(foreign) if foreign else None
        given = {**(self._custom.functions if self._custom is not None else {}), **_system_functions(program, chosen)}
        self._library = JitLibrary(module_text(program, chosen, options), symbols, chosen, given)
        signature = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * len(program.parameters))
        self._run = signature(self._library.functions[run_symbol(program)])
        self._calls = [signature(self._library.functions[symbol]) for symbol in calls]
        self._around: int | None = None
        self.state = StateMemory(program)
        with _allocated(program):
            self._pools = [aligned_empty(pool.size, pool.align) for pool in program.plan.pools]
        self._workers: np.ndarray | None = None
        self._lock = threading.Lock()

    @contextmanager
    def threads(self, count: int) -> Iterator[None]:
        """Has what was compiled in chunks run by ``count`` threads, the caller's among them; other programs run as
        ever. Raises ``TOOLCHAIN`` where the system gives no more threads."""
        if not self.program.threads:
            yield
            return
        memory = aligned_empty(WORKERS_BYTES, _CACHE_LINE)
        start, stop = (self._library.functions[symbol] for symbol in workers_symbols(self.program))
        if ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(start)(memory.ctypes.data, count):
            raise CcmlError(ErrorCode.TOOLCHAIN, f"the system does not give {count} threads")
        self._workers = memory
        try:
            yield
        finally:
            self._workers = None
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(stop)(memory.ctypes.data)

    def run(self, inputs: Mapping[str, np.ndarray], state: StateMemory | None = None) -> dict[str, np.ndarray]:
        """The outputs, by their ONNX names. Raises ``CcmlError(BAD_INPUT)`` that names the tensor."""
        arrays = self._bind(inputs)
        with self._lock:
            status = self._run(*self._pointers(arrays, state))
        if status:
            raise CcmlError(ErrorCode.BAD_INPUT, f"{run_symbol(self.program)} returned {status}")
        return self._outputs(arrays)

    def _outputs(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name, with the shapes of this run."""
        given = {side.name: arrays[side.buffer] for side in self.program.inputs}
        outputs = {side.name: arrays[side.buffer] for side in self.program.outputs}
        return cropped(self.program.extents, outputs, given)

    def caller(self, inputs: Mapping[str, np.ndarray]) -> Callable[[], None]:
        """A function that runs the model on ``inputs`` over and over, for benchmarks: everything is bound beforehand.

        It is not safe beside other calls of this model in other threads.
        """
        arrays = self._bind(inputs)
        pointers = [ctypes.c_void_p(pointer) for pointer in self._pointers(arrays)]
        run = self._run

        def call(_alive: object = (self, arrays)) -> None:
            run(*pointers)

        return call

    def observe(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs, new values of states among them, and for each tap a copy of its buffer (in its physical shape)
        once it is complete.

        Where a tap has the name of an output, the output's array is returned.
        """
        arrays = self._bind(inputs)
        last = self._last_writers()
        with self._lock:
            memory = {name: self._view(name, arrays) for name in self.program.taps.values()}
            taps = {name: memory[buffer].copy() for name, buffer in self.program.taps.items() if buffer not in last}
            first = 0

            def call(number: int) -> None:
                self._calls[number](*self._pointers(arrays))

            for place, step in enumerate(self.program.body):
                first = self._run_steps((step,), first, arrays, call)
                for name, buffer in self.program.taps.items():
                    if last.get(buffer) == place:
                        taps[name] = memory[buffer].copy()
        kept = {state.output: self.state.values[state.name].copy() for state in self.program.states}
        return taps | kept | self._outputs(arrays)

    def timer(self, inputs: Mapping[str, np.ndarray]) -> Callable[[], list[int]]:
        """A function that runs the model on ``inputs`` call by call, and returns the nanoseconds of each call: of all
        passes of a loop together, 0 where it is in the branch not taken. It is not safe beside other calls.
        """
        arrays = self._bind(inputs)
        pointers = [ctypes.c_void_p(pointer) for pointer in self._pointers(arrays)]
        nothing = [ctypes.c_void_p()] * len(pointers)  # refused at once

        def run() -> list[int]:
            taken = [0] * len(self._calls)
            around = self._least_around(nothing)

            def call(number: int) -> None:
                taken[number] += max(_nanoseconds(self._calls[number], pointers) - around, 1)

            self._run_steps(self.program.body, 0, arrays, call)
            return taken

        return run

    def _least_around(self, nothing: Sequence[ctypes.c_void_p]) -> int:
        """Nanoseconds that a call takes which does nothing, the least that were ever seen: what is too much here would
        be missing from the times of calls, of which the least counts as well."""
        tries = _CALLS_AROUND if self._around is None else 1
        seen = min(_nanoseconds(self._run, nothing) for _ in range(tries))
        self._around = seen if self._around is None else min(seen, self._around)
        return self._around

    def _run_steps(
        self, body: Sequence[Step], first: int, arrays: Mapping[str, np.ndarray], call: Callable[[int], None]
    ) -> int:
        """Runs steps whose first call has the number ``first`` by ``call``; returns the number behind them."""
        for step in body:
            behind = first + sum(1 for _ in walk_calls((step,)))
            match step:
                case Call():
                    call(first)
                case Branch():
                    if self._element(step.condition, arrays):
                        self._run_steps(step.then, first, arrays, call)
                    else:
                        self._run_steps(step.orelse, behind - sum(1 for _ in walk_calls(step.orelse)), arrays, call)
                case Repeat():
                    done = 0
                    while self._goes_on(step, done, arrays):
                        if step.number is not None:
                            self._view(step.number, arrays)[...] = done
                        self._run_steps(step.body, first, arrays, call)
                        done += 1
            first = behind
        return first

    def _goes_on(self, step: Repeat, done: int, arrays: Mapping[str, np.ndarray]) -> bool:
        limited = step.limit is not None and done >= step.limit
        counted = step.count is not None and done >= self._element(step.count, arrays)
        return not limited and not counted and (step.condition is None or bool(self._element(step.condition, arrays)))

    def _element(self, name: str, arrays: Mapping[str, np.ndarray]) -> int:
        return int(self._view(name, arrays).reshape(-1)[0])

    def _bind(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Caller's and fresh arrays by buffer name, checked against the interface."""
        known = {side.name for side in self.program.inputs}
        for name in inputs:
            if name not in known:
                _refuse(name, f"the model has no such input; it has: {', '.join(sorted(known))}")
        inputs = self.program.filled(inputs)
        arrays = {side.buffer: checked_input(side, inputs) for side in self.program.inputs}
        with _allocated(self.program):
            for side in self.program.outputs:
                arrays[side.buffer] = np.empty(side.type.shape, side.type.dtype.numpy)
        return arrays

    def _pointers(self, arrays: Mapping[str, np.ndarray], state: StateMemory | None = None) -> list[int]:
        memory = [*self._pools, (state or self.state).memory]
        found = in_order(self.program, memory, arrays, self._workers)
        return [0 if array is None else array.ctypes.data for array in found]

    def _last_writers(self) -> dict[str, int]:
        """The place in the body of the last step that writes each buffer."""
        kernels = {kernel.name: kernel for kernel in self.program.kernels}
        return {
            name: place
            for place, step in enumerate(self.program.body)
            for call in walk_calls((step,))
            for param, name in zip(kernels[call.kernel].params, call.args)
            if param.access is not Access.READ
        }

    def _view(self, name: str, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """The memory of a buffer as an array of its physical shape."""
        decl = self.program.buffers[name]
        if decl.storage is Storage.CONSTANT:
            return self._constants[name].reshape(decl.shape)
        if decl.storage not in (Storage.ARENA, Storage.STATE):
            return arrays[name].reshape(decl.shape)
        pool, begin = self.program.plan.places[name]
        memory = [*self._pools, self.state.memory][pool]
        return memory[begin : begin + decl.nbytes].view(decl.dtype.numpy).reshape(decl.shape)


def _nanoseconds(function: Callable[..., int], arguments: Sequence[ctypes.c_void_p]) -> int:
    start = time.perf_counter_ns()
    function(*arguments)
    return time.perf_counter_ns() - start


def in_order(
    program: Program, pools: Sequence[np.ndarray], arrays: Mapping[str, np.ndarray], workers: np.ndarray | None = None
) -> Iterator[np.ndarray | None]:
    """What the run function takes: memory for the pools, the states and the file of weights, the ``workers`` where
    there are any, and ``arrays`` of inputs and outputs by buffer."""
    memory = iter(pools)
    for item in program.parameters:
        if item.role is Role.THREADS:
            yield workers
        else:
            yield next(memory) if item.role in (Role.POOL, Role.STATE, Role.WEIGHTS) else arrays[item.name]


def checked_input(side: Interface, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """The array of an input, dense and aligned, or what brings its rows. Raises ``BAD_INPUT`` where there is none, or
    one that does not fit."""
    if side.name not in inputs:
        _refuse(side.name, "this input is missing")
    array = np.asarray(inputs[side.name])
    if array.dtype != side.type.dtype.numpy:
        wanted = side.type.dtype.numpy
        _refuse(side.name, f"expected {wanted}, got {array.dtype}", f"array.astype('{wanted}') converts it")
    if array.shape != side.type.shape:
        _refuse(side.name, f"expected shape {list(side.type.shape)}, got {list(array.shape)}")
    if side.row_axis is not None:
        return row_source(side, array)
    return np.require(array, requirements=["C", "A"])


def _refuse(tensor: str, reason: str, hint: str | None = None) -> NoReturn:
    raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=tensor, hint=hint)


def aligned_empty(nbytes: int, align: int) -> np.ndarray:
    """Bytes at an address that is a multiple of ``align``."""
    memory = np.empty(nbytes + align, np.uint8)
    start = -memory.ctypes.data % align
    return memory[start : start + nbytes]


def _aligned(array: np.ndarray, align: int) -> np.ndarray:
    """``array`` itself where it is dense and aligned to ``align`` bytes, else such a copy."""
    if array.flags.c_contiguous and array.ctypes.data % align == 0:
        return array
    memory = aligned_empty(array.nbytes, align).view(array.dtype).reshape(array.shape)
    memory[...] = array
    return memory
