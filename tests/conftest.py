"""Settings that all tests share."""

import os

import hypothesis

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures without a display
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # and windows
# networks this small learn no faster on two cores, and many times slower where one is busy
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test depends on how fast the machine is, and a failure shows again at the next run.
hypothesis.settings.register_profile("project", deadline=None, derandomize=True)
hypothesis.settings.load_profile("project")
