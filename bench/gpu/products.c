/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products with matrices at a fixed rate in a device's memory, by plugins of CUDA and OpenCL in
 * turn: Gaussian weights of deviation 0.02, bf16 vectors.
 *
 *   gpu-products PLUGIN.so... [-r REPEATS] [-s LOG2] [-m VECTORS] [ROWSxCOLUMNS...]
 *
 * A chain has 16 matrices of their own (of the same numbers), more than the last cache holds. The
 * time is that of several chains, given to a queue without waiting, by the host's clock over their
 * products: the median of REPEATS after one. Behind it, of rows of a matrix: all of them decoded,
 * and 4,096 gathered. Then, where the plugin has a library that multiplies, many vectors: by it
 * with decoded matrices, with what is decoded to one place before each product, whole and in four
 * pieces, straight from the code, without memory to work in (narrow: kernels of few vectors), and
 * with int8; and y = x W straight from the code and by it. WCODEC_CUDA_EARLY_LAUNCHES=0 gives
 * CUDA's plain launches, WCODEC_CUDA_WARPGROUPS=0 no kernels of many vectors. -s: shapes are
 * smaller by 2^LOG2. -m, up to 16 times: so many vectors, and y = x W^T alone. */
#include "registry/host.h"
#include "bench/floats.h"
#include "bench/random.h"
#include "bench/timing.h"
#include "core/context.h"
#include "encode/encode.h"

#include <dlfcn.h>

enum { PLUGINS = 4, CHAIN = 16, PRODUCTS = 320, REPEATS = 31, NUMBERS = 1 << 20, GATHERED = 4096 };

static const unsigned vectors[] = {1, 8, 16, 32, 64};
enum { KINDS = sizeof vectors / sizeof *vectors, VECTORS = 64, TIMES = KINDS + 2 };
enum { ASKED = 16, MOST = 4096 }; /* numbers of many vectors, and most of them */

struct plugin {
    const char *name;
    const struct wcodec_backend *backend;
    struct wcodec_backend_state *state;
    struct wcodec_device *device;
    struct wcodec_queue *queue;
    uint64_t native;
    struct wcodec_memory *matrices[CHAIN], *x, *y, *numbers, *out;
    uint8_t *result; /* y of the first matrix, for all vectors, F32 */
    double times[TIMES][REPEATS];
};

struct bench {
    wcodec_context *context;
    struct wcodec_host host;
    struct plugin plugins[PLUGINS];
    unsigned plugin_count, repeats;
    uint64_t many[ASKED]; /* that are asked for */
    unsigned many_count;
    uint64_t rows, columns;
    const struct wcodec_fixed *fixed;
    uint8_t *data;
};

static void check(wcodec_status status, const wcodec_error *err)
{
    if (status != WCODEC_OK) {
        fprintf(stderr, "error: %s\n", err->text);
        exit(1);
    }
}

static void *found(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return symbol;
}

/* A queue as a caller has it: CUDA's of number 0, one of OpenCL's own. */
static uint64_t native_queue(const struct plugin *p)
{
    void *(*create)(void *, void *, uint64_t, int32_t *);
    uint64_t context, number;
    int32_t result;
    if (strcmp(p->backend->name, "cuda") == 0)
        return 0;
    void *symbol = found(dlopen("libOpenCL.so.1", RTLD_NOW), "clCreateCommandQueue");
    memcpy(&create, &symbol, sizeof symbol);
    p->backend->device_native(p->device, &context, &number);
    return (uint64_t)(uintptr_t)create((void *)(uintptr_t)context, (void *)(uintptr_t)number, 0,
                                       &result);
}

