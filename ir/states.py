"""Tensors that the caller keeps from one run to the next: recurrent states, caches.

An input and an output of the model, of one type, become one tensor in memory of the caller's. A run finds there what
the run before left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..record import record
from .types import TensorType


@record
class State:
    """The input that a run reads and the output that becomes its value for the next run, by their names.

    ``initial`` is every element of the first value, but for tensors whose type says what stands for zero.
    """

    input: str
    output: str
    initial: int = 0

    def __str__(self) -> str:
        return f"{self.input}={self.output}"


def can_be_state(type_: TensorType) -> bool:
    """Whether one number stands for zero in all of a tensor: quantized per axis it may not."""
    return type_.quant is None or len(set(type_.quant.zero_point)) == 1


def initial_element(state: State, type_: TensorType) -> int:
    """Every element of a state of that type after a reset: zero, or the integer that stands for it."""
    return state.initial if type_.quant is None else type_.quant.zero_point[0]


def initial_value(state: State, type_: TensorType) -> np.ndarray:
    """What a state of that type holds after a reset."""
    return np.full(type_.shape, initial_element(state, type_)).astype(type_.dtype.numpy)


class Feedback:
    """The states of a sequence of runs, for what computes a model without keeping any: they are put among the inputs,
    and taken from the outputs."""

    def __init__(self, states: Sequence[State], types: Mapping[str, TensorType]) -> None:
        """``types`` are those of the inputs, at the extents that a sequence begins with; it does with the initial
        values."""
        self.states = states
        self.values = {state.input: initial_value(state, types[state.input]) for state in states}

    def with_states(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The inputs of the next run. Arrays for states among ``inputs`` are not looked at."""
        return {**inputs, **self.values}

    def take(self, outputs: Mapping[str, np.ndarray]) -> None:
        """Remembers what a run put out."""
        self.values = {state.input: np.array(outputs[state.output]) for state in self.states}
