// SPDX-License-Identifier: Apache-2.0

#include "multiqueue_netif.h"

#include <stdbool.h>

#include "kept_frames.h"
#include "lwip/pbuf.h"
#include "lwip/tcpip.h"
#include "lwip_guard.h"
#include "netif/ethernet.h"
#include "plain_netif.h"
#include "scenario.h"
#include "semphr.h"
#include "soc.h"
#include "trace.h"
#include "weir/multiqueue.h"
#include "weir_freertos.h"

// Asked at each context switch (FreeRTOSConfig.h).
bool weir_task_aware;

uint16_t weir_mq_buffer_units[WEIR_MQ_QUEUES];

static struct netif *mq_netif;
static TaskHandle_t driver_task;

// lwIP's own record of a frame lies in the room before it, so that there are always as many as there are frames.
_Static_assert(sizeof(struct pbuf_custom) <= WEIR_NIC_HEADROOM_BYTES - WEIR_MQ_UNIT_BYTES, "room for the pbuf");

static uint16_t frame_of(const struct pbuf *p)
{
    return (uint16_t)(((uintptr_t)p + WEIR_NIC_HEADROOM_BYTES - SOC_PACKET_RAM) / WEIR_MQ_UNIT_BYTES);
}

// lwIP frees a received frame: any task.
static void pbuf_freed(struct pbuf *p)
{
    uint16_t frame = frame_of(p);
    trace(TRACE_RX_FREED, frame);
    weir_mq_free(frame);
}

static struct pbuf *wrap(const struct weir_packet *packet)
{
    uintptr_t data = SOC_PACKET_RAM + (uintptr_t)packet->buffer * WEIR_MQ_UNIT_BYTES;
    struct pbuf_custom *custom = (struct pbuf_custom *)(data - WEIR_NIC_HEADROOM_BYTES);
    custom->custom_free_function = pbuf_freed;
    return pbuf_alloced_custom(PBUF_RAW, packet->length, PBUF_REF, custom, (void *)data, packet->length);
}

void kept_frames_freed(uint32_t place)
{
    trace(TRACE_RX_FREED, TRACE_RX_KEPT + place);
}

static err_t copied_into_stack(struct pbuf *p, struct netif *netif)
{
    uint16_t frame = frame_of(p);
    uint32_t place;
    struct pbuf *copy = kept_frames_copy(p, (uint8_t)(weir_mq_driver_buffer(frame) / 2U), &place);
    if (copy == NULL) {
        return ERR_MEM;
    }
    trace(TRACE_RX_COPIED, frame | place << 16);
    pbuf_free(p);
    if (ethernet_input(copy, netif) != ERR_OK) {
        pbuf_free(copy);
    }
    return ERR_OK;
}

static err_t into_stack(struct pbuf *p, struct netif *netif)
{
    uint16_t frame = frame_of(p);
    trace(TRACE_RX_STACK, frame);
    err_t result = ERR_VAL;
    if (lwip_guard_passes(p->payload, p->len)) {
        bool waits = kept_frames_waits(p->payload, p->len);
        result = waits ? copied_into_stack(p, netif) : ethernet_input(p, netif);
    }
    trace(TRACE_RX_DONE, frame);
    return result;
}

static void input(const struct weir_packet *packet)
{
    struct pbuf *p = wrap(packet);
    while (xSemaphoreTakeRecursive(lock_tcpip_core.mut, portMAX_DELAY) != pdTRUE) {
        // The booster has raised this task: ask again, so that the holder inherits that.
    }
    if (into_stack(p, mq_netif) != ERR_OK) {
        pbuf_free(p);
    }
    sys_mutex_unlock(&lock_tcpip_core); // a received frame opens and closes no sockets: no need to compare
}

// Before it waits, the network task takes over what was held back from it, so that it is not woken for that.
static bool next(struct weir_packet *packet)
{
    if (weir_mq_next(packet)) {
        return true;
    }
    weir_nic_threshold(SOC_QUEUES, 0);
    int32_t priority = weir_mq_interrupt();
    weir_nic_threshold(SOC_QUEUES, (uint32_t)weir_freertos_state.priority + 1U);
    return priority >= 0;
}

