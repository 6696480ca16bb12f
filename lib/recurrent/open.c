/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Ensembles and units by the tensors of a file, which become binary32. */
#include "core/bytes.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "read/reader.h"
#include "recurrent/array.h"
#include "recurrent/gru.h"
#include "recurrent/rssm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MEMBERS_MAX = WCODEC_RSSM_MEMBERS_MOST,
    NAME_MAX_BYTES = 1024,
    SHAPE_BYTES = 128,
    GATES = 3
};

/* A tensor that is to be read: [rows, columns], or [rows] if columns is 0. */
struct part {
    const char *name, *usual; /* by the caller, or NULL; by default */
    bool may_be_missing;      /* where the name is the default */
    uint64_t rows, columns;
    uint64_t number; /* of the tensor, UINT64_MAX: it is missing */
    float *values;   /* NULL: not yet, or missing */
};

/* The name with the member's number for "{}"; of a unit alone, as it is. */
static wcodec_status make_name(const struct part *part, uint64_t member, char name[NAME_MAX_BYTES],
                               wcodec_error *err)
{
    const char *pattern = part->name != NULL ? part->name : part->usual,
               *place = strstr(pattern, "{}");
    const int length = place == NULL ? snprintf(name, NAME_MAX_BYTES, "%s", pattern)
                                     : snprintf(name, NAME_MAX_BYTES, "%.*s%" PRIu64 "%s",
                                                (int)(place - pattern), pattern, member, place + 2);
    if (length >= 0 && length < NAME_MAX_BYTES)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_USAGE, "a name of a tensor has more than %d bytes",
                       NAME_MAX_BYTES - 1);
}

/* Number and description; number UINT64_MAX where it is missing and may be so. */
static wcodec_status find(const wcodec_reader *reader, struct part *part, uint64_t member,
                          wcodec_tensor_info *info, wcodec_error *err)
{
    char name[NAME_MAX_BYTES];
    wcodec_error missing = {0};
    part->number = UINT64_MAX;
    wcodec_status status = make_name(part, member, name, err);
    if (status != WCODEC_OK)
        return status;
    const bool may_be_missing = part->may_be_missing && part->name == NULL;
    status = wcodec_reader_find(reader, name, &part->number, may_be_missing ? &missing : err);
    if (status == WCODEC_ERROR_NOT_FOUND && may_be_missing)
        return WCODEC_OK;
    return status == WCODEC_OK ? wcodec_reader_tensor(reader, part->number, info, err) : status;
}

static void write_shape(char text[SHAPE_BYTES], const uint64_t *shape, unsigned rank)
{
    size_t used = 1;
    snprintf(text, SHAPE_BYTES, "[");
    for (unsigned i = 0; i < rank && used < SHAPE_BYTES; i++)
        used += (size_t)snprintf(text + used, SHAPE_BYTES - used, "%s%" PRIu64, i == 0 ? "" : ", ",
                                 shape[i]);
    snprintf(text + (used < SHAPE_BYTES - 5 ? used : SHAPE_BYTES - 5), 5,
             used < SHAPE_BYTES - 5 ? "]" : "...]");
}

static wcodec_status check(const wcodec_tensor_info *info, const struct part *part,
                           wcodec_error *err)
{
    const uint64_t wanted[] = {part->rows, part->columns};
    const unsigned rank = part->columns == 0 ? 1 : 2;
    char found[SHAPE_BYTES], expected[SHAPE_BYTES];
    if (info->dtype == WCODEC_DTYPE_I8 || !wcodec_recurrent_dtype(info->dtype))
        return wcodec_fail(err, WCODEC_ERROR_MISMATCH,
                           "tensor '%s' is of %s: expected F64, F32, F16, BF16, F8_E5M2 or "
                           "F8_E4M3",
                           info->name, info->dtype_name);
    if (info->rank == rank && memcmp(info->shape, wanted, rank * sizeof *wanted) == 0)
        return WCODEC_OK;
    write_shape(found, info->shape, info->rank);
    write_shape(expected, wanted, rank);
    return wcodec_fail(err, WCODEC_ERROR_MISMATCH,
                       "tensor '%s' of %s has the shape %s: expected %s", info->name,
                       info->dtype_name, found, expected);
}

