/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the encoder decides for a tensor: how elements are cut into fields, the profile and tables
 * of each, and the predictors of blocks. */
#ifndef WCODEC_ENCODE_CHOICE_H
#define WCODEC_ENCODE_CHOICE_H

#include "backends/cpu/encode.h"
#include "coding/measure.h"
#include "coding/tile.h"
#include "encode/encode.h"
#include "encode/tables.h"

/* A first look at a tensor: which bits vary, and how often each value of its natural fields occurs.
 */

enum { WCODEC_MAX_ATOMS = 10 };

enum wcodec_atom_use {
    WCODEC_ATOM_RAW,     /* not worth counting */
    WCODEC_ATOM_SAMPLED, /* as a rule raw: counted on some blocks, to see the exceptions */
    WCODEC_ATOM_COUNTED  /* as a rule coded */
};

/* A natural field of a dtype: an exponent, a byte of an integer. */
struct wcodec_atom {
    uint8_t shift;
    uint8_t width;
    uint8_t use;
};

struct wcodec_statistics {
    unsigned element_log2;
    uint64_t elements;
    uint64_t any; /* bits set in at least one element */
    uint64_t all; /* bits set in every one */
    unsigned atom_count;
    struct wcodec_atom atoms[WCODEC_MAX_ATOMS]; /* low bits first, all bits of the element */
    uint64_t counts[WCODEC_MAX_ATOMS][256];
    /* Of sampled atoms: the blocks' own entropies together (times WCODEC_BIT), with what so few
     * values make them look less. */
    uint64_t block_bits[WCODEC_MAX_ATOMS];
    /* Of counted and sampled atoms: how many symbols are counted, how many differ, and their
     * entropy (times WCODEC_BIT). */
    uint64_t counted[WCODEC_MAX_ATOMS];
    uint64_t held[WCODEC_MAX_ATOMS];
    uint64_t entropy[WCODEC_MAX_ATOMS];
};

/* Look at `size` bytes at data (size a multiple of the element's bytes, not 0). Of large tensors
 * atoms are counted on some blocks only, unless the level is one where time is no matter; at level
 * 1, of all. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_statistics_gather(wcodec_context *context, wcodec_dtype dtype,
                                       const uint8_t *data, uint64_t size, int level,
                                       struct wcodec_statistics *statistics, wcodec_error *err);

/* The same of elements of at most 32 bits by counts that a device has made: which fields it is to
 * count (false: elements are longer, or there is one block, of which gathering counts less), and
 * statistics from these. Bits that vary are those of all elements then, where gathering stops as
 * soon as no further one can change what is decided. */
bool wcodec_statistics_measure(wcodec_dtype dtype, uint64_t size, int level,
                               struct wcodec_measured_field fields[WCODEC_MEASURED_FIELDS],
                               unsigned *count);
void wcodec_statistics_measured(wcodec_dtype dtype, uint64_t size,
                                const struct wcodec_measured *measured,
                                struct wcodec_statistics *statistics);

/* What bytes of elements hold: the upper two together, so that it is known what adding to them
 * would change, and each of the others. */
struct wcodec_byte_counts {
    uint32_t top[65536];
    uint64_t low[6][256];
};

/* Count some blocks of a tensor of which there are statistics, of elements of 16 bits and more. */
void wcodec_statistics_count_bytes(wcodec_context *context, const uint8_t *data,
                                   const struct wcodec_statistics *statistics,
                                   struct wcodec_byte_counts *counts);

/* How elements may be cut into fields. */

/* A field list with what order-0 coding of it would take. Profiles, pools and runs of its fields
 * are not chosen yet. */
struct wcodec_split {
    uint64_t add;
    uint8_t field_count;
    struct wcodec_field fields[WCODEC_MAX_FIELDS];
    uint64_t order0_bits; /* entropies of the coded fields and all raw bits, whole tensor */
    uint64_t estimate;    /* the same with tables and states */
    bool constant_above;  /* the second coded field is zero in every tile, except outliers */
};

enum {
    WCODEC_MAX_SPLITS = 8,
    /* What a coded field costs a tile beside its words: a descriptor, and the bits that 32 states
       are wide of the mark. */
    WCODEC_STREAM_BITS = 64 + 8 * 32,
    /* What more it costs where nothing rides in the start states: all fields but the lowest, and
       that with less than four raw bits. */
    WCODEC_NO_PAYLOAD_BITS = 16 * 32
};

