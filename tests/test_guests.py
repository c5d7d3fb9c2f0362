"""Agents from outside: they play like others, and whatever they do, the tournament goes on."""

import itertools
import json
import pickle
import time
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents import make_agent, streams
from agents.base import AgentError
from agents.evaluation import cli, match
from agents.evaluation.backends import Crew
from agents.guest_process import RAISED, answer
from agents.guests import Guest, GuestOutError
from euchre_env import registry
from euchre_env.dealing import as_streams
from euchre_env.engine import start_games
from euchre_env.notation import format_position
from euchre_env.records import read_records
from euchre_env.rules import Rules
from euchre_env.state import new_states
from euchre_env.views import blank
from tests import guests
from tests.test_agents import ask, masks_of, some_states

FILE = str(Path(guests.__file__))
EAGER = Crew("loky", workers=2, start_up=0.0)
TIMES = ("seconds", "deals_per_second", "decisions_per_second")
play = partial(match, pairs=100, games=4)


def numbers(result: Any) -> dict[str, Any]:
    return {k: v for k, v in result.to_json().items() if k not in (*TIMES, "agents")}


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(FILE).parents[1])


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (f"{FILE}:Miser", "guests.py:Miser"),
        ("tests/guests.py:made", "guests.py:made"),
        ("tests/guests.py:made:much", "guests.py:made:much"),
        ("tests.guests:sleepless", "tests.guests:sleepless"),
    ],
)
def test_a_guest_is_named_by_where_it_stands(place: str, name: str) -> None:
    guest, inner = make_agent(place), guests.Miser()
    assert guest.name == name
    states = some_states(50)
    np.testing.assert_array_equal(ask(guest, states, 1), ask(inner, states, 1))


