"""The drawing of the table, part by part: one SVG document from a view or a full state.

A drawing is made from a view (`views.blank`), so hidden cards are backs, and two states that a
seat cannot tell apart give the same picture; from a full state, all hands are open.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from euchre_env.actions import (
    ACTION_NAMES,
    NAME,
    NUM_ACTIONS,
    PASS,
    Phase,
    action_list,
    action_number,
)
from euchre_env.card_art import GOLD, HEIGHT, SUIT_COLOURS, WIDTH, back_svg, face_svg, slot_svg
from euchre_env.cards import HAND_SIZE, SUIT_WORDS, card_list
from euchre_env.engine import legal_actions
from euchre_env.glyphs import number, shape_svg, text_svg, text_width
from euchre_env.state import NO_CARD, NO_SUIT, NOBODY, UpcardPlace
from euchre_env.story import Trick, bids_of, in_hand_order, result_of, tricks_of
from euchre_env.views import hand_size

TABLE_WIDTH, TABLE_HEIGHT = 640, 448
"""The drawing's own size: the units of everything in it, and its pixels unless asked otherwise."""
Values = Mapping[Any, float] | npt.NDArray[np.floating[Any]]
"""What acts are worth: by act (number or name), or an array of 42 with NaN where there is none."""

_FELT, _FELT_EDGE, _RAIL = "#1f6b4a", "#2d805b", "#123d2c"
_WHITE, _SOFT, _DARK = "#ffffff", "#cfe3d8", "#10261c"
_GOOD, _BAD, _EVEN = "#1f8a4c", "#b3392f", "#5d6b64"
_TOP, _BOTTOM = 16.0, 322.0
"""Upper edges of the two hands."""
_RAISED: Final = 12.0
_ROW_MIDDLE, _ROW_WIDTH = 322.0, 400.0
_PLACE_WORDS: Final = {
    UpcardPlace.TURNED_UP: "turned up",
    UpcardPlace.TAKEN: "taken",
    UpcardPlace.LEFT: "left",
    UpcardPlace.TURNED_DOWN: "turned down",
}
_BID_PHASES: Final = {
    Phase.ORDER: "order up?",
    Phase.ACCEPT: "accept?",
    Phase.TAKE: "take it?",
    Phase.NAME_FIRST: "name trump?",
    Phase.NAME_SECOND: "name trump?",
    Phase.NAME_BLIND: "name trump, unseen",
}


def table_svg(view: np.record, *, values: Values | None = None, note: str = "") -> str:
    """The table as one seat sees it, as an SVG document.

    The viewer sits at the bottom (seat 0 where all hands are open). Legal cards of the seat to
    act are raised where its hand is seen, legal bids stand in the middle. No fonts are used.

    Args:
        view: a view, or a full state, drawn with all hands open.
        values: what acts are worth to the seat to act; drawn under its cards and beside its bids.
        note: one short line more, like what the deal before came to.

    Returns:
        Text of an SVG document, below 60,000 characters.

    Raises:
        ValueError: ``values`` are not by act.
    """
    bottom = 0 if view.seat == NOBODY else int(view.seat)
    worth = _checked_values(values)
    legal = _legal(view)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {TABLE_WIDTH} {TABLE_HEIGHT}" '
        f'width="{TABLE_WIDTH}" height="{TABLE_HEIGHT}" role="img" '
        f'aria-label="{_label(view)}" stroke-linecap="round" stroke-linejoin="round">',
        _felt(),
        _trump_panel(view),
        _upcard(view),
        _middle(view, bottom, legal, worth),
        _last_trick(view, bottom),
    ]
    for seat, y in ((1 - bottom, _TOP), (bottom, _BOTTOM)):
        is_over = view.phase >= Phase.DEAL_OVER
        cards = _cards_played(view, seat, y) if is_over else _hand(view, seat, y, legal, worth)
        parts += [_name_plate(view, seat, y), cards, _doings(view, seat, y)]
    if note:
        parts.append(
            text_svg(note, TABLE_WIDTH / 2, TABLE_HEIGHT - 14, 8.5, _SOFT, anchor="middle")
        )
    return "".join([*parts, "</svg>"])


