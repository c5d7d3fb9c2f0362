"""Whom a learner in self-play meets: itself, its past selves, and scripts that stay.

Playing only against oneself runs in circles: what beats today's self may lose to last week's. The
pool keeps snapshots of the learner, taken on a schedule, and draws an opponent for every deal by
weight. Each kind (itself, its past, the scripts) has a share; within the past, a snapshot's weight
falls with its age and rises the worse the learner does against it, as in the prioritised
fictitious self-play of AlphaStar (Vinyals et al. 2019)::

    weight = 0.5 ** (younger snapshots / half_life) * exp(-points of the learner / temperature)

All of them draw their acts at random, as the learner does while it learns. They are compiled
agents (`agents.learned`), which the vector environment asks for all waiting games at once.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.learned import LearnedAgent
from agents.policies import Policy

_MEMORY_DEALS: Final = 4000.0
"""Deals after which a result counts half as much as a new one."""
_PRIOR_DEALS: Final = 200.0
"""Deals without a result either way that stand before the first results."""
_FAR: Final = -1e300
"""Logarithm of a weight that is none."""


@dataclass(frozen=True)
class PoolSettings:
    """How often which kind of opponent is met.

    Attributes:
        self_share: of the deals, against the learner as it is now.
        past_share: against its past selves; the rest goes to the scripts.
        size: snapshots that are kept; the one of the lowest weight goes first.
        half_life: younger snapshots that halve a snapshot's weight.
        temperature: points per deal that the learner must win more for a weight to fall by 1/e.
    """

    self_share: float = 0.5
    past_share: float = 0.35
    size: int = 16
    half_life: float = 6.0
    temperature: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what means nothing.

        Raises:
            ValueError: a setting is out of its range.
        """
        shares = (self.self_share, self.past_share)
        if not all(0 <= share <= 1 for share in shares) or sum(shares) > 1:
            raise ValueError(
                f"self_share={self.self_share}, past_share={self.past_share}: each is from 0 to 1, "
                "and they are 1 together at the most"
            )
        if self.size < 1 or self.half_life <= 0 or self.temperature <= 0:
            raise ValueError(
                f"size={self.size}, half_life={self.half_life}, temperature={self.temperature}: "
                "each is above 0"
            )


@dataclass
class Snapshot:
    """A past self, and how the learner has done against it.

    Attributes:
        agent: it.
        steps: the learner's acts before it was taken.
        deals: deals counted, older ones less.
        points: what the learner won in them, counted alike.
    """

    agent: LearnedAgent
    steps: int
    deals: float = 0.0
    points: float = 0.0

    @property
    def mean(self) -> float:
        """Points per deal of the learner against it, drawn towards 0 while deals are few."""
        return self.points / (self.deals + _PRIOR_DEALS)

    def note(self, deals: float, points: float) -> None:
        """Count deals of the learner against it; what was before counts less and less."""
        kept = 0.5 ** (deals / _MEMORY_DEALS)
        self.deals, self.points = self.deals * kept + deals, self.points * kept + points