/* Candidates for a tensor of which there are statistics whose elements are not all equal, the
 * dtype's natural one first; returns their number, at least 1. `level` 1 and 2 give one. residuals:
 * with one to three raw bits below what is coded, zero in its middle. *order0_bits: least bits of
 * an order-0 coder over the candidates and the dtype's natural split. */
unsigned wcodec_split_candidates(const struct wcodec_statistics *statistics, wcodec_dtype dtype,
                                 bool residuals, int level,
                                 struct wcodec_split splits[WCODEC_MAX_SPLITS],
                                 uint64_t *order0_bits);

/* Floats of 16 bits and more: may it pay to cut them at bytes? Where many elements are zero or few
 * mantissas occur, the bits that are raw as a rule are worth coding, the sign with them. */
bool wcodec_split_bytes_may_pay(const struct wcodec_statistics *statistics);

/* Each byte a field, coded where that saves something, after adding what makes the upper two depend
 * least on each other: an exponent and its mantissa may share them. */
void wcodec_split_bytes(const struct wcodec_statistics *statistics,
                        const struct wcodec_byte_counts *counts, struct wcodec_split *split);

/* How integers of 16 bits that are small more often than not, whatever their sign, are cut into
 * fields: coefficients, residuals. */

/* A window of 8 bits around zero is coded, what is below it is raw, what is above it constant or,
 * where large values occur, coded: the window of least counted cost. `least` and `largest` are
 * those of all values. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_integer_split(const wcodec_allocator *allocator, const uint8_t *values,
                                   uint64_t count, int least, int largest,
                                   struct wcodec_split *split, wcodec_error *err);

/* The same for coefficients in their order, of which GPUs make elements in one pass where one field
 * is coded: of what is above the window, few values are not zero, and go as outliers
 * (constant_above), unless that costs 0.7 % more. */
wcodec_status wcodec_plain_split(const wcodec_allocator *allocator, const uint8_t *values,
                                 uint64_t count, int least, int largest, struct wcodec_split *split,
                                 wcodec_error *err);

/* The same for coefficients in bands: runs of 128 that repeat by 16, each with a table of P8 of its
 * own. Two whole bytes are preferred where the upper ones have one value in most runs, which
 * decoders skip; else they are avoided. */
wcodec_status wcodec_banded_split(const wcodec_allocator *allocator, const uint8_t *values,
                                  uint64_t count, int least, int largest,
                                  struct wcodec_split *split, wcodec_error *err);

/* Policy: what decoding speed is worth in bytes, and what several tables must save. The encoder
 * does not know who will decode. The numbers and their reasons are in policy.c. */

/* Shares of a tensor's bits, in 1/65536. */
enum {
    WCODEC_SHARE_PREFERENCE = 197,  /* 0.3 %: a preferred profile may take so much more */
    WCODEC_SHARE_TILE_TABLES = 131, /* 0.2 %: several tables must save so much, ... */
    WCODEC_SHARE_RUNS = 328,        /* 0.5 %: ... and those of runs */
    WCODEC_SHARE_CLOSE_RUNS = 66    /* 0.1 %: longer runs may take so much more */
};

static inline uint64_t wcodec_share(uint64_t bits, unsigned share)
{
    return bits / 65536 * share;
}

/* log2 of the tile's elements for a tensor of so many elements (doc/format.md 2 leaves it to the
 * encoder), and for coefficients of a lossy one. */
unsigned wcodec_tile_policy(const struct wcodec_encode_settings *settings, uint64_t elements);

/* The same where a tile has streams that take `stream_bits` that no element asks for, and the
 * tensor takes `bits` without these: tiles are larger where that is too much. fast: GPUs decode it
 * by a fast kernel, which large tiles could keep waiting, and raw bits fill half of the states. */
unsigned wcodec_tile_policy_streams(const struct wcodec_encode_settings *settings,
                                    uint64_t elements, bool fast, uint64_t stream_bits,
                                    uint64_t bits);
uint8_t wcodec_lossy_tile_policy(uint64_t coefficients, bool blocks);

/* A tensor, as far as policy goes by it. */
struct wcodec_tensor_kind {
    const struct wcodec_encode_settings *settings;
    bool bytes;    /* elements of 8 bits */
    bool integers; /* of dtype I8 or U8 */
    bool floats;   /* of 16 bits and more */
};

/* Is a split one that GPUs decode in one pass only where its coded bits are in pairs, or one that
 * they do not decode in one pass at all? */
bool wcodec_split_is_low(const struct wcodec_tensor_kind *kind, const struct wcodec_split *split);
bool wcodec_split_is_slow(const struct wcodec_tensor_kind *kind, const struct wcodec_split *split);

