/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A folder of files of which each may be a delta of an earlier one, coded or not, some missing and
 * one damaged, and a set of bases that is made of it in one of the ways that there are; an
 * allocation may fail in it. Bytes are taken as choices: see make_file() and choose(). What is
 * found decodes to what was coded; what is not found says why. */
#include "fuzz/container.h"
#include "fuzz/failing.h"
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"
#include <wcodec.h>

const char fuzz_target[] = "bases";
const bool fuzz_takes_files = false;

enum { FILES_MAX = 5, ELEMENTS = 5000, TENSORS = 2, ROOM = 1 << 16 };

/* What a file is in the folder. */
enum { CODED = 1, PLAIN = 2, GIVEN = 4, OTHER_DTYPE = 8, ONE_TENSOR = 16, NO_DELTA = 32 };

struct file {
    uint8_t original[ROOM];
    size_t size, data; /* where tensors begin */
    uint8_t *coded;
    size_t coded_size;
    uint8_t what;
};

static struct file files[FILES_MAX];
static unsigned count;

static int append(void *opaque, const void *data, size_t size)
{
    struct file *f = opaque;
    f->coded = realloc(f->coded, f->coded_size + size + 1);
    FUZZ_REQUIRE(f->coded != NULL);
    memcpy(f->coded + f->coded_size, data, size);
    f->coded_size += size;
    return 0;
}

static const char *name_of(unsigned i, bool coded)
{
    static char name[40];
    snprintf(name, sizeof name, "%u.%s", i,
             coded ? "safetensors.wcodec" : (i & 1 ? "bin" : "safetensors"));
    return name;
}

static void put_header(struct file *f)
{
    char text[300];
    const bool other = f->what & OTHER_DTYPE, one = f->what & ONE_TENSOR;
    const int n = snprintf(text, sizeof text,
                           "{\"w\":{\"dtype\":\"%s\",\"shape\":[%u],\"data_offsets\":[0,%u]}%s",
                           other ? "F16" : "BF16", ELEMENTS, 2 * ELEMENTS,
                           one ? "}"
                               : ",\"v\":{\"dtype\":\"I8\",\"shape\":[5000],"
                                 "\"data_offsets\":[10000,15000]}}");
    wcodec_store_u64(f->original, (uint64_t)n);
    memcpy(f->original + 8, text, (size_t)n);
    f->data = 8 + (size_t)n;
    f->size = f->data + (one ? 2u : 3u) * ELEMENTS;
}

/* Elements of another file, some of which are changed; of none, new ones. */
static void fill(struct file *f, const struct file *from, uint8_t rate, uint8_t seed)
{
    uint32_t state = seed;
    for (size_t i = 0; i < f->size - f->data; i++) {
        state = state * 1664525u + 1013904223u;
        const bool top = i < 2 * ELEMENTS && i % 2 == 1;
        const uint8_t fresh = top ? 0x3c : (uint8_t)(96 + (state >> 24 & 15)),
                      old = from != NULL ? from->original[from->data + i] : fresh;
        f->original[f->data + i] =
            from != NULL && !top && (state >> 8 & 0xff) < rate ? (uint8_t)(old + seed % 4) : old;
    }
}

static void code(struct file *f, unsigned base)
{
    wcodec_bases *bases = NULL;
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.level = 1;
    if (!(f->what & NO_DELTA) && base < count) {
        fuzz_file(name_of(base, false), files[base].original, files[base].size);
        FUZZ_REQUIRE(wcodec_bases_create(fuzz_context(), 0, &bases, NULL) == WCODEC_OK);
        FUZZ_REQUIRE(wcodec_bases_add_path(bases, fuzz_path(name_of(base, false)), NULL) ==
                     WCODEC_OK);
        options.bases = bases;
    }
    f->coded_size = 0;
    if (wcodec_compress_memory(fuzz_context(), f->original, f->size, append, f, &options, NULL,
                               NULL) == WCODEC_ERROR_USAGE) { /* it is its own base */
        f->coded_size = 0;
        options.bases = NULL;
        FUZZ_REQUIRE(wcodec_compress_memory(fuzz_context(), f->original, f->size, append, f,
                                            &options, NULL, NULL) == WCODEC_OK);
    }
    wcodec_bases_destroy(bases);
}

/* u8 what, u8 base, u8 of 256 elements that change, u8 seed. */
static void make_file(struct wcodec_cursor *c)
{
    struct file *f = &files[count];
    f->what = fuzz_take(c);
    const unsigned base = fuzz_take(c) % (FILES_MAX + 1);
    const uint8_t rate = fuzz_take(c), seed = fuzz_take(c);
    put_header(f);
    fill(f, base < count && files[base].size >= f->size ? &files[base] : NULL, rate, seed);
    code(f, base);
    count++;
}

static void put_files(uint8_t damaged, uint16_t place, uint8_t change)
{
    fuzz_folder_clear();
    fuzz_file("readme.txt", "no file", 7);
    for (unsigned i = 0; i < count; i++) {
        struct file *f = &files[i];
        if (i == damaged % FILES_MAX)
            f->coded[place * f->coded_size >> 16] ^= change;
        if (f->what & CODED || i + 1 == count)
            fuzz_file(name_of(i, true), f->coded, f->coded_size);
        if (f->what & PLAIN)
            fuzz_file(name_of(i, false), f->original, f->size);
    }
}

