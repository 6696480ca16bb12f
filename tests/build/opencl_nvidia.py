# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""What NVIDIA's OpenCL compiler makes of each kernel of kernels.def, products.def, products_coded.def,
tile_encoders.def and rollouts.def, without its driver: clang's front end, CUDA's libnvvm, which is what the driver has, and ptxas.

    python3 tests/build/opencl_nvidia.py [-k FOLDER] [KERNEL...]

Prints registers and bytes spilled of each, and fails if a kernel does not compile or spills more
than LIMIT. -k keeps what is made. Exits with 77 if clang, libnvvm or ptxas is not there. The
driver of release 580 gives the same instructions."""

import concurrent.futures
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT = 160
NVIDIA_COPIES = 16  # COPIES_NVIDIA of backends/opencl/program.c
TOP = pathlib.Path(__file__).resolve().parents[2]
KERNELS = TOP / "backends/kernels"

# What a compiler for OpenCL has and a front end for nvptx has not.
PRELUDE = """
#define get_local_id(x) __nvvm_read_ptx_sreg_tid_x()
#define get_local_size(x) __nvvm_read_ptx_sreg_ntid_x()
#define get_group_id(x) __nvvm_read_ptx_sreg_ctaid_x()
#define get_num_groups(x) __nvvm_read_ptx_sreg_nctaid_x()
#define barrier(x) __syncthreads()
#define popcount(x) ((uint)__builtin_popcount(x))
#define rotate(v, n) __builtin_rotateleft32(v, n)
#define vstore4(v4, at, p) \\
    do { \\
        const __typeof__(+(v4)) v4_ = (v4); \\
        (p)[0] = v4_.x, (p)[1] = v4_.y, (p)[2] = v4_.z, (p)[3] = v4_.w; \\
    } while (0)
#define fma(a, b, c) __builtin_fmaf(a, b, c)
#define min(a, b) ((a) < (b) ? (a) : (b))
#define clamp(x, a, b) ((x) < (a) ? (a) : (x) > (b) ? (b) : (x))
static inline uint wcodec_try_add(__global uint *p, uint v)
{
    uint r;
    __asm__ volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
    return r;
}
static inline uint wcodec_try_exchange(__global uint *p, uint v)
{
    uint r;
    __asm__ volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
    return r;
}
#define atomic_add(p, v) wcodec_try_add((__global uint *)(p), v)
#define atomic_xchg(p, v) wcodec_try_exchange((__global uint *)(p), v)
"""

# From what clang writes to what libnvvm reads: attributes that came later, and types of arguments
# that are told by their pointers there.
REWRITE = [
    (r"\b(noundef|mustprogress|nofree|nosync|nocallback|willreturn|immarg) ?", ""),
    (r"(byval|sret)\((%struct\.\w+|\[[^]]*\])\)", r"\1"),
    (r"elementtype\([^)]*\)", ""),
    (r"\bspir_(kernel|func) ", ""),
    (r"= fneg float ", "= fsub float -0.0, "),
    (r"(?m)^target triple.*", 'target triple = "nvptx64-nvidia-cuda"'),
    (
        r"(?m)^target datalayout.*",
        'target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-'
        "i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-"
        'n16:32:64"',
    ),
]


def skip(why):
    print(why)
    sys.exit(77)


def find_cuda():
    program = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if not program:
        skip("ptxas was not found")
    folder = pathlib.Path(program).resolve().parents[1]
    for name in ("nvvm/lib64/libnvvm.so", "lib64/libnvvm.so"):
        if (folder / name).exists():
            return program, ctypes.CDLL(str(folder / name))
    skip("libnvvm was not found")


def numbers(path, enum):
    """Enumerators of an enum that has no values of its own, by number."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    body = re.search(r"enum " + enum + r"\s*\{(.*?)\}", text, re.S)
    names = [name.strip() for name in body.group(1).split(",") if name.strip()]
    return {name: i for i, name in enumerate(names)}


def rows():
    families = numbers(KERNELS / "geometry.h", "wcodec_family")
    codings = numbers(KERNELS / "geometry.h", "wcodec_tile_coding")
    shapes = numbers(KERNELS / "jobs.h", "wcodec_shape")
    for line in re.findall(r"(?m)^WCODEC_KERNEL\((.*)\)", (KERNELS / "kernels.def").read_text()):
        name, family, shape, coding, add, size, raw, threads, groups = line.split(", ")
        yield {
            "name": name,
            "family": family,
            "FAMILY": families["WCODEC_FAMILY_" + family],
            "SHAPE": shapes["WCODEC_SHAPE_" + shape],
            "CODING": codings["WCODEC_CODING_" + coding],
            "ADD": add,
            "BYTES": size,
            "RAW": raw,
            "UNITS": {"lossy_units": 1, "fragments_units": 2}.get(name, 0),
            "registers": 64
            if family == "LATENCY"
            else 65536 // (int(threads) * int(groups)) // 8 * 8,
        }


