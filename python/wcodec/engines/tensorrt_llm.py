# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""TensorRT-LLM's backend for torch: weights of a folder of .wcodec files, decoded to host memory.

    from tensorrt_llm import LLM
    from tensorrt_llm._torch.models.checkpoints.hf.checkpoint_loader import HfCheckpointLoader
    from wcodec.engines.tensorrt_llm import WcodecWeightLoader

    llm = LLM(folder, checkpoint_loader=HfCheckpointLoader(weight_loader=WcodecWeightLoader()))

So names are mapped as those of any model of the Hugging Face hub. Written against the interface of
TensorRT-LLM 1.0 and later (BaseWeightLoader, register_checkpoint_weight_loader); not run with it.
"""

from __future__ import annotations

from typing import Any

from tensorrt_llm._torch.models.checkpoints.base_weight_loader import BaseWeightLoader
from tensorrt_llm._torch.models.modeling_utils import register_checkpoint_weight_loader

from ..torch import load_file


@register_checkpoint_weight_loader("wcodec")
class WcodecWeightLoader(BaseWeightLoader):  # type: ignore[misc]
    """All tensors, whole: the model takes from them the parts of its rank."""

    def load_weights(self, checkpoint_dir: str, mapping: Any = None, **_: Any) -> dict[str, Any]:
        """Tensors by name. Raises what load_file() does."""
        return dict(load_file(checkpoint_dir))
