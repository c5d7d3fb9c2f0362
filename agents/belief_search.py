"""The belief agent: search over what the other is likely to hold, given how he acted.

Perfect-information Monte Carlo (Ginsberg, JAIR 2001) values a card over worlds; drawn alike, they
forget that a player who has passed holds few trumps. Here every hand that fits is gone through,
weighted by the exact posterior (`agents.beliefs`): the chances of all that he did, by a model of
him. So the tree's own structure is used as it was to be (Long et al., AAAI 2010), and inference,
which plain search lacks, is added.

The model of him is the bidder: bids and discards have its table's probabilities; a card is as
likely as it is good, a soft maximum of its values over worlds drawn as *he* sees them. Bids are
the bidder's own. Under rules that its table does not cover, the agent plays as the bidder does.

Name: ``belief``.
"""

from dataclasses import dataclass, field
from math import comb
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from agents.base import CompiledAgent
from agents.bid_table import MOST_ACTS, act_weights, bid_rules, table_at
from agents.bidder import BIDDER_DTYPE, BidderAgent, BidderSettings, table_bid
from agents.expert_bids import expert_bid
from agents.models import view_key
from agents.open_hands import fold, open_hands_at
from agents.pimc import MAX_CHOICES, NUM_GAINS, best_card, value_cards, write_gains
from agents.replay import act_at, cards_left, deals_into, lay_out_again, pose
from agents.search import Settings, card_values, search_card
from agents.worlds import has_hidden_discard
from euchre_env.actions import Phase
from euchre_env.cards import HAND_SIZE
from euchre_env.engine import apply, legal_actions
from euchre_env.kernel import as_pointer, int64, kernel, lowest, popcount
from euchre_env.state import NO_CARD, STATE_DTYPE, States
from euchre_env.views import blank_into, discard_place, row_at

_PLAY, _BLIND = int(Phase.PLAY), int(Phase.NAME_BLIND)
MAX_DEALT: Final = comb(18, HAND_SIZE)
"""Hands that he may have been dealt, with the 24 cards that the table of bids is for."""
_SEED: Final = np.uint64(0x5DEECE66D)


