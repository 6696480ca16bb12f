# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""transformers: the quantization method "wcodec", by which from_pretrained() makes models whose
weights stay coded in memory. Importing this module registers it.

    config = wcodec.engines.transformers.WcodecConfig()
    model = AutoModelForCausalLM.from_pretrained("my-model.wcodec", quantization_config=config)
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
import transformers
from packaging.version import Version
from transformers.quantizers import HfQuantizer
from transformers.quantizers.auto import register_quantization_config, register_quantizer
from transformers.utils.quantization_config import QuantizationConfigMixin

from .. import _resident_cuda
from .._errors import MissingFileError, UnsupportedError, UsageError
from .._files import SUFFIX
from .._frameworks import Request
from .._open import USUAL_INDEX, open_any
from .._reader import Reader, TensorInfo
from .._resident import FORMS, Resident
from .._torch_decoded import DecodedLinear
from .._torch_layers import Embedding, Linear
from .._torch_resident import _is_layer, _replace, _retire, _same, _Slot, _slots, _torch_shape
from ..torch import Framework, _dtypes

METHOD = "wcodec"
MODES = ("product", "decode")
OLDEST = "5.17"

_WEIGHTS = "model.safetensors"
_AUTOMATIC = ("auto", "balanced", "balanced_low_0", "sequential")

log = logging.getLogger("wcodec")


@register_quantization_config(METHOD)
class WcodecConfig(QuantizationConfigMixin):  # type: ignore[misc]
    """How the weights of a model stay in memory; in a config.json:
    `"quantization_config": {"quant_method": "wcodec", "form": "auto", "mode": "product"}`.

    Attributes:
        form: "auto", "coded", "fixed" or "plain", as that of wcodec.Resident.
        mode: "product" multiplies by weights as they are kept, with sums of 32 bits: results are
            near those of torch, as wcodec/resident.h says. "decode" decodes a layer's matrix for
            each call: results are torch's, bit for bit.
        modules_to_not_convert: names of modules, or of what they are in, whose weights are decoded
            when they are loaded, and stay so: such as what is to be trained.
        threads: of the CPU; None: WCODEC_THREADS, else one for each core.
    """

    def __init__(
        self,
        form: str = "auto",
        mode: str = "product",
        modules_to_not_convert: Sequence[str] | None = None,
        threads: int | None = None,
        *,
        quant_method: str = METHOD,
        **unknown: Any,
    ) -> None:
        if unknown:
            known = "form, mode, modules_to_not_convert and threads"
            raise UsageError(f"WcodecConfig has no {', '.join(sorted(unknown))}: it has {known}")
        if quant_method != METHOD:
            raise UsageError(f"quant_method is {quant_method!r}: expected {METHOD!r}")
        self.quant_method = METHOD
        self.form = _one_of("form", form, FORMS)
        self.mode = _one_of("mode", mode, MODES)
        modules = [] if modules_to_not_convert is None else modules_to_not_convert
        if isinstance(modules, str) or not all(isinstance(name, str) for name in modules):
            raise UsageError(f"modules_to_not_convert is {modules!r}: expected a list of names")
        self.modules_to_not_convert = list(modules)
        whole = isinstance(threads, int) and not isinstance(threads, bool) and threads > 0
        if threads is not None and not whole:
            raise UsageError(f"threads is {threads!r}: expected None, or 1 or more")
        self.threads = threads


def _one_of(what: str, value: Any, known: Iterable[str]) -> str:
    names = list(known)
    if value not in names:
        raise UsageError(f"{what} is {value!r}: expected one of {', '.join(map(repr, names))}")
    return str(value)


class _Group:
    """Parameters of a model that are tied: one tensor for all."""

    def __init__(self, slots: list[_Slot]) -> None:
        self.slots = slots
        self.keys = {name for slot in slots for name in slot.names}
        self.files: list[str] = []  # names in the files
        self.contradictory = False  # of which transformers takes the last

    def replaceable(self, model: torch.nn.Module, info: TensorInfo, there: set[str]) -> bool:
        """Whether all that it is the weight of can be replaced; the biases of these are loaded."""
        if self.contradictory:
            return False
        if not all(slot.replaceable(model, info.dtype) for slot in self.slots):
            return False
        return all(
            module._parameters.get("bias") is None or name[: -len("weight")] + "bias" in there
            for slot in self.slots
            for name in slot.names
            for module in [model.get_submodule(name.rpartition(".")[0])]
        )


