/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices that stay in a device's memory as they are coded in the file, by backends in turn:
 * Gaussian weights of deviation 0.02, bf16, of --tune=compute.
 *
 *   gpu-coded BACKEND... [-r REPEATS] [-g] [ROWSxCOLUMNS...]
 *
 * A chain has four matrices, more than the last cache holds. The time is that of 64 calls, given to
 * a queue without waiting, by the host's clock, over their number: medians of REPEATS,
 * microseconds, of decoding a matrix and of products with 1, 8 and 16 vectors of bf16. What the
 * backends make of 8 vectors is compared. With -g it is one table, of --tune=size, 128256x4096 by
 * default, of which 4,096 rows by random numbers are gathered, and then the first one again and
 * again. WCODEC_CUDA_EARLY_LAUNCHES=0 gives CUDA's plain launches. */
#include "resident/resident.h"
#define PROGRAM "gpu-coded"
#include "bench/floats.h"
#include "bench/program.h"
#include "bench/random.h"
#include "bench/timing.h"

#include <dlfcn.h>
#include <math.h>

enum { BACKENDS = 4, CHAIN = 4, CALLS = 64, REPEATS = 31, POOL = 1 << 20, MOST = 16 };
enum { DECODE, MULTIPLY, GATHER = MULTIPLY + 3, GATHER_SAME, TIMES };
enum { GATHERED = 4096 };

static const unsigned vectors[] = {1, 8, 16};

struct side {
    const char *name;
    wcodec_context *context;
    wcodec_resident *resident;
    const struct wcodec_backend *backend;
    struct wcodec_device *device;
    struct wcodec_queue *queue;
    uint64_t native;
    struct wcodec_memory *x, *y, *out, *index[2];
    float *result;
    double times[TIMES][REPEATS];
};

struct bench {
    struct side sides[BACKENDS];
    unsigned count, repeats;
    bool gather;
    uint64_t rows, columns;
};

static unsigned chain_of(const struct bench *b)
{
    return b->gather ? 1 : CHAIN;
}

/* A queue as a caller has it: CUDA's of number 0, one of OpenCL's own. */
static uint64_t native_queue(const struct side *s)
{
    void *(*create)(void *, void *, uint64_t, int32_t *);
    uint64_t context, number;
    int32_t result;
    if (strcmp(s->name, "cuda") == 0)
        return 0;
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW),
         *symbol = library != NULL ? dlsym(library, "clCreateCommandQueue") : NULL;
    if (symbol == NULL) {
        fprintf(stderr, PROGRAM ": %s\n", dlerror());
        exit(1);
    }
    memcpy(&create, &symbol, sizeof symbol);
    s->backend->device_native(s->device, &context, &number);
    return (uint64_t)(uintptr_t)create((void *)(uintptr_t)context, (void *)(uintptr_t)number, 0,
                                       &result);
}

static struct wcodec_memory *allocate(const struct side *s, uint64_t size)
{
    struct wcodec_memory *memory;
    wcodec_error err;
    check(s->backend->memory_allocate(s->device, WCODEC_MEMORY_DEVICE, size, &memory, &err), &err);
    return memory;
}

static void open_side(struct side *s, const struct bench *b, const struct sink *f)
{
    wcodec_options options;
    wcodec_resident_options wanted;
    wcodec_resident_tensor info;
    wcodec_reader *reader;
    wcodec_error err;
    wcodec_options_init(&options);
    options.backend = s->name;
    check(wcodec_context_create(&options, &s->context, &err), &err);
    check(wcodec_reader_open_memory(s->context, f->data, f->size, &reader, &err), &err);
    wcodec_resident_options_init(&wanted);
    wanted.form = WCODEC_RESIDENT_CODED;
    wanted.memory = s->name;
    check(wcodec_resident_create(reader, NULL, 0, &wanted, &s->resident, &err), &err);
    wcodec_reader_close(reader);
    check(wcodec_resident_info(s->resident, 0, &info, &err), &err);
    s->backend = s->resident->device->backend;
    s->device = s->resident->device->device;
    s->native = native_queue(s);
    check(s->backend->queue_adopt(s->device, s->native, &s->queue, &err), &err);
    s->x = allocate(s, 2 * MOST * b->columns);
    s->y = allocate(s, 4 * MOST * b->rows);
    s->out = allocate(s, 2 * (b->rows > GATHERED ? b->rows : GATHERED) * b->columns);
    for (unsigned i = 0; i < 2; i++)
        s->index[i] = allocate(s, sizeof(int64_t) * GATHERED);
    printf("%s: %.3f bits, %s\n", s->name, (double)info.held * 8 / (double)(b->rows * b->columns),
           wcodec_resident_linear_straight(s->resident, 0, 8, 0) ? "products straight from the code"
                                                                 : "products after decoding");
}

