"""Compiled models beside run-time libraries on this machine, in one interleaved run.

    python benchmarks/hosts.py --prepare ENVIRONMENTS                 # a virtual environment for each library, once
    python benchmarks/networks.py NETWORKS                            # networks to time
    python benchmarks/quantized_networks.py NETWORKS NETWORKS/*.onnx  # the same in 8 bits
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
from host_peers import PEERS, model_for, prepare, prepared, python_of, version_of

Outputs = Mapping[str, np.ndarray]

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
    quantized: bool
    figures: Mapping[str, Figures]

    @property
    def best_peer(self) -> str:
        return min((name for name in self.figures if name != "ccml"), key=lambda name: self.figures[name].least)

    @property
    def ratio(self) -> float:
        """Least time of ccml by the least of the best of the others: below 1, ccml is faster."""
        return self.figures["ccml"].least / self.figures[self.best_peer].least


# ---------------------------------------------------------------- one model


@contextmanager
def worker(python: Path, system: str, model: Path, threads: int, data: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that loads ``model`` and answers by lines; it ends with the block."""
    outputs = data / f"{system}.npz"
    command = [str(python), str(WORKER), system, str(model), str(threads), str(data / "inputs.npz"), str(outputs)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()


def answer(process: subprocess.Popen[str]) -> dict[str, float]:
    """The next line of a worker that is an answer: libraries print, too."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            found: dict[str, float] = json.loads(line)
            return found
    raise RuntimeError("it ended")


def measure(model: Path, environments: Path, threads: int, cpu: str | None, rounds: int, slice_: float) -> Measured:
    """Compiles ``model``, checks what all systems give for it, and times them in turns."""
    with tempfile.TemporaryDirectory(prefix="ccml-bench-") as name, ExitStack() as stack:
        data = Path(name)
        report = compiled(model, data, threads, cpu)
        write_inputs(report, data / "inputs.npz")
        running, figures = {}, {}
        for system in ("ccml", *(name for name in prepared(environments) if PEERS[name].suffix == model.suffix)):
            try:
                python, place = started(system, model, environments, data)
                process = stack.enter_context(worker(python, system, place, threads, data))
                figures[system] = Figures(**answer(process))
                running[system] = process
            except RuntimeError as problem:
                print(f"{model.name}: {system} is left out: {problem}", file=sys.stderr)
        outputs = {system: dict(np.load(data / f"{system}.npz")) for system in running}
        quantized = is_quantized(model)
        first_peer = next(given for name, given in outputs.items() if name != "ccml")
        wanted = definition(model, environments, data) or first_peer
        for system in strangers(outputs, wanted, QUANTIZED_TOLERANCE if quantized else TOLERANCE):
            if system == "ccml":
                raise SystemExit(f"{model.name}: ccml gives something else than its peers")
            print(f"{model.name}: {system} is left out: it gives something else", file=sys.stderr)
            del running[system], figures[system]
        for _ in range(rounds):
            for system, process in running.items():
                assert process.stdin is not None
                print(slice_, file=process.stdin, flush=True)
                found = answer(process)
                figures[system].least = min(figures[system].least, found["least"])
                figures[system].medians.append(found["median"])
        size = (data / "own" / "libtimed.so").stat().st_size
        return Measured(model.stem, report.totals.macs, size, model.stat().st_size, quantized, figures)


def compiled(model: Path, data: Path, threads: int, cpu: str | None) -> ccml.Report:
    goal = ccml.Goal(threads=threads if threads > 1 else 0)
    options = ccml.ModelOptions(name="timed")
    result = ccml.compile(
        model, "x86", data / "own", cpu=cpu, emit=["lib"], bindings=["python"], goal=goal, options=options
    )
    return result.artifacts[0].report


def write_inputs(report: ccml.Report, path: Path) -> None:
    """Normal numbers, or integers of all sizes."""
    rng = np.random.default_rng(0)
    arrays = {}
    for side in report.inputs:
        dtype = DType(side.dtype).numpy
        if np.issubdtype(dtype, np.integer):
            limits = np.iinfo(dtype)
            arrays[side.name] = rng.integers(limits.min, limits.max, side.shape, dtype, endpoint=True)
        else:
            arrays[side.name] = rng.standard_normal(side.shape).astype(dtype)
    np.savez(path, **arrays)


def started(system: str, model: Path, environments: Path, data: Path) -> tuple[Path, Path]:
    """Which Python runs a system, and on what."""
    if system == "ccml":
        return Path(sys.executable), data / "own" / "python" / "timed" / "timed"
    return python_of(environments, system), model_for(system, environments, model, data / system)


def is_quantized(model: Path) -> bool:
    if model.suffix == ".tflite":
        return True
    return any(node.op_type == "QuantizeLinear" for node in onnx.load(model, load_external_data=False).graph.node)


def definition(model: Path, environments: Path, data: Path) -> Outputs | None:
    """What ONNX Runtime gives without optimizations; none for models that it does not read."""
    if model.suffix != ".onnx" or "onnxruntime" not in prepared(environments):
        return None
    with worker(python_of(environments, "onnxruntime"), "unoptimized", model, 1, data) as process:
        answer(process)
    return dict(np.load(data / "unoptimized.npz"))


def strangers(outputs: Mapping[str, Outputs], wanted: Outputs, allowed: float) -> list[str]:
    """The systems that give something else than what is wanted. Outputs are found by name, or by their order."""
    found = []
    for system, given in outputs.items():
        pairs = [(given.get(name, one), wanted[name]) for name, one in zip(wanted, given.values(), strict=True)]
        if not all(error(one, other) <= allowed for one, other in pairs):
            found.append(system)
    return found


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    """Relative, in L2."""
    if found.size != wanted.size:
        return np.inf
    apart = found.reshape(-1).astype(np.float64) - wanted.reshape(-1)
    return float(np.linalg.norm(apart) / max(float(np.linalg.norm(wanted.astype(np.float64))), 1e-30))


# ---------------------------------------------------------------- what is written


def table(measured: Sequence[Measured], peak: float) -> list[str]:
    """Markdown: least and median microseconds of each system, and what follows from them."""
    systems = present(measured)
    head = ["model", "MMAC", *(f"{system}, µs" for system in systems), "ratio", "of the roof"]
    lines = [row(head), row(["---", *["--:"] * (len(head) - 1)])]
    for each in measured:
        found = [each.figures.get(system) for system in systems]
        times = ["-" if figure is None else f"{spelled(figure.least)} ({spelled(figure.median)})" for figure in found]
        share = "-" if each.quantized else f"{2 * each.macs / each.figures['ccml'].least / peak:.0%}"
        lines.append(row([each.name, f"{each.macs / 1e6:,.1f}", *times, f"{each.ratio:.2f}", share]))
    return lines


def sizes(measured: Sequence[Measured]) -> list[str]:
    """Markdown: bytes, and milliseconds from the start of loading to the first result."""
    systems = present(measured)
    head = ["model", "model, bytes", "libNAME.so, bytes", *(f"{system}: first result, ms" for system in systems)]
    lines = [row(head), row(["---", *["--:"] * (len(head) - 1)])]
    for each in measured:
        found = [each.figures.get(system) for system in systems]
        cold = ("-" if figure is None else f"{figure.first * 1e3:,.1f}" for figure in found)
        lines.append(row([each.name, f"{each.model_bytes:,}", f"{each.library_bytes:,}", *cold]))
    return lines


def present(measured: Sequence[Measured]) -> list[str]:
    """The systems that ran some of the models."""
    return [system for system in ("ccml", *PEERS) if any(system in each.figures for each in measured)]


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def spelled(seconds: float) -> str:
    micro = seconds * 1e6
    return f"{micro:,.1f}" if micro < 100 else f"{micro:,.0f}"


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def sections(measured: Sequence[Measured], threads: int, peak: float) -> list[str]:
    """Markdown of all models with one number of threads; ``peak`` is that of one core."""
    out = []
    for kind, quantized in (("float32", False), ("int8", True)):
        models = [each for each in measured if each.quantized is quantized]
        if models:
            count = "one thread" if threads == 1 else f"{threads} threads"
            out += [f"## {kind}, {count}\n", *table(models, threads * peak), ""]
            if threads == 1:
                out += [f"## {kind}, sizes and the first result\n", *sizes(models), ""]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--prepare", type=Path, metavar="FOLDER", help="make the environments of the peers there")
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="where these are; others are left out")
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
    peers = prepared(arguments.environments)
    versions = ", ".join(f"{name} {version_of(arguments.environments, name)}" for name in peers)
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
        text += sections(measured, threads, peak)
    page = "\n".join(text)
    if arguments.page is None:
        print(page)
    else:
        arguments.page.write_text(page, encoding="utf-8")


HEAD = """\
# Beside run-time libraries

Written by `python benchmarks/hosts.py`: batch 1, all systems in one interleaved run on {processor}.
ccml {version}; {versions}, with as many threads.
Least time of a run, and the median of all turns in parentheses; the ratio is that of the least times, ccml by the best
of the others: below 1, ccml is faster. The roof is what one core does at most in float32, measured
({peak:.0f} GFLOP/s); Winograd's algorithm may exceed it. The networks are those of `benchmarks/networks.py` and
`benchmarks/resnet50.py`, with seeded weights, and models of the test suite; int8 models are QDQ models of the test
suite, what ONNX Runtime's quantizer wrote (`_u8`, `benchmarks/quantized_networks.py`), what `ccml quantize` wrote, or
TensorFlow Lite's own (`.tflite`, which LiteRT alone reads beside ccml). A dash: the library does not convert or run the
model, or gives something else.
"""


if __name__ == "__main__":
    main()
