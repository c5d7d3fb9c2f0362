"""The single environment, as a user of Gymnasium meets it."""

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils.env_checker import check_env

import agents
from euchre_env import EuchreEnv, EuchreVectorEnv, Rules
from euchre_env.actions import ACCEPT, NUM_ACTIONS, ORDER_UP, PASS
from euchre_env.cards import card_number
from euchre_env.notation import parse_position
from euchre_env.observation import ABSOLUTE_ACTIONS, decode, encode
from euchre_env.views import blank

ID = "euchre_env/Euchre-v0"
DEAL = "JHJDAH9STC/KHQHASKC9C/9H"
RULES = [
    Rules(),
    Rules.british(),
    Rules.british(joker_turned_up="redeal", super_euchre=True, stop_when_decided=True),
    Rules.railroad_pack(joker_turned_up="fixed_suit", joker_fixed_suit="S", discard_upcard=True),
    Rules.with_32_cards(order_up_pickup="must", redeal_dealer="same", target_score=5),
    Rules.stick(allow_turned_down_suit="stuck_dealer", lowest_rank="8"),
]


def play(env, steps, seed=0, rng=None):
    """Random legal play over episode ends; yields what step returns."""
    rng = rng or np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    for _ in range(steps):
        result = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        yield result
        info = result[-1]
        if result[2] or result[3]:
            _, info = env.reset()


@pytest.mark.parametrize("rules", RULES, ids=repr)
@pytest.mark.parametrize("opponent", ["novice", None])
def test_gymnasium_finds_nothing_to_warn_of(rules, opponent):
    """The checker samples acts without looking at masks, so illegal acts must not raise here."""
    env = gymnasium.make(
        ID, rules=rules, opponent=opponent, illegal="penalise", render_mode="ansi"
    ).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


def test_made_by_gymnasium_it_steps_by_its_masks():
    env = gymnasium.make(ID)
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    for _ in range(200):
        mask = info["action_mask"]
        assert mask.dtype == np.int8
        assert mask.shape == (NUM_ACTIONS,)
        assert (env.unwrapped.action_masks() == mask.astype(bool)).all()
        observation, reward, terminated, truncated, info = env.step(
            env.action_space.sample(mask=mask)
        )
        assert env.observation_space.contains(observation)
        assert isinstance(reward, float)
        if terminated or truncated:
            _, info = env.reset()


@pytest.mark.parametrize("rules", RULES, ids=repr)
def test_a_game_goes_to_the_target_and_rewards_are_the_score(rules):
    env = EuchreEnv(rules=rules)
    total = games = 0
    for _, reward, terminated, truncated, info in play(env, 2500):
        total += reward
        assert not truncated
        if terminated:
            own, other = info["scores"][info["seat"]], info["scores"][1 - info["seat"]]
            assert max(own, other) >= rules.target_score > min(own, other)
            assert info["winner"] == (info["seat"] if own > other else 1 - info["seat"])
            assert info["reward"] == total == own - other
            assert not info["action_mask"].any()
            total, games = 0, games + 1
        else:
            assert info["winner"] == -1
            assert "reward" not in info
            assert info["to_act"] == info["seat"]
            assert info["action_mask"].any()
    assert games > 5


def test_winning_pays_one():
    rewards = [
        (reward, terminated, info)
        for _, reward, terminated, _, info in play(EuchreEnv(reward="win"), 1500)
    ]
    assert {reward for reward, terminated, _ in rewards if not terminated} == {0.0}
    for reward, _, info in (one for one in rewards if one[1]):
        assert reward == (1.0 if info["winner"] == info["seat"] else -1.0)


def test_an_episode_of_one_deal():
    seen = set()
    for _, reward, terminated, _, info in play(EuchreEnv(episode="deal"), 3000):
        if terminated:
            own, other = info["scores"][info["seat"]], info["scores"][1 - info["seat"]]
            assert reward == own - other
            seen.add(reward)
            assert info["winner"] == -1
    assert seen == {-2.0, -1.0, 0.0, 1.0, 2.0}


def test_an_episode_of_one_deal_can_pay_for_who_scored():
    rewards = {
        reward
        for _, reward, terminated, _, _ in play(EuchreEnv(episode="deal", reward="win"), 2000)
        if terminated
    }
    assert rewards == {-1.0, 0.0, 1.0}


@pytest.mark.parametrize("seat", [0, 1])
def test_the_seat_can_be_chosen(seat):
    env = EuchreEnv(seat=seat)
    for game in range(20):
        assert env.reset(seed=game)[1]["seat"] == seat


