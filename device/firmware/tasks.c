// SPDX-License-Identifier: Apache-2.0

#include "tasks.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "lwip/sockets.h"
#include "message.h"
#include "mitigation.h"
#include "modbus_server.h"
#include "releases.h"
#include "scenario.h"
#include "soc.h"
#include "trace.h"
#include "weir_sockets.h"
#include "work.h"

#define BACKGROUND_LOOP_CYCLES 100
#define MICROSECONDS_PER_TICK (1000000U / configTICK_RATE_HZ)

static TaskHandle_t handles[SCENARIO_TASKS_MAX];
static volatile TickType_t first_release;
static volatile uint32_t listening;

static uint32_t index_of(const struct scenario_task *task)
{
    return (uint32_t)(task - weir_scenario.tasks);
}

static void job(const struct scenario_task *task)
{
    bool watched = mitigation_watches(task);
    trace(TRACE_JOB_START, index_of(task));
    if (watched) {
        mitigation_job_started();
    }
    work_run(task);
    if (watched) {
        mitigation_job_ended();
    }
    trace(TRACE_JOB_END, index_of(task));
}

static bool released_by_tick(const struct scenario_task *task)
{
    return task->period_us % MICROSECONDS_PER_TICK == 0U;
}

static void periodic(void *argument)
{
    const struct scenario_task *task = argument;
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    if (!released_by_tick(task)) {
        for (;;) { // one notification is one release, so that late jobs are caught up with
            (void)ulTaskNotifyTake(pdFALSE, portMAX_DELAY);
            job(task);
        }
    }
    TickType_t period = task->period_us / MICROSECONDS_PER_TICK;
    TickType_t release = xTaskGetTickCount(); // not before now: that would look like an overflow of the tick count
    (void)xTaskDelayUntil(&release, first_release - release);
    for (;;) {
        job(task);
        (void)xTaskDelayUntil(&release, period);
    }
}

static void background(void *argument)
{
    volatile uint32_t *loops = &weir_status.loops[index_of(argument)];
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    for (;;) {
        work_spin(BACKGROUND_LOOP_CYCLES);
        (*loops)++;
    }
}

static void listening_add(void)
{
    taskENTER_CRITICAL();
    listening++;
    taskEXIT_CRITICAL();
}

// What the scenario says of the task's flow; a socket of which it says nothing has its flow without being asked.
static void ask_flow(int fd, const struct scenario_task *task)
{
    if (!scenario_has_library() ||
        (task->flow.server == WEIR_SERVER_NONE && task->flow.priority == 0U && task->flow.from == 0U)) {
        return;
    }
    struct weir_so_flow flow = {.priority = (uint8_t)task->flow.priority,
                                .server = (uint8_t)task->flow.server,
                                .capacity = (uint16_t)task->flow.capacity,
                                .period_us = task->flow.period_us,
                                .sender_bytes = task->flow.from == 0U ? 0U : 4U};
    memcpy(flow.sender, &task->flow.from, sizeof task->flow.from);
    if (lwip_setsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &flow, sizeof flow) != 0) {
        scenario_fail(FAILURE_SOCKET, (uint32_t)errno);
    }
}

// Returns a socket bound to the task's port on every address.
static int bound_socket(int type, const struct scenario_task *task)
{
    int fd = lwip_socket(AF_INET, type, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = lwip_htons((u16_t)task->port)};
    if (fd < 0 || lwip_bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        scenario_fail(FAILURE_SOCKET, (uint32_t)errno);
    }
    ask_flow(fd, task);
    return fd;
}

static void serve_udp(void *argument)
{
    const struct scenario_task *task = argument;
    static const uint8_t reply[1400];
    uint8_t buffer[MESSAGE_BYTES_MAX];
    struct message message = {.data = buffer, .socket = bound_socket(SOCK_DGRAM, task)};
    message_attach(&message);
    listening_add();
    for (;;) {
        socklen_t size = sizeof message.peer;
        ssize_t length = lwip_recvfrom(message.socket, buffer, sizeof buffer, 0, (struct sockaddr *)&message.peer,
                                       &size);
        if (length < 0) {
            scenario_fail(FAILURE_SOCKET, (uint32_t)errno);
        }
        message.length = (size_t)length;
        trace(TRACE_JOB_START, index_of(task));
        work_run(task);
        if (task->reply_bytes > 0U) {
            (void)weir_job_reply(reply, task->reply_bytes);
        }
        trace(TRACE_JOB_END, index_of(task));
    }
}

static void serve_tcp(void *argument)
{
    const struct scenario_task *task = argument;
    int listener = bound_socket(SOCK_STREAM, task);
    if (lwip_listen(listener, 4) != 0) {
        scenario_fail(FAILURE_SOCKET, (uint32_t)errno);
    }
    listening_add();
    modbus_server(listener, task);
}

static const struct {
    TaskFunction_t run;
    uint32_t extra_stack_bytes; // for buffers that the scenario's author knows nothing of
} kinds[] = {
    [SCENARIO_PERIODIC] = {periodic, 0},
    [SCENARIO_BACKGROUND] = {background, 0},
    [SCENARIO_UDP] = {serve_udp, MESSAGE_BYTES_MAX},
    [SCENARIO_TCP] = {serve_tcp, MESSAGE_BYTES_MAX},
};

void tasks_create(void)
{
    uint32_t listeners = 0;
    for (uint32_t i = 0; i < weir_scenario.task_count; i++) {
        struct scenario_task *task = &weir_scenario.tasks[i];
        uint32_t bytes = task->stack_bytes + kinds[task->kind].extra_stack_bytes;
        if (xTaskCreate(kinds[task->kind].run, task->name, bytes / sizeof(StackType_t), task, task->priority,
                        &handles[i]) != pdPASS) {
            scenario_fail(FAILURE_NO_MEMORY, i + 1U);
        }
        if (task->kind == SCENARIO_PERIODIC && !released_by_tick(task)) {
            releases_add(handles[i], task->period_us);
        }
        listeners += (task->kind == SCENARIO_UDP || task->kind == SCENARIO_TCP) ? 1U : 0U;
    }
    while (listening < listeners) {
        vTaskDelay(1);
    }
    for (uint32_t i = 0; i < weir_scenario.task_count; i++) {
        TaskStatus_t status;
        vTaskGetInfo(handles[i], &status, pdFALSE, eReady);
        weir_status.threads[i].handle = (uint32_t)(uintptr_t)handles[i];
        weir_status.threads[i].stack = (uint32_t)(uintptr_t)status.pxStackBase;
    }
}

// mtime of the next tick.
static uint64_t next_tick(void)
{
    const volatile uint32_t *mtimecmp = (const volatile uint32_t *)SOC_MTIMECMP;
    return ((uint64_t)mtimecmp[1] << 32) | mtimecmp[0];
}

unsigned tasks_release(void)
{
    vTaskDelay(1); // the rest happens within one tick
    first_release = xTaskGetTickCount() + 2U;
    uint64_t tick_cycles = (uint64_t)weir_scenario.cycles_per_us * MICROSECONDS_PER_TICK;
    for (uint32_t i = 0; i < weir_scenario.task_count; i++) {
        uint32_t kind = weir_scenario.tasks[i].kind;
        if (kind == SCENARIO_PERIODIC || kind == SCENARIO_BACKGROUND) {
            xTaskNotifyGive(handles[i]);
        }
    }
    releases_start(next_tick() + tick_cycles);
    mitigation_releases_begin(next_tick() + tick_cycles);
    return first_release;
}
