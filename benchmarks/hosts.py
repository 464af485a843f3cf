"""Compiled models beside run-time libraries on this machine, in one interleaved run.

    python benchmarks/hosts.py --prepare ENVIRONMENTS                 # a virtual environment for each library, once
    python benchmarks/networks.py NETWORKS                            # networks to time
    python benchmarks/hosts.py --environments ENVIRONMENTS NETWORKS/*.onnx --page docs/benchmarks.md

Each system runs in a process of its own with the same seeded inputs; outputs are compared with ONNX Runtime's. Then
all take turns, A B C A B C ..., so that a slow moment of the machine hits all of them. Nothing else may be running.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import ccml
import numpy as np
import onnx
from ccml.costs.roof import roof
from ccml.emit_llvm.jit import host_machine
from ccml.ir.types import DType

PEERS = {"onnxruntime": ("onnxruntime>=1.20,<2", "numpy"), "openvino": ("openvino>=2025,<2027", "numpy")}
WORKER = Path(__file__).with_name("host_workers.py")
TOLERANCE = 1e-3
"""Of the relative L2 error of an output: what rounding in another order gives stays far below it."""
QUANTIZED_TOLERANCE = 0.3
"""The same for quantized models: inner bytes differ by a step where a sum is half way, and random weights amplify that.
What computes something else is off by 1 and more."""


@dataclass
class Figures:
    """Of one system, in seconds: until it was loaded, until its first result was there, and of runs behind it."""

    loaded: float
    first: float
    least: float = float("inf")
    medians: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return float(np.median(self.medians))


@dataclass(frozen=True)
class Measured:
    """One model: multiply-accumulates, bytes of ccml's library and of the model, and what each system took."""

    name: str
    macs: int
    library_bytes: int
    model_bytes: int
    figures: Mapping[str, Figures]

    @property
    def best_peer(self) -> str:
        return min((name for name in self.figures if name != "ccml"), key=lambda name: self.figures[name].least)

    @property
    def ratio(self) -> float:
        """Least time of ccml by the least of the best of the others: below 1, ccml is faster."""
        return self.figures["ccml"].least / self.figures[self.best_peer].least


def prepare(folder: Path) -> None:
    """An environment for each peer, with the versions that :data:`PEERS` names."""
    for name, packages in PEERS.items():
        venv.create(folder / name, with_pip=True)
        subprocess.run([str(python_of(folder, name)), "-m", "pip", "install", "-q", *packages], check=True)


def python_of(environments: Path, system: str) -> Path:
    return environments / system / "bin" / "python"


def version_of(environments: Path, system: str) -> str:
    command = f"import importlib.metadata as m; print(m.version({system!r}))"
    found = subprocess.run([str(python_of(environments, system)), "-c", command], capture_output=True, text=True)
    return found.stdout.strip()


# ---------------------------------------------------------------- one model


