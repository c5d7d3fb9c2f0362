"""Positions and deals as text.

A *deal* is the nondealer's hand, the dealer's hand and the upcard, separated by slashes. A
*position* is one line of blank-separated fields: the deal, the dealer's seat, the scores of seat
0 and seat 1, the acts so far, and the rules that differ from the defaults:

    JHJDAH9STC/KHQHASKC9C/9H d1 0-0 order_up,take,discard:9C,JH,9H
    JHJDAH9STC/??????????/9H d1 0-0 pass,accept,discard:?? seat=0 joker=True

A seat's view has ``??`` for what the seat does not know and ``seat=`` its own; ``docs/notation.md``
has the grammar. Every error quotes the text.
"""

import re
from typing import Any, Final

import numpy as np

from euchre_env.actions import (
    HIDDEN_DISCARD,
    Phase,
    action_name,
    action_number,
)
from euchre_env.cards import (
    HAND_SIZE,
    NUM_CARDS,
    card_list,
    card_name,
    card_number,
)
from euchre_env.dealing import is_dealt_right, lay_out
from euchre_env.engine import apply, legal_actions
from euchre_env.explain import why_illegal
from euchre_env.history import dealt_hand
from euchre_env.rules import OPTION_VALUES, Rules
from euchre_env.state import NO_CARD, NOBODY, States, new_states, rules_of
from euchre_env.views import blank, discard_place

UNKNOWN: Final = "??"
"""A card that the seat of a view does not know."""

_WHO: Final = ("the nondealer", "the dealer")


# --- deals --------------------------------------------------------------------------------------


def hand_text(mask: int) -> str:
    """The names of the cards dealt to a seat, low number first, ``??`` for those not known."""
    names = [card_name(number) for number in card_list(mask)]
    return "".join(names + [UNKNOWN] * (HAND_SIZE - len(names)))


def format_deal(state: np.record) -> str:
    """A deal as text: ``nondealer/dealer/upcard``, unknown cards as ``??``."""
    hands = (
        hand_text(int(dealt_hand(state, seat)))
        for seat in (1 - int(state.dealer), int(state.dealer))
    )
    return "/".join([*hands, card_name(int(state.upcard))])


def _cards_of(text: str, whole: str, who: str, num: int) -> list[int]:
    """The cards of a run of two-letter names, unknown ones as -1."""
    if len(text) != 2 * num:
        raise ValueError(f"{whole!r}: {who} has {num} cards of two letters each, not {text!r}")
    numbers = []
    for start in range(0, len(text), 2):
        name = text[start : start + 2]
        try:
            numbers.append(NO_CARD if name == UNKNOWN else card_number(name))
        except ValueError as problem:
            raise ValueError(f"{whole!r}: {problem}") from None
    return numbers


def _parse_hands(text: str) -> tuple[list[int], list[int], int]:
    parts = text.split("/")
    if len(parts) != 3:
        raise ValueError(f"{text!r} is no deal: it reads nondealer/dealer/upcard")
    nondealer = _cards_of(parts[0], text, _WHO[0], HAND_SIZE)
    dealer = _cards_of(parts[1], text, _WHO[1], HAND_SIZE)
    return nondealer, dealer, _cards_of(parts[2], text, "the upcard", 1)[0]


