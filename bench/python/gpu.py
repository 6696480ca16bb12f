# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Loads to a CUDA device beside safetensors, fastsafetensors, the Run:ai streamer and
InstantTensor. What is not installed or fails is left out and named. Files are in the page cache.

    python bench/python/gpu.py [--limit SECONDS] [--rounds N] [--folder FOLDER] [--keep]
                               [--gb 8.59] [--device cuda] [--json OUT] [ROW...]

Rows: few (64 tensors of bf16), many (2,000 tensors of mixed sizes and types), model
(from_pretrained of a Llama with random weights). All tensors are compared once with those of
safetensors. Of what time the limit leaves, each row takes an equal part. `--device cpu --gb 0.05`
tries the same with small files where there is no device.
"""

import argparse
import gc
import os
import shutil
import sys
import time

import gpu_files
import gpu_peers
import torch
import wcodec
from gpu_peers import PEERS, by_safetensors, by_wcodec
from timing import in_turns, one_line, table, write

USUAL_ROWS = ["few", "many", "model"]
ROOM = 32e9  # bytes of files at the same time, at the default size


class Bench:
    """What rows share: the device, where files go, when to end, what was found."""

    def __init__(self, arguments):
        self.device = torch.device(arguments.device)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        self.gigabytes = arguments.gb
        self.small = arguments.gb < 1
        self.folder = arguments.folder or gpu_files.folder_for(ROOM * arguments.gb / 8.59)
        self.rounds = arguments.rounds
        self.keep = arguments.keep
        self.peers = dict(PEERS)
        self.until = None  # of the row that runs
        self.failed = []

    def synchronize(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def in_turns(self, calls):
        return in_turns(calls, self.rounds, self.synchronize, self.synchronize, self.until)

    def fail(self, text):
        print(f"FAILED: {text}", flush=True)
        self.failed.append(text)

    def clear(self, *paths):
        """Free what torch keeps, and the files."""
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        for path in () if self.keep else paths:
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.unlink(path)


def usable(bench):
    """Leave out the peers that do not load a small file here, and say why."""
    plan = [
        (f"{kind}.{i}", kind, (i * 5000 + 1024,)) for kind in gpu_files.KINDS for i in range(20)
    ]
    plain, packed = gpu_files.make(bench.folder, "trial", plan, bench.device, 3)
    found = gpu_peers.works(plain, packed, bench.device)
    bench.clear(plain, packed)
    reason = found.pop("wcodec")
    if reason is not None:
        bench.fail(f"wcodec: {reason}")
    for name, reason in found.items():
        if reason is not None:
            print(f"{name}: left out: {reason}", flush=True)
            del bench.peers[name]
    direct = "InstantTensor"
    if direct in bench.peers and gpu_files.file_system(bench.folder) not in ("tmpfs", "ramfs"):
        print(f"{direct}: left out: past the page cache, unless files are on tmpfs")
        del bench.peers[direct]


def files(bench, title, name, plan):
    """One file by all."""
    plain, packed = gpu_files.make(bench.folder, name, plan, bench.device, 1)
    try:
        differs = gpu_peers.difference(
            by_wcodec(packed, bench.device), by_safetensors(plain, bench.device)
        )
        if differs:
            bench.fail(f"{title}: not what safetensors loads: {differs}")
        calls = {"wcodec": lambda: by_wcodec(packed, bench.device)}
        for peer, call in bench.peers.items():
            calls[peer] = lambda call=call: call(plain, bench.device)
        times = bench.in_turns(calls)
        size, coded = os.path.getsize(plain), os.path.getsize(packed)
    finally:
        bench.clear(plain, packed)
    result = table(f"{title}; {coded / size:.1%} of the size", times, size, "safetensors")
    rates = {row["name"]: row["gb_per_s"] for row in result["rows"]}
    ours = rates.pop("wcodec", None)
    if ours is None:
        bench.fail(f"{title}: wcodec has no times")
    elif rates:
        fastest = max(rates, key=rates.get)
        print(f"  wcodec is {ours / rates[fastest]:.2f} x the fastest other, {fastest}")
    return result


def few(bench):
    title = f"{bench.gigabytes} GB of bf16 in 64 tensors"
    return files(bench, title, "few", gpu_files.few(bench.gigabytes))


def many(bench):
    return files(bench, "2,000 tensors of mixed sizes", "many", gpu_files.many(bench.gigabytes))


def llama(transformers, small):
    """1.2 billion weights, or a few for trying."""
    return transformers.LlamaConfig(
        hidden_size=256 if small else 2048,
        intermediate_size=512 if small else 8192,
        num_hidden_layers=2 if small else 16,
        num_attention_heads=4 if small else 32,
        num_key_value_heads=4 if small else 8,
        vocab_size=2000 if small else 128256,
        tie_word_embeddings=True,
        dtype="bfloat16",
        architectures=["LlamaForCausalLM"],
    )


def make_model(bench, transformers, config, plain, packed):
    if not os.path.exists(plain):
        with torch.device(bench.device):
            torch.manual_seed(4)
            made = transformers.LlamaForCausalLM(config).bfloat16()
        made.save_pretrained(plain, max_shard_size="100GB")
    if not os.path.exists(packed):
        wcodec.compress(plain, packed, verify=False)
    size = 0
    for folder in (plain, packed):
        paths = [os.path.join(folder, name) for name in os.listdir(folder)]
        gpu_files.read(*paths)
        size = size or sum(os.path.getsize(p) for p in paths if p.endswith(".safetensors"))
    return size


def compare_models(bench, first, second):
    """Weights, and what both make of the same tokens, bit for bit."""
    state = first.state_dict()
    differs = gpu_peers.difference(second.state_dict(), state)
    if differs:
        bench.fail(f"model: weights are not those of safetensors: {differs}")
    tokens = torch.arange(20, device=bench.device)[None]
    with torch.no_grad():
        same = torch.equal(first(tokens).logits, second(tokens).logits)
    if not same:
        bench.fail("model: inference differs")
    elif not differs:
        print("model: weights and inference are equal, bit for bit", flush=True)


def model(bench):
    """from_pretrained, and the same model from its configuration on the meta device."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    plain, packed = (os.path.join(bench.folder, name) for name in ("llama", "llama.wcodec"))
    config, where = llama(transformers, bench.small), str(bench.device)

    def by_transformers():
        return transformers.LlamaForCausalLM.from_pretrained(plain, device_map=where)

    def by_us():
        return wcodec.WCodecModel.from_pretrained(packed, device_map=where)

    def on_meta():
        with torch.device("meta"):
            return transformers.LlamaForCausalLM(config)

    try:
        size = make_model(bench, transformers, config, plain, packed)
        compare_models(bench, by_transformers(), by_us())
        calls = {"wcodec": by_us, "safetensors": by_transformers, "on the meta device": on_meta}
        times = bench.in_turns(calls)
    finally:
        bench.clear(plain, packed)
    result = table(f"from_pretrained, {size / 1e9:.2f} GB of bf16", times, None, "safetensors")
    at = {row["name"]: row["median_s"] for row in result["rows"]}
    if len(at) == 3:
        ours, theirs = (at[name] - at["on the meta device"] for name in ("wcodec", "safetensors"))
        ratio = theirs / ours
        print(f"  beyond building it: {ours * 1e3:.0f} ms, {theirs * 1e3:.0f}; {ratio:.2f} x")
        result.update(beyond_s=[ours, theirs], beyond_ratio=ratio)
    else:
        bench.fail("model: not all of it has times")
    return result


