"""Game records: what is written reads back, and what does not follow from the rules is refused."""

from __future__ import annotations

import io
import os
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

from euchre_env import engine, recording, views
from euchre_env.actions import Phase
from euchre_env.history import NO_FAULT, done_again, with_seats_swapped
from euchre_env.kernel import IS_COMPILED
from euchre_env.records import (
    Record,
    RecordError,
    RecordWriter,
    format_record,
    parse_records,
    read_records,
    write_records,
)
from euchre_env.rules import Rules
from euchre_env.state import States, new_states
from tests.strategies import EVERY_RULES, differing, new_games, same_rules

NUM_GAMES = int(os.environ.get("EUCHRE_RECORD_GAMES", "2000" if IS_COMPILED else "20"))
"""Random games of the round trip, spread over all sets of options."""
NOT_RECORDED = ("stream", "num_draws")


def played_games(states: States, max_deals: int = 60) -> tuple[States, np.ndarray]:
    """Random games to their end (or so many deals): every deal as it ended, and whose it is."""
    states = states.copy()
    deals, games = [], []
    live = np.arange(len(states))
    count = 0
    while len(live):
        rows = states[live]
        drawn = np.empty(len(rows), dtype=np.int64)
        engine.draw_actions(rows, drawn, count)
        engine.apply_all(rows, drawn)
        is_over = rows["phase"] >= Phase.DEAL_OVER
        deals.append(rows[is_over].copy())
        games.append(live[is_over])
        engine.next_deals(rows)
        states[live] = rows
        is_done = (rows["phase"] == Phase.GAME_OVER) | (rows["deal_number"] > max_deals)
        live = live[~is_done]
        count += 1
    return np.concatenate(deals), np.concatenate(games)


def game_of(rules: Rules | None = None, seed: int = 0) -> States:
    """The deals of one random game."""
    return played_games(same_rules(1, rules, seed))[0]


def test_random_games_under_all_options_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    num_rules = len(EVERY_RULES)
    num_games = 0
    for first in range(0, NUM_GAMES, num_rules):
        rules = [
            EVERY_RULES[i % num_rules] for i in range(first, min(NUM_GAMES, first + num_rules))
        ]
        deals, games = played_games(new_games(rules, seed=first))
        with RecordWriter(path, ("a", "b"), seed=first, append=first > 0) as writer:
            writer.add_games(deals, games)
        num_games += len(rules)
    order = np.lexsort((deals["deal_number"], games))
    written = path.read_text(encoding="utf-8")
    again = io.StringIO()
    count = 0
    for count, record in enumerate(read_records(path), start=1):
        again.write(("\n" if count > 1 else "") + format_record(record))
        assert record.kind == "game"
        assert record.rules == EVERY_RULES[(count - 1) % num_rules]
    assert count == num_games == NUM_GAMES
    assert again.getvalue() == written
    last = np.concatenate([r.deals for r in parse_records(written)[-len(rules) :]])
    assert not differing(last, deals[order], but=NOT_RECORDED)


GAME = r"""[game "first \"evening\""]
[seat0 "novice"]
[seat1 "Ada \\ Bob"]
[rules "target_score=2"]
[seed "7"]
[date "2026-11-30"]
[event "a test"]

TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 pass,accept,discard:KH,TC,KC,AS,9S,9H,AH,JH,QH,JD,9C 2-0

result 2-0
"""
DEALS = """[deals "1"]
[seat0 "a"]
[seat1 "b"]
[rules ""]

TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 order_up,leave,JH,KH,AH,QH,JD,KC,TC,9C,9S,AS 1-0
TCJDJHAH9S/9CKCQHKHAS/9H d0 3-9 pass,pass,pass,pass 0-0
TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 pass,pass,name:S *

result 1-0
"""


def test_a_record_tells_what_was_played() -> None:
    (record,) = parse_records(GAME)
    assert record.kind == "game"
    assert record.name == 'first "evening"'
    assert record.players == ("novice", "Ada \\ Bob")
    assert record.rules == Rules(target_score=2)
    assert (record.seed, record.date, record.tags) == (7, "2026-11-30", {"event": "a test"})
    assert record.is_over
    assert (record.scores, record.result) == ((2, 0), "2-0")
    assert str(record) == GAME


