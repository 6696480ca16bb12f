# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Messages of what changed between two snapshots of weights: wcodec/delta.h."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Union

from . import _declarations as c
from ._context import Progress, Watch, context, host_backend
from ._errors import UsageError
from ._library import lib
from ._options import encode_options
from ._write import Place, Tensor, check_save, checked, save_items

Message = Union[bytes, bytearray, memoryview]

_STATES = ("before", "after", "broken")
_VERIFY = ("before", "trial", "after")


def _framework(tensors: Mapping[str, Any]) -> Any:
    """The module for a dict's tensors."""
    if not isinstance(tensors, dict):
        raise UsageError(f"expected a dict of tensors, got {type(tensors).__name__}")
    classes = {kind for tensor in tensors.values() for kind in type(tensor).__mro__}
    torch = any(kind.__module__.partition(".")[0] == "torch" for kind in classes)
    return importlib.import_module("." + ("torch" if torch else "numpy"), __package__)


def delta_encode(old: dict[str, Any], new: dict[str, Any], **options: Any) -> bytes:
    """One message of what changed from the weights `old` to the weights `new`.

        message = wcodec.delta_encode(before, model.state_dict())      # the trainer
        wcodec.delta_apply(weights, message)                           # who has `before`

    Args:
        old, new: arrays of numpy or tensors of torch by name; in torch's case on any device. A
            tensor that `old` has not, or with another type or shape, is coded alone.
        **options: file=False; True: a .wcodec file that can also be decoded as one, whose base is
            what save_file(old) makes: takes longer. level=3, tile=None, profile="auto",
            predict="auto", verify=True, threads=None, progress=None, as those of
            wcodec.compress().

    Returns:
        The message, for delta_apply().

    Raises:
        UsageError: a tensor of a type that the format lacks, or an option that is wrong.
        OutOfMemoryError, CancelledError, LimitError, DeviceError.
    """
    made: bytes = _framework(new or old).delta_encode(old, new, **options)
    return made


def delta_apply(
    weights: dict[str, Any],
    message: Message,
    *,
    verify: str = "before",
    states: dict[str, str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Bring weights from the snapshot that a message is a delta of to the new one, in place.

    Args:
        weights: arrays of numpy or tensors of torch by name, contiguous, all of them that the
            message has; others are left alone. Tied weights may be the same memory.
        message: what delta_encode() gave.
        verify: what is made sure of before the first byte changes, beside the message's own
            hashes, which always are. "before": that the weights are those of the old snapshot.
            "trial": everything is decoded once without being kept, so that after it only a device
            can fail, or memory be too little. "after": nothing. The hashes of results are compared
            in any case.
        states: a dict that gets the state of each weight, on failure too: "before", "after" or
            "broken", where applying failed in the middle of it.
        threads: None: one for each core.
        progress: called as progress(done, total) with bytes; its exceptions, and Ctrl-C, cancel as
            long as nothing is changed.

    Raises:
        MismatchError: weights of another snapshot, type or shape. TensorNotFoundError: one that the
        message has is not there. CorruptError, NewerFormatError: the message. UsageError: a tensor
        that cannot be changed where it is. CancelledError, DeviceError, LimitError,
        OutOfMemoryError.
    """
    _framework(weights).delta_apply(
        weights, message, verify=verify, states=states, threads=threads, progress=progress
    )


def encode(
    old: Sequence[Tensor],
    new: Sequence[Tensor],
    *,
    old_place: Place | None = None,
    new_place: Place | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    file: bool = False,
    **given: Any,
) -> bytes:
    """The message between tensors that lie where they are described."""
    old, _ = checked(old, None)
    new, _ = checked(new, None)
    place = new_place or old_place
    handle = context(place.backend if place else host_backend(None), threads).handle
    watch, error = Watch(progress), c.wcodec_error()
    coding = encode_options(**given)
    coding.progress = watch.progress
    options = c.wcodec_delta_encode_options()
    lib.wcodec_delta_encode_options_init_size(options, ctypes.sizeof(options))
    options.encode = ctypes.pointer(coding)
    options.as_file = bool(file)
    if old_place is not None:
        options.before_memory = old_place.memory.encode()
    if new_place is not None:
        options.after_memory = new_place.memory.encode()
    if place is not None:
        options.use_queue, options.queue = 1, place.queue
    before, after = save_items(old), save_items(new)
    message, size = ctypes.c_void_p(), ctypes.c_size_t()
    status = watch.run(
        lambda: int(
            lib.wcodec_delta_encode(
                handle, before, len(old), after, len(new), options, message, size, None, error
            )
        )
    )
    check_save([t.name for t in (*new, *old)], status, error, None)
    try:
        return ctypes.string_at(message.value or 0, size.value)
    finally:
        lib.wcodec_delta_free(handle, message)


def apply(
    weights: Sequence[Tensor],
    message: Message,
    *,
    place: Place | None = None,
    verify: str = "before",
    states: dict[str, str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Apply a message to tensors where they are."""
    if verify not in _VERIFY:
        raise UsageError(f"verify is {verify!r}: expected one of {', '.join(_VERIFY)}")
    if not isinstance(message, (bytes, bytearray, memoryview)):
        raise TypeError(f"the message is {type(message).__name__}: expected bytes")
    checked(weights, None)
    data = bytes(message)
    handle = context(place.backend if place else host_backend(None), threads).handle
    watch, error = Watch(progress), c.wcodec_error()
    options = c.wcodec_delta_apply_options()
    lib.wcodec_delta_apply_options_init_size(options, ctypes.sizeof(options))
    options.verify = _VERIFY.index(verify)
    options.progress = watch.progress
    if place is not None:
        options.memory = place.memory.encode()
        options.use_queue, options.queue = 1, place.queue
    became = (ctypes.c_uint8 * max(len(weights), 1))()
    options.states = ctypes.addressof(became)
    items = save_items(weights)
    try:
        status = watch.run(
            lambda: int(
                lib.wcodec_delta_apply(
                    handle, data, len(data), items, len(weights), options, None, error
                )
            )
        )
    finally:
        if states is not None:
            states.update((t.name, _STATES[state]) for t, state in zip(weights, became))
    text = error.text.decode("utf-8", "replace")  # may name one that only the message has
    named = text.partition('tensor "')[2].partition('": ')[0]
    check_save([*(t.name for t in weights), named], status, error, None)
