"""How kernels are compiled: one decorator, its flags, its disk cache, three bit tricks.

A *kernel* is a function that Numba compiles to machine code. The rules act on one row of the
state in kernels, so that one implementation serves the single environment, the vector
environment, search and solver. Kernels trust their arguments; the doors (environments, notation)
check them.

Numba's own disk cache notices a change only in the file that holds the function, so a corrected
table in another file would go unseen. Compiled kernels are therefore kept in a folder whose name
is a hash of *all* the sources they can depend on: edit any file and the next run compiles anew.
The folder lies under ``NUMBA_CACHE_DIR`` where that is set, else in the user's cache folder.

An index that is read off a row may be negative for all that the compiler knows, and negative ones
count from the end. ``seat & 1``, ``trump & 3``, ``card & 63`` say that it is not: no test is
compiled, and a seat or card that is missing (-1) can never pass for the last one.

Numba frees an array after the last line that names it, and a row taken from it does not keep it
alive: a kernel never gives a name to a row of an array that it made. The caller makes the array.

``NUMBA_DISABLE_JIT=1`` runs every kernel as plain Python (slow, for debuggers and coverage).
"""

import ctypes
import functools
import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
import platformdirs
from numba.core import cgutils, event, types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

int64: Final = cast("Callable[[Any], int]", np.int64)
"""NumPy's int64 for kernels: types as the int that it becomes when compiled."""

IS_COMPILED: Final = not numba.config.DISABLE_JIT
"""False under ``NUMBA_DISABLE_JIT=1``: kernels are then plain Python functions."""

_OWN_PACKAGE: Final = __name__.partition(".")[0]


def _source_files(package: str) -> list[Path]:
    """The Python files of a package (or the one file of a plain module), in a fixed order."""
    if package == "__main__":  # a script or notebook: Numba looks at its own file itself
        return []
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return []
    if spec.submodule_search_locations is None:
        return [Path(spec.origin)]
    return sorted(p for root in spec.submodule_search_locations for p in Path(root).rglob("*.py"))


@functools.cache
def _cache_folder(package: str) -> str:
    """Folder for the compiled kernels of a package, named by what they are compiled from."""
    digest = hashlib.sha256()
    for name in dict.fromkeys((_OWN_PACKAGE, package)):
        for path in _source_files(name):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    root = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir(_OWN_PACKAGE)
    checked = "-checked" if numba.config.BOUNDSCHECK else ""  # other code from the same sources
    return os.path.join(root, f"{package}-{digest.hexdigest()[:16]}{checked}")


@functools.cache
def _is_writable(folder: str) -> bool:
    """Whether kernels can be kept there.

    Where they cannot, Numba would keep them beside the sources, by each function's own file only.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


class _SayOnce(event.Listener):
    """Tells the user, once a process, why the first call takes seconds."""

    said = False

    def on_start(self, event: Any) -> None:
        """Numba begins to compile a function (a load from the disk cache does not come here)."""
        module = str(event.data["dispatcher"].py_func.__module__)
        if _SayOnce.said or module.partition(".")[0] not in _packages_with_kernels:
            return
        _SayOnce.said = True
        print(
            "euchre_env: compiling the rules to machine code, "
            "some 20 seconds, kept for the next time ...",
            file=sys.stderr,
            flush=True,
        )

    def on_end(self, event: Any) -> None:
        """Nothing to say: the caller goes on."""


_packages_with_kernels: Final[set[str]] = set()
event.register("numba:compile", _SayOnce())


def _jit(function: F, decorator: Callable[..., Any]) -> F:
    """Decorate with our cache folder in force, then put the user's setting back."""
    package = function.__module__.partition(".")[0]
    _packages_with_kernels.add(package)
    before = numba.config.CACHE_DIR
    folder = _cache_folder(package)
    numba.config.CACHE_DIR = folder
    try:
        compiled: F = decorator(function, cache=_is_writable(folder))
    except RuntimeError as problem:
        if "cannot cache" not in str(problem):
            raise
        compiled = decorator(function, cache=False)  # no folder to write to: compile each time
    finally:
        numba.config.CACHE_DIR = before
    return compiled


_FLAGS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy", "forceinline": True}
"""Inlined always: an array handed to a function that is not costs seven registers a call."""


def kernel(function: F) -> F:
    """Compile a function of the rules: no Python objects, no global lock, cached on disk."""
    if not IS_COMPILED:
        return _without_overflow_warnings(function)
    return _jit(function, lambda f, cache=True: numba.njit(f, cache=cache, **_FLAGS))


def _without_overflow_warnings(function: F) -> F:
    """Plain NumPy scalars warn where 64-bit hashing wraps round on purpose."""

    @functools.wraps(function)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args, **kwargs)

    return quiet  # type: ignore[return-value]


_EVERY_BYTE, _ONE_BIT_A_BYTE = np.uint64(0x0101010101010101), np.uint64(0x8040201008040201)
_ALL_BUT_TOP, _TO_BOTTOM = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(7)