@dataclass(frozen=True)
class BeliefSettings:
    """How the belief agent plays, and what it takes the other for.

    Raises:
        ValueError: a number out of range.
    """

    bidder: BidderSettings = field(default_factory=BidderSettings)
    """Its bids, and all its play where the table of bids does not cover the rules."""
    model_worlds: int = 20
    """Worlds that the other is thought to look at for a card, 1 or more; 0: all that fit."""
    temperature: float = 0.1
    """Points that make a card e times as likely in the model of him, above 0."""
    floor: float = 0.01
    """Share of his bids and discards that are any legal act, 0 to 1."""
    card_floor: float = 0.1
    """Share of his cards that are any legal card, 0 to 1."""
    prune: float = 1e-3
    """Worlds less likely than this part of the likeliest are left out, 0 to 1."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("floor", "card_floor", "prune"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)}: it is 0 to 1")
        if not 0 < self.temperature < np.inf:
            raise ValueError(f"temperature={self.temperature}: it is above 0")
        Settings(worlds=self.model_worlds)


BELIEF_DTYPE: Final = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("bidder", BIDDER_DTYPE),
                ("model", BIDDER_DTYPE),
                ("temperature", np.float64),
                ("floor", np.float64),
                ("card_floor", np.float64),
                ("prune", np.float64),
            ]
        ),
    )
)
"""`BeliefSettings` in memory; `model` is the bidder as whom the other is seen."""


@kernel
def belief_at(address: int) -> np.record:
    """The record of dtype `BELIEF_DTYPE` at an address."""
    return numba.carray(as_pointer(address), (1,), BELIEF_DTYPE)[0]


# --- the model of the other -----------------------------------------------------------------------


@kernel
def _bid_chance(view: np.record, bits: int, action: int, memory: np.record) -> float:
    """How likely the model bids or lays away so."""
    model, num = memory.model, popcount(bits)
    weights = np.zeros(MOST_ACTS)
    total = act_weights(table_at(model.bid_address), view, bits, model.least, weights)
    if total > 0:
        share = weights[popcount(bits & (int64(1) << action) - 1)] / total
    else:
        share = 1.0 if expert_bid(view, bits, model.search.bids) == action else 0.0
    return memory.floor / num + (1.0 - memory.floor) * share


@kernel
def _card_chance(view: np.record, cards: int, card: int, memory: np.record) -> float:
    """How likely the model plays a card: a soft maximum of what the cards are worth to it."""
    num, trump = popcount(cards), view.trump & 3
    totals = np.zeros(MAX_CHOICES)
    worlds = card_values(view, cards, view_key(view, _SEED), memory.model.search, totals)
    best = totals[:num].max()
    folded = fold(int64(1) << card, trump)
    place = popcount(fold(cards, trump) & folded - 1)
    total = 0.0
    for k in range(num):
        totals[k] = np.exp((totals[k] - best) / (worlds * memory.temperature))
        total += totals[k]
    return memory.card_floor / num + (1.0 - memory.card_floor) * totals[place] / total


@kernel
def act_chance(view: np.record, bits: int, action: int, memory: np.record) -> float:
    """How likely the other is thought to do an act.

    Args:
        view: what he sees, at an act of his; its rules are those of the table of bids.
        bits: mask of the legal acts.
        action: one of them.
        memory: a record of dtype `BELIEF_DTYPE`.
    """
    if view.phase == _PLAY:
        return _card_chance(view, bits, action, memory)
    return _bid_chance(view, bits, action, memory)


# --- what he holds --------------------------------------------------------------------------------


@kernel
def _weigh_act(
    state: np.record,
    action: int,
    dealt: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
    weights: npt.NDArray[np.float64],
    asked: np.record,
    memory: np.record,
) -> None:
    """Multiply every world's weight by the chance of one act of his; drop what became unlikely."""
    other = state.to_act
    has_laid_away = state.dealer == other and discard_place(state) >= 0
    most = 0.0
    for i in range(dealt.shape[0]):
        for k in range(firsts[i], firsts[i + 1]):
            if weights[k] == 0.0:
                continue
            pose(state, other, dealt[i], discards[k] if has_laid_away else NO_CARD, asked)
            bits = legal_actions(asked)
            if bits & (bits - 1):
                wanted = int64(discards[k] if action < 0 else action)
                weights[k] *= act_chance(asked, bits, wanted, memory)
            most = max(most, weights[k])
    for k in range(weights.shape[0]):
        if weights[k] < memory.prune * most:
            weights[k] = 0.0


@kernel
def likely_hands(
    view: np.record,
    memory: np.record,
    hands: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    rows: States,
) -> int:
    """Write what he may hold by now, folded by trump, with its weight.

    Args:
        view: to play; its rules are those of the table of bids.
        memory: a record of dtype `BELIEF_DTYPE`.
        hands: int64, 6 * `MAX_DEALT` places are enough, written.
        weights: float64, as long, written; not normalised.
        rows: two, to work with; the caller's, since a row taken from an array of this kernel's
            own would not keep it alive (`euchre_env.kernel`).

    Returns:
        How many worlds were written; a hand stands there once for each discard that is likely.
    """
    dealt = np.zeros(MAX_DEALT, dtype=np.int64)
    firsts = np.zeros(MAX_DEALT + 1, dtype=np.int64)
    discards = np.zeros(MAX_DEALT * (HAND_SIZE + 1), dtype=np.int8)
    num = deals_into(view, dealt, firsts, discards)
    dealt, firsts, discards = dealt[:num], firsts[: num + 1], discards[: firsts[num]]
    weights[: firsts[num]] = 1.0
    state, asked = rows[0], rows[1]
    other = 1 - view.seat
    lay_out_again(view, dealt[0], state)
    for place in range(view.num_actions):
        if state.to_act == other and state.phase != _BLIND:
            blank_into(state, other, asked)
            action = view.history[place]
            _weigh_act(
                state, action, dealt, firsts, discards, weights[: firsts[num]], asked, memory
            )
        apply(state, act_at(view, place, discards[0]))
    written = 0
    for i in range(num):
        for k in range(firsts[i], firsts[i + 1]):
            if weights[k] > 0.0:
                hands[written] = fold(
                    cards_left(view, other, dealt[i], discards[k]), view.trump & 3
                )
                weights[written] = weights[k]
                written += 1
    return written


