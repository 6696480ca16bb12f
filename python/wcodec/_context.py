# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Contexts of the library, shared by all that ask for the same one; calls that Ctrl-C can stop.

A context is made when it is first needed. After fork() the child makes contexts of its own: those
of the parent belong to threads that do not exist there.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from . import _declarations as c
from ._errors import BY_STATUS, MissingFileError, OutOfMemoryError, UsageError, WcodecError
from ._library import lib

Progress = Callable[[int, int], object]
"""Called as progress(done, total), in bytes, a few times a second at most and once at the end, in
the thread that made the call. An exception that it raises stops the call and is passed on."""

LONG = 64 << 20
"""Bytes below which a call is over before a person can press a key."""


class Handle:
    """One of the library's objects. It is ended when it is dropped and all that was made with it is
    ended, in whatever order the collector drops them."""

    def __init__(
        self,
        pointer: ctypes.c_void_p,
        end: Callable[[ctypes.c_void_p], object],
        parent: Handle | None = None,
        keep: object = None,
    ) -> None:
        self.handle = pointer
        self.generation = generation
        self._end_it = end
        self._parent = parent
        self._keep = keep
        self._children = 0
        self._dropped = False
        self._ended = False
        if parent is not None:
            with _tree:
                parent._children += 1

    def __del__(self) -> None:
        # At the end of the process modules are emptied, and nothing needs to be ended.
        if _tree is not None and hasattr(self, "_ended"):
            self._dropped = True
            self._end()

    def _end(self) -> None:
        with _tree:
            if self._ended or self._children:
                return
            self._ended = True
        # In a forked child those of the parent are left alone: their threads do not exist there,
        # and one of them may have held a lock.
        if self.generation == generation:
            self._end_it(self.handle)
        parent = self._parent
        if parent is not None:
            with _tree:
                parent._children -= 1
                last = parent._dropped
            if last:
                parent._end()


class Context(Handle):
    """A context and what it was made for."""

    def __init__(self, backend: str | None, threads: int) -> None:
        options = c.wcodec_options()
        lib.wcodec_options_init_size(options, ctypes.sizeof(options))
        name = backend.encode() if backend else None
        options.backend = name
        options.threads = threads
        handle = ctypes.c_void_p()
        error = c.wcodec_error()
        status = lib.wcodec_context_create(options, handle, error)
        if status != c.WCODEC_OK:
            raise error_of(status, error)
        self.lock = threading.Lock()
        super().__init__(handle, lib.wcodec_context_destroy)

    def threads(self) -> int:
        """Threads that work at once."""
        return int(lib.wcodec_context_threads(self.handle))


generation = 0  # raised in each forked child
_lock = threading.Lock()
_tree = threading.RLock()  # which handles there are below others; finalizers may run within it
_contexts: dict[tuple[str | None, int], Context] = {}


def _after_fork() -> None:
    global generation, _lock, _tree
    generation += 1
    _lock = threading.Lock()
    _tree = threading.RLock()
    _contexts.clear()


os.register_at_fork(after_in_child=_after_fork)


def context(backend: str | None = None, threads: int | None = None) -> Context:
    """The context for a backend ("cpu", "cuda:1", "opencl", "auto", or a list of these; None:
    WCODEC_BACKEND, else "auto") and a number of threads (None: WCODEC_THREADS, else all cores)."""
    if backend is not None and (not isinstance(backend, str) or "\0" in backend):
        raise UsageError(f"backend is {backend!r}: expected a name such as 'cpu' or 'cuda:0'")
    if threads is not None and (not isinstance(threads, int) or not 1 <= threads <= 4096):
        raise UsageError(f"threads is {threads!r}: expected a number from 1 to 4096")
    key = (backend or None, threads or 0)
    with _lock:
        found = _contexts.get(key)
        if found is None:
            found = _contexts[key] = Context(*key)
        return found


def release() -> None:
    """Let go of the contexts that nothing uses any more: their threads end, and their staging
    memory, on devices too, is freed. The next call makes what it needs anew."""
    with _lock:
        _contexts.clear()


