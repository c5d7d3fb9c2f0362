"""Memory that is handed out again instead of given back: glibc's allocator told so.

A gradient step, or a block of a public tree, makes and drops dozens of arrays of some megabytes.
By default glibc asks the kernel for each of them anew, and every page of it is a fault when first
written: on some machines that takes more time than the arithmetic.
"""

import ctypes
import functools
import sys
from typing import Final

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # mallopt(3)
_KEPT_BYTES: Final = 1 << 30
_GROWN_BYTES: Final = 1 << 26


@functools.cache
def keep_memory() -> bool:
    """Let this process keep what it frees, up to a gigabyte.

    Returns:
        Whether there was glibc to be told; elsewhere nothing changes.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # musl has neither the name nor the problem
        return False
    told = (
        (_MMAP_THRESHOLD, _KEPT_BYTES),
        (_TRIM_THRESHOLD, _KEPT_BYTES),
        (_TOP_PAD, _GROWN_BYTES),
    )
    return all(mallopt(option, value) == 1 for option, value in told)