/* Elements of a file, which is little-endian, as the machine has them. */
static void make_native(uint8_t *data, size_t size, size_t element)
{
    for (size_t i = 0; i < size; i += element)
        if (element == 8) {
            const uint64_t wide = wcodec_load_u64(data + i);
            memcpy(data + i, &wide, sizeof wide);
        } else if (element == 4) {
            const uint32_t single = wcodec_load_u32(data + i);
            memcpy(data + i, &single, sizeof single);
        } else if (element == 2) {
            const uint16_t half = wcodec_load_u16(data + i);
            memcpy(data + i, &half, sizeof half);
        }
}

/* Read one, which the caller frees; nothing where it is missing. */
static wcodec_status read_part(const wcodec_reader *reader, struct part *part, uint64_t member,
                               wcodec_error *err)
{
    const wcodec_allocator *allocator = &reader->context->allocator;
    wcodec_tensor_info info;
    wcodec_status status = find(reader, part, member, &info, err);
    if (status != WCODEC_OK || part->number == UINT64_MAX)
        return status;
    status = check(&info, part, err);
    if (status != WCODEC_OK)
        return status;
    const size_t count = (size_t)(part->rows * (part->columns == 0 ? 1 : part->columns));
    uint8_t *data = wcodec_alloc_array(allocator, info.size, 1);
    part->values = wcodec_alloc_array(allocator, count, sizeof *part->values);
    if (data == NULL || part->values == NULL)
        status =
            wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the tensor '%s'", info.name);
    else
        status = wcodec_reader_decode(reader, part->number, data, (size_t)info.size, NULL, err);
    if (status == WCODEC_OK) {
        make_native(data, (size_t)info.size, wcodec_dtype_bits(info.dtype) / 8);
        for (size_t i = 0; i < count; i++)
            part->values[i] = wcodec_recurrent_element(info.dtype, data, i);
    }
    wcodec_free(allocator, data);
    return status;
}

/* The two sizes of a matrix, from which all others follow. */
static wcodec_status read_shape(const wcodec_reader *reader, struct part *part, uint64_t rows_of,
                                uint64_t *rows, uint64_t *columns, wcodec_error *err)
{
    wcodec_tensor_info info;
    char found[SHAPE_BYTES];
    const wcodec_status status = find(reader, part, 0, &info, err);
    if (status != WCODEC_OK)
        return status;
    write_shape(found, info.shape, info.rank);
    if (info.rank != 2 || info.shape[0] < rows_of || info.shape[0] % rows_of != 0 ||
        info.shape[1] == 0)
        return wcodec_fail(err, WCODEC_ERROR_MISMATCH,
                           "tensor '%s' of %s has the shape %s: expected [%shidden, inputs]",
                           info.name, info.dtype_name, found, rows_of == 1 ? "" : "3 * ");
    *rows = info.shape[0] / rows_of;
    *columns = info.shape[1];
    return WCODEC_OK;
}

enum { W_Z, W_R, W_H, U_Z, U_R, U_H, B_Z, B_R, B_H, MEMBER_PARTS };

static const char *const usual_names[MEMBER_PARTS] = {
    "members.{}.W_z", "members.{}.W_r", "members.{}.W_h", "members.{}.U_z", "members.{}.U_r",
    "members.{}.U_h", "members.{}.b_z", "members.{}.b_r", "members.{}.b_h"};

struct ensemble {
    const wcodec_reader *reader;
    const wcodec_rssm_names *names;
    wcodec_rssm_options options;
    struct part parts[MEMBERS_MAX][MEMBER_PARTS];
    struct part head, delta_head;
};

static struct part member_part(const struct ensemble *e, unsigned i)
{
    const wcodec_rssm_names *n = e->names;
    const char *const names[MEMBER_PARTS] = {n->w_z, n->w_r, n->w_h, n->u_z, n->u_r,
                                             n->u_h, n->b_z, n->b_r, n->b_h};
    return (struct part){.name = names[i],
                         .usual = usual_names[i],
                         .may_be_missing = i >= B_Z,
                         .rows = e->options.hidden,
                         .columns = i < U_Z   ? e->options.inputs
                                    : i < B_Z ? e->options.hidden
                                              : 0};
}

