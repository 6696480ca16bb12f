/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Steps are powers of 2^(1/1024): numbers that are the same on every machine, and near enough to
 * each other for every target. */
#include "encode/assemble.h"

#include "core/error.h"
#include "encode/choice.h"
#include "encode/lossy_internal.h"

#include <math.h>
#include <stdlib.h>

enum {
    OCTAVE = 1024,
    EXPONENT_MAX = 90,   /* of a step */
    ELEMENTS_MIN = 1024, /* fewer do not pay for their tables */
    SAMPLE_TRIES = 8,
    SLOPE_MIN = 8, /* steps that are so far apart tell a slope */
    TRIES = 12,
    ROUNDED_TRIES = 3,
    ROUNDING_SHARE = 500, /* of less, it is an error of its own */
    LEVEL_MIN = 3,        /* lower ones code all 8 bits in one way only */
    NEAR = 1,             /* bits or octaves within which the sample's slope is good */
    BLOCKS_SHARE = 100    /* with a bound, as in lossy_model.c */
};

/* What is left of the target, in octaves of the step; it grows with the step. */
struct goal {
    double least, aim, most;
};

struct search {
    wcodec_context *context;
    const struct wcodec_encode_settings *settings;
    struct wcodec_lossy_source source;
    struct wcodec_lossy_sample sample;
    double rounding; /* mean squared error of numbers that are rounded to the dtype */
    struct wcodec_lossy_model model;
    struct wcodec_lossy_result result;
    bool has_result;
    struct wcodec_coded coded; /* of the last try, where it was coded */
    bool is_coded;
    bool is_measured;
    double slope; /* of the measure over octaves, by the sample near where it was left */
    long least;   /* no finer step: coefficients have 16 bits */
    const char *reason;
};

static const char too_fine[] = "what was asked for needs coefficients of more than 16 bits";

static double step_of(long k)
{
    static const double roots[] = {0x1.6a09e667f3bcdp+0, 0x1.306fe0a31b715p+0, 0x1.172b83c7d517bp+0,
                                   0x1.0b5586cf9890fp+0, 0x1.059b0d3158574p+0, 0x1.02c9a3e778061p+0,
                                   0x1.0163da9fb3335p+0, 0x1.00b1afa5abcbfp+0, 0x1.0058c86da1c0ap+0,
                                   0x1.002c605e2e8cfp+0};
    const long exponent = k >= 0 ? k / OCTAVE : -((-k + OCTAVE - 1) / OCTAVE);
    long part = k - exponent * OCTAVE;
    double step = ldexp(1, (int)exponent);
    for (unsigned i = 0; i < sizeof roots / sizeof *roots; i++)
        if (part >> (9 - i) & 1)
            step *= roots[i];
    return step;
}

static long nearest_step(double octaves)
{
    const double most = EXPONENT_MAX * (double)OCTAVE, k = octaves * OCTAVE;
    return (long)floor((k > most ? most : k > -most ? k : -most) + 0.5);
}

bool wcodec_lossy_applies(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                          uint64_t size)
{
    return settings->lossy != WCODEC_LOSSY_NONE && settings->weights && wcodec_lossy_dtype(dtype) &&
           size >= (uint64_t)ELEMENTS_MIN << (dtype == WCODEC_DTYPE_F32 ? 2 : 1);
}

static float scale_of_step(long k)
{
    return (float)(step_of(k) / WCODEC_TRANSFORM_UNIT);
}

/* How coefficients of 16 bits are cut into fields. */
static wcodec_status split_coefficients(const struct search *s, struct wcodec_split *split,
                                        wcodec_error *err)
{
    const struct wcodec_lossy_result *r = &s->result;
    const uint64_t count = wcodec_lossy_coefficients(&r->lossy);
    if (r->lossy.plain)
        return wcodec_plain_split(s->source.allocator, r->coefficients, count, r->least, r->largest,
                                  split, err);
    return wcodec_banded_split(s->source.allocator, r->coefficients, count, r->least, r->largest,
                               split, err);
}

/* What is known of coefficients, too large for some stacks. */
struct facts {
    struct wcodec_statistics statistics;
    struct wcodec_split split;
};

