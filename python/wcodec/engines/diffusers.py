# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""diffusers: models and pipelines from folders whose weights are .wcodec files."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any, Union

import diffusers
import torch
import transformers

from .._errors import CorruptError, MismatchError, MissingFileError
from .._files import SUFFIX
from ..checkpoint import WCodecModel
from ..torch import Device, load_file

Path = Union[str, "os.PathLike[str]"]


def load_model(
    folder: Path, model_class: Any, device: Device = "cpu", dtype: torch.dtype | None = None
) -> Any:
    """A model of diffusers from a folder with config.json and .wcodec (or .safetensors) files.

    Args:
        folder: such as "stable-diffusion/unet".
        model_class: such as diffusers.UNet2DConditionModel.
        device: where weights are decoded and stay.
        dtype: of the weights, except those that the class keeps in float32; None: as in the file.

    Raises:
        MismatchError where tensors are missing, too many, or of other shapes; those of load_file().
    """
    path = os.fspath(folder)
    if not os.path.exists(os.path.join(path, "config.json")):
        raise MissingFileError(f"{path}: no config.json is in it", file=path)
    state = load_file(path, device)
    if dtype is not None:
        kept = set(getattr(model_class, "_keep_in_fp32_modules", None) or ())
        for name, tensor in state.items():
            if tensor.is_floating_point() and kept.isdisjoint(name.split(".")):
                state[name] = tensor.to(dtype)
    with _empty_parameters():
        model = model_class.from_config(model_class.load_config(path))
    try:
        model.load_state_dict(state, assign=True)
    except RuntimeError as error:
        raise MismatchError(f"{path}: {error}", file=path) from None
    return model.to(device).eval()


def _empty_parameters() -> Any:
    """Makes models without values of parameters, but with all else, where accelerate is there."""
    try:
        from accelerate import init_empty_weights
    except ImportError:
        return contextlib.nullcontext()
    return init_empty_weights(include_buffers=False)


def load_pipeline(
    folder: Path,
    device: Device = "cpu",
    dtype: torch.dtype | None = None,
    pipeline_class: Any = None,
    **kwargs: Any,
) -> Any:
    """A pipeline from a folder with model_index.json, in which those parts that have .wcodec files
    are loaded by this package, and the others by diffusers.

    Args:
        folder: each part in a folder of its own, as `wcodec compress -r` mirrors them.
        device, dtype: as in load_model().
        pipeline_class: None: the class that model_index.json names.
        **kwargs: passed on to from_pretrained() of the pipeline's class; parts among them are used
            in place of the folder's.

    Raises:
        MissingFileError, CorruptError (of model_index.json); those of load_model().
    """
    path = os.fspath(folder)
    for part, model_class in _models(path).items():
        inside = os.path.join(path, part)
        if part in kwargs or not _is_packed(inside):
            continue
        if issubclass(model_class, diffusers.ModelMixin):
            kwargs[part] = load_model(inside, model_class, device, dtype)
        else:
            kwargs[part] = WCodecModel.from_pretrained(
                inside, model_class=model_class, dtype=dtype or "auto"
            ).to(device)
    if dtype is not None:
        kwargs.setdefault("torch_dtype", dtype)
    made = pipeline_class or diffusers.DiffusionPipeline
    return made.from_pretrained(path, **kwargs).to(device)


def _is_packed(folder: str) -> bool:
    return os.path.isdir(folder) and any(name.endswith(SUFFIX) for name in os.listdir(folder))


def _models(folder: str) -> dict[str, type]:
    """Parts of a pipeline that are models of diffusers or transformers, by name."""
    path = os.path.join(folder, "model_index.json")
    try:
        with open(path, "rb") as file:
            index = json.load(file)
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: {error.strerror}", file=path) from None
    except (ValueError, RecursionError):
        raise CorruptError(f"{path}: no JSON", file=path) from None
    if not isinstance(index, dict):
        raise CorruptError(f"{path}: expected an object", file=path)
    libraries = {
        "diffusers": (diffusers, diffusers.ModelMixin),
        "transformers": (transformers, transformers.PreTrainedModel),
    }
    models: dict[str, type] = {}
    for part, value in index.items():
        if not isinstance(value, list) or len(value) != 2 or os.path.basename(part) != part:
            continue
        library, name = value
        if library in libraries and isinstance(name, str):
            module, base = libraries[library]
            found = getattr(module, name, None)
            if isinstance(found, type) and issubclass(found, base):
                models[part] = found
    return models
