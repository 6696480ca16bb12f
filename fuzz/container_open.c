/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A whole .wcodec file: everything that can be done with it. */
#include "fuzz/container.h"
#include "fuzz/exercise.h"
#include "fuzz/fuzz.h"

const char fuzz_target[] = "container_open";
const bool fuzz_takes_files = true;

static void run(const uint8_t *data, size_t size)
{
    struct exercise_result result;
    exercise_file(fuzz_context(), data, size, &result);
    fuzz_deep += strcmp(result.stage, "open") != 0;
    free(result.restored);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_container(run, data, size);
    return 0;
}
