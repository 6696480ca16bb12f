/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Opening, listing and finding. */

#include "read/reader.h"
#include "read/remote.h"
#include "format/layout.h"
#include "format/loss.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static wcodec_status start(wcodec_context *context, wcodec_reader **reader, wcodec_error *err)
{
    wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_reader *made = wcodec_alloc_zeroed(&context->allocator, sizeof(*made));
    if (made == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a reader");
    made->context = context;
    *reader = made;
    return WCODEC_OK;
}

/* Room for the only shard. */
static wcodec_status start_file(wcodec_context *context, wcodec_reader **reader, wcodec_error *err)
{
    wcodec_reader *made = NULL;
    wcodec_status status = start(context, &made, err);
    if (status != WCODEC_OK)
        return status;
    made->shards = wcodec_alloc_zeroed(&context->allocator, sizeof(*made->shards));
    if (made->shards == NULL) {
        wcodec_reader_close(made);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a reader");
    }
    *reader = made;
    return WCODEC_OK;
}

/* The reader has its shards and their numbers, or `status` says why not. */
static wcodec_status finish(wcodec_reader *made, wcodec_status status, wcodec_reader **reader)
{
    if (status == WCODEC_OK)
        *reader = made;
    else
        wcodec_reader_close(made);
    return status;
}

static wcodec_status finish_file(wcodec_reader *made, wcodec_status status, wcodec_reader **reader,
                                 wcodec_error *err)
{
    made->shard_count = status == WCODEC_OK;
    if (status == WCODEC_OK)
        status = wcodec_reader_number(made, err);
    return finish(made, status, reader);
}

wcodec_status wcodec_reader_open_path(wcodec_context *context, const char *path,
                                      wcodec_reader **reader, wcodec_error *err)
{
    if (context == NULL || path == NULL || reader == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_reader_open_path: an argument is NULL");
    struct stat st;
    if (stat(path, &st) != 0)
        return wcodec_fail(
            err, errno == ENOENT || errno == ENOTDIR ? WCODEC_ERROR_NOT_FOUND : WCODEC_ERROR_IO,
            "%s: %s", path, strerror(errno));
    wcodec_reader *made = NULL;
    wcodec_status status;
    if (S_ISDIR(st.st_mode) || wcodec_model_is_index(path)) {
        status = start(context, &made, err);
        return status == WCODEC_OK
                   ? finish(made, wcodec_model_open(made, path, S_ISDIR(st.st_mode), err), reader)
                   : status;
    }
    status = start_file(context, &made, err);
    return status == WCODEC_OK
               ? finish_file(made,
                             wcodec_shard_open_path(context, path, true, false, made->shards, err),
                             reader, err)
               : status;
}

static wcodec_status open_fd(wcodec_context *context, int fd, bool salvage, wcodec_reader **reader,
                             wcodec_error *err)
{
    wcodec_reader *made = NULL;
    wcodec_status status = start_file(context, &made, err);
    return status == WCODEC_OK
               ? finish_file(made, wcodec_shard_open_fd(context, fd, salvage, made->shards, err),
                             reader, err)
               : status;
}

wcodec_status wcodec_reader_open_fd(wcodec_context *context, int fd, wcodec_reader **reader,
                                    wcodec_error *err)
{
    if (context == NULL || reader == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_reader_open_fd: an argument is NULL");
    return open_fd(context, fd, false, reader, err);
}

wcodec_status wcodec_reader_salvage_fd(wcodec_context *context, int fd, wcodec_reader **reader,
                                       wcodec_error *err)
{
    if (context == NULL || reader == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "wcodec_reader_salvage_fd: an argument is NULL");
    return open_fd(context, fd, true, reader, err);
}

static wcodec_status open_memory(wcodec_context *context, const void *data, size_t size,
                                 bool salvage, wcodec_reader **reader, wcodec_error *err)
{
    wcodec_reader *made = NULL;
    wcodec_status status = start_file(context, &made, err);
    return status == WCODEC_OK ? finish_file(made,
                                             wcodec_shard_open_memory(context, data, size, salvage,
                                                                      made->shards, err),
                                             reader, err)
                               : status;
}

wcodec_status wcodec_reader_open_memory(wcodec_context *context, const void *data, size_t size,
                                        wcodec_reader **reader, wcodec_error *err)
{
    if (context == NULL || reader == NULL || (data == NULL && size > 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "wcodec_reader_open_memory: an argument is NULL");
    return open_memory(context, data, size, false, reader, err);
}

struct opening {
    struct wcodec_reader *reader;
    const wcodec_io *files;
    atomic_flag failed;
    wcodec_status status; /* of the first that failed; error likewise */
    wcodec_error error;
};

static void open_task(void *argument, size_t i)
{
    struct opening *o = argument;
    wcodec_error error = {0};
    const wcodec_status status =
        wcodec_shard_open_io(o->reader->context, &o->files[i], &o->reader->shards[i], &error);
    if (status == WCODEC_OK || atomic_flag_test_and_set(&o->failed))
        return;
    o->error = error;
    o->status = status;
}

/* All at once: each is a few requests one after the other. */
static wcodec_status open_files(struct wcodec_reader *made, const wcodec_io *files, size_t count,
                                wcodec_error *err)
{
    struct opening o = {.reader = made, .files = files, .failed = ATOMIC_FLAG_INIT};
    made->shards = wcodec_alloc_array(&made->context->allocator, count, sizeof *made->shards);
    if (made->shards == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a reader of %zu files",
                           count);
    for (size_t i = 0; i < count; i++)
        made->shards[i] = (struct wcodec_shard){.fd = -1};
    made->shard_count = count;
    made->model = count > 1;
    wcodec_run(made->context, open_task, &o, count);
    return o.status == WCODEC_OK ? wcodec_reader_number(made, err)
                                 : wcodec_fail(err, o.status, "%s", o.error.text);
}

/* Of several, errors must tell which one. */
static wcodec_status check_file(const wcodec_io *io, size_t count, wcodec_error *err)
{
    if (io->name == NULL && count > 1)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "one of %zu files has no name", count);
    const wcodec_status status = wcodec_io_check(io, err);
    if (status != WCODEC_OK && io->name != NULL)
        wcodec_error_prefix(err, "%s", io->name);
    return status;
}

wcodec_status wcodec_reader_open_io(wcodec_context *context, const wcodec_io *files, size_t count,
                                    wcodec_reader **reader, wcodec_error *err)
{
    if (context == NULL || files == NULL || reader == NULL || count == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "wcodec_reader_open_io: an argument is NULL, or there are no files");
    wcodec_reader *made = NULL;
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < count && status == WCODEC_OK; i++)
        status = check_file(&files[i], count, err);
    if (status == WCODEC_OK)
        status = start(context, &made, err);
    if (status != WCODEC_OK)
        return status;
    status = open_files(made, files, count, err);
    for (size_t i = 0; i < count && status == WCODEC_OK; i++)
        wcodec_remote_own(made->shards[i].remote);
    return finish(made, status, reader);
}

wcodec_status wcodec_reader_salvage_memory(wcodec_context *context, const void *data, size_t size,
                                           wcodec_reader **reader, wcodec_error *err)
{
    if (context == NULL || reader == NULL || (data == NULL && size > 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "wcodec_reader_salvage_memory: an argument is NULL");
    return open_memory(context, data, size, true, reader, err);
}

void wcodec_reader_close(wcodec_reader *reader)
{
    if (reader == NULL)
        return;
    wcodec_context *context = reader->context;
    for (uint64_t i = 0; i < reader->shard_count; i++)
        wcodec_shard_close(context, &reader->shards[i]);
    if (reader->model)
        wcodec_names_free(&reader->names);
    wcodec_free(&context->allocator, reader->shards);
    wcodec_free(&context->allocator, reader);
}

wcodec_status wcodec_reader_number(struct wcodec_reader *reader, wcodec_error *err)
{
    for (uint64_t i = 0; i < reader->shard_count; i++) {
        struct wcodec_shard *s = &reader->shards[i];
        s->first_tensor = reader->tensor_count;
        s->first_entry = reader->entry_count;
        reader->tensor_count += s->index->tensor_count;
        reader->entry_count += s->index->entry_count;
    }
    if (!reader->model)
        return WCODEC_OK;
    if (!wcodec_names_init(&reader->names, &reader->context->allocator, reader->tensor_count))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY,
                           "out of memory for the names of %" PRIu64 " tensors",
                           reader->tensor_count);
    for (uint64_t i = 0; i < reader->shard_count; i++) {
        const struct wcodec_shard *s = &reader->shards[i];
        for (uint64_t t = 0; t < s->index->tensor_count; t++) {
            uint64_t number = s->first_tensor + t;
            const char *name = s->index->entries[s->index->tensors[t]].name;
            if (!wcodec_names_add(&reader->names, name, &number))
                return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%s: tensor '%s' is also in %s",
                                   s->path, name,
                                   wcodec_reader_shard_of_tensor(reader, number)->path);
        }
    }
    return WCODEC_OK;
}

/* The last shard that begins at or before i and is not empty; shards without tensors begin where
 * the next one does. */
const struct wcodec_shard *wcodec_reader_shard_of_tensor(const struct wcodec_reader *reader,
                                                         uint64_t i)
{
    uint64_t low = 0, high = reader->shard_count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (reader->shards[middle].first_tensor <= i)
            low = middle;
        else
            high = middle;
    }
    return &reader->shards[low];
}

