/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/choice.h"

#include "backends/cpu/cpu_level.h"
#include "core/assert.h"
#include "core/error.h"
#include "encode/tables.h"
#include "coding/histogram.h"

enum {
    REFIT_TILES = 16,
    BEATEN = 80, /* one part in so many */
    /* Of so few elements an order of slots that decodes somewhat faster is not worth the time to
     * find it. */
    ORDER_FEW_ELEMENTS = 1 << 14
};

void wcodec_plan_free(struct wcodec_plan *plan)
{
    if (plan == NULL)
        return;
    for (unsigned c = 0; c < WCODEC_MAX_CODED; c++) {
        wcodec_free(plan->allocator, plan->tables[c]);
        wcodec_free(plan->allocator, plan->costs[c]);
    }
    wcodec_cpu_encoder_free(plan->encoder);
    wcodec_free(plan->allocator, plan->tiling);
    wcodec_free(plan->allocator, plan);
}

/* Make a field's pool ready for coding. */
static wcodec_status set_pool(struct wcodec_plan *plan, unsigned c,
                              const struct wcodec_table *tables, unsigned count, wcodec_error *err)
{
    const struct wcodec_table *pointers[16];
    const unsigned enough = plan->tiling->elements < ORDER_FEW_ELEMENTS ? WCODEC_CPU_BOUNDS : 0;
    plan->tables[c] = wcodec_alloc_array(plan->allocator, count, sizeof *plan->tables[c]);
    if (count > 1)
        plan->costs[c] = wcodec_alloc(plan->allocator, sizeof *plan->costs[c]);
    if (plan->tables[c] == NULL || (count > 1 && plan->costs[c] == NULL))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %u tables", count);
    for (unsigned i = 0; i < count; i++) {
        struct wcodec_table table = tables[i];
        if (table.profile == WCODEC_P8)
            wcodec_table_order_slots(&table, enough);
        wcodec_encode_table_init(&plan->tables[c][i], &table);
        pointers[i] = &tables[i];
    }
    if (count > 1)
        wcodec_costs_init(plan->costs[c], pointers, count);
    return WCODEC_OK;
}

/* The sample that choices are made on: whole tiles, evenly spread. */
struct sample {
    uint64_t pieces; /* tiles of the tensor */
    uint64_t taken;
    size_t piece; /* elements */
    size_t count; /* elements of the sample */
    bool scattered;
    uint8_t *values, *pairs; /* one block */
};

static size_t sample_pieces(int level, unsigned tile_log2)
{
    if (level >= 9)
        return (size_t)1 << (22 - tile_log2);
    if (level >= 7)
        return (size_t)1 << (20 - tile_log2);
    if (level >= 5)
        return (size_t)1 << (18 - tile_log2);
    return tile_log2 == 13 ? 8 : 16;
}

static wcodec_status sample_allocate(struct sample *sample, const wcodec_allocator *allocator,
                                     int level, unsigned tile_log2, uint64_t elements,
                                     wcodec_error *err)
{
    size_t most = sample_pieces(level, tile_log2);
    sample->piece = (size_t)1 << tile_log2;
    sample->pieces = wcodec_div_up_u64(elements, sample->piece);
    /* Where time matters a sample is a small part of the tensor. */
    if (level < 5 && sample->pieces / 4 < most)
        most = sample->pieces / 4 < 4 ? 4 : (size_t)sample->pieces / 4;
    sample->taken = sample->pieces < most ? sample->pieces : most;
    size_t capacity = elements < sample->taken * sample->piece
                          ? (size_t)elements
                          : (size_t)sample->taken * sample->piece;
    sample->values = wcodec_alloc(allocator, capacity + (capacity + 1) / 2);
    if (sample->values == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a sample of %zu elements",
                           capacity);
    sample->pairs = sample->values + capacity;
    return WCODEC_OK;
}

static bool is_sampled_whole(const struct sample *sample)
{
    return sample->taken == sample->pieces;
}

/* Values of one field; the last tile, which may be short, comes last. */
static void sample_field(struct sample *sample, const struct wcodec_cpu_encode_dsp *dsp,
                         const struct wcodec_statistics *statistics, const uint8_t *data,
                         uint64_t add, const struct wcodec_field *f)
{
    /* Blocks of residuals come by rows: not always from the same place of one. */
    const uint64_t among =
        sample->scattered && sample->pieces > sample->taken ? sample->pieces / sample->taken : 1;
    sample->count = 0;
    for (uint64_t i = 0; i < sample->taken; i++) {
        uint64_t first = (sample->pieces * i / sample->taken + wcodec_scatter(i, among)) *
                         sample->piece,
                 left = statistics->elements - first;
        size_t n = left < sample->piece ? (size_t)left : sample->piece;
        dsp->extract(data + (first << statistics->element_log2), n, statistics->element_log2, add,
                     f->shift, f->width, sample->values + sample->count);
        sample->count += n;
    }
}

