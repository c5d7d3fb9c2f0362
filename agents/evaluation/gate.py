"""The regression gate: is an agent weaker than it was when a baseline was written?

A baseline holds, for each agent, the score of every pair that it played against fixed opponents.
The same deals are played again, so the two runs are compared pair by pair: an agent that did not
change scores the same in every pair, and small changes show in few deals.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from agents.evaluation.backends import SERIAL, Crew
from agents.evaluation.deals import Deals, deals_hash
from agents.evaluation.files import write_json
from agents.evaluation.intervals import Estimate, normal_interval
from agents.evaluation.matches import match
from agents.evaluation.ratings import SIGNIFICANT, holm
from euchre_env.rules import Rules

Size = Literal["ci", "weekly"]
"""How thorough a check is."""
SIZES: Final[dict[Size, int]] = {"ci": 2_500, "weekly": 10_000}
"""Pairs against each opponent."""
OPPONENTS: Final = ("random", "novice", "expert")
"""Whom agents play in a baseline (but not themselves): scripts, which seldom change."""

FORMAT: Final = "euchre_env baseline"
_VERSION: Final = 1
_ZERO: Final = ord("i")
"""Scores are kept as letters, a half point a letter: i is 0, j +1/2, h -1/2, a -4, q +4."""

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Baseline:
    """What agents scored once."""

    seed: int
    deals: Deals
    rules: Rules
    pairs: int
    """Pairs played against each opponent."""
    scores: dict[tuple[str, str], Scores]
    """``(agent, opponent) -> score of each pair``, shape (pairs,)."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents it knows, in the order they were written."""
        return tuple(dict.fromkeys(agent for agent, _ in self.scores))

    def opponents(self, agent: str) -> tuple[str, ...]:
        """Whom an agent played."""
        return tuple(opponent for known, opponent in self.scores if known == agent)


@dataclass(frozen=True)
class Verdict:
    """How an agent does beside the baseline."""

    agent: str
    opponents: tuple[str, ...]
    """Whom it played."""
    before: float
    """Points per deal in the baseline, mean over the opponents."""
    now: float
    """Points per deal now."""
    difference: Estimate
    """Now minus before, pair by pair, with a 95% interval."""
    num_changed: int
    """Pairs in which anything is different."""
    pairs: int
    """Pairs compared."""
    p_value: float
    """Chance to look so much weaker without being it, corrected for the number of agents."""

    @property
    def is_weaker(self) -> bool:
        """Significantly weaker than it was."""
        return self.p_value < SIGNIFICANT

    @property
    def word(self) -> str:
        """The verdict in a word."""
        if self.is_weaker:
            return "WEAKER"
        if not self.num_changed:
            return "unchanged"
        return "stronger" if self.difference.low > 0 else "no weaker"


# --- playing ------------------------------------------------------------------------------------


def play_baseline(
    agents: Sequence[str],
    *,
    pairs: int = SIZES["weekly"],
    seed: int = 0,
    deals: Deals = "dev",
    rules: Rules | None = None,
    crew: Crew = SERIAL,
    progress: Callable[[int], None] | None = None,
) -> Baseline:
    """Play each agent against `OPPONENTS`, itself left out.

    Raises:
        ValueError: an unknown agent, or a number out of range.
        KeyboardInterrupt: stopped; a baseline is whole or not at all.
    """
    rules = rules or Rules()
    scores = {}
    for agent in dict.fromkeys(agents):
        for opponent in OPPONENTS:
            if opponent != agent:
                result = match(
                    agent,
                    opponent,
                    pairs=pairs,
                    seed=seed,
                    deals=deals,
                    rules=rules,
                    crew=crew,
                    progress=progress,
                )
                if result.partial:
                    raise KeyboardInterrupt
                scores[agent, opponent] = result.pair_scores
    return Baseline(seed, deals, rules, pairs, scores)


def check_agents(
    baseline: Baseline,
    agents: Sequence[str] = (),
    *,
    size: Size = "ci",
    crew: Crew = SERIAL,
    progress: Callable[[int], None] | None = None,
) -> list[Verdict]:
    """Play the first pairs of a baseline again, and compare.

    Args:
        baseline: from `load_baseline`.
        agents: whom to check; all that the baseline knows when empty.
        size: see `SIZES`; never more pairs than the baseline has.
        crew: who plays.
        progress: called with the number of pairs played since the last call.

    Raises:
        ValueError: an agent that the baseline does not know, or no longer is known here.
        ImportError: statsmodels is not installed (extra ``evaluate``).
        KeyboardInterrupt: stopped.
    """
    chosen = tuple(dict.fromkeys(agents)) or baseline.agents
    for agent in chosen:
        if agent not in baseline.agents:
            raise ValueError(
                f"the baseline knows no agent {agent!r}: it has {', '.join(baseline.agents)}"
            )
    pairs = min(SIZES[size], baseline.pairs)
    found: list[tuple[str, Scores, Scores]] = []
    for agent in chosen:
        known = np.stack([baseline.scores[agent, o][:pairs] for o in baseline.opponents(agent)])
        again = play_again(baseline, agent, pairs, crew, progress)
        found.append((agent, known.mean(axis=0), again.mean(axis=0)))
    corrected = holm([_weaker_p_value(now - before) for _, before, now in found])
    return [
        Verdict(
            agent,
            baseline.opponents(agent),
            float(before.mean()),
            float(now.mean()),
            normal_interval(now - before),
            int((now != before).sum()),
            pairs,
            float(p_value),
        )
        for (agent, before, now), p_value in zip(found, corrected, strict=True)
    ]


