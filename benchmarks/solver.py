"""How fast open hands are solved: look-ups in the table beside plain alpha-beta, in one run.

The same positions, drawn at random at the start of a trick from 24-card deals, are looked up and
searched in turns; every figure is a median of the turns, the ratio the median of their ratios.

    python benchmarks/solver.py            # some twenty seconds
    python benchmarks/solver.py --smoke    # a second, figures that mean little
"""

import json
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
import tyro
from rich.console import Console
from rich.table import Table as Printed

from agents.open_hands import fold, open_hands, open_hands_at, own_tricks
from agents.solver import alpha_beta, solve
from euchre_env.actions import Phase
from euchre_env.dealing import seed_streams
from euchre_env.engine import play_random, start_games
from euchre_env.kernel import int64, kernel, popcount
from euchre_env.state import States, new_states

WORLDS: Final = 40
"""Hands of the other player that a search agent looks up for one hand of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Measure look-ups and searches a second on one core."""

    repeats: int = 7
    """Turns, 1 or more; the median counts."""
    positions: int = 20_000
    """Positions that are looked up and searched."""
    look_ups: int = 10_000_000
    """Look-ups of a turn."""
    smoke: bool = False
    """Few positions and look-ups: shows that everything runs."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write every number to this file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Rates a second on one core, and how many times faster the table is."""

    table_look_ups: float
    """Positions in any order, both hands folded."""
    look_ups_of_one_hand: float
    """One own hand against forty others in turn: what a search agent does."""
    states_solved: float
    """`solve`: full states, every legal act valued."""
    states_searched: float
    """`alpha_beta` on the same states."""
    ratio: float
    """Look-ups to positions that alpha-beta values (each act of a state is one)."""
    seconds_to_build: float
    """The table, once a process."""


def trick_starts(num: int) -> States:
    """Random 24-card positions at the start of a trick, one to five cards each."""
    found: list[States] = []
    seed = 0
    while sum(map(len, found)) < num:
        states = new_states(num)
        seed_streams(states, np.arange(seed, seed + num, dtype=np.uint64))
        start_games(states)
        for k in range(num):
            play_random(states[k : k + 1], 3 + k % 11)
        found.append(states[(states["phase"] == Phase.PLAY) & (states["led_card"] < 0)])
        seed += num
    return np.concatenate(found)[:num]


@kernel
def fold_hands(states: States, hands: npt.NDArray[np.int64]) -> None:
    """The leader's and the other's hand, folded, and the cards of each: into shape (n, 3)."""
    for i in range(states.shape[0]):
        state = states[i]
        leader = state.to_act & 1
        hands[i, 0] = fold(state.hands[leader], state.trump)
        hands[i, 1] = fold(state.hands[1 - leader], state.trump)
        hands[i, 2] = popcount(state.hands[leader])


@kernel
def look_up(table_address: int, hands: npt.NDArray[np.int64], rounds: int) -> int:
    """The sum of the tricks of all positions, ``rounds`` times."""
    table, tricks = open_hands_at(table_address), int64(0)
    for _ in range(rounds):
        for i in range(hands.shape[0]):
            tricks += own_tricks(table, hands[i, 0], hands[i, 1], hands[i, 2], 0)
    return tricks


@kernel
def look_up_worlds(
    table_address: int,
    owns: npt.NDArray[np.int64],
    others: npt.NDArray[np.int64],
    num: int,
    rounds: int,
) -> int:
    """The same for own hands, each against a row of others of ``num`` cards."""
    table, tricks = open_hands_at(table_address), int64(0)
    for _ in range(rounds):
        for i in range(owns.shape[0]):
            for j in range(others.shape[1]):
                tricks += own_tricks(table, owns[i], others[i, j], num, 0)
    return tricks


def hands_and_worlds(num_hands: int, size: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Random folded hands, and forty other hands beside each."""
    rng = np.random.default_rng(1)
    deck = np.array([8 * suit + rank for suit in range(4) for rank in range(2, 8)])
    owns = np.empty(num_hands, dtype=np.int64)
    others = np.empty((num_hands, WORLDS), dtype=np.int64)
    for i in range(num_hands):
        cards = rng.permutation(deck)
        owns[i] = fold(int((1 << cards[:size]).sum()), 1)
        for j in range(WORLDS):
            others[i, j] = fold(int((1 << rng.permutation(cards[size:])[:size]).sum()), 1)
    return owns, others


def _seconds(call: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def measure(args: Args) -> Result:
    """Take turns between table and search."""
    num, look_ups = args.positions, args.look_ups
    if args.smoke:
        num, look_ups = 200, 100_000
    build = _seconds(open_hands.__wrapped__)  # compiles, or loads what is compiled
    build = _seconds(open_hands.__wrapped__)
    address = open_hands().address
    states = trick_starts(num)
    hands = np.empty((num, 3), dtype=np.int64)
    fold_hands(states, hands)
    owns, others = hands_and_worlds(200, 4)
    rounds, world_rounds = max(1, look_ups // num), max(1, look_ups // others.size)
    num_acts = int((solve(states).act_tricks >= 0).sum())
    for warm_up in (look_up, look_up_worlds):
        warm_up(address, *((hands, 1) if warm_up is look_up else (owns, others, 4, 1)))
    turns: list[list[float]] = []
    for _ in range(1 if args.smoke else args.repeats):
        plain = num * rounds / _seconds(look_up, address, hands, rounds)
        worlds_looked_up = others.size * world_rounds
        worlds = worlds_looked_up / _seconds(look_up_worlds, address, owns, others, 4, world_rounds)
        solved = num / _seconds(solve, states)
        searched = num / _seconds(alpha_beta, states)
        turns.append([plain, worlds, solved, searched, plain / (searched * num_acts / num)])
    return Result(
        **dict(
            zip(
                list(Result.__annotations__)[:-1],
                (statistics.median(column) for column in zip(*turns, strict=True)),
                strict=True,
            )
        ),
        seconds_to_build=build,
    )


def main(args: Args) -> None:
    """Measure and print."""
    result = measure(args)
    table = Printed(title="Open hands, one core")
    table.add_column("what")
    table.add_column("a second", justify="right")
    million = 1e6
    for what, rate in (
        ("table look-ups, any hands", result.table_look_ups),
        (f"table look-ups, one hand against {WORLDS}", result.look_ups_of_one_hand),
        ("states solved, every act valued", result.states_solved),
        ("the same by plain alpha-beta", result.states_searched),
    ):
        table.add_row(what, f"{rate / million:.2f} million")
    console = Console()
    console.print(table)
    console.print(
        f"a look-up is {result.ratio:,.0f} times as fast as alpha-beta; "
        f"the table is built in {1000 * result.seconds_to_build:.0f} ms"
    )
    if args.json is not None:
        args.json.write_text(json.dumps(asdict(result), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
