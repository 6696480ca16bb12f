/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_gru.h"

#include <math.h>
#include <string.h>

/* A sum, what it is with factors rounded, and of the magnitudes of its terms. */
struct sum {
    double exact, rounded, magnitudes;
};

/* A number, what it may be wrong by, what it is with factors rounded, and what that may be wrong by
 * where a factor is next to the middle of two. */
struct bounded {
    double exact, error, rounded, loose;
};

static double round_bf16(double v)
{
    const float single = (float)v;
    uint32_t bits;
    float result;
    if (isnan(single))
        return (double)single;
    memcpy(&bits, &single, sizeof bits);
    bits = (bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&result, &bits, sizeof bits);
    return (double)result;
}

/* Factors of the first `plain` terms are not rounded. */
static void add(struct sum *s, const wcodec_gru_array *matrix, size_t row, const double *v,
                size_t count, size_t plain)
{
    const float *weights = (const float *)matrix->data + row * count;
    for (size_t i = 0; i < count; i++) {
        const double w = (double)weights[i];
        s->exact += w * v[i];
        s->rounded += i < plain ? w * v[i] : round_bf16(w) * round_bf16(v[i]);
        s->magnitudes += fabs(w * v[i]);
    }
}

static double bias(const wcodec_gru_array *vector, size_t row)
{
    return vector->data != NULL ? (double)((const float *)vector->data)[row] : 0;
}

/* A step of a sequence. */
struct step {
    const wcodec_gru_options *sizes;
    const wcodec_gru_arrays *arrays;
    const double *x, *h;
    /* With the reset gate before the product r h, with factors rounded too. */
    double *reset, *reset_error, *reset_rounded;
    double unit;  /* what a sum of magnitudes is multiplied by */
    size_t plain; /* inputs that are not rounded */
};

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

static struct bounded gate(const struct step *s, unsigned which, size_t row)
{
    const double b = bias(&s->arrays->b_z + which, row) + bias(&s->arrays->c_z + which, row);
    struct sum sum = {b, b, fabs(b)};
    add(&sum, &s->arrays->w_z + which, row, s->x, (size_t)s->sizes->inputs, s->plain);
    add(&sum, &s->arrays->u_z + which, row, s->h, (size_t)s->sizes->hidden, 0);
    return (struct bounded){sigmoid(sum.exact), s->unit * sum.magnitudes / 4 + 0x1p-20,
                            sigmoid(sum.rounded), 0};
}

static struct bounded candidate(const struct step *s, size_t row, const struct bounded *r)
{
    const size_t in = (size_t)s->sizes->inputs, h = (size_t)s->sizes->hidden;
    const double b = bias(&s->arrays->b_h, row), c = bias(&s->arrays->c_h, row);
    struct sum by_inputs = {b, b, fabs(b)}, by_hidden = {c, c, fabs(c)};
    double factor = 1, error = 0, rounded = 1, loose = 0;
    add(&by_inputs, &s->arrays->w_h, row, s->x, in, s->plain);
    if (s->sizes->form == WCODEC_GRU_RESET_AFTER) {
        add(&by_hidden, &s->arrays->u_h, row, s->h, h, 0);
        factor = r->exact;
        rounded = r->rounded;
        error = r->error * fabs(by_hidden.exact) +
                (r->exact + r->error) * s->unit * by_hidden.magnitudes;
    } else {
        const float *weights = (const float *)s->arrays->u_h.data + row * h;
        add(&by_hidden, &s->arrays->u_h, row, s->reset, h, 0);
        error = s->unit * by_hidden.magnitudes;
        by_hidden.rounded = c;
        for (size_t i = 0; i < h; i++) {
            const double w = round_bf16((double)weights[i]), v = s->reset_rounded[i];
            error += (1 + s->unit) * fabs((double)weights[i]) * s->reset_error[i];
            by_hidden.rounded += w * round_bf16(v);
            loose += fabs(w * (round_bf16(v * (1 + 1e-5)) - round_bf16(v * (1 - 1e-5))));
        }
    }
    return (struct bounded){tanh(by_inputs.exact + factor * by_hidden.exact),
                            s->unit * by_inputs.magnitudes + error + 0x1p-20,
                            tanh(by_inputs.rounded + rounded * by_hidden.rounded), loose};
}

