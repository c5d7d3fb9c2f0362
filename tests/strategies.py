"""Games and positions for the tests: every set of options, every act, both seats, by hypothesis too.

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
from euchre_env.state import States, UpcardPlace, new_states

TARGETS = (1, 2, 5, 10, 15)
STEPS = 50
"""Acts (and deals between them) of a walk: several deals in each row."""


def _every_rules() -> tuple[Rules, ...]:
    found = []
    for values in product(*OPTION_VALUES.values()):
        options: dict[str, Any] = dict(zip(OPTION_VALUES, values, strict=True))
        try:
            found.append(Rules(**options, target_score=TARGETS[len(found) % len(TARGETS)]))
        except ValueError:
            continue  # a combination that means nothing
    return tuple(found)


EVERY_RULES = _every_rules()
"""Every set of options that the rules accept; the target scores go round."""

SOME_RULES = EVERY_RULES if IS_COMPILED else EVERY_RULES[::24]
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
    return flat[np.concatenate(chosen)].copy()


def at_phase_start(row: np.record) -> States:
    """The deal of a row before its first act, set up anew from the hands that were dealt."""
    states = new_states(1)
    fresh = states[0]
    for name in (*OPTION_VALUES, "target_score", "deck", "stream", "num_draws", "dealer"):
        fresh[name] = row[name]
    fresh["scores"] = row["scores"] - row["points"]
    fresh["deal_number"] = row["deal_number"] - 1
    fresh["hands"] = [hand_dealt(row, seat) for seat in (0, 1)]
    lay_out(fresh, int(row["upcard"]))
    return states


def hand_dealt(row: np.record, seat: int) -> int:
    """The five cards that a seat was dealt, a mask, from a full state."""
    hand = int(row["hands"][seat]) | int(row["played"][seat])
    if seat == row["dealer"] and row["upcard_place"] == UpcardPlace.TAKEN:
        if row["discard"] >= 0:
            hand |= 1 << int(row["discard"])
        hand &= ~(1 << int(row["upcard"]))
    return hand


def replayed(row: np.record) -> States:
    """The row once more, reached from its deal by its own history."""
    states = at_phase_start(row)
    for action in row["history"][: row["num_actions"]].tolist():
        engine.apply(states[0], action)
    return states


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
