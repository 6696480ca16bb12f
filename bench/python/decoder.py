# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""A decoder of transformers with random weights on the CPU: tokens a second and peak memory, plain
and with weights that stay coded.

    python bench/python/decoder.py [--hidden N] [--layers N] [--tokens N] [--rounds N] [--json OUT]

Each way is a process of its own, and they take turns. One thread is timed by the process's own
time, which others on the machine disturb less; more by the clock. WCODEC_LIBRARY names the library;
PYTHONPATH has python/, or the package is installed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

WAYS = ["plain"] + [f"{form} {mode}" for form in ("plain", "coded", "fixed") for mode in
                    ("product", "decode")]  # fmt: skip
MIB = 1 << 20


def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024


def make(folder, hidden, layers):
    import torch
    import wcodec
    from transformers import AutoModelForCausalLM, LlamaConfig

    config = LlamaConfig(
        hidden_size=hidden, intermediate_size=4 * hidden, num_hidden_layers=layers,
        num_attention_heads=hidden // 64, num_key_value_heads=hidden // 256, vocab_size=32000,
        dtype="bfloat16",
    )  # fmt: skip
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config)
    model.save_pretrained(os.path.join(folder, "plain"))
    wcodec.compress(os.path.join(folder, "plain"), os.path.join(folder, "packed"))
    return sum(parameter.nbytes for parameter in model.parameters())


def one(folder, way, tokens, threads):
    """In a process of its own: what loading, a prompt and generating took."""
    import torch
    from transformers import AutoModelForCausalLM
    from wcodec.engines.transformers import WcodecConfig

    now = time.process_time if threads == 1 else time.perf_counter
    torch.set_num_threads(threads)
    before = peak()
    begun = now()
    if way == "plain":
        model = AutoModelForCausalLM.from_pretrained(os.path.join(folder, "plain"))
        held = sum(parameter.nbytes for parameter in model.parameters())
    else:
        form, mode = way.split()
        config = WcodecConfig(form, mode, threads=threads)
        model = AutoModelForCausalLM.from_pretrained(
            os.path.join(folder, "packed"), quantization_config=config
        )
        held = model.hf_quantizer.resident.nbytes
    loaded = now()
    rows = torch.arange(128).reshape(1, 128)
    options = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    mask = torch.ones_like(rows)
    model.generate(rows[:, :8], attention_mask=mask[:, :8], max_new_tokens=2, **options)
    first = now()
    with torch.no_grad():
        model(rows)
    prompt = now()
    model.generate(rows[:, :8], attention_mask=mask[:, :8], max_new_tokens=1, **options)
    alone = now()
    model.generate(rows[:, :8], attention_mask=mask[:, :8], max_new_tokens=1 + tokens, **options)
    end = now()
    rate = tokens / ((end - alone) - (alone - prompt))
    print(json.dumps({
        "load": loaded - begun, "prompt": prompt - first, "rate": rate, "held": held,
        "peak": peak() - before,
    }))  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return one(*options.one, options.tokens, options.threads)
    with tempfile.TemporaryDirectory() as folder:
        size = make(folder, options.hidden, options.layers)
        print(
            f"{size / 2e6:.0f} million weights, {size / MIB:.0f} MiB, {options.threads} threads",
            flush=True,
        )
        found = {way: [] for way in WAYS}
        for _ in range(options.rounds):
            for way in WAYS:
                made = subprocess.run(
                    [
                        sys.executable, __file__, "--one", folder, way,
                        "--tokens", str(options.tokens), "--threads", str(options.threads),
                    ],
                    capture_output=True, text=True,
                )  # fmt: skip
                if made.returncode:
                    sys.exit(made.stderr)
                found[way].append(json.loads(made.stdout.splitlines()[-1]))
    result = {
        way: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        for way, runs in found.items()
    }
    plain = result["plain"]
    print(f"{'form, mode':16} weights MiB   peak MiB   load s  128 tokens s  tokens/s   of plain")
    for way, run in result.items():
        print(
            f"{way:16} {run['held'] / MIB:11.0f} {run['peak'] / MIB:10.0f} {run['load']:8.2f} "
            f"{run['prompt']:13.2f} {run['rate']:9.2f} {run['rate'] / plain['rate']:10.2f}"
        )
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"bytes": size, "ways": found}, file, indent=1)
    return None


if __name__ == "__main__":
    main()
