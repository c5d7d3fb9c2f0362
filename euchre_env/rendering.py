"""A view as text that reads at a glance. Drawings get views only, so hidden cards stay hidden."""

from typing import Final

import numpy as np

from euchre_env.actions import NAME, PASS, Phase, action_list, action_name
from euchre_env.cards import (
    CARD_NAMES,
    JOKER,
    NUM_CARDS,
    NUM_RANKS,
    SUIT_SYMBOLS,
    SUIT_WORDS,
    card_list,
)
from euchre_env.engine import legal_actions
from euchre_env.notation import acts_of
from euchre_env.state import NO_CARD, NO_SUIT, NOBODY, UpcardPlace
from euchre_env.story import (
    bids_of,
    bower_of,
    in_hand_order,
    is_trump,
    result_of,
    tricks_of,
)
from euchre_env.views import hand_size

_BACK: Final = "▒▒"
_PLACES: Final = {
    UpcardPlace.TURNED_UP: "turned up",
    UpcardPlace.TAKEN: "taken by the dealer",
    UpcardPlace.LEFT: "left on the table",
    UpcardPlace.TURNED_DOWN: "turned down",
}


def card_text(number: int, trump: int = NO_SUIT) -> str:
    """A card as people read it: rank, suit as letter and symbol; trumps carry a star.

    >>> card_text(20), card_text(20, trump=2), card_text(12, trump=2)
    ('JH♥', 'JH♥*right', 'JD♦*left')
    """
    if number == JOKER:
        return "JK★" if trump == NO_SUIT else "JK★*"
    text = CARD_NAMES[number] + SUIT_SYMBOLS[number // NUM_RANKS]
    if not is_trump(number, trump):
        return text
    return f"{text}*{bower_of(number, trump).partition(' ')[0]}"


def _hand(view: np.record, seat: int) -> str:
    trump = int(view.trump)
    known = in_hand_order(card_list(int(view.hands[seat])), trump)
    backs = int(hand_size(view, seat)) - len(known)
    return "  ".join([*(card_text(number, trump) for number in known), *[_BACK] * backs])


def _last_trick(view: np.record) -> str:
    """The trick that was taken last, and who took it."""
    done = [trick for trick in tricks_of(view) if trick.winner != NOBODY]
    if not done:
        return "none yet"
    first, second = (card_text(card, int(view.trump)) for card in done[-1].cards)
    leader, winner = done[-1].leader, done[-1].winner
    return f"{first} by seat {leader}, {second} by seat {1 - leader}: seat {winner} took it"


def _trick(view: np.record) -> str:
    """The card that lies on the table, or who is to lead."""
    if view.phase >= Phase.DEAL_OVER:
        return result_of(view)
    if view.phase != Phase.PLAY:
        return "not begun"
    if view.led_card == NO_CARD:
        return f"seat {int(view.to_act)} leads"
    return f"{card_text(int(view.led_card), int(view.trump))} led by seat {1 - int(view.to_act)}"


def _seat_line(view: np.record, seat: int) -> str:
    marks = []
    if view.seat == seat:
        marks.append("you")
    if view.dealer == seat:
        marks.append("dealer")
    if view.maker == seat:
        marks.append("maker")
    who = f"seat {seat}" + (f" ({', '.join(marks)})" if marks else "")
    turn = ">" if view.to_act == seat else " "
    score = f"{_count(int(view.scores[seat]), 'point')}, {_count(int(view.tricks[seat]), 'trick')}"
    said = ", ".join(bid.words for bid in bids_of(view) if bid.seat == seat)
    return f"{turn} {who:<28} {_hand(view, seat)}".rstrip() + f"\n  {score:<28} {said}".rstrip()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def table_text(view: np.record, note: str = "") -> str:
    """The table as one seat sees it (or, from a full state, with all hands open).

    Args:
        view: a view or a full state.
        note: one short line more at the end, like what the deal before came to.

    Returns:
        Lines of text: trump and upcard; for each seat its cards (trumps with a star, bowers with
        their name), score, tricks and what it said; the last trick and the one on the table; the
        acts so far; the legal acts of the seat to act when it is the viewer's.
    """
    viewer = int(view.seat)
    bottom = 0 if viewer == NOBODY else viewer
    trump = "not made" if view.trump == NO_SUIT else _suit_text(int(view.trump))
    upcard = card_text(int(view.upcard), int(view.trump))
    lines = [
        f"deal {int(view.deal_number)} to {int(view.target_score)} points   trump: {trump}   "
        f"upcard: {upcard} {_PLACES[UpcardPlace(int(view.upcard_place))]}",
        _seat_line(view, 1 - bottom),
        f"  last trick:  {_last_trick(view)}",
        f"  {'result' if view.phase >= Phase.DEAL_OVER else 'this trick'}:  {_trick(view)}",
        _seat_line(view, bottom),
        f"  acts:  {', '.join(acts_of(view)) or 'none yet'}",
    ]
    if view.phase == Phase.GAME_OVER:
        lines.append(f"  seat {int(view.winner)} has won the game")
    elif view.phase == Phase.DEAL_OVER:
        lines.append("  the deal is over")
    elif viewer in (NOBODY, int(view.to_act)):
        verb = "lay away" if view.phase == Phase.DISCARD else "legal"
        names = (_act_text(action, int(view.trump)) for action in action_list(legal_actions(view)))
        lines.append(f"  {verb}:  {', '.join(names)}")
    if note:
        lines.append(f"  ({note})")
    return "\n".join(lines)


def _act_text(action: int, trump: int) -> str:
    """An act by name, its suit as a symbol too."""
    if action < NUM_CARDS:
        return card_text(action, trump)
    suit = SUIT_SYMBOLS[action - NAME] if action < PASS else ""
    return action_name(action) + suit


def _suit_text(suit: int) -> str:
    return f"{SUIT_WORDS[suit]} {SUIT_SYMBOLS[suit]}"
