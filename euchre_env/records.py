"""Game records, read: a strict reader for files of many games (``recording`` writes them).

Every act is done again by the rules; scores, dealers, points and results are checked against
them, and `RecordError` tells the line and the column of what does not fit.

>>> from euchre_env.records import parse_records
>>> text = '''[game "1"]
... [seat0 "novice"]
... [seat1 "random"]
... [rules ""]
...
... TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 order_up,take,discard:9C,JH *
...
... result *
... '''
>>> (record,) = parse_records(text)
>>> record.players, record.result, str(record) == text
(('novice', 'random'), '*', True)
"""

import functools
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

import numpy as np
import numpy.typing as npt

from euchre_env.actions import ACTION_NAMES, NO_ACTION
from euchre_env.cards import CARD_NAMES, HAND_SIZE, card_number
from euchre_env.dealing import lay_out
from euchre_env.history import NO_FAULT, discard_places, do_again, next_dealers
from euchre_env.notation import check_scores, do_act, read_deal
from euchre_env.record_text import Header, Line, RecordError, Section, bare, read_header, sections
from euchre_env.recording import (
    DEAL_OVER,
    GAME_OVER,
    RESULT,
    UNFINISHED,
    Record,
    RecordWriter,
    format_record,
    write_records,
)
from euchre_env.rules import Rules
from euchre_env.state import MAX_ACTIONS, States, new_states

__all__ = [
    "Record",
    "RecordError",
    "RecordWriter",
    "format_record",
    "parse_records",
    "read_records",
    "write_records",
]


_CARDS: Final = {name: 1 << number for number, name in enumerate(CARD_NAMES)}
_UPCARDS: Final = {name: number for number, name in enumerate(CARD_NAMES)}
_ACTS: Final = {
    **{name: (number, False) for number, name in enumerate(ACTION_NAMES)},
    **{f"play:{name}": (number, False) for number, name in enumerate(CARD_NAMES)},
    **{f"discard:{name}": (number, True) for number, name in enumerate(CARD_NAMES)},
}
"""``name -> (act, whether it says that the card is laid away)``."""
_PAIR: Final = re.compile("(0|[1-9][0-9]{0,9})-(0|[1-9][0-9]{0,9})")
_DEALERS: Final = {"d0": 0, "d1": 1}


@functools.lru_cache(64)
def _template(rules: Rules) -> States:
    states = new_states(1, rules)
    states.flags.writeable = False
    return states


@functools.lru_cache(1 << 16)
def _hand_mask(text: str) -> int:
    """The cards of a hand; 0, which is no hand, where the text is none."""
    if len(text) != 2 * HAND_SIZE:
        return 0
    mask = 0
    for start in range(0, len(text), 2):
        mask |= _CARDS.get(text[start : start + 2], 0)
    return mask if mask.bit_count() == HAND_SIZE else 0


@functools.lru_cache(1 << 12)
def _two_numbers(text: str) -> tuple[int, int]:
    match = _PAIR.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return int(match[1]), int(match[2])


class _Read(NamedTuple):
    """Deal lines as numbers, one row a line: what they claim."""

    hands: npt.NDArray[np.int64]
    """By who: nondealer, dealer."""
    upcards: npt.NDArray[np.int64]
    dealers: npt.NDArray[np.int64]
    scores: npt.NDArray[np.int64]
    acts: npt.NDArray[np.int8]
    is_discard: npt.NDArray[np.bool_]
    points: npt.NDArray[np.int64]
    """-1 where the deal is not over."""


def _read_lines(lines: list[Line]) -> _Read | int:
    """Deal lines as numbers; or the place of the first line that cannot be read."""
    num = len(lines)
    acts = np.full((num, MAX_ACTIONS), NO_ACTION, dtype=np.int8)
    is_discard = np.zeros((num, MAX_ACTIONS), dtype=np.bool_)
    columns: list[tuple[Any, ...]] = []
    for i, line in enumerate(lines):
        try:
            deal, dealer, scores, done, points = line.text.split(" ")
            nondealer_hand, dealer_hand, upcard = deal.split("/")
            columns.append((
                (_hand_mask(nondealer_hand), _hand_mask(dealer_hand)),
                _UPCARDS[upcard],
                _DEALERS[dealer],
                _two_numbers(scores),
                (-1, -1) if points == UNFINISHED else _two_numbers(points),
            ))  # fmt: skip
            codes = [_ACTS[name] for name in done.split(",")] if done != "-" else []
            acts[i, : len(codes)] = [action for action, _ in codes]
            is_discard[i, : len(codes)] = [is_laid for _, is_laid in codes]
        except (ValueError, KeyError):
            return i
    hands, upcards, dealers, before, scored = (
        np.array(column, dtype=np.int64) for column in zip(*columns, strict=True)
    )
    return _Read(hands, upcards, dealers, before, acts, is_discard, scored)


