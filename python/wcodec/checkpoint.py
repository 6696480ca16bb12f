# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Checkpoints by the names that torch's users know: lazy ones, torch.load's, transformers', and a
decoder that takes a GPU where there is one. torch and transformers are imported when needed."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Union

from ._context import Progress
from ._errors import (
    BackendError,
    CancelledError,
    MissingFileError,
    TensorNotFoundError,
    UnsupportedError,
    UsageError,
)
from ._files import SUFFIX, compress
from ._frameworks import Framework, Request, compute_backend, framework, load_all
from ._open import open_any
from ._reader import AnyReader, Source
from ._safe_open import Slice

if TYPE_CHECKING:
    import torch

log = logging.getLogger("wcodec")

Path = Union[str, "os.PathLike[str]"]
MapLocation = Union[None, str, int, "torch.device", Mapping[str, Any], Callable[..., Any]]


def _device(map_location: MapLocation) -> Any:
    """The device that torch.load()'s argument means for a file whose tensors lie in no device."""
    if map_location is None:
        return "cpu"
    if isinstance(map_location, Mapping):
        return map_location.get("cpu", "cpu")
    if callable(map_location):
        raise UnsupportedError("map_location cannot be a function: expected a device or a dict")
    return map_location


class WCodecCheckpoint(Mapping[str, Any]):
    """A checkpoint as a mapping of names to tensors, each decoded when it is looked up.

        checkpoint = WCodecCheckpoint("model.safetensors.wcodec", map_location="cuda")
        weight = checkpoint["model.embed_tokens.weight"]
        for name in checkpoint.layers():
            block.load_state_dict(checkpoint.layer(name))

    Nothing is kept: looking a tensor up twice decodes it twice. Threads and forked children may use
    it at the same time.
    """

    def __init__(
        self,
        path: Source,
        map_location: MapLocation = None,
        *,
        framework: str = "pt",
        backend: str | None = None,
        threads: int | None = None,
    ) -> None:
        """
        Args:
            path: a .wcodec or .safetensors file, a model folder, an index, or the bytes of a file.
            map_location: the device that tensors are decoded to, or a dict with one for "cpu".
            framework: "pt", "np" or "jax".
            backend, threads: as in safe_open().
        """
        backend = compute_backend(backend)
        self._framework: Framework = _framework(framework, _device(map_location), backend)
        self._reader = open_any(path, backend=backend, threads=threads)

    def __repr__(self) -> str:
        return f"<WCodecCheckpoint {self._reader.path or 'of bytes'!r}: {len(self)} tensors>"

    def __getitem__(self, name: str) -> Any:
        request = Request(self._reader.tensor(self._reader.find(name)))
        return self._framework.load(self._reader, [request])[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reader.names())

    def __len__(self) -> int:
        return len(self._reader.names())

    def __contains__(self, name: object) -> bool:
        try:
            self._reader.find(name)  # type: ignore[arg-type]
        except (TensorNotFoundError, TypeError):
            return False
        return True

    def __enter__(self) -> WCodecCheckpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def metadata(self) -> dict[str, str]:
        """The `__metadata__`."""
        return self._reader.metadata()

    def layers(self) -> list[str]:
        """Names of the modules that hold tensors ("model.layers.0.mlp"), in the file's order."""
        modules = (name.rpartition(".")[0] for name in self)
        return list(dict.fromkeys(module for module in modules if module))

    def layer(self, name: str) -> dict[str, Any]:
        """All tensors below a module, decoded at the same time; keys are without its name, as
        load_state_dict() of that module takes them. Raises TensorNotFoundError if there is none."""
        prefix = name + "."
        names = [key for key in self if key.startswith(prefix)]
        if not names:
            raise TensorNotFoundError(
                f"{self._reader.path or 'the data'}: no tensor is below {name!r}",
                file=self._reader.path,
                tensor=name,
            )
        loaded = load_all(self._reader, self._framework, names, None)
        return {key.removeprefix(prefix): tensor for key, tensor in loaded.items()}

    def state_dict(self, progress: Progress | None = None) -> dict[str, Any]:
        """All tensors, decoded at the same time."""
        return load_all(self._reader, self._framework, None, progress)


