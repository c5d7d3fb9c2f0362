"""Game records, written: what was dealt, done and scored, a text file of any number of games.

A record is a header, one line a deal, and a line with the result; blank lines between::

    [game "1"]
    [seat0 "novice"]
    [seat1 "random"]
    [rules "target_score=2"]
    [seed "7"]
    [date "2026-11-30"]

    TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 order_up,take,discard:9C,JH,9H,TC,KC,AS,9S,KH,AH,JD,QH 1-0
    TCJDJHAH9S/9CKCQHKHAS/9H d0 1-0 pass,accept,discard:KH,TC,KC,AS,9S,9H,AH,JH,QH,JD,9C 0-2

    result 1-2

A deal line is a position (``notation``) as the deal ended, and the points it scored. A record of
``[deals ...]`` holds single deals instead, each for itself. ``docs/notation.md`` has the grammar.
`records` reads what is written here, strictly, and gets the same back.
"""

import datetime
import functools
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from euchre_env.actions import ACTION_NAMES, Phase
from euchre_env.cards import CARD_NAMES
from euchre_env.history import RULE_FIELDS, dealt_hands, discard_places, with_seats_swapped
from euchre_env.notation import hand_text, options_text
from euchre_env.rules import Rules
from euchre_env.state import NOBODY, States, rules_of

Kind = Literal["game", "deals"]
"""A game, deal after deal; or single deals, each for itself."""
KINDS: Final[tuple[Kind, ...]] = ("game", "deals")

UNFINISHED: Final = "*"
"""In place of points or a result: still open."""
RESULT: Final = "result"
DEAL_OVER, GAME_OVER = int(Phase.DEAL_OVER), int(Phase.GAME_OVER)


@dataclass(frozen=True, eq=False)
class Record:
    """One game, or a list of single deals.

    Args:
        kind: ``"game"`` or ``"deals"``.
        players: names of seat 0 and seat 1.
        deals: every deal in order as it ended (the last of a game as it stands), full states of
            shape (n,) under the same rules.
        name: what the first line of the header says, a running number as a rule.
        seed: what the deals came from.
        date: ``YYYY-MM-DD``.
        tags: further lines of the header, ``name -> text``.

    Two records are equal when they read alike: random streams are no part of a record.
    """

    kind: Kind
    players: tuple[str, str]
    deals: States
    name: str = "1"
    seed: int | None = None
    date: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what does not follow from the deals."""
        if self.kind not in KINDS:
            raise ValueError(f"kind={self.kind!r}: it is one of {', '.join(map(repr, KINDS))}")
        if not len(self.deals):
            raise ValueError("a record has at least one deal")
        if (self.deals["seat"] != NOBODY).any():
            raise ValueError("these are views: a record shows all cards, it is made of full states")
        if any((self.deals[name] != self.deals[name][:1]).any() for name in RULE_FIELDS):
            raise ValueError("these deals are played by different rules: each needs its own record")
        if (self.deals["dealer"] == NOBODY).any():
            raise ValueError("nothing was dealt yet in a row: a record is made of deals")

    @property
    def rules(self) -> Rules:
        """What is played."""
        return rules_of(self.deals[0])

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to play: the game is won, or every deal is over."""
        wanted = GAME_OVER if self.kind == "game" else DEAL_OVER
        last = self.deals[-1:] if self.kind == "game" else self.deals
        return bool((last["phase"] >= wanted).all())

    @property
    def scores(self) -> tuple[int, int]:
        """A game's score as it stands; of single deals, the points of all that are over."""
        points = self.deals["scores"][-1] if self.kind == "game" else self.deals["points"].sum(0)
        return int(points[0]), int(points[1])

    @property
    def result(self) -> str:
        """``"10-4"``, seat 0's points first; ``"*"`` for a game that is not over."""
        return _pair(self.scores) if self.kind == "deals" or self.is_over else UNFINISHED

    def __eq__(self, other: object) -> bool:
        """Whether both read alike."""
        return isinstance(other, Record) and format_record(self) == format_record(other)

    def __hash__(self) -> int:
        """Of what it reads like."""
        return hash(format_record(self))

    def __str__(self) -> str:
        """The text of the record."""
        return format_record(self)


# --- writing ------------------------------------------------------------------------------------


def _pair(points: Iterable[Any]) -> str:
    zero, one = points
    return f"{int(zero)}-{int(one)}"


_hand_text = functools.lru_cache(1 << 16)(hand_text)

_TAG_NAME: Final = re.compile("[a-z][a-z0-9_]*")
OWN_TAGS: Final = (*KINDS, "seat0", "seat1", "rules", "seed", "date")


def _tag(name: str, value: str) -> str:
    if not _TAG_NAME.fullmatch(name):
        raise ValueError(f"header line {name!r}: its name is of small letters, digits and _")
    if not value.isprintable():
        raise ValueError(f"header line {name}={value!r}: it is one line of printable text")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{name} "{escaped}"]'


def _header(record: Record) -> list[str]:
    lines = {record.kind: record.name, "seat0": record.players[0], "seat1": record.players[1]}
    lines["rules"] = " ".join(options_text(record.rules))
    if record.seed is not None:
        lines["seed"] = str(int(record.seed))
    if record.date is not None:
        lines["date"] = record.date
    for name, value in record.tags.items():
        if name in OWN_TAGS:
            raise ValueError(f"header line {name!r} has a field of its own")
        lines[name] = value
    return [_tag(name, value) for name, value in lines.items()]