def test_single_deals_stand_each_for_itself() -> None:
    (record,) = parse_records(DEALS)
    assert record.kind == "deals"
    assert len(record.deals) == 3
    assert not record.is_over
    assert record.result == "1-0"
    assert str(record) == DEALS


def test_many_records_in_a_text() -> None:
    text = f"{GAME}\n{DEALS}\n{GAME}"
    records = parse_records(text)
    assert "\n".join(map(str, records)) == text
    assert records[0] == records[2] != records[1]
    assert len(set(records)) == 2
    assert parse_records("") == []


def test_cards_in_any_order_and_play_before_a_card_read_alike() -> None:
    text = GAME.replace("TCJDJHAH9S", "9SAHJHJDTC").replace(",TC,", ",play:TC,")
    assert parse_records(text)[0] == parse_records(GAME)[0]


def test_a_game_broken_off_is_unfinished_and_reads_back() -> None:
    deals = game_of(seed=3)
    for record in (
        Record("game", ("a", "b"), deals[:4]),
        Record("game", ("a", "b"), np.append(deals[:2], done_again(deals[2:3])[0])),
    ):
        assert record.result == "*"
        assert parse_records(str(record)) == [record]


@pytest.mark.parametrize("place", range(14))
def test_a_deal_broken_off_at_any_act_reads_back(place: int) -> None:
    deals = game_of(Rules.british(), seed=5)
    cut = deals.copy()
    cut["history"][:, place:] = -1
    stopped, faults = done_again(cut)
    assert (faults == NO_FAULT).all()
    record = Record("deals", ("a", "b"), stopped)
    assert parse_records(str(record)) == [record]


# --- what is refused, and where -----------------------------------------------------------------

DEAL_LINE = GAME.splitlines()[8]

WRONG = [
    # text, what stands there instead, line, column, what is said
    pytest.param('[game "first', '[match "first', 1, 2, "begins with", id="kind"),
    pytest.param('[seat1 "Ada', '[seat0 "Ada', 3, 2, "seat0 stands twice", id="twice"),
    pytest.param('[seat1 "Ada \\\\ Bob"]\n', "", 1, 1, "lacks its line [seat1", id="no seat1"),
    pytest.param('[seed "7"]', '[seed "7]', 5, 1, "a header line reads", id="quotes"),
    pytest.param('[seed "7"]', '[seed "07"]', 5, 8, "'07'", id="seed"),
    pytest.param('[date "2026-11-30"]', '[date "2026-11-31"]', 6, 8, "YYYY-MM-DD", id="date"),
    pytest.param("target_score=2", "target_score=0", 4, 9, "at least 1", id="rules"),
    pytest.param("target_score=2", "goal=2", 4, 9, "is no rule option", id="option"),
    pytest.param("target_score=2", "seat=1", 4, 9, "of no one seat", id="view"),
    pytest.param("TCJD", "TCXX", 9, 3, "'XX' is no card", id="card"),
    pytest.param("TCJD", "TC7D", 9, 3, "7D is not in the deck", id="not in the deck"),
    pytest.param("/9CKC", "/TCKC", 9, 12, "TC stands there twice", id="card twice"),
    pytest.param("AS/9H", "AS/??", 9, 23, "is not known", id="unknown card"),
    pytest.param("AS/9H d1", "AS d1", 9, 1, "reads nondealer/dealer/upcard", id="no upcard"),
    pytest.param(" d1 ", " d2 ", 9, 26, "d0 or d1, not 'd2'", id="dealer"),
    pytest.param(" 0-0 ", " 0-00 ", 9, 29, "not '0-00'", id="scores"),
    pytest.param(" 0-0 ", " 0-2 ", 9, 29, "each is 0 to 1", id="scores of a game won"),
    pytest.param("pass,accept", "pass,order_up", 9, 38, "order_up is not possible", id="bid"),
    pytest.param("accept,disc", "acept,disc", 9, 38, "'acept' is no act", id="no act"),
    pytest.param("discard:KH", "KH", 9, 45, "should read 'discard:KH'", id="discard unsaid"),
    pytest.param("KH,TC,KC", "KH,TC,QH", 9, 59, "clubs were led and you hold", id="revoke"),
    pytest.param("TC,KC,", "TC,discard:KC,", 9, 59, "should read 'KC'", id="discard said"),
    pytest.param(",JD,9C 2-0", ",JD,9C 1-0", 9, 86, "the deal scored 2-0", id="points"),
    pytest.param(",JD,9C 2-0", ",JD,9C *", 9, 86, "the deal scored 2-0", id="not unfinished"),
    pytest.param(",JD,9C 2-0", ",JD 2-0", 9, 83, "reads * here", id="unfinished"),
    pytest.param(",9C 2-0", ",9C", 9, 85, "five words", id="no points"),
    pytest.param("d1 0-0", "d1  0-0", 9, 29, "a blank too many", id="two blanks"),
    pytest.param("result 2-0", "result 0-2", 11, 8, "the result is 2-0", id="result"),
    pytest.param("result 2-0", "result *", 11, 8, "the result is 2-0", id="result open"),
    pytest.param("result 2-0\n", "", 10, 1, "ends before the result", id="cut off"),
    pytest.param(DEAL_LINE + "\n", "", 10, 1, "no deal", id="no deal"),
    pytest.param('[game "', 'hello [game "', 1, 1, "begins with its header", id="no header"),
    pytest.param('[game "', 'result *\n[game "', 1, 1, "result of no record", id="result alone"),
    pytest.param("result 2-0", DEAL_LINE + "\nresult 2-0", 11, 1, "game was won", id="played on"),
    pytest.param("result 2-0", '[game "2"]', 11, 1, "lacks its result", id="no result"),
]


