# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""usage: wheel.py FOLDER: the installed package does its work, with no package beside it

Run by wheel.sh, with the interpreter of an empty environment."""

import json
import os
import random
import struct
import sys

import wcodec
from wcodec import _library

folder = sys.argv[1]
values = random.Random(20261122)
data = b"".join(
    struct.pack("<H", values.getrandbits(1) << 15 | 0x3F80 - 8 * values.getrandbits(4))
    for _ in range(1 << 17)
)
tensor = {"dtype": "BF16", "shape": [1024, 128], "data_offsets": [0, len(data)]}
header = json.dumps({"weight": tensor}).encode()
original = os.path.join(folder, "a.safetensors")
coded = os.path.join(folder, "a.wcodec")
restored = os.path.join(folder, "b.safetensors")
for path in (original, coded, restored):
    if os.path.exists(path):
        os.unlink(path)
with open(original, "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + data)

wcodec.compress(original, coded)
assert os.path.getsize(coded) < 0.7 * os.path.getsize(original), os.path.getsize(coded)
wcodec.test(coded)
wcodec.decompress(coded, restored)
with open(original, "rb") as a, open(restored, "rb") as b:
    assert a.read() == b.read(), "what was restored differs"

package = os.path.dirname(os.path.abspath(wcodec.__file__))
plugins = [line["plugin"] for line in wcodec.devices() if line["plugin"]]
driver = [line["driver"] for line in wcodec.devices() if line["backend"] == "cpu"]
assert driver, "no CPU backend"
print(f"library={_library.path()}")
print(f"package={package}")
print(f"level={driver[0]}")
for plugin in plugins:
    print(f"plugin={plugin}")
