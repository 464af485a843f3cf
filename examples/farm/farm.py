"""Tunes a model on a farm: python farm.py MODEL [--scheduler tcp://HOST:8786]

Without a scheduler a cluster of two processes is started on this machine, to try it.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack

import ccml
from distributed import Client, LocalCluster


def main() -> None:
    parser = argparse.ArgumentParser(description="Tunes a model on a farm of machines or boards, by Dask.")
    parser.add_argument("model")
    parser.add_argument("--scheduler", help="the address of Dask's scheduler")
    parser.add_argument("--target", help="what to tune for, by default this machine")
    parser.add_argument("--cpu", help="the CPU of the target")
    parser.add_argument("--database", default="tuning.jsonl")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with ExitStack() as stack:
        address = options.scheduler or stack.enter_context(_two_processes())
        client = stack.enter_context(Client(address))
        workers = len(client.scheduler_info()["workers"])
        found = ccml.tune(
            options.model, options.database, options.target, cpu=options.cpu, seconds=options.seconds,
            executor=client.get_executor(), workers=workers,
        )  # fmt: skip
    for kernel in found.kernels:
        print(f"{kernel.ratio:6.1%} {kernel.layers[0]}: {kernel.best or 'as it is'}")
    print(f"{found.measurements} decisions measured by {workers} workers")


def _two_processes() -> LocalCluster:
    """One task at a time in each, so that measurements share no core."""
    return LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)


if __name__ == "__main__":
    main()
