# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""vLLM: `vllm serve FOLDER --load-format wcodec`, where this package is installed.

vLLM finds register() by the entry-point group `vllm.general_plugins`. Written against the
interface of vLLM 0.10 and later (register_model_loader, DefaultModelLoader); not run with vLLM.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import torch
from vllm.model_executor.model_loader import register_model_loader
from vllm.model_executor.model_loader.default_loader import DefaultModelLoader
from vllm.model_executor.model_loader.weight_utils import download_weights_from_hf
from vllm.platforms import current_platform

from ._weights import weights


class WcodecModelLoader(DefaultModelLoader):  # type: ignore[misc]
    """Decodes weights on the device that the model is on, and gives them to it as they come."""

    counter_before_loading_weights: float = 0.0  # of the seconds that vLLM logs

    def _folder(self, model: str, revision: str | None, subfolder: str | None) -> str:
        if not os.path.isdir(model):
            # Without its index a folder is all its .wcodec files.
            model = download_weights_from_hf(
                model,
                self.load_config.download_dir,
                ["*.wcodec"],
                revision,
                ignore_patterns=self.load_config.ignore_patterns,
            )
        return os.path.join(model, subfolder) if subfolder else model

    def _get_weights_iterator(self, source: Any) -> Iterator[tuple[str, torch.Tensor]]:
        subfolder = getattr(source, "subfolder", None)
        folder = self._folder(source.model_or_path, source.revision, subfolder)
        device = self.load_config.device or current_platform.device_type
        if self.counter_before_loading_weights == 0.0:
            self.counter_before_loading_weights = time.perf_counter()
        for name, tensor in weights(folder, device):
            yield source.prefix + name, tensor

    def download_model(self, model_config: Any) -> None:
        self._folder(model_config.model, model_config.revision, None)


def register() -> None:
    """Make the load format "wcodec" known to vLLM."""
    register_model_loader("wcodec")(WcodecModelLoader)
