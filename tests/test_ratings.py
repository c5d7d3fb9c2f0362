"""Ratings, corrected significance and the Nash mixture, against what is known beforehand."""

import importlib.util
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.evaluation.ratings import (
    ELO_PER_LOGIT,
    bradley_terry,
    holm,
    mixture,
    nash_mixture,
    need,
    p_value,
    pairs_won,
    payoff_matrix,
    resampled_means,
)

ROCK_PAPER_SCISSORS = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])


def pairs_of(num):
    return list(combinations(range(num), 2))


def played(rng, strengths, num_deals):
    """Scores of +1, 0 and -1 for every pairing, with luck that a deal brings to all pairings.

    A quarter of the pairs is drawn. The rest are won as Bradley and Terry's model says, but a
    deal's uniform number is the same in every pairing: results of one deal go together.
    """
    luck = rng.random(num_deals)
    scores = []
    for first, second in pairs_of(len(strengths)):
        chance = 1 / (1 + math.exp(strengths[second] - strengths[first]))
        is_drawn = rng.random(num_deals) < 0.25
        # draws count half, which pulls a share of pairs won towards a half: undo that here
        chance = 0.5 + (chance - 0.5) / 0.75
        scores.append(np.where(is_drawn, 0.0, np.where(luck < chance, 1.0, -1.0)))
    return scores


# --- ratings ------------------------------------------------------------------------------------


def test_ratings_find_the_strengths_and_their_intervals_cover_them():
    strengths = np.array([0.4, 0.1, 0.0, -0.5])
    rng = np.random.default_rng(0)
    covered = np.zeros(4)
    runs = [
        bradley_terry(4, pairs_of(4), played(rng, strengths, num_deals=300)) for _ in range(120)
    ]
    for ratings in runs:
        for place, estimate in enumerate(ratings.estimates()):
            covered[place] += estimate.low <= ELO_PER_LOGIT * strengths[place] <= estimate.high
    mean = np.mean([ratings.values for ratings in runs], axis=0)
    np.testing.assert_allclose(mean, ELO_PER_LOGIT * strengths, atol=3)
    # 95% each; 120 runs leave some 2% of error, four agents even it out
    assert 0.88 < covered.min() / 120
    assert 0.92 < covered.mean() / 120 < 0.98


def test_400_points_are_ten_pairs_won_for_each_one_lost():
    scores = np.repeat([1.0, -1.0], [20_000, 2_000])
    ratings = bradley_terry(2, [(0, 1)], [scores])
    assert ratings.values[0] - ratings.values[1] == pytest.approx(400, abs=0.5)
    assert ratings.values.sum() == pytest.approx(0)
    # the delta method by hand: sd of a share p is sqrt(p (1 - p) / n), logit' = 1 / (p (1 - p))
    share, num = 20_000 / 22_000, 22_000
    error = ELO_PER_LOGIT / math.sqrt(num * share * (1 - share)) / 2  # half on either side of 0
    assert ratings.errors[0] == pytest.approx(error, rel=0.01)


def test_a_win_is_a_pair_with_points_and_a_draw_half():
    assert pairs_won(np.array([2.0, 0.5, 0.0, -0.5, -3.0])).tolist() == [1, 1, 0.5, 0, 0]


def test_equal_agents_are_rated_equal_and_nothing_is_left_to_chance():
    ratings = bradley_terry(3, pairs_of(3), [np.zeros(50)] * 3)
    np.testing.assert_allclose(ratings.values, 0, atol=1e-9)
    np.testing.assert_allclose(ratings.errors, 0, atol=1e-9)
    assert ratings.worst_fit == pytest.approx(0)


@pytest.mark.parametrize("num_pairs", [1, 2, 500])
def test_an_agent_that_won_every_pair_has_a_rating_all_the_same(num_pairs):
    ratings = bradley_terry(3, pairs_of(3), [np.ones(num_pairs)] * 3)
    assert np.isfinite(ratings.values).all()
    assert np.isfinite(ratings.errors).all()
    assert ratings.values[0] > ratings.values[1] > ratings.values[2]


