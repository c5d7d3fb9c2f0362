"""What a seat knows as numbers: one flat uint8 vector, described by one table.

`OBSERVATION_FIELDS` lists the fields in order; their offsets are computed from it. The same
vector serves every set of rules, so that one agent can play under all of them. Views come in,
never states. Rules: R22 for what is known.

With *relative suits* the suits are named by their relation to the upcard: turned suit, the other
suit of its colour, then the other two (low number first); in the observation, in the mask and in
the acts alike. A learner then need not learn each thing four times. While the joker names blind
(R13) no suit is turned and suits keep their own numbers.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from euchre_env.actions import NAME, NUM_ACTIONS, PASS, Phase
from euchre_env.cards import (
    CARD_NAMES,
    HAND_SIZE,
    JOKER,
    JOKER_NAME,
    NUM_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    RANK_NAMES,
    SUIT_NAMES,
)
from euchre_env.kernel import int64, kernel, lowest, popcount, spread
from euchre_env.rules import JOKER_FIXED, OPTION_VALUES
from euchre_env.state import NO_CARD, NO_SUIT, NOBODY, STATE_DTYPE, States, UpcardPlace
from euchre_env.views import NOT_TO_BE_LOOKED_AT, blank_into, may_hold, may_look, with_seats

# --- suits seen from the upcard -----------------------------------------------------------------

ABSOLUTE: Final = NUM_SUITS
"""The frame in which every suit keeps its number; frames 0..3 are those of a turned suit."""


def _relative_suits() -> npt.NDArray[np.int64]:
    frames = np.tile(np.arange(NUM_SUITS), (NUM_SUITS + 1, 1))
    for turned in range(NUM_SUITS):
        rest = [suit for suit in range(NUM_SUITS) if suit not in (turned, 3 - turned)]
        frames[turned, [turned, 3 - turned, *rest]] = range(NUM_SUITS)
    return frames


RELATIVE_SUITS: Final = _relative_suits()
"""``[frame, suit] -> relative suit``. int64, shape (5, 4)."""


def _relative_actions() -> npt.NDArray[np.int64]:
    actions = np.tile(np.arange(NUM_ACTIONS), (NUM_SUITS + 1, 1))
    for frame, suits in enumerate(RELATIVE_SUITS):
        for suit, relative in enumerate(suits):
            for rank in range(NUM_RANKS):
                actions[frame, NUM_RANKS * suit + rank] = NUM_RANKS * relative + rank
            actions[frame, NAME + suit] = NAME + relative
    return actions


RELATIVE_ACTIONS: Final = _relative_actions()
"""``[frame, act] -> act`` as named in the frame, cards included. int64, shape (5, 42)."""
ABSOLUTE_ACTIONS: Final = np.argsort(RELATIVE_ACTIONS, axis=1)
"""``[frame, act as named in the frame] -> act``. int64, shape (5, 42)."""


@kernel
def frame_of(view: np.record, is_relative: bool) -> int:
    """The frame in which a deal's suits are named: its turned suit, or `ABSOLUTE`."""
    if is_relative and view.turned_suit != NO_SUIT:
        return int64(view.turned_suit)
    return ABSOLUTE


# --- the table ----------------------------------------------------------------------------------


class Field(NamedTuple):
    """A field of the observation."""

    name: str
    kind: str
    """``set``: any places; ``one``: one place or none; ``number``: a number a place."""
    labels: tuple[str, ...]
    """What each place stands for."""
    high: int
    """The highest number in a place."""
    meaning: str

    @property
    def width(self) -> int:
        """Places of the field."""
        return len(self.labels)


NEEDED_CAP: Final = 11
"""Points needed are told apart from 1 to 10; the last place means 11 or more."""
_SUITS, _SEATS = tuple(SUIT_NAMES), ("own", "other")
_TRICKS = tuple(str(number) for number in range(HAND_SIZE + 1))
_NEEDED = (*(str(number) for number in range(1, NEEDED_CAP)), f"{NEEDED_CAP}+")
_PLACES = tuple(place.name.lower() for place in UpcardPlace)
_PHASES = tuple(phase.name.lower() for phase in Phase)
_TRICK_NUMBERS = _TRICKS[1:]


def _option_field(option: str, values: tuple[Any, ...]) -> Field:
    if len(values) == 2:
        return Field(option, "set", (str(values[1]),), 1, f"rules: 1 when {option}={values[1]}")
    return Field(option, "one", tuple(map(str, values)), 1, f"rules: the value of {option}")