POLICY_SIGNATURE: Final = types.int64(types.int64, types.int64, types.uint64, types.int64)
"""``(address of a view row, action mask as bits, stream, address of the agent's memory) ->
action``, all 64-bit integers."""


def policy_address(function: Callable[[int, int, int, int], int]) -> tuple[Any, int]:
    """Compile a policy for calls from inside other kernels.

    Args:
        function: ``(view_address, legal_bits, stream, memory_address) -> action``; it reads the
            view through `row_at`, and its tables and parameters, where it has any, likewise from
            the agent's memory.

    Returns:
        The compiled object, which the caller must keep alive, and its address.
    """
    compiled = _jit(
        function, lambda f, cache=True: numba.cfunc(POLICY_SIGNATURE, cache=cache, nopython=True)(f)
    )
    return compiled, int(compiled.address)  # type: ignore[attr-defined]


if IS_COMPILED:

    @intrinsic
    def popcount(typingctx: Any, bits: Any) -> Any:
        """Number of cards in a set: the bits set in a 64-bit integer."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ctpop(args[0])

        return types.int64(types.int64), codegen

    @intrinsic
    def lowest(typingctx: Any, bits: Any) -> Any:
        """Number of the lowest bit set in a 64-bit integer that is not 0."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], cgutils.true_bit)

        return types.int64(types.int64), codegen

    @intrinsic
    def copy_row(typingctx: Any, target: Any, source: Any) -> Any:
        """Overwrite a row of a structured array by another of the same dtype."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            size = context.get_constant(types.intp, signature.args[0].size)
            cgutils.raw_memcpy(builder, args[0], args[1], size, 1)
            return context.get_dummy_value()

        return types.void(target, source), codegen

    @intrinsic
    def store_bytes(typingctx: Any, row: Any, start: Any, word: Any) -> Any:
        """Write a 64-bit word as eight numbers of a contiguous array, in one store."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            place = builder.gep(data, [args[1]])
            wide = builder.bitcast(place, context.get_value_type(types.uint64).as_pointer())
            builder.store(args[2], wide, align=1)
            return context.get_dummy_value()

        return types.void(row, types.int64, types.uint64), codegen

    @intrinsic
    def call_policy(
        typingctx: Any,
        address: Any,
        view_address: Any,
        legal_bits: Any,
        stream: Any,
        memory_address: Any,
    ) -> Any:
        """Call the compiled policy at an address (see `policy_address`)."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            int64 = context.get_value_type(types.int64)
            # a cfunc's native convention: plain arguments, plain return value
            function_type = _llvm_function(int64, [int64] * 4)
            pointer = builder.inttoptr(args[0], function_type.as_pointer())
            return builder.call(pointer, args[1:])

        words = [types.int64, types.int64, types.int64, types.uint64, types.int64]
        return types.int64(*words), codegen

    @intrinsic
    def as_pointer(typingctx: Any, address: Any) -> Any:
        """An address as a pointer that `numba.carray` takes."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], cgutils.voidptr_t)

        return types.voidptr(types.int64), codegen

    def _llvm_function(result: Any, arguments: list[Any]) -> Any:
        from llvmlite import ir

        return ir.FunctionType(result, arguments)

else:

    def popcount(bits: int) -> int:
        """Number of cards in a set: the bits set in a 64-bit integer."""
        return int(bits).bit_count()

    def lowest(bits: int) -> int:
        """Number of the lowest bit set in a 64-bit integer that is not 0."""
        return (int(bits) & -int(bits)).bit_length() - 1

    def copy_row(target: np.record, source: np.record) -> None:
        """Overwrite a row of a structured array by another of the same dtype."""
        for name in target.dtype.names or ():
            target[name] = source[name]

    def store_bytes(row: npt.NDArray[Any], start: int, word: int) -> None:
        """Write a 64-bit word as eight numbers of a contiguous array."""
        row[start : start + 8] = np.frombuffer(np.uint64(word).tobytes(), dtype=np.uint8)

    def call_policy(
        address: int, view_address: int, legal_bits: int, stream: int, memory_address: int
    ) -> int:
        """Never reached: without a compiler, opponents are called in batches."""
        raise RuntimeError("compiled policies need Numba's compiler (NUMBA_DISABLE_JIT is set)")

    def as_pointer(address: int) -> Any:
        """An address as a pointer that `numba.carray` takes."""
        return ctypes.c_void_p(int(address))


@kernel
def nth(bits: int, n: int) -> int:
    """Number of the n-th bit set, counted from 0 at the low end (n < popcount, unchecked)."""
    for _ in range(n):
        bits &= bits - 1
    return lowest(bits)


@kernel
def spread(byte: int, row: npt.NDArray[Any], start: int) -> None:
    """Write a byte's eight bits, low first, as eight numbers 0 or 1 of 8 bits each.

    Args:
        byte: 0..255.
        row: int8 or uint8, one dimension, contiguous; ``row[start:start + 8]`` is written.
        start: where.
    """
    lanes = np.uint64(byte) * _EVERY_BYTE & _ONE_BIT_A_BYTE
    store_bytes(row, start, (lanes + _ALL_BUT_TOP) >> _TO_BOTTOM & _EVERY_BYTE)