def test_one_line_cannot_tell_who_beats_whom_in_a_circle():
    circle = [np.ones(400), -np.ones(400), np.ones(400)]  # 0 beats 1, 2 beats 0, 1 beats 2
    ratings = bradley_terry(3, pairs_of(3), circle)
    np.testing.assert_allclose(ratings.values, 0, atol=1e-6)
    assert ratings.worst_fit == pytest.approx(0.5, abs=0.01)


def test_turning_a_pairing_round_changes_nothing():
    scores = played(np.random.default_rng(1), [0.3, 0, -0.2], 200)
    one = bradley_terry(3, [(0, 1), (0, 2), (1, 2)], scores)
    other = bradley_terry(3, [(1, 0), (0, 2), (2, 1)], [-scores[0], scores[1], -scores[2]])
    np.testing.assert_allclose(one.values, other.values, atol=1e-6)
    np.testing.assert_allclose(one.errors, other.errors, atol=1e-6)


def test_pairings_may_have_played_fewer_deals():
    scores = played(np.random.default_rng(2), [0.3, 0, -0.3], 4_000)
    all_of_them = bradley_terry(3, pairs_of(3), scores)
    fewer = bradley_terry(3, pairs_of(3), [scores[0], scores[1][:500], scores[2][:500]])
    np.testing.assert_allclose(fewer.values, all_of_them.values, atol=40)
    assert fewer.errors[2] > 1.5 * all_of_them.errors[2]


# --- significance -------------------------------------------------------------------------------


def test_holm_by_hand():
    # sorted 0.005 0.01 0.03 0.04, times 4 3 2 1, never falling: 0.02 0.03 0.06 0.06
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.03]), [0.03])
    np.testing.assert_allclose(holm([0.9, 0.8]), [1, 1])


def test_the_p_value_by_hand():
    # mean 1, sd 1, 9 pairs: t = 3 with 8 degrees of freedom, two-sided 0.01707
    scores = np.array([0.0, 0, 0, 1, 1, 1, 2, 2, 2])
    scores = 1 + (scores - 1) / scores.std(ddof=1)
    assert p_value(scores) == pytest.approx(0.01707, abs=1e-5)
    assert p_value(-scores) == p_value(scores)


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        pytest.param([2.0], 1, id="a single pair tells nothing"),
        pytest.param([0.0] * 100, 1, id="equal agents"),
        pytest.param([1.0] * 3, 0.25, id="three alike: the sign test, 2 of 8"),
        pytest.param([1.0] * 11, 2**-10, id="eleven alike"),
    ],
)
def test_few_pairs_prove_little(scores, wanted):
    assert p_value(np.array(scores)) == pytest.approx(wanted)


def test_equal_agents_are_called_different_5_times_in_100():
    rng = np.random.default_rng(3)
    families = [[p_value(rng.choice([-1.0, 0, 1], size=200)) for _ in range(6)] for _ in range(300)]
    # the smallest of Holm's six is six times the smallest p value
    assert min(holm(families[0])) == pytest.approx(6 * min(families[0]))
    called = sum(6 * min(family) < 0.05 for family in families)
    assert 0.01 < called / 300 < 0.09


# --- the mixture --------------------------------------------------------------------------------


def test_rock_paper_scissors():
    weights, is_unique = nash_mixture(ROCK_PAPER_SCISSORS)
    np.testing.assert_allclose(weights, 1 / 3, atol=1e-6)
    assert is_unique


def test_winning_more_with_rock_means_playing_more_paper():
    # in a circle each has the weight of the pairing that it stays out of
    payoffs = payoff_matrix(3, pairs_of(3), np.array([-1.0, 3.0, -2.0]))
    weights, is_unique = nash_mixture(payoffs)
    np.testing.assert_allclose(weights, np.array([2, 3, 1]) / 6, atol=1e-6)
    assert is_unique


