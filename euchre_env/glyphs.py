"""Letters, digits and suits as paths of our own, so that pictures look alike on every machine.

A drawing that names a font looks as the machine's fonts do, and has empty boxes where there are
none. So every text in our pictures is one path: a plain rounded alphabet of single strokes, given
here letter by letter, and the four suits and the joker's star as filled shapes.

>>> round(text_width("order up", 12), 1)
66.2
"""

from typing import Final, Literal

CAP_HEIGHT: Final = 70.0
"""Height of a capital in the units of `LETTERS`; the baseline is at 0, y grows downwards."""
SPACING: Final = 20.0
"""Between one letter and the next."""

LETTERS: Final[dict[str, tuple[float, str]]] = {
    " ": (18, ""),
    "A": (54, "m0 0l27-70l27 70m-9-24h-36"),
    "B": (44, "m0-37h25a16.5 16.5 0 0 0 0-33h-25v70h26a18.5 18.5 0 0 0 0-37"),
    "C": (50, "m51-57a30 35 0 1 0 0 44"),
    "D": (52, "m0 0v-70h18a34 35 0 0 1 0 70z"),
    "E": (38, "m38 0h-38v-70h38m-4 34h-34"),
    "F": (38, "m0 0v-70h38m-5 35h-33"),
    "G": (54, "m51-57a30 35 0 1 0 3 40v-15h-19"),
    "H": (48, "m0 0v-70m48 0v70m0-36h-48"),
    "I": (0, "m0 0v-70"),
    "J": (32, "m32-70v53a16 17 0 0 1-32 0"),
    "K": (44, "m0 0v-70m43 0l-43 45m15-16l29 41"),
    "L": (37, "m0-70v70h37"),
    "M": (58, "m0 0v-70l29 44l29-44v70"),
    "N": (48, "m0 0v-70l48 70v-70"),
    "O": (62, "m0-35a31 35 0 1 1 62 0a31 35 0 1 1-62 0z"),
    "P": (43, "m0 0v-70h24a19 19 0 0 1 0 38h-24"),
    "Q": (62, "m0-35a31 35 0 1 1 62 0a31 35 0 1 1-62 0zm38 17l22 22"),
    "R": (45, "m0 0v-70h24a19 19 0 0 1 0 38h-24m22 0l22 32"),
    "S": (44, "m41-58c-4-8-11-12-20-12c-12 0-20 7-20 17c0 23 43 12 43 35c0 11-9 18-22 18"
              "c-10 0-18-4-22-13"),
    "T": (50, "m0-70h50m-25 0v70"),
    "U": (48, "m0-70v46a24 24 0 0 0 48 0v-46"),
    "V": (52, "m0-70l26 70l26-70"),
    "W": (76, "m0-70l19 70l19-60l19 60l19-70"),
    "X": (48, "m0-70l48 70m-48 0l48-70"),
    "Y": (50, "m0-70l25 36l25-36m-25 36v34"),
    "Z": (46, "m0-70h46l-46 70h46"),
    "a": (38, "m38-48v48m0-24a19 24 0 1 0-38 0a19 24 0 1 0 38 0"),
    "b": (38, "m0-72v72m0-24a19 24 0 1 1 38 0a19 24 0 1 1-38 0"),
    "c": (33, "m34-40a19 24 0 1 0 0 32"),
    "d": (38, "m38-72v72m0-24a19 24 0 1 0-38 0a19 24 0 1 0 38 0"),
    "e": (38, "m1-25h37a19 24 0 1 0-5 17"),
    "f": (22, "m24-71a14 14 0 0 0-16 13v58m-9-47h23"),
    "g": (38, "m38-48v50a19 18 0 0 1-35 9m35-35a19 24 0 1 0-38 0a19 24 0 1 0 38 0"),
    "h": (36, "m0-72v72m0-29a18 19 0 0 1 36 0v29"),
    "i": (2, "m1-48v48m0-67h.1"),
    "j": (8, "m8-48v54a12 12 0 0 1-12 12m12-85h.1"),
    "k": (34, "m0-72v72m33-48l-33 30m12-11l22 29"),
    "l": (2, "m1-72v72"),
    "m": (60, "m0-48v48m0-31a15 17 0 0 1 30 0v31m0-31a15 17 0 0 1 30 0v31"),
    "n": (36, "m0-48v48m0-29a18 19 0 0 1 36 0v29"),
    "o": (38, "m0-24a19 24 0 1 1 38 0a19 24 0 1 1-38 0z"),
    "p": (38, "m0-48v68m0-44a19 24 0 1 1 38 0a19 24 0 1 1-38 0"),
    "q": (38, "m38-48v68m0-44a19 24 0 1 0-38 0a19 24 0 1 0 38 0"),
    "r": (20, "m0-48v48m0-28a19 19 0 0 1 21-19"),
    "s": (31, "m30-39c-3-6-8-9-15-9c-9 0-14 5-14 11c0 15 30 10 30 25c0 8-7 12-16 12"
              "c-8 0-13-3-16-9"),
    "t": (24, "m9-64v51a12 13 0 0 0 15 12m-25-47h25"),
    "u": (36, "m0-48v29a18 19 0 0 0 36 0v-29v48"),
    "v": (36, "m0-48l18 48l18-48"),
    "w": (56, "m0-48l14 48l14-42l14 42l14-48"),
    "x": (34, "m0-48l34 48m-34 0l34-48"),
    "y": (36, "m0-48l18 46m18-46l-24 62a12 10 0 0 1-11 6"),
    "z": (32, "m0-48h32l-32 48h32"),
    "0": (42, "m0-35a21 35 0 1 1 42 0a21 35 0 1 1-42 0z"),
    "1": (22, "m0-56l22-14v70"),
    "2": (42, "m2-54a20 17 0 0 1 39 4c0 16-24 30-41 50h42"),
    "3": (42, "m3-59a19 16.5 0 1 1 16 22a21 18.5 0 1 1-19 25"),
    "4": (46, "m35 0v-70l-35 51h46"),
    "5": (42, "m38-70h-31l-4 32c5-5 10-7 17-7c13 0 22 9 22 22c0 14-9 23-22 23c-9 0-16-4-20-12"),
    "6": (42, "m37-61c-4-6-9-9-15-9c-14 0-22 14-22 38v9a21 23 0 1 0 1-4"),
    "7": (42, "m0-70h42l-27 70"),
    "8": (42, "m21-38a17 16 0 1 1 .1 0a21 19 0 1 1-.1 0z"),
    "9": (42, "m5-9c4 6 9 9 15 9c14 0 22-14 22-38v-9a21 23 0 1 0-1 4"),
    ".": (2, "m1-1h.1"),
    ",": (6, "m4-2l-4 14"),
    ":": (2, "m1-1h.1m-.1-43h.1"),
    "-": (26, "m0-27h26"),
    "−": (38, "m0-33h38"),
    "+": (38, "m0-33h38m-19-19v38"),
    "/": (34, "m0 8l34-86"),
    "(": (14, "m14-80c-18 26-18 66 0 92"),
    ")": (14, "m0-80c18 26 18 66 0 92"),
    "!": (2, "m1-70v48m0 21h.1"),
    "?": (36, "m1-56a18 16 0 1 1 25 16c-6 3-8 7-8 17m0 22h.1"),
    "'": (2, "m1-70v16"),
    "%": (58, "m4 0l50-70m-54 15a12 14 0 1 1 24 0a12 14 0 1 1-24 0zm34 40a12 14 0 1 1 24 0"
              "a12 14 0 1 1-24 0z"),
    "_": (40, "m0 6h40"),
    "=": (38, "m0-42h38m0 18h-38"),
    "·": (2, "m1-30h.1"),
    "*": (28, "m14-68v30m-13-23l26 16m0-16l-26 16"),
    "♣": (52, "m26-64a12 12 0 0 1 9 20a12 12 0 1 1-8 20l5 24h-12l5-24a12 12 0 1 1-8-20"
              "a12 12 0 0 1 9-20z"),
    "♦": (40, "m20-64q9 17 20 32q-11 15-20 32q-9-17-20-32q11-15 20-32z"),
    "♥": (52, "m26 0c-17-14-26-26-26-39c0-10 6-17 14-17c6 0 10 4 12 10c2-6 6-10 12-10"
              "c8 0 14 7 14 17c0 13-9 25-26 39z"),
    "♠": (52, "m26-64c17 15 26 25 26 37c0 8-5 13-12 13c-6 0-10-3-13-8l5 22h-12l5-22"
              "c-3 5-7 8-13 8c-7 0-12-5-12-13c0-12 9-22 26-37z"),
    "★": (58, "m29-66l8 23l22 2l-17 14l6 23l-19-13l-19 13l6-23l-17-14l22-2z"),
}  # fmt: skip
"""``letter -> (width, path)``: strokes with round ends, relative to the letter's place on the
baseline. A zero-length stroke is a dot."""

