# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

# serial 1

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
