"""``ccml new``."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from ..errors import CcmlError, ErrorCode
from ..printable import printable
from .config import CONFIG_FILE, SECTIONS, Key
from .help import Command
from .options import json_option, target_option
from .output import print_facts, print_json
from .progress import progress
from .verbosity import logging_options, settings

_HEAD = """\
# The options of a project. What stands here need not stand on the command line, which counts more.
# 'ccml' reads {file} in the current folder, or what --config names. Paths are relative to the file.
# Lines that begin with '#' show what else there is. {example}
"""

_ABOUT = {
    "model": "How the model is read.",
    "compile": "What is made of it, and for what.",
    "quantize": "How 'ccml quantize', and quantize = \"int8\" above, make integers of a float model.",
}

_EXAMPLES: Mapping[str, str] = {
    "model.name": '"kws"',
    "model.dims": '{ batch = 1 }',
    "model.shapes": '{ input = [1, 49, 10, 1] }',
    "model.fix": '{ sr = 16000 }',
    "model.states": '{ h = "hn" }',
    "model.max": '{ text = 32 }',
    "model.rows": '["image"]',
    "model.custom-ops": '{ "my.domain::Name" = "name.c" }',
    "model.custom-op-python": '{ "my.domain::Name" = "name.py" }',
    "model.lengths": '{ frames = 3 }',
    "model.absent": '["mask"]',
    "compile.target": '"cortex-m4"',
    "compile.abi": '"eabihf"',
    "compile.cpu": '"cortex-m4"',
    "compile.emit": '["c", "lib"]',
    "compile.bindings": '["cpp", "python"]',
    "compile.package": '["cmake", "make"]',
    "compile.output": '"build"',
    "compile.quantize": '"int8"',
    "compile.board": '"nucleo-f446re"',
    "compile.max-flash": '"256KiB"',
    "compile.max-stack": '"2KiB"',
    "compile.max-cycles": '"4M"',
    "compile.max-time": '"20ms"',
    "compile.clock": '"80MHz"',
    "compile.max-ram": '"32KiB"',
    "compile.place": '["code:*=.itcm", "weights:3=.dtcm"]',
    "compile.pools": '["dtcm=64K", "sram"]',
    "compile.slice-cycles": "50000",
    "compile.database": '"tuning.jsonl"',
    "compile.threads": "4",
    "quantize.calibration": '"typical.npz"',
    "quantize.test-data": '"test.npz"',
    "quantize.percentile": '99.99',
    "quantize.max-accuracy-drop": '0.01',
    "quantize.min-sqnr": '30',
    "quantize.metric": '"my_metrics:accuracy"',
    "quantize.mean": '[127.5]',
    "quantize.scale": '[127.5]',
}
"""Values of keys that no default shows."""


_HELP: Mapping[str, str] = {
    "model.rows": "Inputs that a function of the caller's brings row by row, as by --input NAME=rows.",
}
"""What keys mean that are a part of their option."""


@click.command("new", cls=Command, short_help="Write a commented ccml.toml.")
@click.argument("model", type=click.Path(), required=False)
@target_option()
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", default=CONFIG_FILE, show_default=True, help="The file."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
@logging_options
def command(model: str | None, target: str | None, output: str, force: bool, as_json: bool) -> None:
    """Write a commented ccml.toml with all options that a project may have.

    \b
    ccml new                                      every key, as a comment
    ccml new kws.onnx -t cortex-m4                with what is known of a model

    With MODEL its name and its symbolic dimensions are filled in. A file that is there is left alone, unless --force
    is given.
    """
    file = Path(output)
    if file.exists() and not force:
        raise CcmlError(ErrorCode.BAD_OPTION, "there is one already", loc=output, hint="--force replaces it")
    known: dict[str, str] = {}
    with progress():
        if target is not None:
            from ..driver import find_machine

            known["compile.target"] = json.dumps(find_machine(target).name)
        if model is not None:
            known |= _of_model(Path(model))
    try:
        file.write_text(config_text(known, model), encoding="utf-8", newline="\n")
    except OSError as problem:
        reason = f"cannot write: {problem.strerror or problem}"
        raise CcmlError(ErrorCode.OUTPUT_FOLDER, reason, loc=output) from problem
    if as_json:
        print_json({"written": output})
    elif not settings().quiet:
        print_facts([("written", output)])


def _of_model(path: Path) -> dict[str, str]:
    """The keys that are known of a model, with their values."""
    from ..driver import read_onnx
    from ..emit_c.model_name import model_name

    content = read_onnx(path)
    dims = {dim.dim_param for value in content.graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    known = {"model.name": json.dumps(model_name(path, None))}
    if dims:
        known["model.dims"] = f"{{ {', '.join(f'{_toml_key(name)} = 1' for name in sorted(dims))} }}"
    return known


def _toml_key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def config_text(known: Mapping[str, str], model: str | None = None) -> str:
    """The text of the file: ``known`` keys (``section.key``) have values, all others stand there as comments."""
    name = " ".join(printable(model).splitlines()) if model else "MODEL"
    example = f"Then:\n#\n#     ccml compile {name}"
    return _HEAD.format(file=CONFIG_FILE, example=example) + "".join(_sections(known))


def _sections(known: Mapping[str, str]) -> Iterator[str]:
    parameters = _parameters()
    for section, keys in SECTIONS.items():
        yield f"\n# {_ABOUT[section]}\n[{section}]\n" if section in _ABOUT else f"\n[{section}]\n"
        for name, key in keys.items():
            parameter, full = parameters.get(key.parameter), f"{section}.{name}"
            meaning = _HELP.get(full) or (parameter.help if isinstance(parameter, click.Option) else None)
            if meaning:
                yield "\n" + textwrap.fill(meaning, 100, initial_indent="# ", subsequent_indent="# ") + "\n"
            yield f"{name} = {known[full]}\n" if full in known else f"# {name} = {_example(full, key, parameter)}\n"
    yield '\n# [quantize.layers."ONNX node name"]     # for a layer of its own\n# precision = "float"\n'
    yield "\n# [models.NAME]     # one of the models that 'ccml link' makes one library of; each has a table\n"
    yield '# file = "kws.onnx"\n# dims = { batch = 1 }\n'


def _parameters() -> Mapping[str, click.Parameter]:
    """The options of the commands that the keys are for, by the name of their parameter."""
    from . import compile as compile_command
    from . import quantize

    both = (*quantize.command.params, *compile_command.command.params)
    return {parameter.name: parameter for parameter in both if parameter.name is not None}


def _example(full: str, key: Key, parameter: click.Parameter | None) -> str:
    """A value that the key may have: of the table, or the first choice of its option."""
    if full in _EXAMPLES:
        return _EXAMPLES[full]
    if parameter is not None and isinstance(parameter.type, click.Choice):
        return json.dumps(parameter.default if isinstance(parameter.default, str) else parameter.type.choices[0])
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return "true"
    return '["..."]' if key.repeated else '{ name = "..." }' if key.named else '"..."'
