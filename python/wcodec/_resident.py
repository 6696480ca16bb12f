# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tensors that stay coded in memory, to be decoded and multiplied by as often as wanted."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import operator
import re
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from . import _context, _resident_opencl
from . import _declarations as c
from ._arrays import Arrays, Block, Numpy, Torch, is_torch
from ._context import Handle, Progress, Watch, error_of
from ._dtypes import elements
from ._errors import TensorNotFoundError, UnsupportedError, UsageError
from ._frameworks import Request
from ._library import lib
from ._open import open_any
from ._reader import Reader, Source, TensorInfo

FORMS = {
    "auto": c.WCODEC_RESIDENT_AUTO,
    "coded": c.WCODEC_RESIDENT_CODED,
    "fixed": c.WCODEC_RESIDENT_FIXED,
    "plain": c.WCODEC_RESIDENT_PLAIN,
}
_FORM_NAMES = {number: name for name, number in FORMS.items()}

OPERANDS = {
    "BF16": c.WCODEC_DTYPE_BF16,
    "F16": c.WCODEC_DTYPE_F16,
    "F32": c.WCODEC_DTYPE_F32,
}
"""Types of what a matrix is multiplied by, and of the result."""
PRODUCTS = {"BF16", "F16", "F32", "I8", "U8", "F8_E4M3", "F8_E5M2"}
"""Types of matrices that there are products with."""
TILE = 32 << 10
"""Decoded bytes of most tiles."""


class ResidentInfo(NamedTuple):
    """One resident tensor."""

    number: int
    """Its number among the resident ones."""
    name: str
    dtype: str
    """Name in the safetensors format, such as "BF16"."""
    shape: tuple[int, ...]
    """Dimensions in elements."""
    nbytes: int
    """Decoded bytes."""
    form: str
    """"coded", "fixed" or "plain"."""
    held: int
    """Bytes of memory that it takes; 0 where they are another's, or it is one element repeated."""
    alias: str | None
    """The resident tensor whose elements these are."""
    native: int = 0
    """Plain, in a device's memory: the address of its elements."""

    def is_gathered(self, rows: int) -> bool:
        """Whether so many rows of what stays coded are worth a tile's decoding each."""
        row = self.nbytes // max(self.shape[0], 1)
        return self.form == "coded" and rows * max(row, TILE) < self.nbytes


class _Made(Handle):
    """The library's resident object, ended when the last call that uses it is over."""


