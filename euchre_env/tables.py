"""n environments in one object: options, games, what is shown, and the opponent they ask.

Both environments are thin doors around `Tables`: the single one holds one row, the vector one n.
"""

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from euchre_env import notation, views
from euchre_env.actions import NUM_ACTIONS
from euchre_env.dealing import deal as draw_deal
from euchre_env.dealing import seed_streams, seed_word
from euchre_env.history import RULE_FIELDS
from euchre_env.observation import OBSERVATION_SIZE
from euchre_env.opponents import opponent_name, opponents_of
from euchre_env.rules import MAX_TARGET_SCORE, Rules
from euchre_env.rules_text import rules_from
from euchre_env.state import NOBODY, STATE_DTYPE, States, new_states
from euchre_env.stepping import (
    AUTORESET_MODES,
    BROKEN,
    DEAL_OVER,
    DONE,
    RANDOM_SEAT,
    SELF_PLAY,
    TABLE_DTYPE,
    WAITING,
    Arrays,
    Settings,
    answer_rows,
    ask,
    change_opponents,
    reset_rows,
    resume,
    set_deal,
    show_rows,
    start_rows,
    step_rows,
)

Episode = Literal["game", "deal"]
Reward = Literal["points", "win"]
Seat = Literal["random", 0, 1]
Suits = Literal["absolute", "relative"]
Illegal = Literal["raise", "penalise", "end"]