/* The coefficients as a tensor of small integers in tiles. */
static wcodec_status code_coefficients_by(struct search *s, struct facts *f, wcodec_error *err)
{
    const struct wcodec_lossy_result *r = &s->result;
    const uint64_t count = wcodec_lossy_coefficients(&r->lossy),
                   size = count << r->lossy.coefficient_log2;
    const bool wide = r->lossy.coefficient_log2 != 0;
    const wcodec_dtype as = wide ? WCODEC_DTYPE_I16 : WCODEC_DTYPE_I8;
    struct wcodec_encode_settings settings = *s->settings;
    settings.bands = !r->lossy.plain;
    settings.plain = r->lossy.plain;
    settings.level = settings.level < LEVEL_MIN ? LEVEL_MIN : settings.level;
    wcodec_status status = wcodec_statistics_gather(s->context, as, r->coefficients, size,
                                                    settings.level, &f->statistics, err);
    if (status == WCODEC_OK && wide) {
        status = split_coefficients(s, &f->split, err);
        settings.split = &f->split;
    }
    if (status != WCODEC_OK)
        return status;
    if (settings.tile_log2 == 0 && !settings.latency)
        settings.tile_log2 = wcodec_lossy_tile_policy(count, settings.bands);
    return wcodec_code_tiles(s->context, &settings, as, r->coefficients, size, &f->statistics,
                             &s->coded, err);
}

static wcodec_status code_coefficients(struct search *s, wcodec_error *err)
{
    const wcodec_allocator *allocator = s->source.allocator;
    struct facts *f = wcodec_alloc_zeroed(allocator, sizeof *f);
    if (f == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for statistics");
    const wcodec_status status = code_coefficients_by(s, f, err);
    wcodec_free(allocator, f);
    return status;
}

/* Modes and scales go before the coefficients' payload. */
static wcodec_status code_result(struct search *s, wcodec_error *err)
{
    struct wcodec_lossy *l = &s->result.lossy;
    (void)wcodec_lossy_result_narrow(&s->result);
    const uint64_t side = wcodec_lossy_tiles_begin(l);
    wcodec_status status = code_coefficients(s, err);
    if (status != WCODEC_OK)
        return status;
    s->is_coded = true;
    uint8_t *bytes = wcodec_alloc(s->source.allocator, (size_t)side);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor's scales");
    memcpy(bytes, s->result.side, (size_t)side);
    status = wcodec_coded_prepend(&s->coded, bytes, side, err);
    s->coded.coding = WCODEC_CODING_LOSSY;
    return status;
}

static void forget_code(struct search *s)
{
    if (s->is_coded)
        wcodec_coded_free(&s->coded);
    s->is_coded = false;
}

static double octaves_of(double mean_squared_error)
{
    return mean_squared_error > 0 ? log2(mean_squared_error) / 2 : -1000;
}

/* The goal's measure: of a mean squared error (snr), or of bits an element. */
static double measure(const struct search *s, double mean_squared_error, double bits)
{
    const double value = s->settings->lossy_value;
    if (s->settings->lossy == WCODEC_LOSSY_BITS)
        return value - bits;
    const double octaves = octaves_of(mean_squared_error) -
                           (octaves_of(s->source.mean_square) - value * (log2(10) / 20));
    return fabs(octaves) < 1e-9
               ? 0
               : octaves; /* sums of the same numbers in other orders differ by less */
}

static struct goal goal_of(const struct wcodec_encode_settings *settings)
{
    const double share = settings->lossy_value / 1000;
    return settings->lossy == WCODEC_LOSSY_BITS ? (struct goal){0, 2 * share, 6 * share}
                                                : (struct goal){-0.008, -0.002, 0};
}

/* Squared error of rounding to the dtype: 1/12 of what its last bit is worth, squared; on the
 * sample. */
static double rounding_error(const struct wcodec_lossy_source *source,
                             const struct wcodec_lossy_sample *sample)
{
    const int mantissa = source->dtype == WCODEC_DTYPE_BF16 ? 7 : 10,
              exponent_min = source->dtype == WCODEC_DTYPE_BF16 ? -126 : -14;
    uint32_t counts[256] = {0}; /* by the exponent of f32 */
    double sum = 0;
    if (source->dtype == WCODEC_DTYPE_F32)
        return 0;
    for (size_t i = 0; i < sample->count; i++)
        for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++) {
            const float number = sample->blocks[i].coefficients[WCODEC_TRANSFORM_NONE][k];
            counts[wcodec_f32_bits(number) >> 23 & 0xff]++;
        }
    for (int e = 0; e < 256; e++) {
        const int exponent = e - 127 > exponent_min ? e - 127 : exponent_min;
        sum += counts[e] * ldexp(1.0 / 12, 2 * (exponent - mantissa));
    }
    return sum / ((double)sample->count * WCODEC_TRANSFORM_BLOCK);
}