static void open_plugin(struct bench *b, const char *path)
{
    struct wcodec_device_listing listing;
    wcodec_error err;
    struct plugin *p = &b->plugins[b->plugin_count++];
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *symbol =
        strstr(path, "opencl") != NULL ? "wcodec_backend_opencl" : "wcodec_backend_cuda";
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    p->backend = found(plugin, symbol);
    p->name = p->backend->name;
    check(p->backend->open(&b->host, &p->state, &err), &err);
    check(p->backend->device_open(p->state, 0, &p->device, &err), &err);
    p->native = native_queue(p);
    check(p->backend->queue_adopt(p->device, p->native, &p->queue, &err), &err);
    p->backend->device_list(p->state, 0, &listing);
    printf("%s: %s, %s\n", p->name, listing.name, listing.driver);
}

static struct wcodec_memory *put(const struct plugin *p, const void *data, uint64_t size)
{
    struct wcodec_memory *memory;
    wcodec_error err;
    check(p->backend->memory_allocate(p->device, WCODEC_MEMORY_DEVICE, size, &memory, &err), &err);
    if (data != NULL)
        check(p->backend->copy_in(p->queue, memory, 0, data, size, &err), &err);
    check(p->backend->queue_wait(p->queue, &err), &err);
    return memory;
}

static void multiply(const struct bench *b, const struct plugin *p, unsigned matrix, unsigned count,
                     wcodec_dtype y)
{
    wcodec_error err;
    const struct wcodec_product product = {.fixed = b->fixed,
                                           .memory = p->matrices[matrix],
                                           .x = p->backend->memory_native(p->x),
                                           .y = p->backend->memory_native(p->y),
                                           .x_stride = 2 * b->columns,
                                           .y_stride = (y == WCODEC_DTYPE_F32 ? 4 : 2) * b->rows,
                                           .vectors = count,
                                           .y_dtype = y,
                                           .room = p->backend->memory_native(p->out),
                                           .room_size = 2 * b->rows * b->columns};
    check(p->backend->products->multiply(p->device, p->native, &product, &err), &err);
}

static void decode(const struct bench *b, const struct plugin *p, unsigned matrix, bool gather)
{
    wcodec_error err;
    const struct wcodec_rows rows = {.fixed = b->fixed,
                                     .memory = p->matrices[matrix],
                                     .indices = gather ? p->backend->memory_native(p->numbers) : 0,
                                     .count = gather ? (uint64_t)GATHERED : b->rows,
                                     .out = p->backend->memory_native(p->out)};
    check(p->backend->products->decode_rows(p->device, p->native, &rows, &err), &err);
}

/* Microseconds of one of the chains' calls. */
static double time_chains(const struct bench *b, const struct plugin *p, unsigned kind,
                          unsigned calls)
{
    wcodec_error err;
    const double begin = wall();
    for (unsigned i = 0; i < calls; i++)
        if (kind < KINDS)
            multiply(b, p, i % CHAIN, vectors[kind], WCODEC_DTYPE_BF16);
        else
            decode(b, p, i % CHAIN, kind == KINDS + 1);
    check(p->backend->queue_wait(p->queue, &err), &err);
    return 1e6 * (wall() - begin) / calls;
}

/* Products of both plugins, and rows, which are the weights. */
static void compare(const struct bench *b)
{
    const uint64_t size = 4 * VECTORS * b->rows, bytes = 2 * b->rows * b->columns;
    uint8_t *out = malloc(bytes);
    double most = 0, square = 0;
    wcodec_error err;
    for (unsigned k = 0; k < b->plugin_count; k++) {
        struct plugin *p = (struct plugin *)&b->plugins[k];
        p->result = malloc(size);
        multiply(b, p, 0, VECTORS, WCODEC_DTYPE_F32);
        check(p->backend->copy_out(p->queue, p->result, p->y, 0, size, &err), &err);
        check(p->backend->queue_wait(p->queue, &err), &err);
        decode(b, p, CHAIN - 1, false);
        check(p->backend->copy_out(p->queue, out, p->out, 0, bytes, &err), &err);
        check(p->backend->queue_wait(p->queue, &err), &err);
        if (memcmp(out, b->data, bytes) != 0)
            printf("%s: ROWS DIFFER\n", p->name);
    }
    for (uint64_t i = 0; i < VECTORS * b->rows; i++) {
        float first, last;
        memcpy(&first, b->plugins[0].result + 4 * i, 4);
        memcpy(&last, b->plugins[b->plugin_count - 1].result + 4 * i, 4);
        most = fmax(most, fabs((double)first - (double)last));
        square += (double)first * (double)first;
    }
    printf("  products differ by %.2g of their deviation at most\n",
           most / sqrt(square / (double)(VECTORS * b->rows)));
    for (unsigned k = 0; k < b->plugin_count; k++)
        free(b->plugins[k].result);
    free(out);
}