/* What candidate number `number` may take more than others, coded by a profile, of so many bits. */
uint64_t wcodec_share_for_speed(const struct wcodec_tensor_kind *kind,
                                const struct wcodec_split *split, unsigned number, unsigned profile,
                                uint64_t bits);

struct wcodec_profile_policy {
    unsigned preferred; /* enum wcodec_field_profile */
    unsigned share;     /* that it may take more than the least costly one */
    bool whole;         /* no pairs: a whole byte of residuals */
};

/* For a field of `width` bits in elements with so many raw ones. */
struct wcodec_profile_policy wcodec_profile_policy(const struct wcodec_encode_settings *settings,
                                                   unsigned width, unsigned raw_bits);

/* Choosing profile, tables and runs of one coded field, by counted cost on a sample. */

/* What is known of a field and its tensor. */
struct wcodec_field_facts {
    uint8_t width;
    uint8_t raw_bits;             /* of an element */
    bool by_value;                /* see wcodec_cluster_options */
    struct wcodec_symbols values; /* the sample; pieces are tiles */
    const uint64_t *counts;       /* of the sample's values */
    wcodec_count_fn count;        /* the fastest way to have them */
    uint64_t entropy;             /* of these counts */
    uint8_t *pairs;               /* capacity: half as many symbols */
    uint64_t elements;            /* of the tensor */
    uint64_t tiles;
    uint64_t other_bits; /* of the tensor, beside this field */
};

struct wcodec_field_choice {
    uint8_t profile;
    uint8_t run_log2;
    unsigned count;
    struct wcodec_table *tables;
    uint64_t
        bits; /* of the whole tensor: words, outliers, tables and run indices (times WCODEC_BIT) */
};

/* Most tables that a field of so many elements may get. */
unsigned wcodec_field_tables_most(const struct wcodec_encode_settings *settings, uint64_t elements);

/* `count` choices with room for so many tables each, as one block of memory; NULL: there is none.
 * Small tensors need little: to give the system its memory back, and get it again, would take
 * longer than to code them. */
struct wcodec_field_choice *wcodec_field_choices_alloc(const wcodec_allocator *allocator,
                                                       unsigned count, unsigned tables);

/* The least costly, with the preferences that decoding speed asks for: P8 if it is within 0.3 % of
 * the tensor's size and 8 or more raw bits go with the symbol (not for latency), else pairs if they
 * are; several tables or runs only where they save enough. Of coefficients in bands, P8 with runs
 * of 128 if it is within 2 %; of those in their order, P12, or pairs of up to four bits, within 1
 * %; of whole bytes of residuals P8 if it is within 1.5 %. `choice` has room for
 * wcodec_field_tables_most(). WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_field_choose(const wcodec_allocator *allocator,
                                  const struct wcodec_encode_settings *settings,
                                  const struct wcodec_field_facts *facts,
                                  struct wcodec_field_choice *choice, wcodec_error *err);

/* The window of 16 values that holds most of the counted ones: its base, and where each value is
 * coded: values outside at the most frequent one's place. Returns how many are outside. */
uint64_t wcodec_pairs_window(const uint64_t counts[256], unsigned width, uint8_t *base,
                             uint8_t nibble[256]);

/* Values, in place, as the pairs that a table with this base codes, values outside of its window at
 * the nearest end; the last of an odd number is paired with itself. Returns the number of pairs. */
uint32_t wcodec_pairs_symbols(uint8_t *values, uint32_t count, unsigned base);

/* Tables from the whole tensor, once it is known from a sample which there are to be. */

/* Share out the tensor's tiles (every `stride`-th of them) or their runs among the tables of coded
 * field number `field` of the tiling (derived; its profile, tables and runs set), count the symbols
 * of each, and fit the tables anew. scattered: tiles not always from the same place of their
 * `stride`. A table that nobody chose stays as it is. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_tables_refit(wcodec_context *context, const struct wcodec_cpu_encode_dsp *dsp,
                                  const struct wcodec_tiling *tiling, unsigned field,
                                  const uint8_t *data, uint64_t stride, bool scattered,
                                  struct wcodec_field_choice *choice, wcodec_error *err);

/* What the encoder decided for a tensor: everything that the tiles are coded with.
 *
 * The policy of profiles is one for CPUs and GPUs, since the encoder does not know who will decode.
 * Fields with 8 and more raw bits beside them (bf16, f16, f32) take P8, others (int8) pairs,
 * unless another profile is smaller by 0.3 % of the tensor; whole bytes (FP8) are not in pairs.
 * CPUs decode P8 faster (bench/README.md), GPUs pairs: bf16 by 5 %, f32 and f16 by 2 to 3 %, int8
 * by 20 % (bench/gpu/README.md); so each has what the slower of the two would lose most by. Who
 * writes for one kind alone asks for
 * --profile=pairs or p8; --tune=latency, which is for GPUs, prefers pairs, and makes tiles small,
 * of which a GPU needs more than small tensors have. */

