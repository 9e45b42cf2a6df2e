#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# coverage.sh GCOV OUT PROGRAM...: runs the programs whose library counts its branches, and fails unless every line and
# every branch of the library was taken.
set -eu
gcov=$1
out=$2
shift 2
rm -f "$out"/*.gcda
for program; do "$out/${program}_test" "$out/tally" >"$out/$program.log"; done
"$gcov" --branch-counts --branch-probabilities --no-output "$out"/*.gcda | awk '
  /^File/ { name = $2; gsub(/.*\/|\x27/, "", name); own = /\/src\// || /include\/weir\// }
  own && /^(Lines|Taken|No branches)/ { part = part name ": " $0 "\n"; sum[$1]++; full[$1] += /:100.00%/; own = !/^(Taken|No)/ }
  END {
    printf "%s", part
    ok = sum["Lines"] >= 6 && full["Lines"] == sum["Lines"] && sum["Taken"] >= 6 && full["Taken"] == sum["Taken"]
    print (ok ? "ok  " : "FAIL") " weir: every line and branch is covered"
    exit !ok
  }'
