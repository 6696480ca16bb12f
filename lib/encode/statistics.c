/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/choice.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/encode.h"
#include "core/bytes.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "coding/histogram.h"
#include "encode/tables.h"
#include <stddef.h>

enum {
    RAW = WCODEC_ATOM_RAW,
    SAMPLED = WCODEC_ATOM_SAMPLED,
    COUNTED = WCODEC_ATOM_COUNTED,
    MAX_TASKS = 64,
    SPAN = 16,         /* blocks: they stay in the second-level cache */
    MANY_BLOCKS = 128, /* of so many, a quarter says enough */
    BYTE_BLOCKS = 64,  /* of which all bytes are counted */
    FEW_BLOCKS = 3,
    LOOKED_AT = 256, /* values */
    LOOKED_PARTS = 4,
    LOOKED_SURE = 6 /* bits of a held value: half of what its table takes */
};

static const struct wcodec_atom bf16_atoms[] = {{0, 7, SAMPLED}, {7, 8, COUNTED}, {15, 1, RAW}};
static const struct wcodec_atom f16_atoms[] = {
    {0, 8, SAMPLED}, {8, 2, RAW}, {10, 5, COUNTED}, {15, 1, RAW}};
static const struct wcodec_atom f32_atoms[] = {
    {0, 8, SAMPLED}, {8, 8, SAMPLED}, {16, 7, SAMPLED}, {23, 8, COUNTED}, {31, 1, RAW}};
static const struct wcodec_atom f64_atoms[] = {
    {0, 8, SAMPLED},  {8, 8, SAMPLED},  {16, 8, SAMPLED}, {24, 8, SAMPLED}, {32, 8, SAMPLED},
    {40, 8, SAMPLED}, {48, 4, SAMPLED}, {52, 8, COUNTED}, {60, 3, COUNTED}, {63, 1, RAW}};
static const struct wcodec_atom bytes_atoms[] = {
    {0, 8, COUNTED},  {8, 8, COUNTED},  {16, 8, COUNTED}, {24, 8, COUNTED},
    {32, 8, COUNTED}, {40, 8, COUNTED}, {48, 8, COUNTED}, {56, 8, COUNTED}};

static void gather_begin(struct wcodec_statistics *statistics, wcodec_dtype dtype, uint64_t size)
{
    const struct wcodec_atom *atoms;
    /* Counts are many: those of atoms that there are not stay as they are. */
    memset(statistics, 0, offsetof(struct wcodec_statistics, counts));
    memset(statistics->block_bits, 0,
           sizeof *statistics - offsetof(struct wcodec_statistics, block_bits));
    statistics->element_log2 = wcodec_dtype_element_log2(dtype);
    statistics->elements = size >> statistics->element_log2;
    statistics->all = UINT64_MAX;
    switch (dtype) {
    case WCODEC_DTYPE_BF16:
        atoms = bf16_atoms;
        statistics->atom_count = 3;
        break;
    case WCODEC_DTYPE_F16:
        atoms = f16_atoms;
        statistics->atom_count = 4;
        break;
    case WCODEC_DTYPE_F32:
    case WCODEC_DTYPE_C64:
        atoms = f32_atoms;
        statistics->atom_count = 5;
        break;
    case WCODEC_DTYPE_F64:
        atoms = f64_atoms;
        statistics->atom_count = 10;
        break;
    default:
        atoms = bytes_atoms;
        statistics->atom_count = 1u << statistics->element_log2;
    }
    memcpy(statistics->atoms, atoms, statistics->atom_count * sizeof *atoms);
    memset(statistics->counts, 0, statistics->atom_count * sizeof *statistics->counts);
}

/* Blocks are shared out in contiguous parts, one a task; sums do not depend on how. */
struct gather_job {
    const struct wcodec_cpu_encode_dsp *dsp;
    const uint8_t *data;
    uint64_t blocks;
    uint64_t stride[3]; /* by enum wcodec_atom_use: every so many blocks are counted; 0: none */
    size_t tasks;
    struct wcodec_statistics *parts;
};

/* Can no further element change what the bits say? Of a counted exponent it matters only that it is
 * not constant, of all else which bits are (encode/split.c). */
