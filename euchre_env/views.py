"""What a seat knows: the one door through which cards go up to agents, observation and drawing.

`blank` turns states into *views*: the same records with everything blanked that the seat cannot
know. `fill` goes the other way and draws full deals that fit a view, each as likely as the next.
Rules: R9, R13, R15, R22.
"""

from math import comb
from typing import Final

import numba
import numpy as np
import numpy.typing as npt

from euchre_env.actions import HIDDEN_DISCARD, Phase
from euchre_env.cards import HAND_SIZE, NUM_CARDS, NUM_SUITS
from euchre_env.dealing import AGENTS, DEALS, as_streams, below, substream
from euchre_env.kernel import as_pointer, copy_row, int64, kernel, nth, popcount
from euchre_env.rules import SUIT_CARDS
from euchre_env.state import MAX_ACTIONS, NO_CARD, NOBODY, STATE_DTYPE, States, UpcardPlace

_BLIND, _DISCARD = int(Phase.NAME_BLIND), int(Phase.DISCARD)
_TAKEN: Final = int(UpcardPlace.TAKEN)

COMBINATIONS: Final = np.array(
    [[comb(n, k) for k in range(HAND_SIZE + 1)] for n in range(NUM_CARDS + 1)], dtype=np.int64
)
"""``[n, k]``: hands of k cards out of n. int64, shape (34, 6)."""


@kernel
def row_at(address: int) -> np.record:
    """The state row at an address in memory: how a compiled policy reads its view."""
    return numba.carray(as_pointer(address), (1,), STATE_DTYPE)[0]


@kernel
def discard_place(state: np.record) -> int:
    """Where the discard stands in the history, or -1 when nothing was laid away."""
    if state.upcard_place != _TAKEN or state.phase == _DISCARD:
        return -1
    for i in range(MAX_ACTIONS):
        action = state.history[i]
        if action == HIDDEN_DISCARD or 0 <= action < NUM_CARDS:
            return i
    return -1


@kernel
def blank_into(state: np.record, seat: int, view: np.record) -> None:
    """Write what a seat knows of a state into a row that is its view. R22.

    Args:
        state: a full state.
        seat: 0 or 1, the seat that looks.
        view: overwritten.
    """
    copy_row(view, state)
    view.seat = seat
    view.stream = 0
    view.num_draws = 0
    other = 1 - seat
    known = int64(0)
    if state.dealer == other and state.upcard_place == _TAKEN:
        if state.phase == _DISCARD or not state.discard_upcard:
            known = state.hands[other] & (int64(1) << state.upcard)
        if state.discard != NO_CARD:
            view.discard = NO_CARD
            view.history[discard_place(state)] = HIDDEN_DISCARD
    view.hands[other] = known
    if state.phase == _BLIND and state.dealer == seat:
        view.hands[seat] = 0


@kernel
def hand_size(view: np.record, seat: int) -> int:
    """How many cards a seat holds: public, though the cards are not."""
    holds_upcard_too = view.phase == _DISCARD and view.dealer == seat
    return HAND_SIZE + holds_upcard_too - popcount(view.played[seat])


@kernel
def unseen(view: np.record) -> int:
    """The cards, a mask, that the seat of a view cannot place: the other's, laid away or stock."""
    seat = view.seat
    seen = view.hands[seat] | view.played[0] | view.played[1] | (int64(1) << view.upcard)
    if view.discard != NO_CARD:
        seen |= int64(1) << view.discard
    return view.deck & ~seen


@kernel
def may_hold(view: np.record) -> int:
    """The cards, a mask, that the other player may hold as far as the view's seat knows.

    Shown failures to follow suit are respected (R15); a taken upcard belongs to it until it is
    played (with ``discard_upcard`` it may have been laid away).
    """
    other = 1 - view.seat
    if hand_size(view, other) == popcount(view.hands[other]):
        return view.hands[other]  # no card left, or only cards known to be there
    held = unseen(view)
    if view.upcard_place == _TAKEN and view.dealer == other:
        held |= (int64(1) << view.upcard) & ~view.played[other]
    if view.voids[other]:
        for suit in range(NUM_SUITS):
            if view.voids[other] >> suit & 1:
                held &= ~SUIT_CARDS[view.trump, suit]
    return held


@kernel
def _draw(pool: int, num: int, word: np.uint64) -> int:
    """``num`` cards of a pool, every choice as likely, by a random stream."""
    drawn = int64(0)
    for k in range(num):
        left = pool & ~drawn
        drawn |= int64(1) << nth(left, below(substream(word, DEALS, k), popcount(left)))
    return drawn


