#!/bin/sh
# Runs logsum, built with AddressSanitizer, once per leak listed in README.md.
# Each run must lose exactly one object, allocated in the named function; the
# runs that avoid the leaks must lose nothing.
set -u

if [ $# -ne 1 ]; then
    echo "usage: check-leaks.sh LOGSUM-WITH-ASAN" >&2
    exit 2
fi
program=$1
samples=$(dirname "$0")/samples
failures=0
output=$(mktemp) || exit 2
trap 'rm -f "$output"' EXIT

# detect_leaks: on by default only on Linux. allocator_may_return_null: a
# request that is too large fails as it would in the C library.
ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
export ASAN_OPTIONS

# leaks WHERE ARGUMENT...: one object is lost, and WHERE is in its allocation stack.
leaks() {
    where=$1
    shift
    "$program" "$@" > "$output" 2>&1
    count=$(grep -c '^Direct leak of .* in 1 object' "$output")
    stack=$(sed -n '/^Direct leak/,/^$/p' "$output")
    if [ "$count" = 1 ] && printf '%s\n' "$stack" | grep -q " in $where "; then
        echo "ok    one object lost, allocated in $where"
    else
        echo "FAIL  expected one lost object allocated in $where: $*"
        cat "$output"
        failures=$((failures + 1))
    fi
}

# clean ARGUMENT...: nothing is lost.
clean() {
    "$program" "$@" > "$output" 2>&1
    if grep -q 'Sanitizer' "$output"; then
        echo "FAIL  expected no leak: $*"
        cat "$output"
        failures=$((failures + 1))
    else
        echo "ok    nothing lost: $*"
    fi
}

shop_conf=$samples/shop.conf
shop_log=$samples/shop.log

clean "$shop_log"
clean -c "$shop_conf" "$shop_log"
clean -c "$samples/csv.conf" "$shop_log"
clean -c "$samples/missing.conf" "$shop_log"
clean -c "$samples/bad-rule.conf" "$shop_log"
clean -c "$shop_conf" "$samples/missing.log"

leaks parse_setting -c "$samples/leaks/trailing-word.conf" "$shop_log"
leaks parse_rule -c "$samples/leaks/label.conf" "$shop_log"
leaks pad -c "$samples/leaks/wide.conf" "$shop_log"
leaks alert_new -c "$samples/leaks/no-alerts.conf" "$shop_log"
leaks alert_new "$samples/leaks/recovered.log"
leaks record_parse -c "$shop_conf" "$samples/leaks/dropped.log"
leaks scan_stream "$samples/leaks/two-errors.log"

[ "$failures" -eq 0 ]