OBSERVATION_FIELDS: Final = (
    Field("hand", "set", CARD_NAMES, 1, "the cards held"),
    Field("may_hold", "set", CARD_NAMES, 1, "the cards the other player may hold"),
    Field("upcard", "one", CARD_NAMES, 1, "the card turned up, wherever it went"),
    Field("discard", "one", CARD_NAMES, 1, "the card laid away, when this seat did it"),
    Field("led_card", "one", CARD_NAMES, 1, "the card to be answered in this trick"),
    Field("own_plays", "number", CARD_NAMES, 5, "0, or the trick 1 to 5 this seat played it in"),
    Field("other_plays", "number", CARD_NAMES, 5, "0, or the trick 1 to 5 the other played it in"),
    Field("own_leads", "set", _TRICK_NUMBERS, 1, "the tricks that this seat led"),
    Field("other_leads", "set", _TRICK_NUMBERS, 1, "the tricks that the other led"),
    Field("own_voids", "set", _SUITS, 1, "the suits this seat failed to follow"),
    Field("other_voids", "set", _SUITS, 1, "the suits the other failed to follow"),
    Field("own_tricks", "one", _TRICKS, 1, "tricks won by this seat"),
    Field("other_tricks", "one", _TRICKS, 1, "tricks won by the other"),
    Field("phase", "one", _PHASES, 1, "what is to be done"),
    Field("is_dealer", "set", ("yes",), 1, "this seat dealt"),
    Field("passes", "one", tuple("01234"), 1, "how often the players passed"),
    Field("upcard_place", "one", _PLACES, 1, "where the upcard is"),
    Field("trump", "one", (*_SUITS, "none"), 1, "trump; the last place means not made yet"),
    Field("maker", "one", (*_SEATS, "none"), 1, "who made trump"),
    Field("own_needed", "one", _NEEDED, 1, "points this seat needs to win the game"),
    Field("other_needed", "one", _NEEDED, 1, "points the other needs to win the game"),
    Field("scores", "number", _SEATS, 255, "points of the game so far, 255 at the most"),
    Field("target_score", "number", ("points",), 255, "points that win the game, 255 at the most"),
    *(_option_field(option, values) for option, values in OPTION_VALUES.items()),
)
"""Every field of the observation, in order."""

_ENDS: Final = np.cumsum([field.width for field in OBSERVATION_FIELDS])
OBSERVATION_SIZE: Final = int(_ENDS[-1])
STARTS: Final = {
    field.name: int(end) - field.width for field, end in zip(OBSERVATION_FIELDS, _ENDS, strict=True)
}
"""``field name -> offset`` of its first place."""
OBSERVATION_HIGH: Final = np.repeat(
    np.array([field.high for field in OBSERVATION_FIELDS], dtype=np.uint8),
    [field.width for field in OBSERVATION_FIELDS],
)
"""The highest number in each place: uint8, shape (OBSERVATION_SIZE,)."""

_HAND, _MAY_HOLD, _UPCARD = STARTS["hand"], STARTS["may_hold"], STARTS["upcard"]
_LAID_AWAY, _LED_CARD = STARTS["discard"], STARTS["led_card"]
_PLAYS, _LEADS, _VOIDS = STARTS["own_plays"], STARTS["own_leads"], STARTS["own_voids"]
_WON, _NEED, _PHASE, _DEALS = (
    STARTS["own_tricks"],
    STARTS["own_needed"],
    STARTS["phase"],
    STARTS["is_dealer"],
)
_PASSES, _PLACE, _TRUMP = STARTS["passes"], STARTS["upcard_place"], STARTS["trump"]
_MAKER, _SCORES, _TARGET = STARTS["maker"], STARTS["scores"], STARTS["target_score"]
_LOWEST_RANK, _JOKER = STARTS["lowest_rank"], STARTS["joker"]
_PICKUP, _DISCARD_UPCARD = STARTS["order_up_pickup"], STARTS["discard_upcard"]
_TURNED_DOWN, _STICK = STARTS["allow_turned_down_suit"], STARTS["stick_the_dealer"]
_REDEAL, _JOKER_UP = STARTS["redeal_dealer"], STARTS["joker_turned_up"]
_FIXED_SUIT, _STOP = STARTS["joker_fixed_suit"], STARTS["stop_when_decided"]
_SUPER = STARTS["super_euchre"]


@kernel
def _write_cards(cards: int, frame: int, row: npt.NDArray[np.uint8], start: int) -> None:
    for suit in range(NUM_SUITS):
        ranks = cards >> (NUM_RANKS * suit) & 255
        spread(ranks, row, start + NUM_RANKS * RELATIVE_SUITS[frame, suit])
    row[start + JOKER] = cards >> JOKER & 1