# --- the parts of the table ---------------------------------------------------------------------


def _felt() -> str:
    return (
        f'<rect width="{TABLE_WIDTH}" height="{TABLE_HEIGHT}" rx="16" fill="{_RAIL}"/>'
        f'<rect x="6" y="6" width="{TABLE_WIDTH - 12}" height="{TABLE_HEIGHT - 12}" rx="12" '
        f'fill="{_FELT}" stroke="{_FELT_EDGE}" stroke-width="1.5"/>'
    )


def _trump_panel(view: np.record) -> str:
    """Trump, its bowers, and the number of the deal."""
    trump, x, y = int(view.trump), 18.0, 131.0
    parts = [_panel(x, y, 84, 172)]
    middle = x + 42
    parts.append(text_svg("trump", middle, y + 19, 10, _SOFT, anchor="middle"))
    if trump == NO_SUIT:
        parts.append(text_svg("not made", middle, y + 62, 10, _SOFT, anchor="middle"))
    else:
        parts += [
            f'<circle cx="{middle:g}" cy="{y + 58:g}" r="29" fill="#fdfcf7"/>',
            shape_svg(trump, middle - 20, y + 38, 40, SUIT_COLOURS[trump]),
            text_svg(SUIT_WORDS[trump], middle, y + 104, 10, _WHITE, anchor="middle"),
        ]
        for row, (name, suit) in enumerate((("right", trump), ("left", 3 - trump))):
            base = y + 124 + 17 * row
            parts += [
                text_svg(name, x + 9, base, 8.5, GOLD),
                f'<rect x="{x + 46:g}" y="{base - 11.5:g}" width="30" height="15" rx="3" '
                'fill="#fdfcf7"/>',
                text_svg("J", x + 50, base, 8, SUIT_COLOURS[suit], weight=0.18),
                shape_svg(suit, x + 61, base - 9.5, 11, SUIT_COLOURS[suit]),
            ]
    deal = f"deal {int(view.deal_number)}"
    parts.append(text_svg(deal, middle, y + 163, 8, _SOFT, anchor="middle"))
    return "".join(parts)


def _upcard(view: np.record) -> str:
    """The stock, and the upcard beside it wherever it went."""
    if view.upcard == NO_CARD:
        return ""
    x, y, place = 118.0, 156.0, UpcardPlace(int(view.upcard_place))
    in_stock = int(view.deck).bit_count() - 2 * HAND_SIZE - 1
    parts = [back_svg(x + shift, y - shift) for shift in (0.0, 2.5, 5.0)]
    parts.append(text_svg(f"stock {in_stock}", x + 34, y + 106, 9, _SOFT, anchor="middle"))
    at = x + 78
    if place == UpcardPlace.TURNED_UP:
        parts.append(face_svg(int(view.upcard), at, y, int(view.trump)))
    elif place == UpcardPlace.TAKEN:
        parts += [slot_svg(at, y), face_svg(int(view.upcard), at, y, int(view.trump), 1, 0.3)]
    else:
        parts.append(face_svg(int(view.upcard), at, y, int(view.trump), 1, 0.6))
    words = _PLACE_WORDS[place]
    parts.append(text_svg(words, at + WIDTH / 2, y + 106, 9, _SOFT, anchor="middle"))
    return "".join(parts)


def _middle(view: np.record, bottom: int, legal: list[int], worth: dict[int, float]) -> str:
    """What the table is about now: bids to choose from, the trick, or the result."""
    if view.phase >= Phase.DEAL_OVER:
        return _result(view)
    if view.phase in _BID_PHASES:
        return _bids(view, legal, worth)
    if view.phase == Phase.DISCARD:
        words = f"seat {int(view.dealer)} lays one away"
        return text_svg(words, 377, 214, 11, _WHITE, anchor="middle")
    trick = _trick_on_table(view)
    parts = []
    for seat, x, y in ((1 - bottom, 300.0, 124.0), (bottom, 388.0, 198.0)):
        played = trick.card_of(seat) if trick else None
        parts.append(slot_svg(x, y))
        if played is not None:
            parts.append(face_svg(played, x, y, int(view.trump)))
        if trick and seat == trick.leader:
            parts.append(text_svg("led", x + WIDTH / 2, y + HEIGHT + 13, 9, _SOFT, anchor="middle"))
    return "".join(parts)


