"""Between the referee (strings, objects) and the engine (numbers, rows): deals, acts, option sets.

Nothing here knows a rule of play; it only translates, and draws the deals both are held against.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from euchre_env.actions import Phase, action_list, action_name, action_number
from euchre_env.cards import CARD_NAMES, SUIT_NAMES, card_list, card_number
from euchre_env.dealing import is_dealt_right, lay_out, next_dealer
from euchre_env.engine import apply, legal_actions
from euchre_env.kernel import kernel
from euchre_env.rules import Rules
from euchre_env.state import (
    MAX_ACTIONS,
    NO_CARD,
    NO_SUIT,
    NOBODY,
    States,
    UpcardPlace,
    new_states,
)
from tests import reference
from tests.reference import Game

TARGETS = (1, 2, 5, 7, 10, 11, 15)

UPCARD_PLACES = {
    "table": UpcardPlace.TURNED_UP,
    "left": UpcardPlace.LEFT,
    "turned_down": UpcardPlace.TURNED_DOWN,
    "hand": UpcardPlace.TAKEN,
    "discarded": UpcardPlace.TAKEN,
    "played": UpcardPlace.TAKEN,
}
"""The referee's word for where the upcard is -> the engine's, which has one for all of "taken"."""


def option_sets() -> list[dict[str, Any]]:
    """Every meaningful set of options but for the target score, 2352 of them, each complete."""
    bidding = [
        {
            "stick_the_dealer": False,
            "allow_turned_down_suit": allowed,
            "redeal_dealer": dealer,
        }
        for allowed, dealer in product(("never", "always"), ("next", "same"))
    ] + [
        {
            "stick_the_dealer": True,
            "allow_turned_down_suit": allowed,
            "redeal_dealer": "next",
        }
        for allowed in ("never", "stuck_dealer", "always")
    ]
    jokers = [
        {
            "joker": False,
            "joker_turned_up": "dealer_names_blind",
            "joker_fixed_suit": "H",
        },
        {
            "joker": True,
            "joker_turned_up": "dealer_names_blind",
            "joker_fixed_suit": "H",
        },
        {"joker": True, "joker_turned_up": "redeal", "joker_fixed_suit": "H"},
        *(
            {"joker": True, "joker_turned_up": "fixed_suit", "joker_fixed_suit": suit}
            for suit in "HCDS"
        ),
    ]
    plain = ("lowest_rank", "order_up_pickup", "discard_upcard", "stop_when_decided")
    values = ("987", ("may", "must"), (False, True), (False, True), (False, True))
    return [
        {
            **reference.OPTION_DEFAULTS,
            **dict(zip((*plain, "super_euchre"), chosen, strict=True)),
            **bids,
            **joker,
        }
        for chosen in product(*values)
        for bids in bidding
        for joker in jokers
    ]


def random_deal(rng: random.Random, options: dict[str, Any]) -> Game:
    """A random deal of a game under way; a joker is turned up more often than chance would."""
    target = options["target_score"]
    joker_may_turn_up = options["joker"] and options["joker_turned_up"] != "redeal"
    while True:
        cards = rng.sample(reference.deck(options), 11)
        if joker_may_turn_up and rng.random() < 0.15:
            if reference.JOKER in cards:
                cards.remove(reference.JOKER)
            cards.insert(10, reference.JOKER)
        if cards[10] != reference.JOKER or joker_may_turn_up:
            break
    low = max(0, target - 5) if rng.random() < 0.5 else 0
    scores = (rng.randrange(low, target), rng.randrange(low, target))
    return Game(options, rng.randrange(2), (cards[:5], cards[5:10]), cards[10], scores)


def random_deals(num: int, seed: int) -> Iterator[Game]:
    """Random deals that go through all the option sets in turn, in a shuffled order."""
    rng = random.Random(seed)
    every = option_sets()
    rng.shuffle(every)
    for i in range(num):
        options = {**every[i % len(every)], "target_score": rng.choice(TARGETS)}
        yield random_deal(rng, options)


def cards_mask(cards: Sequence[str] | set[str]) -> int:
    """Card names as the engine's mask."""
    return sum(1 << card_number(card) for card in cards)


def mask_cards(mask: int) -> set[str]:
    """The engine's mask as card names."""
    return {CARD_NAMES[number] for number in card_list(int(mask))}


def suit_number(suit: str | None) -> int:
    """A suit's letter as the engine's number."""
    return NO_SUIT if suit is None else SUIT_NAMES.index(suit)


def acts_mask(acts: set[str]) -> int:
    """The referee's acts as the engine's mask."""
    return sum(1 << action_number(act) for act in acts)


def act_text(action: int, phase: int) -> str:
    """The engine's act, done in a phase, as the referee writes it."""
    name = action_name(action)
    if name not in CARD_NAMES:
        return name
    return ("discard:" if phase == Phase.DISCARD else "play:") + name


def legal_texts(state: Any) -> set[str]:
    """The engine's legal acts as the referee writes them."""
    return {act_text(action, state.phase) for action in action_list(int(legal_actions(state)))}


