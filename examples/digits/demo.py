"""Runs the compiled digits model on real images and shows what it sees: ``python demo.py HOST_FOLDER [OTHER ...]``.

The folders are those of ``ccml compile digits.onnx``. The model in the first one is for this machine: it is called
through its C API, like any program that links it would do. Where no shared library could be linked, the same model is
compiled in memory instead.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from pathlib import Path

import ccml
import numpy as np

EXAMPLE = Path(__file__).parent
SHADES = " .:-=+*#%@"
PER_ROW = 5
SHOWN = 10

Model = Callable[[np.ndarray], np.ndarray]


def shared_library(folder: Path, report: dict) -> Model | None:
    """``digits_run`` of the shared library in ``folder``; ``None`` where there is none for this system."""
    try:
        run = ctypes.CDLL(str((folder / "libdigits.so").resolve())).digits_run
    except OSError:
        return None
    run.argtypes = [ctypes.c_void_p] * 3
    size, align = report["totals"]["arena_bytes"], report["totals"]["arena_align"]
    memory = np.zeros(size + align, np.uint8)
    arena = memory.ctypes.data + -memory.ctypes.data % align

    def call(image: np.ndarray) -> np.ndarray:
        logits = np.empty((1, 10), np.float32)
        status = run(arena, np.ascontiguousarray(image).ctypes.data, logits.ctypes.data)
        if status:
            raise SystemExit(f"digits_run returned {status}")
        return logits

    # The arena has to stay where it is for as long as the function is used.
    call.memory = memory  # type: ignore[attr-defined]
    return call


def in_memory() -> Model:
    """The model, compiled into this process."""
    model = ccml.load(EXAMPLE / "digits.onnx")
    return lambda image: model.run({"image": image})["logits"]


def drawn(image: np.ndarray) -> list[str]:
    """An 8x8 image as lines of text, two characters a pixel."""
    levels = (image.reshape(8, 8) * (len(SHADES) - 1)).round().astype(int)
    return ["".join(SHADES[level] * 2 for level in row) for row in levels]


def show(images: np.ndarray, labels: np.ndarray, found: np.ndarray) -> None:
    """The first images of each digit with what the model takes them for, side by side."""
    chosen = [int(np.flatnonzero(labels == digit)[0]) for digit in range(SHOWN)]
    for start in range(0, SHOWN, PER_ROW):
        row = chosen[start : start + PER_ROW]
        for line in zip(*(drawn(images[index]) for index in row)):
            print("  ".join(line).rstrip())
        captions = [f"this is a {found[index]}" + ("" if found[index] == labels[index] else " WRONG") for index in row]
        print("  ".join(f"{caption:<16}" for caption in captions).rstrip() + "\n")


def summarize(reports: list[dict]) -> None:
    """What the model needs on each target."""
    print(f"{'target':<12}{'RAM':>12}{'flash':>12}{'of it code':>12}{'MACs':>12}")
    for report in reports:
        totals = report["totals"]
        sizes = [totals["ram_bytes"], totals["flash_bytes"], totals["code_bytes"], totals["macs"]]
        print(f"{report['target']['name']:<12}" + "".join(f"{size:>12,}" for size in sizes))


def main() -> None:
    folders = [Path(argument) for argument in sys.argv[1:]]
    if not folders:
        raise SystemExit(__doc__)
    reports = [json.loads((folder / "report.json").read_text(encoding="utf-8")) for folder in folders]
    model = shared_library(folders[0], reports[0])
    print(f"running {folders[0] / 'libdigits.so'}\n" if model else "no shared library: running in memory\n")
    with np.load(EXAMPLE / "digits_test.npz") as data:
        images, labels = data["image"], data["label"]
    run = model or in_memory()
    found = np.array([run(image[None]).argmax() for image in images])
    show(images, labels, found)
    print(f"{(found == labels).sum()} of {len(labels)} test images recognised\n")
    summarize(reports)


if __name__ == "__main__":
    main()