def _played(section: Section, header: Header) -> States:
    """The deals of a record, played again; strict."""
    num = len(section.deals)
    if not num:
        raise section.error("the record has no deal", section.result)
    states = np.repeat(_template(header.rules), num)
    read = _read_lines(section.deals)
    if isinstance(read, int):
        raise _fault(section, header, read)
    big = read.scores.max(axis=1) >= header.rules.target_score
    states["dealer"] = read.dealers
    states["scores"] = np.where(big[:, None], 0, read.scores)
    states["hands"] = np.where(read.dealers[:, None] == 1, read.hands, read.hands[:, ::-1])
    if header.kind == "game":
        states["deal_number"] = np.arange(num)
    faults = np.empty(num, dtype=np.int64)
    do_again(states, read.upcards, read.acts, faults)
    is_wrong = big | (faults != NO_FAULT)
    is_wrong |= (read.is_discard != _laid_away(states)).any(axis=1)
    is_over = states["phase"] >= DEAL_OVER
    is_wrong |= (np.where(is_over[:, None], states["points"], -1) != read.points).any(axis=1)
    if header.kind == "game":
        is_wrong[1:] |= ~_follows(states[:-1], states[1:])
    if is_wrong.any():
        raise _fault(section, header, int(is_wrong.argmax()))
    return states


def _laid_away(states: States) -> npt.NDArray[np.bool_]:
    """Which acts of each history laid a card away: bool, shape (n, 14)."""
    return discard_places(states)[:, None] == np.arange(MAX_ACTIONS)


def _follows(deals: States, next_deals: States) -> npt.NDArray[np.bool_]:
    """Whether each deal may follow on the one before it in a game. R11, R19, R20."""
    before = next_deals["scores"] - next_deals["points"]
    followed: npt.NDArray[np.bool_] = (
        (deals["phase"] == DEAL_OVER)
        & (next_deals["dealer"] == next_dealers(deals))
        & (before == deals["scores"]).all(axis=1)
    )
    return followed


# --- what is wrong, and where -------------------------------------------------------------------


def _fault(section: Section, header: Header, row: int) -> RecordError:
    """The error for the first deal line that does not fit, found word by word."""
    line = section.deals[row]
    before: States | None = None
    if header.kind == "game" and row:
        before = _played(section._replace(deals=section.deals[:row]), header)[-1:]
    try:
        _check_line(line.text, header.rules, before)
    except _MisfitError as misfit:
        return section.error(misfit.problem, line, misfit.column)
    raise AssertionError(f"{line.text!r} is refused and nothing is wrong with it")


class _MisfitError(Exception):
    """What is wrong in a line, and at which column."""

    def __init__(self, problem: ValueError | str, column: int, text: str = "") -> None:
        self.problem = bare(problem, text) if isinstance(problem, ValueError) else problem
        self.column = column


