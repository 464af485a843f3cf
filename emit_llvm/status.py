"""What functions of an artifact return, as its header has it; 0 is that all went well, and :data:`AGAIN` that a run in
slices is not over."""

NULL_POINTER = 1
MISALIGNED_POOL = 2
LACKING_CPU = 3
EXTENT_OUT_OF_RANGE = 4
OTHER_MODEL = 5
DAMAGED_WEIGHTS = 6
WRONG_SEQUENCE = 7
NO_THREADS = 8
FAILED_ROWS = 9
AGAIN = -1
