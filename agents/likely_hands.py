"""What a player is likely to hold: the model of him, weighed over all hands, inside kernels.

The model is the bidder: bids and discards have its table's probabilities; a card is as likely as
it is good, a soft maximum of its values over worlds drawn as *he* sees them. Each act multiplies
the weight of every hand by its chance, so the weights are the exact posterior (Bayes' rule;
`agents.beliefs` does the same for any agent, from Python).

`likely_hands` says what the other holds as far as one seat knows. `public_hands` says what a seat
holds as far as *both* know, with no hand seen: what the last tricks are solved with
(`agents.endgame`). Rules: R9, R15, R22.
"""

from math import comb
from typing import Final

import numba
import numpy as np
import numpy.typing as npt

from agents.bid_table import MOST_ACTS, act_weights, table_at
from agents.bidder import BIDDER_DTYPE
from agents.expert_bids import expert_bid
from agents.models import view_key
from agents.open_hands import fold
from agents.pimc import MAX_CHOICES
from agents.replay import act_at, cards_left, deals_into, lay_out_again, pose
from agents.search import card_values
from euchre_env.actions import HIDDEN_DISCARD, Phase
from euchre_env.cards import HAND_SIZE
from euchre_env.engine import apply, legal_actions
from euchre_env.kernel import as_pointer, copy_row, int64, kernel, popcount
from euchre_env.state import NO_CARD, States
from euchre_env.views import blank_into, discard_place

_PLAY, _BLIND = int(Phase.PLAY), int(Phase.NAME_BLIND)
MAX_DEALT: Final = comb(18, HAND_SIZE)
"""Hands that he may have been dealt, with the 24 cards that the table of bids is for."""
_SEED: Final = np.uint64(0x5DEECE66D)

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
                ("endgame_rounds", np.int64),
            ]
        ),
    )
)
"""`belief_search.BeliefSettings` in memory; `model` is the bidder as whom a player is seen."""


@kernel
def belief_at(address: int) -> np.record:
    """The record of dtype `BELIEF_DTYPE` at an address."""
    return numba.carray(as_pointer(address), (1,), BELIEF_DTYPE)[0]


# --- the model of a player ------------------------------------------------------------------------


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
    """How likely a player is thought to do an act.

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
    player = state.to_act
    has_laid_away = state.dealer == player and discard_place(state) >= 0
    most = 0.0
    for i in range(dealt.shape[0]):
        for k in range(firsts[i], firsts[i + 1]):
            if weights[k] == 0.0:
                continue
            pose(state, player, dealt[i], discards[k] if has_laid_away else NO_CARD, asked)
            bits = legal_actions(asked)
            if bits & (bits - 1):
                wanted = int64(discards[k] if action < 0 else action)
                weights[k] *= act_chance(asked, bits, wanted, memory)
            most = max(most, weights[k])
    for k in range(weights.shape[0]):
        if weights[k] < memory.prune * most:
            weights[k] = 0.0


@kernel
def _weigh_acts(
    view: np.record,
    player: int,
    num_acts: int,
    world: tuple[int, int],
    dealt: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
    weights: npt.NDArray[np.float64],
    rows: States,
    memory: np.record,
) -> None:
    """Write the weight of every candidate: the product of the chances of what a player did.

    Args:
        view: of either seat.
        player: whose acts are weighed, 0 or 1.
        num_acts: how far into the history.
        world: what the other of the view may have been dealt and laid away; what is public of the
            deal does not depend on it.
        dealt: candidates for the player, as ``replay.deals_into`` writes them; shape (n,).
        firsts: where the discards of each begin; shape (n + 1,).
        discards: shape (m,).
        weights: shape (m,), written; not normalised.
        rows: two, to work with.
        memory: a record of dtype `BELIEF_DTYPE`.
    """
    weights[:] = 1.0
    state, asked = rows[0], rows[1]
    laid_away = discard_place(view)
    lay_out_again(view, world[0], state)
    for place in range(num_acts):
        if state.to_act == player and state.phase != _BLIND:
            blank_into(state, player, asked)
            action = int64(HIDDEN_DISCARD if place == laid_away else view.history[place])
            _weigh_act(state, action, dealt, firsts, discards, weights, asked, memory)
        apply(state, act_at(view, place, world[1]))


@kernel
def likely_hands(
    view: np.record,
    memory: np.record,
    hands: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    rows: States,
) -> int:
    """Write what the other may hold by now, folded by trump, with its weight.

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
    other, world = 1 - view.seat, (int64(dealt[0]), int64(discards[0]))
    found = weights[: firsts[num]]
    _weigh_acts(view, other, view.num_actions, world, dealt, firsts, discards, found, rows, memory)
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
def _hide_hands(view: np.record, seat: int, public: np.record) -> None:
    """Write what is public at the start of the trick, as a view of a seat that knows no hand."""
    copy_row(public, view)
    public.seat = seat
    public.hands[0] = 0
    public.hands[1] = 0
    public.discard = NO_CARD
    if view.led_card >= 0:
        public.led_card = NO_CARD
        public.played[1 - view.to_act & 1] &= ~(int64(1) << view.led_card)


@kernel
def public_hands(
    view: np.record,
    player: int,
    memory: np.record,
    hands: npt.NDArray[np.int64],
    bars: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    rows: States,
) -> int:
    """Write what a seat may hold at the start of this trick, as far as both seats know.

    How likely two hands, one of each seat, are together is the product of their weights, or 0
    where their ``bars`` have a card in common.

    Args:
        view: of either seat, to play; its rules are those of the table of bids.
        player: the seat whose hands are wanted, 0 or 1.
        memory: a record of dtype `BELIEF_DTYPE`.
        hands: int64, masks of cards (not folded), written.
        bars: int64, written: the hand, and what was laid away for it.
        weights: float64, written; not normalised.
        rows: three, to work with.

    Returns:
        How many were written; with two cards left in each hand at most 2,448.
    """
    dealt = np.zeros(MAX_DEALT, dtype=np.int64)
    firsts = np.zeros(MAX_DEALT + 1, dtype=np.int64)
    discards = np.zeros(MAX_DEALT * (HAND_SIZE + 1), dtype=np.int8)
    deals_into(view, dealt, firsts, discards)
    world = (int64(dealt[0]), int64(discards[0]))
    _hide_hands(view, 1 - player, rows[2])
    num = deals_into(rows[2], dealt, firsts, discards)
    dealt, firsts, discards = dealt[:num], firsts[: num + 1], discards[: firsts[num]]
    found = np.zeros(firsts[num])
    num_acts = view.num_actions - (view.led_card >= 0)
    _weigh_acts(view, player, num_acts, world, dealt, firsts, discards, found, rows, memory)
    written = 0
    for i in range(num):
        for k in range(firsts[i], firsts[i + 1]):
            if found[k] > 0.0:
                hand = cards_left(rows[2], player, dealt[i], discards[k])
                hands[written] = hand
                bars[written] = hand
                if discards[k] != NO_CARD:
                    bars[written] |= int64(1) << discards[k]
                weights[written] = found[k]
                written += 1
    return written