@register_quantizer(METHOD)
class WcodecQuantizer(HfQuantizer):  # type: ignore[misc]
    """Replaces layers before transformers loads what is left. `resident` is what they are in."""

    requires_calibration = False

    def __init__(self, quantization_config: WcodecConfig, **kwargs: Any) -> None:
        kwargs["pre_quantized"] = False  # to transformers, which loads no coded weights itself
        super().__init__(quantization_config, **kwargs)
        self.resident: Resident | None = None
        self._named = False
        self._files: list[str] | None = None
        self._model: Any = None
        self._dtype: Any = None
        self._device = torch.device("cpu")
        self._single: list[str] = []  # patterns of what the model keeps in binary32
        self._rest: Any = None  # a folder with what transformers loads
        self._ties: dict[str, str] = {}
        self._untied: list[torch.nn.Module] = []

    def validate_environment(self, *_: Any, **kwargs: Any) -> None:
        found = transformers.__version__
        if Version(found) < Version(OLDEST):
            raise UnsupportedError(f"wcodec needs transformers {OLDEST}, this is {found}")
        self._device = _device_of(kwargs.get("device_map"))

    def update_dtype(self, dtype: Any) -> Any:
        self._dtype = dtype
        return dtype

    def update_device_map(self, device_map: Any) -> Any:
        return None if device_map is None else {"": self._device}

    # Of what transformers calls between reading the configuration and looking for files, each
    # version has one of these.
    def update_tp_plan(self, config: Any) -> Any:
        return self._prepare(config)

    def update_attn_implementation(self, config: Any) -> Any:
        return self._prepare(config)

    def _prepare(self, config: Any) -> Any:
        """Name the file that .wcodec is appended to, since transformers looks for others only; it
        opens none before this module has replaced it."""
        if getattr(config, "transformers_weights", None) is None:
            config.transformers_weights = _WEIGHTS
            self._named = True
        folder = getattr(config, "name_or_path", None) or ""
        if getattr(config, "dtype", None) is None and os.path.isdir(folder):
            config.dtype = _dtype_of(_source(os.path.join(folder, config.transformers_weights)))
        return config

    def _process_model_before_weight_loading(
        self, model: Any, checkpoint_files: list[str] | None = None, **_: Any
    ) -> None:
        if checkpoint_files is None:
            raise UsageError(
                "weights that stay coded come from the files of a folder: name it, not a state_dict"
            )
        if self._named:
            vars(model.config).pop("transformers_weights", None)
        self._model = weakref.ref(model)
        self._files = checkpoint_files
        self._single = [name.replace("*", ".*") for name in model._get_dtype_plan(self._dtype)]

    def update_weight_conversions(self, weight_conversions: Any, *model: Any) -> Any:
        conversions = super().update_weight_conversions(weight_conversions, *model)
        if self._files is not None:
            files, self._files = self._files, None
            self._load(self._model(), files, conversions)
        return conversions

    def _load(self, model: Any, files: list[str], conversions: list[Any]) -> None:
        """Replace layers by ones of a Resident, and the files by one of what they lack."""
        config = self.quantization_config
        path = _source(files[0])
        reader = open_any(path, backend="cpu", threads=config.threads)
        try:
            if not isinstance(reader, Reader):
                raise UnsupportedError(
                    f"{path}: is not compressed: wcodec.compress() makes what can stay so in "
                    "memory",
                    file=path,
                )
            infos = {info.name: info for info in reader.tensors()}
            keys = _keys(model, infos, conversions)
            groups = _groups(model, reader, infos, keys)
            kept = self._chosen(model, groups, infos, {key for key in keys.values() if key})
            if kept:
                self._make(model, path, kept)
            done = {name for group in kept for name in group.files}
            left = [info for name, info in infos.items() if name not in done]
            self._rest = tempfile.TemporaryDirectory(prefix="wcodec-")
            rest = os.path.join(self._rest.name, _WEIGHTS)
            _write(reader, left, {name for name in keys if keys[name] is None}, rest)
            files[:] = [rest]
        finally:
            reader.close()

    def _chosen(
        self, model: Any, groups: list[_Group], infos: dict[str, TensorInfo], there: set[str]
    ) -> list[_Group]:
        _check_shapes(model, groups, infos)
        skipped = [name.split(".") for name in self.quantization_config.modules_to_not_convert]
        chosen = []
        for group in groups:
            if not group.files or any(_below(key, skipped) for key in group.keys):
                continue
            if any(re.search(name, key) for name in self._single for key in group.keys):
                continue
            if group.replaceable(model, infos[group.files[0]], there):
                chosen.append(group)
        return chosen

    def _make(self, model: Any, path: str, kept: list[_Group]) -> None:
        config = self.quantization_config
        self.resident = Resident(
            path,
            names=[group.files[0] for group in kept],
            device=self._device,
            form=config.form,
            framework="pt",
            threads=config.threads,
        )
        made: dict[int, torch.nn.Module] = {}
        old: dict[int, torch.nn.Module] = {}
        for group in kept:
            for module, _ in itertools.chain.from_iterable(slot.places for slot in group.slots):
                old[id(module)] = module
                made[id(module)] = _layer(self.resident, group.files[0], module, config.mode)
        _replace(model, made)
        for module in old.values():
            _retire(module)
        self._untie(model, {key for group in kept for key in group.keys})

    def _untie(self, model: Any, replaced: set[str]) -> None:
        """What is tied by having one resident tensor is not tied by transformers, too."""
        tied = model.all_tied_weights_keys
        self._ties = {a: b for a, b in tied.items() if a in replaced or b in replaced}
        model.all_tied_weights_keys = {a: b for a, b in tied.items() if a not in self._ties}
        if model.all_tied_weights_keys:
            return
        for module in model.modules():
            if self._ties and getattr(module, "_tied_weights_keys", None):
                module._tied_weights_keys = None
                self._untied.append(module)

    def _process_model_after_weight_loading(self, model: Any, **_: Any) -> Any:
        if self._files is not None or self._rest is None:
            raise UnsupportedError(
                f"transformers {transformers.__version__} loads models in a way that wcodec does "
                "not know"
            )
        self._rest.cleanup()
        self._rest = None
        return model

    def _dequantize(self, model: Any, dtype: Any = None) -> Any:
        """torch's own layers again, with decoded weights."""
        made: dict[int, torch.nn.Module] = {}
        parameters: dict[tuple[int, str], torch.nn.Parameter] = {}
        for module in model.modules():
            if isinstance(module, (Linear, Embedding)):
                key = (id(module.resident), module.name)
                if key not in parameters:
                    parameters[key] = torch.nn.Parameter(module.weight.to(dtype))
                made[id(module)] = _dense(module, parameters[key])
        _replace(model, made)
        model.all_tied_weights_keys = {**model.all_tied_weights_keys, **self._ties}
        for module in self._untied:
            del module._tied_weights_keys
        self._ties, self._untied = {}, []
        self.resident = None
        return model

    @property
    def is_trainable(self) -> bool:
        """Adapters on top are; the weights are frozen."""
        return True

    @property
    def is_compileable(self) -> bool:
        return True

    def is_serializable(self, *_: Any, **__: Any) -> bool:
        """Never. Asked by save_pretrained(), which saves adapters nevertheless."""
        model = None if self._model is None else self._model()
        if not getattr(model, "_hf_peft_config_loaded", False):
            raise UnsupportedError(
                "save_pretrained(): the weights of this model stay coded in memory, and are saved "
                "already: copy the folder that it came from; or call model.dequantize() before"
            )
        return False


