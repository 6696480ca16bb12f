/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * A model of a training's course: an ensemble of recurrent state-space models (RSSM) that are
 * rolled out over steps of training which are not computed, by the CPU's threads or, in one launch,
 * in the memory of a CUDA or OpenCL device; and the gated recurrent unit by itself, over sequences,
 * on the CPU, or on the caller's stream or queue in the memory of such a device.
 *
 *     wcodec_rssm_options options;
 *     wcodec_rssm_options_init(&options);
 *     status = wcodec_rssm_create(context, &options, members, head, NULL, &rssm, &err);
 *     wcodec_rssm_input input = {.features = features, .loss = loss};
 *     wcodec_rssm_output output = {.trajectories = trajectories};
 *     status = wcodec_rssm_rollout(rssm, &input, 50, &output, &summary, &err);
 *
 * A member has a gated recurrent unit with H hidden values and I inputs (Cho et al. 2014, the reset
 * gate before the product):
 *
 *     z = sigmoid(W_z x + U_z h + b_z)    r = sigmoid(W_r x + U_r h + b_r)
 *     c = tanh(W_h x + U_h (r h) + b_h)   h' = (1 - z) h + z c
 *
 * and S stochastic values p of its hidden ones. A step takes h to h', and gives a loss of [h; p];
 * input 0 of the next step is that loss, while the others stay. All members have the same head.
 *
 *                  PRODUCTION                                REFERENCE (the published kernel)
 *     p            softmax of the logits h[floor(i H / S)]   h itself, S = H
 *     loss         max(exp(min(max(head [h; p],              head [h; p]
 *                  -10), 10)), 1e-6)
 *     entropy      - sum of p_i ln p_i over p_i > 1e-8       0.01
 *
 * SAMPLED is PRODUCTION, except that p is replaced by 1 for one class k and 0 for the others, after
 * its entropy was taken. k is drawn by Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers:
 * as easy as 1, 2, 3"), whose key is (seed mod 2^32, seed / 2^32) and whose counter is (member, t,
 * 0, 0): member from 0 on, t 1 for the step that gives the first loss, 2 for the next, and 0 for p
 * of the hidden values with which a rollout begins. Of the four words word 0 counts: u is its upper
 * 24 bits / 2^24, 0 <= u < 1, exact in binary32. Sums of p_0, p_0 + p_1, ... are made in binary32
 * in that order, and k is the first class whose sum is greater than u, or S - 1 if none is. So a
 * draw depends on the seed, the member and the step alone, on every backend; its class also on p,
 * where u is as near to a sum as p's rounding.
 *
 * Numbers are binary32. A product adds the bias, then inputs 1, 2, ..., then 0, then hidden values
 * 0, 1, ..., each term rounded before it is added; exponentials and hyperbolic tangents are the
 * library's own, within two units in the last place. So trajectories and hidden values depend on
 * the inputs alone, never on threads, the processor's level or the C library. Metrics are sums in
 * binary64, the entropy's with the C library's logarithm.
 * A device adds in another order, the same from run to run, and has exponentials of its own: what
 * it says is within 1e-5 of the CPU's where members are no chaotic systems.
 */
#ifndef WCODEC_RECURRENT_H
#define WCODEC_RECURRENT_H

#include <wcodec/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Parts of a model whose weights change by a prediction: embedding, query, key, value, attention
 * output, up, down, language-model head. */
#define WCODEC_RSSM_PARTS 8

/** What stochastic values and losses are, as defined above. */
typedef enum wcodec_rssm_mode {
    /** Stochastic values without chance: the softmax itself. */
    WCODEC_RSSM_PRODUCTION = 0,
    /** The published kernel. */
    WCODEC_RSSM_REFERENCE = 1,
    /** A class drawn of the softmax. */
    WCODEC_RSSM_SAMPLED = 2
} wcodec_rssm_mode;

