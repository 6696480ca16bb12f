/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A model folder, or its *.safetensors.index.json or *.bin.index.json, as one namespace. Names in
 * an index.json come from strangers: none may lead out of the folder. Links in the folder are
 * followed: download caches keep a model's files elsewhere and link to them. */

#include "read/reader.h"
#include "format/layout.h"
#include "core/error.h"
#include "core/memory.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INDEX_SUFFIX ".safetensors.index.json"
#define SHARD_SUFFIX ".wcodec"
#define SAFETENSORS_SUFFIX ".safetensors" SHARD_SUFFIX
/* Of PyTorch's own files. */
#define PYTORCH_INDEX_SUFFIX ".bin.index.json"

/* What a model is in beside its safetensors files. */
static const char *const other_forms[] = {".bin" SHARD_SUFFIX, ".gguf" SHARD_SUFFIX,
                                          ".npy" SHARD_SUFFIX, ".npz" SHARD_SUFFIX};

/* Of several indexes in a folder, these are the model's. */
static const char *const usual_indexes[] = {"model" INDEX_SUFFIX,
                                            "pytorch_model" PYTORCH_INDEX_SUFFIX};

/* Times its text that a JSON tree takes, at most about. */
enum { JSON_TREE_FACTOR = 40 };

/* File names, owned. */
struct name_list {
    const wcodec_allocator *allocator;
    char **names;
    uint64_t count;
    uint64_t capacity;
};

static wcodec_status out_of_memory(wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a model");
}

static wcodec_status list_add(struct name_list *list, const char *name, wcodec_error *err)
{
    if (list->count == list->capacity) {
        uint64_t capacity = list->capacity * 2 + 16;
        char **names = wcodec_realloc_array(list->allocator, list->names, capacity, sizeof(*names));
        if (names == NULL)
            return out_of_memory(err);
        list->names = names;
        list->capacity = capacity;
    }
    list->names[list->count] = wcodec_strdup(list->allocator, name);
    if (list->names[list->count] == NULL)
        return out_of_memory(err);
    list->count++;
    return WCODEC_OK;
}

static void list_free(struct name_list *list)
{
    for (uint64_t i = 0; i < list->count; i++)
        wcodec_free(list->allocator, list->names[i]);
    wcodec_free(list->allocator, list->names);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sort, each name once. */
static void list_sort(struct name_list *list)
{
    uint64_t kept = 0;
    if (list->count > 0)
        qsort(list->names, (size_t)list->count, sizeof(*list->names), compare_names);
    for (uint64_t i = 0; i < list->count; i++) {
        if (kept > 0 && strcmp(list->names[kept - 1], list->names[i]) == 0)
            wcodec_free(list->allocator, list->names[i]);
        else
            list->names[kept++] = list->names[i];
    }
    list->count = kept;
}

static uint64_t list_find(const struct name_list *list, const char *name)
{
    char *const *found =
        bsearch(&name, list->names, (size_t)list->count, sizeof(*list->names), compare_names);
    return (uint64_t)(found - list->names);
}

bool wcodec_ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), end = strlen(suffix);
    return length > end && strcmp(text + length - end, suffix) == 0;
}

bool wcodec_model_is_index(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    return wcodec_ends_with(base, INDEX_SUFFIX) || wcodec_ends_with(base, PYTORCH_INDEX_SUFFIX);
}

static bool list_has(const struct name_list *list, const char *suffix)
{
    for (uint64_t i = 0; i < list->count; i++)
        if (wcodec_ends_with(list->names[i], suffix))
            return true;
    return false;
}

static void list_drop(struct name_list *list, const char *suffix)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < list->count; i++) {
        if (wcodec_ends_with(list->names[i], suffix))
            wcodec_free(list->allocator, list->names[i]);
        else
            list->names[kept++] = list->names[i];
    }
    list->count = kept;
}

