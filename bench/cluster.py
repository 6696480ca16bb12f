#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""How long a checkpoint takes to many GPUs, and back, raw and coded: which stage of which way takes
the time.

    python3 bench/cluster.py [--gigabytes N] [--ratio R] [--gpus N] [--store GB/s] [--disk GB/s] ...

Stages overlap, so that a way takes as long as its longest one; rates are those of a byte that a
stage moves, shared by all that use it at once. The defaults are what bench/README.md measured on
hosts with H200s (`python3 bench/cluster.py --help` names each); what no measurement says (store,
disks, network) is to be given. tests/python/test_cluster.py holds what it says beside what was
measured. doc/scaling.md has its answers, and what follows from them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple


@dataclass
class Cluster:
    """Rates in GB/s, of one of each unless it says otherwise."""

    gpus: int = 8
    per_host: int = 8
    store: float = 100.0  # what all hosts together get from the store behind the network
    disk: float = 20.0  # of one host: from the store, or disks of its own
    network: float = 45.0  # of one host to others, each way
    memory: float = 58.0  # of one host: from the page cache to pinned memory, by all its cores
    bus: float = 54.8  # of one GPU: pinned memory to its own, and back
    link: float = 395.0  # of one GPU from others of its host
    decode: float = 2100.0  # of one GPU: bytes that come of it
    encode: float = 1276.0  # of one GPU: bytes that go into it
    cores: int = 16  # of one host
    core_decode: float = 4.5
    core_encode: float = 0.73

    @property
    def hosts(self) -> int:
        return -(-self.gpus // self.per_host)

    @property
    def local(self) -> int:
        """GPUs of a host."""
        return min(self.gpus, self.per_host)

    @property
    def source(self) -> float:
        """What a host gets from the store while all others read too."""
        return min(self.disk, self.store / self.hosts)


class Way(NamedTuple):
    name: str
    stages: dict[str, float]
    """Seconds."""

    @property
    def seconds(self) -> float:
        return max(self.stages.values())

    @property
    def longest(self) -> str:
        return max(self.stages, key=lambda stage: self.stages[stage])


def _arrival(c: Cluster, size: float, warm: bool, shared: bool) -> dict[str, float]:
    """Of bytes that every host needs: from the store, by each host or by parts that are passed
    on."""
    if warm:
        return {}
    if not shared:
        return {"store": size / c.source}
    part = size / c.hosts
    return {"store": part / c.source, "network": (size - part) / c.network}


def replicated(c: Cluster, size: float, ratio: float, warm: bool = False) -> Iterator[Way]:
    """All of `size` decoded gigabytes to every GPU. ratio: of the file, 1 if it is raw."""
    coded = size * ratio
    decoding = {} if ratio == 1 else {"decoding": size / c.decode}
    for shared in (False,) if warm or c.hosts == 1 else (False, True):
        arrival = _arrival(c, coded, warm, shared)
        by = ", hosts pass parts on" if shared else ""
        yield Way(
            "each GPU its own copy" + by,
            {**arrival, "memory": coded * c.local / c.memory, "bus": coded / c.bus, **decoding},
        )
        if c.local == 1:
            continue
        mine, others = 1 / c.local, (c.local - 1) / c.local
        bus = {"memory": coded / c.memory, "bus": coded * mine / c.bus}
        yield Way(
            "parts, decoded, over links" + by,
            {
                **arrival,
                **bus,
                **({} if ratio == 1 else {"decoding": size * mine / c.decode}),
                "link": size * others / c.link,
            },
        )
        if ratio != 1:
            yield Way(
                "parts, coded, over links" + by,
                {**arrival, **bus, **decoding, "link": coded * others / c.link},
            )


def sharded(c: Cluster, size: float, ratio: float, warm: bool = False) -> Iterator[Way]:
    """To every GPU its part of `size` decoded gigabytes."""
    part = size / c.gpus
    host = part * c.local * ratio
    stages = {} if warm else {"store": host / c.source}
    stages |= {"memory": host / c.memory, "bus": part * ratio / c.bus}
    if ratio != 1:
        stages["decoding"] = part / c.decode
    yield Way("each GPU its part", stages)


def saved(c: Cluster, size: float, ratio: float) -> Iterator[Way]:
    """Parts that all GPUs hold, to the store."""
    part = size / c.gpus
    host = part * c.local
    if ratio == 1:
        yield Way("raw", {"bus": part / c.bus, "store": host / c.source})
        return
    yield Way(
        "coded by GPUs",
        {
            "coding": part / c.encode,
            "bus": part * ratio / c.bus,
            "store": host * ratio / c.source,
        },
    )
    yield Way(
        "coded by cores",
        {
            "bus": part / c.bus,
            "coding": host / (c.cores * c.core_encode),
            "store": host * ratio / c.source,
        },
    )


TASKS = {"replicated": replicated, "sharded": sharded, "saved": saved}


def best(c: Cluster, task: str, size: float, ratio: float, **options: bool) -> Way:
    return min(TASKS[task](c, size, ratio, **options), key=lambda way: way.seconds)


def rows(c: Cluster, size: float, ratio: float) -> Iterator[tuple[str, Way, Way]]:
    """Each task by the best way, raw and coded."""
    for task in TASKS:
        warmth = (False, True) if task != "saved" else (False,)
        for warm in warmth:
            options = {"warm": True} if warm else {}
            name = task + (", page cache" if warm else "")
            yield name, best(c, task, size, 1, **options), best(c, task, size, ratio, **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "--gigabytes", type=float, default=141, help="decoded (default: %(default)s)"
    )
    parser.add_argument("--ratio", type=float, default=0.661, help="of the coded file")
    for field in fields(Cluster):
        name = "--" + field.name.replace("_", "-")
        kind = int if field.type == "int" else float
        parser.add_argument(name, type=kind, default=None, help=f"default: {field.default}")
    options = parser.parse_args()
    given = {f.name: getattr(options, f.name) for f in fields(Cluster)}
    given = {name: value for name, value in given.items() if value is not None}
    counts = [given.pop("gpus")] if "gpus" in given else [8, 64, 512]
    print(f"{options.gigabytes:g} GB of weights, coded {options.ratio:g}; seconds")
    line = "{:>5} {:<24} {:>9} {:<10} {:>9} {:<10} {:>6}  {}"
    print(line.format("GPUs", "task", "raw", "by", "coded", "by", "of raw", "way"))
    for gpus in counts:
        for name, raw, coded in rows(Cluster(gpus=gpus, **given), options.gigabytes, options.ratio):
            print(
                line.format(
                    gpus,
                    name,
                    f"{raw.seconds:.3f}",
                    raw.longest,
                    f"{coded.seconds:.3f}",
                    coded.longest,
                    f"{coded.seconds / raw.seconds:.2f}",
                    coded.name,
                )
            )


if __name__ == "__main__":
    main()
