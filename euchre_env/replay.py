"""Records replayed: act by act as states or views, or printed for people.

    euchre-replay games.txt                      what is in the file
    euchre-replay games.txt --game 3             that game, trick by trick
    euchre-replay games.txt --game 3 --seat 0 --steps    every act on the table, as seat 0 saw it
    euchre-replay games.txt --game 3 --pictures moves    a drawing of every act, in that folder

``python -m euchre_env.replay`` is the same.
"""

import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from euchre_env import drawing
from euchre_env.actions import NO_ACTION
from euchre_env.cards import HAND_SIZE, card_list
from euchre_env.dealing import is_dealt_right, lay_out
from euchre_env.engine import apply, legal_actions
from euchre_env.explain import why_illegal
from euchre_env.history import dealt_hand, undone
from euchre_env.notation import format_deal, options_text
from euchre_env.records import Record, read_records
from euchre_env.rendering import card_text, table_text
from euchre_env.state import States
from euchre_env.telling import tell_act, tell_deal, tell_trick
from euchre_env.views import blank

BACK: Final = "▒▒"


class Step(NamedTuple):
    """One moment of a record."""

    deal: int
    """Which deal, counted from 1."""
    action: int
    """The act just done; `NO_ACTION` where the cards were just dealt."""
    state: np.record
    """What it led to: the full state, or the view of the seat asked for."""
    before: np.record | None
    """What it was done in, likewise; None where the cards were just dealt."""


def replay(record: Record, seat: int | None = None) -> Iterator[Step]:
    """Play a record again, act by act; every act is checked.

    Args:
        record: what was played.
        seat: 0 or 1 for what that seat knew at every moment; None for full states.

    Yields:
        The dealt cards, then every act, of one deal after the other. The rows are copies.

    Raises:
        ValueError: a deal or an act of the record is not legal.
    """
    for number, last in enumerate(record.deals, start=1):
        states = undone(record.deals[number - 1 : number])
        upcard = int(last.upcard)
        if not is_dealt_right(states[0], upcard):
            raise ValueError(f"deal {number}: {format_deal(last)!r} is no deal of these rules")
        lay_out(states[0], upcard)
        before = _seen(states, seat)
        yield Step(number, NO_ACTION, before, None)
        for action in last.history[: int(last.num_actions)].tolist():
            if not 0 <= action or not int(legal_actions(states[0])) >> action & 1:
                raise ValueError(f"deal {number}: {why_illegal(states[0], action)}")
            apply(states[0], action)
            after = _seen(states, seat)
            shown = int(after.history[int(after.num_actions) - 1])
            yield Step(number, shown, after, before)
            before = after


def _seen(states: States, seat: int | None) -> np.record:
    row: np.record = states[0].copy() if seat is None else blank(states, seat)[0]
    return row


# --- for people ---------------------------------------------------------------------------------


def tell_record(record: Record, seat: int | None = None) -> Iterator[str]:
    """A record as lines for people: who held what, the bids, every trick, every score.

    Args:
        record: what was played.
        seat: 0 or 1 to tell only what that seat knew; None for everything.
    """
    names = record.players
    if names[0] == names[1]:
        names = (f"{names[0]} (seat 0)", f"{names[1]} (seat 1)")
    yield from _tell_header(record)
    words: list[str] = []
    for step in replay(record, seat):
        state = step.state
        if step.before is None:
            yield ""
            yield from _tell_dealt(record, step, names, seat)
            continue
        words.append(tell_act(step.before, step.action, names))
        if trick := tell_trick(state, names):
            words.append(trick)
        is_trump_made = state.trump >= 0 and step.before.trump < 0
        is_over = state.to_act < 0
        if trick or is_over or is_trump_made or step.before.phase != state.phase:
            yield f"  {', '.join(words)}"
            words = []
        if is_over:
            yield f"  {tell_deal(state, names)}; {_score(state, names)}"
            if state.winner >= 0:
                yield f"  {names[int(state.winner)]} won the game"
    if words:
        yield f"  {', '.join(words)}"