def _device_of(device_map: Any) -> torch.device:
    """The one device of a device_map."""
    given = list(device_map.values()) if isinstance(device_map, Mapping) else [device_map]
    devices = {_one_device(device) for device in given} or {torch.device("cpu")}
    if len(devices) > 1:
        names = ", ".join(sorted(map(str, devices)))
        raise UnsupportedError(f"device_map has {names}: weights that stay coded are on one device")
    return devices.pop()


def _one_device(device: Any) -> torch.device:
    if str(device) == "disk":
        raise UnsupportedError("device_map has 'disk': weights that stay coded are in memory")
    if str(device) in _AUTOMATIC:
        device = "cuda" if torch.cuda.is_available() else None
    return _resident_cuda.device_of("cpu" if device is None else device) or torch.device("cpu")


def _source(file: str) -> str:
    """The file or folder that stands for a .safetensors file."""
    if os.path.isfile(file + SUFFIX):
        return file + SUFFIX
    folder = os.path.dirname(file)
    index = os.path.join(folder, USUAL_INDEX)
    if os.path.isfile(index):
        return index
    if not os.path.isdir(folder):
        raise MissingFileError(f"{folder}: is no folder", file=folder)
    return file if os.path.isfile(file) else folder


def _dtype_of(path: str) -> Any:
    """Of the first weights that a model can be made in; None: there are none."""
    reader = open_any(path, backend="cpu")
    try:
        names = (info.dtype for info in reader.tensors())
        return next((_dtypes[name] for name in names if name in ("BF16", "F16", "F32")), None)
    finally:
        reader.close()


def _keys(
    model: Any, infos: Mapping[str, TensorInfo], conversions: list[Any]
) -> dict[str, str | None]:
    """Which name of the model each one of the files is loaded to as it is. "" is for what is loaded
    in another way, None for what the model does not have."""
    from transformers.core_model_loading import WeightConverter, WeightRenaming, rename_source_key

    renamings = [entry for entry in conversions if isinstance(entry, WeightRenaming)]
    converters = [entry for entry in conversions if isinstance(entry, WeightConverter)]
    state = model.state_dict()
    found: dict[str, str | None] = {}
    for name in infos:
        prefix = model.base_model_prefix
        key, converter = rename_source_key(name, renamings, converters, prefix, state)
        if key not in state and name in state:
            key, converter = rename_source_key(name, [], [], prefix, state)
        if converter is not None:
            found[name] = ""
        else:
            found[name] = key if key in state else None
    return found


