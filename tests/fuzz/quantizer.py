"""Random networks quantized with random options, compiled, and compared with the model that the quantizer writes.

    python -m tests.fuzz.quantizer --seed 1 --count 100 [--real] [--machine cortex-m4] [--budgets]

Nothing may be an internal error; the written QDQ model, read again, has to give the same integers; and so has code for
other machines. With ``--budgets`` each network gets a random budget on a random core, and what is written has to fit it
when it is compiled. The exit code is 1 where anything failed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from ccml.artifact.emit import Emit
from ccml.driver import Source, compile_source, import_source
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx.export import export_model
from ccml.ir.graph import Graph
from ccml.program.goal import Goal
from ccml.quantization.device import Device
from ccml.quantization.options import ACTIVATIONS, Mode, QuantizeOptions
from ccml.quantization.source import Quantization, quantize_source
from ccml.report.budget import Budget
from ccml.targets import select
from ccml.verification.emulated_model import EmulatedModel

from tests.fuzz.networks import REAL, SMALL, Sizes, network

_SAMPLES = 12


@dataclass(frozen=True)
class Trial:
    """``sqnr``: dB at the output, on held-out samples. ``problem``: what went wrong."""

    options: QuantizeOptions
    sqnr: float | None = None
    problem: str | None = None


def options(rng: np.random.Generator) -> QuantizeOptions:
    """Defaults in every other case."""
    if rng.random() < 0.5:
        return QuantizeOptions(integer_io=bool(rng.random() < 0.5))
    names = ("per_channel", "equalize", "bias_correction", "adaptive_rounding")
    flags = {name: bool(rng.random() < 0.7) for name in names}
    return QuantizeOptions(
        mode=Mode(rng.choice([mode.value for mode in Mode], p=[0.8, 0.1, 0.1])),
        activations=str(rng.choice(list(ACTIVATIONS))),
        integer_io=bool(rng.random() < 0.3),
        min_sqnr=float(rng.choice([20, 30, 45])) if rng.random() < 0.3 else None,
        weight_bits=4 if rng.random() < 0.3 else 8,
        **flags,
    )


Inputs = dict[str, np.ndarray]

_CORES = ("cortex-m0plus", "cortex-m4", "cortex-m55")
_KIND = (Emit.LIBRARY,)


def device(rng: np.random.Generator, source: Source, data: list[Inputs], given: QuantizeOptions) -> Device:
    """A core, and limits that are around what the model takes when it is quantized by default."""
    machine = select(str(rng.choice(_CORES)))
    plain = quantize_source(source, Quantization(data, replace(given, min_sqnr=0.0)))
    price = Device(machine, kinds=_KIND).meter(plain.source)(plain.source.graph)
    amounts = {"max_cycles": price.time, "max_flash": price.flash or 0, "max_ram": price.ram}
    limit = {name: int(each * rng.uniform(0.9, 2.0)) for name, each in amounts.items() if rng.random() < 0.5}
    goal = Goal(max_ram=limit.pop("max_ram", None))
    return Device(machine, goal, Budget(**limit), _KIND, steering=bool(limit) or goal.max_ram is not None)


def trial(seed: int, machine: str | None = None, *, sizes: Sizes = SMALL, budgets: bool = False) -> Trial:
    rng = np.random.default_rng([seed, 4])
    chosen = options(rng)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        onnx.save(network(seed, sizes), file)
        return _trial(rng, chosen, file, machine, budgets)


def _trial(rng: np.random.Generator, chosen: QuantizeOptions, file: Path, machine: str | None, budgets: bool) -> Trial:
    model = onnx.load(file)
    shape = tuple(dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim)
    data = [{"x": rng.normal(size=shape).astype(np.float32)} for _ in range(_SAMPLES)]
    try:
        with np.errstate(all="ignore"):
            source = import_source(file, model)
            place = device(rng, source, data, chosen) if budgets and chosen.mode is Mode.INT8 else None
            found = quantize_source(source, Quantization(data, chosen), place)
            problem = _compared(found.source, data[0]["x"], machine)
            if place is not None and problem is None:
                problem = _beyond(file, export_model(found.source.graph), place)
            return Trial(chosen, found.accuracy.outputs[0].sqnr_db, problem)
    except CcmlError as problem:
        internal = problem.kind.code.startswith("E3")
        if problem.kind is ErrorCode.BUDGET and budgets:
            return Trial(chosen)
        return Trial(chosen, None, f"{'internal' if internal else 'refused'}: {problem}")
    except Exception as problem:  # anything that the compiler lets through is what we are looking for
        last = traceback.extract_tb(problem.__traceback__)[-1]
        return Trial(chosen, None, f"internal: {type(problem).__name__} at {last.filename}:{last.lineno}: {problem}")


def _beyond(file: Path, written: onnx.ModelProto, place: Device) -> str | None:
    """What of the budget the written model goes beyond, compiled as it is."""
    source = import_source(file, written)
    price = replace(place, steering=False).meter(source)(source.graph)
    return None if price.fits else f"wrong: {price.excess()}"


def _compared(source: Source, x: np.ndarray, machine: str | None) -> str | None:
    """What differs, if anything."""
    native = host_machine()
    own = compile_source(source, native)
    kind = own.program.inputs[0].type.dtype
    feeds = {"x": x if kind.is_float else np.clip(x * 40, -100, 100).astype(kind.numpy)}
    wanted = JitModel(own.program, native).run(feeds)["y"]
    written = compile_source(import_source("written.onnx", export_model(source.graph)), native)
    if JitModel(written.program, native).run(feeds)["y"].tobytes() != wanted.tobytes():
        return "wrong: the written model gives something else"
    if machine is None:
        return None
    found = EmulatedModel(compile_source(source, select(machine)), "c").run(feeds)["y"]
    integers = wanted.dtype.kind != "f" and not _in_floats(own.optimized)
    same = np.array_equal(found, wanted) if integers else _near(found, wanted)
    return None if same else f"wrong: {machine} gives something else"


def _in_floats(graph: Graph) -> bool:
    """Whether something between inputs and outputs is computed in floats, as LayerNormalization is: what rounding
    makes of these decides which integer follows."""
    return any(value.dtype.is_float for value in graph.values() if value.name not in graph.constants)


def _near(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Floats but for rounding; integers of which one in twenty may be a step or two off."""
    if wanted.dtype.kind == "f":
        return bool(np.allclose(found, wanted, rtol=1e-4, atol=1e-4))
    apart = np.abs(found.astype(np.int64) - wanted.astype(np.int64))
    return int(apart.max(initial=0)) <= 2 and float(np.mean(apart > 0)) < 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--real", action="store_true", help="networks of real sizes")
    parser.add_argument("--machine", help="compare with C for this target, too")
    parser.add_argument("--budgets", action="store_true", help="with a random budget on a random core")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    kinds: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.count):
        done = trial(seed, given.machine, sizes=REAL if given.real else SMALL, budgets=given.budgets)
        kinds[(done.problem or "ok").split(":")[0]] += 1
        low = done.sqnr is not None and done.sqnr < 15 and done.options.mode is Mode.INT8
        if done.problem or low:
            print(f"{seed}: {done.problem or f'{done.sqnr:.1f} dB'}; {done.options}", flush=True)
    print(dict(kinds))
    return int(kinds["wrong"] + kinds["internal"] > 0)


if __name__ == "__main__":
    sys.exit(main())
