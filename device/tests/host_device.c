// SPDX-License-Identifier: Apache-2.0

#include "host_device.h"

#include <sanitizer/asan_interface.h>
#include <setjmp.h>
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "check.h"
#include "host_sys.h"
#include "lwip/inet_chksum.h"
#include "lwip/prot/ethernet.h"
#include "lwip/prot/ip4.h"
#include "lwip/tcpip.h"
#include "lwip/udp.h"
#include "plain_ring.h"
#include "scenario.h"
#include "soc.h"
#include "trace.h"

#define PORT 5000
#define HEADERS (14U + 20U + 8U)
#define TRACE_KINDS 9U
#define NOTHING UINT32_MAX
#define DEPTH_MAX 4U

int tcpip_thread_poll_one(void); // lwIP's tcpip.c with TCPIP_THREAD_TEST; in none of its headers

enum place { FREE, RING, FILLED, DRIVER, STACK, UPPER };

struct host host;
struct scenario weir_scenario;
const uint32_t host_mtime[2];
int scenario_tcpip_priority(void)
{
    return (int)weir_scenario.net_priority;
}
struct scenario_status weir_status;

static struct {
    enum place place;
    bool cached; // the cache may hold lines of it
} buffers[PLAIN_RX_BUFFERS_MAX];
static uint32_t total;
static uint8_t *buffers_base;

// NIC.
static struct plain_nic_registers registers;
static uint32_t pending;
static bool kicked;
static uint32_t rx_index;
static uint32_t tx_index;
static uint32_t in_ring[PLAIN_RX_RING]; // buffers in the order in which they were given
static uint32_t rx_given;
static uint32_t rx_filled;
static uint32_t rx_taken;

static volatile uint32_t trace_port[TRACE_KINDS];

// FreeRTOS.
static TaskFunction_t driver_function;
static uint32_t driver_notified;
static bool driver_active;
static bool driver_started;
static jmp_buf driver_blocked;
static uint32_t critical;
static bool in_isr;
static uint32_t depth;

static uint32_t next_expected; // smallest sequence number that the application may see next

static void buffer_moves(uint32_t buffer, enum place from, enum place to)
{
    CHECK(buffer < total);
    CHECK(buffers[buffer].place == from);
    buffers[buffer].place = to;
}

static uint32_t buffer_of(const void *bytes)
{
    ptrdiff_t offset = (const uint8_t *)bytes - buffers_base;
    CHECK(offset >= 0 && offset < (ptrdiff_t)(total * PLAIN_BUFFER_BYTES));
    return (uint32_t)offset / PLAIN_BUFFER_BYTES;
}

// Nobody may touch the bytes of a buffer that is free or the NIC's.
static void poison(uint32_t buffer)
{
    if (buffers_base != NULL) {
        __asan_poison_memory_region(buffers_base + (size_t)buffer * PLAIN_BUFFER_BYTES, PLAIN_BUFFER_BYTES);
    }
}

static void trace_event(uint32_t kind, uint32_t buffer)
{
    CHECK(buffer < total);
    switch (kind) {
    case TRACE_RX_GIVEN:
        buffer_moves(buffer, FREE, RING);
        CHECK(rx_given - rx_taken < PLAIN_RX_RING);
        in_ring[rx_given++ % PLAIN_RX_RING] = buffer;
        poison(buffer);
        break;
    case TRACE_RX_DRIVER:
        CHECK(rx_taken != rx_filled && in_ring[rx_taken % PLAIN_RX_RING] == buffer);
        rx_taken++;
        buffer_moves(buffer, FILLED, DRIVER);
        break;
    case TRACE_RX_STACK:
        buffer_moves(buffer, DRIVER, STACK);
        buffers[buffer].cached = true;
        break;
    case TRACE_RX_DONE:
        if (buffers[buffer].place == STACK) { // otherwise it has been freed meanwhile
            buffers[buffer].place = UPPER;
        }
        break;
    case TRACE_RX_FREED:
        CHECK(buffers[buffer].place >= DRIVER);
        host.mailbox_full += (buffers[buffer].place == DRIVER) ? 1U : 0U;
        buffers[buffer].place = FREE;
        poison(buffer);
        break;
    default:
        CHECK(false);
    }
}

