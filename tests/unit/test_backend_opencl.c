/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The OpenCL plugin of the build tree on every device that is there, in every form that the device can run: conformance, hostile payloads, buffers by turns.
 * "test_backend_opencl small" does little, for slow simulators. */
#include "support.h"

#include "support_conform.h"
#include "support_tiles.h"

#include "backend/host.h"
#include "backend/known_answer.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>

static const struct wcodec_backend *backend;
static bool small;

struct opened {
    wcodec_context *context;
    struct wcodec_host host;
    struct wcodec_backend_state *state;
};

static wcodec_status open_backend(struct opened *o, wcodec_error *err)
{
    assert_int_equal(wcodec_context_create(NULL, &o->context, err), WCODEC_OK);
    wcodec_host_init(&o->host, o->context);
    const wcodec_status status = backend->open(&o->host, &o->state, err);
    if (status != WCODEC_OK)
        wcodec_context_destroy(o->context);
    return status;
}

static void close_backend(struct opened *o)
{
    backend->close(o->state);
    wcodec_context_destroy(o->context);
}

enum { BATCH = 12, GUARD = 64 };

static void damage(uint64_t *seed, struct support_tensor *x)
{
    const uint64_t prefix = x->tiling.prefix_size, size = x->payload_size;
    for (unsigned i = 0; i < 1 + support_random(seed) % 4 && size > prefix; i++) {
        const uint64_t at = prefix + support_random(seed) % (size - prefix), end = support_random(seed) % 2 ? at + 1 : size;
        const unsigned kind = (unsigned)(support_random(seed) % 4);
        for (uint64_t k = at; k < end; k++)
            x->payload[k] = kind == 0 ? 0 : kind == 1 ? 0xff : (uint8_t)(x->payload[k] ^ (kind == 2 ? support_random(seed) : 1u << support_random(seed) % 8));
    }
}

/* The first fault by the reference, whose bytes go to out, zeros if there is any. */
static struct wcodec_job_result reference(const struct support_tensor *x, const struct wcodec_tiles *tiles, uint8_t *out)
{
    struct wcodec_view view;
    wcodec_view_whole(x->payload, &view);
    for (uint64_t tile = 0; tile < x->tiling.tiles; tile++) {
        const enum wcodec_tile_fault fault = wcodec_tile_decode(tiles, &view, tile, out + (tile << x->tiling.tile_log2 << x->tiling.element_log2), true);
        if (fault != WCODEC_TILE_OK) {
            memset(out, 0, x->tiling.size);
            return (struct wcodec_job_result){tile, fault};
        }
    }
    return (struct wcodec_job_result){0, WCODEC_TILE_OK};
}

/* Whole tiles, which kernels of their own decode: bf16, int8, e4m3 and bytes by turns, with all profiles; and others. */
static void make_whole_tiles(uint64_t *seed, unsigned i, unsigned round, struct support_tensor *x)
{
    const unsigned shape = i < 8 ? i / 2 : (unsigned)(support_random(seed) % SUPPORT_SHAPES);
    const uint64_t elements = small ? 4096 + support_random(seed) % 300 : 4096 + support_random(seed) % 40000;
    support_tensor_common(seed, shape, 1 + (round + i / 2) % 3, elements, x);
    while (shape == 0 && x->tiling.add != 0) { /* no kernel of its own */
        support_tensor_free(x);
        support_tensor_common(seed, shape, 1 + (round + i / 2) % 3, elements, x);
    }
}