static bool bits_are_settled(const struct wcodec_statistics *s)
{
    const uint64_t vary = s->any & ~s->all;
    bool settled = true, bytes = true;
    for (unsigned a = 0; a < s->atom_count; a++)
        bytes = bytes && s->atoms[a].use == COUNTED;
    for (unsigned a = 0; a < s->atom_count; a++) {
        const uint64_t mask = ((uint64_t)1 << s->atoms[a].width) - 1,
                       own = vary >> s->atoms[a].shift & mask;
        settled = settled && (s->atoms[a].use == COUNTED && !bytes ? own != 0 : own == mask);
    }
    return settled;
}

static bool is_one_block(const struct wcodec_statistics *s)
{
    return s->elements <= WCODEC_COUNT_BLOCK;
}

/* Of the one block that there is, a few values show mostly that an atom is not worth coding: of so
 * many pairs of them those that are equal estimate the Renyi entropy of order 2, which the order-0
 * entropy is not below, and a table takes 12 bits for each value that occurs (encode/split.c). So
 * small tensors' mantissas need not be counted. */
static bool saves_nothing(const struct gather_job *job, const struct wcodec_statistics *s,
                          unsigned a)
{
    const struct wcodec_atom *atom = &s->atoms[a];
    const uint64_t parts = s->elements < LOOKED_AT ? 1 : LOOKED_PARTS,
                   part = s->elements < LOOKED_AT ? s->elements : LOOKED_AT / LOOKED_PARTS,
                   n = parts * part;
    uint8_t values[LOOKED_AT], counts[256] = {0};
    uint64_t equal = 0, held = 0;
    for (uint64_t i = 0; i < parts; i++)
        job->dsp->extract(job->data + ((s->elements - part) * i / LOOKED_PARTS << s->element_log2),
                          (size_t)part, s->element_log2, 0, atom->shift, atom->width,
                          values + i * part);
    for (uint64_t i = 0; i < n; i++) {
        held += counts[values[i]] == 0;
        equal += counts[values[i]]++;
    }
    const uint64_t all = atom->width * (uint64_t)WCODEC_LOG2_ONE,
                   least = n > 1 ? (uint64_t)wcodec_log2(n * (n - 1) / 2) -
                                       wcodec_log2(equal > 0 ? equal : 1)
                                 : 0;
    return least >= all || s->elements * (all - least) <= held * LOOKED_SURE * WCODEC_LOG2_ONE;
}

/* A block of a sampled atom: its counts, and its entropy by itself, since a part of a tensor may
 * have mantissas that are zero or few. */
static void count_sampled(struct wcodec_statistics *s, unsigned a, const uint8_t *values, size_t n)
{
    if (is_one_block(s)) { /* its entropy is the whole one */
        wcodec_count_symbols(values, n, s->counts[a]);
        return;
    }
    uint64_t counts[256] = {0}, held = 0;
    wcodec_count_symbols(values, n, counts);
    for (unsigned v = 0; v < 256; v++) {
        s->counts[a][v] += counts[v];
        held += counts[v] != 0;
    }
    s->block_bits[a] += wcodec_entropy(counts, 256) + wcodec_unseen_bits(held);
}

/* Values of an atom in block b; returns how many there are. */
static size_t extract_block(const struct gather_job *job, const struct wcodec_statistics *s,
                            const struct wcodec_atom *atom, uint64_t b, uint8_t *values)
{
    const uint64_t first = b * WCODEC_COUNT_BLOCK, left = s->elements - first;
    const size_t n = left < WCODEC_COUNT_BLOCK ? (size_t)left : WCODEC_COUNT_BLOCK;
    job->dsp->extract(job->data + (first << s->element_log2), n, s->element_log2, 0, atom->shift,
                      atom->width, values);
    return n;
}

/* Blocks of a counted atom from `start` on. The counter takes as long to begin and to end as two
 * blocks to count, and where vectors count what its window holds, is for wider values alone. */
static void count_blocks(const struct gather_job *job, unsigned a, uint64_t start, uint64_t end,
                         struct wcodec_statistics *s)
{
    const uint64_t stride = job->stride[COUNTED];
    bool at_once = (end - start) / stride < FEW_BLOCKS;
    struct wcodec_counter counter;
    uint8_t values[WCODEC_COUNT_BLOCK];
    if (!at_once) {
        wcodec_counter_begin(&counter, s->counts[a]);
        at_once = !counter.wide && job->dsp->count != wcodec_count_symbols;
    }
    for (uint64_t b = start; b < end; b += stride) {
        const size_t n = extract_block(job, s, &s->atoms[a], b, values);
        if (at_once)
            job->dsp->count(values, n, s->counts[a]);
        else
            wcodec_counter_add(&counter, values, n);
    }
    if (!at_once)
        wcodec_counter_end(&counter, s->counts[a]);
}

