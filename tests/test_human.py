"""People at the terminal: what may be typed, what is shown, taken back, recorded."""

from __future__ import annotations

import io
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pexpect
import pytest
from rich.console import Console

from agents import make_agent
from agents.entries import COMMAND_MEANINGS, Command, EntryError, read_act, read_command
from agents.evaluation.matches import match
from agents.human import Args, Asker, HumanAgent, QuitError, Sitting, main, run
from euchre_env.actions import ACTION_NAMES, Phase, action_list, action_name, action_number
from euchre_env.cards import CARD_NAMES, card_list
from euchre_env.engine import legal_actions
from euchre_env.history import dealt_hand
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import parse_position
from euchre_env.records import read_records
from euchre_env.rules import Rules
from euchre_env.views import blank
from tests.strategies import differing, sample

DEAL = "TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0"


def seen(acts: str) -> np.record:
    """The view of whoever is to act after some acts of the deal."""
    states = parse_position(f"{DEAL} {acts}")
    row: np.record = blank(states, int(states[0].to_act))[0]
    return row


# --- what is typed ------------------------------------------------------------------------------

TYPED = [
    ("-", "order up", "order_up"),
    ("-", "order_up", "order_up"),
    ("-", " ORDER-UP ", "order_up"),
    ("-", "o", "order_up"),
    ("-", "yes", "order_up"),
    ("-", "no", "pass"),
    ("-", "p", "pass"),
    ("pass", "accept", "accept"),
    ("pass", "y", "accept"),
    ("order_up", "take", "take"),
    ("order_up", "n", "leave"),
    ("pass,pass", "name spades", "name:S"),
    ("pass,pass", "s", "name:S"),
    ("pass,pass", "call club", "name:C"),
    ("pass,pass", "♦", "name:D"),
    ("pass,accept", "9c", "9C"),
    ("pass,accept", "lay away 9C", "9C"),
    ("pass,accept", "discard: 9c", "9C"),
    ("pass,accept", "s", "AS"),
    ("order_up,leave", "jh", "JH"),
    ("order_up,leave", "J♥", "JH"),
    ("order_up,leave", "10c", "TC"),
    ("order_up,leave", "ten of clubs", "TC"),
    ("order_up,leave", "play Jack of Hearts", "JH"),
    ("order_up,leave", "lead ah", "AH"),
    ("order_up,leave", "c", "TC"),
    ("order_up,leave", "9", "9S"),
    ("order_up,leave,JH", "k", "KH"),
]


@pytest.mark.parametrize(("acts", "typed", "act"), TYPED)
def test_acts_as_people_write_them(acts: str, typed: str, act: str) -> None:
    assert action_name(read_act(typed, seen(acts))) == act


REFUSED = [
    ("-", "jh", "JH is not possible now: the nondealer passes or orders up"),
    ("-", "accept", "accept is not possible now: the nondealer passes or orders up"),
    ("-", "h", "'h' is neither an act nor a command"),
    ("-", "banana", "'banana' is neither an act nor a command: ?"),
    ("-", "pas", "'pas' is neither an act nor a command (did you mean 'pass'?)"),
    ("-", "oder up", "(did you mean 'order up'?)"),
    ("-", "hnit", "(did you mean 'hint'?)"),
    ("pass", "acept", "(did you mean 'accept'?)"),
    ("pass,pass", "name spaeds", "(did you mean 'name spades'?)"),
    ("order_up,leave", "jak of hearts", "(did you mean 'jack of hearts'?)"),
    ("order_up,leave", "jhh", "(did you mean 'JH'?)"),
    ("pass,pass", "h", "name:H is not possible: hearts were turned down"),
    ("pass,accept", "9h", "9H may not be laid away: it is the card just taken"),
    ("order_up,leave", "j", "'j' may be JD or JH"),
    ("order_up,leave", "q", "no card that you may choose now is 'q'"),
    ("order_up,leave", "kh", "KH may not be played: you hold TC JD JH AH 9S"),
    ("order_up,leave,JH", "as", "AS may not be played: hearts were led and you hold QH KH"),
    ("order_up,leave,JH", "joker", "JK may not be played: you hold"),
    ("order_up,leave", "name hearts", "name:H is not possible now: a card is to be played"),
    ("order_up,leave", "yes", "'yes' is neither"),
]


@pytest.mark.parametrize(("acts", "typed", "said"), REFUSED)
def test_a_wrong_entry_says_what_is_wrong(acts: str, typed: str, said: str) -> None:
    with pytest.raises(EntryError, match=re.escape(said)):
        read_act(typed, seen(acts))


def test_every_legal_act_can_be_typed_by_its_name_in_every_phase() -> None:
    for state in sample(200 if IS_COMPILED else 40, seed=6):
        if state.phase >= Phase.DEAL_OVER:
            continue
        view = blank(np.array([state], dtype=state.dtype), int(state.to_act))[0]
        for action in action_list(int(legal_actions(view))):
            assert read_act(ACTION_NAMES[action], view) == action
            assert read_act(ACTION_NAMES[action].replace(":", " "), view) == action


