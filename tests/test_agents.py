"""Agents: legal under every set of rules, the same whatever the batch, found by name."""

import copy
import itertools
import os
import pickle
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from agents import AGENTS, Agent, CompiledAgent, make_agent, streams
from agents.belief_search import BeliefAgent
from agents.bidder import BidderAgent
from agents.expert import ExpertAgent
from agents.scripted import NoviceAgent, RandomAgent
from agents.search import SearchAgent
from euchre_env import registry
from euchre_env.actions import NUM_ACTIONS, PASS, Phase, action_name, action_number
from euchre_env.dealing import seed_streams
from euchre_env.engine import action_masks, apply_all, play_random, start_games
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import parse_position
from euchre_env.rules import OPTION_VALUES, Rules
from euchre_env.state import States, new_states
from euchre_env.views import blank

ROOT = Path(__file__).parents[1]
SCRIPTED = [RandomAgent(), NoviceAgent(), ExpertAgent()]
COMPARED = [*SCRIPTED, SearchAgent(), BidderAgent(), BeliefAgent()] if IS_COMPILED else SCRIPTED
"""Without a compiler the search agent's table alone takes minutes."""
GAMES_A_RULE_SET = 8
LISTED = ", ".join(sorted(AGENTS))


def all_rules() -> list[Rules]:
    """Every combination of options that means something."""
    found = []
    for values in itertools.product(*OPTION_VALUES.values()):
        try:
            found.append(Rules(**dict(zip(OPTION_VALUES, values, strict=True))))
        except ValueError:
            continue
    return found


def masks_of(states: States) -> np.ndarray:
    masks = np.empty((len(states), NUM_ACTIONS), dtype=np.int8)
    action_masks(states, masks)
    return masks


def some_states(num: int, rules: Rules | None = None, acts: int = 5) -> States:
    """Games in the middle of all sorts of deals."""
    states = new_states(num, rules)
    seed_streams(states, np.arange(num, dtype=np.uint64))
    start_games(states)
    for k in range(num):
        play_random(states[k : k + 1], acts * k % 37)
    return states


def ask(agent: Agent, states: States, seed: int = 0) -> np.ndarray:
    return agent.act(blank(states, states["to_act"]), masks_of(states), streams(seed, len(states)))


@pytest.mark.parametrize(
    "agents",
    [(COMPARED[place], COMPARED[place - 1]) for place in range(len(COMPARED))],
    ids=lambda agents: "-".join(agent.name for agent in agents),
)
def test_every_act_is_legal_under_every_set_of_rules_in_both_seats(
    agents: tuple[Agent, Agent],
) -> None:
    rule_sets = all_rules()
    assert len(rule_sets) == 2352
    if not IS_COMPILED:
        rule_sets = rule_sets[::49]
    states = np.concatenate([new_states(GAMES_A_RULE_SET, rules) for rules in rule_sets])
    seed_streams(states, np.arange(len(states), dtype=np.uint64))
    start_games(states)
    seen = np.zeros((2, len(Phase)), dtype=np.int64)
    for act in itertools.count():
        rows = np.flatnonzero(states["phase"] < Phase.DEAL_OVER)
        if not len(rows):
            break
        waiting = states[rows]
        masks = masks_of(waiting)
        actions = np.full(len(rows), -1, dtype=np.int64)
        for seat, agent in enumerate(agents):
            mine = np.flatnonzero(waiting["to_act"] == seat)
            if len(mine):
                views = blank(waiting[mine], seat)
                actions[mine] = agent.act(views, masks[mine], streams(act, len(mine)))
                np.add.at(seen[seat], waiting["phase"][mine], 1)
        assert masks[np.arange(len(rows)), actions].all()
        apply_all(waiting, actions)
        states[rows] = waiting
    assert act <= 14
    assert (seen[:, : Phase.DEAL_OVER] > 0).all()  # both met every phase: nothing went untested