struct planner {
    wcodec_context *context;
    const struct wcodec_encode_settings *settings;
    struct wcodec_cpu_encode_dsp dsp;
    const struct wcodec_statistics *statistics;
    const uint8_t *data;
    struct wcodec_tensor_kind kind;
    bool by_value;
    struct sample sample;
};

/* What was chosen for a split. */
struct split_choice {
    struct wcodec_field_choice *fields; /* as many as any split codes */
    unsigned tile_log2;
};

static uint64_t raw_bits_of(const struct wcodec_split *split)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < split->field_count; i++)
        bits += split->fields[i].kind == WCODEC_FIELD_RAW ? split->fields[i].width : 0;
    return bits;
}

/* Tiles of a split whose fields take so many bits (times WCODEC_BIT), which grow by what is spent
 * on streams. */
static void choose_tile(const struct planner *p, unsigned coded, uint64_t raw,
                        struct split_choice *choice, uint64_t *bits)
{
    const uint64_t elements = p->statistics->elements,
                   streams = coded * (uint64_t)(WCODEC_STREAM_BITS + WCODEC_NO_PAYLOAD_BITS) -
                             (raw >= 4 ? WCODEC_NO_PAYLOAD_BITS : 0);
    const bool fast = coded == 1 && (raw >= 4 || p->settings->residuals);
    choice->tile_log2 =
        wcodec_tile_policy_streams(p->settings, elements, fast, streams, *bits / WCODEC_BIT);
    *bits += wcodec_div_up_u64(elements, (uint64_t)1 << choice->tile_log2) * streams * WCODEC_BIT;
}

/* Counts of a whole field, if the statistics have them. */
static bool known_counts(const struct wcodec_statistics *statistics, uint64_t add,
                         const struct wcodec_field *f, uint64_t counts[256])
{
    if (statistics->element_log2 == 0) {
        for (unsigned v = 0; v < 256; v++)
            counts[((v + (unsigned)add) & 0xff) >> f->shift & ((1u << f->width) - 1)] +=
                statistics->counts[0][v];
        return true;
    }
    for (unsigned a = 0; a < statistics->atom_count && add == 0; a++)
        if (statistics->atoms[a].use == WCODEC_ATOM_COUNTED &&
            statistics->atoms[a].shift == f->shift && statistics->atoms[a].width == f->width) {
            memcpy(counts, statistics->counts[a], 256 * sizeof *counts);
            return true;
        }
    return false;
}

static uint64_t total(const uint64_t counts[256])
{
    uint64_t sum = 0;
    for (unsigned s = 0; s < 256; s++)
        sum += counts[s];
    return sum;
}

/* Choose for all coded fields of a split; *bits is what the tensor takes then (times WCODEC_BIT).
 */
static wcodec_status choose_fields(struct planner *p, const struct wcodec_split *split,
                                   struct split_choice *choice, uint64_t *bits, wcodec_error *err)
{
    uint64_t raw = raw_bits_of(split);
    unsigned c = 0;
    *bits = raw * p->statistics->elements * WCODEC_BIT;
    for (unsigned i = 0; i < split->field_count; i++) {
        const struct wcodec_field *f = &split->fields[i];
        if (f->kind != WCODEC_FIELD_CODED)
            continue;
        sample_field(&p->sample, &p->dsp, p->statistics, p->data, split->add, f);
        uint64_t counts[256] = {0}, other = split->order0_bits * WCODEC_BIT;
        if (!is_sampled_whole(&p->sample) || !known_counts(p->statistics, split->add, f, counts) ||
            total(counts) != p->statistics->elements) {
            memset(counts, 0, sizeof counts);
            p->dsp.count(p->sample.values, p->sample.count, counts);
        }
        const uint64_t entropy = wcodec_entropy(counts, 256),
                       own = (uint64_t)((double)entropy * ((double)p->statistics->elements /
                                                           (double)p->sample.count));
        struct wcodec_field_facts facts = {
            .width = f->width,
            .raw_bits = (uint8_t)raw,
            .by_value = p->by_value,
            .values = {p->sample.values, p->sample.count, p->sample.piece},
            .counts = counts,
            .count = p->dsp.count,
            .entropy = entropy,
            .pairs = p->sample.pairs,
            .elements = p->statistics->elements,
            .tiles = p->sample.pieces,
            .other_bits = other > own ? other - own : 0,
        };
        struct wcodec_encode_settings settings = *p->settings;
        settings.residuals = p->settings->residuals && p->statistics->element_log2 == 0;
        if (wcodec_split_is_low(&p->kind, split) && settings.profile == 0)
            settings.profile = WCODEC_PAIRS;
        wcodec_status status =
            wcodec_field_choose(&p->context->allocator, &settings, &facts, &choice->fields[c], err);
        if (status != WCODEC_OK)
            return status;
        *bits += choice->fields[c].bits;
        c++;
    }
    choose_tile(p, c, raw, choice, bits);
    return WCODEC_OK;
}

