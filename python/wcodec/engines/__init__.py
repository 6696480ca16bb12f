# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Loaders for the programs that serve and train models, one module each; see ENGINES.md. None is
imported by wcodec, and each imports its program, so import those that you use."""
