"""From the turned card to trump: the bids and what they do, until the dealer has laid away.

What each bid leads to stands in one table, `BIDS`. Rules: R6-R13.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from euchre_env.actions import (
    ACCEPT,
    LEAVE,
    NAME,
    NAME_ACTIONS,
    NUM_ACTIONS,
    NUM_PHASES,
    ORDER_UP,
    PASS,
    TAKE,
    Phase,
)
from euchre_env.cards import NUM_SUITS
from euchre_env.kernel import int64, kernel
from euchre_env.rules import PICKUP_MUST, TURNED_DOWN_ALWAYS, TURNED_DOWN_STUCK
from euchre_env.state import NO_SUIT, NOBODY, UpcardPlace

_NONDEALER, _DEALER = 0, 1
_NAMED = -2  # in `BIDS`: trump is the suit that the act names
_TURNED = -3  # in `BIDS`: trump is the suit turned up
_STAYS = -1  # in `BIDS`: nothing changes


class _Bid(NamedTuple):
    """What a bid leads to; roles, not seats."""

    phase: Phase
    next_role: int = _STAYS
    maker_role: int = _STAYS
    trump: int = _STAYS
    upcard: int = _STAYS


_NAMES: Final = tuple(NAME + suit for suit in range(NUM_SUITS))
_OUTCOMES: Final[dict[tuple[Phase, tuple[int, ...]], _Bid]] = {
    (Phase.ORDER, (PASS,)): _Bid(Phase.ACCEPT, _DEALER),
    (Phase.ORDER, (ORDER_UP,)): _Bid(Phase.TAKE, _DEALER, _NONDEALER, _TURNED),
    (Phase.ACCEPT, (PASS,)): _Bid(
        Phase.NAME_FIRST, _NONDEALER, upcard=int(UpcardPlace.TURNED_DOWN)
    ),
    (Phase.ACCEPT, (ACCEPT,)): _Bid(
        Phase.DISCARD, _DEALER, _DEALER, _TURNED, int(UpcardPlace.TAKEN)
    ),
    (Phase.TAKE, (TAKE,)): _Bid(Phase.DISCARD, _DEALER, upcard=int(UpcardPlace.TAKEN)),
    (Phase.TAKE, (LEAVE,)): _Bid(Phase.PLAY, _NONDEALER, upcard=int(UpcardPlace.LEFT)),
    (Phase.NAME_FIRST, (PASS,)): _Bid(Phase.NAME_SECOND, _DEALER),
    (Phase.NAME_FIRST, _NAMES): _Bid(Phase.PLAY, _NONDEALER, _NONDEALER, _NAMED),
    (Phase.NAME_SECOND, (PASS,)): _Bid(Phase.DEAL_OVER),
    (Phase.NAME_SECOND, _NAMES): _Bid(Phase.PLAY, _NONDEALER, _DEALER, _NAMED),
    (Phase.NAME_BLIND, _NAMES): _Bid(
        Phase.DISCARD, _DEALER, _DEALER, _NAMED, int(UpcardPlace.TAKEN)
    ),
}


def _bids() -> npt.NDArray[np.int8]:
    table = np.full((2, NUM_PHASES, NUM_ACTIONS, len(_Bid._fields)), _STAYS, dtype=np.int8)
    for (phase, acts), outcome in _OUTCOMES.items():
        table[:, phase, list(acts)] = outcome
    # who must take the card goes straight to the discard: ordered up, taken, in one
    must = _OUTCOMES[Phase.TAKE, (TAKE,)]
    ordered = _OUTCOMES[Phase.ORDER, (ORDER_UP,)]
    table[PICKUP_MUST, Phase.ORDER, ORDER_UP] = ordered._replace(
        phase=must.phase, upcard=must.upcard
    )
    return table


BIDS: Final = _bids()
"""``[order_up_pickup, phase, act] -> (next phase, next role, maker's role, trump, upcard's
place)``; -1 where nothing changes. int8, shape (2, 10, 42, 5). R6-R8, R10, R13."""


def _legal_bids() -> npt.NDArray[np.int64]:
    masks = np.zeros(NUM_PHASES, dtype=np.int64)
    for phase, acts in _OUTCOMES:
        for act in acts:
            masks[phase] |= 1 << act
    return masks


LEGAL_BIDS: Final = _legal_bids()
"""``[phase] -> mask`` of the bids, before R10 and R12 take some away. int64, shape (10,)."""

_DISCARD, _DEAL_OVER = int(Phase.DISCARD), int(Phase.DEAL_OVER)
_NAME_FIRST, _NAME_SECOND = int(Phase.NAME_FIRST), int(Phase.NAME_SECOND)
_PLAY, _TAKEN = int(Phase.PLAY), int(UpcardPlace.TAKEN)
_PASS_BIT: Final = 1 << PASS


@kernel
def legal_bids(state: np.record) -> int:
    """The bids that may be made now, a mask of acts. R6-R8, R10, R12, R13."""
    phase = state.phase
    bids = LEGAL_BIDS[phase & 15]
    if phase == _NAME_FIRST or phase == _NAME_SECOND:
        is_stuck = phase == _NAME_SECOND and state.stick_the_dealer
        if is_stuck:
            bids &= ~_PASS_BIT
        allowed = state.allow_turned_down_suit
        if not (allowed == TURNED_DOWN_ALWAYS or (allowed == TURNED_DOWN_STUCK and is_stuck)):
            bids &= ~(int64(1) << (NAME + state.turned_suit))
    return bids


@kernel
def bid(state: np.record, action: int) -> None:
    """Make a legal bid: whose act is next, who is maker, what is trump, where the upcard goes."""
    outcome = BIDS[state.order_up_pickup & 1, state.phase & 15, action & 63]
    phase, next_role, maker_role = outcome[0], outcome[1], outcome[2]
    trump, upcard_place = outcome[3], outcome[4]
    dealer = state.dealer & 1
    state.phase = phase
    state.to_act = NOBODY if next_role == _STAYS else (dealer ^ 1 ^ next_role)
    if maker_role != _STAYS:
        state.maker = dealer ^ 1 ^ maker_role
    if trump == _NAMED:
        state.trump = action - NAME
    elif trump == _TURNED:
        state.trump = state.turned_suit
    if upcard_place != _STAYS:
        state.upcard_place = upcard_place
        if upcard_place == _TAKEN:
            state.hands[dealer] |= int64(1) << state.upcard


@kernel
def legal_discards(state: np.record) -> int:
    """The cards that the dealer may lay away, a mask. R9."""
    hand = state.hands[state.dealer & 1]
    if state.discard_upcard:
        return hand
    return hand & ~(int64(1) << state.upcard)


@kernel
def lay_away(state: np.record, discard: int) -> None:
    """Lay a card away face down; the nondealer leads. R7, R9, R14."""
    state.hands[state.dealer & 1] ^= int64(1) << discard
    state.discard = discard
    state.phase = _PLAY
    state.to_act = 1 - state.dealer


def bids_of(phase: int) -> int:
    """All bids that belong to a phase, a mask of acts (for explanations)."""
    return int(LEGAL_BIDS[phase])


assert NAME_ACTIONS == LEGAL_BIDS[Phase.NAME_BLIND]
assert NO_SUIT == NOBODY == _STAYS
