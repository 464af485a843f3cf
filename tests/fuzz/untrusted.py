"""Damaged files as a script: models by mutation, data files by mutation, models made to be expensive.

    python -m tests.fuzz.untrusted models --count 9000 --seed 1 --out failures
    python -m tests.fuzz.untrusted tflite --count 9000
    python -m tests.fuzz.untrusted data --count 1000
    python -m tests.fuzz.untrusted expensive

The exit code is 1 where a file ended in an internal error, or took more than 10 s of the processor or 2 GB (60 s and
4 GB for those made to be expensive).
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from math import prod
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from ccml.driver import compile_model
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.program import Interface
from ccml.ir.types import DType, TensorType
from ccml.samples import match_samples, random_samples, read_arrays

from tests.fuzz.expensive import MODELS
from tests.fuzz.mutants import mutant
from tests.fuzz.mutants_tflite import tflite_mutant
from tests.fuzz.sandbox import BAD, Bounds, Cost, confined

LIMITS = Bounds(10, 2 << 30)
EXPENSIVE = Bounds(60, 4 << 30)
_CHUNK = 50
_MOST = 1e8
"""Elements and multiplications of a damaged model that is run: one may say that its input has 16 GB."""


@dataclass(frozen=True)
class Finding:
    name: str
    cost: Cost


def compile_file(path: Path, *, most: float = np.inf) -> None:
    """What ``ccml run`` does with a model and random inputs; without the run, where one takes more than ``most``
    multiplications or elements: then it is the model that takes its time."""
    with np.errstate(all="ignore"):
        compiled = compile_model(path, host_machine())
        model = JitModel(compiled.program, compiled.machine)
        elements = sum(prod(buffer.shape) for buffer in compiled.program.buffers.values())
        if elements + sum(call.macs for call in compiled.program.calls) <= most:
            model.run(next(iter(random_samples(compiled.program.inputs))))


def damaged_model(seed: int, folder: Path) -> tuple[Path, Callable[[], object]]:
    path = folder / f"mutant{seed}.onnx"
    path.write_bytes(mutant(seed))
    return path, lambda: compile_file(path, most=_MOST)


def damaged_tflite(seed: int, folder: Path) -> tuple[Path, Callable[[], object]]:
    path = folder / f"mutant{seed}.tflite"
    path.write_bytes(tflite_mutant(seed))
    return path, lambda: compile_file(path, most=_MOST)


_SIDES = [
    Interface("x", "x", TensorType(DType.F32, (1, 3, 4)), "x"), Interface("n", "n", TensorType(DType.I64, ()), "n")
]  # fmt: skip


def damaged_data(seed: int, folder: Path) -> tuple[Path, Callable[[], object]]:
    """An archive or an array, with bits flipped, bytes cut off or put in, or members that are something else."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {"x": np.zeros((int(rng.integers(1, 4)), 3, 4), np.float32), "n": np.asarray(3)}
    if rng.random() < 0.3:
        arrays["x"] = arrays["x"].astype(rng.choice([">f4", "f8", "i2", "c8", "U3", "S2", "M8[s]", "V4", "?", "f2"]))
    buffer = BytesIO()
    if rng.random() < 0.3:
        np.save(buffer, arrays["x"])
    else:
        kind = int(rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2]))
        with zipfile.ZipFile(buffer, "w", kind) as archive:
            for name, array in arrays.items():
                member = BytesIO()
                np.save(member, array)
                archive.writestr(f"{name}.npy", member.getvalue())
            if rng.random() < 0.2:
                archive.writestr(str(rng.choice(["y.npy", "../z", "a/b", "x"])), rng.bytes(20))
    content = bytearray(buffer.getvalue())
    for _ in range(int(rng.integers(0, 6))):
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    if rng.random() < 0.2:
        del content[int(rng.integers(len(content))) :]
    path = folder / f"data{seed}.{'npz' if rng.random() < 0.7 else 'npy'}"
    path.write_bytes(content)

    def use() -> None:
        for sample in match_samples(read_arrays(path), _SIDES, []):
            assert sample["x"].shape == (1, 3, 4)

    return path, use


def examine(kind: str, seeds: range, out: Path | None) -> list[Finding]:
    """Files by number, one after the other; what is found bad is copied to ``out``."""
    make = {"models": damaged_model, "tflite": damaged_tflite, "data": damaged_data}[kind]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            path, work = make(seed, Path(folder))
            cost = confined(work, LIMITS)
            found.append(Finding(path.name, cost))
            if cost.end in BAD and out is not None:
                out.mkdir(parents=True, exist_ok=True)
                (out / path.name).write_bytes(path.read_bytes())
                (out / f"{path.name}.txt").write_text(f"{cost}\n", encoding="utf-8")
            path.unlink()
    return found


def expensive(out: Path | None) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        for name, make in MODELS.items():
            path = Path(folder) / f"{name}.onnx"
            path.write_bytes(make())
            assert path.stat().st_size <= 1 << 20, name
            finding = Finding(name, confined(lambda path=path: compile_file(path, most=1e8), EXPENSIVE))
            if finding.cost.end in BAD and out is not None:
                out.mkdir(parents=True, exist_ok=True)
                (out / path.name).write_bytes(path.read_bytes())
            yield finding


def summary(findings: list[Finding]) -> str:
    lines = [f"{end:10} {count}" for end, count in sorted(Counter(f.cost.end.value for f in findings).items())]
    longest = max(findings, key=lambda finding: finding.cost.seconds)
    largest = max(findings, key=lambda finding: finding.cost.nbytes)
    lines.append(f"longest {longest.cost.seconds:.1f} s ({longest.name})")
    lines.append(f"largest {largest.cost.nbytes / 2**20:.0f} MiB ({largest.name})")
    causes: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.cost.end in BAD:
            cause = finding.cost.end.value + " " + re.sub(r"[\d.]+", "#", finding.cost.what)[:90].replace("\n", " ")
            causes.setdefault(cause, []).append(finding)
    for cause, members in sorted(causes.items(), key=lambda entry: -len(entry[1])):
        lines.append(f"{len(members)} x {cause}\n    {members[0].name}: {members[0].cost.what[:250]}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["models", "tflite", "data", "expensive"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder for the files that end badly")
    options = parser.parse_args()
    findings: list[Finding] = []
    if options.kind == "expensive":
        for finding in expensive(options.out):
            cost = finding.cost
            line = f"{finding.name:28} {cost.end.value:8} {cost.seconds:6.1f} s {cost.nbytes / 2**20:6.0f} MiB"
            print(line, " ".join(cost.what.split())[:120], flush=True)
            findings.append(finding)
    else:
        last = options.seed + options.count
        parts = [range(start, min(start + _CHUNK, last)) for start in range(options.seed, last, _CHUNK)]
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(examine, options.kind, part, options.out) for part in parts]
            for number, future in enumerate(futures):
                findings += future.result()
                print(f"{number + 1}/{len(parts)}", file=sys.stderr)
    print(summary(findings))
    return int(any(finding.cost.end in BAD for finding in findings))


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(main())