def deal_lines(deals: States) -> list[str]:
    """Each deal as a line: dealt cards, dealer, scores before, acts, points scored.

    Args:
        deals: full states, shape (n,).
    """
    before = (deals["scores"] - deals["points"]).tolist()
    points = deals["points"].tolist()
    hands, discards = dealt_hands(deals).tolist(), discard_places(deals).tolist()
    dealers, upcards = deals["dealer"].tolist(), deals["upcard"].tolist()
    histories, counts = deals["history"].tolist(), deals["num_actions"].tolist()
    is_over = (deals["phase"] >= DEAL_OVER).tolist()
    lines = []
    for i, (dealer, hand) in enumerate(zip(dealers, hands, strict=True)):
        acts = [ACTION_NAMES[action] for action in histories[i][: counts[i]]]
        if discards[i] >= 0:
            acts[discards[i]] = f"discard:{acts[discards[i]]}"
        scored = f"{points[i][0]}-{points[i][1]}" if is_over[i] else UNFINISHED
        lines.append(
            f"{_hand_text(hand[1 - dealer])}/{_hand_text(hand[dealer])}/{CARD_NAMES[upcards[i]]} "
            f"d{dealer} {before[i][0]}-{before[i][1]} {','.join(acts) or '-'} {scored}"
        )
    return lines


def format_record(record: Record) -> str:
    """A record as text, its last line ended; `records.parse_records` reads it back."""
    header = "\n".join(_header(record))
    lines = "".join(f"{line}\n" for line in deal_lines(record.deals))
    return f"{header}\n\n{lines}\n{RESULT} {record.result}\n"


class RecordWriter:
    """Writes a file of records, one after the other as they are played.

    Use it as a context manager, or `close` it::

        with RecordWriter("games.txt", players=("novice", "random"), seed=7) as writer:
            writer.add_games(deals, games)

    Args:
        path: the file, overwritten unless ``append`` is set.
        players: names of the first and the second player; the first has seat 0 in every record.
        seed: written into every header where given.
        date: ``YYYY-MM-DD``; today (UTC) when None, none at all when empty.
        tags: further lines of every header.
        append: go on behind what the file holds, numbers too.

    Attributes:
        num_records: how many records the file holds by now.

    Raises:
        OSError: the file cannot be written.
        ValueError: a name or tag cannot stand in a header.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        players: tuple[str, str],
        *,
        seed: int | None = None,
        date: str | None = None,
        tags: Mapping[str, str] | None = None,
        append: bool = False,
    ) -> None:
        self.players = players
        self.seed = seed
        self.date = today() if date is None else date or None
        self.tags = dict(tags or {})
        self._check_header()
        self.num_records = _num_records(path) if append and os.path.exists(path) else 0
        self._file = open(path, "a" if append else "w", encoding="utf-8")

    def _check_header(self) -> None:
        for name, value in {
            **self.tags,
            "seat0": self.players[0],
            "seat1": self.players[1],
            "date": self.date or "",
        }.items():
            _tag(name, value)

    def add(self, record: Record) -> None:
        """Write a record as it is."""
        text = format_record(record)
        self._file.write(f"\n{text}" if self.num_records else text)
        self.num_records += 1

    def add_games(
        self,
        deals: States,
        games: npt.ArrayLike | None = None,
        swapped: bool | npt.NDArray[np.bool_] = False,
    ) -> None:
        """Write whole games.

        Args:
            deals: every deal of theirs as it ended, full states of shape (n,), in any order.
            games: which game each deal belongs to, whole numbers of shape (n,); None for one
                game. Games are written in the order of their numbers, deals in that of
                ``deal_number``.
            swapped: where the first player had seat 1 (for all, or bool of shape (n,)): seats are
                exchanged in the record, so that it always reads with the first in seat 0.
        """
        numbers = np.broadcast_to(np.asarray(0 if games is None else games), deals.shape)
        order = np.lexsort((deals["deal_number"], numbers))
        rows = with_seats_swapped(deals, swapped)[order]
        for game in np.split(rows, np.flatnonzero(np.diff(numbers[order])) + 1):
            if len(game):
                self.add(self._record("game", game))

    def add_deals(self, deals: States, swapped: bool | npt.NDArray[np.bool_] = False) -> None:
        """Write single deals as one record, in their order; none, and nothing is written.

        Args:
            deals: each as it ended, full states of shape (n,).
            swapped: as for `add_games`.
        """
        if len(deals):
            self.add(self._record("deals", with_seats_swapped(deals, swapped)))

    def _record(self, kind: Kind, deals: States) -> Record:
        name = str(self.num_records + 1)
        return Record(kind, self.players, deals, name, self.seed, self.date, self.tags)

    def flush(self) -> None:
        """Hand all that was added to the file."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "RecordWriter":
        """The writer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()


def today() -> str:
    """The date as headers have it: ``YYYY-MM-DD``, UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _num_records(path: str | os.PathLike[str]) -> int:
    with open(path, encoding="utf-8") as lines:
        return sum(line.startswith(tuple(f"[{kind} " for kind in KINDS)) for line in lines)


def write_records(path: str | os.PathLike[str], records: Iterable[Record]) -> None:
    """Write records into a file, overwritten.

    Raises:
        OSError: the file cannot be written.
    """
    with RecordWriter(path, ("", "")) as writer:
        for record in records:
            writer.add(record)
