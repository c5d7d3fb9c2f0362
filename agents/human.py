"""People at the terminal: play any agent, with hints, undo and a record of the game.

    euchre-play                                  against the expert
    euchre-play --opponent search --rules british --seed 7

``python -m agents.human`` is the same. `HumanAgent` (of `agents.asking`) is a person as an agent.
"""

import contextlib
import os
import secrets
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import platformdirs
import tyro
from rich.console import Console

from agents import make_agent
from agents.asking import HELPER, Asker, HumanAgent, QuitError, Read, act_of, score_line
from agents.base import Agent
from agents.entries import Command
from euchre_env.actions import Phase
from euchre_env.dealing import mix, seed_streams, seed_word
from euchre_env.engine import apply, legal_actions, next_deal, start_game
from euchre_env.records import RecordError, RecordWriter, read_records
from euchre_env.rendering import card_text, table_text
from euchre_env.rules import Rules
from euchre_env.rules_text import parse_rules
from euchre_env.state import States, new_states
from euchre_env.stepping import decision_stream
from euchre_env.telling import YOU, tell_act, tell_deal, tell_trick
from euchre_env.views import blank

__all__ = ["Asker", "HumanAgent", "QuitError", "Sitting", "main", "run"]

BEST_OPPONENT: Final = "expert"


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
    opponent, helper = make_agent(args.opponent), make_agent(args.hint)
    path = _checked_record(args.record)
    console = console or Console(highlight=False, no_color=args.no_color or None)
    asker = Asker(read, console, helper)
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
