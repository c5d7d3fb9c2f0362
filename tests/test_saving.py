"""Saving: after a round trip at any act the rest of the game, its random deals too, is the same."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from euchre_env import EuchreEnv, EuchreVectorEnv, engine, saving, views
from euchre_env.actions import Phase
from euchre_env.history import RULE_FIELDS
from euchre_env.kernel import IS_COMPILED
from euchre_env.rules import Rules
from euchre_env.saving import load_env, load_states, save_env, save_states
from euchre_env.state import STATE_DTYPE, States, new_states
from tests.strategies import SOME_RULES, STEPS, same_rules, sample, undealt, walk


def played_on(states: States, num_acts: int) -> States:
    """The same games so many random acts later, deals and new games between them included."""
    states = states.copy()
    engine.next_deals(states)
    won = states["phase"] == Phase.GAME_OVER
    if won.any():
        fresh = states[won]
        engine.start_games(fresh)
        states[won] = fresh
    engine.play_random(states, num_acts)
    return states


def test_every_state_of_random_games_under_all_options_reads_back(tmp_path: Path) -> None:
    states = walk().flat()
    path = tmp_path / "games.npz"
    save_states(path, states)
    loaded = load_states(path)
    assert loaded.dtype == STATE_DTYPE
    assert (loaded == states).all()
    assert (played_on(loaded, 40) == played_on(states, 40)).all()


@pytest.mark.parametrize("step", range(0, STEPS, 10))
def test_games_go_on_from_a_file_as_they_would_have(tmp_path: Path, step: int) -> None:
    rows = walk().rows[step]
    save_states(tmp_path / "games.npz", rows)
    assert (played_on(load_states(tmp_path / "games.npz"), 60) == played_on(rows, 60)).all()


def test_games_not_dealt_yet_read_back(tmp_path: Path) -> None:
    states = undealt(SOME_RULES, seed=3)
    save_states(tmp_path / "games.npz", states)
    loaded = load_states(tmp_path / "games.npz")
    engine.start_games(loaded)
    engine.start_games(states)
    assert (loaded == states).all()


# --- files that are not what they should be -----------------------------------------------------


def written(path: Path, states: States, **changed: Any) -> Path:
    """A file like `save_states` writes, with some arrays changed (None: left out)."""
    save_states(path, states)
    with np.load(path) as arrays:
        columns = {**arrays, **changed}
    np.savez(path, **{name: column for name, column in columns.items() if column is not None})
    return path


class Bomb:
    """What must never be unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (3,)


OTHER_FILES = {
    "empty": b"",
    "text": b"hello",
    "cut off": None,
    "pickle": pickle.dumps({"states": 1}),
}


@pytest.mark.parametrize("kind", OTHER_FILES)
def test_another_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "games.npz"
    save_states(path, same_rules(3))
    path.write_bytes(OTHER_FILES[kind] or path.read_bytes()[:700])
    with pytest.raises(ValueError, match=r"games\.npz is no file of saved games"):
        load_states(path)


def test_nothing_in_a_file_is_executed(tmp_path: Path) -> None:
    path = tmp_path / "games.npz"
    bombs = np.array([Bomb()], dtype=object)
    with path.open("wb") as file:
        np.savez(file, format=np.array(saving.FORMAT), fields=bombs)
    with pytest.raises(ValueError, match="no file of saved games"):
        load_states(path)
    with path.open("wb") as file:
        np.save(file, bombs)
    with pytest.raises(ValueError, match="no file of saved games"):
        load_states(path)


def test_any_damage_is_noticed_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "games.npz"
    states = same_rules(4, Rules.british())
    save_states(path, states)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200 if IS_COMPILED else 20):
        damaged = bytearray(whole)
        damaged[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(damaged))
        try:
            loaded = load_states(path)
        except ValueError:
            continue
        assert (loaded == states).all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": np.array("euchre_env states 2")}, "it says that it is 'euchre_env states 2'"),
        ({"format": None}, "does not say what it is"),
        ({"fields": np.array("stream:<u8()")}, "another version"),
        ({"fields": None}, "fields"),
        ({"hands": None}, "hands"),
        ({"phase": np.zeros(3, np.int64)}, "phase is int64"),
        ({"phase": np.zeros(2, np.int8)}, r"phase is int8 of shape \(2,\)"),
        ({"hands": np.zeros(3, np.int64)}, r"hands is int64 of shape \(3,\)"),
    ],
)
def test_a_file_of_other_arrays_is_refused(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    path = written(tmp_path / "games.npz", same_rules(3), **changed)
    with pytest.raises(ValueError, match=said):
        load_states(path)


FREE = {"stream", "num_draws", "deal_number", "scores", "dealer", "upcard", *RULE_FIELDS}
"""Fields of which many values fit a deal and its acts; all others follow from these."""
DERIVED = [name for name in STATE_DTYPE.names or () if name not in FREE]


@pytest.mark.parametrize("name", DERIVED)
def test_a_row_that_no_game_can_reach_is_refused(name: str) -> None:
    """Every field that follows from others is checked: wherever it is changed, the row is found."""
    states = sample(300 if IS_COMPILED else 40)
    for value in (-1, 1, 2, 5, 33, 100):
        changed = states.copy()
        changed[name] = value
        rows = changed[changed != states]
        found = [saving.find_unsound(rows[i : i + 1]) for i in range(len(rows))]
        if name in ("hands", "played"):  # other cards may be another deal
            assert found.count(0) > len(found) // 2
        else:
            assert found.count(0) == len(found)


def test_fields_that_many_values_fit_are_kept_in_their_range() -> None:
    states = sample(100)
    for name, value in (
        ("num_draws", -1),
        ("deal_number", 0),
        ("scores", -3),
        ("scores", 10_000),
        ("dealer", 2),
        ("upcard", 33),
        ("upcard", -1),
        ("target_score", 0),
        ("deck", -1),
        ("joker_turned_up", 3),
        ("lowest_rank", -1),
    ):
        changed = states.copy()
        changed[name] = value
        assert all(saving.find_unsound(changed[i : i + 1]) == 0 for i in range(len(changed)))


def test_random_numbers_are_no_states() -> None:
    """Whatever stands in the rows, the check ends and finds it."""
    rng = np.random.default_rng(0)
    noise = np.frombuffer(rng.bytes(200 * STATE_DTYPE.itemsize), dtype=STATE_DTYPE).copy()
    assert saving.find_unsound(noise) == 0
    rules = new_states(200, Rules.railroad_pack())
    for name in ("hands", "played", "history", "scores", "points", "upcard", "dealer", "phase"):
        mixed = rules.copy()
        mixed["dealer"] = rng.integers(0, 2, 200)
        mixed[name] = noise[name]
        assert saving.find_unsound(mixed) >= 0


def test_views_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="row 0 is a view"):
        save_states(tmp_path / "games.npz", views.blank(same_rules(2), 0))
    with pytest.raises(ValueError, match="an array of states"):
        save_states(tmp_path / "games.npz", np.zeros(3))
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "games.npz"
    save_states(path, same_rules(2))
    before = path.read_bytes()

    def full(*args: Any, **kwargs: Any) -> None:
        args[0].write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="no space"):
        save_states(path, same_rules(3))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# --- environments -------------------------------------------------------------------------------

