# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Trainings of growing size whose losses an ensemble learns to foresee, on the CPU: each step of
training is a lesson, and every few steps the ensemble is rolled out. Prints how far its predictions
were off, and draws them with their bounds beside the losses that came (vl-convert-python).

    python ladder.py xor --svg xor.svg          # 17 weights, numpy
    python ladder.py digits --steps 300         # 23,466 weights; scikit-learn has the digits
    python ladder.py gpt2 --steps 20            # 124 million weights, torch, for a CUDA device
"""

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import wcodec


class Xor:
    """A perceptron 2-4-1, tanh and sigmoid, on four samples; mean squared error."""

    rate = 0.5
    count = 2 * 4 + 4 + 4 + 1

    def __init__(self, seed=0):
        random = np.random.default_rng(seed)
        self.weights = [random.normal(0, 1, s) for s in ((2, 4), (4,), (4, 1), (1,))]
        self.inputs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
        self.wanted = np.array([[0], [1], [1], [0]], float)

    def step(self):
        w1, b1, w2, b2 = self.weights
        hidden = np.tanh(self.inputs @ w1 + b1)
        out = 1 / (1 + np.exp(-(hidden @ w2 + b2)))
        difference = out - self.wanted
        of_out = 2 * difference * out * (1 - out) / len(out)
        of_hidden = of_out @ w2.T * (1 - hidden**2)
        gradients = [self.inputs.T @ of_hidden, of_hidden.sum(0), hidden.T @ of_out, of_out.sum(0)]
        return float((difference**2).mean()), descend(self, gradients)


class Digits:
    """A convolution 1 -> 16 of 5 x 5, ReLU, maxima of 2 x 2, and a linear layer to 10 classes, on
    the digits of scikit-learn in the middle of 28 x 28; cross entropy of batches of 32."""

    rate = 0.05
    count = 16 * 25 + 16 + 12 * 12 * 16 * 10 + 10

    def __init__(self, seed=0):
        from sklearn.datasets import load_digits

        digits = load_digits()
        self.random = np.random.default_rng(seed)
        self.images = np.pad(digits.images / 16, ((0, 0), (10, 10), (10, 10))).astype(np.float32)
        self.labels = digits.target
        self.weights = [
            self.random.normal(0, 0.2, (25, 16)),
            np.zeros(16),
            self.random.normal(0, 0.02, (2304, 10)),
            np.zeros(10),
        ]

    def step(self):
        kernel, bias, linear, offset = self.weights
        chosen = self.random.integers(0, len(self.images), 32)
        windows = np.lib.stride_tricks.sliding_window_view(self.images[chosen], (5, 5), (1, 2))
        patches = windows.reshape(32, 24, 24, 25)
        # [32, 12, 12, 4, 16]: the four that one maximum is taken of beside each other.
        maps = (patches @ kernel + bias).reshape(32, 12, 2, 12, 2, 16).swapaxes(2, 3)
        maps = maps.reshape(32, 12, 12, 4, 16)
        largest = maps.argmax(3)[..., None, :]
        pooled = np.maximum(np.take_along_axis(maps, largest, 3), 0).reshape(32, -1)
        logits = pooled @ linear + offset
        logits -= logits.max(1, keepdims=True)
        chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        at = np.arange(32), self.labels[chosen]
        loss = -np.log(chances[at]).mean()
        of_logits = chances / 32
        of_logits[at] -= 1 / 32
        of_pooled = (of_logits @ linear.T * (pooled > 0)).reshape(32, 12, 12, 1, 16)
        of_maps = np.zeros_like(maps)
        np.put_along_axis(of_maps, largest, of_pooled, 3)
        of_maps = of_maps.reshape(32, 12, 12, 2, 2, 16).swapaxes(2, 3).reshape(-1, 16)
        gradients = [
            patches.reshape(-1, 25).T @ of_maps,
            of_maps.sum(0),
            pooled.T @ of_logits,
            of_logits.sum(0),
        ]
        return float(loss), descend(self, gradients)


def descend(rung, gradients):
    """A step of gradient descent; the norm of the gradients."""
    for weight, gradient in zip(rung.weights, gradients, strict=True):
        weight -= rung.rate * gradient
    return float(np.sqrt(sum((g**2).sum() for g in gradients)))


class Gpt2:
    """GPT-2 small with random weights, on random tokens: 12 layers, 12 heads, 768, vocabulary
    50,257. Adam takes as much as weights and gradients together. Tests count its weights only: no
    run of it is known."""

    rate = 3e-4
    layers, heads, width, vocabulary, context = 12, 12, 768, 50257, 1024
    count = (vocabulary + context) * width + layers * (12 * width**2 + 13 * width) + 2 * width
    memory = 4 * 4 * count
    """Bytes of weights, gradients and Adam's two moments, in f32."""

    def __init__(self, seed=0, device="cuda"):
        import torch

        torch.manual_seed(seed)
        nn, n = torch.nn, self.width
        with torch.device(device):
            self.tokens, self.places = (
                nn.Embedding(self.vocabulary, n),
                nn.Embedding(self.context, n),
            )
            self.blocks = nn.TransformerEncoder(
                nn.TransformerEncoderLayer(
                    n, self.heads, 4 * n, 0.0, "gelu", batch_first=True, norm_first=True
                ),
                self.layers,
                nn.LayerNorm(n),
                enable_nested_tensor=False,
            )
        self.modules = nn.ModuleList([self.tokens, self.places, self.blocks])
        for weight in self.modules.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, 0, 0.02)
        self.optimizer = torch.optim.AdamW(self.modules.parameters(), self.rate)
        self.device = device

    def step(self, batch=4, length=256):
        import torch

        tokens = torch.randint(self.vocabulary, (batch, length + 1), device=self.device)
        x = self.tokens(tokens[:, :-1]) + self.places.weight[:length]
        mask = torch.nn.Transformer.generate_square_subsequent_mask(length, device=self.device)
        logits = self.blocks(x, mask, is_causal=True) @ self.tokens.weight.T
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.modules.parameters(), 1.0)
        self.optimizer.step()
        return loss.item(), norm.item()


