// SPDX-License-Identifier: Apache-2.0

#include "work.h"

void work_spin(uint32_t cycles)
{
    uint32_t turns = cycles / WORK_SPIN_TURN_CYCLES;
    if (turns == 0U) {
        return;
    }
    // No compressed forms and one aligned line, so that every build has the same loop.
    __asm volatile(".option push\n"
                   ".option norvc\n"
                   ".balign 32\n"
                   "1: addi %0, %0, -1\n"
                   "bnez %0, 1b\n"
                   ".option pop\n"
                   : "+r"(turns));
}

// The papers' load: an ascending series of binomial coefficients, each by Pascal's rule (thesis 5.3).
static uint64_t binomial_series(uint32_t n, uint32_t k)
{
    uint64_t row[61] = {1};
    for (uint32_t i = 1; i <= n; i++) {
        for (uint32_t j = (i < k) ? i : k; j > 0U; j--) {
            row[j] += row[j - 1U];
        }
    }
    return row[k];
}

static volatile uint64_t binomial_result; // so that the compiler keeps the work

void work_run(const struct scenario_task *task)
{
    switch (task->work) {
    case SCENARIO_BINOMIAL:
        binomial_result = binomial_series(task->work_a, task->work_b);
        break;
    case SCENARIO_SOURCE:
        weir_jobs[task->work_a]();
        break;
    default:
        work_spin(task->work_a);
        break;
    }
}
