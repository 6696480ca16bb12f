# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The public C interface as ctypes sees it. Generated from the headers by
generate_declarations.py: do not edit. The headers in include/wcodec say what all this means."""

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

VERSION = (0, 1, 0)

# wcodec_status
WCODEC_OK = 0
WCODEC_ERROR_USAGE = 1
WCODEC_ERROR_MEMORY = 2
WCODEC_ERROR_IO = 3
WCODEC_ERROR_CORRUPT = 4
WCODEC_ERROR_NEWER = 5
WCODEC_ERROR_LIMIT = 6
WCODEC_ERROR_CANCELLED = 7
WCODEC_ERROR_BACKEND = 8
WCODEC_ERROR_DEVICE = 9
WCODEC_ERROR_NOT_FOUND = 10
WCODEC_ERROR_MISMATCH = 11
WCODEC_ERROR_UNSUPPORTED = 12
WCODEC_ERROR_BUSY = 13


class wcodec_error(Structure):
    status: int
    text: bytes
    reserved: Any
    _fields_ = (
        ("status", c_int),
        ("text", c_char * 956),
        ("reserved", c_uint64 * 8),
    )


# wcodec_dtype
WCODEC_DTYPE_OTHER = 0
WCODEC_DTYPE_BOOL = 1
WCODEC_DTYPE_U8 = 2
WCODEC_DTYPE_I8 = 3
WCODEC_DTYPE_F8_E5M2 = 4
WCODEC_DTYPE_F8_E4M3 = 5
WCODEC_DTYPE_F8_E8M0 = 6
WCODEC_DTYPE_F8_E4M3FNUZ = 7
WCODEC_DTYPE_F8_E5M2FNUZ = 8
WCODEC_DTYPE_U16 = 9
WCODEC_DTYPE_I16 = 10
WCODEC_DTYPE_F16 = 11
WCODEC_DTYPE_BF16 = 12
WCODEC_DTYPE_U32 = 13
WCODEC_DTYPE_I32 = 14
WCODEC_DTYPE_F32 = 15
WCODEC_DTYPE_U64 = 16
WCODEC_DTYPE_I64 = 17
WCODEC_DTYPE_F64 = 18
WCODEC_DTYPE_C64 = 19
WCODEC_DTYPE_F4 = 20
WCODEC_DTYPE_F6_E2M3 = 21
WCODEC_DTYPE_F6_E3M2 = 22

wcodec_progress_fn = CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)


class wcodec_progress(Structure):
    fn: Any
    opaque: int | None
    reserved: Any
    _fields_ = (
        ("fn", wcodec_progress_fn),
        ("opaque", c_void_p),
        ("reserved", c_void_p * 2),
    )


class wcodec_times(Structure):
    total: int
    reading: int
    coding: int
    verifying: int
    hashing: int
    writing: int
    waiting: int
    reserved: Any
    _fields_ = (
        ("total", c_uint64),
        ("reading", c_uint64),
        ("coding", c_uint64),
        ("verifying", c_uint64),
        ("hashing", c_uint64),
        ("writing", c_uint64),
        ("waiting", c_uint64),
        ("reserved", c_uint64 * 5),
    )


class wcodec_allocator(Structure):
    allocate: Any
    reallocate: Any
    release: Any
    opaque: int | None
    reserved: Any
    _fields_ = (
        ("allocate", CFUNCTYPE(c_void_p, c_void_p, c_size_t)),
        ("reallocate", CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t)),
        ("release", CFUNCTYPE(None, c_void_p, c_void_p)),
        ("opaque", c_void_p),
        ("reserved", c_void_p * 2),
    )


class wcodec_executor(Structure):
    run: Any
    concurrency: int
    opaque: int | None
    reserved: Any
    _fields_ = (
        ("run", CFUNCTYPE(None, c_void_p, CFUNCTYPE(None, c_void_p, c_size_t), c_void_p, c_size_t)),
        ("concurrency", c_uint),
        ("opaque", c_void_p),
        ("reserved", c_void_p * 2),
    )


# wcodec_log_level
WCODEC_LOG_ERROR = 1
WCODEC_LOG_WARNING = 2
WCODEC_LOG_INFO = 3
WCODEC_LOG_DEBUG = 4

wcodec_log_fn = CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class wcodec_limits(Structure):
    max_memory: int
    max_tensor_bytes: int
    max_index_bytes: int
    max_tensors: int
    reserved: Any
    _fields_ = (
        ("max_memory", c_uint64),
        ("max_tensor_bytes", c_uint64),
        ("max_index_bytes", c_uint64),
        ("max_tensors", c_uint64),
        ("reserved", c_uint64 * 4),
    )


class wcodec_options(Structure):
    struct_size: int
    threads: int
    bind_threads: int
    backend: bytes | None
    allocator: wcodec_allocator
    executor: wcodec_executor
    log: Any
    log_opaque: int | None
    log_level: int
    limits: wcodec_limits
    _fields_ = (
        ("struct_size", c_size_t),
        ("threads", c_uint),
        ("bind_threads", c_int),
        ("backend", c_char_p),
        ("allocator", wcodec_allocator),
        ("executor", wcodec_executor),
        ("log", wcodec_log_fn),
        ("log_opaque", c_void_p),
        ("log_level", c_int),
        ("limits", wcodec_limits),
    )


class wcodec_device_info(Structure):
    backend: bytes | None
    index: int
    name: bytes | None
    driver: bytes | None
    plugin_path: bytes | None
    memory: int
    available: int
    chosen: int
    reserved: Any
    _fields_ = (
        ("backend", c_char_p),
        ("index", c_uint),
        ("name", c_char_p),
        ("driver", c_char_p),
        ("plugin_path", c_char_p),
        ("memory", c_uint64),
        ("available", c_int),
        ("chosen", c_int),
        ("reserved", c_uint64 * 6),
    )


wcodec_read_at_fn = CFUNCTYPE(c_int64, c_void_p, c_uint64, c_size_t, c_void_p, POINTER(wcodec_error))


class wcodec_io(Structure):
    read_at: Any
    close: Any
    opaque: int | None
    size: int
    name: bytes | None
    request_bytes: int
    cache_bytes: int
    requests: int
    reserved: Any
    _fields_ = (
        ("read_at", wcodec_read_at_fn),
        ("close", CFUNCTYPE(None, c_void_p)),
        ("opaque", c_void_p),
        ("size", c_uint64),
        ("name", c_char_p),
        ("request_bytes", c_uint64),
        ("cache_bytes", c_uint64),
        ("requests", c_uint64),
        ("reserved", c_uint64 * 8),
    )


# wcodec_coding
WCODEC_CODING_CONSTANT = 0
WCODEC_CODING_TILES = 1
WCODEC_CODING_CHUNKS = 2
WCODEC_CODING_ALIAS = 3
WCODEC_CODING_BLOCKS = 4
WCODEC_CODING_LOSSY = 5
WCODEC_CODING_FIXED = 6
WCODEC_CODING_FRAGMENTS = 7
WCODEC_CODING_RECORDS = 9
WCODEC_CODING_DELTA = 10
WCODEC_CODING_MASKED = 11
WCODEC_CODING_INLINE = 12
WCODEC_CODING_ANCHORED = 13
WCODEC_CODING_UNKNOWN = 255


class wcodec_file_info(Structure):
    name: bytes | None
    path: bytes | None
    safetensors: int
    size: int
    coded_size: int
    xxh128: Any
    mode: int
    mtime: int
    version: int
    first_tensor: int
    tensors: int
    first_entry: int
    entries: int
    lossy: int
    level: int
    tune: int
    profile: int
    tile_log2: int
    predict: int
    patterns: int
    index_first: int
    rebuilt: int
    missing: int
    lost_tensors: int
    kind: bytes
    reserved: Any
    _fields_ = (
        ("name", c_char_p),
        ("path", c_char_p),
        ("safetensors", c_int),
        ("size", c_uint64),
        ("coded_size", c_uint64),
        ("xxh128", c_uint8 * 16),
        ("mode", c_uint32),
        ("mtime", c_int64),
        ("version", c_uint),
        ("first_tensor", c_uint64),
        ("tensors", c_uint64),
        ("first_entry", c_uint64),
        ("entries", c_uint64),
        ("lossy", c_uint64),
        ("level", c_uint8),
        ("tune", c_uint8),
        ("profile", c_uint8),
        ("tile_log2", c_uint8),
        ("predict", c_uint8),
        ("patterns", c_uint8),
        ("index_first", c_uint8),
        ("rebuilt", c_uint8),
        ("missing", c_uint64),
        ("lost_tensors", c_uint64),
        ("kind", c_char * 16),
        ("reserved", c_uint64 * 3),
    )


class wcodec_mode_info(Structure):
    predictor: bytes | None
    differential: int
    blocks: int
    reserved: Any
    _fields_ = (
        ("predictor", c_char_p),
        ("differential", c_int),
        ("blocks", c_uint64),
        ("reserved", c_uint64 * 2),
    )


class wcodec_tensor_info(Structure):
    name: bytes | None
    dtype: int
    dtype_name: bytes | None
    rank: int
    shape: Any
    size: int
    coded_size: int
    file_offset: int
    order0_bits: int
    payload_hash: int
    coding: int
    coding_name: bytes | None
    split: bytes | None
    element_bits: int
    tile_elements: int
    tables: int
    run_elements: int
    file: int
    alias_of: int
    columns: int
    mode_count: int
    modes: Any
    lossy: int
    order: bytes | None
    scales: int
    largest_error: float
    mean_squared_error: float
    mean_square: float
    anchors: int
    reserved: Any
    _fields_ = (
        ("name", c_char_p),
        ("dtype", c_int),
        ("dtype_name", c_char_p),
        ("rank", c_uint),
        ("shape", POINTER(c_uint64)),
        ("size", c_uint64),
        ("coded_size", c_uint64),
        ("file_offset", c_uint64),
        ("order0_bits", c_uint64),
        ("payload_hash", c_uint64),
        ("coding", c_int),
        ("coding_name", c_char_p),
        ("split", c_char_p),
        ("element_bits", c_uint),
        ("tile_elements", c_uint64),
        ("tables", c_uint),
        ("run_elements", c_uint),
        ("file", c_uint64),
        ("alias_of", c_uint64),
        ("columns", c_uint64),
        ("mode_count", c_uint),
        ("modes", wcodec_mode_info * 16),
        ("lossy", c_int),
        ("order", c_char_p),
        ("scales", c_uint64),
        ("largest_error", c_double),
        ("mean_squared_error", c_double),
        ("mean_square", c_double),
        ("anchors", c_uint64),
        ("reserved", c_uint64 * 15),
    )


wcodec_write_fn = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)

wcodec_write_at_fn = CFUNCTYPE(c_int, c_void_p, c_uint64, c_void_p, c_size_t)


class wcodec_decode_options(Structure):
    struct_size: int
    progress: wcodec_progress
    skip_checks: int
    write_at: Any
    times: Any
    part_begin: int
    part_end: int
    write_hashes: Any
    hashes: int | None
    _fields_ = (
        ("struct_size", c_size_t),
        ("progress", wcodec_progress),
        ("skip_checks", c_int),
        ("write_at", wcodec_write_at_fn),
        ("times", POINTER(wcodec_times)),
        ("part_begin", c_uint64),
        ("part_end", c_uint64),
        ("write_hashes", wcodec_write_fn),
        ("hashes", c_void_p),
    )


class wcodec_part_hashes(Structure):
    data: int | None
    size: int
    reserved: Any
    _fields_ = (
        ("data", c_void_p),
        ("size", c_size_t),
        ("reserved", c_uint64 * 2),
    )


class wcodec_original_info(Structure):
    kind: bytes
    tensors: int
    metadata: int
    note: bytes
    reserved: Any
    _fields_ = (
        ("kind", c_char * 16),
        ("tensors", c_uint64),
        ("metadata", c_uint64),
        ("note", c_char * 256),
        ("reserved", c_uint64 * 6),
    )


class wcodec_delta_info(Structure):
    delta: int
    depth: int
    xxh128: Any
    base_size: int
    equal: int
    sparse: int
    alone: int
    difference: int
    exclusive_or: int
    reserved: Any
    _fields_ = (
        ("delta", c_int),
        ("depth", c_uint),
        ("xxh128", c_uint8 * 16),
        ("base_size", c_uint64),
        ("equal", c_uint64),
        ("sparse", c_uint64),
        ("alone", c_uint64),
        ("difference", c_uint64),
        ("exclusive_or", c_uint64),
        ("reserved", c_uint64 * 6),
    )


# wcodec_tune
WCODEC_TUNE_SIZE = 0
WCODEC_TUNE_LATENCY = 1
WCODEC_TUNE_COMPUTE_FIXED = 2
WCODEC_TUNE_COMPUTE = 3

# wcodec_profile
WCODEC_PROFILE_AUTO = 0
WCODEC_PROFILE_PAIRS = 1
WCODEC_PROFILE_P12 = 2
WCODEC_PROFILE_P8 = 3

# wcodec_predict
WCODEC_PREDICT_AUTO = 0
WCODEC_PREDICT_NONE = 1
WCODEC_PREDICT_LEFT = 2
WCODEC_PREDICT_TOP = 3
WCODEC_PREDICT_AVERAGE = 4
WCODEC_PREDICT_PLANAR = 5
WCODEC_PREDICT_PAETH = 6
WCODEC_PREDICT_WHT = 7

# wcodec_lossy_target
WCODEC_LOSSY_NONE = 0
WCODEC_LOSSY_SNR = 1
WCODEC_LOSSY_ERROR = 2
WCODEC_LOSSY_BITS = 3

# wcodec_lossy_scaling
WCODEC_LOSSY_SCALE_TENSOR = 0
WCODEC_LOSSY_SCALE_ROW = 1

wcodec_copy_at_fn = CFUNCTYPE(c_int, c_void_p, c_size_t, c_uint64, c_uint64, c_uint64)


class wcodec_encode_options(Structure):
    struct_size: int
    level: int
    tune: int
    tile_log2: int
    profile: int
    raw: int
    strict: int
    no_verify: int
    include: Any
    exclude: Any
    name: bytes | None
    mode: int
    mtime: int
    progress: wcodec_progress
    predict: int
    lossy: int
    lossy_scale: int
    lossy_value: float
    times: Any
    write_at: Any
    index_first: int
    onnx_model: bytes | None
    onnx_location: bytes | None
    bases: int | None
    part_begin: int
    part_end: int
    copy_at: Any
    vectors: Any
    vectors_anchors: int
    vectors_bits: float
    vectors_recall: float
    vectors_optional: int
    _fields_ = (
        ("struct_size", c_size_t),
        ("level", c_int),
        ("tune", c_int),
        ("tile_log2", c_uint),
        ("profile", c_int),
        ("raw", c_int),
        ("strict", c_int),
        ("no_verify", c_int),
        ("include", POINTER(c_char_p)),
        ("exclude", POINTER(c_char_p)),
        ("name", c_char_p),
        ("mode", c_uint32),
        ("mtime", c_int64),
        ("progress", wcodec_progress),
        ("predict", c_int),
        ("lossy", c_int),
        ("lossy_scale", c_int),
        ("lossy_value", c_double),
        ("times", POINTER(wcodec_times)),
        ("write_at", wcodec_write_at_fn),
        ("index_first", c_int),
        ("onnx_model", c_char_p),
        ("onnx_location", c_char_p),
        ("bases", c_void_p),
        ("part_begin", c_uint64),
        ("part_end", c_uint64),
        ("copy_at", wcodec_copy_at_fn),
        ("vectors", POINTER(c_char_p)),
        ("vectors_anchors", c_uint64),
        ("vectors_bits", c_double),
        ("vectors_recall", c_double),
        ("vectors_optional", c_int),
    )


class wcodec_encode_report(Structure):
    size: int
    coded_size: int
    tensors: int
    aliases: int
    safetensors: int
    note: bytes
    xxh128: Any
    lossy: int
    kind: bytes
    reserved: Any
    _fields_ = (
        ("size", c_uint64),
        ("coded_size", c_uint64),
        ("tensors", c_uint64),
        ("aliases", c_uint64),
        ("safetensors", c_int),
        ("note", c_char * 256),
        ("xxh128", c_uint8 * 16),
        ("lossy", c_uint64),
        ("kind", c_char * 16),
        ("reserved", c_uint64 * 6),
    )


class wcodec_device_handles(Structure):
    backend: bytes | None
    index: int
    native_context: int
    native_device: int
    reserved: Any
    _fields_ = (
        ("backend", c_char_p),
        ("index", c_uint),
        ("native_context", c_uint64),
        ("native_device", c_uint64),
        ("reserved", c_uint64 * 4),
    )


class wcodec_load_item(Structure):
    tensor: int
    first_row: int
    rows: int
    destination: int
    offset: int
    size: int
    reserved: Any
    _fields_ = (
        ("tensor", c_uint64),
        ("first_row", c_uint64),
        ("rows", c_uint64),
        ("destination", c_uint64),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("reserved", c_uint64 * 4),
    )


class wcodec_load_report(Structure):
    bytes: int
    coded_bytes: int
    cpu_bytes: int
    batches: int
    received_bytes: int
    reserved: Any
    _fields_ = (
        ("bytes", c_uint64),
        ("coded_bytes", c_uint64),
        ("cpu_bytes", c_uint64),
        ("batches", c_uint64),
        ("received_bytes", c_uint64),
        ("reserved", c_uint64 * 7),
    )


wcodec_load_done_fn = CFUNCTYPE(None, c_void_p, c_int, POINTER(wcodec_error), POINTER(wcodec_load_report))


class wcodec_load_options(Structure):
    struct_size: int
    memory: bytes | None
    streams: int
    host_memory: int
    use_queue: int
    queue: int
    skip_checks: int
    progress: wcodec_progress
    done: Any
    done_opaque: int | None
    _fields_ = (
        ("struct_size", c_size_t),
        ("memory", c_char_p),
        ("streams", c_uint),
        ("host_memory", c_uint64),
        ("use_queue", c_int),
        ("queue", c_uint64),
        ("skip_checks", c_int),
        ("progress", wcodec_progress),
        ("done", wcodec_load_done_fn),
        ("done_opaque", c_void_p),
    )


class wcodec_load_target(Structure):
    context: int | None
    memory: bytes | None
    items: Any
    count: int
    queue: int
    use_queue: int
    reserved: Any
    _fields_ = (
        ("context", c_void_p),
        ("memory", c_char_p),
        ("items", POINTER(wcodec_load_item)),
        ("count", c_size_t),
        ("queue", c_uint64),
        ("use_queue", c_int),
        ("reserved", c_uint64 * 4),
    )


class wcodec_device_rates(Structure):
    bytes: int
    coded_bytes: int
    skipped: int
    decode_nanoseconds: int
    copy_bandwidth: float
    upload_bandwidth: float
    reserved: Any
    _fields_ = (
        ("bytes", c_uint64),
        ("coded_bytes", c_uint64),
        ("skipped", c_uint64),
        ("decode_nanoseconds", c_uint64),
        ("copy_bandwidth", c_double),
        ("upload_bandwidth", c_double),
        ("reserved", c_uint64 * 8),
    )


class wcodec_save_item(Structure):
    name: bytes | None
    dtype: int
    rank: int
    shape: Any
    source: int
    offset: int
    size: int
    reserved: Any
    _fields_ = (
        ("name", c_char_p),
        ("dtype", c_int),
        ("rank", c_uint),
        ("shape", POINTER(c_uint64)),
        ("source", c_uint64),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("reserved", c_uint64 * 4),
    )


wcodec_save_done_fn = CFUNCTYPE(None, c_void_p, c_int, POINTER(wcodec_error), POINTER(wcodec_encode_report))


class wcodec_save_options(Structure):
    struct_size: int
    path: bytes | None
    no_sync: int
    fd: int
    write: Any
    opaque: int | None
    encode: Any
    metadata: Any
    memory: bytes | None
    use_queue: int
    queue: int
    host_memory: int
    done: Any
    done_opaque: int | None
    _fields_ = (
        ("struct_size", c_size_t),
        ("path", c_char_p),
        ("no_sync", c_int),
        ("fd", c_int),
        ("write", wcodec_write_fn),
        ("opaque", c_void_p),
        ("encode", POINTER(wcodec_encode_options)),
        ("metadata", POINTER(c_char_p)),
        ("memory", c_char_p),
        ("use_queue", c_int),
        ("queue", c_uint64),
        ("host_memory", c_uint64),
        ("done", wcodec_save_done_fn),
        ("done_opaque", c_void_p),
    )


class wcodec_delta_encode_options(Structure):
    struct_size: int
    encode: Any
    write: Any
    opaque: int | None
    before_memory: bytes | None
    after_memory: bytes | None
    use_queue: int
    queue: int
    host_memory: int
    as_file: int
    _fields_ = (
        ("struct_size", c_size_t),
        ("encode", POINTER(wcodec_encode_options)),
        ("write", wcodec_write_fn),
        ("opaque", c_void_p),
        ("before_memory", c_char_p),
        ("after_memory", c_char_p),
        ("use_queue", c_int),
        ("queue", c_uint64),
        ("host_memory", c_uint64),
        ("as_file", c_int),
    )


# wcodec_delta_verify
WCODEC_DELTA_VERIFY_BEFORE = 0
WCODEC_DELTA_VERIFY_TRIAL = 1
WCODEC_DELTA_VERIFY_AFTER = 2

# wcodec_delta_state
WCODEC_DELTA_STATE_BEFORE = 0
WCODEC_DELTA_STATE_AFTER = 1
WCODEC_DELTA_STATE_BROKEN = 2


class wcodec_delta_apply_options(Structure):
    struct_size: int
    verify: int
    memory: bytes | None
    use_queue: int
    queue: int
    host_memory: int
    states: int | None
    progress: wcodec_progress
    _fields_ = (
        ("struct_size", c_size_t),
        ("verify", c_int),
        ("memory", c_char_p),
        ("use_queue", c_int),
        ("queue", c_uint64),
        ("host_memory", c_uint64),
        ("states", c_void_p),
        ("progress", wcodec_progress),
    )


class wcodec_delta_report(Structure):
    tensors: int
    equal: int
    size: int
    reserved: Any
    _fields_ = (
        ("tensors", c_uint64),
        ("equal", c_uint64),
        ("size", c_uint64),
        ("reserved", c_uint64 * 5),
    )


# wcodec_resident_form
WCODEC_RESIDENT_AUTO = 0
WCODEC_RESIDENT_CODED = 1
WCODEC_RESIDENT_FIXED = 2
WCODEC_RESIDENT_PLAIN = 3


class wcodec_resident_options(Structure):
    struct_size: int
    form: int
    progress: wcodec_progress
    memory: bytes | None
    decoded: int
    _fields_ = (
        ("struct_size", c_size_t),
        ("form", c_int),
        ("progress", wcodec_progress),
        ("memory", c_char_p),
        ("decoded", c_size_t),
    )


class wcodec_resident_tensor(Structure):
    name: bytes | None
    dtype: int
    rank: int
    shape: Any
    size: int
    form: int
    held: int
    alias_of: int
    native: int
    reserved: Any
    _fields_ = (
        ("name", c_char_p),
        ("dtype", c_int),
        ("rank", c_uint),
        ("shape", POINTER(c_uint64)),
        ("size", c_uint64),
        ("form", c_int),
        ("held", c_uint64),
        ("alias_of", c_uint64),
        ("native", c_uint64),
        ("reserved", c_uint64 * 7),
    )


class wcodec_linear(Structure):
    struct_size: int
    transposed: int
    rows: int
    x: int | None
    x_dtype: int
    x_stride: int
    y: int | None
    y_dtype: int
    y_stride: int
    bias: int | None
    bias_dtype: int
    scales: int | None
    scales_dtype: int
    queue: int
    work: int | None
    work_size: int
    _fields_ = (
        ("struct_size", c_size_t),
        ("transposed", c_int),
        ("rows", c_uint64),
        ("x", c_void_p),
        ("x_dtype", c_int),
        ("x_stride", c_size_t),
        ("y", c_void_p),
        ("y_dtype", c_int),
        ("y_stride", c_size_t),
        ("bias", c_void_p),
        ("bias_dtype", c_int),
        ("scales", c_void_p),
        ("scales_dtype", c_int),
        ("queue", c_uint64),
        ("work", c_void_p),
        ("work_size", c_size_t),
    )


class wcodec_vector_rows(Structure):
    dtype: int
    count: int
    dimensions: int
    data: int | None
    reserved: Any
    _fields_ = (
        ("dtype", c_int),
        ("count", c_uint64),
        ("dimensions", c_uint64),
        ("data", c_void_p),
        ("reserved", c_uint64 * 4),
    )


# wcodec_vectors_schedule
WCODEC_VECTORS_BEST = 0
WCODEC_VECTORS_COMPAT = 1

# wcodec_vectors_reduce
WCODEC_VECTORS_TRIMMED = 0
WCODEC_VECTORS_PLAIN = 1


class wcodec_vectors_iteration(Structure):
    iteration: int
    temperature: float
    energy: float
    changes: int
    anchors: int
    merged: int
    split: int
    reserved: Any
    _fields_ = (
        ("iteration", c_uint64),
        ("temperature", c_double),
        ("energy", c_double),
        ("changes", c_uint64),
        ("anchors", c_uint64),
        ("merged", c_uint64),
        ("split", c_uint64),
        ("reserved", c_uint64 * 4),
    )


wcodec_vectors_iteration_fn = CFUNCTYPE(c_int, c_void_p, POINTER(wcodec_vectors_iteration))


class wcodec_vectors_options(Structure):
    struct_size: int
    anchors: int
    schedule: int
    reduce: int
    max_iterations: int
    seed: int
    cooling: float
    step: float
    tolerance: float
    min_changes: int
    maintenance: int
    iteration: Any
    opaque: int | None
    progress: wcodec_progress
    _fields_ = (
        ("struct_size", c_size_t),
        ("anchors", c_uint64),
        ("schedule", c_int),
        ("reduce", c_int),
        ("max_iterations", c_uint64),
        ("seed", c_uint64),
        ("cooling", c_double),
        ("step", c_double),
        ("tolerance", c_double),
        ("min_changes", c_uint64),
        ("maintenance", c_uint64),
        ("iteration", wcodec_vectors_iteration_fn),
        ("opaque", c_void_p),
        ("progress", wcodec_progress),
    )


class wcodec_vectors_info(Structure):
    rows: int
    anchors: int
    dimensions: int
    anchor: Any
    index: Any
    flags: int
    reserved32: int
    reserved: Any
    _fields_ = (
        ("rows", c_uint64),
        ("anchors", c_uint64),
        ("dimensions", c_uint64),
        ("anchor", POINTER(c_uint16)),
        ("index", POINTER(c_uint32)),
        ("flags", c_uint32),
        ("reserved32", c_uint32),
        ("reserved", c_uint64 * 4),
    )


class wcodec_vectors_quality(Structure):
    energy: float
    recall: float
    queries: int
    index_bits: float
    smallest: int
    largest: int
    empty: int
    reserved: Any
    _fields_ = (
        ("energy", c_double),
        ("recall", c_double),
        ("queries", c_uint64),
        ("index_bits", c_double),
        ("smallest", c_uint64),
        ("largest", c_uint64),
        ("empty", c_uint64),
        ("reserved", c_uint64 * 4),
    )


# wcodec_vectors_part
WCODEC_VECTORS_PART_HEAD = 0
WCODEC_VECTORS_PART_ANCHORS = 1
WCODEC_VECTORS_PART_INDEX = 2


class wcodec_vectors_compress_options(Structure):
    struct_size: int
    bits: float
    recall: float
    level: int
    progress: wcodec_progress
    _fields_ = (
        ("struct_size", c_size_t),
        ("bits", c_double),
        ("recall", c_double),
        ("level", c_int),
        ("progress", wcodec_progress),
    )


class wcodec_vectors_report(Structure):
    rows: int
    anchors: int
    dimensions: int
    coded_size: int
    bits: float
    scale: float
    energy: float
    recall: float
    clipped: int
    reserved: Any
    _fields_ = (
        ("rows", c_uint64),
        ("anchors", c_uint64),
        ("dimensions", c_uint64),
        ("coded_size", c_uint64),
        ("bits", c_double),
        ("scale", c_double),
        ("energy", c_double),
        ("recall", c_double),
        ("clipped", c_uint64),
        ("reserved", c_uint64 * 4),
    )


class wcodec_vectors_store_info(Structure):
    rows: int
    removed: int
    dimensions: int
    segments: int
    anchors: int
    next_id: int
    coded_size: int
    memory: int
    device_memory: int
    reserved: Any
    _fields_ = (
        ("rows", c_uint64),
        ("removed", c_uint64),
        ("dimensions", c_uint64),
        ("segments", c_uint64),
        ("anchors", c_uint64),
        ("next_id", c_uint64),
        ("coded_size", c_uint64),
        ("memory", c_uint64),
        ("device_memory", c_uint64),
        ("reserved", c_uint64 * 3),
    )


# wcodec_vectors_metric
WCODEC_VECTORS_L2 = 0
WCODEC_VECTORS_INNER_PRODUCT = 1
WCODEC_VECTORS_COSINE = 2


class wcodec_vectors_search_options(Structure):
    struct_size: int
    k: int
    metric: int
    probes: int
    allowed: int | None
    allowed_count: int
    original: Any
    original_reader: int | None
    original_tensor: int
    original_first_id: int
    rerank_factor: int
    _fields_ = (
        ("struct_size", c_size_t),
        ("k", c_uint64),
        ("metric", c_int),
        ("probes", c_uint64),
        ("allowed", c_void_p),
        ("allowed_count", c_uint64),
        ("original", POINTER(wcodec_vector_rows)),
        ("original_reader", c_void_p),
        ("original_tensor", c_uint64),
        ("original_first_id", c_uint64),
        ("rerank_factor", c_uint64),
    )


class wcodec_vectors_compact_options(Structure):
    struct_size: int
    max_rows: int
    level: int
    progress: wcodec_progress
    _fields_ = (
        ("struct_size", c_size_t),
        ("max_rows", c_uint64),
        ("level", c_int),
        ("progress", wcodec_progress),
    )


class wcodec_vectors_compact_report(Structure):
    segments_before: int
    segments_after: int
    rows: int
    dropped: int
    size_before: int
    size_after: int
    reserved: Any
    _fields_ = (
        ("segments_before", c_uint64),
        ("segments_after", c_uint64),
        ("rows", c_uint64),
        ("dropped", c_uint64),
        ("size_before", c_uint64),
        ("size_after", c_uint64),
        ("reserved", c_uint64 * 4),
    )


# wcodec_training_phase
WCODEC_PHASE_WARM_UP = 0
WCODEC_PHASE_FULL = 1
WCODEC_PHASE_PREDICT = 2
WCODEC_PHASE_CORRECT = 3


class wcodec_training_step(Structure):
    step: int
    loss: float
    gradient_norm: float
    learning_rate: float
    momentum_mean: float
    momentum_deviation: float
    variance_mean: float
    variance_deviation: float
    beta1_power: float
    beta2_power: float
    phase: int
    phase_step: int
    reserved: Any
    _fields_ = (
        ("step", c_uint64),
        ("loss", c_float),
        ("gradient_norm", c_float),
        ("learning_rate", c_float),
        ("momentum_mean", c_float),
        ("momentum_deviation", c_float),
        ("variance_mean", c_float),
        ("variance_deviation", c_float),
        ("beta1_power", c_float),
        ("beta2_power", c_float),
        ("phase", c_int),
        ("phase_step", c_uint64),
        ("reserved", c_uint64 * 4),
    )


class wcodec_training_averages(Structure):
    fast: float
    medium: float
    slow: float
    reserved: Any
    _fields_ = (
        ("fast", c_float),
        ("medium", c_float),
        ("slow", c_float),
        ("reserved", c_uint32 * 5),
    )


# wcodec_rssm_mode
WCODEC_RSSM_PRODUCTION = 0
WCODEC_RSSM_REFERENCE = 1
WCODEC_RSSM_SAMPLED = 2

# wcodec_gru_products
WCODEC_GRU_PRODUCTS_F32 = 0
WCODEC_GRU_PRODUCTS_BF16 = 1


class wcodec_rssm_options(Structure):
    struct_size: int
    ensemble: int
    hidden: int
    stochastic: int
    inputs: int
    mode: int
    memory: bytes | None
    products: int
    _fields_ = (
        ("struct_size", c_size_t),
        ("ensemble", c_uint64),
        ("hidden", c_uint64),
        ("stochastic", c_uint64),
        ("inputs", c_uint64),
        ("mode", c_int),
        ("memory", c_char_p),
        ("products", c_int),
    )


class wcodec_gru_weights(Structure):
    w_z: Any
    w_r: Any
    w_h: Any
    u_z: Any
    u_r: Any
    u_h: Any
    b_z: Any
    b_r: Any
    b_h: Any
    reserved: Any
    _fields_ = (
        ("w_z", POINTER(c_float)),
        ("w_r", POINTER(c_float)),
        ("w_h", POINTER(c_float)),
        ("u_z", POINTER(c_float)),
        ("u_r", POINTER(c_float)),
        ("u_h", POINTER(c_float)),
        ("b_z", POINTER(c_float)),
        ("b_r", POINTER(c_float)),
        ("b_h", POINTER(c_float)),
        ("reserved", c_uint64 * 7),
    )


class wcodec_rssm_names(Structure):
    w_z: bytes | None
    w_r: bytes | None
    w_h: bytes | None
    u_z: bytes | None
    u_r: bytes | None
    u_h: bytes | None
    b_z: bytes | None
    b_r: bytes | None
    b_h: bytes | None
    head: bytes | None
    delta_head: bytes | None
    reserved: Any
    _fields_ = (
        ("w_z", c_char_p),
        ("w_r", c_char_p),
        ("w_h", c_char_p),
        ("u_z", c_char_p),
        ("u_r", c_char_p),
        ("u_h", c_char_p),
        ("b_z", c_char_p),
        ("b_r", c_char_p),
        ("b_h", c_char_p),
        ("head", c_char_p),
        ("delta_head", c_char_p),
        ("reserved", c_void_p * 5),
    )


class wcodec_rssm_memory_info(Structure):
    ensemble: int
    rollout: int
    reserved: Any
    _fields_ = (
        ("ensemble", c_uint64),
        ("rollout", c_uint64),
        ("reserved", c_uint64 * 6),
    )


class wcodec_rssm_input(Structure):
    hidden: Any
    features: Any
    loss: float
    gradient_norm: float
    learning_rate: float
    reserved32: int
    seed: int
    reserved: Any
    _fields_ = (
        ("hidden", POINTER(c_float)),
        ("features", POINTER(c_float)),
        ("loss", c_float),
        ("gradient_norm", c_float),
        ("learning_rate", c_float),
        ("reserved32", c_uint32),
        ("seed", c_uint64),
        ("reserved", c_uint64 * 3),
    )


class wcodec_rssm_metrics(Structure):
    loss_variance: float
    smoothness: float
    entropy: float
    reserved: Any
    _fields_ = (
        ("loss_variance", c_float),
        ("smoothness", c_float),
        ("entropy", c_float),
        ("reserved", c_uint32 * 5),
    )


class wcodec_rssm_output(Structure):
    trajectories: Any
    mean: Any
    step_deltas: Any
    hidden_norms: Any
    hidden: Any
    metrics: Any
    weight_deltas: Any
    reserved: Any
    _fields_ = (
        ("trajectories", POINTER(c_float)),
        ("mean", POINTER(c_float)),
        ("step_deltas", POINTER(c_float)),
        ("hidden_norms", POINTER(c_float)),
        ("hidden", POINTER(c_float)),
        ("metrics", POINTER(wcodec_rssm_metrics)),
        ("weight_deltas", POINTER(c_float)),
        ("reserved", c_uint64 * 5),
    )


class wcodec_rssm_summary(Structure):
    loss: float
    variance: float
    deviation: float
    aleatoric: float
    epistemic: float
    confidence: float
    lower: float
    upper: float
    entropy: float
    reserved: Any
    _fields_ = (
        ("loss", c_float),
        ("variance", c_float),
        ("deviation", c_float),
        ("aleatoric", c_float),
        ("epistemic", c_float),
        ("confidence", c_float),
        ("lower", c_float),
        ("upper", c_float),
        ("entropy", c_float),
        ("reserved", c_uint32 * 7),
    )


class wcodec_rssm_starts(Structure):
    count: int
    hidden: Any
    features: Any
    loss: Any
    seed: int
    reserved: Any
    _fields_ = (
        ("count", c_uint64),
        ("hidden", POINTER(c_float)),
        ("features", POINTER(c_float)),
        ("loss", POINTER(c_float)),
        ("seed", c_uint64),
        ("reserved", c_uint64 * 3),
    )


class wcodec_rssm_courses(Structure):
    trajectories: Any
    hidden: Any
    metrics: Any
    summaries: Any
    reserved: Any
    _fields_ = (
        ("trajectories", POINTER(c_float)),
        ("hidden", POINTER(c_float)),
        ("metrics", POINTER(wcodec_rssm_metrics)),
        ("summaries", POINTER(wcodec_rssm_summary)),
        ("reserved", c_uint64 * 4),
    )


# wcodec_gru_form
WCODEC_GRU_RESET_BEFORE = 0
WCODEC_GRU_RESET_AFTER = 1


class wcodec_gru_options(Structure):
    struct_size: int
    inputs: int
    hidden: int
    form: int
    memory: bytes | None
    products: int
    _fields_ = (
        ("struct_size", c_size_t),
        ("inputs", c_uint64),
        ("hidden", c_uint64),
        ("form", c_int),
        ("memory", c_char_p),
        ("products", c_int),
    )


class wcodec_gru_array(Structure):
    data: int | None
    scales: Any
    dtype: int
    reserved: int
    _fields_ = (
        ("data", c_void_p),
        ("scales", POINTER(c_float)),
        ("dtype", c_int),
        ("reserved", c_uint32),
    )


class wcodec_gru_arrays(Structure):
    w_z: wcodec_gru_array
    w_r: wcodec_gru_array
    w_h: wcodec_gru_array
    u_z: wcodec_gru_array
    u_r: wcodec_gru_array
    u_h: wcodec_gru_array
    b_z: wcodec_gru_array
    b_r: wcodec_gru_array
    b_h: wcodec_gru_array
    c_z: wcodec_gru_array
    c_r: wcodec_gru_array
    c_h: wcodec_gru_array
    reserved: Any
    _fields_ = (
        ("w_z", wcodec_gru_array),
        ("w_r", wcodec_gru_array),
        ("w_h", wcodec_gru_array),
        ("u_z", wcodec_gru_array),
        ("u_r", wcodec_gru_array),
        ("u_h", wcodec_gru_array),
        ("b_z", wcodec_gru_array),
        ("b_r", wcodec_gru_array),
        ("b_h", wcodec_gru_array),
        ("c_z", wcodec_gru_array),
        ("c_r", wcodec_gru_array),
        ("c_h", wcodec_gru_array),
        ("reserved", c_uint64 * 4),
    )


class wcodec_gru_names(Structure):
    weight_ih: bytes | None
    weight_hh: bytes | None
    bias_ih: bytes | None
    bias_hh: bytes | None
    reserved: Any
    _fields_ = (
        ("weight_ih", c_char_p),
        ("weight_hh", c_char_p),
        ("bias_ih", c_char_p),
        ("bias_hh", c_char_p),
        ("reserved", c_void_p * 4),
    )


class wcodec_gru_input(Structure):
    values: Any
    steps: int
    sequences: int
    step_stride: int
    sequence_stride: int
    hidden: Any
    reverse: int
    reserved32: int
    queue: int
    reserved: Any
    _fields_ = (
        ("values", POINTER(c_float)),
        ("steps", c_uint64),
        ("sequences", c_uint64),
        ("step_stride", c_uint64),
        ("sequence_stride", c_uint64),
        ("hidden", POINTER(c_float)),
        ("reverse", c_uint32),
        ("reserved32", c_uint32),
        ("queue", c_uint64),
        ("reserved", c_uint64 * 3),
    )


class wcodec_gru_output(Structure):
    values: Any
    step_stride: int
    sequence_stride: int
    hidden: Any
    reserved: Any
    _fields_ = (
        ("values", POINTER(c_float)),
        ("step_stride", c_uint64),
        ("sequence_stride", c_uint64),
        ("hidden", POINTER(c_float)),
        ("reserved", c_uint64 * 4),
    )


class wcodec_rssm_learn_options(Structure):
    struct_size: int
    rate: float
    clip: float
    _fields_ = (
        ("struct_size", c_size_t),
        ("rate", c_float),
        ("clip", c_float),
    )


class wcodec_rssm_lesson(Structure):
    hidden: Any
    features: Any
    steps: int
    loss: float
    reserved32: int
    reserved: Any
    _fields_ = (
        ("hidden", POINTER(c_float)),
        ("features", POINTER(c_float)),
        ("steps", c_uint64),
        ("loss", c_float),
        ("reserved32", c_uint32),
        ("reserved", c_uint64 * 4),
    )


class wcodec_rssm_learned(Structure):
    losses: Any
    first: Any
    hidden: Any
    error: float
    norm: float
    reserved: Any
    _fields_ = (
        ("losses", POINTER(c_float)),
        ("first", POINTER(c_float)),
        ("hidden", POINTER(c_float)),
        ("error", c_float),
        ("norm", c_float),
        ("reserved", c_uint64 * 4),
    )


class wcodec_gru_values(Structure):
    w_z: Any
    w_r: Any
    w_h: Any
    u_z: Any
    u_r: Any
    u_h: Any
    b_z: Any
    b_r: Any
    b_h: Any
    reserved: Any
    _fields_ = (
        ("w_z", POINTER(c_float)),
        ("w_r", POINTER(c_float)),
        ("w_h", POINTER(c_float)),
        ("u_z", POINTER(c_float)),
        ("u_r", POINTER(c_float)),
        ("u_h", POINTER(c_float)),
        ("b_z", POINTER(c_float)),
        ("b_r", POINTER(c_float)),
        ("b_h", POINTER(c_float)),
        ("reserved", c_uint64 * 7),
    )


ENUMERATIONS: dict[str, dict[str, int]] = {
    "wcodec_status": {
        "WCODEC_OK": WCODEC_OK,
        "WCODEC_ERROR_USAGE": WCODEC_ERROR_USAGE,
        "WCODEC_ERROR_MEMORY": WCODEC_ERROR_MEMORY,
        "WCODEC_ERROR_IO": WCODEC_ERROR_IO,
        "WCODEC_ERROR_CORRUPT": WCODEC_ERROR_CORRUPT,
        "WCODEC_ERROR_NEWER": WCODEC_ERROR_NEWER,
        "WCODEC_ERROR_LIMIT": WCODEC_ERROR_LIMIT,
        "WCODEC_ERROR_CANCELLED": WCODEC_ERROR_CANCELLED,
        "WCODEC_ERROR_BACKEND": WCODEC_ERROR_BACKEND,
        "WCODEC_ERROR_DEVICE": WCODEC_ERROR_DEVICE,
        "WCODEC_ERROR_NOT_FOUND": WCODEC_ERROR_NOT_FOUND,
        "WCODEC_ERROR_MISMATCH": WCODEC_ERROR_MISMATCH,
        "WCODEC_ERROR_UNSUPPORTED": WCODEC_ERROR_UNSUPPORTED,
        "WCODEC_ERROR_BUSY": WCODEC_ERROR_BUSY,
    },
    "wcodec_dtype": {
        "WCODEC_DTYPE_OTHER": WCODEC_DTYPE_OTHER,
        "WCODEC_DTYPE_BOOL": WCODEC_DTYPE_BOOL,
        "WCODEC_DTYPE_U8": WCODEC_DTYPE_U8,
        "WCODEC_DTYPE_I8": WCODEC_DTYPE_I8,
        "WCODEC_DTYPE_F8_E5M2": WCODEC_DTYPE_F8_E5M2,
        "WCODEC_DTYPE_F8_E4M3": WCODEC_DTYPE_F8_E4M3,
        "WCODEC_DTYPE_F8_E8M0": WCODEC_DTYPE_F8_E8M0,
        "WCODEC_DTYPE_F8_E4M3FNUZ": WCODEC_DTYPE_F8_E4M3FNUZ,
        "WCODEC_DTYPE_F8_E5M2FNUZ": WCODEC_DTYPE_F8_E5M2FNUZ,
        "WCODEC_DTYPE_U16": WCODEC_DTYPE_U16,
        "WCODEC_DTYPE_I16": WCODEC_DTYPE_I16,
        "WCODEC_DTYPE_F16": WCODEC_DTYPE_F16,
        "WCODEC_DTYPE_BF16": WCODEC_DTYPE_BF16,
        "WCODEC_DTYPE_U32": WCODEC_DTYPE_U32,
        "WCODEC_DTYPE_I32": WCODEC_DTYPE_I32,
        "WCODEC_DTYPE_F32": WCODEC_DTYPE_F32,
        "WCODEC_DTYPE_U64": WCODEC_DTYPE_U64,
        "WCODEC_DTYPE_I64": WCODEC_DTYPE_I64,
        "WCODEC_DTYPE_F64": WCODEC_DTYPE_F64,
        "WCODEC_DTYPE_C64": WCODEC_DTYPE_C64,
        "WCODEC_DTYPE_F4": WCODEC_DTYPE_F4,
        "WCODEC_DTYPE_F6_E2M3": WCODEC_DTYPE_F6_E2M3,
        "WCODEC_DTYPE_F6_E3M2": WCODEC_DTYPE_F6_E3M2,
    },
    "wcodec_log_level": {
        "WCODEC_LOG_ERROR": WCODEC_LOG_ERROR,
        "WCODEC_LOG_WARNING": WCODEC_LOG_WARNING,
        "WCODEC_LOG_INFO": WCODEC_LOG_INFO,
        "WCODEC_LOG_DEBUG": WCODEC_LOG_DEBUG,
    },
    "wcodec_coding": {
        "WCODEC_CODING_CONSTANT": WCODEC_CODING_CONSTANT,
        "WCODEC_CODING_TILES": WCODEC_CODING_TILES,
        "WCODEC_CODING_CHUNKS": WCODEC_CODING_CHUNKS,
        "WCODEC_CODING_ALIAS": WCODEC_CODING_ALIAS,
        "WCODEC_CODING_BLOCKS": WCODEC_CODING_BLOCKS,
        "WCODEC_CODING_LOSSY": WCODEC_CODING_LOSSY,
        "WCODEC_CODING_FIXED": WCODEC_CODING_FIXED,
        "WCODEC_CODING_FRAGMENTS": WCODEC_CODING_FRAGMENTS,
        "WCODEC_CODING_RECORDS": WCODEC_CODING_RECORDS,
        "WCODEC_CODING_DELTA": WCODEC_CODING_DELTA,
        "WCODEC_CODING_MASKED": WCODEC_CODING_MASKED,
        "WCODEC_CODING_INLINE": WCODEC_CODING_INLINE,
        "WCODEC_CODING_ANCHORED": WCODEC_CODING_ANCHORED,
        "WCODEC_CODING_UNKNOWN": WCODEC_CODING_UNKNOWN,
    },
    "wcodec_tune": {
        "WCODEC_TUNE_SIZE": WCODEC_TUNE_SIZE,
        "WCODEC_TUNE_LATENCY": WCODEC_TUNE_LATENCY,
        "WCODEC_TUNE_COMPUTE_FIXED": WCODEC_TUNE_COMPUTE_FIXED,
        "WCODEC_TUNE_COMPUTE": WCODEC_TUNE_COMPUTE,
    },
    "wcodec_profile": {
        "WCODEC_PROFILE_AUTO": WCODEC_PROFILE_AUTO,
        "WCODEC_PROFILE_PAIRS": WCODEC_PROFILE_PAIRS,
        "WCODEC_PROFILE_P12": WCODEC_PROFILE_P12,
        "WCODEC_PROFILE_P8": WCODEC_PROFILE_P8,
    },
    "wcodec_predict": {
        "WCODEC_PREDICT_AUTO": WCODEC_PREDICT_AUTO,
        "WCODEC_PREDICT_NONE": WCODEC_PREDICT_NONE,
        "WCODEC_PREDICT_LEFT": WCODEC_PREDICT_LEFT,
        "WCODEC_PREDICT_TOP": WCODEC_PREDICT_TOP,
        "WCODEC_PREDICT_AVERAGE": WCODEC_PREDICT_AVERAGE,
        "WCODEC_PREDICT_PLANAR": WCODEC_PREDICT_PLANAR,
        "WCODEC_PREDICT_PAETH": WCODEC_PREDICT_PAETH,
        "WCODEC_PREDICT_WHT": WCODEC_PREDICT_WHT,
    },
    "wcodec_lossy_target": {
        "WCODEC_LOSSY_NONE": WCODEC_LOSSY_NONE,
        "WCODEC_LOSSY_SNR": WCODEC_LOSSY_SNR,
        "WCODEC_LOSSY_ERROR": WCODEC_LOSSY_ERROR,
        "WCODEC_LOSSY_BITS": WCODEC_LOSSY_BITS,
    },
    "wcodec_lossy_scaling": {
        "WCODEC_LOSSY_SCALE_TENSOR": WCODEC_LOSSY_SCALE_TENSOR,
        "WCODEC_LOSSY_SCALE_ROW": WCODEC_LOSSY_SCALE_ROW,
    },
    "wcodec_delta_verify": {
        "WCODEC_DELTA_VERIFY_BEFORE": WCODEC_DELTA_VERIFY_BEFORE,
        "WCODEC_DELTA_VERIFY_TRIAL": WCODEC_DELTA_VERIFY_TRIAL,
        "WCODEC_DELTA_VERIFY_AFTER": WCODEC_DELTA_VERIFY_AFTER,
    },
    "wcodec_delta_state": {
        "WCODEC_DELTA_STATE_BEFORE": WCODEC_DELTA_STATE_BEFORE,
        "WCODEC_DELTA_STATE_AFTER": WCODEC_DELTA_STATE_AFTER,
        "WCODEC_DELTA_STATE_BROKEN": WCODEC_DELTA_STATE_BROKEN,
    },
    "wcodec_resident_form": {
        "WCODEC_RESIDENT_AUTO": WCODEC_RESIDENT_AUTO,
        "WCODEC_RESIDENT_CODED": WCODEC_RESIDENT_CODED,
        "WCODEC_RESIDENT_FIXED": WCODEC_RESIDENT_FIXED,
        "WCODEC_RESIDENT_PLAIN": WCODEC_RESIDENT_PLAIN,
    },
    "wcodec_vectors_schedule": {
        "WCODEC_VECTORS_BEST": WCODEC_VECTORS_BEST,
        "WCODEC_VECTORS_COMPAT": WCODEC_VECTORS_COMPAT,
    },
    "wcodec_vectors_reduce": {
        "WCODEC_VECTORS_TRIMMED": WCODEC_VECTORS_TRIMMED,
        "WCODEC_VECTORS_PLAIN": WCODEC_VECTORS_PLAIN,
    },
    "wcodec_vectors_part": {
        "WCODEC_VECTORS_PART_HEAD": WCODEC_VECTORS_PART_HEAD,
        "WCODEC_VECTORS_PART_ANCHORS": WCODEC_VECTORS_PART_ANCHORS,
        "WCODEC_VECTORS_PART_INDEX": WCODEC_VECTORS_PART_INDEX,
    },
    "wcodec_vectors_metric": {
        "WCODEC_VECTORS_L2": WCODEC_VECTORS_L2,
        "WCODEC_VECTORS_INNER_PRODUCT": WCODEC_VECTORS_INNER_PRODUCT,
        "WCODEC_VECTORS_COSINE": WCODEC_VECTORS_COSINE,
    },
    "wcodec_training_phase": {
        "WCODEC_PHASE_WARM_UP": WCODEC_PHASE_WARM_UP,
        "WCODEC_PHASE_FULL": WCODEC_PHASE_FULL,
        "WCODEC_PHASE_PREDICT": WCODEC_PHASE_PREDICT,
        "WCODEC_PHASE_CORRECT": WCODEC_PHASE_CORRECT,
    },
    "wcodec_rssm_mode": {
        "WCODEC_RSSM_PRODUCTION": WCODEC_RSSM_PRODUCTION,
        "WCODEC_RSSM_REFERENCE": WCODEC_RSSM_REFERENCE,
        "WCODEC_RSSM_SAMPLED": WCODEC_RSSM_SAMPLED,
    },
    "wcodec_gru_products": {
        "WCODEC_GRU_PRODUCTS_F32": WCODEC_GRU_PRODUCTS_F32,
        "WCODEC_GRU_PRODUCTS_BF16": WCODEC_GRU_PRODUCTS_BF16,
    },
    "wcodec_gru_form": {
        "WCODEC_GRU_RESET_BEFORE": WCODEC_GRU_RESET_BEFORE,
        "WCODEC_GRU_RESET_AFTER": WCODEC_GRU_RESET_AFTER,
    },
}

STRUCTURES: dict[str, type[Structure]] = {
    "wcodec_error": wcodec_error,
    "wcodec_progress": wcodec_progress,
    "wcodec_times": wcodec_times,
    "wcodec_allocator": wcodec_allocator,
    "wcodec_executor": wcodec_executor,
    "wcodec_limits": wcodec_limits,
    "wcodec_options": wcodec_options,
    "wcodec_device_info": wcodec_device_info,
    "wcodec_io": wcodec_io,
    "wcodec_file_info": wcodec_file_info,
    "wcodec_mode_info": wcodec_mode_info,
    "wcodec_tensor_info": wcodec_tensor_info,
    "wcodec_decode_options": wcodec_decode_options,
    "wcodec_part_hashes": wcodec_part_hashes,
    "wcodec_original_info": wcodec_original_info,
    "wcodec_delta_info": wcodec_delta_info,
    "wcodec_encode_options": wcodec_encode_options,
    "wcodec_encode_report": wcodec_encode_report,
    "wcodec_device_handles": wcodec_device_handles,
    "wcodec_load_item": wcodec_load_item,
    "wcodec_load_report": wcodec_load_report,
    "wcodec_load_options": wcodec_load_options,
    "wcodec_load_target": wcodec_load_target,
    "wcodec_device_rates": wcodec_device_rates,
    "wcodec_save_item": wcodec_save_item,
    "wcodec_save_options": wcodec_save_options,
    "wcodec_delta_encode_options": wcodec_delta_encode_options,
    "wcodec_delta_apply_options": wcodec_delta_apply_options,
    "wcodec_delta_report": wcodec_delta_report,
    "wcodec_resident_options": wcodec_resident_options,
    "wcodec_resident_tensor": wcodec_resident_tensor,
    "wcodec_linear": wcodec_linear,
    "wcodec_vector_rows": wcodec_vector_rows,
    "wcodec_vectors_iteration": wcodec_vectors_iteration,
    "wcodec_vectors_options": wcodec_vectors_options,
    "wcodec_vectors_info": wcodec_vectors_info,
    "wcodec_vectors_quality": wcodec_vectors_quality,
    "wcodec_vectors_compress_options": wcodec_vectors_compress_options,
    "wcodec_vectors_report": wcodec_vectors_report,
    "wcodec_vectors_store_info": wcodec_vectors_store_info,
    "wcodec_vectors_search_options": wcodec_vectors_search_options,
    "wcodec_vectors_compact_options": wcodec_vectors_compact_options,
    "wcodec_vectors_compact_report": wcodec_vectors_compact_report,
    "wcodec_training_step": wcodec_training_step,
    "wcodec_training_averages": wcodec_training_averages,
    "wcodec_rssm_options": wcodec_rssm_options,
    "wcodec_gru_weights": wcodec_gru_weights,
    "wcodec_rssm_names": wcodec_rssm_names,
    "wcodec_rssm_memory_info": wcodec_rssm_memory_info,
    "wcodec_rssm_input": wcodec_rssm_input,
    "wcodec_rssm_metrics": wcodec_rssm_metrics,
    "wcodec_rssm_output": wcodec_rssm_output,
    "wcodec_rssm_summary": wcodec_rssm_summary,
    "wcodec_rssm_starts": wcodec_rssm_starts,
    "wcodec_rssm_courses": wcodec_rssm_courses,
    "wcodec_gru_options": wcodec_gru_options,
    "wcodec_gru_array": wcodec_gru_array,
    "wcodec_gru_arrays": wcodec_gru_arrays,
    "wcodec_gru_names": wcodec_gru_names,
    "wcodec_gru_input": wcodec_gru_input,
    "wcodec_gru_output": wcodec_gru_output,
    "wcodec_rssm_learn_options": wcodec_rssm_learn_options,
    "wcodec_rssm_lesson": wcodec_rssm_lesson,
    "wcodec_rssm_learned": wcodec_rssm_learned,
    "wcodec_gru_values": wcodec_gru_values,
}

# Of each function: what it returns, and its arguments.
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "wcodec_version_number": (c_uint, ()),
    "wcodec_version_string": (c_char_p, ()),
    "wcodec_structure_size": (c_size_t, (c_char_p,)),
    "wcodec_status_string": (c_char_p, (c_int,)),
    "wcodec_dtype_name": (c_char_p, (c_int,)),
    "wcodec_dtype_bits": (c_uint, (c_int,)),
    "wcodec_dtype_from_name": (c_int, (c_char_p,)),
    "wcodec_options_init_size": (None, (POINTER(wcodec_options), c_size_t)),
    "wcodec_context_create": (c_int, (POINTER(wcodec_options), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_context_destroy": (None, (c_void_p,)),
    "wcodec_context_devices": (c_int, (c_void_p, POINTER(POINTER(wcodec_device_info)), POINTER(c_size_t), POINTER(wcodec_error))),
    "wcodec_context_threads": (c_uint, (c_void_p,)),
    "wcodec_reader_open_path": (c_int, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_reader_open_fd": (c_int, (c_void_p, c_int, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_reader_open_memory": (c_int, (c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_reader_open_io": (c_int, (c_void_p, POINTER(wcodec_io), c_size_t, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_reader_salvage_fd": (c_int, (c_void_p, c_int, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_reader_salvage_memory": (c_int, (c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_reader_close": (None, (c_void_p,)),
    "wcodec_reader_file_count": (c_uint64, (c_void_p,)),
    "wcodec_reader_tensor_count": (c_uint64, (c_void_p,)),
    "wcodec_reader_entry_count": (c_uint64, (c_void_p,)),
    "wcodec_reader_file": (c_int, (c_void_p, c_uint64, POINTER(wcodec_file_info), POINTER(wcodec_error))),
    "wcodec_reader_tensor": (c_int, (c_void_p, c_uint64, POINTER(wcodec_tensor_info), POINTER(wcodec_error))),
    "wcodec_reader_entry": (c_int, (c_void_p, c_uint64, POINTER(wcodec_tensor_info), POINTER(wcodec_error))),
    "wcodec_reader_find": (c_int, (c_void_p, c_char_p, POINTER(c_uint64), POINTER(wcodec_error))),
    "wcodec_reader_metadata_count": (c_uint64, (c_void_p, c_uint64)),
    "wcodec_reader_metadata": (c_int, (c_void_p, c_uint64, c_uint64, POINTER(c_char_p), POINTER(c_char_p), POINTER(wcodec_error))),
    "wcodec_decode_options_init_size": (None, (POINTER(wcodec_decode_options), c_size_t)),
    "wcodec_reader_decode": (c_int, (c_void_p, c_uint64, c_void_p, c_size_t, POINTER(wcodec_decode_options), POINTER(wcodec_error))),
    "wcodec_reader_decode_rows": (c_int, (c_void_p, c_uint64, c_uint64, c_uint64, c_void_p, c_size_t, POINTER(wcodec_decode_options), POINTER(wcodec_error))),
    "wcodec_reader_restore": (c_int, (c_void_p, c_uint64, wcodec_write_fn, c_void_p, POINTER(wcodec_decode_options), POINTER(wcodec_error))),
    "wcodec_reader_test": (c_int, (c_void_p, c_uint64, c_int, POINTER(wcodec_decode_options), POINTER(wcodec_error))),
    "wcodec_reader_check_parts": (c_int, (c_void_p, c_uint64, POINTER(wcodec_part_hashes), c_size_t, POINTER(wcodec_error))),
    "wcodec_hash_fd": (c_int, (c_void_p, c_int, POINTER(wcodec_progress), c_uint8 * 16, POINTER(wcodec_error))),
    "wcodec_hash_memory": (c_int, (c_void_p, c_void_p, c_size_t, c_uint8 * 16, POINTER(wcodec_error))),
    "wcodec_original_open_fd": (c_int, (c_void_p, c_int, c_char_p, c_char_p, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_original_describe": (None, (c_void_p, POINTER(wcodec_original_info))),
    "wcodec_original_tensor": (c_int, (c_void_p, c_uint64, POINTER(wcodec_tensor_info), POINTER(wcodec_error))),
    "wcodec_original_metadata": (c_int, (c_void_p, c_uint64, POINTER(c_char_p), POINTER(c_char_p), POINTER(wcodec_error))),
    "wcodec_original_close": (None, (c_void_p,)),
    "wcodec_bases_create": (c_int, (c_void_p, c_uint, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_bases_add_path": (c_int, (c_void_p, c_char_p, POINTER(wcodec_error))),
    "wcodec_bases_find": (c_int, (c_void_p, c_void_p, c_char_p, POINTER(wcodec_error))),
    "wcodec_bases_find_coded": (c_int, (c_void_p, c_void_p, c_char_p, POINTER(wcodec_error))),
    "wcodec_bases_count": (c_uint64, (c_void_p,)),
    "wcodec_bases_file": (c_int, (c_void_p, c_uint64, POINTER(c_char_p), c_uint8 * 16, POINTER(wcodec_error))),
    "wcodec_bases_destroy": (None, (c_void_p,)),
    "wcodec_reader_set_bases": (c_int, (c_void_p, c_void_p, POINTER(wcodec_error))),
    "wcodec_reader_set_bases_for": (c_int, (c_void_p, c_void_p, POINTER(c_uint64), c_uint64, POINTER(wcodec_error))),
    "wcodec_reader_delta": (c_int, (c_void_p, c_uint64, POINTER(wcodec_delta_info), POINTER(wcodec_error))),
    "wcodec_encode_options_init_size": (None, (POINTER(wcodec_encode_options), c_size_t)),
    "wcodec_compress_fd": (c_int, (c_void_p, c_int, wcodec_write_fn, c_void_p, POINTER(wcodec_encode_options), POINTER(wcodec_encode_report), POINTER(wcodec_error))),
    "wcodec_compress_memory": (c_int, (c_void_p, c_void_p, c_size_t, wcodec_write_fn, c_void_p, POINTER(wcodec_encode_options), POINTER(wcodec_encode_report), POINTER(wcodec_error))),
    "wcodec_compress_path": (c_int, (c_void_p, c_char_p, c_char_p, POINTER(wcodec_encode_options), POINTER(wcodec_encode_report), POINTER(wcodec_error))),
    "wcodec_recompress": (c_int, (c_void_p, c_uint64, wcodec_write_fn, c_void_p, POINTER(wcodec_encode_options), POINTER(wcodec_encode_report), POINTER(wcodec_error))),
    "wcodec_copy": (c_int, (c_void_p, POINTER(c_uint64), c_size_t, wcodec_write_fn, c_void_p, POINTER(wcodec_encode_options), POINTER(wcodec_encode_report), POINTER(wcodec_error))),
    "wcodec_join": (c_int, (c_void_p, POINTER(c_void_p), c_size_t, c_int, c_void_p, wcodec_write_fn, c_void_p, POINTER(wcodec_encode_options), POINTER(wcodec_encode_report), POINTER(wcodec_error))),
    "wcodec_writer_create": (c_int, (c_void_p, wcodec_write_fn, c_void_p, POINTER(wcodec_encode_options), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_writer_metadata": (c_int, (c_void_p, c_char_p, c_char_p, POINTER(wcodec_error))),
    "wcodec_writer_declare": (c_int, (c_void_p, c_char_p, c_int, POINTER(c_uint64), c_uint, POINTER(wcodec_error))),
    "wcodec_writer_data": (c_int, (c_void_p, c_void_p, c_size_t, POINTER(wcodec_error))),
    "wcodec_writer_finish": (c_int, (c_void_p, POINTER(wcodec_encode_report), POINTER(wcodec_error))),
    "wcodec_writer_destroy": (None, (c_void_p,)),
    "wcodec_context_device": (c_int, (c_void_p, POINTER(wcodec_device_handles), POINTER(wcodec_error))),
    "wcodec_buffer_create": (c_int, (c_void_p, c_uint64, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_buffer_native": (c_uint64, (c_void_p,)),
    "wcodec_buffer_read": (c_int, (c_void_p, c_uint64, c_void_p, c_size_t, POINTER(wcodec_error))),
    "wcodec_buffer_destroy": (None, (c_void_p,)),
    "wcodec_load_options_init_size": (None, (POINTER(wcodec_load_options), c_size_t)),
    "wcodec_load_layout": (c_int, (c_void_p, c_uint64, POINTER(wcodec_load_item), POINTER(c_uint64), POINTER(wcodec_error))),
    "wcodec_load": (c_int, (c_void_p, POINTER(wcodec_load_item), c_size_t, POINTER(wcodec_load_options), POINTER(wcodec_load_report), POINTER(wcodec_error))),
    "wcodec_load_many": (c_int, (c_void_p, POINTER(wcodec_load_target), c_size_t, POINTER(wcodec_load_options), POINTER(wcodec_load_report), POINTER(wcodec_error))),
    "wcodec_load_start": (c_int, (c_void_p, POINTER(wcodec_load_item), c_size_t, POINTER(wcodec_load_options), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_load_many_start": (c_int, (c_void_p, POINTER(wcodec_load_target), c_size_t, POINTER(wcodec_load_options), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_loading_ended": (c_int, (c_void_p,)),
    "wcodec_loading_progress": (None, (c_void_p, POINTER(c_uint64), POINTER(c_uint64))),
    "wcodec_loading_cancel": (None, (c_void_p,)),
    "wcodec_loading_wait": (c_int, (c_void_p, POINTER(wcodec_load_report), POINTER(wcodec_error))),
    "wcodec_loading_destroy": (None, (c_void_p,)),
    "wcodec_reader_measure": (c_int, (c_void_p, POINTER(c_uint64), c_size_t, c_uint, POINTER(wcodec_device_rates), POINTER(wcodec_error))),
    "wcodec_save_options_init_size": (None, (POINTER(wcodec_save_options), c_size_t)),
    "wcodec_save": (c_int, (c_void_p, POINTER(wcodec_save_item), c_size_t, POINTER(wcodec_save_options), POINTER(wcodec_encode_report), POINTER(wcodec_error))),
    "wcodec_save_start": (c_int, (c_void_p, POINTER(wcodec_save_item), c_size_t, POINTER(wcodec_save_options), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_saving_ended": (c_int, (c_void_p,)),
    "wcodec_saving_progress": (None, (c_void_p, POINTER(c_uint64), POINTER(c_uint64))),
    "wcodec_saving_cancel": (None, (c_void_p,)),
    "wcodec_saving_wait": (c_int, (c_void_p, POINTER(wcodec_encode_report), POINTER(wcodec_error))),
    "wcodec_saving_destroy": (None, (c_void_p,)),
    "wcodec_delta_encode_options_init_size": (None, (POINTER(wcodec_delta_encode_options), c_size_t)),
    "wcodec_delta_encode": (c_int, (c_void_p, POINTER(wcodec_save_item), c_size_t, POINTER(wcodec_save_item), c_size_t, POINTER(wcodec_delta_encode_options), POINTER(c_void_p), POINTER(c_size_t), POINTER(wcodec_encode_report), POINTER(wcodec_error))),
    "wcodec_delta_free": (None, (c_void_p, c_void_p)),
    "wcodec_delta_apply_options_init_size": (None, (POINTER(wcodec_delta_apply_options), c_size_t)),
    "wcodec_delta_apply": (c_int, (c_void_p, c_void_p, c_size_t, POINTER(wcodec_save_item), c_size_t, POINTER(wcodec_delta_apply_options), POINTER(wcodec_delta_report), POINTER(wcodec_error))),
    "wcodec_resident_options_init_size": (None, (POINTER(wcodec_resident_options), c_size_t)),
    "wcodec_resident_create": (c_int, (c_void_p, POINTER(c_uint64), c_size_t, POINTER(wcodec_resident_options), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_resident_count": (c_uint64, (c_void_p,)),
    "wcodec_resident_size": (c_uint64, (c_void_p,)),
    "wcodec_resident_find": (c_int, (c_void_p, c_char_p, POINTER(c_uint64), POINTER(wcodec_error))),
    "wcodec_resident_info": (c_int, (c_void_p, c_uint64, POINTER(wcodec_resident_tensor), POINTER(wcodec_error))),
    "wcodec_resident_decode": (c_int, (c_void_p, c_uint64, c_uint64, c_uint64, c_void_p, c_size_t, POINTER(wcodec_error))),
    "wcodec_resident_gather": (c_int, (c_void_p, c_uint64, POINTER(c_int64), c_size_t, c_void_p, c_size_t, POINTER(wcodec_error))),
    "wcodec_resident_decode_queued": (c_int, (c_void_p, c_uint64, c_uint64, c_uint64, c_uint64, c_uint64, c_uint64, POINTER(wcodec_error))),
    "wcodec_resident_gather_queued": (c_int, (c_void_p, c_uint64, c_uint64, c_uint64, c_uint64, c_uint64, c_uint64, POINTER(wcodec_error))),
    "wcodec_resident_check": (c_int, (c_void_p, POINTER(wcodec_error))),
    "wcodec_linear_init_size": (None, (POINTER(wcodec_linear), c_size_t)),
    "wcodec_resident_linear_work": (c_uint64, (c_void_p, c_uint64, c_uint64)),
    "wcodec_resident_linear_straight": (c_int, (c_void_p, c_uint64, c_uint64, c_int)),
    "wcodec_resident_linear": (c_int, (c_void_p, c_uint64, POINTER(wcodec_linear), POINTER(wcodec_error))),
    "wcodec_resident_destroy": (None, (c_void_p,)),
    "wcodec_vectors_options_init_size": (None, (POINTER(wcodec_vectors_options), c_size_t)),
    "wcodec_vectors_train": (c_int, (c_void_p, POINTER(wcodec_vector_rows), POINTER(wcodec_vectors_options), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_vectors_describe": (None, (c_void_p, POINTER(wcodec_vectors_info))),
    "wcodec_vectors_evaluate": (c_int, (c_void_p, c_void_p, POINTER(wcodec_vector_rows), c_uint64, c_uint64, POINTER(wcodec_progress), POINTER(wcodec_vectors_quality), POINTER(wcodec_error))),
    "wcodec_vectors_export": (c_int, (c_void_p, c_int, wcodec_write_fn, c_void_p, POINTER(wcodec_error))),
    "wcodec_vectors_import": (c_int, (c_void_p, c_void_p * 3, c_size_t * 3, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_vectors_destroy": (None, (c_void_p,)),
    "wcodec_vectors_compress_options_init_size": (None, (POINTER(wcodec_vectors_compress_options), c_size_t)),
    "wcodec_vectors_compress": (c_int, (c_void_p, c_void_p, POINTER(wcodec_vector_rows), POINTER(wcodec_vectors_compress_options), wcodec_write_fn, c_void_p, POINTER(wcodec_vectors_report), POINTER(wcodec_error))),
    "wcodec_vectors_decode": (c_int, (c_void_p, c_uint64, c_uint64, POINTER(c_float), c_size_t, POINTER(wcodec_error))),
    "wcodec_vectors_open": (c_int, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_vectors_open_reader": (c_int, (c_void_p, c_void_p, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_vectors_store_describe": (None, (c_void_p, POINTER(wcodec_vectors_store_info))),
    "wcodec_vectors_search_options_init_size": (None, (POINTER(wcodec_vectors_search_options), c_size_t)),
    "wcodec_vectors_search": (c_int, (c_void_p, POINTER(wcodec_vector_rows), POINTER(wcodec_vectors_search_options), POINTER(c_uint64), POINTER(c_float), POINTER(wcodec_error))),
    "wcodec_vectors_tune": (c_int, (c_void_p, POINTER(wcodec_vector_rows), POINTER(wcodec_vectors_search_options), c_double, POINTER(c_uint64), POINTER(wcodec_error))),
    "wcodec_vectors_close": (None, (c_void_p,)),
    "wcodec_vectors_store_add": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(wcodec_vector_rows), POINTER(wcodec_vectors_compress_options), POINTER(c_uint64), POINTER(wcodec_vectors_report), POINTER(wcodec_error))),
    "wcodec_vectors_store_remove": (c_int, (c_void_p, c_char_p, POINTER(c_uint64), c_uint64, POINTER(wcodec_error))),
    "wcodec_vectors_compact_options_init_size": (None, (POINTER(wcodec_vectors_compact_options), c_size_t)),
    "wcodec_vectors_store_compact": (c_int, (c_void_p, c_char_p, POINTER(wcodec_vectors_compact_options), POINTER(wcodec_vectors_compact_report), POINTER(wcodec_error))),
    "wcodec_training_state_create": (c_int, (c_void_p, POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_training_state_step": (c_int, (c_void_p, POINTER(wcodec_training_step), POINTER(wcodec_error))),
    "wcodec_training_state_features": (c_int, (c_void_p, c_uint64, POINTER(c_float), POINTER(wcodec_error))),
    "wcodec_training_states_features": (c_int, (c_void_p, POINTER(c_void_p), c_uint64, c_uint64, POINTER(c_float), POINTER(wcodec_error))),
    "wcodec_training_state_averages": (None, (c_void_p, POINTER(wcodec_training_averages))),
    "wcodec_training_state_destroy": (None, (c_void_p,)),
    "wcodec_rssm_options_init_size": (None, (POINTER(wcodec_rssm_options), c_size_t)),
    "wcodec_rssm_create": (c_int, (c_void_p, POINTER(wcodec_rssm_options), POINTER(wcodec_gru_weights), POINTER(c_float), POINTER(c_float), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_rssm_open": (c_int, (c_void_p, POINTER(wcodec_rssm_options), POINTER(wcodec_rssm_names), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_rssm_sizes": (None, (c_void_p, POINTER(wcodec_rssm_options))),
    "wcodec_rssm_memory": (c_int, (POINTER(wcodec_rssm_options), POINTER(wcodec_rssm_memory_info), POINTER(wcodec_error))),
    "wcodec_rssm_rollout": (c_int, (c_void_p, POINTER(wcodec_rssm_input), c_uint64, POINTER(wcodec_rssm_output), POINTER(wcodec_rssm_summary), POINTER(wcodec_error))),
    "wcodec_rssm_rollout_many": (c_int, (c_void_p, POINTER(wcodec_rssm_starts), c_uint64, POINTER(wcodec_rssm_courses), POINTER(wcodec_error))),
    "wcodec_rssm_destroy": (None, (c_void_p,)),
    "wcodec_rssm_confidence": (c_float, (c_float, POINTER(c_float), c_uint64, c_float, c_float)),
    "wcodec_gru_options_init_size": (None, (POINTER(wcodec_gru_options), c_size_t)),
    "wcodec_gru_create": (c_int, (c_void_p, POINTER(wcodec_gru_options), POINTER(wcodec_gru_arrays), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_gru_open": (c_int, (c_void_p, POINTER(wcodec_gru_options), POINTER(wcodec_gru_names), POINTER(c_void_p), POINTER(wcodec_error))),
    "wcodec_gru_sizes": (None, (c_void_p, POINTER(wcodec_gru_options))),
    "wcodec_gru_run": (c_int, (c_void_p, POINTER(wcodec_gru_input), POINTER(wcodec_gru_output), POINTER(wcodec_error))),
    "wcodec_gru_destroy": (None, (c_void_p,)),
    "wcodec_rssm_learn_options_init_size": (None, (POINTER(wcodec_rssm_learn_options), c_size_t)),
    "wcodec_rssm_learn": (c_int, (c_void_p, POINTER(wcodec_rssm_learn_options), POINTER(wcodec_rssm_lesson), POINTER(wcodec_rssm_learned), POINTER(wcodec_error))),
    "wcodec_rssm_gradients": (c_int, (c_void_p, POINTER(wcodec_rssm_lesson), POINTER(wcodec_gru_values), POINTER(c_float), POINTER(wcodec_rssm_learned), POINTER(wcodec_error))),
    "wcodec_rssm_weights": (c_int, (c_void_p, POINTER(wcodec_gru_values), POINTER(c_float), POINTER(c_float), POINTER(wcodec_error))),
}