static void driver(void *argument)
{
    (void)argument;
    for (;;) {
        struct weir_packet packet;
        taskENTER_CRITICAL();
        bool any = weir_mq_next(&packet);
        taskEXIT_CRITICAL();
        if (!any) {
            (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        } else if (packet.length != 0U) {
            trace(TRACE_RX_DRIVER, packet.buffer);
            struct pbuf *p = wrap(&packet);
            if (tcpip_inpkt(p, mq_netif, into_stack) != ERR_OK) {
                pbuf_free(p);
            }
        }
    }
}

void multiqueue_netif_isr(BaseType_t *woken)
{
    int32_t priority = weir_mq_interrupt();
    if (weir_task_aware) {
        weir_freertos_wake(priority, woken);
    } else if (priority >= 0) {
        vTaskNotifyGiveFromISR(driver_task, woken);
    }
}

void multiqueue_netif_timer_isr(BaseType_t *woken)
{
    weir_freertos_wake(weir_mq_timer(), woken);
}

TaskHandle_t multiqueue_netif_task(void)
{
    return weir_task_aware ? weir_freertos_network_task() : driver_task;
}

// The scenario's task behind a socket's flow says what its queue is like.
static const struct scenario_queue *moderation(weir_match match)
{
    for (uint32_t i = 0; i < weir_scenario.task_count; i++) {
        const struct scenario_task *task = &weir_scenario.tasks[i];
        uint8_t protocol = task->kind == SCENARIO_TCP ? WEIR_PROTOCOL_TCP : WEIR_PROTOCOL_UDP;
        if ((task->kind == SCENARIO_TCP || task->kind == SCENARIO_UDP) &&
            match == weir_match_port(protocol, (uint16_t)task->port)) {
            return &task->queue;
        }
    }
    return &weir_scenario.queue;
}

static uint32_t classes_of(weir_match match)
{
    switch (match) {
    case WEIR_MATCH_BACKGROUND:
        return WEIR_NIC_FRAGMENT; // of datagrams that may be a socket's; what else is nobody's is dropped in the NIC
    case WEIR_MATCH_ADDRESS:
        return WEIR_NIC_ARP;
    case WEIR_MATCH_CONTROL:
        return WEIR_NIC_ICMP;
    default:
        return match >> 16 == WEIR_PROTOCOL_TCP ? WEIR_NIC_TCP : WEIR_NIC_UDP;
    }
}

void weir_mq_driver_open(uint32_t queue)
{
    const struct weir_flow *flow = weir_flow((uint8_t)queue);
    const struct scenario_queue *asked = moderation(flow->match);
    uint32_t cycles_per_us = weir_scenario.cycles_per_us;
    bool socket = queue < WEIR_FLOWS;
    const struct weir_nic_queue settings = {
        .classes = classes_of(flow->match),
        .port = socket ? lwip_ntohs((uint16_t)flow->match) : 0U,
        .sender = lwip_ntohl(flow->sender[0]),
        .sender_mask = flow->sender_words != 0U ? UINT32_MAX : 0U,
        .priority = flow->priority,
        .base = queue * SOC_QUEUE_BYTES,
        .buffer_bytes = asked->bytes,
        .packet_timer = asked->packet_timer_us * cycles_per_us,
        .absolute_timer = asked->absolute_timer_us * cycles_per_us,
        .frames = asked->frames,
        .periodic = weir_scenario.periodic != 0U && asked->absolute_timer_us != 0U,
    };
    weir_mq_buffer_units[queue] = (uint16_t)(asked->bytes / WEIR_MQ_UNIT_BYTES);
    weir_nic_queue_open(SOC_QUEUES, queue, &settings);
}

err_t multiqueue_netif_init(struct netif *netif)
{
    mq_netif = netif;
    plain_netif_init(netif);
    bool library = weir_scenario.variant == SCENARIO_CODESIGN;
    weir_nic_start(SOC_QUEUES, weir_scenario.mac);
    const struct weir_mq_config config = {
        .background_priority = FIRMWARE_BACKGROUND_PRIORITY,
        .system_priority = FIRMWARE_BACKGROUND_PRIORITY, // until there are sockets
        .system_capacity = library ? FIRMWARE_SYSTEM_CAPACITY : 0U,
        .system_period = FIRMWARE_SYSTEM_PERIOD_US * weir_scenario.cycles_per_us,
    };
    const struct weir_freertos_config tasks = {.next = next,
                                               .input = input,
                                               .stack_words = 1024,
                                               .booster_stack_words = 128,
                                               .booster_priority = configMAX_PRIORITIES - 1};
    if (weir_mq_init(&config) != 0) {
        scenario_fail(FAILURE_SCENARIO, 0);
    }
    bool started = library
                       ? weir_freertos_start(&tasks) == 0
                       : xTaskCreate(driver, "driver", 512, NULL, weir_scenario.net_priority, &driver_task) == pdPASS;
    if (!started) {
        scenario_fail(FAILURE_NO_MEMORY, 0);
    }
    weir_task_aware = library;
    plain_netif_start();
    return ERR_OK;
}