def read_deal(deal: Any, rules: Rules) -> tuple[int, int, int]:
    """A deal given as text or as card numbers, checked against the rules' deck.

    Args:
        deal: ``"nondealer/dealer/upcard"``, or ``(five numbers, five numbers, number)``.
        rules: which cards there are.

    Returns:
        The nondealer's and the dealer's hand (masks) and the upcard.

    Raises:
        ValueError: it is not 11 different cards of the deck; the deal is quoted.
    """
    if isinstance(deal, str):
        nondealer, dealer, upcard = _parse_hands(deal)
    else:
        try:
            nondealer, dealer = ([int(number) for number in hand] for hand in deal[:2])
            upcard = int(deal[2])
        except (TypeError, ValueError, IndexError):
            raise ValueError(
                f"{deal!r} is no deal: it is text like 'nondealer/dealer/upcard', or two lists of "
                "five card numbers and the upcard's"
            ) from None
    _check_cards([*nondealer, *dealer, upcard], deal, rules)
    hands = [sum(1 << number for number in hand) for hand in (nondealer, dealer)]
    state = new_states(1, rules)[0]
    state.hands[:] = hands
    if not is_dealt_right(state, upcard):
        what = (
            "the rules deal again when the joker is turned up"
            if len(nondealer) == len(dealer) == HAND_SIZE
            else "each seat has five cards"
        )
        raise ValueError(f"{deal!r}: {what}")
    return hands[0], hands[1], upcard


def _check_cards(numbers: list[int], deal: Any, rules: Rules, seat: int = NOBODY) -> None:
    """Different cards of the deck; in a view (``seat``) hands may hold unknown ones."""
    for place, number in enumerate(numbers):
        if number == NO_CARD and seat != NOBODY and place < 2 * HAND_SIZE:
            continue
        if not 0 <= number < NUM_CARDS:
            raise ValueError(f"{deal!r}: card number {number} is not known: a deal shows all cards")
        if not rules.deck >> number & 1:
            raise ValueError(f"{deal!r}: {card_name(number)} is not in the deck of {rules!r}")
        if numbers.count(number) > 1:
            raise ValueError(f"{deal!r}: {card_name(number)} stands there twice")


def parse_deal(text: str, rules: Rules | None = None) -> tuple[int, int, int]:
    """`read_deal` of a text."""
    return read_deal(text, rules or Rules())


def check_scores(scores: Any, target: int) -> tuple[int, int]:
    """The scores before a deal, checked: each below the target.

    Raises:
        ValueError: they are not two such numbers; they are quoted.
    """
    try:
        zero, one = (int(points) for points in scores)
    except (TypeError, ValueError):
        raise ValueError(
            f"scores={scores!r}: they are two numbers, seat 0's and seat 1's"
        ) from None
    if min(zero, one) < 0 or max(zero, one) >= target:
        raise ValueError(f"scores={scores!r}: before a deal each is 0 to {target - 1}")
    return zero, one


# --- positions ----------------------------------------------------------------------------------


def acts_of(state: np.record) -> list[str]:
    """The deal's acts so far by name; the discard as ``discard:<card>`` or ``discard:??``."""
    laid_away = int(discard_place(state))
    names = []
    for place, action in enumerate(state.history[: state.num_actions].tolist()):
        name = UNKNOWN if action == HIDDEN_DISCARD else action_name(action)
        names.append(f"discard:{name}" if place == laid_away else name)
    return names


def format_position(state: np.record) -> str:
    """A state or a view as one line of text; `parse_position` reads it back.

    The random stream and the number of the deal are no part of a position.
    """
    fields = [format_deal(state), f"d{int(state.dealer)}", _scores_before(state)]
    fields.append(",".join(acts_of(state)) or "-")
    if state.seat != NOBODY:
        fields.append(f"seat={int(state.seat)}")
    return " ".join([*fields, *options_text(rules_of(state))])


def _scores_before(state: np.record) -> str:
    """The scores before the deal: what it has scored itself follows from its acts."""
    zero, one = (int(state.scores[seat]) - int(state.points[seat]) for seat in (0, 1))
    return f"{zero}-{one}"


_HEAD: Final = re.compile(
    r"(?P<deal>\S+) d(?P<dealer>[01]) (?P<scores>[0-9]{1,10}-[0-9]{1,10}) (?P<acts>\S+)"
)
_OPTION: Final = re.compile(r"(?P<name>[a-z_0-9]+)=(?P<value>\S+)")


