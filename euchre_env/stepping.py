"""One step of many environments as kernels: the learner's act, the opponent's, deals between.

A compiled opponent plays inside the same compiled pass; rows that must ask any other agent stop
and wait until ``tables.Tables`` has asked for all of them at once.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from euchre_env.actions import NUM_ACTIONS, Phase
from euchre_env.dealing import AGENTS, SEATS, first_dealer, lay_out, substream
from euchre_env.engine import apply, legal_actions, next_deal, start_game, write_mask
from euchre_env.kernel import call_policy, int64, kernel, lowest
from euchre_env.observation import ABSOLUTE_ACTIONS, encode_into, frame_of, relative_bits
from euchre_env.opponents import draw_opponent, opponent_at
from euchre_env.state import NOBODY, States
from euchre_env.views import blank_into, row_at

AUTORESET_MODES: Final = ("NextStep", "SameStep", "Disabled")
"""Values of Gymnasium's ``AutoresetMode``, in the order of the codes that kernels use."""

ILLEGAL_REWARD: Final = -1.0
"""What an illegal act earns with ``illegal="penalise"`` and ``illegal="end"``."""

DEAL_OVER: Final = int(Phase.DEAL_OVER)
_GAME_OVER = int(Phase.GAME_OVER)
READY, WAITING, DONE, BROKEN = range(4)
"""The learner is to act; a batched opponent must be asked; the episode is over; the compiled
opponent gave an act that is not legal."""
_RAISE, _PENALISE, _END = range(3)
_SAME_STEP = 1
RANDOM_SEAT, SELF_PLAY = -1, 2
_TAKE_OVER: Final = 1 << 40


class Settings(NamedTuple):
    """What kernels must know of an environment's options; all integers."""

    opponents: int
    """Address of the table of opponents; 0 in self-play."""
    num_opponents: int
    """How many are in the table."""
    seat: int
    """0 or 1, -1 drawn for each episode, 2 self-play."""
    is_deal: bool
    is_win: bool
    is_relative: bool
    max_deals: int
    illegal: int
    skips_forced: bool
    autoreset: int
    scratch: int
    """Address of one row: the view that a compiled opponent reads."""


TABLE_DTYPE: Final = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("reward", np.float64),  # of this step
                ("episode_reward", np.float64),  # sum since the reset
                ("final_reward", np.float64),  # episode_reward of the episode that ended
                ("final_scores", np.int32, (2,)),
                ("final_winner", np.int8),
                ("final_seat", np.int8),
                ("final_to_act", np.int8),
                ("final_opponent", np.int16),
                ("opponent", np.int16),  # who has the other seat: index of an opponent, or -1
                ("seat", np.int8),  # whom the observation is for
                ("status", np.int8),  # ready, waiting for a batched opponent, done, broken
                ("is_pending", np.bool_),  # the episode is over, the reset is still to come
                ("has_ended", np.bool_),  # an episode ended in this step
                ("terminated", np.bool_),
                ("truncated", np.bool_),
            ],
            align=True,
        ),
    )
)
"""What an environment holds beside its game: one record a row."""


class Arrays(NamedTuple):
    """The arrays of n environments, handed to kernels as one."""

    states: States
    views: States
    tables: npt.NDArray[Any]
    observations: npt.NDArray[np.uint8]
    masks: npt.NDArray[np.int8]
    final_observations: npt.NDArray[np.uint8]


@kernel
def _credit(state: np.record, seat: int, settings: Settings) -> float:
    """What the deal that is over is worth to a seat."""
    points = np.float64(state.points[seat]) - np.float64(state.points[1 - seat])
    if not settings.is_win:
        return points
    if settings.is_deal:
        return np.sign(points)
    if state.winner == NOBODY:
        return 0.0
    return 1.0 if state.winner == seat else -1.0


@kernel
def _play_on(state: np.record, table: np.record, settings: Settings) -> None:
    """Go on until the learner is to act, the opponent must be asked, or the episode is over."""
    while True:
        if state.phase >= DEAL_OVER:
            credit = _credit(state, table.seat, settings)
            table.reward += credit
            sign = -1.0 if settings.seat == SELF_PLAY and table.seat == 1 else 1.0
            table.episode_reward += sign * credit
            table.terminated = state.phase == _GAME_OVER or settings.is_deal
            table.truncated = (
                not table.terminated
                and settings.max_deals > 0
                and state.deal_number >= settings.max_deals
            )
            if table.terminated or table.truncated:
                table.status = DONE
                return
            next_deal(state)
        if settings.skips_forced:
            bits = legal_actions(state)
            if bits & (bits - 1) == 0:  # one act only: nobody need be asked
                apply(state, lowest(bits))
                continue
        if settings.seat == SELF_PLAY or state.to_act == table.seat:
            table.status = READY
            return
        opponent = opponent_at(settings.opponents, table.opponent)
        if opponent.policy == 0:
            table.status = WAITING
            return
        blank_into(state, 1 - table.seat, row_at(settings.scratch))
        bits = legal_actions(state)
        action = call_policy(
            opponent.policy, settings.scratch, bits, decision_stream(state), opponent.memory
        )
        if not (0 <= action < NUM_ACTIONS and bits >> action & 1):
            table.status = BROKEN
            return
        apply(state, action)


