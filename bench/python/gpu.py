# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Loads to a CUDA device beside safetensors, fastsafetensors, the Run:ai streamer and
InstantTensor, each as its documentation shows; what is not installed is left out and named. Files
are in the page cache.

    python bench/python/gpu.py [--folder FOLDER] [--gb 8.59] [--rounds N] [--json OUT] [ROW...]

Rows: few (64 tensors of bf16), many (2,000 tensors of mixed sizes and types), model
(from_pretrained of a Llama with random weights). All tensors are compared once with those of
safetensors.
"""

import argparse
import math
import os
import sys

import safetensors.torch
import torch
import wcodec
import wcodec.torch
from timing import in_turns, table, write

DEVICE = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else None


def by_wcodec(path):
    return wcodec.torch.load_file(path, device=DEVICE)


def by_safetensors(path):
    return safetensors.torch.load_file(path, device=str(DEVICE))


def by_fastsafetensors(path):
    from fastsafetensors import fastsafe_open

    with fastsafe_open(filenames=[path], device=str(DEVICE), nogds=True) as f:
        return {name: f.get_tensor(name) for name in f.keys()}  # noqa: SIM118


def by_runai(path):
    from runai_model_streamer import SafetensorsStreamer

    with SafetensorsStreamer() as streamer:
        streamer.stream_file(path, device=str(DEVICE))
        return {name: tensor.to(DEVICE) for name, tensor in streamer.get_tensors()}


def by_instanttensor(path, backend=None):
    from instanttensor import safe_open

    with safe_open(path, framework="pt", device=DEVICE.index, backend=backend) as f:
        return dict(f.tensors())


def by_instanttensor_buffered(path):
    from instanttensor import BackendPolicy

    return by_instanttensor(path, BackendPolicy.BUFFERED)


PEERS = {
    "safetensors": by_safetensors,
    "fastsafetensors": by_fastsafetensors,
    "Run:ai streamer": by_runai,
    "InstantTensor": by_instanttensor,
    "InstantTensor, buffered": by_instanttensor_buffered,
}


def bf16(count, generator):
    values = torch.randn(count, generator=generator, device=DEVICE, dtype=torch.float32)
    return (values * 0.02).bfloat16().cpu()


def few(gigabytes):
    """64 tensors of bf16."""
    generator = torch.Generator(DEVICE).manual_seed(1)
    columns = 8192
    rows = int(gigabytes * 1e9 / 64 / 2 / columns)
    return {f"w{i:02}": bf16(rows * columns, generator).view(rows, columns) for i in range(64)}


def many():
    """2,000 tensors, sizes log-uniform from 4 KiB to 64 MiB, a third of the bytes each in bf16, f32
    and int8: types by turns of what has the fewest bytes."""
    generator = torch.Generator(DEVICE).manual_seed(2)
    choose = torch.Generator().manual_seed(2)
    low, high = math.log(4 << 10), math.log(64 << 20)
    exponents = low + torch.rand(2000, generator=choose) * (high - low)
    held = {"bf16": 0, "f32": 0, "i8": 0}
    made = {}
    for i, exponent in enumerate(exponents.tolist()):
        size = int(math.exp(exponent)) // 1024 * 1024
        kind = min(held, key=held.get)
        held[kind] += size
        if kind == "bf16":
            made[f"t{i:04}"] = bf16(size // 2, generator)
        elif kind == "f32":
            values = torch.randn(size // 4, generator=generator, device=DEVICE)
            made[f"t{i:04}"] = (values * 0.02).cpu()
        else:
            values = torch.randn(size, generator=generator, device=DEVICE) * 24
            made[f"t{i:04}"] = values.round().clamp(-127, 127).to(torch.int8).cpu()
    return made


def prepare(folder, name, make):
    """The two files; they are kept for the next run."""
    plain = os.path.join(folder, f"{name}.safetensors")
    if not os.path.exists(plain):
        print(f"making {plain}", file=sys.stderr)
        safetensors.torch.save_file(make(), plain)
    if not os.path.exists(f"{plain}.wcodec"):
        print(f"compressing {plain}", file=sys.stderr)
        wcodec.compress(plain)
    for path in (plain, f"{plain}.wcodec"):
        with open(path, "rb", buffering=0) as file:
            while file.read(64 << 20):
                pass
    return plain, f"{plain}.wcodec"


def equal(path, packed):
    expected = by_safetensors(path)
    loaded = by_wcodec(packed)
    assert loaded.keys() == expected.keys()
    for name, tensor in expected.items():
        a, b = loaded[name].flatten().view(torch.uint8), tensor.flatten().view(torch.uint8)
        assert loaded[name].dtype == tensor.dtype and torch.equal(a, b), name


def files(title, folder, name, make, rounds):
    plain, packed = prepare(folder, name, make)
    equal(plain, packed)
    calls = {"wcodec": lambda: by_wcodec(packed)}
    calls.update({peer: lambda call=call: call(plain) for peer, call in PEERS.items()})
    times = in_turns(calls, rounds, torch.cuda.synchronize, torch.cuda.synchronize)
    size, coded = os.path.getsize(plain), os.path.getsize(packed)
    result = table(f"{title}; {coded / size:.1%} of the size", times, size, "safetensors")
    rows = {row["name"]: row["gb_per_s"] for row in result["rows"]}
    fastest = max((rate, peer) for peer, rate in rows.items() if peer != "wcodec")
    print(f"  wcodec is {rows['wcodec'] / fastest[0]:.2f} x the fastest other, {fastest[1]}")
    return result


def model(folder, rounds):
    """from_pretrained of a Llama of 1.2 billion weights, and the same on the meta device."""
    import transformers

    plain, packed = os.path.join(folder, "llama"), os.path.join(folder, "llama.wcodec")
    config = transformers.LlamaConfig(
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=16,
        num_attention_heads=32,
        num_key_value_heads=8,
        vocab_size=128256,
        tie_word_embeddings=True,
        dtype="bfloat16",
    )
    if not os.path.exists(plain):
        with torch.device(DEVICE):
            made = transformers.LlamaForCausalLM(config).bfloat16()
        made.save_pretrained(plain, max_shard_size="100GB")
        del made
        torch.cuda.empty_cache()
    if not os.path.exists(packed):
        wcodec.compress(plain, packed)
    where = f"cuda:{DEVICE.index}"

    def by_transformers():
        return transformers.LlamaForCausalLM.from_pretrained(plain, device_map=where)

    def by_us():
        return wcodec.WCodecModel.from_pretrained(packed, device_map=where)

    def on_meta():
        with torch.device("meta"):
            return transformers.LlamaForCausalLM(config)

    first, second = by_transformers(), by_us()
    tokens = torch.arange(20, device=DEVICE)[None]
    with torch.no_grad():
        assert torch.equal(first(tokens).logits, second(tokens).logits)
    del first, second
    calls = {"wcodec": by_us, "safetensors": by_transformers, "on the meta device": on_meta}
    times = in_turns(calls, rounds, torch.cuda.synchronize, torch.cuda.synchronize)
    result = table("from_pretrained of 1.2 billion bf16 weights", times, None, "safetensors")
    at = {row["name"]: row["median_s"] for row in result["rows"]}
    ours, theirs = (at[name] - at["on the meta device"] for name in ("wcodec", "safetensors"))
    print(f"  beyond building it: {ours * 1e3:.0f} ms, {theirs * 1e3:.0f}; {theirs / ours:.2f} x")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", default=["few", "many", "model"])
    parser.add_argument("--folder", default="/dev/shm/wcodec-bench")
    parser.add_argument("--gb", type=float, default=8.59)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    if DEVICE is None:
        sys.exit("torch finds no CUDA device")
    usable = [d for d in wcodec.devices() if d["backend"] == "cuda"]
    if not usable or not usable[0]["available"]:
        sys.exit(f"the CUDA backend cannot be used: {usable[0]['reason'] if usable else 'none'}")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, wcodec {wcodec.__version__}")
    os.makedirs(arguments.folder, exist_ok=True)
    folder, rounds, results = arguments.folder, arguments.rounds, []
    for row in arguments.rows:
        if row == "few":
            title = f"{arguments.gb} GB of bf16 in 64 tensors"
            make, name = (lambda: few(arguments.gb)), f"few-{arguments.gb}"
            results.append(files(title, folder, name, make, rounds))
        elif row == "many":
            results.append(files("2,000 tensors of mixed sizes", folder, "many", many, rounds))
        elif row == "model":
            results.append(model(folder, rounds))
        else:
            sys.exit(f"there is no row {row!r}")
    write(arguments.json, results)


if __name__ == "__main__":
    main()
