"""The belief agent: search over what the other is likely to hold, given how he acted.

Perfect-information Monte Carlo (Ginsberg, JAIR 2001) values a card over worlds; drawn alike, they
forget that a player who has passed holds few trumps. Here every hand that fits is gone through,
weighted by the exact posterior (`agents.likely_hands`): the chances of all that he did, by a model
of him. So the tree's own structure is used as it was to be (Long et al., AAAI 2010), and inference,
which plain search lacks, is added.

With two cards left in each hand nothing needs to lie open any more: what both may hold, as far as
both know, makes a game that is solved (`agents.endgame`).

Bids are the bidder's own. Under rules that its table does not cover, the agent plays as the bidder
does.

Name: ``belief``.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.base import CompiledAgent
from agents.bid_table import bid_rules
from agents.bidder import BidderAgent, BidderSettings, table_bid
from agents.endgame import ROUNDS, card_of, solve_endgame, write_payoffs
from agents.expert_bids import expert_bid
from agents.likely_hands import (
    BELIEF_DTYPE,
    MAX_DEALT,
    belief_at,
    likely_hands,
    public_hands,
)
from agents.open_hands import open_hands_at
from agents.pimc import MAX_CHOICES, NUM_GAINS, best_card, value_cards, write_gains
from agents.search import Settings, search_card
from agents.worlds import has_hidden_discard
from euchre_env.actions import Phase
from euchre_env.cards import HAND_SIZE, NUM_CARDS
from euchre_env.dealing import mix
from euchre_env.kernel import int64, kernel, lowest, popcount
from euchre_env.state import NO_CARD, STATE_DTYPE, States
from euchre_env.views import row_at

_PLAY = int(Phase.PLAY)
_11, _UNIT = np.uint64(11), 2.0**-53
MAX_TYPES: Final = 2_449
"""What a seat may hold and have laid away with two cards left, at most, and one more: a dealer who
has played the upcard holds two of the 18 cards that are not public, and laid another away."""
MAX_ROUNDS: Final = 100_000


@dataclass(frozen=True)
class BeliefSettings:
    """How the belief agent plays, and what it takes the other for.

    Raises:
        ValueError: a number out of range.
    """

    bidder: BidderSettings = field(default_factory=BidderSettings)
    """Its bids, and all its play where the table of bids does not cover the rules."""
    model_worlds: int = 20
    """Worlds that the other is thought to look at for a card, 1 or more; 0: all that fit."""
    temperature: float = 0.1
    """Points that make a card e times as likely in the model of him, above 0."""
    floor: float = 0.01
    """Share of his bids and discards that are any legal act, 0 to 1."""
    card_floor: float = 0.1
    """Share of his cards that are any legal card, 0 to 1."""
    prune: float = 1e-3
    """Worlds less likely than this part of the likeliest are left out, 0 to 1."""
    endgame_rounds: int = ROUNDS
    """Rounds of regret matching with two cards left; 0: open hands to the end."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("floor", "card_floor", "prune"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)}: it is 0 to 1")
        if not 0 < self.temperature < np.inf:
            raise ValueError(f"temperature={self.temperature}: it is above 0")
        if not 0 <= self.endgame_rounds <= MAX_ROUNDS:
            raise ValueError(f"endgame_rounds={self.endgame_rounds}: it is 0 to {MAX_ROUNDS}")
        Settings(worlds=self.model_worlds)


# --- a card over open hands -----------------------------------------------------------------------


@kernel
def _open_card(
    view: np.record,
    cards: int,
    memory: np.record,
    gains: npt.NDArray[np.float64],
    rows: States,
) -> int:
    """The card that is worth most over his likely hands, each laid open."""
    most = MAX_DEALT * (HAND_SIZE + 1) if has_hidden_discard(view) else MAX_DEALT
    hands = np.zeros(most, dtype=np.int64)
    numbers = np.zeros(most + MAX_CHOICES)
    weights, totals = numbers[:most], numbers[most:]
    num = likely_hands(view, memory, hands, weights, rows)
    table = open_hands_at(memory.bidder.search.table_address)
    value_cards(view, cards, table, hands[:num], weights[:num], gains, totals)
    return best_card(view.trump & 3, cards, totals)


# --- a card of the last two tricks ----------------------------------------------------------------


@kernel
def is_endgame(view: np.record) -> bool:
    """Whether the seat to act has two cards, and so has the other, or one that answers a lead."""
    return popcount(view.hands[view.seat & 1]) == 2


@kernel
def _find_own(
    view: np.record,
    prune: float,
    hands: npt.NDArray[np.int64],
    bars: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    num: int,
) -> int:
    """Where the seat's own hand stands among all that it may hold; it is added where left out."""
    hand = view.hands[view.seat & 1]
    bar = hand | (int64(1) << view.discard if view.discard != NO_CARD else int64(0))
    for i in range(num):
        if hands[i] == hand and bars[i] == bar:
            return i
    hands[num] = hand
    bars[num] = bar
    weights[num] = prune * weights[:num].max()
    return num


