/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The choice of backends as text: "auto", "cpu", "cuda:1", or a list of such. */
#ifndef WCODEC_REGISTRY_CHOICE_H
#define WCODEC_REGISTRY_CHOICE_H

#include <stdbool.h>
#include <wcodec/base.h>

enum { WCODEC_BACKEND_NAME_MAX = 31, WCODEC_CHOICE_MAX = 16 };

struct wcodec_choice {
    unsigned count;
    struct {
        char name[WCODEC_BACKEND_NAME_MAX + 1];
        bool any_device;
        bool automatic;  /* came of "auto": passed over in silence, and an OpenCL device must be a
                            GPU */
        unsigned device; /* unless any_device */
    } items[WCODEC_CHOICE_MAX];
};

/* Parse; NULL is "auto", which stands for cuda, opencl, cpu. WCODEC_ERROR_USAGE, with `origin`
 * ("WCODEC_BACKEND") in the text. */
wcodec_status wcodec_choice_parse(const char *text, const char *origin,
                                  struct wcodec_choice *choice, wcodec_error *err);

#endif