def test_the_seat_is_drawn_fairly_and_both_deal_first_as_often():
    env = EuchreEnv()
    env.reset(seed=0)
    seats, dealers = [], []
    for _ in range(2000):
        _, info = env.reset()
        seats.append(info["seat"])
        dealers.append(int(env.view.dealer))
    error = 4 * 0.5 / np.sqrt(2000)
    assert abs(np.mean(seats) - 0.5) < error
    assert abs(np.mean(dealers) - 0.5) < error
    assert abs(np.mean(np.equal(seats, dealers)) - 0.5) < error


def test_self_play_shows_whoever_is_to_act_and_pays_who_acted():
    env = EuchreEnv(opponent=None)
    _, info = env.reset(seed=4)
    rng = np.random.default_rng(0)
    total, switches = 0.0, 0
    for _ in range(1500):
        actor = info["to_act"]
        assert info["seat"] == actor
        observation, reward, terminated, _, info = env.step(
            rng.choice(np.flatnonzero(info["action_mask"]))
        )
        total += reward if actor == 0 else -reward
        switches += info["to_act"] == 1 - actor
        assert (observation == encode(blank(env._tables.states, info["seat"]))[0]).all()
        if terminated:
            assert info["reward"] == total == info["scores"][0] - info["scores"][1]
            _, info = env.reset()
            total = 0.0
    assert switches > 300


def test_an_illegal_act_is_refused_in_the_games_words_and_changes_nothing():
    env = EuchreEnv(opponent=None)
    env.reset(seed=0, options={"position": f"{DEAL} d1 0-0 order_up,take,discard:9C,JH,9H,JD,QH"})
    before = pickle.dumps(env._tables.states)
    observation = env._tables.observations.copy()
    for action, words in [
        (card_number("JH"), "JH may not be played: you hold"),
        (ORDER_UP, "order_up is not possible now: a card is to be played"),
        (42, "42 is no act"),
        (-1, "-1 is no act"),
        (2.5, "2.5 is no act"),
        ("JH", "'JH' is no act"),
        (None, "None is no act"),
    ]:
        with pytest.raises(InvalidAction, match=words):
            env.step(action)
        assert pickle.dumps(env._tables.states) == before
        assert (env._tables.observations == observation).all()
    env.step(card_number("AH"))
    with pytest.raises(InvalidAction, match=r"AS may not be played: hearts were led and you .* KH"):
        env.step(card_number("AS"))


def test_the_error_quotes_the_position_without_hidden_cards():
    env = EuchreEnv(opponent=None)
    env.reset(options={"deal": DEAL, "dealer": 1})
    with pytest.raises(InvalidAction) as caught:
        env.step(ACCEPT)
    assert "??????????" in str(caught.value)
    for hidden in ("KH", "QH", "AS", "KC", "9C"):
        assert hidden not in str(caught.value).partition("position:")[2]


def test_reset_is_needed_before_and_after():
    env = EuchreEnv(episode="deal")
    for call in (lambda: env.step(PASS), env.action_masks, env.render, lambda: env.view):
        with pytest.raises(ResetNeeded):
            call()
    _, info = env.reset(seed=0)
    terminated = False
    while not terminated:
        _, _, terminated, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    with pytest.raises(ResetNeeded):
        env.step(PASS)


def test_illegal_acts_can_cost_a_point_or_the_episode():
    env = EuchreEnv(illegal="penalise")
    observation, info = env.reset(seed=0)
    again, reward, terminated, _, info_again = env.step(NUM_ACTIONS - 1)
    assert (reward, terminated) == (-1.0, False)
    assert (again == observation).all()
    assert (info["action_mask"] == info_again["action_mask"]).all()
    env = EuchreEnv(illegal="end")
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(NUM_ACTIONS - 1)
    assert (reward, terminated, info["reward"]) == (-1.0, True, -1.0)
    with pytest.raises(ResetNeeded):
        env.step(PASS)


def test_max_deals_truncates():
    env = EuchreEnv(max_deals=2)
    ends = [
        (terminated, truncated, info)
        for _, _, terminated, truncated, info in play(env, 400)
        if terminated or truncated
    ]
    assert all(truncated and not terminated for terminated, truncated, _ in ends)
    assert all(max(info["scores"]) <= 4 for _, _, info in ends)


def test_a_seed_fixes_everything_and_no_seed_nothing():
    def games(seed):
        rng = np.random.default_rng(0)
        return [o.tobytes() for o, *_ in play(EuchreEnv(), 100, seed=seed, rng=rng)]

    assert games(7) == games(7)
    assert games(7) != games(8)
    assert games(0) != games(1)
    fresh = {EuchreEnv().reset()[0].tobytes() for _ in range(8)}
    assert len(fresh) > 1


