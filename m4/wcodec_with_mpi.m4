# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause

# serial 1

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
