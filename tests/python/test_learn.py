# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Ensembles that learn: losses come nearer, gradients are those of torch, weights go to a file and
back, what is refused."""

import pytest

np = pytest.importorskip("numpy")

import wcodec  # noqa: E402


def members(count, hidden, inputs, seed=1):
    random = np.random.default_rng(seed)
    shapes = {"W": (hidden, inputs), "U": (hidden, hidden), "b": (hidden,)}
    return [
        {
            f"{kind}_{gate}": random.normal(0, hidden**-0.5, shape).astype(np.float32)
            for kind, shape in shapes.items()
            for gate in "zrh"
        }
        for _ in range(count)
    ]


def ensemble(count=3, hidden=12, stochastic=4, inputs=5, **options):
    head = np.random.default_rng(2).normal(0, 0.3, hidden + stochastic).astype(np.float32)
    return wcodec.RSSM(members(count, hidden, inputs), head, stochastic, **options)


@pytest.mark.parametrize("depth", [1, 3])
def test_learner(depth, tmp_path):
    model = ensemble(2, 16, 4, 2)
    learner = wcodec.Learner(model, depth, rate=0.1)
    assert learner.hidden is None
    series = [2.0, 1.5, 1.2, 1.0]
    errors = []
    for n in range(4000):
        learned = learner.step(np.array([series[n % 4], 1]), series[(n + 1) % 4])
        errors.append(learned.error)
    assert learned.losses.shape == (2,) and learned.hidden.shape == (2, 16)
    assert sum(errors[-4:]) < 0.2 * sum(errors[:4])
    # It goes on by itself, and after it was saved.
    found = model.rollout(learner.hidden, np.array([series[0], 1]), series[0], 1)
    np.testing.assert_allclose(found.trajectories[:, 1], series[1], atol=0.2)
    model.save(tmp_path / "ensemble.wcodec")
    again = wcodec.RSSM.open(tmp_path / "ensemble.wcodec")
    same = again.rollout(learner.hidden, np.array([series[0], 1]), series[0], 1)
    np.testing.assert_array_equal(same.trajectories, found.trajectories)


def test_weights():
    given, head = members(2, 12, 5), np.arange(16, dtype=np.float32) / 100
    delta = np.arange(160, dtype=np.float32).reshape(10, 16)
    model = wcodec.RSSM(given, head, 4, delta_head=delta)
    values = model.weights()
    for got, want in zip(values.members, given, strict=True):
        assert set(got) == set(want)
        for name, array in want.items():
            np.testing.assert_array_equal(got[name], array)
    np.testing.assert_array_equal(values.head, head)
    np.testing.assert_array_equal(values.delta_head, delta)
    before = model.rollout(None, np.ones(5), 1.0, 3)
    learned = model.learn(None, np.ones(5), 2.0, rate=0.5)
    np.testing.assert_array_equal(learned.losses, before.trajectories[:, 1])
    after = model.weights()
    assert (after.head != head).any()
    np.testing.assert_array_equal(after.delta_head, delta)
    other = wcodec.RSSM(after.members, after.head, 4, delta_head=delta)
    a, b = (m.rollout(None, np.ones(5), 1.0, 3) for m in (model, other))
    np.testing.assert_array_equal(a.trajectories, b.trajectories)
    assert (a.trajectories[:, 1:] != before.trajectories[:, 1:]).all()
    assert ensemble().weights().delta_head is None


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_gradients_of_torch(steps):
    torch = pytest.importorskip("torch")
    model = ensemble()
    random = np.random.default_rng(3)
    hidden, features = random.normal(size=(3, 12)), random.normal(size=(steps, 5))
    values, learned = model.gradients(hidden, features, 0.7)
    weights = model.weights()
    head = torch.tensor(weights.head, dtype=torch.float64, requires_grad=True)
    own, error = [], 0
    for e, member in enumerate(weights.members):
        w = {n: torch.tensor(a, dtype=torch.float64, requires_grad=True) for n, a in member.items()}
        own.append(w)
        h = torch.tensor(hidden.astype(np.float32)[e], dtype=torch.float64)
        for t in range(steps):
            if t > 0:  # what goes back is multiplied by 0.7
                h = 0.7 * h + 0.3 * h.detach()
            x = torch.tensor(features.astype(np.float32)[t], dtype=torch.float64)
            z = torch.sigmoid(w["W_z"] @ x + w["U_z"] @ h + w["b_z"])
            r = torch.sigmoid(w["W_r"] @ x + w["U_r"] @ h + w["b_r"])
            candidate = torch.tanh(w["W_h"] @ x + w["U_h"] @ (r * h) + w["b_h"])
            h = (1 - z) * h + z * candidate
        p = torch.softmax(h[[i * 12 // 4 for i in range(4)]], 0)
        loss = torch.exp(torch.clamp(head @ torch.cat([h, p]), -10, 10))
        error = error + (loss - 0.7) ** 2 / 2
    error.backward()
    assert learned.error == pytest.approx(error.item(), rel=1e-5)
    pairs = [(values.head, head.grad)]
    pairs += [(m[n], w[n].grad) for m, w in zip(values.members, own, strict=True) for n in w]
    norm = sum((g**2).sum().item() for _, g in pairs) ** 0.5
    assert learned.norm == pytest.approx(norm, rel=1e-5) and norm > 0.01
    for got, want in pairs:
        np.testing.assert_allclose(got, want.numpy(), rtol=0, atol=2e-6 * norm)


def test_what_is_refused():
    model = ensemble()
    for arguments, options, text in (
        ((None, np.ones(4), 1.0), {}, r"features has the shape \[1, 4\]: expected \[1, 5\]"),
        ((None, np.ones((4, 5)), 1.0), {}, "features are of 4 steps: expected 1 to 3"),
        ((None, np.ones((2, 5)), "much"), {}, "loss is no number"),
        ((None, np.ones(5), float("nan")), {}, "loss is NaN"),
        ((None, np.array([1, 2, np.inf, 1, 1]), 1.0), {}, r"features\[0, 2\] is infinite"),
        ((np.ones((2, 12)), np.ones(5), 1.0), {}, "hidden has the shape"),
        ((None, np.ones(5), 1.0), {"rate": 0}, "rate is 0: expected a number above 0"),
        ((None, np.ones(5), 1.0), {"clip": -1}, "clip is -1"),
        ((None, np.ones(5), 1.0), {"rate": "fast"}, "rate and clip are numbers"),
    ):
        with pytest.raises(wcodec.UsageError, match=text):
            model.learn(*arguments, **options)
    for depth in (0, 4, True, 1.5):
        with pytest.raises(wcodec.UsageError, match="depth is"):
            wcodec.Learner(model, depth)
    learner = wcodec.Learner(model, 2)
    learner.step(np.ones(5), 1.0)
    with pytest.raises(wcodec.UsageError, match="loss is NaN"):
        learner.step(np.ones(5), float("nan"))
    assert len(learner._window) == 1
    learner.step(np.ones(5), 1.0)


def test_device_does_not_learn(opencl_plugin):
    try:
        model = ensemble(device="opencl")
    except wcodec.BackendError as error:
        pytest.skip(str(error))
    with pytest.raises(wcodec.UnsupportedError, match="does not learn"):
        model.learn(None, np.ones(5), 1.0)
    found, wanted = (m.gradients(None, np.ones(5), 1.0)[0].head for m in (model, ensemble()))
    np.testing.assert_array_equal(found, wanted)
