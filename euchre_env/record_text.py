"""The text of records, cut up: header lines, deal lines and a result, each with its place.

`records` plays the deal lines again. What is wrong in a text is told by line and column.
"""

import datetime
import functools
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from euchre_env.notation import read_options
from euchre_env.recording import KINDS, RESULT, Kind
from euchre_env.rules import Rules
from euchre_env.state import NOBODY


class RecordError(ValueError):
    """A text is no record; says where, in the game's words.

    Attributes:
        line: the line, counted from 1.
        column: the column, counted from 1.
        problem: what is wrong there, without the place.
    """

    def __init__(self, problem: str, line: int, column: int = 1, text: str = "", source: str = ""):
        where = f"{source or 'record'}, line {line}, column {column}"
        shown = f"\n  {text}\n  {' ' * (column - 1)}^" if text else ""
        super().__init__(f"{where}: {problem}{shown}")
        self.problem, self.line, self.column = problem, line, column


class Line(NamedTuple):
    """A line of a text and where it stands."""

    number: int
    text: str


class Section(NamedTuple):
    """The lines of one record."""

    tags: dict[str, tuple[str, Line]]
    deals: list[Line]
    result: Line
    source: str

    def error(self, problem: str, line: Line, column: int = 1) -> RecordError:
        """What is wrong in a line of this record."""
        return RecordError(problem, line.number, column, line.text, self.source)


_TAG: Final = re.compile(r'\[([a-z][a-z0-9_]*) "((?:[^"\\]|\\["\\])*)"\]')
_ESCAPED: Final = re.compile(r"\\(.)")


def sections(lines: Iterable[str], source: str) -> Iterator[Section]:
    """Cut a text into records; each ends with its result.

    Raises:
        RecordError: a line stands where none of its kind may.
    """
    tags: dict[str, tuple[str, Line]] = {}
    deals: list[Line] = []
    line = Line(1, "")
    for number, text in enumerate(lines, start=1):
        line = Line(number, text.rstrip("\n"))
        if not line.text:
            continue
        if line.text.startswith(RESULT):
            if not tags:
                raise RecordError("a result of no record", number, 1, line.text, source)
            yield Section(tags, deals, line, source)
            tags, deals = {}, []
        elif line.text.startswith("["):
            if deals:
                raise RecordError(
                    "the record before it lacks its result line", number, 1, line.text, source
                )
            _read_tag(line, tags, source)
        elif not tags:
            raise RecordError(
                'a record begins with its header: [game "1"], or [deals "1"]',
                number, 1, line.text, source,
            )  # fmt: skip
        else:
            deals.append(line)
    if tags:
        raise RecordError(
            "the text ends before the result of its last record",
            line.number, len(line.text) + 1, line.text, source,
        )  # fmt: skip


def _read_tag(line: Line, tags: dict[str, tuple[str, Line]], source: str) -> None:
    match = _TAG.fullmatch(line.text)
    if match is None:
        problem = 'a header line reads [name "text"], with \\" and \\\\ inside the text'
        raise RecordError(problem, line.number, 1, line.text, source)
    name, value = match[1], _ESCAPED.sub(r"\1", match[2])
    if not tags and name not in KINDS:
        raise RecordError(
            f'a header begins with [game "1"] or [deals "1"], not with {name}',
            line.number, 2, line.text, source,
        )  # fmt: skip
    if name in tags or (tags and name in KINDS):
        raise RecordError(
            f"{name} stands twice in the header, or a result line is missing above",
            line.number, 2, line.text, source,
        )  # fmt: skip
    if not value.isprintable():
        raise RecordError(
            "the text of a header line is printable", line.number, 1, line.text, source
        )
    tags[name] = (value, line)


@functools.lru_cache(64)
def _rules_from(text: str) -> Rules:
    rules, seat = read_options(text.split(), text)
    if seat != NOBODY:
        raise ValueError(f"{text!r}: a record is of no one seat")
    return rules


class Header(NamedTuple):
    """What a record says of itself, `tags` aside checked; fields as in `recording.Record`."""

    kind: Kind
    name: str
    players: tuple[str, str]
    rules: Rules
    seed: int | None
    date: str | None
    tags: dict[str, str]


def read_header(section: Section) -> Header:
    """The header lines of a record.

    Raises:
        RecordError: a line is missing, or its text means nothing.
    """
    tags = dict(section.tags)
    kind: Kind = next(kind for kind in KINDS if kind in tags)
    name, first = tags.pop(kind)
    for wanted in ("seat0", "seat1", "rules"):
        if wanted not in tags:
            raise section.error(f'the header lacks its line [{wanted} "..."]', first)
    players = (tags.pop("seat0")[0], tags.pop("seat1")[0])
    text, line = tags.pop("rules")
    try:
        rules = _rules_from(text)
    except ValueError as problem:
        raise section.error(bare(problem, text), line, len('[rules "') + 1) from None
    seed: int | None = None
    if "seed" in tags:
        text, line = tags.pop("seed")
        if not re.fullmatch("0|[1-9][0-9]*", text):
            raise section.error(f"a seed is a whole number, not {text!r}", line, len('[seed "') + 1)
        seed = int(text)
    date = None
    if "date" in tags:
        date, line = tags.pop("date")
        if not _is_date(date):
            raise section.error(f"a date reads YYYY-MM-DD, not {date!r}", line, len('[date "') + 1)
    rest = {name: value for name, (value, _) in tags.items()}
    return Header(kind, name, players, rules, seed, date, rest)


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def bare(problem: ValueError, text: str) -> str:
    """The sentence of an error of ``notation``, without the text that it quotes first."""
    return str(problem).removeprefix(f"{text!r}: ")
