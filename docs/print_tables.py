"""The tables and drawings of the documentation, made from the code.

In a Markdown file a table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``.
``python docs/print_tables.py`` brings every such place up to date, and the drawings of
`PICTURES`; the tests fail where one is not.
"""

import ast
import inspect
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from result_tables import RESULT_TABLES, table

from euchre_env import EuchreEnv
from euchre_env.actions import ACTION_NAMES, NAME, NUM_ACTIONS, Phase
from euchre_env.bidding import LEGAL_BIDS
from euchre_env.cards import CARD_NAMES, JOKER, JOKER_NAME, NUM_RANKS, NUM_SUITS, SUIT_WORDS
from euchre_env.drawing import show
from euchre_env.notation import parse_position
from euchre_env.observation import OBSERVATION_FIELDS, OBSERVATION_SIZE, STARTS
from euchre_env.state import STATE_FIELDS
from euchre_env.views import blank

ROOT: Final = Path(__file__).resolve().parent.parent
_API: Final = ("environments", "games", "notation", "agents", "evaluation", "training")
PAGES: Final = (
    "README.md",
    "docs/agents.md",
    "docs/environment.md",
    "docs/reading.md",
    "docs/scaling.md",
    "docs/training.md",
    *(f"docs/api/{name}.md" for name in _API),
)
"""The files that hold tables, from the root of the repository."""

_PLACE: Final = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def observation_table() -> str:
    """The fields of the observation, where each starts and how wide it is."""
    rows: list[tuple[object, ...]] = [
        (f"`{field.name}`", STARTS[field.name], field.width, field.high, field.meaning)
        for field in OBSERVATION_FIELDS
    ]
    rows.append(("all", 0, OBSERVATION_SIZE, "", ""))
    return table(("field", "start", "places", "highest", "meaning"), rows)


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
    return table(("field", "its places, in order"), rows)


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
    return table(("number", "act", "phases"), rows)


def option_table() -> str:
    """The options of the environment with their defaults."""
    rows = [
        (f"`{name}`", f"`{parameter.default!r}`".replace('"', "'"))
        for name, parameter in inspect.signature(EuchreEnv).parameters.items()
    ]
    return table(("option", "default"), rows)


def state_table() -> str:
    """The fields of a row of the state."""
    rows = []
    for name, kind, shape, meaning in STATE_FIELDS:
        size = f" × {shape[0]}" if shape else ""
        rows.append((f"`{name}`", f"{kind.__name__}{size}", meaning))
    return table(("field", "type", "meaning"), rows)


def reading_table() -> str:
    """The modules of the package from the ground up, each with its first sentence."""
    names = [name for layer in _layers() for name in layer]
    return table(("file", "what it is"), ((f"`{name}`", _first_words(name)) for name in names))


def _layers() -> list[list[str]]:
    """The order of the modules of ``euchre_env``, from the contract in ``pyproject.toml``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    return [sorted(layer.split(" | ")) for layer in reversed(contract["layers"])]


def _first_words(module: str) -> str:
    """What a module says of itself first."""
    tree = ast.parse((ROOT / "euchre_env" / f"{module}.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")


_ENVIRONMENTS: Final = (
    "env", "vector_env", "pettingzoo", "observation", "opponents", "registry", "tables",
    "stepping", "saving",
)  # fmt: skip
_GAMES: Final = (
    "cards", "actions", "rules", "rules_text", "state", "dealing", "bidding", "tricks", "scoring",
    "engine", "views", "history", "explain", "kernel",
)  # fmt: skip


def _reference(modules: Iterable[str]) -> str:
    """What makes mkdocstrings write the reference of modules."""
    return "\n".join(f"::: {module}\n" for module in modules)


def _modules(package: str) -> list[str]:
    folder = ROOT / package.replace(".", "/")
    names = sorted(path.stem for path in folder.glob("*.py"))
    return [package if name == "__init__" else f"{package}.{name}" for name in names]


_NOTATION: Final = (
    "notation", "recording", "records", "replay", "telling", "story", "rendering", "drawing",
)  # fmt: skip


def _notation() -> list[str]:
    """The modules of ``euchre_env`` on the third page: those above, then all on no other page."""
    names = [name for layer in _layers() for name in layer]
    rest = [name for name in names if name not in (*_ENVIRONMENTS, *_GAMES, *_NOTATION)]
    return [f"euchre_env.{name}" for name in (*_NOTATION, *rest)]


TABLES: Final[dict[str, Callable[[], str]]] = {
    "observation": observation_table,
    "places": places_table,
    "actions": action_table,
    "options": option_table,
    "state": state_table,
    **RESULT_TABLES,
    "reading": reading_table,
    "api_environments": lambda: _reference(
        ["euchre_env", *(f"euchre_env.{name}" for name in _ENVIRONMENTS)]
    ),
    "api_games": lambda: _reference(f"euchre_env.{name}" for name in _GAMES),
    "api_notation": lambda: _reference(_notation()),
    "api_agents": lambda: _reference(_modules("agents")),
    "api_evaluation": lambda: _reference(_modules("agents.evaluation")),
    "api_training": lambda: _reference(_modules("agents.training")),
}
"""``name -> its table as Markdown``."""

PICTURES: Final = {
    "docs/images/table.svg": ("TCJDJHAH9S/9CKCQHKHAS/9H d1 3-4 pass,accept", 1),
}
"""``file -> (position, seat that sees it)``."""


def picture(position: str, seat: int) -> str:
    """A drawing of a position as a seat sees it, SVG."""
    return show(blank(parse_position(position), seat)[0]).svg


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
    for name, (position, seat) in PICTURES.items():
        (ROOT / name).write_text(picture(position, seat), encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
