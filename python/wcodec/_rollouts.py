# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Rollouts of many starts: wcodec_rssm_rollout_many()."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _declarations as c
from ._arrays import float_pointer
from ._context import check
from ._library import lib

if TYPE_CHECKING:
    from ._rssm import RSSM


class Rollouts(NamedTuple):
    """What an ensemble of E members says of Y steps from each of B starts; arrays of torch where it
    was given such."""

    trajectories: Any
    """[B, E, Y + 1]: the loss given, then those predicted."""
    hidden: Any
    """[B, E, H], after the last step."""
    loss_variance: Any
    """[B, E]."""
    smoothness: Any
    """[B, E]: mean magnitude of the second differences."""
    entropies: Any
    """[B, E], summed over the steps."""
    loss: Any
    """[B], as what follows: mean of the last losses."""
    variance: Any
    deviation: Any
    aleatoric: Any
    epistemic: Any
    confidence: Any
    lower: Any
    upper: Any
    entropy: Any


def _rows(array: Any, structure: type[ctypes.Structure], of: int) -> tuple[Any, dict[str, Any]]:
    """A pointer to structures of float32 that an array is, and the `of` first members of all."""
    names = [str(field[0]) for field in structure._fields_[:of]]
    pointer = ctypes.cast(float_pointer(array), ctypes.POINTER(structure))
    return pointer, {name: array[..., i] for i, name in enumerate(names)}


def rollouts(
    model: RSSM, hidden: Any, features: Any, loss: Any, steps: int, seed: int
) -> dict[str, Any]:
    """The members of Rollouts, of arrays that are as the library takes them."""
    import numpy as np

    count, members = len(features), model.ensemble
    metrics = np.empty(
        (count, members, ctypes.sizeof(c.wcodec_rssm_metrics) // 4), dtype=np.float32
    )
    summaries = np.empty((count, ctypes.sizeof(c.wcodec_rssm_summary) // 4), dtype=np.float32)
    arrays: dict[str, Any] = {
        "trajectories": np.empty((count, members, steps + 1), np.float32),
        "hidden": np.empty((count, members, model.hidden), np.float32),
    }
    starts, courses = c.wcodec_rssm_starts(), c.wcodec_rssm_courses()
    starts.count, starts.seed = count, seed
    starts.hidden, starts.features = float_pointer(hidden), float_pointer(features)
    starts.loss = float_pointer(loss)
    courses.trajectories = float_pointer(arrays["trajectories"])
    courses.hidden = float_pointer(arrays["hidden"])
    courses.metrics, of_metrics = _rows(metrics, c.wcodec_rssm_metrics, 3)
    courses.summaries, of_summaries = _rows(summaries, c.wcodec_rssm_summary, 9)
    error = c.wcodec_error()
    status = lib.wcodec_rssm_rollout_many(model._handle.handle, starts, steps, courses, error)
    check(int(status), error)
    of_metrics["entropies"] = of_metrics.pop("entropy")
    return arrays | of_metrics | of_summaries