/** How a unit, or an ensemble's rollouts of many starts, in a device's memory may make products. */
typedef enum wcodec_gru_products {
    /** Of binary32. */
    WCODEC_GRU_PRODUCTS_F32 = 0,
    /** By tensor cores, of factors that are rounded to bfloat16: weights, inputs and hidden values.
     * Sums, gates, and hidden values from step to step are binary32. For many sequences: on CUDA
     * devices of compute capability 8.0 or later, of up to 64 hidden values, or 1024 by clusters of
     * 9.0. Elsewhere, and on the CPU, products are of binary32 all the same; wcodec_gru_sizes()
     * says which.
     *
     * A sum of K products w v and its biases, K being I + H, is within (1/128 + K 2^-22) times the
     * sum of the magnitudes |w v| and |b| of the exact one, and a gate within 2^-20 of what its sum
     * gives. Inputs above 3.3e38 count as infinite; of factors below 2^-126 less is kept.
     *
     * In rollouts of many starts that goes for every step, from the hidden values before it. Input
     * 0, which is the loss, is not rounded; losses and entropies are made of the new hidden values
     * in binary32. */
    WCODEC_GRU_PRODUCTS_BF16 = 1
} wcodec_gru_products;

/** Sizes of an ensemble: fill with wcodec_rssm_options_init(), then change what matters. It grows
 * at its end (wcodec/base.h). */
typedef struct wcodec_rssm_options {
    /** Set by wcodec_rssm_options_init(). */
    size_t struct_size;
    /** Members, E: 1 to 64. Default: 5. */
    uint64_t ensemble;
    /** H: 1 to 4096. Default: 256. */
    uint64_t hidden;
    /** S: 1 to H; in REFERENCE H. Default: 32. */
    uint64_t stochastic;
    /** I: 1 to 4096. Default: 64. */
    uint64_t inputs;
    /** Default: PRODUCTION. */
    wcodec_rssm_mode mode;
    /** Whose memory the weights stay in, and who rolls out: a backend's name ("cuda", "opencl"),
     * which must be that of the context's device, or NULL, the default: the CPU. Where the device
     * has no room for an ensemble of these sizes (its hidden values in a work-group's memory), or
     * fails at a rollout and the choice of backends allows it, the CPU takes its place, and the log
     * says so. Rollouts on a device follow each other. */
    const char *memory;
    /** Of wcodec_rssm_rollout_many() in that memory, which then has the weights twice; all else is
     * of binary32. Where a device has no tensor cores, or no room for the weights, or the mode is
     * SAMPLED, which the log says, and on the CPU many rollouts are of binary32 too;
     * wcodec_rssm_sizes() says which. Default: F32. */
    wcodec_gru_products products;
} wcodec_rssm_options;

/** What wcodec_rssm_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_rssm_options_init_size(wcodec_rssm_options *options, size_t size);

/** Set all members to their defaults. */
static inline void wcodec_rssm_options_init(wcodec_rssm_options *options)
{
    wcodec_rssm_options_init_size(options, sizeof *options);
}

/** The weights of a gated recurrent unit, finite, row by row. */
typedef struct wcodec_gru_weights {
    /** [H, I]. */
    const float *w_z;
    const float *w_r;
    const float *w_h;
    /** [H, H]. */
    const float *u_z;
    const float *u_r;
    const float *u_h;
    /** [H]; NULL: zeros. */
    const float *b_z;
    const float *b_r;
    const float *b_h;
    /** 0. */
    uint64_t reserved[7];
} wcodec_gru_weights;

/** An ensemble. It may be used from several threads at once, except for destroying and learning
 * (wcodec/learn.h), which alone changes it. */
typedef struct wcodec_rssm wcodec_rssm;

/** Make an ensemble of E members. `head` has H + S weights; `delta_head`, which may be NULL, has 10
 * rows of H + S. All are copied, 12 W (H + I + 1) bytes a member, where W is H rounded up to a
 * multiple of 32. options may be NULL: defaults.
 *
 * *rssm belongs to the caller, who ends it by wcodec_rssm_destroy() before the context. On failure
 * nothing is left.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (sizes out of range, by name; a weight that is NaN or
 * infinite, by its member, name and place), WCODEC_ERROR_LIMIT (more than the context's
 * max_memory), WCODEC_ERROR_MEMORY (also of the device), WCODEC_ERROR_BACKEND (memory of another
 * backend than the context's), WCODEC_ERROR_UNSUPPORTED (the backend has no rollouts),
 * WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_rssm_create(wcodec_context *context,
                                            const wcodec_rssm_options *options,
                                            const wcodec_gru_weights *members, const float *head,
                                            const float *delta_head, wcodec_rssm **rssm,
                                            wcodec_error *err);

/** Names of an ensemble's tensors in a file; "{}" in them stands for the number of the member, from
 * 0 on. NULL: the default. Zero it before setting members. */