_framework = framework


def load_wcodec_checkpoint(
    path: Source,
    map_location: MapLocation = None,
    *,
    backend: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """All tensors as torch.load() gives a state dict; arguments are those of WCodecCheckpoint."""
    with WCodecCheckpoint(path, map_location, backend=backend) as checkpoint:
        return checkpoint.state_dict(progress)


def encode_safetensors_to_wcodec(
    src: Path, dst: Path | None = None, *, show_progress: bool = True, **options: Any
) -> dict[str, Any]:
    """wcodec.compress() with a progress bar, where tqdm is installed.

    Args:
        src: a .safetensors file, or a model folder, which is mirrored.
        dst: the output; None: `src` with ".wcodec" appended.
        show_progress: whether there is a bar.
        **options: as those of wcodec.compress().

    Returns, raises: as wcodec.compress().
    """
    if not show_progress or options.get("progress") is not None:
        return compress(src, dst, **options)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return compress(src, dst, **options)
    with tqdm(unit="B", unit_scale=True, desc=os.path.basename(os.fspath(src))) as bar:

        def progress(done: int, total: int) -> None:
            if done < bar.n:
                bar.reset()
            bar.total = total or None
            bar.update(done - bar.n)

        return compress(src, dst, progress=progress, **options)


class GPUDecoder:
    """Decodes single tensors or layers on a GPU where there is one, else on the CPU.

    Attributes:
        device: where tensors arrive: a torch device; "cpu" where torch is not installed, and
            tensors are numpy arrays.
        reason: why the GPU is not used, or None.
    """

    def __init__(self, path: Source, use_gpu: bool = True, *, device: Any = None) -> None:
        """
        Args:
            path: as in safe_open().
            use_gpu: False: always the CPU. Where a GPU cannot be used the log "wcodec" says why.
            device: which one, such as "cuda:1"; None: torch's current one.
        """
        self.reason: str | None = None
        kind = "pt"
        try:
            import torch  # noqa: F401
        except ImportError:
            kind, self.reason = "np", "torch is not installed"
        if not use_gpu:
            self.reason = "use_gpu is False"
        self._checkpoint: WCodecCheckpoint | None = None
        if self.reason is None:
            self._checkpoint = self._on_gpu(path, device)
        if self._checkpoint is None:
            if use_gpu:
                log.warning("no GPU is used: %s; decoding on the CPU", self.reason)
            self.device: Any = "cpu"
            self._checkpoint = WCodecCheckpoint(path, framework=kind)

    def _on_gpu(self, path: Source, device: Any) -> WCodecCheckpoint | None:
        import torch

        if not torch.cuda.is_available():
            self.reason = "torch finds no CUDA device"
            return None
        self.device = torch.device("cuda" if device is None else device)
        number = self.device.index
        number = torch.cuda.current_device() if number is None else number
        try:
            checkpoint = WCodecCheckpoint(path, self.device)
            if checkpoint._reader.on(f"cuda:{number}"):
                return checkpoint
            self.reason = "a safetensors file is not decoded"
        except BackendError as error:
            self.reason = str(error)
        return None

    def decode_layer(self, name: str) -> Any:
        """A tensor by its name; or a dict of those below a module, without its name in their keys.
        Raises TensorNotFoundError if there is neither."""
        assert self._checkpoint is not None
        if name in self._checkpoint:
            return self._checkpoint[name]
        return self._checkpoint.layer(name)

    def layers(self) -> list[str]:
        """Names of the modules that hold tensors."""
        assert self._checkpoint is not None
        return self._checkpoint.layers()

    def close(self) -> None:
        """Close the file."""
        if self._checkpoint is not None:
            self._checkpoint.close()


class WCodecModel:
    """Models of transformers from compressed checkpoints."""

    @staticmethod
    def from_pretrained(
        name_or_path: Path,
        *model_args: Any,
        model_class: Any = None,
        config: Any = None,
        dtype: Any = "auto",
        device_map: Any = None,
        backend: str | None = None,
        revision: str | None = None,
        cache_dir: Path | None = None,
        **kwargs: Any,
    ) -> torch.nn.Module:
        """A model, as `transformers.AutoModel.from_pretrained()` gives it.

        Args:
            name_or_path: a folder with config.json and .wcodec (or .safetensors) files, or the name
                of a repository on the Hugging Face hub that is one.
            *model_args, **kwargs: passed on to from_pretrained() of the model's class.
                `quantization_config` is one of them: WcodecConfig() of wcodec.engines.transformers,
                or one that the configuration has, keeps weights coded in memory.
            model_class: such as transformers.AutoModelForCausalLM; None: the class that the
                configuration names (`architectures`), else AutoModel.
            config: a configuration in place of the folder's.
            dtype: of the weights: a torch.dtype or its name; "auto": as in the configuration, else
                as in the file.
            device_map: a device for all ("cuda", 0), or a map of modules to devices, or "auto".
                With one device the weights are decoded there all at once; else each is decoded to
                host memory when transformers takes it.
            backend: as in load_file().
            revision, cache_dir: of a repository on the hub.

        Raises:
            MissingFileError and the other errors of load_file(); those of transformers.
        """
        import transformers

        folder = _folder(name_or_path, revision, cache_dir)
        if config is None:
            config = transformers.AutoConfig.from_pretrained(folder)
        cls = _class(model_class, config, transformers)
        if _stays_coded(config, kwargs.get("quantization_config")):
            if backend not in (None, "auto", "cpu"):
                raise UsageError(f"backend is {backend!r}: weights that stay coded are the CPU's")
            made: torch.nn.Module = cls.from_pretrained(
                folder, *model_args, config=config, dtype=dtype, device_map=device_map, **kwargs
            )
            return made
        with WCodecCheckpoint(folder, backend=backend) as checkpoint:
            if dtype in (None, "auto"):
                dtype = getattr(config, "dtype", None) or _dtype(checkpoint)
            in_parts = any(kwargs.get(name) is not None for name in _IN_PARTS)
            state, stop = _state(checkpoint, device_map, backend, in_parts)
            try:
                model: torch.nn.Module = cls.from_pretrained(
                    None,
                    *model_args,
                    config=config,
                    state_dict=state,
                    dtype=dtype,
                    device_map=device_map,
                    **kwargs,
                )
            except BaseException:
                stop()
                raise
        loaded: Any = model
        loaded.name_or_path = folder
        if getattr(loaded, "can_generate", lambda: False)() and os.path.exists(
            os.path.join(folder, "generation_config.json")
        ):
            loaded.generation_config = transformers.GenerationConfig.from_pretrained(folder)
        return model


def _stays_coded(config: Any, given: Any) -> bool:
    """Whether the method "wcodec" is asked for, which is then registered."""
    found = [given, getattr(config, "quantization_config", None)]
    methods = [
        one.get("quant_method") if isinstance(one, Mapping) else getattr(one, "quant_method", None)
        for one in found
    ]
    if "wcodec" not in methods:
        return False
    from .engines import transformers  # noqa: F401

    return True


def _folder(name_or_path: Path, revision: str | None, cache_dir: Path | None) -> str:
    path = os.fspath(name_or_path)
    if os.path.isdir(path):
        return path
    if os.path.exists(path) or path.count("/") > 1 or path.startswith((".", "/")):
        text = f"{path} is no folder: expected one with config.json and {SUFFIX} files"
        raise MissingFileError(text, file=path)
    from huggingface_hub import snapshot_download

    return str(snapshot_download(path, revision=revision, cache_dir=cache_dir))


def _class(model_class: Any, config: Any, transformers: Any) -> Any:
    """The model's own class: one of transformers' Auto classes only takes a name or a path."""
    if model_class is None:
        names = getattr(config, "architectures", None) or ()
        found = (getattr(transformers, name, None) for name in names)
        model_class = next((cls for cls in found if cls is not None), transformers.AutoModel)
    mapping = getattr(model_class, "_model_mapping", None)
    if mapping is None:
        return model_class
    if type(config) not in mapping:
        text = f"{model_class.__name__} has no model for {type(config).__name__}"
        raise UnsupportedError(f"{text}: name its class as model_class")
    cls = mapping[type(config)]
    return cls[0] if isinstance(cls, tuple) else cls


def _dtype(checkpoint: WCodecCheckpoint) -> Any:
    """That of the first weights that a model can be made in."""
    import torch

    names = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16}
    names["BF16"] = torch.bfloat16
    for number in range(len(checkpoint)):
        found = names.get(checkpoint._reader.tensor(number).dtype)
        if found is not None:
            return found
    return torch.float32


