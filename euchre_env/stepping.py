"""One step of many environments: the learner's act, the opponent's acts, the deals between.

Both environments are thin doors around `Tables`: the single one holds one row, the vector one n.
A compiled opponent plays inside the same compiled pass; any other agent is asked in batches of
all the rows that wait for it.
"""

from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from euchre_env import notation, registry, views
from euchre_env.actions import NUM_ACTIONS, Phase
from euchre_env.dealing import (
    AGENTS,
    SEATS,
    first_dealer,
    lay_out,
    seed_streams,
    seed_word,
    substream,
)
from euchre_env.dealing import deal as draw_deal
from euchre_env.engine import apply, legal_actions, next_deal, start_game, write_mask
from euchre_env.kernel import IS_COMPILED, call_policy, int64, kernel
from euchre_env.observation import (
    ABSOLUTE_ACTIONS,
    OBSERVATION_SIZE,
    encode_into,
    frame_of,
    relative_bits,
)
from euchre_env.rules import Rules
from euchre_env.state import NOBODY, STATE_DTYPE, States, new_states
from euchre_env.views import blank_into

Episode = Literal["game", "deal"]
Reward = Literal["points", "win"]
Seat = Literal["random", 0, 1]
Suits = Literal["absolute", "relative"]
Illegal = Literal["raise", "penalise", "end"]

AUTORESET_MODES: Final = ("NextStep", "SameStep", "Disabled")
"""Values of Gymnasium's ``AutoresetMode``, in the order of the codes that kernels use."""

ILLEGAL_REWARD: Final = -1.0
"""What an illegal act earns with ``illegal="penalise"`` and ``illegal="end"``."""

_DEAL_OVER, _GAME_OVER = int(Phase.DEAL_OVER), int(Phase.GAME_OVER)
_READY, _WAITING, _DONE, _BROKEN = range(4)
_RAISE, _PENALISE, _END = range(3)
_SAME_STEP = 1
_RANDOM_SEAT, _SELF_PLAY = -1, 2


class Settings(NamedTuple):
    """What kernels must know of an environment's options; all integers."""

    opponent: int
    """Address of a compiled opponent, or 0 for one that is asked in batches."""
    seat: int
    """0 or 1, -1 drawn for each episode, 2 self-play."""
    is_deal: bool
    is_win: bool
    is_relative: bool
    max_deals: int
    illegal: int
    autoreset: int


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
def _play_on(
    state: np.record, table: np.record, settings: Settings, scratch: States, address: int
) -> None:
    """Go on until the learner is to act, the opponent must be asked, or the episode is over."""
    while True:
        if state.phase >= _DEAL_OVER:
            credit = _credit(state, table.seat, settings)
            table.reward += credit
            sign = -1.0 if settings.seat == _SELF_PLAY and table.seat == 1 else 1.0
            table.episode_reward += sign * credit
            table.terminated = state.phase == _GAME_OVER or settings.is_deal
            table.truncated = (
                not table.terminated
                and settings.max_deals > 0
                and state.deal_number >= settings.max_deals
            )
            if table.terminated or table.truncated:
                table.status = _DONE
                return
            next_deal(state)
        if settings.seat == _SELF_PLAY or state.to_act == table.seat:
            table.status = _READY
            return
        if settings.opponent == 0:
            table.status = _WAITING
            return
        blank_into(state, 1 - table.seat, scratch, 0)
        bits = legal_actions(state)
        action = call_policy(settings.opponent, address, bits, decision_stream(state))
        if not (0 <= action < NUM_ACTIONS and bits >> action & 1):
            table.status = _BROKEN
            return
        apply(state, action)


@kernel
def decision_stream(state: np.record) -> np.uint64:
    """The random stream of one decision of an agent: no two of a game are alike."""
    return substream(state.stream, AGENTS, 16 * int64(state.num_draws) + state.num_actions)