@pytest.mark.parametrize("agent", COMPARED, ids=lambda agent: agent.name)
def test_an_act_outside_the_mask_is_impossible(agent: Agent) -> None:
    states = some_states(300)
    masks = masks_of(states)
    rng = np.random.default_rng(5)
    only = np.array([rng.choice(np.flatnonzero(row)) for row in masks])
    narrow = np.zeros_like(masks)
    narrow[np.arange(len(masks)), only] = 1
    views = blank(states, states["to_act"])
    np.testing.assert_array_equal(agent.act(views, narrow, streams(1, len(views))), only)


@pytest.mark.parametrize("agent", COMPARED, ids=lambda agent: agent.name)
def test_the_batch_does_not_matter(agent: Agent) -> None:
    states = some_states(64)
    views, masks, rng = blank(states, states["to_act"]), masks_of(states), streams(3, 64)
    together = agent.act(views, masks, rng)
    order = np.random.default_rng(0).permutation(64)
    np.testing.assert_array_equal(
        agent.act(views[order], masks[order], rng[order]), together[order]
    )
    alone = [agent.act(views[i : i + 1], masks[i : i + 1], rng[i : i + 1])[0] for i in range(64)]
    np.testing.assert_array_equal(alone, together)
    np.testing.assert_array_equal(agent.act(views[::-2], masks[::-2], rng[::-2]), together[::-2])


@pytest.mark.parametrize("agent", COMPARED, ids=lambda agent: agent.name)
def test_what_it_is_given_stays_as_it_was(agent: Agent) -> None:
    states = some_states(16)
    views, masks, rng = blank(states, states["to_act"]), masks_of(states), streams(3, 16)
    before = views.copy(), masks.copy(), rng.copy()
    for array in (views, masks, rng):
        array.flags.writeable = False
    actions = agent.act(views, masks, rng)
    assert actions.shape == (16,)
    assert actions.dtype == np.int64
    assert before[0].tobytes() == views.tobytes()
    np.testing.assert_array_equal(before[1], masks)
    np.testing.assert_array_equal(before[2], rng)


def test_random_draws_every_legal_act_as_often() -> None:
    states = np.repeat(some_states(1), 30_000)  # the first act: pass or order_up
    actions = ask(RandomAgent(), states)
    share = float((actions == PASS).mean())
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(30_000)
    assert set(actions.tolist()) == set(np.flatnonzero(masks_of(states)[0]).tolist())


def test_random_differs_by_stream_and_novice_does_not() -> None:
    states = some_states(200)
    assert (ask(RandomAgent(), states, 1) != ask(RandomAgent(), states, 2)).any()
    np.testing.assert_array_equal(ask(NoviceAgent(), states, 1), ask(NoviceAgent(), states, 2))