OPTIONS: list[dict[str, Any]] = [
    {},
    {"opponent": None, "episode": "deal"},
    {"rules": Rules.british(target_score=3), "suits": "relative", "reward": "win"},
    {"max_deals": 2, "illegal": "end", "opponent": "random"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("by_file", [False, True])
def test_a_vector_environment_goes_on_from_any_step(
    tmp_path: Path, options: dict[str, Any], mode: str, by_file: bool
) -> None:
    envs, twin = (EuchreVectorEnv(6, autoreset_mode=mode, **options) for _ in range(2))
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=3)
    path = tmp_path / "env.npz"
    for _ in range(60 if IS_COMPILED else 10):
        if by_file:
            save_env(path, envs)
            load_env(path, twin)
        else:
            twin.set_state(envs.get_state())
        assert (twin.action_masks() == infos["action_mask"]).all()
        assert (twin.views == envs.views).all()
        acts = legal_acts(infos["action_mask"], rng)
        *one, infos = envs.step(acts)
        *other, its_infos = twin.step(acts)
        for mine, its in zip(one, other, strict=True):
            assert (mine == its).all()
        assert infos.keys() == its_infos.keys()
        assert (infos["action_mask"] == its_infos["action_mask"]).all()


def legal_acts(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random legal act a row; 0 where a row waits for its reset."""
    return np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_one_environment_goes_on_from_a_file(tmp_path: Path, options: dict[str, Any]) -> None:
    env, twin = EuchreEnv(**options), EuchreEnv(**options)
    _, info = env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(60 if IS_COMPILED else 10):
        save_env(tmp_path / "env.npz", env)
        load_env(tmp_path / "env.npz", twin)
        if not info["action_mask"].any():
            _, info = env.reset()
            assert (twin.reset()[1]["action_mask"] == info["action_mask"]).all()
            continue
        act = int(legal_acts(info["action_mask"][None], rng)[0])
        *one, info = env.step(act)
        *other, its_info = twin.step(act)
        assert (one[0] == other[0]).all()
        assert one[1:] == other[1:]
        assert (info["action_mask"] == its_info["action_mask"]).all()


def test_the_games_of_a_saved_environment_read_as_states(tmp_path: Path) -> None:
    envs = EuchreVectorEnv(3)
    with pytest.raises(ResetNeeded):
        save_env(tmp_path / "env.npz", envs)
    envs.reset(seed=0)
    save_env(tmp_path / "env.npz", envs)
    assert (load_states(tmp_path / "env.npz") == envs.get_state()["states"]).all()


def test_what_does_not_fit_an_environment_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    envs = EuchreVectorEnv(3)
    envs.reset(seed=0)
    before = envs.get_state()
    path = tmp_path / "env.npz"
    for other, said in (
        (EuchreVectorEnv(4), "4 games does not fit 3"),
        (EuchreVectorEnv(3, rules=Rules.british()), "saved under"),
    ):
        other.reset(seed=0)
        save_env(path, other)
        with pytest.raises(ValueError, match=said):
            load_env(path, envs)
    save_states(path, before["states"])
    with pytest.raises(ValueError, match="no environment"):
        load_env(path, envs)
    save_env(path, envs)
    with np.load(path) as arrays:
        columns = dict(arrays)
    for name, value in (("table_seat", 7), ("table_status", 1), ("table_is_pending", True)):
        np.savez(path, **{**columns, name: np.full_like(columns[name], value)})
        with pytest.raises(ValueError, match="tables fits no environment"):
            load_env(path, envs)
    with pytest.raises(ValueError, match="get_state gave"):
        envs.set_state({"states": np.zeros(3), "tables": before["tables"]})
    after = envs.get_state()
    assert all((after[name] == before[name]).all() for name in before)
