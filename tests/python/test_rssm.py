# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Ensembles that predict a training's losses: golden values, shapes, what is refused."""

import pytest

np = pytest.importorskip("numpy")

import wcodec  # noqa: E402


def members(count, hidden, inputs):
    def weights(wave, shape, frequency, scale):
        at = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
        return np.float32(scale) * wave(np.float32(frequency) * at)

    return [
        {
            f"{kind}_{gate}": weights(wave, (hidden, columns), frequency, 0.01 * (e + 1))
            for kind, wave, columns in (("W", np.sin, inputs), ("U", np.cos, hidden))
            for gate, frequency in (("z", 0.1), ("r", 0.2), ("h", 0.3))
        }
        for e in range(count)
    ]


def golden(count=5, hidden=256, stochastic=32, inputs=64, **options):
    head = np.full(hidden + stochastic, 0.01)
    model = wcodec.RSSM(members(count, hidden, inputs), head, stochastic, **options)
    return model, np.full((count, hidden), 0.5), np.ones(inputs)


def test_golden_values():
    model, hidden, features = golden()
    r = model.rollout(hidden, features, 2.5, 50)
    assert r.trajectories.shape == (5, 51) and r.hidden.shape == (5, 256)
    assert r.trajectories[[0, 4], 0].tolist() == [2.5, 2.5]
    found = r.trajectories[[0, 0, 0, 4, 4, 4], [1, 2, 50] * 2]
    want = [1.9156520, 1.3913131, 1.0103979, 1.9160111, 1.3932004, 1.0118102]
    np.testing.assert_allclose(found, want, atol=1e-5)
    np.testing.assert_allclose(r.hidden_norms[[0, 4], 49], [0.133093, 0.668716], atol=1e-5)
    np.testing.assert_allclose(r.loss_variance[[0, 4]], [0.0594713, 0.0593653], atol=1e-5)
    np.testing.assert_allclose(r.smoothness[[0, 4]], [0.0119255, 0.0119181], atol=1e-5)
    assert r.entropies[0] == pytest.approx(173.285087, rel=1e-5)
    np.testing.assert_allclose(r.mean, r.trajectories.mean(0), rtol=1e-6)
    np.testing.assert_array_equal(r.step_deltas, np.abs(np.diff(r.trajectories)))
    assert r.variance == pytest.approx(r.trajectories[:, 50].var(), rel=1e-3)
    assert r.deviation == pytest.approx(np.sqrt(r.variance) * (1 + 0.1 * np.sqrt(50)), rel=1e-5)
    assert r.upper - r.lower == pytest.approx(4 * r.deviation, rel=1e-2)
    assert r.weight_deltas is None
    same = model.rollout(hidden[0], features, 2.5, 50)
    np.testing.assert_array_equal(same.trajectories, r.trajectories)

    model, hidden, features = golden(3, 64, 64, 16, mode="reference")
    r = model.rollout(hidden, features, 2.5, 10)
    np.testing.assert_allclose(r.trajectories[2, [1, 2, 10]], [0.3202564, 0.1639904, 0.0018502],
                               atol=1e-5)  # fmt: skip


def test_no_steps_and_weight_deltas():
    model, hidden, features = golden(2, 20, 4, 6, delta_head=np.zeros((10, 24)))
    r = model.rollout(None, features, 2.5, 0)
    assert r.trajectories.tolist() == [[2.5], [2.5]] and r.loss == 2.5 and r.confidence == 1
    assert set(r.weight_deltas.values()) == {0.0}
    np.testing.assert_allclose(r.hidden[:, :6], np.tanh(1), rtol=1e-6)
    assert not r.hidden[:, 6:].any()
    r = model.rollout(hidden, features, 2.5, 10, gradient_norm=2, learning_rate=0.5)
    want = 0.5 * 2 * (1 + max(0, (2.5 - r.loss) / 2.5)) * 10 * 0.25
    assert list(r.weight_deltas) == ["embed", "q", "k", "v", "out", "up", "down", "lm_head"]
    assert r.weight_deltas["lm_head"] == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("mode", ["production", "sampled"])
