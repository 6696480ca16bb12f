# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Ensembles of recurrent state-space models: wcodec/recurrent.h."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _declarations as c
from ._arrays import float_pointer, is_torch
from ._context import Context, Handle, check, context
from ._errors import UnsupportedError, UsageError
from ._learn import DEPTH, Learned, Lesson, Values, empty_values, learn
from ._library import lib
from ._open import open_any
from ._reader import Reader
from ._rollouts import Rollouts, rollouts

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from ._reader import Source

_MODES = {
    "production": c.WCODEC_RSSM_PRODUCTION,
    "reference": c.WCODEC_RSSM_REFERENCE,
    "sampled": c.WCODEC_RSSM_SAMPLED,
}
_PRODUCTS = {
    "float32": c.WCODEC_GRU_PRODUCTS_F32,
    "bfloat16": c.WCODEC_GRU_PRODUCTS_BF16,
}
_PARTS = ("embed", "q", "k", "v", "out", "up", "down", "lm_head")
_METRICS = {"loss_variance": "loss_variance", "smoothness": "smoothness", "entropies": "entropy"}
_SUMMARY = tuple(field[0] for field in c.wcodec_rssm_summary._fields_ if field[0] != "reserved")
_NAMES = (*(f"{kind}_{gate}" for kind in "WUb" for gate in "zrh"), "head", "delta_head")
_DELTA_ROWS = 10
_STEPS = 1000


class Rollout(NamedTuple):
    """What an ensemble of E members says of Y steps; arrays of torch where it was given such."""

    trajectories: Any
    """[E, Y + 1]: the loss given, then those predicted."""
    mean: Any
    """[Y + 1]."""
    step_deltas: Any
    """[E, Y]: magnitudes of what the loss changes by."""
    hidden_norms: Any
    """[E, Y]."""
    hidden: Any
    """[E, H], after the last step."""
    loss_variance: Any
    """[E]."""
    smoothness: Any
    """[E]: mean magnitude of the second differences."""
    entropies: Any
    """[E], summed over the steps."""
    loss: float
    """Mean of the last losses."""
    variance: float
    """Of the last losses."""
    deviation: float
    aleatoric: float
    epistemic: float
    confidence: float
    lower: float
    upper: float
    entropy: float
    """Mean over members and steps."""
    weight_deltas: dict[str, float] | None
    """By how much the weights of each part of a model change; None without a delta head."""


def _numbers(value: Any, name: str) -> Any:
    """An array of float32, of any shape: None and text are no numbers."""
    import numpy as np

    if is_torch(value):
        value = value.detach().cpu().float().numpy()
    try:
        array = np.asarray(value)
        numbers = array.astype(np.float32, order="C", copy=False)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is no array of numbers") from None
    if array.dtype.kind in "OSU":
        raise UsageError(f"{name} is no array of numbers")
    return numbers


def floats(value: Any, shape: tuple[int, ...], name: str) -> Any:
    """As float32, one number after the other, of that shape."""
    array = _numbers(value, name)
    if array.shape != shape:
        raise UsageError(f"{name} has the shape {list(array.shape)}: expected {list(shape)}")
    return array


