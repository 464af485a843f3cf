"""What C and machine code know of threads alike: how large what the caller keeps of them is."""

MOST_THREADS = 64
"""Threads that a model's library starts at most, the caller's among them."""
CACHE_LINE = 64
"""Bytes that no two threads should write to."""
HIDDEN_WORDS = 8 * (6 + MOST_THREADS // 8 + MOST_THREADS)
"""Words of 8 bytes of ``ccml_workers`` behind what is public: counters and a semaphore in cache lines of their own, and
a handle and a cache line for each thread."""
WORKERS_BYTES = 8 * (2 + HIDDEN_WORDS)
"""Of ``ccml_workers``, at most."""
