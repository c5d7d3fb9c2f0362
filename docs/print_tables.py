"""The tables of the documentation, printed from the tables of the code.

In a Markdown file a table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``.
``python docs/print_tables.py`` brings every such place up to date; the tests fail where one is
not.
"""

import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from euchre_env import EuchreEnv
from euchre_env.actions import ACTION_NAMES, NAME, NUM_ACTIONS, Phase
from euchre_env.bidding import LEGAL_BIDS
from euchre_env.cards import CARD_NAMES, JOKER, JOKER_NAME, NUM_RANKS, NUM_SUITS, SUIT_WORDS
from euchre_env.observation import OBSERVATION_FIELDS, OBSERVATION_SIZE, STARTS
from euchre_env.state import STATE_FIELDS

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = ("README.md", "docs/environment.md")
"""The files that hold tables, from the root of the repository."""

_PLACE: Final = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    lines = [tuple(head)]
    lines.append(("---",) * len(lines[0]))
    lines.extend(tuple(str(cell).replace("|", r"\|") for cell in row) for row in rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def observation_table() -> str:
    """The fields of the observation, where each starts and how wide it is."""
    rows: list[tuple[object, ...]] = [
        (f"`{field.name}`", STARTS[field.name], field.width, field.high, field.meaning)
        for field in OBSERVATION_FIELDS
    ]
    rows.append(("all", 0, OBSERVATION_SIZE, "", ""))
    return _table(("field", "start", "places", "highest", "meaning"), rows)


def places_table() -> str:
    """What the places of each field stand for."""
    cards = tuple(CARD_NAMES)
    rows = [
        (
            f"`{field.name}`",
            "the 33 cards by number" if field.labels == cards else ", ".join(field.labels),
        )
        for field in OBSERVATION_FIELDS
    ]
    return _table(("field", "its places, in order"), rows)


def _phases_of(action: int) -> str:
    """The phases in which an act may be legal."""
    if action < NAME:
        phases = [Phase.DISCARD, Phase.PLAY]
    else:
        phases = [phase for phase in Phase if LEGAL_BIDS[phase] >> action & 1]
    return ", ".join(f"`{phase.name}`" for phase in phases)


def action_table() -> str:
    """The acts, their numbers and phases; the cards a suit a line."""
    rows: list[tuple[object, str, str]] = []
    for suit in range(NUM_SUITS):
        first, last = NUM_RANKS * suit, NUM_RANKS * (suit + 1) - 1
        names = " ".join(CARD_NAMES[first : last + 1])
        rows.append((f"{first} to {last}", f"`{names}`, {SUIT_WORDS[suit]}", _phases_of(first)))
    rows.append((JOKER, f"`{JOKER_NAME}`, the joker", _phases_of(JOKER)))
    rows.extend((a, f"`{ACTION_NAMES[a]}`", _phases_of(a)) for a in range(NAME, NUM_ACTIONS))
    return _table(("number", "act", "phases"), rows)


def option_table() -> str:
    """The options of the environment with their defaults."""
    rows = [
        (f"`{name}`", f"`{parameter.default!r}`".replace('"', "'"))
        for name, parameter in inspect.signature(EuchreEnv).parameters.items()
    ]
    return _table(("option", "default"), rows)


def state_table() -> str:
    """The fields of a row of the state."""
    rows = []
    for name, kind, shape, meaning in STATE_FIELDS:
        size = f" × {shape[0]}" if shape else ""
        rows.append((f"`{name}`", f"{kind.__name__}{size}", meaning))
    return _table(("field", "type", "meaning"), rows)


TABLES: Final[dict[str, Callable[[], str]]] = {
    "observation": observation_table,
    "places": places_table,
    "actions": action_table,
    "options": option_table,
    "state": state_table,
}
"""``name -> its table as Markdown``."""


def with_tables(page: str) -> str:
    """A page with every table as the code has it now.

    Raises:
        KeyError: the page asks for a table that does not exist.
    """
    return _PLACE.sub(lambda place: f"{place[1]}\n{TABLES[place[2]]()}\n{place[3]}", page)


def main() -> None:
    """Bring the tables of all pages up to date."""
    for name in PAGES:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        path.write_text(with_tables(text), encoding="utf-8")
        print(f"{name}: {len(_PLACE.findall(text))} tables")


if __name__ == "__main__":
    main()