@kernel
def _fill_into(view: np.record, stream: np.uint64, state: np.record) -> None:
    """Write one full deal that fits a view into a row that is its state."""
    copy_row(state, view)
    state.seat = NOBODY
    state.stream = substream(stream, AGENTS, 0)
    seat, other = view.seat, 1 - view.seat
    word = substream(stream, AGENTS, 1)
    if view.phase == _BLIND and view.dealer == seat:
        state.hands[seat] = _draw(unseen(view), HAND_SIZE, substream(stream, AGENTS, 2))
        state.hands[other] = _draw(unseen(view) & ~state.hands[seat], HAND_SIZE, word)
        return
    size = hand_size(view, other)
    place = discard_place(view)
    if view.dealer != other or place < 0:  # nothing was laid away that the seat has not seen
        known = view.hands[other]
        state.hands[other] = known | _draw(may_hold(view) & ~known, size - popcount(known), word)
        return
    upcard = int64(1) << view.upcard
    held = may_hold(view)
    others = held & ~upcard
    hidden = unseen(view)
    if view.discard_upcard and not view.played[other] & upcard:
        # weigh: upcard in hand and any other card laid away, or the upcard itself laid away
        in_hand = int64(0)
        if held & upcard:
            in_hand = COMBINATIONS[popcount(others), size - 1] * (popcount(hidden) - size + 1)
        laid_away = COMBINATIONS[popcount(others), size]
        if below(substream(stream, AGENTS, 3), in_hand + laid_away) < in_hand:
            known = upcard
        else:
            state.hands[other] = _draw(others, size, word)
            state.discard = view.upcard
            state.history[place] = view.upcard
            return
    else:
        known = view.hands[other]
    hand = known | _draw(others, size - popcount(known), word)
    state.hands[other] = hand
    rest = hidden & ~hand
    laid = nth(rest, below(substream(stream, AGENTS, 4), popcount(rest)))
    state.discard = laid
    state.history[place] = laid


@kernel
def _blank_all(states: States, seats: npt.NDArray[np.int64], views: States) -> bool:
    """Whether they were states and seats, and are blanked."""
    for i in range(states.shape[0]):
        if not may_look(states[i], seats[i]):
            return False
        blank_into(states[i], seats[i], views[i])
    return True


@kernel
def _fill_all(views: States, streams: npt.NDArray[np.uint64], states: States) -> None:
    for i in range(views.shape[0]):
        _fill_into(views[i], streams[i], states[i])


@kernel
def _may_hold_all(views: States, held: npt.NDArray[np.int64]) -> None:
    for i in range(views.shape[0]):
        held[i] = may_hold(views[i])


NOT_TO_BE_LOOKED_AT: Final = (
    "a seat is 0 or 1, and looks at full states: these are views already, or seats of another kind"
)


@kernel
def may_look(state: np.record, seat: int) -> bool:
    """Whether this is a full state, and the seat one of the two."""
    return state.seat == NOBODY and (seat == 0 or seat == 1)


def with_seats(states: States, seats: int | npt.ArrayLike) -> tuple[States, npt.NDArray[np.int64]]:
    """States and the seats that look at them, as kernels take them: shapes (n,).

    Raises:
        ValueError: the seats are no whole numbers.
    """
    rows = np.atleast_1d(np.asarray(states))
    chosen = np.asarray(seats)
    if not np.issubdtype(chosen.dtype, np.integer):
        raise ValueError(f"seats={seats!r}: a seat is 0 or 1")
    if chosen.shape != rows.shape:
        chosen = np.broadcast_to(chosen, rows.shape)
    return rows, np.ascontiguousarray(chosen, dtype=np.int64)


def blank(states: States, seats: int | npt.ArrayLike) -> States:
    """What seats know of states. R22.

    Args:
        states: full states, shape (n,) (or one row).
        seats: the seat that looks at each, 0 or 1: one number or shape (n,).

    Returns:
        Views, dtype `STATE_DTYPE`, shape (n,). In a view ``seat`` is the seat that sees it; the
        other's ``hands`` entry holds only cards known to be there; an unknown discard reads
        `HIDDEN_DISCARD` in the history; the random stream is 0.

    Raises:
        ValueError: a seat that is neither 0 nor 1, or views given as states.
    """
    rows, lookers = with_seats(states, seats)
    views = np.empty(rows.shape, dtype=STATE_DTYPE)
    if not _blank_all(rows, lookers, views):
        raise ValueError(NOT_TO_BE_LOOKED_AT)
    return views


def fill(views: States, rng: int | np.random.Generator | npt.NDArray[np.uint64]) -> States:
    """Draw full deals that fit views, uniformly over all that fit.

    A deal fits when the other player's hand (and the discard, where the dealer laid one away) is
    made of cards that the seat cannot place, and holds no suit that he failed to follow.

    Args:
        views: shape (n,) (or one row).
        rng: a seed, a generator, or one uint64 key a row (see ``dealing.as_streams``).

    Returns:
        Full states, shape (n,), each with a fresh random stream for the deals to come.

    Raises:
        ValueError: full states given as views.
    """
    rows = np.atleast_1d(np.asarray(views))
    if (rows["seat"] == NOBODY).any():
        raise ValueError("these are full states, not views: there is nothing to fill")
    states = np.empty(rows.shape, dtype=STATE_DTYPE)
    _fill_all(rows, as_streams(rng, len(rows)), states)
    return states


def cards_held(views: States) -> npt.NDArray[np.int64]:
    """`may_hold` of every view: masks, int64, shape (n,)."""
    held = np.empty(len(views), dtype=np.int64)
    _may_hold_all(views, held)
    return held
