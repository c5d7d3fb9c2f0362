"""Lists of deals and the agents' random numbers: all that follows from a match's seed.

Deal i of a list is a function of the seed, the list's name and i; what an agent draws at an act
is a function of the seed, i, its seat and the act's place in the deal, and of nothing else.
"""

import hashlib
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from euchre_env.dealing import AGENTS, mix, seed_streams, seed_word, substream
from euchre_env.engine import start_games
from euchre_env.kernel import kernel
from euchre_env.rules import Rules
from euchre_env.state import States, new_states

Deals = Literal["dev", "heldout"]
"""Which list of deals: one to develop against, one to make claims on; they share no deal."""

DEAL_KEYS, GAME_KEYS, BOOTSTRAP = (np.uint64(purpose) for purpose in range(0x101, 0x104))
"""Purposes of random words that follow from the seed."""
HASHED_DEALS: Final = 40_000
"""Deals of each list that `LIST_HASHES` covers: as many as the longest match the protocol asks."""
LIST_HASHES: Final = {
    "dev": "9b4cc56dda2b88ec",
    "heldout": "e4b1b832b64184a9",
}
"""`deals_hash` of each list's first deals, seed 0, 24 cards: the lists are what they were."""
_TOP: Final = np.uint64(1 << 63)


@kernel
def _words(base: np.uint64, purpose: np.uint64, first: int, words: npt.NDArray[np.uint64]) -> None:
    for i in range(words.shape[0]):
        words[i] = substream(base, purpose, first + i)


def deal_words(
    seed: int, deals: Deals, first: int, num: int, purpose: np.uint64 = DEAL_KEYS
) -> npt.NDArray[np.uint64]:
    """Seeds of a list's deals ``first .. first + num - 1``, for ``dealing.seed_streams``.

    The top bit is set and the next one tells the list, so the two lists share no seed with one
    another, nor with environments seeded below 2**63.

    Returns:
        uint64, shape ``(num,)``.

    Raises:
        ValueError: a seed that is no whole number from 0 up, or no such list.
    """
    if deals not in get_args(Deals):
        raise ValueError(f"deals={deals!r}: it is one of {', '.join(map(repr, get_args(Deals)))}")
    words = np.empty(num, dtype=np.uint64)
    _words(seed_word(seed), purpose, first, words)
    is_heldout = np.uint64(deals == "heldout")
    return _TOP | (is_heldout << np.uint64(62)) | (words >> np.uint64(2))


def agent_keys(
    seed: int, first: int, num: int, purpose: np.uint64 = DEAL_KEYS
) -> npt.NDArray[np.uint64]:
    """Keys of the agents' own random numbers in deals ``first .. first + num - 1``."""
    words = np.empty(num, dtype=np.uint64)
    _words(np.uint64(mix(seed_word(seed) ^ _TOP)), purpose, first, words)
    return words


def dealt(words: npt.NDArray[np.uint64], rules: Rules) -> States:
    """Games that have just begun with the deals of these seeds, shape ``(n,)``; n is 1 or more."""
    states = new_states(len(words), rules)
    seed_streams(states, words)
    start_games(states)
    return states


def deals_hash(seed: int, deals: Deals, num: int, rules: Rules) -> str:
    """Sixteen hex digits that tell what was dealt: both hands, upcard and dealer of each deal.

    Raises:
        ValueError: see `deal_words`; ``num`` below 1.
    """
    states = dealt(deal_words(seed, deals, 0, num), rules)
    digest = hashlib.sha256()
    for name, kind in (("hands", "<i8"), ("upcard", "<i1"), ("dealer", "<i1")):
        digest.update(np.ascontiguousarray(states[name], dtype=kind).tobytes())
    return digest.hexdigest()[:16]


@kernel
def act_stream(state: np.record, key: np.uint64) -> np.uint64:
    """The stream of one act: of its deal (or game), its seat and its place there, nothing else."""
    place = (np.int64(state.deal_number) * 16 + state.num_actions) * 2 + state.to_act
    return substream(key, AGENTS, place)