def choice(name: str, value: Any, allowed: tuple[Any, ...]) -> int:
    """The place of an option's value among those allowed.

    Raises:
        ValueError: it is none of them; the message lists them.
    """
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
        opponents: whom they play, None in self-play.
        asked_seconds: what asking each batched opponent has taken, float64, shape (opponents,);
            those compiled play inside the step.
        asked_views: how many views each was shown, int64, likewise.
    """

    def __init__(
        self,
        num: int,
        *,
        rules: Rules | str | None = None,
        opponent: Any = "novice",
        episode: Episode = "game",
        reward: Reward = "points",
        seat: Seat = "random",
        suits: Suits = "absolute",
        max_deals: int | None = None,
        illegal: Illegal = "raise",
        skip_forced: bool = False,
        autoreset: str = "Disabled",
    ) -> None:
        """Check the options; `reset` deals.

        Raises:
            ValueError: an option has a value that it does not take.
        """
        if max_deals is not None and (
            isinstance(max_deals, bool)
            or not isinstance(max_deals, int | np.integer)
            or not 1 <= max_deals <= MAX_TARGET_SCORE
        ):
            raise ValueError(f"max_deals={max_deals!r}: it is None or at least 1")
        self.rules = rules_from(rules)
        self.opponents = None if opponent is None else opponents_of(opponent)
        seat_code = (RANDOM_SEAT, 0, 1)[choice("seat", seat, get_args(Seat))]
        self.settings = Settings(
            opponents=0,
            num_opponents=0,
            scratch=0,
            seat=SELF_PLAY if self.opponents is None else seat_code,
            is_deal=choice("episode", episode, get_args(Episode)) == 1,
            is_win=choice("reward", reward, get_args(Reward)) == 1,
            is_relative=choice("suits", suits, get_args(Suits)) == 1,
            max_deals=max_deals or 0,
            illegal=choice("illegal", illegal, get_args(Illegal)),
            skips_forced=choice("skip_forced", skip_forced, (False, True)) == 1,
            autoreset=choice("autoreset_mode", autoreset, AUTORESET_MODES),
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
        self._count_asked_anew()
        self._link()

    def _count_asked_anew(self) -> None:
        num = 0 if self.opponents is None else len(self.opponents)
        self.asked_seconds, self.asked_views = np.zeros(num), np.zeros(num, dtype=np.int64)

    def _link(self) -> None:
        """What follows from the arrays and from this process; columns are quick to read."""
        self._arrays = Arrays(
            self.states,
            self.views,
            self.tables,
            self.observations,
            self.masks,
            self.final_observations,
        )
        self.columns = {name: self.tables[name] for name in TABLE_DTYPE.names or ()}
        self.seen = {name: self.views[name] for name in ("to_act", "scores", "winner")}
        self.settings = self.settings._replace(
            opponents=0 if self.opponents is None else self.opponents.address,
            num_opponents=0 if self.opponents is None else len(self.opponents),
            scratch=int(self._scratch.ctypes.data),
        )

    def __getstate__(self) -> dict[str, Any]:
        """All but what `_link` makes: columns are windows, and addresses are one process's."""
        kept = {k: v for k, v in self.__dict__.items() if k not in ("columns", "seen", "_arrays")}
        return {**kept, "settings": self.settings._replace(opponents=0, scratch=0)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take up the arrays, with the opponents' addresses of this process."""
        self.__dict__.update(state)
        self._link()

    @property
    def is_self_play(self) -> bool:
        """Whether the caller acts for both seats."""
        return self.settings.seat == SELF_PLAY

    def __len__(self) -> int:
        """How many games."""
        return len(self.states)

    def set_opponents(self, opponent: Any) -> None:
        """Play against others from now on (see `EuchreVectorEnv.set_opponents`).

        Raises:
            ValueError: self-play, or the option means nothing; nothing has changed then.
            TypeError: likewise.
        """
        if self.opponents is None:
            raise ValueError("in self-play (opponent=None) there is no opponent to change")
        if opponent is None:
            raise ValueError("opponent=None: self-play begins with a new environment")
        old, self.opponents = self.opponents, opponents_of(opponent)
        self._link()
        self._count_asked_anew()
        change_opponents(self._arrays, self.settings, old.places_in(self.opponents))

    def seed(self, rows: npt.NDArray[np.int64], seeds: list[int]) -> None:
        """Give rows their random streams."""
        chosen = self.states[rows]
        seed_streams(chosen, np.array([seed_word(seed) for seed in seeds], dtype=np.uint64))
        self.states[rows] = chosen
        self.is_seeded[rows] = True

    def reset(self, rows: npt.NDArray[np.int64]) -> None:
        """Begin a new episode in the rows given, from their random streams."""
        unfinished = reset_rows(self._arrays, self.settings, rows)
        self.is_begun[rows] = True
        if unfinished:
            self._ask_opponent()

    def reset_to(self, row: int, start: States) -> None:
        """Begin an episode in a row from a position instead of a drawn deal.

        Args:
            row: which environment.
            start: one full state; its random stream is replaced by the row's own.

        Raises:
            ValueError: the position leaves the learner nothing to do (see `unchanged_if_refused`).
        """
        if start[0]["phase"] >= DEAL_OVER:
            raise ValueError(
                f"the deal is over in the position {notation.format_position(start[0])!r}"
            )
        begun = start[0].copy()
        begun["stream"] = self.states[row]["stream"]
        # a deal that is given counts as one drawn: the draws to come are new ones
        begun["num_draws"] = max(start[0]["num_draws"], self.states[row]["num_draws"] + 1)
        self.states[row] = begun
        settings = self.settings
        self.settings = settings._replace(autoreset=AUTORESET_MODES.index("Disabled"))
        try:
            if resume(self._arrays, settings, np.array([row])):
                self._ask_opponent()
        finally:
            self.settings = settings
        if self.tables[row]["status"] == DONE:
            raise ValueError(
                "the position leaves the learner nothing to do: "
                f"{notation.format_position(start[0])!r}"
            )
        self.is_begun[row] = True

    @contextlib.contextmanager
    def unchanged_if_refused(self) -> Iterator[None]:
        """Put everything back where a ValueError says that a reset is refused."""
        arrays = (
            self.states, self.views, self.tables, self.observations, self.masks,
            self.final_observations, self.is_seeded, self.is_begun,
        )  # fmt: skip
        before = [array.copy() for array in arrays]
        try:
            yield
        except ValueError:
            for array, old in zip(arrays, before, strict=True):
                array[:] = old
            raise

    def step(self, actions: npt.NDArray[np.int64]) -> int:
        """Step every row.

        Args:
            actions: int64, shape (n,), contiguous.

        Returns:
            -1, or the row whose act was refused; nothing has changed then.

        Raises:
            OpponentError: the opponent's answer was no legal act.
        """
        unfinished = step_rows(self._arrays, self.settings, actions)
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
        if states.dtype != STATE_DTYPE or tables.dtype != TABLE_DTYPE:
            raise ValueError("this is no state that get_state gave")
        if states.shape != self.states.shape or tables.shape != self.tables.shape:
            raise ValueError(f"a saved state of {len(states)} games does not fit {len(self)}")
        for name in RULE_FIELDS:
            if (states[name] != self.states[name]).any():
                row = states[int((states[name] != self.states[name]).argmax())]
                raise ValueError(f"saved under {Rules.from_codes(row)!r}, not {self.rules!r}")
        self._check_opponents(tables["opponent"])
        self.states[:] = states
        self.tables[:] = tables
        show_rows(self._arrays, self.settings, np.arange(len(self)))
        self.is_seeded[:] = self.is_begun[:] = True

    def _check_opponents(self, saved: npt.NDArray[np.int16]) -> None:
        """Refuse the places of opponents that there are not here."""
        num = 0 if self.opponents is None else len(self.opponents)
        if int(saved.max(initial=-1)) >= num:
            raise ValueError(
                f"saved with more opponents than the {num} here: set the same opponents first"
            )
        if num and int(saved.min(initial=0)) < 0:
            raise ValueError("saved in self-play: here an opponent has the other seat")

    def _ask_opponent(self) -> None:
        """Ask a batched opponent for its acts; where it fails, only a reset helps."""
        try:
            self._ask_until_none_waits()
        except BaseException:
            self.is_begun[:] = False
            raise

    def _ask_until_none_waits(self) -> None:
        status = self.columns["status"]
        while True:
            broken = np.flatnonzero(status == BROKEN)
            if len(broken):
                raise self._opponent_error(int(broken[0]), "an act that is not legal")
            rows = np.flatnonzero(status == WAITING)
            if not len(rows):
                return
            who = self.columns["opponent"][rows]
            for index in np.unique(who):  # each is asked for all that it is to do at once
                self._ask_one(int(index), rows[who == index])

    def _ask_one(self, index: int, rows: npt.NDArray[np.int64]) -> None:
        """Ask an opponent for its acts in the rows given, do them, and play on."""
        assert self.opponents is not None
        asked = np.empty(len(rows), dtype=STATE_DTYPE)
        masks = np.empty((len(rows), NUM_ACTIONS), dtype=np.int8)
        streams = np.empty(len(rows), dtype=np.uint64)
        ask(self._arrays, rows, asked, masks, streams)
        start = time.perf_counter()
        answers = np.asarray(self.opponents[index].act(asked, masks.copy(), streams))
        self.asked_seconds[index] += time.perf_counter() - start
        self.asked_views[index] += len(rows)
        self._check_answers(rows, answers, masks)
        answer_rows(self._arrays, self.settings, rows, answers.astype(np.int64))

    def _check_answers(
        self, rows: npt.NDArray[np.int64], answers: npt.NDArray[Any], masks: npt.NDArray[np.int8]
    ) -> None:
        if answers.shape != rows.shape or not np.issubdtype(answers.dtype, np.integer):
            raise OpponentError(
                f"the opponent {self._opponent_name(rows)} answered {len(rows)} views with an "
                f"array of shape {answers.shape} and dtype {answers.dtype}: "
                "one whole number a view is wanted"
            )
        in_range = (answers >= 0) & (answers < NUM_ACTIONS)
        legal = in_range & (masks[np.arange(len(rows)), np.where(in_range, answers, 0)] == 1)
        if not legal.all():
            k = int(np.flatnonzero(~legal)[0])
            raise self._opponent_error(int(rows[k]), f"the act {answers[k]}, which is not legal")

    def _opponent_name(self, rows: npt.NDArray[np.int64]) -> str:
        """Of the opponent in the first of the rows given."""
        assert self.opponents is not None
        return opponent_name(self.opponents[int(self.columns["opponent"][rows[0]])])

    def _opponent_error(self, row: int, what: str) -> OpponentError:
        seen = views.blank(self.states[row : row + 1], 1 - int(self.tables[row]["seat"]))
        return OpponentError(
            f"the opponent {self._opponent_name(np.array([row]))} answered with {what}, in the "
            "position "
            f"{notation.format_position(seen[0])!r}"
        )


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
        states = notation.parse_position(str(position), rules=Rules.from_codes(template[0]))
        if states[0]["seat"] != NOBODY:
            raise ValueError(f"the position {position!r} is what one seat knows: it lacks cards")
        return states
    states = template[:1].copy()
    start_rows(states)
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
        set_deal(state, *notation.read_deal(deal, Rules.from_codes(state)))
    return states
