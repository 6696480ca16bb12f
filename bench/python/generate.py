# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""A decoder of transformers with random weights on a CUDA device: tokens a second and peak memory,
plain and with weights that stay coded.

    python3 bench/python/generate.py [--model 1b|3b|8b] [--tokens N] [--ways plain,product,decode]

Shapes are those of Llama 3; weights are bf16. One sequence: a prompt, then tokens one by one with a
static cache, each a replay of one CUDA graph. The ways follow each other in one process; a rate is
the median of the rounds. Memory is torch's at its peak from before loading (of the plain model:
with its weights there), what the library holds beside it, and what of the device is in use; beside
loading, the most that was."""

import argparse
import gc
import json
import os
import statistics
import tempfile
import threading
import time

import torch
import wcodec.torch
from transformers import AutoModelForCausalLM, LlamaConfig, StaticCache
from wcodec.engines.transformers import WcodecConfig

SHAPES = {  # hidden, intermediate, layers, heads, those of keys, vocabulary, tied
    "tiny": (128, 256, 2, 4, 2, 500, True),
    "1b": (2048, 8192, 16, 32, 8, 128256, True),
    "3b": (3072, 8192, 28, 24, 8, 128256, True),
    "8b": (4096, 14336, 32, 32, 8, 128256, False),
}
GIB = 1 << 30
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def configuration(name):
    hidden, intermediate, layers, heads, keys, vocabulary, tied = SHAPES[name]
    return LlamaConfig(
        hidden_size=hidden, intermediate_size=intermediate, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=keys, vocab_size=vocabulary,
        tie_word_embeddings=tied, dtype="bfloat16", rms_norm_eps=1e-5,
    )  # fmt: skip


def make(config, folder):
    """A model on the device, and its compressed weights in a folder."""
    torch.manual_seed(1)
    with torch.device(DEVICE):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    begun = time.monotonic()
    config.save_pretrained(folder)
    path = os.path.join(folder, "model.safetensors.wcodec")
    wcodec.torch.save_model(model, path, level=1)
    plain = sum(parameter.nbytes for parameter in model.parameters())
    print(
        f"{plain / 2e9:.2f} billion weights, {plain / GIB:.2f} GiB, in the file "
        f"{os.path.getsize(path) / plain:.3f} of that; compressed in "
        f"{time.monotonic() - begun:.1f} s",
        flush=True,
    )
    return model


class Generator:
    """Tokens by one model; on the CPU without a graph."""

    def __init__(self, model, prompt, count):
        self.model, self.prompt, self.count = model, prompt, count
        self.cache = StaticCache(config=model.config, max_cache_len=prompt.shape[1] + count)
        self.token = torch.zeros(1, 1, dtype=torch.long, device=DEVICE)
        self.made = torch.zeros(1, count, dtype=torch.long, device=DEVICE)
        self.at = torch.zeros(1, dtype=torch.long, device=DEVICE)
        self.graph = None
        self.first()
        if DEVICE == "cuda":
            self._capture()

    def _capture(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            self.step()
        self.graph = graph

    def _keep(self, logits):
        self.token.copy_(logits[:, -1:].argmax(-1))
        self.made.index_copy_(1, self.at, self.token)
        self.at.add_(1)

    def first(self):
        """What the prompt gives."""
        self.cache.reset()
        self.at.zero_()
        logits = self.model(self.prompt, past_key_values=self.cache, logits_to_keep=1).logits
        self._keep(logits)
        return logits

    def step(self):
        self._keep(self.model(self.token, past_key_values=self.cache).logits)

    def run(self):
        """Seconds of the prompt, and of all tokens after its first."""
        synchronize = torch.cuda.synchronize if self.graph else lambda: None
        synchronize()
        begun = time.perf_counter()
        self.first()
        synchronize()
        prompt = time.perf_counter()
        for _ in range(self.count - 1):
            if self.graph:
                self.graph.replay()
            else:
                self.step()
        synchronize()
        return prompt - begun, time.perf_counter() - prompt


def settle():
    gc.collect()
    if DEVICE == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def memory(model):
    """Torch's peak, what the library holds, and what is in use of the device."""
    quantizer = getattr(model, "hf_quantizer", None)
    held = quantizer.resident.nbytes if quantizer else 0
    if DEVICE != "cuda":
        return 0, held, 0
    torch.cuda.synchronize()
    free, whole = torch.cuda.mem_get_info()
    return torch.cuda.max_memory_allocated(), held, whole - free


@torch.no_grad()
def measure(model, options):
    torch.manual_seed(2)
    prompt = torch.randint(0, model.config.vocab_size, (1, options.prompt)).to(DEVICE)
    generator = Generator(model, prompt, options.tokens)
    runs, made = [], []
    for _ in range(options.rounds + 1):
        runs.append(generator.run())
        made.append(generator.made[0].tolist())
    del runs[0]
    own = statistics.median(taken for _, taken in runs)
    torchs, held, used = memory(model)
    return {
        "rate": (options.tokens - 1) / own,
        "prompt_s": statistics.median(first for first, _ in runs),
        "torch": torchs, "library": held, "peak": torchs + held, "device": used,
        "logits": generator.first().double(), "tokens": made[0],
        "repeated": all(tokens == made[0] for tokens in made),
    }  # fmt: skip


class Peak(threading.Thread):
    """The most of the device's memory that is in use, looked at every few milliseconds."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.ended = 0, threading.Event()

    def run(self):
        while DEVICE == "cuda" and not self.ended.wait(0.003):
            free, whole = torch.cuda.mem_get_info(0)
            self.most = max(self.most, whole - free)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


def load(folder, way):
    settle()
    begun = time.monotonic()
    with Peak() as peak:
        model = AutoModelForCausalLM.from_pretrained(
            folder, quantization_config=WcodecConfig(mode=way), device_map=DEVICE
        )
    print(
        f"{way}: loaded in {time.monotonic() - begun:.1f} s, with at most {peak.most / GIB:.2f} "
        "GiB of the device in use",
        flush=True,
    )
    return model


def show(way, found, plain):
    same = [a == b for a, b in zip(found["tokens"], plain["tokens"])]
    error = (found["logits"] - plain["logits"]).norm() / plain["logits"].norm()
    print(
        f"{way:8} {found['rate']:8.1f} tokens/s ({found['rate'] / plain['rate']:.3f} of plain), "
        f"prompt {found['prompt_s'] * 1e3:.1f} ms; memory, GiB: torch {found['torch'] / GIB:.2f}, "
        f"library {found['library'] / GIB:.2f}, both {found['peak'] / GIB:.2f} "
        f"({found['peak'] / max(plain['peak'], 1):.3f} of plain), of the device in use "
        f"{found['device'] / GIB:.2f} ({found['device'] / max(plain['device'], 1):.3f}); first "
        f"logits {error:.1e} off, {(*same, False).index(False)} tokens the same, in all rounds "
        f"{'the same' if found['repeated'] else 'OTHERS'}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=SHAPES, default="8b")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--prompt", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", default="plain,product,decode")
    parser.add_argument("--json")
    options = parser.parse_args()
    print(torch.cuda.get_device_name() if DEVICE == "cuda" else DEVICE, "torch", torch.__version__)
    found = {}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        model = make(configuration(options.model), folder)
        for way in options.ways.split(","):
            if way != "plain":
                model = load(folder, way)
            else:
                settle()
            found[way] = measure(model, options)
            show(way, found[way], found["plain"])
            model = None
            settle()
    if options.json:
        rows = {way: {k: v for k, v in row.items() if k != "logits"} for way, row in found.items()}
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
