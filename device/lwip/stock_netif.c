// SPDX-License-Identifier: Apache-2.0

#include "stock_netif.h"

#include <stdbool.h>

#include "lwip/pbuf.h"
#include "lwip/prot/ethernet.h"
#include "lwip/sys.h"
#include "lwip/tcpip.h"
#include "lwip_guard.h"
#include "mitigation.h"
#include "netif/ethernet.h"
#include "plain_netif.h"
#include "queue.h"
#include "scenario.h"
#include "soc.h"
#include "trace.h"

// Refilling costs one invalidation of the data cache however many buffers it hands over, so it waits for half a ring.
#define REFILL_BATCH (PLAIN_RX_RING / 2)

// `classes`: VLAN priorities and class selectors of this and above are the high class (802.1Q: video and up).
#define RX_CLASS_HIGH_FROM 4U

struct rx_buffer {
    struct pbuf_custom pbuf; // first: the free function gets a pointer to it
    uint32_t next;           // on the free list
};

#define NO_BUFFER UINT32_MAX

static struct rx_buffer rx_buffers[PLAIN_RX_BUFFERS_MAX];
static uint32_t rx_free = NO_BUFFER;
static bool rx_starved; // the ring could not be filled; who frees enough buffers wakes the driver
static struct netif *rx_netif;
static TaskHandle_t driver_task;

static void rx_free_push(uint32_t buffer)
{
    SYS_ARCH_DECL_PROTECT(level);
    SYS_ARCH_PROTECT(level);
    rx_buffers[buffer].next = rx_free;
    rx_free = buffer;
    weir_status.rx_free++;
    // One invalidation for one buffer is a bad bargain while the NIC has others.
    bool nic_idle = plain_ring_room(&plain_rx_ring) == PLAIN_RX_RING;
    bool wake = rx_starved && (nic_idle || weir_status.rx_free >= REFILL_BATCH);
    rx_starved = rx_starved && !wake;
    SYS_ARCH_UNPROTECT(level);
    if (wake) {
        xTaskNotifyGive(driver_task);
    }
}

static uint32_t rx_free_pop(void)
{
    SYS_ARCH_DECL_PROTECT(level);
    SYS_ARCH_PROTECT(level);
    uint32_t buffer = rx_free;
    if (buffer != NO_BUFFER) {
        rx_free = rx_buffers[buffer].next;
        weir_status.rx_free--;
    } else {
        rx_starved = true;
    }
    SYS_ARCH_UNPROTECT(level);
    return buffer;
}

// lwIP frees a received frame: any task.
static void rx_pbuf_free(struct pbuf *p)
{
    uint32_t buffer = (uint32_t)((struct rx_buffer *)p - rx_buffers);
    trace(TRACE_RX_FREED, buffer);
    rx_free_push(buffer);
}

static void rx_refill(void)
{
    uint32_t room = plain_ring_room(&plain_rx_ring);
    if (room < REFILL_BATCH) {
        return;
    }
    uint32_t count = 0;
    for (; count < room; count++) {
        uint32_t buffer = rx_free_pop();
        if (buffer == NO_BUFFER) {
            break;
        }
        plain_rx_buffer[(plain_ring_next(&plain_rx_ring) + count) % PLAIN_RX_RING] = (uint16_t)buffer;
    }
    if (count == 0U) {
        return;
    }
    // The buffers' last users have read them through the cache, and DMA will change them behind its back. Only now that
    // they are off the free list has everyone read them who will: whoever frees one later than this has read it later.
    // The NIC's buffers are never read, so that nothing of them can come back into the cache before the frame is there.
    soc_dcache_invalidate();
    for (; count > 0U; count--) {
        uint32_t buffer = plain_rx_buffer[plain_ring_next(&plain_rx_ring)];
        trace(TRACE_RX_GIVEN, buffer);
        (void)plain_ring_give(&plain_rx_ring, (uint32_t)(uintptr_t)plain_rx_data[buffer], PLAIN_BUFFER_BYTES);
    }
}

// In tcpip_thread.
static err_t rx_stack(struct pbuf *p, struct netif *netif)
{
    uint32_t buffer = (uint32_t)((struct rx_buffer *)p - rx_buffers);
    trace(TRACE_RX_STACK, buffer);
    err_t result = lwip_guard_passes(p->payload, p->len) ? ethernet_input(p, netif) : ERR_VAL;
    trace(TRACE_RX_DONE, buffer);
    return result;
}

static struct pbuf *rx_wrap(uint32_t buffer, uint16_t length)
{
    struct pbuf_custom *custom = &rx_buffers[buffer].pbuf;
    return pbuf_alloced_custom(PBUF_RAW, length, PBUF_REF, custom, plain_rx_data[buffer], PLAIN_BUFFER_BYTES);
}

static void rx_pass_up(uint32_t buffer, uint16_t length)
{
    struct pbuf *p = rx_wrap(buffer, length);
    if (tcpip_inpkt(p, rx_netif, rx_stack) != ERR_OK) {
        pbuf_free(p);
    }
}

static void rx_driver(void *argument)
{
    (void)argument;
    for (;;) {
        uint16_t length;
        int32_t descriptor;
        while ((descriptor = plain_ring_take(&plain_rx_ring, &length)) >= 0) {
            uint32_t buffer = plain_rx_buffer[descriptor];
            trace(TRACE_RX_DRIVER, buffer);
            rx_pass_up(buffer, length);
            rx_refill();
        }
        rx_refill(); // it may have been woken for that
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    }
}