/* Damaged tensors and good ones in one batch; payloads in buffers that end where they do, shared by some, outputs in two. */
static void hostile_batch(struct wcodec_device *device, struct wcodec_queue *queue, unsigned round, uint64_t *seed, unsigned faults[6])
{
    struct support_tensor x[BATCH];
    struct wcodec_tiles *tiles[BATCH];
    struct wcodec_memory *payload[BATCH], *output[2];
    struct wcodec_job jobs[BATCH] = {{0}};
    struct wcodec_job_result results[BATCH];
    struct wcodec_batch *batch;
    wcodec_error err;
    uint64_t size[2] = {GUARD, GUARD};
    for (unsigned i = 0; i < BATCH; i++) {
        if (i % 2)
            support_tensor_make(seed, 1 + support_random(seed) % (small ? 300 : 6000), &x[i]);
        else
            make_whole_tiles(seed, i, round, &x[i]);
        assert_int_equal(wcodec_tiles_read(&x[i].tiling, x[i].payload, x[i].payload_size, &wcodec_default_allocator, &tiles[i], &err), WCODEC_OK);
        if (i % 3)
            damage(seed, &x[i]);
        assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, x[i].payload_size, &payload[i], &err), WCODEC_OK);
        assert_int_equal(backend->copy_in(queue, payload[i], 0, x[i].payload, x[i].payload_size, &err), WCODEC_OK);
        jobs[i] = (struct wcodec_job){.tiles = tiles[i], .count = x[i].tiling.tiles, .destination = size[i % 2], .verify = true};
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            jobs[i].places[a] = (struct wcodec_area_place){payload[i], tiles[i]->area_begin[a], tiles[i]->area_begin[a], tiles[i]->area_end[a] - tiles[i]->area_begin[a]};
        size[i % 2] = wcodec_align_u64(size[i % 2] + x[i].tiling.size, 16) + GUARD;
    }
    for (unsigned k = 0; k < 2; k++) {
        const uint8_t poison[8] = {0xee};
        assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, size[k], &output[k], &err), WCODEC_OK);
        assert_int_equal(backend->fill(queue, output[k], 0, poison, 0, size[k], &err), WCODEC_OK);
    }
    for (unsigned i = 0; i < BATCH; i++)
        jobs[i].memory = output[i % 2];
    assert_int_equal(backend->batch_create(queue, jobs, BATCH, &batch, &err), WCODEC_OK);
    assert_int_equal(backend->batch_decode(queue, batch, &err), WCODEC_OK);
    assert_int_equal(backend->batch_results(queue, batch, results, &err), WCODEC_OK);
    for (unsigned i = 0; i < BATCH; i++) {
        const size_t whole = (size_t)x[i].tiling.size;
        uint8_t *expected = malloc(whole), *out = malloc(whole + 2 * GUARD);
        const struct wcodec_job_result wanted = reference(&x[i], tiles[i], expected);
        assert_int_equal(results[i].fault, wanted.fault);
        assert_int_equal(results[i].tile, wanted.tile);
        assert_int_equal(backend->copy_out(queue, out, output[i % 2], jobs[i].destination - GUARD, whole + 2 * GUARD, &err), WCODEC_OK);
        assert_int_equal(backend->queue_wait(queue, &err), WCODEC_OK);
        assert_memory_equal(out + GUARD, expected, whole);
        for (unsigned k = 0; k < GUARD; k++) {
            assert_int_equal(out[k], 0xee);
            assert_int_equal(out[GUARD + whole + k], 0xee);
        }
        faults[wanted.fault]++;
        free(expected);
        free(out);
    }
    backend->batch_destroy(batch);
    backend->memory_free(output[0]);
    backend->memory_free(output[1]);
    for (unsigned i = 0; i < BATCH; i++) {
        backend->memory_free(payload[i]);
        wcodec_tiles_free(tiles[i]);
        support_tensor_free(&x[i]);
    }
}

static void hostile(struct wcodec_device *device)
{
    uint64_t seed = support_seed() + 1;
    unsigned faults[6] = {0};
    struct wcodec_queue *queue;
    wcodec_error err;
    assert_int_equal(backend->queue_create(device, &queue, &err), WCODEC_OK);
    for (unsigned i = 0; i < (small ? 3 : 20); i++)
        hostile_batch(device, queue, i, &seed, faults);
    backend->queue_destroy(queue);
    for (unsigned i = 0; i < 6; i++) {
        print_message("fault %u: %u times\n", i, faults[i]);
        assert_true(small || faults[i] > 0 || (i != WCODEC_TILE_OK && i != WCODEC_TILE_WORDS && i != WCODEC_TILE_CHECK));
    }
    assert_int_equal(wcodec_known_answer_check(backend, device, &wcodec_default_allocator, &err), WCODEC_OK);
}

enum { FLIPS = 256 };

/* The tensor with one bit of its payload flipped, as often as there are jobs: bits from `first` on, every stride-th. Results and bytes must be the
 * reference's. */
