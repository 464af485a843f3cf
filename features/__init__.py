"""Features of audio and images as ONNX graphs, which compile as any model does."""

from .audio import CONVENTIONS, KINDS, AudioFeatures
from .fixed_graph import fixed_features
from .float_graph import float_features
from .graph import FeatureGraph

__all__ = [
    "CONVENTIONS", "KINDS", "AudioFeatures", "FeatureGraph", "audio_features", "fixed_features", "float_features",
]  # fmt: skip


def audio_features(audio: AudioFeatures) -> FeatureGraph:
    """The graph of ``audio``, in floats or integers as it says."""
    return fixed_features(audio) if audio.fixed_point else float_features(audio)
