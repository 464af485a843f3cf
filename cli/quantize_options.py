"""The options of quantization, for all commands that can quantize."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from ..errors import CcmlError
from .config import layer_overrides
from .help import QuantizationOption, SubjectOption
from .parameter_types import Number

if TYPE_CHECKING:
    from ..quantization.images import ImageOptions
    from ..quantization.options import LayerOptions, RangeMethod
    from ..quantization.source import Quantization

F = TypeVar("F", bound=Callable[..., Any])

RANGE_METHODS = ("auto", "min-max", "moving-average", "percentile", "entropy", "mse")
ACTIVATIONS = ("int8", "uint8", "symmetric", "int16")


class Numbers(click.ParamType):
    """Numbers, separated by commas: one for all channels of an image, or one each."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(part) for part in str(value).split(","))
        except ValueError:
            numbers = (math.nan,)
        if not all(map(math.isfinite, numbers)):
            self.fail(f"'{value}' is not a list of numbers such as 0.485,0.456,0.406", param, ctx)
        return numbers


_option = partial(click.option, cls=QuantizationOption)

_OPTIONS = (
    _option(
        "--calibration", type=click.Path(), metavar="DATA",
        help="Typical inputs: an .npz with an array for each input, an .npy, a folder of .npy or of images (--mean).",
    ),
    _option(
        "--test-data", type=click.Path(), metavar="DATA",
        help="Measure the accuracy on these.  [default: every fifth sample of the calibration data, held out]",
    ),
    _option(
        "--range", "range_method", type=click.Choice(RANGE_METHODS),
        help="How ranges of activations are found.  [default: auto]",
    ),
    _option(
        "--percentile", type=Number(50, 100), metavar="PERCENT",
        help="For --range percentile.  [default: 99.99]",
    ),
    _option(
        "--activations", type=click.Choice(ACTIVATIONS),
        help="How activations are stored; symmetric: int8, zero point 0.  [default: int8]",
    ),
    _option(
        "--weight-bits", type=click.Choice(["8", "4"]),
        help="Bits of weights; 4: but for output channels that lose much by it.  [default: 8]",
    ),
    _option(
        "--weight-scales", type=click.Choice(["per-channel", "per-tensor"]),
        help="Scales of weights.  [default: per-channel]",
    ),
    _option(
        "--equalize/--no-equalize", default=None,
        help="Even out the ranges of channels across layers.  [default: on]",
    ),
    _option(
        "--bias-correction/--no-bias-correction", default=None,
        help="Correct what rounding shifts on average.  [default: on]",
    ),
    _option(
        "--rounding", type=click.Choice(["nearest", "adaptive"]),
        help="How weights are rounded.  [default: adaptive]",
    ),
    _option(
        "--io", type=click.Choice(["int8", "float"]), help="Type of the model's inputs and outputs.  [default: float]"
    ),
    _option(
        "--max-accuracy-drop", type=Number(min=0), metavar="DROP",
        help="Keep layers in higher precision until top-1 agreement (or the metric) drops by at most this, as 0.01.",
    ),
    _option(
        "--min-sqnr", type=Number(), metavar="DB",
        help="Keep layers in higher precision until the outputs have this SQNR.",
    ),
    _option(
        "--metric", metavar="MODULE:FUNCTION",
        help="function(outputs, data) -> float, larger is better; both arguments are arrays by name.",
    ),
)  # fmt: skip


def pixel_options(cls: type[SubjectOption]) -> Callable[[F], F]:
    """``--mean`` and ``--scale``, under the subject of ``cls``."""
    mean = click.option(
        "--mean", cls=cls, type=Numbers(), metavar="NUMBERS",
        help="Images: the model gets (pixel - mean) / scale of pixels 0..255; by channel, or one.  [default: 0]",
    )  # fmt: skip
    scale = click.option(
        "--scale", cls=cls, type=Numbers(), metavar="NUMBERS", help="Images: see --mean.  [default: 1]"
    )
    return lambda function: mean(scale(function))


