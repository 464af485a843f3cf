"""Executed instructions per multiply-accumulate of single int8 layers on an emulated Cortex-M, by both routes.

    python benchmarks/cortexm_layers.py [--cpu m4] [--bench ../shared/cortexm] [--profile] [name ...]

Builds each layer with ``run_qemu.py`` of the Cortex-M bench (-O 3), compares its bytes with the operators' definition
and prints instructions, stack, code and arena. Names select layers by a part of their name.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from ccml.emit_c import write_c
from ccml.emit_llvm.objects import emit_objects
from ccml.ir.graph import Graph
from ccml.ir.program import Program
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.schedule.graphs import integer_conv_graph, random_inputs  # noqa: E402

SAME = (1, 1, 1, 1)
LAYERS = {
    "kws conv 10x4 1->64": integer_conv_graph((1, 49, 10, 1), (64, 10, 4, 1), stride=(2, 2), pad=(4, 1, 5, 1)),
    "kws pw 25x5 64->64": integer_conv_graph((1, 25, 5, 64), (64, 1, 1, 64)),
    "ic 3x3 32x32 3->16": integer_conv_graph((1, 32, 32, 3), (16, 3, 3, 3), pad=SAME),
    "ic 3x3 32x32 16->16": integer_conv_graph((1, 32, 32, 16), (16, 3, 3, 16), pad=SAME),
    "ic 3x3 8x8 64->64": integer_conv_graph((1, 8, 8, 64), (64, 3, 3, 64), pad=SAME),
    "vww 3x3 96x96 3->8": integer_conv_graph((1, 96, 96, 3), (8, 3, 3, 3), stride=(2, 2), pad=(0, 0, 1, 1)),
    "vww pw 48x48 8->16": integer_conv_graph((1, 48, 48, 8), (16, 1, 1, 8)),
    "vww pw 24x24 32->32": integer_conv_graph((1, 24, 24, 32), (32, 1, 1, 32)),
    "vww pw 6x6 128->128": integer_conv_graph((1, 6, 6, 128), (128, 1, 1, 128)),
    "vww pw 3x3 256->256": integer_conv_graph((1, 3, 3, 256), (256, 1, 1, 256)),
    "vww dw 48x48x8": integer_conv_graph((1, 48, 48, 8), (8, 3, 3, 1), pad=SAME, group=8, rounded=True),
    "vww dw 24x24x32 s2": integer_conv_graph(
        (1, 24, 24, 32), (32, 3, 3, 1), stride=(2, 2), pad=(0, 0, 1, 1), group=32, rounded=True
    ),
    "vww dw 6x6x128": integer_conv_graph((1, 6, 6, 128), (128, 3, 3, 1), pad=SAME, group=128, rounded=True),
    "dw 5x5 24x24x32": integer_conv_graph(
        (1, 24, 24, 32), (32, 5, 5, 1), pad=(2, 2, 2, 2), group=32, scale=0.0007, rounded=True
    ),
    "dw 5x5 7x7x64": integer_conv_graph(
        (1, 7, 7, 64), (64, 5, 5, 1), pad=(2, 2, 2, 2), group=64, scale=0.0007, rounded=True
    ),
    "dw 1x9 1x98x40": integer_conv_graph((1, 1, 98, 40), (40, 1, 9, 1), pad=(0, 4, 0, 4), group=40, rounded=True),
    "dw 5x5, no multiplier": integer_conv_graph(
        (1, 24, 24, 32), (32, 5, 5, 1), pad=(2, 2, 2, 2), group=32, scale=0.0007
    ),
    "dw 3x3 24x24x32 d2": integer_conv_graph(
        (1, 24, 24, 32), (32, 3, 3, 1), pad=(2, 2, 2, 2), dilation=(2, 2), group=32, rounded=True
    ),
    "ad fc 640->128": integer_conv_graph((1, 1, 1, 640), (128, 1, 1, 640)),
}

MAIN = """#include "bench.h"
#include "model.h"
BENCH_DATA static const int8_t in[{inputs}] = {{ {values} }};
BENCH_RAM static int8_t out[{outputs}];
BENCH_RAM static unsigned char arena[MODEL_ARENA_SIZE + 16] __attribute__((aligned(16)));
void bench_setup(void) {{}}
void bench_run(void) {{ model_run(arena, in, out); }}
void bench_report(void) {{ bench_out("out", "i8", out, sizeof out); }}
"""


def measure(graph: Graph, program: Program, machine: Machine, route: str, core: str) -> dict[str, Any]:
    """What the bench says of one layer, with ``match``: whether its bytes are right."""
    import run_qemu

    x = random_inputs(graph)
    expected = evaluate_graph(graph, x)[graph.outputs[0].name].reshape(-1)
    values = ",".join(map(str, x["x"].reshape(-1)))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sources = [path for path in write_c(program, machine, folder) if path.suffix == ".c"]
        if route == "llvm":
            sources = []
            for name, image in emit_objects(program, machine):
                sources.append(folder / name)
                sources[-1].write_bytes(image)
        main = folder / "bench_main.c"
        main.write_text(MAIN.format(inputs=x["x"].size, values=values, outputs=expected.size))
        found: dict[str, Any] = run_qemu.measure(core, [*map(str, sources), str(main)], inc=[place], opt="O3")
    found["match"] = found["outputs"]["out"]["values"] == expected.tolist()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cpu", default="m4", choices=("m0", "m0plus", "m3", "m4", "m7", "m33", "m55"))
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "cortexm")
    parser.add_argument("--profile", action="store_true", help="show the functions that take most")
    args = parser.parse_args()
    sys.path.insert(0, str(args.bench))
    machine = select(args.cpu)
    print(f"{'layer':22s} {'MACs':>9s} route {'instr.':>9s} {'/MAC':>6s} stack  code arena  cycles/MAC")
    for name, graph in LAYERS.items():
        if args.names and not any(part in name for part in args.names):
            continue
        program = lower_graph(graph, machine)
        macs = program.macs
        for route in ("c", "llvm"):
            found = measure(graph, program, machine, route, args.cpu)
            estimate = found["profile"]["est_cycles"]
            cycles = (estimate["cycles"] if estimate else 0) / macs
            print(
                f"{name:22s} {macs:9d} {route:5s} {found['instructions']:9d} {found['instructions'] / macs:6.3f} "
                f"{found['stack']:5d} {found['size']['text']:5d} {program.plan.pools[0].size:5d} {cycles:7.3f}"
                f"{'' if found['match'] else '   WRONG BYTES'}",
                flush=True,
            )
            if args.profile:
                print(found["profile"]["top_functions"])


if __name__ == "__main__":
    main()
