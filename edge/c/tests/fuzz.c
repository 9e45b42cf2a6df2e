// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer's way into steps.h.

#include <stdlib.h>

#include "check.h"
#include "steps.h"

// As check.c's, but so that the fuzzer notices.
void check_that(bool condition, const char *text, const char *file, int line)
{
    (void)text;
    (void)file;
    (void)line;
    if (!condition) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    steps_run(bytes, length);
    return 0;
}
