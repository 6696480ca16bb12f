# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""wcodec.nn.GRU beside torch.nn.GRU: layers, directions, layouts, types, packed sequences,
gradients, and what is refused."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

import wcodec  # noqa: E402
import wcodec.nn  # noqa: E402

packed, PackedSequence = torch.nn.utils.rnn.pack_sequence, torch.nn.utils.rnn.PackedSequence


def pair(*sizes, **options):
    torch.manual_seed(7)
    theirs = torch.nn.GRU(*sizes, **options).eval()
    ours = wcodec.nn.GRU(*sizes, **options)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def same(ours, theirs, *arguments, tolerance=2e-6):
    with torch.no_grad():
        expected = theirs(*arguments)
    for found, wanted in zip(ours(*arguments), expected, strict=True):
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        assert not found.requires_grad
        torch.testing.assert_close(found, wanted, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
def test_beside_torch(layers, bias, batch_first, bidirectional):
    ours, theirs = pair(
        9, 37, layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional
    )
    x = torch.randn(5, 6, 9)
    count = layers * (2 if bidirectional else 1)
    same(ours, theirs, x)
    same(ours, theirs, x, torch.randn(count, 5 if batch_first else 6, 37))
    same(ours, theirs, x[0])
    same(ours, theirs, x[0], torch.randn(count, 37))
    same(ours, theirs, torch.randn(9, 6, 5).permute(2, 1, 0))
    same(ours, theirs, torch.randn(1, 6, 9).expand(5, 6, 9))
    same(ours, theirs, torch.randn(5, 1, 9).expand(5, 6, 9))
    same(ours, theirs, torch.randn(9).expand(500, 60, 9))


def test_large_values_and_types():
    ours, theirs = pair(64, 256)
    same(ours, theirs, 1e4 * torch.randn(3, 2, 64), tolerance=5e-4)
    same(ours, theirs, torch.randn(1, 1, 64))
    same(ours.double(), theirs.double(), torch.randn(3, 2, 64, dtype=torch.float64))
    for dtype in torch.bfloat16, torch.float16:
        ours, theirs = pair(16, 32)
        ours, theirs = ours.to(dtype), theirs.to(dtype)
        x = torch.randn(3, 2, 16).to(dtype)
        with torch.no_grad():
            expected = theirs.float()(x.float())
        for found, wanted in zip(ours(x), expected, strict=True):
            assert found.dtype == dtype
            torch.testing.assert_close(found.float(), wanted, atol=4e-3, rtol=4e-3)


def test_products():
    ours, _ = pair(16, 32)
    rounded = wcodec.nn.GRU(16, 32, products=torch.bfloat16)
    rounded.load_state_dict(ours.state_dict())
    x = torch.randn(3, 2, 16)
    for found, wanted in zip(rounded(x), ours(x), strict=True):
        assert torch.equal(found, wanted)  # the CPU rounds nothing
    with pytest.raises(wcodec.UsageError, match="products is torch"):
        wcodec.nn.GRU(16, 32, products=torch.float16)


def test_weights_that_change():
    ours, theirs = pair(4, 8)
    x = torch.randn(2, 3, 4)
    same(ours, theirs, x)
    other = torch.nn.GRU(4, 8).eval()
    ours.load_state_dict(other.state_dict())
    same(ours, other, x)
    ours.weight_hh_l0.data.zero_()
    other.weight_hh_l0.data.zero_()
    ours.flatten_parameters()
    same(ours, other, x)
    same(copy.deepcopy(ours), other, x)
    same(pickle.loads(pickle.dumps(ours)), other, x)
    with torch.inference_mode():
        inner = wcodec.nn.GRU(4, 8)
        inner.load_state_dict(other.state_dict())
        same(inner, other, x)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_packed_sequences(layers, bidirectional):
    """Results are those of torch, and of each sequence by itself."""
    ours, theirs = pair(9, 37, layers, bidirectional=bidirectional)
    count = layers * (2 if bidirectional else 1)
    for lengths in ((5,), (1, 1), (7, 7, 7), (9, 5, 5, 2, 1), (2, 9, 1, 5, 5)):
        given = [torch.randn(n, 9) for n in lengths]
        x = packed(given, enforce_sorted=list(lengths) == sorted(lengths, reverse=True))
        hx = torch.randn(count, len(lengths), 37)
        for arguments in ((x,), (x, hx)):
            with torch.no_grad():
                expected, wanted = theirs(*arguments)
            found, last = ours(*arguments)
            for part in ("batch_sizes", "sorted_indices", "unsorted_indices"):
                have, want = getattr(found, part), getattr(expected, part)
                assert (have is want is None) or torch.equal(have, want)
            torch.testing.assert_close(found.data, expected.data, atol=2e-6, rtol=2e-6)
            torch.testing.assert_close(last, wanted, atol=2e-6, rtol=2e-6)
        unpacked, _ = torch.nn.utils.rnn.pad_packed_sequence(found)
        for i, values in enumerate(given):
            alone, hidden = ours(values, hx[:, i])
            assert torch.equal(unpacked[: len(values), i], alone)
            assert torch.equal(last[:, i], hidden)


def test_gradients():
    """Torch computes where they are wanted: of the input of frozen weights, and of weights."""
    ours, theirs = pair(4, 8, 2, bidirectional=True)
    x, hx = torch.randn(5, 2, 4), torch.randn(4, 2, 8)
    for learns in (False, True):
        ours.requires_grad_(learns)
        theirs.requires_grad_(learns)
        gradients = []
        for module in (ours, theirs):
            x_, hx_ = x.clone().requires_grad_(), hx.clone().requires_grad_()
            output, last = module(x_, hx_)
            (output.square().sum() + last.sum()).backward()
            gradients.append([x_.grad, hx_.grad, *(p.grad for p in module.parameters())])
        for found, wanted in zip(*gradients, strict=True):
            assert learns or (found is wanted is None) or found.shape in (x.shape, hx.shape)
            if wanted is not None:
                torch.testing.assert_close(found, wanted)
    packed_x = packed([torch.randn(3, 4), torch.randn(2, 4)])
    (ours(packed_x)[0].data.sum()).backward()
    same(ours.requires_grad_(False), theirs, x, hx)


def test_training():
    """A module that learns: after a step of an optimiser the library has the new weights."""
    torch.manual_seed(3)
    gru, head = wcodec.nn.GRU(2, 16).requires_grad_(), torch.nn.Linear(16, 1)
    optimiser = torch.optim.Adam([*gru.parameters(), *head.parameters()], 0.01)
    x = torch.randn(6, 32, 2)
    wanted = x[..., :1].sum(0)
    losses = []
    for _ in range(60):
        with torch.no_grad():
            losses.append(float((head(gru(x)[1][0]) - wanted).square().mean()))
        optimiser.zero_grad()
        (head(gru(x)[1][0]) - wanted).square().mean().backward()
        optimiser.step()
    assert losses[-1] < 0.2 * losses[0]


def test_within_a_model():
    model = torch.nn.ModuleDict({"rnn": torch.nn.GRU(4, 8, 2), "head": torch.nn.Linear(8, 1)})
    x = torch.randn(5, 2, 4)
    with torch.no_grad():
        expected = model["head"](model["rnn"](x)[0])
    state = model.state_dict()
    model["rnn"] = wcodec.nn.GRU(4, 8, 2)
    model.load_state_dict(state)
    found = model["head"](model["rnn"](x)[0])
    torch.testing.assert_close(found, expected, atol=2e-6, rtol=2e-6)


def test_what_is_refused():
    with pytest.raises(wcodec.UsageError, match=r"dropout is 0\.5"):
        wcodec.nn.GRU(4, 8, 2, dropout=0.5)
    ours, _ = pair(4, 8, bidirectional=True)
    x = torch.randn(5, 2, 4)
    for arguments, text in (
        ((torch.randn(5, 2, 3),), r"input has the shape \[5, 2, 3\]: expected 2 or 3 .* of 4"),
        ((torch.randn(4),), "input has the shape"),
        ((x, torch.randn(2, 3, 8)), r"hx has the shape \[2, 3, 8\]: expected \[2, 2, 8\]"),
        ((x[0], torch.randn(2, 1, 8)), r"expected \[2, 8\]"),
        ((x.long(),), "input is torch.int64"),
        ((x, x.long()), "hx is torch.int64"),
        ((x.to("meta"),), "on meta"),
        (("x",), "input is str"),
        ((packed([x[:, 0, :3]]),), r"the packed input has the shape \[5, 3\]: .* of 4"),
        ((packed([x[:, 0]]), torch.randn(2, 2, 8)), r"hx has the shape .* expected \[2, 1, 8\]"),
        ((packed([x[:, 0].long()]),), "input is torch.int64"),
        *(
            ((PackedSequence(x[:, 0], torch.tensor(sizes)),), "expected sizes above 0")
            for sizes in ([3, 2, 2], [1, 4], [5, 0], [1000], [-1, 6], [])
        ),
    ):
        with pytest.raises(wcodec.UsageError, match=text):
            ours(*arguments)
    with torch.no_grad():
        ours(x.clone().requires_grad_())
        ours.weight_hh_l0_reverse[9, 2] = float("nan")
    with pytest.raises(wcodec.UsageError, match=r"layer 0, \*_l0_reverse: U_z\[1, 2\] is NaN"):
        ours(x)