def _bids(view: np.record, legal: list[int], worth: dict[int, float]) -> str:
    """The question to the seat to act, and its legal bids where it is the viewer's."""
    parts = [
        text_svg(f"seat {int(view.to_act)}", 377, 144, 10, _SOFT, anchor="middle"),
        text_svg(_BID_PHASES[Phase(int(view.phase))], 377, 162, 11, _WHITE, anchor="middle"),
    ]
    for row, action in enumerate(legal):
        y = 174.0 + 25 * row
        parts.append(f'<rect x="315" y="{y:g}" width="124" height="21" rx="10.5" fill="#fdfcf7"/>')
        if NAME <= action < PASS:
            suit = action - NAME
            parts += [
                shape_svg(suit, 324, y + 3.5, 14, SUIT_COLOURS[suit]),
                text_svg(SUIT_WORDS[suit], 344, y + 14.5, 8.5, _DARK),
            ]
        else:
            words = ACTION_NAMES[action].replace("_", " ")
            parts.append(text_svg(words, 326, y + 14.5, 8.5, _DARK))
        if action in worth:
            parts.append(_value(worth, action, legal, 447, y + 1, "start"))
    return "".join(parts)


def _result(view: np.record) -> str:
    """What the deal came to, and who has won the game."""
    lines = result_of(view).split(": ")
    if view.phase == Phase.GAME_OVER:
        lines.append(f"seat {int(view.winner)} wins the game")
    top = 214 - 13 * len(lines)
    parts = [
        f'<rect x="284" y="{top:g}" width="186" height="{26 * len(lines) + 10}" rx="10" '
        f'fill="{_DARK}" stroke="{GOLD}" stroke-width="2"/>'
    ]
    for row, line in enumerate(lines):
        colour = GOLD if row == 2 or (row == 0 and len(lines) < 3) else _WHITE
        size = min(11.0, 11.0 * 168 / text_width(line, 11))
        parts.append(text_svg(line, 377, top + 23 + 26 * row, size, colour, anchor="middle"))
    return "".join(parts)


def _last_trick(view: np.record, bottom: int) -> str:
    """The trick before the one on the table, small, the winner's card framed."""
    done = [trick for trick in tricks_of(view) if trick.winner != NOBODY]
    if not done:
        return ""
    trick, scale = done[-1], 0.62
    parts = [text_svg("last trick", 555, 142, 9, _SOFT, anchor="middle")]
    for seat, x, y in ((1 - bottom, 514.0, 150.0), (bottom, 558.0, 172.0)):
        played = trick.card_of(seat)
        if played is None:
            continue
        parts.append(face_svg(played, x, y, int(view.trump), scale))
        if seat == trick.winner:
            parts.append(
                f'<rect x="{x - 2:g}" y="{y - 2:g}" width="{number(WIDTH * scale + 4)}" '
                f'height="{number(HEIGHT * scale + 4)}" rx="6" fill="none" stroke="{_WHITE}" '
                'stroke-width="2.5"/>'
            )
    words = f"won by seat {trick.winner}"
    parts.append(text_svg(words, 555, 244, 9, _SOFT, anchor="middle"))
    return "".join(parts)


