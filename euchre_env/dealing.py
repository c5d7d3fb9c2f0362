"""Chance: the random stream that each game owns, the shuffle, the deal, who deals next.

A game's random numbers are a function of its own key and of how many deals it has drawn, of
nothing else: not the batch it stands in, its place there, the other games, the acts, or threads.
Deal number k of seed s is therefore the same deal everywhere. Rules: R5, R11, R13, R20.

The mixing function is the 64-bit finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from euchre_env.actions import NO_ACTION, Phase
from euchre_env.cards import HAND_SIZE, JOKER, NUM_RANKS
from euchre_env.kernel import int64, kernel, lowest, popcount
from euchre_env.rules import JOKER_BLIND, JOKER_REDEAL, REDEAL_SAME
from euchre_env.state import MAX_ACTIONS, NO_CARD, NO_SUIT, NOBODY, States, UpcardPlace

_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_11, _63 = np.uint64(11), np.uint64(63)
_WORD: Final = 64
_ALL: Final = (1 << _WORD) - 1

DEALS, FIRST_DEALER, SEATS, AGENTS, OPPONENTS = (np.uint64(purpose) for purpose in range(1, 6))
"""Purposes of random numbers: each purpose of a game has a stream of its own."""

_ORDER, _BLIND = int(Phase.ORDER), int(Phase.NAME_BLIND)
_TURNED_UP = int(UpcardPlace.TURNED_UP)


@kernel
def mix(word: np.uint64) -> np.uint64:
    """Hash of a 64-bit word: SplitMix64's output function."""
    word = (word ^ (word >> _30)) * _MIX_1
    word = (word ^ (word >> _27)) * _MIX_2
    return word ^ (word >> _31)


@kernel
def substream(stream: np.uint64, purpose: np.uint64, count: int) -> np.uint64:
    """The key of a stream of its own for a purpose and a count (a deal, an act, a game)."""
    return mix(mix(stream + purpose * _GAMMA) + np.uint64(count) * _MIX_2 + _GAMMA)


@kernel
def below(word: np.uint64, n: int) -> int:
    """A whole number 0..n-1 from a random word (its bias is under n / 2**53)."""
    return int64(((word >> _11) * np.uint64(n)) >> np.uint64(53))


@kernel
def _seed_rows(states: States, words: npt.NDArray[np.uint64]) -> None:
    for i in range(states.shape[0]):
        states[i].stream = mix(mix(words[i] + _GAMMA) + _GAMMA)
        states[i].num_draws = 0


def seed_word(seed: int) -> np.uint64:
    """A seed of any size, 0 or above, as one 64-bit word; small seeds stay what they are.

    Raises:
        ValueError: the seed is negative or no whole number.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed={seed!r}: a seed is a whole number, 0 or above")
    rest, word = int(seed), np.uint64(0)
    while rest >> _WORD:
        word = mix(np.uint64((int(word) + rest + int(_GAMMA)) & _ALL))
        rest >>= _WORD
    return np.uint64(int(word) ^ rest)


def seed_streams(states: States, seeds: npt.NDArray[np.uint64]) -> None:
    """Give every game its stream; the next deal is deal number 0 of its seed.

    Args:
        states: shape (n,), changed in place.
        seeds: uint64, shape (n,), from `seed_word`.

    Raises:
        ValueError: more or fewer seeds than games.
    """
    words = np.ascontiguousarray(seeds, dtype=np.uint64)
    if words.shape != states.shape:
        raise ValueError(f"{len(states)} games, seeds of shape {words.shape}: one a game is wanted")
    _seed_rows(states, words)


def as_streams(rng: int | np.random.Generator | npt.NDArray[np.uint64], num: int) -> Any:
    """Keys of random streams, one a row: what agents and `views.fill` draw from.

    Args:
        rng: a seed (row i gets a stream of its own), a generator, or the keys themselves.
        num: rows.

    Returns:
        uint64, shape ``(num,)``.

    Raises:
        ValueError: keys of another shape, or a seed below 0.
    """
    if isinstance(rng, np.random.Generator):
        return rng.integers(0, 2**64, size=num, dtype=np.uint64)
    if isinstance(rng, int | np.integer):
        return substreams(seed_word(rng), num)
    keys = np.ascontiguousarray(rng, dtype=np.uint64)
    if keys.shape != (num,):
        raise ValueError(f"rng has shape {keys.shape}: one stream a row is shape ({num},)")
    return keys


@kernel
def substreams(stream: np.uint64, num: int) -> npt.NDArray[np.uint64]:
    """The first ``num`` agents' streams of a key: uint64, shape ``(num,)``."""
    keys = np.empty(num, dtype=np.uint64)
    for i in range(num):
        keys[i] = substream(stream, AGENTS, i)
    return keys


