"""What happens, in words: each act, each trick, what a deal scored; for records and human play.

>>> from euchre_env.notation import parse_position
>>> state = parse_position("TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 order_up,take,discard:9C")[0]
>>> tell_act(state, 20, ("you", "novice"))
'you lead JH♥*right'
"""

from typing import Final

import numpy as np

from euchre_env.actions import ACCEPT, HIDDEN_DISCARD, LEAVE, NAME, ORDER_UP, PASS, TAKE, Phase
from euchre_env.cards import HAND_SIZE, SUIT_SYMBOLS, SUIT_WORDS
from euchre_env.rendering import card_text
from euchre_env.state import NO_CARD, NO_SUIT, NOBODY
from euchre_env.story import tricks_of

YOU: Final = "you"
"""The one name that takes a verb without its s."""

_VERBS: Final = {
    PASS: ("pass", "passes", ""),
    ORDER_UP: ("order up", "orders up", " {}"),
    ACCEPT: ("accept", "accepts", " {}"),
    TAKE: ("take", "takes", " {}"),
    LEAVE: ("leave", "leaves", " {}"),
}
"""``act -> (you ..., another ..., what)``; ``{}`` stands for the upcard."""


def _says(name: str, own: str, others: str) -> str:
    return f"{name} {own if name == YOU else others}"


def tell_act(before: np.record, action: int, names: tuple[str, str]) -> str:
    """An act as a sentence without its full stop.

    Args:
        before: the state, or a view of it, in which it is done.
        action: 0..41, or ``HIDDEN_DISCARD``.
        names: of seat 0 and seat 1; ``"you"`` takes its own verb.
    """
    who = names[int(before.to_act)]
    trump = int(before.trump)
    if action == HIDDEN_DISCARD:
        return _says(who, "lay a card away", "lays a card away")
    if action in _VERBS:
        own, others, what = _VERBS[action]
        return _says(who, own, others) + what.format(card_text(int(before.upcard), trump))
    if action >= NAME:
        suit = action - NAME
        return f"{_says(who, 'name', 'names')} {SUIT_WORDS[suit]} {SUIT_SYMBOLS[suit]}"
    card = card_text(action, trump)
    if before.phase == Phase.DISCARD:
        return f"{_says(who, 'lay', 'lays')} {card} away"
    if before.led_card == NO_CARD:
        return f"{_says(who, 'lead', 'leads')} {card}"
    return f"{_says(who, 'play', 'plays')} {card}"


def tell_trick(after: np.record, names: tuple[str, str]) -> str:
    """Who took the trick that the last act completed; ``""`` where it completed none.

    Args:
        after: the state, or a view of it, after the act.
        names: of seat 0 and seat 1.
    """
    tricks = tricks_of(after)
    if not tricks or tricks[-1].winner == NOBODY or after.trump == NO_SUIT:
        return ""
    who = names[tricks[-1].winner]
    count = ", ".join(f"{name} {int(won)}" for name, won in zip(names, after.tricks, strict=True))
    return f"{_says(who, 'take', 'takes')} the trick ({count})"


def tell_deal(after: np.record, names: tuple[str, str]) -> str:
    """What a deal that is over scored, and for whom, as a sentence. R11, R17.

    Args:
        after: the state, or a view of it, once the deal is over.
        names: of seat 0 and seat 1.
    """
    if after.maker == NOBODY:
        return "both passed twice: the deal is thrown in"
    maker = int(after.maker)
    tricks = int(after.tricks[maker])
    winner = 0 if after.points[0] else 1
    points = int(after.points[winner])
    worth = f"{points} point{'s' if points > 1 else ''}"
    if winner != maker:
        euchred = _says(names[maker], "are euchred", "is euchred")
        return f"{euchred} with {tricks} of {HAND_SIZE} tricks: {worth} for {names[winner]}"
    if tricks == HAND_SIZE:
        return f"{_says(names[maker], 'march', 'marches')}, all five tricks: {worth}"
    return f"{_says(names[maker], 'make', 'makes')} it with {tricks} tricks: {worth}"