@kernel
def _begin(
    state: np.record, table: np.record, settings: Settings, scratch: States, address: int
) -> None:
    """A new episode from the game's stream; up to the learner's first act."""
    table.episode_reward = 0.0
    seat = settings.seat
    if seat == _RANDOM_SEAT:
        seat = int64(substream(state.stream, SEATS, state.num_draws) >> np.uint64(63))
    table.seat = 0 if seat == _SELF_PLAY else seat
    start_game(state)
    _play_on(state, table, settings, scratch, address)


@kernel
def _show(
    states: States,
    viewed: States,
    tables: npt.NDArray[Any],
    i: int,
    settings: Settings,
    observation: npt.NDArray[np.uint8],
    mask: npt.NDArray[np.int8],
) -> None:
    """Write view, observation and mask of a row for the seat that is to see it."""
    state, table = states[i], tables[i]
    bits = int64(0)
    if not table.is_pending:
        bits = legal_actions(state)
        if settings.seat == _SELF_PLAY:
            table.seat = state.to_act
    blank_into(state, table.seat, viewed, i)
    encode_into(viewed[i], settings.is_relative, observation)
    write_mask(relative_bits(bits, frame_of(state, settings.is_relative)), mask)


@kernel
def _show_all(
    states: States,
    viewed: States,
    tables: npt.NDArray[Any],
    settings: Settings,
    observations: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.int8],
) -> None:
    for i in range(states.shape[0]):
        _show(states, viewed, tables, i, settings, observations[i], masks[i])


@kernel
def _finish(
    states: States,
    viewed: States,
    tables: npt.NDArray[Any],
    i: int,
    settings: Settings,
    observations: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.int8],
    final_observations: npt.NDArray[np.uint8],
    scratch: States,
    address: int,
) -> None:
    """After a row's acts: note an episode that ended, reset it where asked, show the rest."""
    state, table = states[i], tables[i]
    if table.status == _DONE:
        table.is_pending = True
        table.has_ended = True
        table.final_reward = table.episode_reward
        table.final_scores[0] = state.scores[0]
        table.final_scores[1] = state.scores[1]
        table.final_winner = state.winner
        table.final_seat = table.seat
        table.final_to_act = state.to_act
        if settings.autoreset == _SAME_STEP:
            _show(states, viewed, tables, i, settings, final_observations[i], masks[i])
            table.is_pending = False
            _begin(state, table, settings, scratch, address)
            if table.status == _WAITING:
                return
    _show(states, viewed, tables, i, settings, observations[i], masks[i])


@kernel
def _find_illegal(
    states: States,
    tables: npt.NDArray[Any],
    settings: Settings,
    actions: npt.NDArray[np.int64],
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
def _step_rows(
    states: States,
    viewed: States,
    tables: npt.NDArray[Any],
    settings: Settings,
    actions: npt.NDArray[np.int64],
    observations: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.int8],
    final_observations: npt.NDArray[np.uint8],
    scratch: States,
    address: int,
) -> int:
    """Step every row.

    Returns:
        -1 - i when row i's act is refused (nothing has changed then), else the number of rows
        that are not finished: they wait for a batched opponent, or it broke.
    """
    if settings.illegal == _RAISE:
        refused = _find_illegal(states, tables, settings, actions)
        if refused >= 0:
            return -1 - refused
    unfinished = 0
    for i in range(states.shape[0]):
        state, table = states[i], tables[i]
        table.reward = 0.0
        table.terminated = False
        table.truncated = False
        table.has_ended = False
        if table.is_pending:  # NEXT_STEP: this step is the reset
            table.is_pending = False
            _begin(state, table, settings, scratch, address)
        elif settings.illegal != _RAISE and not _is_legal(state, settings, actions[i]):
            table.reward = ILLEGAL_REWARD
            table.episode_reward += ILLEGAL_REWARD
            table.terminated = settings.illegal == _END
            table.status = _DONE if table.terminated else _READY
        else:
            frame = frame_of(state, settings.is_relative)
            apply(state, ABSOLUTE_ACTIONS[frame, actions[i]])
            _play_on(state, table, settings, scratch, address)
        if table.status == _READY or table.status == _DONE:
            _finish(
                states, viewed, tables, i, settings,
                observations, masks, final_observations, scratch, address,
            )  # fmt: skip
        if table.status == _WAITING or table.status == _BROKEN:
            unfinished += 1
    return unfinished


