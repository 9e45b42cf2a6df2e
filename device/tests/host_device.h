// SPDX-License-Identifier: Apache-2.0
//
// The device around lwip/stock_netif.c, on the host and single-threaded: the plain NIC, FreeRTOS as far as the driver
// calls it, lwIP's sys_arch, an application that keeps datagrams. lwIP itself is real.
//
// Wherever the driver could be preempted (it leaves a critical section, touches the NIC or the trace port, drops the
// cache, asks for its notification) `host.preempt` is called; there a test lets others run. The bench itself checks
// at all times that
//   - each receive buffer is in one place, and moves as the trace events say;
//   - nobody touches the bytes of a buffer that is the NIC's (they are poisoned for the address sanitizer);
//   - the NIC never writes into a buffer of which the cache may hold lines;
//   - datagrams reach the application unharmed and in order, and stay so until it frees them.

#ifndef HOST_DEVICE_H
#define HOST_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "plain_netif.h"
#include "stock_netif.h"

#define HOST_HELD_MAX PLAIN_RX_BUFFERS_MAX
#define HOST_SENT_MAX 64
#define HOST_FRAME_MAX 1514

enum host_point {
    HOST_UNPROTECT, // the outermost critical section has just ended
    HOST_NIC,       // before an access to a register
    HOST_TRACE,     // before a trace event
    HOST_CACHE,     // the cache has just been dropped
    HOST_NOTIFY,    // the ISR notifies the driver; interrupts are off
    HOST_TAKE,      // the driver looks for notifications, next thing it may sleep
    HOST_POST,      // before a frame goes into the mailbox
};

struct host_frame {
    uint16_t length;
    uint8_t bytes[HOST_FRAME_MAX];
};

struct host {
    void (*preempt)(enum host_point point);

    // Knobs.
    uint32_t mailbox_size;  // posting fails beyond
    bool driver_is_urgent;  // a notified driver runs before xTaskNotifyGive() returns
    bool application_keeps; // datagrams; otherwise it frees them at once

    // Counters.
    uint32_t sequence;      // of the next datagram
    uint32_t accepted;      // frames that the NIC wrote into a buffer
    uint32_t no_descriptor; // frames that found none
    uint32_t mailbox_full;  // frames that were freed before tcpip_thread saw them: no room, or no message for them
    uint32_t received;      // datagrams that reached the application
    uint32_t interrupts;
    uint32_t kicks;
    uint32_t wakes; // notifications of the driver by tasks
    uint32_t invalidations;

    // Frames that the NIC has sent, oldest first.
    struct host_frame sent[HOST_SENT_MAX];
    uint32_t sent_count;

    struct pbuf *held[HOST_HELD_MAX];
    uint32_t held_count;

    struct netif netif;
    uint32_t driver_priority;
};

extern struct host host;

// Starts lwIP and the driver as main.c does, with `rx_buffers` buffers. The driver has not run yet.
void host_start(uint32_t rx_buffers);

// The wire: a datagram for the application with `payload` bytes, or a frame as it is. False: no descriptor.
bool host_datagram(uint16_t payload);
bool host_receive(const uint8_t *frame, uint16_t length);
// Lets the NIC send one frame. False: it has none.
bool host_transmit(void);

// Each runs one actor if it has something to do and may run now, and says whether.
bool host_interrupt(void);
bool host_driver(void);
bool host_tcpip(void);                // one message
bool host_application(uint32_t held); // frees this one of the datagrams that it holds

// Interrupt, driver and tcpip_thread until all are idle.
void host_settle(void);

// Every buffer is in the ring, with NIC, driver, stack or application, or free; counted, and none of them running.
void host_check_conservation(void);

// What stock_netif_init() has written.
uint32_t host_irq_enable(void);
uint32_t host_control(void);
bool host_irq_line(void);
uint32_t host_in_ring(void); // buffers that the NIC may fill

#endif