@pytest.mark.parametrize(
    ("position", "act"),
    [
        pytest.param("JHAH9H9CTC/KSQSASTSJD/TH d1 0-0 -", "order_up", id="orders with three"),
        pytest.param("JHAH9S9CTC/KSQSASTSJD/TH d1 0-0 -", "pass", id="passes with two"),
        pytest.param("JDAH9H9CTC/KSQSASTSQD/TH d1 0-0 -", "order_up", id="left bower is trump"),
        pytest.param("9CTCQCKC9S/JHAHASTSQD/TH d1 0-0 pass", "accept", id="upcard is counted"),
        pytest.param("9CTCQCKC9S/AHQSASTSQD/TH d1 0-0 pass", "pass", id="one and the upcard"),
        pytest.param("9CTCQCKC9S/AHQSASTSQD/TH d1 0-0 order_up", "take", id="takes the card"),
        pytest.param("9CTCQCJDJS/AHQSASTSQD/TH d1 0-0 pass,pass", "name:C", id="most of a suit"),
        pytest.param("9CTCQDAS9S/AHQSJSTSKD/TH d1 0-0 pass,pass", "pass", id="two are too few"),
        pytest.param("9CTCQDAS9S/AHQSJSTDAC/TH d1 0-0 pass,pass,pass", "pass", id="dealer passes"),
        pytest.param(
            "9CTCQDKS9S/AHKHQSASTD/TH d1 0-0 pass,pass,pass stick_the_dealer=True",
            "name:S",
            id="stuck, names the most",
        ),
        pytest.param(
            "9CTCQCKC9S/AHQSASTSJC/JK d1 0-0 - joker=True", "name:C", id="blind, the first"
        ),
        pytest.param(
            "9CTCQCKC9S/JHAHAS9DQD/TH d1 0-0 pass,accept", "9D", id="lays away the weakest"
        ),
        pytest.param(
            "9CTCQCKC9S/JHAHJD9HKH/TH d1 0-0 pass,accept", "9H", id="of trumps, the lowest"
        ),
        pytest.param(
            "9CTCQCKC9S/JHAHJDQHKH/TH d1 0-0 pass,accept discard_upcard=True",
            "TH",
            id="the upcard, where it may",
        ),
        pytest.param(
            "9HTCQCACKS/JHAHAS9DQD/TH d1 0-0 pass,accept,discard:9D", "9H", id="leads a trump"
        ),
        pytest.param(
            "9CTCQCACKS/JHAHAS9DQD/TH d1 0-0 pass,accept,discard:9D", "AC", id="else its highest"
        ),
        pytest.param(
            "9CTCQCACKS/JHAH9HASQD/TH d1 0-0 pass,accept,discard:QD,AC",
            "9H",
            id="wins with the lowest trump",
        ),
        pytest.param(
            "9CTCQSTDKS/JHAHASJSQD/TH d1 0-0 pass,accept,discard:QD,QS",
            "AS",
            id="wins in the suit led",
        ),
        pytest.param(
            "9CTCQSTDAS/JHAHKSJSQD/TH d1 0-0 pass,accept,discard:QD,AS",
            "JS",
            id="cannot win: the lowest",
        ),
    ],
)  # fmt: skip
def test_novice_keeps_its_rules(position: str, act: str) -> None:
    action = int(ask(NoviceAgent(), parse_position(position))[0])
    assert action_name(action) == action_name(action_number(act))


def test_novice_does_not_see_its_hand_before_it_names_blind() -> None:
    texts = [f"9CTCQCKC9S/{hand}/JK d1 0-0 - joker=True" for hand in ("JHAHASTSQD", "9DTDKDADQD")]
    acts = {int(ask(NoviceAgent(), parse_position(text))[0]) for text in texts}
    assert len(acts) == 1


# --- the doors ----------------------------------------------------------------------------------


PACKAGED = ("ppo-strong", "ppo-selfplay:sample", "best_response:novice")
AT_THE_DOOR = [*COMPARED, *(make_agent(name) for name in PACKAGED)]


def someones_views() -> tuple[States, np.ndarray, np.ndarray]:
    """Three views and what is asked with them."""
    states = some_states(3)
    return blank(states, states["to_act"]), masks_of(states), streams(0, 3)


def refused(agent: Any, views: Any, masks: Any, rng: Any, message: str) -> None:
    """Every way to ask refuses it: kernels check nothing, and would read what is not theirs."""
    with pytest.raises(ValueError, match=message):
        agent.act(views, masks, rng)
    if "rng" not in message and hasattr(agent, "probabilities"):
        with pytest.raises(ValueError, match=message):
            agent.probabilities(views, masks)