static void print_times(struct bench *b)
{
    for (unsigned kind = 0; kind < TIMES; kind++) {
        double first = 0;
        char text[32] = "all rows";
        if (kind < KINDS)
            snprintf(text, sizeof text, "%2u vectors", vectors[kind]);
        else if (kind > KINDS)
            snprintf(text, sizeof text, "%d rows", (int)GATHERED);
        printf("  %-10s", text);
        for (unsigned k = 0; k < b->plugin_count; k++) {
            struct plugin *p = &b->plugins[k];
            const double us = median(p->times[kind], b->repeats), least = p->times[kind][0];
            first = k == 0 ? us : first;
            printf("  %s %8.2f us (least %.2f)", p->name, us, least);
            if (k > 0)
                printf(" = %.0f %%", 100 * first / us);
        }
        printf("\n");
    }
    fflush(stdout);
}

/* What many vectors are multiplied with. */
enum way { PLAIN, DECODED, PIECES, STRAIGHT, WITHOUT, BYTES, WAYS };

struct dense {
    const struct bench *b;
    const struct plugin *p;
    struct wcodec_memory *plain[CHAIN], *decoded, *x, *y, *work;
    uint64_t vectors;
    bool transposed;
};

static struct wcodec_dense_product dense_product(const struct dense *d, struct wcodec_memory *from)
{
    const uint64_t n = d->b->rows, k = d->b->columns;
    return (struct wcodec_dense_product){.memory = from,
                                         .rows = n,
                                         .columns = k,
                                         .x = d->p->backend->memory_native(d->x),
                                         .y = d->p->backend->memory_native(d->y),
                                         .x_stride = 2 * (d->transposed ? n : k),
                                         .y_stride = 2 * (d->transposed ? k : n),
                                         .vectors = d->vectors,
                                         .dtype = WCODEC_DTYPE_BF16,
                                         .x_dtype = WCODEC_DTYPE_BF16,
                                         .y_dtype = WCODEC_DTYPE_BF16,
                                         .transposed = d->transposed,
                                         .work = d->work};
}

static void decode_piece(const struct dense *d, unsigned i, uint64_t first, uint64_t count,
                         struct wcodec_memory *to)
{
    wcodec_error err;
    const struct wcodec_rows rows = {.fixed = d->b->fixed,
                                     .memory = d->p->matrices[i],
                                     .first = first,
                                     .count = count,
                                     .out = d->p->backend->memory_native(to)};
    check(d->p->backend->products->decode_rows(d->p->device, d->p->native, &rows, &err), &err);
}

