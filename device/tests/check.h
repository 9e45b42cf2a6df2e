// SPDX-License-Identifier: Apache-2.0
//
// A test is a function that returns. Each runs in a process of its own, so that it finds every static variable as the
// program starts with it, and a crash costs one test.

#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check_test {
    const char *name;
    void (*run)(void);
};

// Ends the calling test with a message if `condition` is false.
#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
void check_that(bool condition, const char *text, const char *file, int line);

// What the test is at, printed if it fails.
void check_context(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Runs all tests and prints a line each; writes "PASSED FAILED" into the file `tally`. Returns main()'s result.
int check_run(const char *suite, const struct check_test *tests, size_t count, const char *tally);

// Random numbers from a fixed seed: splitmix64.
struct check_random {
    uint64_t state;
};
uint64_t check_random(struct check_random *random);
// Below `bound`, which is not 0.
uint32_t check_below(struct check_random *random, uint32_t bound);
// True once in `times`.
bool check_once_in(struct check_random *random, uint32_t times);

#endif
