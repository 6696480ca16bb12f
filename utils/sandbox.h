/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a file of a stranger's could do to who decodes it, were there a mistake in the decoder. The
 * process gives up what its subcommand does not need: by Landlock, to write anywhere but where
 * outputs and temporary files go; by seccomp, to open connections, to run programs and to look into
 * other processes. Reading stays: drivers, model folders and links in them read all over a system.
 * Where drivers of devices may be loaded, they keep running programs (compilers and linkers of
 * OpenCL) and their caches, and programs that they run are confined too. */
#ifndef WCODEC_UTILS_SANDBOX_H
#define WCODEC_UTILS_SANDBOX_H

#include "utils/app.h"

/* Before threads are started and inputs are opened; nothing brings back what it takes. What the
 * system does not have is left out; with -vv it is said what was done. */
void sandbox_enter(struct app *app);

#endif