@kernel
def endgame_chance(
    view: np.record, memory: np.record, gains: npt.NDArray[np.float64], rows: States
) -> float:
    """How likely the lower of two cards is played in the equilibrium of the last two tricks.

    Args:
        view: to play, two cards left (`is_endgame`); its rules are those of the table of bids.
        memory: a record of dtype `BELIEF_DTYPE`, with rounds.
        gains: from ``pimc.write_gains``.
        rows: three, to work with.
    """
    seat, leader = view.seat & 1, (view.to_act if view.led_card < 0 else 1 - view.to_act) & 1
    hands = np.empty((2, MAX_TYPES), dtype=np.int64)
    bars = np.empty((2, MAX_TYPES), dtype=np.int64)
    weights = np.empty((2, MAX_TYPES))
    nums = np.zeros(2, dtype=np.int64)
    for player in range(2):
        nums[player] = public_hands(
            view, player, memory, hands[player], bars[player], weights[player], rows
        )
    own = _find_own(view, memory.prune, hands[seat], bars[seat], weights[seat], nums[seat])
    nums[seat] = max(nums[seat], own + 1)
    worth = np.empty(3)
    for tricks in range(3):
        worth[tricks] = gains[tricks] if seat == leader else -gains[2 - tricks]
    num, others = nums[leader], nums[1 - leader]
    leads, answers = hands[leader, :num], hands[1 - leader, :others]
    highs, edges = np.empty((num, 2)), np.empty((num, 2, others))
    write_payoffs(
        leads, bars[leader, :num], weights[leader, :num],
        answers, bars[1 - leader, :others], weights[1 - leader, :others],
        worth, view.trump & 3, highs, edges,
    )  # fmt: skip
    leading, answering = np.empty(num), np.empty((NUM_CARDS, others))
    solve_endgame(leads, highs, edges, memory.endgame_rounds, leading, answering)
    return float(leading[own] if seat == leader else answering[view.led_card, own])


# --- the agent ------------------------------------------------------------------------------------


@kernel
def belief_card(
    view: np.record, cards: int, stream: np.uint64, memory: np.record, rows: States
) -> int:
    """The card to play, one of ``cards``.

    Args:
        view: to play; its rules are those of the table of bids.
        cards: the legal ones, a mask that is not 0.
        stream: key of the random stream; with two cards left an equilibrium may mix them.
        memory: a record of dtype `BELIEF_DTYPE`.
        rows: three, to work with.
    """
    if cards & (cards - 1) == 0:
        return lowest(cards)
    gains = np.zeros(NUM_GAINS)
    write_gains(view, memory.bidder.search.trick_weight, gains)
    if memory.endgame_rounds == 0 or not is_endgame(view) or gains[0] == gains[2]:
        return _open_card(view, cards, memory, gains, rows)
    first = endgame_chance(view, memory, gains, rows)
    return card_of(cards, int64(float(mix(stream) >> _11) * _UNIT >= first))


@kernel
def _belief(
    view: np.record, legal_bits: int, stream: np.uint64, memory_address: int, rows: States
) -> int:
    """The belief agent's act; always one of ``legal_bits``."""
    memory = belief_at(memory_address)
    bidder = memory.bidder
    if view.phase == _PLAY:
        if bid_rules(view) == bidder.rules:
            return belief_card(view, legal_bits, stream, memory, rows)
        return search_card(view, legal_bits, stream, bidder.search)
    action = table_bid(view, legal_bits, stream, bidder)
    return action if action >= 0 else expert_bid(view, legal_bits, bidder.search.bids)


@kernel
def _belief_batch(
    views: States,
    bits: npt.NDArray[np.int64],
    rng: npt.NDArray[np.uint64],
    memory_address: int,
    actions: npt.NDArray[np.int64],
) -> None:
    rows = np.empty(3, dtype=STATE_DTYPE)
    for i in range(views.shape[0]):
        actions[i] = _belief(views[i], bits[i], rng[i], memory_address, rows)


def _belief_policy(
    view_address: int, legal_bits: int, stream: np.uint64, memory_address: int
) -> int:
    rows = np.empty(3, dtype=STATE_DTYPE)
    return _belief(row_at(view_address), legal_bits, stream, memory_address, rows)


class BeliefAgent(CompiledAgent):
    """Bids as the bidder does; plays the card that is best over what the other likely holds."""

    batch, policy = staticmethod(_belief_batch), staticmethod(_belief_policy)
    rows_a_thread = 16

    def __init__(self, settings: BeliefSettings | None = None) -> None:
        """Take the settings to play by; the tuned ones when None."""
        self.settings = settings or BeliefSettings()
        self.name = "belief"
        self._bidder = BidderAgent(self.settings.bidder)
        own = self.settings
        model = BidderAgent(BidderSettings(search=Settings(worlds=own.model_worlds)))
        self._model = model
        memory = np.zeros(1, dtype=BELIEF_DTYPE)
        memory["bidder"], memory["model"] = self._bidder.memory, model.memory
        for name in ("temperature", "floor", "card_floor", "prune", "endgame_rounds"):
            memory[name] = getattr(own, name)
        self.memory = memory

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are made anew: the memory holds addresses of this process."""
        return type(self), (self.settings,)


def belief_agent(argument: str = "") -> BeliefAgent:
    """The agent named ``belief``.

    Args:
        argument: ``""``.

    Raises:
        ValueError: another argument.
    """
    if argument:
        raise ValueError("it takes no argument")
    return BeliefAgent()
