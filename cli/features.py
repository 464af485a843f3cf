"""``ccml features``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from ..errors import CcmlError, ErrorCode
from ..output_files import check_output_file
from .help import AudioOption, Command, ImageOption
from .options import json_option
from .output import print_facts, print_json, shape_text
from .parameter_types import Duration, Number
from .progress import progress
from .quantize_options import pixel_options
from .verbosity import logging_options, settings

if TYPE_CHECKING:
    import onnx

    from ..features import AudioFeatures, FeatureGraph

_AUDIO = ("mfcc", "log-mel", "spectrogram")
_KINDS = (*_AUDIO, "image")


class Size(click.ParamType):
    """``320x240``, width by height."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        width, times, height = str(value).lower().partition("x")
        if not times or not (width.isdecimal() and height.isdecimal()) or len(value) > 11:
            self.fail(f"'{value}' is no size such as 320x240", param, ctx)
        return int(width), int(height)


class Samples(click.ParamType):
    """A time, ``30ms``, or a number of samples, ``480``."""

    name = "samples"
    _time: ClassVar[Duration] = Duration()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | int:
        """Seconds as ``float``, samples as ``int``."""
        if isinstance(value, (int, float)):
            return value
        return int(value) if str(value).isdecimal() and len(value) < 10 else self._time.convert(value, param, ctx)


_audio = partial(click.option, cls=AudioOption)
_image = partial(click.option, cls=ImageOption)