RUNGS = {"xor": Xor, "digits": Digits, "gpt2": Gpt2}


def make_ensemble(ensemble=5, hidden=64, stochastic=32, inputs=64, seed=1):
    """Random weights by the published rule."""
    random = np.random.default_rng(seed)

    def uniform(rows, columns):
        most = np.sqrt(2 / (rows + columns))
        return random.uniform(-most, most, (rows, columns))

    members = [
        {f"{k}_{g}": uniform(hidden, n) for k, n in (("W", inputs), ("U", hidden)) for g in "zrh"}
        for _ in range(ensemble)
    ]
    return wcodec.RSSM(members, random.uniform(-0.01, 0.01, hidden + stochastic), stochastic)


class Prediction(NamedTuple):
    """A rollout from a step on; [horizon] each."""

    step: int
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class Climb:
    """A training, what its ensemble has learnt of it, and its predictions so far."""

    def __init__(self, rung, model, depth=3, rate=3e-3, every=50, horizon=10):
        self.rung, self.model, self.every, self.horizon = rung, model, every, horizon
        self.learner = wcodec.Learner(model, depth, rate=rate)
        self.state = wcodec.TrainingState()
        self.losses, self.predictions = [], []

    def step(self):
        loss, norm = self.rung.step()
        if self.losses:  # before the first step there are no features
            self.learner.step(self.state.features(), loss)
        self.state.step(loss, norm, self.rung.rate)
        self.losses.append(loss)
        if self.learner.hidden is not None and len(self.losses) % self.every == 0:
            self.predictions.append(self.predict())

    def predict(self):
        found = self.rollout(self.model)
        means = found.mean[1:]
        deviations = found.trajectories[:, 1:].std(0)
        deviations = deviations * (1 + 0.1 * np.sqrt(np.arange(1, self.horizon + 1)))
        below, above = means - 2 * deviations, means + 2 * deviations
        return Prediction(len(self.losses), means, below, above)

    def rollout(self, model):
        """From where the training is, by the weights that it learnt or others."""
        return model.rollout(
            self.learner.hidden, self.state.features(), self.losses[-1], self.horizon
        )

    def errors(self):
        """By how much each prediction was off, on average over its steps that came."""
        came = np.array(self.losses)
        found = [(p.mean, came[p.step : p.step + self.horizon]) for p in self.predictions]
        return [float(np.abs(mean[: len(true)] - true).mean()) for mean, true in found if len(true)]


def plot(climb):
    """The losses and the predictions with their bounds, as a specification of Vega-Lite."""
    true = [{"step": i, "loss": loss} for i, loss in enumerate(climb.losses)]
    predicted = [
        {
            "of": p.step,
            "step": p.step + i,
            "loss": float(m),
            "lower": float(low),
            "upper": float(up),
        }
        for p in climb.predictions
        for i, (m, low, up) in enumerate(zip(p.mean, p.lower, p.upper, strict=True))
    ]
    x = {"field": "step", "type": "quantitative", "title": "step"}
    y = {"field": "loss", "type": "quantitative", "title": "loss"}
    bounds = {**x}, {**y, "field": "lower"}, {"field": "upper"}, {"field": "of"}
    area = dict(zip(("x", "y", "y2", "detail"), bounds, strict=True))
    line = {"x": x, "y": y}
    each = {**line, "detail": {"field": "of"}}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": "Losses (blue), predictions and their bounds (orange)",
        "width": 800,
        "height": 400,
        "layer": [
            {
                "data": {"values": predicted},
                "mark": {"type": "area", "opacity": 0.3, "color": "#d55e00"},
                "encoding": area,
            },
            {
                "data": {"values": true},
                "mark": {"type": "line", "color": "#0072b2", "strokeWidth": 1},
                "encoding": line,
            },
            {
                "data": {"values": predicted},
                "mark": {"type": "line", "color": "#d55e00"},
                "encoding": each,
            },
        ],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("rung", choices=RUNGS)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--save", help="write the ensemble to this .wcodec file")
    parser.add_argument("--svg", help="draw to this file")
    options = parser.parse_args()
    climb = Climb(RUNGS[options.rung](), make_ensemble(hidden=options.hidden))
    for _ in range(options.steps):
        climb.step()
    errors = climb.errors()
    print(f"{options.rung}: {climb.rung.count} weights, {options.steps} steps")
    print(f"loss: {climb.losses[0]:.4f}, then {climb.losses[-1]:.4f}")
    if errors:
        half = (len(errors) + 1) // 2
        print(
            f"predictions off by {np.mean(errors[:half]):.4f}, then {np.mean(errors[-half:]):.4f}"
        )
    if options.save:
        climb.model.save(options.save)
    if options.svg:
        import vl_convert

        Path(options.svg).write_text(vl_convert.vegalite_to_svg(json.dumps(plot(climb))))


if __name__ == "__main__":
    try:
        main()
    except (ImportError, OSError, wcodec.WcodecError) as error:
        sys.exit(f"ladder.py: {error}")