const struct wcodec_entry *wcodec_reader_entry_of_tensor(const struct wcodec_reader *reader,
                                                         uint64_t i,
                                                         const struct wcodec_shard **shard)
{
    const struct wcodec_shard *s = wcodec_reader_shard_of_tensor(reader, i);
    *shard = s;
    return &s->index->entries[s->index->tensors[i - s->first_tensor]];
}

const struct wcodec_shard *wcodec_reader_shard_of_entry(const struct wcodec_reader *reader,
                                                        uint64_t i)
{
    uint64_t low = 0, high = reader->shard_count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (reader->shards[middle].first_entry <= i)
            low = middle;
        else
            high = middle;
    }
    return &reader->shards[low];
}

uint64_t wcodec_reader_file_count(const wcodec_reader *reader)
{
    return reader->shard_count;
}

uint64_t wcodec_reader_tensor_count(const wcodec_reader *reader)
{
    return reader->tensor_count;
}

uint64_t wcodec_reader_entry_count(const wcodec_reader *reader)
{
    return reader->entry_count;
}

wcodec_status wcodec_check_number(uint64_t i, uint64_t count, const char *what, wcodec_error *err)
{
    if (i < count)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_USAGE,
                       "there is no %s number %" PRIu64 ", there are %" PRIu64, what, i, count);
}

