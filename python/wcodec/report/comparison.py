# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Two models side by side."""

from __future__ import annotations

from dataclasses import dataclass

from .model import Model, Tensor


@dataclass(frozen=True)
class Pair:
    """The tensors of one name in two models; one of them may be missing."""

    name: str
    first: Tensor | None
    second: Tensor | None

    @property
    def difference(self) -> str:
        """What keeps the two from being compared; a dash if nothing does."""
        if self.first is None:
            return "only in the second"
        if self.second is None:
            return "only in the first"
        differences = [
            word
            for word, one, other in (
                ("dtype", self.first.dtype, self.second.dtype),
                ("shape", self.first.shape, self.second.shape),
            )
            if one != other
        ]
        return "other " + " and ".join(differences) if differences else "–"

    @property
    def change(self) -> float | None:
        """Coded size of the second over that of the first, less one."""
        if self.first is None or self.second is None or not self.first.coded_bytes:
            return None
        return self.second.coded_bytes / self.first.coded_bytes - 1


def compare(first: Model, second: Model) -> list[Pair]:
    """Every name in either model, those with the largest change of coded bytes first."""
    ones = {tensor.name: tensor for tensor in first.tensors}
    others = {tensor.name: tensor for tensor in second.tensors}
    pairs = [Pair(name, ones.get(name), others.get(name)) for name in ones | others]

    def weight(pair: Pair) -> int:
        before = pair.first.coded_bytes if pair.first else 0
        after = pair.second.coded_bytes if pair.second else 0
        return -abs(after - before)

    return sorted(pairs, key=weight)
