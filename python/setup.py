# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds the library by Autotools and puts it into the package, with the command and the plugins;
or leaves it out where an installed one is to be used. Environment variables:

    WCODEC_LIBRARY          path of a library to put in instead; "system": none, the installed one
                            is found when the package is imported
    WCODEC_CONFIGURE_FLAGS  more arguments for configure, such as "--with-cuda"
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

TOP = Path(__file__).resolve().parent.parent
SONAME = "libwcodec.so.0"


def choice():
    """What goes into the package: "build", "system", or a library's path."""
    named = os.environ.get("WCODEC_LIBRARY")
    if named:
        return named
    if (TOP / "configure.ac").exists():
        return "build"
    known = subprocess.run(["pkg-config", "--exists", "wcodec"], check=False)
    if known.returncode == 0:
        return "system"
    sys.exit("wcodec: neither the library's sources nor an installed one were found")


def run(*arguments, folder):
    command = " ".join(map(str, arguments))
    print(f"wcodec: {command}", flush=True)
    made = subprocess.run(arguments, cwd=folder, check=False)
    if made.returncode != 0:
        sys.exit(f"wcodec: '{command}' failed; what it needs is in README.md of wcodec")


def build(folder):
    """Build in that folder; returns the one in which everything is installed."""
    if not (TOP / "configure").exists():
        run("./autogen.sh", folder=TOP)
    folder.mkdir(parents=True, exist_ok=True)
    flags = shlex.split(os.environ.get("WCODEC_CONFIGURE_FLAGS", ""))
    fixed = ["--prefix=/wcodec", "--libdir=/wcodec/lib", "--enable-relocatable"]
    if not (folder / "Makefile").exists():
        run(TOP / "configure", "-q", *fixed, *flags, folder=folder)
    run("make", "-s", f"-j{os.cpu_count() or 1}", folder=folder)
    shutil.rmtree(folder / "installed", ignore_errors=True)
    run("make", "-s", "install-strip", f"DESTDIR={folder / 'installed'}", folder=folder)
    return folder / "installed" / "wcodec"


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        target = Path(self.build_lib) / "wcodec" / "_native"
        shutil.rmtree(target, ignore_errors=True)
        chosen = choice()
        if chosen == "system":
            return
        (target / "lib").mkdir(parents=True)
        if chosen != "build":
            shutil.copy(chosen, target / "lib" / SONAME)
            return
        made = build(Path(self.get_finalized_command("build").build_temp).resolve() / "native")
        shutil.copy(made / "lib" / SONAME, target / "lib" / SONAME)
        (target / "bin").mkdir()
        shutil.copy(made / "bin" / "wcodec", target / "bin")
        plugins = sorted((made / "lib" / "wcodec").glob("*.so"))
        for plugin in plugins:
            (target / "lib" / "wcodec").mkdir(exist_ok=True)
            shutil.copy(plugin, target / "lib" / "wcodec")


class WheelForThisPlatform(bdist_wheel):
    """Of no Python version in particular, since ctypes is used."""

    def get_tag(self):
        platform = super().get_tag()[2]
        return "py3", "none", "any" if choice() == "system" else platform


class WithBinaries(Distribution):
    def has_ext_modules(self):
        return choice() != "system"


setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelForThisPlatform},
    distclass=WithBinaries,
)
