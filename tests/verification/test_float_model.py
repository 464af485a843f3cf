"""The float model with its inner values to be seen."""

import numpy as np
import pytest
from ccml.verification import float_model
from ccml.verification.float_model import FloatModel

from tests.quantize.networks import Network


def test_more_values_are_seen_than_a_function_takes_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float_model, "_MOST_RESULTS", 8)
    net = Network((4,))
    values = [net.x]
    for _ in range(20):
        values.append(net.op("neg", values[-1]))
    found = FloatModel(net.graph(values[-1]), [value.name for value in values]).run({"x": np.ones(4, np.float32)})
    assert [float(found[value.name][0]) for value in values] == [(-1.0) ** n for n in range(21)]
