"""What 100 and 1,000 cores would give: the full exact best response, from what is measured here.

Every hand and upcard of the 24-card game, but for suits renamed, from both seats, is 105,798 x 2
trees (a deal that ``evaluate.py --exploitability`` samples is two). Measured here: how long a tree
takes on one core and how long the longest, how long a new process takes until it is at work, how
many bytes a piece sends home and how long it takes to be put in its place, and what a second
worker really gives.

    python benchmarks/scaling.py             # some minutes on two idle cores
    python benchmarks/scaling.py --smoke     # seconds, figures that mean little; writes nothing
"""

import functools
import json
import pickle
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import tyro
from rich.console import Console
from rich.progress import track

from agents.evaluation.backends import Crew, run
from agents.evaluation.exploitability import Answers, Question, answer
from agents.evaluation.files import write_json

NUM_HANDS: Final = 105_798
"""Own hands with an upcard, suits renamed counted once (fact 3 of the protocol)."""
CORES: Final = (1, 2, 100, 1_000)
AGENTS: Final = {"novice": 10, "expert": 10, "search": 2, "bidder": 1, "ppo-selfplay": 1}
"""Agents, and how many deals each is measured on."""
START: Final = """
import sys
from agents.evaluation.exploitability import Question, answer
answer(Question("novice"), 0, 1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Measure what a cluster's time is made of."""

    pair_agent: str = "novice"
    """Whose trees one and two workers are timed on."""
    pair_deals: int = 30
    """How many deals they work out."""
    smoke: bool = False
    """One deal each, nothing written."""
    json: Annotated[Path, tyro.conf.arg(metavar="PATH")] = Path("results/scaling.json")
    """Where every number is written."""


def measured(agent: str, deals: int) -> dict[str, Any]:
    """How long the trees of an agent take, and what a deal sends home.

    Args:
        agent: its name.
        deals: of the dev list, each two trees.
    """
    answer(Question(agent), 0, 1)  # compiled now, not while the clock runs
    seconds, last = [], None
    for first in range(deals):
        start = time.process_time()
        last = answer(Question(agent), first, 1)
        seconds.append(time.process_time() - start)
    return {
        "deals": deals,
        "tree_seconds": float(np.mean(seconds)) / 2,
        "longest_deal_seconds": max(seconds),
        "bytes_a_deal": len(pickle.dumps(last)),
    }


def start_seconds() -> float:
    """From nothing to the first tree done, kernels compiled before, as a new worker does it."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", START], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def merge_seconds() -> float:
    """What the process that hands out work spends on a deal that comes home."""
    piece = pickle.dumps(answer(Question("novice"), 0, 1))
    parts: list[Answers] = []
    start = time.process_time()
    for _ in range(2_000):
        parts.append(pickle.loads(piece))  # its own bytes, as joblib does
    np.concatenate([part.losses for part in parts])
    return (time.process_time() - start) / 2_000


def wall_seconds(agent: str, deals: int, workers: int) -> float:
    """By the clock, with so many workers at work already."""
    crew = Crew("loky", workers=workers, start_up=0.0) if workers > 1 else Crew("serial")
    work = functools.partial(answer, Question(agent))
    for _ in run(work, 4 * workers, batch=1, crew=crew):
        pass  # workers started, kernels loaded
    start = time.perf_counter()
    for _ in run(work, deals, batch=1, crew=crew):
        pass
    return time.perf_counter() - start


def hours(agent: dict[str, Any], cores: int, start: float, merge: float) -> float:
    """What the full best response takes on a cluster.

    The trees are shared out; then the longest deal that is begun last is waited for. Whoever hands
    out work does nothing else, and is the limit where it has more to do than each worker.
    """
    at_work = NUM_HANDS * 2 * agent["tree_seconds"] / cores
    at_desk = NUM_HANDS * merge
    seconds: float = start + max(at_work, at_desk) + agent["longest_deal_seconds"]
    return seconds / 3600


def main() -> None:
    """Measure, compute, write, print."""
    args = tyro.cli(Args, description=__doc__)
    agents = {
        name: measured(name, 1 if args.smoke else deals)
        for name, deals in track(list(AGENTS.items()), "agents")
        if not args.smoke or name in ("novice", "expert")
    }
    start, merge = start_seconds(), merge_seconds()
    walls = {
        workers: wall_seconds(args.pair_agent, 4 if args.smoke else args.pair_deals, workers)
        for workers in (1, 2)
    }
    told = {
        "trees": 2 * NUM_HANDS,
        "start_seconds": start,
        "merge_seconds_a_deal": merge,
        "wall": {"agent": args.pair_agent, "deals": args.pair_deals, "seconds": walls},
        "speed_up_of_two_workers": walls[1] / walls[2],
        "agents": {
            name: {
                **found,
                "hours": {cores: hours(found, cores, start, merge) for cores in CORES},
                "useful_cores": 2 * found["tree_seconds"] / merge,
            }
            for name, found in agents.items()
        },
    }
    Console().print_json(json.dumps(told))
    if not args.smoke:
        write_json(args.json, told)


if __name__ == "__main__":
    main()
