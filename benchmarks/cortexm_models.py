"""Executed instructions of the MLPerf Tiny models, quantized by ccml (integer inputs and outputs), on an emulated
Cortex-M by both routes.

    python benchmarks/cortexm_models.py [--cpu m4] [--models ../shared/models] [--bench ../shared/cortexm]
                                        [--cache quantized_models] [--route c llvm] [--optimize balanced]
                                        [--layers] [model ...]

Builds each artifact with ``run_qemu.py`` of the Cortex-M bench (-O 3; -O s for ``--optimize size``) and compares its
bytes with those that the host computes. ``--layers`` shows where the instructions go. Quantized models are kept in the
``--cache`` folder, those of each state of the quantizer by themselves.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import ccml
import numpy as np
from ccml.driver import DEFAULT_GOAL, Compiled, Goal, Optimize, compile_source, read
from ccml.emit_c.artifact import write_c
from ccml.emit_c.compiler_flags import optimization
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.emit_llvm.objects import emit_objects
from ccml.targets import Machine, select

ROOT = Path(__file__).resolve().parent.parent
MODELS = {
    "kws": "mlperf_tiny_kws_dscnn",
    "ic": "mlperf_tiny_ic_resnet8",
    "vww": "mlperf_tiny_vww_mobilenetv1_025",
    "ad": "mlperf_tiny_ad_autoencoder",
    "wakeword": "mlperf_tiny_streaming_wakeword",
}
C_TYPES = {"int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int32_t", "float32": "float"}
BENCH_TYPES = {"int8": "i8", "uint8": "u8", "int16": "i16", "int32": "i32", "float32": "f32"}

CORES = {core: f"cortex-{core}" for core in ("m0", "m0plus", "m3", "m4", "m7", "m33", "m55")}
"""Of the bench, and what they are called here."""

MAIN = """#include "bench.h"
#include "model.h"
{inputs}
static {out_type} out[{outputs}];
static unsigned char arena[MODEL_ARENA_SIZE + 16] __attribute__((aligned(16)));
void bench_setup(void) {{}}
void bench_run(void) {{ model_run(arena, {names}, out); }}
void bench_report(void) {{ bench_out("out", "{bench_type}", out, sizeof out); }}
"""
INPUT = "BENCH_DATA static const {type} {name}[{size}] = {{ {values} }};"


@cache
def quantizer_state() -> str:
    """A key of the sources that decide what the quantizer makes of a model."""
    package, digest = Path(ccml.__file__).parent, sha256()
    for folder in ("frontend_onnx", "ir", "ops", "passes", "quantization"):
        for source in sorted((package / folder).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def quantized(model: Path, folder: Path) -> Path:
    """The model's QDQ file, made with its calibration set where the cache has none by this quantizer."""
    found = folder / quantizer_state() / f"{model.name}_int8.onnx"
    if not found.exists():
        found.parent.mkdir(parents=True, exist_ok=True)
        options = ccml.QuantizeOptions(integer_io=True)
        ccml.quantize(f"{model}.onnx", ccml.Quantization(f"{model}_calib.npz", options), found)
    return found


def measure(
    path: Path, machine: Machine, route: str, core: str, goal: Goal = DEFAULT_GOAL
) -> tuple[dict[str, Any], Compiled]:
    """What the bench says of one model with one output, with ``match``: whether its bytes are those of the host."""
    import run_qemu

    source = read(path, ccml.ModelOptions(name="model"))
    host = compile_source(source, host_machine())
    compiled = compile_source(source, machine, goal=goal)
    x = dict(next(iter(host.samples())))
    expected = next(iter(JitModel(host.program, host.machine).run(x).values())).reshape(-1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sources = [file for file in write_c(compiled.program, machine, folder) if file.suffix == ".c"]
        if route == "llvm":
            sources = []
            for name, image in emit_objects(compiled.program, machine):
                sources.append(folder / name)
                sources[-1].write_bytes(image)
        main = folder / "bench_main.c"
        main.write_text(bench_main([x[each.name] for each in compiled.program.inputs], expected))
        level = optimization(compiled.program).removeprefix("-")
        found: dict[str, Any] = run_qemu.measure(core, [*map(str, sources), str(main)], inc=[place], opt=level)
    out = np.array(found["outputs"]["out"]["values"], expected.dtype)
    found["match"] = out.tobytes() == expected.tobytes()
    return found, compiled


def bench_main(inputs: Sequence[np.ndarray], expected: np.ndarray) -> str:
    names = [f"in{n}" for n in range(len(inputs))]
    declared = (
        INPUT.format(
            type=C_TYPES[x.dtype.name], name=name, size=x.size, values=",".join(map(repr, x.reshape(-1).tolist()))
        )
        for name, x in zip(names, inputs, strict=True)
    )
    return MAIN.format(
        inputs="\n".join(declared), names=", ".join(names), out_type=C_TYPES[expected.dtype.name],
        outputs=expected.size, bench_type=BENCH_TYPES[expected.dtype.name],
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("--cpu", default="m4", choices=CORES)
    parser.add_argument("--route", nargs="+", default=["c", "llvm"], choices=("c", "llvm"))
    parser.add_argument("--models", type=Path, default=ROOT.parent / "shared" / "models")
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "cortexm")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "ccml_quantized_models")
    parser.add_argument("--optimize", default="balanced", choices=[item.value for item in Optimize])
    parser.add_argument("--layers", action="store_true", help="show the functions that take most")
    args = parser.parse_args()
    sys.path.insert(0, str(args.bench))
    machine = select(CORES[args.cpu])
    print("model route      instr.  /MAC   flash    RAM stack  est. cycles")
    for name in args.names or MODELS:
        for route in args.route:
            path = quantized(args.models / MODELS[name], args.cache)
            found, compiled = measure(path, machine, route, args.cpu, Goal(Optimize(args.optimize)))
            macs, estimate = compiled.program.macs, found["profile"]["est_cycles"]
            print(
                f"{name:5s} {route:5s} {found['instructions']:11,d} {found['instructions'] / macs:5.3f} "
                f"{found['size']['flash']:7,d} {found['size']['ram_static']:6,d} {found['stack']:5d} "
                f"{estimate['cycles'] if estimate else 0:11,d}{'' if found['match'] else '   WRONG BYTES'}",
                flush=True,
            )
            if args.layers:
                for function, count in found["profile"]["top_functions"].items():
                    print(f"    {count:11,d} {function}")


if __name__ == "__main__":
    main()