static void expect_step(const struct step *s, const float *got)
{
    const bool after = s->sizes->form == WCODEC_GRU_RESET_AFTER;
    const size_t h = (size_t)s->sizes->hidden;
    for (size_t i = 0; i < h && !after; i++) {
        const struct bounded r = gate(s, 1, i);
        s->reset[i] = r.exact * s->h[i];
        s->reset_error[i] = r.error * fabs(s->h[i]);
        s->reset_rounded[i] = r.rounded * s->h[i];
    }
    for (size_t i = 0; i < h; i++) {
        const struct bounded z = gate(s, 0, i), r = gate(s, 1, i), n = candidate(s, i, &r);
        const double old = after ? s->h[i] : n.exact, new = after ? n.exact : s->h[i],
                     want = (1 - z.exact) * new + z.exact *old,
                     weight = after ? 1 - z.exact : z.exact,
                     error =
                         z.error *fabs(n.exact - s->h[i]) + (weight + z.error) * n.error + 0x1p-20,
                     near = after ? (1 - z.rounded) * n.rounded + z.rounded * s->h[i]
                                  : z.rounded *n.rounded + (1 - z.rounded) * s->h[i];
        /* Of infinite inputs there is no bound. */
        if (isnan(want) ? !isnan(got[i]) : !isnan(error) && !(fabs((double)got[i] - want) <= error))
            fail_msg("hidden value %zu is %.9g, and not within %.3g of %.9g", i, (double)got[i],
                     error, want);
        if (!isnan(want) && !(fabs((double)got[i] - near) <= 1e-5 + n.loose))
            fail_msg("hidden value %zu is %.9g, and not near %.9g", i, (double)got[i], near);
    }
}

void support_gru_expect(const wcodec_gru_options *sizes, const wcodec_gru_arrays *arrays,
                        size_t plain, const wcodec_gru_input *input,
                        const wcodec_gru_output *output)
{
    const size_t h = (size_t)sizes->hidden, in = (size_t)sizes->inputs;
    double *memory = calloc(in + 4 * h, sizeof *memory);
    assert_non_null(memory);
    double *const x = memory, *const old = x + in;
    const struct step step = {.sizes = sizes,
                              .arrays = arrays,
                              .x = x,
                              .h = old,
                              .reset = old + h,
                              .reset_error = old + 2 * h,
                              .reset_rounded = old + 3 * h,
                              .unit = 1 / 128.0 + (double)(in + h) * 0x1p-22,
                              .plain = plain};
    for (size_t k = 0; k < input->sequences; k++) {
        for (size_t i = 0; i < h; i++)
            old[i] = input->hidden != NULL ? (double)input->hidden[k * h + i] : 0;
        for (size_t t = 0; t < input->steps; t++) {
            const size_t at = input->reverse != 0 ? input->steps - 1 - t : t;
            const float *from =
                            input->values + at * input->step_stride + k * input->sequence_stride,
                        *got =
                            output->values + at * output->step_stride + k * output->sequence_stride;
            for (size_t i = 0; i < in; i++)
                x[i] = (double)from[i];
            expect_step(&step, got);
            for (size_t i = 0; i < h; i++)
                old[i] = (double)got[i];
        }
        for (size_t i = 0; i < h && output->hidden != NULL; i++)
            if ((double)output->hidden[k * h + i] != old[i] &&
                !(isnan(output->hidden[k * h + i]) && isnan(old[i])))
                fail_msg("sequence %zu: hidden value %zu is %.9g at the end, and not %.9g", k, i,
                         (double)output->hidden[k * h + i], old[i]);
    }
    free(memory);
}