def _name_plate(view: np.record, seat: int, y: float) -> str:
    """Who sits there: name, dealer and maker buttons, points of the game, whose move."""
    is_to_act = view.to_act == seat
    parts = [_panel(18, y, 84, 96, GOLD if is_to_act else "")]
    parts.append(text_svg(f"seat {seat}", 25, y + 20, 9.5, _WHITE, weight=0.15))
    if view.seat == seat:
        parts.append(text_svg("you", 97, y + 20, 7.5, _SOFT, anchor="end"))
    points = f"{int(view.scores[seat])}"
    size = min(22.0, 22.0 * 44 / text_width(points, 22))
    parts.append(text_svg(points, 26, y + 54, size, _WHITE, weight=0.14))
    target = f"/ {int(view.target_score)}"
    room = 60 - text_width(points, size)
    small = min(10.0, 10.0 * room / text_width(target, 10))
    parts.append(text_svg(target, 94, y + 54, small, _SOFT, anchor="end"))
    buttons = [name for name in ("dealer", "maker") if view[name] == seat]
    for place, name in enumerate(buttons):
        parts.append(
            f'<rect x="{24 + 38 * place:g}" y="{y + 68:g}" width="36" height="16" rx="8" '
            f'fill="{_WHITE if name == "dealer" else GOLD}"/>'
        )
        at = 42 + 38 * place
        parts.append(text_svg(name, at, y + 79, 6.5, _DARK, weight=0.15, anchor="middle"))
    if is_to_act:
        middle = y + 48
        parts.append(f'<path d="M106 {middle - 8:g}l9 8l-9 8z" fill="{GOLD}"/>')
    return "".join(parts)


def _hand(view: np.record, seat: int, y: float, legal: list[int], worth: dict[int, float]) -> str:
    """The cards a seat holds: those seen as faces, legal ones raised, the rest as backs."""
    known = in_hand_order(card_list(int(view.hands[seat])), int(view.trump))
    num_cards = int(hand_size(view, seat))
    x, step = _row_of(num_cards)
    acts = legal if view.to_act == seat else []
    parts = []
    for held in known:
        lift = 0.0
        if held in acts:
            lift = _RAISED if y > TABLE_HEIGHT / 2 else -_RAISED
        parts.append(face_svg(held, x, y - lift, int(view.trump)))
        if held in acts and held in worth:
            below = y - lift + HEIGHT + 3
            parts.append(_value(worth, held, legal, x + WIDTH / 2, below, "middle"))
        x += step
    for _ in range(num_cards - len(known)):
        parts.append(back_svg(x, y))
        x += step
    return "".join(parts)


def _row_of(num_cards: int) -> tuple[float, float]:
    """Where a row of cards begins, and how far one is from the next."""
    step = min(WIDTH + 7, (_ROW_WIDTH - WIDTH) / max(1, num_cards - 1))
    return _ROW_MIDDLE - (step * (num_cards - 1) + WIDTH) / 2, step


def _cards_played(view: np.record, seat: int, y: float) -> str:
    """After the deal: the cards a seat played, trick by trick, those that lost a trick faint."""
    tricks = tricks_of(view)
    left = int(hand_size(view, seat))
    known = in_hand_order(card_list(int(view.hands[seat])), int(view.trump))
    x, step = _row_of(len(tricks) + left)
    parts = []
    for trick in tricks:
        played = trick.card_of(seat)
        if played is not None:
            opacity = 1.0 if trick.winner == seat else 0.5
            parts.append(face_svg(played, x, y, int(view.trump), 1, opacity))
        x += step
    for place in range(left):
        if place < len(known):
            parts.append(face_svg(known[place], x, y, int(view.trump)))
        else:
            parts.append(back_svg(x, y))
        x += step
    return "".join(parts)


def _doings(view: np.record, seat: int, y: float) -> str:
    """Right of a hand: the tricks it won, what the seat said, the card it laid away."""
    won = int(view.tricks[seat])
    parts = []
    for place in range(HAND_SIZE):
        look = f'fill="{GOLD}"' if place < won else 'fill="none" stroke="#fff" stroke-opacity=".4"'
        parts.append(f'<circle cx="{544 + 19 * place}" cy="{y + 8:g}" r="6" {look}/>')
    parts.append(text_svg(f"{won} tricks" if won != 1 else "1 trick", 538, y + 29, 8, _SOFT))
    bids = [bid for bid in bids_of(view) if bid.seat == seat]
    said = [bid.words for bid in bids if not bid.is_discard]
    for row, words in enumerate(said[-2:]):
        parts.append(_speech(words, 538, y + 38 + 19 * row, row == len(said[-2:]) - 1))
    if any(bid.is_discard for bid in bids):
        x = 538.0
        at = y + 62
        if view.discard == NO_CARD:
            parts.append(back_svg(x, at, 0.36))
        else:
            parts.append(face_svg(int(view.discard), x, at, int(view.trump), 0.36))
        parts.append(text_svg("laid away", x + 29, at + 20, 7.5, _SOFT))
    return "".join(parts)


