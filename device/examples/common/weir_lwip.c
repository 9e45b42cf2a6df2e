// SPDX-License-Identifier: Apache-2.0

#include "weir_lwip.h"

#include "lwip/pbuf.h"
#include "lwip/tcpip.h"
#include "netif/ethernet.h"
#include "semphr.h"

static struct pbuf_custom pbufs[WEIR_BUFFERS];
static struct netif *weir_netif;

// lwIP frees a received frame: any task.
static void pbuf_freed(struct pbuf *p)
{
    uint16_t buffer = (uint16_t)((struct pbuf_custom *)p - pbufs);
    weir_buffer_leaves(buffer);
    weir_rx_free(buffer);
}

// One packet's protocol work: in the network task, with the core lock for no longer than that.
static void input(const struct weir_packet *packet)
{
    uint16_t buffer = packet->buffer;
    weir_buffer_arrived(buffer, packet->length);
    pbufs[buffer].custom_free_function = pbuf_freed;
    struct pbuf *p = pbuf_alloced_custom(PBUF_RAW, packet->length, PBUF_REF, &pbufs[buffer], weir_buffer_data(buffer),
                                         packet->length);
    while (xSemaphoreTakeRecursive(lock_tcpip_core.mut, portMAX_DELAY) != pdTRUE) {
        // The booster has raised this task: ask again, so that the holder inherits that.
    }
    if (ethernet_input(p, weir_netif) != ERR_OK) {
        pbuf_free(p);
    }
    sys_mutex_unlock(&lock_tcpip_core); // a received frame opens and closes no sockets: no need to compare
}

int weir_lwip_start(struct netif *netif, const struct weir_rx_config *rx, uint8_t booster_priority)
{
    const struct weir_freertos_config tasks = {.next = weir_rx_next,
                                               .input = input,
                                               .stack_words = WEIR_NETWORK_STACK_WORDS,
                                               .booster_stack_words = 2 * configMINIMAL_STACK_SIZE,
                                               .booster_priority = booster_priority};
    weir_netif = netif;
    int error = weir_rx_init(rx);
    return error != 0 ? error : weir_freertos_start(&tasks);
}
