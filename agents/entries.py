"""What a player types, read: acts as people write them, and commands.

>>> from euchre_env.notation import parse_position
>>> from euchre_env.actions import action_name
>>> from euchre_env.views import blank
>>> state = parse_position("TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 pass,pass")
>>> [action_name(read_act(text, blank(state, 0)[0])) for text in ("s", "name clubs", "Pass")]
['name:S', 'name:C', 'pass']
"""

import difflib
import re
from enum import StrEnum
from typing import Final

import numpy as np

from euchre_env.actions import (
    ACCEPT,
    LEAVE,
    NAME,
    ORDER_UP,
    PASS,
    TAKE,
    Phase,
    action_list,
    action_name,
)
from euchre_env.cards import (
    CARD_NAMES,
    JOKER,
    NUM_CARDS,
    NUM_RANKS,
    RANK_NAMES,
    SUIT_NAMES,
    SUIT_SYMBOLS,
    SUIT_WORDS,
)
from euchre_env.engine import legal_actions
from euchre_env.explain import why_illegal


class EntryError(ValueError):
    """What was typed is no act that can be done now; says why in the game's words."""


class Command(StrEnum):
    """What can be typed instead of an act."""

    HELP = "?"
    UNDO = "undo"
    HINT = "hint"
    BOARD = "board"
    SCORE = "score"
    RULES = "rules"
    QUIT = "quit"


COMMAND_MEANINGS: Final = {
    Command.HELP: "the legal acts and what they mean",
    Command.UNDO: "take your last act back, as often as you like",
    Command.HINT: "what a good player would do",
    Command.BOARD: "the whole table once more",
    Command.SCORE: "the score of the game",
    Command.RULES: "the rules that differ from the usual ones",
    Command.QUIT: "leave; the game so far is recorded",
}
_COMMAND_WORDS: Final = {
    **{command.value: command for command in Command},
    "help": Command.HELP,
    "u": Command.UNDO,
    "redraw": Command.BOARD,
    "exit": Command.QUIT,
    "q": Command.QUIT,
}

_BIDS: Final = {
    "pass": PASS,
    "p": PASS,
    "order up": ORDER_UP,
    "order": ORDER_UP,
    "o": ORDER_UP,
    "accept": ACCEPT,
    "a": ACCEPT,
    "take": TAKE,
    "t": TAKE,
    "leave": LEAVE,
    "l": LEAVE,
}
_YES_AND_NO: Final = {
    Phase.ORDER: (ORDER_UP, PASS),
    Phase.ACCEPT: (ACCEPT, PASS),
    Phase.TAKE: (TAKE, LEAVE),
}
"""What ``yes`` and ``no`` mean where there is a question with two answers."""
_NAMING: Final = (Phase.NAME_FIRST, Phase.NAME_SECOND, Phase.NAME_BLIND)

_SUITS: Final = {
    **{name.lower(): suit for suit, name in enumerate(SUIT_NAMES)},
    **{word: suit for suit, word in enumerate(SUIT_WORDS)},
    **{word.removesuffix("s"): suit for suit, word in enumerate(SUIT_WORDS)},
    **{symbol: suit for suit, symbol in enumerate(SUIT_SYMBOLS)},
}
_RANK_WORDS: Final = ("seven", "eight", "nine", "ten", "jack", "queen", "king", "ace")
_RANKS: Final = {
    **{name.lower(): rank for rank, name in enumerate(RANK_NAMES)},
    **{word: rank for rank, word in enumerate(_RANK_WORDS)},
    "10": RANK_NAMES.index("T"),
}
_CARD: Final = re.compile(
    f"({'|'.join(sorted(_RANKS, key=len, reverse=True))})\\s*(?:of\\s+)?"
    f"({'|'.join(sorted(_SUITS, key=len, reverse=True))})"
)
_FILLERS: Final = re.compile(
    r"^(?:i\s+)?(?:play|lead|discard|lay(?: away)?|name|call)\b[:\s]*(?=.)"
)


def read_command(text: str) -> Command | None:
    """The command that was typed, or None: then it is an act, if anything."""
    return _COMMAND_WORDS.get(text.strip().lower())


def read_act(text: str, view: np.record) -> int:
    """The act that was typed: ``JH``, ``jack of hearts``, ``order up``, ``h``, ``pass`` ...

    A number is the place of a card in the hand as shown, a suit or a rank alone the one legal
    card that has it.

    Args:
        text: one line.
        view: of the player whose act it is.

    Returns:
        A legal act.

    Raises:
        EntryError: nothing that can be done now; the message says why.
    """
    plain = " ".join(text.lower().replace("_", " ").replace("-", " ").split())
    phase = Phase(int(view.phase))
    legal = int(legal_actions(view))
    action = _named_act(plain, phase)
    if action is None:
        action = _abbreviated(plain, phase, legal)
    if action is None:
        raise EntryError(
            f"{text.strip()!r} is neither an act nor a command{_guess(plain, legal)}: ? tells what "
            "there is"
        )
    if not legal >> action & 1:
        raise EntryError(why_illegal(view, action))
    return action


def _guess(plain: str, legal: int) -> str:
    """The command or legal act that a text comes close to, as a question; or nothing."""
    words = [*_COMMAND_WORDS]
    for action in action_list(legal):
        words.append(action_name(action).replace("_", " ").replace(":", " "))
        if action < NUM_CARDS and action != JOKER:
            words.append(f"{_RANK_WORDS[action % NUM_RANKS]} of {SUIT_WORDS[action // NUM_RANKS]}")
        elif NAME <= action < PASS:
            words.append(f"name {SUIT_WORDS[action - NAME]}")
    by_key = {word.lower(): word for word in words}
    close = difflib.get_close_matches(plain, by_key, n=1, cutoff=0.7)
    return f" (did you mean {by_key[close[0]]!r}?)" if close else ""


def _named_act(plain: str, phase: Phase) -> int | None:
    """The act that a text names in full, legal or not."""
    if plain in _BIDS:
        return _BIDS[plain]
    if plain in ("yes", "y", "no", "n") and phase in _YES_AND_NO:
        return _YES_AND_NO[phase][plain[0] == "n"]
    bare = _FILLERS.sub("", plain)
    if bare in ("joker", "jk", "the joker"):
        return JOKER
    card = _CARD.fullmatch(bare)
    if card:
        return NUM_RANKS * _SUITS[card[2]] + _RANKS[card[1]]
    if bare in _SUITS and (phase in _NAMING or bare != plain):
        return NAME + _SUITS[bare]
    return None


def _abbreviated(plain: str, phase: Phase, legal: int) -> int | None:
    """The one legal card that has the rank or the suit named; an error where several have it."""
    if phase not in (Phase.PLAY, Phase.DISCARD):
        return None
    cards = [card for card in action_list(legal) if card < NUM_CARDS]
    if plain in _SUITS:
        fitting = [c for c in cards if c != JOKER and c // NUM_RANKS == _SUITS[plain]]
    elif plain in _RANKS:
        fitting = [c for c in cards if c != JOKER and c % NUM_RANKS == _RANKS[plain]]
    else:
        return None
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise EntryError(f"no card that you may choose now is {plain!r}")
    raise EntryError(f"{plain!r} may be {' or '.join(CARD_NAMES[card] for card in fitting)}")
