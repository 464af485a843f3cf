"""The C runtime: header-only, one file a function group. Artifacts get the groups that their kernels need."""