def test_who_beats_all_is_played_alone():
    payoffs = payoff_matrix(3, pairs_of(3), np.array([-0.1, 0.3, 0.5]))
    weights, is_unique = nash_mixture(payoffs)
    assert weights.tolist() == [0, 1, 0]
    assert is_unique


def test_a_dominated_agent_is_left_out():
    payoffs = np.zeros((4, 4))
    payoffs[:3, :3] = ROCK_PAPER_SCISSORS
    payoffs[:3, 3], payoffs[3, :3] = 0.5, -0.5
    weights, is_unique = nash_mixture(payoffs)
    np.testing.assert_allclose(weights, [1 / 3, 1 / 3, 1 / 3, 0], atol=1e-6)
    assert is_unique


def test_copies_share_the_weight_of_one():
    twice = ROCK_PAPER_SCISSORS[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])]
    weights, is_unique = nash_mixture(twice)
    np.testing.assert_allclose(weights, [1 / 6, 1 / 6, 1 / 3, 1 / 3], atol=1e-3)
    assert not is_unique
    equal, is_unique = nash_mixture(np.zeros((4, 4)))
    np.testing.assert_allclose(equal, 0.25, atol=1e-6)
    assert not is_unique


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1), st.booleans())
def test_no_agent_beats_the_mixture(num, seed, is_coarse):
    means = np.random.default_rng(seed).normal(size=num * (num - 1) // 2)
    payoffs = payoff_matrix(num, pairs_of(num), means.round() if is_coarse else means)
    weights, _ = nash_mixture(payoffs)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert (weights @ payoffs).min() > -2e-3


def test_a_table_that_is_no_zero_sum_game_is_refused():
    with pytest.raises(ValueError, match="antisymmetric"):
        nash_mixture(-np.ones((3, 3)))


def test_the_bootstrap_tells_how_sure_the_mixture_is():
    rng = np.random.default_rng(4)
    clear = [rng.normal(1, 0.5, 400), rng.normal(1, 0.5, 400), rng.normal(0, 0.5, 400)]
    sure = mixture(3, pairs_of(3), clear)
    assert sure.weights.tolist() == sure.support.tolist() == sure.low.tolist() == [1, 0, 0]
    assert sure.earns[0] == 0
    assert sure.earns[1:].min() > 0.9
    level = rng.normal(0, 0.5, 400)
    level -= level.mean() - 0.005
    close = mixture(3, pairs_of(3), [level, clear[0], clear[1]])
    assert close.weights.tolist() == [1, 0, 0]  # 0 is ahead of 1 by a fifth of an error
    assert 0.3 < close.support[1] < 0.5
    assert close.support[0] == pytest.approx(1 - close.support[1])
    assert (close.low[:2] == 0).all()
    assert (close.high[:2] == 1).all()


def test_one_draw_of_deals_serves_all_pairings():
    scores = np.random.default_rng(5).normal(size=(2, 300))
    means = resampled_means([scores[0], scores[0], scores[1], scores[1][:100]], seed=0, num=200)
    np.testing.assert_array_equal(means[:, 0], means[:, 1])
    assert means[:, 0].std() == pytest.approx(scores[0].std() / math.sqrt(300), rel=0.2)
    assert means[:, 3].std() == pytest.approx(scores[1][:100].std() / 10, rel=0.2)
    np.testing.assert_array_equal(
        means, resampled_means([scores[0], scores[0], scores[1], scores[1][:100]], 0, 200)
    )


# --- without the libraries ----------------------------------------------------------------------


def test_a_missing_library_is_told_with_its_extra(monkeypatch):
    need("numpy")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "scipy" else find_spec(name)
    )
    with pytest.raises(ImportError, match=r"needs scipy: pip install 'euchre-env\[evaluate\]'"):
        p_value(np.ones(5))
