"""Bids by counterfactual regret: makes the table that the agent ``bidder`` bids by.

    python -m agents.cfr --minutes 2 --save my_bids.npz
    python -m agents.cfr --deals 300000000      # over the table that ships, agents/data/bids.npz

`agents.regrets` looks at the deals. Here later deals weigh more, linearly (Brown and Sandholm,
arXiv 1809.04040), and the average strategy becomes the table.
"""

import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from agents.bid_table import SHIPPED, STARTS, BidTable, from_weights, write_table
from agents.leaves import MEASURED_DEALS, measure_leaves
from agents.open_hands import open_hands
from agents.regrets import AVERAGE, REGRET, Tables, learn_deals, new_learner
from euchre_env.rules import Rules
from euchre_env.rules_text import parse_rules
from euchre_env.state import States

CHUNK: Final = 100_000
"""Deals of equal weight; those of the next chunk weigh one more."""


@dataclass
class Learner:
    """Tables that are being learned."""

    rules: Rules
    states: States
    tables: Tables
    leaves: npt.NDArray[np.float64]
    num_chunks: int = 0

    @classmethod
    def new(cls, rules: Rules, seed: int, measured_deals: int = MEASURED_DEALS) -> "Learner":
        """A learner that has seen no deal, its leaves measured.

        Raises:
            ValueError: the rules have a joker or another deck than the 24 cards.
        """
        states, tables = new_learner(rules, seed)
        return cls(rules, states, tables, measure_leaves(rules, seed, measured_deals))

    def learn(self) -> None:
        """Learn from a chunk of deals, then let all so far weigh less."""
        first = self.num_chunks * CHUNK
        learn_deals(self.states, CHUNK, first, self.tables, open_hands().address, self.leaves)
        self.num_chunks += 1
        self.tables *= np.float32(self.num_chunks / (self.num_chunks + 1))

    @property
    def num_deals(self) -> int:
        """Deals learned from."""
        return self.num_chunks * CHUNK

    def regret(self) -> float:
        """How much both seats together could have gained a deal by better fixed bids, at most.

        The sum over all decisions of the regret for not having done the best act always: an upper
        bound, most of it noise at first, which goes to 0 as the average nears an equilibrium of
        the game with open hands.
        """
        total = 0.0
        for start, end in itertools.pairwise(STARTS):
            best = self.tables[:, REGRET, start:end].max(axis=1)
            total += float(np.maximum(best, 0).sum(dtype=np.float64))
        # after the last shrinking, chunk k weighs k / (n + 1)
        return total / (CHUNK * self.num_chunks / 2)

    def table(self) -> BidTable:
        """The average strategy."""
        return from_weights(self.tables[:, AVERAGE], self.rules)


@dataclass(frozen=True)
class Args:
    """Learn bids by counterfactual regret and save them."""

    minutes: float = 2.0
    """how long; the bids that ship are those of --deals 300000000, nine minutes"""
    deals: int | None = None
    """learn from so many deals instead (in steps of 100,000): the same number, the same table"""
    seed: int = 0
    """the deals follow from it"""
    measure: int = MEASURED_DEALS
    """deals that the search agent plays first, to measure what leaves are worth; 0: open hands"""
    rules: str = "default"
    """what is played, as in evaluate.py; the deck has 24 cards"""
    save: Path = Path(__file__).parent / "data" / SHIPPED
    """where the table goes; the default writes over the one that ships, by which `bidder` bids"""


def train(args: Args, console: Console) -> BidTable:
    """Learn, show how it goes, save.

    Raises:
        ValueError: arguments that mean nothing.
        OSError: the file cannot be written.
    """
    if args.deals is not None and args.deals < 1:
        raise ValueError(f"--deals {args.deals}: at least 1")
    if not args.minutes > 0:
        raise ValueError(f"--minutes {args.minutes}: more than 0")
    if not args.save.parent.is_dir():
        raise ValueError(f"--save {args.save}: there is no folder {args.save.parent}")
    if args.measure < 0:
        raise ValueError(f"--measure {args.measure}: 0 or more")
    if args.save == Args.save:
        console.print(f"no --save: the table that ships, {args.save}, will be written anew")
    learner = Learner.new(parse_rules(args.rules), args.seed, args.measure)
    started = time.monotonic()
    total = args.minutes * 60 if args.deals is None else float(args.deals)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("learning", total=total)
        done = 0.0
        while done < total:
            learner.learn()
            seconds = time.monotonic() - started
            done = seconds if args.deals is None else float(learner.num_deals)
            text = f"{learner.num_deals:,} deals, regret a deal {learner.regret():.3f}"
            bar.update(task, completed=done, description=text)
    seconds, regret = time.monotonic() - started, learner.regret()
    console.print(
        f"{learner.num_deals:,} deals in {seconds:.0f} s, regret a deal under {regret:.4f}"
    )
    table = learner.table()
    write_table(args.save, table)
    console.print(f"saved: {args.save}")
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code, 2 for what cannot be done."""
    args = tyro.cli(Args, description=__doc__, args=arguments)
    try:
        train(args, Console())
    except (ValueError, OSError) as problem:
        print(f"agents.cfr: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("agents.cfr: stopped; nothing was saved", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