/* Bytes: is another split so much better that nothing would make up for it, as long as tiles may
 * grow? Not where time is no matter. */
static bool is_beaten(const struct planner *p, const struct wcodec_split *split, uint64_t least)
{
    return p->kind.bytes && !p->settings->residuals && !p->settings->plain &&
           p->settings->profile == 0 && p->settings->level < 5 && p->settings->tile_log2 == 0 &&
           !p->settings->latency && split->estimate > least + least / BEATEN;
}

/* The split of least cost, and its choices: one of two that there is room for. */
static wcodec_status choose_split(struct planner *p, const struct wcodec_split *splits,
                                  unsigned count, struct split_choice choices[2], unsigned *chosen,
                                  struct split_choice **choice, wcodec_error *err)
{
    struct split_choice *trial = &choices[1];
    uint64_t least = UINT64_MAX, bits, best_score = UINT64_MAX;
    *choice = &choices[0];
    for (unsigned i = 0; i < count; i++)
        least = splits[i].estimate < least && !wcodec_split_is_low(&p->kind, &splits[i]) &&
                        !wcodec_split_is_slow(&p->kind, &splits[i])
                    ? splits[i].estimate
                    : least;
    for (unsigned i = 0; i < count; i++) {
        /* More tables seldom gain more than this. Where the fast split is nearly the best, that is
         * settled. */
        if (count > 1 &&
            (splits[i].estimate > least + least / 16 ||
             wcodec_split_is_slow(&p->kind, &splits[i]) || is_beaten(p, &splits[i], least)))
            continue;
        if (i > 0 && p->settings->level < 5 &&
            splits[0].estimate <=
                least +
                    wcodec_share_for_speed(&p->kind, &splits[0], 0, WCODEC_PAIRS, least) / 5 * 4)
            break;
        wcodec_status status = choose_fields(p, &splits[i], trial, &bits, err);
        if (status != WCODEC_OK)
            return status;
        if (wcodec_split_is_low(&p->kind, &splits[i]) && trial->fields[0].profile != WCODEC_PAIRS)
            continue;
        const uint64_t score =
            bits - wcodec_share_for_speed(&p->kind, &splits[i], i, trial->fields[0].profile, bits);
        if (score < best_score) {
            struct split_choice *const other = *choice;
            best_score = score;
            *chosen = i;
            *choice = trial;
            trial = other;
        }
    }
    return WCODEC_OK;
}

static bool is_float(wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_BF16 || dtype == WCODEC_DTYPE_F16 || dtype == WCODEC_DTYPE_F32 ||
           dtype == WCODEC_DTYPE_C64 || dtype == WCODEC_DTYPE_F64;
}

static wcodec_status needs_elements(wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                       "the plan of this tensor needs its elements, not only counts");
}

/* Tables as they will be stored: fitted to the whole tensor where its counts are known or worth the
 * time. */
static wcodec_status finish_field(struct planner *p, struct wcodec_plan *plan, unsigned c,
                                  struct wcodec_field_choice *choice, wcodec_error *err)
{
    const struct wcodec_tiling *t = plan->tiling;
    const struct wcodec_field *f = &t->fields[t->coded[c]];
    uint64_t counts[256] = {0};
    if (choice->count == 1 && choice->profile != WCODEC_PAIRS &&
        known_counts(p->statistics, t->add, f, counts)) {
        struct wcodec_table_kind kind = {choice->profile, f->width, 0, false};
        uint32_t costs[256];
        wcodec_table_fit(&kind, counts, true, &choice->tables[0]);
        wcodec_table_costs(&choice->tables[0], costs);
        plan->word_bits += (uint64_t)((double)(wcodec_counts_cost(counts, costs) / WCODEC_BIT) *
                                      ((double)p->statistics->elements / (double)total(counts)));
    } else if (p->data == NULL) {
        return needs_elements(err);
    } else {
        unsigned rounds = choice->count == 1 ? 1 : wcodec_by_level(p->settings->level, 1, 2, 4);
        uint64_t stride =
            p->settings->level < 5 && t->tiles > REFIT_TILES ? t->tiles / REFIT_TILES : 1;
        for (unsigned i = 0; i < rounds; i++) {
            wcodec_status status = wcodec_tables_refit(p->context, &p->dsp, t, c, p->data, stride,
                                                       p->sample.scattered, choice, err);
            if (status != WCODEC_OK)
                return status;
        }
        plan->word_bits += choice->bits / WCODEC_BIT;
    }
    return set_pool(plan, c, choice->tables, choice->count, err);
}