class _Together:
    """Tensors on one device, all decoded when the first is taken: transformers reserves the
    device's memory for a model before that, and torch then has it for them. Each is given away
    once."""

    def __init__(self, reader: AnyReader, made: Framework) -> None:
        self._reader = reader
        self._framework = made
        self._lock = threading.Lock()
        self._loaded: dict[str, Any] | None = None
        self._stopped = False

    def take(self, name: str) -> Any:
        with self._lock:
            self._check(0, 0)
            if self._loaded is None:
                self._loaded = load_all(self._reader, self._framework, None, self._check)
            return self._loaded.pop(name, None)

    def stop(self) -> None:
        """End a load that runs in a thread of transformers', as after Ctrl-C in the main one."""
        self._stopped = True

    def _check(self, _done: int, _total: int) -> None:
        if self._stopped:
            raise CancelledError("the model is not wanted any more")

    def slices(self) -> dict[str, Any]:
        """What stands for the tensors."""
        together = self

        class One(Slice):
            """A tensor that comes with all others when it is taken whole."""

            __slots__ = ()

            def __getitem__(self, key: Any) -> Any:
                taken = together.take(self._info.name) if key is ... else None
                return super().__getitem__(key) if taken is None else taken

        return _slices(self._reader, self._framework, One)


def _slices(reader: AnyReader, made: Framework, kind: type[Slice]) -> dict[str, Any]:
    infos = reader.tensors()
    return {info.name: kind(reader, made, info) for info in infos}


