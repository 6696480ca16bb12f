# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The command line of `python -m wcodec report`."""

from __future__ import annotations

import argparse
import os
import signal
import stat
import sys
from collections.abc import Callable, Sequence
from functools import cache

from .. import _errors
from .._write import replacing
from . import text, vectors_command
from .make import Report, collect, make_page, make_picture

_DESCRIPTION = """\
Show how each tensor of a model is coded: sizes and ratios, bits beside the order-0 bound,
distributions of exponents, modes of blocks, signal-to-noise of lossy tensors. A MODEL is a .wcodec
file or a folder of them; two are compared. The page needs nothing but itself."""

_EPILOGUE = """\
wcodec report vectors ROWS: what becomes of vectors; see wcodec report vectors --help.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 damaged input or no original of it,
4 the backend asked for cannot be used."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    made = argparse.ArgumentParser(
        prog="wcodec report",
        usage="wcodec report [OPTIONS] MODEL... -o REPORT.html",
        description=_DESCRIPTION,
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("models", nargs="+", metavar="MODEL", help="a .wcodec file or a folder")
    made.add_argument(
        "-o", "--output", metavar="FILE", help="the page; - stands for standard output"
    )
    made.add_argument("--png", metavar="FILE", help="the plots as a picture (needs matplotlib)")
    made.add_argument(
        "--original",
        metavar="FILE",
        action="append",
        default=[],
        help="measure lossy tensors on the original, a .safetensors file or a folder of them; "
        "once for each MODEL, in their order",
    )
    made.add_argument(
        "--no-exponents", action="store_true", help="read the index only, decode nothing"
    )
    made.add_argument("-f", "--force", action="store_true", help="replace outputs")
    made.add_argument(
        "-T",
        "--threads",
        type=vectors_command.threads,
        metavar="N",
        help="worker threads (0: one a core)",
    )
    made.add_argument(
        "--backend",
        metavar="NAME",
        help="auto, cpu, cuda, opencl, or one of these with :DEVICE",
    )
    return made


DONE, FAILED, USAGE, CORRUPT, BACKEND = range(5)
"""The command's exit codes."""

_CODES = {
    _errors.UsageError: USAGE,
    _errors.CorruptError: CORRUPT,
    _errors.NewerFormatError: CORRUPT,
    _errors.MismatchError: CORRUPT,
    _errors.UnsupportedError: CORRUPT,
    _errors.BackendError: BACKEND,
}


def _check_output(path: str, force: bool, inputs: Sequence[str]) -> None:
    """Refuse an output that is there, before work is put into it."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return
    for given in inputs:
        if os.path.exists(given) and os.path.exists(path) and os.path.samefile(given, path):
            raise _errors.FileError(f"{path}: is an input", file=path)
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise _errors.FileError(
            f"{path}: is no regular file; -o - writes to standard output", file=path
        )
    if not force:
        raise _errors.ExistsError(f"{path}: exists already; -f replaces it", file=path)


def _write_stdout(content: bytes) -> None:
    """Unbuffered, so that nothing is left to be written when the interpreter ends."""
    try:
        with open(1, "wb", buffering=0, closefd=False) as output:
            rest = memoryview(content)
            while rest:
                rest = rest[output.write(rest) :]
    except OSError as error:
        raise _errors.FileError(f"standard output: cannot write: {error.strerror}") from None


def _write(
    made: Sequence[tuple[str, Callable[[], bytes]]], force: bool, inputs: Sequence[str]
) -> None:
    """Make each output that is not there, or is to be replaced."""
    for path, _ in made:
        if path != "-":
            _check_output(path, force, inputs)
    contents = [(path, make()) for path, make in made]
    for path, content in contents:
        if path == "-":
            _write_stdout(content)
            continue
        with replacing(path) as sink:
            sink(memoryview(content))
            _check_output(path, force, inputs)


def _run(options: argparse.Namespace) -> None:
    @cache
    def report() -> Report:
        return collect(
            options.models,
            options.original,
            exponents=not options.no_exponents,
            backend=options.backend,
            threads=options.threads,
        )

    made: list[tuple[str, Callable[[], bytes]]] = []
    if options.output is not None:
        made.append((options.output, lambda: make_page(report())))
    if options.png is not None:
        made.append((options.png, lambda: make_picture(report())))
    _write(made, options.force, [*options.models, *options.original])


def _run_vectors(options: argparse.Namespace) -> None:
    made = (options.output, lambda: vectors_command.page(options))
    _write([made], options.force, [options.rows])


def _check_usage(options: argparse.Namespace) -> str | None:
    """What is wrong with the options taken together."""
    if options.output is None and options.png is None:
        return "where should the report go? -o REPORT.html, or --png PLOTS.png"
    if "" in (*options.models, *options.original, options.output, options.png):
        return "a file's name is empty"
    if options.output is not None and options.output == options.png:
        return "-o and --png name the same file"
    if len(options.original) > len(options.models):
        return "more originals than models"
    return None


def main(arguments: Sequence[str]) -> int:
    """Run `wcodec report` with these arguments; the exit code."""
    if arguments[:1] == ["vectors"]:
        options = vectors_command.parser().parse_args(arguments[1:])
        return _guarded(lambda: _run_vectors(options))
    made = parser()
    options = made.parse_args(arguments)
    wrong = _check_usage(options)
    if wrong is not None:
        made.error(wrong)
    return _guarded(lambda: _run(options))


def _guarded(run: Callable[[], None]) -> int:
    """The exit code of what is run; errors are printed."""
    try:
        run()
    except _errors.WcodecError as error:
        print(f"wcodec: {text.visible(str(error))}", file=sys.stderr)
        return _CODES.get(type(error), FAILED)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except (OSError, MemoryError) as error:
        print(f"wcodec: {text.visible(str(error)) or 'out of memory'}", file=sys.stderr)
        return FAILED
    return DONE