static void multiply_many(const struct dense *d, unsigned i, enum way way)
{
    const struct wcodec_backend_products *products = d->p->backend->products;
    wcodec_error err;
    struct wcodec_dense_product p =
        dense_product(d, way == PLAIN || way == BYTES ? d->plain[i] : d->decoded);
    const uint64_t piece = way == PIECES ? (p.rows + 63) / 64 * 16 : p.rows, rows = p.rows;
    if (way == STRAIGHT || way == WITHOUT) {
        const struct wcodec_product product = {
            .fixed = d->b->fixed,
            .memory = d->p->matrices[i],
            .x = p.x,
            .y = p.y,
            .x_stride = p.x_stride,
            .y_stride = p.y_stride,
            .vectors = p.vectors,
            .y_dtype = p.y_dtype,
            .room = way == WITHOUT ? 0 : d->p->backend->memory_native(d->decoded),
            .room_size = 2 * d->b->rows * d->b->columns,
            .transposed = p.transposed};
        check(products->multiply(d->p->device, d->p->native, &product, &err), &err);
        return;
    }
    if (way == BYTES)
        p.dtype = WCODEC_DTYPE_I8; /* half of what is there, as it is */
    for (p.first = 0; p.first < rows; p.first += piece) {
        p.rows = rows - p.first < piece ? rows - p.first : piece;
        if (way == DECODED || way == PIECES)
            decode_piece(d, i, p.first, p.rows, d->decoded);
        check(products->multiply_dense(d->p->device, d->p->native, &p, &err), &err);
    }
}

/* By how much straight products, made twice, differ from those with decoded elements. */
static void compare_many(const struct dense *d)
{
    const uint64_t count = d->vectors * (d->transposed ? d->b->columns : d->b->rows);
    uint16_t *y[3];
    double most = 0, square = 0;
    wcodec_error err;
    for (unsigned i = 0; i < 3; i++) {
        y[i] = malloc(2 * count);
        multiply_many(d, 0, i == 0 ? PLAIN : STRAIGHT);
        check(d->p->backend->copy_out(d->p->queue, y[i], d->y, 0, 2 * count, &err), &err);
        check(d->p->backend->queue_wait(d->p->queue, &err), &err);
    }
    for (uint64_t i = 0; i < count; i++) {
        const double plain = (double)bf16_value(y[0][i]),
                     difference = fabs(plain - (double)bf16_value(y[1][i]));
        most = difference <= most ? most : difference; /* a NaN too */
        square += plain * plain;
    }
    printf("  differ by %.2g of their deviation%s", most / sqrt(square / (double)count),
           memcmp(y[1], y[2], 2 * count) != 0 ? ", NOT THE SAME TWICE" : "");
    for (unsigned i = 0; i < 3; i++)
        free(y[i]);
}

static void time_many(const struct dense *d)
{
    static const char *const names[] = {"plain",    "decoded", "in pieces",
                                        "straight", "narrow",  "int8"};
    enum { CALLS = 4 * CHAIN };
    double times[WAYS][REPEATS], first = 0;
    wcodec_error err;
    const unsigned repeats = d->b->repeats;
    printf("  %s%4llu vectors", d->transposed ? "x W, " : "", (unsigned long long)d->vectors);
    for (unsigned turn = 0; turn <= repeats; turn++)
        for (unsigned way = 0; way < WAYS; way++) {
            const bool left_out =
                (way == STRAIGHT && d->transposed && d->vectors > 16) ||
                (way == BYTES && d->vectors > 32) ||
                (way == WITHOUT && (d->transposed || d->vectors <= 32 || d->vectors > 128)) ||
                ((way == PIECES || way == BYTES) && d->transposed);
            const double begin = wall();
            for (unsigned i = 0; i < CALLS && !left_out; i++)
                multiply_many(d, i % CHAIN, (enum way)way);
            check(d->p->backend->queue_wait(d->p->queue, &err), &err);
            if (turn > 0)
                times[way][turn - 1] = left_out ? 0 : 1e6 * (wall() - begin) / CALLS;
        }
    for (unsigned way = 0; way < WAYS; way++) {
        const double us = median(times[way], repeats);
        first = way == PLAIN ? us : first;
        if (us != 0)
            printf("  %s %7.1f us", names[way], us);
        if (us != 0 && way != PLAIN)
            printf(" (%.2f)", first / us);
    }
    if (times[STRAIGHT][0] != 0)
        compare_many(d);
    printf("\n");
    fflush(stdout);
}