@contextmanager
def worker(python: Path, system: str, model: Path, threads: int, data: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has loaded ``model`` and answers by lines; it ends with the block."""
    outputs = data / f"{system}.npz"
    command = [str(python), str(WORKER), system, str(model), str(threads), str(data / "inputs.npz"), str(outputs)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()


def answer(process: subprocess.Popen[str]) -> dict[str, float]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"failed: {' '.join(map(str, process.args))}")  # type: ignore[arg-type]
    found: dict[str, float] = json.loads(line)
    return found


def measure(model: Path, environments: Path, threads: int, cpu: str | None, rounds: int, slice_: float) -> Measured:
    """Compiles ``model``, checks what all systems give for it, and times them in turns."""
    with tempfile.TemporaryDirectory(prefix="ccml-bench-") as name, ExitStack() as stack:
        data = Path(name)
        goal = ccml.Goal(threads=threads if threads > 1 else 0)
        result = ccml.compile(
            model, "x86", data / "own", cpu=cpu, emit=["lib"], bindings=["python"], goal=goal,
            options=ccml.ModelOptions(name="timed"),
        )  # fmt: skip
        report = result.artifacts[0].report
        rng = np.random.default_rng(0)
        np.savez(
            data / "inputs.npz",
            **{side.name: rng.standard_normal(side.shape).astype(DType(side.dtype).numpy) for side in report.inputs},
        )
        places = {"ccml": (Path(sys.executable), data / "own" / "python" / "timed" / "timed")}
        places |= {system: (python_of(environments, system), model) for system in PEERS}
        running = {
            system: stack.enter_context(worker(python, system, place, threads, data))
            for system, (python, place) in places.items()
        }
        figures = {system: Figures(**answer(process)) for system, process in running.items()}
        check(model, {system: dict(np.load(data / f"{system}.npz")) for system in running})
        for _ in range(rounds):
            for system, process in running.items():
                assert process.stdin is not None
                print(slice_, file=process.stdin, flush=True)
                found = answer(process)
                figures[system].least = min(figures[system].least, found["least"])
                figures[system].medians.append(found["median"])
        size = (data / "own" / "libtimed.so").stat().st_size
        return Measured(model.stem, report.totals.macs, size, model.stat().st_size, figures)


def check(model: Path, outputs: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Stops where a system gives something else than ONNX Runtime."""
    graph = onnx.load(model, load_external_data=False).graph
    quantized = any(node.op_type == "QuantizeLinear" for node in graph.node)
    tolerance = QUANTIZED_TOLERANCE if quantized else TOLERANCE
    for name, expected in outputs["onnxruntime"].items():
        for system, given in outputs.items():
            error = np.linalg.norm(given[name].astype(np.float64) - expected) / max(np.linalg.norm(expected), 1e-30)
            if not error <= tolerance:
                raise SystemExit(f"{model.name}: output {name!r} of {system} is off by {error:.1e}")


# ---------------------------------------------------------------- what is written


def table(measured: Sequence[Measured], peak: float) -> list[str]:
    """Markdown: least and median microseconds of each system, and what follows from them."""
    systems = list(measured[0].figures)
    head = ["model", "MMAC", *(f"{system}, µs" for system in systems), "ratio", "of the roof"]
    lines = [row(head), row(["---", *["--:"] * (len(head) - 1)])]
    for each in measured:
        times = [f"{spelled(f.least)} ({spelled(f.median)})" for f in each.figures.values()]
        share = 2 * each.macs / each.figures["ccml"].least / peak
        lines.append(row([each.name, f"{each.macs / 1e6:,.1f}", *times, f"{each.ratio:.2f}", f"{share:.0%}"]))
    return lines


def sizes(measured: Sequence[Measured]) -> list[str]:
    """Markdown: bytes, and milliseconds from the start of loading to the first result."""
    systems = list(measured[0].figures)
    head = ["model", "model, bytes", "libNAME.so, bytes", *(f"{system}: first result, ms" for system in systems)]
    lines = [row(head), row(["---", *["--:"] * (len(head) - 1)])]
    for each in measured:
        cold = (f"{figure.first * 1e3:,.1f}" for figure in each.figures.values())
        lines.append(row([each.name, f"{each.model_bytes:,}", f"{each.library_bytes:,}", *cold]))
    return lines


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def spelled(seconds: float) -> str:
    micro = seconds * 1e6
    return f"{micro:,.1f}" if micro < 100 else f"{micro:,.0f}"


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--prepare", type=Path, metavar="FOLDER", help="make the environments of the peers there")
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="where these are")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="a table for each of these numbers")
    parser.add_argument("--cpu", help="as for ccml compile; by default all, chosen at the first call")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each system")
    parser.add_argument("--slice", type=float, default=0.1, help="seconds of a turn")
    parser.add_argument("--page", type=Path, help="write a page of Markdown")
    arguments = parser.parse_args()
    if arguments.prepare is not None:
        prepare(arguments.prepare)
        return
    machine = host_machine()
    peak = roof(machine, DType.F32)
    assert peak is not None
    versions = ", ".join(f"{name} {version_of(arguments.environments, name)}" for name in PEERS)
    text = [HEAD.format(processor=processor(), versions=versions, peak=peak / 1e9, version=ccml.__version__)]
    for threads in arguments.threads:
        measured = []
        for model in arguments.models:
            measured.append(
                measure(
                    model, arguments.environments, threads, arguments.cpu, arguments.rounds, arguments.slice
                )
            )
            print(table(measured[-1:], threads * peak)[-1], file=sys.stderr, flush=True)
        text += [f"## {'One thread' if threads == 1 else f'{threads} threads'}\n", *table(measured, threads * peak), ""]
        if threads == 1:
            text += ["## Sizes and the first result\n", *sizes(measured), ""]
    page = "\n".join(text)
    if arguments.page is None:
        print(page)
    else:
        arguments.page.write_text(page, encoding="utf-8")


HEAD = """\
# Beside run-time libraries

Written by `python benchmarks/hosts.py`: float32, batch 1, all systems in one interleaved run on {processor}.
ccml {version}; {versions}, with as many threads. Least time of a run, and the median of all turns in parentheses; the
ratio is that of the least times, ccml by the best of the others: below 1, ccml is faster. The roof is what one core
does at most, measured ({peak:.0f} GFLOP/s); Winograd's algorithm may exceed it. The networks are those of
`benchmarks/networks.py` and `benchmarks/resnet50.py`, with seeded weights, and models of the test suite. LiteRT, ncnn
and MNN were not measured.
"""


if __name__ == "__main__":
    main()