typedef struct wcodec_rssm_names {
    /** Default: "members.{}.W_z", and so on. */
    const char *w_z;
    const char *w_r;
    const char *w_h;
    /** Default: "members.{}.U_z", and so on. */
    const char *u_z;
    const char *u_r;
    const char *u_h;
    /** Default: "members.{}.b_z", and so on, which may be missing (zeros). */
    const char *b_z;
    const char *b_r;
    const char *b_h;
    /** Default: "head". */
    const char *head;
    /** Default: "delta_head", which may be missing. */
    const char *delta_head;
    /** NULL. */
    const void *reserved[5];
} wcodec_rssm_names;

/** Make an ensemble of tensors of F64 (rounded), F32, F16, BF16, F8_E5M2 or F8_E4M3, coded however.
 * Of options mode, memory and products count; the sizes are those of the tensors: as many members
 * as there are W_z with numbers from 0 on (one, if its name has no "{}"), S from the head. `names`
 * may be NULL: all defaults. Takes a second copy of the weights, and the largest tensor as it is in
 * the file, while it reads.
 *
 * Returns what wcodec_rssm_create() and wcodec_reader_decode() do, WCODEC_ERROR_NOT_FOUND (no such
 * tensor) and WCODEC_ERROR_MISMATCH (a tensor of another shape or dtype, by its name, with what was
 * expected). */
WCODEC_API wcodec_status wcodec_rssm_open(const wcodec_reader *reader,
                                          const wcodec_rssm_options *options,
                                          const wcodec_rssm_names *names, wcodec_rssm **rssm,
                                          wcodec_error *err);

/** Sizes and mode of an ensemble, as of one that was opened, to *options, which were filled by
 * wcodec_rssm_options_init(). Their `memory` says who rolls out: the name of the device's backend,
 * which lives as long as the context, or NULL, the CPU, also where it took a device's place. Never
 * fails. */
WCODEC_API void wcodec_rssm_sizes(const wcodec_rssm *rssm, wcodec_rssm_options *options);

/** What an ensemble takes of the context's allocator. */
typedef struct wcodec_rssm_memory_info {
    /** Bytes from wcodec_rssm_create() to wcodec_rssm_destroy(). */
    uint64_t ensemble;
    /** Bytes that each rollout takes beside it while it runs. */
    uint64_t rollout;
    /** 0. */
    uint64_t reserved[6];
} wcodec_rssm_memory_info;

/** Bytes of host memory that an ensemble of these options will take on the CPU, to the byte; memory
 * of a device, and for copies to and from it, is not among them. Nothing is allocated. Whether it
 * fits the context's max_memory is for wcodec_rssm_create() to say. Y, the steps, does not change
 * it: what grows with it are the caller's outputs. options may be NULL: defaults. Returns
 * WCODEC_OK, or WCODEC_ERROR_USAGE (sizes out of range, by name). */
WCODEC_API wcodec_status wcodec_rssm_memory(const wcodec_rssm_options *options,
                                            wcodec_rssm_memory_info *memory, wcodec_error *err);

/** Where a rollout begins. */
typedef struct wcodec_rssm_input {
    /** [E, H]; NULL: in each member the hyperbolic tangents of the features, and zeros after
     * them. */
    const float *hidden;
    /** [I], as wcodec/state.h has them. */
    const float *features;
    /** Of the latest step. */
    float loss;
    /** Of the latest step; they matter to weight_deltas alone. */
    float gradient_norm;
    float learning_rate;
    /** 0. */
    uint32_t reserved32;
    /** Of the draws; only in SAMPLED. */
    uint64_t seed;
    /** 0. */
    uint64_t reserved[3];
} wcodec_rssm_input;

