"""Games and positions for the tests: every set of options, every act, both seats.

`walk` plays one game under each meaningful set of options at the same time, with random acts, and
keeps every row before every act: deals that were scored, thrown in and won included.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from euchre_env import engine
from euchre_env.actions import NO_ACTION, Phase
from euchre_env.cards import card_list
from euchre_env.dealing import lay_out, seed_streams, seed_word
from euchre_env.kernel import IS_COMPILED
from euchre_env.rules import OPTION_VALUES, Rules
from euchre_env.state import MAX_ACTIONS, States, UpcardPlace, new_states

TARGETS = (1, 2, 5, 10, 15)
STEPS = 50
"""Acts (and deals between them) of a walk: several deals in each row."""


def _every_rules() -> tuple[Rules, ...]:
    found: list[Rules] = []
    for values in product(*OPTION_VALUES.values()):
        options: dict[str, Any] = dict(zip(OPTION_VALUES, values, strict=True))
        try:
            found.append(Rules(**options, target_score=TARGETS[len(found) % len(TARGETS)]))
        except ValueError:
            continue  # a combination that means nothing
    return tuple(found)


EVERY_RULES = _every_rules()
"""Every set of options that the rules accept; the target scores go round."""

SOME_RULES = EVERY_RULES if IS_COMPILED else EVERY_RULES[::23]
"""What a walk plays: all of them; a sample where kernels run as plain Python."""


def undealt(rules: Sequence[Rules], seed: int = 0) -> States:
    """One row for each of some rules, seeded ``seed``, ``seed + 1`` and so on."""
    states = new_states(len(rules))
    for name in (*OPTION_VALUES, "target_score", "deck"):
        states[name] = [each.codes()[name] for each in rules]
    seed_streams(states, np.array([seed_word(seed + i) for i in range(len(rules))], np.uint64))
    return states


def new_games(rules: Sequence[Rules], seed: int = 0) -> States:
    """Games just begun, one row for each of some rules."""
    states = undealt(rules, seed)
    engine.start_games(states)
    return states


def same_rules(num: int, rules: Rules | None = None, seed: int = 0) -> States:
    """``num`` games just begun by the same rules, seeded ``seed``, ``seed + 1`` and so on."""
    states = new_states(num, rules)
    seed_streams(states, np.arange(seed, seed + num, dtype=np.uint64))
    engine.start_games(states)
    return states


class Walk(NamedTuple):
    """Random games, row by row."""

    rows: States
    """(steps, n): every game before each act; rows whose deal is over included."""
    actions: npt.NDArray[np.int64]
    """(steps, n): the act done then, ``NO_ACTION`` where the next deal was dealt instead."""

    def flat(self) -> States:
        """All positions, shape (steps * n,)."""
        return self.rows.reshape(-1)


@functools.cache
def walk(seed: int = 0, steps: int = STEPS) -> Walk:
    """A game under every set of options, played at random; the arrays are read-only."""
    states = new_games(SOME_RULES, seed)
    rows = np.empty((steps, len(states)), dtype=states.dtype)
    actions = np.full((steps, len(states)), NO_ACTION, dtype=np.int64)
    for step in range(steps):
        rows[step] = states
        is_live = states["phase"] < Phase.DEAL_OVER
        live = states[is_live]
        drawn = np.empty(len(live), dtype=np.int64)
        engine.draw_actions(live, drawn, step)
        engine.apply_all(live, drawn)
        actions[step, is_live] = drawn
        is_between = states["phase"] == Phase.DEAL_OVER
        between = states[is_between]
        if len(between):
            engine.next_deals(between)
        is_won = states["phase"] == Phase.GAME_OVER
        won = states[is_won]
        if len(won):
            engine.start_games(won)
        states[is_live], states[is_between], states[is_won] = live, between, won
    rows.flags.writeable = actions.flags.writeable = False
    return Walk(rows, actions)


def sample(num: int, seed: int = 0) -> States:
    """Some positions of the walk, copied: each phase has its share, the rare ones too."""
    flat = walk(seed).flat()
    rng = np.random.default_rng(seed)
    share = max(1, num // len(Phase))
    chosen = []
    for phase in Phase:
        places = np.flatnonzero(flat["phase"] == phase)
        # cards are played ten times a deal: so that late tricks have their share as well
        take = share * 4 if phase == Phase.PLAY else share
        chosen.append(rng.choice(places, size=min(take, len(places)), replace=False))
    positions: States = flat[np.concatenate(chosen)].copy()
    return positions


def hands_dealt(rows: States) -> npt.NDArray[np.int64]:
    """The five cards that each seat was dealt, masks of shape (n, 2), from full states."""
    hands: npt.NDArray[np.int64] = rows["hands"] | rows["played"]
    one, places = np.int64(1), np.arange(len(rows))
    took = rows["upcard_place"] == UpcardPlace.TAKEN
    laid_away = took & (rows["discard"] >= 0)
    upcard = np.where(took, one << np.maximum(rows["upcard"], 0).astype(np.int64), 0)
    discard = np.where(laid_away, one << np.maximum(rows["discard"], 0).astype(np.int64), 0)
    hands[places, rows["dealer"]] |= discard
    hands[places, rows["dealer"]] &= ~upcard
    return hands


def laid_out(rows: States) -> States:
    """The deals of full states before their first act, set up anew from the hands dealt."""
    states = new_states(len(rows))
    for name in (*OPTION_VALUES, "target_score", "deck", "stream", "num_draws", "dealer"):
        states[name] = rows[name]
    states["scores"] = rows["scores"] - rows["points"]
    states["deal_number"] = rows["deal_number"] - 1
    states["hands"] = hands_dealt(rows)
    for state, upcard in zip(states, rows["upcard"].tolist(), strict=True):
        lay_out(state, upcard)
    return states


def replayed(rows: States) -> States:
    """Full states once more, each reached from its deal by its own history."""
    states = laid_out(rows)
    for count in range(MAX_ACTIONS):
        left = np.flatnonzero(rows["num_actions"] > count)
        if len(left):
            part = states[left]
            engine.apply_all(part, rows["history"][left, count].astype(np.int64))
            states[left] = part
    return states


def differing(one: States, other: States, but: Sequence[str] = ()) -> list[str]:
    """The fields in which two arrays of games differ."""
    names = [name for name in one.dtype.names or () if name not in but]
    return [name for name in names if (one[name] != other[name]).any()]


def hands_of(cards: int, size: int) -> list[int]:
    """Every hand of a size out of some cards, as masks."""
    return [sum(1 << card for card in hand) for hand in combinations(card_list(cards), size)]


def z_of_chi_square(
    counts: npt.ArrayLike, expected: npt.ArrayLike, lost: int = 1, spread: float = 1.0
) -> float:
    """How many standard errors a chi-square statistic of counts lies above its mean.

    ``lost`` are the degrees of freedom that fixed sums take; ``spread`` is the variance of a
    count as part of what independent draws would give.
    """
    observed, wanted = np.asarray(counts, dtype=float), np.asarray(expected, dtype=float)
    degrees = observed.size - lost
    statistic = float((np.square(observed - wanted) / wanted).sum()) / spread
    return (statistic - degrees) / float(np.sqrt(2 * degrees))


# --- hypothesis ---------------------------------------------------------------------------------

seats = st.sampled_from((0, 1))
seeds = st.integers(min_value=0, max_value=2**64 - 1)
targets = st.integers(min_value=1, max_value=20)


@st.composite
def rules(draw: st.DrawFn) -> Rules:
    """Any meaningful set of options with any target score."""
    chosen = draw(st.sampled_from(EVERY_RULES))
    return Rules(**{**chosen.changed(), "target_score": draw(targets)})


@st.composite
def games(draw: st.DrawFn) -> States:
    """One row: a game under any rules after up to forty random acts, with an act to do."""
    chosen = draw(rules())
    states = new_states(1, chosen)
    seed_streams(states, np.array([draw(seeds)], dtype=np.uint64))
    engine.start_games(states)
    engine.play_random(states, draw(st.integers(min_value=0, max_value=40)))
    return states