def test_interleaved_environments_play_what_separate_ones_do():
    alone = [[o.tobytes() for o, *_ in play(EuchreEnv(), 60, seed=s)] for s in (1, 2)]
    both = zip(play(EuchreEnv(), 60, seed=1), play(EuchreEnv(), 60, seed=2), strict=True)
    one, two = zip(*((a[0].tobytes(), b[0].tobytes()) for a, b in both), strict=True)
    assert [list(one), list(two)] == alone


def test_a_deal_can_be_set_as_text_or_numbers():
    env = EuchreEnv(opponent=None)
    _, info = env.reset(seed=0, options={"deal": DEAL, "dealer": 1, "scores": (3, 9)})
    assert tuple(info["scores"]) == (3, 9)
    assert info["to_act"] == 0
    seen = decode(env.reset(options={"deal": DEAL, "dealer": 0})[0])
    assert seen["upcard"] == "9H"
    assert set(seen["hand"]) == {"JH", "JD", "AH", "9S", "TC"}
    numbers = (
        [card_number(n) for n in ("JH", "JD", "AH", "9S", "TC")],
        [card_number(n) for n in ("KH", "QH", "AS", "KC", "9C")],
        card_number("9H"),
    )
    by_number = decode(env.reset(options={"deal": numbers, "dealer": 0})[0])
    assert by_number == seen


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"deal": "JHJD/KH/9H"}, "five cards|5 cards"),
        ({"deal": "JHJDAH9STC/KHQHASKC9C/JH"}, "twice"),
        ({"deal": "JHJDAH9S7C/KHQHASKC9C/9H"}, "not in the deck"),
        ({"deal": "JHJDAH9SXX/KHQHASKC9C/9H"}, "is no card"),
        ({"dealer": 2}, "seat 0 or seat 1"),
        ({"scores": (10, 0)}, "before a deal each is 0 to 9"),
        ({"scores": 3}, "two numbers"),
        ({"dealr": 1}, "knows no option 'dealr'"),
        ({"position": "nonsense"}, "is no position"),
        ({"position": f"{DEAL} d1 0-0 accept"}, "not possible now"),
        ({"position": f"{DEAL} d1 0-0 -", "dealer": 1}, "says deal, dealer and scores already"),
    ],
)
def test_a_wrong_option_is_told_and_changes_nothing(options, words):
    env = EuchreEnv()
    env.reset(seed=3)
    before = pickle.dumps(env._tables.states)
    with pytest.raises(ValueError, match=words):
        env.reset(options=options)
    assert pickle.dumps(env._tables.states) == before


def test_a_position_can_be_set_and_played_on():
    text = f"{DEAL} d1 4-5 order_up,take,discard:9C,JH,9H"
    env = EuchreEnv(seat=0)
    _, info = env.reset(options={"position": text})
    assert env.view.tricks.tolist() == [1, 0]
    assert tuple(info["scores"]) == (4, 5)
    expected = blank(parse_position(text), 0)[0]
    assert int(env.view.hands[0]) == int(expected.hands[0])


def test_a_position_in_which_the_deal_ends_before_the_learner_acts_is_refused():
    text = f"{DEAL} d1 0-0 order_up,take,discard:9C,JH,9H,JD,QH,AH,KH,9S,AS,KC,TC"
    env = EuchreEnv(seat=0)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="the deal is over"):
        env.reset(options={"position": text})


@pytest.mark.parametrize("rules", RULES, ids=repr)
def test_relative_suits_are_the_same_game_renamed(rules):
    plain, renamed = EuchreEnv(rules=rules), EuchreEnv(rules=rules, suits="relative")
    _, info = plain.reset(seed=5)
    observation, info_renamed = renamed.reset(seed=5)
    rng = np.random.default_rng(0)
    for _ in range(300):
        view = plain.view
        frame = int(view.turned_suit) if view.turned_suit >= 0 else 4
        acts = np.flatnonzero(info_renamed["action_mask"])
        assert set(ABSOLUTE_ACTIONS[frame, acts]) == set(np.flatnonzero(info["action_mask"]))
        assert (observation == encode(view, relative=True)[0]).all()
        act = rng.choice(acts)
        _, reward, terminated, _, info = plain.step(ABSOLUTE_ACTIONS[frame, act])
        observation, reward_renamed, *_, info_renamed = renamed.step(act)
        assert reward == reward_renamed
        if terminated:
            _, info = plain.reset()
            observation, info_renamed = renamed.reset()


class FirstAct:
    """An opponent as a user writes it: plain Python, asked in batches."""

    name = "first"

    def act(self, views, action_masks, rng):
        """The legal act with the lowest number."""
        assert (views["stream"] == 0).all()
        assert (views["seat"] == views["to_act"]).all()
        return action_masks.argmax(axis=1)