def test_many_starts(mode):
    model, _, _ = golden(2, 20, 4, 6, mode=mode, products="bfloat16")
    assert model.products == "float32"
    rng = np.random.default_rng(1)
    hidden, features = rng.standard_normal((3, 2, 20)), rng.standard_normal((3, 6))
    loss = np.array([2.5, 1.0, 0.5])
    many = model.rollout(hidden, features, loss, 5, seed=7)
    assert isinstance(many, wcodec.Rollouts) and many.trajectories.shape == (3, 2, 6)
    for i in range(3):
        one = model.rollout(hidden[i], features[i], loss[i], 5, seed=7 + i)
        for name in wcodec.Rollouts._fields:
            np.testing.assert_array_equal(getattr(many, name)[i], getattr(one, name))
    same = model.rollout(hidden[:, 0], features, 2.5, 5)
    both = model.rollout(np.repeat(hidden[:, :1], 2, 1), features, [2.5] * 3, 5)
    np.testing.assert_array_equal(same.trajectories, both.trajectories)
    lists = model.rollout(hidden[:, 0].tolist(), features.tolist(), 2.5, 5)
    np.testing.assert_array_equal(lists.trajectories, same.trajectories)
    one = model.rollout(hidden[0, 0].tolist(), features[0].tolist(), 2.5, 5)
    np.testing.assert_array_equal(one.trajectories, same.trajectories[0])
    alone = model.rollout(None, features[:1], loss[:1], 0)
    np.testing.assert_allclose(alone.hidden[0, 1, :6], np.tanh(features[0]), rtol=1e-6)
    assert model.rollout(None, features[:0], loss[:0], 3).trajectories.shape == (0, 2, 4)
    for wrong in [
        (hidden[:2], features, loss),
        (None, features[:, :5], loss),
        (None, features, loss[:2]),
        (None, features, "many"),
        (None, features, None),
        (None, features, "2.5"),
        (None, features, [[1], [1, 2]]),
        (None, [[1.0], [1.0, 2.0]], loss),
        ([[["1"] * 20] * 2] * 3, features, loss),
    ]:
        with pytest.raises(wcodec.UsageError):
            model.rollout(*wrong, 5)
    with pytest.raises(wcodec.UsageError, match="no gradient_norm"):
        model.rollout(None, features, loss, 5, gradient_norm=1.0)
    with pytest.raises(wcodec.UsageError, match="products is 'int8'"):
        golden(2, 20, 4, 6, products="int8")


def test_sampled():
    model, hidden, features = golden(3, 20, 4, 6, mode="sampled")
    plain, _, _ = golden(3, 20, 4, 6)
    first = model.rollout(hidden, features, 2.5, 20, seed=1)
    same = model.rollout(hidden, features, 2.5, 20, seed=1)
    np.testing.assert_array_equal(first.trajectories, same.trajectories)
    # All weights of the head are equal: what is drawn does not change a loss.
    expected = plain.rollout(hidden, features, 2.5, 20)
    np.testing.assert_allclose(first.trajectories, expected.trajectories, rtol=1e-6)
    head = np.concatenate([np.zeros(20), np.arange(4.0)])
    model = wcodec.RSSM(members(3, 20, 6), head, 4, "sampled")
    drawn = [model.rollout(hidden, features, 2.5, 20, seed=seed).trajectories for seed in (1, 2)]
    classes = np.round(np.log(drawn[0][:, 1:]))
    assert set(classes.ravel()) == {0, 1, 2, 3}
    assert (drawn[0] != drawn[1]).any()


def test_from_a_file(tmp_path):
    from wcodec.numpy import save_file

    weights = members(3, 20, 6)
    for i, member in enumerate(weights):
        member["b_r"] = np.full(20, 0.1 * i, np.float32)
    head, delta = np.full(24, 0.02, np.float32), np.ones((10, 24), np.float32)
    tensors = {f"members.{i}.{n}": a for i, m in enumerate(weights) for n, a in m.items()}
    tensors |= {"head": head, "delta_head": delta}
    save_file(tensors, tmp_path / "ensemble.wcodec")
    model = wcodec.RSSM.open(tmp_path / "ensemble.wcodec", "sampled", threads=1)
    expected = wcodec.RSSM(weights, head, 4, "sampled", delta_head=delta)
    assert (model.ensemble, model.hidden, model.inputs, model.stochastic) == (3, 20, 6, 4)
    assert model.mode == "sampled"
    given = (None, np.ones(6), 2.5, 7)
    found, wanted = model.rollout(*given, seed=5), expected.rollout(*given, seed=5)
    np.testing.assert_array_equal(found.trajectories, wanted.trajectories)
    assert found.weight_deltas == wanted.weight_deltas

    names = {n: "W" + n + "/{}" for n in weights[0]} | {"head": "loss", "delta_head": "none"}
    renamed = {f"W{n}/{i}": a for i, m in enumerate(weights) for n, a in m.items()} | {"loss": head}
    save_file(renamed, tmp_path / "renamed.wcodec")
    with pytest.raises(wcodec.TensorNotFoundError, match="'none'"):
        wcodec.RSSM.open(tmp_path / "renamed.wcodec", names=names)
    del names["delta_head"]
    model = wcodec.RSSM.open(tmp_path / "renamed.wcodec", names=names)
    found = model.rollout(*given)
    wanted = wcodec.RSSM(weights, head, 4).rollout(*given)
    np.testing.assert_array_equal(found.trajectories, wanted.trajectories)
    assert found.weight_deltas is None

    tensors["members.1.U_r"] = np.zeros((20, 19), np.float32)
    save_file(tensors, tmp_path / "wrong.wcodec")
    with pytest.raises(
        wcodec.MismatchError, match=r"'members.1.U_r' of F32 has the shape \[20, 19"
    ):
        wcodec.RSSM.open(tmp_path / "wrong.wcodec")
    with pytest.raises(wcodec.UsageError, match=r"names\['W_x'\]"):
        wcodec.RSSM.open(tmp_path / "wrong.wcodec", names={"W_x": "a"})
    with pytest.raises(wcodec.UsageError, match="mode is 'other'"):
        wcodec.RSSM.open(tmp_path / "wrong.wcodec", "other")
    save_file(tensors, tmp_path / "plain.safetensors")
    with pytest.raises(wcodec.UnsupportedError, match="is not compressed"):
        wcodec.RSSM.open(tmp_path / "plain.safetensors")


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    model, hidden, features = golden(2, 20, 4, 6)
    found = model.rollout(torch.from_numpy(hidden[0]), torch.from_numpy(features), 2.5, 3)
    assert isinstance(found.trajectories, torch.Tensor) and found.smoothness.shape == (2,)
    expected = model.rollout(hidden, features, 2.5, 3)
    np.testing.assert_array_equal(found.trajectories.numpy(), expected.trajectories)


