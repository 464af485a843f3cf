"""``quantize``: from the file of a float model to that of a quantized one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..driver import DEFAULT_GOAL, DEFAULT_OPTIONS, Goal, ModelOptions, PathLike, check_goal, find_machine, read
from ..errors import CcmlError, ErrorCode
from ..frontend_onnx.export import save_graph
from ..output_files import check_output_file
from ..report.budget import NO_BUDGET, Budget, board_target, check_board, whole_budget
from .options import Mode
from .source import Quantization, QuantizedSource, quantize_source

if TYPE_CHECKING:
    from .device import Device


def quantize(
    path: PathLike,
    quantization: Quantization,
    output: PathLike | None = None,
    options: ModelOptions = DEFAULT_OPTIONS,
    *,
    target: str | None = None,
    abi: str | None = None,
    cpu: str | None = None,
    goal: Goal = DEFAULT_GOAL,
    budget: Budget = NO_BUDGET,
    board: str | None = None,
) -> QuantizedSource:
    """Quantizes the ONNX model ``path`` and measures what that cost. ``output`` is the QDQ model to write, if any.

    With a ``target`` or a ``board``, precision is mixed by what it costs there, compiled by ``goal``. Limits of
    ``budget`` or ``goal.max_ram`` are made use of: the outputs have the best SQNR that fits, or what the options demand
    at the least cost. Raises ``BUDGET`` where that cannot be.

    >>> result = ccml.quantize("kws.onnx", ccml.Quantization("calibration.npz"), "kws_int8.onnx")
    >>> result.accuracy.outputs[0].sqnr_db
    >>> ccml.quantize("kws.onnx", quantization, target="cortex-m4", budget=ccml.Budget(max_cycles=4_000_000))
    """
    check_output_file(output, ".onnx")
    steering = budget.has_limits or goal.max_ram is not None
    if target is None and board is None and steering:
        reason = "a budget is that of a target, which is not known"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="--target NAME, or --board NAME")
    if steering and quantization.options.mode is not Mode.INT8:
        reason = f"{quantization.options.mode.value} has no precision that a budget could choose"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="--to int8, or give the budget to 'ccml compile'")
    device = None
    if board is not None:
        target = check_board(board, target or board_target(board)).target
    if target is not None:
        device = _device(target, abi, cpu, goal, whole_budget(budget, board, goal), steering)
    result = quantize_source(read(path, options), quantization, device)
    if output is not None:
        save_graph(result.source.graph, output)
    return result


def _device(target: str, abi: str | None, cpu: str | None, goal: Goal, budget: Budget, steering: bool) -> Device:
    from ..artifact.build import dispatches_by_default  # what generates code takes long to import
    from ..artifact.emit import DEFAULT_EMIT
    from ..artifact.options import DEFAULT_ARTIFACT
    from .device import Device

    check_goal(goal)
    machine = find_machine(target, abi, cpu)
    every_cpu = budget.max_flash is not None and cpu is None
    every_cpu = every_cpu and dispatches_by_default(machine, DEFAULT_EMIT, DEFAULT_ARTIFACT)
    return Device(machine, goal, budget, DEFAULT_EMIT, every_cpu, steering=steering)
