/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Modes are chosen by what residuals cost in bits, not by how small they are. The costs are those
 * of a table that all blocks share, which in turn comes of the modes that they take: some rounds
 * settle both, on a sample. */
#include "core/error.h"
#include "encode/tables.h"
#include "coding/histogram.h"
#include "encode/choice.h"

enum {
    PARTS = 4,
    LOOK_MIN = 8, /* blocks of the first look */
    LOOK_MAX = 128,
    LOOK_SHARE = 512, /* one block of so many */
    SAMPLE_MIN = 64,  /* blocks of the sample that decides */
    SAMPLE_SHARE = 4,
    RARE = 32, /* a mode that fewer than one of so many blocks like is left out */
    WHT_LEVEL = 7,
    GAIN_LOOK = 64, /* what promises less than one part in so many is left alone */
    GAIN_SAMPLE = 128
};

/* Residuals of some blocks, evenly spread over the tensor, in several modes. */
struct sample {
    unsigned element_log2;
    size_t count;
    unsigned mode_count;
    uint8_t modes[WCODEC_MODES];
    uint16_t (*residuals)[WCODEC_BLOCK]; /* [mode * count + block] */
};

/* Of lower and upper bytes; each in several parts, so that equal neighbours do not wait for each
 * other. */
struct histogram {
    uint32_t counts[2][PARTS][256];
};

/* Modes below `end` in a sample of `count` blocks, none first. */
static wcodec_status take_sample(const wcodec_allocator *allocator, int level,
                                 const struct wcodec_blocks *blocks, const uint8_t *data,
                                 size_t count, unsigned end, struct sample *s, wcodec_error *err)
{
    *s = (struct sample){.element_log2 = blocks->element_log2, .count = count};
    for (unsigned mode = 0; mode < end; mode++)
        if (wcodec_mode_valid(mode) && (mode != WCODEC_PREDICTOR_WHT || level >= WHT_LEVEL))
            s->modes[s->mode_count++] = (uint8_t)mode;
    const unsigned mode_count = s->mode_count;
    s->residuals =
        wcodec_alloc_array(allocator, (uint64_t)count * mode_count, sizeof *s->residuals);
    if (s->residuals == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a sample of %zu blocks",
                           count);
    for (size_t i = 0; i < count; i++) {
        uint16_t elements[WCODEC_BLOCK];
        /* Evenly, but not always at the same place of a row of blocks. */
        const uint64_t stride = blocks->count / count > 0 ? blocks->count / count : 1;
        wcodec_block_load(blocks, data,
                          (blocks->count * i / count + wcodec_scatter(i, stride)) % blocks->count,
                          elements);
        for (unsigned m = 0; m < mode_count; m++)
            wcodec_block_residuals(s->modes[m], s->element_log2, elements,
                                   s->residuals[m * count + i]);
    }
    return WCODEC_OK;
}

/* Residuals of 16 bits are counted as they are coded: with zero in the middle of what the upper
 * byte has alike. */
enum { CENTRE = 128 };

static void count_block(unsigned element_log2, const uint16_t residuals[WCODEC_BLOCK],
                        struct histogram *h)
{
    for (unsigned i = 0; i < WCODEC_BLOCK; i += PARTS)
        for (unsigned k = 0; k < PARTS; k++) {
            h->counts[0][k][(residuals[i + k] + CENTRE) & 0xff]++;
            if (element_log2)
                h->counts[1][k][(uint16_t)(residuals[i + k] + CENTRE) >> 8]++;
        }
}

static void add_parts(const struct histogram *h, unsigned byte, uint64_t counts[256])
{
    for (unsigned v = 0; v < 256; v++) {
        counts[v] = 0;
        for (unsigned k = 0; k < PARTS; k++)
            counts[v] += h->counts[byte][k][v];
    }
}

/* Order-0 bits of what was counted, times WCODEC_BIT. */
static uint64_t histogram_bits(unsigned element_log2, const struct histogram *h)
{
    uint64_t counts[256], bits = 0;
    for (unsigned byte = 0; byte <= element_log2; byte++) {
        add_parts(h, byte, counts);
        bits += wcodec_entropy(counts, 256);
    }
    return bits;
}

/* Every value gets a little, so that nothing costs without end. */
static void costs_of(unsigned element_log2, const struct histogram *h,
                     struct wcodec_residual_costs *costs)
{
    memset(costs, 0, sizeof *costs);
    for (unsigned byte = 0; byte <= element_log2; byte++) {
        uint64_t total = 0, counts[256];
        add_parts(h, byte, counts);
        for (unsigned v = 0; v < 256; v++)
            total += 16 * counts[v] + 1;
        for (unsigned v = 0; v < 256; v++)
            costs->bits[byte][v] = (wcodec_log2(total) - wcodec_log2(16 * counts[v] + 1)) >> 8;
    }
}