/* Blocks [begin, end): which bits vary, and the values of all atoms that are counted there. */
static void gather_blocks(const struct gather_job *job, uint64_t begin, uint64_t end, bool *settled,
                          struct wcodec_statistics *s)
{
    for (uint64_t b = begin; b < end && !*settled; b++) {
        const uint64_t first = b * WCODEC_COUNT_BLOCK, left = s->elements - first;
        wcodec_fold_bits(job->data + (first << s->element_log2),
                         left < WCODEC_COUNT_BLOCK ? (size_t)left : WCODEC_COUNT_BLOCK,
                         s->element_log2, &s->any, &s->all);
        *settled = bits_are_settled(s);
    }
    for (unsigned a = 0; a < s->atom_count; a++) {
        const unsigned use = s->atoms[a].use;
        const uint64_t stride = job->stride[use];
        if (stride == 0)
            continue;
        if (use == SAMPLED && is_one_block(s) && saves_nothing(job, s, a))
            continue;
        const uint64_t start = (begin + stride - 1) / stride * stride;
        if (start < end && use == COUNTED)
            count_blocks(job, a, start, end, s);
        for (uint64_t b = start; b < end && use == SAMPLED; b += stride) {
            uint8_t values[WCODEC_COUNT_BLOCK];
            count_sampled(s, a, values, extract_block(job, s, &s->atoms[a], b, values));
        }
    }
}

static void gather_task(void *argument, size_t task)
{
    struct gather_job *job = argument;
    uint64_t b = job->blocks * task / job->tasks, end = job->blocks * (task + 1) / job->tasks;
    bool settled = false;
    /* The first block alone says where the values of the others may be expected. */
    const uint64_t span = SPAN * job->stride[COUNTED];
    for (uint64_t next = b + 1; b<end; b = next, next = end - b> span ? b + span : end)
        gather_blocks(job, b, next, &settled, &job->parts[task]);
}

static void add_part(struct wcodec_statistics *s, const struct wcodec_statistics *part)
{
    s->any |= part->any;
    s->all &= part->all;
    for (unsigned a = 0; a < s->atom_count; a++) {
        s->block_bits[a] += part->block_bits[a];
        for (unsigned v = 0; v < 256; v++)
            s->counts[a][v] += part->counts[a][v];
    }
}

static void gather_end(struct wcodec_statistics *s)
{
    for (unsigned a = 0; a < s->atom_count; a++) {
        if (s->atoms[a].use == RAW)
            continue;
        for (unsigned v = 0; v < 256; v++) {
            s->counted[a] += s->counts[a][v];
            s->held[a] += s->counts[a][v] != 0;
        }
        s->entropy[a] = wcodec_entropy(s->counts[a], 256);
        if (is_one_block(s) && s->atoms[a].use == SAMPLED)
            s->block_bits[a] = s->entropy[a] + wcodec_unseen_bits(s->held[a]);
    }
}

/* By enum wcodec_atom_use: every so many blocks are counted. Level 1 codes no sampled atom
 * (encode/split.c): of what has one block, to count them would take longer than all else. */
static void set_strides(uint64_t blocks, int level, uint64_t stride[3])
{
    stride[RAW] = 0;
    stride[SAMPLED] = wcodec_clamp_u64(blocks / 4, 1, 16);
    if (level < 7 && blocks >= 4 * MANY_BLOCKS)
        stride[SAMPLED] = 32;
    stride[COUNTED] = stride[SAMPLED];
    if (level > 1)
        stride[COUNTED] = level < 7 && blocks >= MANY_BLOCKS ? 4 : 1;
    else if (blocks == 1)
        stride[SAMPLED] = 0;
}

