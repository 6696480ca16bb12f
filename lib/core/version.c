/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>
#include <wcodec.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

unsigned wcodec_version_number(void)
{
    return WCODEC_VERSION_NUMBER;
}

const char *wcodec_version_string(void)
{
    return TEXT(WCODEC_VERSION_MAJOR) "." TEXT(WCODEC_VERSION_MINOR) "." TEXT(WCODEC_VERSION_PATCH);
}

/* All structures of the public headers, in their order. */
#define STRUCTURE(name) \
    { \
#name, sizeof(name) \
    }

static const struct {
    const char *name;
    size_t size;
} structures[] = {
    STRUCTURE(wcodec_error),
    STRUCTURE(wcodec_progress),
    STRUCTURE(wcodec_times),
    STRUCTURE(wcodec_allocator),
    STRUCTURE(wcodec_executor),
    STRUCTURE(wcodec_limits),
    STRUCTURE(wcodec_options),
    STRUCTURE(wcodec_device_info),
    STRUCTURE(wcodec_file_info),
    STRUCTURE(wcodec_io),
    STRUCTURE(wcodec_mode_info),
    STRUCTURE(wcodec_tensor_info),
    STRUCTURE(wcodec_decode_options),
    STRUCTURE(wcodec_part_hashes),
    STRUCTURE(wcodec_original_info),
    STRUCTURE(wcodec_delta_info),
    STRUCTURE(wcodec_encode_options),
    STRUCTURE(wcodec_encode_report),
    STRUCTURE(wcodec_device_handles),
    STRUCTURE(wcodec_load_item),
    STRUCTURE(wcodec_load_report),
    STRUCTURE(wcodec_load_target),
    STRUCTURE(wcodec_load_options),
    STRUCTURE(wcodec_save_item),
    STRUCTURE(wcodec_save_options),
    STRUCTURE(wcodec_delta_encode_options),
    STRUCTURE(wcodec_delta_apply_options),
    STRUCTURE(wcodec_delta_report),
    STRUCTURE(wcodec_device_rates),
    STRUCTURE(wcodec_resident_options),
    STRUCTURE(wcodec_resident_tensor),
    STRUCTURE(wcodec_linear),
    STRUCTURE(wcodec_vector_rows),
    STRUCTURE(wcodec_vectors_iteration),
    STRUCTURE(wcodec_vectors_options),
    STRUCTURE(wcodec_vectors_info),
    STRUCTURE(wcodec_vectors_quality),
    STRUCTURE(wcodec_vectors_compress_options),
    STRUCTURE(wcodec_vectors_report),
    STRUCTURE(wcodec_vectors_store_info),
    STRUCTURE(wcodec_vectors_search_options),
    STRUCTURE(wcodec_vectors_compact_options),
    STRUCTURE(wcodec_vectors_compact_report),
    STRUCTURE(wcodec_training_step),
    STRUCTURE(wcodec_training_averages),
    STRUCTURE(wcodec_rssm_options),
    STRUCTURE(wcodec_gru_weights),
    STRUCTURE(wcodec_rssm_names),
    STRUCTURE(wcodec_rssm_memory_info),
    STRUCTURE(wcodec_rssm_input),
    STRUCTURE(wcodec_rssm_metrics),
    STRUCTURE(wcodec_rssm_output),
    STRUCTURE(wcodec_rssm_summary),
    STRUCTURE(wcodec_rssm_starts),
    STRUCTURE(wcodec_rssm_courses),
    STRUCTURE(wcodec_gru_options),
    STRUCTURE(wcodec_gru_array),
    STRUCTURE(wcodec_gru_arrays),
    STRUCTURE(wcodec_gru_names),
    STRUCTURE(wcodec_gru_input),
    STRUCTURE(wcodec_gru_output),
    STRUCTURE(wcodec_rssm_learn_options),
    STRUCTURE(wcodec_rssm_lesson),
    STRUCTURE(wcodec_rssm_learned),
    STRUCTURE(wcodec_gru_values),
};

size_t wcodec_structure_size(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof structures / sizeof *structures; i++)
        if (strcmp(name, structures[i].name) == 0)
            return structures[i].size;
    return 0;
}
