// SPDX-License-Identifier: Apache-2.0
//
// The receive library on the simulated device: FreeRTOS and the plain NIC.

#ifndef WEIR_CONFIG_H
#define WEIR_CONFIG_H

#include "plain_netif.h"
#include "scenario.h"
#include "soc.h"
#include "trace.h"
#include "weir_freertos.h"
#include "weir_nic.h"

#define WEIR_BUFFERS PLAIN_RX_BUFFERS_MAX
#define WEIR_FLOWS SCENARIO_TASKS_MAX
#define WEIR_PRIORITIES configMAX_PRIORITIES
#define WEIR_SPORADIC_MAX 8

#define WEIR_PORT_TICKS_PER_US ((uint64_t)weir_scenario.cycles_per_us)

// Interrupts cost about 200 cycles each and a poll 150 and 80 per frame: both stay below a fifth of the CPU, whatever
// the wire brings, and a poll takes more than 148,809 frames per second, which is 100 Mbit/s of the shortest.
#define FIRMWARE_LIMIT_CAPACITY 2
#define FIRMWARE_LIMIT_BATCH 10
#define FIRMWARE_LIMIT_PERIOD_CYCLES 6000
#define FIRMWARE_LIMIT_SHARE_PERCENT 40

#define FIRMWARE_BACKGROUND_PRIORITY 1
// What ARP and ICMP may each cost: an answer takes about 10,000 cycles.
#define FIRMWARE_SYSTEM_CAPACITY 4
#define FIRMWARE_SYSTEM_PERIOD_US 10000

static inline uint64_t weir_port_now(void)
{
    return soc_mtime();
}

static inline uint32_t weir_port_now_low(void)
{
    return *(const volatile uint32_t *)SOC_MTIME;
}

static inline void weir_port_poll_at(uint32_t time)
{
    soc_poll_at(time);
}

static inline void weir_port_poll_off(void)
{
    soc_poll_off();
}

static inline void weir_port_invalidate_all(void)
{
    soc_dcache_invalidate();
}

static inline int32_t weir_driver_take(uint32_t *length)
{
    int32_t descriptor = plain_ring_take_given(&plain_rx_ring, PLAIN_RX_DESCRIPTORS, PLAIN_RX_RING, length);
    return descriptor < 0 ? -1 : plain_rx_buffer[descriptor];
}

static inline void weir_driver_give(uint32_t buffer)
{
    uint32_t address = (uint32_t)(uintptr_t)plain_rx_data[buffer];
    uint32_t descriptor = plain_ring_give_room(&plain_rx_ring, PLAIN_RX_DESCRIPTORS, PLAIN_RX_RING, address,
                                               PLAIN_BUFFER_BYTES);
    plain_rx_buffer[descriptor] = (uint16_t)buffer;
}

static inline const volatile uint32_t *weir_driver_header(uint32_t buffer)
{
    return SOC_UNCACHED(plain_rx_data[buffer]);
}

static inline void weir_driver_interrupt(bool on)
{
    SOC_NIC->irq_enable = on ? PLAIN_NIC_IRQ_RX : 0U;
}

static inline void weir_driver_acknowledge(void)
{
    SOC_NIC->irq_pending = PLAIN_NIC_IRQ_RX;
}

// The multiqueue NIC, see weir/multiqueue.h. A queue's two buffers lie one behind the other in its part of packet RAM.
extern uint16_t weir_mq_buffer_units[]; // of each queue: size of a buffer in frame numbers

#define WEIR_MQ_QUEUE_UNITS (SOC_QUEUE_BYTES / 16U)
#define WEIR_MQ_HEADROOM_UNITS (WEIR_NIC_HEADROOM_BYTES / 16U)

static inline int32_t weir_mq_driver_take(uint32_t *half, uint32_t *frames)
{
    return weir_nic_take(SOC_QUEUES, half, frames);
}

static inline void weir_mq_driver_release(uint32_t queue)
{
    weir_nic_release(SOC_QUEUES, queue);
}

void weir_mq_driver_open(uint32_t queue);

static inline void weir_mq_driver_close(uint32_t queue)
{
    weir_nic_queue_close(SOC_QUEUES, queue);
}

static inline uint32_t weir_mq_driver_first(uint32_t buffer)
{
    uint32_t queue = buffer / 2U;
    return queue * WEIR_MQ_QUEUE_UNITS + (buffer % 2U != 0U ? weir_mq_buffer_units[queue] : 0U) +
           WEIR_MQ_HEADROOM_UNITS;
}

static inline uint32_t weir_mq_driver_buffer(uint32_t frame)
{
    uint32_t queue = frame / WEIR_MQ_QUEUE_UNITS;
    return 2U * queue + (frame % WEIR_MQ_QUEUE_UNITS >= weir_mq_buffer_units[queue] ? 1U : 0U);
}

static inline uint32_t weir_mq_driver_length(uint32_t frame)
{
    const volatile uint32_t *metadata = SOC_UNCACHED(SOC_PACKET_RAM + (frame - 1U) * 16U);
    return metadata[0] & 0xffffU;
}

static inline uint32_t weir_mq_driver_units(uint32_t length)
{
    return (length + 15U) / 16U + WEIR_MQ_HEADROOM_UNITS;
}

void weir_mq_changed(uint8_t flow);
void weir_mq_close(uint8_t flow);
#define WEIR_FLOW_CHANGED(flow)                                                                                        \
    do {                                                                                                               \
        if (scenario_has_queues()) {                                                                                   \
            weir_mq_changed(flow);                                                                                     \
        }                                                                                                              \
    } while (0)
#define WEIR_FLOW_REMOVED(flow) (scenario_has_queues() ? weir_mq_close(flow) : weir_rx_drain(flow))
#define WEIR_ON_CLOSED(flow) trace(TRACE_RX_CLOSED, (flow)*WEIR_MQ_QUEUE_UNITS)

#define WEIR_ON_QUEUED(buffer) trace(TRACE_RX_QUEUED, buffer)
#define WEIR_ON_DROPPED(buffer, why) trace(TRACE_RX_DROPPED, (uint32_t)(buffer) | (uint32_t)(why) << 16)
#define WEIR_ON_DISCARDED(buffer) trace(TRACE_RX_DROPPED, (uint32_t)(buffer) | WEIR_DROP_LIMITED << 16)
#define WEIR_ON_ABANDONED(buffer) trace(TRACE_RX_FREED, buffer)
#define WEIR_ON_GIVEN(buffer) trace(TRACE_RX_GIVEN, buffer)
#define WEIR_ON_POLLING(on) trace_always(TRACE_POLLING, on)

#endif