class Resident:
    """Tensors of a .wcodec file, or of a folder of them, that stay coded in memory.

        with wcodec.Resident("model.safetensors.wcodec") as resident:
            y = resident.linear("mlp.weight", x, bias)

    In host memory results are the same, bit for bit, in every form. Arrays are those of numpy;
    where tensors of torch are given, such come back. In the memory of a CUDA device they are
    torch's, and calls are given to torch's current stream; in that of an OpenCL device they are in
    host memory, and calls wait for what is copied. It may be used from several threads at
    once, and closed at any time: calls that run go on to their end, and the memory is freed when
    they are over (on a device: wait for its streams before, and replay no graph that has captured
    calls). A forked child cannot use it.
    """

    def __init__(
        self,
        path: Source,
        names: Iterable[str] | None = None,
        device: Any = "cpu",
        form: str = "auto",
        *,
        framework: str = "np",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Read the tensors and check them: damage is found here, and never later.

        Args:
            path: a .wcodec file, a folder of them, an index beside them, or the bytes of a file.
            names: only these tensors; None: all.
            device: "cpu", or "cuda", "cuda:1": the memory of that device, of compute capability
                8.0 or later, for torch; or "opencl", "opencl:1": that of an OpenCL device, for
                arrays in host memory.
            form: "coded", as in the file: smallest; "plain", decoded: fastest; "fixed", at the
                fixed rate where that is for the tensor, made for devices: on the CPU neither;
                "auto": matrices of BF16 and F16 coded where that takes 7/8 of their bytes or less,
                all else plain. On a device "auto" is "fixed"; "coded" is decoded there, and by
                NVIDIA's tensor cores up to 32 vectors are multiplied straight from files of
                tune="compute", all else is decoded first.
            framework: "np" or "pt": what decode() and gather() give where no argument says it.
            threads: None: WCODEC_THREADS, else one for each core.
            progress: called as progress(done, total) with decoded bytes.

        Raises:
            MissingFileError, FileError, CorruptError, NewerFormatError, LimitError,
            OutOfMemoryError, TensorNotFoundError, UsageError, UnsupportedError (a file that is
            not compressed).
        """
        if not isinstance(form, str) or form not in FORMS:
            raise UsageError(f"form is {form!r}: expected one of {', '.join(map(repr, FORMS))}")
        if framework not in ("np", "numpy", "pt", "torch", "pytorch"):
            raise UsageError(f"framework is {framework!r}: expected 'np' or 'pt'")
        if isinstance(names, str):
            raise UsageError(f"names is {names!r}: expected several names, as in [{names!r}]")
        self._arrays: Arrays = Numpy() if framework in ("np", "numpy") else Torch()
        self._device: Any = None
        self._opencl: _resident_opencl.Device | None = None
        if re.fullmatch(r"opencl(:\d+)?", str(device)):
            self._opencl = _resident_opencl.Device(self._check)
        elif str(device) != "cpu":
            try:
                from . import _resident_cuda
            except ModuleNotFoundError:
                raise UnsupportedError(
                    f"device is {device!r}: another than 'cpu' needs torch"
                ) from None
            on = _resident_cuda.device_of(device)
            self._device = None if on is None else _resident_cuda.Device(self, on)
        if self._opencl is not None:
            self.device = backend = str(device)
            memory = "opencl"
        elif self._device is not None:
            self.device = str(self._device.device)
            backend, memory = self._device.backend, self._device.memory
        else:
            self.device = backend = "cpu"
            memory = None
        reader = open_any(path, backend=backend, threads=threads)
        try:
            if not isinstance(reader, Reader):
                raise UnsupportedError(
                    f"{reader.path or 'the data'}: is not compressed: wcodec.compress() makes what "
                    "can stay so in memory",
                    file=reader.path or None,
                )
            self.path = reader.path
            chosen = None if names is None else [reader.find(name) for name in names]
            self._made: _Made | None = _create(reader, chosen, FORMS[form], progress, memory)
            infos = reader.tensors()
            listed = infos if chosen is None else [infos[number] for number in chosen]
            self._tensors = _described(self._made, listed)
            self._names = tuple(self._tensors)
        finally:
            reader.close()
        self._size = int(lib.wcodec_resident_size(self._made.handle))
        self.key = next(_keys)
        by_key[self.key] = self

    def _use(self) -> _Made:
        """The library's object. The caller keeps the result until his call is over."""
        made = self._made
        if made is None:
            raise UsageError("the resident tensors are closed", file=self.path or None)
        if made.generation != _context.generation:
            raise UsageError(
                "these resident tensors belong to the process that forked this one",
                file=self.path or None,
            )
        return made

    def _find(self, name: str) -> tuple[ResidentInfo, TensorInfo]:
        if not isinstance(name, str):
            raise TypeError(f"the name of a tensor is a str, not {type(name).__name__}")
        found = self._tensors.get(name)
        if found is None:
            where = f"{self.path}: " if self.path else ""
            raise TensorNotFoundError(
                f"{where}no tensor {name!r} is resident", file=self.path or None, tensor=name
            )
        return found

    def _check(self, status: int, error: c.wcodec_error, name: str) -> None:
        if status != c.WCODEC_OK:
            raise error_of(status, error, files=[self.path] if self.path else [], tensors=[name])

    def _wrong(self, name: str, text: str) -> UsageError:
        return UsageError(f"tensor {name!r}: {text}", file=self.path or None, tensor=name)

    def _whole(self, name: str, number: Any, what: str) -> int:
        """A number of rows, of numpy's too."""
        if not isinstance(number, bool):
            with contextlib.suppress(TypeError):
                return operator.index(number)
        raise self._wrong(name, f"{what} is {number!r}: expected a whole number")

    def _arrays_of(self, *given: Any) -> Arrays:
        """Of the framework of the first argument that is given."""
        first = next((array for array in given if array is not None), None)
        if is_torch(first):
            return Torch()
        return Numpy() if first is not None and hasattr(first, "__array__") else self._arrays

    def close(self) -> None:
        """Free the memory; calls that run in other threads go on. May be called again."""
        self._made = None
        if self._device is not None:
            self._device.close()

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._made is None

    def __enter__(self) -> Resident:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> Resident:
        return self

    def __deepcopy__(self, _memo: object) -> Resident:
        return self  # it never changes

    def __reduce__(self) -> Any:
        raise TypeError("resident tensors cannot be pickled: they are memory of this process")

    def __repr__(self) -> str:
        of = repr(self.path) if self.path else "of bytes"
        if self.closed:
            return f"<closed wcodec.Resident {of}>"
        return f"<wcodec.Resident {of}: {len(self._tensors)} tensors in {self._size} bytes>"

    @property
    def nbytes(self) -> int:
        """Bytes of memory that all elements take."""
        self._use()
        return self._size

    def names(self) -> list[str]:
        """Names of the resident tensors."""
        self._use()
        return list(self._names)

    def keys(self) -> list[str]:
        """The same as names(), by the name that safe_open() has for it."""
        return self.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        self._use()
        return len(self._names)

    def __bool__(self) -> bool:
        return True  # also without tensors, and closed

    def __contains__(self, name: object) -> bool:
        self._use()
        return isinstance(name, str) and name in self._tensors

    def name_of(self, number: int) -> str:
        """The name of the tensor that ResidentInfo.number says."""
        self._use()
        if not 0 <= number < len(self._names):
            raise UsageError(
                f"there is no resident tensor {number}, but {len(self._names)} of them",
                file=self.path or None,
            )
        return self._names[number]

    def info(self, name: str) -> ResidentInfo:
        """Describe a tensor."""
        self._use()
        return self._find(name)[0]

    def decode(
        self, name: str, out: Any = None, *, first: int = 0, count: int | None = None
    ) -> Any:
        """A tensor decoded, or `count` of its rows (of the first dimension) from `first` on.

        Args:
            name: the tensor.
            out: where it goes: contiguous, of its shape and type; None: a new array.
            first, count: rows; count None: to the end.

        Returns:
            The array.

        Raises:
            TensorNotFoundError, UsageError (rows out of range, a wrong out, closed), LimitError,
            OutOfMemoryError.
        """
        made = self._use()
        info, tensor = self._find(name)
        rows = info.shape[0] if info.shape else 1
        first = self._whole(name, first, "first")
        count = rows - first if count is None else self._whole(name, count, "count")
        if not info.shape and (first, count) != (0, 1):
            raise self._wrong(name, "a scalar has no rows")
        if first < 0 or count < 0 or first + count > rows:
            raise self._wrong(name, f"rows from {first} on, {count} of them, are not among {rows}")
        if self._device is not None:
            decoded = self._device.decode(made, info, out, first, count)
            return decoded if out is None else out
        whole = count == rows
        to = self._target(name, Request(tensor) if whole else Request(tensor, first, count), out)
        error = c.wcodec_error()
        size = elements(to.shape) * to.itemsize
        if self._opencl is not None:
            self._opencl.decode(made, info, first, count, to.address, size)
            return to.array if out is None else out
        status = lib.wcodec_resident_decode(
            made.handle, info.number, first, count, to.address, size, error
        )
        self._check(status, error, name)
        return to.array if out is None else out

    def gather(self, name: str, rows: Any, out: Any = None) -> Any:
        """The rows of the first dimension that an index names, as an embedding takes them.

        Args:
            name: the tensor.
            rows: whole numbers from 0, in any shape; one may come several times.
            out: where they go: contiguous, of shape (*rows.shape, *shape[1:]), of its type; None: a
                new array.

        Returns:
            The array.

        Raises:
            As decode(); nothing is written where a row does not exist. On a CUDA device, whose
            numbers the host does not wait for, such a row is of zeros, and check() tells it.
        """
        made = self._use()
        info, tensor = self._find(name)
        if not info.shape:
            raise self._wrong(name, "a scalar has no rows")
        if self._device is not None:
            gathered = self._device.gather(made, info, rows, out)
            return gathered if out is None else out
        arrays = self._arrays_of(rows, out)
        index = arrays.index(rows)
        count = elements(index.shape)
        request = Request(tensor, 0, count)
        shape = index.shape
        to = self._target(name, request, out, shape, arrays)
        if to.overlaps(index):
            index = arrays.packed(index)  # else numbers that were checked would be overwritten
        error = c.wcodec_error()
        numbers = ctypes.cast(index.address, ctypes.POINTER(ctypes.c_int64))
        size = elements(to.shape) * to.itemsize
        if self._opencl is not None:
            _resident_opencl.check_rows(self, info, index.address, count)
            self._opencl.gather(made, info, index.address, count, to.address, size)
        else:
            status = lib.wcodec_resident_gather(
                made.handle, info.number, numbers, count, to.address, size, error
            )
            self._check(status, error, name)
        if out is not None:
            return out
        return arrays.shaped(to.array, (*shape, *to.shape[1:]))

    def _target(
        self,
        name: str,
        request: Request,
        out: Any,
        rows: tuple[int, ...] | None = None,
        arrays: Arrays | None = None,
    ) -> Block:
        """Memory for what is requested: out, or a new array. `rows` stands for the first dimension
        of out."""
        arrays = arrays or self._arrays_of(out)
        expected = arrays.requested(request)
        if out is None:
            return expected
        to = arrays.target(out, "out")
        shape = expected.shape if rows is None else (*rows, *expected.shape[1:])
        if to.shape != shape or to.array.dtype != expected.array.dtype or not to.contiguous():
            raise self._wrong(
                name,
                f"out is {to.array.dtype} of shape {to.shape}: expected a contiguous "
                f"{expected.array.dtype} of {shape}",
            )
        return to

    def check(self) -> None:
        """Wait for the current stream of a CUDA device, and tell whether gathers there met rows
        that do not exist: a row of zeros is all that gather() can give for them. Each is told
        once. Elsewhere gather() tells it.

        Raises:
            UsageError (there were such rows, or closed), DeviceError.
        """
        made = self._use()
        if self._device is not None:
            self._device.check(made)

    def linear(
        self,
        name: str,
        x: Any,
        bias: Any = None,
        scales: Any = None,
        transposed: bool = False,
        out: Any = None,
    ) -> Any:
        """Multiply by a matrix W of n rows and k columns: x W^T + bias, or x W if transposed.

        W is decoded piece by piece. Sums are binary32, in an order that wcodec/resident.h defines:
        the result is the same in every form, with any number of threads, on every machine. On a
        CUDA device up to 64 vectors of BF16 (32 of F16, 21 of F32), 128 by 8192 rows and more, are
        multiplied straight from the fixed rate, of compute capability 9.0 up to 128, or 256 by 2^25
        elements; if transposed, up to 16 there, and by 8192 columns and more elsewhere: whatever
        wcodec_resident_linear_straight() says is faster, with the error that resident.h says. For
        more, for other forms, and with scales, torch multiplies by W, at most 128 MiB of it decoded
        at a time.

        Args:
            name: W, of BF16, F16, F32, I8, U8, F8_E4M3 or F8_E5M2.
            x: of shape [..., k], or [..., n] if transposed, of BF16, F16 or F32. It is copied
                unless its rows are contiguous and at equal distances.
            bias: None, or n numbers of such a type; not if transposed.
            scales: None, or n numbers, [n] or [n, 1], that the rows of W are multiplied by.
            transposed: as backward passes need it.
            out: where the result goes: of shape [..., n] (transposed: [..., k]) and such a type;
                None: a new array of the type of x.

        Returns:
            The result.

        Raises:
            TensorNotFoundError, UsageError (shapes and types that do not fit, closed),
            UnsupportedError (a type of W), LimitError, OutOfMemoryError.
        """
        made = self._use()
        info, _ = self._find(name)
        if len(info.shape) != 2:
            raise self._wrong(name, f"a product needs 2 dimensions, its shape is {info.shape}")
        if self._device is not None:
            y = self._device.linear(made, info, x, bias, scales, transposed, out)
            return y if out is None else out
        arrays = self._arrays_of(x)
        given = self._operand(arrays, name, x, "x")
        n, k = info.shape
        width, height = (n, k) if transposed else (k, n)
        if not given.shape or given.shape[-1] != width:
            raise self._wrong(
                name, f"x has shape {given.shape}: its last dimension must be {width}"
            )
        if given.stride() is None:
            given = arrays.packed(given)
        shape = (*given.shape[:-1], height)
        to, direct = self._result(arrays, name, given, shape, out)
        linear = c.wcodec_linear()
        lib.wcodec_linear_init_size(linear, ctypes.sizeof(linear))
        linear.transposed = bool(transposed)
        linear.rows = elements(shape[:-1])
        linear.x, linear.x_dtype = given.address, OPERANDS[given.dtype]
        linear.y, linear.y_dtype = to.address, OPERANDS[to.dtype]
        linear.x_stride, linear.y_stride = given.stride() or 0, to.stride() or 0
        added = self._vector(arrays, name, bias, "bias", [(n,)])
        if added is not None:
            linear.bias, linear.bias_dtype = added.address, OPERANDS[added.dtype]
        scale = self._vector(arrays, name, scales, "scales", [(n,), (n, 1)])
        if scale is not None:
            linear.scales, linear.scales_dtype = scale.address, OPERANDS[scale.dtype]
        if elements(shape):
            self._multiply(made, info, linear, given, to, (added, scale))
        if out is None:
            return to.array
        if not direct:
            arrays.copy(out, to.array)
        return out

    def _multiply(
        self,
        made: _Made,
        info: ResidentInfo,
        linear: c.wcodec_linear,
        x: Block,
        y: Block,
        added: tuple[Block | None, Block | None],
    ) -> None:
        if self._opencl is None:
            error = c.wcodec_error()
            status = lib.wcodec_resident_linear(made.handle, info.number, linear, error)
            self._check(status, error, info.name)
            return
        width = x.shape[-1] * x.itemsize
        sizes = (
            (linear.rows - 1) * (linear.x_stride or width) + width,
            elements(y.shape) * y.itemsize,
            *(0 if block is None else elements(block.shape) * block.itemsize for block in added),
        )
        self._opencl.linear(made, info, linear, sizes)

    def _operand(self, arrays: Arrays, name: str, array: Any, what: str) -> Block:
        block = arrays.block(array, what)
        if block.dtype not in OPERANDS:
            raise self._wrong(name, f"{what} is {block.dtype}: expected BF16, F16 or F32")
        return block

    def _vector(
        self, arrays: Arrays, name: str, array: Any, what: str, shapes: list[tuple[int, ...]]
    ) -> Block | None:
        if array is None:
            return None
        block = self._operand(arrays, name, array, what)
        if block.shape not in shapes:
            raise self._wrong(name, f"{what} has shape {block.shape}: expected {shapes[0]}")
        aligned = block.address % block.itemsize == 0
        return block if block.contiguous() and aligned else arrays.packed(block)

    def _result(
        self, arrays: Arrays, name: str, x: Block, shape: tuple[int, ...], out: Any
    ) -> tuple[Block, bool]:
        """Where the product goes: out, or a new array, which is to be copied to out where the
        library cannot write to that."""
        if out is None:
            return arrays.empty(shape, x.dtype), False
        to = arrays.target(out, "out")
        if to.shape != shape or to.dtype not in OPERANDS:
            raise self._wrong(
                name,
                f"out is {to.dtype} of shape {to.shape}: expected BF16, F16 or F32 of {shape}",
            )
        spaced = to.stride() is None or (self._opencl is not None and not to.contiguous())
        if spaced or to.overlaps(x):
            return arrays.empty(shape, to.dtype), False
        return to, True


_keys = itertools.count(1)
by_key: weakref.WeakValueDictionary[int, Resident] = weakref.WeakValueDictionary()
"""What operators of torch, which take numbers only, find resident tensors by."""


def _create(
    reader: Reader,
    chosen: list[int] | None,
    form: int,
    progress: Progress | None,
    memory: str | None,
) -> _Made:
    options = c.wcodec_resident_options()
    lib.wcodec_resident_options_init_size(options, ctypes.sizeof(options))
    options.form = form
    options.memory = None if memory is None else memory.encode()
    if memory is not None and memory != "opencl":
        options.decoded = 0  # torch multiplies by what is decoded
    watch = Watch(progress)
    options.progress = watch.progress
    opened, handle, error = reader.opened(), ctypes.c_void_p(), c.wcodec_error()
    count = len(chosen or ())
    # None stands for all: an array is given where nothing is chosen, too.
    numbers = None if chosen is None else (ctypes.c_uint64 * max(count, 1))(*chosen)
    status = watch.run(
        lambda: lib.wcodec_resident_create(opened.handle, numbers, count, options, handle, error)
    )
    reader.check(status, error)
    # It needs the context, not the reader.
    return _Made(handle, lib.wcodec_resident_destroy, opened._parent)


def _described(
    made: _Made, tensors: list[TensorInfo]
) -> dict[str, tuple[ResidentInfo, TensorInfo]]:
    found, error = c.wcodec_resident_tensor(), c.wcodec_error()
    described = {}
    for number, tensor in enumerate(tensors):
        status = lib.wcodec_resident_info(made.handle, number, found, error)
        if status != c.WCODEC_OK:
            raise error_of(status, error, tensors=[tensor.name])
        info = ResidentInfo(
            number,
            tensor.name,
            tensor.dtype,
            tensor.shape,
            tensor.nbytes,
            _FORM_NAMES[found.form],
            found.held,
            tensors[found.alias_of].name if found.alias_of < len(tensors) else None,
            found.native,
        )
        described[tensor.name] = (info, tensor)
    return described
