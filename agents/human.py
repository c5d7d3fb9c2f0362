"""People at the terminal: play any agent, with hints, undo and a record of the game.

    euchre-play                                  against the expert
    euchre-play --opponent search --rules british --seed 7

``python -m agents.human`` is the same. `HumanAgent` is a person as an agent among others.
"""

import contextlib
import os
import re
import secrets
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import platformdirs
import tyro
from rich.console import Console
from rich.text import Text

from agents import make_agent
from agents.base import Agent
from agents.entries import COMMAND_MEANINGS, Command, EntryError, read_act, read_command
from agents.evaluation.rules_text import parse_rules
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
from euchre_env.dealing import mix, seed_streams, seed_word
from euchre_env.engine import apply, legal_actions, next_deal, start_game
from euchre_env.notation import options_text
from euchre_env.records import RecordError, RecordWriter, read_records
from euchre_env.rendering import card_text, table_text
from euchre_env.rules import Rules
from euchre_env.state import NO_CARD, NO_SUIT, States, new_states, rules_of
from euchre_env.stepping import decision_stream
from euchre_env.story import in_hand_order
from euchre_env.telling import YOU, tell_act, tell_deal, tell_trick
from euchre_env.views import blank

BEST_OPPONENT: Final = "expert"
HELPER: Final = "expert"
"""Who gives hints unless somebody else is asked."""

Read = Callable[[str], str]
"""Shows a prompt and returns the line typed; raises EOFError or KeyboardInterrupt to leave."""


class QuitError(Exception):
    """The player leaves."""


# --- one question -------------------------------------------------------------------------------

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


# --- a game -------------------------------------------------------------------------------------


class Sitting:
    """One game between a person and an agent, act by act.

    Args:
        opponent: whom the person plays.
        asker: how the person is asked.
        rules: what is played.
        seed: what all deals and the opponent's acts follow from.
        seat: the person's, 0 or 1.
        num_deals: stop after so many deals; None for a whole game.
        is_automatic: do an act that is the only legal one without asking.
    """

    def __init__(
        self,
        opponent: Agent,
        asker: Asker,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        seat: int = 0,
        num_deals: int | None = None,
        is_automatic: bool = True,
    ) -> None:
        self._opponent, self._asker = opponent, asker
        self._seat, self._num_deals, self._is_automatic = seat, num_deals, is_automatic
        names = [YOU, str(getattr(opponent, "name", "opponent"))]
        self.names = (names[seat], names[1 - seat])
        self._states = new_states(1, rules)
        seed_streams(self._states, np.array([seed_word(seed)], dtype=np.uint64))
        start_game(self._states[0])
        self._finished: list[States] = []
        self._past: list[tuple[States, int]] = []
        self.num_undone = 0

    @property
    def deals(self) -> States:
        """Every deal begun, as it ended or stands; none in which nothing was done."""
        rows = list(self._finished)
        if self._states[0].num_actions and self._states[0].phase < Phase.DEAL_OVER:
            rows.append(self._states)
        return np.concatenate(rows) if rows else self._states[:0]

    @property
    def view(self) -> np.record:
        """What the person knows now."""
        row: np.record = blank(self._states, self._seat)[0]
        return row

    @property
    def has_begun(self) -> bool:
        """Whether the person has done anything."""
        return bool(self._past)

    def play(self) -> None:
        """Play to the end of the game, or of the last deal.

        Raises:
            QuitError: the person leaves; `deals` holds all so far.
        """
        self._tell_dealt()
        while True:
            state = self._states[0]
            if state.phase < Phase.DEAL_OVER:
                self._act()
                continue
            self._asker.say(f"{tell_deal(state, self.names)}; {score_line(state, self.names)}\n")
            self._finished.append(self._states.copy())
            if state.phase == Phase.GAME_OVER:
                self._tell_winner(state)
                return
            if self._num_deals is not None and len(self._finished) >= self._num_deals:
                return
            next_deal(state)
            self._tell_dealt()

    def _act(self) -> None:
        state = self._states[0]
        view = blank(self._states, int(state.to_act))
        stream = np.uint64(decision_stream(state))
        if state.to_act != self._seat:
            action = act_of(self._opponent, view.copy(), stream)
        else:
            legal = int(legal_actions(state))
            if self._is_automatic and legal.bit_count() == 1:
                action = legal.bit_length() - 1
            else:
                answer = self._asker.ask(view[0], self.names, np.uint64(mix(stream)))
                if isinstance(answer, Command):
                    self._undo()
                    return
                self._past.append((self._states.copy(), len(self._finished)))
                action = answer
        self._do(action)

    def _do(self, action: int) -> None:
        before = blank(self._states, self._seat)[0]
        apply(self._states[0], action)
        after = blank(self._states, self._seat)[0]
        shown = int(after.history[int(after.num_actions) - 1])
        words = tell_act(before, shown, self.names)
        trick = tell_trick(after, self.names)
        self._asker.say(f"{words}; {trick}\n" if trick else words)

    def _undo(self) -> None:
        if not self._past:
            self._asker.say("there is nothing to take back")
            return
        self._states, num_finished = self._past.pop()
        del self._finished[num_finished:]
        self.num_undone += 1
        self._asker.say("taken back\n")
        self._asker.say(table_text(blank(self._states, self._seat)[0]))

    def _tell_dealt(self) -> None:
        state = self._states[0]
        who = self.names[int(state.dealer)]
        self._asker.say(
            f"— deal {int(state.deal_number)}: {who} {'deal' if who == YOU else 'deals'}, "
            f"{card_text(int(state.upcard))} is turned up"
        )

    def _tell_winner(self, state: np.record) -> None:
        who = self.names[int(state.winner)]
        high, low = sorted((int(points) for points in state.scores), reverse=True)
        verb = "have" if who == YOU else "has"
        self._asker.say(
            f"{who} {verb} won the game, {high} to {low}, in {int(state.deal_number)} deals"
        )