// The driver of the mitigations does the protocol work itself, as in the thesis's experiments and in Linux, so that a
// packet costs no second task, and what it holds back costs nothing at all.
static void rx_input(uint32_t buffer, uint16_t length)
{
    struct pbuf *p = rx_wrap(buffer, length);
    LOCK_TCPIP_CORE();
    if (rx_stack(p, rx_netif) != ERR_OK) {
        pbuf_free(p);
    }
    UNLOCK_TCPIP_CORE();
}

static void rx_driver_mitigated(void *argument)
{
    (void)argument;
    for (;;) {
        uint16_t length;
        int32_t descriptor;
        while (mitigation_may_receive() && (descriptor = plain_ring_take(&plain_rx_ring, &length)) >= 0) {
            uint32_t began = (uint32_t)soc_mtime();
            uint32_t buffer = plain_rx_buffer[descriptor];
            trace(TRACE_RX_DRIVER, buffer);
            rx_input(buffer, length);
            rx_refill();
            mitigation_received((uint32_t)soc_mtime() - began);
        }
        rx_refill(); // it may have been woken for that
        mitigation_rest();
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    }
}

// Variant `classes`: who sends a packet says how urgent it is, and a thread of fixed priority works on each class.
enum rx_class { RX_CLASS_LOW = 0, RX_CLASS_HIGH = 1, RX_CLASSES = 2 };

struct rx_item {
    uint16_t buffer;
    uint16_t length;
};

static QueueHandle_t class_queue[RX_CLASSES];
static TaskHandle_t class_task[RX_CLASSES];

// By the priority of a VLAN tag (IEEE 802.1Q) or the class selector of IPv4 (RFC 2474).
static enum rx_class rx_class_of(uint32_t buffer)
{
    uint32_t word = ((const volatile uint32_t *)SOC_UNCACHED(plain_rx_data[buffer]))[3]; // bytes 12 to 15
    uint32_t type = lwip_ntohs((uint16_t)(word & 0xffffU));
    uint32_t priority = type == ETHTYPE_IP ? word >> 29 : type == ETHTYPE_VLAN ? word >> 21 & 7U : 0U;
    return priority >= RX_CLASS_HIGH_FROM ? RX_CLASS_HIGH : RX_CLASS_LOW;
}

static void rx_class_thread(void *argument)
{
    struct rx_item item;
    for (;;) {
        (void)xQueueReceive(argument, &item, portMAX_DELAY);
        rx_input(item.buffer, item.length);
    }
}

static void rx_driver_classes(void *argument)
{
    (void)argument;
    for (;;) {
        uint16_t length;
        int32_t descriptor;
        while ((descriptor = plain_ring_take(&plain_rx_ring, &length)) >= 0) {
            struct rx_item item = {.buffer = plain_rx_buffer[descriptor], .length = length};
            trace(TRACE_RX_DRIVER, item.buffer);
            if (xQueueSend(class_queue[rx_class_of(item.buffer)], &item, 0) != pdTRUE) {
                trace(TRACE_RX_FREED, item.buffer);
                rx_free_push(item.buffer);
            }
            rx_refill();
        }
        rx_refill();
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    }
}

static bool classes_create(void)
{
    static const char *const names[RX_CLASSES] = {"class_low", "class_high"};
    uint32_t high = weir_scenario.net_priority; // Zephyr's are neighbours, too
    uint32_t priorities[RX_CLASSES] = {high > 1U ? high - 1U : high, high};
    bool created = true;
    for (uint32_t i = 0; i < RX_CLASSES; i++) {
        // Not the whole pool, so that packets that nobody works on leave something to the other class.
        class_queue[i] = xQueueCreate(weir_scenario.rx_buffers / 2U, sizeof(struct rx_item));
        created = created && class_queue[i] != NULL &&
                  xTaskCreate(rx_class_thread, names[i], 512, class_queue[i], priorities[i], &class_task[i]) == pdPASS;
    }
    return created;
}

TaskHandle_t stock_netif_class_task(uint32_t class)
{
    return class_task[class];
}

void stock_netif_isr(BaseType_t *woken)
{
    // Clear first, look at the ring later: a frame that arrives in between asks again.
    SOC_NIC->irq_pending = PLAIN_NIC_IRQ_RX;
    vTaskNotifyGiveFromISR(driver_task, woken);
}

TaskHandle_t stock_netif_task(void)
{
    return driver_task;
}

err_t stock_netif_init(struct netif *netif)
{
    rx_netif = netif;
    plain_netif_init(netif);
    for (uint32_t i = 0; i < weir_scenario.rx_buffers; i++) {
        rx_buffers[i].pbuf.custom_free_function = rx_pbuf_free;
        rx_free_push(i);
    }
    rx_refill();
    bool classes = weir_scenario.variant == SCENARIO_CLASSES;
    TaskFunction_t driver = weir_scenario.variant == SCENARIO_STOCK ? rx_driver
                            : classes                               ? rx_driver_classes
                                                                    : rx_driver_mitigated;
    if (xTaskCreate(driver, "driver", 512, NULL, weir_scenario.net_priority, &driver_task) != pdPASS ||
        (classes && !classes_create())) {
        scenario_fail(FAILURE_NO_MEMORY, 0);
    }
    mitigation_init(driver_task);
    plain_netif_start();
    return ERR_OK;
}
