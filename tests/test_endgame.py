"""The last two tricks as a game of hidden cards: payoffs, equilibrium, what both may hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from agents import streams
from agents.belief_search import MAX_TYPES, BeliefAgent, BeliefSettings, is_endgame
from agents.endgame import ROUNDS, leader_tricks_in_line, solve_endgame, write_payoffs
from agents.likely_hands import MAX_DEALT, belief_at, likely_hands, public_hands
from agents.open_hands import fold, open_hands, own_tricks
from euchre_env.cards import NUM_CARDS
from euchre_env.kernel import IS_COMPILED, kernel
from euchre_env.state import NO_CARD, STATE_DTYPE
from euchre_env.tricks import playable
from euchre_env.views import blank
from tests.test_agents import masks_of
from tests.test_belief_search import full_states, in_play

DECK = [8 * suit + rank for suit in range(4) for rank in range(2, 8)]
needs_table = pytest.mark.skipif(not IS_COMPILED, reason="the open-hand table takes minutes")


class Game:
    """A small game of the last two tricks: types, weights, and what their lines are worth."""

    def __init__(self, seed: int, num: int = 6) -> None:
        rng = np.random.default_rng(seed)
        pairs = list(itertools.combinations(rng.permutation(DECK)[:9], 2))
        chosen = rng.permutation(len(pairs))
        self.types = [
            np.array([1 << int(a) | 1 << int(b) for a, b in (pairs[k] for k in part)])
            for part in (chosen[:num], chosen[num : 2 * num])
        ]
        self.weights = [rng.random(num) + 0.05 for _ in range(2)]
        self.gains = np.sort(rng.normal(size=3))
        self.trump = int(rng.integers(4))
        self.highs, self.edges = np.empty((num, 2)), np.empty((num, 2, num))
        leads, answers = self.types
        write_payoffs(
            leads, leads, self.weights[0], answers, answers, self.weights[1],
            self.gains, self.trump, self.highs, self.edges,
        )  # fmt: skip

    def value(self, leading: np.ndarray, answering: np.ndarray) -> float:
        """To the leader, by going through every deal and line, cards told one by one."""
        total = 0.0
        for (i, mine), (j, his) in itertools.product(*(enumerate(each) for each in self.types)):
            if mine & his:
                continue
            chance = self.weights[0][i] * self.weights[1][j]
            for lead in cards_of(mine):
                p = leading[i] if lead == min(cards_of(mine)) else 1 - leading[i]
                legal = cards_of(int(playable(his, lead, self.trump)))
                for answer in legal:
                    q = 1.0
                    if len(legal) == 2:
                        q = answering[lead, j] if answer == min(legal) else 1 - answering[lead, j]
                    last, left = (cards_of(mine) - {lead}).pop(), (cards_of(his) - {answer}).pop()
                    tricks = leader_tricks_in_line(lead, last, answer, left, self.trump)
                    total += chance * p * q * self.gains[tricks]
        return total

    def value_by_linear_program(self) -> float:
        """What the leader can be sure of: over his strategy, the worst answers of each type."""
        num = len(self.types[0])
        led = sorted(set().union(*(cards_of(int(hand)) for hand in self.types[0])))
        places = {
            (j, card): num + k for k, (j, card) in enumerate(itertools.product(range(num), led))
        }
        costs = np.zeros(num + len(places))
        costs[num:] = -1.0  # the worth of what each type of the other answers to each lead
        rows, bounds = [], []
        base = self.low_and_high()
        for (j, card), place in places.items():
            for r in range(2):
                row, bound = np.zeros(len(costs)), 0.0
                row[place] = 1.0
                for i, hand in enumerate(self.types[0]):
                    cards = sorted(cards_of(int(hand)))
                    if card == cards[0]:
                        row[i] -= base[i, 0, j, r]
                    elif card == cards[1]:
                        row[i] += base[i, 1, j, r]
                        bound += base[i, 1, j, r]
                rows.append(row)
                bounds.append(bound)
        limits = [(0, 1)] * num + [(None, None)] * len(places)
        found = linprog(costs, A_ub=np.array(rows), b_ub=bounds, bounds=limits)
        return -float(found.fun)

    def low_and_high(self) -> np.ndarray:
        """``[i, k, j, r]``: what a lead is worth when answered with the lower, the higher card."""
        num = len(self.types[0])
        worth = np.zeros((num, 2, num, 2))
        for i, k, j in itertools.product(range(num), range(2), range(num)):
            mine, his = int(self.types[0][i]), int(self.types[1][j])
            if mine & his:
                continue
            lead, last = sorted(cards_of(mine), reverse=bool(k))
            legal = sorted(cards_of(int(playable(his, lead, self.trump))))
            for r in range(2):
                answer = legal[min(r, len(legal) - 1)]
                left = (cards_of(his) - {answer}).pop()
                tricks = leader_tricks_in_line(lead, last, answer, left, self.trump)
                worth[i, k, j, r] = self.weights[0][i] * self.weights[1][j] * self.gains[tricks]
        return worth


def cards_of(mask: int) -> set[int]:
    return {card for card in range(NUM_CARDS) if int(mask) >> card & 1}


def equilibrium(game: Game, rounds: int = ROUNDS) -> tuple[np.ndarray, np.ndarray]:
    num = len(game.types[0])
    leading, answering = np.empty(num), np.empty((NUM_CARDS, num))
    solve_endgame(game.types[0], game.highs, game.edges, rounds, leading, answering)
    return leading, answering


def worst_value(game: Game, leading: np.ndarray) -> float:
    """What a leading strategy is worth against the best answers."""
    worth = game.low_and_high()
    chances = np.stack([leading, 1 - leading], axis=1)
    total = 0.0
    for j in range(len(game.types[1])):
        for card in range(NUM_CARDS):
            sums = np.zeros(2)
            for i, hand in enumerate(game.types[0]):
                for k, lead in enumerate(sorted(cards_of(int(hand)))):
                    if lead == card:
                        sums += chances[i, k] * worth[i, k, j]
            total += sums.min()
    return total


def best_value(game: Game, answering: np.ndarray) -> float:
    """What the best leads win from a strategy of answers."""
    worth = game.low_and_high()
    total = 0.0
    for i, hand in enumerate(game.types[0]):
        values = []
        for k, lead in enumerate(sorted(cards_of(int(hand)))):
            first = answering[lead]
            values.append(
                float((first * worth[i, k, :, 0] + (1 - first) * worth[i, k, :, 1]).sum())
            )
        total += max(values)
    return total


@pytest.mark.parametrize("seed", range(8))
def test_the_equilibrium_is_the_linear_programs(seed: int) -> None:
    game = Game(seed)
    leading, answering = equilibrium(game, 2_000)
    value = game.value_by_linear_program()
    scale = float(np.outer(*game.weights).sum())
    assert game.value(leading, answering) == pytest.approx(value, abs=1e-3 * scale)
    assert worst_value(game, leading) == pytest.approx(value, abs=1e-3 * scale)
    assert best_value(game, answering) == pytest.approx(value, abs=1e-3 * scale)


@pytest.mark.parametrize("seed", range(8, 16))
def test_the_usual_rounds_leave_little_to_win(seed: int) -> None:
    game = Game(seed)
    leading, answering = equilibrium(game)
    open_to = best_value(game, answering) - worst_value(game, leading)
    assert -1e-9 <= open_to < 0.01 * float(np.outer(*game.weights).sum())


@needs_table
def test_with_one_type_each_the_leader_takes_what_the_open_hand_table_says() -> None:
    rng, one, table = np.random.default_rng(0), np.ones(1), open_hands()
    for _ in range(500):
        cards = [int(card) for card in rng.permutation(DECK)[:4]]
        mine, his = 1 << cards[0] | 1 << cards[1], 1 << cards[2] | 1 << cards[3]
        trump = int(rng.integers(4))
        highs, edges = np.empty((1, 2)), np.empty((1, 2, 1))
        write_payoffs(
            np.array([mine]), np.array([mine]), one, np.array([his]), np.array([his]), one,
            np.array([0.0, 1.0, 2.0]), trump, highs, edges,
        )  # fmt: skip
        best = max(highs[0, k] + min(0.0, edges[0, k, 0]) for k in range(2))
        assert best == own_tricks(table.table, fold(mine, trump), fold(his, trump), 2, 0)


# --- what both may hold ---------------------------------------------------------------------------


@kernel
def _public(
    view: np.record, player: int, address: int,
    hands: np.ndarray, bars: np.ndarray, weights: np.ndarray,
) -> int:  # fmt: skip
    rows = np.empty(3, dtype=STATE_DTYPE)
    return public_hands(view, player, belief_at(address), hands, bars, weights, rows)


@kernel
def _likely(view: np.record, address: int, hands: np.ndarray, weights: np.ndarray) -> int:
    rows = np.empty(2, dtype=STATE_DTYPE)
    return likely_hands(view, belief_at(address), hands, weights, rows)


def public(view: np.record, player: int, agent: BeliefAgent) -> list[tuple[int, int, float]]:
    """``(hand, bar, weight)`` of all that a seat may hold as far as both know."""
    hands, bars = (np.empty(MAX_TYPES, dtype=np.int64) for _ in range(2))
    weights = np.empty(MAX_TYPES)
    num = _public(view, player, agent.memory_address, hands, bars, weights)
    found = zip(hands[:num], bars[:num], weights[:num], strict=True)
    return [(int(hand), int(bar), float(weight)) for hand, bar, weight in found]


def own_type(view: np.record) -> tuple[int, int]:
    hand = int(view["hands"][view["seat"]])
    return hand, hand | (1 << int(view["discard"]) if view["discard"] != NO_CARD else 0)


@needs_table
def test_what_both_know_and_ones_own_cards_make_ones_beliefs() -> None:
    agent = BeliefAgent(BeliefSettings(prune=0.0))
    hands, weights = np.empty(6 * MAX_DEALT, dtype=np.int64), np.empty(6 * MAX_DEALT)
    for view in in_play(6, 6):  # on lead to the fourth trick
        seat, trump = int(view["seat"]), int(view["trump"])
        num = _likely(view, agent.memory_address, hands, weights)
        wanted: dict[int, float] = {}
        for hand, weight in zip(hands[:num], weights[:num] / weights[:num].sum(), strict=True):
            wanted[int(hand)] = wanted.get(int(hand), 0.0) + float(weight)
        own = own_type(view)[1]
        fitting = [each for each in public(view, 1 - seat, agent) if not each[1] & own]
        total = sum(weight for _, _, weight in fitting)
        found: dict[int, float] = {}
        for hand, _, weight in fitting:
            folded = int(fold(hand, trump))
            found[folded] = found.get(folded, 0.0) + weight / total
        assert found == pytest.approx(wanted, abs=1e-9)


@needs_table
@pytest.mark.parametrize("cards_played", [6, 7])
def test_what_both_know_is_the_same_from_both_seats(cards_played: int) -> None:
    agent = BeliefAgent()
    states = full_states(5, cards_played)
    for player in range(2):
        for k in range(len(states)):
            one, other = (public(blank(states, seat)[k], player, agent) for seat in range(2))
            assert one == other


@needs_table
@pytest.mark.parametrize("cards_played", [6, 7])
def test_ones_own_hand_is_among_them(cards_played: int) -> None:
    agent = BeliefAgent(BeliefSettings(prune=0.0))
    for view in in_play(20, cards_played):
        assert is_endgame(view)
        found = {(hand, bar) for hand, bar, _ in public(view, int(view["seat"]), agent)}
        assert own_type(view) in found


@needs_table
def test_an_agent_that_knows_all_hands_alike_still_plays_legally() -> None:
    agent = BeliefAgent(BeliefSettings(prune=1.0))  # its own hand is hardly ever the likeliest
    for cards_played in (6, 7):
        views = in_play(40, cards_played)
        masks = masks_of(views)
        acts = agent.act(views, masks, streams(0, len(views)))
        assert (masks[np.arange(len(views)), acts] == 1).all()


@needs_table
def test_rounds_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="endgame_rounds=-1: it is 0 to"):
        BeliefSettings(endgame_rounds=-1)
