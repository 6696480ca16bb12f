# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Loads that run beside the caller, on threads of the library; nothing calls back into Python."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from . import _context
from . import _declarations as c
from ._errors import CancelledError, UsageError
from ._library import lib


class Started(Protocol):
    """A load that a reader has begun."""

    def ended(self) -> bool: ...
    def progress(self) -> tuple[int, int]: ...
    def cancel(self) -> None: ...
    def finish(self) -> None:
        """Wait for its end; raises what it failed with."""
        ...


def _end(handle: ctypes.c_void_p) -> None:
    lib.wcodec_loading_cancel(handle)
    lib.wcodec_loading_destroy(handle)


class LibraryLoad(_context.Handle):
    """One of the library's. It is cancelled and ended with the object, before its reader and the
    memory that it writes (`keep`) are let go."""

    def __init__(
        self,
        handle: ctypes.c_void_p,
        reader: _context.Handle,
        keep: object,
        check: Callable[..., None],
    ) -> None:
        super().__init__(handle, _end, reader, keep)
        self._check = check
        _running.add(self)

    def _ours(self) -> ctypes.c_void_p:
        if self.generation != _context.generation:
            raise UsageError("this load belongs to the process that forked this one")
        if self._ended:
            raise UsageError("this load was dropped")
        return self.handle

    def ended(self) -> bool:
        return bool(lib.wcodec_loading_ended(self._ours()))

    def progress(self) -> tuple[int, int]:
        done, total = ctypes.c_uint64(), ctypes.c_uint64()
        lib.wcodec_loading_progress(self._ours(), done, total)
        return done.value, total.value

    def cancel(self) -> None:
        lib.wcodec_loading_cancel(self._ours())

    def finish(self) -> None:
        error = c.wcodec_error()
        self._check(lib.wcodec_loading_wait(self._ours(), None, error), error)

    def stop(self) -> None:
        """Cancel it and wait: no byte of its memory is written afterwards."""
        if self.generation == _context.generation and not self._ended:
            lib.wcodec_loading_cancel(self.handle)
            lib.wcodec_loading_wait(self.handle, None, None)


_running: weakref.WeakSet[LibraryLoad] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """The interpreter frees arrays when it ends: no load may write to them then."""
    for load in list(_running):
        load.stop()


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


class Loading:
    """A load that runs, by async_load(). It may be used from several threads at once. When it is
    dropped before its end, the load is cancelled."""

    def __init__(
        self, names: Iterable[str], started: Started, result: Callable[[], list[Any]]
    ) -> None:
        self._names = list(names)
        self._started = started
        self._make = result
        self._lock = threading.Lock()
        self._result: dict[str, Any] | None = None

    def __repr__(self) -> str:
        try:
            done, total = self.progress()
            state = "ended" if self.done() else "running"
        except UsageError as error:
            return f"<wcodec.Loading: {error}>"
        return f"<wcodec.Loading of {len(self._names)} tensors, {state}: {done} of {total} bytes>"

    def __del__(self) -> None:
        with contextlib.suppress(UsageError):  # of a parent process, or ended by the collector
            self._started.cancel()

    def done(self) -> bool:
        """Whether it has ended, for better or worse: wait() would not wait."""
        return self._started.ended()

    def progress(self) -> tuple[int, int]:
        """Decoded bytes that are there, and those of the whole load."""
        return self._started.progress()

    def cancel(self) -> None:
        """Make it end soon; wait() then raises CancelledError, unless it was complete already."""
        self._started.cancel()

    def wait(self, timeout: float | None = None) -> dict[str, Any]:
        """The tensors by name, when all are there.

        Args:
            timeout: seconds after which TimeoutError is raised; the load goes on.

        Raises:
            What the load failed with: see load_file(). Ctrl-C ends the waiting, not the load.
        """
        until = None if timeout is None else time.monotonic() + timeout
        pause = 0.0001
        while not self._started.ended():
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"the load has not ended after {timeout} s")
            time.sleep(pause)  # in which signals are seen
            pause = min(pause * 1.5, 0.01)
        with self._lock:
            if self._result is None:
                self._started.finish()
                self._result = dict(zip(self._names, self._make()))
            return self._result
