# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

# The macros of configure.ac.

# serial 1

# WCODEC_TRY_FLAG(VARIABLE, FLAG): append FLAG to VARIABLE if compiler and linker take it.
AC_DEFUN([WCODEC_TRY_FLAG], [
AS_VAR_PUSHDEF([cached], [wcodec_cv_flag_$2])dnl
AC_CACHE_CHECK([whether $CC takes $2], [cached],
  [wcodec_saved_cflags=$CFLAGS
   CFLAGS="$CFLAGS -Werror $2"
   AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET([cached], [yes])], [AS_VAR_SET([cached], [no])])
   CFLAGS=$wcodec_saved_cflags])
AS_VAR_IF([cached], [yes], [AS_VAR_APPEND([$1], [" $2"])])
AS_VAR_POPDEF([cached])dnl
])

# WCODEC_NEEDS(PREFIX, MODULE): a library without which nothing goes.
AC_DEFUN([WCODEC_NEEDS], [
PKG_CHECK_MODULES([$1], [$2], [], [AC_MSG_ERROR([$2 with its headers is needed: "scripts/setup-packages build" installs all that is, or set $1_CFLAGS and $1_LIBS])])
])

# WCODEC_WITH(NAME, PREFIX, MODULE, USE): an optional library. It is found, skipped by --without-NAME,
# or demanded by --with-NAME, which is an error if it is not there.
AC_DEFUN([WCODEC_WITH], [
AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1], [$4 @<:@if found@:>@])], [], [with_$1=auto])
have_$1=no
AS_CASE([$with_$1],
  [no], [],
  [auto|yes], [PKG_CHECK_MODULES([$2], [$3], [have_$1=yes],
    [AS_IF([test $with_$1 = yes], [AC_MSG_ERROR([--with-$1 was given, but "$3" was not found by pkg-config])])])],
  [AC_MSG_ERROR([--with-$1 takes "yes" or "no"; set $2_CFLAGS and $2_LIBS to name another place])])
AS_IF([test $have_$1 = yes], [AC_DEFINE([HAVE_$2], [1], [$1 is there])])
AM_CONDITIONAL([HAVE_$2], [test $have_$1 = yes])
])

# WCODEC_WITH_MPI: --with-mpi builds wcodec-mpi by the first MPI that pkg-config knows, or by MPI_CFLAGS and
# MPI_LIBS. Its headers are the system's: warnings in them are not ours.
AC_DEFUN([WCODEC_WITH_MPI], [
AC_ARG_VAR([MPI_CFLAGS], [compiler flags of an MPI, in place of what pkg-config says])
AC_ARG_VAR([MPI_LIBS], [linker flags of an MPI, in place of what pkg-config says])
AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi], [build wcodec-mpi, which compresses folders over the ranks of an MPI job @<:@no@:>@])], [], [with_mpi=no])
have_mpi=no
AS_CASE([$with_mpi],
  [no], [],
  [yes], [have_mpi=yes
    AS_IF([test "x$MPI_LIBS" = x],
      [mpi_module=
       for module in ompi-c mpi-c mpich ompi mpi; do
         PKG_CHECK_EXISTS([$module], [mpi_module=$module; break])
       done
       AS_IF([test "x$mpi_module" = x], [AC_MSG_ERROR([--with-mpi was given, but pkg-config knows neither Open MPI (ompi-c) nor MPICH (mpich); set MPI_CFLAGS and MPI_LIBS])])
       MPI_CFLAGS=$($PKG_CONFIG --cflags $mpi_module | sed 's/-I/-isystem /g')
       MPI_LIBS=$($PKG_CONFIG --libs $mpi_module)
       have_mpi="yes, by $mpi_module"])
    wcodec_saved_cppflags=$CPPFLAGS wcodec_saved_libs=$LIBS
    CPPFLAGS="$CPPFLAGS $MPI_CFLAGS" LIBS="$MPI_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[MPI_Finalize();]])], [], [AC_MSG_ERROR([--with-mpi was given, but a program with mpi.h does not build (why: config.log); set MPI_CFLAGS and MPI_LIBS])])
    CPPFLAGS=$wcodec_saved_cppflags LIBS=$wcodec_saved_libs],
  [AC_MSG_ERROR([--with-mpi takes "yes" or "no"; set MPI_CFLAGS and MPI_LIBS to name another place])])
AM_CONDITIONAL([HAVE_MPI], [test "x$have_mpi" != xno])
])

# WCODEC_WITH_DIR(OPTION, VARIABLE, DEFAULT, HELP): a folder for files of others.
AC_DEFUN([WCODEC_WITH_DIR], [
AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR], [$4])], [$2=$withval], [$2='$3'])
AS_CASE([$$2], [yes|no|''], [AC_MSG_ERROR([--with-$1 needs a folder])])
AC_SUBST([$2])
])

# WCODEC_CPU_LEVEL(NAME, VARIABLE, TEST OF THE PREPROCESSOR, INTRINSIC STATEMENT, FLAGS, [HEADER]):
# does the compiler build for a level of instructions, one of with_cpu_levels? Appends to cpu_levels.
AC_DEFUN([WCODEC_CPU_LEVEL], [
AC_CACHE_CHECK([whether $CC builds for $1], [wcodec_cv_level_$1],
  [wcodec_saved_cflags=$CFLAGS
   CFLAGS="$CFLAGS $5"
   AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#if !($3)
#error another architecture
#endif
#include <]m4_default([$6], [immintrin.h])[>]], [[$4]])], [wcodec_cv_level_$1=yes], [wcodec_cv_level_$1=no])
   CFLAGS=$wcodec_saved_cflags])
build_level=no
AS_CASE([,$with_cpu_levels,], [,all,|*,$1,*], [build_level=$wcodec_cv_level_$1])
AS_IF([test $build_level = yes], [$2_flags="$5"; cpu_levels="$cpu_levels $1"; AC_DEFINE([HAVE_$2], [1], [the CPU level $1 is built])])
AC_SUBST([$2_flags])
AM_CONDITIONAL([HAVE_$2], [test $build_level = yes])
])

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
