"""The last two tricks as a game of hidden cards, solved.

Two cards each: the leader chooses one of two, the other player one of two, the fifth trick plays
itself. What either knows is his own cards (and what he laid away); how likely each hand was for
the other to have come this far, both know (`agents.likely_hands`). So this is a game of one move
each, and its equilibrium is found with regret matching, both players in turn, negative regrets
forgotten, later strategies counting more (CFR+: Tammelin, arXiv:1407.5042).

Search with open hands errs just here: it takes what follows to be played with all cards seen, and
itself to be seen through.

A *type* is what a player may hold: his two cards, with all cards that the other cannot hold then.
Rules: R15, R16, R17.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from euchre_env.cards import NUM_CARDS
from euchre_env.kernel import int64, kernel, lowest
from euchre_env.rules import BEATS
from euchre_env.tricks import playable

Masks = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
ROUNDS: Final = 50
"""Rounds of regret matching; what can then be won from the result is far below 0.01 points."""


@kernel
def card_of(hand: int, place: int) -> int:
    """The lower (0) or the higher (1) card of a hand of two."""
    return lowest(hand & (hand - 1)) if place else lowest(hand)


@kernel
def leader_tricks_in_line(lead: int, last: int, answer: int, left: int, trump: int) -> int:
    """Tricks that the leader takes when these are the cards, in each hand in this order. R16.

    Args:
        lead: card led to the fourth trick.
        last: the leader's other card.
        answer: card that answers.
        left: the other player's other card.
        trump: suit 0..3.
    """
    if BEATS[trump & 3, lead & 63] >> answer & 1:  # the other leads on
        return int64(BEATS[trump & 3, left & 63] >> last & 1)
    return 2 - int64(BEATS[trump & 3, last & 63] >> left & 1)


@kernel
def _worth(lead: int, last: int, hand: int, place: int, trump: int, gains: Numbers) -> float:
    """What a lead is worth to the leader when it is answered with a card of the other's hand.

    An answer that is illegal stands for the legal one. R15.
    """
    legal, answer = playable(hand, lead, trump), card_of(hand, place)
    if not legal >> answer & 1:
        answer = lowest(legal)
    left = lowest(hand ^ int64(1) << answer)
    return float(gains[leader_tricks_in_line(lead, last, answer, left, trump)])


@kernel
def write_payoffs(
    leads: Masks,
    lead_bars: Masks,
    lead_weights: Numbers,
    answers: Masks,
    answer_bars: Masks,
    answer_weights: Numbers,
    gains: Numbers,
    trump: int,
    highs: Numbers,
    edges: Numbers,
) -> None:
    """Write what every lead is worth to the leader, times how likely every two types are.

    Args:
        leads: types of the leader: masks of two cards; int64, shape (n,).
        lead_bars: cards that the other cannot hold then: these two, and what was laid away.
        lead_weights: how likely each type was to act as was seen; float64, shape (n,).
        answers: types of the other player; int64, shape (m,).
        answer_bars: as for the leader.
        answer_weights: as for the leader.
        gains: what 0, 1, 2 tricks are worth to the leader; float64, shape (3,) or more.
        trump: suit 0..3.
        highs: float64, shape (n, 2), written: what the lower and the higher lead are worth in sum
            when the other answers with his higher card.
        edges: float64, shape (n, 2, m), written: what is to be added where he answers with his
            lower card. Types that exclude each other add 0.
    """
    highs[:] = 0.0
    for i in range(leads.shape[0]):
        for k in range(2):
            lead, last = card_of(leads[i], k), card_of(leads[i], 1 - k)
            for j in range(answers.shape[0]):
                edges[i, k, j] = 0.0
                if lead_bars[i] & answer_bars[j]:
                    continue
                chance = lead_weights[i] * answer_weights[j]
                high = _worth(lead, last, answers[j], 1, trump, gains)
                low = _worth(lead, last, answers[j], 0, trump, gains)
                highs[i, k] += chance * high
                edges[i, k, j] = chance * (low - high)


@kernel
def _add_regret(regrets: Numbers, first: float, edge: float) -> float:
    """Add what either of two acts would have won over the strategy; match the new regrets.

    Args:
        regrets: of the two acts, changed; sums below 0 are forgotten.
        first: how likely the first act was.
        edge: what it is worth above the second.

    Returns:
        How likely the first act is to be from now on.
    """
    regrets[0] = max(regrets[0] + (1.0 - first) * edge, 0.0)
    regrets[1] = max(regrets[1] - first * edge, 0.0)
    total = regrets[0] + regrets[1]
    return float(regrets[0] / total) if total > 0 else 0.5


@kernel
def _lead_value(high: float, edges: Numbers, answering: Numbers) -> float:
    """What a lead is worth against a strategy of answers to it."""
    total = high
    for j in range(edges.shape[0]):
        total += edges[j] * answering[j]
    return total


@kernel
def _add_answers(chance: float, edges: Numbers, low_edges: Numbers) -> None:
    """Add what the lower answer is worth to the other player where a card is led."""
    for j in range(edges.shape[0]):
        low_edges[j] -= chance * edges[j]


@kernel
def solve_endgame(
    leads: Masks,
    highs: Numbers,
    edges: Numbers,
    rounds: int,
    leading: Numbers,
    answering: Numbers,
) -> None:
    """Find an equilibrium of the last two tricks.

    Args:
        leads: types of the leader, as for `write_payoffs`; shape (n,).
        highs: from `write_payoffs`.
        edges: from `write_payoffs`.
        rounds: of regret matching; `ROUNDS` are enough.
        leading: float64, shape (n,), written: how likely each type leads its lower card.
        answering: float64, shape (33, m), written: how likely each type answers each card that may
            be led with its lower card (what it says of an answer that is illegal means nothing).
    """
    num, others = edges.shape[0], edges.shape[2]
    lead_regrets, answer_regrets = np.zeros((num, 2)), np.zeros((NUM_CARDS, others, 2))
    now_leading, now_answering = np.full(num, 0.5), np.full((NUM_CARDS, others), 0.5)
    low_edges = np.empty((NUM_CARDS, others))
    leading[:] = 0.0
    answering[:] = 0.0
    led = int64(0)
    for i in range(num):
        led |= leads[i]
    for t in range(1, rounds + 1):
        share = 2.0 * t / (rounds * (rounds + 1))
        low_edges[:] = 0.0
        for i in range(num):
            low, high = card_of(leads[i], 0), card_of(leads[i], 1)
            edge = _lead_value(highs[i, 0], edges[i, 0], now_answering[low])
            edge -= _lead_value(highs[i, 1], edges[i, 1], now_answering[high])
            now_leading[i] = _add_regret(lead_regrets[i], now_leading[i], edge)
            leading[i] += share * now_leading[i]
            _add_answers(now_leading[i], edges[i, 0], low_edges[low])
            _add_answers(1.0 - now_leading[i], edges[i, 1], low_edges[high])
        for card in range(NUM_CARDS):
            if led >> card & 1:
                for j in range(others):
                    now_answering[card, j] = _add_regret(
                        answer_regrets[card, j], now_answering[card, j], low_edges[card, j]
                    )
                    answering[card, j] += share * now_answering[card, j]