def product_rows():
    """Of products.def, with the kinds and registers of backends/opencl/product.c."""
    text = (KERNELS / "products.def").read_text()
    ways = {"DIRECT": 0, "STAGED": 1, "TRANSPOSED": 2}
    for name, bits, eights, way in re.findall(
        r"(?m)^WCODEC_PRODUCT\((\w+), (\d), (\d), (\w+)\)", text
    ):
        yield product_row(name, 1, bits, eights, ways[way], 128)
    for name, bits, neighbours in re.findall(r"(?m)^WCODEC_ROWS\((\w+), (\d), (\d)\)", text):
        yield product_row(name, 2 if neighbours == "1" else 3, bits, 1, 0, 64)


def product_row(name, kind, bits, eights, way, registers):
    return {
        "name": name,
        "family": "PRODUCT",
        "product": {"": kind, "_BITS": bits, "_EIGHTS": eights, "_WAY": way},
        "registers": registers,
    }


def coded_rows():
    """Of products_coded.def and rows_coded.def, with the rows of the kernels that decode the same tiles."""
    decoders = {
        row["CODING"]: row
        for row in rows()
        if row["family"] == "FRAGMENTS" and row["name"].startswith("fragments_16_8")
    }
    codings = numbers(KERNELS / "geometry.h", "wcodec_tile_coding")
    text = (KERNELS / "products_coded.def").read_text()
    for name, coding, eights in re.findall(
        r"(?m)^WCODEC_CODED_PRODUCT\((\w+), (\w+), (\d)\)", text
    ):
        decoder = decoders[codings["WCODEC_CODING_" + coding]]
        yield {**decoder, "name": name, "coded": eights}
    yield {**decoder, "name": "coded_sum", "coded": 0}
    fast = {row["CODING"]: row for row in rows() if row["name"].startswith("fast_16_8")}
    for name, coding in re.findall(
        r"(?m)^WCODEC_CODED_ROWS\((\w+), (\w+)\)", (KERNELS / "rows_coded.def").read_text()
    ):
        yield {**fast[codings["WCODEC_CODING_" + coding]], "name": name, "gathers": True}


def coder_rows():
    """Of tile_encoders.def, measures.def and deltas, with the steps and registers of backends/opencl/encode_tiles.c."""
    text = (KERNELS / "tile_encoders.def").read_text()
    profiles = {"WCODEC_PAIRS": 1, "WCODEC_P12": 2, "WCODEC_P8": 3}
    for name, log2, raw, profile in re.findall(
        r"(?m)^WCODEC_TILE_ENCODER\((\w+), (\d+), (\d+), (\w+)\)", text
    ):
        yield coder_row(name, 0, log2, raw, profiles[profile], 4)
    for step, (name, groups) in enumerate(
        re.findall(r"(?m)^WCODEC_TILE_STEP\((\w+), \w+, (\d+)\)", text)
    ):
        yield coder_row(name, 1 + step, 0, 0, 0, groups)
    text = (KERNELS / "measures.def").read_text()
    for name, log2 in re.findall(r"(?m)^WCODEC_MEASURE\((\w+), (\d)\)", text):
        yield coder_row(name, 4, log2, 0, 0, 4)
    for name in re.findall(r"(?m)^WCODEC_MEASURE_SUMS\((\w+)\)", text):
        yield coder_row(name, 5, 0, 0, 0, 4)
    yield coder_row("leaves", 6, 0, 0, 0, 3)
    for name, step in [
        ("patch", 7),
        ("changes", 8),
        ("stream_sizes", 10),
        ("stream_proof", 12),
        ("linear", 13),
        ("stream_places", 14),
        ("stream_checks", 15),
    ]:
        yield coder_row(name, step, 0, 0, 0, 4, warps=4)


def coder_row(name, step, log2, raw, profile, groups, warps=8):
    return {
        "name": name,
        "family": "CODER",
        "coder": {
            "": step,
            "_ELEMENT_LOG2": log2,
            "_RAW": raw,
            "_PROFILE": profile,
            "_COPIES_LOG2": 2,
        },
        "registers": 65536 // (32 * warps * int(groups)) // 8 * 8,
    }


def rollout_rows():
    """Of rollouts.def, what holds weights, with the registers of backends/opencl/rollout.c."""
    text = (KERNELS / "rollouts.def").read_text()
    for name, gates, reset in re.findall(
        r"(?m)^WCODEC_ROLLOUT_KERNEL\((\w+), \w+, \d+, (\d+), (\d+)\)", text
    ):
        if gates != "0":
            yield {
                "name": name,
                "family": "ROLLOUT",
                "rollout": {"": 1, "_GATES": gates, "_RESET": reset},
                "registers": 128,
            }
    text = (KERNELS / "rollouts_warps.def").read_text()
    for name, columns, lanes in re.findall(
        r"(?m)^WCODEC_ROLLOUT_WARPS\((\w+), (\d+), (\d+), \d+\)", text
    ):
        yield {
            "name": name,
            "family": "ROLLOUT",
            "rollout": {"": 1, "_COLUMNS": columns, "_LANES": lanes},
            "registers": 255,
        }


