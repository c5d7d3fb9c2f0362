"""A player that sees all cards: what information is worth, and what the leak tests must flag.

For tests alone. It is no `Agent`: whoever is shown views only cannot do what it does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents import Agent
from agents.solver import solve
from euchre_env.actions import NUM_ACTIONS, Phase
from euchre_env.dealing import seed_streams, substreams
from euchre_env.engine import action_masks, apply_all, start_games
from euchre_env.rules import Rules
from euchre_env.state import States, new_states
from euchre_env.views import blank


class Cheater:
    """Does the act that is best with all hands open: most points, then most tricks."""

    name = "cheater"

    def act_on(self, states: States) -> npt.NDArray[np.int64]:
        """Acts for full states, shape (n,)."""
        solution = solve(states)
        points, tricks = (array.astype(np.int64) for array in (solution[3], solution[2]))
        acts: npt.NDArray[np.int64] = (points * 100 + tricks).argmax(axis=1)
        return acts


Player = Agent | Cheater


def ask(player: Player, states: States, rng: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """What a player does in states: an agent is shown its view, the cheater the state."""
    if isinstance(player, Cheater):
        return player.act_on(states)
    masks = np.empty((len(states), NUM_ACTIONS), dtype=np.int8)
    action_masks(states, masks)
    return player.act(blank(states, states["to_act"]), masks, rng)


class Score(NamedTuple):
    """Points per deal of the first player, and the standard error over mirrored pairs."""

    mean: float
    error: float


def head_to_head(
    first: Player, second: Player, pairs: int, seed: int = 0, rules: Rules | None = None
) -> Score:
    """Mirrored pairs of deals at 0-0: as ``evaluate.match``, but with players who may cheat."""
    states = new_states(pairs, rules)
    seed_streams(states, np.arange(pairs, dtype=np.uint64) + np.uint64(seed << 32))
    start_games(states)
    states = np.concatenate([states, states])
    firsts = np.repeat([0, 1], pairs)
    for count in range(20):
        keys = substreams(np.uint64(1000 * seed + count), len(states))
        for place, player in enumerate((first, second)):
            live = states["phase"] < Phase.DEAL_OVER
            rows = np.flatnonzero(live & ((states["to_act"] == firsts) == (place == 0)))
            if len(rows):
                part = states[rows]
                apply_all(part, ask(player, part, keys[rows]))
                states[rows] = part
    every = np.arange(2 * pairs)
    scores = states["points"].astype(float)
    gains = scores[every, firsts] - scores[every, 1 - firsts]
    each = gains.reshape(2, pairs).mean(axis=0)
    return Score(float(each.mean()), float(each.std(ddof=1) / np.sqrt(pairs)))