def options_text(rules: Rules) -> list[str]:
    """The options that differ from the defaults, as a position names them: ``name=value``."""
    return [f"{name}={value}" for name, value in rules.changed().items()]


def read_options(words: list[str], text: str) -> tuple[Rules, int]:
    """The rules and the seat (or `NOBODY`) that the last fields of a position name.

    Raises:
        ValueError: a word is no option, or they mean nothing together; ``text`` is quoted.
    """
    options: dict[str, Any] = {}
    seat = NOBODY
    for word in words:
        match = _OPTION.fullmatch(word)
        if match is None or match["name"] in options:
            raise ValueError(f"{text!r}: {word!r} is no rule option, or stands there twice")
        name, value = match["name"], match["value"]
        if name == "seat" and value in ("0", "1") and seat == NOBODY:
            seat = int(value)
        elif name == "target_score" and re.fullmatch("[0-9]{1,10}", value):
            options[name] = int(value)
        elif name in OPTION_VALUES:
            by_text = {str(known): known for known in OPTION_VALUES[name]}
            options[name] = by_text.get(value, value)
        else:
            raise ValueError(f"{text!r}: {word!r} is no rule option")
    try:
        return Rules(**options), seat
    except ValueError as problem:
        raise ValueError(f"{text!r}: {problem}") from None


def parse_position(text: str, rules: Rules | None = None) -> States:
    """The state, or the view, that a line of text describes.

    Args:
        text: one line, as `format_position` writes it.
        rules: what the position must be played by; when None, what the line says.

    Returns:
        One row, shape (1,): a full state without a random stream, or a view.

    Raises:
        ValueError: the text is no position, or an act in it is not legal; the text is quoted.
    """
    words = text.split()
    match = _HEAD.fullmatch(" ".join(words[:4]))
    if match is None:
        raise ValueError(
            f"{text!r} is no position: it reads deal, d<dealer>, scores, acts (or -), rules, like "
            "'JHJDAH9STC/KHQHASKC9C/9H d1 0-0 order_up,take,discard:9C,JH'"
        )
    said, seat = read_options(words[4:], text)
    if rules is not None and said not in (rules, Rules()):
        raise ValueError(f"{text!r}: played by {said!r}, not by {rules!r}")
    states = new_states(1, rules or said)
    state = states[0]
    state.dealer = int(match["dealer"])
    points = [int(word) for word in match["scores"].split("-")]
    try:
        states["scores"][0] = check_scores(points, int(state.target_score))
    except ValueError as problem:
        raise ValueError(f"{text!r}: {problem}") from None
    acts = [] if match["acts"] == "-" else match["acts"].split(",")
    if seat != NOBODY:
        return _parse_view(states, match["deal"], acts, seat, text)
    state.hands[:] = _hands_by_seat(read_deal(match["deal"], rules_of(state)), int(state.dealer))
    lay_out(state, read_deal(match["deal"], rules_of(state))[2])
    for name in acts:
        do_act(state, name, text)
    return states


def _parse_view(states: States, deal: str, acts: list[str], seat: int, text: str) -> States:
    """The view that a text with unknown cards describes.

    Any cards that fit stand in for the unknown ones while the acts are done; what the seat cannot
    know is then blanked again, and what is left must read as the text does.
    """
    dealer = int(states[0].dealer)
    nondealer_hand, dealer_hand, upcard = _parse_hands(deal)
    _check_cards([*nondealer_hand, *dealer_hand, upcard], deal, rules_of(states[0]), seat)
    hands = [dealer_hand, nondealer_hand] if dealer == 0 else [nondealer_hand, dealer_hand]
    named = [number for number in (*nondealer_hand, *dealer_hand, upcard) if number != NO_CARD]
    spare = [c for c in card_list(int(states[0].deck)) if c not in named]
    barred: set[int] = set()  # stand-ins that would have had to follow suit
    for _ in range(len(spare) + 2):
        filled, stand_ins = _stand_in(hands, spare, barred, text)
        state = states.copy()
        masks = [sum(1 << number for number in hand) for hand in filled]
        read_deal(
            (filled[1 - dealer], filled[dealer], upcard), rules_of(states[0])
        )  # checks the cards that are named
        state[0].hands[:] = masks
        lay_out(state[0], upcard)
        conflict = _replay(state[0], acts, stand_ins, barred, text)
        if not conflict:
            view = blank(state, seat)
            if format_deal(view[0]) != deal or acts_of(view[0]) != acts:
                if NO_CARD in hands[seat]:
                    raise ValueError(f"{text!r}: seat {seat} knows all cards of its own hand")
                raise ValueError(
                    f"{text!r}: seat {seat} knows {format_deal(view[0])} "
                    f"{','.join(acts_of(view[0])) or '-'}"
                )
            return view
        barred |= conflict
    raise ValueError(f"{text!r}: no hand of the other player fits these acts")