@kernel
def _reset_rows(
    states: States,
    viewed: States,
    tables: npt.NDArray[Any],
    settings: Settings,
    rows: npt.NDArray[np.int64],
    observations: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.int8],
    scratch: States,
    address: int,
) -> int:
    """Begin a new episode in the rows given. Returns the rows that are not finished."""
    unfinished = 0
    for i in rows:
        table = tables[i]
        table.reward = 0.0
        table.is_pending = table.has_ended = table.terminated = table.truncated = False
        _begin(states[i], table, settings, scratch, address)
        if table.status == _READY:
            _show(states, viewed, tables, i, settings, observations[i], masks[i])
        else:
            unfinished += 1
    return unfinished


@kernel
def _answer_rows(
    states: States,
    viewed: States,
    tables: npt.NDArray[Any],
    settings: Settings,
    rows: npt.NDArray[np.int64],
    actions: npt.NDArray[np.int64],
    observations: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.int8],
    final_observations: npt.NDArray[np.uint8],
    scratch: States,
    address: int,
) -> int:
    """Do the acts that a batched opponent answered. Returns the rows that wait again."""
    unfinished = 0
    for k in range(rows.shape[0]):
        i = rows[k]
        table = tables[i]
        apply(states[i], actions[k])
        _play_on(states[i], table, settings, scratch, address)
        if table.status != _WAITING:
            _finish(
                states, viewed, tables, i, settings,
                observations, masks, final_observations, scratch, address,
            )  # fmt: skip
        if table.status == _WAITING:
            unfinished += 1
    return unfinished


@kernel
def _ask(
    states: States,
    tables: npt.NDArray[Any],
    rows: npt.NDArray[np.int64],
    asked: States,
    masks: npt.NDArray[np.int8],
    streams: npt.NDArray[np.uint64],
) -> None:
    """What a batched opponent is shown of the rows that wait for it."""
    for k in range(rows.shape[0]):
        state = states[rows[k]]
        blank_into(state, 1 - tables[rows[k]].seat, asked, k)
        write_mask(legal_actions(state), masks[k])
        streams[k] = decision_stream(state)


@kernel
def _set_deal(state: np.record, nondealer: int, dealer: int, upcard: int) -> None:
    """Lay out a given deal instead of drawing one; ``state.dealer`` is set."""
    state.hands[1 - state.dealer] = nondealer
    state.hands[state.dealer] = dealer
    lay_out(state, upcard)


@kernel
def _resume(
    states: States,
    viewed: States,
    tables: npt.NDArray[Any],
    settings: Settings,
    i: int,
    observations: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.int8],
    scratch: States,
    address: int,
) -> int:
    """Begin an episode from the position that is set in row i."""
    table = tables[i]
    table.reward = table.episode_reward = 0.0
    table.is_pending = table.has_ended = table.terminated = table.truncated = False
    seat = settings.seat
    if seat == _RANDOM_SEAT:
        seat = int64(substream(states[i].stream, SEATS, states[i].num_draws) >> np.uint64(63))
    table.seat = 0 if seat == _SELF_PLAY else seat
    _play_on(states[i], table, settings, scratch, address)
    if table.status == _READY:
        _show(states, viewed, tables, i, settings, observations[i], masks[i])
    return 0 if table.status == _READY else 1


