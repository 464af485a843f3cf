"""Imports between the packages of ccml point downwards only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli",),
    ("__init__",),
    ("api", "onnx_backend"),
    ("fitting", "loaded_model", "tuning"),
    ("quantization",),
    ("verification", "artifact"),
    ("bindings",),
    ("packages",),
    ("driver",),
    ("report",),
    ("costs",),
    ("features", "frontend_tflite", "exporters"),
    ("program", "frontend_onnx", "emulation"),
    ("emit_c", "emit_llvm"),
    ("passes", "schedule", "memory"),
    ("samples", "output_files"),
    ("instructions",),
    ("ops", "blocks"),
    ("custom_ops",),
    ("ir",),
    ("targets",),
    ("processes",),
    ("errors",),
    ("printable", "record"),
)
"""From the top down; packages of one layer do not import each other."""

LEVEL = {name: depth for depth, layer in enumerate(LAYERS) for name in layer}
RESOURCES = {"runtime_c"}
"""Files that are read, not imported."""


def modules() -> list[Path]:
    folders = [path.parent for path in ROOT.glob("*/__init__.py") if path.parent.name not in ("tests", "benchmarks")]
    return [*ROOT.glob("*.py"), *(path for folder in folders for path in folder.rglob("*.py"))]


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_packages(path: Path) -> set[str]:
    """The packages of ccml that a module imports, in functions as well as at its head; not for type checkers alone."""
    depth = len(path.relative_to(ROOT).parts) - 1
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ignored = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in ignored or node.level != depth + 1:
            continue
        names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
        found.update(name if name in LEVEL or name in RESOURCES else "__init__" for name in names)
    return found - RESOURCES


def test_every_package_has_a_layer() -> None:
    assert {package_of(path) for path in modules()} - RESOURCES == set(LEVEL)


@pytest.mark.parametrize("package", sorted(LEVEL))
def test_imports_point_downwards(package: str) -> None:
    for path in modules():
        if package_of(path) == package:
            upward = {name for name in imported_packages(path) - {package} if LEVEL[name] <= LEVEL[package]}
            # The version stands in __init__.py, which imports the rest only when it is asked for.
            upward -= {"__init__"}
            assert not upward, f"{path.relative_to(ROOT)} imports {sorted(upward)}"
