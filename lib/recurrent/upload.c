/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "recurrent/upload.h"

#include "core/error.h"

#include <string.h>

enum { GATES = WCODEC_UPLOAD_GATES };

wcodec_status wcodec_recurrent_device_of(wcodec_context *context, const char *memory,
                                         struct wcodec_opened **opened, wcodec_error *err)
{
    struct wcodec_opened *o;
    const wcodec_status status = wcodec_backends_device_of(context, memory, &o, err);
    if (status != WCODEC_OK)
        return status;
    if (o->backend->rollouts == NULL)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "%s (%s) has no recurrent models: the CPU does them", o->name,
                           o->listing.name);
    *opened = o;
    return WCODEC_OK;
}

/* A matrix of a gate, [H, columns] in blocks of rows, and which of the device's it is. */
struct gate {
    const float *from;
    size_t block;
    uint32_t number, gates; /* which of how many in the matrix */
    uint32_t first;         /* columns before it are 0 */
};

static float element(const struct gate *gate, uint64_t row, uint32_t column, uint32_t width)
{
    return gate->from[(row / gate->block * width + column) * gate->block + row % gate->block];
}

static void put_gate(const struct wcodec_rollout_plan *p, enum wcodec_rollout_matrix matrix,
                     const struct gate *gate, uint32_t part, float *to)
{
    const uint32_t width = matrix == WCODEC_ROLLOUT_W ? p->sizes.inputs : p->sizes.hidden,
                   slices = p->slices[matrix], columns = p->columns[matrix],
                   rows = gate->gates * p->rows;
    for (uint32_t i = 0; i < p->rows; i++) {
        const uint64_t row = (uint64_t)part * p->rows + i;
        if (row >= p->sizes.hidden)
            return;
        for (uint32_t k = 0; k < width; k++)
            to[4 * (((uint64_t)(k % columns / 4) * slices + k / columns) * rows +
                    gate->number * p->rows + i) +
               k % 4] = element(gate, row, k, width);
    }
}

/* What a gate's rows have one of: column 0 of a matrix of so many, such as a bias. */
static void put_column(const struct wcodec_rollout_plan *p, const struct gate *gate, uint32_t width,
                       uint32_t part, float *to)
{
    for (uint32_t i = 0; i < p->rows && gate->from != NULL; i++) {
        const uint64_t row = (uint64_t)part * p->rows + i;
        if (row < p->sizes.hidden)
            to[i] = element(gate, row, 0, width);
    }
}

static uint64_t matrix_floats(const struct wcodec_rollout_plan *p,
                              enum wcodec_rollout_matrix matrix, uint32_t gates)
{
    return (uint64_t)gates * p->rows * p->slices[matrix] * p->columns[matrix];
}

static void put_part(const struct wcodec_rollout_plan *p, const struct wcodec_recurrent_weights *m,
                     uint32_t part, float *to)
{
    const bool alone = p->sizes.unit != WCODEC_UNIT_NONE;
    float *gates = to + matrix_floats(p, WCODEC_ROLLOUT_W, GATES),
          *reset = gates + matrix_floats(p, WCODEC_ROLLOUT_GATES, 2),
          *first = reset + matrix_floats(p, WCODEC_ROLLOUT_RESET, 1),
          *bias = first + GATES * p->rows;
    for (uint32_t g = 0; g < GATES; g++) {
        const struct gate w = {m->w[g], m->block, g, GATES, 0};
        put_gate(p, WCODEC_ROLLOUT_W, &w, part, to);
        if (!alone)
            put_column(p, &w, p->sizes.inputs, part, first + g * p->rows);
        put_column(p, &(struct gate){.from = m->b[g], .block = 1}, 1, part, bias + g * p->rows);
    }
    if (alone)
        put_column(p, &(struct gate){.from = m->c, .block = 1}, 1, part, first);
    put_gate(p, WCODEC_ROLLOUT_GATES, &(struct gate){m->u[0], m->block, 0, 2, 0}, part, gates);
    put_gate(p, WCODEC_ROLLOUT_GATES, &(struct gate){m->u[1], m->block, 1, 2, 0}, part, gates);
    put_gate(p, WCODEC_ROLLOUT_RESET, &(struct gate){m->u[2], m->block, 0, 1, 0}, part, reset);
}

/* Rounded to nearest even; what would be infinite to the largest number. */
static uint32_t bf16_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return (rounded & 0x7fffu) < 0x7f80u ? rounded : rounded - 1;
}

/* A gate's row, [columns], as a lane has it: numbers of a pair of chunks of 16, which has word
 * [chunk][2]; after the last column zeros. */
static void put_pair(const struct gate *gate, uint64_t row, uint32_t columns, uint32_t pair,
                     uint32_t lane, uint32_t *to)
{
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t place = gate->gates == GATES ? 4 * (lane % 4) + i % 4 /* of W */
                                                    : 2 * (lane % 4) + i % 2 + 8 * (i / 2 % 2),
                       column = 32 * pair + 16 * (i / 4) + place;
        if (column >= gate->first && column < columns)
            to[i / 2] |= bf16_of(element(gate, row, column, columns)) << 16 * (i % 2);
    }
}