@pytest.mark.parametrize("rules", RULES, ids=repr)
def test_any_object_that_acts_is_an_opponent(rules):
    env = EuchreEnv(rules=rules, opponent=FirstAct())
    assert sum(terminated for _, _, terminated, *_ in play(env, 600)) > 2


class Batched:
    """A compiled agent that hides that it is compiled."""

    def __init__(self, name):
        self.inner = agents.make_agent(name)
        self.name = name

    def act(self, views, action_masks, rng):
        """What the compiled agent does."""
        return self.inner.act(views, action_masks, rng)


@pytest.mark.parametrize("name", ["random", "novice"])
@pytest.mark.parametrize("rules", RULES, ids=repr)
def test_an_opponent_plays_alike_compiled_and_in_batches(name, rules):
    compiled = play(EuchreEnv(rules=rules, opponent=name), 300)
    batched = play(EuchreEnv(rules=rules, opponent=Batched(name)), 300)
    for one, other in zip(compiled, batched, strict=True):
        assert (one[0] == other[0]).all()
        assert one[1:4] == other[1:4]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda masks: np.full(len(masks), 41), "not legal"),
        (lambda masks: np.full(len(masks), 99), "not legal"),
        (lambda masks: np.zeros((len(masks), 2)), "one whole number a view"),
        (lambda masks: None, "one whole number a view"),
    ],
)
def test_an_opponent_that_errs_is_named_with_the_position(answer, words):
    class Wrong:
        name = "wrong"

        def act(self, views, action_masks, rng):
            return answer(action_masks)

    env = EuchreEnv(opponent=Wrong(), seat=0)
    with pytest.raises(RuntimeError, match=words) as caught:
        for _ in play(env, 20):
            pass
    assert "wrong" in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"episode": "hand"},
        {"reward": "score"},
        {"seat": 2},
        {"seat": True},
        {"suits": "other"},
        {"illegal": "ignore"},
        {"render_mode": "human3d"},
        {"max_deals": 0},
        {"rules": "brittish"},
        {"rules": 25},
        {"opponent": "nobody"},
        {"opponent": 3},
    ],
    ids=str,
)
def test_a_wrong_option_of_the_environment_is_quoted(options):
    with pytest.raises((ValueError, TypeError), match=str(next(iter(options.values())))):
        EuchreEnv(**options)


def test_rules_may_be_a_text_as_on_the_command_line():
    env = gymnasium.make("euchre_env/Euchre-v0", rules="british,target_score=5")
    assert env.unwrapped.rules == Rules.british(target_score=5)
    assert EuchreVectorEnv(2, rules="british,target_score=5").rules == env.unwrapped.rules
    assert EuchreEnv(rules="").rules == EuchreEnv(rules="default").rules == Rules()


@pytest.mark.parametrize("rules", RULES, ids=repr)
@pytest.mark.parametrize("save", ["state", "deepcopy", "pickle"])
def test_saved_at_any_act_the_rest_of_the_game_is_the_same(rules, save):
    env = EuchreEnv(rules=rules)
    _, info = env.reset(seed=2)
    rng = np.random.default_rng(1)
    for _ in range(120):
        if save == "deepcopy":
            twin = copy.deepcopy(env)
        elif save == "pickle":
            twin = pickle.loads(pickle.dumps(env))
        else:
            twin = EuchreEnv(rules=rules)
            twin.set_state(env.get_state())
        masks = info["action_mask"]
        for _ in range(3):
            act = rng.choice(np.flatnonzero(masks))
            one, other = env.step(act), twin.step(act)
            assert (one[0] == other[0]).all()
            assert one[1:4] == other[1:4]
            masks = one[-1]["action_mask"]
            assert (masks == other[-1]["action_mask"]).all()
            if one[2]:
                masks = env.reset()[1]["action_mask"]
                assert (masks == twin.reset()[1]["action_mask"]).all()
        info = {"action_mask": masks}


def test_a_state_of_other_rules_is_refused():
    env, other = EuchreEnv(), EuchreEnv(rules=Rules.british())
    env.reset(seed=0)
    other.reset(seed=0)
    with pytest.raises(ValueError, match="saved under"):
        other.set_state(env.get_state())


def test_the_table_as_text_shows_no_hidden_card():
    env = EuchreEnv(opponent=None, render_mode="ansi")
    env.reset(options={"deal": DEAL, "dealer": 1})
    text = env.render()
    assert "JH♥" in text
    assert "▒▒" in text
    for hidden in ("KH", "QH", "AS", "KC", "9C"):
        assert hidden not in text
    assert "legal:  pass, order_up" in text


def test_spaces_stay_what_they_are():
    env = EuchreEnv()
    before = copy.deepcopy((env.observation_space, env.action_space))
    for _ in play(env, 100):
        pass
    assert (env.observation_space, env.action_space) == before