/** What the rollout of one member is like. */
typedef struct wcodec_rssm_metrics {
    /** Of its Y + 1 losses, of the population. */
    float loss_variance;
    /** Mean magnitude of the second differences of its losses; 0 of fewer than 3. */
    float smoothness;
    /** Sum over its steps. */
    float entropy;
    /** 0. */
    uint32_t reserved[5];
} wcodec_rssm_metrics;

/** Where results go, for Y steps. All but trajectories may be NULL. On failure they are
 * undefined. */
typedef struct wcodec_rssm_output {
    /** [E, Y + 1]: the loss given, then those predicted. */
    float *trajectories;
    /** [Y + 1]: their mean. */
    float *mean;
    /** [E, Y]: magnitudes of what the loss changes by in each step. */
    float *step_deltas;
    /** [E, Y]: Euclidean norms of the hidden values after each step. */
    float *hidden_norms;
    /** [E, H] after the last step. */
    float *hidden;
    /** [E]. */
    wcodec_rssm_metrics *metrics;
    /** [WCODEC_RSSM_PARTS]: by how much the weights of each part change in these steps. With o =
     * delta_head [h; p], of the ensemble's means, and L the mean losses: learning_rate *
     * gradient_norm * (1 + tanh(o_0)) * (1 + max(0, (L_0 - L_Y) / L_0)) * Y * sigmoid(o_(2 + part))
     * * sigmoid(o_1). Needs a delta_head. */
    float *weight_deltas;
    /** 0. */
    uint64_t reserved[5];
} wcodec_rssm_output;

/** What the ensemble says together. */
typedef struct wcodec_rssm_summary {
    /** Mean of the last losses; that given if there are no steps. */
    float loss;
    /** Of the last losses, of the population. */
    float variance;
    /** sqrt(variance) (1 + 0.1 sqrt(Y)). */
    float deviation;
    /** Half of the deviation each: what is chance, and what the members do not know. */
    float aleatoric;
    float epistemic;
    /** 1 / (1 + deviation). */
    float confidence;
    /** loss - 2 deviation. */
    float lower;
    /** loss + 2 deviation. */
    float upper;
    /** Mean over members and steps; 0 if there are none. */
    float entropy;
    /** 0. */
    uint32_t reserved[7];
} wcodec_rssm_summary;

/** Roll out `steps` steps, Y, 0 to 1000, a member on a thread of the context, or all on its device.
 * Takes 4 E (8 W + S) bytes of memory while it runs, W as above; a device, memory of its own beside
 * it. summary may be NULL.
 *
 * A context that logs at the level DEBUG gets the trace of it, made by the calling thread when all
 * members are done: who rolled out, and what; for each member its steps, with the loss, the
 * magnitude of what it changed by, the norm of the hidden values and the entropy, then its metrics;
 * and the summary. These have nine digits; from the CPU they are the same lines whatever its
 * threads and level. Takes 8 E Y bytes more.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (steps out of range; weight_deltas without a delta_head;
 * after fork()), WCODEC_ERROR_LIMIT, WCODEC_ERROR_MEMORY, WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_rssm_rollout(const wcodec_rssm *rssm,
                                             const wcodec_rssm_input *input, uint64_t steps,
                                             const wcodec_rssm_output *output,
                                             wcodec_rssm_summary *summary, wcodec_error *err);

/** Where many rollouts begin, each by itself. Zero it before setting members. */
typedef struct wcodec_rssm_starts {
    /** B, any number. */
    uint64_t count;
    /** [B, E, H]; NULL: in each start's members the hyperbolic tangents of its features, and zeros
     * after them. */
    const float *hidden;
    /** [B, I]. */
    const float *features;
    /** [B]: of each start's latest step. */
    const float *loss;
    /** Of start 0's draws; start b has seed + b, modulo 2^64: step seeds by B from call to call, or
     * starts of two calls have the same draws. Only in SAMPLED. */
    uint64_t seed;
    /** 0. */
    uint64_t reserved[3];
} wcodec_rssm_starts;

/** Where results of many rollouts go, for Y steps. All but trajectories may be NULL. On failure
 * they are undefined. */