/* Quads of all warps, `first` on of `quads`. */
static void put_quads(const struct wcodec_rollout_plan *p, const struct gate *gate,
                      uint32_t columns, uint32_t part, uint32_t first, uint32_t quads, uint32_t *to)
{
    const uint32_t pairs = 2 * ((columns + 63) / 64);
    for (uint32_t i = 0; i < p->rows; i++) {
        const uint64_t row = (uint64_t)part * p->rows + i;
        for (uint32_t k = 0; k < 4 * pairs && row < p->sizes.hidden; k++) {
            const uint32_t pair = k / 4, lane = 4 * (i % 8) + k % 4,
                           quad = i / 8 * quads + first + pair / 2;
            put_pair(gate, row, columns, pair, lane,
                     to + 4 * (((quad * GATES + gate->number) * 2 + pair % 2) * 32 + lane));
        }
    }
}

/* What a part's rows of an ensemble have beside, eight numbers each. */
static void put_model(const struct wcodec_rollout_plan *p, const struct wcodec_recurrent_weights *m,
                      uint32_t part, float *to)
{
    const struct wcodec_rollout_sizes *s = &p->sizes;
    const bool reference = s->mode == WCODEC_RSSM_REFERENCE;
    for (uint32_t i = 0; i < p->rows && part * p->rows + i < s->hidden; i++) {
        const uint32_t row = part * p->rows + i;
        float *own = to + 8 * i;
        for (uint32_t g = 0; g < GATES; g++)
            own[g < 2 ? g : 4] =
                element(&(struct gate){.from = m->w[g], .block = m->block}, row, 0, s->inputs);
        own[5] = m->head[row] + (reference ? m->head[s->hidden + row] : 0);
        /* The class whose logit it is, floor(class H / S). */
        const uint64_t class = ((uint64_t)row * s->stochastic + s->hidden - 1) / s->hidden;
        if (!reference && class < s->stochastic && class * s->hidden / s->stochastic == row) {
            own[6] = m->head[s->hidden + class];
            own[7] = 1;
        }
    }
}

/* For tensor cores. */
static void put_tensor_part(const struct wcodec_rollout_plan *p,
                            const struct wcodec_recurrent_weights *m, uint32_t part, float *to)
{
    const uint32_t of_inputs = (p->sizes.inputs + 63) / 64, of_hidden = p->parts * p->rows / 64,
                   quads = of_inputs + of_hidden;
    float *const bias = to + (uint64_t)p->rows / 8 * quads * GATES * 2 * 32 * 4;
    for (uint32_t g = 0; g < GATES; g++) {
        put_quads(p, &(struct gate){m->w[g], m->block, g, GATES, m->head != NULL}, p->sizes.inputs,
                  part, 0, quads, (uint32_t *)to);
        put_quads(p, &(struct gate){m->u[g], m->block, g, 1, 0}, p->sizes.hidden, part, of_inputs,
                  quads, (uint32_t *)to);
        put_column(p, &(struct gate){.from = m->b[g], .block = 1}, 1, part, bias + g * p->rows);
    }
    put_column(p, &(struct gate){.from = m->c, .block = 1}, 1, part, bias + GATES * p->rows);
    if (m->head != NULL)
        put_model(p, m, part, bias + (GATES + 1) * p->rows);
}

wcodec_status wcodec_recurrent_upload(const struct wcodec_recurrent_upload *u, uint64_t member,
                                      const struct wcodec_recurrent_weights *weights,
                                      wcodec_error *err)
{
    const struct wcodec_backend *b = u->owner->device->backend;
    const uint64_t size = u->plan->part_floats * sizeof(float);
    wcodec_status status =
        wcodec_staging_reserve(u->owner, u->host, WCODEC_MEMORY_PINNED, size, err);
    for (uint32_t part = 0; part < u->plan->parts && status == WCODEC_OK; part++) {
        memset(u->host->data, 0, (size_t)size);
        if (u->plan->tiles > 0)
            put_tensor_part(u->plan, weights, part, (float *)u->host->data);
        else
            put_part(u->plan, weights, part, (float *)u->host->data);
        status = b->copy_in(u->queue, u->memory, (member * u->plan->parts + part) * size,
                            u->host->data, size, err);
        if (status == WCODEC_OK)
            status = b->queue_wait(u->queue, err);
    }
    return status;
}

wcodec_status wcodec_recurrent_upload_members(const struct wcodec_recurrent_upload *u,
                                              const wcodec_gru_weights *members, size_t count,
                                              const float *head, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < count && status == WCODEC_OK; i++) {
        const wcodec_gru_weights *m = &members[i];
        const struct wcodec_recurrent_weights of = {.w = {m->w_z, m->w_r, m->w_h},
                                                    .u = {m->u_z, m->u_r, m->u_h},
                                                    .b = {m->b_z, m->b_r, m->b_h},
                                                    .head = head,
                                                    .block = 1};
        status = wcodec_recurrent_upload(u, i, &of, err);
    }
    return status;
}
