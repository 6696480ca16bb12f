/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/choice.h"

#include "encode/tables.h"

/* Integers are looked at as whole bytes, in larger tiles, where that saves one part in so many of
 * what four coded bits take: two weights of 4 bits, say. */
enum { WORTH_WHOLE = 80 };

static void add_field(struct wcodec_split *split, unsigned kind, unsigned width, uint64_t value)
{
    if (width == 0)
        return;
    struct wcodec_field *last = split->field_count ? &split->fields[split->field_count - 1] : NULL;
    unsigned shift = last ? last->shift + last->width : 0u;
    /* Neighbours of one kind are one field, except coded ones. */
    if (last && last->kind == kind && kind != WCODEC_FIELD_CODED) {
        last->value |= value << last->width;
        last->width = (uint8_t)(last->width + width);
        return;
    }
    split->fields[split->field_count++] = (struct wcodec_field){
        .kind = (uint8_t)kind, .width = (uint8_t)width, .shift = (uint8_t)shift, .value = value};
}

static uint64_t low_bits(unsigned width)
{
    return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

/* Of counted values: how many there are, how many differ, and their entropy (times WCODEC_BIT). */
struct order0 {
    uint64_t counted, held, entropy;
};

static struct order0 order0_of(const uint64_t *counts, unsigned symbols)
{
    struct order0 o = {.entropy = wcodec_entropy(counts, symbols)};
    for (unsigned s = 0; s < symbols; s++) {
        o.counted += counts[s];
        o.held += counts[s] != 0;
    }
    return o;
}

static struct order0 order0_of_atom(const struct wcodec_statistics *statistics, unsigned a)
{
    return (struct order0){statistics->counted[a], statistics->held[a], statistics->entropy[a]};
}

/* Entropy, scaled from the values that were counted to all elements, in whole bits rounded up. */
static uint64_t entropy_of_all(const struct order0 *o, uint64_t elements)
{
    if (o->counted == 0)
        return 0;
    if (o->counted == elements)
        return o->entropy / WCODEC_BIT + (o->entropy % WCODEC_BIT != 0);
    return (uint64_t)((double)o->entropy / (double)WCODEC_BIT *
                      ((double)elements / (double)o->counted)) +
           1;
}

/* Bits that coding a field costs beside its entropy, about: the table of the counted symbols (and
 * what so many samples make the entropy look less: without it every small tensor would seem to
 * compress), and the states of the tiles. */
static uint64_t overhead_of_tiles(const struct order0 *o, uint64_t elements, uint64_t tile,
                                  bool payload)
{
    const uint64_t tiles = elements / tile + 1;
    return 12 * o->held +
           tiles * (uint64_t)(WCODEC_STREAM_BITS + (payload ? 0 : WCODEC_NO_PAYLOAD_BITS));
}

static uint64_t overhead(const struct order0 *o, uint64_t elements, bool payload)
{
    return overhead_of_tiles(o, elements, 8192, payload);
}

/* What becomes of each atom: [low, high) of its bits vary. */
struct atom_plan {
    unsigned low, high;
    bool coded;
    uint64_t bits;  /* coded */
    uint64_t saved; /* against raw */
};

/* The varying bits of an atom; those that are constant in the whole tensor need not be in its
 * field. An exponent is kept whole: decoders have fast paths for the common lists. */
static void plan_atom(const struct wcodec_statistics *statistics, unsigned a, bool trim,
                      struct atom_plan *plan)
{
    const struct wcodec_atom *atom = &statistics->atoms[a];
    uint64_t vary = (statistics->any & ~statistics->all) >> atom->shift & low_bits(atom->width);
    memset(plan, 0, sizeof *plan);
    if (vary == 0)
        return;
    plan->high = atom->width;
    while (trim && !(vary >> plan->low & 1))
        plan->low++;
    while (trim && !(vary >> (plan->high - 1) & 1))
        plan->high--;
    if (atom->use == WCODEC_ATOM_RAW)
        return;
    const struct order0 o = order0_of_atom(statistics, a);
    uint64_t raw = statistics->elements * (plan->high - plan->low);
    if (o.counted == 0) {
        plan->bits = raw;
        return;
    }
    plan->bits = entropy_of_all(&o, statistics->elements);
    uint64_t cost =
        plan->bits + overhead(&o, statistics->elements, atom->use == WCODEC_ATOM_COUNTED);
    plan->saved = cost < raw ? raw - cost : 0;
}

/* A sampled atom as tables by tile may code it. */
static void plan_by_block(const struct wcodec_statistics *statistics, unsigned a,
                          struct atom_plan *plan)
{
    const struct order0 o = order0_of_atom(statistics, a);
    plan_atom(statistics, a, true, plan);
    if (o.counted == 0 || plan->high == plan->low)
        return;
    const uint64_t raw = statistics->elements * (plan->high - plan->low),
                   bits = (uint64_t)((double)(statistics->block_bits[a] / WCODEC_BIT) *
                                     ((double)statistics->elements / (double)o.counted)),
                   cost = bits + overhead(&o, statistics->elements, false) / 2;
    if (bits < plan->bits && cost < raw && raw - cost > plan->saved) {
        plan->bits = bits;
        plan->saved = raw - cost;
    }
}

/* Is coding this atom worth its time? An atom that is counted is coded unless that saves next to
 * nothing; one that is raw as a rule must save more than one percent. */
static bool worth_coding(const struct wcodec_statistics *statistics, unsigned a,
                         const struct atom_plan *plan, uint64_t total)
{
    if (plan->high == plan->low)
        return false;
    switch (statistics->atoms[a].use) {
    case WCODEC_ATOM_COUNTED:
        return plan->saved > total / 500;
    case WCODEC_ATOM_SAMPLED:
        return plan->saved > total / 64;
    default:
        return false;
    }
}

/* Field list from the atoms as planned. */
static void assemble(const struct wcodec_statistics *statistics, const struct atom_plan *plans,
                     struct wcodec_split *split)
{
    memset(split, 0, sizeof *split);
    for (unsigned a = 0; a < statistics->atom_count; a++) {
        const struct wcodec_atom *atom = &statistics->atoms[a];
        const struct atom_plan *p = &plans[a];
        uint64_t value = statistics->all >> atom->shift;
        add_field(split, WCODEC_FIELD_CONSTANT, p->low, value & low_bits(p->low));
        add_field(split, p->coded ? WCODEC_FIELD_CODED : WCODEC_FIELD_RAW, p->high - p->low, 0);
        add_field(split, WCODEC_FIELD_CONSTANT, atom->width - p->high,
                  value >> p->high & low_bits(atom->width - p->high));
        split->order0_bits += p->coded ? p->bits : statistics->elements * (p->high - p->low);
    }
}

/* At least one field must be coded, and at most eight may be. */
static void bound_coded(const struct wcodec_statistics *statistics, struct atom_plan *plans)
{
    unsigned coded = 0, widest = 0;
    for (unsigned a = 0; a < statistics->atom_count; a++) {
        coded += plans[a].coded;
        if (plans[a].high - plans[a].low > 0 && plans[a].high - plans[a].low <= 8)
            widest = a;
    }
    if (coded == 0) {
        struct atom_plan *p = &plans[widest];
        p->coded = true;
        if (statistics->atoms[widest].use == WCODEC_ATOM_RAW)
            p->bits = statistics->elements * (p->high - p->low);
    }
    while (coded > WCODEC_MAX_CODED) {
        unsigned least = statistics->atom_count;
        for (unsigned a = 0; a < statistics->atom_count; a++)
            if (plans[a].coded &&
                (least == statistics->atom_count || plans[a].saved < plans[least].saved))
                least = a;
        plans[least].coded = false;
        coded--;
    }
}

/* More of the sampled atoms coded, where a part of the tensor has few values in them: each gains
 * something, and all of them together enough to look closer. */
static bool code_by_block(const struct wcodec_statistics *statistics, uint64_t total,
                          struct atom_plan *plans)
{
    uint64_t saved = 0;
    for (unsigned a = 0; a < statistics->atom_count; a++) {
        struct atom_plan plan;
        if (statistics->atoms[a].use != WCODEC_ATOM_SAMPLED || plans[a].coded)
            continue;
        plan_by_block(statistics, a, &plan);
        plan.coded = plan.saved > total / 500;
        if (!plan.coded)
            continue;
        saved += plan.saved;
        plans[a] = plan;
    }
    return saved > total / 128;
}

/* Elements of 16 bits and more: their atoms, each coded, raw or constant by what was counted. */
static unsigned wide_candidates(const struct wcodec_statistics *statistics, int level,
                                struct wcodec_split *splits, uint64_t *order0_bits)
{
    struct atom_plan plans[WCODEC_MAX_ATOMS];
    uint64_t total = 0, natural = 0;
    bool bytes = true;
    for (unsigned a = 0; a < statistics->atom_count; a++)
        bytes = bytes && statistics->atoms[a].use == WCODEC_ATOM_COUNTED;
    for (unsigned a = 0; a < statistics->atom_count; a++) {
        bool counted = statistics->atoms[a].use == WCODEC_ATOM_COUNTED;
        plan_atom(statistics, a, bytes || !counted, &plans[a]);
        uint64_t raw = statistics->elements * (plans[a].high - plans[a].low);
        natural += counted && plans[a].bits < raw ? plans[a].bits : raw;
        total += raw - plans[a].saved;
    }
    for (unsigned a = 0; a < statistics->atom_count; a++)
        plans[a].coded = (level >= 2 || statistics->atoms[a].use == WCODEC_ATOM_COUNTED) &&
                         worth_coding(statistics, a, &plans[a], total);
    bound_coded(statistics, plans);
    assemble(statistics, plans, &splits[0]);
    splits[0].estimate = splits[0].order0_bits;
    *order0_bits = natural < splits[0].order0_bits ? natural : splits[0].order0_bits;
    if (bytes || level < 3 || !code_by_block(statistics, total, plans))
        return 1;
    bound_coded(statistics, plans);
    assemble(statistics, plans, &splits[1]);
    splits[1].estimate = splits[1].order0_bits;
    return 2;
}

bool wcodec_split_bytes_may_pay(const struct wcodec_statistics *statistics)
{
    uint64_t saved = 0, raw = 0;
    for (unsigned a = 0; a < statistics->atom_count; a++) {
        struct atom_plan plan;
        if (statistics->atoms[a].use != WCODEC_ATOM_SAMPLED)
            continue;
        plan_atom(statistics, a, true, &plan);
        saved += plan.saved;
        raw += statistics->elements * (plan.high - plan.low);
    }
    return saved > raw / 64;
}

/* Counts of the upper two bytes after adding. */
static void count_top(const struct wcodec_byte_counts *counts, unsigned add, uint64_t low[256],
                      uint64_t high[256])
{
    memset(low, 0, 256 * sizeof *low);
    memset(high, 0, 256 * sizeof *high);
    for (unsigned v = 0; v < 65536; v++) {
        const unsigned e = (v + add) & 0xffff;
        low[e & 0xff] += counts->top[v];
        high[e >> 8] += counts->top[v];
    }
}

static unsigned best_top_add(const struct wcodec_byte_counts *counts)
{
    uint64_t low[256], high[256], least = UINT64_MAX;
    unsigned best = 0;
    for (unsigned add = 0; add < 256; add += 16) {
        count_top(counts, add, low, high);
        const uint64_t bits = wcodec_entropy(low, 256) + wcodec_entropy(high, 256);
        if (bits < least) {
            least = bits;
            best = add;
        }
    }
    return best;
}

void wcodec_split_bytes(const struct wcodec_statistics *statistics,
                        const struct wcodec_byte_counts *counts, struct wcodec_split *split)
{
    const uint64_t vary = statistics->any & ~statistics->all, elements = statistics->elements;
    const unsigned bytes = 1u << statistics->element_log2;
    /* Two constant bytes would be constant no more. */
    const bool varies = (vary >> (8 * bytes - 16) & 0xff) != 0 && vary >> (8 * bytes - 8) != 0;
    const unsigned add = varies ? best_top_add(counts) : 0;
    uint64_t top[2][256];
    count_top(counts, add, top[0], top[1]);
    memset(split, 0, sizeof *split);
    split->add = (uint64_t)add << (8 * bytes - 16);
    for (unsigned b = 0; b < bytes; b++) {
        const bool is_top = b + 2 >= bytes;
        const uint64_t *own = is_top ? top[b + 2 - bytes] : counts->low[b];
        const struct order0 o = order0_of(own, 256);
        const uint64_t raw = 8 * elements, bits = entropy_of_all(&o, elements);
        unsigned kind = WCODEC_FIELD_RAW;
        if ((vary >> (8 * b) & 0xff) == 0)
            kind = WCODEC_FIELD_CONSTANT;
        else if (b == bytes - 1 || bits + overhead(&o, elements, false) < raw - raw / 500)
            kind = WCODEC_FIELD_CODED;
        add_field(split, kind, 8, statistics->all >> (8 * b) & 0xff);
        if (kind != WCODEC_FIELD_CONSTANT)
            split->order0_bits += kind == WCODEC_FIELD_CODED ? bits : raw;
    }
    split->estimate = split->order0_bits;
}

/* How many bytes are below each value, going round once more, so that the bytes of any interval
 * are the difference of two of them. */
struct byte_sums {
    uint64_t below[512];
    bool grown; /* tiles are larger where no raw bits go with the states */
};

static void sum_bytes(const struct wcodec_statistics *statistics, struct byte_sums *sums)
{
    uint64_t sum = 0;
    sums->grown = false;
    for (unsigned v = 0; v < 512; v++) {
        sums->below[v] = sum;
        sum += statistics->counts[0][v % 256];
    }
}

/* Bits of bytes of which the bits from bit `low` on, `width` of them, are coded after adding `add`:
 * by order 0, and *estimate with what the encoder takes more. */
static uint64_t byte_bits(const struct wcodec_statistics *statistics, const struct byte_sums *sums,
                          unsigned low, unsigned width, uint8_t add, uint64_t *estimate)
{
    const unsigned step = 1u << low, symbols = 1u << width;
    uint64_t counts[256] = {0};
    for (unsigned e = 0; e < 256; e += step) {
        const unsigned v = (e + 256 - add) % 256;
        counts[(e >> low) % symbols] += sums->below[v + step] - sums->below[v];
    }
    const struct order0 o = order0_of(counts, symbols);
    const uint64_t bits =
        statistics->elements * (8 - width) + entropy_of_all(&o, statistics->elements);
    const bool payload = width <= 4;
    *estimate = bits + overhead_of_tiles(&o, statistics->elements,
                                         sums->grown && !payload ? 65536 : 8192, payload);
    return bits;
}

/* A byte cut into raw, coded and raw bits after adding `add`. */
static void byte_split(const struct wcodec_statistics *statistics, const struct byte_sums *sums,
                       unsigned low, unsigned width, uint8_t add, struct wcodec_split *split)
{
    memset(split, 0, sizeof *split);
    split->add = add;
    add_field(split, WCODEC_FIELD_RAW, low, 0);
    add_field(split, WCODEC_FIELD_CODED, width, 0);
    add_field(split, WCODEC_FIELD_RAW, 8 - low - width, 0);
    split->order0_bits = byte_bits(statistics, sums, low, width, add, &split->estimate);
}

/* The offset from `centre` that makes the coded bits least, if that is worth speaking of; else
 * half a step, which puts zero into the middle of one. */
static void best_byte_split(const struct wcodec_statistics *statistics,
                            const struct byte_sums *sums, unsigned low, unsigned centre,
                            struct wcodec_split *split)
{
    uint64_t least, usual;
    uint8_t chosen = (uint8_t)(centre + (1u << (low - 1)));
    byte_bits(statistics, sums, low, 8 - low, chosen, &usual);
    least = usual - usual / 1024;
    for (unsigned i = 0; i < 1u << low; i++) {
        const uint8_t add = (uint8_t)(centre + i);
        uint64_t estimate;
        byte_bits(statistics, sums, low, 8 - low, add, &estimate);
        if (estimate < least) {
            least = estimate;
            chosen = add;
        }
    }
    byte_split(statistics, sums, low, 8 - low, chosen, split);
}

static unsigned byte_candidates(const struct wcodec_statistics *statistics, wcodec_dtype dtype,
                                bool residuals, int level, struct wcodec_split *splits,
                                uint64_t *order0_bits)
{
    struct byte_sums sums;
    unsigned n = 0;
    sum_bytes(statistics, &sums);
    switch (dtype) {
    case WCODEC_DTYPE_I8:
    case WCODEC_DTYPE_U8:
        best_byte_split(statistics, &sums, 4, 0, &splits[n++]);
        for (unsigned low = 3; low >= (residuals ? 1u : 3u); low--)
            best_byte_split(statistics, &sums, low, residuals ? 128 : 0, &splits[n++]);
        byte_split(statistics, &sums, 0, 8, 0, &splits[n]);
        sums.grown = !residuals && splits[n].order0_bits <
                                       splits[0].order0_bits - splits[0].order0_bits / WORTH_WHOLE;
        byte_split(statistics, &sums, 0, 8, 0, &splits[n++]);
        break;
    case WCODEC_DTYPE_F8_E4M3:
    case WCODEC_DTYPE_F8_E4M3FNUZ:
        sums.grown = true;
        byte_split(statistics, &sums, 3, 4, 0, &splits[n++]);
        byte_split(statistics, &sums, 0, 8, 0, &splits[n++]);
        break;
    case WCODEC_DTYPE_F8_E5M2:
    case WCODEC_DTYPE_F8_E5M2FNUZ:
        sums.grown = true;
        byte_split(statistics, &sums, 2, 5, 0, &splits[n++]);
        byte_split(statistics, &sums, 0, 8, 0, &splits[n++]);
        break;
    default:
        byte_split(statistics, &sums, 0, 8, 0, &splits[n++]);
    }
    *order0_bits = splits[0].order0_bits;
    for (unsigned i = 1; i < n && (dtype == WCODEC_DTYPE_I8 || dtype == WCODEC_DTYPE_U8); i++)
        *order0_bits = splits[i].order0_bits < *order0_bits ? splits[i].order0_bits : *order0_bits;
    return level >= 2 ? n : 1;
}

unsigned wcodec_split_candidates(const struct wcodec_statistics *statistics, wcodec_dtype dtype,
                                 bool residuals, int level,
                                 struct wcodec_split splits[WCODEC_MAX_SPLITS],
                                 uint64_t *order0_bits)
{
    if (statistics->element_log2 == 0)
        return byte_candidates(statistics, dtype, residuals, level, splits, order0_bits);
    return wide_candidates(statistics, level, splits, order0_bits);
}
