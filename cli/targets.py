"""``ccml targets``."""

from __future__ import annotations

import click

from .options import json_option, logging_options
from .output import columns, print_json, print_table


@click.command("targets")
@json_option
@logging_options
def command(as_json: bool) -> None:
    """List the targets, with their ABIs and CPUs (the first of each is the default)."""
    from ..targets import TARGETS

    if as_json:
        print_json([
            {
                "name": target.name, "aliases": list(target.aliases), "description": target.description,
                "shared_library": target.hosted, "arena_align": target.arena_align,
                "abis": [
                    {"name": abi.name, "triple": abi.triple, "cpus": [cpu.name for cpu in abi.cpus]}
                    for abi in target.abis
                ],
            }
            for target in TARGETS
        ])  # fmt: skip
        return
    rows = [
        (target.name, ", ".join(target.aliases), abi.name, ", ".join(cpu.name for cpu in abi.cpus),
         ".a .so" if target.hosted else ".a", target.description)
        for target in TARGETS
        for abi in target.abis
    ]  # fmt: skip
    print_table("", columns("target", "or", "ABI", "CPUs", "libraries", ""), rows)