def _check_line(text: str, rules: Rules, before: States | None) -> None:
    """Read a deal line slowly.

    Raises:
        _MisfitError: always, as long as something is wrong with it.
    """
    words = text.split(" ")
    starts = [1 + sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
    if "" in words:
        raise _MisfitError("a blank too many", starts[words.index("")])
    if len(words) != 5:
        raise _MisfitError(
            "a deal line has five words: the deal, d<dealer>, the scores before it, the acts "
            "(or -), the points it scored (or *)",
            starts[5] if len(words) > 5 else len(text) + 1,
        )
    states = new_states(1, rules)
    _check_dealer(words[1], starts[1], before)
    _check_scores(words[2], starts[2], rules, before)
    states["dealer"], states["scores"] = _DEALERS[words[1]], _two_numbers(words[2])
    _deal_out(states, words[0])
    column = starts[3]
    for name in words[3].split(",") if words[3] != "-" else ():
        try:
            do_act(states[0], name, name)
        except ValueError as problem:
            raise _MisfitError(problem, column, name) from None
        column += len(name) + 1
    state = states[0]
    scored = "-".join(str(points) for points in state.points)
    wanted = scored if state.phase >= DEAL_OVER else UNFINISHED
    if words[4] != wanted:
        is_open = wanted == UNFINISHED
        raise _MisfitError(
            "the deal is not over, so it reads * here" if is_open else f"the deal scored {wanted}",
            starts[4],
        )


def _check_dealer(word: str, column: int, before: States | None) -> None:
    if word not in _DEALERS:
        raise _MisfitError(f"the dealer reads d0 or d1, not {word!r}", column)
    if before is None:
        return
    if before[0].phase == GAME_OVER:
        raise _MisfitError("the game was won in the deal before", 1)
    if before[0].phase != DEAL_OVER:
        raise _MisfitError("the deal before is not over", 1)
    dealer = int(next_dealers(before)[0])
    if _DEALERS[word] != dealer:
        raise _MisfitError(f"seat {dealer} deals now", column)


def _check_scores(word: str, column: int, rules: Rules, before: States | None) -> None:
    try:
        scores = _two_numbers(word)
    except ValueError:
        raise _MisfitError(f"the scores read like 3-0, not {word!r}", column) from None
    try:
        check_scores(scores, rules.target_score)
    except ValueError as problem:
        raise _MisfitError(problem, column, word) from None
    if before is not None and scores != tuple(before[0].scores.tolist()):
        now = "-".join(str(points) for points in before[0].scores)
        raise _MisfitError(f"the scores are {now} now", column)


def _deal_out(states: States, text: str) -> None:
    state = states[0]
    try:
        nondealer, dealer, upcard = read_deal(text, Rules.from_codes(state))
    except ValueError as problem:
        raise _MisfitError(problem, 1 + _place_of_wrong_card(text, int(state.deck)), text) from None
    state.hands[:] = (nondealer, dealer) if state.dealer == 1 else (dealer, nondealer)
    lay_out(state, upcard)


def _place_of_wrong_card(text: str, deck: int) -> int:
    """Where in a deal the first name stands that cannot stand there; 0 when it is none of them."""
    seen = 0
    place = 0
    for part in text.split("/"):
        for start in range(0, len(part), 2):
            try:
                bit = 1 << card_number(part[start : start + 2])
            except ValueError:
                return place + start
            if seen & bit or not deck & bit:
                return place + start
            seen |= bit
        place += len(part) + 1
    return 0


# --- the reader ---------------------------------------------------------------------------------


def read_records(
    source: str | os.PathLike[str] | TextIO,
) -> Iterator[Record]:
    """Read a file record by record; nothing but the record at hand is kept in memory.

    Args:
        source: a path, or an open text file.

    Yields:
        The records, their deals played again and checked.

    Raises:
        RecordError: the text is no record, an act is not legal, or scores, dealers, points or
            results do not follow from what was done; line and column are told.
        OSError: the file cannot be read.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, encoding="utf-8-sig") as lines:
            yield from _read(lines, Path(source).name)
    else:
        yield from _read(source, str(getattr(source, "name", "record")))


def parse_records(text: str) -> list[Record]:
    """The records of a text (see `read_records`)."""
    return list(_read(text.splitlines(), "record"))


def _read(lines: Iterable[str], source: str) -> Iterator[Record]:
    try:
        for section in sections(lines, source):
            header = read_header(section)
            record = Record(
                header.kind, header.players, _played(section, header), header.name,
                header.seed, header.date, header.tags,
            )  # fmt: skip
            if section.result.text != f"{RESULT} {record.result}":
                raise section.error(
                    f"the result is {record.result}",
                    section.result,
                    min(len(RESULT) + 2, len(section.result.text) + 1),
                )
            yield record
    except UnicodeDecodeError as problem:
        raise RecordError(f"no text in UTF-8: {problem.reason}", 1, 1, "", source) from None