@kernel
def decision_stream(state: np.record) -> np.uint64:
    """The random stream of one decision of an agent: no two of a game are alike."""
    return substream(state.stream, AGENTS, 16 * int64(state.num_draws) + state.num_actions)


@kernel
def _sit_down(state: np.record, table: np.record, settings: Settings, count: int) -> None:
    """Choose the learner's seat, and who plays the other, for an episode that begins."""
    table.episode_reward = 0.0
    table.opponent = draw_opponent(state.stream, count, settings.opponents, settings.num_opponents)
    seat = settings.seat
    if seat == RANDOM_SEAT:
        seat = int64(substream(state.stream, SEATS, count) >> np.uint64(63))
    table.seat = 0 if seat == SELF_PLAY else seat


@kernel
def _begin(state: np.record, table: np.record, settings: Settings) -> None:
    """A new episode from the game's stream; up to the learner's first act."""
    _sit_down(state, table, settings, state.num_draws)
    start_game(state)
    _play_on(state, table, settings)


@kernel
def _show(
    state: np.record,
    view: np.record,
    table: np.record,
    settings: Settings,
    observation: npt.NDArray[np.uint8],
    mask: npt.NDArray[np.int8],
) -> None:
    """Write view, observation and mask for the seat that is to see them."""
    bits = int64(0)
    if not table.is_pending:
        bits = legal_actions(state)
        if settings.seat == SELF_PLAY:
            table.seat = state.to_act
    blank_into(state, table.seat, view)
    encode_into(view, settings.is_relative, observation)
    write_mask(relative_bits(bits, frame_of(state, settings.is_relative)), mask)


@kernel
def show_rows(arrays: Arrays, settings: Settings, rows: npt.NDArray[np.int64]) -> None:
    """Write view, observation and mask of the rows given that are ready."""
    for i in rows:
        if arrays.tables[i].status == READY or arrays.tables[i].is_pending:
            _show(
                arrays.states[i],
                arrays.views[i],
                arrays.tables[i],
                settings,
                arrays.observations[i],
                arrays.masks[i],
            )


@kernel
def _note_end(state: np.record, table: np.record) -> None:
    """Keep what an episode ended with."""
    table.is_pending = True
    table.has_ended = True
    table.final_reward = table.episode_reward
    table.final_scores[0] = state.scores[0]
    table.final_scores[1] = state.scores[1]
    table.final_winner = state.winner
    table.final_seat = table.seat
    table.final_opponent = table.opponent
    table.final_to_act = state.to_act


@kernel
def _finish(
    state: np.record,
    view: np.record,
    table: np.record,
    settings: Settings,
    observation: npt.NDArray[np.uint8],
    mask: npt.NDArray[np.int8],
    final_observation: npt.NDArray[np.uint8],
) -> None:
    """After a row's acts: note an episode that ended, reset it where asked, show the rest."""
    if table.status == DONE:
        _note_end(state, table)
        if settings.autoreset == _SAME_STEP:
            _show(state, view, table, settings, final_observation, mask)
            table.is_pending = False
            _begin(state, table, settings)
            if table.status == WAITING or table.status == BROKEN:
                return
    _show(state, view, table, settings, observation, mask)


@kernel
def _find_illegal(
    states: States, tables: npt.NDArray[Any], settings: Settings, actions: npt.NDArray[np.int64]
) -> int:
    """The first row whose act would be refused, or -1."""
    for i in range(states.shape[0]):
        if not tables[i].is_pending and not _is_legal(states[i], settings, actions[i]):
            return i
    return -1


@kernel
def _is_legal(state: np.record, settings: Settings, action: int) -> bool:
    if not 0 <= action < NUM_ACTIONS:
        return False
    action = ABSOLUTE_ACTIONS[frame_of(state, settings.is_relative), action]
    return legal_actions(state) >> action & 1 != 0


@kernel
def _act(state: np.record, table: np.record, settings: Settings, action: int) -> None:
    """The learner's act in one row, and all that follows up to its next."""
    table.reward = 0.0
    table.terminated = False
    table.truncated = False
    table.has_ended = False
    if table.is_pending:  # NEXT_STEP: this step is the reset
        table.is_pending = False
        _begin(state, table, settings)
    elif settings.illegal != _RAISE and not _is_legal(state, settings, action):
        table.reward = ILLEGAL_REWARD
        table.episode_reward += ILLEGAL_REWARD
        table.terminated = settings.illegal == _END
        table.status = DONE if table.terminated else READY
    else:
        apply(state, ABSOLUTE_ACTIONS[frame_of(state, settings.is_relative), action])
        _play_on(state, table, settings)


