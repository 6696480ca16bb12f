# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

# serial 1

# WCODEC_NEEDS(PREFIX, MODULE): a library without which nothing goes.
AC_DEFUN([WCODEC_NEEDS], [
PKG_CHECK_MODULES([$1], [$2], [], [AC_MSG_ERROR([$2 with its headers is needed: "scripts/setup-packages build" installs all that is, or set $1_CFLAGS and $1_LIBS])])
])
