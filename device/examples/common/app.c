// SPDX-License-Identifier: Apache-2.0
//
// The examples' application, which says nothing of Weir: plain sockets, each served by a task of some priority.
//
//   502   Modbus/TCP                                (where the example has it)
//   5005  UDP: answers with what it got, at the highest priority
//   5006  UDP: a sink that reads slowly, at the lowest priority: a flood's target
//   5007  UDP: answers with the library's books, 32-bit big-endian words

#include "FreeRTOS.h"
#include "task.h"

#include "app.h"
#include "board.h"
#include "lwip/sockets.h"
#include "lwip/tcpip.h"
#include "weir/rx.h"

#define ECHO_PRIORITY 6
#define MODBUS_PRIORITY 4
#define STATUS_PRIORITY 3
#define PLANT_PRIORITY 2
#define SINK_PRIORITY 1

#define PLANT_PERIOD_TICKS 10
#define PLANT_BUSY_TICKS 8

static struct netif netif;

static _Noreturn void fail(const char *why)
{
    board_print("FAILED: ");
    board_print(why);
    board_print("\n");
    for (;;) {
        portDISABLE_INTERRUPTS();
    }
}

static int bound_socket(int type, uint16_t port)
{
    int fd = lwip_socket(AF_INET, type, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = lwip_htons(port)};
    if (fd < 0 || lwip_bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        fail("socket");
    }
    return fd;
}

static void echo(void *argument)
{
    (void)argument;
    static uint8_t data[256];
    int fd = bound_socket(SOCK_DGRAM, 5005);
    for (;;) {
        struct sockaddr_in peer;
        socklen_t size = sizeof peer;
        ssize_t length = lwip_recvfrom(fd, data, sizeof data, 0, (struct sockaddr *)&peer, &size);
        if (length >= 0) {
            (void)lwip_sendto(fd, data, (size_t)length, 0, (struct sockaddr *)&peer, size);
        }
    }
}

static void sink(void *argument)
{
    (void)argument;
    static uint8_t data[64];
    int fd = bound_socket(SOCK_DGRAM, 5006);
    for (;;) {
        (void)lwip_recv(fd, data, sizeof data, 0);
        vTaskDelay(1);
    }
}

// The task that the device is there for: what waits for the sink has to wait for it, too, and no flood delays it.
static void plant(void *argument)
{
    (void)argument;
    for (;;) {
        TickType_t begin = xTaskGetTickCount();
        while (xTaskGetTickCount() - begin < PLANT_BUSY_TICKS) {
        }
        vTaskDelay(PLANT_PERIOD_TICKS - PLANT_BUSY_TICKS);
    }
}

static void status(void *argument)
{
    (void)argument;
    int fd = bound_socket(SOCK_DGRAM, 5007);
    for (;;) {
        uint8_t request[4];
        struct sockaddr_in peer;
        socklen_t size = sizeof peer;
        if (lwip_recvfrom(fd, request, sizeof request, 0, (struct sockaddr *)&peer, &size) < 0) {
            continue;
        }
        struct weir_rx_status now = weir_rx_status();
        const struct weir_flow *flood = weir_flow(weir_flow_find(weir_match_port(WEIR_PROTOCOL_UDP, 5006)));
        uint32_t discarded = flood->recycled + weir_flow(WEIR_FLOW_BACKGROUND)->recycled;
        uint32_t words[] = {now.books.with_nic, now.books.waiting, now.books.held, now.books.clean,
                            now.books.dirty,    now.refused,       discarded,      now.polling};
        for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            words[i] = lwip_htonl(words[i]);
        }
        (void)lwip_sendto(fd, words, sizeof words, 0, (struct sockaddr *)&peer, size);
    }
}

static void modbus(void *argument)
{
    (void)argument;
    int listener = bound_socket(SOCK_STREAM, 502);
    if (lwip_listen(listener, 4) != 0) {
        fail("listen");
    }
    app_modbus(listener);
}

static void create(TaskFunction_t run, const char *name, UBaseType_t priority)
{
    if (xTaskCreate(run, name, APP_STACK_WORDS, NULL, priority, NULL) != pdPASS) {
        fail("no memory for a task");
    }
}

static void tcpip_ready(void *argument)
{
    xTaskNotifyGive((TaskHandle_t)argument);
}

// Runs once, above all other tasks but the library's booster.
static void start(void *argument)
{
    (void)argument;
    tcpip_init(tcpip_ready, xTaskGetCurrentTaskHandle());
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    ip4_addr_t address;
    ip4_addr_t netmask;
    ip4_addr_t gateway;
    IP4_ADDR(&address, 10, 0, 2, 15);
    IP4_ADDR(&netmask, 255, 255, 255, 0);
    IP4_ADDR(&gateway, 10, 0, 2, 2);
    LOCK_TCPIP_CORE();
    // tcpip_input() stays for the netif's loopback; received frames do not go through it.
    if (netif_add(&netif, &address, &netmask, &gateway, NULL, board_netif_init, tcpip_input) == NULL) {
        fail("netif");
    }
    netif_set_default(&netif);
    netif_set_up(&netif);
    UNLOCK_TCPIP_CORE();
    create(echo, "echo", ECHO_PRIORITY);
    create(status, "status", STATUS_PRIORITY);
    create(plant, "plant", PLANT_PRIORITY);
    create(sink, "sink", SINK_PRIORITY);
    if (app_modbus != NULL) {
        create(modbus, "modbus", MODBUS_PRIORITY);
    }
    board_print("ready\n");
    vTaskDelete(NULL);
}

void vApplicationMallocFailedHook(void);
void vApplicationStackOverflowHook(TaskHandle_t task, char *name);
int main(void);

void vApplicationMallocFailedHook(void)
{
    fail("no memory");
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    fail(name);
}

int main(void)
{
    board_init();
    create(start, "start", configMAX_PRIORITIES - 2);
    vTaskStartScheduler();
    fail("no memory for the scheduler");
}