def _stand_in(
    hands: list[list[int]], spare: list[int], barred: set[int], text: str
) -> tuple[list[list[int]], set[int]]:
    """Hands whose unknown cards are spare ones, those not barred first; and which those are."""
    pool = [c for c in spare if c not in barred] + [c for c in spare if c in barred]
    filled: list[list[int]] = []
    used: set[int] = set()
    for hand in hands:
        new = []
        for number in hand:
            if number == NO_CARD:
                number = pool.pop(0)
                used.add(number)
            new.append(number)
        filled.append(new)
    return filled, used


def _replay(
    state: np.record, acts: list[str], stand_ins: set[int], barred: set[int], text: str
) -> set[int]:
    """Do the acts; returns stand-ins that were in the way of one (nothing more is done then)."""
    upcard = int(state.upcard)
    for name in acts:
        if name == f"discard:{UNKNOWN}":
            held = [c for c in card_list(int(legal_actions(state))) if c in stand_ins]
            held.sort(key=lambda c: c not in barred)  # a barred card was laid away, if any
            if held and upcard not in barred:
                name = f"discard:{card_name(held[0])}"
            else:
                name = f"discard:{card_name(upcard)}"
        elif state.phase == Phase.PLAY:
            hidden = stand_ins | {upcard}
            legal = set(card_list(int(legal_actions(state))))
            wanted = _act_number(name, text)
            holds = int(state.hands[state.to_act]) >> wanted & 1
            if holds and wanted not in legal and legal <= hidden and not legal <= barred:
                return legal
        do_act(state, name, text, sum(1 << number for number in stand_ins))
    return set()


def _hands_by_seat(deal: tuple[int, int, int], dealer: int) -> tuple[int, int]:
    return (deal[1], deal[0]) if dealer == 0 else (deal[0], deal[1])


def _act_number(name: str, text: str) -> int:
    try:
        return action_number(name)
    except ValueError as problem:
        raise ValueError(f"{text!r}: {problem}") from None


def do_act(state: np.record, name: str, text: str, stand_ins: int = 0) -> None:
    """Do a named act in a full state; no error names the cards ``stand_ins`` (a mask) as held.

    Raises:
        ValueError: it is no act, or not legal now; the whole text is quoted.
    """
    action = _act_number(name, text)
    verb = name.partition(":")[0]
    is_discard = state.phase == Phase.DISCARD
    if not legal_actions(state) >> action & 1:
        is_told = state.phase >= Phase.DEAL_OVER or not int(state.hands[state.to_act]) & stand_ins
        if action >= NUM_CARDS or is_told:
            raise ValueError(f"{text!r}: {why_illegal(state, action)}")
        raise ValueError(f"{text!r}: {name!r} does not fit what is known of seat {state.to_act}")
    if action < NUM_CARDS and (verb == "discard") != is_discard:
        wanted = f"discard:{card_name(action)}" if is_discard else card_name(action)
        raise ValueError(f"{text!r}: {name!r} should read {wanted!r} here")
    apply(state, action)
