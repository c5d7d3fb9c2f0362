"""The rules as options and as tables.

`Rules` is what a table agrees on before the first deal: one frozen object, checked when made.
The tables below it hold what Euchre players call "the bowers", the order of the cards and the
points; no other place in the package knows about bowers or the joker. Rule numbers (R1 to R22)
are those of ``docs/rules.md``.
"""

from dataclasses import dataclass, fields
from typing import Any, Final, Literal, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from euchre_env.cards import (
    ACE,
    EIGHT,
    HAND_SIZE,
    JACK,
    JOKER,
    NINE,
    NUM_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    SEVEN,
    SUIT_NAMES,
    card,
)

_LOWEST_RANKS: Final = {"9": NINE, "8": EIGHT, "7": SEVEN}
MAX_TARGET_SCORE: Final = 2_000_000_000
"""Scores are 32-bit integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The options of two-handed Euchre; the defaults are the 24-card game of the article.

    Names, values and rule numbers are those of ``docs/rules.md``.

    >>> Rules(stick_the_dealer=True, target_score=5)
    Rules(target_score=5, stick_the_dealer=True)
    >>> Rules.british().num_cards
    25

    Raises:
        ValueError: a value that an option does not have, or a combination that means nothing.
    """

    lowest_rank: Literal["9", "8", "7"] = "9"
    """R2: the deck runs from this rank to the ace: 24, 28 or 32 cards."""
    joker: bool = False
    """R2, R4: a joker is added, the highest trump: 25, 29 or 33 cards."""
    target_score: int = 10
    """R19: who has this many points after a deal wins; 1 or more."""
    order_up_pickup: Literal["may", "must"] = "may"
    """R8: a dealer who is ordered up may leave the upcard on the table, or must take it."""
    discard_upcard: bool = False
    """R9: the card just taken may itself be laid away."""
    allow_turned_down_suit: Literal["never", "stuck_dealer", "always"] = "never"
    """R10: who may name the suit that was turned down."""
    stick_the_dealer: bool = False
    """R12: in round two the dealer may not pass."""
    redeal_dealer: Literal["next", "same"] = "next"
    """R11: who deals after a deal that was thrown in."""
    joker_turned_up: Literal["dealer_names_blind", "fixed_suit", "redeal"] = "dealer_names_blind"
    """R13: what a joker turned up means."""
    joker_fixed_suit: Literal["C", "D", "H", "S"] = "H"
    """R13: the suit that a turned joker proposes, with ``joker_turned_up="fixed_suit"``."""
    stop_when_decided: bool = False
    """R18: a deal ends once its points are settled."""
    super_euchre: bool = False
    """R17: a maker without a trick loses 4 points instead of 2."""

    def __post_init__(self) -> None:
        """Check every value, then what they mean together."""
        for name, allowed in OPTION_VALUES.items():
            value = getattr(self, name)
            if not any(value is known or value == known for known in allowed) or (
                isinstance(allowed[0], bool) and not isinstance(value, bool)
            ):
                raise ValueError(
                    f"{name}={value!r}: it is one of {', '.join(repr(known) for known in allowed)}"
                )
        target = self.target_score
        if isinstance(target, bool) or not isinstance(target, int | np.integer):
            raise ValueError(f"target_score={target!r}: it is a whole number of points")
        if not 1 <= target <= MAX_TARGET_SCORE:
            raise ValueError(f"target_score={target}: it is at least 1, at most {MAX_TARGET_SCORE}")
        for meaningless, why in (
            (
                self.allow_turned_down_suit == "stuck_dealer" and not self.stick_the_dealer,
                "allow_turned_down_suit='stuck_dealer' needs stick_the_dealer=True: "
                "no dealer is ever stuck",
            ),
            (
                self.redeal_dealer == "same" and self.stick_the_dealer,
                "redeal_dealer='same' means nothing with stick_the_dealer=True: "
                "no deal is ever thrown in",
            ),
            (
                self.joker_turned_up != "dealer_names_blind" and not self.joker,
                f"joker_turned_up={self.joker_turned_up!r} needs joker=True: "
                "there is no joker to turn up",
            ),
            (
                self.joker_fixed_suit != "H" and self.joker_turned_up != "fixed_suit",
                f"joker_fixed_suit={self.joker_fixed_suit!r} needs joker_turned_up='fixed_suit'",
            ),
        ):
            if meaningless:
                raise ValueError(why)

    def __repr__(self) -> str:
        """Only what differs from the defaults."""
        return f"Rules({', '.join(f'{k}={v!r}' for k, v in self.changed().items())})"

    @classmethod
    def british(cls, **options: Any) -> "Rules":
        """British Euchre: 25 cards, the joker the highest trump. R2, R13."""
        return cls(**{"joker": True, **options})

    @classmethod
    def with_32_cards(cls, **options: Any) -> "Rules":
        """Seven to ace in four suits. R2."""
        return cls(**{"lowest_rank": "7", **options})

    @classmethod
    def railroad_pack(cls, **options: Any) -> "Rules":
        """33 cards: seven to ace and the joker. R2."""
        return cls(**{"lowest_rank": "7", "joker": True, **options})

    @classmethod
    def stick(cls, **options: Any) -> "Rules":
        """Stick the dealer: a deal is never thrown in. R12."""
        return cls(**{"stick_the_dealer": True, **options})

    @property
    def deck(self) -> int:
        """The cards in use, a mask. R2."""
        ranks = range(_LOWEST_RANKS[self.lowest_rank], ACE + 1)
        plain = sum(1 << card(rank, suit) for suit in range(NUM_SUITS) for rank in ranks)
        return plain | int(self.joker) << JOKER

    @property
    def num_cards(self) -> int:
        """Cards in the deck: 24, 25, 28, 29, 32 or 33."""
        return self.deck.bit_count()

    def changed(self) -> dict[str, Any]:
        """The options that differ from the defaults, by name."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if getattr(self, f.name) != f.default
        }

    def codes(self) -> dict[str, int]:
        """Every option as the integer that the state holds: its place among its values."""
        numbers = {
            name: allowed.index(getattr(self, name)) for name, allowed in OPTION_VALUES.items()
        }
        return {**numbers, "target_score": int(self.target_score), "deck": self.deck}

    @classmethod
    def from_codes(cls, row: Any) -> "Rules":
        """The rules that a state row (or any mapping of codes) was made with."""
        options = {name: allowed[int(row[name])] for name, allowed in OPTION_VALUES.items()}
        return cls(**options, target_score=int(row["target_score"]))


def _option_values() -> dict[str, tuple[Any, ...]]:
    """Every option that has a list of values, with the list, the default first."""
    values: dict[str, tuple[Any, ...]] = {}
    for name, hint in get_type_hints(Rules).items():
        if hint is bool:
            values[name] = (False, True)
        elif get_args(hint):
            values[name] = get_args(hint)
    values["joker_fixed_suit"] = tuple(SUIT_NAMES)  # its place in the list is the suit's number
    return values


OPTION_VALUES: Final = _option_values()
"""``option name -> its values``; a state holds a value's place in this list."""