def _choice(name: str, value: Any, allowed: tuple[Any, ...]) -> int:
    """The place of an option's value among those allowed, or a clear error."""
    for place, known in enumerate(allowed):
        if value == known and isinstance(value, bool) == isinstance(known, bool):
            return place
    raise ValueError(f"{name}={value!r}: it is one of {', '.join(map(repr, allowed))}")


class OpponentError(RuntimeError):
    """An opponent answered with acts that are not legal, or not acts at all."""


class Tables:
    """n environments: their games, what their learners see, and the opponent they play.

    Attributes:
        states: the games, shape (n,). Hidden cards are in here: nothing above the doors reads it.
        views: what each learner sees, shape (n,).
        tables: rewards and flags, dtype `TABLE_DTYPE`, shape (n,).
        columns: ``tables`` by field; seen: some fields of ``views``.
        observations: uint8, shape (n, OBSERVATION_SIZE); overwritten at every step.
        masks: int8, shape (n, 42), 1 = legal; overwritten at every step.
        final_observations: uint8, shape (n, OBSERVATION_SIZE); rows that ended in a same-step
            reset.
    """

    def __init__(
        self,
        num: int,
        *,
        rules: Rules | None = None,
        opponent: Any = "novice",
        episode: Episode = "game",
        reward: Reward = "points",
        seat: Seat = "random",
        suits: Suits = "absolute",
        max_deals: int | None = None,
        illegal: Illegal = "raise",
        autoreset: str = "Disabled",
    ) -> None:
        """Check the options; `reset` deals.

        Raises:
            ValueError: an option has a value that it does not take.
        """
        if rules is not None and not isinstance(rules, Rules):
            raise ValueError(f"rules={rules!r}: they are a Rules object, like Rules.british()")
        if max_deals is not None and (isinstance(max_deals, bool) or max_deals < 1):
            raise ValueError(f"max_deals={max_deals!r}: it is None or at least 1")
        self.rules = rules or Rules()
        self.opponent: Any = None if opponent is None else registry.resolve_agent(opponent)
        seat_code = (_RANDOM_SEAT, 0, 1)[_choice("seat", seat, get_args(Seat))]
        self.settings = Settings(
            opponent=0,
            seat=_SELF_PLAY if self.opponent is None else seat_code,
            is_deal=_choice("episode", episode, get_args(Episode)) == 1,
            is_win=_choice("reward", reward, get_args(Reward)) == 1,
            is_relative=_choice("suits", suits, get_args(Suits)) == 1,
            max_deals=max_deals or 0,
            illegal=_choice("illegal", illegal, get_args(Illegal)),
            autoreset=_choice("autoreset_mode", autoreset, AUTORESET_MODES),
        )
        self.states = new_states(num, self.rules)
        self.views = np.empty(num, dtype=STATE_DTYPE)
        self.tables = np.zeros(num, dtype=TABLE_DTYPE)
        self.observations = np.zeros((num, OBSERVATION_SIZE), dtype=np.uint8)
        self.masks = np.zeros((num, NUM_ACTIONS), dtype=np.int8)
        self.final_observations = np.zeros((num, OBSERVATION_SIZE), dtype=np.uint8)
        self.is_seeded = np.zeros(num, dtype=np.bool_)
        self.is_begun = np.zeros(num, dtype=np.bool_)
        self._scratch = np.empty(1, dtype=STATE_DTYPE)
        self._link()

    def _link(self) -> None:
        """What follows from the arrays and from this process; columns are quick to read."""
        self._address = int(self._scratch.ctypes.data)
        self.columns = {name: self.tables[name] for name in TABLE_DTYPE.names or ()}
        self.seen = {name: self.views[name] for name in ("to_act", "scores", "winner")}
        address = int(getattr(self.opponent, "policy_address", 0)) if IS_COMPILED else 0
        self.settings = self.settings._replace(opponent=address)

    def __getstate__(self) -> dict[str, Any]:
        """All but what `_link` makes: columns are windows, and addresses are one process's."""
        kept = {k: v for k, v in self.__dict__.items() if k not in ("columns", "seen", "_address")}
        return {**kept, "settings": self.settings._replace(opponent=0)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take up the arrays, with the opponent's address of this process."""
        self.__dict__.update(state)
        self._link()

    @property
    def is_self_play(self) -> bool:
        """Whether the caller acts for both seats."""
        return self.settings.seat == _SELF_PLAY

    def __len__(self) -> int:
        """How many games."""
        return len(self.states)

    def seed(self, rows: npt.NDArray[np.int64], seeds: list[int]) -> None:
        """Give rows their random streams."""
        chosen = self.states[rows]
        seed_streams(chosen, np.array([seed_word(seed) for seed in seeds], dtype=np.uint64))
        self.states[rows] = chosen
        self.is_seeded[rows] = True

    def reset(self, rows: npt.NDArray[np.int64]) -> None:
        """Begin a new episode in the rows given, from their random streams."""
        unfinished = _reset_rows(
            self.states, self.views, self.tables, self.settings, rows,
            self.observations, self.masks, self._scratch, self._address,
        )  # fmt: skip
        self.is_begun[rows] = True
        if unfinished:
            self._ask_opponent()

    def reset_to(self, row: int, start: States) -> None:
        """Begin an episode in a row from a position instead of a drawn deal.

        Args:
            row: which environment.
            start: one full state; its random stream is replaced by the row's own.

        Raises:
            ValueError: the position leaves the learner nothing to do. Nothing has changed then.
        """
        if start[0]["phase"] >= _DEAL_OVER:
            raise ValueError(
                f"the deal is over in the position {notation.format_position(start[0])!r}"
            )
        before = self.states[row].copy(), self.tables[row].copy()
        begun = start[0].copy()
        for name in ("stream", "num_draws"):
            begun[name] = self.states[row][name]
        self.states[row] = begun
        unfinished = _resume(
            self.states, self.views, self.tables, self.settings, row,
            self.observations, self.masks, self._scratch, self._address,
        )  # fmt: skip
        if unfinished:
            self._ask_opponent()
        if self.tables[row]["status"] == _DONE:
            self.states[row], self.tables[row] = before
            raise ValueError(
                "the position leaves the learner nothing to do: "
                f"{notation.format_position(start[0])!r}"
            )
        self.is_begun[row] = True

    def step(self, actions: npt.NDArray[np.int64]) -> int:
        """Step every row.

        Args:
            actions: int64, shape (n,), contiguous.

        Returns:
            -1, or the row whose act was refused; nothing has changed then.

        Raises:
            OpponentError: the opponent's answer was no legal act.
        """
        unfinished = _step_rows(
            self.states, self.views, self.tables, self.settings, actions,
            self.observations, self.masks, self.final_observations,
            self._scratch, self._address,
        )  # fmt: skip
        if unfinished < 0:
            return -1 - int(unfinished)
        if unfinished:
            self._ask_opponent()
        return -1

    def restore(self, states: States, tables: npt.NDArray[Any]) -> None:
        """Take up games and flags that another moment's `states` and `tables` held.

        Raises:
            ValueError: they are of another number of games, or of games under other rules.
        """
        if states.shape != self.states.shape or tables.shape != self.tables.shape:
            raise ValueError(f"a saved state of {len(states)} games does not fit {len(self)}")
        if Rules.from_codes(states[0]) != self.rules:
            raise ValueError(f"saved under {Rules.from_codes(states[0])!r}, not {self.rules!r}")
        self.states[:] = states
        self.tables[:] = tables
        _show_all(
            self.states, self.views, self.tables, self.settings, self.observations, self.masks
        )
        self.is_seeded[:] = self.is_begun[:] = True

    def _ask_opponent(self) -> None:
        """Ask a batched opponent for its acts until no row waits for it."""
        status = self.columns["status"]
        broken = np.flatnonzero(status == _BROKEN)
        if len(broken):
            raise self._opponent_error(int(broken[0]), "an act that is not legal")
        rows = np.flatnonzero(status == _WAITING)
        while len(rows):
            asked = np.empty(len(rows), dtype=STATE_DTYPE)
            masks = np.empty((len(rows), NUM_ACTIONS), dtype=np.int8)
            streams = np.empty(len(rows), dtype=np.uint64)
            _ask(self.states, self.tables, rows, asked, masks, streams)
            answers = np.asarray(self.opponent.act(asked, masks.copy(), streams))
            self._check_answers(rows, answers, masks)
            _answer_rows(
                self.states, self.views, self.tables, self.settings, rows,
                answers.astype(np.int64), self.observations, self.masks,
                self.final_observations, self._scratch, self._address,
            )  # fmt: skip
            rows = np.flatnonzero(status == _WAITING)

    def _check_answers(
        self, rows: npt.NDArray[np.int64], answers: npt.NDArray[Any], masks: npt.NDArray[np.int8]
    ) -> None:
        if answers.shape != rows.shape or not np.issubdtype(answers.dtype, np.integer):
            raise OpponentError(
                f"the opponent {self._opponent_name()} answered {len(rows)} views with an array "
                f"of shape {answers.shape} and dtype {answers.dtype}: "
                "one whole number a view is wanted"
            )
        in_range = (answers >= 0) & (answers < NUM_ACTIONS)
        legal = in_range & (masks[np.arange(len(rows)), np.where(in_range, answers, 0)] == 1)
        if not legal.all():
            k = int(np.flatnonzero(~legal)[0])
            raise self._opponent_error(int(rows[k]), f"the act {answers[k]}, which is not legal")

    def _opponent_name(self) -> str:
        return str(getattr(self.opponent, "name", type(self.opponent).__name__))

    def _opponent_error(self, row: int, what: str) -> OpponentError:
        seen = views.blank(self.states[row : row + 1], 1 - int(self.tables[row]["seat"]))
        return OpponentError(
            f"the opponent {self._opponent_name()} answered with {what}, in the position "
            f"{notation.format_position(seen[0])!r}"
        )


@kernel
def _start_rows(states: States) -> None:
    """A new game in every row: scores 0-0, first dealer drawn, nothing dealt yet."""
    for i in range(states.shape[0]):
        state = states[i]
        state.scores[0] = state.scores[1] = 0
        state.deal_number = 0
        state.dealer = first_dealer(state)


def set_position(
    template: States, *, deal: Any = None, dealer: Any = None, scores: Any = None,
    position: Any = None,
) -> States:  # fmt: skip
    """A full state set up from the options of ``reset``; what is not given is drawn.

    Args:
        template: one row with rules and random stream; not changed.
        deal: text ``nondealer/dealer/upcard`` (see ``docs/notation.md``), or the three as card
            numbers.
        dealer: the seat that deals.
        scores: points of seat 0 and seat 1 before the deal.
        position: a whole position as one line of text; excludes the other three.

    Returns:
        One full state, shape (1,).

    Raises:
        ValueError: something means nothing; it is quoted.
    """
    if position is not None:
        if deal is not None or dealer is not None or scores is not None:
            raise ValueError("options: a position says deal, dealer and scores already")
        return notation.parse_position(str(position), rules=Rules.from_codes(template[0]))
    states = template[:1].copy()
    _start_rows(states)
    state = states[0]
    if scores is not None:
        states["scores"][0] = notation.check_scores(scores, int(state["target_score"]))
    if dealer is not None:
        if isinstance(dealer, bool) or dealer not in (0, 1):
            raise ValueError(f"dealer={dealer!r}: the dealer is seat 0 or seat 1")
        states["dealer"][0] = dealer
    if deal is None:
        draw_deal(state)
    else:
        _set_deal(state, *notation.read_deal(deal, Rules.from_codes(state)))
    return states
