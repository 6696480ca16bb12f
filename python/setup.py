# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds the library by Autotools and puts it into the package, with the command and the plugins;
or leaves it out where an installed one is to be used. Environment variables:

    WCODEC_LIBRARY          path of a library to put in instead; "system": none, the installed one
                            is found when the package is imported. If it is not set, the library
                            is built, or, where that cannot be done, an installed one is used
    WCODEC_CONFIGURE_FLAGS  more arguments for configure, such as "--with-cuda"
    WCODEC_BUILD            folder to build in, kept for the next time
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
# An sdist has the release's tree as a folder; in that tree this is a folder.
IS_SDIST = (HERE / "source").is_dir()
SOURCE = HERE / "source" if IS_SDIST else HERE.parent
SONAME = "libwcodec.so.0"
LIBRARIES = ("libzstd >= 1.4.0", "libxxhash >= 0.8.0", "jansson >= 2.11")
PKG_CONFIG = os.environ.get("PKG_CONFIG", "pkg-config")


def run(*command: str | Path, folder: Path) -> None:
    """A step of the build, whose output is shown."""
    print("+", *command, flush=True)
    try:
        subprocess.run(command, cwd=folder, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"wcodec cannot be built: {error}") from None


def asks(*command: str) -> str | None:
    """What a command prints; None if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def refusal(library: str = "") -> str | None:
    """Why the package cannot use a library, or any that is installed; None if it can. The package
    itself is asked."""
    environment = dict(os.environ, WCODEC_LIBRARY=library, PYTHONPATH=str(HERE))
    command = [sys.executable, "-c", "import wcodec"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE)
    lines = done.stderr.strip().splitlines() or ["it fails"]
    return None if done.returncode == 0 else lines[-1]


@functools.cache
def choice() -> str:
    """What goes into the package: "build", "system", or a library's path."""
    named = os.environ.get("WCODEC_LIBRARY")
    if named == "system":
        return named
    if named:
        named = os.path.abspath(named)
        why = refusal(named)
        if why is not None:
            raise SystemExit(f"WCODEC_LIBRARY cannot be used: {why}")
        return named
    lacking = missing()
    if not lacking:
        return "build"
    if not os.environ.get("WCODEC_BUILD") and refusal() is None:
        print(f"taking the installed library; missing for a build: {lacking}", flush=True)
        return "system"
    raise SystemExit(
        "libwcodec is not installed, and it cannot be built here. Missing: "
        + ", ".join(lacking)
        + ".\nInstall these (scripts/setup-packages build does; on Debian and Ubuntu: apt install "
        "gcc libc6-dev make\npkg-config autoconf automake libtool libzstd-dev libxxhash-dev "
        "libjansson-dev), or install wcodec,\nor set WCODEC_LIBRARY to the path of "
        f"{SONAME}, or install a wheel, which has everything in it."
    )


def has(*programs: str) -> bool:
    return any(shutil.which(program) for program in programs)


def missing() -> list[str]:
    """What a build needs and is not there."""
    wanted = [
        (has(*shlex.split(os.environ.get("CC", ""))[:1] or ("cc", "gcc", "clang")), "a C compiler"),
        (has("make"), "make"),
        (has(PKG_CONFIG), "pkg-config"),
    ]
    if not (SOURCE / "configure").exists():
        wanted += [(has("autoreconf"), "autoconf"), (has("automake"), "automake")]
        wanted += [(has("libtoolize"), "libtool")]
    if has(PKG_CONFIG):
        wanted += [
            (asks(PKG_CONFIG, "--exists", library) is not None, library) for library in LIBRARIES
        ]
    else:
        wanted += [(False, f"{library}, or that is not known") for library in LIBRARIES]
    return [name for there, name in wanted if not there]


def configure(build: Path) -> None:
    """A build folder that is configured as asked."""
    if not (SOURCE / "configure").exists():
        run("./autogen.sh", folder=SOURCE)
    # The prefix is one that no run-time path is made for: the package's place is not known.
    arguments = ["-q", "--prefix=/usr", "--libdir=/usr/lib", "--enable-relocatable"]
    arguments += [f"CFLAGS={os.environ.get('CFLAGS', '-O2')}"]
    arguments += shlex.split(os.environ.get("WCODEC_CONFIGURE_FLAGS", ""))
    said = build / "configured"
    if said.exists() and said.read_text() == repr(arguments):
        return
    build.mkdir(parents=True, exist_ok=True)
    run(SOURCE / "configure", *arguments, folder=build)
    said.write_text(repr(arguments))


def build_native(build: Path, native: Path) -> None:
    """Library, plugins and command in native/lib and native/bin, where they find each other."""
    configure(build)
    stage = build / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    make: list[str | Path] = ["make", "-s", f"DESTDIR={stage}"]
    make += [f"-j{len(os.sched_getaffinity(0))}"]
    run(*make, "install-libLTLIBRARIES", folder=build)
    run(*make, "install-pluginLTLIBRARIES", folder=build)
    (build / "wcodec").unlink(missing_ok=True)  # it may have been linked without the path
    run(*make, r"LDFLAGS=-Wl,-rpath,\$$ORIGIN/../lib", "install-binPROGRAMS", folder=build)
    for folder in ("lib/wcodec", "bin"):
        (native / folder).mkdir(parents=True)
    shutil.copy(stage / "usr/lib" / SONAME, native / "lib")
    for plugin in (stage / "usr/lib/wcodec").glob("*.so"):
        shutil.copy(plugin, native / "lib" / "wcodec")
    shutil.copy(stage / "usr/bin/wcodec", native / "bin")


class BuildPy(build_py):
    """Adds wcodec/_native. An editable package has none: it finds the library as others do."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        native = Path(self.build_lib).resolve() / "wcodec" / "_native"
        shutil.rmtree(native, ignore_errors=True)
        chosen = choice()
        if chosen == "build":
            temporary = Path(self.get_finalized_command("build").build_temp) / "native"
            build_native(Path(os.environ.get("WCODEC_BUILD") or temporary).resolve(), native)
        elif chosen != "system":
            (native / "lib").mkdir(parents=True)
            shutil.copy(chosen, native / "lib" / SONAME)


class Binary(Distribution):
    """With a library it is for one kind of machine."""

    def has_ext_modules(self) -> bool:
        return choice() != "system"


class BdistWheel(bdist_wheel):
    """One wheel serves every version of Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", "any" if choice() == "system" else super().get_tag()[2]


class Sdist(sdist):
    """Adds the release's tree, which needs no Autotools."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        target = Path(base_dir) / "source"
        if IS_SDIST:
            shutil.copytree(SOURCE, target)
            return
        build = (Path(self.get_finalized_command("build").build_temp) / "native").resolve()
        configure(build)
        for old in build.glob("wcodec-*.tar.xz"):
            old.unlink()
        run("make", "-s", "dist", folder=build)
        (release,) = build.glob("wcodec-*.tar.xz")
        shutil.unpack_archive(release, base_dir)
        (Path(base_dir) / release.name.removesuffix(".tar.xz")).rename(target)


setup(
    distclass=Binary,
    cmdclass={"build_py": BuildPy, "bdist_wheel": BdistWheel, "sdist": Sdist},
    # Of a clone, with the other builds rather than among the sources.
    options={} if IS_SDIST else {"build": {"build_base": "../build/python-package"}},
)