/* Of the sample. Distortion is that of weighted rows: the mean over all rows is the same. */
static double estimate(struct search *s, const struct wcodec_lossy_sample *sample, bool anew,
                       long k)
{
    struct wcodec_lossy_estimate e;
    const double step = step_of(k);
    /* What a lane's states take more than they carry, the tables, and in blocks what runs choose.
     */
    const double tiles =
        768.0 / (double)(1u << wcodec_lossy_tile_policy(s->source.elements,
                                                        s->model.set != WCODEC_SET_PLAIN)) +
        (s->model.set == WCODEC_SET_PLAIN ? 0 : 4.0 / 128);
    wcodec_lossy_settle(sample, anew, scale_of_step(k), &s->model, &e);
    return measure(s, e.distortion * step * step + s->rounding, e.bits + tiles);
}

/* No more than some octaves at once: an error may be nothing, or no number. */
static double bounded(double octaves)
{
    return octaves < -4 ? -4 : octaves < 4 ? octaves : 4;
}

/* Where the sample reaches the aim, from k on: the measure grows by about one an octave, or less
 * where few coefficients are left. Sets s->slope. */
static long search_sample(struct search *s, const struct wcodec_lossy_sample *sample,
                          const struct goal *goal, long k)
{
    long below = s->least - 1, above = nearest_step(EXPONENT_MAX), last = k;
    double before = 0;
    s->slope = 1;
    for (unsigned i = 0; i < SAMPLE_TRIES; i++) {
        const double value = estimate(s, sample, i == 0, k), rest = goal->aim - value;
        if (i > 0 && s->settings->lossy == WCODEC_LOSSY_BITS && labs(k - last) >= SLOPE_MIN)
            s->slope = fmin(fmax((value - before) / (double)(k - last) * OCTAVE, 0.5), 2);
        before = value;
        last = k;
        if (fabs(rest) < 0.005)
            break;
        if (rest > 0)
            below = k;
        else
            above = k;
        long next = k + (long)(bounded(rest) * OCTAVE);
        if (next <= below || next >= above)
            next = below + (above - below) / 2;
        if (next == k || next < s->least)
            break;
        k = next;
    }
    return k;
}

/* Where errors are near what rounding to the dtype makes, as it is known of the elements before:
 * that is no noise of its own, since the elements are rounded already. */
static long search_rounded(const struct search *s, const struct goal *goal, long k)
{
    double before = 0, slope = 1;
    long last = k;
    for (unsigned i = 0; i < ROUNDED_TRIES; i++) {
        const double error = wcodec_lossy_sample_error(&s->sample, scale_of_step(k), &s->model),
                     value = measure(s, error, 0), rest = goal->aim - value;
        if (i == 0 && error > s->rounding * ROUNDING_SHARE)
            break;
        if (fabs(rest) < 0.002)
            break;
        if (k != last)
            slope = fmin(fmax((value - before) / (double)(k - last) * OCTAVE, 0.5), 2);
        before = value;
        last = k;
        k += (long)(bounded(rest / slope) * OCTAVE);
        k = k < s->least ? s->least : k;
    }
    return k;
}

/* The step and the modes to begin with. */
static long begin_search(struct search *s, const struct goal *goal)
{
    /* Gaussian numbers take log2(deviation / step) + 2.05 bits; their error is 1/12 of a squared
     * step. */
    const double deviation = octaves_of(s->source.mean_square),
                 octaves = s->settings->lossy == WCODEC_LOSSY_BITS
                               ? deviation + 2.05 - s->settings->lossy_value
                               : deviation + 1.79 - s->settings->lossy_value * (log2(10) / 20);
    long k = nearest_step(octaves);
    k = k < s->least ? s->least : k;
    s->model.set = WCODEC_SET_PLAIN;
    struct wcodec_lossy_sample part = wcodec_lossy_sample_part(&s->sample);
    if (s->source.blocks &&
        wcodec_lossy_blocks_may_pay(&part, s->settings->level, scale_of_step(k), &s->model)) {
        wcodec_lossy_choose_set(&part, s->settings->level, scale_of_step(k), &s->model);
        if (s->model.set != WCODEC_SET_PLAIN) {
            k = search_sample(s, &part, goal, k);
            wcodec_lossy_choose_set(&part, s->settings->level, scale_of_step(k), &s->model);
            wcodec_lossy_sample_transform(&s->sample);
        }
    }
    k = search_sample(s, &s->sample, goal, k);
    return s->rounding > 0 ? search_rounded(s, goal, k) : k;
}