@kernel
def _write_plays(view: np.record, frame: int, row: npt.NDArray[np.uint8]) -> None:
    """Who led each trick and which card fell in which, read off the history."""
    other = 1 - view.seat
    num_plays = popcount(view.played[0] | view.played[1])
    first = view.num_actions - num_plays
    other_led = int64(view.leads[other])
    for i in range(num_plays):
        trick = i >> 1
        is_other = (other_led >> trick & 1) ^ (i & 1)  # the lead is i even, the answer i odd
        action = view.history[first + i]
        row[_PLAYS + NUM_CARDS * is_other + RELATIVE_ACTIONS[frame, action]] = trick + 1
    for trick in range(HAND_SIZE):
        row[_LEADS + trick] = view.leads[view.seat] >> trick & 1
        row[_LEADS + HAND_SIZE + trick] = other_led >> trick & 1


@kernel
def _write_rules(view: np.record, frame: int, row: npt.NDArray[np.uint8]) -> None:
    row[_LOWEST_RANK + int64(view.lowest_rank)] = 1
    row[_JOKER] = view.joker
    row[_PICKUP] = view.order_up_pickup
    row[_DISCARD_UPCARD] = view.discard_upcard
    row[_TURNED_DOWN + int64(view.allow_turned_down_suit)] = 1
    row[_STICK] = view.stick_the_dealer
    row[_REDEAL] = view.redeal_dealer
    row[_JOKER_UP + int64(view.joker_turned_up)] = 1
    if view.joker_turned_up == JOKER_FIXED:
        row[_FIXED_SUIT + RELATIVE_SUITS[frame, view.joker_fixed_suit]] = 1
    row[_STOP] = view.stop_when_decided
    row[_SUPER] = view.super_euchre


@kernel
def encode_into(view: np.record, is_relative: bool, row: npt.NDArray[np.uint8]) -> None:
    """Write the observation of a view.

    Args:
        view: what the seat knows.
        is_relative: name the suits from the upcard.
        row: uint8, shape (OBSERVATION_SIZE,), overwritten.
    """
    row[:] = 0
    seat = view.seat
    frame = frame_of(view, is_relative)
    _write_cards(view.hands[seat], frame, row, _HAND)
    _write_cards(may_hold(view), frame, row, _MAY_HOLD)
    row[_UPCARD + RELATIVE_ACTIONS[frame, view.upcard]] = 1
    if view.discard != NO_CARD:
        row[_LAID_AWAY + RELATIVE_ACTIONS[frame, view.discard]] = 1
    if view.led_card != NO_CARD:
        row[_LED_CARD + RELATIVE_ACTIONS[frame, view.led_card]] = 1
    if view.trump == NO_SUIT:
        row[_TRUMP + NUM_SUITS] = 1
    else:
        row[_TRUMP + RELATIVE_SUITS[frame, view.trump]] = 1
        _write_plays(view, frame, row)
    row[_MAKER + (2 if view.maker == NOBODY else int64(view.maker ^ seat))] = 1
    for other in range(2):  # 0: this seat, 1: the other
        who = seat ^ other
        row[_WON + (HAND_SIZE + 1) * other + int64(view.tricks[who])] = 1
        for suit in range(NUM_SUITS):
            row[_VOIDS + NUM_SUITS * other + RELATIVE_SUITS[frame, suit]] = (
                view.voids[who] >> suit & 1
            )
        needed = int64(view.target_score) - int64(view.scores[who])
        if needed > 0:
            row[_NEED + NEEDED_CAP * other + min(needed, NEEDED_CAP) - 1] = 1
        row[_SCORES + other] = min(view.scores[who], 255)
    row[_TARGET] = min(view.target_score, 255)
    row[_PHASE + int64(view.phase)] = 1
    row[_DEALS] = view.dealer == seat
    passes, is_pass = 0, 1
    for i in range(4):
        is_pass &= view.history[i] == PASS
        passes += is_pass
    row[_PASSES + passes] = 1
    row[_PLACE + int64(view.upcard_place)] = 1
    _write_rules(view, frame, row)


@kernel
def relative_bits(bits: int, frame: int) -> int:
    """A mask of acts, each renamed by the frame."""
    if frame == ABSOLUTE:
        return bits
    renamed = int64(0)
    while bits:
        renamed |= int64(1) << RELATIVE_ACTIONS[frame, lowest(bits)]
        bits &= bits - 1
    return renamed


@kernel
def _encode_all(views: States, is_relative: bool, rows: npt.NDArray[np.uint8]) -> bool:
    """Whether they were views, and are encoded."""
    for i in range(views.shape[0]):
        if views[i].seat == NOBODY:
            return False
        encode_into(views[i], is_relative, rows[i])
    return True


