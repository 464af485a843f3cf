"""Networks quantized by ONNX Runtime, to be timed in 8 bits.

    python benchmarks/quantized_networks.py FOLDER NETWORK.onnx ...

QDQ models with unsigned activations and signed weights by channel: the form that ONNX Runtime and OpenVINO are fastest
with on x86. Calibrated with a few random inputs, since the weights of the networks are random as well.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

SAMPLES = 3


class _Random(CalibrationDataReader):
    """Normally distributed inputs with a 1 for every open dimension."""

    def __init__(self, model: Path) -> None:
        session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        shapes = {i.name: [d if isinstance(d, int) else 1 for d in i.shape] for i in session.get_inputs()}
        rng = np.random.default_rng(0)
        self.samples: Iterator[dict[str, np.ndarray]] = iter(
            [{name: rng.standard_normal(s).astype(np.float32) for name, s in shapes.items()} for _ in range(SAMPLES)]
        )

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.samples, None)


def quantize(model: Path, written: Path) -> None:
    """Writes ``model``, whose inputs are float32, in 8 bits."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / model.name
        quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            str(prepared), str(written), _Random(prepared), quant_format=QuantFormat.QDQ, per_channel=True,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="+", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for model in arguments.models:
        quantize(model, arguments.folder / f"{model.stem}_u8.onnx")


if __name__ == "__main__":
    main()
