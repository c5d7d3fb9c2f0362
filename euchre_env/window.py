"""A window that shows pictures: ``render_mode="human"``. Needs pygame, the extra ``[window]``."""

import os
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

WINDOW_WIDTH = 960
"""Pixels, where nothing else is asked for."""
TITLE = "Two-handed Euchre"


class Window:
    """One window; it opens with the first picture. Copies and pickles are windows not yet open."""

    def __init__(self) -> None:
        """Not open yet."""
        self._screen: Any = None
        self._is_closed_by_user = False

    def __reduce__(self) -> tuple[type["Window"], tuple[()]]:
        """A window belongs to its process."""
        return Window, ()

    @property
    def is_open(self) -> bool:
        """Whether it is on the screen."""
        return self._screen is not None

    def show(self, picture: npt.NDArray[np.uint8], fps: float) -> None:
        """Show a picture for ``1 / fps`` seconds; nothing once the user has closed the window.

        Args:
            picture: uint8, shape (height, width, 3).
            fps: pictures a second.

        Raises:
            gymnasium.error.DependencyNotInstalled: pygame is not installed.
            RuntimeError: there is no display.
        """
        if self._is_closed_by_user:
            return
        pygame = load_pygame()
        if self._screen is None:
            self._screen = _open(pygame, (picture.shape[1], picture.shape[0]))
        surface = pygame.surfarray.make_surface(picture.swapaxes(0, 1))
        self._screen.blit(surface, (0, 0))
        pygame.display.flip()
        self._wait(pygame, 1000 / fps)

    def _wait(self, pygame: Any, milliseconds: float) -> None:
        """Let the picture stand, and the window answer, for so long."""
        end = pygame.time.get_ticks() + milliseconds
        while True:
            if any(event.type == pygame.QUIT for event in pygame.event.get()):
                self.close()
                self._is_closed_by_user = True
                return
            if pygame.time.get_ticks() >= end:
                return
            pygame.time.wait(10)

    def close(self) -> None:
        """Take the window off the screen."""
        if self._screen is not None:
            load_pygame().display.quit()
            self._screen = None


def _open(pygame: Any, size: tuple[int, int]) -> Any:
    """The window's surface."""
    try:
        pygame.display.init()
        pygame.display.set_caption(TITLE)
        return pygame.display.set_mode(size)
    except pygame.error as problem:
        raise RuntimeError(
            f'render_mode="human" finds no display to draw on ({problem}): use "rgb_array" or '
            '"ansi", or set SDL_VIDEODRIVER=dummy to draw on nothing'
        ) from None


def load_pygame() -> Any:
    """The library, imported when a window is first wanted.

    Raises:
        gymnasium.error.DependencyNotInstalled: it is not; the extra that has it is named.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pygame's import warns about Python's own packages
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ModuleNotFoundError:
            raise DependencyNotInstalled(
                'render_mode="human" draws in a window, which needs pygame: '
                "pip install 'euchre-env[window]'"
            ) from None
    return pygame