/* Sizes by the first member's W_z, the head, and how many W_z there are. */
static wcodec_status read_sizes(struct ensemble *e, const wcodec_rssm_options *given,
                                wcodec_error *err)
{
    wcodec_rssm_options *o = &e->options;
    struct part first = member_part(e, W_Z);
    wcodec_tensor_info info;
    wcodec_status status = read_shape(e->reader, &first, 1, &o->hidden, &o->inputs, err);
    if (status == WCODEC_OK)
        status = find(e->reader, &e->head, 0, &info, err);
    if (status != WCODEC_OK)
        return status;
    if (info.rank != 1 || info.shape[0] <= o->hidden) {
        char found[SHAPE_BYTES];
        write_shape(found, info.shape, info.rank);
        return wcodec_fail(err, WCODEC_ERROR_MISMATCH,
                           "tensor '%s' of %s has the shape %s: expected [%" PRIu64
                           " + stochastic]",
                           info.name, info.dtype_name, found, o->hidden);
    }
    o->stochastic = info.shape[0] - o->hidden;
    const bool is_one = strstr(first.name != NULL ? first.name : first.usual, "{}") == NULL;
    for (o->ensemble = 1; !is_one && o->ensemble <= MEMBERS_MAX; o->ensemble++) {
        char name[NAME_MAX_BYTES];
        uint64_t number;
        status = make_name(&first, o->ensemble, name, err);
        if (status != WCODEC_OK)
            return status;
        if (wcodec_reader_find(e->reader, name, &number, NULL) != WCODEC_OK)
            break;
    }
    o->mode = given->mode;
    o->memory = given->memory;
    o->products = given->products;
    const wcodec_rssm_options sizes = *o;
    status = wcodec_rssm_options_check(&sizes, o, err);
    return status == WCODEC_OK ? wcodec_rssm_limit(e->reader->context, o, err) : status;
}

static wcodec_status read_ensemble(struct ensemble *e, wcodec_rssm **rssm, wcodec_error *err)
{
    const wcodec_rssm_options *o = &e->options;
    wcodec_gru_weights members[MEMBERS_MAX] = {{0}};
    wcodec_status status = WCODEC_OK;
    e->head.rows = o->hidden + o->stochastic;
    e->delta_head.rows = WCODEC_RSSM_DELTA_ROWS;
    e->delta_head.columns = e->head.rows;
    for (uint64_t i = 0; i < o->ensemble; i++) {
        struct part *p = e->parts[i];
        for (unsigned k = 0; k < MEMBER_PARTS && status == WCODEC_OK; k++) {
            p[k] = member_part(e, k);
            status = read_part(e->reader, &p[k], i, err);
        }
        members[i] = (wcodec_gru_weights){.w_z = p[W_Z].values,
                                          .w_r = p[W_R].values,
                                          .w_h = p[W_H].values,
                                          .u_z = p[U_Z].values,
                                          .u_r = p[U_R].values,
                                          .u_h = p[U_H].values,
                                          .b_z = p[B_Z].values,
                                          .b_r = p[B_R].values,
                                          .b_h = p[B_H].values};
    }
    if (status == WCODEC_OK)
        status = read_part(e->reader, &e->head, 0, err);
    if (status == WCODEC_OK)
        status = read_part(e->reader, &e->delta_head, 0, err);
    return status == WCODEC_OK ? wcodec_rssm_create(e->reader->context, o, members, e->head.values,
                                                    e->delta_head.values, rssm, err)
                               : status;
}

