"""Settings that all tests share."""

import os
import signal

import hypothesis
import pytest

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures without a display
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # and windows
# networks this small learn no faster on two cores, and many times slower where one is busy
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test depends on how fast the machine is, and a failure shows again at the next run.
hypothesis.settings.register_profile("project", deadline=None, derandomize=True)
hypothesis.settings.load_profile("project")


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_is_heard() -> None:
    """A shell's background job ignores Ctrl-C, which some tests press: hear it there too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
