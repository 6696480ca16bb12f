# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

# serial 1

# WCODEC_SYMBOLS: the library's symbols, by its map where the linker takes one, else by a list that
# is made of it, from which libtool makes what the linker takes (-exported_symbols_list on macOS).
# Sets symbols_flags, and symbols_file to what has to be there.
AC_DEFUN([WCODEC_SYMBOLS], [
AC_CACHE_CHECK([whether $CC takes -Wl,--version-script], [wcodec_cv_version_script],
  [echo 'WCODEC_0 { global: main; local: *; };' >conftest.map
   wcodec_saved_ldflags=$LDFLAGS
   LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
   AC_LINK_IFELSE([AC_LANG_PROGRAM()], [wcodec_cv_version_script=yes], [wcodec_cv_version_script=no])
   LDFLAGS=$wcodec_saved_ldflags
   rm -f conftest.map])
AS_IF([test $wcodec_cv_version_script = yes],
  [symbols_flags='-Wl,--version-script=$(top_srcdir)/lib/libwcodec.map' symbols_file=],
  [symbols_flags='-export-symbols lib/libwcodec.sym' symbols_file=lib/libwcodec.sym])
AC_SUBST([symbols_flags])
AC_SUBST([symbols_file])
])
