"""Predicted against counted instructions of one inference, for models, cores and both routes.

    python benchmarks/cost_model.py                                  # everything: some minutes
    python benchmarks/cost_model.py kws ic_int8 --cores m4 m55 --routes c

Counted by ``run_qemu.py`` of the Cortex-M bench (``--bench``, default ../shared/cortexm), whose own harness runs the
same machine code. Models named ``*_int8`` are quantized by ccml with their calibration sets. Printed are instructions,
the stack bound against the painted stack, and cycles against those that the bench estimates by tables of its own; at
the end the worst error of instructions by core and route.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from ccml import Quantization, driver
from ccml.costs.build import Build, build_c, build_objects, write_objects
from ccml.costs.predict import predict
from ccml.emit_c.header import public_header
from ccml.emit_c.symbols import assign_symbols
from ccml.ir.program import Program
from ccml.quantization.source import quantize_source
from ccml.targets import Machine

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
MODELS = {
    "kws": "mlperf_tiny_kws_dscnn",
    "ic": "mlperf_tiny_ic_resnet8",
    "vww": "mlperf_tiny_vww_mobilenetv1_025",
    "ad": "mlperf_tiny_ad_autoencoder",
}
CORES = ("m0plus", "m3", "m4", "m7", "m33", "m55")
ROUTES = {"c": build_c, "llvm": build_objects}


def compiled_model(name: str, models: Path) -> tuple[driver.Source, Any]:
    """A model and its optimized graph; ``kws_int8`` is quantized."""
    stem = MODELS[name.removesuffix("_int8")]
    source = driver.read(models / f"{stem}.onnx", driver.ModelOptions(name="model"))
    if name.endswith("_int8"):
        source = quantize_source(source, Quantization(models / f"{stem}_calib.npz")).source
    return source, driver.run_passes(source)


def bench_main(program: Program, inputs: dict[str, np.ndarray]) -> str:
    """The harness's part for a model: inputs in flash, outputs and arena in memory."""
    lines, names = ['#include "bench.h"', '#include "model.h"'], []
    for number, side in enumerate(program.interfaces):
        array = f"__attribute__((aligned(16))) static unsigned char tensor{number}[{side.type.nbytes}]"
        if side.name in inputs and number < len(program.inputs):
            values = ",".join(map(str, inputs[side.name].tobytes()))
            lines.append(f"BENCH_DATA {array.replace('unsigned', 'const unsigned')} = {{ {values} }};")
        else:
            lines.append(f"BENCH_RAM {array};")
        names.append(f"(void *)tensor{number}")
    lines += [
        "BENCH_RAM static unsigned char arena[MODEL_ARENA_SIZE + 16] __attribute__((aligned(16)));",
        "void bench_setup(void) {}",
        f"void bench_run(void) {{ {assign_symbols(program).run}(arena, {', '.join(names)}); }}",
        "void bench_report(void) {}",
    ]
    return "\n".join(lines) + "\n"


def count(program: Program, machine: Machine, core: str, build: Build, inputs: dict[str, np.ndarray]) -> dict[str, Any]:
    """What the bench says of one build."""
    import run_qemu

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "model.h").write_text(public_header(program, machine, assign_symbols(program)))
        (folder / "bench_main.c").write_text(bench_main(program, inputs))
        files = [*write_objects(build.objects, folder), folder / "bench_main.c"]
        found: dict[str, Any] = run_qemu.measure(core, [str(file) for file in files], inc=[place])
        return found


def main() -> None:
    known = [*MODELS, *(f"{name}_int8" for name in MODELS)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(known)}")
    parser.add_argument("--cores", nargs="+", default=CORES, choices=CORES)
    parser.add_argument("--routes", nargs="+", default=tuple(ROUTES), choices=tuple(ROUTES))
    parser.add_argument("--bench", type=Path, default=SHARED / "cortexm")
    parser.add_argument("--models", type=Path, default=SHARED / "models")
    args = parser.parse_args()
    sys.path.insert(0, str(args.bench))
    worst: dict[tuple[str, str], tuple[float, str]] = defaultdict(lambda: (0.0, ""))
    print(f"{'model':9s} core   route {'predicted':>13s} {'counted':>13s}   error  stack painted {'cycles':>13s} "
          f"{'bench':>13s} seconds")  # fmt: skip
    for name in args.names or known:
        source, optimized = compiled_model(name, args.models)
        for core in args.cores:
            machine = driver.find_machine(core)
            compiled = driver.lower(source, optimized, machine)
            inputs = next(iter(compiled.samples()))
            for route in args.routes:
                build = ROUTES[route](compiled.program, machine)
                start = perf_counter()
                costs = predict(compiled.program, machine, build, inputs)
                seconds = perf_counter() - start
                found = count(compiled.program, machine, core, build, inputs)
                if costs is None:
                    print(f"{name:9s} {core:6s} {route:5s} no prediction")
                    worst[core, route] = (1.0, name)
                    continue
                error = costs.instructions / found["instructions"] - 1
                worst[core, route] = max(worst[core, route], (abs(error), name))
                bench = found["profile"]["est_cycles"]
                own = 0 if costs.cycles is None else int(costs.cycles.typical)
                cycles = bench["cycles"] if bench else 0
                print(
                    f"{name:9s} {core:6s} {route:5s} {costs.instructions:13,d} {found['instructions']:13,d} "
                    f"{error:7.3%} {costs.stack_bytes!s:>6s} {found['stack']:7d} {own:13,d} {cycles:13,d} "
                    f"{seconds:7.1f}",
                    flush=True,
                )
    print("\nworst error by core and route")
    for (core, route), (error, name) in worst.items():
        print(f"{core:6s} {route:5s} {error:8.4%}  {name}")


if __name__ == "__main__":
    main()
