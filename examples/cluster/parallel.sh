#!/bin/sh
# Shares over GNU parallel. Without HOSTS all run here; with it, over ssh on hosts that have the checkout at the same path and
# can reach the cache:
#
#   CAULK_REMOTE_CACHE=file:///net/caulk-cache SHARES=8 HOSTS=one,two,three examples/cluster/parallel.sh -p build
#
# CHECK has options for the check alone, such as CHECK='--format sarif -o caulk.sarif'.
set -eu
shares=${SHARES:-4}
: "${CAULK_REMOTE_CACHE:?name the cache that all hosts share, such as file:///net/caulk-cache}"
export CAULK_REMOTE_CACHE
# A local cache folder for each share, in which only that share writes.
seq "$shares" | parallel --halt never ${HOSTS:+--sshlogin "$HOSTS" --env CAULK_REMOTE_CACHE --workdir .} \
    "${CAULK:-caulk}" lower "$@" --shard "{}/$shares" --jobs 1 --cache "\${TMPDIR:-/tmp}/caulk-share-{}" || \
    echo "some shares failed; caulk check compiles what is missing" >&2
# shellcheck disable=SC2086 # several options
exec "${CAULK:-caulk}" check "$@" ${CHECK:-}
