"""Audio features in front of a model that takes several frames of them."""

from __future__ import annotations

from dataclasses import replace

import onnx

from ..errors import CcmlError, ErrorCode
from .audio import AudioFeatures
from .fixed_graph import fixed_features
from .float_graph import float_features
from .graph import FeatureGraph, Tensor
from .into import ModelInput, into_model, model_input

HISTORY, NEXT_HISTORY = "feature_history", "feature_history_next"


def audio_into_model(
    audio: AudioFeatures, model: onnx.ModelProto, name: str | None = None
) -> tuple[onnx.ModelProto, AudioFeatures, FeatureGraph]:
    """``model`` that takes PCM instead of features; what the features became, and their graph.

    The number of frames is what the model's input holds; a clip has as many samples as they need unless
    ``audio.samples`` says so. With ``streaming`` a run makes the features of one frame, and those of the frames before
    are a state.
    """
    target = model_input(model, name)
    frames, rest = divmod(target.size, audio.columns)
    if rest or not frames:
        reason = f"{target} holds no frames of {audio.columns} features"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, loc="--into", hint="--coefficients or --mels give other numbers")
    if not audio.streaming and audio.samples is None:
        audio = replace(audio, samples=audio.clip_of(frames))
    if not audio.streaming and audio.count != frames:
        reason = f"{audio.clip} samples are {audio.count} frames, and the model takes {frames}"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, loc="--clip", hint=f"{audio.clip_of(frames)} are as many")
    if audio.fixed_point and audio.kind == "spectrogram":
        reason = "a spectrogram in fixed point has an exponent for each frame, which models do not take"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, loc="--fixed-point")
    graph = fixed_features(audio) if audio.fixed_point else float_features(audio)
    made = graph.outputs.pop(0)
    value = made.name
    if audio.streaming and frames > 1:
        value = _remembered(graph, made, frames)
    if _columns_first(target, frames, audio.columns):
        value = graph.writer.transpose(value, 1, 0)
    return into_model(graph, value, model, target), audio, graph


def _remembered(graph: FeatureGraph, made: Tensor, frames: int) -> str:
    """The features of the frames before, and the new ones."""
    writer, shape = graph.writer, (frames - 1, made.shape[1])
    writer.stage = "history"
    graph.inputs.append(Tensor(HISTORY, made.dtype, shape, "the features of the last runs"))
    joined = writer.emit("Concat", HISTORY, made.name, axis=0)
    writer.renamed(writer.slice(joined, 0, 1, frames), NEXT_HISTORY)
    graph.outputs.append(Tensor(NEXT_HISTORY, made.dtype, shape, "the features for the next run"))
    graph.states.append((HISTORY, NEXT_HISTORY))
    return joined


def _columns_first(target: ModelInput, frames: int, columns: int) -> bool:
    """Whether the model has a row for each feature instead of one for each frame."""
    wide = [extent for extent in target.shape if extent > 1]
    return frames != columns and wide == [columns, frames]
