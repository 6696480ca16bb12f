/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Decoding to host memory on the device that the context chose, or by the CPU in its place. */
#ifndef WCODEC_REGISTRY_DECODE_H
#define WCODEC_REGISTRY_DECODE_H

#include "coding/tile.h"
#include "registry/staging.h"

/* What one thread needs to decode a tensor in several steps: a queue of the device, and buffers
 * that are taken when first needed and kept until the end. */
struct wcodec_session {
    struct wcodec_staging_owner owner; /* its device: NULL before the first step */
    bool on_cpu; /* the device has no code for the tensor, or there is no other than the CPU */
    struct wcodec_queue *queue;
    struct wcodec_staging stage;   /* coded bytes on their way to the device */
    struct wcodec_staging coded;   /* there */
    struct wcodec_staging decoded; /* there */
    struct wcodec_staging out;     /* decoded bytes on their way back */
    /* For the log: what the device did, and the CPU in its place. */
    struct {
        uint64_t jobs, tiles;
    } device, cpu;
    uint64_t bytes_in, bytes_out;
};

void wcodec_session_init(wcodec_context *context, struct wcodec_session *session);

/* Ends its work; a line of the log (debug) says what was done where. */
void wcodec_session_end(struct wcodec_session *session);

/* Find the device for a tensor's jobs: it has them in this tiling (NULL at a fixed rate), and the
 * capabilities that they need (0, WCODEC_DEVICE_BLOCKS, _LOSSY, _FIXED). Else `on_cpu` is set, and
 * the log says so. Once; later calls find what was chosen. WCODEC_ERROR_DEVICE, _MEMORY. */
wcodec_status wcodec_session_choose(struct wcodec_session *session,
                                    const struct wcodec_tiling *tiling, uint32_t needed,
                                    wcodec_error *err);

/* Host memory from which the device copies fast, for the coded bytes of a step; of the session's
 * until the next call. `limit` bytes of host memory may be held. Not where on_cpu. */
wcodec_status wcodec_session_stage(struct wcodec_session *session, uint64_t limit, uint64_t size,
                                   uint8_t **data, wcodec_error *err);

/* Do a job (its tiles, blocks, lossy or fixed, modes, bytes, first, count, verify and host_memory;
 * at a fixed rate also begin and size of its areas; count > 0) whose payload is in the view, to
 * `out` (no alignment). After wcodec_session_choose(). Where the device lacks code or memory for
 * it, or at most `limit` bytes of host memory, the CPU does it. So it does what the device found
 * faults in or failed at: if the CPU finds none, the device is used no more, with a warning.
 * WCODEC_ERROR_CORRUPT: the text names the first tile that failed, and out is zeros.
 * WCODEC_ERROR_MEMORY; WCODEC_ERROR_DEVICE if the device failed and the CPU was not allowed by the
 * choice of backends; then too out is zeros. */
wcodec_status wcodec_session_decode(struct wcodec_session *session, const struct wcodec_job *job,
                                    const struct wcodec_view *view, uint64_t limit, void *out,
                                    wcodec_error *err);

/* A job by the CPU, whatever the context's device is. From any thread. */
wcodec_status wcodec_decode_on_cpu(wcodec_context *context, const struct wcodec_job *job,
                                   const struct wcodec_view *view, void *out, wcodec_error *err);

/* Where the areas of tiles [first, first + count) shall be in memory that is copied to a device,
 * one after the other from `at` on: sets begin, size and offset. Returns where they end. */
uint64_t wcodec_lay_out_areas(const struct wcodec_tiles *tiles, uint64_t first, uint64_t count,
                              uint64_t at, struct wcodec_area_place places[WCODEC_AREAS]);

/* The same for areas whose begin and size are set. */
uint64_t wcodec_lay_out_places(uint64_t at, struct wcodec_area_place places[WCODEC_AREAS]);

/* Jobs at a fixed rate, of which tensor and tiles are set: set begin and size of the records' area;
 * then those of the spilled elements', from the records, which are at `records`. Each tile's follow
 * those of the tile before. *next: number of the first that is to come, UINT64_MAX if that is not
 * known; it is set to that after the job. WCODEC_ERROR_CORRUPT. */
void wcodec_fixed_place_records(struct wcodec_job *job);
wcodec_status wcodec_fixed_place_spilled(struct wcodec_job *job, const uint8_t *records,
                                         uint64_t *next, wcodec_error *err);

#endif