def test_commands_are_told_from_acts() -> None:
    assert read_command(" Undo ") is Command.UNDO
    assert read_command("help") is Command.HELP
    assert read_command("q") is Command.QUIT
    assert read_command("h") is None
    assert set(COMMAND_MEANINGS) == set(Command)


# --- a person who plays -------------------------------------------------------------------------


class Person:
    """Answers prompts: by a rule that sees what a person sees; keeps all that was shown."""

    def __init__(self, answer: Callable[[Person], str], width: int = 100) -> None:
        self.screen = io.StringIO()
        self.asker = Asker(self.read, Console(file=self.screen, width=width, highlight=False))
        self.answer = answer
        self.game: Sitting | None = None
        self.prompts: list[str] = []

    def read(self, prompt: str) -> str:
        self.prompts.append(prompt)
        self.screen.write(prompt + "\n")
        return self.answer(self)

    @property
    def legal(self) -> list[int]:
        assert self.game is not None
        return action_list(int(legal_actions(self.game.view)))

    def sit_down(self, **options: object) -> Sitting:
        self.game = Sitting(make_agent("novice"), self.asker, **options)  # type: ignore[arg-type]
        return self.game


def first_legal(person: Person) -> str:
    return ACTION_NAMES[person.legal[0]]


SOME_RULES = [
    Rules(),
    Rules.british(target_score=5),
    Rules.railroad_pack(stick_the_dealer=True, target_score=3, discard_upcard=True),
    Rules(stop_when_decided=True, order_up_pickup="must", target_score=2),
]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("rules", SOME_RULES, ids=repr)
def test_whole_games_are_played_and_told(rules: Rules, seat: int) -> None:
    person = Person(first_legal)
    game = person.sit_down(rules=rules, seed=3, seat=seat)
    game.play()
    shown = person.screen.getvalue()
    assert "won the game" in shown
    assert shown.count("— deal ") == len(game.deals) == int(game.deals[-1]["deal_number"])
    assert game.deals[-1]["phase"] == Phase.GAME_OVER
    assert "neither an act" not in shown


@pytest.mark.parametrize("rules", SOME_RULES, ids=repr)
def test_what_is_shown_is_what_the_player_knows(rules: Rules) -> None:
    """No card is on the screen before its player shows it."""

    def check(person: Person) -> str:
        assert person.game is not None
        view = person.game.view
        known = int(view.hands[1]) | int(view.played[0]) | int(view.played[1])
        known |= 1 << int(view.upcard)
        if view.discard >= 0:
            known |= 1 << int(view.discard)
        if view.phase != Phase.NAME_BLIND:
            known |= int(dealt_hand(view, 1))
        this_deal = person.screen.getvalue().rpartition("— deal ")[2]
        told = {name for name in CARD_NAMES if re.search(rf"\b{name}[♣♦♥♠★]", this_deal)}
        assert told <= {CARD_NAMES[card] for card in card_list(known)}
        return next(todo)

    todo = iter(())

    def answer(person: Person) -> str:
        nonlocal todo
        try:
            return check(person)
        except StopIteration:
            todo = iter(["board", "?", "hint", first_legal(person)])
            return check(person)

    person = Person(answer)
    person.sit_down(rules=rules, seed=5, seat=1).play()


def test_taking_back_leads_to_the_same_game() -> None:
    """Each act is first another one, taken back at the next question."""
    plain = Person(first_legal)
    game = plain.sit_down(seed=1, num_deals=6)
    game.play()
    turns = itertools.cycle(["another", "undo", "first"])

    def answer(person: Person) -> str:
        turn = next(turns)
        if turn == "undo":
            return turn
        return ACTION_NAMES[person.legal[-1 if turn == "another" else 0]]

    person = Person(answer)
    again = person.sit_down(seed=1, num_deals=6)
    again.play()
    assert again.num_undone > 10
    # the last deal may end with the other act: nobody is asked after it
    assert not differing(again.deals[:-1], game.deals[:-1])


def test_everything_can_be_taken_back_to_the_first_act() -> None:
    answers = itertools.chain(["first"] * 12, ["undo"] * 20)

    def answer(person: Person) -> str:
        word = next(answers, "quit")
        return first_legal(person) if word == "first" else word

    person = Person(answer)
    game = person.sit_down(seed=2)
    first = game.view.copy()
    with pytest.raises(QuitError):
        game.play()
    assert game.num_undone == 12
    assert "nothing to take back" in person.screen.getvalue()
    assert not game.has_begun
    assert game.view.num_actions <= 1
    assert (game.view.hands == first.hands).all()


def test_a_hint_is_what_the_helper_would_do() -> None:
    answers = iter(["hint", "quit"])
    person = Person(lambda person: next(answers))
    with pytest.raises(QuitError):
        person.sit_down(seed=5).play()
    assert re.search(r"hint: expert (passes|orders up|accepts)", person.screen.getvalue())
    assert person.asker.num_hints == 1


