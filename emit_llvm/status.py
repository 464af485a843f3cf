"""What functions of an artifact return, as its header has it; 0 is that all went well."""

NULL_POINTER = 1
MISALIGNED_POOL = 2
LACKING_CPU = 3
EXTENT_OUT_OF_RANGE = 4
OTHER_MODEL = 5
DAMAGED_WEIGHTS = 6
