"""Why an act is not legal, in the game's words. Rules: R6-R16, by number in the chapters."""

from typing import Any, Final

import numpy as np

from euchre_env.actions import (
    ACTION_NAMES,
    NAME,
    NUM_ACTIONS,
    PASS,
    Phase,
    action_list,
    action_name,
)
from euchre_env.bidding import bids_of
from euchre_env.cards import NUM_CARDS, SUIT_WORDS, card_name
from euchre_env.engine import legal_actions
from euchre_env.rules import EFFECTIVE_SUIT
from euchre_env.state import NO_SUIT

_DEMANDS: Final = {
    Phase.ORDER: "the nondealer passes or orders up",
    Phase.ACCEPT: "the dealer passes or accepts",
    Phase.TAKE: "the dealer, ordered up, takes the upcard or leaves it",
    Phase.DISCARD: "the dealer lays a card away",
    Phase.NAME_FIRST: "the nondealer passes or names a suit",
    Phase.NAME_SECOND: "the dealer passes or names a suit",
    Phase.NAME_BLIND: "the joker was turned up, so the dealer names a suit before he sees his hand",
    Phase.PLAY: "a card is to be played",
    Phase.DEAL_OVER: "the deal is over",
    Phase.GAME_OVER: "the game is over",
}


def why_illegal(view: np.record, action: Any) -> str:
    """Why an act may not be done now, in the game's words, from what the actor knows.

    Args:
        view: the actor's view (or a full state).
        action: what was asked for; any object.

    Returns:
        One sentence without its full stop. For a legal act: that it is legal.
    """
    if isinstance(action, bool) or not isinstance(action, int | np.integer):
        return f"{action!r} is no act: an act is a whole number from 0 to {NUM_ACTIONS - 1}"
    if not 0 <= action < NUM_ACTIONS:
        return f"{int(action)} is no act: acts are numbered 0 to {NUM_ACTIONS - 1}"
    action, phase = int(action), Phase(int(view.phase))
    name = ACTION_NAMES[action]
    if phase >= Phase.DEAL_OVER:
        return f"{name} is not possible: {_DEMANDS[phase]}"
    if legal_actions(view) >> action & 1:
        return f"{name} is legal"
    if action < NUM_CARDS and phase == Phase.PLAY:
        return _why_not_played(view, action)
    if action < NUM_CARDS and phase == Phase.DISCARD:
        return _why_not_laid_away(view, action)
    if bids_of(phase) >> action & 1:
        return _why_not_bid(view, action, phase)
    return f"{name} is not possible now: {_DEMANDS[phase]}"


def _why_not_played(view: np.record, card: int) -> str:
    hand = int(view.hands[view.to_act])
    name = card_name(card)
    if not hand >> card & 1:
        return f"{name} may not be played: you hold {_names(hand)}"
    suit = SUIT_WORDS[EFFECTIVE_SUIT[view.trump, view.led_card]]
    return f"{name} may not be played: {suit} were led and you hold {_names(legal_actions(view))}"


def _why_not_laid_away(view: np.record, card: int) -> str:
    hand = int(view.hands[view.to_act])
    name = card_name(card)
    if hand >> card & 1:
        return f"{name} may not be laid away: it is the card just taken"
    return f"{name} may not be laid away: you hold {_names(hand)}"


def _why_not_bid(view: np.record, action: int, phase: Phase) -> str:
    if action == PASS:
        return "pass is not possible: the dealer is stuck and must name a suit"
    suit = SUIT_WORDS[action - NAME]
    if view.turned_suit != NO_SUIT and action - NAME == view.turned_suit:
        return f"{ACTION_NAMES[action]} is not possible: {suit} were turned down"
    return f"{ACTION_NAMES[action]} is not possible now: {_DEMANDS[phase]}"


def _names(mask: int) -> str:
    return " ".join(action_name(number) for number in action_list(int(mask)))