@kernel
def _observe_all(
    states: States,
    seats: npt.NDArray[np.int64],
    is_relative: bool,
    rows: npt.NDArray[np.uint8],
    scratch: States,
) -> bool:
    """Whether they were states and seats, and are encoded."""
    view = scratch[0]
    for i in range(states.shape[0]):
        if not may_look(states[i], seats[i]):
            return False
        blank_into(states[i], seats[i], view)
        encode_into(view, is_relative, rows[i])
    return True


def _rows_for(num: int, out: npt.NDArray[np.uint8] | None) -> npt.NDArray[np.uint8]:
    """Where ``num`` observations go: ``out``, checked, or a new array."""
    if out is None:
        return np.empty((num, OBSERVATION_SIZE), dtype=np.uint8)
    if out.shape != (num, OBSERVATION_SIZE) or out.dtype != np.uint8:
        raise ValueError(
            f"out has shape {out.shape} and dtype {out.dtype}: uint8 of shape "
            f"({num}, {OBSERVATION_SIZE}) is wanted"
        )
    return out


def encode(
    views: States, relative: bool = False, out: npt.NDArray[np.uint8] | None = None
) -> npt.NDArray[np.uint8]:
    """The observations of views.

    Args:
        views: shape (n,) (or one row), from ``views.blank``.
        relative: name the suits from the upcard.
        out: uint8, shape (n, OBSERVATION_SIZE), to write into.

    Returns:
        uint8, shape (n, OBSERVATION_SIZE).

    Raises:
        ValueError: full states given: cards go up as views only; or another ``out``.
    """
    rows = np.atleast_1d(np.asarray(views, dtype=STATE_DTYPE))
    out = _rows_for(len(rows), out)
    if not _encode_all(rows, relative, out):
        raise ValueError("these are full states: an observation is made of a view (views.blank)")
    return out


def observe(
    states: States,
    seats: int | npt.ArrayLike,
    relative: bool = False,
    out: npt.NDArray[np.uint8] | None = None,
) -> npt.NDArray[np.uint8]:
    """The observations that seats have of states: ``encode(blank(states, seats))`` in one pass.

    Args:
        states: full states, shape (n,) (or one row).
        seats: the seat that looks at each, 0 or 1: one number or shape (n,).
        relative: name the suits from the upcard.
        out: uint8, shape (n, OBSERVATION_SIZE), to write into.

    Returns:
        uint8, shape (n, OBSERVATION_SIZE).

    Raises:
        ValueError: a seat that is neither 0 nor 1, views given as states, or another ``out``.
    """
    rows, lookers = with_seats(states, seats)
    out = _rows_for(len(rows), out)
    if not _observe_all(rows, lookers, relative, out, np.empty(1, dtype=STATE_DTYPE)):
        raise ValueError(NOT_TO_BE_LOOKED_AT)
    return out


# --- for people ---------------------------------------------------------------------------------

_RELATIVE_NAMES: Final = ("turned", "twin", "third", "fourth")


def _label(label: str, is_relative: bool) -> str:
    """A place's label with relative suits spelt out: ``JC`` is ``J:turned``."""
    if not is_relative or label == JOKER_NAME:
        return label
    if label in SUIT_NAMES:
        return _RELATIVE_NAMES[SUIT_NAMES.index(label)]
    if len(label) == 2 and label[0] in RANK_NAMES and label[1] in SUIT_NAMES:
        return f"{label[0]}:{_RELATIVE_NAMES[SUIT_NAMES.index(label[1])]}"
    return label


def decode(observation: npt.ArrayLike, relative: bool = False) -> dict[str, Any]:
    """An observation field by field, for people.

    Args:
        observation: shape (OBSERVATION_SIZE,).
        relative: it was made with relative suits; they read ``turned``, ``twin``, ``third``,
            ``fourth``.

    Returns:
        ``field name -> value``: the labels that are set (``set``), the one label or None
        (``one``), or ``label -> number`` where it is not 0 (``number``).

    Raises:
        ValueError: the array has another shape.
    """
    row = np.asarray(observation)
    if row.shape != (OBSERVATION_SIZE,):
        raise ValueError(f"shape {row.shape}: an observation has shape ({OBSERVATION_SIZE},)")
    values: dict[str, Any] = {}
    for field in OBSERVATION_FIELDS:
        part = row[STARTS[field.name] : STARTS[field.name] + field.width]
        labels = [_label(label, relative) for label in field.labels]
        places = [int(place) for place in np.flatnonzero(part)]
        if field.kind == "number":
            values[field.name] = {labels[place]: int(part[place]) for place in places}
        elif field.kind == "one":
            values[field.name] = labels[places[0]] if places else None
        else:
            values[field.name] = [labels[place] for place in places]
    return values