def play_again(
    baseline: Baseline,
    agent: str,
    pairs: int,
    crew: Crew,
    progress: Callable[[int], None] | None,
) -> Scores:
    """Scores of an agent now, against each opponent of the baseline: shape (opponents, pairs)."""
    scores = []
    for opponent in baseline.opponents(agent):
        result = match(
            agent,
            opponent,
            pairs=pairs,
            seed=baseline.seed,
            deals=baseline.deals,
            rules=baseline.rules,
            crew=crew,
            progress=progress,
        )
        if result.partial:
            raise KeyboardInterrupt
        scores.append(result.pair_scores)
    return np.stack(scores)


def _weaker_p_value(differences: Scores) -> float:
    """Chance of a mean so low if nothing had become weaker; one-sided, normal."""
    num = len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(num) if num > 1 else 0.0
    mean = float(differences.mean())
    if error == 0:
        return 0.0 if mean < 0 and num > 1 else 1.0
    return math.erfc(-mean / error / math.sqrt(2)) / 2


# --- the file -----------------------------------------------------------------------------------


def save_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline as JSON, whole or not at all."""
    entries = [
        {
            "agent": agent,
            "opponent": opponent,
            "mean": float(scores.mean()),
            "scores": "".join(chr(_ZERO + round(2 * score)) for score in scores.tolist()),
        }
        for (agent, opponent), scores in baseline.scores.items()
    ]
    found = {
        "format": FORMAT,
        "version": _VERSION,
        "seed": baseline.seed,
        "deals": baseline.deals,
        "deals_hash": deals_hash(baseline.seed, baseline.deals, baseline.pairs, baseline.rules),
        "rules": baseline.rules.changed(),
        "pairs": baseline.pairs,
        "entries": entries,
    }
    write_json(path, found)


def load_baseline(path: Path) -> Baseline:
    """Read a baseline, checking all of it.

    Raises:
        ValueError: the file is damaged or something else, or its deals are no longer dealt.
        OSError: the file cannot be read.
    """
    if not path.is_file():
        raise ValueError(f"--against {path}: there is no such file; --baseline writes one")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError(f"no {FORMAT!r} in it")
        if found["version"] != _VERSION:
            raise ValueError(f"version {found['version']!r} is not {_VERSION}")
        pairs, seed, deals = found["pairs"], found["seed"], found["deals"]
        if not isinstance(pairs, int) or pairs < 2 or deals not in get_args(Deals):
            raise ValueError(f"pairs={pairs!r}, deals={deals!r}")
        rules = Rules(**found["rules"])
        scores = dict(_entries(found["entries"], pairs))
        is_dealt = deals_hash(seed, deals, pairs, rules) == found["deals_hash"]
    except (ValueError, KeyError, TypeError) as problem:
        told = f"it has no {problem}" if isinstance(problem, KeyError) else problem
        raise ValueError(f"{path} is no baseline: {told}") from problem
    if not is_dealt:
        raise ValueError(f"{path}: its deals are no longer dealt so; write a new baseline")
    return Baseline(seed, deals, rules, pairs, scores)


def _entries(
    entries: Sequence[Mapping[str, Any]], pairs: int
) -> Iterator[tuple[tuple[str, str], Scores]]:
    for entry in entries:
        text = entry["scores"]
        letters = np.frombuffer(text.encode("ascii"), dtype=np.uint8).astype(np.int64)
        scores = (letters - _ZERO) / 2
        if len(scores) != pairs or (np.abs(scores) > 4).any():
            raise ValueError(f"{entry['agent']!r}: not {pairs} letters a to q")
        if not math.isclose(float(scores.mean()), entry["mean"], abs_tol=1e-9):
            raise ValueError(f"{entry['agent']!r}: the mean is not that of its scores")
        yield (str(entry["agent"]), str(entry["opponent"])), scores
    if not entries:
        raise ValueError("no entry in it")