@pytest.mark.parametrize(("text", "instead", "line", "column", "said"), WRONG)
def test_what_is_wrong_is_told_with_its_place(
    text: str, instead: str, line: int, column: int, said: str
) -> None:
    assert GAME.count(text) == 1
    wrong = GAME.replace(text, instead)
    with pytest.raises(RecordError, match=re.escape(said)) as caught:
        parse_records(wrong)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert f"line {line}, column {column}: " in str(caught.value)


FOLLOWING = [
    pytest.param(lambda words: [words[0], "d0", *words[2:]], "seat 1 deals now", id="dealer"),
    pytest.param(lambda words: [*words[:2], "9-9", *words[3:]], "the scores are ", id="scores"),
]


@pytest.mark.parametrize(("change", "said"), FOLLOWING)
def test_a_deal_follows_on_the_one_before_it(change, said: str) -> None:
    record = Record("game", ("a", "b"), game_of(seed=1))
    lines = str(record).splitlines()
    place = next(i for i in range(6, len(lines)) if " d1 " in lines[i])
    lines[place] = " ".join(change(lines[place].split(" ")))
    with pytest.raises(RecordError, match=said) as caught:
        parse_records("\n".join(lines))
    assert caught.value.line == place + 1


def test_a_line_left_out_or_twice_is_noticed() -> None:
    lines = str(Record("game", ("a", "b"), game_of(seed=1))).splitlines()
    for place in range(5, len(lines) - 2):
        for wrong in (lines[:place] + lines[place + 1 :], lines[:place] + lines[place - 1 :]):
            if place == 5 and len(wrong) > len(lines):
                continue  # a blank line more changes nothing
            if place == 5:
                assert parse_records("\n".join(wrong))  # a game may begin at any score
                continue
            with pytest.raises(RecordError):
                parse_records("\n".join(wrong))


def read_or_refuse(text: str) -> tuple[list[Record], RecordError | None]:
    try:
        return parse_records(text), None
    except RecordError as error:
        return [], error


def test_a_text_with_one_letter_changed_is_refused_or_reads_back() -> None:
    """Whatever stands in a file, the answer is a record that is true, or `RecordError`."""
    rng = np.random.default_rng(0)
    rules = Rules.british(target_score=5, discard_upcard=True, stick_the_dealer=True)
    text = f"{Record('game', ('a', 'b'), game_of(rules, seed=2))}\n{DEALS}"
    num_refused = 0
    for _ in range(600 if IS_COMPILED else 60):
        place = int(rng.integers(len(text)))
        letter = str(rng.choice(list('9TJQKACDHS0123,:-*/" \n[]xé\\')))
        changed = text[:place] + letter + text[place + 1 :]
        records, error = read_or_refuse(changed)
        if error is None:
            assert parse_records("\n".join(map(str, records))) == records
        else:
            num_refused += 1
            lines = changed.split("\n")
            assert 1 <= error.column <= 1 + len(lines[error.line - 1])
    assert num_refused > 300 * IS_COMPILED


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(RecordError, match=re.escape("picture.png, line 1")):
        list(read_records(path))