typedef struct wcodec_rssm_courses {
    /** [B, E, Y + 1]: the loss given, then those predicted. */
    float *trajectories;
    /** [B, E, H] after the last step. */
    float *hidden;
    /** [B, E]. */
    wcodec_rssm_metrics *metrics;
    /** [B]. */
    wcodec_rssm_summary *summaries;
    /** 0. */
    uint64_t reserved[4];
} wcodec_rssm_courses;

/** Roll out `steps` steps from each of many starts. Start b gives what wcodec_rssm_rollout() gives
 * for it by itself, with the seed + b: on the CPU to the bit, its threads sharing the starts. So it
 * does on a device, one start after another, unless its products are of BF16: then tensor cores
 * take thousands of starts at once, within the bound stated there, a start's results being the same
 * whatever others are beside it; starts a hidden value of which is NaN or larger than 4 go one by
 * one, of binary32, even then. Hidden values that are midway between two numbers of BF16 may lose a
 * unit of their last place, also in 0 steps. Fewer starts are taken at once where max_memory or the
 * device leave little room; where they leave none, which the log says, all go one by one. A context
 * that logs at the level DEBUG gets one line of it.
 *
 * Takes 4 E (8 W + S) bytes of memory for each thread while it runs, and with products of BF16 a
 * byte for each start. Tensor cores have up to 256 MiB of the device, and as much of the host for
 * copies to and from it, which stay until wcodec_rssm_destroy(). Returns what wcodec_rssm_rollout()
 * does. */
WCODEC_API wcodec_status wcodec_rssm_rollout_many(const wcodec_rssm *rssm,
                                                  const wcodec_rssm_starts *starts, uint64_t steps,
                                                  const wcodec_rssm_courses *courses,
                                                  wcodec_error *err);

/** Free. NULL is ignored. Never fails. */
WCODEC_API void wcodec_rssm_destroy(wcodec_rssm *rssm);

/** How far predictions may be trusted, 0 to 1: 0.4 / (1 + deviation) + 0.4 k + 0.2 max(0.5,
 * 1 / (1 + 2 |fast - slow| / |slow|)), with the deviation of a rollout of 10 steps, averages of the
 * loss (wcodec_training_averages), and k 0.7 of fewer than 10 errors of predictions, else
 * min(0.99, 1 / (1 + the mean of the last 50)). `errors` has error_count magnitudes, the newest
 * last. Never fails. */
WCODEC_API float wcodec_rssm_confidence(float deviation, const float *errors, uint64_t error_count,
                                        float fast, float slow);

/** Which unit a wcodec_gru is. */
typedef enum wcodec_gru_form {
    /** The reset gate before the product, as in ensembles (above). */
    WCODEC_GRU_RESET_BEFORE = 0,
    /** The reset gate after it, and z the other way around, as cuDNN, PyTorch and Haste have it:
     *
     *     z = sigmoid(W_z x + b_z + U_z h + c_z)    r = sigmoid(W_r x + b_r + U_r h + c_r)
     *     n = tanh(W_h x + b_h + r (U_h h + c_h))   h' = (1 - z) n + z h */
    WCODEC_GRU_RESET_AFTER = 1
} wcodec_gru_form;

/** Sizes of a unit: fill with wcodec_gru_options_init(), then change what matters. It grows at its
 * end (wcodec/base.h). */
typedef struct wcodec_gru_options {
    /** Set by wcodec_gru_options_init(). */
    size_t struct_size;
    /** I: 1 to 65536. Default: 64. */
    uint64_t inputs;
    /** H: 1 to 4096. Default: 256. */
    uint64_t hidden;
    /** Default: RESET_AFTER. */
    wcodec_gru_form form;
    /** Whose memory the weights stay in, and who runs them: a backend's name ("cuda", "opencl"),
     * which must be that of the context's device, or NULL, the default: the CPU. */
    const char *memory;
    /** Default: F32. */
    wcodec_gru_products products;
} wcodec_gru_options;

/** What wcodec_gru_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_gru_options_init_size(wcodec_gru_options *options, size_t size);

/** Set all members to their defaults. */
static inline void wcodec_gru_options_init(wcodec_gru_options *options)
{
    wcodec_gru_options_init_size(options, sizeof *options);
}