@kernel
def step_rows(arrays: Arrays, settings: Settings, actions: npt.NDArray[np.int64]) -> int:
    """Step every row.

    Returns:
        -1 - i when row i's act is refused (nothing has changed then), else the number of rows
        that are not finished: they wait for a batched opponent, or it broke.
    """
    states, views, tables = arrays.states, arrays.views, arrays.tables
    observations, masks, finals = arrays.observations, arrays.masks, arrays.final_observations
    if settings.illegal == _RAISE:
        refused = _find_illegal(states, tables, settings, actions)
        if refused >= 0:
            return -1 - refused
    unfinished = 0
    for i in range(states.shape[0]):
        state, table = states[i], tables[i]
        _act(state, table, settings, actions[i])
        if table.status == READY or table.status == DONE:
            _finish(state, views[i], table, settings, observations[i], masks[i], finals[i])
        if table.status == WAITING or table.status == BROKEN:
            unfinished += 1
    return unfinished


@kernel
def reset_rows(arrays: Arrays, settings: Settings, rows: npt.NDArray[np.int64]) -> int:
    """Begin a new episode in the rows given. Returns the rows that are not finished."""
    unfinished = 0
    for i in rows:
        _clear(arrays.tables[i])
        _begin(arrays.states[i], arrays.tables[i], settings)
        unfinished += arrays.tables[i].status != READY
    show_rows(arrays, settings, rows)
    return unfinished


@kernel
def resume(arrays: Arrays, settings: Settings, rows: npt.NDArray[np.int64]) -> int:
    """Begin an episode from the position that is set in each row given.

    Returns:
        The rows that are not finished.
    """
    unfinished = 0
    for i in rows:
        _clear(arrays.tables[i])
        _sit_down(arrays.states[i], arrays.tables[i], settings, arrays.states[i].num_draws - 1)
        _play_on(arrays.states[i], arrays.tables[i], settings)
        unfinished += arrays.tables[i].status != READY
    show_rows(arrays, settings, rows)
    return unfinished


@kernel
def change_opponents(arrays: Arrays, settings: Settings, places: npt.NDArray[np.int64]) -> None:
    """Give every row, in which the learner is to act, its opponent among new ones.

    Args:
        arrays: of the environments.
        settings: with the new opponents.
        places: where each of the old opponents stands among the new, or -1: for an episode under
            way another is then drawn to take over.
    """
    for i in range(arrays.states.shape[0]):
        state, table = arrays.states[i], arrays.tables[i]
        place = places[table.opponent]
        if place < 0:
            count = _TAKE_OVER + int64(state.num_draws)  # no draw that an episode begins with
            place = draw_opponent(state.stream, count, settings.opponents, settings.num_opponents)
        table.opponent = place


@kernel
def _clear(table: np.record) -> None:
    """Forget what an episode before left in a row."""
    table.reward = 0.0
    table.is_pending = table.has_ended = table.terminated = table.truncated = False


@kernel
def answer_rows(
    arrays: Arrays,
    settings: Settings,
    rows: npt.NDArray[np.int64],
    actions: npt.NDArray[np.int64],
) -> None:
    """Do the acts that a batched opponent answered, and go on up to where it is asked again."""
    for k in range(rows.shape[0]):
        i = rows[k]
        state, table = arrays.states[i], arrays.tables[i]
        apply(state, actions[k])
        _play_on(state, table, settings)
        if table.status == READY or table.status == DONE:
            _finish(
                state,
                arrays.views[i],
                table,
                settings,
                arrays.observations[i],
                arrays.masks[i],
                arrays.final_observations[i],
            )


@kernel
def ask(
    arrays: Arrays,
    rows: npt.NDArray[np.int64],
    asked: States,
    masks: npt.NDArray[np.int8],
    streams: npt.NDArray[np.uint64],
) -> None:
    """What a batched opponent is shown of the rows that wait for it."""
    for k in range(rows.shape[0]):
        state = arrays.states[rows[k]]
        blank_into(state, 1 - arrays.tables[rows[k]].seat, asked[k])
        write_mask(legal_actions(state), masks[k])
        streams[k] = decision_stream(state)


@kernel
def set_deal(state: np.record, nondealer: int, dealer: int, upcard: int) -> None:
    """Lay out a given deal instead of drawing one; ``state.dealer`` is set."""
    state.hands[1 - state.dealer] = nondealer
    state.hands[state.dealer] = dealer
    lay_out(state, upcard)


@kernel
def start_rows(states: States) -> None:
    """A new game in every row: scores 0-0, first dealer drawn, nothing dealt yet."""
    for i in range(states.shape[0]):
        state = states[i]
        state.scores[0] = state.scores[1] = 0
        state.deal_number = 0
        state.dealer = first_dealer(state)
