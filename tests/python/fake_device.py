# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""A plugin of pytest (-p tests.python.fake_device): torch's tensors in host memory are loaded by
way of the library's fake device, as on CUDA. WCODEC_FAKE_PATH is the folder of its plugin."""

import os
import sys

import pytest

os.environ["WCODEC_BACKEND_PATH"] = os.environ["WCODEC_FAKE_PATH"]
if not os.environ.get("WCODEC_INSTALLED"):
    sys.path.insert(0, "python")

import torch
from wcodec._reader import Reader
from wcodec.torch import Framework

loads = 0


def memory(self, reader):
    global loads
    if self.device.type == "meta":
        return self.device, {}
    if not isinstance(reader, Reader):
        return torch.device("cpu"), {}
    loads += reader.on("fake")
    return self.device, {"memory": "fake", "backend": "fake"}


Framework._memory = memory


def pytest_sessionfinish(session):
    if loads < 100:
        pytest.exit(f"only {loads} loads went by the fake device", returncode=1)