/* Numbers of f16 that are large may be rounded to infinity: then no step is taken before its errors
 * are known. Transforms can make a number some times as large. */
static bool may_overflow(const struct wcodec_lossy_source *s)
{
    return s->dtype == WCODEC_DTYPE_F16 && s->largest > 65504.0 / 16;
}

/* Quantise, and code if the target is in bits, else measure; *value: the goal's measure. It depends
 * on the step alone: that no block was transformed at this one says nothing of others. */
static wcodec_status try_step(struct search *s, long k, double *value, wcodec_error *err)
{
    struct wcodec_lossy_model model = s->model;
    wcodec_status status;
    forget_code(s);
    if (k < s->least) {
        s->reason = too_fine;
        return WCODEC_OK;
    }
    if (!wcodec_lossy_step_valid(&s->source, step_of(k))) {
        s->reason = "its magnitude is out of reach of scales";
        return WCODEC_OK;
    }
    status = wcodec_lossy_quantise(s->context, s->settings, &s->source, &model, step_of(k),
                                   &s->result, err);
    s->is_measured = s->settings->lossy != WCODEC_LOSSY_BITS || may_overflow(&s->source);
    if (status == WCODEC_OK && s->is_measured)
        status = wcodec_lossy_measure(s->context, s->settings, &s->source, &s->result, err);
    if (status == WCODEC_OK && s->is_measured && !isfinite(s->result.lossy.largest_error)) {
        s->reason = "its largest numbers would be rounded to infinity";
        return WCODEC_OK;
    }
    if (status == WCODEC_OK && s->settings->lossy == WCODEC_LOSSY_BITS)
        status = code_result(s, err);
    if (status == WCODEC_OK)
        *value = measure(
            s, s->result.lossy.mean_squared_error,
            s->is_coded ? 8 * (double)s->coded.payload_size / (double)s->source.elements : 0);
    return status;
}

/* Steps on both sides of the target, and what they gave. */
struct bracket {
    long below, above;
    double below_value, above_value;
    bool has_below, has_above;
    long before; /* the step of the last try but one, where there was one */
    double before_value;
};

/* While all steps are on one side, of which some say nothing because all is rounded to zero, each
 * move is twice as long as the one before. */
static long next_step(const struct bracket *b, const struct goal *goal, unsigned tries, long k,
                      double value, double sample_slope)
{
    double slope = fabs(goal->aim - value) < NEAR ? sample_slope : 1;
    if (b->has_below && b->has_above) {
        slope = (b->above_value - b->below_value) / (double)(b->above - b->below) * OCTAVE;
        slope = slope > 0.1 ? slope : 0.1;
    } else if (tries > 1 && b->before != k && fabs(value - b->before_value) < 1) {
        /* Near the target: as it was between the last two. */
        slope = (value - b->before_value) / (double)(k - b->before) * OCTAVE;
        slope = slope > 1 / (double)(1u << (tries - 1)) ? slope : 1 / (double)(1u << (tries - 1));
    } else if (tries > 2) {
        slope = 1 / (double)(1u << (tries - 2));
    }
    long next = k + (long)floor(bounded((goal->aim - value) / slope) * OCTAVE + 0.5);
    if (next == k)
        next += value < goal->aim ? 1 : -1;
    if ((b->has_below && next <= b->below) || (b->has_above && next >= b->above))
        next = b->has_below && b->has_above ? b->below + (b->above - b->below) / 2
                                            : k + (value < goal->aim ? OCTAVE / 4 : -OCTAVE / 4);
    return next;
}

