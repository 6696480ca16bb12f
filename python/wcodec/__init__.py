# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""wcodec: neural-network checkpoints compressed without loss, opened as safetensors are.

    import wcodec
    with wcodec.safe_open("model.safetensors.wcodec", framework="np") as f:
        print(f.keys(), f.get_tensor("embed.weight"))

`wcodec.numpy` and `wcodec.torch` have load_file() and save_file(). Importing this package imports
neither, and starts no device.
"""

from ._context import release
from ._describe import devices
from ._errors import (
    BackendError,
    BusyError,
    CancelledError,
    CorruptError,
    DeviceError,
    ExistsError,
    FileError,
    LimitError,
    MismatchError,
    MissingFileError,
    NewerFormatError,
    OutOfMemoryError,
    SharedTensorsError,
    TensorNotFoundError,
    UnsupportedError,
    UsageError,
    WcodecError,
)
from ._files import compress, decompress, info, test
from ._frameworks import async_load
from ._learn import Learned, Learner
from ._loading import Loading, Saving
from ._reader import Reader, TensorInfo
from ._resident import Resident, ResidentInfo
from ._rollouts import Rollouts
from ._rssm import RSSM, Rollout
from ._safe_open import Slice, safe_open
from ._state import TrainingState
from ._store import VectorStore
from ._sync import delta_apply, delta_encode
from .checkpoint import (
    GPUDecoder,
    WCodecCheckpoint,
    WCodecModel,
    encode_safetensors_to_wcodec,
    load_wcodec_checkpoint,
)

__version__ = "0.1.0"

__all__ = [
    "RSSM",
    "BackendError",
    "BusyError",
    "CancelledError",
    "CorruptError",
    "DeviceError",
    "ExistsError",
    "FileError",
    "GPUDecoder",
    "Learned",
    "Learner",
    "LimitError",
    "Loading",
    "MismatchError",
    "MissingFileError",
    "NewerFormatError",
    "OutOfMemoryError",
    "Reader",
    "Resident",
    "ResidentInfo",
    "Rollout",
    "Rollouts",
    "Saving",
    "SharedTensorsError",
    "Slice",
    "TensorInfo",
    "TensorNotFoundError",
    "TrainingState",
    "UnsupportedError",
    "UsageError",
    "VectorStore",
    "WCodecCheckpoint",
    "WCodecModel",
    "WcodecError",
    "async_load",
    "compress",
    "decompress",
    "delta_apply",
    "delta_encode",
    "devices",
    "encode_safetensors_to_wcodec",
    "info",
    "load_wcodec_checkpoint",
    "release",
    "safe_open",
    "test",
]