struct wcodec_plan {
    const wcodec_allocator *allocator;
    struct wcodec_tiling *tiling; /* except prefix_size, which the payload decides */
    struct wcodec_encode_table *tables[WCODEC_MAX_CODED]; /* each coded field's pool */
    struct wcodec_costs
        *costs[WCODEC_MAX_CODED];       /* to choose among them; NULL where there is only one */
    struct wcodec_cpu_encoder *encoder; /* of tiling and tables */
    bool constant_above;                /* as of wcodec_split */
    uint64_t order0_bits;
    uint64_t word_bits; /* estimate of all words together */
};

/* Plan for a tensor of which there are statistics whose elements are not all equal. data: NULL if
 * nothing is known but the statistics, which is enough at level 1 as a rule; else
 * WCODEC_ERROR_UNSUPPORTED. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_plan_tensor(wcodec_context *context,
                                 const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                 const uint8_t *data, uint64_t size,
                                 const struct wcodec_statistics *statistics,
                                 struct wcodec_plan **plan, wcodec_error *err);
void wcodec_plan_free(struct wcodec_plan *plan);

/* Bytes that the payload will have, about: mostly within some tenths of a percent. */
uint64_t wcodec_plan_size(const struct wcodec_plan *plan);

/* Prediction in blocks: whether it may pay for a tensor, which modes its blocks get, and the
 * residuals that come of it. */

/* What a residual costs, in units of 2^-16 bit: a table for its lower and one for its upper byte.
 */
struct wcodec_residual_costs {
    uint32_t bits[2][256];
};

/* Modes that blocks may have, and by what costs each takes one of them. */
struct wcodec_mode_choice {
    unsigned count;
    uint8_t modes[WCODEC_MODES]; /* ascending */
    struct wcodec_residual_costs costs;
    double share; /* of the bits without prediction, on the sample; 0: not counted */
};

/* Look at some blocks of the tensor at data, whose view is derived. *pays: it is worth coding the
 * tensor both ways, and `choice` is set. `forced`: predictor that all blocks shall have,
 * WCODEC_PREDICTORS: none; then it pays always. Costs next to nothing where neighbours are
 * independent. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_modes_choose(const wcodec_allocator *allocator, int level,
                                  const struct wcodec_blocks *blocks, const uint8_t *data,
                                  unsigned forced, struct wcodec_mode_choice *choice, bool *pays,
                                  wcodec_error *err);

/* The cheapest mode of the choice for a block (number in choice->modes), and its residuals. */
unsigned wcodec_block_choose(const struct wcodec_mode_choice *choice, unsigned element_log2,
                             const uint16_t elements[WCODEC_BLOCK],
                             uint16_t residuals[WCODEC_BLOCK]);

/* What a look at a tensor showed. */
struct wcodec_prediction {
    bool pays; /* it may; else the rest is not set */
    struct wcodec_blocks blocks;
    struct wcodec_mode_choice choice;
};

/* May it pay to predict the tensor as settings->predict and ->columns say? WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_predict_look(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  unsigned element_log2, const uint8_t *data, uint64_t size,
                                  struct wcodec_prediction *prediction, wcodec_error *err);

/* A tensor's residuals, ready to be coded as a tensor in tiles. */
struct wcodec_predicted {
    const wcodec_allocator *allocator;
    struct wcodec_blocks blocks;
    uint8_t *modes;     /* packed, and the zeros after them: wcodec_blocks_tiles_begin() */
    uint8_t *residuals; /* wcodec_blocks_residual_size() */
};

/* Predict a tensor for which that may pay. WCODEC_ERROR_MEMORY, _CANCELLED. */
wcodec_status wcodec_predict_tensor(wcodec_context *context,
                                    const struct wcodec_encode_settings *settings,
                                    const struct wcodec_prediction *prediction, const uint8_t *data,
                                    struct wcodec_predicted *predicted, wcodec_error *err);
void wcodec_predicted_free(struct wcodec_predicted *predicted);

#endif
