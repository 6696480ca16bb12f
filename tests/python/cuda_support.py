# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests on a CUDA device share. Where torch finds none, those that need no stream run on
the CPU."""

import sys

import pytest
import torch

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
FAKE = "tests.python.fake_resident" in sys.modules
ON = "cuda" if CUDA else "fake"
"""Where tensors are resident."""
marks = [pytest.mark.filterwarnings("ignore:torch has no type")]
on_cuda = pytest.mark.skipif(not CUDA, reason="no CUDA device")
on_device = pytest.mark.skipif(not (CUDA or FAKE), reason="no CUDA device")
two_devices = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one CUDA device at most")


def raw(tensor):
    if not tensor.numel():
        return b""
    return tensor.detach().contiguous().flatten().view(torch.uint8).cpu().numpy().tobytes()


def equal(loaded, expected):
    assert loaded.keys() == expected.keys()
    for name, tensor in expected.items():
        assert loaded[name].dtype == tensor.dtype, name
        assert loaded[name].shape == tensor.shape, name
        assert raw(loaded[name]) == raw(tensor), name


def large(count=8, side=2048):
    """Some MiB of weights."""
    generator = torch.Generator().manual_seed(1)
    return {
        f"layers.{i}.weight": (torch.randn(side, side, generator=generator) / 50).bfloat16()
        for i in range(count)
    }
