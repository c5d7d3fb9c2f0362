"""Faults that were found by trying to break the package, each with the shortest way to it."""

import ast
import os
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from agents.scripted import NoviceAgent
from euchre_env import EuchreVectorEnv
from euchre_env.notation import format_position, parse_position
from euchre_env.observation import OBSERVATION_SIZE, encode
from euchre_env.views import blank

ID = "euchre_env/Euchre-v0"
DEAL = "9CJCTDKDAH/KCQDQHTSQS/QC"
OPENING = f"{DEAL} d1 0-0 -"
LAST_WORD = f"{DEAL} d1 0-0 pass,pass,pass"
"""Seat 1 is to act, and the novice in it throws the deal in."""


class Batched:
    """The novice, asked in batches."""

    name = "batched"

    def act(self, views, action_masks, rng):
        return NoviceAgent().act(views, action_masks, rng)


def shown(env):
    """All that a user can see of a game: view, observation, mask."""
    tables = env.unwrapped._tables
    return [a.copy() for a in (tables.states, tables.views, tables.observations, tables.masks)]


def is_same(before, after):
    return all((old == new).all() for old, new in zip(before, after, strict=True))


# --- what is set in reset, and what is then drawn ------------------------------------------------


@pytest.mark.parametrize("options", [{"dealer": 0}, {"scores": (0, 0)}], ids=str)
def test_the_deal_after_one_drawn_for_options_is_another(options):
    """The draw was taken back: the second deal of the game was the first once more."""
    env = gymnasium.make(ID, opponent=None)
    _, info = env.reset(seed=3, options=options)
    first = env.unwrapped.get_state()["states"][0]["hands"].tolist()
    num_deals = 1
    while num_deals == 1:
        _, _, _, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        num_deals = int(env.unwrapped.view["deal_number"])
    second = env.unwrapped.get_state()["states"][0]["hands"].tolist()
    assert sorted(second) != sorted(first)


@pytest.mark.parametrize("options", [{"dealer": 0}, {"scores": (1, 2)}], ids=str)
def test_resets_with_options_go_on_with_the_stream(options):
    env = gymnasium.make(ID, opponent=None)
    env.reset(seed=3)
    hands = set()
    for _ in range(6):
        env.reset(options=options)
        hands.add(tuple(env.unwrapped.get_state()["states"][0]["hands"].tolist()))
    assert len(hands) == 6


@pytest.mark.parametrize("options", [{"deal": DEAL}, {"position": OPENING}], ids=str)
def test_seat_and_dealer_are_drawn_anew_for_each_given_deal(options):
    env = gymnasium.make(ID)
    env.reset(seed=0)
    seats = {env.reset(options=options)[1]["seat"] for _ in range(20)}
    assert seats == {0, 1}


@pytest.mark.parametrize("opponent", ["novice", None], ids=str)
def test_a_view_is_no_position_to_play_from(opponent):
    """A seat's view, as errors quote it, lacks the other hand: games without cards began."""
    env = gymnasium.make(ID, opponent=opponent)
    env.reset(seed=1)
    view = format_position(env.unwrapped.view)
    before = shown(env)
    with pytest.raises(ValueError, match="seat"):
        env.reset(options={"position": view})
    assert is_same(before, shown(env))


# --- a reset that is refused ---------------------------------------------------------------------


@pytest.mark.parametrize("opponent", ["novice", Batched()], ids=["compiled", "batched"])
@pytest.mark.parametrize("options", [{"deal": "none"}, {"position": LAST_WORD}], ids=str)
@pytest.mark.parametrize("seed", [None, 9])
def test_a_refused_reset_changes_nothing(opponent, options, seed):
    env = gymnasium.make(ID, opponent=opponent, seat=0, episode="deal")
    env.reset(seed=0)
    before = shown(env)
    with pytest.raises(ValueError, match=r"deal|nothing to do"):
        env.reset(seed=seed, options=options)
    assert is_same(before, shown(env))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("opponent", ["novice", Batched()], ids=["compiled", "batched"])
def test_a_refused_reset_changes_no_game_of_the_vector(opponent, mode):
    """Games before the refused one had begun anew; in SameStep another deal stood there."""
    env = EuchreVectorEnv(2, opponent=opponent, seat=0, episode="deal", autoreset_mode=mode)
    env.reset(seed=0)
    before = shown(env)
    with pytest.raises(ValueError, match="nothing to do"):
        env.reset(seed=5, options={"position": [OPENING, LAST_WORD]})
    assert is_same(before, shown(env))


def test_one_value_for_all_games_may_be_a_list_as_long_as_the_games_are_many():
    for num in (1, 2, 3):
        _, infos = EuchreVectorEnv(num).reset(seed=0, options={"scores": [1, 2]})
        assert infos["scores"].tolist() == [[1, 2]] * num
    hands = [[2, 4, 11, 14, 23], [6, 13, 21, 27, 29], 5]
    _, infos = EuchreVectorEnv(3).reset(seed=0, options={"deal": hands, "dealer": 0})
    assert len(infos["to_act"]) == 3


# --- agents, seeds, doors ------------------------------------------------------------------------


