// SPDX-License-Identifier: Apache-2.0

#include "releases.h"

#include "scenario.h"
#include "soc.h"

static struct {
    TaskHandle_t task;
    uint64_t period_cycles;
    uint64_t next;
} releases[SCENARIO_TASKS_MAX];
static uint32_t release_count;

static void compare_at_earliest(void)
{
    uint64_t earliest = UINT64_MAX;
    for (uint32_t i = 0; i < release_count; i++) {
        if (releases[i].next < earliest) {
            earliest = releases[i].next;
        }
    }
    SOC_RELEASE_COMPARE[0] = UINT32_MAX; // so that no combination of old and new halves lies in the past
    SOC_RELEASE_COMPARE[1] = (uint32_t)(earliest >> 32);
    SOC_RELEASE_COMPARE[0] = (uint32_t)earliest;
}

void releases_add(TaskHandle_t task, uint32_t period_us)
{
    releases[release_count].task = task;
    releases[release_count].period_cycles = (uint64_t)period_us * weir_scenario.cycles_per_us;
    release_count++;
}

void releases_start(uint64_t start)
{
    for (uint32_t i = 0; i < release_count; i++) {
        releases[i].next = start;
    }
    if (release_count > 0U) {
        compare_at_earliest();
    }
}

void releases_isr(BaseType_t *woken)
{
    uint64_t now = soc_mtime();
    for (uint32_t i = 0; i < release_count; i++) {
        if (releases[i].next <= now) {
            releases[i].next += releases[i].period_cycles;
            vTaskNotifyGiveFromISR(releases[i].task, woken);
        }
    }
    compare_at_earliest();
}
