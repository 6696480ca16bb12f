# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

# serial 1

# WCODEC_WITH_DIR(OPTION, VARIABLE, DEFAULT, HELP): a folder for files of others.
AC_DEFUN([WCODEC_WITH_DIR], [
AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR], [$4])], [$2=$withval], [$2='$3'])
AS_CASE([$$2], [yes|no|''], [AC_MSG_ERROR([--with-$1 needs a folder])])
AC_SUBST([$2])
])