def _score(state: np.record, names: tuple[str, str]) -> str:
    return ", ".join(
        f"{who} {int(points)}" for who, points in zip(names, state.scores, strict=True)
    )


def _tell_header(record: Record) -> Iterator[str]:
    played = "game" if record.kind == "game" else "deals"
    yield f"{played} {record.name}: {record.players[0]} (seat 0) and {record.players[1]} (seat 1)"
    told = {"rules": " ".join(options_text(record.rules)), "seed": record.seed, "date": record.date}
    for name, value in {**told, **record.tags}.items():
        if value not in (None, ""):
            yield f"{name}: {value}"


def _tell_dealt(
    record: Record, step: Step, names: tuple[str, str], seat: int | None
) -> Iterator[str]:
    state = step.state
    dealer = int(state.dealer)
    yield (
        f"deal {step.deal}: {names[dealer]} deals, {_score(state, names)}; "
        f"{card_text(int(state.upcard))} is turned up"
    )
    last = record.deals[step.deal - 1 : step.deal]
    known = last[0] if seat is None else blank(last, seat)[0]  # with what was shown by and by
    width = max(map(len, names))
    for who in (1 - dealer, dealer):
        cards = [card_text(number) for number in card_list(int(dealt_hand(known, who)))]
        cards += [BACK] * (HAND_SIZE - len(cards))
        yield f"  {names[who]:<{width}}  {'  '.join(cards)}"


def _show_list(path: Path) -> None:
    table = Table(box=SIMPLE_HEAD)
    for name in ("no.", "what", "seat 0", "seat 1", "rules", "deals", "result", "date"):
        table.add_column(name, justify="right" if name in ("no.", "deals", "result") else "left")
    for number, record in enumerate(read_records(path), start=1):
        rules = " ".join(options_text(record.rules))
        players = [escape(name) for name in record.players]
        num_deals, date = str(len(record.deals)), record.date or ""
        table.add_row(str(number), record.kind, *players, rules, num_deals, record.result, date)
    Console().print(table)


def show(
    path: tyro.conf.Positional[Path],
    game: int | None = None,
    seat: int | None = None,
    steps: bool = False,
    pictures: Path | None = None,
) -> None:
    """Show a file of records: what is in it, or one record of it.

    Args:
        path: a file of records (docs/notation.md).
        game: which record of the file, counted from 1; without it, the list of all.
        seat: 0 or 1: only what that seat knew.
        steps: draw the table after every act.
        pictures: a folder for a drawing (SVG) of every act, named by deal and act.
    """
    if game is None:
        _show_list(path)
        return
    if game < 1:
        raise ValueError(f"--game {game}: records are counted from 1")
    if seat not in (None, 0, 1):
        raise ValueError(f"--seat {seat}: a seat is 0 or 1")
    record = next(islice(read_records(path), game - 1, None), None)
    if record is None:
        raise ValueError(f"--game {game}: {path} has fewer records")
    if pictures is not None:
        print(f"{_draw(record, seat, pictures)} drawings in {pictures}")
    elif not steps:
        print("\n".join(tell_record(record, seat)))
    else:
        for step in replay(record, seat):
            if step.before is not None:
                print(f"\n{tell_act(step.before, step.action, record.players)}\n")
            print(table_text(step.state))


def _draw(record: Record, seat: int | None, folder: Path) -> int:
    """Draw every moment of a record; how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for step in replay(record, seat):
        place = int(step.state.num_actions)
        note = "" if step.before is None else tell_act(step.before, step.action, record.players)
        drawing.show(step.state, note=note).save(folder / f"deal{step.deal:02}-{place:02}.svg")
        count += 1
    return count


def main() -> None:
    """The console script ``euchre-replay``."""
    try:
        tyro.cli(show)
        sys.stdout.flush()
    except BrokenPipeError:  # an OSError, but no fault: the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
    except (ValueError, OSError) as problem:
        print(f"euchre-replay: {problem}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
