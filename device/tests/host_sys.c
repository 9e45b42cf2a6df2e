// SPDX-License-Identifier: Apache-2.0

#include "host_sys.h"

#include <stdlib.h>

#include "FreeRTOS.h"
#include "queue.h"
#include "task.h"

#include "check.h"
#include "lwip/sys.h"
#include "lwip/tcpip.h"

#define MAILBOX_MAX 256U

u32_t weir_random(void);

static void *mailbox[MAILBOX_MAX];
static uint32_t mailbox_in;
static uint32_t mailbox_out;
static uint32_t core_locked;
static uint32_t any_object; // what valid handles point to

bool host_sys_core_locked(void)
{
    return core_locked > 0U;
}

uint32_t host_sys_mailbox_filled(void)
{
    return mailbox_in - mailbox_out;
}

void host_core_must_be_locked(void)
{
    CHECK(core_locked > 0U || !sys_mutex_valid(&lock_tcpip_core)); // before tcpip_init() has made it
}

_Noreturn void host_lwip_assertion(const char *message)
{
    check_context("lwIP: %s", message);
    CHECK(false);
    for (;;) {
    }
}

u32_t weir_random(void)
{
    static struct check_random random = {1};
    return (u32_t)check_random(&random);
}

void sys_init(void) {}

u32_t sys_now(void)
{
    return 0;
}

u32_t sys_jiffies(void)
{
    return 0;
}

sys_prot_t sys_arch_protect(void)
{
    host_sys_protect();
    return 1;
}

void sys_arch_unprotect(sys_prot_t level)
{
    CHECK(level == 1U);
    host_sys_unprotect();
}

err_t sys_mutex_new(sys_mutex_t *mutex)
{
    mutex->mut = &any_object;
    return ERR_OK;
}

void sys_mutex_lock(sys_mutex_t *mutex)
{
    core_locked += (mutex == &lock_tcpip_core) ? 1U : 0U;
}

void sys_mutex_unlock(sys_mutex_t *mutex)
{
    CHECK(mutex != &lock_tcpip_core || core_locked > 0U);
    core_locked -= (mutex == &lock_tcpip_core) ? 1U : 0U;
}

err_t sys_mbox_new(sys_mbox_t *mbox, int size)
{
    CHECK(size == TCPIP_MBOX_SIZE);
    mbox->mbx = mailbox;
    return ERR_OK;
}

err_t sys_mbox_trypost(sys_mbox_t *mbox, void *message)
{
    CHECK(mbox->mbx == (void *)mailbox);
    if (!host_sys_post(host_sys_mailbox_filled())) {
        return ERR_MEM;
    }
    CHECK(host_sys_mailbox_filled() < MAILBOX_MAX);
    mailbox[mailbox_in++ % MAILBOX_MAX] = message;
    return ERR_OK;
}

u32_t sys_arch_mbox_tryfetch(sys_mbox_t *mbox, void **message)
{
    CHECK(mbox->mbx == (void *)mailbox);
    if (mailbox_in == mailbox_out) {
        return SYS_MBOX_EMPTY;
    }
    *message = mailbox[mailbox_out++ % MAILBOX_MAX];
    return 0;
}

sys_thread_t sys_thread_new(const char *name, lwip_thread_fn function, void *argument, int stack, int priority)
{
    (void)name;
    (void)function;
    (void)argument;
    (void)stack;
    (void)priority;
    return (sys_thread_t){.thread_handle = &any_object};
}

// Never called by what the tests do, but tcpip.c can.

err_t sys_sem_new(sys_sem_t *semaphore, u8_t count)
{
    (void)count;
    semaphore->sem = &any_object;
    return ERR_OK;
}

void sys_sem_free(sys_sem_t *semaphore)
{
    (void)semaphore;
    CHECK(false);
}

void sys_sem_signal(sys_sem_t *semaphore)
{
    (void)semaphore;
    CHECK(false);
}

u32_t sys_arch_sem_wait(sys_sem_t *semaphore, u32_t timeout)
{
    (void)semaphore;
    (void)timeout;
    CHECK(false);
    return 0;
}

void sys_mbox_post(sys_mbox_t *mbox, void *message)
{
    (void)mbox;
    (void)message;
    CHECK(false);
}

err_t sys_mbox_trypost_fromisr(sys_mbox_t *mbox, void *message)
{
    (void)mbox;
    (void)message;
    CHECK(false);
    return ERR_MEM;
}

u32_t sys_arch_mbox_fetch(sys_mbox_t *mbox, void **message, u32_t timeout)
{
    (void)mbox;
    (void)message;
    (void)timeout;
    CHECK(false);
    return 0;
}

// What only the other variants' drivers call; they run on the simulated device.
QueueHandle_t xQueueGenericCreate(const UBaseType_t length, const UBaseType_t item_bytes, const uint8_t type)
{
    (void)length, (void)item_bytes, (void)type;
    abort();
}

BaseType_t xQueueGenericSend(QueueHandle_t queue, const void *const item, TickType_t timeout, const BaseType_t position)
{
    (void)queue, (void)item, (void)timeout, (void)position;
    abort();
}

BaseType_t xQueueReceive(QueueHandle_t queue, void *const item, TickType_t timeout)
{
    (void)queue, (void)item, (void)timeout;
    abort();
}

void vTaskDelay(const TickType_t ticks)
{
    (void)ticks;
    abort();
}

void vPortYield(void)
{
    abort();
}
