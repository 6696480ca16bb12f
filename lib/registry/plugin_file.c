/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "registry/plugin_file.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <link.h>

static bool read_at(int fd, uint64_t offset, void *to, size_t size)
{
    return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* Where the bytes end that are mapped, as far as they are known; 0: it is no ELF object of this
 * machine's kind. A page of those which is behind the file's end kills who touches it. */
static uint64_t mapped_end(int fd)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) segment;
    const int class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    uint64_t end = 0;
    if (!read_at(fd, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != class || head.e_phentsize != sizeof segment)
        return 0;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        const uint64_t at = (uint64_t)head.e_phoff + (uint64_t)i * sizeof segment;
        if (!read_at(fd, at, &segment, sizeof segment))
            return at + sizeof segment;
        const uint64_t segment_end = (uint64_t)segment.p_offset + segment.p_filesz;
        if (segment.p_type == PT_LOAD && segment_end > end)
            end = segment_end;
    }
    return end;
}
#else
static uint64_t mapped_end(int fd)
{
    (void)fd;
    return 0;
}
#endif

wcodec_status wcodec_plugin_file_check(const char *path, wcodec_error *err)
{
    struct stat file;
    wcodec_status status = WCODEC_OK;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return wcodec_fail(err, WCODEC_ERROR_BACKEND, "%s cannot be opened: %s", path,
                           strerror(errno));
    if (fstat(fd, &file) != 0)
        status = wcodec_fail(err, WCODEC_ERROR_BACKEND, "%s cannot be examined: %s", path,
                             strerror(errno));
    else if (!S_ISREG(file.st_mode))
        status = wcodec_fail(err, WCODEC_ERROR_BACKEND,
                             "%s cannot be opened: it is not a regular file", path);
    else if (mapped_end(fd) > (uint64_t)file.st_size)
        status = wcodec_fail(err, WCODEC_ERROR_BACKEND,
                             "%s cannot be opened: it was cut off after %" PRIu64
                             " bytes; install it again",
                             path, (uint64_t)file.st_size);
    close(fd);
    return status;
}
