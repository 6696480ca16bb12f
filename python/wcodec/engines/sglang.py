# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""SGLang: `python -m sglang.launch_server --model-path FOLDER --load-format wcodec`, where this
package is installed.

SGLang finds register() by the entry-point group `sglang.srt.plugins`. Its load formats are an
enumeration, but a configuration may hold a loader's class instead: a hook puts ours where the
format is called "wcodec". Written against the interface of the versions that have plugins
(HookRegistry, add_load_format_choices, DefaultModelLoader); not run with SGLang.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from typing import Any

FORMAT = "wcodec"


def register() -> None:
    """Make the load format "wcodec" known to SGLang. Nothing else of SGLang is imported yet."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    from sglang.srt.server_args import add_load_format_choices

    add_load_format_choices([FORMAT])
    HookRegistry.register(
        "sglang.srt.configs.load_config.LoadConfig._verify_load_format", _verify, HookType.AROUND
    )


def _verify(original: Any, load_config: Any) -> None:
    if load_config.load_format == FORMAT:
        load_config.load_format = loader()
    else:
        original(load_config)


@functools.cache
def loader() -> Any:
    """The class of the loader, for `sglang.srt.configs.load_config.LoadConfig(load_format=...)`."""
    import torch
    from sglang.srt.model_loader.loader import DefaultModelLoader
    from sglang.srt.model_loader.weight_utils import download_weights_from_hf

    from ._weights import weights

    class WcodecModelLoader(DefaultModelLoader):  # type: ignore[misc]
        """Decodes weights on the device that the model is on, and gives them to it as they come."""

        _device: Any = "cpu"

        def _folder(self, model: str, revision: str | None) -> str:
            if os.path.isdir(model):
                return model
            # Without its index a folder is all its .wcodec files.
            return str(
                download_weights_from_hf(
                    model,
                    self.load_config.download_dir,
                    ["*.wcodec"],
                    revision,
                    ignore_patterns=self.load_config.ignore_patterns,
                )
            )

        def _get_weights_iterator(self, source: Any) -> Iterable[tuple[str, torch.Tensor]]:
            stream = weights(self._folder(source.model_or_path, source.revision), self._device)
            draft = getattr(self.load_config, "draft_model_idx", None)
            if draft is not None:
                return self._filter_mtp_weights(stream, source.prefix, draft)  # type: ignore[no-any-return]
            return _prefixed(source.prefix, stream)

        def load_model(self, *, model_config: Any, device_config: Any) -> Any:
            self._device = device_config.device
            return super().load_model(model_config=model_config, device_config=device_config)

        def download_model(self, model_config: Any) -> None:
            self._folder(model_config.model_path, model_config.revision)

    return WcodecModelLoader


def _prefixed(prefix: str, stream: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, tensor in stream:
        yield prefix + name, tensor
