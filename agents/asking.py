"""A person is asked for an act: the prompt, help, hints; and a person as an agent among others."""

import re
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.text import Text

from agents import make_agent
from agents.base import Agent
from agents.entries import COMMAND_MEANINGS, Command, EntryError, read_act, read_command
from euchre_env.actions import (
    ACCEPT,
    LEAVE,
    NAME,
    NUM_ACTIONS,
    ORDER_UP,
    PASS,
    TAKE,
    Phase,
    action_list,
    mask_array,
)
from euchre_env.cards import NUM_CARDS, SUIT_SYMBOLS, SUIT_WORDS, card_list
from euchre_env.engine import legal_actions
from euchre_env.notation import options_text
from euchre_env.rendering import card_text, table_text
from euchre_env.state import NO_CARD, NO_SUIT, States, rules_of
from euchre_env.story import in_hand_order
from euchre_env.telling import YOU, tell_act

HELPER: Final = "expert"
"""Who gives hints unless somebody else is asked."""

Read = Callable[[str], str]
"""Shows a prompt and returns the line typed; raises EOFError or KeyboardInterrupt to leave."""


class QuitError(Exception):
    """The player leaves."""


_COLOURED: Final = re.compile(r"\S*[♥♦]\S*|\S*★\S*|\*(?:right|left)?")
_MEANINGS: Final = {
    PASS: "say nothing",
    ORDER_UP: "the upcard's suit is trump, you are maker; the dealer may take the upcard",
    ACCEPT: "the upcard's suit is trump, you are maker; you take it and lay a card away",
    TAKE: "the upcard goes into your hand, you lay a card away",
    LEAVE: "the upcard stays on the table, your hand as it is",
}


def painted(text: str) -> Text:
    """A line with red suits red and trumps' stars yellow."""
    line = Text(text)
    for found in _COLOURED.finditer(text):
        is_red = any(symbol in found[0] for symbol in "♥♦")
        line.stylize("red" if is_red else "yellow", *found.span())
    return line


def _question(view: np.record) -> str:
    """What the player is asked now."""
    phase = Phase(int(view.phase))
    upcard = card_text(int(view.upcard))
    names = [SUIT_WORDS[a - NAME] for a in action_list(legal_actions(view)) if NAME <= a < PASS]
    or_pass = ", or pass" if int(legal_actions(view)) >> PASS & 1 else ""
    return {
        Phase.ORDER: f"order up the {upcard}, or pass",
        Phase.ACCEPT: f"accept the {upcard}, or pass",
        Phase.TAKE: f"you are ordered up: take the {upcard}, or leave it",
        Phase.DISCARD: f"which card do you lay away{_trump(view)}",
        Phase.PLAY: f"your {'lead' if view.led_card == NO_CARD else 'card'}{_trump(view)}",
    }.get(phase, f"name {', '.join(names)}{or_pass}")


def _trump(view: np.record) -> str:
    """What is trump, as part of a question."""
    trump = int(view.trump)
    return "" if trump == NO_SUIT else f", {SUIT_WORDS[trump]} {SUIT_SYMBOLS[trump]} trump"


def _hand_line(view: np.record) -> str:
    """The player's hand; cards that may not be chosen now in parentheses."""
    if view.phase == Phase.NAME_BLIND:
        return "your hand: you see it once you have named trump"
    legal, trump = int(legal_actions(view)), int(view.trump)
    is_choice = view.phase in (Phase.PLAY, Phase.DISCARD)
    cards = []
    for card in in_hand_order(card_list(int(view.hands[int(view.seat)])), trump):
        text = card_text(card, trump)
        cards.append(text if not is_choice or legal >> card & 1 else f"({text})")
    return f"your hand: {'  '.join(cards)}"


def _help(view: np.record) -> Iterator[str]:
    """The legal acts and their meaning, then the commands."""
    trump = int(view.trump)
    cards = []
    for action in action_list(legal_actions(view)):
        if action < NUM_CARDS:
            cards.append(card_text(action, trump))
        elif action < PASS:
            suit = action - NAME
            yield f"  name {SUIT_WORDS[suit]} {SUIT_SYMBOLS[suit]}: it is trump, you are maker"
        else:
            yield f"  {_act_words(action)}: {_MEANINGS[action]}"
    if cards:
        verb = "lay away" if view.phase == Phase.DISCARD else "play"
        yield f"  {verb} one of {'  '.join(cards)}: type it, or its rank or suit if only one has it"
    if trump != NO_SUIT:
        yield "  * marks trumps; the right bower is the highest, the left bower the next"
    yield "commands:"
    for command, meaning in COMMAND_MEANINGS.items():
        yield f"  {command.value:<6} {meaning}"


