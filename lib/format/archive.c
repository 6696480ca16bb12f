/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Zip archives that hold tensors. */

#include "format/layout.h"
#include "format/npy.h"
#include "format/pytorch.h"
#include "format/zip.h"
#include "core/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), n = strlen(end);
    return size >= n && strcmp(text + size - n, end) == 0;
}

/* What is left as it is: the first such member, and how many there are. */
struct left_over {
    uint64_t members;
    wcodec_error why;
};

static void leave(struct left_over *left, const char *name, const char *why)
{
    if (left->members++ == 0)
        wcodec_fail(&left->why, WCODEC_ERROR_CORRUPT, "\"%.60s\": %s", name, why);
}

static wcodec_status add_array(const struct wcodec_source *source,
                               struct wcodec_file_layout *layout, const struct wcodec_zip_member *m,
                               struct left_over *left, wcodec_error *err)
{
    char name[WCODEC_LAYOUT_NAME_MAX];
    struct wcodec_npy npy;
    wcodec_error why = {0};
    const size_t size = strlen(m->name) - strlen(".npy");
    if (!m->is_stored) {
        leave(left, m->name, "it is compressed (numpy.savez() stores as it is)");
        return WCODEC_OK;
    }
    if (size >= sizeof name) {
        leave(left, m->name, "its name is too long");
        return WCODEC_OK;
    }
    memcpy(name, m->name, size);
    name[size] = 0;
    wcodec_status status = wcodec_npy_header(source, m->begin, m->begin + m->size, &npy, &why);
    if (status == WCODEC_ERROR_CORRUPT) {
        leave(left, m->name, why.text);
        return WCODEC_OK;
    }
    return status == WCODEC_OK ? wcodec_npy_add(layout, name, &npy, err)
                               : wcodec_fail(err, status, "%s", why.text);
}

static wcodec_status read_npz(const struct wcodec_source *source, struct wcodec_file_layout *layout,
                              const struct wcodec_zip *zip, wcodec_error *err)
{
    struct left_over left = {0};
    wcodec_status status = WCODEC_OK;
    uint64_t arrays = 0;
    layout->kind = "npz";
    for (uint64_t i = 0; i < zip->count && status == WCODEC_OK; i++)
        if (ends_with(zip->members[i].name, ".npy")) {
            arrays++;
            status = add_array(source, layout, &zip->members[i], &left, err);
        }
    if (status != WCODEC_OK)
        return status;
    if (arrays == 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "it holds neither arrays nor PyTorch's tensors");
    if (layout->count == 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "none of its arrays is taken: %s",
                           left.why.text);
    if (left.members != 0)
        wcodec_fail(&layout->remark, WCODEC_ERROR_CORRUPT,
                    "%" PRIu64 " of %" PRIu64 " arrays stay as they are: %s", left.members, arrays,
                    left.why.text);
    return status;
}

wcodec_status wcodec_archive_read(const struct wcodec_source *source,
                                  struct wcodec_file_layout *layout, wcodec_error *err)
{
    struct wcodec_zip zip;
    wcodec_status status = wcodec_zip_read(source, layout->allocator, layout->cancel, &zip, err);
    const struct wcodec_zip_member *pickle = NULL;
    if (status == WCODEC_OK)
        pickle = wcodec_pytorch_pickle(&zip);
    if (pickle != NULL)
        status = wcodec_pytorch_read(source, layout, &zip, pickle, err);
    else if (status == WCODEC_OK)
        status = read_npz(source, layout, &zip, err);
    wcodec_zip_free(&zip);
    return status;
}
