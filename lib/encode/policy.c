/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What decoding speed is worth, measured on GPUs (bench/gpu/README.md) and CPUs (bench/README.md).
 * All of the encoder's preferences that are not bits are here. */
#include "encode/choice.h"

enum {
    /* Elements from which on tiles are larger. */
    TILES_FOR_LARGE = 1024 << 14,
    TILES_FOR_MEDIUM = 4 << 13,
    /* Of four raw bits (three of e5m2) GPUs decode the first split of bytes fastest, in pairs;
     * Gaussian e4m3 loses 0.6 % by it. */
    SHARE_FIRST_INTEGERS = 328, /* 0.5 % */
    SHARE_FIRST_FLOATS = 524,   /* 0.8 % */
    /* Who asks for pairs wants the first split of bytes, which is the one that they suit. */
    SHARE_FIRST_ASKED = 3932, /* 6 % */
    /* GPUs have fast kernels for floats of which the exponent alone is coded. */
    SHARE_EXPONENT = 983, /* 1.5 % */
    /* What streams may take of a tile's bits: of more than the first where one is decoded fast,
     * tiles grow until it is less than the second; where size counts alone, the third. */
    SHARE_STREAMS = 983,        /* 1.5 % */
    SHARE_STREAMS_ENOUGH = 262, /* 0.4 % */
    SHARE_STREAMS_SIZE = 131,   /* 0.2 % */
    /* Residuals of prediction are made elements in the same pass, soonest from pairs. */
    SHARE_RESIDUAL_PAIRS = 459, /* 0.7 % */
    SHARE_RESIDUAL_P8 = 262,    /* 0.4 % */
    /* A preferred profile may take so much more, by what is coded. */
    SHARE_PLAIN = 655,    /* 1 % */
    SHARE_BANDS = 1311,   /* 2 % */
    SHARE_RESIDUALS = 983 /* 1.5 % */
};

unsigned wcodec_tile_policy(const struct wcodec_encode_settings *settings, uint64_t elements)
{
    if (settings->tile_log2 != 0)
        return settings->tile_log2;
    if (settings->latency || elements < TILES_FOR_MEDIUM)
        return 12;
    return elements < TILES_FOR_LARGE ? 13 : 14;
}

unsigned wcodec_tile_policy_streams(const struct wcodec_encode_settings *settings,
                                    uint64_t elements, bool fast, uint64_t stream_bits,
                                    uint64_t bits)
{
    unsigned tile_log2 = wcodec_tile_policy(settings, elements);
    const unsigned enough =
        settings->level >= WCODEC_LEVEL_SIZE ? SHARE_STREAMS_SIZE : SHARE_STREAMS_ENOUGH;
    unsigned most = settings->level < WCODEC_LEVEL_SIZE && fast ? SHARE_STREAMS : enough;
    if (settings->tile_log2 != 0 || settings->latency)
        return tile_log2;
    while (tile_log2 < WCODEC_TILE_LOG2_MAX && elements >> tile_log2 > 0 &&
           (double)stream_bits * (double)elements / (double)((uint64_t)1 << tile_log2) >
               (double)bits * most / 65536) {
        tile_log2++;
        most = enough;
    }
    return tile_log2;
}

/* Of some bits an element, the states of a tile are a larger part than of an element as it was:
 * tiles are twice as large as those of other tensors, and smaller tensors have large ones too; in
 * blocks there may be two streams. */
uint8_t wcodec_lossy_tile_policy(uint64_t coefficients, bool blocks)
{
    if (coefficients >= (uint64_t)1 << (blocks ? 22 : 25))
        return 15;
    if (coefficients >= (uint64_t)1 << 19)
        return 14;
    return coefficients >= (uint64_t)1 << 16 ? 13 : 12;
}

/* Of bytes of residuals the lowest one to three bits may be raw, but only where the others are
 * coded in pairs. */
bool wcodec_split_is_low(const struct wcodec_tensor_kind *kind, const struct wcodec_split *split)
{
    return kind->settings->residuals && kind->bytes && split->fields[0].kind == WCODEC_FIELD_RAW &&
           split->fields[0].width < 4;
}

/* Of coefficients of bytes in their order GPUs make elements in one pass where all bits are coded,
 * or four. */
bool wcodec_split_is_slow(const struct wcodec_tensor_kind *kind, const struct wcodec_split *split)
{
    return kind->settings->plain && kind->bytes && split->field_count > 1 &&
           split->fields[0].width != 4;
}

static unsigned coded_fields(const struct wcodec_split *split)
{
    unsigned coded = 0;
    for (unsigned i = 0; i < split->field_count; i++)
        coded += split->fields[i].kind == WCODEC_FIELD_CODED;
    return coded;
}

uint64_t wcodec_share_for_speed(const struct wcodec_tensor_kind *kind,
                                const struct wcodec_split *split, unsigned number, unsigned profile,
                                uint64_t bits)
{
    const bool residuals = kind->settings->residuals && kind->bytes;
    if (kind->bytes && !residuals && number == 0 && profile == WCODEC_PAIRS &&
        kind->settings->profile == WCODEC_PAIRS)
        return wcodec_share(bits, SHARE_FIRST_ASKED);
    if (kind->settings->level >= WCODEC_LEVEL_SIZE)
        return 0;
    if (residuals && profile == WCODEC_PAIRS)
        return wcodec_share(bits, SHARE_RESIDUAL_PAIRS);
    if (residuals && profile == WCODEC_P8)
        return wcodec_share(bits, SHARE_RESIDUAL_P8);
    if (residuals || number != 0)
        return 0;
    if (kind->floats)
        return coded_fields(split) == 1 ? wcodec_share(bits, SHARE_EXPONENT) : 0;
    return wcodec_share(bits, kind->integers ? SHARE_FIRST_INTEGERS : SHARE_FIRST_FLOATS);
}

struct wcodec_profile_policy wcodec_profile_policy(const struct wcodec_encode_settings *settings,
                                                   unsigned width, unsigned raw_bits)
{
    /* GPUs have no pairs in one pass for whole bytes of residuals, and P8 is a quarter faster than
     * P12. */
    struct wcodec_profile_policy policy = {.preferred = WCODEC_PAIRS,
                                           .share = WCODEC_SHARE_PREFERENCE};
    policy.whole = settings->residuals && raw_bits == 0 && width == 8;
    if (settings->plain) {
        /* One pass: P12, or pairs of up to four bits. */
        policy.preferred = width > 4 ? WCODEC_P12 : WCODEC_PAIRS;
        policy.share = SHARE_PLAIN;
    } else if (settings->bands) {
        /* Where runs can be skipped, P8 is what decoders do best. */
        policy.preferred = WCODEC_P8;
        policy.share = SHARE_BANDS;
    } else if (policy.whole) {
        policy.preferred = WCODEC_P8;
        policy.share = SHARE_RESIDUALS;
    } else if (raw_bits >= 8 && !settings->latency) {
        /* Of small tensors GPUs decode pairs sooner. */
        policy.preferred = WCODEC_P8;
    }
    if (settings->level >= WCODEC_LEVEL_SIZE && !settings->plain && !settings->bands)
        policy.share = 0;
    return policy;
}