// Lets the stores of the last access take effect.
static void effects(void)
{
    for (uint32_t kind = 0; kind < TRACE_KINDS; kind++) {
        uint32_t value = trace_port[kind];
        trace_port[kind] = NOTHING;
        if (value != NOTHING) {
            trace_event(kind, value);
        }
    }
    pending &= ~registers.irq_pending; // write 1 to clear
    registers.irq_pending = 0;
    if (registers.tx_kick != 0U) {
        registers.tx_kick = 0;
        kicked = true;
        host.kicks++;
    }
}

static void preempt(enum host_point point)
{
    effects();
    if (host.preempt != NULL && depth < DEPTH_MAX && !in_isr && critical == 0U) {
        depth++;
        host.preempt(point);
        depth--;
    } else if (host.preempt != NULL && point == HOST_NOTIFY) {
        host.preempt(point);
    }
    effects();
}

struct plain_nic_registers *host_nic(void)
{
    preempt(HOST_NIC);
    return &registers;
}

volatile uint32_t *host_trace(void)
{
    preempt(HOST_TRACE);
    return trace_port;
}

void host_dcache_invalidate(void)
{
    effects();
    for (uint32_t i = 0; i < total; i++) {
        buffers[i].cached = false;
    }
    host.invalidations++;
    preempt(HOST_CACHE);
}

static struct plain_desc *descriptor(uint32_t ring, uint32_t index)
{
    return (struct plain_desc *)(uintptr_t)ring + index;
}

bool host_receive(const uint8_t *frame, uint16_t length)
{
    effects();
    struct plain_desc *desc = descriptor(registers.rx_ring, rx_index);
    CHECK((registers.control & PLAIN_NIC_CONTROL_RX) != 0U);
    if ((desc->control & PLAIN_DESC_OWN) == 0U) {
        host.no_descriptor++;
        return false;
    }
    CHECK((desc->control & PLAIN_DESC_LENGTH_MASK) >= length);
    CHECK(rx_filled != rx_given);
    uint32_t buffer = in_ring[rx_filled++ % PLAIN_RX_RING];
    uint8_t *bytes = (uint8_t *)(uintptr_t)desc->address;
    if (buffers_base == NULL) {
        buffers_base = bytes - (size_t)buffer * PLAIN_BUFFER_BYTES;
    }
    CHECK(bytes == buffers_base + (size_t)buffer * PLAIN_BUFFER_BYTES && (uintptr_t)bytes % SOC_CACHE_LINE == 0U);
    CHECK(!buffers[buffer].cached); // the CPU would read stale bytes
    buffer_moves(buffer, RING, FILLED);
    __asan_unpoison_memory_region(bytes, PLAIN_BUFFER_BYTES);
    memcpy(bytes, frame, length);
    uint32_t wrap = desc->control & PLAIN_DESC_WRAP;
    CHECK((wrap != 0U) == (rx_index == PLAIN_RX_RING - 1U));
    desc->control = wrap | length;
    rx_index = (rx_index + 1U) % PLAIN_RX_RING;
    pending |= PLAIN_NIC_IRQ_RX;
    host.accepted++;
    return true;
}

static uint8_t payload_byte(uint32_t sequence, uint32_t index)
{
    return (uint8_t)(sequence * 31U + index * 7U);
}

static void put(uint8_t *bytes, uint32_t value, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8U * (size - 1U - i)));
    }
}

static uint32_t get32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

bool host_datagram(uint16_t payload)
{
    static struct host_frame frame;
    CHECK(payload >= 4U && payload <= HOST_FRAME_MAX - HEADERS);
    memset(frame.bytes, 0, HEADERS);
    memcpy(&frame.bytes[0], weir_scenario.mac, 6);
    frame.bytes[6] = 2;
    put(&frame.bytes[12], ETHTYPE_IP, 2);
    uint8_t *ip = &frame.bytes[14];
    ip[0] = 0x45;
    put(&ip[2], 28U + payload, 2);
    ip[8] = 64;
    ip[9] = IP_PROTO_UDP;
    put(&ip[12], 0x0a000002, 4);
    memcpy(&ip[16], &weir_scenario.address, 4);
    uint16_t checksum = inet_chksum(ip, 20);
    memcpy(&ip[10], &checksum, 2);
    put(&ip[20], 4000, 2);
    put(&ip[22], PORT, 2);
    put(&ip[24], 8U + payload, 2);
    put(&ip[28], host.sequence, 4);
    for (uint32_t i = 4; i < payload; i++) {
        ip[28U + i] = payload_byte(host.sequence, i);
    }
    host.sequence++;
    return host_receive(frame.bytes, (uint16_t)(HEADERS + payload));
}