/* Search by whole tensors. The last try is the one that counts: the best that holds. */
static wcodec_status search_tensor(struct search *s, const struct goal *goal, long k,
                                   wcodec_error *err)
{
    struct bracket b = {0};
    long last = k, best = 0;
    bool has_best = false;
    double value = 0, best_distance = 0;
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < TRIES && status == WCODEC_OK && !s->reason; i++) {
        status = try_step(s, last = k, &value, err);
        if (status != WCODEC_OK)
            return status;
        if (s->reason && has_best) {
            s->reason = NULL;
            break;
        }
        if (s->reason)
            return status;
        const bool holds = value >= goal->least && value <= goal->most;
        /* Past its window a measure still keeps to the target on one side: fewer bits, or less
         * error. */
        const bool keeps = s->settings->lossy == WCODEC_LOSSY_BITS ? value >= 0 : value <= 0;
        if (keeps && (!has_best || fabs(value) < best_distance)) {
            has_best = true;
            best = k;
            best_distance = fabs(value);
        }
        if (holds)
            return WCODEC_OK;
        if (value < goal->aim)
            b = (struct bracket){k,    b.above,     value,    b.above_value,
                                 true, b.has_above, b.before, b.before_value};
        else
            b = (struct bracket){b.below,     k,    b.below_value, value,
                                 b.has_below, true, b.before,      b.before_value};
        if ((b.has_below && b.has_above && b.above - b.below <= 1) ||
            (b.has_above && b.above == s->least))
            break;
        const long next = next_step(&b, goal, i + 1, k, value, s->slope);
        b.before = k;
        b.before_value = value;
        k = next < s->least ? s->least : next;
    }
    if (!has_best)
        s->reason = b.has_above && b.above == s->least && s->settings->lossy == WCODEC_LOSSY_SNR
                        ? too_fine
                        : "no step gives what was asked for";
    else if (best != last)
        status = try_step(s, best, &value, err);
    return status;
}

/* The largest step that no error can pass, plain or with transforms in those blocks that keep to
 * the bound. */
static long begin_bound(struct search *s)
{
    static const uint16_t down[] = {0, 256, 512, 768, 1024, 1280, 1536, 2048};
    const double most =
        fmin(2 * s->settings->lossy_value, 4 * s->source.largest); /* beyond, all is zero */
    struct wcodec_lossy_estimate e;
    long k = nearest_step(log2(most)), best;
    while (step_of(k) > most)
        k--;
    best = k;
    s->model.set = WCODEC_SET_PLAIN;
    if (!s->source.blocks) {
        wcodec_lossy_round_only(&s->model);
        return best;
    }
    struct wcodec_lossy_sample part = wcodec_lossy_sample_part(&s->sample);
    wcodec_lossy_settle(&part, true, scale_of_step(k), &s->model, &e);
    double least = e.bits - e.bits / BLOCKS_SHARE;
    struct wcodec_lossy_model blocks = s->model, trial = s->model;
    /* What blocks take that need not keep to the bound; a finer step takes half a bit more an
     * octave at least. */
    trial.bound = 0;
    trial.set = WCODEC_SET_PLAIN | WCODEC_SET_DCT | WCODEC_SET_ADST;
    wcodec_lossy_settle(&part, true, scale_of_step(k), &trial, &e);
    const double unbounded = e.bits;
    if (unbounded >= least)
        return best;
    blocks.set = WCODEC_SET_DCT;
    wcodec_lossy_choose_order(&part, scale_of_step(k - OCTAVE), &blocks);
    for (unsigned i = 0; i < sizeof down / sizeof *down; i++) {
        if (unbounded + (double)down[i] / (2 * OCTAVE) >= least)
            break;
        trial = blocks;
        trial.set = WCODEC_SET_PLAIN | WCODEC_SET_DCT | WCODEC_SET_ADST;
        wcodec_lossy_settle(&part, true, scale_of_step(k - down[i]), &trial, &e);
        if (e.bits < least) {
            least = e.bits;
            best = k - down[i];
            s->model = trial;
        }
    }
    return best;
}

/* Rounding to the dtype can carry an error past the bound; not with half of the step, where it
 * could only come to a number that is nearer. */
