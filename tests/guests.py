"""Guests for the tests: agents as outsiders might write them, good and bad.

None imports anything of this package: a view is a row of numbers.
"""

import os
import sys
import time

import numpy as np

PASS, NO_ACT = 37, 99


class Miser:
    """Passes when it may, else does the legal act with the lowest number."""

    name = "a name of its own"

    def act(self, views, action_masks, rng):
        first = action_masks.argmax(axis=1)
        return np.where(action_masks[:, PASS], PASS, first)


def is_odd(rng, one_in):
    """A few rows, by their random streams: the same whatever the batch."""
    return (rng >> np.uint64(11)) % np.uint64(one_in) == 0


class Noisy(Miser):
    """Prints, reads, and writes into what it was given and has kept."""

    def __init__(self):
        self.kept = []

    def act(self, views, action_masks, rng):
        for stream in (sys.stdout, sys.stderr):
            print("noise" * 10_000, file=stream, flush=True)
        os.write(1, b"\0" * 1_000)
        assert sys.stdin.read() == ""
        for old in self.kept:
            old.view(np.uint8)[...] = 255
        answer = super().act(views, action_masks, rng)
        action_masks[:] = 0
        self.kept = [views, action_masks, rng]
        return answer


class Illegal(Miser):
    """Answers no act at all, now and then."""

    def act(self, views, action_masks, rng):
        return np.where(is_odd(rng, 50), NO_ACT, super().act(views, action_masks, rng))


class Crashes(Miser):
    """Raises an error, now and then."""

    def act(self, views, action_masks, rng):
        if is_odd(rng, 50).any():
            raise KeyError("what now\x1b[31m?")
        return super().act(views, action_masks, rng)


class Exits(Miser):
    """Leaves, now and then."""

    def act(self, views, action_masks, rng):
        if is_odd(rng, 50).any():
            sys.exit(3)
        return super().act(views, action_masks, rng)


class Dies(Miser):
    """Its process dies, seldom."""

    def act(self, views, action_masks, rng):
        if is_odd(rng, 300).any():
            print("out of memory", file=sys.stderr)
            os._exit(7)
        return super().act(views, action_masks, rng)


class Sleeps(Miser):
    """Falls asleep."""

    def act(self, views, action_masks, rng):
        time.sleep(1_000)


class Floats(Miser):
    """Answers fractions."""

    def act(self, views, action_masks, rng):
        return super().act(views, action_masks, rng) * 1.0


class Short(Miser):
    """Answers one act, whatever it is asked."""

    def act(self, views, action_masks, rng):
        return super().act(views, action_masks, rng)[:1]


def made(argument="nothing"):
    if argument == "refuse":
        raise ValueError("no such setting")
    return Miser()


sleepless = Miser()
number = 3
