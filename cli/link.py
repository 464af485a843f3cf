"""``ccml link``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import CcmlError, ErrorCode
from ..output_files import check_output_file
from .artifact_options import (
    bindings_option,
    emit_option,
    jobs_option,
    name_option,
    package_option,
    page_option,
    slices_option,
    weights_option,
)
from .config import MODEL_KEYS, config_option, linked_models, located
from .help import Command
from .options import clock_option, goal_options, json_option, target_options
from .output import kibibytes, print_facts, print_json, print_table
from .parameter_types import InputShape, NameValue
from .progress import progress
from .table import columns
from .verbosity import logging_options, settings

if TYPE_CHECKING:
    from ..artifact.link import Library
    from ..driver import Goal, ModelOptions


@click.command("link", cls=Command, short_help="Compile several models into one library.")
@config_option
@click.argument("models", type=click.Path(), nargs=-1, metavar="[NAME=]MODEL...")
@target_options(required=True)
@click.option(
    "-o", "--output", type=click.Path(), metavar="DIR", help="Folder for the files.  [default: NAME_TARGET]"
)
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="[MODEL=]rows",
    help="A function brings the input of this model row by row, or those of all models.",
)  # fmt: skip
@emit_option("c sources, obj files, lib: static and shared library")
@name_option
@package_option
@bindings_option
@weights_option
@slices_option
@goal_options
@jobs_option
@page_option
@clock_option
@json_option
@logging_options
def command(
    models: tuple[str, ...],
    target: str,
    abi: str | None,
    cpu: str | None,
    output: str | None,
    inputs: tuple[str, ...],
    emit: tuple[str, ...],
    name: str | None,
    packages: tuple[str, ...],
    bindings: tuple[str, ...],
    weights: str,
    slices: bool,
    goal: Goal,
    jobs: int,
    page: str | None,
    clock: int | None,
    as_json: bool,
) -> None:
    """Compile several models into one library for one target.

    \b
    ccml link kws.onnx ad.onnx -t cortex-m4       kws.h, ad.h, libkws_ad.a
    ccml link wake=kws.onnx ad.onnx -t arm --name audio -o audio
    ccml link kws.onnx ad.onnx -t x86 --bindings cpp,python --package cmake
    ccml link -t arm --page both.html             those of ccml.toml

    Kernels, constants and the runtime that are equal are there once, and models share working memory: they do not run
    at the same time. Each has its header, functions and report as if it were alone; the header of the library includes
    all, and tells how much working memory is enough. --name is that of the library, by default the names of the models.
    Options of single models, such as dims, stand in ccml.toml, in tables [models.NAME].
    """
    for kind in ("asm", "llvm"):
        if kind in emit:
            raise click.UsageError(f"--emit {kind} is for one model: ccml compile")
    if page is not None:
        check_output_file(page, ".html")
    file, tables = linked_models()
    if len(models) < 2 and not (not models and len(tables) > 1):
        raise click.UsageError("give two models or more, or [models.NAME] tables in ccml.toml")
    with progress():
        from .. import api

        pairs = [_given(text) for text in models] or [_of_table(file, *each) for each in tables.items()]
        pairs = _by_rows(pairs, inputs)
        library = api.link(
            pairs, target, output, name=name, abi=abi, cpu=cpu, emit=emit, goal=goal, slices=slices,
            external_weights=weights == "external", packages=packages, bindings=bindings,
            jobs=jobs,
        )  # fmt: skip
        if page is not None:
            api.write_page(library.reports, page, clock, library.firmware)
    if as_json:
        reports = {report.model.name: asdict(report) for report in library.reports}
        print_json({"name": library.name, "totals": asdict(library.totals), "reports": reports})
    elif not settings().quiet:
        _print_summary(library)


def _given(text: str) -> tuple[str, ModelOptions]:
    """``NAME=FILE``, or a file alone."""
    from ..driver import ModelOptions

    name, equals, file = text.partition("=")
    named = bool(equals) and not Path(text).exists()
    return (file, ModelOptions(name=name)) if named else (text, ModelOptions())


def _by_rows(
    pairs: Sequence[tuple[str, ModelOptions]], inputs: Sequence[str]
) -> list[tuple[str, ModelOptions]]:
    """The models and their options, with the inputs by rows that ``--input`` asks for."""
    from ..emit_c.model_name import model_name

    names = [model_name(Path(path), options.name) for path, options in pairs]
    asked = set()
    for text in inputs:
        model, equals, last = text.rpartition("=")
        if last != "rows" or (bool(equals) and model not in names):
            raise click.BadParameter(f"'{text}' is not [MODEL=]rows; models: {', '.join(names)}", param_hint="--input")
        asked |= {model} if equals else {*names}
    return [
        (path, replace(options, rows=("",)) if name in asked else options)
        for name, (path, options) in zip(names, pairs, strict=True)
    ]


def _of_table(file: Path, name: str, table: Mapping[str, object]) -> tuple[str, ModelOptions]:
    """A model of ccml.toml. Raises ``BAD_OPTION`` that names the key."""
    from ..driver import ModelOptions

    path = table.get("file")
    if not isinstance(path, str):
        raise _bad(file, name, "file", 'has to name a file: file = "kws.onnx"')
    return str(file.parent / path), ModelOptions(
        name=name,
        dims=dict(_named(file, name, "dims", table, NameValue())),
        shapes=dict(_named(file, name, "shapes", table, InputShape())),
        states={key: str(value) for key, value in _table(file, name, "states", table).items()},
        rows=_names(file, name, "rows", table),
        custom_ops={key: located(file, str(value)) for key, value in _table(file, name, "custom-ops", table).items()},
        custom_ops_python={
            key: located(file, str(value)) for key, value in _table(file, name, "custom-op-python", table).items()
        },
    )


def _named(
    file: Path, name: str, key: str, table: Mapping[str, object], kind: NameValue | InputShape
) -> list[tuple[str, Any]]:
    found = []
    for item, value in _table(file, name, key, table).items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        parsed = kind.parse(text)
        if parsed is None:
            raise _bad(file, name, f"{key}.{item}", f"has a value that it cannot have: {text[:40]}")
        found.append((item, parsed))
    return found


def _names(file: Path, name: str, key: str, table: Mapping[str, object]) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _bad(file, name, key, 'is not a list of names: ["image"]')
    return tuple(value)


def _table(file: Path, name: str, key: str, table: Mapping[str, object]) -> Mapping[str, object]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise _bad(file, name, key, "is not a table: { name = value }")
    return value


def _bad(file: Path, name: str, key: str, reason: str) -> CcmlError:
    hint = f"keys of [models.NAME] are {', '.join(MODEL_KEYS)}"
    return CcmlError(ErrorCode.BAD_OPTION, f"models.{name}.{key} {reason}", loc=str(file), hint=hint)


def _print_summary(library: Library) -> None:
    totals, target = library.totals, library.reports[0].target
    weights, apart = kibibytes(totals.weight_bytes), library.reports[0].options.weights == "external"
    parts = f"{'' if apart else f'weights {weights}, '}code {kibibytes(totals.code_bytes)}"
    print_facts([
        ("library", f"{library.name}: {', '.join(report.model.name for report in library.reports)}"),
        ("target", f"{target.name}, {target.abi}, {target.cpu}"),
        ("RAM", f"{kibibytes(totals.ram_bytes)} of arena, for one model at a time"),
        *([("states", kibibytes(totals.state_bytes))] if totals.state_bytes else []),
        ("flash", f"{kibibytes(totals.flash_bytes)}: {parts}"),
        *([("weights", f"{weights}, in a file for each model")] if apart else []),
        ("kernels", f"{totals.kernels}, of which several models use {totals.shared_kernels}"),
    ])  # fmt: skip
    click.echo()
    rows = [
        (report.model.name, report.totals.ram_bytes, report.totals.flash_bytes, report.totals.instructions)
        for report in library.reports
    ]
    print_table(f"{library.folder}/", columns("model", "#RAM", "#flash alone", "#instructions"), rows)