@click.command("features", cls=Command, short_help="Make a graph from PCM or pixels to features.")
@click.argument("kind", type=click.Choice(_KINDS), metavar="KIND")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="The model.  [default: KIND.onnx]")
@click.option(
    "--into", type=click.Path(), metavar="MODEL",
    help="A model that takes the features: the result takes PCM or pixels and gives what the model gives.",
)  # fmt: skip
@click.option("--model-input", metavar="NAME", help="The input of MODEL, where it has several.")
@_audio("--rate", type=click.IntRange(1000, 400_000), metavar="HERTZ", help="Samples a second.  [default: 16000]")
@_audio("--frame", type=Samples(), metavar="TIME", help="The window, 30ms or a number of samples.  [default: 30ms]")
@_audio("--hop", type=Samples(), metavar="TIME", help="From one frame to the next.  [default: 20ms]")
@_audio(
    "--fft", type=click.IntRange(2, 1 << 16), metavar="N",
    help="Length of the transform.  [default: the power of two that holds a frame]",
)  # fmt: skip
@_audio("--mels", type=click.IntRange(1, 512), metavar="N", help="Mel filters.  [default: 40]")
@_audio(
    "--coefficients", type=click.IntRange(1, 512), metavar="N", help="What mfcc keeps of them.  [default: 10]"
)
@_audio("--window", type=click.Choice(["hann", "hamming", "rectangular"]), help="[default: hann]")
@_audio("--lower", type=Number(0), metavar="HERTZ", help="Where filters begin.  [default: 20]")
@_audio("--upper", type=Number(1), metavar="HERTZ", help="Where filters end.  [default: half of --rate]")
@_audio(
    "--convention", type=click.Choice(["tensorflow", "librosa"]),
    help="Whose mel scale, filters, logarithm and cosine transform.  [default: tensorflow]",
)  # fmt: skip
@_audio(
    "--power", type=click.Choice(["1", "2"]),
    help="Of magnitudes.  [default: 1 for tensorflow, 2 for librosa]",
)  # fmt: skip
@_audio("--clip", "samples", type=Samples(), metavar="TIME", help="A whole clip.  [default: 1s, or what MODEL needs]")
@_audio("--streaming", is_flag=True, help="A run takes a hop of new samples; states keep the rest.")
@_audio("--fixed-point", is_flag=True, help="In integers, with the same bits on every target.")
@_image("--size", type=Size(), metavar="WxH", help="The camera's picture: width by height.")
@_image("--resize", type=Size(), metavar="WxH", help="The result.  [default: what MODEL takes, or --size]")
@_image(
    "--from", "source", type=click.Choice(["rgb888", "bgr888", "rgb565", "yuyv", "gray"]),
    help="How pixels lie in memory.  [default: rgb888]",
)  # fmt: skip
@_image("--colours", type=click.Choice(["rgb", "bgr", "gray"]), help="[default: rgb, or what MODEL takes]")
@_image(
    "--crop", type=click.Choice(["center", "none"]),
    help="The part in the middle that has the result's proportions, or all of it.  [default: center]",
)  # fmt: skip
@_image("--layout", type=click.Choice(["nhwc", "nchw"]), help="Order of dimensions.  [default: nhwc]")
@_image("--bytes", "as_bytes", is_flag=True, help="The result is uint8.")
@pixel_options(ImageOption)
@json_option
@logging_options
@click.pass_context
def command(
    context: click.Context, kind: str, output: str | None, into: str | None, model_input: str | None, as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Make an ONNX graph of features, which compiles as any model does.

    \b
    ccml features mfcc --rate 16000 --upper 4000 --fixed-point
    ccml features mfcc --streaming --into kws.onnx -o ears.onnx
    ccml features image --size 320x240 --from yuyv --into vww.onnx -o eyes.onnx

    KIND is mfcc, log-mel or spectrogram, of 16-bit PCM, or image, of a camera's pixels. The graph has operators of ONNX
    alone, so that other runtimes compute it too.
    """
    from ..driver import read_onnx

    _check_options(context, kind)
    file = Path(output if output is not None else f"{kind}.onnx")
    check_output_file(file, ".onnx")
    given = {name: value for name, value in options.items() if value not in (None, False)}
    with progress():
        model = None if into is None else read_onnx(into)
        make = _image_model if kind == "image" else partial(_audio_model, kind)
        whole, graph = make(given, model, model_input)
        _save(whole, file)
    if as_json:
        print_json({"written": str(file), **_described(whole, graph)})
    elif not settings().quiet:
        print_facts(_facts(whole, graph, file))


def _check_options(context: click.Context, kind: str) -> None:
    """Raises ``BAD_OPTION`` for options of audio where the features are an image, and the other way round."""
    foreign = AudioOption if kind == "image" else ImageOption
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if isinstance(parameter, foreign) and value not in (None, False):
            reason = f"{kind} has no such option"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=parameter.opts[-1])


def _audio_model(
    kind: str, given: dict[str, Any], model: onnx.ModelProto | None, name: str | None
) -> tuple[onnx.ModelProto, FeatureGraph]:
    from ..features import audio_features, audio_into_model

    audio = _audio_options(kind, given)
    if model is None:
        graph = audio_features(audio)
        return graph.model(), graph
    whole, _, graph = audio_into_model(audio, model, name)
    return whole, graph


def _audio_options(kind: str, given: dict[str, Any]) -> AudioFeatures:
    from ..features import AudioFeatures

    rate = given.get("rate", 16000)
    times = {"frame": 0.030, "hop": 0.020} | {n: given[n] for n in ("frame", "hop", "samples") if n in given}
    counts = {n: value if isinstance(value, int) else round(value * rate) for n, value in times.items()}
    power = {"power": int(given["power"])} if "power" in given else {}
    coefficients = {} if "coefficients" in given or "mels" not in given else {"coefficients": min(10, given["mels"])}
    return AudioFeatures(kind, **{**given, **coefficients, **counts, **power})


def _image_model(
    given: dict[str, Any], model: onnx.ModelProto | None, name: str | None
) -> tuple[onnx.ModelProto, FeatureGraph]:
    from ..features import ImageFeatures, image_features, image_into_model

    if "size" not in given:
        raise click.UsageError("image needs the camera's --size, such as --size 320x240")
    if model is None:
        graph = image_features(ImageFeatures(**given))
        return graph.model(), graph
    for option in ("resize", "layout", "as_bytes"):
        if option in given:
            reason = "the model that the pixels go to tells it"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=f"--{option.removeprefix('as_')}")
    whole, _, graph = image_into_model(ImageFeatures(**given), model, name)
    return whole, graph


def _save(model: onnx.ModelProto, file: Path) -> None:
    import onnx

    try:
        onnx.save(model, str(file))
    except OSError as problem:
        reason = f"cannot write: {problem.strerror or problem}"
        raise CcmlError(ErrorCode.OUTPUT_FOLDER, reason, loc=str(file)) from problem
    except ValueError as problem:  # beyond what a file of ONNX without external data holds
        reason = "a model of more than 2 GB is no single file"
        raise CcmlError(ErrorCode.OUTPUT_FOLDER, reason, loc=str(file)) from problem


def _tensors(values: Any) -> list[dict[str, Any]]:
    from onnx import helper

    return [
        {
            "name": value.name,
            "dtype": str(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)),
            "shape": [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim],
            **({"note": value.doc_string} if value.doc_string else {}),
        }
        for value in values
    ]


def _described(model: onnx.ModelProto, graph: FeatureGraph) -> dict[str, Any]:
    return {
        "inputs": _tensors(model.graph.input), "outputs": _tensors(model.graph.output), "scale": graph.scale,
        "states": [{"input": old, "output": new} for old, new in graph.states],
    }  # fmt: skip


def _facts(model: onnx.ModelProto, graph: FeatureGraph, file: Path) -> list[tuple[str, object]]:
    states = {name for pair in graph.states for name in pair}
    facts: list[tuple[str, object]] = [("written", file)]
    for title, values in (("input", model.graph.input), ("output", model.graph.output)):
        for tensor in _tensors(values):
            if tensor["name"] not in states:
                note = f", {tensor['note']}" if "note" in tensor else ""
                facts.append((title, f"{tensor['name']}: {tensor['dtype']} {shape_text(tensor['shape'])}{note}"))
    if graph.states:
        words = " ".join(f"--state {old}={new}" for old, new in graph.states)
        facts.append(("compile with", words))
    return facts