@pytest.mark.parametrize("agent", AT_THE_DOOR, ids=lambda agent: agent.name)
class TestTheDoor:
    def test_full_states_are_refused(self, agent: Agent) -> None:
        states = some_states(3)
        refused(agent, states, masks_of(states), streams(0, 3), "shown views")

    def test_other_shapes_are_refused(self, agent: Agent) -> None:
        views, masks, rng = someones_views()
        refused(agent, views, masks[:1], rng, r"masks of shape \(1, 42\)")
        refused(agent, views, masks[:, :41], rng, r"masks of shape \(3, 41\)")
        refused(agent, views[:, None], masks, rng, r"views of shape \(3, 1\)")
        refused(agent, views[0], masks[0], rng[0], "dtype STATE_DTYPE")
        refused(agent, np.zeros(3), masks, rng, "dtype STATE_DTYPE .*not float64")

    def test_a_row_without_a_legal_act_is_refused(self, agent: Agent) -> None:
        views, masks, rng = someones_views()
        masks[1] = 0
        refused(agent, views, masks, rng, "row 1 of the masks")

    def test_a_mask_that_allows_more_than_the_rules_is_refused(self, agent: Agent) -> None:
        views, masks, rng = someones_views()
        masks[2] = 1
        refused(agent, views, masks, rng, "row 2, '.* seat=.': its mask allows .*, not legal there")

    def test_a_seat_that_is_not_to_act_is_not_asked(self, agent: Agent) -> None:
        states = some_states(3)
        views = blank(states, 1 - states["to_act"])
        refused(agent, views, masks_of(states), streams(0, 3), "row 0, .* not this seat's turn")


@pytest.mark.parametrize("agent", AT_THE_DOOR[:-1], ids=lambda agent: agent.name)
def test_what_are_no_keys_is_refused(agent: Agent) -> None:
    views, masks, rng = someones_views()
    for keys in (streams(0, 4), rng.astype(float), None):
        refused(agent, views, masks, keys, "3 views, rng of shape")


def test_streams() -> None:
    keys = streams(7, 1000)
    assert keys.dtype == np.uint64
    assert len(set(keys.tolist())) == 1000
    np.testing.assert_array_equal(streams(7, 10), keys[:10])
    np.testing.assert_array_equal(streams(keys, 1000), keys)
    drawn = [streams(np.random.default_rng(1), 5) for _ in range(2)]
    np.testing.assert_array_equal(*drawn)
    with pytest.raises(ValueError, match="seed=-1"):
        streams(-1, 3)
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        streams(keys, 3)


@pytest.mark.parametrize("agent", COMPARED, ids=lambda agent: agent.name)
def test_agents_keep_the_protocol_and_can_be_copied(agent: CompiledAgent) -> None:
    assert isinstance(agent, Agent)
    assert (agent.policy_address != 0) == IS_COMPILED
    states = some_states(20)
    for again in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert again.name == agent.name
        np.testing.assert_array_equal(ask(again, states), ask(agent, states))


# --- names --------------------------------------------------------------------------------------


def test_the_names_of_the_list_are_those_the_package_registers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"][registry.GROUP] == AGENTS


@pytest.mark.parametrize("place", AGENTS.values())
def test_what_stands_behind_a_name_is_there(place: str) -> None:
    module, _, factory = place.partition(":")
    assert callable(getattr(import_module(module), factory))


@pytest.mark.parametrize("name", ["random", "novice", "expert"])
def test_agents_are_found_by_name(name: str) -> None:
    assert make_agent(name).name == name
    assert registry.resolve_agent(name).name == name


def test_names_need_no_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", dict)
    assert make_agent("novice").name == "novice"
    with pytest.raises(ValueError, match="install the package"):
        registry.resolve_agent("novice")


