#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# coverage.sh GCOV OUT: runs the test of plain_ring.c that counts branches, and fails unless all were taken.
set -eu
gcov=$1
out=$2
objects=$out/coverage/driver
rm -f "$objects"/*.gcda
"$out/plain_ring_coverage" "$out/plain_ring_coverage.tests" >"$out/plain_ring_coverage.log"
report=$("$gcov" --branch-counts --branch-probabilities --no-output "$objects/plain_ring.gcda" |
  awk '/^File/ { own = /plain_ring\.c/ } own && /executed:|once:/')
echo "$report" | sed 's/^/coverage of plain_ring.c: /'
# Two lines with 100 %: lines executed, branches taken at least once.
if [ "$(echo "$report" | grep -c -e '^Lines executed:100.00%' -e '^Taken at least once:100.00%')" = 2 ]; then
  echo "ok   plain_ring: every line and branch is covered"
else
  echo "FAIL plain_ring: every line and branch is covered"
  exit 1
fi
