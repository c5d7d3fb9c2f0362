"""How long it takes from nothing to the first cards, each figure from processes of its own.

    python benchmarks/startup.py

The first use ever is measured with an empty folder for compiled kernels, which is then kept for
the processes that follow; the user's own folder is not touched.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import tyro
from rich.console import Console
from rich.table import Table

IMPORT: Final = """
import sys, time
start = time.perf_counter()
import euchre_env
print(time.perf_counter() - start)
assert "torch" not in sys.modules, "import euchre_env imports torch"
"""
NUMBA_AND_GYMNASIUM: Final = """
import time
start = time.perf_counter()
import gymnasium, numba
print(time.perf_counter() - start)
"""
RESET: Final = """
import time
start = time.perf_counter()
import gymnasium, euchre_env
gymnasium.make("euchre_env/Euchre-v0").reset(seed=0)
print(time.perf_counter() - start)
"""
VECTOR_STEP: Final = """
import time
start = time.perf_counter()
import gymnasium, numpy, euchre_env
envs = gymnasium.make_vec(
    "euchre_env/Euchre-v0", num_envs=64, vectorization_mode="vector_entry_point"
)
_, infos = envs.reset(seed=0)
envs.step(infos["action_mask"].argmax(axis=1))
print(time.perf_counter() - start)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Measure imports and first calls."""

    repeats: int = 7
    """Processes for each figure but the first use ever, 1 or more; the median counts."""
    smoke: bool = False
    """One process for each figure."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write the numbers to this file."""


def seconds_in_new_process(program: str, kernels: str) -> float:
    """Run a program that prints a time, with a folder for compiled kernels: that time.

    Raises:
        subprocess.CalledProcessError: the program failed.
    """
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_CACHE_DIR": kernels},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


def median_seconds(program: str, kernels: str, repeats: int) -> float:
    """The median over several processes."""
    return statistics.median(seconds_in_new_process(program, kernels) for _ in range(repeats))


def main(args: Args) -> dict[str, float]:
    """Measure and print; returns ``what -> seconds``."""
    repeats = 1 if args.smoke else args.repeats
    with tempfile.TemporaryDirectory() as kernels:
        result = {
            "first use ever: import to first reset, compiling": seconds_in_new_process(
                RESET, kernels
            ),
            "first use ever of the vector environment, compiling": seconds_in_new_process(
                VECTOR_STEP, kernels
            ),
            "import numba and gymnasium, for comparison": median_seconds(
                NUMBA_AND_GYMNASIUM, kernels, repeats
            ),
            "import euchre_env": median_seconds(IMPORT, kernels, repeats),
            "second process: import to first reset": median_seconds(RESET, kernels, repeats),
            "second process: import to first vector step": median_seconds(
                VECTOR_STEP, kernels, repeats
            ),
        }
    table = Table("what", "seconds", title="From nothing to the first cards (medians)")
    for what, seconds in result.items():
        table.add_row(what, f"{seconds:.2f}")
    Console().print(table)
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return result


if __name__ == "__main__":
    main(tyro.cli(Args))