bool host_transmit(void)
{
    effects();
    struct plain_desc *desc = descriptor(registers.tx_ring, tx_index);
    if (!kicked || (registers.control & PLAIN_NIC_CONTROL_TX) == 0U || (desc->control & PLAIN_DESC_OWN) == 0U) {
        kicked = false;
        return false;
    }
    uint32_t length = desc->control & PLAIN_DESC_LENGTH_MASK;
    CHECK(length >= 1U && length <= HOST_FRAME_MAX && host.sent_count < HOST_SENT_MAX);
    host.sent[host.sent_count].length = (uint16_t)length;
    memcpy(host.sent[host.sent_count].bytes, (const void *)(uintptr_t)desc->address, length);
    host.sent_count++;
    uint32_t wrap = desc->control & PLAIN_DESC_WRAP;
    desc->control = wrap | length;
    tx_index = (wrap != 0U) ? 0U : tx_index + 1U;
    pending |= PLAIN_NIC_IRQ_TX;
    return true;
}

// FreeRTOS, as far as the driver uses it.

BaseType_t xTaskCreate(TaskFunction_t function, const char *const name, const configSTACK_DEPTH_TYPE stack,
                       void *const argument, UBaseType_t priority, TaskHandle_t *const handle)
{
    CHECK(driver_function == NULL && strcmp(name, "driver") == 0 && stack >= 256U && argument == NULL);
    driver_function = function;
    host.driver_priority = (uint32_t)priority;
    *handle = (TaskHandle_t)&driver_function;
    return pdPASS;
}

BaseType_t xTaskGenericNotify(TaskHandle_t task, UBaseType_t index, uint32_t value, eNotifyAction action,
                              uint32_t *previous)
{
    CHECK(task == (TaskHandle_t)&driver_function && index == 0U && value == 0U && action == eIncrement);
    CHECK(previous == NULL && !in_isr && critical == 0U);
    driver_notified++;
    host.wakes++;
    if (host.driver_is_urgent) {
        (void)host_driver();
    }
    return pdPASS;
}

void vTaskGenericNotifyGiveFromISR(TaskHandle_t task, UBaseType_t index, BaseType_t *woken)
{
    CHECK(task == (TaskHandle_t)&driver_function && index == 0U && in_isr && woken != NULL);
    effects();
    CHECK((pending & PLAIN_NIC_IRQ_RX) == 0U); // cleared before: a frame from now on asks again
    preempt(HOST_NOTIFY);
    driver_notified++;
    *woken = pdTRUE;
}

uint32_t ulTaskGenericNotifyTake(UBaseType_t index, BaseType_t clear, TickType_t ticks)
{
    CHECK(driver_active && index == 0U && clear == pdTRUE && ticks == portMAX_DELAY && critical == 0U);
    preempt(HOST_TAKE);
    if (driver_notified == 0U) {
        longjmp(driver_blocked, 1);
    }
    uint32_t notified = driver_notified;
    driver_notified = 0;
    return notified;
}

_Noreturn void scenario_fail(enum failure failure, uint32_t detail)
{
    check_context("failure %d, detail %u", (int)failure, detail);
    CHECK(false);
    for (;;) {
    }
}

// Actors.

bool host_interrupt(void)
{
    effects();
    if (!host_irq_line() || in_isr || critical > 0U) {
        return false;
    }
    BaseType_t woken = pdFALSE;
    in_isr = true;
    stock_netif_isr(&woken);
    effects();
    in_isr = false;
    CHECK(woken == pdTRUE);
    host.interrupts++;
    return true;
}

// The driver's loop keeps nothing from turn to turn, so that a sleeping driver goes on where it began.
bool host_driver(void)
{
    effects();
    if (driver_active || in_isr || critical > 0U || (driver_started && driver_notified == 0U)) {
        return false;
    }
    if (driver_started) {
        driver_notified = 0;
    }
    driver_active = true;
    driver_started = true;
    uint32_t depth_before = depth;
    if (setjmp(driver_blocked) == 0) {
        driver_function(NULL);
    }
    depth = depth_before;
    driver_active = false;
    effects();
    return true;
}

bool host_tcpip(void)
{
    effects();
    if (in_isr || critical > 0U || host_sys_core_locked()) {
        return false;
    }
    bool did = tcpip_thread_poll_one() != 0;
    effects();
    return did;
}

