#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# A program with a group that its caller has not (set-group-ID) takes no setting from the
# environment, by which it could be led to open a plugin.
. "$top_srcdir/tests/command/lib.sh"
program=$here/tests/bad/serve
[ -x "$program" ] || program=$top_builddir/tests/bad/serve
cp "$program" ordinary || exit 99
cp "$program" raised || exit 99
own=$(id -g)
other=
for group in $(id -G) 65534; do
    [ "$group" = "$own" ] || ! chgrp "$group" raised 2>/dev/null || { other=$group; break; }
done
if [ -z "$other" ] || ! chmod 2755 raised 2>/dev/null; then
    skip 'a group that the caller has not needs root, or a second group'
    finish
fi
# Where such a bit does nothing (nosuid, no new privileges) there is nothing to show.
cp "$(command -v id)" id && chgrp "$other" id && chmod 2755 id
[ "$(./id -g)" = "$other" ] || { skip 'set-group-ID does nothing here'; finish; }
run 0 env WCODEC_THREADS=2 ./ordinary
if env WCODEC_THREADS=nonsense ./ordinary >out 2>err </dev/null; then
    fail 'a wrong setting was taken'
else
    pass
fi
if env WCODEC_THREADS=nonsense WCODEC_BACKEND=nonsense WCODEC_BACKEND_PATH=/nonexistent ./raised \
    >out 2>err </dev/null; then
    pass
else
    fail "with another group: settings of the environment were read: $(cat err)"
fi
finish