CLUB, DIAMOND, HEART, SPADE, STAR = (
    "M50 4a21 21 0 0 1 16 35a21 21 0 1 1-9 34c1 9 4 16 11 23h-36c7-7 10-14 11-23a21 21 0 1 1-9-34"
    "a21 21 0 0 1 16-35z",
    "M50 2q16 27 36 48q-20 21-36 48q-16-27-36-48q20-21 36-48z",
    "M50 95c-30-25-45-42-45-63c0-15 10-25 23-25c10 0 18 6 22 15c4-9 12-15 22-15c13 0 23 10 23 25"
    "c0 21-15 38-45 63z",
    "M50 3c27 24 43 38 43 57c0 13-9 21-20 21c-7 0-13-3-17-8c1 9 4 16 11 23h-34c7-7 10-14 11-23"
    "c-4 5-10 8-17 8c-11 0-20-8-20-21c0-19 16-33 43-57z",
    "M50 4l13.5 29.5l32.5 4l-24 22l6 32l-28-16l-28 16l6-32l-24-22l32.5-4z",
)
SHAPES: Final = (CLUB, DIAMOND, HEART, SPADE, STAR)
"""``[suit] -> path`` to be filled, in a box of 100 x 100; the fifth is the joker's star."""

Anchor = Literal["start", "middle", "end"]