wcodec_status wcodec_rssm_open(const wcodec_reader *reader, const wcodec_rssm_options *options,
                               const wcodec_rssm_names *names, wcodec_rssm **rssm,
                               wcodec_error *err)
{
    static const wcodec_rssm_names usual;
    wcodec_rssm_options given;
    wcodec_status status = wcodec_context_usable(reader->context, err);
    wcodec_rssm_options_init(&given);
    if (status == WCODEC_OK)
        status =
            wcodec_options_take(options, &given, sizeof given, "wcodec_rssm_options_init", err);
    if (status == WCODEC_OK && names != NULL)
        status = wcodec_reserved_check(names->reserved, sizeof names->reserved, "names", err);
    if (status != WCODEC_OK)
        return status;
    const wcodec_allocator *allocator = &reader->context->allocator;
    struct ensemble *e = wcodec_alloc_zeroed(allocator, sizeof *e);
    if (e == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for an ensemble");
    e->reader = reader;
    e->names = names != NULL ? names : &usual;
    e->head = (struct part){.name = e->names->head, .usual = "head"};
    e->delta_head =
        (struct part){.name = e->names->delta_head, .usual = "delta_head", .may_be_missing = true};
    wcodec_rssm_options_init(&e->options);
    status = read_sizes(e, &given, err);
    if (status == WCODEC_OK)
        status = read_ensemble(e, rssm, err);
    for (unsigned i = 0; i < MEMBERS_MAX; i++)
        for (unsigned k = 0; k < MEMBER_PARTS; k++)
            wcodec_free(allocator, e->parts[i][k].values);
    wcodec_free(allocator, e->head.values);
    wcodec_free(allocator, e->delta_head.values);
    wcodec_free(allocator, e);
    return status;
}

enum { WEIGHT_IH, WEIGHT_HH, BIAS_IH, BIAS_HH, STACKS };

/* Rows of a gate of what PyTorch stacks: r, z, h. */
static wcodec_gru_array gate_of(const struct part *part, unsigned gate)
{
    const uint64_t columns = part->columns == 0 ? 1 : part->columns;
    if (part->values == NULL)
        return (wcodec_gru_array){0};
    return (wcodec_gru_array){.data = part->values + gate * (part->rows / GATES) * columns,
                              .dtype = WCODEC_DTYPE_F32};
}

wcodec_status wcodec_gru_open(const wcodec_reader *reader, const wcodec_gru_options *options,
                              const wcodec_gru_names *names, wcodec_gru **gru, wcodec_error *err)
{
    static const wcodec_gru_names usual;
    const wcodec_gru_names *n = names != NULL ? names : &usual;
    struct part p[STACKS] = {
        {.name = n->weight_ih, .usual = "weight_ih_l0"},
        {.name = n->weight_hh, .usual = "weight_hh_l0"},
        {.name = n->bias_ih, .usual = "bias_ih_l0", .may_be_missing = true},
        {.name = n->bias_hh, .usual = "bias_hh_l0", .may_be_missing = true},
    };
    wcodec_gru_options o;
    wcodec_gru_options_init(&o);
    wcodec_status status = wcodec_context_usable(reader->context, err);
    if (status == WCODEC_OK)
        status = wcodec_options_take(options, &o, sizeof o, "wcodec_gru_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(n->reserved, sizeof n->reserved, "names", err);
    if (status == WCODEC_OK)
        status = read_shape(reader, &p[WEIGHT_IH], GATES, &o.hidden, &o.inputs, err);
    const wcodec_gru_options sizes = o;
    if (status == WCODEC_OK)
        status = wcodec_gru_options_check(reader->context, &sizes, &o, err);
    for (unsigned i = 0; i < STACKS && status == WCODEC_OK; i++) {
        p[i].rows = GATES * o.hidden;
        p[i].columns = i == WEIGHT_IH ? o.inputs : i == WEIGHT_HH ? o.hidden : 0;
        status = read_part(reader, &p[i], 0, err);
    }
    if (status == WCODEC_OK) {
        const wcodec_gru_arrays arrays = {.w_r = gate_of(&p[WEIGHT_IH], 0),
                                          .w_z = gate_of(&p[WEIGHT_IH], 1),
                                          .w_h = gate_of(&p[WEIGHT_IH], 2),
                                          .u_r = gate_of(&p[WEIGHT_HH], 0),
                                          .u_z = gate_of(&p[WEIGHT_HH], 1),
                                          .u_h = gate_of(&p[WEIGHT_HH], 2),
                                          .b_r = gate_of(&p[BIAS_IH], 0),
                                          .b_z = gate_of(&p[BIAS_IH], 1),
                                          .b_h = gate_of(&p[BIAS_IH], 2),
                                          .c_r = gate_of(&p[BIAS_HH], 0),
                                          .c_z = gate_of(&p[BIAS_HH], 1),
                                          .c_h = gate_of(&p[BIAS_HH], 2)};
        status = wcodec_gru_create(reader->context, &o, &arrays, gru, err);
    }
    for (unsigned i = 0; i < STACKS; i++)
        wcodec_free(&reader->context->allocator, p[i].values);
    return status;
}
