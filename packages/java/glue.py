"""The native methods of a model's Java class as machine code: LLVM IR, so that no compiler and no kit is needed.

The virtual machine is called through its table of functions, whose places the JNI specification (Interface Function
Table) fixes. Sizes, types and threads are the class's business; the native code sees to what only addresses tell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ...emit_c.contract import Contract, Tensor, WeightsFile, argument_order, contract_of
from ...emit_llvm import backend
from ...emit_llvm.guard import any_cpu
from ...emit_llvm.placement import comdats, function_attributes
from ...emit_llvm.writer import Function, FunctionWriter
from ...errors import CcmlError, ErrorCode
from ...ir.program import Program, Role
from ...ir.threads import CACHE_LINE, WORKERS_BYTES
from ...record import record
from ...targets import Machine
from .names import JavaNames

_GET_DIRECT_BUFFER_ADDRESS = 230

NO_ACCESS, MISALIGNED, OVERLAP = 1, 2, 3
"""Why native code refuses a buffer: minus this, minus 16 times the number of the tensor."""
TENSOR = 16

MOST_TENSORS = 120
"""A method has at most 255 parameters, and the native one takes two for each tensor."""
_MOST_BYTES = (1 << 31) - 1

BYTES, RUN, RESET = "nativeBytes", "nativeRun", "nativeReset"
MODEL, WEIGHTS, ALIGN, CHECK = "nativeModel", "nativeWeights", "nativeAlign", "nativeCheck"
THREADS = "nativeThreads"
"""The native methods:

``int nativeBytes(long digest)``: the bytes of memory that a model takes; -1 where the class is for other libraries.
``int nativeRun(ByteBuffer memory, ByteBuffer tensor, int offset, ...)``: 0, a code of the header, or minus the above.
``void nativeReset(ByteBuffer memory)``, for models with states.
``int nativeThreads(ByteBuffer memory, int threads)``, for models with threads: those that run are stopped, others
started, unless it is to be the caller's alone; a code of the header.

For models with weights in a file, which ``nativeRun`` takes as a buffer and an offset behind ``memory``:

