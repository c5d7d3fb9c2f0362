"""Back to a deal from its acts: the hands as dealt, the acts done again, each one checked.

A state holds its deal's whole history, so everything in it follows from the hands dealt, the
upcard, the dealer, the scores before and the acts. Records (``records``) and saved arrays
(``saving``) are read through here: whatever a file says, no act is done that is not legal.
Rules: R5-R16, R20.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from euchre_env.actions import NO_ACTION, NUM_ACTIONS
from euchre_env.dealing import is_dealt_right, lay_out, next_dealer
from euchre_env.engine import apply, legal_actions
from euchre_env.kernel import int64, kernel
from euchre_env.rules import OPTION_VALUES
from euchre_env.state import (
    MAX_ACTIONS,
    NO_CARD,
    NUM_SEATS,
    STATE_DTYPE,
    States,
    UpcardPlace,
    new_states,
)
from euchre_env.views import discard_place

_TAKEN: Final = int(UpcardPlace.TAKEN)

NO_FAULT: Final = -1
WRONG_DEAL: Final = MAX_ACTIONS
"""A fault that is no act's: the hands and the upcard are not 11 different cards of the deck."""

RULE_FIELDS: Final = (*OPTION_VALUES, "target_score", "deck")
"""The fields of a state that say what rules it is played by."""
_SEAT_FIELDS: Final = ("to_act", "dealer", "maker", "winner", "seat")
_PAIR_FIELDS: Final = tuple(
    name for name in STATE_DTYPE.names or () if STATE_DTYPE[name].shape == (NUM_SEATS,)
)


@kernel
def dealt_hand(state: np.record, seat: int) -> int:
    """The cards, a mask, that a seat was dealt, as far as the state (or view) tells. R5."""
    hand = state.hands[seat & 1] | state.played[seat & 1]
    if seat == state.dealer and state.upcard_place == _TAKEN:
        if state.discard != NO_CARD:
            hand |= int64(1) << state.discard
        hand &= ~(int64(1) << state.upcard)
    return hand


@kernel
def _dealt_hands(states: States, hands: npt.NDArray[np.int64]) -> None:
    for i in range(states.shape[0]):
        for seat in range(NUM_SEATS):
            hands[i, seat] = dealt_hand(states[i], seat)


def dealt_hands(states: States) -> npt.NDArray[np.int64]:
    """`dealt_hand` of both seats of every row: masks, int64, shape (n, 2)."""
    hands = np.empty((len(states), NUM_SEATS), dtype=np.int64)
    _dealt_hands(states, hands)
    return hands


@kernel
def _discard_places(states: States, places: npt.NDArray[np.int64]) -> None:
    for i in range(states.shape[0]):
        places[i] = discard_place(states[i])


def discard_places(states: States) -> npt.NDArray[np.int64]:
    """`views.discard_place` of every row: int64, shape (n,), -1 where nothing was laid away."""
    places = np.empty(len(states), dtype=np.int64)
    _discard_places(states, places)
    return places


@kernel
def do_again(
    states: States,
    upcards: npt.NDArray[np.int64],
    acts: npt.NDArray[np.int8],
    faults: npt.NDArray[np.int64],
) -> None:
    """Lay out deals and do their acts, checking the deal and every act.

    Args:
        states: shape (n,): rules, dealer, hands as dealt, the scores before the deal and the
            number of the deal before it are set; changed in place.
        upcards: 0..32, shape (n,).
        acts: shape (n, 14), `NO_ACTION` behind the last one.
        faults: written: `NO_FAULT`, the place of the first act that is not legal, or
            `WRONG_DEAL`; a row stays where its fault was found.
    """
    for i in range(states.shape[0]):
        state = states[i]
        faults[i] = WRONG_DEAL
        if not is_dealt_right(state, upcards[i]):
            continue
        lay_out(state, upcards[i])
        faults[i] = NO_FAULT
        for place in range(MAX_ACTIONS):
            action = int64(acts[i, place])
            if action == NO_ACTION:
                break
            if not 0 <= action < NUM_ACTIONS or not legal_actions(state) >> action & 1:
                faults[i] = place
                break
            apply(state, action)


@kernel
def _next_dealers(states: States, dealers: npt.NDArray[np.int64]) -> None:
    for i in range(states.shape[0]):
        dealers[i] = next_dealer(states[i])


def next_dealers(states: States) -> npt.NDArray[np.int64]:
    """`dealing.next_dealer` of every row whose deal is over: int64, shape (n,). R11, R20."""
    dealers = np.empty(len(states), dtype=np.int64)
    _next_dealers(states, dealers)
    return dealers


def undone(states: States) -> States:
    """The deals of full states, the acts undone: what `do_again` takes. The arguments stay."""
    again = new_states(len(states))
    for name in (*RULE_FIELDS, "stream", "num_draws", "dealer"):
        again[name] = states[name]
    again["scores"] = states["scores"] - states["points"]
    again["deal_number"] = states["deal_number"] - 1
    again["hands"] = dealt_hands(states)
    return again


def done_again(states: States) -> tuple[States, npt.NDArray[np.int64]]:
    """Full states once more, each from its deal by its own acts; and what was at fault.

    Returns:
        States, equal to those given where they are sound; and `do_again`'s faults, shape (n,).
    """
    again = undone(states)
    faults = np.empty(len(states), dtype=np.int64)
    do_again(again, states["upcard"].astype(np.int64), states["history"], faults)
    return again, faults


def with_seats_swapped(states: States, swapped: bool | npt.NDArray[np.bool_] = True) -> States:
    """The same games with seat 0 and seat 1 exchanged where asked; a copy.

    Args:
        states: full states, shape (n,).
        swapped: for all rows, or bool of shape (n,).
    """
    rows = np.broadcast_to(np.asarray(swapped, dtype=np.bool_), states.shape)
    mirrored = states.copy()
    for name in _PAIR_FIELDS:
        mirrored[name][rows] = states[name][rows][:, ::-1]
    for name in _SEAT_FIELDS:
        seats = states[name][rows]
        mirrored[name][rows] = np.where(seats >= 0, 1 - seats, seats)
    return mirrored
