"""The cards: 33 numbers and their names; a deck uses 24 of them, with options more.

A card is ``8 * suit + rank``, the joker 32. Suits run clubs, diamonds, hearts, spades, so the
other suit of the same colour is ``3 - suit``. A set of cards (a hand, the deck) is a 64-bit
mask in which bit ``c`` is card ``c``. Rules: R2.

>>> card_name(card(JACK, HEARTS))
'JH'
>>> cards_text(card_set("9S AS JK"))
'9S AS JK'
"""

from typing import Final

RANK_NAMES, SUIT_NAMES = "789TJQKA", "CDHS"
NUM_RANKS, NUM_SUITS, JOKER, NUM_CARDS = 8, 4, 32, 33
SEVEN, EIGHT, NINE, TEN, JACK, QUEEN, KING, ACE = range(NUM_RANKS)
CLUBS, DIAMONDS, HEARTS, SPADES = range(NUM_SUITS)

HAND_SIZE: Final = 5
"""Cards dealt to each seat. R5."""
JOKER_NAME: Final = "JK"
CARD_NAMES: Final = (
    *(rank + suit for suit in SUIT_NAMES for rank in RANK_NAMES),
    JOKER_NAME,
)
"""``[card] -> name``, rank then suit: ``JH``, ``9S``, the joker ``JK``."""
SUIT_WORDS: Final = ("clubs", "diamonds", "hearts", "spades")
SUIT_SYMBOLS: Final = ("♣", "♦", "♥", "♠")

_NUMBERS: Final = {name: number for number, name in enumerate(CARD_NAMES)}


def card(rank: int, suit: int) -> int:
    """The number of a card from its rank 0..7 (seven to ace) and suit 0..3."""
    return NUM_RANKS * suit + rank


def card_name(number: int) -> str:
    """The name of a card 0..32, like ``JH``; ``??`` for -1 and below, a card unknown."""
    return CARD_NAMES[number] if number >= 0 else "??"


def card_number(name: str) -> int:
    """The number of a named card.

    Raises:
        ValueError: there is no such card; the text is quoted.
    """
    number = _NUMBERS.get(name.strip().upper())
    if number is None:
        raise ValueError(
            f"{name!r} is no card: a card is a rank of {RANK_NAMES} and a suit of {SUIT_NAMES}, "
            f"like 'JH' or '9S', or the joker {JOKER_NAME!r}"
        )
    return number


def card_list(mask: int) -> list[int]:
    """The cards of a set, low number first."""
    return [number for number in range(NUM_CARDS) if int(mask) >> number & 1]


def card_set(names: str) -> int:
    """The set of the cards named in a text, separated by blanks: ``"9S QS KH"``.

    Raises:
        ValueError: a word is no card, or a card stands there twice.
    """
    mask = 0
    for name in names.split():
        bit = 1 << card_number(name)
        if mask & bit:
            raise ValueError(f"{name} stands twice in {names!r}")
        mask |= bit
    return mask


def cards_text(mask: int) -> str:
    """The names of a set's cards, separated by blanks, low number first."""
    return " ".join(CARD_NAMES[number] for number in card_list(mask))