def test_an_agent_passes_through() -> None:
    agent = NoviceAgent()
    assert make_agent(agent) is agent
    assert registry.resolve_agent(agent) is agent


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("novise", rf"did you mean 'novice'\?.*{LISTED}", id="misspelt"),
        pytest.param("alphazero", rf"'alphazero': there are {LISTED}", id="unknown"),
        pytest.param("", "no agent is called ''", id="empty"),
        pytest.param("novice:3", "'novice' with argument '3': it takes no argument", id="argument"),
        pytest.param("__main__:Own", r"its file, as in my_agent\.py:Own", id="this program"),
        pytest.param("./own.py", r"'./own.py' is a file: .*, as in ./own.py:Careful", id="a file"),
    ],
)
def test_wrong_names_are_told(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_agent(name)


def test_an_environment_says_how_it_takes_an_agent_in_a_file() -> None:
    with pytest.raises(ValueError, match=r"opponent=agents.make_agent\('own.py:Careful'\)"):
        gymnasium.make("euchre_env/Euchre-v0", opponent="own.py:Careful")


@pytest.mark.parametrize("thing", [3, None, NoviceAgent, object()])
def test_what_is_no_agent_is_told(thing: object) -> None:
    with pytest.raises(TypeError, match="is no agent: give a name"):
        make_agent(thing)  # type: ignore[arg-type]


class Echo:
    """An agent that remembers what its factory was called with."""

    def __init__(self, argument: str) -> None:
        self.name = argument

    def act(self, views: States, action_masks: np.ndarray, rng: np.ndarray) -> np.ndarray:
        return action_masks.argmax(axis=1)


def nothing(argument: str) -> str:
    return argument


def register(monkeypatch: pytest.MonkeyPatch, entries: Mapping[str, str]) -> None:
    found = {name: EntryPoint(name, place, registry.GROUP) for name, place in entries.items()}
    monkeypatch.setattr(registry, "_registered", lambda: found)


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("run:a", "a"),
        ("run:a:b", "a:b"),
        ("run", ""),
        (os.path.join("runs", "x"), os.path.join("runs", "x")),
        (os.path.join("runs", "x:y"), os.path.join("runs", "x:y")),
        ("folder", "folder"),
    ],
)
def test_what_the_factory_is_called_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, argument: str
) -> None:
    register(monkeypatch, {"run": f"{__name__}:Echo"})
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert registry.resolve_agent(name).name == argument


def test_a_known_name_goes_before_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "novice").mkdir()
    monkeypatch.chdir(tmp_path)
    assert make_agent("novice").name == "novice"


def test_broken_registrations_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    register(
        monkeypatch,
        {"gone": "no_such_module:agent", "lost": f"{__name__}:Lost", "odd": f"{__name__}:nothing"},
    )
    for name in ("gone", "lost"):
        with pytest.raises(ImportError, match=f"'{name}' is registered as .* does not load"):
            registry.resolve_agent(name)
    with pytest.raises(TypeError, match="nothing made 'x', which has no act"):
        registry.resolve_agent("odd:x")


def test_a_name_registered_twice_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = [EntryPoint("a", f"m:{place}", registry.GROUP) for place in ("one", "two")]
    monkeypatch.setattr(registry, "entry_points", lambda group: twice)
    registry._registered.cache_clear()
    try:
        with pytest.raises(
            ValueError, match="two packages register the agent 'a': m:one and m:two"
        ):
            registry.agent_names()
    finally:
        registry._registered.cache_clear()


# --- other processes ----------------------------------------------------------------------------

ASK_AGAIN = """
import numpy as np
from tests.test_agents import COMPARED, ask, some_states
print([ask(agent, some_states(60), 9).tolist() for agent in COMPARED])
print(any(agent.policy_address != 0 for agent in COMPARED))
"""


def in_another_process(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def test_another_process_does_the_same_and_compiles_nothing() -> None:
    first, second = (in_another_process(ASK_AGAIN) for _ in range(2))
    here = [ask(agent, some_states(60), 9).tolist() for agent in COMPARED]
    assert first.stdout.splitlines()[0] == second.stdout.splitlines()[0] == str(here)
    assert "compiling" not in second.stderr


def test_without_a_compiler_agents_do_the_same_in_plain_python() -> None:
    plain = in_another_process(ASK_AGAIN, NUMBA_DISABLE_JIT="1").stdout.splitlines()
    here = [ask(agent, some_states(60), 9).tolist() for agent in SCRIPTED]
    assert plain == [str(here), "False"]
