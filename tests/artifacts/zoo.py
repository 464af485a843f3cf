"""The models of the model set: how each is read, its data, and how close an artifact has to come."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path

from ccml.driver import ModelOptions

from tests.models import models_dir


@dataclass(frozen=True, eq=False)
class Model:
    """``bound`` is on the relative L2 error, over all samples of the ``.npz`` called ``data``, of each output."""

    name: str
    file: str
    data: str
    bound: float = 1e-5
    options: ModelOptions = field(default_factory=ModelOptions)

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> Path:
        return models_dir() / f"{self.file}.onnx"

    @property
    def data_path(self) -> Path:
        return models_dir() / f"{self.data}.npz"

    def key(self) -> str:
        """A name for what is made of the model, with what it is made from."""
        content = hashlib.sha256(self.path.read_bytes() + repr(self.options).encode())
        return f"{self.name}-{content.hexdigest()[:8]}"


def _mlperf(name: str, file: str, bound: float = 1e-5) -> Model:
    return Model(name, f"mlperf_tiny_{file}", f"mlperf_tiny_{file}_calib", bound, ModelOptions(name=name))


KWS = _mlperf("kws", "kws_dscnn")
IC = _mlperf("ic", "ic_resnet8")
VWW = _mlperf("vww", "vww_mobilenetv1_025")
AD = _mlperf("ad", "ad_autoencoder", 1e-4)
WAKEWORD = _mlperf("wakeword", "streaming_wakeword")
DIGITS = Model("digits", "digits_cnn", "digits_test", options=ModelOptions(dims={"N": 1}, name="digits"))
TRANSFORMER = Model(
    "transformer", "transformer_2l_d64", "transformer_2l_d64_calib", options=ModelOptions(name="transformer")
)
SILERO = Model(
    "silero",
    "silero_vad_16k_op15",
    "silero_vad_16k_op15_io",
    options=ModelOptions(shapes={"input": (1, 576), "state": (2, 1, 128)}, name="silero"),
)
CLASSIC = (KWS, IC, VWW, AD)
"""The models of MLPerf Tiny up to version 1.2."""

FLOAT = (*CLASSIC, WAKEWORD, DIGITS, TRANSFORMER, SILERO)

INT8 = tuple(
    replace(
        model,
        name=f"{model.name}8",
        file=f"{model.file}_qdq_int8",
        options=replace(model.options, name=f"{model.name}8"),
    )
    for model in (KWS, IC, WAKEWORD, DIGITS)
)
"""The same, quantized by ONNX Runtime."""