/* folder + name + suffix; the caller frees. folder is "", or ends with a slash. */
static char *join(const wcodec_allocator *allocator, const char *folder, const char *name,
                  const char *suffix)
{
    size_t a = strlen(folder), b = strlen(name), c = strlen(suffix);
    char *path = wcodec_alloc(allocator, a + b + c + 1);
    if (path == NULL)
        return NULL;
    memcpy(path, folder, a);
    memcpy(path + a, name, b);
    memcpy(path + a + b, suffix, c + 1);
    return path;
}

static wcodec_status open_shards(struct wcodec_reader *reader, const char *folder,
                                 const struct name_list *names, const char *suffix,
                                 wcodec_error *err)
{
    const wcodec_allocator *allocator = &reader->context->allocator;
    reader->shards = wcodec_alloc_array(allocator, names->count, sizeof(*reader->shards));
    if (reader->shards == NULL)
        return out_of_memory(err);
    for (; reader->shard_count < names->count; reader->shard_count++) {
        char *path = join(allocator, folder, names->names[reader->shard_count], suffix);
        if (path == NULL)
            return out_of_memory(err);
        wcodec_status status =
            wcodec_shard_open_path(reader->context, path, reader->shard_count < WCODEC_SHARDS_OPEN,
                                   false, &reader->shards[reader->shard_count], err);
        wcodec_free(allocator, path);
        if (status != WCODEC_OK)
            return status;
    }
    return WCODEC_OK;
}

/* A plain file name: no way out of the folder on any system, nothing that spoils a listing. */
static bool is_safe_name(const char *name)
{
    if (name[0] == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    if (((name[0] | 0x20) >= 'a' && (name[0] | 0x20) <= 'z') && name[1] == ':')
        return false;
    for (const unsigned char *p = (const unsigned char *)name; *p != 0; p++)
        if (*p < 0x20 || *p == 0x7f || *p == '/' || *p == '\\')
            return false;
    return true;
}

static wcodec_status load_file(wcodec_context *context, const char *path, uint8_t **bytes,
                               size_t *size, wcodec_error *err)
{
    struct wcodec_source source;
    int fd = wcodec_open_for_reading(path);
    if (fd < 0)
        return wcodec_fail(err, errno == ENOENT ? WCODEC_ERROR_NOT_FOUND : WCODEC_ERROR_IO, "%s",
                           strerror(errno));
    uint8_t *data = NULL;
    wcodec_status status = wcodec_source_fd(fd, &source, err);
    if (status == WCODEC_OK && (source.size > context->limits.max_index_bytes ||
                                source.size > context->limits.max_memory / JSON_TREE_FACTOR))
        status = wcodec_fail(err, WCODEC_ERROR_LIMIT,
                             "%" PRIu64
                             " bytes of JSON are more than the limits of index and memory allow",
                             source.size);
    if (status == WCODEC_OK &&
        (data = wcodec_alloc_array(&context->allocator, source.size, 1)) == NULL)
        status = out_of_memory(err);
    if (status == WCODEC_OK)
        status = wcodec_source_read(&source, 0, data, (size_t)source.size, err);
    close(fd);
    if (status != WCODEC_OK) {
        wcodec_free(&context->allocator, data);
        return status;
    }
    *bytes = data;
    *size = (size_t)source.size;
    return WCODEC_OK;
}

/* The tree of an index.json; its weight_map is borrowed. */
static wcodec_status parse(const uint8_t *bytes, size_t size, json_t **tree, json_t **weight_map,
                           wcodec_error *err)
{
    json_error_t where;
    json_t *root = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL) {
        wcodec_status status = json_error_code(&where) == json_error_out_of_memory
                                   ? WCODEC_ERROR_MEMORY
                                   : WCODEC_ERROR_CORRUPT;
        return wcodec_fail(err, status, "line %d, byte %d: %s", where.line, where.position,
                           where.text);
    }
    json_t *map = json_object_get(root, "weight_map");
    if (!json_is_object(map) || json_object_size(map) == 0) {
        json_decref(root);
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "has no \"weight_map\" of names");
    }
    *tree = root;
    *weight_map = map;
    return WCODEC_OK;
}

