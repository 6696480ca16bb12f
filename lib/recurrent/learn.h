/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a lesson leaves of each member: gradients are sums over its steps of products of two
 * vectors, which are never made where their factors will do. */
#ifndef WCODEC_RECURRENT_LEARN_H
#define WCODEC_RECURRENT_LEARN_H

#include "recurrent/rssm.h"
#include <wcodec/learn.h>

/* A step of a member. Gradients of its sums of z, r and the candidate, [width] each, are `delta`;
 * that of a weight is the sum over steps of its row's delta times the number that it multiplies. */
struct wcodec_rssm_back {
    const float *inputs;
    float *before; /* hidden values before the step */
    float *gate;   /* z, r, candidate */
    float *reset;  /* r h */
    float *delta;
};

struct wcodec_rssm_pupil {
    struct wcodec_rssm_back steps[WCODEC_RSSM_DEPTH];
    struct wcodec_rssm_values values; /* after the last step */
    float *first;                     /* hidden values after the first step */
    float *change, *older;            /* gradients of hidden values */
    float loss, head;                 /* said; the gradient of its logit */
    double squares;                   /* of all gradients of its own */
};

struct wcodec_rssm_learning {
    const wcodec_rssm *rssm;
    const wcodec_rssm_lesson *lesson;
    struct wcodec_rssm_pupil pupils[WCODEC_RSSM_MEMBERS_MOST];
};

/* Task: take a member through the lesson, and back. */
void wcodec_rssm_back_member(void *learning, size_t member);

#endif