def host_backend(backend: str | None) -> str | None:
    """What decodes to host memory where the caller does not say: WCODEC_BACKEND, else the CPU, so
    that no device is opened unasked."""
    return backend or (None if os.environ.get("WCODEC_BACKEND") else "cpu")


def error_of(
    status: int,
    error: c.wcodec_error,
    *,
    files: Sequence[str] = (),
    tensors: Sequence[str] = (),
) -> WcodecError:
    """The exception for a failed call. Where several files or tensors took part, the text says
    which one is at fault."""
    text = error.text.decode("utf-8", "replace")
    file = files[0] if len(files) == 1 else next((f for f in files if text.startswith(f)), None)
    tensor = tensors[0] if len(tensors) == 1 else None
    if tensor is None:
        tensor = next((name for name in tensors if f"tensor '{name}'" in text), None)
    if tensor is None and ": tensor '" in text:  # as far as its name needs no escapes
        tensor = text.partition(": tensor '")[2].partition("': ")[0]
    return BY_STATUS.get(status, WcodecError)(text, file=file, tensor=tensor)


def check(
    status: int,
    error: c.wcodec_error,
    *,
    files: Sequence[str] = (),
    tensors: Sequence[str] = (),
    missing_file: bool = False,
) -> None:
    """Raise what a call failed with, if it did. missing_file: what is not found is a file."""
    if status == c.WCODEC_OK:
        return
    made = error_of(status, error, files=files, tensors=tensors)
    if missing_file and status == c.WCODEC_ERROR_NOT_FOUND:
        raise MissingFileError(made.text, file=made.file, tensor=made.tensor)
    raise made


class Watch:
    """A call of the library that may take long. Signals can stop it, and progress is reported.

        watch = Watch(progress)
        options.progress = watch.progress
        status = watch.run(lambda: lib.wcodec_...(options, ...))

    The call is made on a thread of its own: the calling one waits, so that Python handles signals
    there, and reports. An exception (KeyboardInterrupt, or one of `progress`) makes the call end
    soon, and is raised when it has ended.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self._report = progress
        self._stop = False
        self._told: tuple[int, int] | None = None
        self._last = False  # all is done, but for what makes it final: `progress` may still object
        self._wake = threading.Event()
        self._seen = threading.Event()  # the last report
        self._function = c.wcodec_progress_fn(self._note)
        self.progress = c.wcodec_progress(fn=self._function)

    def _note(self, _opaque: int | None, done: int, total: int) -> int:
        self._told = (done, total)
        if done == total and self._report is not None and not self._last:
            self._last = True
            self._wake.set()
            self._seen.wait()
        return int(self._stop)

    def stopped(self) -> bool:
        """Whether the call should end."""
        return self._stop

    def run(self, call: Callable[[], int]) -> int:
        """The status that `call` returns."""
        if self._report is None and threading.current_thread() is not threading.main_thread():
            del self._function, self.progress
            return int(call())  # no signal is handled here
        results: list[Any] = []

        def work() -> None:
            try:
                results.append(call())
            except BaseException as error:  # of ctypes: arguments that it cannot convert
                results.append(error)
            finally:
                self._wake.set()

        raised: BaseException | None = None
        try:
            threading.Thread(target=work, name="wcodec", daemon=True).start()
        except RuntimeError as error:
            raise OutOfMemoryError(f"no thread can be started: {error}") from None
        while True:
            try:
                self._wake.wait(0.1)
                self._wake.clear()
                ended, last = bool(results), self._last
                if self._report is not None and self._told is not None and raised is None:
                    told, self._told = self._told, None
                    self._report(*told)
                if last:
                    self._seen.set()
                if ended:
                    break
            except BaseException as error:
                raised = raised or error
                self._stop = True
                self._seen.set()
        del self._function, self.progress  # no cycle is left to the collector
        if raised is None and isinstance(results[0], BaseException):
            raised = results[0]
        if raised is not None:
            raise raised
        return int(results[0])