/* Level 1: one P8 table a field, from the statistics. */
static void choose_fast(const struct planner *p, const struct wcodec_split *split,
                        struct split_choice *choice)
{
    unsigned c = 0;
    choice->tile_log2 = wcodec_tile_policy(p->settings, p->statistics->elements);
    for (unsigned i = 0; i < split->field_count; i++)
        if (split->fields[i].kind == WCODEC_FIELD_CODED) {
            struct wcodec_field_choice *field = &choice->fields[c++];
            field->profile = p->settings->profile == WCODEC_P12 ? WCODEC_P12 : WCODEC_P8;
            field->run_log2 = 0;
            field->count = 1;
            field->bits = 0;
            memset(field->tables, 0, sizeof *field->tables);
        }
}

static wcodec_status plan_tiling(const struct planner *p, const struct wcodec_split *split,
                                 const struct split_choice *choice, uint64_t size,
                                 struct wcodec_tiling *t, wcodec_error *err)
{
    unsigned c = 0;
    memset(t, 0, sizeof *t);
    t->element_log2 = (uint8_t)p->statistics->element_log2;
    t->tile_log2 = (uint8_t)choice->tile_log2;
    t->field_count = split->field_count;
    t->add = split->add;
    memcpy(t->fields, split->fields, sizeof t->fields);
    for (unsigned i = 0; i < t->field_count; i++)
        if (t->fields[i].kind == WCODEC_FIELD_CODED) {
            t->fields[i].profile = choice->fields[c].profile;
            t->fields[i].tables = (uint8_t)choice->fields[c].count;
            t->fields[i].run_log2 = choice->fields[c++].run_log2;
        }
    return wcodec_tiling_derive(t, size, err);
}

/* Integers of 16 bits are cut otherwise too, so that zero is in the middle of a field: in bytes,
 * small negative ones have an upper byte of their own. */
static wcodec_status centred_split(const struct planner *p, struct wcodec_split *split,
                                   wcodec_error *err)
{
    int least = INT16_MAX, largest = INT16_MIN;
    for (uint64_t i = 0; i < p->statistics->elements; i++) {
        const int v = (int16_t)wcodec_load_u16(p->data + 2 * i);
        least = v < least ? v : least;
        largest = v > largest ? v : largest;
    }
    return wcodec_integer_split(&p->context->allocator, p->data, p->statistics->elements, least,
                                largest, split, err);
}

