"""The referee: the rules of two-handed Euchre once more, slow and plain, for tests only.

Written from the numbered rules (``docs/rules.md``) alone and importing nothing of the package,
so that a slip in the one is not repeated in the other. A card is a string, rank then suit
(``"JH"``), the joker ``"JK"``; a suit is one of ``C D H S``; a seat is 0 or 1; an act is a
string such as ``"pass"``, ``"name:C"``, ``"discard:9H"`` or ``"play:JK"``. Options are a plain
dict with the keys of ``OPTION_DEFAULTS``; keys left out have their default.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

JOKER = "JK"
SUITS = ("C", "D", "H", "S")
RANKS_LOW_TO_HIGH = ("7", "8", "9", "T", "J", "Q", "K", "A")
SAME_COLOUR = {"C": "S", "S": "C", "D": "H", "H": "D"}
TRICKS_IN_A_DEAL = 5

OPTION_DEFAULTS: dict[str, Any] = {
    "lowest_rank": "9",
    "joker": False,
    "target_score": 10,
    "order_up_pickup": "may",
    "discard_upcard": False,
    "allow_turned_down_suit": "never",
    "stick_the_dealer": False,
    "redeal_dealer": "next",
    "joker_turned_up": "dealer_names_blind",
    "joker_fixed_suit": "H",
    "stop_when_decided": False,
    "super_euchre": False,
}

Options = Mapping[str, Any]


def complete(options: Options) -> dict[str, Any]:
    """Options with the defaults filled in; an unknown name is a ``ValueError``."""
    unknown = set(options) - set(OPTION_DEFAULTS)
    if unknown:
        raise ValueError(f"no such options: {sorted(unknown)}")
    return {**OPTION_DEFAULTS, **options}


def deck(options: Options) -> list[str]:
    """Every card of the deck, 24 to 33 of them (R2)."""
    chosen = complete(options)
    lowest = RANKS_LOW_TO_HIGH.index(chosen["lowest_rank"])
    cards = [rank + suit for suit in SUITS for rank in RANKS_LOW_TO_HIGH[lowest:]]
    return [*cards, JOKER] if chosen["joker"] else cards


def effective_suit(card: str, trump: str | None) -> str:
    """The suit a card counts as: joker and left bower count as trump (R3, R4).

    Without trump a card counts as its printed suit; the joker then has none (``ValueError``).
    """
    if card == JOKER:
        if trump is None:
            raise ValueError("the joker has no suit before trump is made")
        return trump
    if trump is not None and card == "J" + SAME_COLOUR[trump]:
        return trump
    return card[1]


def suit_order(suit: str, trump: str | None, options: Options) -> list[str]:
    """Every card of the deck that counts as a suit, high to low (R3, R4)."""
    in_deck = deck(options)
    order = []
    if suit == trump:
        order += [JOKER, "J" + trump, "J" + SAME_COLOUR[trump]]
    for rank in reversed(RANKS_LOW_TO_HIGH):
        card = rank + suit
        if card not in order and effective_suit(card, trump) == suit:
            order.append(card)
    return [card for card in order if card in in_deck]


def legal_plays(hand: Sequence[str], led: str | None, trump: str) -> list[str]:
    """The cards that may be played: follow the led suit if able, else any card (R14, R15)."""
    if led is None:
        return list(hand)
    led_suit = effective_suit(led, trump)
    following = [card for card in hand if effective_suit(card, trump) == led_suit]
    return following or list(hand)


def trick_winner(led: str, followed: str, trump: str) -> str:
    """``"leader"`` or ``"follower"``: the highest trump, else the highest of the led suit (R16)."""
    led_suit = effective_suit(led, trump)
    followed_suit = effective_suit(followed, trump)
    if followed_suit == led_suit:
        # any deck will do to compare two cards: the longest has them all
        order = suit_order(led_suit, trump, {"lowest_rank": "7", "joker": True})
        return "follower" if order.index(followed) < order.index(led) else "leader"
    return "follower" if followed_suit == trump else "leader"


def deal_points(maker_tricks: int, options: Options) -> tuple[int, int]:
    """Points of a deal played to its end, ``(maker, defender)`` (R17)."""
    if not 0 <= maker_tricks <= TRICKS_IN_A_DEAL:
        raise ValueError(f"no maker takes {maker_tricks} tricks")
    if maker_tricks == 5:
        return (2, 0)
    if maker_tricks >= 3:
        return (1, 0)
    if maker_tricks == 0 and complete(options)["super_euchre"]:
        return (0, 4)
    return (0, 2)


def points_settled(maker_tricks: int, defender_tricks: int, options: Options) -> bool:
    """Whether the tricks still to come can change the points no more (R18)."""
    left = TRICKS_IN_A_DEAL - maker_tricks - defender_tricks
    return len({deal_points(maker_tricks + more, options) for more in range(left + 1)}) == 1


class Game:
    """One deal in progress and the scores it began with (R5 to R22).

    Attributes:
        to_act: the seat whose act it is, or None when the deal is over.
        trump: the trump suit, or None while it is not made.
        maker: the seat that made trump, or None.
        upcard_place: ``table`` while the upcard proposes trump, then ``left``, ``turned_down``,
            ``hand`` (of the dealer), ``discarded`` or ``played``.
        discard: the card the dealer laid away, or None.
        led: the card led to the trick in progress, or None between tricks.
        leader: the seat that leads or led the trick in progress; None before trump is made.
        tricks: tricks taken, by seat.
        trick_winners: the seat that took each trick, in order.
        plays: ``(seat, card)`` of every card played, in order.
        history: ``(seat, act)`` of every act, in order.
        deal_over: whether the deal has ended, scored or passed out.
        points: points this deal gave, by seat; (0, 0) until it is scored.
        scores: the game's scores, by seat, this deal's points included.
        winner: the seat that has won the game, or None.
        game_over: whether the game has been won.
        next_dealer: who deals next, or None until the deal is over and after the game's end.
    """

    def __init__(
        self,
        options: Options,
        dealer: int,
        hands: Sequence[Sequence[str]],
        upcard: str,
        scores: tuple[int, int] = (0, 0),
    ) -> None:
        self.options = complete(options)
        if dealer not in (0, 1):
            raise ValueError(f"no seat {dealer}")
        dealt = [*hands[0], *hands[1], upcard]
        if len(hands[0]) != 5 or len(hands[1]) != 5 or len(set(dealt)) != 11:
            raise ValueError(f"not five cards each and an upcard, all different: {dealt}")
        if not set(dealt) <= set(deck(options)):
            raise ValueError(f"not all of this deck: {dealt}")
        if max(scores) >= self.options["target_score"]:
            raise ValueError(f"the game is over at {scores}")
        if upcard == JOKER and self.options["joker_turned_up"] == "redeal":
            raise ValueError("a joker turned up is dealt again (R13)")
        self.dealer = dealer
        self.nondealer = 1 - dealer
        self.dealt_hands = (list(hands[0]), list(hands[1]))
        self.upcard = upcard
        self.scores = (scores[0], scores[1])
        self._hands = [list(hands[0]), list(hands[1])]
        self._voids: list[set[str]] = [set(), set()]
        self.trump: str | None = None
        self.maker: int | None = None
        self.upcard_place = "table"
        self.discard: str | None = None
        self.led: str | None = None
        self.leader: int | None = None
        self.trick_winners: list[int] = []
        self.plays: list[tuple[int, str]] = []
        self.history: list[tuple[int, str]] = []
        self.deal_over = False
        self.points = (0, 0)
        self.winner: int | None = None
        self.next_dealer: int | None = None
        # phases: blind, round_one, ordered_up, discard, round_two, play, over
        if upcard == JOKER and self.options["joker_turned_up"] == "dealer_names_blind":
            self.phase, self.to_act = "blind", dealer  # R13
        else:
            self.phase, self.to_act = "round_one", self.nondealer  # R6

    @property
    def game_over(self) -> bool:
        """Whether a player has the target score or more (R19)."""
        return self.winner is not None

    @property
    def tricks(self) -> tuple[int, int]:
        """Tricks taken so far, by seat (R16)."""
        return (self.trick_winners.count(0), self.trick_winners.count(1))

    @property
    def proposed_suit(self) -> str:
        """The suit the upcard proposes, the joker's by option (R5, R13)."""
        return self.options["joker_fixed_suit"] if self.upcard == JOKER else self.upcard[1]

    def current_hand(self, seat: int) -> set[str]:
        """The cards a seat holds now, six between taking the upcard and discarding (R7)."""
        return set(self._hands[seat])

    def voids(self, seat: int) -> set[str]:
        """Suits that a seat has shown it cannot follow (R15, R22)."""
        return set(self._voids[seat])

    def own_hand_visible(self, seat: int) -> bool:
        """Whether a seat may look at its own hand: not the dealer before naming blind (R13)."""
        return not (self.phase == "blind" and seat == self.dealer)

    def copy(self) -> Game:
        """The same deal after the same acts, standing on its own."""
        again = copy.copy(self)
        again._hands = [list(hand) for hand in self._hands]
        again._voids = [set(suits) for suits in self._voids]
        again.trick_winners = list(self.trick_winners)
        again.plays = list(self.plays)
        again.history = list(self.history)
        return again

    def legal(self) -> set[str]:
        """The acts that the seat to act may choose from; empty when the deal is over (R21)."""
        if self.phase == "blind":
            return {"name:" + suit for suit in SUITS}  # R13: no pass
        if self.phase == "round_one":
            return {
                "pass",
                "order_up" if self.to_act == self.nondealer else "accept",
            }  # R6, R7
        if self.phase == "ordered_up":
            return {"take", "leave"}  # R8
        if self.phase == "discard":
            return {"discard:" + card for card in self._may_be_discarded()}
        if self.phase == "round_two":
            return self._legal_in_round_two()
        if self.phase == "play":
            assert self.to_act is not None
            assert self.trump is not None
            hand = self._hands[self.to_act]
            return {"play:" + card for card in legal_plays(hand, self.led, self.trump)}
        return set()

    def _may_be_discarded(self) -> list[str]:
        """One of the five cards dealt, the card just taken only by option (R9, R13)."""
        if self.options["discard_upcard"]:
            return list(self._hands[self.dealer])
        return list(self.dealt_hands[self.dealer])

    def _legal_in_round_two(self) -> set[str]:
        """Pass or name a suit (R10), the dealer perhaps stuck (R12)."""
        stuck = self.options["stick_the_dealer"] and self.to_act == self.dealer
        allowed = self.options["allow_turned_down_suit"]
        may_name_turned_down = allowed == "always" or (allowed == "stuck_dealer" and stuck)
        acts = {"name:" + suit for suit in SUITS}
        if not may_name_turned_down:
            acts.remove("name:" + self.proposed_suit)
        if not stuck:
            acts.add("pass")
        return acts

    def act(self, text: str) -> None:
        """Do an act; an illegal one is a ``ValueError`` and does nothing (R21)."""
        if text not in self.legal():
            raise ValueError(f"{text!r} is not one of {sorted(self.legal())}")
        self._do(text)

    def _do(self, text: str) -> None:
        assert self.to_act is not None
        self.history.append((self.to_act, text))
        word, _, what = text.partition(":")
        if word == "pass":
            self._pass()
        elif word == "order_up":
            self._make_trump(self.proposed_suit, self.nondealer)  # R8
            if self.options["order_up_pickup"] == "must":
                self._take_upcard()
            else:
                self.phase, self.to_act = "ordered_up", self.dealer
        elif word == "accept":
            self._make_trump(self.proposed_suit, self.dealer)  # R7
            self._take_upcard()
        elif word == "take":
            self._take_upcard()  # R8
        elif word == "leave":
            self.upcard_place = "left"  # R8
            self._begin_play()
        elif word == "name":
            blind = self.phase == "blind"
            self._make_trump(what, self.to_act)
            if blind:
                self._take_upcard()  # R13
            else:
                self._begin_play()  # R10: no card is taken
        elif word == "discard":
            self._hands[self.dealer].remove(what)  # R9
            self.discard = what
            if what == self.upcard:
                self.upcard_place = "discarded"
            self._begin_play()
        else:
            self._play(what)

    def _pass(self) -> None:
        """Four passes lead round the table twice and then to a new deal (R6, R7, R10, R11)."""
        if self.to_act == self.nondealer:
            self.to_act = self.dealer
        elif self.phase == "round_one":
            self.phase, self.to_act = "round_two", self.nondealer
            self.upcard_place = "turned_down"
        else:
            self._end_deal()
            stays = self.options["redeal_dealer"] == "same"
            self.next_dealer = self.dealer if stays else self.nondealer

    def _make_trump(self, suit: str, maker: int) -> None:
        self.trump, self.maker = suit, maker

    def _take_upcard(self) -> None:
        """The dealer takes the upcard and owes a discard (R7, R8, R13)."""
        self._hands[self.dealer].append(self.upcard)
        self.upcard_place = "hand"
        self.phase, self.to_act = "discard", self.dealer

    def _begin_play(self) -> None:
        """The non-dealer leads to the first trick, whoever is maker (R14)."""
        self.phase = "play"
        self.to_act = self.leader = self.nondealer

    def _play(self, card: str) -> None:
        """A card is led or follows; two make a trick, whose winner leads next (R15, R16)."""
        assert self.to_act is not None
        assert self.leader is not None
        assert self.trump is not None
        seat = self.to_act
        self._hands[seat].remove(card)
        self.plays.append((seat, card))
        if card == self.upcard:
            self.upcard_place = "played"
        if self.led is None:
            self.led = card
            self.to_act = 1 - seat
            return
        led_suit = effective_suit(self.led, self.trump)
        if effective_suit(card, self.trump) != led_suit:
            self._voids[seat].add(led_suit)
        leader_wins = trick_winner(self.led, card, self.trump) == "leader"
        winner = self.leader if leader_wins else seat
        self.trick_winners.append(winner)
        self.led = None
        self.leader = self.to_act = winner
        self._score_if_done()

    def _score_if_done(self) -> None:
        """After the fifth trick, by option sooner, the points are scored (R17 to R20)."""
        assert self.maker is not None
        maker_tricks = self.tricks[self.maker]
        defender_tricks = self.tricks[1 - self.maker]
        done = maker_tricks + defender_tricks == TRICKS_IN_A_DEAL or (
            self.options["stop_when_decided"]
            and points_settled(maker_tricks, defender_tricks, self.options)
        )
        if not done:
            return
        # when settled early, every end gives the same points: the one without more tricks too
        to_maker, to_defender = deal_points(maker_tricks, self.options)
        self.points = (to_maker, to_defender) if self.maker == 0 else (to_defender, to_maker)
        self.scores = (self.scores[0] + self.points[0], self.scores[1] + self.points[1])
        self._end_deal()
        for seat in (0, 1):
            if self.scores[seat] >= self.options["target_score"]:
                self.winner = seat  # R19
        if self.winner is None:
            self.next_dealer = self.nondealer  # R20

    def _end_deal(self) -> None:
        self.phase, self.to_act, self.deal_over = "over", None, True

    def knows(self, seat: int) -> tuple[Any, ...]:
        """Everything a seat knows, hashable; two deals alike in it look alike to the seat (R22).

        The rules in force, the seat, who deals, the scores, the upcard, the seat's own hand
        unless it may not look yet, every act in order with the seat that did it, but the card
        of a discard only to the dealer. All else that is public follows from these.
        """
        hand = tuple(sorted(self._hands[seat])) if self.own_hand_visible(seat) else None
        acts = tuple(
            (
                who,
                "discard" if act.startswith("discard:") and seat != self.dealer else act,
            )
            for who, act in self.history
        )
        rules = tuple(sorted(self.options.items()))
        return (rules, seat, self.dealer, self.scores, self.upcard, hand, acts)


def count_lines(game: Game) -> int:
    """Number of complete lines of play from here to the end of the deal, by plain recursion."""
    if game.deal_over:
        return 1
    total = 0
    for act in game.legal():
        after = game.copy()
        after.act(act)
        total += count_lines(after)
    return total
