"""Frames of PCM: pieces of a clip, or what a state kept of the samples before and the new ones."""

from __future__ import annotations

import numpy as np

from .audio import AudioFeatures
from .graph import FeatureGraph, FeatureWriter, Tensor

PCM, WINDOW, NEXT_WINDOW = "pcm", "pcm_window", "pcm_window_next"
_MOST_PIECES = 64


def framed(audio: AudioFeatures) -> tuple[FeatureGraph, str]:
    """A graph without outputs, and the frames in it, int16 [count, frame]."""
    writer = FeatureWriter()
    writer.stage = "frames"
    graph = FeatureGraph(writer, [Tensor(PCM, np.int16, (audio.clip,), "16-bit samples")], [])
    if audio.streaming:
        return graph, _next_frame(audio, graph)
    signal = PCM
    if audio.centered:
        # Where in the transform a frame lies does not matter to magnitudes.
        before = audio.length // 2 - (audio.length - audio.frame) // 2
        used = (audio.count - 1) * audio.hop + audio.frame
        after = used - before - audio.clip
        signal = writer.cast(signal, np.int32)
        signal = writer.emit("Pad", signal, writer.integers(before, max(after, 0)))
        signal = writer.cast(signal, np.int16)
    return graph, _pieces(audio, writer, signal)


def _next_frame(audio: AudioFeatures, graph: FeatureGraph) -> str:
    """The samples that are kept, and the new ones."""
    kept, writer = audio.frame - audio.hop, graph.writer
    if not kept:
        return writer.reshape(PCM, 1, audio.frame)
    graph.inputs.append(Tensor(WINDOW, np.int16, (kept,), "the last samples of the run before"))
    frame = writer.emit("Concat", WINDOW, PCM, axis=0)
    writer.renamed(writer.slice(frame, 0, audio.hop, audio.frame), NEXT_WINDOW)
    graph.outputs.append(Tensor(NEXT_WINDOW, np.int16, (kept,), "the last samples, for the next run"))
    graph.states.append((WINDOW, NEXT_WINDOW))
    return writer.reshape(frame, 1, audio.frame)


def _pieces(audio: AudioFeatures, writer: FeatureWriter, signal: str) -> str:
    """Frames overlap in pieces: every piece of a frame is a strided slice of all pieces. Frames and hops with a small
    common divisor are gathered."""
    piece, count = audio.pieces, audio.count
    width, stride = audio.frame // piece, audio.hop // piece
    if width > _MOST_PIECES:
        places = np.arange(count)[:, None] * audio.hop + np.arange(audio.frame)
        return writer.emit("Gather", signal, writer.constant(places.astype(np.int32)), axis=0)
    used = ((count - 1) * stride + width) * piece
    rows = writer.reshape(writer.slice(signal, 0, 0, used), used // piece, piece)
    columns = [
        writer.emit(
            "Slice", rows, writer.integers(q), writer.integers(q + (count - 1) * stride + 1), writer.integers(0),
            writer.integers(stride),
        )
        for q in range(width)
    ]  # fmt: skip
    return columns[0] if width == 1 else writer.emit("Concat", *columns, axis=1)
