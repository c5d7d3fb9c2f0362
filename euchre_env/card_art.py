"""Cards as SVG: faces, backs, and the marks of trumps and bowers. Shapes of our own."""

from typing import Final

from euchre_env.cards import JOKER, NUM_RANKS, RANK_NAMES, SUIT_WORDS
from euchre_env.glyphs import number, shape_svg, text_svg
from euchre_env.state import NO_SUIT
from euchre_env.story import bower_of, is_trump

WIDTH, HEIGHT = 64.0, 90.0
"""A card, in the units of the drawing."""
RED, BLACK, VIOLET, GOLD = "#c4162a", "#1b1f27", "#6d3aa3", "#e2a31b"
SUIT_COLOURS: Final = (BLACK, RED, RED, BLACK)
_RANK_WORDS: Final = ("seven", "eight", "nine", "ten", "jack", "queen", "king", "ace")
_FACE, _EDGE = "#fdfcf7", "#b9b3a3"
_BACK, _BACK_LINE = "#24446f", "#7d9cc7"
_STAR: Final = 4


def card_words(card: int, trump: int = NO_SUIT) -> str:
    """A card in words, its part as bower too.

    >>> card_words(20, trump=2), card_words(32)
    ('jack of hearts, the right bower', 'the joker')
    """
    if card == JOKER:
        return "the joker"
    suit, rank = divmod(card, NUM_RANKS)
    bower = bower_of(card, trump)
    return f"{_RANK_WORDS[rank]} of {SUIT_WORDS[suit]}" + (f", the {bower}" if bower else "")


def face_svg(
    card: int, x: float, y: float, trump: int = NO_SUIT, scale: float = 1.0, opacity: float = 1.0
) -> str:
    """A card face up.

    Args:
        card: 0..32.
        x: left edge.
        y: upper edge.
        trump: suit; trumps have a golden edge, bowers and the joker a ribbon with their name.
        scale: 1 draws it `WIDTH` by `HEIGHT`.
        opacity: below 1 for a card that is no longer there.
    """
    suit, rank = divmod(card, NUM_RANKS)
    colour = VIOLET if card == JOKER else SUIT_COLOURS[suit]
    label = "JK" if card == JOKER else {"T": "10"}.get(RANK_NAMES[rank], RANK_NAMES[rank])
    trumps = is_trump(card, trump)
    ribbon = "JOKER" if card == JOKER else bower_of(card, trump).partition(" ")[0].upper()
    shape = _STAR if card == JOKER else suit
    parts = [
        _sheet(_FACE, GOLD if trumps else _EDGE, 3.0 if trumps else 1.2),
        text_svg(label, 8, 27, 19, colour, weight=0.17),
        shape_svg(shape, 7, 33, 15, colour),
    ]
    if trumps and ribbon:
        parts += [
            shape_svg(shape, 25, 36, 32, colour),
            f'<path d="M1.5 71h61v11a6 6 0 0 1-6 6.5h-49a6 6 0 0 1-6-6.5z" fill="{GOLD}"/>',
            text_svg(ribbon, WIDTH / 2, 83.5, 8.5, BLACK, weight=0.17, anchor="middle"),
        ]
    else:
        parts.append(shape_svg(shape, 22, 46, 38, colour))
    return _placed(parts, x, y, scale, opacity, card_words(card, trump))


def back_svg(x: float, y: float, scale: float = 1.0) -> str:
    """A card face down."""
    lines = "".join(
        f"M{number(10 + 11 * column)} {number(12 + 11 * row)}l5.5 5.5l-5.5 5.5l-5.5-5.5z"
        for row in range(6)
        for column in range(1, 4)
    )
    parts = [
        _sheet(_FACE, _EDGE, 1.2),
        f'<rect x="4.5" y="4.5" width="{WIDTH - 9:g}" height="{HEIGHT - 9:g}" rx="4" '
        f'fill="{_BACK}"/>',
        f'<path d="{lines}" transform="translate(0 .5)" fill="none" stroke="{_BACK_LINE}" '
        'stroke-width="1.2"/>',
    ]
    return _placed(parts, x, y, scale, 1.0, "a card face down")


def slot_svg(x: float, y: float, scale: float = 1.0) -> str:
    """The place of a card that is not there."""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(WIDTH * scale)}" '
        f'height="{number(HEIGHT * scale)}" rx="{number(7 * scale)}" fill="none" '
        'stroke="#fff" stroke-opacity=".28" stroke-width="1.5" stroke-dasharray="4 5"/>'
    )


def _sheet(fill: str, edge: str, weight: float) -> str:
    return (
        f'<rect x="{weight / 2:g}" y="{weight / 2:g}" width="{WIDTH - weight:g}" '
        f'height="{HEIGHT - weight:g}" rx="7" fill="{fill}" stroke="{edge}" '
        f'stroke-width="{weight:g}"/>'
    )


def _placed(parts: list[str], x: float, y: float, scale: float, opacity: float, title: str) -> str:
    size = "" if scale == 1 else f" scale({scale:g})"
    faint = "" if opacity == 1 else f' opacity="{opacity:g}"'
    return (
        f'<g transform="translate({number(x)} {number(y)}){size}"{faint}>'
        f"<title>{title}</title>{''.join(parts)}</g>"
    )
