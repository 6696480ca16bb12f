# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The library behind tests/bad/serve, for tests written in Python."""
import os
import struct
import subprocess
import sys

STATUS = {"4": "corrupt", "5": "newer", "6": "limit", "2": "memory"}


class Server:
    def __init__(self, limits=None):
        path = os.path.join(os.environ.get("top_builddir", "."), "tests", "bad", "serve")
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=limits)

    def ask(self, letter, data, more=b""):
        """The answer's words; it ends the test if the library died of the question."""
        try:
            self.process.stdin.write(letter.encode() + struct.pack("<Q", len(data)) + data + more)
            self.process.stdin.flush()
            answer = self.process.stdout.readline().decode("utf-8", "replace")
        except BrokenPipeError:
            answer = ""
        if not answer.endswith("\n"):
            with open("bad-input.wcodec", "wb") as f:
                f.write(data)
            sys.exit("the library died (status %s) of a file that is kept as bad-input.wcodec" % self.process.wait())
        return answer.rstrip("\n").split(" ", 2)

    def kind(self, data):
        """(what the library says of a container: "ok", "corrupt", ...; the hash of what it gives back, or the error's text)"""
        words = self.ask("x", data)
        return ("ok", words[1]) if words[0] == "ok" else (STATUS.get(words[1], words[1]), words[2])

    def compress(self, original, level=3, profile=0, tile=0, tune=0, raw=0, predict=0, lossy=0, value=0):
        """lossy: wcodec_lossy_target, and 16 for scales of rows; value: decibels, eighths of a bit, or the error 2^-value."""
        words = self.ask("z", original, bytes([level, profile, tile, tune, raw, predict, lossy, value]))
        if words[0] != "ok":
            sys.exit("compressing: %s" % words)
        return self.process.stdout.read(int(words[1]))

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("serve ended with status %s" % self.process.returncode)