/* Floats at whose bytes it may pay to cut them. */
static wcodec_status bytes_split(const struct planner *p, struct wcodec_split *split,
                                 wcodec_error *err)
{
    struct wcodec_byte_counts *counts = wcodec_alloc(&p->context->allocator, sizeof *counts);
    if (counts == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory to count a tensor's bytes");
    wcodec_statistics_count_bytes(p->context, p->data, p->statistics, counts);
    wcodec_split_bytes(p->statistics, counts, split);
    wcodec_free(&p->context->allocator, counts);
    return WCODEC_OK;
}

/* The splits to choose among; returns how many. */
static wcodec_status find_splits(const struct planner *p, wcodec_dtype dtype,
                                 struct wcodec_split *splits, unsigned *count,
                                 uint64_t *order0_bits, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (p->settings->split) {
        splits[0] = *p->settings->split;
        *order0_bits = splits[0].order0_bits;
        *count = 1;
        return WCODEC_OK;
    }
    *count = wcodec_split_candidates(p->statistics, dtype, p->settings->residuals,
                                     p->settings->level, splits, order0_bits);
    if (p->settings->level >= 2 && (dtype == WCODEC_DTYPE_I16 || dtype == WCODEC_DTYPE_U16))
        status = centred_split(p, &splits[(*count)++], err);
    if (p->settings->level >= 3 && p->kind.floats && wcodec_split_bytes_may_pay(p->statistics))
        status = bytes_split(p, &splits[(*count)++], err);
    if (*count >= 2 && p->statistics->element_log2 > 0 && status == WCODEC_OK &&
        splits[1].order0_bits < *order0_bits)
        *order0_bits = splits[1].order0_bits;
    return status;
}

/* Room for two choices. */
static wcodec_status reserve_choices(const struct planner *p, const struct wcodec_split *splits,
                                     unsigned count, struct split_choice choices[2],
                                     wcodec_error *err)
{
    unsigned most = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned coded = 0;
        for (unsigned f = 0; f < splits[i].field_count; f++)
            coded += splits[i].fields[f].kind == WCODEC_FIELD_CODED;
        most = coded > most ? coded : most;
    }
    choices[0].fields =
        wcodec_field_choices_alloc(&p->context->allocator, 2 * most,
                                   wcodec_field_tables_most(p->settings, p->statistics->elements));
    if (choices[0].fields == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the plan of a tensor");
    choices[1].fields = choices[0].fields + most;
    return WCODEC_OK;
}

static wcodec_status fill_plan(struct planner *p, wcodec_dtype dtype, uint64_t size,
                               struct split_choice choices[2], struct wcodec_plan *plan,
                               wcodec_error *err)
{
    struct wcodec_split splits[WCODEC_MAX_SPLITS];
    struct split_choice *choice = &choices[0];
    unsigned chosen = 0, count;
    if (p->data == NULL && p->settings->level > 1)
        return needs_elements(err);
    wcodec_status status = find_splits(p, dtype, splits, &count, &plan->order0_bits, err);
    if (status == WCODEC_OK)
        status = reserve_choices(p, splits, count, choices, err);
    if (status != WCODEC_OK)
        return status;
    if (p->settings->level <= 1) {
        choose_fast(p, &splits[0], choice);
    } else {
        status = sample_allocate(&p->sample, &p->context->allocator, p->settings->level,
                                 wcodec_tile_policy(p->settings, p->statistics->elements),
                                 p->statistics->elements, err);
        p->sample.scattered = p->settings->residuals && p->statistics->element_log2 == 0;
        if (status == WCODEC_OK)
            status = choose_split(p, splits, count, choices, &chosen, &choice, err);
    }
    plan->constant_above = splits[chosen].constant_above;
    if (status == WCODEC_OK)
        status = plan_tiling(p, &splits[chosen], choice, size, plan->tiling, err);
    for (unsigned c = 0; status == WCODEC_OK && c < plan->tiling->coded_count; c++)
        status = finish_field(p, plan, c, &choice->fields[c], err);
    if (status == WCODEC_OK)
        status = wcodec_cpu_encoder_create(wcodec_cpu_levels() & p->context->cpu_mask, plan->tiling,
                                           (const struct wcodec_encode_table *const *)plan->tables,
                                           plan->allocator, &plan->encoder, err);
    return status;
}

wcodec_status wcodec_plan_tensor(wcodec_context *context,
                                 const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                 const uint8_t *data, uint64_t size,
                                 const struct wcodec_statistics *statistics,
                                 struct wcodec_plan **plan, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    struct planner planner = {.context = context,
                              .settings = settings,
                              .statistics = statistics,
                              .data = data,
                              .by_value = is_float(dtype),
                              .kind = {settings, statistics->element_log2 == 0,
                                       dtype == WCODEC_DTYPE_I8 || dtype == WCODEC_DTYPE_U8,
                                       is_float(dtype)}};
    wcodec_cpu_encode_dsp_init(&planner.dsp, wcodec_cpu_levels() & context->cpu_mask);
    struct wcodec_plan *result = wcodec_alloc_zeroed(allocator, sizeof *result);
    struct split_choice choices[2] = {{NULL, 0}, {NULL, 0}};
    if (result) {
        result->allocator = allocator;
        result->tiling = wcodec_alloc(allocator, sizeof *result->tiling);
    }
    wcodec_status status = WCODEC_OK;
    if (result == NULL || result->tiling == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the plan of a tensor");
    else
        status = fill_plan(&planner, dtype, size, choices, result, err);
    wcodec_free(allocator, planner.sample.values);
    wcodec_free(allocator, choices[0].fields);
    if (status != WCODEC_OK)
        wcodec_plan_free(result);
    else
        *plan = result;
    return status;
}

uint64_t wcodec_plan_size(const struct wcodec_plan *plan)
{
    WCODEC_ASSERT(plan->tiling != NULL);
    const struct wcodec_tiling *t = plan->tiling;
    const uint64_t each = wcodec_tile_raw_size(t, wcodec_tile_elements(t, 0), WCODEC_STREAM_RANS) +
                          t->coded_count * (4 * WCODEC_LANES + 8) + 4;
    return plan->word_bits / 8 +
           (uint64_t)((double)each * (double)t->elements / (double)wcodec_tile_elements(t, 0));
}
