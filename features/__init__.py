"""Features of audio and images as ONNX graphs, which compile as any model does."""

from .audio import CONVENTIONS, KINDS, AudioFeatures
from .audio_into import audio_into_model
from .fixed_graph import fixed_features
from .float_graph import float_features
from .graph import FeatureGraph
from .image import CROPS, FORMATS, ImageFeatures, image_features
from .image_into import image_into_model

__all__ = [
    "CONVENTIONS", "CROPS", "FORMATS", "KINDS", "AudioFeatures", "FeatureGraph", "ImageFeatures", "audio_features",
    "audio_into_model", "fixed_features", "float_features", "image_features", "image_into_model",
]  # fmt: skip


def audio_features(audio: AudioFeatures) -> FeatureGraph:
    """The graph of ``audio``, in floats or integers as it says."""
    return fixed_features(audio) if audio.fixed_point else float_features(audio)
