// SPDX-License-Identifier: Apache-2.0

#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPU_SECONDS_MAX 60 // of a test; not of the clock on the wall, which runs faster on a busy machine

static char context[256];

void check_that(bool condition, const char *text, const char *file, int line)
{
    if (!condition) {
        (void)printf("%s:%d: not true: %s\n", file, line, text);
        if (context[0] != '\0') {
            (void)printf("  at %s\n", context);
        }
        (void)fflush(stdout);
        _exit(EXIT_FAILURE);
    }
}

void check_context(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
}

static bool passes(const struct check_test *test)
{
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        (void)setrlimit(RLIMIT_CPU, &(struct rlimit){CPU_SECONDS_MAX, CPU_SECONDS_MAX});
        test->run();
        exit(EXIT_SUCCESS);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int check_run(const char *suite, const struct check_test *tests, size_t count, const char *tally)
{
    size_t failed = 0;
    for (size_t i = 0; i < count; i++) {
        bool passed = passes(&tests[i]);
        failed += passed ? 0U : 1U;
        (void)printf("%s %s: %s\n", passed ? "ok  " : "FAIL", suite, tests[i].name);
    }
    (void)fflush(stdout);
    FILE *file = fopen(tally, "w");
    if (file == NULL || fprintf(file, "%zu %zu\n", count - failed, failed) < 0 || fclose(file) != 0) {
        perror(tally);
        return EXIT_FAILURE;
    }
    return (failed == 0U) ? EXIT_SUCCESS : EXIT_FAILURE;
}

uint64_t check_random(struct check_random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint32_t check_below(struct check_random *random, uint32_t bound)
{
    return (uint32_t)(check_random(random) % bound);
}

bool check_once_in(struct check_random *random, uint32_t times)
{
    return check_below(random, times) == 0U;
}