wcodec_status wcodec_reader_file(const wcodec_reader *reader, uint64_t i, wcodec_file_info *info,
                                 wcodec_error *err)
{
    wcodec_status status = wcodec_check_number(i, reader->shard_count, "file", err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_shard *s = &reader->shards[i];
    const struct wcodec_index *index = s->index;
    *info = (wcodec_file_info){
        .name = index->name,
        .path = s->path != NULL ? s->path : "",
        .safetensors = index->safetensors,
        .size = index->size,
        .coded_size = index->file_size,
        .mode = index->mode,
        .mtime = index->mtime,
        .version = index->head.version,
        .first_tensor = s->first_tensor,
        .tensors = index->tensor_count,
        .first_entry = s->first_entry,
        .entries = index->entry_count,
        .lossy = index->lossy_count,
        .level = index->head.settings.level,
        .tune = index->head.settings.tune,
        .profile = index->head.settings.profile,
        .tile_log2 = index->head.settings.tile_log2,
        .predict = index->head.settings.predict,
        .patterns = index->head.settings.patterns,
        .index_first = index->head.index_first,
        .rebuilt = index->rebuilt,
        .missing = index->missing,
        .lost_tensors = index->lost_tensors,
    };
    memcpy(info->xxh128, index->hash, sizeof(info->xxh128));
    wcodec_layout_kind(index, info->kind);
    return WCODEC_OK;
}

static const char *profile_name(const struct wcodec_tiling *tiling)
{
    static const char *const names[] = {
        [WCODEC_PAIRS] = "pairs", [WCODEC_P12] = "p12", [WCODEC_P8] = "p8"};
    uint8_t profile = tiling->fields[tiling->coded[0]].profile;
    for (unsigned c = 1; c < tiling->coded_count; c++)
        if (tiling->fields[tiling->coded[c]].profile != profile)
            return "mixed";
    return names[profile];
}

static void describe_blocks(const struct wcodec_blocks *blocks, wcodec_tensor_info *info)
{
    info->columns = blocks->columns;
    info->mode_count = blocks->mode_count;
    for (unsigned i = 0; i < blocks->mode_count; i++) {
        info->modes[i].predictor = wcodec_predictor_name(blocks->modes[i]);
        info->modes[i].differential = (blocks->modes[i] & WCODEC_MODE_DIFFERENTIAL) != 0;
        info->modes[i].blocks = blocks->counts[i];
    }
}

static void describe_lossy(const struct wcodec_entry *e, wcodec_tensor_info *info)
{
    struct wcodec_lossy lossy;
    struct wcodec_tiling tiling;
    if (e->coding == WCODEC_CODING_ANCHORED) {
        info->scales = 1;
        return;
    }
    wcodec_entry_lossy(e, &lossy, &tiling);
    info->order = lossy.plain ? NULL : wcodec_order_name(lossy.order);
    info->scales = wcodec_lossy_scale_count(&lossy);
}

/* Also of tensors that are coded exactly, and were approximated before. */
static void describe_loss(const struct wcodec_shard *s, const struct wcodec_entry *e,
                          wcodec_tensor_info *info)
{
    struct wcodec_loss loss;
    if (!wcodec_loss_of(s->index, e, &loss))
        return;
    info->lossy = 1;
    info->largest_error = loss.largest_error;
    info->mean_squared_error = loss.mean_squared_error;
    info->mean_square = loss.mean_square;
}

static void describe_transforms(const struct wcodec_lossy *lossy, wcodec_tensor_info *info)
{
    info->columns = lossy->columns;
    info->mode_count = lossy->mode_count;
    for (unsigned i = 0; i < lossy->mode_count; i++) {
        info->modes[i].predictor = wcodec_transform_name(lossy->modes[i]);
        info->modes[i].blocks = lossy->counts[i];
    }
}

static void describe_tiles(const struct wcodec_entry *e, wcodec_tensor_info *info)
{
    struct wcodec_tiling tiling;
    struct wcodec_blocks blocks;
    struct wcodec_lossy lossy;
    struct wcodec_fragments fragments;
    if (e->coding == WCODEC_CODING_BLOCKS) {
        wcodec_entry_blocks(e, &blocks, &tiling);
        describe_blocks(&blocks, info);
    } else if (e->coding == WCODEC_CODING_LOSSY) {
        wcodec_entry_lossy(e, &lossy, &tiling);
        describe_transforms(&lossy, info);
        describe_lossy(e, info);
    } else if (e->coding == WCODEC_CODING_FRAGMENTS) {
        wcodec_entry_fragments(e, &fragments, &tiling);
        info->columns = fragments.columns;
    } else {
        wcodec_entry_tiling(e, &tiling);
    }
    info->coding_name = profile_name(&tiling);
    info->split = e->split;
    info->element_bits = 8u << tiling.element_log2;
    info->tile_elements = (uint64_t)1 << tiling.tile_log2;
    info->tables = tiling.table_count;
    for (unsigned c = 0; c < tiling.coded_count; c++) {
        unsigned run_log2 = tiling.fields[tiling.coded[c]].run_log2;
        if (run_log2 != 0 && info->run_elements < 1u << run_log2)
            info->run_elements = 1u << run_log2;
    }
}

/* By the bits that all elements have. */
static void describe_fixed(const struct wcodec_entry *e, wcodec_tensor_info *info)
{
    struct wcodec_fixed fixed;
    wcodec_entry_fixed(e, &fixed);
    info->coding_name = fixed.bits == 2 ? "fixed11" : "fixed12";
    info->element_bits = 16;
    info->tile_elements = WCODEC_FIXED_TILE;
    info->columns = fixed.columns;
}

static void describe_coding(const struct wcodec_shard *s, const struct wcodec_entry *e,
                            wcodec_tensor_info *info)
{
    if (e->newer) {
        info->coding = WCODEC_CODING_UNKNOWN;
        info->coding_name = "unknown";
        return;
    }
    info->coding = (wcodec_coding)e->coding;
    switch (e->coding) {
    case WCODEC_CODING_CONSTANT:
        info->coding_name = "constant";
        info->element_bits = 8u << e->u.constant.element_log2;
        break;
    case WCODEC_CODING_TILES:
    case WCODEC_CODING_BLOCKS:
    case WCODEC_CODING_LOSSY:
    case WCODEC_CODING_FRAGMENTS:
        describe_tiles(e, info);
        break;
    case WCODEC_CODING_FIXED:
        describe_fixed(e, info);
        break;
    case WCODEC_CODING_RECORDS:
        info->coding_name = "records";
        info->split = e->split;
        break;
    case WCODEC_CODING_DELTA:
        info->coding_name = "delta";
        info->element_bits = 8u << e->u.delta->head.element_log2;
        info->tile_elements = (uint64_t)1 << e->u.delta->head.tile_log2;
        break;
    case WCODEC_CODING_MASKED:
        info->coding_name = "masked";
        info->element_bits = 8u << e->u.masked->head.element_log2;
        info->tile_elements = (uint64_t)1 << e->u.masked->head.tile_log2;
        break;
    case WCODEC_CODING_INLINE:
        info->coding_name = "inline";
        break;
    case WCODEC_CODING_ANCHORED:
        info->coding_name = "anchors";
        info->element_bits = 8u << e->u.anchored->head.number_log2;
        info->columns = e->u.anchored->head.columns;
        info->anchors = e->u.anchored->head.anchors;
        describe_lossy(e, info);
        break;
    case WCODEC_CODING_CHUNKS:
        /* Chunks are stored only where zstd does not shrink them; so all are if they take as much
         * as they hold. */
        info->coding_name =
            e->payload_size ==
                    wcodec_align_u64(8 * wcodec_div_up_u64(e->size, e->u.chunk), 16) + e->size
                ? "stored"
                : "zstd";
        info->tile_elements = e->u.chunk;
        break;
    default:
        info->coding_name = "alias";
        info->alias_of = s->first_entry + e->u.alias;
        if (wcodec_entry_is_lossy(s->index, e) && e->loss == NULL)
            describe_lossy(&s->index->entries[e->u.alias], info);
        break;
    }
}

static void describe(const wcodec_reader *reader, const struct wcodec_shard *s,
                     const struct wcodec_entry *e, wcodec_tensor_info *info)
{
    *info = (wcodec_tensor_info){
        .name = e->name,
        .dtype = e->dtype < WCODEC_DTYPE_COUNT ? (wcodec_dtype)e->dtype : WCODEC_DTYPE_OTHER,
        .dtype_name = e->is_tensor ? e->dtype_name : "",
        .rank = e->rank,
        .shape = e->shape,
        .size = e->size,
        .coded_size = e->payload_size,
        .file_offset = e->file_offset,
        .order0_bits = e->order0_bits,
        .payload_hash = e->payload_hash,
        .split = "",
        .file = (uint64_t)(s - reader->shards),
        .alias_of = UINT64_MAX,
    };
    describe_coding(s, e, info);
    describe_loss(s, e, info);
}

wcodec_status wcodec_reader_tensor(const wcodec_reader *reader, uint64_t i,
                                   wcodec_tensor_info *info, wcodec_error *err)
{
    wcodec_status status = wcodec_check_number(i, reader->tensor_count, "tensor", err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_shard *s;
    const struct wcodec_entry *e = wcodec_reader_entry_of_tensor(reader, i, &s);
    describe(reader, s, e, info);
    return WCODEC_OK;
}

wcodec_status wcodec_reader_entry(const wcodec_reader *reader, uint64_t i, wcodec_tensor_info *info,
                                  wcodec_error *err)
{
    wcodec_status status = wcodec_check_number(i, reader->entry_count, "entry", err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_shard *s = wcodec_reader_shard_of_entry(reader, i);
    describe(reader, s, &s->index->entries[i - s->first_entry], info);
    return WCODEC_OK;
}

wcodec_status wcodec_reader_find(const wcodec_reader *reader, const char *name, uint64_t *i,
                                 wcodec_error *err)
{
    const struct wcodec_names *names =
        reader->model ? &reader->names : &reader->shards[0].index->names;
    uint64_t number;
    if (name == NULL || !wcodec_names_find(names, name, &number))
        return wcodec_fail(err, WCODEC_ERROR_NOT_FOUND, "there is no tensor '%s'",
                           name != NULL ? name : "(NULL)");
    *i = number;
    return WCODEC_OK;
}

uint64_t wcodec_reader_metadata_count(const wcodec_reader *reader, uint64_t file)
{
    const struct wcodec_index *index =
        file < reader->shard_count ? reader->shards[file].index : NULL;
    return index != NULL ? index->metadata_count - index->loss_count : 0;
}

wcodec_status wcodec_reader_metadata(const wcodec_reader *reader, uint64_t file, uint64_t i,
                                     const char **key, const char **value, wcodec_error *err)
{
    wcodec_status status = wcodec_check_number(file, reader->shard_count, "file", err);
    if (status == WCODEC_OK)
        status = wcodec_check_number(i, wcodec_reader_metadata_count(reader, file), "metadata pair",
                                     err);
    if (status != WCODEC_OK)
        return status;
    *key = reader->shards[file].index->metadata[2 * i];
    *value = reader->shards[file].index->metadata[2 * i + 1];
    return WCODEC_OK;
}