static void close_side(struct side *s)
{
    for (unsigned i = 0; i < 2; i++)
        s->backend->memory_free(s->index[i]);
    s->backend->memory_free(s->out);
    s->backend->memory_free(s->y);
    s->backend->memory_free(s->x);
    s->backend->queue_destroy(s->queue);
    wcodec_resident_destroy(s->resident);
    wcodec_context_destroy(s->context);
    free(s->result);
    s->result = NULL;
}

static void multiply(const struct bench *b, const struct side *s, unsigned matrix, unsigned rows,
                     wcodec_dtype y)
{
    wcodec_linear l;
    wcodec_error err;
    wcodec_linear_init(&l);
    l.rows = rows;
    l.x = (void *)(uintptr_t)s->backend->memory_native(s->x);
    l.x_dtype = WCODEC_DTYPE_BF16;
    l.x_stride = 2 * b->columns;
    l.y = (void *)(uintptr_t)s->backend->memory_native(s->y);
    l.y_dtype = y;
    l.y_stride = (y == WCODEC_DTYPE_F32 ? 4 : 2) * b->rows;
    l.queue = s->native;
    check(wcodec_resident_linear(s->resident, matrix, &l, &err), &err);
}

static double time_calls(const struct bench *b, const struct side *s, unsigned kind)
{
    wcodec_error err;
    const double begin = wall();
    for (unsigned i = 0; i < CALLS; i++)
        if (kind == DECODE)
            check(wcodec_resident_decode_queued(s->resident, i % chain_of(b), 0, b->rows,
                                                s->backend->memory_native(s->out),
                                                2 * b->rows * b->columns, s->native, &err),
                  &err);
        else if (kind >= GATHER)
            check(wcodec_resident_gather_queued(s->resident, 0,
                                                s->backend->memory_native(s->index[kind - GATHER]),
                                                GATHERED, s->backend->memory_native(s->out),
                                                2 * GATHERED * b->columns, s->native, &err),
                  &err);
        else
            multiply(b, s, i % chain_of(b), vectors[kind - MULTIPLY], WCODEC_DTYPE_BF16);
    check(s->backend->queue_wait(s->queue, &err), &err);
    return 1e6 * (wall() - begin) / CALLS;
}

/* y of 8 vectors in F32, beside the first side's: the largest difference over the largest number.
 */
static void compare(const struct bench *b, struct side *s)
{
    const struct side *first = b->sides;
    const size_t count = (size_t)(8 * b->rows);
    double differs = 0, largest = 0;
    wcodec_error err;
    s->result = malloc(count * sizeof *s->result);
    multiply(b, s, 0, 8, WCODEC_DTYPE_F32);
    check(s->backend->copy_out(s->queue, s->result, s->y, 0, 4 * count, &err), &err);
    check(s->backend->queue_wait(s->queue, &err), &err);
    for (size_t i = 0; i < count; i++) {
        differs = fmax(differs, fabs((double)s->result[i] - (double)first->result[i]));
        largest = fmax(largest, fabs((double)first->result[i]));
    }
    if (s != first)
        printf("%s differs by %.2g of %.2g\n", s->name, differs, largest);
}

static void put_vectors(const struct bench *b, const struct side *s)
{
    const size_t count = (size_t)(MOST * b->columns);
    uint16_t *x = malloc(count * sizeof *x);
    wcodec_error err;
    random_state = 2;
    for (size_t i = 0; i < count; i++)
        x[i] = (uint16_t)bf16_bits(gaussian());
    check(s->backend->copy_in(s->queue, s->x, 0, x, 2 * count, &err), &err);
    for (unsigned k = 0; k < 2; k++) {
        int64_t index[GATHERED];
        for (unsigned i = 0; i < GATHERED; i++)
            index[i] = (int64_t)(i > 0 && k > 0 ? (uint64_t)index[0] : random_next() % b->rows);
        check(s->backend->copy_in(s->queue, s->index[k], 0, index, sizeof index, &err), &err);
        check(s->backend->queue_wait(s->queue, &err), &err);
    }
    check(s->backend->queue_wait(s->queue, &err), &err);
    free(x);
}