# --- the command --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Args:
    """Play two-handed Euchre against an agent, in the terminal; ? at any prompt helps."""

    opponent: str = BEST_OPPONENT
    """whom you play: an agent's name, or a folder that train.py has written"""
    rules: str = ""
    """presets and options, like british,target_score=5 (docs/rules.md); the usual game if empty"""
    seed: int | None = None
    """fixes the deals; drawn (and told) if not given"""
    seat: Literal["random", "0", "1"] = "random"
    """your seat; the first dealer is drawn either way"""
    deals: int | None = None
    """stop after so many deals instead of at the end of the game"""
    hint: str = HELPER
    """the agent that gives hints"""
    record: Path | None = None
    """file that the game is added to; one of your own, told at the end, if not given"""
    name: str = "human"
    """what the record calls you"""
    ask_all: bool = False
    """ask even where one act alone is legal"""
    no_color: bool = False
    """no colours (the variable NO_COLOR does the same)"""


def default_record() -> Path:
    """The file that games are recorded in when none is named."""
    return Path(platformdirs.user_data_dir("euchre_env")) / "games.txt"


def _checked_record(path: Path | None) -> Path:
    """The file to add the game to, found writable and no other kind of file before any play.

    Raises:
        ValueError: it holds something else than records.
        OSError: it cannot be written.
    """
    if path is None:
        path = default_record()
        path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", encoding="utf-8"):
        pass
    if is_new:
        path.unlink()
        return path
    try:
        next(read_records(path), None)
    except RecordError as problem:
        raise ValueError(f"--record {path}: no file of game records ({problem.problem})") from None
    return path


def _use_readline() -> None:
    """Line editing and history at the prompt, where there is a terminal."""
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):
            import readline

            readline.set_auto_history(True)


def _stop(*_: Any) -> None:
    raise KeyboardInterrupt


def run(args: Args, read: Read | None = None, console: Console | None = None) -> None:
    """Play one game as the command says.

    Raises:
        ValueError: an argument means nothing.
        OSError: the record cannot be written, or an agent not read.
    """
    if args.deals is not None and args.deals < 1:
        raise ValueError(f"--deals {args.deals}: at least one")
    rules = parse_rules(args.rules)
    seed = secrets.randbelow(2**31) if args.seed is None else args.seed
    seat = int(mix(seed_word(seed))) & 1 if args.seat == "random" else int(args.seat)
    opponent = make_agent(args.opponent)
    path = _checked_record(args.record)
    console = console or Console(highlight=False, no_color=args.no_color or None)
    asker = Asker(read, console, args.hint)
    game = Sitting(
        opponent, asker, rules=rules, seed=seed, seat=seat, num_deals=args.deals,
        is_automatic=not args.ask_all,
    )  # fmt: skip
    asker.say(
        f"Two-handed Euchre: you (seat {seat}) against {game.names[1 - seat]}, to "
        f"{rules.target_score} points. Type ? for help."
    )
    try:
        game.play()
    except (QuitError, KeyboardInterrupt):
        asker.say("you leave the table")
    if not game.has_begun:
        return
    number = _record(game, args.name, seat, seed, path, asker.num_hints)
    asker.say(f"recorded: euchre-replay {path} --game {number}")
    asker.say(f"the same cards again: --seed {seed} --seat {seat}")


def _record(game: Sitting, name: str, seat: int, seed: int, path: Path, num_hints: int) -> int:
    """Add the game to its file; returns its number there."""
    players = (name, game.names[1 - seat])
    tags = {"hints": num_hints, "taken_back": game.num_undone}
    with RecordWriter(
        path,
        (players[seat], players[1 - seat]),
        seed=seed,
        tags={tag: str(count) for tag, count in tags.items() if count},
        append=True,
    ) as writer:
        writer.add_games(game.deals)
        return writer.num_records


def main() -> None:
    """The console script ``euchre-play``."""
    args = tyro.cli(Args, prog="euchre-play")
    for name in ("SIGTERM", "SIGHUP"):  # a closed window leaves the game recorded
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    _use_readline()
    try:
        run(args)
    except (ValueError, OSError, ImportError) as problem:
        print(f"euchre-play: {problem}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:  # outside a question, before anything was played
        sys.exit(os.EX_OK if hasattr(os, "EX_OK") else 0)


if __name__ == "__main__":
    main()
