# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

# serial 1

# WCODEC_SYSTEM: what Linux and FreeBSD 14 have, and macOS by another name (lib/core/system.h) or
# not at all.
AC_DEFUN([WCODEC_SYSTEM], [
AC_CHECK_FUNCS([secure_getenv],
  [], [AC_CHECK_FUNC([issetugid], [], [AC_MSG_ERROR([secure_getenv or issetugid is needed])])])
AC_CHECK_FUNCS([getrandom],
  [], [AC_CHECK_FUNC([getentropy], [], [AC_MSG_ERROR([getrandom or getentropy is needed])])])
AC_CHECK_FUNCS([sched_getaffinity])
AC_CHECK_MEMBER([struct stat.st_mtim], [],
  [AC_CHECK_MEMBER([struct stat.st_mtimespec],
     [AC_DEFINE([st_mtim], [st_mtimespec], [when a file was written])
      AC_DEFINE([st_ctim], [st_ctimespec], [when a file was changed])],
     [AC_MSG_ERROR([struct stat has no times in nanoseconds])], [[#include <sys/stat.h>]])],
  [[#include <sys/stat.h>]])
# macOS has these two, and a header that ends the compilation.
AC_CHECK_HEADER([ucontext.h], [AC_CHECK_FUNCS([makecontext swapcontext])])
])
