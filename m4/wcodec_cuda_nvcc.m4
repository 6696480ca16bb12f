# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

# serial 1

# WCODEC_CUDA_NVCC: are there nvcc and the architectures of cuda_archs? Sets cuda_targets and cuda_by.
AC_DEFUN([WCODEC_CUDA_NVCC], [
AC_PATH_PROG([NVCC], [${NVCC-nvcc}], [], [$cuda_path])
AS_IF([test "x$NVCC" = x], [AC_MSG_ERROR([--with-cuda was given, but nvcc was not found; set NVCC, give --with-cuda=DIR, or build the kernels by --with-cuda-compiler=clang])])
known=$($NVCC --list-gpu-code 2>&AS_MESSAGE_LOG_FD | tr '\n' ' ')
for arch in $cuda_archs; do
  AS_CASE([" $known"], [" "], [], [*" sm_$arch "*], [], [AC_MSG_ERROR([$NVCC does not know compute capability $arch; it knows $known])])
  # Of compute capability 9.0 there are only such devices as have all of 9.0a.
  code=$arch
  AS_CASE(["$arch $($NVCC --help)"], ["90 "*sm_90a*],
          [code=90a
           AC_DEFINE([HAVE_CUDA_WARPGROUPS], [1], [CUDA's kernels of products by warpgroups are built])])
  cuda_targets="$cuda_targets -gencode arch=compute_$code,code=sm_$code"
done
cuda_targets="$cuda_targets -gencode arch=compute_$arch,code=compute_$arch"
cuda_by="by $NVCC"
])