static void check_error(wcodec_status status, const wcodec_error *err)
{
    FUZZ_REQUIRE(status == WCODEC_OK || (err->status == status && err->text[0] != 0));
    FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY ||
                 status == WCODEC_ERROR_CORRUPT || status == WCODEC_ERROR_NEWER ||
                 status == WCODEC_ERROR_NOT_FOUND || status == WCODEC_ERROR_LIMIT);
}

/* Those that are given, then the way of finding: none, in the folder, beside the reader's files,
 * beside the bases, of coded files alone, or the whole folder. */
static wcodec_status choose(wcodec_bases *bases, const wcodec_reader *reader, uint8_t way,
                            wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; status == WCODEC_OK && i + 1 < count; i++)
        if (files[i].what & GIVEN && files[i].what & (CODED | PLAIN))
            status =
                wcodec_bases_add_path(bases, fuzz_path(name_of(i, !(files[i].what & PLAIN))), err);
    if (status != WCODEC_OK)
        return status;
    switch (way % 6) {
    case 0:
        return WCODEC_OK;
    case 1:
        return wcodec_bases_find(bases, reader, fuzz_folder(), err);
    case 2:
        return wcodec_bases_find(bases, reader, NULL, err);
    case 3:
        return wcodec_bases_find(bases, NULL, NULL, err);
    case 4:
        return wcodec_bases_find_coded(bases, reader, NULL, err);
    default:
        return wcodec_bases_add_path(bases, fuzz_folder(), err);
    }
}

static void list(const wcodec_bases *bases, const wcodec_reader *reader)
{
    wcodec_delta_info info;
    const char *path;
    uint8_t hash[16];
    for (uint64_t i = 0; i < wcodec_bases_count(bases); i++)
        FUZZ_REQUIRE(wcodec_bases_file(bases, i, &path, hash, NULL) == WCODEC_OK && path != NULL);
    FUZZ_REQUIRE(wcodec_bases_file(bases, wcodec_bases_count(bases), &path, NULL, NULL) ==
                 WCODEC_ERROR_USAGE);
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++)
        FUZZ_REQUIRE(wcodec_reader_delta(reader, i, &info, NULL) == WCODEC_OK);
}

/* The last file by these bases. */
static void decode(const wcodec_reader *reader, bool damaged)
{
    const struct file *f = &files[count - 1];
    wcodec_tensor_info info;
    wcodec_error err = {0};
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        FUZZ_REQUIRE(wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK);
        if (info.size > ROOM)
            continue;
        uint8_t *out = fuzz_guarded((size_t)info.size);
        const wcodec_status status =
            wcodec_reader_decode(reader, i, out, (size_t)info.size, NULL, &err);
        check_error(status, &err);
        if (status == WCODEC_OK && !damaged) {
            FUZZ_REQUIRE(info.file_offset + info.size <= f->size &&
                         memcmp(out, f->original + info.file_offset, (size_t)info.size) == 0);
            fuzz_deep++;
        }
        fuzz_guarded_free(out, (size_t)info.size);
    }
}

/* Another file against the same bases, which must not have what it would stand on itself. */
static wcodec_status encode(wcodec_context *context, const wcodec_bases *bases, wcodec_error *err)
{
    struct file *f = &files[count - 1];
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.level = 1;
    options.bases = bases;
    f->coded_size = 0;
    return wcodec_compress_memory(context, f->original, f->size, append, f, &options, NULL, err);
}

/* u8 way, u8 depth, u16 allocation that fails, u8 what is done with the set. */
static void use(struct wcodec_cursor *c, bool damaged)
{
    wcodec_reader *reader = NULL;
    wcodec_bases *bases = NULL;
    wcodec_error err = {0};
    const uint8_t way = fuzz_take(c), depth = fuzz_take(c) % 5, low = fuzz_take(c),
                  high = fuzz_take(c), what = fuzz_take(c);
    const uint64_t first = 0;
    wcodec_context *context = fuzz_failing_context();
    fuzz_fail_allocation((uint64_t)(low | high << 8));
    wcodec_status status =
        wcodec_reader_open_path(context, fuzz_path(name_of(count - 1, true)), &reader, &err);
    if (status == WCODEC_OK)
        status = wcodec_bases_create(context, depth, &bases, &err);
    if (status == WCODEC_OK)
        status = choose(bases, reader, way, &err);
    if (status == WCODEC_OK)
        status = what & 1 && wcodec_reader_tensor_count(reader) != 0
                     ? wcodec_reader_set_bases_for(reader, bases, &first, 1, &err)
                     : wcodec_reader_set_bases(reader, bases, &err);
    check_error(status, &err);
    if (bases != NULL)
        list(bases, reader);
    if (status == WCODEC_OK)
        decode(reader, damaged);
    if (status == WCODEC_OK && what & 2)
        status = encode(context, bases, &err);
    if (status != WCODEC_ERROR_USAGE) /* it is a base itself */
        check_error(status, &err);
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
    fuzz_failing_destroy(context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor c = {data, data + size};
    fuzz_folder_clear();
    count = 0;
    for (unsigned n = 1 + fuzz_take(&c) % FILES_MAX; n > 0; n--)
        make_file(&c);
    const uint8_t damaged = fuzz_take(&c), low = fuzz_take(&c), high = fuzz_take(&c),
                  change = fuzz_take(&c);
    put_files(damaged, (uint16_t)(low | high << 8), change);
    use(&c, change != 0);
    for (unsigned i = 0; i < count; i++) {
        free(files[i].coded);
        files[i].coded = NULL;
    }
    return 0;
}