def _act_words(action: int) -> str:
    return {ORDER_UP: "order up", PASS: "pass", ACCEPT: "accept", TAKE: "take"}.get(action, "leave")


class Asker:
    """Asks a person for acts, until one is legal; answers questions in between.

    Args:
        read: how a line is read; `input` by default.
        console: where everything is shown.
        helper: who gives hints: an agent or its name.
    """

    def __init__(
        self,
        read: Read | None = None,
        console: Console | None = None,
        helper: str | Agent = HELPER,
    ) -> None:
        self._read = read or input
        self._console = console or Console(highlight=False)
        self._helper = helper
        self.num_hints = 0

    def say(self, text: str = "") -> None:
        """Show lines, suits in colour."""
        for line in text.split("\n"):
            self._console.print(painted(line), soft_wrap=False)

    def ask(self, view: np.record, names: tuple[str, str], rng: np.uint64) -> int | Command:
        """A legal act, or a command that changes the game: ``UNDO``.

        Args:
            view: what the player knows; it is his act.
            names: of seat 0 and seat 1.
            rng: key of a random stream, for a helper that draws.

        Raises:
            QuitError: the player leaves.
        """
        self.say(_hand_line(view))
        while True:
            try:
                typed = self._read(f"{_question(view)} > ").strip()
            except (EOFError, KeyboardInterrupt):
                self.say()
                raise QuitError from None
            if not typed:
                self.say("type an act, or ? for what there is")
                continue
            command = read_command(typed)
            if command is Command.QUIT:
                raise QuitError
            if command is Command.UNDO:
                return command
            if command is not None:
                self._answer(command, view, names, rng)
                continue
            try:
                return read_act(typed, view)
            except EntryError as problem:
                self.say(str(problem))

    def _answer(
        self, command: Command, view: np.record, names: tuple[str, str], rng: np.uint64
    ) -> None:
        if command is Command.HELP:
            self.say("\n".join(_help(view)))
        elif command is Command.BOARD:
            self.say(table_text(view))
        elif command is Command.SCORE:
            self.say(score_line(view, names))
        elif command is Command.RULES:
            changed = ", ".join(options_text(rules_of(view)))
            self.say(changed or "the usual rules: nothing differs from docs/rules.md")
        elif command is Command.HINT:
            self._give_hint(view, rng)

    def _give_hint(self, view: np.record, rng: np.uint64) -> None:
        try:
            helper = make_agent(self._helper)
        except (ValueError, OSError, ImportError) as problem:
            self.say(f"no hint: {problem}")
            return
        self.num_hints += 1
        seat = int(view.seat)
        names = [YOU, YOU]
        names[seat] = str(getattr(helper, "name", "helper"))
        action = act_of(helper, np.array([view], dtype=view.dtype), rng)
        self.say(f"hint: {tell_act(view, action, (names[0], names[1]))}")


def score_line(view: np.record, names: tuple[str, str]) -> str:
    """``you 3, expert 5, to 10 points``."""
    zero, one = (int(points) for points in view.scores)
    return f"{names[0]} {zero}, {names[1]} {one}, to {int(view.target_score)} points"


def act_of(agent: Agent, view: States, rng: np.uint64) -> int:
    """One act of an agent in one view of shape (1,)."""
    masks = mask_array(int(legal_actions(view[0])))[None]
    action = int(agent.act(view, masks, np.array([rng], dtype=np.uint64))[0])
    if not 0 <= action < NUM_ACTIONS or not masks[0, action]:
        raise RuntimeError(f"{getattr(agent, 'name', agent)} answered {action}, no legal act")
    return action


class HumanAgent:
    """A person as an agent: is shown the table and asked, for every view there is.

    Args:
        asker: how the person is asked; at the terminal by default.

    Raises `QuitError` out of `act` when the person leaves.
    """

    name = "human"

    def __init__(self, asker: Asker | None = None) -> None:
        self._asker = asker or Asker()

    def act(
        self,
        views: States,
        action_masks: npt.NDArray[np.int8],
        rng: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.int64]:
        """Ask for an act in every view, one after the other (see `agents.Agent`)."""
        return np.array(
            [self._ask(view, key) for view, key in zip(views, rng, strict=True)], dtype=np.int64
        )

    def _ask(self, view: np.record, key: np.uint64) -> int:
        self._asker.say(table_text(view))
        names = [YOU, "opponent"]
        while True:
            answer = self._asker.ask(view, (names[int(view.seat)], names[1 - int(view.seat)]), key)
            if not isinstance(answer, Command):
                return int(answer)
            self._asker.say("nothing can be taken back here")