class Pool:
    """The opponents of a learner in self-play, for ``EuchreVecEnv.set_opponents``.

    Attributes:
        settings: how often which kind is met.
        scripts: agents that stay, with their weights among themselves.
        current: the learner as it is now; its numbers are exchanged in place.
        past: snapshots, oldest first.
    """

    def __init__(
        self, policy: Policy, scripts: Sequence[tuple[Any, float]], settings: PoolSettings
    ) -> None:
        """Begin with the learner as it is, and no past.

        Args:
            policy: of the learner.
            scripts: agents with weights above 0; may be empty.
            settings: how often which kind is met.
        """
        self.settings, self.scripts = settings, tuple(scripts)
        self.current = LearnedAgent(policy, "self", is_sampled=True)
        self.past: list[Snapshot] = []

    def refresh(self, policy: Policy) -> None:
        """Let the opponent that is the learner itself play as the learner now does."""
        self.current.refresh(policy)

    def add(self, policy: Policy, steps: int) -> None:
        """Keep the learner as it is as a past self; the least useful one goes if need be."""
        agent = LearnedAgent(policy, f"self@{steps}", is_sampled=True)
        if len(self.past) >= self.settings.size:
            del self.past[int(np.argmin(self.past_weights()))]
        self.past.append(Snapshot(agent, steps))

    def past_weights(self) -> npt.NDArray[np.float64]:
        """The weight of each past self: float64, shape (snapshots,), summing to 1."""
        ages = np.arange(len(self.past), dtype=np.float64)[::-1]
        means = np.array([snapshot.mean for snapshot in self.past])
        with np.errstate(over="ignore"):  # a tiny temperature: all but the best are met never
            logs = -ages * math.log(2) / self.settings.half_life
            logs -= (means - means.min()) / self.settings.temperature
        logs = np.maximum(logs, _FAR)  # infinities have no differences
        weights = np.exp(logs - logs.max())
        shares: npt.NDArray[np.float64] = weights / weights.sum()
        return shares

    def opponents(self) -> list[tuple[Any, float]]:
        """The learner itself, its past, the scripts: agents with their weights, in that order.

        A kind that there is not (no snapshot yet, no script) leaves its share to the others.
        """
        of_scripts = max(0.0, 1 - self.settings.self_share - self.settings.past_share)
        found = [(self.current, self.settings.self_share)]
        if self.past:
            weights = self.settings.past_share * self.past_weights()
            found += [(one.agent, w) for one, w in zip(self.past, weights.tolist(), strict=True)]
        total = math.fsum(weight for _, weight in self.scripts)
        found += [(agent, of_scripts * weight / total) for agent, weight in self.scripts]
        if not any(weight > 0 for _, weight in found):  # all for a past that is still to come
            found[0] = (self.current, 1.0)
        return found

    def note(self, by_opponent: npt.NDArray[Any]) -> None:
        """Count the deals that ended since the opponents were set.

        Args:
            by_opponent: ``EuchreVecEnv.by_opponent``, in the order of `opponents`.
        """
        for snapshot, sums in zip(self.past, by_opponent[1:], strict=False):
            snapshot.note(float(sums["episodes"]), float(sums["reward"]))

    # --- for checkpoints ---

    def state(self) -> tuple[dict[str, npt.NDArray[np.float32]], list[dict[str, Any]]]:
        """What changes of the pool, but for the learner itself: numbers, and facts for JSON."""
        arrays, told = {}, []
        for k, snapshot in enumerate(self.past):
            for layer, (weight, bias) in enumerate(snapshot.agent.policy.layers):
                arrays[f"past.{k}.{layer}.weight"] = weight
                arrays[f"past.{k}.{layer}.bias"] = bias
            told.append(
                {"steps": snapshot.steps, "deals": snapshot.deals, "points": snapshot.points}
            )
        return arrays, told

    def restore(
        self, arrays: Mapping[str, npt.NDArray[np.float32]], told: Sequence[Mapping[str, Any]]
    ) -> None:
        """Take up what `state` gave, in a pool made with the same network and settings.

        Raises:
            ValueError: the numbers are of another network, or some are missing.
        """
        network = self.current.policy
        past = []
        for k, facts in enumerate(told):
            layers = []
            for layer, (like, like_bias) in enumerate(network.layers):
                weight = arrays.get(f"past.{k}.{layer}.weight")
                bias = arrays.get(f"past.{k}.{layer}.bias")
                if weight is None or bias is None:
                    raise ValueError(f"the pool lacks numbers of its past self {k}")
                if weight.shape != like.shape or bias.shape != like_bias.shape:
                    raise ValueError(f"past self {k} of the pool has another network")
                layers.append((weight, bias))
            agent = LearnedAgent(
                replace(network, layers=tuple(layers)), f"self@{facts['steps']}", is_sampled=True
            )
            past.append(Snapshot(agent, int(facts["steps"]), facts["deals"], facts["points"]))
        self.past = past
