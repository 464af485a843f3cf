"""Shifts around multiplications with fixed-point factors, on which who chooses scales and who generates code agree:
block instructions of cores with long multiplications, and layers whose channels have one shift in common."""

PRE_SHIFT = 8
"""Before the multiplication: sums are multiples of 2^8."""
USUAL_SHIFT = 12
"""The shift behind a multiplication that most layers can have; it has a row of its own, in which it is constant."""
