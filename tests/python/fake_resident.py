# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""A plugin of pytest (-p tests.python.fake_resident): what is resident on a device, and the weights
of wcodec.nn, are so in memory of the library's fake device, whose kernels are the emulated ones;
torch's part is in host memory. WCODEC_FAKE_PATH is the folder of its plugin."""

import ctypes
import os
import sys

import pytest

os.environ["WCODEC_BACKEND_PATH"] = os.environ["WCODEC_FAKE_PATH"]
if not os.environ.get("WCODEC_INSTALLED"):
    sys.path.insert(0, "python")

import torch
import wcodec.nn
from wcodec import _resident_cuda

made = 0


class Device(_resident_cuda.Device):
    memory = "fake"

    def __init__(self, resident, device):
        global made
        super().__init__(resident, device)
        self.backend = "fake"
        made += 1

    def _stream(self):
        return 0

    def _wait(self):
        pass

    def _view(self, made, address, size):
        if size == 0:
            return torch.empty(0, dtype=torch.uint8)
        memory = (ctypes.c_uint8 * size).from_address(address)
        memory.made = made
        return torch.frombuffer(memory, dtype=torch.uint8)


def device_of(name):
    return torch.device("cpu") if str(name) == "fake" else real(name)


real, _resident_cuda.device_of = _resident_cuda.device_of, device_of
_resident_cuda.Device = Device
wcodec.nn._backend = lambda device: "fake"


def pytest_sessionfinish(session):
    if not session.testsfailed and made < 20:
        pytest.exit(f"only {made} objects were on the fake device", returncode=1)