/** Numbers of a matrix row by row, or of a vector, one a row; finite. */
typedef struct wcodec_gru_array {
    /** In the byte order of the machine, of any alignment. NULL: none. */
    const void *data;
    /** I8: a factor for each row. Else NULL. */
    const float *scales;
    /** F64 (rounded), F32, F16, BF16, F8_E5M2, F8_E4M3 or I8. */
    wcodec_dtype dtype;
    /** 0. */
    uint32_t reserved;
} wcodec_gru_array;

/** The weights of a unit. PyTorch's weight_ih_l0 [3 H, I] is W_r, W_z and W_h, one after the other,
 * weight_hh_l0 U_r, U_z and U_h, bias_ih_l0 b_r, b_z and b_h, bias_hh_l0 c_r, c_z and c_h. */
typedef struct wcodec_gru_arrays {
    /** [H, I]. */
    wcodec_gru_array w_z;
    wcodec_gru_array w_r;
    wcodec_gru_array w_h;
    /** [H, H]. */
    wcodec_gru_array u_z;
    wcodec_gru_array u_r;
    wcodec_gru_array u_h;
    /** [H]; none: zeros. */
    wcodec_gru_array b_z;
    wcodec_gru_array b_r;
    wcodec_gru_array b_h;
    /** [H]; none: zeros. In RESET_BEFORE none. */
    wcodec_gru_array c_z;
    wcodec_gru_array c_r;
    wcodec_gru_array c_h;
    /** 0. */
    uint64_t reserved[4];
} wcodec_gru_arrays;

/** A gated recurrent unit, one layer in one direction. Immutable: it may be used from several
 * threads at once, except for destroying; what several threads give to one queue of a device stays
 * together, call by call. */
typedef struct wcodec_gru wcodec_gru;

/** Make a unit. Weights become binary32 and are copied, 4 W (3 (H + I) + 6) bytes, where W is H
 * rounded up to a multiple of 32; those of a device stay in host memory until it has them. options
 * may be NULL: defaults.
 *
 * *gru belongs to the caller, who ends it by wcodec_gru_destroy() before the context. On failure
 * nothing is left.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (sizes out of range, by name; an array that is missing, or
 * of another dtype, or with a NaN or infinity, by its name and place), WCODEC_ERROR_LIMIT (more
 * than the context's max_memory), WCODEC_ERROR_MEMORY (also of the device), WCODEC_ERROR_BACKEND
 * (memory of another backend than the context's), WCODEC_ERROR_UNSUPPORTED (the backend has no
 * recurrent units, or a work-group of the device no room for one of these sizes: it holds inputs
 * and hidden values), WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_gru_create(wcodec_context *context,
                                           const wcodec_gru_options *options,
                                           const wcodec_gru_arrays *arrays, wcodec_gru **gru,
                                           wcodec_error *err);

/** Names of a unit's tensors in a file. NULL: the default. Zero it before setting members. */
typedef struct wcodec_gru_names {
    /** [3 H, I]: W_r, W_z, W_h. Default: "weight_ih_l0". */
    const char *weight_ih;
    /** [3 H, H]: U_r, U_z, U_h. Default: "weight_hh_l0". */
    const char *weight_hh;
    /** [3 H]: b_r, b_z, b_h. Default: "bias_ih_l0", which may be missing (zeros). */
    const char *bias_ih;
    /** [3 H]: c_r, c_z, c_h. Default: "bias_hh_l0", which may be missing (zeros). */
    const char *bias_hh;
    /** NULL. */
    const void *reserved[4];
} wcodec_gru_names;

/** Make a unit of tensors as PyTorch names and stacks them, of F64 (rounded), F32, F16, BF16,
 * F8_E5M2 or F8_E4M3, coded however: a layer and direction by other names
 * ("encoder.weight_ih_l1_reverse"). Of options form, memory and products count; sizes are those of
 * the tensors. `names` may be NULL: all defaults. Takes the tensors twice while it reads.
 *
 * Returns what wcodec_gru_create() and wcodec_reader_decode() do, WCODEC_ERROR_NOT_FOUND (no such
 * tensor) and WCODEC_ERROR_MISMATCH (a tensor of another shape or dtype, by its name, with what was
 * expected). */