def number(value: float) -> str:
    """A coordinate, short: at most two decimals, no zeros at the end."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text_width(text: str, size: float) -> float:
    """How wide a text is, in the units of ``size``, the height of its capitals."""
    widths = [_letter(character)[0] + SPACING for character in text]
    return max(0.0, sum(widths) - SPACING) * size / CAP_HEIGHT


def text_svg(
    text: str,
    x: float,
    y: float,
    size: float,
    colour: str,
    *,
    weight: float = 0.13,
    anchor: Anchor = "start",
) -> str:
    """A text as one SVG path.

    Args:
        text: made of `LETTERS`; another character is drawn as ``?``.
        x: where the text starts, is centred or ends, as ``anchor`` says.
        y: the baseline.
        size: height of a capital.
        colour: of the strokes.
        weight: width of a stroke, as part of ``size``.
        anchor: what ``x`` means.

    Returns:
        A path element; nothing for an empty text.
    """
    scale = size / CAP_HEIGHT
    x -= {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * text_width(text, size)
    place, parts = 0.0, []
    for character in text:
        width, strokes = _letter(character)
        if strokes:
            parts.append(f"M{number(place)} 0{strokes}")
        place += width + SPACING
    if not parts:
        return ""
    return (
        f'<path d="{"".join(parts)}" transform="translate({number(x)} {number(y)}) '
        f'scale({scale:.4g})" fill="none" stroke="{colour}" '
        f'stroke-width="{number(weight * CAP_HEIGHT)}"/>'
    )


def shape_svg(suit: int, x: float, y: float, size: float, colour: str) -> str:
    """A suit 0..3, or the star 4, in the square of ``size`` whose left upper corner is x, y."""
    return (
        f'<path d="{SHAPES[suit]}" transform="translate({number(x)} {number(y)}) '
        f'scale({size / 100:.4g})" fill="{colour}"/>'
    )


def _letter(character: str) -> tuple[float, str]:
    return LETTERS.get(character, LETTERS["?"])