# --- the writer ---------------------------------------------------------------------------------


def test_the_first_player_has_seat_0_in_every_record(tmp_path: Path) -> None:
    """Games played with the seats swapped are written as if they had not been."""
    path = tmp_path / "games.txt"
    deals, games = played_games(same_rules(6, seed=4))
    swapped = games % 2 == 1
    with RecordWriter(path, ("a", "b"), date="") as writer:
        writer.add_games(deals[::-1], games[::-1], swapped[::-1])
        writer.add_deals(deals[:7], swapped[:7])
        writer.add_deals(deals[:0])
    *played, single = read_records(path)
    assert [record.name for record in played] == list("123456")
    assert single.name == "7"
    for game, record in enumerate(played):
        of_game = deals[games == game]
        zero, one = of_game[-1]["scores"].tolist()
        assert record.date is None
        assert record.scores == ((one, zero) if game % 2 else (zero, one))
        assert not differing(
            with_seats_swapped(record.deals, bool(game % 2)), of_game, but=NOT_RECORDED
        )
    assert (single.deals["dealer"] == (deals["dealer"][:7] ^ swapped[:7])).all()


def test_a_writer_can_go_on_where_a_file_ends(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    for seed in (1, 2, 3):
        with RecordWriter(path, ("a", "b"), seed=seed, append=True) as writer:
            writer.add_games(game_of(seed=seed))
            writer.flush()
    records = list(read_records(path))
    assert [(record.name, record.seed) for record in records] == [("1", 1), ("2", 2), ("3", 3)]
    copy = tmp_path / "copy.txt"
    write_records(copy, records)
    assert copy.read_text("utf-8") == path.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"players": ("a\n", "b")}, "one line of printable text"),
        ({"tags": {"Event": "x"}}, "small letters"),
        ({"tags": {"event": "\x1b[31m"}}, "printable"),
    ],
)
def test_what_cannot_stand_in_a_header_is_refused_before_a_file_is_touched(
    tmp_path: Path, options: dict[str, object], said: str
) -> None:
    path = tmp_path / "games.txt"
    with pytest.raises(ValueError, match=said):
        RecordWriter(path, **{"players": ("a", "b"), **options})
    assert not path.exists()


def test_a_record_is_made_of_deals_under_the_same_rules() -> None:
    states = same_rules(2)
    two_rules = np.append(states[:1], same_rules(1, Rules.british()))
    for deals, said in (
        (views.blank(states, 0), "full states"),
        (two_rules, "different rules"),
        (new_states(1), "nothing was dealt"),
        (states[:0], "at least one deal"),
    ):
        with pytest.raises(ValueError, match=said):
            Record("deals", ("a", "b"), deals)
    with pytest.raises(ValueError, match="kind='match'"):
        Record("match", ("a", "b"), states)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="field of its own"):
        str(Record("deals", ("a", "b"), states, tags={"seed": "1"}))


# --- the page -----------------------------------------------------------------------------------

PAGE = (Path(__file__).parent.parent / "docs/notation.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    """The page's fenced blocks of a kind."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("text", [*blocks("record"), textwrap.dedent(
    recording.__doc__.partition("::")[2].rpartition("A deal line")[0]).lstrip("\n").rstrip() + "\n"
])  # fmt: skip
def test_a_record_of_the_page_reads_back(text: str) -> None:
    (record,) = parse_records(text)
    assert str(record) == text


@pytest.mark.parametrize("line", "".join(blocks("record-refused")).splitlines())
def test_a_refusal_of_the_page_is_what_the_code_says(line: str) -> None:
    deal, _, said = line.partition(" -> ")
    head = '[game "1"]\n[seat0 "a"]\n[seat1 "b"]\n[rules ""]\n\n'
    with pytest.raises(RecordError, match=re.escape(said)):
        parse_records(f"{head}{deal}\n\nresult *\n")