ROWS = {"few": few, "many": many, "model": model}


def copy_rate(bench):
    """GB/s of a copy from pinned memory."""
    made = torch.ones(1 << 30, dtype=torch.uint8, pin_memory=True)
    target = torch.empty_like(made, device=bench.device)
    copy = {"": lambda: target.copy_(made, non_blocking=True)}
    return made.nbytes / min(in_turns(copy, 4, bench.synchronize, bench.synchronize)[""]) / 1e9


def describe(bench):
    if bench.device.type == "cuda":
        try:
            rate = f"{copy_rate(bench):.1f} GB/s"
        except RuntimeError as error:
            rate = one_line(error)
        print(f"{torch.cuda.get_device_name(bench.device)}; copies from pinned memory: {rate}")
        bench.clear()
    processors = len(os.sched_getaffinity(0))
    print(f"{processors} processors; files in {bench.folder}", end="")
    print(f" ({gpu_files.file_system(bench.folder)})")
    print(f"wcodec {wcodec.__version__}, torch {torch.__version__}, {gpu_peers.versions()}")


def check_backend(bench):
    """That it is the device that decodes."""
    if bench.device.type != "cuda":
        return
    name = f"cuda:{bench.device.index}"
    found = [d for d in wcodec.devices(name) if d["backend"] == "cuda"]
    if not any(d["available"] and d["index"] == bench.device.index for d in found):
        sys.exit(f"{name} cannot be used: {found[0]['reason'] if found else 'no plugin'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="few, many, model [all]")
    parser.add_argument("--folder", help="for the files [/dev/shm if it has room, else /tmp]")
    parser.add_argument("--keep", action="store_true", help="do not delete the files")
    parser.add_argument("--gb", type=float, default=8.59, help="of the row few [%(default)s]")
    parser.add_argument("--rounds", type=int, default=7, help="[%(default)s]")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="for all [none]")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", metavar="FILE", help="write the results there, too")
    arguments = parser.parse_args()
    begun = time.monotonic()
    rows = arguments.rows or USUAL_ROWS
    unknown = [row for row in rows if row not in ROWS]
    if unknown:
        parser.error(f"there is no row {unknown[0]!r}")
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("torch finds no CUDA device")
    bench, results = Bench(arguments), []
    ours = not os.path.exists(bench.folder)
    os.makedirs(bench.folder, exist_ok=True)
    check_backend(bench)
    describe(bench)
    usable(bench)
    for i, row in enumerate(rows):
        if arguments.limit is not None:
            left = begun + arguments.limit - time.monotonic()
            if left <= 0:
                bench.fail(f"{row}: left out: no time is left")
                continue
            bench.until = time.monotonic() + left / (len(rows) - i)
        try:
            results.append(ROWS[row](bench))
        except Exception as error:
            bench.fail(f"{row}: {one_line(error)}")
        write(arguments.json, results)
    if ours and not bench.keep:
        shutil.rmtree(bench.folder, ignore_errors=True)
    print(f"\n{time.monotonic() - begun:.0f} s; {len(bench.failed)} failed", flush=True)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # what a loader does at the end of the process does not count
