"""``ccml profile``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from .help import Command
from .options import (
    goal_options,
    input_option,
    json_option,
    model_options,
    route_option,
    target_options,
)
from .output import print_facts, print_json, print_table
from .progress import progress
from .quantize_options import quantization_options, quantize_option
from .table import columns
from .verbosity import logging_options

if TYPE_CHECKING:
    from ..driver import Goal, ModelOptions
    from ..quantization.source import Quantization
    from ..report.profile import Profile


@click.command("profile", cls=Command, short_help="Count executed instructions on an emulated board.")
@model_options
@target_options(required=True)
@input_option("; its first sample is run")
@route_option
@goal_options
@quantize_option
@quantization_options
@json_option
@logging_options
def command(
    model: str,
    options: ModelOptions,
    target: str,
    abi: str | None,
    cpu: str | None,
    file: str | None,
    route: str,
    goal: Goal,
    as_json: bool,
    quantization: Quantization | None,
) -> None:
    """Run MODEL on an emulated Cortex-M board and count what it executes, layer by layer.

    \b
    ccml profile kws.onnx -t cortex-m4
    ccml profile kws.onnx -t cortex-m55 -i samples.npz --route c

    QEMU runs the code that the target would run. Executed instructions stand beside the prediction of 'ccml inspect'
    for the same input. Needs qemu-system-arm, arm-none-eabi-gcc and gcc ('ccml doctor').
    """
    with progress():
        from .. import api

        profile = api.profile(
            model, target, options, file, abi=abi, cpu=cpu, route=route, quantization=quantization, goal=goal
        )
    if as_json:
        print_json(asdict(profile))
    else:
        _print(profile)


def _print(profile: Profile) -> None:
    if profile.layers:
        head = columns("#", "@layer", "kernel", "#MACs", "#instructions", "#predicted", "#share", "#per MAC")
        rows = [
            (layer.index, layer.name, layer.kernel, layer.macs, layer.instructions, layer.predicted,
             f"{layer.instructions / profile.instructions:.1%}",
             f"{layer.instructions / layer.macs:.2f}" if layer.macs else None)
            for layer in profile.layers
        ]  # fmt: skip
        print_table(f"executed on an emulated {profile.cpu}", head, rows)
        click.echo()
    predicted = "not known" if profile.predicted is None else f"{profile.predicted:,}"
    print_facts([
        ("instructions", profile.instructions),
        ("predicted", predicted),
        ("MACs", profile.macs),
    ])  # fmt: skip
