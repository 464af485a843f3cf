"""``ccml doctor``."""

from __future__ import annotations

from dataclasses import asdict

import click

from .help import Command
from .options import json_option
from .output import print_facts, print_json, print_table
from .table import columns
from .verbosity import logging_options


@click.command("doctor", cls=Command, short_help="Show which optional tools are here, and how to get them.")
@json_option
@logging_options
def command(as_json: bool) -> None:
    """Show which optional tools are on this machine, what each is good for and how to get it.

    \b
    ccml doctor
    ccml doctor --json
    """
    from ..report.doctor import examine

    found = examine()
    if as_json:
        print_json(asdict(found))
        return
    print_facts(list(found.facts.items()))
    click.echo()
    rows = [
        ("no" if tool.version is None else "yes", tool.command, tool.version or f"install: {tool.install}", tool.use)
        for tool in found.tools
    ]
    print_table("optional tools", columns("here", "tool", "~version", "~for"), rows)
    click.echo("\nC sources, objects and static libraries for every target need none of them.")