static void flip_some(struct wcodec_device *device, struct wcodec_queue *queue, struct support_tensor *x, const struct wcodec_tiles *tiles, uint64_t first, uint64_t stride, uint64_t bits, unsigned *found)
{
    const uint64_t step = wcodec_align_u64(x->payload_size, 256), size = x->tiling.size;
    const unsigned count = (unsigned)((bits - first + stride - 1) / stride < FLIPS ? (bits - first + stride - 1) / stride : FLIPS);
    struct wcodec_memory *payload, *output;
    struct wcodec_job jobs[FLIPS] = {{0}};
    struct wcodec_job_result results[FLIPS];
    struct wcodec_batch *batch;
    wcodec_error err;
    uint8_t *in = calloc(count, (size_t)step), *out = malloc((size_t)(count * size)), *expected = malloc((size_t)size);
    assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, count * step, &payload, &err), WCODEC_OK);
    assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, count * size, &output, &err), WCODEC_OK);
    for (unsigned i = 0; i < count; i++) {
        const uint64_t bit = 8 * x->tiling.prefix_size + first + i * stride;
        memcpy(in + i * step, x->payload, (size_t)x->payload_size);
        in[i * step + bit / 8] ^= (uint8_t)(1u << bit % 8);
        jobs[i] = (struct wcodec_job){.tiles = tiles, .count = x->tiling.tiles, .memory = output, .destination = i * size, .verify = true};
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            jobs[i].places[a] = (struct wcodec_area_place){payload, i * step, 0, x->payload_size};
    }
    assert_int_equal(backend->copy_in(queue, payload, 0, in, count * step, &err), WCODEC_OK);
    assert_int_equal(backend->batch_create(queue, jobs, count, &batch, &err), WCODEC_OK);
    assert_int_equal(backend->batch_decode(queue, batch, &err), WCODEC_OK);
    assert_int_equal(backend->batch_results(queue, batch, results, &err), WCODEC_OK);
    assert_int_equal(backend->copy_out(queue, out, output, 0, count * size, &err), WCODEC_OK);
    assert_int_equal(backend->queue_wait(queue, &err), WCODEC_OK);
    for (unsigned i = 0; i < count; i++) {
        struct support_tensor flipped = *x;
        flipped.payload = in + i * step;
        const struct wcodec_job_result wanted = reference(&flipped, tiles, expected);
        assert_int_equal(results[i].fault, wanted.fault);
        assert_int_equal(results[i].tile, wanted.tile);
        assert_memory_equal(out + i * size, expected, (size_t)size);
        *found += wanted.fault != WCODEC_TILE_OK;
    }
    backend->batch_destroy(batch);
    backend->memory_free(output);
    backend->memory_free(payload);
    free(expected);
    free(out);
    free(in);
}

/* Each bit behind the structures of a small tensor of P12, or every stride-th; some of the other profiles', whose tensors are larger. */
static void flips(struct wcodec_device *device, uint64_t least)
{
    uint64_t seed = support_seed() + 2;
    struct wcodec_queue *queue;
    wcodec_error err;
    assert_int_equal(backend->queue_create(device, &queue, &err), WCODEC_OK);
    for (unsigned profile = 1; profile <= 3; profile++) {
        struct support_tensor x;
        struct wcodec_tiles *tiles;
        unsigned found = 0;
        const uint64_t stride = profile == 2 || getenv("WCODEC_TEST_EXHAUSTIVE") != NULL ? least : 7 * least;
        support_tensor_common(&seed, profile % SUPPORT_SHAPES, profile, 4096, &x);
        assert_int_equal(wcodec_tiles_read(&x.tiling, x.payload, x.payload_size, &wcodec_default_allocator, &tiles, &err), WCODEC_OK);
        const uint64_t bits = 8 * (x.payload_size - x.tiling.prefix_size);
        for (uint64_t first = 0; first < bits; first += FLIPS * stride)
            flip_some(device, queue, &x, tiles, first, stride, bits, &found);
        print_message("profile %u: %u of %" PRIu64 " flips are faults\n", profile, found, (bits + stride - 1) / stride);
        assert_true(found > 0);
        wcodec_tiles_free(tiles);
        support_tensor_free(&x);
    }
    backend->queue_destroy(queue);
}

