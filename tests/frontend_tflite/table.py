"""All cases."""

from tests.frontend_tflite import cases_contraction, cases_layers, cases_movement, cases_pointwise, cases_states

CASES = [
    *cases_contraction.CASES, *cases_layers.CASES, *cases_movement.CASES, *cases_pointwise.CASES, *cases_states.CASES
]  # fmt: skip
