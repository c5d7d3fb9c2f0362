"""A view as text that reads at a glance. Drawings get views only, so hidden cards stay hidden."""

from typing import Final

import numpy as np

from euchre_env.actions import Phase, action_list, action_name
from euchre_env.cards import (
    JOKER,
    NUM_RANKS,
    RANK_NAMES,
    SUIT_NAMES,
    SUIT_SYMBOLS,
    SUIT_WORDS,
    card_list,
)
from euchre_env.engine import legal_actions
from euchre_env.notation import acts_of
from euchre_env.rules import EFFECTIVE_SUIT, STRENGTH
from euchre_env.state import NO_CARD, NO_SUIT, NOBODY, UpcardPlace
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
    suit, rank = divmod(number, NUM_RANKS)
    text = RANK_NAMES[rank] + SUIT_NAMES[suit] + SUIT_SYMBOLS[suit]
    if trump == NO_SUIT or EFFECTIVE_SUIT[trump, number] != trump:
        return text
    bower = {2 * NUM_RANKS: "left", 2 * NUM_RANKS + 1: "right"}
    return f"{text}*{bower.get(int(STRENGTH[trump, number]), '')}"


def _hand(view: np.record, seat: int) -> str:
    trump = int(view.trump)
    known = sorted(
        card_list(int(view.hands[seat])),
        key=lambda c: (
            (EFFECTIVE_SUIT[trump, c] != trump, EFFECTIVE_SUIT[trump, c], -STRENGTH[trump, c])
            if trump != NO_SUIT
            else (c // NUM_RANKS, -c)
        ),
    )
    backs = int(hand_size(view, seat)) - len(known)
    return "  ".join([*(card_text(number, trump) for number in known), *[_BACK] * backs])


def _last_trick(view: np.record) -> str:
    """The cards of the trick on the table, or of the last one."""
    num_played = sum(int(mask).bit_count() for mask in view.played)
    if not num_played:
        return "no card played yet"
    cards = [
        card_text(int(action), int(view.trump))
        for action in view.history[int(view.num_actions) - num_played : int(view.num_actions)]
    ]
    if view.led_card != NO_CARD:
        return f"led {cards[-1]}"
    return f"last {cards[-2]} - {cards[-1]}"


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
    return (
        f"{turn} {who:<28} {_hand(view, seat)}\n"
        f"  {int(view.scores[seat])} points, {int(view.tricks[seat])} tricks"
    )


def table_text(view: np.record) -> str:
    """The table as one seat sees it (or, from a full state, with all hands open).

    Args:
        view: a view or a full state.

    Returns:
        Lines of text: score, trump and upcard, both hands, the trick, the acts so far and the
        legal acts of the seat to act when it is the viewer's.
    """
    viewer = int(view.seat)
    bottom = 0 if viewer == NOBODY else viewer
    trump = "not made" if view.trump == NO_SUIT else _suit_text(int(view.trump))
    upcard = card_text(int(view.upcard), int(view.trump))
    lines = [
        f"deal {int(view.deal_number)} to {int(view.target_score)} points   trump: {trump}   "
        f"upcard: {upcard} {_PLACES[UpcardPlace(int(view.upcard_place))]}",
        _seat_line(view, 1 - bottom),
        f"  trick: {_last_trick(view)}",
        _seat_line(view, bottom),
        f"  acts:  {', '.join(acts_of(view)) or 'none yet'}",
    ]
    if view.phase == Phase.GAME_OVER:
        lines.append(f"  seat {int(view.winner)} has won the game")
    elif view.phase == Phase.DEAL_OVER:
        lines.append("  the deal is over")
    elif viewer in (NOBODY, int(view.to_act)):
        verb = "lay away" if view.phase == Phase.DISCARD else "legal"
        names = (action_name(action) for action in action_list(int(legal_actions(view))))
        lines.append(f"  {verb}:  {', '.join(names)}")
    return "\n".join(lines)


def _suit_text(suit: int) -> str:
    return f"{SUIT_WORDS[suit]} {SUIT_SYMBOLS[suit]}"
