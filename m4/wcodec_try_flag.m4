# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

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