def _groups(
    model: Any,
    reader: Reader,
    infos: Mapping[str, TensorInfo],
    keys: Mapping[str, str | None],
) -> list[_Group]:
    """The parameters of a model by what they are tied to, with the names of the files for each.
    Where the files have different values for tied ones, these are not tied, as in transformers."""
    groups = {id(slot): _Group([slot]) for slot in _slots(model)}
    of = {key: group for group in groups.values() for key in group.keys}
    for name, key in keys.items():
        if key:
            of[key].files.append(name)
    for group in groups.values():
        pairs = [(group.files[0], other) for other in group.files[1:]]
        group.contradictory = not all(_equal(reader, infos, *pair) for pair in pairs)
    for target, source in model.all_tied_weights_keys.items():
        a, b = of.get(target), of.get(source)
        if a is None or b is None or a is b:
            continue
        if a.files and b.files and not _equal(reader, infos, a.files[0], b.files[0]):
            log.warning(
                "%s: %s and %s are tied in the model, and differ in the file: they are not tied",
                reader.path,
                a.files[0],
                b.files[0],
            )
            continue
        joined = _Group([*b.slots, *a.slots])
        joined.files = [*b.files, *a.files]
        joined.contradictory = a.contradictory or b.contradictory
        of.update(dict.fromkeys(joined.keys, joined))
    return list({id(group): group for group in of.values()}.values())


def _equal(reader: Reader, infos: Mapping[str, TensorInfo], a: str, b: str) -> bool:
    return infos[a].shape == infos[b].shape and _same(reader, infos[a], infos[b])


def _check_shapes(model: Any, groups: list[_Group], infos: Mapping[str, TensorInfo]) -> None:
    wrong = [
        f"    size mismatch for {name}: {infos[name].shape} in the file, "
        f"{tuple(group.slots[0].tensor.shape)} in the model"
        for group in groups
        for name in group.files
        if _torch_shape(infos[name]) != tuple(group.slots[0].tensor.shape)
    ]
    if wrong:
        head = f"Error(s) in loading state_dict for {type(model).__name__}:"
        raise RuntimeError("\n".join([head, *wrong]))


def _below(key: str, modules: list[list[str]]) -> bool:
    """Whether a parameter's path has one of the modules in it."""
    path = key.split(".")
    return any(
        path[i : i + len(name)] == name for name in modules for i in range(len(path) - len(name))
    )


def _layer(resident: Resident, name: str, old: Any, mode: str) -> torch.nn.Module:
    """What stands in place of a layer; that it needs no first values is for transformers."""
    made: torch.nn.Module
    if type(old) is torch.nn.Embedding:
        made = Embedding(resident, name, old.padding_idx, dtype=old.weight.dtype)
    elif mode == "decode":
        made = DecodedLinear(resident, name, old.bias, dtype=old.weight.dtype)
    else:
        made = Linear(resident, name, old.bias)
    made._is_hf_initialized = True  # type: ignore[assignment]
    return made.train(old.training)


def _dense(module: Linear | Embedding, weight: torch.nn.Parameter) -> torch.nn.Module:
    made: torch.nn.Module
    with torch.device("meta"):
        if isinstance(module, Linear):
            made = torch.nn.Linear(module.in_features, module.out_features, bias=False)
            made.register_parameter("bias", module.bias)  # type: ignore[arg-type]
        else:
            sizes = (module.num_embeddings, module.embedding_dim, module.padding_idx)
            made = torch.nn.Embedding(*sizes)
    made.weight = weight
    assert _is_layer(made)
    return made.train(module.training)


def _write(reader: Reader, infos: list[TensorInfo], unknown: set[str], path: str) -> None:
    """A safetensors file of decoded tensors, one after the other in memory. Those that the model
    does not have are there, since transformers reports them, and are empty."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    wanted = []
    for info in infos:
        entry = {"dtype": info.dtype, "shape": list(info.shape)}
        if info.name in unknown:
            entry = {"dtype": "U8", "shape": [0]}
        else:
            wanted.append(info)
        end = at if info.name in unknown else at + info.nbytes
        header[info.name] = {**entry, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    framework = Framework("cpu")
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for info in wanted:
            (tensor,) = framework.load(reader, [Request(info)])
            flat = tensor.reshape(-1).view(torch.uint8)
            file.write(memoryview(flat.numpy()))
