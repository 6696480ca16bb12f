# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Loads and saves that run beside the caller, on threads of the library; nothing calls back into
Python."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from . import _context
from . import _declarations as c
from ._errors import CancelledError, UsageError, WcodecError
from ._library import lib

log = logging.getLogger("wcodec")


class Started(Protocol):
    """A load, or a save, that has begun."""

    def ended(self) -> bool: ...
    def progress(self) -> tuple[int, int]: ...
    def cancel(self) -> None: ...
    def finish(self) -> None:
        """Wait for its end; raises what it failed with."""
        ...


class LibraryWork(_context.Handle):
    """One of the library's, whose functions have names that begin with `kind`. It is cancelled and
    ended with the object, before what it is made with (`parent`) and its memory (`keep`) are let
    go."""

    def __init__(
        self,
        kind: str,
        handle: ctypes.c_void_p,
        parent: _context.Handle,
        keep: object,
        check: Callable[..., None],
    ) -> None:
        self._cancel = getattr(lib, kind + "_cancel")
        self._wait = getattr(lib, kind + "_wait")
        self._has_ended = getattr(lib, kind + "_ended")
        self._how_far = getattr(lib, kind + "_progress")
        cancel, destroy = self._cancel, getattr(lib, kind + "_destroy")

        def end(pointer: ctypes.c_void_p) -> None:
            cancel(pointer)
            destroy(pointer)

        super().__init__(handle, end, parent, keep)
        self._check = check
        self._is_save = kind == "wcodec_saving"
        _running.add(self)

    def _ours(self) -> ctypes.c_void_p:
        if self.generation != _context.generation:
            raise UsageError("this belongs to the process that forked this one")
        if self._ended:
            raise UsageError("this was dropped")
        return self.handle

    def ended(self) -> bool:
        return bool(self._has_ended(self._ours()))

    def progress(self) -> tuple[int, int]:
        done, total = ctypes.c_uint64(), ctypes.c_uint64()
        self._how_far(self._ours(), done, total)
        return done.value, total.value

    def cancel(self) -> None:
        self._cancel(self._ours())

    def finish(self) -> None:
        error = c.wcodec_error()
        status = self._wait(self._ours(), None, error)
        if self._is_save:
            self._keep = None  # nothing is read any more
        self._check(status, error)

    def stop(self) -> None:
        """Cancel it and wait: no byte of its memory is used afterwards. A save is let go on to its
        end, unless Ctrl-C is pressed."""
        if self.generation == _context.generation and not self._ended and self._is_save:
            while not self._has_ended(self.handle):
                time.sleep(0.005)
        if self.generation == _context.generation and not self._ended:
            self._cancel(self.handle)
            self._wait(self.handle, None, None)


_running: weakref.WeakSet[LibraryWork] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """The interpreter frees arrays when it ends: nothing may use them then."""
    for work in list(_running):
        work.stop()
    for saving in list(_savings):
        saving.leave()
    _report_left(wait=True)


class PythonLoad:
    """A load by a Python function that takes a progress function, on a thread of its own, which
    keeps the memory that it writes."""

    def __init__(
        self, run: Callable[[Callable[[int, int], None]], None], total: int, keep: object
    ) -> None:
        self._done, self._total = 0, total
        self._stop = False
        self._raised: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(run, keep), daemon=True)
        self._thread.start()

    def _run(self, run: Callable[[Callable[[int, int], None]], None], _keep: object) -> None:
        try:
            run(self._report)
        except BaseException as error:
            self._raised = error

    def _report(self, done: int, total: int) -> None:
        self._done = done
        if self._stop:
            raise CancelledError("cancelled by the caller")

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def progress(self) -> tuple[int, int]:
        return self._done, self._total

    def cancel(self) -> None:
        self._stop = True

    def finish(self) -> None:
        self._thread.join()
        if self._raised is not None:
            raise self._raised


class _Running:
    """What is beside the caller. It may be used from several threads at once. When it is dropped
    before its end, it is cancelled."""

    def __init__(self, started: Started) -> None:
        self._started = started
        self._waited = False
        self._lock = threading.Lock()

    def _state(self, what: str) -> str:
        try:
            done, total = self.progress()
            state = "ended" if self.done() else "running"
        except UsageError as error:
            return f"<wcodec.{type(self).__name__}: {error}>"
        return f"<wcodec.{type(self).__name__} of {what}, {state}: {done} of {total} bytes>"

    def __del__(self) -> None:
        with contextlib.suppress(UsageError):  # of a parent process, or ended by the collector
            self._started.cancel()

    def done(self) -> bool:
        """Whether it has ended, for better or worse: wait() would not wait."""
        return self._started.ended()

    def progress(self) -> tuple[int, int]:
        """Decoded bytes that are there, and those of the whole."""
        return self._started.progress()

    def cancel(self) -> None:
        """Make it end soon; wait() then raises CancelledError, unless it was complete already."""
        self._started.cancel()

    def _pause(self, timeout: float | None) -> None:
        until = None if timeout is None else time.monotonic() + timeout
        pause = 0.0001
        while not self._started.ended():
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"it has not ended after {timeout} s")
            time.sleep(pause)  # in which signals are seen
            pause = min(pause * 1.5, 0.01)


class Loading(_Running):
    """A load that runs, by async_load(). It may be used from several threads at once. When it is
    dropped before its end, the load is cancelled."""

    def __init__(
        self, names: Iterable[str], started: Started, result: Callable[[], list[Any]]
    ) -> None:
        super().__init__(started)
        self._names = list(names)
        self._make = result
        self._result: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return self._state(f"{len(self._names)} tensors")

    def wait(self, timeout: float | None = None) -> dict[str, Any]:
        """The tensors by name, when all are there.

        Args:
            timeout: seconds after which TimeoutError is raised; the load goes on.

        Raises:
            What the load failed with: see load_file(). Ctrl-C ends the waiting, not the load.
        """
        self._pause(timeout)
        with self._lock:
            if self._result is None:
                self._started.finish()
                self._result = dict(zip(self._names, self._make()))
            return self._result


class Saving(_Running):
    """A save that runs, by async_save_file(). It may be used from several threads at once. When it
    is dropped before its end, the save goes on, and the end of the program waits for it; what it
    failed with is then in the log."""

    def __init__(self, path: str, started: Started) -> None:
        super().__init__(started)
        self._path = path
        _savings.add(self)
        _report_left()

    def __del__(self) -> None:
        self.leave()

    def leave(self) -> None:
        """Nobody waits for it any more."""
        if not self._waited:
            self._waited = True
            _left.append((self._path, self._started))

    def __repr__(self) -> str:
        return self._state(self._path)

    def wait(self, timeout: float | None = None) -> None:
        """Return when the file is complete.

        Args:
            timeout: seconds after which TimeoutError is raised; the save goes on.

        Raises:
            What the save failed with: see save_file(). Ctrl-C ends the waiting, not the save.
        """
        self._pause(timeout)
        with self._lock:
            self._waited = True
            self._started.finish()


_savings: weakref.WeakSet[Saving] = weakref.WeakSet()
_left: list[tuple[str, Started]] = []
"""Saves that nobody waited for."""


def _report_left(*, wait: bool = False) -> None:
    """Say of those that have ended, or of all, what they failed with."""
    for item in list(_left):
        path, started = item
        try:
            if not wait and not started.ended():
                continue
            started.finish()
        except CancelledError:
            pass
        except WcodecError as error:
            if getattr(started, "generation", None) == _context.generation:
                log.error("%s was not saved: %s", path, error)
        with contextlib.suppress(ValueError):
            _left.remove(item)
