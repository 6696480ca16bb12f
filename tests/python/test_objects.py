# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Threads, processes, signals, interpreters, the collector, memory, and the end of the process."""

import copy
import gc
import inspect
import os
import pickle
import textwrap
import threading

import numpy as np
import pytest
import wcodec
from conftest import run, weights
from wcodec import _errors
from wcodec.numpy import load_file, save


@pytest.fixture
def model(packed):
    return packed({f"w{i}": ("BF16", (64, 300), weights(np, 19200, i)) for i in range(40)})


def in_threads(count, work):
    raised = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if raised:
        raise raised[0]


def test_eight_threads_share_one_file(model):
    whole = load_file(model)
    with wcodec.safe_open(model) as f:

        def work(number):
            rng = np.random.default_rng(number)
            for _ in range(60):
                name = f"w{rng.integers(40)}"
                if rng.integers(2):
                    assert np.array_equal(f.get_tensor(name), whole[name])
                else:
                    first = int(rng.integers(60))
                    rows = f.get_slice(name)[first : first + 4]
                    assert np.array_equal(rows, whole[name][first : first + 4])
            assert len(f.keys()) == 40

        in_threads(8, work)


def test_eight_threads_open_files_of_their_own(model):
    whole = load_file(model)

    def work(number):
        for _ in range(5):
            loaded = load_file(model)
            assert all(np.array_equal(loaded[name], whole[name]) for name in whole)

    in_threads(8, work)


def test_closing_while_others_read(model):
    for _ in range(20):
        f = wcodec.safe_open(model)
        begun = threading.Barrier(5)

        def work(number, f=f, begun=begun):
            begun.wait()
            if number == 0:
                f.close()
                return
            for i in range(40):
                try:
                    assert f.get_tensor(f"w{i}").shape == (64, 300)
                except wcodec.UsageError as error:
                    assert "closed" in str(error)
                    return

        in_threads(5, work)


def test_a_forked_child_opens_anew(model):
    made = run(
        """
        import os, sys, threading
        import numpy as np, wcodec
        f = wcodec.safe_open(sys.argv[1])
        part = f.get_slice("w3")
        whole = f.get_tensors()
        stop = threading.Event()
        def busy():
            while not stop.is_set():
                f.get_tensor("w1")
        threading.Thread(target=busy).start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                assert f.keys()[0] == "w0"
                assert np.array_equal(f.get_tensor("w2"), whole["w2"])
                assert np.array_equal(part[5:9], whole["w3"][5:9])
                assert len(f.get_tensors()) == 40
                f.close()
                wcodec.release()
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        stop.set()
        print("done")
        """,
        model,
    )
    assert made.stdout == "done\n"


def test_a_forked_child_cannot_use_a_load_of_the_parent(model):
    loading = wcodec.async_load(model)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for call in (loading.done, loading.progress, loading.cancel, loading.wait):
                with pytest.raises(wcodec.UsageError, match="forked"):
                    call()
            assert "forked" in repr(loading)
            del loading
            gc.collect()
            os.write(write, b"good")
        finally:
            os._exit(0)
    os.close(write)
    assert os.read(read, 10) == b"good"
    os.waitpid(child, 0)
    assert len(loading.wait()) == 40
    assert repr(loading) == "<wcodec.Loading of 40 tensors, ended: 1536000 of 1536000 bytes>"


def test_many_processes(model):
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(3) as pool:
        sums = pool.map(_sum, [str(model)] * 6)
    assert len(set(sums)) == 1


def _sum(path):
    return float(load_file(path)["w1"].astype(np.float32).sum())


INTERRUPTED = """
    import os, signal, sys, threading, time
    import numpy as np, wcodec, wcodec.numpy
    what, path = sys.argv[1:]
    def press():
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=press, daemon=True).start()
    begun = time.monotonic()
    try:
        while time.monotonic() < begun + 60:
            if what == "load":
                wcodec.numpy.load_file(path, threads=1)
            elif what == "save":
                rng = np.random.default_rng(1)
                wcodec.numpy.save({"w": rng.standard_normal(30000000)}, level=9, threads=1)
            elif what == "compress":
                wcodec.compress(path + ".plain", path + ".out", level=9, force=True, threads=1)
            elif what == "test":
                wcodec.test(path, threads=1)
            elif what == "wait":
                wcodec.async_load(path, threads=1).wait()
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - begun < 10)
"""


