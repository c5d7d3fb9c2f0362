"""Records replayed: every act checked, told in words, hidden from a seat what it did not know."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from euchre_env import replay as replaying
from euchre_env.actions import NO_ACTION, action_number
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import parse_position
from euchre_env.records import Record, RecordWriter, parse_records
from euchre_env.replay import replay, tell_record
from euchre_env.rules import Rules
from euchre_env.telling import tell_act, tell_deal, tell_trick
from euchre_env.views import blank
from tests.strategies import EVERY_RULES, differing, same_rules
from tests.test_records import DEALS, GAME, game_of, played_games

DEAL = "TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0"


@pytest.mark.parametrize("rules", EVERY_RULES[:: 97 if IS_COMPILED else 997], ids=repr)
def test_a_replay_passes_through_every_state_of_the_game(rules: Rules) -> None:
    record = Record("game", ("a", "b"), game_of(rules, seed=1))
    steps = list(replay(record))
    assert [step.action for step in steps if step.before is None] == [NO_ACTION] * len(record.deals)
    ends = [last for last, after in zip(steps, [*steps[1:], None], strict=True)
            if after is None or after.before is None]  # fmt: skip
    assert len(ends) == len(record.deals)
    for step, deal in zip(ends, record.deals, strict=True):
        assert not differing(np.array([step.state]), np.array([deal]), but=())
    for seat in (0, 1):
        for step, seen in zip(steps, replay(record, seat), strict=True):
            whole = np.array([step.state], dtype=record.deals.dtype)
            assert not differing(blank(whole, seat), np.array([seen.state]))


def test_an_act_that_is_not_legal_is_refused() -> None:
    (record,) = parse_records(GAME)
    for place, action in ((3, 6), (0, 99), (2, -2)):
        deals = record.deals.copy()
        deals["history"][0, place] = action
        with pytest.raises(ValueError, match="deal 1: "):
            list(replay(Record("game", ("a", "b"), deals)))
    deals = record.deals.copy()
    deals["upcard"] = 3
    with pytest.raises(ValueError, match="no deal of these rules"):
        list(replay(Record("game", ("a", "b"), deals)))


# --- in words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acts", "action", "said"),
    [
        ("-", "pass", "you pass"),
        ("-", "order_up", "you order up 9H♥"),
        ("pass", "accept", "novice accepts 9H♥"),
        ("order_up", "take", "novice takes 9H♥*"),
        ("order_up", "leave", "novice leaves 9H♥*"),
        ("order_up,take", "9C", "novice lays 9C♣ away"),
        ("pass,pass", "name:S", "you name spades ♠"),
        ("order_up,leave", "JD", "you lead JD♦*left"),
        ("order_up,leave,JD", "KH", "novice plays KH♥*"),
    ],
)
def test_an_act_in_words(acts: str, action: str, said: str) -> None:
    state = parse_position(f"{DEAL} {acts}")[0]
    assert tell_act(state, action_number(action), ("you", "novice")) == said


def test_tricks_and_points_in_words() -> None:
    (record,) = parse_records(GAME)
    told = [tell_trick(step.state, ("you", "novice")) for step in replay(record)]
    assert [words for words in told if words] == [
        "novice takes the trick (you 0, novice 1)",
        "novice takes the trick (you 0, novice 2)",
        "you take the trick (you 1, novice 2)",
        "you take the trick (you 2, novice 2)",
        "you take the trick (you 3, novice 2)",
    ]
    names = ("you", "novice")
    assert (
        tell_deal(record.deals[0], names)
        == "novice is euchred with 2 of 5 tricks: 2 points for you"
    )
    made, thrown_in, _ = parse_records(DEALS)[0].deals
    assert tell_deal(made, names) == "you make it with 4 tricks: 1 point"
    assert tell_deal(thrown_in, names) == "both passed twice: the deal is thrown in"


def test_the_winner_told_is_who_leads_next() -> None:
    """The count of the tricks after the deal agrees with the tricks told one by one."""
    deals, _ = played_games(same_rules(20, Rules(stop_when_decided=True), seed=8))
    for step in replay(Record("deals", ("a", "b"), deals)):
        words = tell_trick(step.state, ("a", "b"))
        if words:
            winner = "ab".index(words[0])
            assert step.before is not None
            won = step.state.tricks - step.before.tricks
            assert won.tolist() == [1 - winner, winner]


def test_what_a_seat_did_not_know_is_not_told() -> None:
    """Told for a seat, two games that differ only in what it cannot know read alike."""
    (record,) = parse_records(GAME)
    told = "\n".join(tell_record(record, 0))
    assert "lays a card away" in told
    assert "▒▒" in told
    assert "KH" not in told
    everything = "\n".join(tell_record(record))
    assert "lays KH♥* away" in everything
    assert "▒▒" not in everything


# --- the command --------------------------------------------------------------------------------


@pytest.fixture(name="games")
def _games(tmp_path: Path) -> Path:
    path = tmp_path / "games.txt"
    deals, games = played_games(same_rules(3, Rules.british(target_score=3)))
    with RecordWriter(path, ("novice", "[bold]random"), date="2026-11-30", seed=4) as writer:
        writer.add_games(deals, games)
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What ``euchre-replay`` prints."""
    sys.argv = ["euchre-replay", *map(str, arguments)]
    replaying.main()
    return capsys.readouterr().out


def test_the_command_lists_a_file_and_shows_a_game(
    games: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setenv("COLUMNS", "120")
    listed = shown(capsys, games)
    assert listed.count("[bold]random") == 3
    assert "joker=True" in listed
    game = shown(capsys, games, "--game", 2)
    assert "won the game" in game
    assert "seed: 4" in game
    steps = shown(capsys, games, "--game", 2, "--seat", 1, "--steps")
    assert "▒▒" in steps
    assert steps.count("▒▒") > 20
    folder = games.parent / "moves"
    drawn = shown(capsys, games, "--game", 2, "--pictures", folder)
    files = sorted(folder.iterdir())
    assert drawn.startswith(f"{len(files)} drawings")
    assert files[0].name == "deal01-00.svg"
    assert all(file.read_text("utf-8").startswith("<svg") for file in files)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--game", "4"), "--game 4: .* has fewer records"),
        (("--game", "0"), "counted from 1"),
        (("--game", "1", "--seat", "2"), "a seat is 0 or 1"),
    ],
)
def test_the_command_says_in_one_sentence_what_is_wrong(
    games: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    with pytest.raises(SystemExit) as ended:
        shown(capsys, games, *arguments)
    assert ended.value.code == 2
    assert re.search(said, capsys.readouterr().err)


def test_it_runs_as_a_module_and_tells_a_damaged_file_by_line(games: Path) -> None:
    text = games.read_text("utf-8").replace(" d1 ", " d0 ", 1)
    games.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "euchre_env.replay", str(games)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "games.txt, line " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("more", [(), ("--game", "1", "--steps")])
def test_a_reader_of_a_pipe_may_have_seen_enough(games: Path, more: tuple[str, ...]) -> None:
    command = subprocess.Popen(
        [sys.executable, "-m", "euchre_env.replay", str(games), *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.close()
    told = command.stderr.read()
    command.stderr.close()
    assert "ipe" not in told
    assert "Exception" not in told
    command.wait()