def test_lines_fit_a_narrow_terminal() -> None:
    person = Person(first_legal, width=40)
    person.sit_down(seed=3, num_deals=2).play()
    lines = person.screen.getvalue().splitlines()
    prompts = set(person.prompts)
    assert max(len(line) for line in lines if line not in prompts) <= 40


def test_only_the_last_deals_asked_for_are_played() -> None:
    game = Person(first_legal).sit_down(seed=3, num_deals=2)
    game.play()
    assert len(game.deals) == 2


# --- a person among agents ----------------------------------------------------------------------


def tries_everything() -> Iterator[str]:
    return itertools.cycle(["undo", *ACTION_NAMES])


def test_a_person_is_an_agent_among_others() -> None:
    words = tries_everything()
    console = Console(file=io.StringIO(), highlight=False)
    human = HumanAgent(Asker(lambda prompt: next(words), console))
    result = match(human, make_agent("novice"), pairs=1, games=0)
    assert result.agents[0] == "human"
    assert result.pairs == 1


# --- the command --------------------------------------------------------------------------------


def typed(*words: str) -> Callable[[str], str]:
    """Reads these lines, then the end of input."""
    left = iter(words)

    def read(prompt: str) -> str:
        try:
            word = next(left)
        except StopIteration:
            raise EOFError from None
        if word == "^C":
            raise KeyboardInterrupt
        return word

    return read


def console() -> Console:
    return Console(file=io.StringIO(), highlight=False, width=100)


@pytest.mark.parametrize("end", ["quit", "^C", "^D"])
def test_whoever_leaves_has_the_game_recorded(tmp_path: Path, end: str) -> None:
    path = tmp_path / "games.txt"
    for number in (1, 2):
        words = ["pass"] if end == "^D" else ["pass", end]
        screen = console()
        args = Args(opponent="novice", seed=5, seat="0", record=path, name="Ada")
        run(args, typed(*words), screen)
        assert f"--game {number}" in screen.file.getvalue()  # type: ignore[attr-defined]
    records = list(read_records(path))
    assert [record.players for record in records] == [("Ada", "novice")] * 2
    assert records[0].seed == 5
    assert records[0].result == "*"
    assert action_number("pass") == records[0].deals[0]["history"][0]


def test_a_finished_game_is_recorded_with_its_result_and_its_helps(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    words = iter(["hint", "pass", "undo", *list(ACTION_NAMES) * 400])
    args = Args(opponent="random", rules="target_score=1", seed=5, seat="1", record=path)
    run(args, lambda prompt: next(words), console())
    (record,) = read_records(path)
    assert record.players == ("random", "human")
    assert record.is_over
    assert record.tags["hints"] == "1"
    assert record.rules == Rules(target_score=1)


def test_nothing_is_recorded_when_nothing_was_done(tmp_path: Path) -> None:
    run(Args(seed=5, record=tmp_path / "games.txt"), typed(), console())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--opponent", "nobody"], "no agent is called 'nobody'"),
        (["--hint", "nobody"], "no agent is called 'nobody'"),
        (["--rules", "joker=perhaps"], "joker='perhaps'"),
        (["--deals", "0"], "--deals 0"),
        (["--seed", "-1"], "seed=-1"),
        (["--record", "notes.txt"], "no file of game records"),
        (["--record", "missing/games.txt"], "missing/games.txt"),
    ],
)
def test_a_bad_argument_ends_with_one_sentence_before_any_play(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("my notes\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["euchre-play", *arguments])
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert (tmp_path / "notes.txt").read_text("utf-8") == "my notes\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_game_at_a_real_terminal(tmp_path: Path) -> None:
    """As a player does: a prompt, an entry, history with the arrow, Ctrl-C."""
    path = tmp_path / "games.txt"
    child = pexpect.spawn(
        sys.executable,
        ["-m", "agents.human", "--opponent", "novice", "--seed", "5", "--seat", "0",
         "--record", str(path)],
        encoding="utf-8", timeout=120, dimensions=(40, 70),
    )  # fmt: skip
    child.expect("order up the .* or pass > ")
    child.sendline("banana")
    child.expect("neither an act nor a command")
    child.expect("pass > ")
    child.send("\x1b[A")  # the arrow up brings it back
    child.expect("banana")
    child.send("\x15pass\r")
    child.expect("you pass")
    child.expect("> ")
    child.sendintr()
    child.expect("recorded: euchre-replay")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    (record,) = read_records(path)
    assert record.players == ("human", "novice")


def test_no_colour_means_none() -> None:
    for options, coloured in (({"no_color": True}, False), ({}, True)):
        screen = Console(
            file=io.StringIO(), highlight=False, force_terminal=True, color_system="standard",
            **options,
        )  # fmt: skip
        Asker(console=screen).say("you lead JH♥*right")
        assert ("\x1b[31m" in screen.file.getvalue()) == coloured  # type: ignore[attr-defined]