static uint32_t block_cost(const struct wcodec_residual_costs *costs, unsigned element_log2,
                           const uint16_t residuals[WCODEC_BLOCK])
{
    uint32_t sums[PARTS] = {0};
    for (unsigned i = 0; i < WCODEC_BLOCK; i += PARTS)
        for (unsigned k = 0; k < PARTS; k++) {
            sums[k] += costs->bits[0][(residuals[i + k] + CENTRE) & 0xff];
            sums[k] +=
                element_log2 ? costs->bits[1][(uint16_t)(residuals[i + k] + CENTRE) >> 8] : 0;
        }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

unsigned wcodec_block_choose(const struct wcodec_mode_choice *choice, unsigned element_log2,
                             const uint16_t elements[WCODEC_BLOCK],
                             uint16_t residuals[WCODEC_BLOCK])
{
    uint16_t other[WCODEC_BLOCK];
    unsigned best = 0;
    wcodec_block_residuals(choice->modes[0], element_log2, elements, residuals);
    uint32_t least = choice->count > 1 ? block_cost(&choice->costs, element_log2, residuals) : 0;
    for (unsigned m = 1; m < choice->count; m++) {
        wcodec_block_residuals(choice->modes[m], element_log2, elements, other);
        uint32_t cost = block_cost(&choice->costs, element_log2, other);
        if (cost < least) {
            least = cost;
            best = m;
            memcpy(residuals, other, sizeof other);
        }
    }
    return best;
}

/* Could prediction pay? Each mode is judged by the costs of its own residuals, each block by the
 * best of them: a bound that is too good rather than too bad. */
static bool look_pays(const struct sample *s)
{
    uint64_t none = 0, mixed = 0;
    struct histogram h[WCODEC_PREDICTORS];
    struct wcodec_residual_costs costs[WCODEC_PREDICTORS];
    memset(h, 0, sizeof h);
    for (unsigned m = 0; m < s->mode_count; m++) {
        for (size_t i = 0; i < s->count; i++)
            count_block(s->element_log2, s->residuals[m * s->count + i], &h[m]);
        costs_of(s->element_log2, &h[m], &costs[m]);
    }
    for (size_t i = 0; i < s->count; i++) {
        uint64_t least = UINT64_MAX;
        for (unsigned m = 0; m < s->mode_count; m++) {
            uint64_t cost = block_cost(&costs[m], s->element_log2, s->residuals[m * s->count + i]);
            least = cost < least ? cost : least;
            none += m == WCODEC_PREDICTOR_NONE ? cost : 0;
        }
        mixed += least;
    }
    return mixed < none - none / GAIN_LOOK;
}

/* A set of modes of the sample (bits), settled from the costs of `h`: h becomes what the blocks'
 * residuals are then, uses how many take each. Returns the bits of the sample, numbers of modes
 * included. */
static uint64_t settle(const struct sample *s, uint32_t set, unsigned rounds, struct histogram *h,
                       struct wcodec_residual_costs *costs, size_t uses[WCODEC_MODES])
{
    unsigned members = 0;
    for (unsigned m = 0; m < s->mode_count; m++)
        members += set >> m & 1;
    const struct wcodec_blocks like = {.mode_count = (uint8_t)members};
    for (unsigned round = 0; round < rounds; round++) {
        struct histogram next = {{{{0}}}};
        costs_of(s->element_log2, h, costs);
        memset(uses, 0, WCODEC_MODES * sizeof *uses);
        for (size_t i = 0; i < s->count; i++) {
            uint32_t least = UINT32_MAX;
            unsigned best = 0;
            for (unsigned m = 0; m < s->mode_count; m++) {
                const uint32_t cost = set >> m & 1 ? block_cost(costs, s->element_log2,
                                                                s->residuals[m * s->count + i])
                                                   : UINT32_MAX;
                if (cost < least) {
                    least = cost;
                    best = m;
                }
            }
            uses[best]++;
            count_block(s->element_log2, s->residuals[best * s->count + i], &next);
        }
        *h = next;
    }
    return histogram_bits(s->element_log2, h) +
           s->count * wcodec_blocks_index_bits(&like) * WCODEC_BIT;
}

static unsigned most_used(const size_t uses[WCODEC_MODES], size_t least, uint32_t without)
{
    unsigned best = WCODEC_MODES;
    for (unsigned m = 0; m < WCODEC_MODES; m++)
        if (!(without >> m & 1) && uses[m] > least &&
            (best == WCODEC_MODES || uses[m] > uses[best]))
            best = m;
    return best;
}

/* Too large for the stack of a thread that musl made. */
struct tally {
    struct histogram start, h;
    struct wcodec_residual_costs costs;
};

/* The best mode alone, and sets that grow by the modes that blocks like best: the one of least
 * bits. Returns its bits. */
static uint64_t choose_set(const struct sample *s, int level, struct tally *t,
                           struct wcodec_mode_choice *choice)
{
    const unsigned rounds = level < 5 ? 2 : 4;
    static const unsigned sizes[] = {2, 4, WCODEC_MODES};
    uint64_t best_bits = UINT64_MAX;
    uint32_t best_set = 0;
    memset(&t->start, 0, sizeof t->start);
    for (unsigned m = 0; m < s->mode_count; m++) {
        memset(&t->h, 0, sizeof t->h);
        for (size_t i = 0; i < s->count; i++)
            count_block(s->element_log2, s->residuals[m * s->count + i], &t->h);
        uint64_t bits = histogram_bits(s->element_log2, &t->h);
        if (bits < best_bits) {
            best_bits = bits;
            best_set = 1u << m;
            t->start = t->h;
        }
    }
    costs_of(s->element_log2, &t->start, &choice->costs);
    size_t likes[WCODEC_MODES], uses[WCODEC_MODES];
    t->h = t->start;
    settle(s, (1u << s->mode_count) - 1, level < 5 ? 1 : rounds, &t->h, &t->costs, likes);
    uint32_t set = best_set;
    for (unsigned i = 0, members = 1; i < sizeof sizes / sizeof *sizes; i++) {
        const unsigned before = members;
        for (unsigned m;
             members < sizes[i] && (m = most_used(likes, s->count / RARE, set)) < WCODEC_MODES;
             members++)
            set |= 1u << m;
        if (members == before)
            break;
        t->h = t->start;
        uint64_t bits = settle(s, set, rounds, &t->h, &t->costs, uses);
        if (bits < best_bits) {
            best_bits = bits;
            best_set = set;
            costs_of(s->element_log2, &t->h, &choice->costs);
        }
    }
    choice->count = 0;
    for (unsigned m = 0; m < s->mode_count; m++)
        if (best_set >> m & 1)
            choice->modes[choice->count++] = s->modes[m];
    return best_bits;
}

static size_t sample_blocks(uint64_t blocks, int level)
{
    const uint64_t share = blocks / (level < 7 ? SAMPLE_SHARE : 1);
    uint64_t most = 2048;
    if (level < 9)
        most = level < 5 ? 512 : 1024;
    return (size_t)wcodec_clamp_u64(share < SAMPLE_MIN && share < blocks ? SAMPLE_MIN : share, 1,
                                    most);
}

wcodec_status wcodec_modes_choose(const wcodec_allocator *allocator, int level,
                                  const struct wcodec_blocks *blocks, const uint8_t *data,
                                  unsigned forced, struct wcodec_mode_choice *choice, bool *pays,
                                  wcodec_error *err)
{
    struct sample s;
    *pays = forced < WCODEC_PREDICTORS;
    if (*pays) {
        *choice = (struct wcodec_mode_choice){.count = 1, .modes = {(uint8_t)forced}};
        return WCODEC_OK;
    }
    wcodec_status status =
        take_sample(allocator, level, blocks, data,
                    (size_t)wcodec_clamp_u64(blocks->count / LOOK_SHARE, LOOK_MIN, LOOK_MAX),
                    WCODEC_PREDICTORS, &s, err);
    if (status != WCODEC_OK)
        return status;
    const bool promising = look_pays(&s);
    wcodec_free(allocator, s.residuals);
    if (!promising)
        return WCODEC_OK;
    status = take_sample(allocator, level, blocks, data, sample_blocks(blocks->count, level),
                         2 * WCODEC_MODE_DIFFERENTIAL, &s, err);
    if (status != WCODEC_OK)
        return status;
    struct tally *t = wcodec_alloc_zeroed(allocator, sizeof *t);
    if (t == NULL) {
        wcodec_free(allocator, s.residuals);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for histograms");
    }
    for (size_t i = 0; i < s.count; i++)
        count_block(s.element_log2, s.residuals[i], &t->h);
    /* Padding is coded with the residuals, but not with the tensor itself. */
    const double plain = (double)histogram_bits(s.element_log2, &t->h) * (double)blocks->size,
                 padded = (double)wcodec_blocks_residual_size(blocks);
    const double bits = (double)choose_set(&s, level, t, choice) * padded;
    choice->share = bits / plain;
    *pays = bits < plain * (1 - 1.0 / GAIN_SAMPLE) &&
            !(choice->count == 1 && choice->modes[0] == WCODEC_PREDICTOR_NONE);
    wcodec_free(allocator, t);
    wcodec_free(allocator, s.residuals);
    return WCODEC_OK;
}
