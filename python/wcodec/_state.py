# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The state of a training as features: wcodec/state.h."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _declarations as c
from ._arrays import float_pointer
from ._context import Context, Handle, check, context
from ._errors import UsageError
from ._library import lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

_PHASES = {
    "warm-up": c.WCODEC_PHASE_WARM_UP,
    "full": c.WCODEC_PHASE_FULL,
    "predict": c.WCODEC_PHASE_PREDICT,
    "correct": c.WCODEC_PHASE_CORRECT,
}
_NUMBERS = tuple(f[0] for f in c.wcodec_training_step._fields_ if f[1] is ctypes.c_float)


class Averages(NamedTuple):
    """Moving averages of the loss, which keep 3/4, 15/16 and 63/64 of themselves a step."""

    fast: float
    medium: float
    slow: float


class TrainingState:
    """What models of a training's course know of it: the latest step, the 256 latest losses and
    the 64 latest gradient norms, as 64 features (wcodec/state.h lists them).

    state = wcodec.TrainingState()
    for n, batch in enumerate(batches):
        ...
        state.step(loss.item(), norm.item(), learning_rate, beta1_power=0.9 ** (n + 1))
    state.features()        # [64] of float32
    """

    FEATURES = 64
    """WCODEC_STATE_FEATURES."""

    def __init__(self) -> None:
        error, handle = c.wcodec_error(), ctypes.c_void_p()
        parent: Context = context("cpu", None)
        check(
            int(lib.wcodec_training_state_create(parent.handle, ctypes.byref(handle), error)), error
        )
        self._parent = parent
        self._handle = Handle(handle, lib.wcodec_training_state_destroy, parent)
        self._steps = 0

    def step(
        self,
        loss: float,
        gradient_norm: float,
        learning_rate: float = 0.0,
        *,
        step: int | None = None,
        momentum_mean: float = 0.0,
        momentum_deviation: float = 0.0,
        variance_mean: float = 0.0,
        variance_deviation: float = 0.0,
        beta1_power: float = 1.0,
        beta2_power: float = 1.0,
        phase: str = "full",
        phase_step: int = 0,
    ) -> None:
        """Add a step of training, when it is over.

        Args:
            loss, gradient_norm: may be NaN or infinite, which features show.
            learning_rate: the one that took effect; 0: none.
            step: its number (None: one more than that of the step before, from 1 on).
            momentum_mean, momentum_deviation: of the optimizer's first moments, over all weights.
            variance_mean, variance_deviation: of its second moments.
            beta1_power, beta2_power: Adam's betas to the power of the step.
            phase: "warm-up", "full", "predict" or "correct".
            phase_step: steps since the phase began.

        Raises:
            UsageError: another phase, or a number that is none or out of range. Nothing is added.
        """
        given = dict(locals())
        if phase not in _PHASES:
            raise UsageError(f"phase is {phase!r}: expected one of {', '.join(_PHASES)}")
        made = c.wcodec_training_step()
        for name in _NUMBERS:
            try:
                setattr(made, name, float(given[name]))
            except (TypeError, ValueError):
                raise UsageError(f"{name} is {given[name]!r}: expected a number") from None
        number = self._steps + 1 if step is None else step
        for name, value in (("step", number), ("phase_step", phase_step)):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 64:
                raise UsageError(f"{name} is {value!r}: expected a whole number from 0 on")
            setattr(made, name, value)
        made.phase = _PHASES[phase]
        error = c.wcodec_error()
        check(int(lib.wcodec_training_state_step(self._handle.handle, made, error)), error)
        self._steps = number

    def features(self) -> np.ndarray[Any, Any]:
        """The features, [64] of float32."""
        import numpy as np

        found = np.empty(self.FEATURES, np.float32)
        error = c.wcodec_error()
        check(
            int(
                lib.wcodec_training_state_features(
                    self._handle.handle, self.FEATURES, float_pointer(found), error
                )
            ),
            error,
        )
        return found

    @staticmethod
    def batch(states: Sequence[TrainingState]) -> np.ndarray[Any, Any]:
        """The features of many states, [len(states), 64] of float32."""
        import numpy as np

        found = np.empty((len(states), TrainingState.FEATURES), np.float32)
        if not states:
            return found
        handles = (ctypes.c_void_p * len(states))(*(s._handle.handle.value for s in states))
        error = c.wcodec_error()
        check(
            int(
                lib.wcodec_training_states_features(
                    states[0]._parent.handle,
                    handles,
                    len(states),
                    TrainingState.FEATURES,
                    float_pointer(found),
                    error,
                )
            ),
            error,
        )
        return found

    @property
    def averages(self) -> Averages:
        """Moving averages of the loss; NaN before the first step."""
        found = c.wcodec_training_averages()
        lib.wcodec_training_state_averages(self._handle.handle, found)
        return Averages(found.fast, found.medium, found.slow)
