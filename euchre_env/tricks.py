"""The tricks: which cards may be played, who wins, who leads next. Rules: R14-R16, R18."""

import numpy as np

from euchre_env.actions import Phase
from euchre_env.cards import HAND_SIZE
from euchre_env.kernel import int64, kernel
from euchre_env.rules import BEATS, DECIDED, EFFECTIVE_SUIT, SUIT_CARDS
from euchre_env.state import NO_CARD, NOBODY

_DEAL_OVER = int(Phase.DEAL_OVER)


@kernel
def playable(hand_cards: int, led_card: int, trump: int) -> int:
    """Cards of a hand that may be played to the trick.

    Who can follow the led suit must; the left bower follows trump. R15.

    Args:
        hand_cards: mask of the cards held, not 0 (unchecked: callers are kernels).
        led_card: 0..32, or -1 when this seat leads.
        trump: suit 0..3.

    Returns:
        Mask, a non-empty subset of ``hand_cards``.
    """
    if led_card < 0:
        return hand_cards
    following = hand_cards & SUIT_CARDS[trump & 3, EFFECTIVE_SUIT[trump & 3, led_card & 63] & 3]
    return following if following else hand_cards


@kernel
def is_decided(state: np.record) -> bool:
    """Whether no trick to come can change the points of the deal. R18."""
    maker = state.maker
    return DECIDED[state.super_euchre, state.tricks[maker], state.tricks[1 - maker]]


@kernel
def play(state: np.record, played_card: int) -> None:
    """Play a legal card: lead it, or complete the trick, whose winner leads next. R14-R16, R18."""
    seat = state.to_act & 1
    led_card = state.led_card
    bit = int64(1) << played_card
    state.hands[seat] ^= bit
    state.played[seat] |= bit
    if led_card < 0:
        state.led_card = played_card
        state.leads[seat] |= 1 << (state.tricks[0] + state.tricks[1])
        state.to_act = 1 - seat
        return
    trump = state.trump & 3
    led_suit = EFFECTIVE_SUIT[trump, led_card & 63]
    if EFFECTIVE_SUIT[trump, played_card & 63] != led_suit:
        state.voids[seat] |= 1 << led_suit
    follower_wins = BEATS[trump, led_card & 63] >> played_card & 1
    winner = seat if follower_wins else 1 - seat
    state.tricks[winner & 1] += 1
    state.led_card = NO_CARD
    state.to_act = winner
    is_last = state.tricks[0] + state.tricks[1] == HAND_SIZE
    if is_last or (state.stop_when_decided and is_decided(state)):
        state.phase = _DEAL_OVER
        state.to_act = NOBODY