static void run_variant(struct opened *o, unsigned i, const char *variant)
{
    struct wcodec_device *device;
    wcodec_error err = {0};
    print_message("  %s\n", variant[0] != '\0' ? variant : "chosen by the plugin");
    setenv("WCODEC_OPENCL_VARIANT", variant, 1);
    const wcodec_status status = backend->device_open(o->state, i, &device, &err);
    if (status != WCODEC_OK && variant[0] != '\0' && strcmp(variant, "loops") != 0 && strcmp(variant, "local") != 0) {
        assert_int_equal(status, WCODEC_ERROR_BACKEND);
        print_message("    not here: %.200s\n", err.text);
        return;
    }
    if (status != WCODEC_OK)
        fail_msg("%s", err.text);
    if (wcodec_known_answer_check(backend, device, &wcodec_default_allocator, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    hostile(device);
    /* All of them where the device itself is; simulators and kernels that are compiled for a GPU take some. */
    flips(device, small ? 4001 : variant[0] == '\0' || getenv("WCODEC_TEST_EXHAUSTIVE") != NULL ? 1 : 61);
    backend->device_close(device);
    if (!small)
        support_conform(backend, o->state, i);
}

static void test_devices(void **state)
{
    (void)state;
    static const char *const variants[] = {"", "loops", "local", "subgroup", "nvidia"};
    const char *only = getenv("WCODEC_TEST_VARIANT");
    struct opened o;
    wcodec_error err;
    assert_int_equal(open_backend(&o, &err), WCODEC_OK);
    for (unsigned i = 0; i < backend->device_count(o.state); i++) {
        struct wcodec_device_listing listing;
        backend->device_list(o.state, i, &listing);
        print_message("opencl:%u: %s, %s\n", i, listing.name, listing.driver);
        if (listing.reason[0] != '\0') {
            print_message("skipped: %s\n", listing.reason);
            continue;
        }
        for (size_t k = 0; k < sizeof variants / sizeof variants[0]; k++)
            if (only == NULL || strcmp(only, variants[k]) == 0)
                run_variant(&o, i, variants[k]);
    }
    unsetenv("WCODEC_OPENCL_VARIANT");
    close_backend(&o);
}

static void test_refusals(void **state)
{
    (void)state;
    struct opened o;
    struct wcodec_device *device, *other;
    struct wcodec_memory *memory, *adopted;
    struct wcodec_queue *queue;
    wcodec_error err = {0};
    assert_int_equal(open_backend(&o, &err), WCODEC_OK);
    assert_int_equal(backend->device_open(o.state, 1000, &device, &err), WCODEC_ERROR_BACKEND);
    setenv("WCODEC_OPENCL_VARIANT", "nonesuch", 1);
    assert_int_equal(backend->device_open(o.state, 0, &device, &err), WCODEC_ERROR_BACKEND);
    assert_non_null(strstr(err.text, "nonesuch"));
    setenv("WCODEC_OPENCL_VARIANT", "nvidia", 1); /* where that is no NVIDIA device, the compiler's words are in the text */
    if (backend->device_open(o.state, 0, &device, &err) == WCODEC_OK)
        backend->device_close(device);
    else
        assert_non_null(strstr(err.text, "the kernels (nvidia) do not compile: BUILD_PROGRAM_FAILURE: "));
    unsetenv("WCODEC_OPENCL_VARIANT");
    assert_int_equal(backend->device_open(o.state, 0, &device, &err), WCODEC_OK);
    assert_int_equal(backend->device_open(o.state, 0, &other, &err), WCODEC_OK);
    assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, 100, &memory, &err), WCODEC_OK);
    assert_int_equal(backend->memory_adopt(other, backend->memory_native(memory), 100, &adopted, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(backend->memory_adopt(device, backend->memory_native(memory), 101, &adopted, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(backend->queue_adopt(device, 0, &queue, &err), WCODEC_ERROR_USAGE);
    backend->memory_free(memory);
    assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, UINT64_MAX / 2, &memory, &err), WCODEC_ERROR_MEMORY);
    assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_PINNED, UINT64_MAX - 5, &memory, &err), WCODEC_ERROR_MEMORY);
    if (wcodec_known_answer_check(backend, device, &wcodec_default_allocator, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    backend->device_close(other);
    backend->device_close(device);
    close_backend(&o);
}

int main(int argc, char **argv)
{
    const char *build = getenv("top_builddir");
    char path[4096];
    struct opened o;
    wcodec_error err;
    small = argc > 1 && strcmp(argv[1], "small") == 0;
    setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-gl", 1); /* PoCL asks hwloc, whose OpenCL component asks PoCL */
    snprintf(path, sizeof path, "%s/backends/opencl/.libs/wcodec_opencl.so", build != NULL ? build : ".");
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        print_message("%s\n", dlerror());
        return 1;
    }
    backend = dlsym(plugin, "wcodec_backend_opencl");
    if (backend == NULL)
        return 1;
    if (open_backend(&o, &err) != WCODEC_OK) {
        print_message("skipped: %s\n", err.text);
        return 77;
    }
    close_backend(&o);
    const struct CMUnitTest few[] = {cmocka_unit_test(test_devices)}, tests[] = {cmocka_unit_test(test_devices), cmocka_unit_test(test_refusals)};
    return small ? cmocka_run_group_tests(few, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