@kernel
def first_dealer(state: np.record) -> int:
    """The seat that deals first in a game that starts now, drawn at random. R5."""
    return int64(substream(state.stream, FIRST_DEALER, state.num_draws) >> _63)


@kernel
def draw_cards(state: np.record) -> int:
    """Deal five cards to each seat and turn the next one up, from the game's stream. R5.

    Cards 1-5 of the shuffled deck are the nondealer's, 6-10 the dealer's, 11 is turned up. Each
    is drawn by reading random bits until they name a card that is left, so that every order of
    the deck is exactly as likely. (No branch inside the loop: a guess at it would fail too often.)

    Returns:
        The card turned up; the hands are in ``state.hands``.
    """
    word = substream(state.stream, DEALS, state.num_draws)
    state.num_draws += 1
    bits = mix(word)
    unread = int64(64)
    width = int64(6) if state.deck >> JOKER else int64(5)
    ones = np.uint64((1 << width) - 1)
    left = state.deck
    drawn = int64(0)
    for receiver in range(3):
        drawn = int64(0)
        missing = int64(1) if receiver == 2 else int64(HAND_SIZE)
        while missing > 0:
            if unread < width:
                word += _GAMMA
                bits = mix(word)
                unread = 64
            bit = left & (int64(1) << int64(bits & ones))
            left ^= bit
            drawn |= bit
            missing -= bit != 0
            bits >>= np.uint64(width)
            unread -= width
        if receiver < 2:
            state.hands[(receiver ^ state.dealer ^ 1) & 1] = drawn
    return lowest(drawn)


@kernel
def lay_out(state: np.record, upcard: int) -> None:
    """Begin a deal whose hands are dealt: clear what the last one left, turn the upcard. R5, R13.

    Args:
        state: its ``hands`` and ``dealer`` are set.
        upcard: the card turned up.
    """
    state.deal_number += 1
    state.num_actions = 0
    for i in range(MAX_ACTIONS):
        state.history[i] = NO_ACTION
    for seat in range(2):
        state.played[seat] = 0
        state.tricks[seat] = 0
        state.leads[seat] = 0
        state.voids[seat] = 0
        state.points[seat] = 0
    state.upcard = upcard
    state.upcard_place = _TURNED_UP
    state.trump = NO_SUIT
    state.maker = NOBODY
    state.discard = NO_CARD
    state.led_card = NO_CARD
    state.winner = NOBODY
    names_blind = upcard == JOKER and state.joker_turned_up == JOKER_BLIND
    if names_blind:
        state.turned_suit = NO_SUIT
    elif upcard == JOKER:
        state.turned_suit = state.joker_fixed_suit
    else:
        state.turned_suit = upcard // NUM_RANKS
    state.phase = _BLIND if names_blind else _ORDER
    state.to_act = state.dealer if names_blind else 1 - state.dealer


@kernel
def deal(state: np.record) -> None:
    """Deal from the game's stream; where the rules say so, again when the joker turns up. R13."""
    upcard = draw_cards(state)
    while upcard == JOKER and state.joker_turned_up == JOKER_REDEAL:
        upcard = draw_cards(state)
    lay_out(state, upcard)


@kernel
def next_dealer(state: np.record) -> int:
    """Who deals after the deal that is over: the other seat, but for R11's option. R11, R20."""
    was_thrown_in = state.maker == NOBODY
    if was_thrown_in and state.redeal_dealer == REDEAL_SAME:
        return state.dealer
    return 1 - state.dealer


@kernel
def is_dealt_right(state: np.record, upcard: int) -> bool:
    """Whether hands and upcard set from outside are 11 different cards of the deck. R2, R5."""
    zero, one, turned = state.hands[0], state.hands[1], int64(1) << upcard
    return (
        popcount(zero) == HAND_SIZE
        and popcount(one) == HAND_SIZE
        and zero & one == 0
        and (zero | one) & turned == 0
        and (zero | one | turned) & ~state.deck == 0
        and not (upcard == JOKER and state.joker_turned_up == JOKER_REDEAL)
    )
