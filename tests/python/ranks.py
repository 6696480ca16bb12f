# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Programs as the ranks of torch.distributed, forked from a process that has imported torch: that
takes longer than what most of them do."""

import atexit
import multiprocessing
import os
import subprocess
import sys
from multiprocessing import forkserver
from pathlib import Path
from unittest import mock

_MODULES = [
    "torch._dynamo.convert_frame",  # which DTensors import
    "torch._inductor.standalone_compile",
    "torch.distributed.checkpoint",
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "wcodec.distributed",
    "wcodec.engines.distributed",
]


def _environment():
    return {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"}


def _run(code, arguments, outputs):
    for number, path in enumerate(outputs, 1):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, number)
        os.close(handle)
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<rank>", "exec"), {"__name__": "__main__"})
    atexit._run_exitfuncs()  # which a process of multiprocessing does not


class Forked:
    """What the tests need of a subprocess.Popen."""

    def __init__(self, context, code, arguments):
        rank, _, folder = arguments
        self._outputs = [f"{folder}/{name}-{rank}" for name in ("stdout", "stderr")]
        self._process = context.Process(target=_run, args=(code, arguments, self._outputs))
        self._process.start()

    @property
    def returncode(self):
        return self._process.exitcode

    def communicate(self, timeout):
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("rank", timeout)
        return tuple(Path(path).read_text() for path in self._outputs)

    def kill(self):
        self._process.kill()


def start(code, world, folder, fresh=False):
    """One process for each rank, whose arguments are its number, world and folder. fresh: each
    starts, and ends, as a program of its own."""
    ranks = [[str(rank), str(world), str(folder)] for rank in range(world)]
    if fresh:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        options["env"] = {**os.environ, **_environment()}
        return [subprocess.Popen([sys.executable, "-c", code, *rank], **options) for rank in ranks]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_MODULES)
    with mock.patch.dict(os.environ, _environment()):
        forkserver.ensure_running()
    return [Forked(context, code, rank) for rank in ranks]


def ended(processes, limit=120):
    """Outputs of all ranks; none hangs."""
    try:
        return [process.communicate(timeout=limit) for process in processes]
    finally:
        for process in processes:
            process.kill()


def expect_good(code, world, folder, fresh=False):
    processes = start(code + "\nprint('good')\n", world, folder, fresh)
    results = ended(processes)
    errors = "\n".join(err for _, err in results)
    for (out, _), process in zip(results, processes):
        assert out.splitlines()[-1:] == ["good"], errors
        assert process.returncode == 0, errors
