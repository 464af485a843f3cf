"""The native methods of a model's Java class as machine code: LLVM IR, so that no compiler and no kit is needed.

The virtual machine is called through its table of functions, whose places the JNI specification (Interface Function
Table) fixes. Sizes, types and threads are the class's business; the native code sees to what only addresses tell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from ...emit_c.contract import Contract, Memory, Tensor, argument_order, contract_of
from ...emit_llvm import backend
from ...emit_llvm.guard import any_cpu
from ...emit_llvm.writer import Function, FunctionWriter
from ...errors import CcmlError, ErrorCode
from ...ir.program import Program, Role
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
"""The native methods:

``int nativeBytes(long digest)``: the bytes of memory that a model takes; -1 where the class is for other libraries.
``int nativeRun(ByteBuffer memory, ByteBuffer tensor, int offset, ...)``: 0, a code of the header, or minus the above.
``void nativeReset(ByteBuffer memory)``, for models with states.
"""


def check_contract(contract: Contract) -> None:
    """Raises ``BAD_OPTION`` where Java cannot call the model."""
    if contract.weights is not None:
        reason = "the Java class has no place for weights in a file of their own"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="leave --weights external out, or call the model from C")
    if len(contract.tensors) > MOST_TENSORS:
        reason = f"the model has {len(contract.tensors)} inputs and outputs, a method in Java takes {MOST_TENSORS}"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="C and C++ have no such limit")
    sizes = [_layout(contract.memory).size, *(tensor.nbytes for tensor in contract.tensors)]
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
    return [names.function(method) for method in (BYTES, RUN, *([RESET] if contract.reset else []))]


def glue_object(program: Program, machine: Machine, digest: int) -> bytes:
    """The object that defines the native methods of the class ``digest`` around the functions of ``program``. It runs
    on every processor of the ABI."""
    contract = contract_of(program)
    check_contract(contract)
    writer = _Glue(contract, program, machine, digest)
    methods = [writer.bytes(), writer.run(), *([writer.reset()] if contract.reset else [])]
    parts = (
        f'source_filename = "{contract.prefix}_jni"',
        f'target triple = "{backend.triple(machine)}"',
        *sorted(set().union(*(method.declarations for method in methods))),
        *(method.text for method in methods),
    )
    generator = backend.target_machine(machine, reloc=backend.relocation(machine))
    return generator.emit_object(backend.optimize("\n".join(parts), generator, speed_level=2))


@dataclass(frozen=True)
class _Layout:
    """Where the blocks of memory lie in one buffer: ``offsets`` behind its first address at a multiple of ``align``;
    with ``size`` bytes there is one."""

    offsets: tuple[int, ...]
    align: int
    size: int


def _layout(memory: Sequence[Memory]) -> _Layout:
    offsets, end = [], 0
    for block in memory:
        offsets.append(-(-end // block.align) * block.align)
        end = offsets[-1] + block.size
    align = max((block.align for block in memory), default=1)
    return _Layout(tuple(offsets), align, end + align - 1)


class _Glue:
    def __init__(self, contract: Contract, program: Program, machine: Machine, digest: int) -> None:
        self.contract = contract
        self.order = argument_order(contract, program)
        self.digest = digest
        self.names = JavaNames.of(contract.prefix)
        self.layout = _layout(contract.memory)
        self.long = f"i{machine.abi.pointer_bits}"
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
        return self._finish(out, BYTES, "i32", "i64 %digest")

    def run(self) -> Function:
        out, tensors = FunctionWriter(), self.contract.tensors
        blocks = self._blocks(out, NO_ACCESS)
        starts = [self._start(out, number, tensor) for number, tensor in enumerate(tensors)]
        for number in range(len(self.contract.inputs), len(tensors)):
            self._refuse_overlaps(out, number, starts)
        places = {
            Role.POOL: lambda number: blocks[number],
            Role.STATE: lambda _: blocks[len(self.contract.pools)],
            Role.INPUT: lambda number: starts[number],
            Role.OUTPUT: lambda number: starts[len(self.contract.inputs) + number],
        }
        pointers = [out.value(f"inttoptr {self.long} {places[role](number)} to ptr") for role, number in self.order]
        code = out.intrinsic(self.contract.run, "i32", *(("ptr", pointer) for pointer in pointers))
        out.effect(f"ret i32 {code}")
        parameters = ["ptr %memory", *(f"ptr %t{n}, i32 %o{n}" for n in range(len(tensors)))]
        return self._finish(out, RUN, "i32", ", ".join(parameters))

    def reset(self) -> Function:
        assert self.contract.reset is not None
        out = FunctionWriter()
        state = self._blocks(out, None)[-1]
        pointer = out.value(f"inttoptr {self.long} {state} to ptr")
        out.intrinsic_effect(self.contract.reset, ("ptr", pointer))
        out.effect("ret void")
        return self._finish(out, RESET, "void", "ptr %memory")

    def _finish(self, out: FunctionWriter, method: str, result: str, parameters: str) -> Function:
        symbol = self.names.function(method)
        header = f"define {result} @{symbol}(ptr %env, ptr %class, {parameters})"
        return out.finish(symbol, f'{header} {self.attributes} section ".text.{symbol}"')

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
        offset = f"%o{number}" if self.pointer_bytes == 4 else out.value(f"zext i32 %o{number} to {self.long}")
        start = out.value(f"add {self.long} {begin}, {offset}")
        size = tensor.dtype.stored.size
        if tensor.nbytes and size > 1:
            low = out.value(f"and {self.long} {start}, {size - 1}")
            self._return_if(out, out.value(f"icmp ne {self.long} {low}, 0"), MISALIGNED + TENSOR * number)
        return start

    def _refuse_overlaps(self, out: FunctionWriter, number: int, starts: Sequence[str]) -> None:
        """Of an output with the inputs and with the outputs before it."""
        tensors = self.contract.tensors
        for other in range(number):
            if not tensors[number].nbytes or not tensors[other].nbytes:
                continue
            # One begins within the other, in arithmetic modulo the size of the address space.
            behind = out.value(f"sub {self.long} {starts[number]}, {starts[other]}")
            before = out.value(f"sub {self.long} {starts[other]}, {starts[number]}")
            inside = out.value(f"icmp ult {self.long} {behind}, {tensors[other].nbytes}")
            around = out.value(f"icmp ult {self.long} {before}, {tensors[number].nbytes}")
            self._return_if(out, out.value(f"or i1 {inside}, {around}"), OVERLAP + TENSOR * number)