def front_end(row, folder):
    prelude = folder / "prelude.h"
    out = folder / (row["name"] + ".ll")
    columns = ("FAMILY", "SHAPE", "CODING", "ADD", "BYTES", "RAW", "UNITS")
    subprocess.run(
        ["clang", "-x", "cl", "-cl-std=CL1.2", "-target", "nvptx64-nvidia-nvcl", "-O1", "-w"]
        + ["-fno-discard-value-names", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"]
        + ["-Xclang", "-finclude-default-header", "-Dasm=__asm__", "-D__OPENCL_VERSION__=300"]
        + ["-DWCODEC_OPENCL_NVIDIA", "-DWCODEC_PTX_80", "-DWCODEC_PTX_HALVES"]
        + ["-DWCODEC_OPENCL_ITEMS=256", "-DWCODEC_BUFFERS=8"]
        + [f"-DWCODEC_ROW_{name}={row[name]}" for name in columns if name in row]
        + [f"-DWCODEC_PRODUCT{name}={v}" for name, v in row.get("product", {}).items()]
        + ([f"-DWCODEC_CODED_EIGHTS={row['coded']}"] if "coded" in row else [])
        + (["-DWCODEC_CODED_ROWS"] if "gathers" in row else [])
        + [f"-DWCODEC_CODER{name}={v}" for name, v in row.get("coder", {}).items()]
        + [f"-DWCODEC_ROLLOUT{name}={v}" for name, v in row.get("rollout", {}).items()]
        + [f"-DWCODEC_OPENCL_COPIES={NVIDIA_COPIES}", "-include", str(prelude), "-I", str(TOP)]
        + ["-o", str(out), str(TOP / "backends/opencl/shell.cl")],
        check=True,
    )
    text = out.read_text()
    for pattern, to in REWRITE:
        text = re.sub(pattern, to, text)
    if "!nvvmir.version" not in text:
        text += "!nvvmir.version = !{!99990}\n!99990 = !{i32 2, i32 0}\n"
    return text.encode()


def to_ptx(nvvm, text):
    program = ctypes.c_void_p()
    size = ctypes.c_size_t()
    nvvm.nvvmCreateProgram(ctypes.byref(program))
    options = (ctypes.c_char_p * 2)(b"-arch=compute_90", b"-opt=3")
    result = nvvm.nvvmAddModuleToProgram(program, text, ctypes.c_size_t(len(text)), b"shell.cl")
    if result == 0:
        result = nvvm.nvvmCompileProgram(program, 2, options)
    get, get_size = "nvvmGetCompiledResult", "nvvmGetCompiledResultSize"
    if result != 0:
        get, get_size = "nvvmGetProgramLog", "nvvmGetProgramLogSize"
    getattr(nvvm, get_size)(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvvm, get)(program, buffer)
    nvvm.nvvmDestroyProgram(ctypes.byref(program))
    if result != 0:
        raise RuntimeError(buffer.value.decode()[:500])
    return buffer.value


def assemble(ptxas, row, ptx, folder):
    (folder / (row["name"] + ".ptx")).write_bytes(ptx)
    done = subprocess.run(
        [ptxas, "-arch=sm_90", "-v", f"-maxrregcount={row['registers']}"]
        + ["-o", str(folder / (row["name"] + ".cubin")), str(folder / (row["name"] + ".ptx"))],
        capture_output=True,
        text=True,
        check=True,
    )
    spilled = re.search(r"(\d+) bytes spill stores", done.stderr)
    used = re.search(r"Used (\d+) registers", done.stderr)
    return int(used.group(1)), int(spilled.group(1))


def measure(row, folder):
    """Registers and bytes spilled, or why there are none."""
    ptxas, nvvm = find_cuda()
    try:
        return assemble(ptxas, row, to_ptx(nvvm, front_end(row, folder)), folder)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        return str(error)


def main(arguments):
    kept = None
    if arguments[:1] == ["-k"]:
        kept, arguments = arguments[1], arguments[2:]
    find_cuda()
    if not shutil.which("clang"):
        skip("clang was not found")
    every = [*rows(), *product_rows(), *coded_rows(), *coder_rows(), *rollout_rows()]
    wanted = [row for row in every if not arguments or row["name"] in arguments]
    bad = 0
    with (
        tempfile.TemporaryDirectory() as temporary,
        concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool,
    ):
        folder = pathlib.Path(kept or temporary)
        os.makedirs(folder, exist_ok=True)
        (folder / "prelude.h").write_text(PRELUDE)
        for row, found in zip(wanted, pool.map(measure, wanted, [folder] * len(wanted))):
            if isinstance(found, str):
                print(f"{row['name']}: does not compile: {found}")
                bad += 1
                continue
            registers, spilled = found
            print(f"{row['name']}: {registers} registers, {spilled} bytes spilled", flush=True)
            if spilled > LIMIT and row["family"] not in ("GENERIC", "UNITS"):
                print(f"{row['name']}: spills more than {LIMIT} bytes")
                bad += 1
    return 1 if bad or not wanted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
