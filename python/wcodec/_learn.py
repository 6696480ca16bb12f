# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Ensembles that learn as a training goes on: wcodec/learn.h."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _declarations as c
from ._arrays import float_pointer
from ._context import check
from ._errors import UsageError
from ._library import lib

if TYPE_CHECKING:
    from ._rssm import RSSM

DEPTH = 3  # WCODEC_RSSM_DEPTH


class Learned(NamedTuple):
    """What came of a lesson, before anything was learnt of it; arrays of numpy."""

    losses: Any
    """[E]: what the members said."""
    first: Any
    """[E, H] after the first step, where a lesson begins that begins one step later."""
    hidden: Any
    """[E, H] after the last step, where a rollout begins."""
    error: float
    """Half of the sum of (losses - loss)^2."""
    norm: float
    """Of all gradients, before they were clipped."""


class Values(NamedTuple):
    """Weights of an ensemble, or their gradients; arrays of numpy."""

    members: list[dict[str, Any]]
    """As RSSM takes them, with all biases."""
    head: Any
    """[H + S]."""
    delta_head: Any = None
    """[10, H + S] of weights; None: the ensemble has none."""


def empty_values(model: RSSM) -> tuple[Values, Any]:
    """Arrays to be written, and what the library takes for them."""
    import numpy as np

    h = model.hidden
    shapes = {"W": (h, model.inputs), "U": (h, h), "b": (h,)}
    given = (c.wcodec_gru_values * model.ensemble)()
    members = []
    for values in given:
        member = {
            f"{kind}_{gate}": np.empty(shape, np.float32)
            for kind, shape in shapes.items()
            for gate in "zrh"
        }
        for name, array in member.items():
            setattr(values, name.lower(), float_pointer(array))
        members.append(member)
    return Values(members, np.empty(h + model.stochastic, np.float32)), given


class Lesson:
    """A lesson as the library takes it, with the arrays that it points to."""

    def __init__(self, model: RSSM, hidden: Any, features: Any, loss: float) -> None:
        import numpy as np

        shape = (model.ensemble, model.hidden)
        self._keep = (hidden, features)
        self.given, self.learned = c.wcodec_rssm_lesson(), c.wcodec_rssm_learned()
        self.given.hidden, self.given.features = float_pointer(hidden), float_pointer(features)
        self.given.steps = len(features)
        try:
            self.given.loss = loss
        except TypeError:
            raise UsageError("loss is no number") from None
        self._losses = np.empty(model.ensemble, np.float32)
        self._first, self._hidden = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.learned.losses = float_pointer(self._losses)
        self.learned.first = float_pointer(self._first)
        self.learned.hidden = float_pointer(self._hidden)

    def result(self) -> Learned:
        error, norm = float(self.learned.error), float(self.learned.norm)
        return Learned(self._losses, self._first, self._hidden, error, norm)


def learn(handle: Any, lesson: Lesson, rate: float, clip: float) -> Learned:
    options, error = c.wcodec_rssm_learn_options(), c.wcodec_error()
    lib.wcodec_rssm_learn_options_init_size(options, ctypes.sizeof(options))
    try:
        options.rate, options.clip = rate, clip
    except TypeError:
        raise UsageError("rate and clip are numbers") from None
    check(int(lib.wcodec_rssm_learn(handle, options, lesson.given, lesson.learned, error)), error)
    return lesson.result()


class Learner:
    """Has an ensemble learn of each step of a training, and keeps where its members are.

    learner = wcodec.Learner(model, depth=3)
    for batch in batches:
        features = state.features()
        loss = train(batch)             # the step that the members are to foresee
        learner.step(features, loss)
        state.step(loss, ...)
    model.rollout(learner.hidden, state.features(), loss, 50)

    Args:
        model: an ensemble of the CPU.
        depth: steps that gradients go back through, 1 to 3.
        rate, clip: as for RSSM.learn().
    """

    def __init__(
        self, model: RSSM, depth: int = 1, *, rate: float = 1e-3, clip: float = 5.0
    ) -> None:
        if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= DEPTH:
            raise UsageError(f"depth is {depth!r}: expected 1 to {DEPTH}")
        self.model, self.depth, self.rate, self.clip = model, depth, rate, clip
        self.hidden: Any = None
        """[E, H], where a rollout begins; None before the first step."""
        self._window: list[Any] = []
        self._begin: Any = None
        self._next: Any = None

    def step(self, features: Any, loss: float) -> Learned:
        """Learn that `loss` followed `features`, [I], which were the training's state before it.

        Raises:
            What RSSM.learn() raises; then nothing has changed.
        """
        import numpy as np

        from ._rssm import floats

        row = floats(features, (self.model.inputs,), "features").copy()
        full = len(self._window) == self.depth
        window = [*self._window[full:], row]
        begin = self._next if full else self._begin
        learned = self.model.learn(begin, np.stack(window), loss, rate=self.rate, clip=self.clip)
        self._window, self._begin = window, begin
        self._next, self.hidden = learned.first, learned.hidden
        return learned
