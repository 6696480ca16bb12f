# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

# serial 1

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
