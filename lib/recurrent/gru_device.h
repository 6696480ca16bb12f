/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A gated recurrent unit whose weights are in a device's memory. */
#ifndef WCODEC_RECURRENT_GRU_DEVICE_H
#define WCODEC_RECURRENT_GRU_DEVICE_H

#include "recurrent/gru.h"

struct wcodec_gru_device;

/* Bring a unit's weights to where `memory` says; then it has none in host memory, and gru->device.
 * Nothing to do where that is the CPU's. */
wcodec_status wcodec_gru_device_create(wcodec_gru *gru, const wcodec_gru_options *options,
                                       wcodec_error *err);
void wcodec_gru_device_destroy(const wcodec_gru *gru, struct wcodec_gru_device *device);

/* As wcodec_gru_run(); sequences is not 0. */
wcodec_status wcodec_gru_device_run(const wcodec_gru *gru, const struct wcodec_gru_strides *strides,
                                    const wcodec_gru_input *input, const wcodec_gru_output *output,
                                    wcodec_error *err);

/* By what it makes products. */
wcodec_gru_products wcodec_gru_device_products(const struct wcodec_gru_device *device);

/* Name of its backend. */
const char *wcodec_gru_device_name(const struct wcodec_gru_device *device);

#endif