static void write_file(const struct bench *b, const uint16_t *pool, struct sink *f)
{
    const uint64_t shape[] = {b->rows, b->columns};
    const size_t count = (size_t)(b->rows * b->columns);
    uint16_t *data = (uint16_t *)(void *)take_pages(2 * count);
    wcodec_context *context = open_context(0);
    wcodec_encode_options options;
    wcodec_writer *writer;
    wcodec_error err;
    wcodec_encode_options_init(&options);
    options.tune = b->gather ? WCODEC_TUNE_SIZE : WCODEC_TUNE_COMPUTE;
    f->size = 0;
    check(wcodec_writer_create(context, append, f, &options, &writer, &err), &err);
    for (unsigned i = 0; i < chain_of(b); i++) {
        const char name[] = {'w', (char)('0' + i), '\0'};
        check(wcodec_writer_declare(writer, name, WCODEC_DTYPE_BF16, shape, 2, &err), &err);
    }
    for (unsigned k = 0; k < chain_of(b); k++) {
        for (size_t i = 0; i < count; i++) /* nothing comes again, which zstd would find */
            data[i] = pool[random_next() % POOL];
        check(wcodec_writer_data(writer, data, 2 * count, &err), &err);
    }
    check(wcodec_writer_finish(writer, NULL, &err), &err);
    wcodec_writer_destroy(writer);
    wcodec_context_destroy(context);
    free(data);
}

static void run_shape(struct bench *b, const uint16_t *pool)
{
    static const char *const names[TIMES] = {"decoded", "M 1",  "M 8",
                                             "M 16",    "rows", "one row again"};
    const size_t capacity = (size_t)(2 * chain_of(b) * b->rows * b->columns) + (1 << 20);
    struct sink f = {.data = take_pages(capacity), .capacity = capacity};
    printf("%llu x %llu\n", (unsigned long long)b->rows, (unsigned long long)b->columns);
    write_file(b, pool, &f);
    for (unsigned i = 0; i < b->count; i++) {
        open_side(&b->sides[i], b, &f);
        put_vectors(b, &b->sides[i]);
        if (!b->gather)
            compare(b, &b->sides[i]);
    }
    for (unsigned kind = 0; kind < TIMES; kind++) {
        if (kind != DECODE && b->gather != (kind >= GATHER))
            continue;
        for (unsigned r = 0; r < b->repeats + 1; r++) /* the first is not counted */
            for (unsigned i = 0; i < b->count; i++) {
                const double taken = time_calls(b, &b->sides[i], kind);
                b->sides[i].times[kind][r == 0 ? 0 : r - 1] = taken;
            }
        printf("%s:", names[kind]);
        for (unsigned i = 0; i < b->count; i++)
            printf(" %s %.1f us", b->sides[i].name, median(b->sides[i].times[kind], b->repeats));
        printf("\n");
        fflush(stdout);
    }
    for (unsigned i = 0; i < b->count; i++)
        close_side(&b->sides[i]);
    free(f.data);
}

int main(int argc, char **argv)
{
    struct bench b = {.repeats = 7};
    uint16_t *pool = malloc(POOL * sizeof *pool);
    unsigned shapes = 0;
    for (size_t i = 0; i < POOL; i++)
        pool[i] = (uint16_t)bf16_bits(0.02 * gaussian());
    for (int i = 1; i < argc; i++) {
        char *end;
        if (strcmp(argv[i], "-r") == 0 && i + 1 < argc) {
            b.repeats = (unsigned)atoi(argv[++i]) | 1;
            if (b.repeats > REPEATS)
                b.repeats = REPEATS;
        } else if (strcmp(argv[i], "-g") == 0) {
            b.gather = true;
        } else if (argv[i][0] >= '0' && argv[i][0] <= '9') {
            b.rows = strtoull(argv[i], &end, 10);
            b.columns = strtoull(end + (*end == 'x'), NULL, 10);
            shapes++;
            run_shape(&b, pool);
        } else if (b.count < BACKENDS) {
            b.sides[b.count++].name = argv[i];
        }
    }
    if (shapes == 0) {
        b.rows = b.gather ? 128256 : 8192;
        b.columns = b.gather ? 4096 : 8192;
        run_shape(&b, pool);
    }
    free(pool);
    return 0;
}
