# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Where ranks come together: numbers that all of them agree on, whatever each was at before."""

from __future__ import annotations

import time
from typing import Any

_last: dict[str, int] = {}  # where this rank was last, by the name of what meets


def meet(store: Any, name: str, world: int, timeout: float) -> int:
    """The number of a round that all `world` ranks have come to, and none of them ever comes to
    again. One that was in fewer rounds than others, since it failed before or came too late, is
    brought to theirs.

    store: one of torch.distributed, which all of them see. Raises TimeoutError with how many came.
    """
    deadline, pause = time.monotonic() + timeout, 0.001
    number, came = -1, 0
    try:
        while time.monotonic() < deadline:
            now = int(store.add(f"{name}/round", 0))
            if now != number and now > _last.get(name, -1):
                number = _last[name] = now
                came = int(store.add(f"{name}/{now}/came", 1))
                if came == world:
                    store.set(f"{name}/{now}/all", "here")
                    return now
            elif now != number or came > world:  # it was here, or others before its time were
                _end(store, name, now)
            elif store.check([f"{name}/{now}/all"]):
                return now
            time.sleep(pause)
            pause = min(1.5 * pause, 0.2)
    except BaseException:
        if number >= 0:
            _end(store, name, number)
        raise
    came = int(store.add(f"{name}/{number}/came", 0))
    _end(store, name, number)
    raise TimeoutError(f"{came} of {world} ranks came within {timeout:g} s")


def _end(store: Any, name: str, number: int) -> None:
    """Whoever comes is to come to the next round; the first who says so counts."""
    if store.add(f"{name}/{number}/ended", 1) == 1:
        store.add(f"{name}/round", 1)
