# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The state of a training as features: beside numpy's, in a training, and what is refused."""

import pytest

np = pytest.importorskip("numpy")

import wcodec  # noqa: E402


def expected(losses, norms, lr, step):
    """By the definition, in float64; phase full."""
    f = np.zeros(64)
    loss, norm = np.array(losses[-256:], float), np.array(norms[-64:], float)
    f[0], f[8] = loss[-1], norm[-1]
    f[1:5] = loss.mean(), loss.std(), loss.min(), loss.max()
    f[9:13] = norm.mean(), norm.std(), norm.min(), norm.max()
    last, before = loss[-16:].mean(), loss[-32:-16].mean() if len(loss) >= 32 else None
    f[5], f[6] = (last - before, last / max(before, 1e-8)) if before is not None else (0, 1)
    f[7] = step / 10000
    f[13], f[14] = max(np.log10(norm[-1]), -10), min(norm[-1] / norm.mean(), 10)
    f[15], f[20] = norm.std() / norm.mean(), np.log10(lr)
    f[21], f[22] = 0.9**step, 0.999**step
    f[24], f[25] = 1, step / 100
    return f


def test_features_beside_numpys():
    random = np.random.default_rng(5)
    state, states, losses, norms = wcodec.TrainingState(), [], [], []
    for n in range(1, 400):
        losses.append(float(np.float32(3 / np.sqrt(n) + random.random())))
        norms.append(float(np.float32(random.random() * 4)))
        state.step(
            losses[-1],
            norms[-1],
            1e-3,
            beta1_power=0.9**n,
            beta2_power=0.999**n,
            phase_step=n,
        )
        found = state.features()
        assert found.shape == (64,) and found.dtype == np.float32
        np.testing.assert_allclose(found, expected(losses, norms, 1e-3, n), rtol=2e-6, atol=2e-6)
    states = [state, wcodec.TrainingState(), state]
    many = wcodec.TrainingState.batch(states)
    assert many.shape == (3, 64)
    np.testing.assert_array_equal(many, [s.features() for s in states])
    assert wcodec.TrainingState.batch([]).shape == (0, 64)


def test_before_the_first_step():
    state = wcodec.TrainingState()
    f = state.features()
    assert np.isnan(f[[0, 8]]).all() and np.isnan(state.averages).all()
    assert f[[6, 13, 14, 20, 21, 22]].tolist() == [1, -10, 10, -10, 1, 1]
    assert not f[[1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 15]].any() and not f[23:].any()
    state.step(4, 1)
    state.step(2, 1)
    assert state.averages == (3.5, 3.875, 3.96875)
    assert state.features()[7] == np.float32(2) / 10000


def test_a_training_is_described():
    """Of xor by a layer of four, with plain steps: the loss falls, and the features say so."""
    random = np.random.default_rng(1)
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
    y = np.array([[0], [1], [1], [0]], float)
    w, b = random.normal(size=(2, 4)), np.zeros(4)
    v, c = random.normal(size=(4, 1)), np.zeros(1)
    state = wcodec.TrainingState()
    for _ in range(2000):
        h = np.tanh(x @ w + b)
        p = 1 / (1 + np.exp(-(h @ v + c)))
        d = (p - y) * p * (1 - p)
        dh = d @ v.T * (1 - h * h)
        slopes = [x.T @ dh, dh.sum(0), h.T @ d, d.sum(0)]
        norm = np.sqrt(sum((g * g).sum() for g in slopes))
        for weight, g in zip((w, b, v, c), slopes, strict=True):
            weight -= g
        state.step(((p - y) ** 2).mean(), norm, 1.0, phase="full")
    f = state.features()
    assert f[0] < 0.05 and f[5] <= 0 and f[6] <= 1 and f[3] == f[0] and f[4] > f[0]
    assert f[20] == 0 and f[7] == np.float32(0.2)


def test_what_is_refused_adds_nothing():
    state = wcodec.TrainingState()
    for wrong, text in (
        ({"phase": "rest"}, "phase is 'rest': expected one of warm-up, full, predict, correct"),
        ({"learning_rate": "fast"}, "learning_rate is 'fast': expected a number"),
        ({"step": -1}, "step is -1: expected a whole number"),
        ({"phase_step": 1.5}, "phase_step is 1.5"),
        ({"step": 1 << 64}, "expected a whole number"),
        ({"loss": None}, "loss is None"),
    ):
        with pytest.raises(wcodec.UsageError, match=text):
            state.step(**{"loss": 1.0, "gradient_norm": 1.0, **wrong})
    assert np.isnan(state.features()[0])
    state.step(float("nan"), float("inf"))
    assert np.isnan(state.features()[1]) and np.isinf(state.features()[8])
    with pytest.raises(TypeError):
        state.step()