def deal_states(games: Sequence[Game]) -> States:
    """Rows that hold the deals of some referee games before the first act.

    Each has a random stream of its own, so that a stream showing where it should not is seen.
    """
    states = np.concatenate([_new_row(game.options) for game in games])
    states["stream"] = np.arange(1, len(games) + 1)
    states["num_draws"] = np.arange(1, len(games) + 1)
    for state, game in zip(states, games, strict=True):
        state.dealer = game.dealer
        for seat in (0, 1):
            state.hands[seat] = cards_mask(game.dealt_hands[seat])
            state.scores[seat] = game.scores[seat] - game.points[seat]
        upcard = card_number(game.upcard)
        if not is_dealt_right(state, upcard):
            raise ValueError(f"the engine refuses {game.dealt_hands} {game.upcard}")
        lay_out(state, upcard)
    return states


_rows: dict[tuple[tuple[str, Any], ...], States] = {}


def _new_row(options: dict[str, Any]) -> States:
    key = tuple(options.items())
    if key not in _rows:
        _rows[key] = new_states(1, Rules(**options))
    return _rows[key]


def engine_at(game: Game) -> Any:
    """The engine's row (a record) for a referee game, brought there by the same acts."""
    state = deal_states([game])[0]
    for _, act in game.history:
        apply(state, action_number(act))
    return state


@kernel
def _trace(
    states: States,
    actions: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    snapshots: States,
    legal: npt.NDArray[np.int64],
    dealers: npt.NDArray[np.int64],
) -> None:
    for i in range(states.shape[0]):
        for k in range(lengths[i] + 1):
            snapshots[i, k] = states[i]
            legal[i, k] = legal_actions(states[i])
            if k < lengths[i]:
                apply(states[i], actions[i, k])
        dealers[i] = next_dealer(states[i])


class Trace(NamedTuple):
    """What the engine makes of deals and acts; ``k`` counts the acts done, 0 to the length."""

    snapshots: States
    """(n, 15): the row after k acts."""
    legal: npt.NDArray[np.int64]
    """(n, 15): ``legal_actions`` after k acts, a mask."""
    next_dealer: npt.NDArray[np.int64]
    """(n,): who deals next."""
    lengths: npt.NDArray[np.int64]
    """(n,): acts of the deal."""

    def present(self) -> npt.NDArray[np.bool_]:
        """(n, 15): which places of the other arrays mean something."""
        return np.arange(MAX_ACTIONS + 1) <= self.lengths[:, None]


def trace(games: Sequence[Game]) -> Trace:
    """Put the acts of referee games (each in its own deal) through the engine's kernels."""
    states = deal_states(games)
    actions = np.full((len(games), MAX_ACTIONS), -1, dtype=np.int64)
    lengths = np.array([len(game.history) for game in games], dtype=np.int64)
    for i, game in enumerate(games):
        actions[i, : lengths[i]] = [action_number(act) for _, act in game.history]
    snapshots = np.zeros((len(games), MAX_ACTIONS + 1), dtype=states.dtype)
    legal = np.zeros(snapshots.shape, dtype=np.int64)
    dealers = np.zeros(len(games), dtype=np.int64)
    _trace(states, actions, lengths, snapshots, legal, dealers)
    return Trace(snapshots, legal, dealers, lengths)


FACTS = (
    "legal",
    "to_act",
    "trump",
    "maker",
    "tricks 0",
    "tricks 1",
    "hands 0",
    "hands 1",
    "voids 0",
    "voids 1",
    "upcard",
    "upcard_place",
    "discard",
    "led_card",
    "points 0",
    "points 1",
    "scores 0",
    "scores 1",
    "winner",
    "deal over",
    "game over",
)
"""What is compared after every act: the columns of `referee_facts` and `engine_facts`."""


def referee_facts(game: Game) -> list[int]:
    """The referee's facts, in the engine's numbers."""
    return [
        acts_mask(game.legal()),
        NOBODY if game.to_act is None else game.to_act,
        suit_number(game.trump),
        NOBODY if game.maker is None else game.maker,
        *game.tricks,
        *(cards_mask(game.current_hand(seat)) for seat in (0, 1)),
        *(sum(1 << suit_number(suit) for suit in game.voids(seat)) for seat in (0, 1)),
        card_number(game.upcard),
        UPCARD_PLACES[game.upcard_place],
        NO_CARD if game.discard is None else card_number(game.discard),
        NO_CARD if game.led is None else card_number(game.led),
        *game.points,
        *game.scores,
        NOBODY if game.winner is None else game.winner,
        game.deal_over,
        game.game_over,
    ]


def engine_facts(traced: Trace) -> npt.NDArray[np.int64]:
    """The engine's facts, shape (n, 15, len(FACTS))."""
    rows = traced.snapshots
    columns = {"legal": traced.legal}
    columns["deal over"] = rows["phase"] >= Phase.DEAL_OVER
    columns["game over"] = rows["phase"] == Phase.GAME_OVER
    for fact in FACTS:
        field, _, seat = fact.partition(" ")
        if fact not in columns:
            columns[fact] = rows[field][..., int(seat)] if seat else rows[field]
    return np.stack([columns[fact].astype(np.int64) for fact in FACTS], axis=-1)
