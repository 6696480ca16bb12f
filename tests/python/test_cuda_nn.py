# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""wcodec.nn.GRU on a CUDA device, beside torch's on the CPU. See cuda_support.py."""

import pytest

torch = pytest.importorskip("torch")

import wcodec  # noqa: E402
import wcodec.nn  # noqa: E402
from cuda_support import DEVICE, marks, on_cuda, on_device  # noqa: E402

pytestmark = [*marks, on_device]
SIZES = (24, 40, 2)


def pair(products=torch.float32, **options):
    torch.manual_seed(3)
    theirs = torch.nn.GRU(*SIZES, bidirectional=True, **options).eval()
    ours = wcodec.nn.GRU(*SIZES, bidirectional=True, products=products, **options)
    ours.load_state_dict(theirs.state_dict())
    return ours.to(DEVICE), theirs


def near(found, wanted, tolerance=1e-5):
    assert found.device.type == DEVICE.type and found.dtype == wanted.dtype
    torch.testing.assert_close(found.cpu(), wanted, atol=tolerance, rtol=tolerance)


def test_layers_and_directions():
    for batch_first in (False, True):
        ours, theirs = pair(batch_first=batch_first)
        x, hidden = torch.randn(3, 9, SIZES[0]), torch.randn(4, 3 if batch_first else 9, SIZES[1])
        with torch.no_grad():
            wanted, last = theirs(x, hidden)
        found, found_last = ours(x.to(DEVICE), hidden.to(DEVICE))
        near(found, wanted)
        near(found_last, last)


def test_packed_and_types():
    ours, theirs = pair()
    rows = [torch.randn(n, SIZES[0]) for n in (5, 2, 7)]
    packed = torch.nn.utils.rnn.pack_sequence(rows, enforce_sorted=False)
    with torch.no_grad():
        wanted, last = theirs(packed)
    found, found_last = ours(packed.to(DEVICE))
    near(found.data, wanted.data)
    near(found_last, last)
    half = torch.randn(4, 2, SIZES[0]).half()
    with torch.no_grad():
        wanted = theirs(half.float())[0].half()
    near(ours(half.to(DEVICE))[0], wanted, 2e-3)


def test_products():
    ours, theirs = pair(products=torch.bfloat16)
    x = torch.randn(6, 50, SIZES[0])
    with torch.no_grad():
        wanted, last = theirs(x)
    found, found_last = ours(x.to(DEVICE))
    near(found, wanted, 2e-2)
    near(found_last, last, 2e-2)
    again, _ = ours(x.to(DEVICE))
    assert torch.equal(found, again)
    alone, _ = ours(x[:, 49:].to(DEVICE))
    assert torch.equal(found[:, 49:], alone)


def test_weights_that_change():
    ours, theirs = pair()
    x = torch.randn(4, 1, SIZES[0])
    ours(x.to(DEVICE))
    with torch.no_grad():
        for module in (ours, theirs):
            module.weight_hh_l1.mul_(0.5)
        near(ours(x.to(DEVICE))[0], theirs(x)[0])


def test_sizes_without_room():
    wide = wcodec.nn.GRU(65536, 1).to(DEVICE)
    with pytest.raises(wcodec.UnsupportedError, match="no room in a work-group's memory"):
        wide(torch.zeros(1, 1, 65536, device=DEVICE))


@on_cuda
def test_another_device():
    ours, _ = pair()
    with pytest.raises(wcodec.UsageError, match=r"input is .* on cpu: .* on cuda:0, where the"):
        ours(torch.zeros(1, 1, SIZES[0]))


@on_cuda
def test_captured_by_a_graph():
    ours, theirs = pair()
    x = torch.randn(6, 2, SIZES[0], device=DEVICE)
    ours(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out, _ = ours(x)
    x.copy_(torch.randn(6, 2, SIZES[0]))
    graph.replay()
    with torch.no_grad():
        near(out, theirs(x.cpu())[0])