static void run_many(const struct bench *b, const struct plugin *p)
{
    static const uint64_t many[] = {1, 8, 16, 32, 40, 64, 96, 128, 200, 256, 512, 1024, 2048, 4096};
    enum { KINDS_OF_MANY = sizeof many / sizeof *many };
    struct dense d = {.b = b, .p = p};
    const uint64_t longer = b->rows > b->columns ? b->rows : b->columns,
                   work = p->backend->products->dense_work(p->device);
    if (work == 0)
        return;
    uint16_t *x = malloc(2 * MOST * longer);
    for (uint64_t i = 0; i < MOST * longer; i++)
        x[i] = (uint16_t)bf16_bits(gaussian());
    d.x = put(p, x, 2 * MOST * longer);
    d.y = put(p, NULL, 2 * MOST * longer);
    d.work = put(p, NULL, work);
    d.decoded = put(p, NULL, 2 * b->rows * b->columns);
    for (unsigned i = 0; i < CHAIN; i++) {
        d.plain[i] = put(p, NULL, 2 * b->rows * b->columns);
        decode_piece(&d, i, 0, b->rows, d.plain[i]);
    }
    for (unsigned k = 0; k < b->many_count; k++) {
        d.vectors = b->many[k];
        time_many(&d);
    }
    for (unsigned k = 0; b->many_count == 0 && k < 2 * KINDS_OF_MANY; k++) {
        d.transposed = k >= KINDS_OF_MANY;
        d.vectors = many[k % KINDS_OF_MANY];
        if (!d.transposed || d.vectors <= 128)
            time_many(&d);
    }
    for (unsigned i = 0; i < CHAIN; i++)
        p->backend->memory_free(d.plain[i]);
    p->backend->memory_free(d.decoded);
    p->backend->memory_free(d.work);
    p->backend->memory_free(d.y);
    p->backend->memory_free(d.x);
    free(x);
}

static void run(struct bench *b, const uint8_t *payload)
{
    const uint64_t gathered = 2 * GATHERED * b->columns, all = 2 * b->rows * b->columns;
    uint16_t *x = malloc(2 * VECTORS * b->columns);
    uint64_t numbers[GATHERED];
    for (uint64_t i = 0; i < VECTORS * b->columns; i++)
        x[i] = (uint16_t)bf16_bits(gaussian());
    for (unsigned i = 0; i < GATHERED; i++)
        numbers[i] = random_next() % b->rows;
    for (unsigned k = 0; k < b->plugin_count; k++) {
        struct plugin *p = &b->plugins[k];
        for (unsigned i = 0; i < CHAIN; i++)
            p->matrices[i] = put(p, payload, b->fixed->payload_size);
        p->x = put(p, x, 2 * VECTORS * b->columns);
        p->y = put(p, NULL, 4 * VECTORS * b->rows);
        p->numbers = put(p, numbers, sizeof numbers);
        p->out = put(p, NULL, all > gathered ? all : gathered);
    }
    compare(b);
    for (unsigned kind = 0; kind < TIMES; kind++)
        for (unsigned i = 0; i <= b->repeats; i++)
            for (unsigned k = 0; k < b->plugin_count; k++) {
                const double us = time_chains(b, &b->plugins[k], kind,
                                              kind < KINDS && b->rows >= 4096 ? (unsigned)PRODUCTS
                                                                              : (unsigned)CHAIN);
                if (i > 0)
                    b->plugins[k].times[kind][i - 1] = us;
            }
    print_times(b);
    for (unsigned k = 0; k < b->plugin_count; k++)
        run_many(b, &b->plugins[k]);
    for (unsigned k = 0; k < b->plugin_count; k++) {
        struct plugin *p = &b->plugins[k];
        for (unsigned i = 0; i < CHAIN; i++)
            p->backend->memory_free(p->matrices[i]);
        p->backend->memory_free(p->x);
        p->backend->memory_free(p->y);
        p->backend->memory_free(p->numbers);
        p->backend->memory_free(p->out);
    }
    free(x);
}