``int nativeModel()``: the identity of the model; ``int nativeWeights()``: the bytes of the file.
``int nativeAlign(ByteBuffer buffer)``: where in a buffer weights may begin first.
``int nativeCheck(ByteBuffer weights, int offset, int size)``: whether they are the model's, as a code of the header.
"""


def check_contract(contract: Contract) -> None:
    """Raises ``BAD_OPTION`` where Java cannot call the model."""
    if len(contract.tensors) > MOST_TENSORS:
        reason = f"the model has {len(contract.tensors)} inputs and outputs, a method in Java takes {MOST_TENSORS}"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="C and C++ have no such limit")
    sizes = [_layout(contract).size, *(tensor.nbytes for tensor in contract.tensors)]
    sizes += [] if contract.weights is None else [contract.weights.size + contract.weights.align]
    if max(sizes) > _MOST_BYTES:
        reason = f"the model needs {max(sizes):,} bytes at a stretch, a buffer in Java has at most 2 GiB"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="C and C++ have no such limit")


def class_digest(contracts: Sequence[Contract]) -> int:
    """64 bits that a class and its libraries, one for each of ``contracts``, have to agree on: they tell interfaces and
    models apart."""
    tensors = [(t.name, t.dtype.value, t.shape, t.scale, t.zero_point, t.is_extent) for t in contracts[0].tensors]
    identities = [contract.identity for contract in contracts]
    text = repr((contracts[0].prefix, len(contracts[0].inputs), tensors, identities))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "little", signed=True)


def functions(contract: Contract, names: JavaNames) -> list[str]:
    """The symbols of the native methods."""
    kept = [RESET] if contract.reset else []
    filed = [MODEL, WEIGHTS, ALIGN, CHECK] if contract.weights is not None else []
    threaded = [THREADS] if contract.threads else []
    return [names.function(method) for method in (BYTES, RUN, *kept, *filed, *threaded)]


def glue_object(program: Program, machine: Machine, digest: int) -> bytes:
    """The object that defines the native methods of the class ``digest`` around the functions of ``program``. It runs
    on every processor of the ABI."""
    contract = contract_of(program)
    check_contract(contract)
    writer = _Glue(contract, program, machine, digest)
    methods = [writer.bytes(), writer.run(), *([writer.reset()] if contract.reset else [])]
    methods += [] if contract.weights is None else writer.of_weights(contract.weights)
    methods += [writer.threads()] if contract.threads else []
    parts = (
        f'source_filename = "{contract.prefix}_jni"',
        f'target triple = "{backend.triple(machine)}"',
        *comdats(machine, methods),
        *sorted(set().union(*(method.declarations for method in methods))),
        *(method.text for method in methods),
    )
    generator = backend.target_machine(machine, reloc=backend.relocation(machine))
    return generator.emit_object(backend.optimize("\n".join(parts), generator, speed_level=2))


@record
class _Layout:
    """Where the blocks of memory lie in one buffer: ``offsets`` behind its first address at a multiple of ``align``;
    with ``size`` bytes there is one."""

    offsets: tuple[int, ...]
    align: int
    size: int


def _layout(contract: Contract) -> _Layout:
    """The pools, the states if there are any, then the threads."""
    blocks = [(memory.size, memory.align) for memory in contract.memory]
    blocks += [(WORKERS_BYTES, CACHE_LINE)] if contract.threads else []
    offsets, end = [], 0
    for size, align in blocks:
        offsets.append(-(-end // align) * align)
        end = offsets[-1] + size
    align = max((align for _, align in blocks), default=1)
    return _Layout(tuple(offsets), align, end + align - 1)


class _Glue:
    def __init__(self, contract: Contract, program: Program, machine: Machine, digest: int) -> None:
        self.contract = contract
        self.order = argument_order(contract, program)
        self.digest = digest
        self.names = JavaNames.of(contract.prefix)
        self.layout = _layout(contract)
        self.machine, self.long = machine, f"i{machine.abi.pointer_bits}"
        self.pointer_bytes = machine.abi.pointer_bits // 8
        detection = machine.abi.detection
        attributes = ["nounwind", "uwtable" if machine.abi.pointer_bits == 64 else ""]
        attributes += ["" if detection is None else any_cpu(detection)]
        # Code for 32-bit x86 may have been compiled for a stack aligned to words (Android NDK, ABIs).
        attributes += ['"stackrealign"' if (machine.abi.architecture, self.pointer_bytes) == ("x86", 4) else ""]
        self.attributes = " ".join(filter(None, attributes))

    def bytes(self) -> Function:
        out = FunctionWriter()
        same = out.value(f"icmp eq i64 %digest, {self.digest}")
        out.effect(f"ret i32 {out.value(f'select i1 {same}, i32 {self.layout.size}, i32 -1')}")
        return self._finish(out, BYTES, "i32", ["i64 %digest"])

    def run(self) -> Function:
        out, tensors = FunctionWriter(), self.contract.tensors
        blocks = self._blocks(out, NO_ACCESS)
        starts = [self._start(out, number, tensor) for number, tensor in enumerate(tensors)]
        weights, parameters = self.contract.weights, ["ptr %memory"]
        taken = [(start, tensor.nbytes) for start, tensor in zip(starts, tensors, strict=True)]
        filed = ""
        if weights is not None:
            filed = self._behind(out, "%weights", "%at")
            parameters += ["ptr %weights", "i32 %at"]
        for number in range(len(self.contract.inputs), len(tensors)):
            others = [*taken[:number], *([(filed, weights.size)] if weights is not None else [])]
            self._refuse_overlaps(out, number, taken[number], others)
        places = {
            Role.POOL: lambda number: blocks[number],
            Role.STATE: lambda _: blocks[len(self.contract.pools)],
            Role.WEIGHTS: lambda _: filed,
            Role.THREADS: lambda _: blocks[-1],
            Role.INPUT: lambda number: starts[number],
            Role.OUTPUT: lambda number: starts[len(self.contract.inputs) + number],
        }
        pointers = [out.value(f"inttoptr {self.long} {places[role](number)} to ptr") for role, number in self.order]
        code = out.intrinsic(self.contract.run, "i32", *(("ptr", pointer) for pointer in pointers))
        out.effect(f"ret i32 {code}")
        parameters += [f"ptr %t{n}, i32 %o{n}" for n in range(len(tensors))]
        return self._finish(out, RUN, "i32", parameters)

    def reset(self) -> Function:
        assert self.contract.reset is not None
        out = FunctionWriter()
        state = self._blocks(out, None)[len(self.contract.pools)]
        pointer = out.value(f"inttoptr {self.long} {state} to ptr")
        out.intrinsic_effect(self.contract.reset, ("ptr", pointer))
        out.effect("ret void")
        return self._finish(out, RESET, "void", ["ptr %memory"])

    def threads(self) -> Function:
        out = FunctionWriter()
        pointer = out.value(f"inttoptr {self.long} {self._blocks(out, NO_ACCESS)[-1]} to ptr")
        out.intrinsic_effect(self.contract.workers_stop, ("ptr", pointer))
        self._return_if(out, out.value("icmp eq i32 %threads, 1"), 0)
        code = out.intrinsic(self.contract.workers_start, "i32", ("ptr", pointer), ("i32", "%threads"))
        out.effect(f"ret i32 {code}")
        return self._finish(out, THREADS, "i32", ["ptr %memory", "i32 %threads"])

    def of_weights(self, weights: WeightsFile) -> list[Function]:
        """The methods of models with weights in a file."""
        model, size, align, check = (FunctionWriter() for _ in range(4))
        model.effect(f"ret i32 {model.intrinsic(self.contract.model_id, 'i32')}")
        size.effect(f"ret i32 {weights.size}")
        start = self._address(align, "%buffer")
        offset = align.value(f"and {self.long} {align.value(f'sub {self.long} 0, {start}')}, {weights.align - 1}")
        align.effect(f"ret i32 {self._narrow(align, offset)}")
        pointer = check.value(f"inttoptr {self.long} {self._behind(check, '%weights', '%at')} to ptr")
        length = self._wide(check, "%size")
        code = check.intrinsic(weights.check, "i32", ("ptr", pointer), (self.long, length))
        check.effect(f"ret i32 {code}")
        return [
            self._finish(model, MODEL, "i32", []), self._finish(size, WEIGHTS, "i32", []),
            self._finish(align, ALIGN, "i32", ["ptr %buffer"]),
            self._finish(check, CHECK, "i32", ["ptr %weights", "i32 %at", "i32 %size"]),
        ]  # fmt: skip

    def _finish(self, out: FunctionWriter, method: str, result: str, parameters: Sequence[str]) -> Function:
        symbol = self.names.function(method)
        header = f"define {result} @{symbol}({', '.join(('ptr %env', 'ptr %class', *parameters))})"
        return out.finish(symbol, f"{header} {function_attributes(self.machine, symbol, self.attributes)}")

    def _address(self, out: FunctionWriter, buffer: str) -> str:
        """Where the memory of a direct buffer begins; 0 where it is none."""
        table = out.value("load ptr, ptr %env")
        place = out.value(f"getelementptr inbounds i8, ptr {table}, {self.long} {self._slot()}")
        function = out.value(f"load ptr, ptr {place}")
        return out.value(f"ptrtoint ptr {out.value(f'call ptr {function}(ptr %env, ptr {buffer})')} to {self.long}")

    def _slot(self) -> int:
        return _GET_DIRECT_BUFFER_ADDRESS * self.pointer_bytes

    def _return_if(self, out: FunctionWriter, cond: str, code: int | None) -> None:
        bad, good = out.label("bad"), out.label("good")
        out.branch(cond, bad, good)
        out.start(bad)
        out.effect("ret void" if code is None else f"ret i32 {-code}")
        out.start(good)

    def _blocks(self, out: FunctionWriter, code: int | None) -> list[str]:
        """The addresses of the blocks of memory; returns ``code`` where there is no access to them."""
        begin = self._address(out, "%memory")
        self._return_if(out, out.value(f"icmp eq {self.long} {begin}, 0"), code)
        past = out.value(f"add {self.long} {begin}, {self.layout.align - 1}")
        start = out.value(f"and {self.long} {past}, {-self.layout.align}")
        return [out.value(f"add {self.long} {start}, {offset}") for offset in self.layout.offsets]

    def _start(self, out: FunctionWriter, number: int, tensor: Tensor) -> str:
        """The address of a tensor's first element."""
        begin = self._address(out, f"%t{number}")
        if tensor.nbytes:
            self._return_if(out, out.value(f"icmp eq {self.long} {begin}, 0"), NO_ACCESS + TENSOR * number)
        start = out.value(f"add {self.long} {begin}, {self._wide(out, f'%o{number}')}")
        size = tensor.dtype.stored.size
        if tensor.nbytes and size > 1:
            low = out.value(f"and {self.long} {start}, {size - 1}")
            self._return_if(out, out.value(f"icmp ne {self.long} {low}, 0"), MISALIGNED + TENSOR * number)
        return start

    def _behind(self, out: FunctionWriter, buffer: str, offset: str) -> str:
        """The address of the weights: that of a direct buffer, and an offset; 0 where it is none."""
        begin = self._address(out, buffer)
        place = out.value(f"add {self.long} {begin}, {self._wide(out, offset)}")
        none = out.value(f"icmp eq {self.long} {begin}, 0")
        return out.value(f"select i1 {none}, {self.long} 0, {self.long} {place}")

    def _wide(self, out: FunctionWriter, number: str) -> str:
        return number if self.pointer_bytes == 4 else out.value(f"zext i32 {number} to {self.long}")

    def _narrow(self, out: FunctionWriter, number: str) -> str:
        return number if self.pointer_bytes == 4 else out.value(f"trunc {self.long} {number} to i32")

    def _refuse_overlaps(
        self, out: FunctionWriter, number: int, own: tuple[str, int], others: Sequence[tuple[str, int]]
    ) -> None:
        """Of output ``number``, which is ``own`` memory by its first address and its bytes, with that of ``others``."""
        start, nbytes = own
        for other, size in others:
            if not nbytes or not size:
                continue
            # One begins within the other, in arithmetic modulo the size of the address space.
            behind = out.value(f"sub {self.long} {start}, {other}")
            before = out.value(f"sub {self.long} {other}, {start}")
            inside = out.value(f"icmp ult {self.long} {behind}, {size}")
            around = out.value(f"icmp ult {self.long} {before}, {nbytes}")
            self._return_if(out, out.value(f"or i1 {inside}, {around}"), OVERLAP + TENSOR * number)
