#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# coverage.sh SUITE SOURCES OBJECTS PROGRAM...: runs programs whose OBJECTS (a folder) count lines and branches, and
# fails unless every line and branch of the SOURCES (a regular expression) was taken. GCOV: gcov of the compiler.
set -eu
suite=$1
sources=$2
objects=$3
shift 3
rm -f "$objects"/*.gcda
for program; do "$program" "$program.tally" >"$program.log"; done
"${GCOV:-gcov}" --branch-counts --branch-probabilities --no-output "$objects"/*.gcda |
  awk -v suite="$suite" -v sources="$sources" '
    /^File/ { own = $0 ~ sources; name = $2; gsub(/.*\/|\x27/, "", name) }
    own && /^Lines/ { text = text "coverage of " name ": " $0 "\n"; files++; full += /:100.00%/ }
    own && /^Taken/ { text = text "coverage of " name ": " $0 "\n"; files++; full += /:100.00%/ }
    /^(Taken|No branches)/ { own = 0 }
    END {
      ok = files > 0 && full == files
      printf "%s%s %s: every line and branch is covered\n", text, ok ? "ok  " : "FAIL", suite
      exit !ok
    }'