# --- small things -------------------------------------------------------------------------------


def _panel(x: float, y: float, width: float, height: float, edge: str = "") -> str:
    line = f' stroke="{edge}" stroke-width="2.5"' if edge else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="10" '
        f'fill="{_DARK}" fill-opacity=".55"{line}/>'
    )


def _speech(words: str, x: float, y: float, is_latest: bool) -> str:
    size = min(8.0, 8.0 * 80 / text_width(words, 8))
    width = text_width(words, size) + 14
    return (
        f'<g opacity="{1 if is_latest else 0.55:g}">'
        f'<path d="M{number(x + 1)} {number(y + 4)}l-6 4l6 4z" fill="{_WHITE}"/>'
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="16" rx="8" '
        f'fill="{_WHITE}"/>' + text_svg(words, x + 7, y + 11.5, size, _DARK) + "</g>"
    )


def _value(
    worth: dict[int, float], action: int, legal: list[int], x: float, y: float, anchor: str
) -> str:
    """What an act is worth, as a small mark; the best of the legal acts has a golden edge."""
    value = worth[action]
    text = f"{value:+.2f}".replace("-", "−")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    text = "0" if text in ("+0", "−0") else text
    width = text_width(text, 8.5) + 14
    left = x - width / 2 if anchor == "middle" else x
    colour = _EVEN if text == "0" else _GOOD if value > 0 else _BAD
    is_best = value >= max(worth[act] for act in legal if act in worth)
    edge = f' stroke="{GOLD}" stroke-width="2.5"' if is_best else ""
    return (
        f'<rect x="{number(left)}" y="{number(y)}" width="{number(width)}" height="18" rx="9" '
        f'fill="{colour}"{edge}/>'
        + text_svg(text, left + width / 2, y + 13, 8.5, _WHITE, weight=0.16, anchor="middle")
    )


def _legal(view: np.record) -> list[int]:
    """The legal acts that the drawing may show: those of the viewer, or of an open hand."""
    is_shown = view.phase < Phase.DEAL_OVER and view.seat in (NOBODY, view.to_act)
    return action_list(int(legal_actions(view))) if is_shown else []


def _trick_on_table(view: np.record) -> Trick | None:
    tricks = tricks_of(view)
    return tricks[-1] if tricks and tricks[-1].winner == NOBODY else None


def _label(view: np.record) -> str:
    """What a screen reader says."""
    trump = "trump not made" if view.trump == NO_SUIT else f"{SUIT_WORDS[view.trump]} are trump"
    turn = f", seat {int(view.to_act)} to act" if view.to_act != NOBODY else ""
    return (
        f"Euchre table: {int(view.scores[0])} to {int(view.scores[1])} of "
        f"{int(view.target_score)}, {trump}{turn}"
    )


def _checked_values(values: Values | None) -> dict[int, float]:
    """Values by act number; NaN left out."""
    if values is None:
        return {}
    if isinstance(values, Mapping):
        given = {
            action_number(act) if isinstance(act, str) else int(act): float(value)
            for act, value in values.items()
        }
    else:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (NUM_ACTIONS,):
            raise ValueError(
                f"values of shape {array.shape}: they are given by act, or shape ({NUM_ACTIONS},)"
            )
        given = dict(enumerate(array.tolist()))
    for action in given:
        if not 0 <= action < NUM_ACTIONS:
            raise ValueError(
                f"values: {action} is no act: acts are numbered 0 to {NUM_ACTIONS - 1}"
            )
    return {action: value for action, value in given.items() if not np.isnan(value)}
