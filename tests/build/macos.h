/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Before all of a source on Linux, without __linux__: what macOS has not may not be named, and what
 * it has more is here. By Apple's headers and manual pages; nothing was compared with a Mac. */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#undef AT_EMPTY_PATH
#undef CPU_ALLOC_SIZE
#undef CPU_COUNT
#undef CPU_ISSET
#undef CPU_ISSET_S
#undef CPU_SET
#undef CPU_SET_S
#undef CPU_ZERO
#undef F_GETPIPE_SZ
#undef F_OFD_SETLK
#undef F_SETPIPE_SZ
#undef GRND_NONBLOCK
#undef GRND_RANDOM
#undef MADV_DONTFORK
#undef MADV_HUGEPAGE
#undef MAP_POPULATE
#undef O_DIRECT
#undef O_PATH
#undef O_TMPFILE
#undef POSIX_FADV_DONTNEED
#undef POSIX_FADV_SEQUENTIAL
#undef POSIX_FADV_WILLNEED
#undef RENAME_EXCHANGE
#undef RENAME_NOREPLACE
#undef RTLD_DEEPBIND
#undef SYNC_FILE_RANGE_WRITE
#undef __GLIBC__

/* A command that no file takes here, as not every one takes it there. */
#define F_FULLFSYNC 51

static inline int issetugid(void)
{
    return getuid() != geteuid() || getgid() != getegid();
}

#pragma GCC poison accept4 clock_nanosleep copy_file_range cpu_set_t dup3 eventfd fallocate
#pragma GCC poison fdatasync getauxval getrandom mallopt malloc_trim memfd_create memrchr mempcpy
#pragma GCC poison mremap pipe2 posix_fadvise posix_fallocate ppoll prctl
#pragma GCC poison program_invocation_short_name pthread_barrier_init pthread_condattr_setclock
#pragma GCC poison pthread_getaffinity_np pthread_mutex_timedlock pthread_mutexattr_setrobust
#pragma GCC poison pthread_setaffinity_np pthread_setname_np qsort_r reallocarray renameat2
#pragma GCC poison sched_getaffinity sched_getcpu sched_setaffinity secure_getenv sem_init
#pragma GCC poison sem_timedwait sendfile sigtimedwait sigwaitinfo statx strchrnul
#pragma GCC poison sync_file_range syncfs syscall timer_create