@kernel
def belief_card(view: np.record, cards: int, memory: np.record, rows: States) -> int:
    """The card that is worth most over his likely hands.

    Args:
        view: to play; its rules are those of the table of bids.
        cards: the legal ones, a mask that is not 0.
        memory: a record of dtype `BELIEF_DTYPE`.
        rows: two, to work with.
    """
    if cards & (cards - 1) == 0:
        return lowest(cards)
    most = MAX_DEALT * (HAND_SIZE + 1) if has_hidden_discard(view) else MAX_DEALT
    hands = np.zeros(most, dtype=np.int64)
    numbers = np.zeros(most + NUM_GAINS + MAX_CHOICES)
    weights, gains, totals = (
        numbers[:most],
        numbers[most : most + NUM_GAINS],
        numbers[-MAX_CHOICES:],
    )
    num = likely_hands(view, memory, hands, weights, rows)
    search = memory.bidder.search
    write_gains(view, search.trick_weight, gains)
    table = open_hands_at(search.table_address)
    value_cards(view, cards, table, hands[:num], weights[:num], gains, totals)
    return best_card(view.trump & 3, cards, totals)


@kernel
def _belief(
    view: np.record, legal_bits: int, stream: np.uint64, memory_address: int, rows: States
) -> int:
    """The belief agent's act; always one of ``legal_bits``."""
    memory = belief_at(memory_address)
    bidder = memory.bidder
    if view.phase == _PLAY:
        if bid_rules(view) == bidder.rules:
            return belief_card(view, legal_bits, memory, rows)
        return search_card(view, legal_bits, stream, bidder.search)
    action = table_bid(view, legal_bits, stream, bidder)
    return action if action >= 0 else expert_bid(view, legal_bits, bidder.search.bids)


@kernel
def _belief_batch(
    views: States,
    bits: npt.NDArray[np.int64],
    rng: npt.NDArray[np.uint64],
    memory_address: int,
    actions: npt.NDArray[np.int64],
) -> None:
    rows = np.empty(2, dtype=STATE_DTYPE)
    for i in range(views.shape[0]):
        actions[i] = _belief(views[i], bits[i], rng[i], memory_address, rows)


def _belief_policy(
    view_address: int, legal_bits: int, stream: np.uint64, memory_address: int
) -> int:
    rows = np.empty(2, dtype=STATE_DTYPE)
    return _belief(row_at(view_address), legal_bits, stream, memory_address, rows)


class BeliefAgent(CompiledAgent):
    """Bids as the bidder does; plays the card that is best over what the other likely holds."""

    batch, policy = staticmethod(_belief_batch), staticmethod(_belief_policy)
    rows_a_thread = 0  # in threads a batch differed now and then: freed memory, or another fault

    def __init__(self, settings: BeliefSettings | None = None) -> None:
        """Take the settings to play by; the tuned ones when None."""
        self.settings = settings or BeliefSettings()
        self.name = "belief"
        self._bidder = BidderAgent(self.settings.bidder)
        own = self.settings
        model = BidderAgent(BidderSettings(search=Settings(worlds=own.model_worlds)))
        self._model = model
        memory = np.zeros(1, dtype=BELIEF_DTYPE)
        memory["bidder"], memory["model"] = self._bidder.memory, model.memory
        for name in ("temperature", "floor", "card_floor", "prune"):
            memory[name] = getattr(own, name)
        self.memory = memory

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are made anew: the memory holds addresses of this process."""
        return type(self), (self.settings,)


def belief_agent(argument: str = "") -> BeliefAgent:
    """The agent named ``belief``.

    Args:
        argument: ``""``.

    Raises:
        ValueError: another argument.
    """
    if argument:
        raise ValueError("it takes no argument")
    return BeliefAgent()