bool wcodec_statistics_measure(wcodec_dtype dtype, uint64_t size, int level,
                               struct wcodec_measured_field fields[WCODEC_MEASURED_FIELDS],
                               unsigned *count)
{
    struct wcodec_statistics s;
    uint64_t stride[3];
    gather_begin(&s, dtype, size);
    set_strides(wcodec_div_up_u64(s.elements, WCODEC_COUNT_BLOCK), level, stride);
    *count = 0;
    for (unsigned a = 0; a < s.atom_count && s.element_log2 <= 2; a++)
        if (s.atoms[a].use != RAW)
            fields[(*count)++] =
                (struct wcodec_measured_field){.shift = s.atoms[a].shift,
                                               .width = s.atoms[a].width,
                                               .by_block = s.atoms[a].use == SAMPLED,
                                               .stride = (uint32_t)stride[s.atoms[a].use]};
    return s.element_log2 <= 2 && s.elements > WCODEC_COUNT_BLOCK;
}

void wcodec_statistics_measured(wcodec_dtype dtype, uint64_t size,
                                const struct wcodec_measured *measured,
                                struct wcodec_statistics *statistics)
{
    unsigned f = 0;
    gather_begin(statistics, dtype, size);
    statistics->any = measured->any;
    statistics->all = measured->all;
    for (unsigned a = 0; a < statistics->atom_count; a++)
        if (statistics->atoms[a].use != RAW) {
            memcpy(statistics->counts[a], measured->counts[f], sizeof *statistics->counts);
            statistics->block_bits[a] = measured->block_bits[f++];
        }
    gather_end(statistics);
}

wcodec_status wcodec_statistics_gather(wcodec_context *context, wcodec_dtype dtype,
                                       const uint8_t *data, uint64_t size, int level,
                                       struct wcodec_statistics *statistics, wcodec_error *err)
{
    gather_begin(statistics, dtype, size);
    struct wcodec_cpu_encode_dsp dsp;
    wcodec_cpu_encode_dsp_init(&dsp, wcodec_cpu_levels() & context->cpu_mask);
    struct gather_job job = {.dsp = &dsp, .data = data};
    job.blocks = wcodec_div_up_u64(statistics->elements, WCODEC_COUNT_BLOCK);
    set_strides(job.blocks, level, job.stride);
    /* Each task has counts of its own, which take as long to add up as a few blocks to count. */
    const uint64_t threads = wcodec_context_threads(context);
    uint64_t most = threads > 1 ? 4 * threads : 1;
    if (threads > MAX_TASKS / 4)
        most = MAX_TASKS;
    job.tasks = (size_t)wcodec_clamp_u64(job.blocks / 8, 1, most);
    job.parts = statistics;
    if (job.tasks > 1)
        job.parts = wcodec_alloc_array(&context->allocator, job.tasks, sizeof *job.parts);
    if (job.parts == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu histograms", job.tasks);
    for (size_t i = 0; i < job.tasks && job.tasks > 1; i++)
        job.parts[i] = *statistics;
    wcodec_run(context, gather_task, &job, job.tasks);
    for (size_t i = 0; i < job.tasks && job.tasks > 1; i++)
        add_part(statistics, &job.parts[i]);
    if (job.tasks > 1)
        wcodec_free(&context->allocator, job.parts);
    gather_end(statistics);
    return WCODEC_OK;
}

void wcodec_statistics_count_bytes(wcodec_context *context, const uint8_t *data,
                                   const struct wcodec_statistics *statistics,
                                   struct wcodec_byte_counts *counts)
{
    const uint64_t blocks = wcodec_div_up_u64(statistics->elements, WCODEC_COUNT_BLOCK),
                   stride = blocks < BYTE_BLOCKS ? 1 : blocks / BYTE_BLOCKS;
    const unsigned log2 = statistics->element_log2, size = 1u << log2;
    struct wcodec_cpu_encode_dsp dsp;
    wcodec_cpu_encode_dsp_init(&dsp, wcodec_cpu_levels() & context->cpu_mask);
    memset(counts, 0, sizeof *counts);
    for (uint64_t b = 0; b < blocks; b += stride) {
        const uint64_t first = b * WCODEC_COUNT_BLOCK, left = statistics->elements - first;
        const size_t n = left < WCODEC_COUNT_BLOCK ? (size_t)left : WCODEC_COUNT_BLOCK;
        const uint8_t *block = data + (first << log2);
        uint8_t values[WCODEC_COUNT_BLOCK];
        for (size_t i = 0; i < n; i++)
            counts->top[wcodec_load_u16(block + (i + 1) * size - 2)]++;
        for (unsigned byte = 0; byte + 2 < size; byte++) {
            dsp.extract(block, n, log2, 0, 8 * byte, 8, values);
            wcodec_count_symbols(values, n, counts->low[byte]);
        }
    }
}