def test_an_agent_that_overrides_act_is_asked():
    """The environment played the compiled policy of its parent instead."""

    class Counting(NoviceAgent):
        num_calls = 0

        def act(self, views, action_masks, rng):
            Counting.num_calls += 1
            return super().act(views, action_masks, rng)

    env = gymnasium.make(ID, opponent=Counting(), seat=0)
    _, info = env.reset(seed=0)
    for _ in range(5):
        _, _, _, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert Counting.num_calls > 0


def test_long_seeds_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EuchreVectorEnv(1).reset(seed=2**200)


@pytest.mark.parametrize("max_deals", ["3", 2.5, float("nan"), 2**63, [1]], ids=str)
def test_deals_are_counted_in_whole_numbers(max_deals):
    with pytest.raises(ValueError, match="max_deals"):
        EuchreVectorEnv(1, max_deals=max_deals)


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((2, OBSERVATION_SIZE), np.uint8),
        np.zeros((3, OBSERVATION_SIZE - 1), np.uint8),
        np.zeros((3, OBSERVATION_SIZE), np.float32),
    ],
    ids=["rows", "columns", "dtype"],
)
def test_observations_are_written_only_into_an_array_that_fits(out):
    """A kernel wrote past the end of the array."""
    view = blank(parse_position(OPENING), 0)
    with pytest.raises(ValueError, match="shape"):
        encode(np.repeat(view, 3), out=out)


@pytest.mark.parametrize(
    "text",
    [
        "JHJDAH9STC/??????????/9H d1 0-0 pass,accept,discard:??,QQ seat=0",
        f"{DEAL} d1 {'9' * 5000}-0 -",
        f"{DEAL} d1 \u0663-0 -",
        f"{DEAL} d1 0-0 - target_score=\u00b2",
        f"{DEAL} d1 0-0 - target_score={'9' * 5000}",
    ],
    ids=["act", "long score", "other digits", "raised digit", "long target"],
)
def test_every_error_quotes_the_position(text):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - what it quotes is the test
        parse_position(text)
    assert repr(text) in str(caught.value)


# --- the cache of compiled kernels ---------------------------------------------------------------


def test_a_cache_that_cannot_be_written_is_none(tmp_path):
    """Kernels were kept beside their sources instead, where a changed table goes unseen."""
    package = tmp_path / "tiny"
    package.mkdir()
    (package / "__init__.py").write_text("from tiny.use import look\n", encoding="utf-8")
    (package / "use.py").write_text(
        "from euchre_env.kernel import kernel\n"
        "from tiny.table import NUMBERS\n\n\n"
        "@kernel\n"
        "def look(place):\n"
        "    return NUMBERS[place]\n",
        encoding="utf-8",
    )
    no_folder = tmp_path / "file"
    no_folder.write_text("", encoding="utf-8")
    seen = []
    for number in (1, 22):
        (package / "table.py").write_text(
            f"import numpy as np\n\nNUMBERS = np.array([{number}])\n", encoding="utf-8"
        )
        done = subprocess.run(
            [sys.executable, "-c", "import tiny; print(int(tiny.look(0)))"],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(no_folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.append(int(done.stdout))
    assert seen == [1, 22]


# --- memory of kernels ---------------------------------------------------------------------------

SOURCES = sorted(
    path
    for package in ("euchre_env", "agents")
    for path in (Path(__file__).parents[1] / package).rglob("*.py")
)


def named_rows(source):
    """Lines of kernels that name a row of a record array made there; Numba frees it too early."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if not (isinstance(function, ast.FunctionDef) and is_compiled(function)):
            continue
        given = [pair for line in ast.walk(function) for pair in pairs_of(line)]
        made = {
            ast.unparse(target)
            for target, value in given
            if isinstance(value, ast.Call) and "_DTYPE" in ast.unparse(value)
        }
        found += [
            value.lineno
            for _, value in given
            if isinstance(value, ast.Subscript)
            and not isinstance(value.slice, ast.Slice)
            and ast.unparse(value.value) in made
        ]
    return found


def is_compiled(function):
    """Whether Numba compiles it: a kernel, or an agent's policy, which has no decorator."""
    marks = [ast.unparse(item) for item in function.decorator_list]
    return function.name.endswith("_policy") or any("kernel" in mark for mark in marks)


def pairs_of(line):
    """Targets of an assignment with what each is given; none for any other line."""
    if not isinstance(line, ast.Assign):
        return []
    target, value = line.targets[0], line.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


@pytest.mark.parametrize(
    ("lines", "is_fault"),
    [
        ("rows = np.empty(2, dtype=STATE_DTYPE)\n    row = rows[0]", True),
        ("rows = np.zeros(2, STATE_DTYPE)\n    a, b = rows[0], rows[1]", True),
        ("rows = np.empty(2, dtype=STATE_DTYPE)\n    part = rows[1:]", False),
        ("rows = np.empty(2, dtype=np.int64)\n    row = rows[0]", False),
        ("row = given[0]", False),
    ],
)
@pytest.mark.parametrize("head", ["@kernel\ndef look(given):", "def _belief_policy(given):"])
def test_a_named_row_is_found(lines, is_fault, head):
    assert bool(named_rows(f"{head}\n    {lines}\n")) == is_fault


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_kernel_names_a_row_of_an_array_that_it_made(path):
    """Beliefs, and what leaves are worth, were read from memory that had been freed."""
    assert named_rows(path.read_text(encoding="utf-8")) == []
