"""``ccml.toml``: the options of a project, for all commands. What stands on the command line counts more.

    [model]
    name = "kws"
    dims = { batch = 1 }
    shapes = { input = [1, 49, 10, 1] }
    states = { h = "hn" }

    [compile]
    target = "cortex-m4"
    quantize = "int8"

    [quantize]
    calibration = "calibration.npz"        # paths are relative to the file
    range = "mse"

    [quantize.layers."conv1/BiasAdd"]
    precision = "float"

    [models.kws]                           # what 'ccml link' makes one library of
    file = "kws.onnx"
    dims = { batch = 1 }

A key is the long name of an option, its value what the option takes; what the option takes separated by commas may be
an array. Files become click's defaults (``Context.default_map``), so that options check and convert them as their own.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from ..errors import CcmlError, ErrorCode
from ..record import record
from .help import GeneralOption

F = TypeVar("F", bound=Callable[..., Any])

CONFIG_FILE = "ccml.toml"
_LAYERS = "layers"
_MODELS = "models"
_MODELS_META = "ccml.models"
MODEL_KEYS = ("file", "dims", "shapes", "states", "rows", "custom-ops", "custom-op-python")
"""Of ``[models.NAME]``: the models that ``ccml link`` makes one library of."""
_LAYERS_META = "ccml.layers"


@record
class Key:
    """The parameter that a key stands for. ``named`` keys are tables: ``batch = 1`` is ``--dim batch=1``.

    A ``path`` is relative to the folder of the file. ``command`` is the only command that the key is for, where others
    have a parameter of that name with another meaning. ``suffix`` stands behind each of the values.
    """

    parameter: str
    named: bool = False
    repeated: bool = False
    path: bool = False
    command: str | None = None
    suffix: str = ""


SECTIONS: Mapping[str, Mapping[str, Key]] = {
    "model": {
        "name": Key("name"),
        "dims": Key("dim", named=True),
        "shapes": Key("shape", named=True),
        "fix": Key("fix", named=True),
        "states": Key("state", named=True),
        "max": Key("bound", named=True),
        "lengths": Key("length", named=True),
        "absent": Key("absent", repeated=True),
        "rows": Key("inputs", repeated=True, suffix="=rows"),
        "custom-ops": Key("custom_op", named=True, path=True),
        "custom-op-python": Key("custom_op_python", named=True, path=True),
        "exact": Key("exact"),
        "precision": Key("precision"),
    },
    "compile": {
        "target": Key("target"),
        "abi": Key("abi"),
        "cpu": Key("cpu"),
        "emit": Key("emit"),
        "package": Key("packages"),
        "bindings": Key("bindings"),
        "output": Key("output", path=True, command="compile"),
        "quantize": Key("quantize"),
        "weights": Key("weights"),
        "slices": Key("slices"),
        "slice-cycles": Key("slice_cycles"),
        "place": Key("place", repeated=True),
        "optimize": Key("optimize"),
        "max-ram": Key("max_ram"),
        "board": Key("board"),
        "max-flash": Key("max_flash"),
        "max-stack": Key("max_stack"),
        "max-cycles": Key("max_cycles"),
        "max-time": Key("max_time"),
        "clock": Key("clock"),
        "pools": Key("pool", repeated=True),
        "threads": Key("threads"),
        "database": Key("database", path=True),
    },
    "quantize": {
        "calibration": Key("calibration", path=True),
        "test-data": Key("test_data", path=True),
        "range": Key("range_method"),
        "percentile": Key("percentile"),
        "activations": Key("activations"),
        "weight-bits": Key("weight_bits"),
        "weight-scales": Key("weight_scales"),
        "equalize": Key("equalize"),
        "bias-correction": Key("bias_correction"),
        "rounding": Key("rounding"),
        "io": Key("io"),
        "max-accuracy-drop": Key("max_accuracy_drop"),
        "min-sqnr": Key("min_sqnr"),
        "metric": Key("metric"),
        "mean": Key("mean"),
        "scale": Key("scale"),
    },
}


def config_option(function: F) -> F:
    """``--config``; read before all other options."""
    return click.option(
        "--config", cls=GeneralOption, type=click.Path(), metavar="FILE", is_eager=True, expose_value=False,
        callback=_apply,
        help=f"Options of the project.  [default: {CONFIG_FILE} in the current folder, where there is one]",
    )(function)  # fmt: skip


def layer_overrides() -> tuple[Path, Mapping[str, Mapping[str, object]]]:
    """The file that the running command read, and its ``[quantize.layers]``: ONNX node -> its keys."""
    return click.get_current_context().meta.get(_LAYERS_META, (Path(CONFIG_FILE), {}))


def linked_models() -> tuple[Path, Mapping[str, Mapping[str, object]]]:
    """The file that the running command read, and its ``[models.*]``: name -> keys."""
    return click.get_current_context().meta.get(_MODELS_META, (Path(CONFIG_FILE), {}))


def with_file_defaults(context: click.Context, parameter: click.Parameter, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The callback of a repeatable ``name=value`` option: names that only the file has are kept."""
    texts = (context.default_map or {}).get(parameter.name or "", ())
    merged = dict(parameter.type.convert(text, parameter, context) for text in texts)
    return tuple({**merged, **dict(given)}.items())