def quantization_options(function: F) -> F:
    """All of them, as one argument ``quantization``: a :class:`Quantization`, or ``None`` where nothing is wanted.

    The command has one of the options :data:`quantize_option` and :data:`mode_option`.
    """

    @wraps(function)
    def command(*args: Any, quantize: str, **values: Any) -> Any:
        given = {name: values.pop(name) for name in _NAMES}
        _refuse_given(quantize)
        if quantize == "none" and given["io"] == "int8" and not _is_said("quantize", but_not="io"):
            values["options"] = replace(values["options"], integer_io=True)
        return function(*args, quantization=None if quantize == "none" else _quantization(quantize, given), **values)

    command = pixel_options(QuantizationOption)(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command  # type: ignore[return-value]


MODES = ("int8", "weights8", "weights4")
_MEANING = "weights8, weights4: the weights of matrix products alone."
quantize_option = _option(
    "--quantize", type=click.Choice(["none", *MODES]), default="none", show_default=True,
    help=f"Quantize the float model first; int8 needs --calibration. {_MEANING}",
)  # fmt: skip
mode_option = _option(
    "--to", "quantize", type=click.Choice(MODES), default="int8", show_default=True, help=f"What to store. {_MEANING}"
)

_NAMES = (
    "calibration", "test_data", "range_method", "percentile", "activations", "weight_bits", "weight_scales",
    "equalize",
    "bias_correction", "rounding", "io", "max_accuracy_drop", "min_sqnr", "metric", "mean", "scale",
)  # fmt: skip


_OF_QUANTIZED = ("io",)
"""Options that models take which come quantized."""
_OF_WEIGHTS = ("calibration", "test_data", "rounding", "metric", "mean", "scale")


def _is_said(name: str, but_not: str) -> bool:
    """Whether the command line has the one option, and not the other one."""
    source = click.get_current_context().get_parameter_source
    return source(name) is ParameterSource.COMMANDLINE and source(but_not) is not ParameterSource.COMMANDLINE


def _refuse_given(quantize: str) -> None:
    """Raises a usage error where the command line has options of a quantization that does not take place."""
    context = click.get_current_context()
    allowed = {"none": _OF_QUANTIZED, "int8": _NAMES}.get(quantize, _OF_WEIGHTS)
    for option in context.command.params:
        given = option.name in _NAMES and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        if given and option.name not in allowed:
            name = option.opts[0]
            if quantize == "none":
                raise click.UsageError(f"{name} is for quantization: add --quantize int8.")
            raise click.UsageError(f"{name} is for int8; {quantize} leaves activations as they are.")
    on_command_line = context.get_parameter_source("percentile") is ParameterSource.COMMANDLINE
    if on_command_line and context.params.get("range_method") != "percentile":
        raise click.UsageError("--percentile belongs to --range percentile.")


def _quantization(quantize: str, given: Mapping[str, Any]) -> Quantization:
    """The request. Raises a usage error without calibration data."""
    from ..quantization.options import Mode
    from ..quantization.source import Quantization, QuantizeOptions

    if given["calibration"] is None and Mode(quantize) is Mode.INT8:
        raise click.UsageError("Quantization needs --calibration DATA: typical inputs of the model.")
    options = {field: convert(given[name]) for name, (field, convert) in _FIELDS.items() if given[name] is not None}
    return Quantization(
        given["calibration"], QuantizeOptions(Mode(quantize), **options, layers=_layers()), given["test_data"],
        given["metric"], _images(given["mean"], given["scale"]),
    )  # fmt: skip


def _images(mean: tuple[float, ...] | None, scale: tuple[float, ...] | None) -> ImageOptions:
    from ..quantization.images import ImageOptions

    return ImageOptions(mean or (0.0,), scale or (1.0,))


def _range_method(name: str) -> RangeMethod:
    from ..quantization.options import RangeMethod

    return RangeMethod(name)


_FIELDS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "range_method": ("range_method", _range_method),
    "percentile": ("percentile", float),
    "activations": ("activations", str),
    "weight_bits": ("weight_bits", int),
    "weight_scales": ("per_channel", "per-channel".__eq__),
    "equalize": ("equalize", bool),
    "bias_correction": ("bias_correction", bool),
    "rounding": ("adaptive_rounding", "adaptive".__eq__),
    "io": ("integer_io", "int8".__eq__),
    "min_sqnr": ("min_sqnr", float),
    "max_accuracy_drop": ("max_accuracy_drop", float),
}
"""Of each option the field of :class:`QuantizeOptions` that it sets, and how."""


def _layers() -> dict[str, LayerOptions]:
    """The overrides of ccml.toml. Raises ``BAD_OPTION`` that names the file, the layer and the key."""
    from ..quantization.options import LayerOptions

    file, tables = layer_overrides()
    try:
        return {name: LayerOptions.from_table(name, table) for name, table in tables.items()}
    except CcmlError as problem:
        raise CcmlError(problem.kind, problem.reason, loc=f"{file}: {problem.loc}", hint=problem.hint) from None