static void run_shape(struct bench *b, const uint16_t *pool)
{
    const struct wcodec_encode_settings settings = {
        .level = 4, .weights = true, .fixed = true, .columns = b->columns};
    const uint64_t elements = b->rows * b->columns;
    struct wcodec_coded coded;
    wcodec_error err;
    uint16_t *data = malloc(2 * elements);
    /* Parts of many numbers, each from another place. */
    for (uint64_t i = 0; i < elements; i += NUMBERS / 16) {
        const uint64_t left = elements - i, n = left < NUMBERS / 16 ? left : NUMBERS / 16;
        memcpy(data + i, pool + random_next() % (NUMBERS - NUMBERS / 16), 2 * n);
    }
    check(wcodec_encode_tensor(b->context, &settings, WCODEC_DTYPE_BF16, (uint8_t *)data,
                               2 * elements, &coded, &err),
          &err);
    if (coded.fixed == NULL) {
        fputs("the encoder chose another coding\n", stderr);
        exit(1);
    }
    uint8_t *payload = malloc(coded.payload_size);
    wcodec_coded_join(&coded, payload);
    printf("%llux%llu, %.3f bits an element\n", (unsigned long long)b->rows,
           (unsigned long long)b->columns, 8 * (double)coded.payload_size / (double)elements);
    b->fixed = coded.fixed;
    b->data = (uint8_t *)data;
    run(b, payload);
    free(payload);
    wcodec_coded_free(&coded);
    free(data);
}

static bool is_plugin(const char *argument)
{
    const size_t n = strlen(argument);
    return n > 3 && strcmp(argument + n - 3, ".so") == 0;
}

int main(int argc, char **argv)
{
    static struct bench b = {.repeats = 11};
    static const char *const shapes[] = {"4096x4096", "14336x4096", "4096x14336", "8192x8192"};
    wcodec_options options;
    wcodec_error err;
    unsigned smaller = 0;
    int first = 1;
    wcodec_options_init(&options);
    options.backend = "cpu";
    check(wcodec_context_create(&options, &b.context, &err), &err);
    wcodec_host_init(&b.host, b.context);
    for (; first < argc && first <= PLUGINS && is_plugin(argv[first]); first++)
        open_plugin(&b, argv[first]);
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        const unsigned number = (unsigned)strtoul(argv[first + 1], NULL, 10);
        if (argv[first][1] == 'r')
            b.repeats = number % REPEATS | 1;
        else if (argv[first][1] == 's')
            smaller = number;
        else if (b.many_count < ASKED && number > 0 && number <= MOST)
            b.many[b.many_count++] = number;
    }
    if (b.plugin_count == 0) {
        fprintf(stderr,
                "usage: %s PLUGIN.so... [-r REPEATS] [-s LOG2] [-m VECTORS] [ROWSxCOLUMNS...]\n",
                argv[0]);
        return 2;
    }
    uint16_t *pool = malloc(2 * NUMBERS);
    for (unsigned i = 0; i < NUMBERS; i++)
        pool[i] = (uint16_t)bf16_bits(0.02 * gaussian());
    for (int i = 0; i < (first < argc ? argc - first : 4); i++) {
        unsigned long long rows, columns;
        if (sscanf(first < argc ? argv[first + i] : shapes[i], "%llux%llu", &rows, &columns) != 2)
            return 2;
        b.rows = rows >> smaller;
        b.columns = columns >> smaller;
        run_shape(&b, pool);
    }
    free(pool);
    for (unsigned k = 0; k < b.plugin_count; k++) {
        b.plugins[k].backend->queue_destroy(b.plugins[k].queue);
        b.plugins[k].backend->device_close(b.plugins[k].device);
        b.plugins[k].backend->close(b.plugins[k].state);
    }
    wcodec_context_destroy(b.context);
    return 0;
}