def test_what_another_package_has_registered_is_a_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text(f"[{registry.GROUP}]\ncareful = tests.guests:made\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(FILE).parents[1]}")
    monkeypatch.setattr(
        registry,
        "_registered",
        lambda: {"careful": EntryPoint("careful", "tests.guests:made", registry.GROUP)},
    )
    guest = make_agent("careful")
    assert isinstance(guest, Guest)
    assert guest.name == "careful"
    assert ask(guest, some_states(5), 1).shape == (5,)
    with pytest.raises(ImportError, match=r"'careful:refuse' cannot be made: .*no such setting"):
        make_agent("careful:refuse")


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("tests/guests.py:Nobody", ImportError, "has no Nobody"),
        ("tests/nothing.py:Miser", ImportError, "there is no file .*nothing.py"),
        ("no.such_module:Miser", ImportError, "No module named 'no'"),
        ("tests.guests:number", ImportError, "is 3: neither an agent nor what makes one"),
        ("tests.guests:is_odd:1", ImportError, "cannot be made: TypeError"),
        ("tests.guests:made:refuse", ImportError, "ValueError: no such setting"),
        ("novise:3", ValueError, "did you mean 'novice'"),
    ],
)
def test_what_cannot_be_made_is_told(
    place: str, error: type[Exception], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(error, match=message):
        make_agent(place)
    assert cli.main([place, "novice"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf"), "3", True, None])
def test_a_time_limit_is_a_time(limit: Any) -> None:
    with pytest.raises(ValueError, match="time_limit"):
        make_agent("tests.guests:Miser", time_limit=limit)


# --- good guests --------------------------------------------------------------------------------


def test_a_guest_plays_as_it_would_here() -> None:
    inside = numbers(play(guests.Miser(), "random"))
    assert numbers(play("tests.guests:Miser", "random")) == inside
    assert numbers(play("tests.guests:Miser", "random", crew=EAGER, batch=40)) == inside
    assert numbers(play(Guest("tests.guests:Miser"), "random", crew=EAGER, batch=40)) == inside


def test_noise_and_scribbling_change_nothing() -> None:
    assert numbers(play("tests.guests:Noisy", "novice")) == numbers(play(guests.Miser(), "novice"))


def test_a_guest_goes_to_another_process_by_its_place() -> None:
    guest = Guest("tests/guests.py:Miser", 9.0)
    other = pickle.loads(pickle.dumps(guest))
    assert (other.name, other.time_limit) == (guest.name, 9.0)


def test_a_guest_that_is_no_longer_needed_ends() -> None:
    guest = Guest("tests.guests:Miser")
    process = guest._process._process
    del guest
    assert process.wait(timeout=10) is not None


@pytest.mark.parametrize("part", ["masks", "keys", "states"])
def test_a_wrong_question_is_no_fault_of_the_guest(part: str) -> None:
    states = new_states(2)
    start_games(states)
    views, masks, keys = blank(states, states["to_act"]), masks_of(states), streams(0, 2)
    guest = Guest("tests.guests:Miser", 9.0)
    with pytest.raises(ValueError, match=r"expected|shown views"):
        guest.act(
            states if part == "states" else views,
            masks[:, :41] if part == "masks" else masks,
            keys[:1] if part == "keys" else keys,
        )
    assert len(guest.act(views, masks, keys)) == 2  # it was not asked, and goes on


def test_a_closed_guest_says_so() -> None:
    states = new_states(1)
    start_games(states)
    guest = Guest("tests.guests:Miser", 9.0)
    guest.close()
    with pytest.raises(GuestOutError, match="was closed"):
        guest.act(blank(states, states["to_act"]), masks_of(states), streams(0, 1))


# --- faults: the deal is lost -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("guest", "told"),
    [
        ("Illegal", "it answered no act at all, legal are "),
        ("Crashes", "KeyError: 'what now\\x1b[31m?'"),
        ("Exits", "SystemExit: 3"),
    ],
)
def test_a_fault_loses_the_deal_whatever_the_batch(guest: str, told: str) -> None:
    place = f"tests.guests:{guest}"
    result = play(place, "novice")
    assert numbers(play(place, "novice", batch=9)) == numbers(result)
    assert numbers(play(place, "novice", batch=40, crew=EAGER)) == numbers(result)
    assert 0 < result.forfeited[0] < 200 + 8
    assert result.forfeited[1] == 0
    assert len(result.faults) == 5
    assert all(f"agent '{place}' at the position '" in text for text in result.faults)
    assert all(told in text for text in result.faults)
    turned = play("novice", place)
    np.testing.assert_array_equal(turned.pair_scores, -result.pair_scores)
    assert turned.forfeited == result.forfeited[::-1]


def test_faults_are_warned_of_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--pairs", "12", "--games", "2", "--no-controls"]
    assert cli.main(["tests.guests:Floats", "novice", *arguments]) == 0
    assert " ".join(capsys.readouterr().out.split()).endswith(
        "warning: tests.guests:Floats lost 28 of 28 deals and games (100.0%) by faults of its own, "
        "not by its play"
    )
    assert cli.main(["novice", "random", *arguments]) == 0
    assert "warning" not in capsys.readouterr().out


@pytest.mark.parametrize(("rules", "worst"), [(Rules(), 2), (Rules(super_euchre=True), 4)])
@pytest.mark.parametrize("guest", ["Floats", "Sleeps"])
def test_a_lost_deal_is_scored_as_the_worst_there_is(rules: Rules, worst: int, guest: str) -> None:
    place = f"tests.guests:{guest}"
    result = match(place, "novice", pairs=12, games=2, rules=rules, time_limit=1.0)
    assert (result.pair_scores == -worst).all()
    assert result.game_share is not None
    assert result.game_share.mean == 0
    assert result.forfeited == (28, 0)
    assert result.thrown_in == 0
    assert result.rates[1].as_dealer.deals == 0


def test_against_itself_a_guest_scores_zero() -> None:
    for guest in ("Illegal", "Dies"):
        place = f"tests.guests:{guest}"
        assert not match(place, place, pairs=200).pair_scores.any()


@given(
    odd=st.sets(st.integers(0, 19)),
    cuts=st.lists(st.integers(0, 20), max_size=4),
)
@settings(max_examples=40, deadline=None)
def test_the_rows_at_fault_are_the_same_in_any_batch(odd: set[int], cuts: list[int]) -> None:
    class Odd:
        def act(self, views: Any, action_masks: Any, rng: Any) -> Any:
            if odd & set(rng.tolist()):
                raise ValueError("odd")
            return action_masks.argmax(axis=1)

    num = 20
    views, masks = np.zeros(num), np.ones((num, 42), dtype=np.int8)
    places = [0, *sorted(cuts), num]
    acts = []
    for start, stop in itertools.pairwise(places):
        if start < stop:
            part = slice(start, stop)
            found, texts = answer(Odd(), views[part], masks[part], np.arange(num)[part])
            assert texts == ["ValueError: odd"] * int((found == RAISED).sum())
            acts += found.tolist()
    assert {row for row, act in enumerate(acts) if act == RAISED} == odd


# --- out: the match is lost ---------------------------------------------------------------------


def test_whose_process_dies_is_out_whatever_the_batch() -> None:
    results = [
        play("tests.guests:Dies", "novice", batch=batch, crew=crew)
        for batch, crew in ((4_096, Crew()), (9, Crew()), (40, EAGER))
    ]
    for result in results:
        assert (result.pair_scores == -2).all()
        assert result.forfeited == (208, 0)
        (text, *_) = result.faults
        assert "its process ended with exit code 7: out of memory; it is out" in text
        np.testing.assert_array_equal(result.pair_scores, results[0].pair_scores)


def test_the_position_at_which_it_dies_is_the_one_told() -> None:
    guest, states = Guest("tests.guests:Dies"), some_states(1_000)
    seed = next(k for k in range(99) if guests.is_odd(as_streams(k, 1_000), 300).any())
    with pytest.raises(GuestOutError) as told:
        ask(guest, states, seed)
    with pytest.raises(GuestOutError) as again:
        ask(guest, states[:3], seed)
    assert again.value is told.value
    position = str(told.value).split("'")[3]
    views = blank(states, states["to_act"])
    row = int(np.flatnonzero(guests.is_odd(as_streams(seed, 1_000), 300))[0])
    assert format_position(views[row]) == position


def test_who_is_late_is_out_soon() -> None:
    started = time.monotonic()
    result = match("tests.guests:Sleeps", "novice", pairs=200, time_limit=0.5)
    assert (result.pair_scores == -2).all()
    assert "and 15 others: it took more than 0.5 seconds; it is out" in result.faults[0]
    assert len(result.faults) == 1
    assert time.monotonic() - started < 500  # nobody waits until it wakes


def test_outside_of_matches_a_fault_is_an_error() -> None:
    with pytest.raises(AgentError, match=r"Floats' at .*: it answered float64 of shape \(1,\)"):
        ask(Guest("tests.guests:Floats"), some_states(3), 1)


# --- the tournament goes on ---------------------------------------------------------------------


def test_a_tournament_with_bad_guests_is_played_to_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = [f"tests.guests:{name}" for name in ("Illegal", "Dies")]
    arguments = ["novice", *bad, "--pairs", "60", "--games", "2", "--no-controls"]
    report, records = tmp_path / "report", tmp_path / "games.txt"
    assert cli.main([*arguments, "--report", str(report), "--record", str(records)]) == 0
    text = capsys.readouterr().out
    assert "deals and games lost by them: tests.guests:Illegal " in text
    assert "at the position" in text
    numbers = json.loads((report / "tournament.json").read_text(encoding="utf-8"))
    assert {name.split("'")[1] for name in numbers["faults"]} == set(bad)
    assert numbers["standings"][-1]["agent"] in bad
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "Faults" in page
    assert "exit code 7" in page
    assert len(list(read_records(records))) == 3
