# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""ComfyUI: nodes that load .wcodec files. A file custom_nodes/wcodec_nodes.py with one line,

    from wcodec.engines.comfyui import NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS

adds them; the files lie where .safetensors files of that kind do. Written against the interface of
custom nodes, folder_paths and comfy.sd; not run with ComfyUI.
"""

from __future__ import annotations

from typing import Any

import comfy.sd
import folder_paths

from .._errors import UnsupportedError
from .._files import SUFFIX
from ..torch import load_file


def _files(kind: str) -> str:
    """The name by which folder_paths knows .wcodec files in the folders of that kind."""
    name = f"wcodec_{kind}"
    paths = folder_paths.get_folder_paths(kind)
    folder_paths.folder_names_and_paths[name] = (paths, {SUFFIX})
    return name


class _Node:
    CATEGORY = "loaders"
    FUNCTION = "load"
    KIND = ""
    INPUT = ""

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:  # noqa: N802 (ComfyUI's name)
        return {"required": {cls.INPUT: (folder_paths.get_filename_list(_files(cls.KIND)),)}}

    def _state(self, name: str) -> tuple[str, dict[str, Any]]:
        path = folder_paths.get_full_path_or_raise(_files(self.KIND), name)
        return path, load_file(path)

    def _known(self, path: str, loaded: Any) -> Any:
        if loaded is None:
            raise UnsupportedError(f"{path}: ComfyUI knows no model with these tensors", file=path)
        return loaded


class WcodecDiffusionModel(_Node):
    """As the node "Load Diffusion Model"."""

    KIND = "diffusion_models"
    INPUT = "unet_name"
    RETURN_TYPES = ("MODEL",)

    def load(self, unet_name: str) -> tuple[Any]:
        path, state = self._state(unet_name)
        return (self._known(path, comfy.sd.load_diffusion_model_state_dict(state)),)


class WcodecCheckpoint(_Node):
    """As the node "Load Checkpoint"."""

    KIND = "checkpoints"
    INPUT = "ckpt_name"
    RETURN_TYPES = ("MODEL", "CLIP", "VAE")

    def load(self, ckpt_name: str) -> tuple[Any, ...]:
        path, state = self._state(ckpt_name)
        loaded = comfy.sd.load_state_dict_guess_config(
            state, embedding_directory=folder_paths.get_folder_paths("embeddings")
        )
        return tuple(self._known(path, loaded)[:3])


NODE_CLASS_MAPPINGS = {
    "WcodecDiffusionModel": WcodecDiffusionModel,
    "WcodecCheckpoint": WcodecCheckpoint,
}
NODE_DISPLAY_NAME_MAPPINGS = {
    "WcodecDiffusionModel": "Load Diffusion Model (wcodec)",
    "WcodecCheckpoint": "Load Checkpoint (wcodec)",
}
