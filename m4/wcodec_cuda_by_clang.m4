# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

# serial 1

# WCODEC_CUDA_BY_CLANG: does it build our kernels? Of the default architectures those that it knows
# are taken. Sets cuda_archs and cuda_by.
AC_DEFUN([WCODEC_CUDA_BY_CLANG], [
AC_PATH_PROGS([CUDA_CLANG], [${CUDA_CLANG-clang clang-22 clang-21 clang-20 clang-19 clang-18 clang-17 clang-16 clang-15 clang-14}])
AS_IF([test "x$CUDA_CLANG" = x], [AC_MSG_ERROR([--with-cuda-compiler=clang was given, but clang was not found; set CUDA_CLANG])])
known=
for arch in $cuda_archs; do
  AC_MSG_CHECKING([whether $CUDA_CLANG builds kernels for compute capability $arch])
  AS_IF([CUDA_CLANG=$CUDA_CLANG CUDA_CLANGFLAGS=$CUDA_CLANGFLAGS $SHELL "$srcdir/backends/cuda/by-clang.sh" check "$srcdir" $arch >&AS_MESSAGE_LOG_FD 2>&1],
    [AC_MSG_RESULT([yes])
     known="$known $arch"],
    [AC_MSG_RESULT([no])
     AS_IF([test $with_cuda_arch != default],
       [AC_MSG_ERROR([$CUDA_CLANG does not build the kernels for compute capability $arch (why: config.log); set CUDA_CLANG to a newer one, or leave it out: devices run the PTX of lesser ones])])])
done
AS_IF([test "x$known" = x], [AC_MSG_ERROR([$CUDA_CLANG builds no kernels (why: config.log); set CUDA_CLANG to clang 14 or newer, with the NVPTX target])])
cuda_archs=$known
AS_IF([test "x$PTXAS" != xno],
  [AC_PATH_PROG([PTXAS], [${PTXAS-ptxas}], [no], [$cuda_path])
   AC_PATH_PROG([FATBINARY], [${FATBINARY-fatbinary}], [no], [$cuda_path])])
cuda_by="by $CUDA_CLANG and $PTXAS"
AS_IF([test "x$PTXAS" = xno || test "x$FATBINARY" = xno], [PTXAS= FATBINARY= cuda_by="by $CUDA_CLANG, as PTX only"])
])