def test_what_is_refused():
    good, head = members(2, 8, 4), np.zeros(12)
    for change, text in (
        (lambda m: m[1].pop("U_r"), "member 1 has no U_r"),
        (lambda m: m[1].update(U_r=np.zeros((8, 4))), r"member 1: U_r has the shape \[8, 4\]"),
        (lambda m: m[0].update(b_h=np.zeros(7)), r"expected \[8\]"),
        (lambda m: m[0].update(W_x=np.zeros(7)), "member 0 has 'W_x'"),
        (lambda m: m[0].pop("W_z"), 'member 0 has no matrix "W_z"'),
        (lambda m: m[1]["U_h"].__setitem__((3, 2), np.nan), r"member 1: U_h\[3, 2\] is NaN"),
        (lambda m: m.clear(), "at least one member"),
    ):
        wrong = [{name: array.copy() for name, array in m.items()} for m in good]
        change(wrong)
        with pytest.raises(wcodec.UsageError, match=text):
            wcodec.RSSM(wrong, head, 4)
    for arguments, text in (
        ((good, head, 5), "head has the shape"),
        ((good, np.zeros(17), 9), "stochastic is 9: expected 1 to 8"),
        ((good, head, 0), "stochastic is 0"),
        ((good, head, 4, "random"), "mode is 'random': expected one of production, reference, sam"),
        ((good, head, 4, "reference"), "in the mode"),
    ):
        with pytest.raises(wcodec.UsageError, match=text):
            wcodec.RSSM(*arguments)
    model = wcodec.RSSM(good, head, 4)
    for arguments, text in (
        ((None, np.zeros(5), 1.0, 2), r"features has the shape \[5\]: expected \[4\]"),
        ((np.zeros((3, 8)), np.zeros(4), 1.0, 2), "hidden has the shape"),
        ((None, np.zeros(4), 1.0, 1001), "steps is 1001"),
        ((None, np.zeros(4), 1.0, -1), "steps is -1"),
        ((None, np.zeros(4), "much", 1), "are numbers"),
        ((None, "few", 1.0, 1), "no array of numbers"),
    ):
        with pytest.raises(wcodec.UsageError, match=text):
            model.rollout(*arguments)
    for seed in (-1, 1 << 64, 1.5):
        with pytest.raises(wcodec.UsageError, match="seed is"):
            model.rollout(None, np.zeros(4), 1.0, 1, seed=seed)


@pytest.mark.parametrize("mode", ["production", "sampled"])
def test_device(opencl_plugin, mode):
    try:
        model, hidden, features = golden(mode=mode, device="opencl")
    except wcodec.BackendError as error:
        pytest.skip(str(error))
    assert model.device == "opencl"
    cpu = golden(mode=mode)[0]
    for begin in (None, hidden):
        a = model.rollout(begin, features, 2.5, 20, seed=7)
        b = cpu.rollout(begin, features, 2.5, 20, seed=7)
        np.testing.assert_allclose(a.trajectories, b.trajectories, atol=1e-5)
        np.testing.assert_allclose(a.hidden, b.hidden, atol=1e-5)
        assert a.entropy == pytest.approx(b.entropy, abs=1e-5)


def test_device_that_is_none():
    with pytest.raises(wcodec.UsageError, match="device is 'tpu'"):
        golden(device="tpu")
