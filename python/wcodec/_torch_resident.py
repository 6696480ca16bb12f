# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Models of torch whose weights stay coded in memory: their layers replaced, or decoded for each
use."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch

from . import _resident_cuda
from ._context import Progress
from ._dtypes import DTYPES, packed_shape
from ._errors import UnsupportedError, UsageError
from ._frameworks import Request
from ._open import open_any
from ._reader import AnyReader, Source, TensorInfo
from ._resident import PRODUCTS, Resident, ResidentInfo
from ._torch_layers import Embedding, Linear
from .torch import Device, Framework, _dtypes, load_into

COMPUTED = (torch.bfloat16, torch.float16, torch.float32)
"""Types of layers: those of vectors."""


_COMPARED_AT_ONCE = 64 << 20  # bytes


class ResidentModel(NamedTuple):
    """What load_resident() did."""

    resident: Resident
    """The weights of the replaced layers; it must stay open as long as the model is used."""
    missing: list[str]
    """Names of the model that are not in the file."""
    unexpected: list[str]
    """Names of the file that the model has no use for."""


class _Slot:
    """A parameter or buffer of a model, under all names that it has there: tied ones have several,
    and so have modules that are used twice."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.names: list[str] = []
        self.places: list[tuple[torch.nn.Module, str]] = []

    def replaceable(self, model: torch.nn.Module, dtype: str) -> bool:
        """Whether it is the weight of nothing but layers that there is something in place of."""
        if dtype not in PRODUCTS or dtype not in _dtypes or self.tensor.dtype not in COMPUTED:
            return False
        return all(
            leaf == "weight" and module is not model and _is_layer(module)
            for module, leaf in self.places
        )

    def give(self, value: torch.Tensor) -> None:
        """Set it everywhere to what was loaded."""
        if self.tensor.device == value.device:
            with torch.no_grad():
                self.tensor.copy_(value)
            return
        made = value.to(self.tensor.dtype)
        if not self.tensor.is_meta and isinstance(self.tensor, torch.nn.Parameter):
            self.tensor.data = made  # others may hold the parameter
            return
        if not isinstance(self.tensor, torch.nn.Parameter):
            for module, leaf in self.places:
                module._buffers[leaf] = made
            return
        parameter = torch.nn.Parameter(made, requires_grad=self.tensor.requires_grad)
        for module, leaf in self.places:
            module._parameters[leaf] = parameter


def _is_layer(module: torch.nn.Module) -> bool:
    """Nothing derived of the two, which may do something else, and nothing with hooks, a forward()
    or tensors of its own, which would be lost."""
    hooks = (
        module._forward_hooks,
        module._forward_pre_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
        module._state_dict_hooks,
        module._state_dict_pre_hooks,
        module._load_state_dict_pre_hooks,
        module._load_state_dict_post_hooks,
    )
    if any(hooks) or "forward" in module.__dict__:
        return False
    if module._modules or module._buffers or module._parameters.keys() - {"weight", "bias"}:
        return False
    if type(module) is torch.nn.Embedding:
        return module.max_norm is None  # which changes the table
    return type(module) is torch.nn.Linear


def _slots(model: torch.nn.Module) -> list[_Slot]:
    """All that a state_dict() has."""
    found: dict[int, _Slot] = {}
    for prefix, module in model.named_modules(remove_duplicate=False):
        temporary = module._non_persistent_buffers_set
        own: list[tuple[str, Any]] = list(module._parameters.items())
        own += [(leaf, b) for leaf, b in module._buffers.items() if leaf not in temporary]
        for leaf, tensor in own:
            if tensor is None:
                continue
            slot = found.setdefault(id(tensor), _Slot(tensor))
            slot.names.append(f"{prefix}.{leaf}" if prefix else leaf)
            if (module, leaf) not in slot.places:
                slot.places.append((module, leaf))
    return list(found.values())


def _torch_shape(info: TensorInfo | ResidentInfo) -> tuple[int, ...]:
    known = DTYPES.get(info.dtype)
    return packed_shape(info.dtype, info.shape) if known and known.bits % 8 else info.shape


def _compare(
    model: torch.nn.Module, slots: Iterable[_Slot], infos: Mapping[str, TensorInfo], strict: bool
) -> tuple[list[str], list[str]]:
    """Names that are missing and unexpected; an error where shapes differ, or, if strict, where
    there are such names."""
    missing, wrong, expected = [], [], set()
    for slot in slots:
        expected.update(slot.names)
        here = [infos[name] for name in slot.names if name in infos]
        if not here:
            missing.append(slot.names[0])
        wrong += [
            f"    size mismatch for {info.name}: {info.shape} in the file, "
            f"{tuple(slot.tensor.shape)} in the model"
            for info in here
            if _torch_shape(info) != tuple(slot.tensor.shape)
        ]
    unexpected = [name for name in infos if name not in expected]
    lines = []
    if strict and missing:
        lines.append(f"    Missing key(s) in state_dict: {', '.join(sorted(missing))}")
    if strict and unexpected:
        lines.append(f"    Unexpected key(s) in state_dict: {', '.join(sorted(unexpected))}")
    if lines or wrong:
        head = f"Error(s) in loading state_dict for {type(model).__name__}:"
        raise RuntimeError("\n".join([head, *lines, *wrong]))
    return missing, unexpected


def _check_model(model: torch.nn.Module) -> None:
    if type(model) in (torch.nn.Linear, torch.nn.Embedding):
        raise UsageError(
            f"the model is one {type(model).__name__}, which cannot be replaced in itself: make a "
            f"wcodec.torch.{type(model).__name__}"
        )


def _device_for(slots: Iterable[_Slot], asked: Any) -> Any:
    """The device that a model is loaded to: the one asked for, else that where it is."""
    there = {slot.tensor.device: slot.names[0] for slot in slots if not slot.tensor.is_meta}
    others = [device for device in there if device.type != "cpu"]
    if asked is None:
        if len(there) > 1 and others:
            raise UnsupportedError(f"the model is on {', '.join(map(str, there))}: name a device")
        return others[0] if others else "cpu"
    wanted = None if str(asked) == "cpu" else _resident_cuda.device_of(asked)
    for device in others:
        if device != wanted:
            raise UnsupportedError(
                f"{there[device]!r} is on {device}, and the model is to be on {asked}",
                tensor=there[device],
            )
    return asked


def _same(reader: AnyReader, a: TensorInfo, b: TensorInfo) -> bool:
    """Whether two tensors of a file are equal; some rows of them are decoded at a time."""
    if a.dtype != b.dtype:
        return False
    rows = a.shape[0] if a.shape else 1
    step = max(rows * _COMPARED_AT_ONCE // max(a.nbytes, 1), 1)
    for first in range(0, rows, step):
        count = min(step, rows - first) if step < rows else None
        pair = Framework("cpu").load(reader, [Request(t, first, count) for t in (a, b)])
        flat = [tensor.reshape(-1).view(torch.uint8) for tensor in pair]
        if not torch.equal(flat[0], flat[1]):
            return False
    return True


def _check_tied(reader: AnyReader, names: list[str], infos: Mapping[str, TensorInfo]) -> None:
    """What is one tensor in the model must be so in the file."""
    for name in names[1:]:
        if not _same(reader, infos[names[0]], infos[name]):
            raise RuntimeError(
                f"{names[0]} and {name} are tied in the model, and differ in the file"
            )


def _layer(resident: Resident, name: str, old: Any) -> torch.nn.Module:
    """What stands in place of a layer."""
    made: torch.nn.Module
    if type(old) is torch.nn.Linear:
        made = Linear(resident, name, old.bias)
    else:
        made = Embedding(resident, name, old.padding_idx, dtype=old.weight.dtype)
    return made.train(old.training)


def _replace(model: torch.nn.Module, made: Mapping[int, torch.nn.Module]) -> None:
    for module in list(model.modules()):
        for leaf, child in module._modules.items():
            if id(child) in made:
                module._modules[leaf] = made[id(child)]


def _retire(old: torch.nn.Module) -> None:
    """A replaced layer may be held elsewhere: without its weight a call of it is an error, not a
    product with what was never loaded."""
    old._parameters.pop("weight", None)


def _move(model: torch.nn.Module, device: torch.device) -> None:
    """What the file does not have goes where all else is, as by model.to(device), but for what is
    on the meta device."""
    if device.type != "cpu":
        model._apply(  # type: ignore[no-untyped-call]
            lambda tensor: tensor if tensor.is_meta else tensor.to(device)
        )


def _warn_of_meta(model: torch.nn.Module) -> None:
    """Parameters and buffers that the file does not have."""
    left = [
        f"{prefix}.{leaf}" if prefix else leaf
        for prefix, module in model.named_modules()
        for leaf, tensor in (*module._parameters.items(), *module._buffers.items())
        if tensor is not None and tensor.is_meta
    ]
    if left:
        warnings.warn(
            f"what is not in the file is still on the meta device: {', '.join(left)}",
            stacklevel=4,
        )


def _load(
    model: torch.nn.Module,
    reader: AnyReader,
    strict: bool,
    device: Any,
    options: dict[str, Any],
) -> ResidentModel:
    infos = {info.name: info for info in reader.tensors()}
    slots = _slots(model)
    _check_model(model)
    device = _device_for(slots, device)
    missing, unexpected = _compare(model, slots, infos, strict)
    kept: list[tuple[str, _Slot]] = []
    loaded: list[tuple[str, _Slot]] = []
    for slot in slots:
        names = [name for name in slot.names if name in infos]
        _check_tied(reader, names, infos)
        for name in names[:1]:
            ours = slot.replaceable(model, infos[name].dtype)
            (kept if ours else loaded).append((name, slot))
    values = load_into(reader, [name for name, _ in loaded])
    for name, slot in loaded:
        if values[name].shape != slot.tensor.shape:
            raise UnsupportedError(f"tensor {name!r} comes as bytes in torch", tensor=name)
    resident = Resident(names=[name for name, _ in kept], device=device, **options)
    on = torch.device(resident.device)
    for name, slot in loaded:
        dtype = values[name].dtype if slot.tensor.device == on else slot.tensor.dtype
        values[name] = values[name].to(on, dtype)
    # Nothing fails from here on but for want of memory on the device.
    for name, slot in loaded:
        slot.give(values.pop(name))
    made = {id(old): _layer(resident, name, old) for name, slot in kept for old, _ in slot.places}
    _replace(model, made)
    for old in {old for _, slot in kept for old, _ in slot.places}:
        _retire(old)
    _move(model, torch.device(resident.device))
    _warn_of_meta(model)
    return ResidentModel(resident, missing, unexpected)


def load_resident(
    model: torch.nn.Module,
    path: Source,
    form: str = "auto",
    strict: bool = True,
    *,
    device: Device | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> ResidentModel:
    """Load a file into a model whose weights then stay coded in memory, of the host or of a CUDA
    device.

        with torch.device("meta"):
            model = Model(config)
        wcodec.torch.load_resident(model, "model.safetensors.wcodec", device="cuda")

    Layers of the classes torch.nn.Linear and torch.nn.Embedding are replaced by those of this
    module, whose weights are frozen and multiplied by as they are in the file, of whatever type;
    all other parameters and buffers are loaded as load_state_dict() does it, in the model's types.
    A layer stays what it is where it has hooks or a forward() of its own, where its weight is used
    by something else too, or where that, or the layer, is of a type that there are no products
    with, such as F64.
    Tied weights are kept once. Replaced layers that something else holds, such as a list, are
    without a weight, and fail if called. On failure the model is as before, unless the device has
    too little memory for what the file does not have, which is moved there last.

    Args:
        model: on the device, on the CPU, or on the meta device, as a whole or in part: what was
            there gets memory as it is loaded, so that no more than the resident form is ever held,
            and what is loaded at a time.
        path, form, threads, progress: as those of wcodec.Resident.
        strict: raise where names are missing or too many. Else layers whose weights are missing
            stay as they are.
        device: "cpu", "cuda", 0, torch.device(...): where all of the model is then; None: where it
            is, or the CPU.

    Returns:
        (resident, missing, unexpected).

    Raises:
        RuntimeError: names that are missing or unexpected (strict), or shapes that differ: it lists
        them. What wcodec.Resident raises.
    """
    reader = open_any(path, backend="cpu", threads=threads)
    options = {
        "path": path, "form": form, "framework": "pt", "threads": threads, "progress": progress
    }  # fmt: skip
    try:
        return _load(model, reader, strict, device, options)
    finally:
        reader.close()


def _check_decoded(info: ResidentInfo, parameter: torch.Tensor) -> None:
    """Whether a parameter can be what a resident tensor decodes to."""

    def wrong(text: str) -> UsageError:
        return UsageError(f"tensor {info.name!r} {text}", tensor=info.name)

    dtype = _dtypes.get(info.dtype)
    if dtype is None:
        raise wrong(f"is {info.dtype}, which torch lacks")
    if DTYPES[info.dtype].bits % 8 and parameter.dtype != dtype:
        raise wrong(f"is {info.dtype}, which torch does not convert to {parameter.dtype}")
    if _torch_shape(info) != tuple(parameter.shape):
        raise wrong(f"has shape {info.shape}, the parameter {tuple(parameter.shape)}")


class DecodedOnUse:
    """A module whose parameters are decoded before each of its calls and let go of afterwards, for
    layers of any kind: convolutions, attention, fused ones.

        handle = wcodec.torch.DecodedOnUse(model.conv, resident, "conv.")
        ...
        handle.remove()   # decodes them for good

    Parameters of the module itself and of those in it that the Resident has are replaced by ones
    without memory (on the meta device), and frozen; they are decoded where the Resident is, and all
    else of the module must be there. Where gradients are recorded, autograd keeps
    what a backward pass needs of them until that is over. A module is called by one thread at a
    time, and not within torch.compile. A deep copy of it does the same, from the same Resident.
    """

    def __init__(self, module: torch.nn.Module, resident: Resident, prefix: str = "") -> None:
        """
        Args:
            module: it.
            resident: where its parameters are.
            prefix: what their names there begin with.

        Raises:
            UsageError: the Resident has none of them, or one of another shape, or of a type that
            torch lacks or does not convert.
        """
        there = set(resident.names())
        self._resident = resident
        self._slots: list[tuple[str, _Slot]] = []
        for slot in _slots(module):
            if isinstance(slot.tensor, torch.nn.Parameter):
                # Tied parameters may be there under any of their names.
                names = [prefix + name for name in slot.names if prefix + name in there]
                self._slots += [(name, slot) for name in names[:1]]
        if not self._slots:
            raise UsageError(f"no parameter of the module is resident with prefix {prefix!r}")
        for name, slot in self._slots:
            _check_decoded(resident.info(name), slot.tensor)
        self._free()
        self._hooks = [
            module.register_forward_pre_hook(self._before, prepend=True),
            module.register_forward_hook(self._after, always_call=True),
        ]

    # Bound methods, not functions: a deep copy of the module has a deep copy of this object then.
    def _before(self, *_: Any) -> None:
        self._decode()

    def _after(self, *_: Any) -> None:
        self._free()

    def _set(self, slot: _Slot, tensor: torch.Tensor) -> None:
        made = torch.nn.Parameter(tensor, requires_grad=False)
        for module, leaf in slot.places:
            module._parameters[leaf] = made

    def _decode(self) -> None:
        for name, slot in self._slots:
            info = self._resident.info(name)
            values = torch.empty(
                slot.tensor.shape, dtype=_dtypes[info.dtype], device=self._resident.device
            )
            self._resident.decode(name, values)
            self._set(slot, values.to(slot.tensor.dtype))

    def _free(self) -> None:
        for _, slot in self._slots:
            self._set(slot, torch.empty_like(slot.tensor, device="meta"))
            slot.tensor = slot.places[0][0]._parameters[slot.places[0][1]]  # type: ignore[assignment]

    def remove(self) -> None:
        """Take the hooks away; the parameters are decoded, and stay so."""
        self._decode()
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