static wcodec_status search_bound(struct search *s, long k, wcodec_error *err)
{
    long below = k - OCTAVE, above = k, last = k;
    double value;
    wcodec_status status = try_step(s, k, &value, err);
    if (status != WCODEC_OK || s->reason ||
        s->result.lossy.largest_error <= s->settings->lossy_value)
        return status;
    while (status == WCODEC_OK && s->reason == NULL && above - below > 16) {
        last = below + (above - below) / 2;
        status = try_step(s, last, &value, err);
        if (s->result.lossy.largest_error <= s->settings->lossy_value)
            below = last;
        else
            above = last;
    }
    if (status == WCODEC_OK && s->reason == NULL && last != below)
        status = try_step(s, below, &value, err);
    if (status == WCODEC_OK && s->reason == NULL &&
        !(s->result.lossy.largest_error <= s->settings->lossy_value))
        s->reason = "no step gives what was asked for";
    return status;
}

static wcodec_status find_step(struct search *s, wcodec_error *err)
{
    const struct goal goal = goal_of(s->settings);
    wcodec_status status = wcodec_lossy_result_init(&s->source, &s->result, err);
    s->has_result = status == WCODEC_OK;
    /* With a bound, nothing is to be learnt from a sample but whether there are to be blocks. */
    if (status == WCODEC_OK && (s->settings->lossy != WCODEC_LOSSY_ERROR || s->source.blocks))
        status = wcodec_lossy_sample_take(&s->source, &s->sample, err);
    if (status != WCODEC_OK)
        return status;
    s->least = (long)ceil(log2(s->source.peak / WCODEC_CPU_COEFFICIENT_MAX) * OCTAVE);
    s->model.dsp = &s->source.dsp;
    s->model.dtype = s->source.dtype;
    s->model.lambda = WCODEC_LOSSY_LAMBDA;
    if (s->settings->lossy == WCODEC_LOSSY_SNR)
        s->rounding = rounding_error(&s->source, &s->sample);
    if (s->settings->lossy != WCODEC_LOSSY_ERROR)
        return search_tensor(s, &goal, begin_search(s, &goal), err);
    s->model.bound = (float)s->settings->lossy_value;
    if ((double)s->model.bound > s->settings->lossy_value)
        s->model.bound = nextafterf(s->model.bound, 0);
    return search_bound(s, begin_bound(s), err);
}

/* The last try becomes the tensor's coding. */
static wcodec_status finish(struct search *s, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (!s->is_coded)
        status = code_result(s, err);
    if (status == WCODEC_OK && !s->is_measured)
        status = wcodec_lossy_measure(s->context, s->settings, &s->source, &s->result, err);
    if (status != WCODEC_OK)
        return status;
    s->coded.lossy = wcodec_alloc(s->source.allocator, sizeof *s->coded.lossy);
    if (s->coded.lossy == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY,
                           "out of memory for the parameters of a tensor");
    *s->coded.lossy = s->result.lossy;
    s->coded.approximation = s->result.approximation;
    s->coded.coefficients = s->result.coefficients;
    s->result.approximation = s->result.coefficients = NULL;
    return WCODEC_OK;
}

wcodec_status wcodec_lossy_code(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const uint8_t *data, uint64_t size, struct wcodec_coded *coded,
                                const char **reason, wcodec_error *err)
{
    /* With its table of costs it is too large for a stack. */
    struct search *s = wcodec_alloc_zeroed(&context->allocator, sizeof *s);
    if (s == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory to search a step");
    s->context = context;
    s->settings = settings;
    s->sample.allocator = &context->allocator;
    wcodec_status status = wcodec_lossy_source_open(context, settings, settings->lossy_rows, dtype,
                                                    data, size, &s->source, err);
    if (status != WCODEC_OK) {
        wcodec_free(&context->allocator, s);
        return status;
    }
    if (!s->source.finite)
        s->reason = "it holds NaN or infinite numbers";
    else if (s->source.mean_square == 0)
        s->reason = "all of it is zero";
    else
        status = find_step(s, err);
    if (status == WCODEC_OK && s->reason == NULL)
        status = finish(s, err);
    if (status == WCODEC_OK && s->reason == NULL) {
        *coded = s->coded;
        s->is_coded = false;
    }
    *reason = s->reason;
    forget_code(s);
    if (s->has_result)
        wcodec_lossy_result_free(&s->result);
    wcodec_lossy_sample_free(&s->sample);
    wcodec_lossy_source_close(&s->source);
    wcodec_free(&context->allocator, s);
    return status;
}
