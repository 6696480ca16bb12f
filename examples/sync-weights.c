/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weight synchronisation: a trainer makes a message of what a step changed, and a receiver, which
 * has the weights before it, brings them to those after it in place.
 *
 *   cc -o sync-weights sync-weights.c $(pkg-config --cflags --libs wcodec)
 *   sync-weights */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <wcodec.h>

enum { ROWS = 512, COLUMNS = 256 };

static const uint64_t shape[] = {ROWS, COLUMNS};
static uint16_t before[ROWS * COLUMNS], after[ROWS * COLUMNS], weights[ROWS * COLUMNS];

/* bf16 in this machine's memory, which is taken to be little-endian. With members that stay 0:
 * host memory. For a device's, `source` is its pointer, and options name its backend. */
static wcodec_save_item item_of(uint16_t *data)
{
    return (wcodec_save_item){.name = "layer.0.weight",
                              .dtype = WCODEC_DTYPE_BF16,
                              .rank = 2,
                              .shape = shape,
                              .source = (uint64_t)(uintptr_t)data,
                              .size = sizeof before};
}

static void train(void)
{
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        before[i] = (uint16_t)(0x3c00 + i * 2654435761u % 512);
    memcpy(after, before, sizeof after);
    for (size_t i = 0; i < ROWS * COLUMNS; i += 97)
        after[i]++;
    memcpy(weights, before, sizeof weights); /* the receiver's */
}

static wcodec_status synchronise(wcodec_context *context, wcodec_error *err)
{
    const wcodec_save_item old = item_of(before), new = item_of(after), own = item_of(weights);
    void *message = NULL;
    size_t size;
    wcodec_delta_report report;

    wcodec_status status =
        wcodec_delta_encode(context, &old, 1, &new, 1, NULL, &message, &size, NULL, err);
    if (status == WCODEC_OK) /* which was sent */
        status = wcodec_delta_apply(context, message, size, &own, 1, NULL, &report, err);
    if (status == WCODEC_OK)
        printf("%" PRIu64 " tensor of %" PRIu64 " bytes by a message of less than %zu00: %s\n",
               report.tensors, report.size, size / 100 + 1,
               memcmp(weights, after, sizeof after) == 0 ? "the same" : "another");
    wcodec_delta_free(context, message);
    return status;
}

int main(void)
{
    wcodec_context *context = NULL;
    wcodec_error err = {0};

    train();
    wcodec_status status = wcodec_context_create(NULL, &context, &err);
    if (status == WCODEC_OK)
        status = synchronise(context, &err);
    if (status != WCODEC_OK)
        fprintf(stderr, "sync-weights: %s\n", err.text);
    wcodec_context_destroy(context);
    return status == WCODEC_OK ? 0 : 1;
}