static void datagram_read(const struct pbuf *p)
{
    CHECK(p->len >= 4U && p->len == p->tot_len);
    const uint8_t *bytes = p->payload;
    buffers[buffer_of(bytes)].cached = true;
    uint32_t sequence = get32(bytes);
    for (uint32_t i = 4; i < p->len; i++) {
        CHECK(bytes[i] == payload_byte(sequence, i));
    }
}

static void datagram_arrives(void *argument, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *address, u16_t port)
{
    (void)argument;
    (void)pcb;
    (void)address;
    CHECK(port == 4000);
    datagram_read(p);
    uint32_t sequence = get32(p->payload);
    CHECK(sequence >= next_expected);
    next_expected = sequence + 1U;
    host.received++;
    if (host.application_keeps) {
        CHECK(host.held_count < HOST_HELD_MAX);
        host.held[host.held_count++] = p;
    } else {
        (void)pbuf_free(p);
    }
}

bool host_application(uint32_t held)
{
    effects();
    if (in_isr || critical > 0U || host.held_count == 0U) {
        return false;
    }
    CHECK(held < host.held_count);
    struct pbuf *p = host.held[held];
    host.held[held] = host.held[--host.held_count];
    datagram_read(p);
    CHECK(pbuf_free(p) == 1);
    effects();
    return true;
}

void host_settle(void)
{
    while (host_interrupt() || host_driver() || host_tcpip()) {
    }
}

// lwIP's port.

void host_sys_protect(void)
{
    effects();
    critical++;
}

void host_sys_unprotect(void)
{
    CHECK(critical > 0U);
    critical--;
    if (critical == 0U) {
        preempt(HOST_UNPROTECT);
    }
}

bool host_sys_post(uint32_t filled)
{
    preempt(HOST_POST);
    return filled < host.mailbox_size;
}

void host_start(uint32_t rx_buffers)
{
    weir_scenario = (struct scenario){
        .magic = SCENARIO_MAGIC, .trace = 1, .net_priority = 5, .rx_buffers = rx_buffers, .mac = {2, 0, 0, 0, 0, 9}};
    ip4_addr_t address;
    ip4_addr_t netmask;
    ip4_addr_t gateway = {.addr = 0};
    IP4_ADDR(&address, 10, 0, 0, 1);
    IP4_ADDR(&netmask, 255, 255, 255, 0);
    weir_scenario.address = address.addr;
    weir_scenario.netmask = netmask.addr;
    total = rx_buffers;
    memset((void *)(uintptr_t)trace_port, 0xff, sizeof trace_port);
    host.mailbox_size = TCPIP_MBOX_SIZE;
    tcpip_init(NULL, NULL);
    LOCK_TCPIP_CORE();
    CHECK(netif_add(&host.netif, &address, &netmask, &gateway, NULL, stock_netif_init, tcpip_input) != NULL);
    netif_set_default(&host.netif);
    netif_set_up(&host.netif);
    struct udp_pcb *pcb = udp_new();
    CHECK(udp_bind(pcb, IP4_ADDR_ANY, PORT) == ERR_OK);
    udp_recv(pcb, datagram_arrives, NULL);
    UNLOCK_TCPIP_CORE();
    effects();
    while (host_transmit()) { // lwIP announces its address
    }
    host.sent_count = 0;
    host.kicks = 0;
}

void host_check_conservation(void)
{
    effects();
    CHECK(!driver_active && !in_isr && critical == 0U && depth == 0U);
    uint32_t in[UPPER + 1] = {0};
    for (uint32_t i = 0; i < total; i++) {
        in[buffers[i].place]++;
    }
    CHECK(in[FREE] == weir_status.rx_free);
    CHECK(in[RING] == rx_given - rx_filled && in[RING] == host_in_ring());
    CHECK(in[FILLED] == rx_filled - rx_taken);
    CHECK(in[DRIVER] == host_sys_mailbox_filled());
    CHECK(in[STACK] == 0U);
    CHECK(in[UPPER] == host.held_count);
    CHECK(host.accepted == in[FILLED] + in[DRIVER] + host.mailbox_full + host.received);
    CHECK(host.sequence == host.accepted + host.no_descriptor);
}

uint32_t host_irq_enable(void)
{
    return registers.irq_enable;
}

uint32_t host_control(void)
{
    return registers.control;
}

bool host_irq_line(void)
{
    return (pending & registers.irq_enable) != 0U;
}

uint32_t host_in_ring(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < PLAIN_RX_RING; i++) {
        count += descriptor(registers.rx_ring, i)->control >> 31;
    }
    return count;
}
