# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""torch on a CUDA device in processes of their own: memory that is short, other allocators, fork,
signals, and the end."""

import pytest
from conftest import run

torch = pytest.importorskip("torch")

from cuda_support import DEVICE, marks, on_cuda  # noqa: E402

pytestmark = marks


@on_cuda
def test_out_of_memory_of_the_library(large_file):
    """All the device's memory is taken, but for the tensors': then the load is right (the CPU
    decodes for what has no memory), or says that memory was short, and the next one works."""
    made = run(
        """
        import sys, torch, wcodec
        from wcodec.torch import load_file
        expected = load_file(sys.argv[1])
        room = torch.empty(300 << 20, dtype=torch.uint8, device="cuda")
        kept = []
        for size in (1 << 30, 64 << 20, 2 << 20):
            try:
                while True:
                    kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            except torch.OutOfMemoryError:
                pass
        del room  # to torch's cache: for the tensors
        def check():
            loaded = load_file(sys.argv[1], "cuda")
            assert all(torch.equal(loaded[k].cpu(), expected[k]) for k in expected)
        try:
            check()
            print("right")
        except (wcodec.OutOfMemoryError, torch.OutOfMemoryError) as error:
            assert "emory" in str(error), error
            print("right: no memory")
        kept.clear()
        torch.cuda.empty_cache()
        check()
        print("then right")
        """,
        large_file,
    )
    assert made.stdout.startswith("right")
    assert made.stdout.endswith("then right\n")


@on_cuda
@pytest.mark.parametrize("setting", ["expandable_segments:True", "backend:cudaMallocAsync"])
def test_other_allocators_of_torch(large_file, setting):
    made = run(
        """
        import sys, torch
        from wcodec.torch import load_file
        expected = load_file(sys.argv[1])
        for _ in range(3):
            loaded = load_file(sys.argv[1], "cuda")
            assert all(torch.equal(loaded[k].cpu(), expected[k]) for k in expected)
        print("good")
        """,
        large_file,
        PYTORCH_CUDA_ALLOC_CONF=setting,
        PYTORCH_ALLOC_CONF=setting,
    )
    assert made.stdout == "good\n"


@on_cuda
def test_a_forked_child_is_told(large_file):
    """CUDA works in no forked child: an error at once, and the parent works on."""
    made = run(
        """
        import os, sys, torch
        from wcodec.torch import load_file
        load_file(sys.argv[1], "cuda")
        child = os.fork()
        if child == 0:
            try:
                load_file(sys.argv[1], "cuda")
            except RuntimeError as error:
                print(str(error)[:60], flush=True)
                os._exit(3)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        assert load_file(sys.argv[1], "cuda")["layers.0.weight"].is_cuda
        """,
        large_file,
    )
    assert "fork" in made.stdout
    assert made.stdout.endswith("3\n")


@on_cuda
def test_ctrl_c_stops_a_load(large_file):
    """KeyboardInterrupt comes soon, nothing goes on, and the process ends well."""
    made = run(
        """
        import os, signal, sys, threading, time, torch
        from wcodec.torch import load_file
        load_file(sys.argv[1], "cuda")
        caught = 0
        for i in range(20):
            threading.Timer(0.01 + 0.001 * i, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                for _ in range(1000):
                    load_file(sys.argv[1], "cuda")
            except KeyboardInterrupt:
                caught += 1
        assert load_file(sys.argv[1], "cuda")
        print(caught)
        """,
        large_file,
    )
    assert int(made.stdout) > 15  # Python drops those that come while it finalizes an object


def test_memory_ends_before_the_process(large_file):
    """Loads that run when the interpreter ends."""
    for how in ("keep = loading", "del loading", "loading.cancel()"):
        made = run(
            f"""
            import sys, torch, wcodec
            loading = wcodec.async_load(sys.argv[1], "pt", "{DEVICE}")
            {how}
            """,
            large_file,
        )
        assert made.stderr == ""
