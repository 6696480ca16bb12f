#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Runs a test written in Python; without Python it is skipped, and the log says so.
if [ -z "$PYTHON" ]; then
    echo "no python3: skipped"
    exit 77
fi
exec "$PYTHON" -B "$@"
