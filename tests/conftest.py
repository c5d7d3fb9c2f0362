"""Settings that all tests share."""

import os

import hypothesis

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures without a display

# No test depends on how fast the machine is, and a failure shows again at the next run.
hypothesis.settings.register_profile("project", deadline=None, derandomize=True)
hypothesis.settings.load_profile("project")
