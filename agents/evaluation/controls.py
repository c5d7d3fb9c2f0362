"""Controls: matches whose result is known beforehand, played beside those it is asked for.

A fault in dealing, seating, scoring or in an agent's use of its random numbers shows here first.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agents import make_agent
from agents.base import Agent
from agents.evaluation.backends import SERIAL, Crew
from agents.evaluation.deals import HASHED_DEALS, LIST_HASHES, Deals, deals_hash
from agents.evaluation.intervals import Z_95, Estimate
from agents.evaluation.matches import MatchResult, match
from agents.evaluation.play import agent_name
from agents.guests import TIME_LIMIT
from euchre_env.rules import Rules

SELF_PAIRS: Final = 200
"""Most pairs that an agent plays against itself."""
RANDOM_PAIRS: Final = 2_500
"""Pairs that the random agent plays against itself."""
FAR: Final = 4.0
"""Standard errors beyond which chance is no explanation: one in 16,000."""


@dataclass(frozen=True)
class Control:
    """A thing that must be so."""

    name: str
    """What was done."""
    expected: str
    """What must come of it."""
    observed: str
    """What came."""
    passed: bool
    """Whether it is so."""


def run_controls(
    players: Sequence[str | Agent],
    results: Sequence[MatchResult],
    ceilings: Mapping[str, Estimate],
    *,
    pairs: int,
    seed: int,
    deals: Deals,
    rules: Rules,
    batch: int = 4_096,
    crew: Crew = SERIAL,
    time_limit: float = TIME_LIMIT,
) -> Iterator[Control]:
    """Play and check the controls that belong to some matches.

    Args:
        players: the agents of the matches, or their names.
        results: the matches.
        ceilings: exploitability by agent, see `load_ceilings`.
        pairs: of each match; an agent plays no more against itself, nor more than `SELF_PAIRS`.
        seed: as in the matches.
        deals: as in the matches.
        rules: as in the matches.
        batch: as in the matches.
        crew: as in the matches.
        time_limit: as in the matches.
    """
    yield _list_control(deals)
    salted = match(
        "random", "random", pairs=RANDOM_PAIRS, seed=seed, deals=deals, rules=rules, salts=(1, 2)
    )
    yield _random_control(salted)
    for player in {agent_name(make_agent(player)): player for player in players}.values():
        own = match(
            player,
            player,
            pairs=min(pairs, SELF_PAIRS),
            seed=seed,
            deals=deals,
            rules=rules,
            batch=batch,
            crew=crew,
            time_limit=time_limit,
        )
        yield _self_control(own)
    for result in results:
        yield from _ceiling_controls(result, ceilings)


def _list_control(deals: Deals) -> Control:
    found = deals_hash(0, deals, HASHED_DEALS, Rules())
    known = LIST_HASHES[deals]
    return Control(
        f"hash of the first {HASHED_DEALS:,} {deals} deals, seed 0", known, found, found == known
    )


def _random_control(result: MatchResult) -> Control:
    error = (result.high - result.low) / 2 / Z_95
    return Control(
        f"random against random, {result.pairs:,} pairs, random numbers of their own",
        f"0 within {FAR:g} standard errors",
        f"{result.mean:+.3f}, standard error {error:.3f}",
        abs(result.mean) <= FAR * error,
    )


def _self_control(result: MatchResult) -> Control:
    wrong = int((result.pair_scores != 0).sum())
    return Control(
        f"{result.agents[0]} against itself, {result.pairs:,} pairs",
        "0 in every pair",
        f"{wrong:,} pairs differ: its acts depend on more than view, mask and random numbers"
        if wrong
        else "0 in every pair",
        wrong == 0,
    )


def _ceiling_controls(result: MatchResult, ceilings: Mapping[str, Estimate]) -> Iterator[Control]:
    """No fair agent wins more from another than a best response does: its exploitability."""
    first, second = result.agents
    sides = ((first, second, result.low), (second, first, -result.high))
    for winner, loser, low in sides:
        if loser in ceilings and winner != loser and not math.isnan(low):
            ceiling = ceilings[loser]
            yield Control(
                f"{winner} against {loser}: ceiling",
                f"at most {ceiling.mean:.3f} [{ceiling.low:.3f}, {ceiling.high:.3f}], "
                f"the exploitability of {loser}",
                f"lower end {low:+.3f}" + (" (a fault, or it sees cards)" * (low > ceiling.high)),
                low <= ceiling.high,
            )


def load_ceilings(folder: Path, rules: Rules) -> dict[str, Estimate]:
    """Exploitability of agents by name, from ``exploitability-*.json`` files in a folder.

    Files measured under other rules are passed over.

    Raises:
        ValueError: a file is damaged.
        OSError: a file cannot be read.
    """
    ceilings = {}
    for path in sorted(folder.glob("exploitability-*.json")):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["rules"] == rules.changed():
                low, high = float(found["low"]), float(found["high"])
                ceilings[str(found["agent"])] = Estimate(float(found["mean"]), low, high)
        except (ValueError, KeyError, TypeError) as problem:
            raise ValueError(f"{path} is no exploitability file: {problem!r}") from problem
    return ceilings
