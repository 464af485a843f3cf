"""A module for JavaScript around the WebAssembly module."""

from __future__ import annotations

import json
from pathlib import Path

from ..emit_c.contract import Contract, Tensor, argument_order
from ..errors import CcmlError, ErrorCode
from ..ir.program import Program, Role
from ..packages.engine import make_engine

_ARRAYS = {
    "float": "Float32Array", "double": "Float64Array", "int64_t": "BigInt64Array", "uint64_t": "BigUint64Array",
    **{f"int{bits}_t": f"Int{bits}Array" for bits in (8, 16, 32)},
    **{f"uint{bits}_t": f"Uint{bits}Array" for bits in (8, 16, 32)},
}  # fmt: skip


def write_module(contract: Contract, program: Program, facts: dict[str, object], folder: Path) -> None:
    """Writes ``NAME.mjs`` beside ``NAME.wasm``. Raises ``TOOLCHAIN`` where that is not there, for want of a linker."""
    module = str(facts["library"])
    if not (folder / module).is_file():
        reason = f"JavaScript needs {module}, which could not be linked"
        raise CcmlError(ErrorCode.TOOLCHAIN, reason, hint="'ccml doctor' shows the linkers that there are")
    context = {
        **facts,
        "contract": contract,
        "inputs": [_tensor(tensor) for tensor in contract.inputs],
        "outputs": [_tensor(tensor) for tensor in contract.outputs],
        "blocks": [[memory.size, memory.align] for memory in contract.memory],
        "parameters": [_parameter(contract, *each) for each in argument_order(contract, program)],
        "errors": {number: f"{contract.macro}_{name}: {meaning}" for name, number, meaning in contract.errors},
    }
    engine = make_engine(__package__)
    engine.filters["javascript"] = json.dumps
    text = engine.get_template("module.mjs").render(context)
    (folder / f"{contract.prefix}.mjs").write_text(text, encoding="utf-8", newline="\n")


def _tensor(tensor: Tensor) -> dict[str, object]:
    facts: dict[str, object] = {
        "name": tensor.name,
        "array": _ARRAYS[tensor.c_type],
        "shape": list(tensor.shape),
        "elements": tensor.elements,
        "bytes": tensor.nbytes,
    }
    if tensor.scale is not None:
        facts |= {"scale": tensor.scale, "zeroPoint": tensor.zero_point}
    return facts


def _parameter(contract: Contract, role: Role, number: int) -> list[object]:
    if role in (Role.POOL, Role.STATE):
        return ["block", number if role is Role.POOL else len(contract.pools)]
    if role is Role.WEIGHTS:
        return ["block", len(contract.memory)]
    return ["tensor", number if role is Role.INPUT else len(contract.inputs) + number]