@pytest.mark.parametrize("what", ["load", "save", "compress", "test", "wait"])
def test_an_interrupt_stops_a_call(what, tmp_path):
    path = tmp_path / "big.wcodec"
    values = np.random.default_rng(1).standard_normal(30_000_000, dtype=np.float32)
    path.write_bytes(save({"w": values}, level=1))
    (tmp_path / "big.wcodec.plain").write_bytes(wcodec_plain(values))
    made = run(INTERRUPTED, what, path)
    assert made.stdout == "interrupted True\n", made.stderr
    assert made.stderr == ""
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix not in (".out",)) == [
        "big.wcodec",
        "big.wcodec.plain",
    ]


def wcodec_plain(values):
    from conftest import safetensors_bytes

    return safetensors_bytes({"w": ("F32", values.shape, values.tobytes())})


def test_an_exception_of_a_progress_function_is_passed_on(model):
    class Enough(Exception):
        pass

    seen = []

    def progress(done, total):
        seen.append((done, total))
        raise Enough

    with pytest.raises(Enough):
        load_file(model, progress=progress)
    assert len(seen) == 1
    with pytest.raises(Enough):
        wcodec.test(model, progress=progress)
    seen.clear()
    load_file(model, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (40 * 64 * 300 * 2,) * 2


def test_loads_beside_the_caller(model):
    whole = load_file(model)
    loading = wcodec.async_load(model, names=["w5", "w2"])
    result = loading.wait(60)
    assert list(result) == ["w5", "w2"]
    assert np.array_equal(result["w5"], whole["w5"])
    assert loading.wait() is result
    assert loading.done()
    assert loading.progress() == (2 * 38400,) * 2
    loading = wcodec.async_load(model)
    loading.cancel()
    try:
        assert len(loading.wait()) == 40  # it was faster
    except wcodec.CancelledError:
        with pytest.raises(wcodec.CancelledError):
            loading.wait()
    with pytest.raises(TimeoutError):
        wcodec.async_load(b"".join([model.read_bytes()])).wait(-1)


def test_a_load_fails_when_it_is_waited_for(model):
    data = bytearray(model.read_bytes())
    data[2000] ^= 1
    model.write_bytes(data)
    loading = wcodec.async_load(model)
    with pytest.raises(wcodec.CorruptError, match="tensor 'w") as caught:
        loading.wait()
    assert caught.value.file == str(model)
    assert loading.done()


def test_loads_that_are_dropped(model, plain):
    raw = plain({"w": ("U8", (5_000_000,), bytes(5_000_000))}, name="raw.safetensors")
    for _ in range(30):
        wcodec.async_load(model)
        wcodec.async_load(raw)
    gc.collect()


def test_loads_in_cycles_are_ended_by_the_collector_in_any_order(model):
    for _ in range(30):
        loading = wcodec.async_load(model)
        loading.cycle = [loading, loading._started]
        loading._started.cycle = loading
        del loading
        gc.collect()
    started = wcodec.async_load(model)._started
    started.__del__()
    with pytest.raises(wcodec.UsageError, match="dropped"):
        started.ended()
    del started  # what was destroyed is not destroyed again


def test_a_process_that_ends_while_it_loads(model):
    for end in ("", "sys.exit()", "os._exit(0)", "raise SystemExit"):
        made = run(
            f"""
            import os, sys, wcodec
            loads = [wcodec.async_load(sys.argv[1]) for _ in range(5)]
            f = wcodec.safe_open(sys.argv[1])
            tensor = f.get_tensor("w1")
            {end}
            """,
            model,
        )
        assert made.stderr == ""


def test_daemon_threads_at_the_end(model):
    made = run(
        """
        import sys, threading, time, wcodec
        f = wcodec.safe_open(sys.argv[1])
        def busy():
            while True:
                f.get_tensors()
        for _ in range(3):
            threading.Thread(target=busy, daemon=True).start()
        time.sleep(0.2)
        """,
        model,
    )
    assert made.stderr == ""


def test_objects_that_go_in_any_order(model):
    f = wcodec.safe_open(model)
    part = f.get_slice("w1")
    wcodec.release()
    del f
    gc.collect()
    assert part[0:2].shape == (2, 300)
    del part
    reader = wcodec.Reader(model.read_bytes())
    reader.cycle = [reader, *reader._opened.values()]
    for opened in reader._opened.values():
        opened.cycle = [reader, opened._parent]
        opened._parent.cycle = opened
    wcodec.release()
    del reader, opened
    gc.collect()
    wcodec.release()
    gc.collect()
    assert len(load_file(model)) == 40


INNER = """
import sys
sys.path[:] = %r
import ctypes, wcodec
with wcodec.Reader(%r) as reader:
    data = ctypes.create_string_buffer(38400)
    reader.rows(0, 0, 64, ctypes.addressof(data), 38400)
    assert any(data.raw)
"""


def test_a_subinterpreter(model):
    """One more interpreter in the process, with a copy of the package of its own."""
    code = """
        import sys
        try:
            from concurrent import interpreters
            def run(code):
                interpreters.create().exec(code)
        except ImportError:
            import _xxsubinterpreters as interpreters
            def run(code):
                number = interpreters.create()
                interpreters.run_string(number, code)
                interpreters.destroy(number)
        import wcodec
        f = wcodec.safe_open(sys.argv[1])
        names = f.keys()
        for _ in range(3):
            run(INNER % (sys.path, sys.argv[1]))
        assert f.keys() == names
        print("done")
    """
    made = run(f"INNER = {INNER!r}\n" + textwrap.dedent(code), model, check=False)
    if (
        "ModuleNotFoundError" in made.stderr
        or "does not support loading in subinterp" in made.stderr
    ):
        pytest.skip("this Python has no subinterpreters that ctypes supports")
    assert made.stdout == "done\n", made.stderr


def test_no_memory_is_lost(model):
    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def work():
        for _ in range(30):
            load_file(model)
            with wcodec.safe_open(model) as f:
                f.get_slice("w1")[3:5]
                f.metadata()
            wcodec.async_load(model).wait()
            wcodec.info(model)
            with pytest.raises(wcodec.CorruptError):
                load_file_of(model, b"x" * 500)

    work()
    before = resident()
    for _ in range(4):
        work()
    assert resident() - before < 8 << 20
    assert len(os.listdir("/proc/self/fd")) < 100


def load_file_of(model, data):
    other = model.with_name("other")
    other.write_bytes(data)
    return load_file(other)


def test_no_cycle_is_left_for_the_collector(model):
    load_file(model)
    gc.collect()
    gc.disable()
    try:
        load_file(model)
        with wcodec.safe_open(model) as f:
            f.get_slice("w1")[3:5]
        assert gc.collect() < 20
    finally:
        gc.enable()


def classes():
    return [
        kind
        for _, kind in inspect.getmembers(_errors, inspect.isclass)
        if issubclass(kind, wcodec.WcodecError)
    ]


@pytest.mark.parametrize("kind", classes())
def test_errors_can_be_pickled_and_copied(kind):
    made = kind("text of it", file="/a/file", tensor="a.tensor")
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert type(again) is kind
        assert str(again) == "text of it"
        assert (again.file, again.tensor) == ("/a/file", "a.tensor")
    assert kind.__name__ in wcodec.__all__
    assert kind.__doc__


def test_errors_are_the_built_in_ones_too():
    assert issubclass(wcodec.FileError, OSError)
    assert issubclass(wcodec.MissingFileError, FileNotFoundError)
    assert issubclass(wcodec.ExistsError, FileExistsError)
    assert issubclass(wcodec.TensorNotFoundError, KeyError)
    assert issubclass(wcodec.OutOfMemoryError, MemoryError)
    assert issubclass(wcodec.UsageError, ValueError)
    assert issubclass(wcodec.CorruptError, ValueError)


@pytest.mark.parametrize("level", ["scalar", "avx2"])
@pytest.mark.parametrize("profile", ["pairs", "p8"])
def test_tiles_of_one_tensor_by_several_threads(packed, tmp_path, level, profile):
    source = tmp_path / "plain"
    wcodec.decompress(packed({"w": ("BF16", (3 << 16,), weights(np, 3 << 16, 1))}), source)
    wcodec.compress(source, tmp_path / "m.wcodec", tile=65536, profile=profile)
    program = """
        import sys, wcodec
        with wcodec.safe_open(sys.argv[1], "np", threads=3) as f:
            first = f.get_tensor("w").tobytes()
            assert all(f.get_tensor("w").tobytes() == first for _ in range(150))
    """
    run(program, tmp_path / "m.wcodec", WCODEC_CPU_MASK=level)
