"""``ccml boards``."""

from __future__ import annotations

from dataclasses import asdict

import click

from .help import Command
from .options import json_option
from .output import broken, print_json, print_table
from .table import columns
from .verbosity import logging_options


@click.command("boards", cls=Command, short_help="List the boards that --board knows.")
@json_option
@logging_options
def command(as_json: bool) -> None:
    """List the boards that 'ccml compile --board NAME' knows, with core, clock and memory.

    \b
    ccml boards
    ccml compile kws.onnx --board nucleo-f446re   fits, or what would help
    """
    from ..targets.development_boards import DEVELOPMENT_BOARDS

    if as_json:
        print_json({"boards": [asdict(board) for board in DEVELOPMENT_BOARDS]})
        return
    rows = [
        (board.name, board.chip, board.target, board.clock // 1_000_000, board.flash.size // 1024,
         " + ".join(f"{block.region.size // 1024} {block.name}" for block in board.ram),
         "cache" if board.wait_states is None else str(board.wait_states))
        for board in DEVELOPMENT_BOARDS
    ]  # fmt: skip
    head = columns("board", "chip", "target", "#MHz", "#flash KiB", "RAM KiB", "wait states")
    print_table("", head, rows)
    click.echo(broken("\nClocks are the fastest of each board, wait states those of its flash at that clock."))