# The places that kernels compare with.
PICKUP_MUST: Final = OPTION_VALUES["order_up_pickup"].index("must")
TURNED_DOWN_STUCK, TURNED_DOWN_ALWAYS = (
    OPTION_VALUES["allow_turned_down_suit"].index(value) for value in ("stuck_dealer", "always")
)
REDEAL_SAME: Final = OPTION_VALUES["redeal_dealer"].index("same")
JOKER_BLIND, JOKER_FIXED, JOKER_REDEAL = (
    OPTION_VALUES["joker_turned_up"].index(value)
    for value in ("dealer_names_blind", "fixed_suit", "redeal")
)


# --- tables: the bowers are settled here and nowhere else ---------------------------------------


def _effective_suit() -> npt.NDArray[np.int8]:
    suits = np.tile(np.arange(NUM_CARDS, dtype=np.int8) // NUM_RANKS, (NUM_SUITS, 1))
    for trump in range(NUM_SUITS):
        suits[trump, [JOKER, card(JACK, 3 - trump)]] = trump  # joker and left bower are trumps
    return suits


EFFECTIVE_SUIT: Final = _effective_suit()
"""``[trump, card] -> suit`` the card counts as. int8, shape (4, 33). R3, R4."""


def _suit_cards() -> npt.NDArray[np.int64]:
    masks = np.zeros((NUM_SUITS, NUM_SUITS), dtype=np.int64)
    for trump in range(NUM_SUITS):
        for number in range(NUM_CARDS):
            masks[trump, EFFECTIVE_SUIT[trump, number]] |= 1 << number
    return masks


SUIT_CARDS: Final = _suit_cards()
"""``[trump, suit] -> mask`` of the cards that count as the suit. int64, shape (4, 4). R3, R4."""


def _strength() -> npt.NDArray[np.int8]:
    plain = np.append(np.arange(NUM_CARDS - 1, dtype=np.int8) % NUM_RANKS, np.int8(0))
    strength = np.tile(plain, (NUM_SUITS, 1))
    for trump in range(NUM_SUITS):
        strength[trump, EFFECTIVE_SUIT[trump] == trump] += NUM_RANKS
        bowers = [card(JACK, 3 - trump), card(JACK, trump), JOKER]
        strength[trump, bowers] = 2 * NUM_RANKS + np.arange(3)
    return strength


STRENGTH: Final = _strength()
"""``[trump, card] -> rank`` for winning: a higher card beats a lower one of the same effective
suit, and any trump beats any card that is none. int8, shape (4, 33). R3, R4, R16."""


def _beats() -> npt.NDArray[np.int64]:
    masks = np.zeros((NUM_SUITS, NUM_CARDS), dtype=np.int64)
    for trump in range(NUM_SUITS):
        for led in range(NUM_CARDS):
            for followed in range(NUM_CARDS):
                suit = EFFECTIVE_SUIT[trump, followed]
                if STRENGTH[trump, followed] > STRENGTH[trump, led] and suit in (
                    trump,
                    EFFECTIVE_SUIT[trump, led],
                ):
                    masks[trump, led] |= 1 << followed
    return masks


BEATS: Final = _beats()
"""``[trump, led card] -> mask`` of the cards that win the trick over it. int64, (4, 33). R16."""

MAKER_POINTS: Final = np.array([[-2, -2, -2, 1, 1, 2], [-4, -2, -2, 1, 1, 2]], dtype=np.int8)
"""``[super_euchre, tricks the maker took] -> points``; below zero the defender scores them. R17."""


def _decided() -> npt.NDArray[np.bool_]:
    decided = np.zeros((2, HAND_SIZE + 1, HAND_SIZE + 1), dtype=np.bool_)
    for super_euchre in range(2):
        for maker in range(HAND_SIZE + 1):
            for defender in range(HAND_SIZE + 1 - maker):
                reachable = MAKER_POINTS[super_euchre, maker : HAND_SIZE + 1 - defender]
                decided[super_euchre, maker, defender] = len(set(reachable.tolist())) == 1
    return decided


DECIDED: Final = _decided()
"""``[super_euchre, maker's tricks, defender's tricks]``: no trick to come can change the points.
bool, shape (2, 6, 6). R18."""
