"""The search agent: its worlds, what it makes of them, its names; and who cheats is found out."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections import Counter

import numpy as np
import pytest

from agents import Agent, make_agent, streams
from agents.expert import ExpertAgent
from agents.open_hands import CARD_AT, NUM_PLACES, fold
from agents.pimc import all_hands, draw_hands
from agents.scripted import NoviceAgent, RandomAgent
from agents.search import DEFAULT_WORLDS, MAX_WORLDS, SearchAgent, Settings, parse_worlds
from agents.solver import NO_VALUE, solve
from agents.thresholds import Thresholds
from agents.worlds import MAX_HANDS, hands_into, worlds
from euchre_env.actions import Phase, action_number
from euchre_env.kernel import IS_COMPILED, kernel
from euchre_env.notation import parse_position
from euchre_env.rules import Rules
from euchre_env.state import NOBODY, States
from euchre_env.views import blank, fill
from tests.cheater import Cheater, Player, ask, head_to_head
from tests.strategies import sample, walk, z_of_chi_square
from tests.test_agents import masks_of

FAIR: list[Agent] = [RandomAgent(), NoviceAgent(), ExpertAgent(), SearchAgent()]
PAIRS = 1_500 if IS_COMPILED else 5


@kernel
def _draw(view: np.record, trump: int, stream: np.uint64, hands: np.ndarray) -> None:
    draw_hands(view, trump, stream, hands)


@kernel
def _all(view: np.record, trump: int, hands: np.ndarray, weights: np.ndarray) -> int:
    return all_hands(view, trump, hands, weights)


@kernel
def _hands(view: np.record, hands: np.ndarray, ways: np.ndarray) -> int:
    return hands_into(view, hands, ways)


def unfold(folded: int, trump: int) -> int:
    places = [place for place in range(NUM_PLACES) if folded >> place & 1]
    return sum(1 << int(CARD_AT[trump, place]) for place in places)


def weighted_hands(view: States) -> dict[int, int]:
    """Every hand that fits, with the number of ways."""
    hands, ways = np.empty(MAX_HANDS, dtype=np.int64), np.empty(MAX_HANDS, dtype=np.int64)
    num = int(_hands(view[0], hands, ways))
    return dict(zip(hands[:num].tolist(), ways[:num].tolist(), strict=True))


def card_views(num: int, seed: int, most: int) -> list[States]:
    """Views with a card to play or lay away, in which the other may hold 2 to ``most`` hands."""
    found = []
    for row in sample(num, seed):
        state = np.array([row], dtype=row.dtype)
        if row["phase"] not in (Phase.PLAY, Phase.DISCARD):
            continue
        view = blank(state, row["to_act"])
        if 2 <= len(weighted_hands(view)) <= most:
            found.append(view)
    return found


# --- worlds -------------------------------------------------------------------------------------


def test_all_hands_are_the_hands_that_fit() -> None:
    hands, weights = np.empty(MAX_HANDS, dtype=np.int64), np.empty(MAX_HANDS)
    for view in card_views(200, 0, 3_000):
        trump = int(view[0]["trump"])
        num = int(_all(view[0], trump, hands, weights))
        unfolded = [unfold(hand, trump) for hand in hands[:num].tolist()]
        assert dict(zip(unfolded, weights[:num].tolist(), strict=True)) == weighted_hands(view)


def view_of(text: str) -> States:
    """What the seat to act knows of a position."""
    states = parse_position(text)
    return blank(states, states["to_act"])


@pytest.mark.skipif(not IS_COMPILED, reason="many draws")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "9CTCQCKC9S/ACKDTSQHJH/TH d1 0-0 pass,pass,name:C,9C,AC,TS,9S,KD,TC", id="voids"
        ),
        pytest.param(
            "9CTCQCKC9S/ACKDTSQHJH/TH d1 0-0 pass,accept,discard:KD,9C,AC,TS,9S,QH,TC",
            id="the upcard is in his hand",
        ),
        pytest.param(
            "9CTCQCKC9S/ACKDTSQHJH/TH d1 0-0 pass,accept,discard:TH,9C,AC,TS,9S,QH,TC "
            "discard_upcard=True",
            id="or laid away",
        ),
        pytest.param(
            "9CTCQCKC9S/ACKDTSQHJH/TH d1 0-0 pass,accept,discard:TH discard_upcard=True",
            id="or laid away, nothing played",
        ),
    ],
)
def test_hands_are_drawn_as_fill_draws_them(text: str) -> None:
    """Every hand as often as the ways it can come about; shuffles are shared, so less spread."""
    view = view_of(text)
    trump, expected = int(view[0]["trump"]), weighted_hands(view)
    drawn: Counter[int] = Counter()
    num_calls, num_hands = 20_000, 3
    hands = np.empty(num_hands, dtype=np.int64)
    for key in streams(5, num_calls):
        _draw(view[0], trump, key, hands)
        drawn.update(hands.tolist())
    assert {unfold(hand, trump) for hand in drawn} <= set(expected)
    total = sum(expected.values())
    if len(expected) > 2_000:  # too many to count each: how often each card is held
        for card in range(33):
            share = sum(w for h, w in expected.items() if h >> card & 1) / total
            bit = fold(1 << card, trump)
            seen = sum(n for h, n in drawn.items() if h & bit) / (num_calls * num_hands)
            assert abs(seen - share) < 5 * np.sqrt(share * (1 - share) / num_calls) + 1e-9
        return
    counts = [drawn[fold(hand, trump)] for hand in expected]
    wanted = [num_calls * num_hands * ways / total for ways in expected.values()]
    assert z_of_chi_square(counts, wanted) < 5


# --- what it makes of them ----------------------------------------------------------------------


def mean_points(view: States) -> np.ndarray:
    """The mean points of every act over all worlds, by `solve` on full states."""
    found = worlds(view)
    states = np.repeat(view, len(found))
    other = 1 - int(view[0]["seat"])
    states["hands"][:, other] = found.hands
    states["discard"] = np.where(states["discard"] < 0, found.discards, states["discard"])
    states["seat"] = NOBODY
    points = solve(states).act_points.astype(float)
    points[points == NO_VALUE] = -np.inf
    return np.asarray(points.mean(axis=0))


@pytest.mark.parametrize("seed", [0, 1])
def test_it_plays_the_card_with_the_best_mean_over_all_worlds(seed: int) -> None:
    agent, compared = make_agent("search:worlds=all"), 0
    for view in card_views(300, seed, 400):
        best = mean_points(view)
        masks = np.isfinite(best).astype(np.int8)[None]
        act = int(agent.act(view.copy(), masks, streams(0, 1))[0])
        assert best[act] >= best.max() - 1e-9
        compared += 1
    assert compared > 10


def test_where_few_worlds_are_left_no_chance_is_left() -> None:
    drawn, every = SearchAgent(Settings(worlds=40)), SearchAgent(Settings(worlds=0))
    for view in card_views(200, 2, 40):
        masks = np.isfinite(mean_points(view)).astype(np.int8)[None]
        acts = {
            int(agent.act(view.copy(), masks, streams(seed, 1))[0])
            for agent, seed in ((drawn, 0), (drawn, 1), (every, 0))
        }
        assert len(acts) == 1


@pytest.mark.parametrize(
    ("text", "act"),
    [
        pytest.param("JHAHKHASKS/TCQC9STSQD/9H d1 0-0 order_up,leave", "JH", id="draws trumps"),
        pytest.param("TCQC9STSQD/JHJDAH9CAC/9H d1 0-0 pass,accept", "9C", id="lays away the loser"),
    ],
)
def test_plain_cases(text: str, act: str) -> None:
    view, states = view_of(text), parse_position(text)
    assert int(SearchAgent().act(view, masks_of(states), streams(0, 1))[0]) == action_number(act)


def test_more_threads_change_nothing() -> None:
    rows = walk(1).flat()
    rows = rows[rows["phase"] < Phase.DEAL_OVER][: 4_000 if IS_COMPILED else 20]
    views, keys = blank(rows, rows["to_act"]), streams(3, len(rows))
    agent = SearchAgent()
    masks = masks_of(rows)
    together = agent.act(views, masks, keys)
    parts = [
        agent.act(views[k : k + 100], masks[k : k + 100], keys[k : k + 100])
        for k in range(0, len(rows), 100)
    ]
    np.testing.assert_array_equal(together, np.concatenate(parts))


@pytest.mark.skipif(not IS_COMPILED, reason="thousands of deals")
def test_it_beats_the_expert() -> None:
    score = head_to_head(SearchAgent(), ExpertAgent(), 4_000)
    assert score.mean > 0.02


# --- names and settings -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "worlds_drawn"),
    [
        ("search", DEFAULT_WORLDS),
        ("search:worlds=40", 40),
        ("search:worlds=7", 7),
        ("search:worlds=all", 0),
    ],
)
def test_names(name: str, worlds_drawn: int) -> None:
    agent = make_agent(name)
    assert isinstance(agent, SearchAgent)
    assert agent.settings.worlds == worlds_drawn
    assert make_agent(agent.name).settings == agent.settings


@pytest.mark.parametrize(
    "argument",
    ["worlds=0", "worlds=-3", "worlds=", "worlds=4.5", "worlds=²", "worlds=ALL", "40", "world=4",
     "worlds=40,worlds=40", f"worlds={MAX_WORLDS + 1}", " worlds=40"],
)  # fmt: skip
def test_other_arguments_are_refused(argument: str) -> None:
    with pytest.raises(ValueError, match="it takes worlds=1 to"):
        parse_worlds(argument)
    with pytest.raises(ValueError, match="agent 'search' with argument"):
        make_agent(f"search:{argument}")


@pytest.mark.parametrize("settings", [{"worlds": -1}, {"trick_weight": -0.1}])
def test_other_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Settings(**settings)  # type: ignore[arg-type]


def test_copies_play_alike() -> None:
    agent = SearchAgent(Settings(worlds=7, trick_weight=0.1, bids=Thresholds(accept=3.0)))
    for again in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert again.settings == agent.settings
        assert again.memory is not agent.memory
        assert again.memory.tobytes() == agent.memory.tobytes()


# --- the cheater --------------------------------------------------------------------------------


def acts_follow_from_what_is_known(player: Player, num: int, seed: int) -> bool:
    """Whether deals that differ only in cards the seat cannot know get the same act."""
    rows = sample(num, seed)
    rows = rows[rows["phase"] < Phase.DEAL_OVER]
    keys = streams(seed, len(rows))
    acts = ask(player, rows, keys)
    for again in range(3):
        others = fill(blank(rows, rows["to_act"]), 100 * seed + again)
        if not np.array_equal(ask(player, others, keys), acts):
            return False
    return True


@pytest.mark.parametrize("agent", FAIR, ids=lambda agent: agent.name)
def test_acts_depend_only_on_what_the_seat_can_know(agent: Agent) -> None:
    assert acts_follow_from_what_is_known(agent, 300 if IS_COMPILED else 20, 1)


def test_the_cheater_is_found_out() -> None:
    assert not acts_follow_from_what_is_known(Cheater(), 300 if IS_COMPILED else 40, 1)


@pytest.mark.skipif(not IS_COMPILED, reason="thousands of deals")
@pytest.mark.parametrize("agent", FAIR, ids=lambda agent: agent.name)
def test_the_cheater_beats_everyone(agent: Agent) -> None:
    score = head_to_head(Cheater(), agent, PAIRS)
    assert score.mean > 0.1 + 4 * score.error


@pytest.mark.skipif(not IS_COMPILED, reason="thousands of deals")
@pytest.mark.parametrize("options", [{"joker": True}, {"stick_the_dealer": True}])
def test_it_beats_them_by_other_rules_too(options: dict[str, bool]) -> None:
    assert head_to_head(Cheater(), SearchAgent(), PAIRS, rules=Rules(**options)).mean > 0.1


def test_against_itself_nobody_wins() -> None:
    for player in itertools.chain([Cheater()], FAIR[1:3]):
        assert head_to_head(player, player, 200 if IS_COMPILED else 3).mean == 0
