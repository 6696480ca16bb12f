/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CPU time that control groups grant this process. */
#ifndef WCODEC_SCHED_QUOTA_H
#define WCODEC_SCHED_QUOTA_H

/* CPUs' worth of time that the process may use at most, rounded up; 0: no limit known. The least
 * over its group and all groups above, versions 1 and 2. root goes in front of /proc and /sys: ""
 * but in tests. */
unsigned wcodec_quota_cpus(const char *root);

#endif
