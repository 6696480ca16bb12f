# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""peft: LoRA adapters on layers whose weights stay coded in memory."""

from __future__ import annotations

import warnings
from typing import Any

import peft
from peft.tuners import lora as peft_lora

from .._errors import UnsupportedError, UsageError
from .._torch_layers import Linear

KEEPS_WEIGHTS = (True, False, "gaussian", "orthogonal", "eva")
"""Values of init_lora_weights by which the layer's own weights stay what they are."""


class LoraLinear(peft_lora.Linear):  # type: ignore[misc]
    """An adapter on a wcodec.torch.Linear or DecodedLinear."""

    def __init__(self, base_layer: Any, *arguments: Any, **options: Any) -> None:
        with warnings.catch_warnings():
            # It takes in_features and out_features, and says that it does not know the class.
            warnings.filterwarnings("ignore", "Unsupported layer type")
            super().__init__(base_layer, *arguments, **options)

    def merge(self, *arguments: Any, **options: Any) -> None:
        """Not possible while the weights are coded."""
        layer = self.get_base_layer()
        if isinstance(layer, Linear):
            raise UnsupportedError(
                f"tensor {layer.name!r}: its weights stay coded, and no adapter can be merged into "
                "them: call dequantize() of the model before",
                tensor=layer.name,
            )
        super().merge(*arguments, **options)


def lora(config: peft.LoraConfig) -> peft.LoraConfig:
    """Make a configuration fit for models whose weights stay coded, as well as for others.

        model = peft.get_peft_model(model, lora(LoraConfig(target_modules=["q_proj", "v_proj"])))
        model = peft.PeftModel.from_pretrained(
            model, folder, config=lora(LoraConfig.from_pretrained(folder)))

    Adapters are on linear layers, whose names target_modules has. Layers that modules_to_save names
    are to be in WcodecConfig.modules_to_not_convert, too.

    Raises:
        UnsupportedError: one whose init_lora_weights changes the layers' own weights.
        UsageError: one whose target_modules is "all-linear".
    """
    if str(config.target_modules).lower() == "all-linear":
        raise UsageError(
            "target_modules 'all-linear' finds no layer whose weights stay coded: name the layers"
        )
    first = getattr(config, "init_lora_weights", True)
    if not any(first is value or first == value for value in KEEPS_WEIGHTS):
        raise UnsupportedError(
            f"init_lora_weights is {first!r}: that changes the layers' weights, which stay coded; "
            f"expected one of {', '.join(map(repr, KEEPS_WEIGHTS))}"
        )
    config._register_custom_module({Linear: LoraLinear})
    return config
