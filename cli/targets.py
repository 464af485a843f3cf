"""``ccml targets``."""

from __future__ import annotations

import click

from .help import Command
from .options import json_option
from .output import broken, print_json, print_table
from .table import columns
from .verbosity import logging_options


@click.command("targets", cls=Command, short_help="List the targets with their ABIs and CPUs.")
@json_option
@logging_options
def command(as_json: bool) -> None:
    """List the targets, with their ABIs and CPUs (the first of each is the default).

    \b
    ccml targets
    ccml targets --json
    """
    from ..targets import TARGETS

    if as_json:
        print_json({"targets": [
            {
                "name": target.name, "aliases": list(target.aliases), "description": target.description,
                "library": target.library and target.library.file.format(name="NAME"),
                "arena_align": target.arena_align,
                "abis": [
                    {"name": abi.name, "triple": abi.triple, "cpus": [cpu.name for cpu in abi.cpus]}
                    for abi in target.abis
                ],
            }
            for target in TARGETS
        ]})  # fmt: skip
        return
    rows = [
        (target.name, ", ".join(target.aliases), abi.name, ", ".join(cpu.name for cpu in abi.cpus), target.description)
        for target in TARGETS
        for abi in target.abis
    ]
    print_table("", columns("target", "~or", "ABI", "~CPUs", "~"), rows)
    loaded: dict[str, list[str]] = {}
    for target in TARGETS:
        if target.library is not None:
            loaded.setdefault(target.library.file.format(name="NAME"), []).append(target.name)
    more = "; ".join(f"{', '.join(names)} {file} as well" for file, names in loaded.items())
    click.echo(broken(f"\nAll get a static library, libNAME.a; {more}."))