def with_file_values(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """The callback of a repeatable option whose values in the file hold beside those of the command line."""
    return tuple(dict.fromkeys((*given, *(context.default_map or {}).get(parameter.name or "", ()))))


def _apply(context: click.Context, _: click.Parameter, file: str | None) -> None:
    path = Path(file or CONFIG_FILE)
    if context.resilient_parsing or (file is None and not path.is_file()):
        return
    content = _read(path)
    _check_keys(path, "", content, (*SECTIONS, _MODELS))
    models = {name: _table(path, f"models.{name}", table) for name, table in
              _table(path, _MODELS, content.get(_MODELS, {})).items()}  # fmt: skip
    for name, table in models.items():
        _check_keys(path, f"models.{name}", table, MODEL_KEYS)
    context.meta[_MODELS_META] = path, models
    defaults: dict[str, Any] = {}
    for section, keys in SECTIONS.items():
        table = _table(path, section, content.get(section, {}))
        _check_keys(path, section, table, [*keys, _LAYERS] if section == "quantize" else keys)
        for name, value in table.items():
            key = keys.get(name)
            if key is not None and key.command in (None, context.info_name):
                defaults[key.parameter] = _converted(context, path, f"{section}.{name}", key, value)
    context.default_map = defaults
    layers = _table(path, f"quantize.{_LAYERS}", content.get("quantize", {}).get(_LAYERS, {}))
    tables = {name: _table(path, f'quantize.{_LAYERS}."{name}"', table) for name, table in layers.items()}
    context.meta[_LAYERS_META] = path, tables


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as problem:
        raise _bad(path, f"cannot read the file: {problem.strerror or problem}") from problem
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise _bad(path, f"not TOML: {problem}", "text values stand in quotes") from problem


def _check_keys(path: Path, section: str, table: Mapping[str, object], known: Collection[str]) -> None:
    for key in table:
        if key not in known:
            name = f"{section}.{key}" if section else key
            close = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known)}"
            raise _bad(path, f"unknown key '{name}'", hint)


def _table(path: Path, name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _bad(path, f"'{name}' is not a table", f"[{name}] begins one")
    return value


def _converted(context: click.Context, path: Path, name: str, key: Key, value: object) -> object:
    """``value`` as click takes defaults, tried with the option's own type where the command has that option."""
    result: object
    if key.named:
        texts = {item: _text(path, name, inner) for item, inner in _table(path, name, value).items()}
        result = [f"{item}={located(path, text) if key.path else text}" for item, text in texts.items()]
    elif key.repeated:
        result = [_text(path, name, inner) + key.suffix for inner in (value if isinstance(value, list) else [value])]
    elif isinstance(value, bool):
        result = value
    else:
        text = _text(path, name, value)
        result = located(path, text) if key.path else text
    parameter = next((p for p in context.command.params if p.name == key.parameter), None)
    if parameter is not None:
        try:
            parameter.type_cast_value(context, result)
        except click.BadParameter as problem:
            raise _bad(path, f"{name}: {problem.message}") from problem
    return result


def located(path: Path, text: str) -> str:
    """A file relative to the folder of ``path``; ``package.module:function`` is none."""
    module, colon, _ = text.rpartition(":")
    return text if colon and not module.endswith(".py") else str(path.parent / text)


def _text(path: Path, name: str, value: object) -> str:
    """A value as it would stand on the command line."""
    if isinstance(value, list) and not any(isinstance(part, (dict, list)) for part in value):
        return ",".join(map(str, value))
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    raise _bad(path, f"'{name}' has a value of a kind that it cannot have", "a text, a number or an array of these")


def _bad(path: Path, reason: str, hint: str | None = None) -> CcmlError:
    return CcmlError(ErrorCode.BAD_OPTION, reason, loc=str(path), hint=hint)