def _to_torch(arrays: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _shape(members: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    if len(members) == 0:
        raise UsageError("an ensemble has at least one member")
    try:
        shape = tuple(int(n) for n in members[0]["W_z"].shape)
    except (AttributeError, KeyError, TypeError):
        raise UsageError('member 0 has no matrix "W_z"') from None
    if len(shape) != 2:
        raise UsageError(f"member 0: W_z has the shape {list(shape)}: expected [hidden, inputs]")
    return shape[0], shape[1]


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise UsageError(f"mode is {mode!r}: expected one of {', '.join(_MODES)}")


def _check_device(device: Any) -> str:
    if not re.fullmatch(r"cpu|(cuda|opencl)(:\d+)?", str(device)):
        raise UsageError(f"device is {str(device)!r}: expected 'cpu', 'cuda:0' or 'opencl:0'")
    return str(device)


def _options(mode: str, device: str = "cpu", products: Any = "float32") -> c.wcodec_rssm_options:
    options = c.wcodec_rssm_options()
    lib.wcodec_rssm_options_init_size(options, ctypes.sizeof(options))
    options.mode = _MODES[mode]
    name = str(products).removeprefix("torch.")
    if name not in _PRODUCTS:
        raise UsageError(f"products is {products!r}: expected one of {', '.join(_PRODUCTS)}")
    options.products = _PRODUCTS[name]
    if device != "cpu":
        options.memory = device.partition(":")[0].encode()
    return options


def _weights(
    members: Sequence[Mapping[str, Any]], hidden: int, inputs: int
) -> tuple[Any, list[Any]]:
    """What the library takes, and the arrays that it points to."""
    weights, keep = (c.wcodec_gru_weights * len(members))(), []
    shapes = {"W": (hidden, inputs), "U": (hidden, hidden), "b": (hidden,)}
    names = {f"{kind}_{gate}": shape for kind, shape in shapes.items() for gate in "zrh"}
    for i, member in enumerate(members):
        unknown = sorted(set(member) - set(names))
        if unknown:
            raise UsageError(f"member {i} has {unknown[0]!r}, which no member has")
        for name, shape in names.items():
            if name in member:
                array = floats(member[name], shape, f"member {i}: {name}")
                keep.append(array)
                setattr(weights[i], name.lower(), float_pointer(array))
            elif name[0] != "b":
                raise UsageError(f"member {i} has no {name}")
    return weights, keep


class RSSM:
    """An ensemble of recurrent state-space models, which predicts a training's losses.

    model = wcodec.RSSM(members, head)      # members: a list of dicts with W_z, U_z, b_z, ...
    model.rollout(None, state.features(), loss, 50).trajectories
    model = wcodec.RSSM.open("ensemble.wcodec")     # by tensors "members.0.W_z", ..., "head"

    Args:
        members: a dict each of the weights of a gated recurrent unit, of numpy or torch: W_z, W_r
            and W_h [H, I], U_z, U_r and U_h [H, H], and b_z, b_r and b_h [H], which may be left
            out (zeros).
        head: [H + stochastic], the weights that make a loss.
        stochastic: values that are made of the hidden ones; in the mode "reference" H.
        mode: "production", "reference" or "sampled": wcodec/recurrent.h defines them.
        delta_head: [10, H + stochastic], the weights that make changes of a model's, or None.
        device: "cpu", or "cuda", "cuda:1", "opencl", "opencl:0": weights are in that device's
            memory, and it does all steps in one launch. What it says is within 1e-5 of the CPU's.
        products: "float32", or "bfloat16" (torch.bfloat16): rollouts of many starts may round
            factors of products to it, for a CUDA device's tensor cores; `products` says which it
            became. wcodec/recurrent.h has the bound.
        threads: as for wcodec.compress().

    Raises:
        UsageError: shapes that do not fit together, a weight that is NaN or infinite, by its
        member, name and place. LimitError, OutOfMemoryError, BackendError, DeviceError.
    """

    def __init__(
        self,
        members: Sequence[Mapping[str, Any]],
        head: Any,
        stochastic: int = 32,
        mode: str = "production",
        *,
        delta_head: Any = None,
        device: Any = "cpu",
        products: Any = "float32",
        threads: int | None = None,
    ) -> None:
        hidden, inputs = _shape(members)
        _check_mode(mode)
        device = _check_device(device)
        if isinstance(stochastic, bool) or not isinstance(stochastic, int) or stochastic < 1:
            raise UsageError(f"stochastic is {stochastic!r}: expected a number from 1 on")
        options = _options(mode, device, products)
        options.ensemble, options.hidden, options.inputs = len(members), hidden, inputs
        options.stochastic = stochastic
        weights, keep = _weights(members, hidden, inputs)
        both = hidden + stochastic
        head = floats(head, (both,), "head")
        if delta_head is not None:
            delta_head = floats(delta_head, (_DELTA_ROWS, both), "delta_head")
        parent: Context = context(device, threads)
        error, handle = c.wcodec_error(), ctypes.c_void_p()
        check(
            int(
                lib.wcodec_rssm_create(
                    parent.handle,
                    options,
                    weights,
                    float_pointer(head),
                    float_pointer(delta_head),
                    ctypes.byref(handle),
                    error,
                )
            ),
            error,
        )
        del keep
        ended = Handle(handle, lib.wcodec_rssm_destroy, parent)
        self._take(ended, delta_head is not None, mode, device)

    def _take(self, handle: Handle, has_delta_head: bool, mode: str, device: str) -> None:
        self._handle, self._has_delta_head = handle, has_delta_head
        self.mode, self.device = mode, device
        sizes = _options(mode)
        lib.wcodec_rssm_sizes(handle.handle, sizes)
        self.ensemble, self.hidden = int(sizes.ensemble), int(sizes.hidden)
        self.inputs, self.stochastic = int(sizes.inputs), int(sizes.stochastic)
        self.products = {v: k for k, v in _PRODUCTS.items()}[int(sizes.products)]

    @classmethod
    def open(
        cls,
        file: Source,
        mode: str = "production",
        names: Mapping[str, str] | None = None,
        *,
        device: Any = "cpu",
        products: Any = "float32",
        threads: int | None = None,
    ) -> RSSM:
        """An ensemble by the tensors of a file, whose shapes are its sizes.

        Args:
            file: a .wcodec file, a folder of them, an index beside them, or the bytes of a file.
            names: of tensors, where they are not the default: "W_z": "members.{}.W_z", and so on
                for all weights, with the number of the member for "{}", "head": "head" and
                "delta_head": "delta_head". Biases and delta_head may be missing.
            device, products, threads: as for the class.

        Raises:
            UsageError, TensorNotFoundError; MismatchError: a tensor of another shape or dtype, by
            its name; what wcodec.Reader raises. LimitError, OutOfMemoryError.
        """
        _check_mode(mode)
        device = _check_device(device)
        given = c.wcodec_rssm_names()
        for name, value in (names or {}).items():
            if name not in _NAMES or not isinstance(value, str):
                raise UsageError(f"names[{name!r}] is {value!r}: expected a str, of {_NAMES}")
            setattr(given, name.lower(), value.encode())
        reader = open_any(file, backend=device, threads=threads)
        try:
            if not isinstance(reader, Reader):
                raise UnsupportedError(
                    f"{reader.path or 'the data'}: is not compressed: wcodec.compress() "
                    "makes what an ensemble is read from",
                    file=reader.path or None,
                )
            opened, handle, error = reader.opened(), ctypes.c_void_p(), c.wcodec_error()
            status = lib.wcodec_rssm_open(
                opened.handle,
                _options(mode, device, products),
                given,
                ctypes.byref(handle),
                error,
            )
            check(int(status), error, files=[reader.path] if reader.path else ())
            delta_head = (names or {}).get("delta_head", "delta_head")
            made = cls.__new__(cls)
            # It needs the context, not the reader.
            ended = Handle(handle, lib.wcodec_rssm_destroy, opened._parent)
            made._take(ended, any(t.name == delta_head for t in reader.tensors()), mode, device)
            return made
        finally:
            reader.close()

    def rollout(
        self,
        hidden: Any,
        features: Any,
        loss: Any,
        steps: int,
        *,
        gradient_norm: float = 0.0,
        learning_rate: float = 0.0,
        seed: int = 0,
    ) -> Any:
        """Predict `steps` steps, 0 to 1000: a Rollout, or of many starts Rollouts, a row of which
        is what each gives by itself (with products of "bfloat16" on a device: nearly).

        Args:
            hidden: [E, H] or [H], where members begin; None: tanh of the features, then zeros. Of B
                starts [B, E, H] or [B, H].
            features: [I], as TrainingState.features() gives them. Of B starts [B, I].
            loss: of the latest step. Of B starts [B], or one number.
            gradient_norm, learning_rate: of the latest step, for weight_deltas, which many starts
                have not.
            seed: of the draws in the mode "sampled", 0 to 2**64 - 1; start b of B has seed + b:
                step seeds by B from call to call.

        Raises:
            UsageError: another shape, or steps or a seed out of range. OutOfMemoryError.
        """
        if isinstance(steps, bool) or not isinstance(steps, int) or not 0 <= steps <= _STEPS:
            raise UsageError(f"steps is {steps!r}: expected 0 to {_STEPS}")
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 64:
            raise UsageError(f"seed is {seed!r}: expected 0 to 2**64 - 1")
        torch = is_torch(features) or is_torch(hidden)
        features = _numbers(features, "features")
        if features.ndim == 2:
            if gradient_norm or learning_rate:
                raise UsageError("many starts have no gradient_norm and no learning_rate")
            arrays = self._rollouts(hidden, features, loss, steps, seed)
            return Rollouts(**_to_torch(arrays) if torch else arrays)
        return self._rollout(
            hidden, features, loss, steps, gradient_norm, learning_rate, seed, torch
        )

    def _rollouts(
        self, hidden: Any, features: Any, loss: Any, steps: int, seed: int
    ) -> dict[str, Any]:
        import numpy as np

        count = len(features)
        features = floats(features, (count, self.inputs), "features")
        if hidden is not None:
            hidden = _numbers(hidden, "hidden")
            if hidden.ndim == 2:
                hidden = floats(hidden, (count, self.hidden), "hidden")
                hidden = np.repeat(hidden[:, None], self.ensemble, 1)
            hidden = floats(hidden, (count, self.ensemble, self.hidden), "hidden")
        loss = _numbers(loss, "loss")
        if loss.ndim == 0:
            loss = np.full(count, loss)
        return rollouts(self, hidden, features, floats(loss, (count,), "loss"), steps, seed)

    def _rollout(
        self,
        hidden: Any,
        features: Any,
        loss: float,
        steps: int,
        gradient_norm: float,
        learning_rate: float,
        seed: int,
        torch: bool,
    ) -> Rollout:
        import numpy as np

        given, output = c.wcodec_rssm_input(), c.wcodec_rssm_output()
        features = floats(features, (self.inputs,), "features")
        if hidden is not None:
            hidden = self._begin(hidden)
        given.seed = seed
        given.hidden, given.features = float_pointer(hidden), float_pointer(features)
        try:
            given.loss = loss
            given.gradient_norm, given.learning_rate = gradient_norm, learning_rate
        except TypeError:
            raise UsageError("loss, gradient_norm and learning_rate are numbers") from None
        arrays: dict[str, Any] = {
            "trajectories": np.empty((self.ensemble, steps + 1), np.float32),
            "mean": np.empty(steps + 1, np.float32),
            "step_deltas": np.empty((self.ensemble, steps), np.float32),
            "hidden_norms": np.empty((self.ensemble, steps), np.float32),
            "hidden": np.empty((self.ensemble, self.hidden), np.float32),
        }
        for name, array in arrays.items():
            setattr(output, name, float_pointer(array))
        output.metrics = metrics = (c.wcodec_rssm_metrics * self.ensemble)()
        parts = np.empty(len(_PARTS), np.float32) if self._has_delta_head else None
        output.weight_deltas = float_pointer(parts)
        summary, error = c.wcodec_rssm_summary(), c.wcodec_error()
        status = lib.wcodec_rssm_rollout(self._handle.handle, given, steps, output, summary, error)
        check(int(status), error)
        for field, name in _METRICS.items():
            arrays[field] = np.array([getattr(m, name) for m in metrics], np.float32)
        if torch:
            arrays = _to_torch(arrays)
        numbers = {name: getattr(summary, name) for name in _SUMMARY}
        deltas = None if parts is None else dict(zip(_PARTS, parts.tolist(), strict=True))
        return Rollout(**arrays, **numbers, weight_deltas=deltas)

    def learn(
        self, hidden: Any, features: Any, loss: float, *, rate: float = 1e-3, clip: float = 5.0
    ) -> Learned:
        """Learn that `loss` followed these steps: a step of gradient descent, of all members and
        the head, on half of the sum of their squared errors. wcodec.Learner keeps the steps.

        Args:
            hidden: [E, H] or [H] before the first step; None: tanh of its features, then zeros.
            features: [steps, I], or [I] of one step; 1 to 3 steps, through which gradients go back.
            loss: of the training's step after the last.
            rate: of the descent, above 0, at most 1.
            clip: most that the norm of all gradients may be.

        Raises:
            UsageError: another shape, a number that is NaN, infinite or out of range.
            UnsupportedError: an ensemble of a device. OutOfMemoryError. Nothing is learnt then.
        """
        lesson = self._lesson(hidden, features, loss)
        return learn(self._handle.handle, lesson, rate, clip)

    def gradients(self, hidden: Any, features: Any, loss: float) -> tuple[Values, Learned]:
        """The gradients that learn() takes its step by, not clipped; nothing is learnt."""
        lesson, error = self._lesson(hidden, features, loss), c.wcodec_error()
        values, members = empty_values(self)
        status = lib.wcodec_rssm_gradients(
            self._handle.handle,
            lesson.given,
            members,
            float_pointer(values.head),
            lesson.learned,
            error,
        )
        check(int(status), error)
        return values, lesson.result()

    def weights(self) -> Values:
        """The weights as they are now, copied: RSSM(*model.weights()[:2], ...) is the same."""
        import numpy as np

        values, members = empty_values(self)
        if self._has_delta_head:
            shape = (_DELTA_ROWS, self.hidden + self.stochastic)
            values = values._replace(delta_head=np.empty(shape, np.float32))
        error = c.wcodec_error()
        status = lib.wcodec_rssm_weights(
            self._handle.handle,
            members,
            float_pointer(values.head),
            float_pointer(values.delta_head),
            error,
        )
        check(int(status), error)
        return values

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights to a .wcodec file that RSSM.open() takes; what was there is replaced
        when the new file is whole."""
        from .numpy import save_file

        values = self.weights()
        tensors = {
            f"members.{i}.{n}": a for i, m in enumerate(values.members) for n, a in m.items()
        }
        tensors["head"] = values.head
        if values.delta_head is not None:
            tensors["delta_head"] = values.delta_head
        save_file(tensors, path)

    def _lesson(self, hidden: Any, features: Any, loss: float) -> Lesson:
        shape = tuple(getattr(features, "shape", ()))
        steps = int(shape[0]) if len(shape) == 2 else 1
        if not 1 <= steps <= DEPTH:
            raise UsageError(f"features are of {steps} steps: expected 1 to {DEPTH}")
        if len(shape) == 1:
            features = features.reshape(1, -1)
        features = floats(features, (steps, self.inputs), "features")
        return Lesson(self, None if hidden is None else self._begin(hidden), features, loss)

    def _begin(self, hidden: Any) -> Any:
        """Hidden values of all members, which [H] are the same."""
        import numpy as np

        hidden = _numbers(hidden, "hidden")
        if hidden.ndim != 1:
            return floats(hidden, (self.ensemble, self.hidden), "hidden")
        return np.tile(floats(hidden, (self.hidden,), "hidden"), (self.ensemble, 1))