static wcodec_status list_shards(json_t *weight_map, struct name_list *shards, wcodec_error *err)
{
    const char *tensor;
    json_t *value;
    json_object_foreach(weight_map, tensor, value)
    {
        if (!json_is_string(value))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "tensor '%s' is mapped to what is no file name", tensor);
        const char *name = json_string_value(value);
        if (!is_safe_name(name))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "tensor '%s' is mapped to '%s', which is no plain file name", tensor,
                               name);
        /* Neighbours are mostly in the same file. */
        if (shards->count > 0 && strcmp(shards->names[shards->count - 1], name) == 0)
            continue;
        wcodec_status status = list_add(shards, name, err);
        if (status != WCODEC_OK)
            return status;
    }
    list_sort(shards);
    return WCODEC_OK;
}

/* A file of PyTorch's may have tensors that are not listed: those that are parts of others, or the
 * same under another name. */
static bool may_hide(const struct wcodec_shard *shard)
{
    char kind[16];
    wcodec_layout_kind(shard->index, kind);
    return strcmp(kind, "pytorch") == 0;
}

/* Every name of the weight_map must be where it says. */
static wcodec_status check_map(const struct wcodec_reader *reader, json_t *weight_map,
                               const struct name_list *shards, wcodec_error *err)
{
    const char *tensor;
    json_t *value;
    json_object_foreach(weight_map, tensor, value)
    {
        const struct wcodec_shard *shard =
            &reader->shards[list_find(shards, json_string_value(value))];
        uint64_t number;
        const bool found = wcodec_names_find(&reader->names, tensor, &number);
        if (found ? wcodec_reader_shard_of_tensor(reader, number) != shard : !may_hide(shard))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "tensor '%s' is not in %s, to which it is mapped", tensor,
                               shard->path);
    }
    return WCODEC_OK;
}

static wcodec_status open_mapped(struct wcodec_reader *reader, const char *path, const char *folder,
                                 json_t *weight_map, struct name_list *shards, wcodec_error *err)
{
    wcodec_status status = list_shards(weight_map, shards, err);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "%s", path);
        return status;
    }
    status = open_shards(reader, folder, shards, SHARD_SUFFIX, err);
    if (status == WCODEC_OK)
        status = wcodec_reader_number(reader, err);
    if (status != WCODEC_OK)
        return status;
    status = check_map(reader, weight_map, shards, err);
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "%s", path);
    return status;
}

static wcodec_status open_index(struct wcodec_reader *reader, const char *path, const char *folder,
                                wcodec_error *err)
{
    const wcodec_allocator *allocator = &reader->context->allocator;
    struct name_list shards = {.allocator = allocator};
    uint8_t *bytes = NULL;
    size_t size = 0;
    json_t *tree = NULL, *weight_map = NULL;
    wcodec_status status = load_file(reader->context, path, &bytes, &size, err);
    if (status == WCODEC_OK) {
        status = parse(bytes, size, &tree, &weight_map, err);
        wcodec_free(allocator, bytes);
    }
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "%s", path);
        return status;
    }
    status = open_mapped(reader, path, folder, weight_map, &shards, err);
    list_free(&shards);
    json_decref(tree);
    return status;
}

static wcodec_status list_folder(const char *path, struct name_list *indexes,
                                 struct name_list *shards, wcodec_error *err)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return wcodec_fail(err, WCODEC_ERROR_IO, "%s: %s", path, strerror(errno));
    wcodec_status status = WCODEC_OK;
    while (status == WCODEC_OK) {
        struct stat st;
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0)
                status = wcodec_fail(err, WCODEC_ERROR_IO, "%s: %s", path, strerror(errno));
            break;
        }
        struct name_list *list = wcodec_model_is_index(entry->d_name)            ? indexes
                                 : wcodec_ends_with(entry->d_name, SHARD_SUFFIX) ? shards
                                                                                 : NULL;
        if (list != NULL && entry->d_name[0] != '.' &&
            fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            status = list_add(list, entry->d_name, err);
    }
    closedir(dir);
    list_sort(indexes);
    list_sort(shards);
    return status;
}