def _one_device(device_map: Any) -> Any:
    """The device that all of a model goes to, as transformers understands it; None: several."""
    if isinstance(device_map, Mapping):
        return device_map[""] if len(device_map) == 1 and "" in device_map else None
    if device_map is None:
        return "cpu"
    if not isinstance(device_map, str):
        return device_map
    if device_map == "cuda":
        return f"cuda:{int(os.environ.get('LOCAL_RANK', 0))}"
    return device_map if device_map.partition(":")[0] in _DEVICES else None


def _state(
    checkpoint: WCodecCheckpoint, device_map: Any, backend: str | None, in_parts: bool
) -> tuple[dict[str, Any], Callable[[], None]]:
    """Slices of all tensors, which decode when they are taken: all together if all go to one device
    and none in parts. And what stops that."""
    from .torch import Framework, device_of

    device = None if in_parts else _one_device(device_map)
    reader = checkpoint._reader
    if device is None:
        return _slices(reader, checkpoint._framework, Slice), lambda: None
    together = _Together(reader, Framework(device_of(device), compute_backend(backend)))
    return together.slices(), together.stop


_DEVICES = {"cpu", "cuda", "mps", "xpu", "npu", "hpu"}
_IN_PARTS = ("tp_plan", "tp_size", "device_mesh", "distributed_config")
