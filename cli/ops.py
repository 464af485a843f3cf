"""``ccml ops``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from .help import Command
from .options import json_option
from .output import print_json, print_table
from .table import columns
from .verbosity import logging_options


@click.command("ops", cls=Command)
@click.option("--core", is_flag=True, help="List the operators of ccml's own graph IR instead.")
@click.option("--tflite", is_flag=True, help="List the operators of TensorFlow Lite models instead.")
@click.option("--markdown", is_flag=True, help="Print a Markdown table, for documentation.")
@json_option
@logging_options
def command(core: bool, tflite: bool, markdown: bool, as_json: bool) -> None:
    """List the ONNX operators that ccml supports.

    \b
    ccml ops
    ccml ops --tflite                             of TensorFlow Lite models
    ccml ops --markdown
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other")
    if core and tflite:
        raise click.UsageError("--core and --tflite exclude each other")
    titles, rows = _core() if core else _tflite() if tflite else _onnx()
    if as_json:
        print_json({"operators": [dict(zip(titles, row)) for row in rows]})
    elif markdown:
        head: list[list[object]] = [[*titles], ["---"] * len(titles)]
        for row in head + rows:
            click.echo(f"| {' | '.join(_escaped(cell) for cell in row)} |")
    else:
        print_table("", columns(*titles[:-1], f"~{titles[-1]}"), [[_text(cell) for cell in row] for row in rows])


def _onnx() -> tuple[list[str], list[list[object]]]:
    from ..frontend_onnx.supported import supported_operators

    rows: list[list[object]] = [
        [op.name, list(op.since), op.how.value, [dtype.value for dtype in op.types]] for op in supported_operators()
    ]
    return ["operator", "versions", "by", "types"], rows


def _tflite() -> tuple[list[str], list[list[object]]]:
    from ..frontend_tflite.rules import CONDITIONS, SUPPORTED

    return ["operator", "conditions"], [[name, CONDITIONS.get(name, "")] for name in SUPPORTED]


def _core() -> tuple[list[str], list[list[object]]]:
    from ..ops.table import OPS

    rows: list[list[object]] = [
        [op.name, op.kind.value, op.summary, [f"{name}: {attribute}" for name, attribute in op.attrs.items()]]
        for op in OPS.values()
    ]
    return ["operator", "kind", "meaning", "attributes"], rows


def _text(cell: object) -> str:
    return ", ".join(map(str, cell)) if isinstance(cell, Sequence) and not isinstance(cell, str) else str(cell)


def _escaped(cell: object) -> str:
    return _text(cell).replace("|", "\\|")