/* The index of a folder that has one, or several of which one has the usual name; NULL: none. */
static wcodec_status choose_index(const char *path, const struct name_list *indexes,
                                  const char **name, wcodec_error *err)
{
    bool is_usual = false;
    *name = indexes->count > 0 ? indexes->names[0] : NULL;
    for (uint64_t i = 0; i < indexes->count; i++)
        for (size_t u = 0; u < sizeof usual_indexes / sizeof *usual_indexes; u++)
            if (strcmp(indexes->names[i], usual_indexes[u]) == 0) {
                *name = indexes->names[i];
                is_usual = true;
            }
    if (indexes->count > 1 && !is_usual)
        return wcodec_fail(
            err, WCODEC_ERROR_USAGE,
            "%s: has several indexes, %s and %s among them: open the one that is meant", path,
            indexes->names[0], indexes->names[1]);
    return WCODEC_OK;
}

static wcodec_status open_folder(struct wcodec_reader *reader, const char *path, const char *folder,
                                 struct name_list *indexes, struct name_list *shards,
                                 wcodec_error *err)
{
    const wcodec_allocator *allocator = &reader->context->allocator;
    const char *name;
    wcodec_status status = list_folder(path, indexes, shards, err);
    /* Many folders have a model twice: PyTorch's files are the older form, others are made of it.
     */
    if (list_has(indexes, INDEX_SUFFIX) || list_has(shards, SAFETENSORS_SUFFIX)) {
        list_drop(indexes, PYTORCH_INDEX_SUFFIX);
        for (size_t i = 0; i < sizeof other_forms / sizeof *other_forms; i++)
            list_drop(shards, other_forms[i]);
    }
    if (status == WCODEC_OK)
        status = choose_index(path, indexes, &name, err);
    if (status != WCODEC_OK)
        return status;
    if (name != NULL) {
        char *index = join(allocator, folder, name, "");
        if (index == NULL)
            return out_of_memory(err);
        status = open_index(reader, index, folder, err);
        wcodec_free(allocator, index);
        return status;
    }
    if (shards->count == 0)
        return wcodec_fail(err, WCODEC_ERROR_NOT_FOUND, "%s: has neither *%s, *%s nor *%s files",
                           path, INDEX_SUFFIX, PYTORCH_INDEX_SUFFIX, SHARD_SUFFIX);
    status = open_shards(reader, folder, shards, "", err);
    return status == WCODEC_OK ? wcodec_reader_number(reader, err) : status;
}

/* What stands before file names: the folder and a slash. */
static char *folder_of(const wcodec_allocator *allocator, const char *path, bool is_folder)
{
    size_t length = strlen(path);
    if (is_folder)
        return join(allocator, path, length > 0 && path[length - 1] == '/' ? "" : "/", "");
    const char *slash = strrchr(path, '/');
    char *folder = wcodec_strdup(allocator, path);
    if (folder != NULL)
        folder[slash != NULL ? slash - path + 1 : 0] = 0;
    return folder;
}

wcodec_status wcodec_model_open(struct wcodec_reader *reader, const char *path, bool is_folder,
                                wcodec_error *err)
{
    const wcodec_allocator *allocator = &reader->context->allocator;
    struct name_list indexes = {.allocator = allocator}, shards = {.allocator = allocator};
    reader->model = true;
    char *folder = folder_of(allocator, path, is_folder);
    if (folder == NULL)
        return out_of_memory(err);
    wcodec_status status = is_folder ? open_folder(reader, path, folder, &indexes, &shards, err)
                                     : open_index(reader, path, folder, err);
    list_free(&indexes);
    list_free(&shards);
    wcodec_free(allocator, folder);
    return status;
}
