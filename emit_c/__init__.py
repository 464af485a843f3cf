"""Loop IR to C99 through pycparser's trees."""