WCODEC_API wcodec_status wcodec_gru_open(const wcodec_reader *reader,
                                         const wcodec_gru_options *options,
                                         const wcodec_gru_names *names, wcodec_gru **gru,
                                         wcodec_error *err);

/** Sizes, form, memory and products of a unit, as of one that was opened, to *options, which were
 * filled by wcodec_gru_options_init(); the name of the memory lives as long as the context. Never
 * fails. */
WCODEC_API void wcodec_gru_sizes(const wcodec_gru *gru, wcodec_gru_options *options);

/** What goes through a unit: Y steps of sequences that are independent of each other. Zero it
 * before setting members. */
typedef struct wcodec_gru_input {
    /** [Y, sequences, I], unless said otherwise below. */
    const float *values;
    /** Y; 0: hidden values stay. */
    uint64_t steps;
    /** Sequences. */
    uint64_t sequences;
    /** Numbers from a step to the next; 0: sequences * I. */
    uint64_t step_stride;
    /** Numbers from a sequence to the next; 0: I. */
    uint64_t sequence_stride;
    /** [sequences, H] to begin with; NULL: zeros. */
    const float *hidden;
    /** Not 0: from the last step to the first. */
    uint32_t reverse;
    /** 0. */
    uint32_t reserved32;
    /** Of a unit in a device's memory, as an integer: a CUstream of the device's primary context,
     * 0: the default stream; a cl_command_queue of its cl_context (wcodec_context_device()), which
     * is in order. */
    uint64_t queue;
    /** 0. */
    uint64_t reserved[3];
} wcodec_gru_input;

/** Where results go; nothing of it may overlap the input's values. On failure they are
 * undefined. Zero it before setting members. */
typedef struct wcodec_gru_output {
    /** Hidden values after each step, at the place of that step whatever the direction: [Y,
     * sequences, H], unless said otherwise below. NULL: not wanted. */
    float *values;
    /** Numbers from a step to the next; 0: sequences * H. */
    uint64_t step_stride;
    /** Numbers from a sequence to the next; 0: H. */
    uint64_t sequence_stride;
    /** [sequences, H] after the last step made; may be the input's. NULL: not wanted. */
    float *hidden;
    /** 0. */
    uint64_t reserved[4];
} wcodec_gru_output;

/** Run a unit over sequences, which threads of the context share. A sequence's results are the same
 * whatever others run beside it, and on any number of threads: sums add b (of z and r: and c), then
 * inputs 0, 1, ..., then hidden values 0, 1, ...; in RESET_AFTER that of U_h is by itself, from c_h
 * on. Takes at most 4 * 4 * 6 H bytes for each thread while it runs, H rounded up as above.
 *
 * In a device's memory values and hidden values are addresses of the device, aligned to their
 * elements, on OpenCL cl_mem, cast to pointers, that they begin. All steps are one launch, which is
 * given to the input's queue without waiting and without allocating, so that a CUDA graph can
 * capture it; memory and unit must be there until it is done. A work-group, or on CUDA devices of
 * compute capability 9.0 a cluster of them, takes one sequence after another, or with products of
 * bfloat16 up to 256 at once. Sums are added in an order that depends on sizes and device alone,
 * and exponentials are the device's own: results are the same from run to run and whatever
 * sequences run beside, and with products of binary32 within 1e-5 of the CPU's where the unit is no
 * chaotic system.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (after fork(); on a device an address that is missing or
 * not aligned, a queue or buffer of another one), WCODEC_ERROR_MEMORY, WCODEC_ERROR_UNSUPPORTED
 * (the device's compiler does not take the kernel), WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_gru_run(const wcodec_gru *gru, const wcodec_gru_input *input,
                                        const wcodec_gru_output *output, wcodec_error *err);

/** Free. NULL is ignored. Never fails. */
WCODEC_API void wcodec_gru_destroy(wcodec_gru *gru);

#ifdef __cplusplus
}
#endif
#endif
