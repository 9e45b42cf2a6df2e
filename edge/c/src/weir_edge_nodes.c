// SPDX-License-Identifier: Apache-2.0

#include "weir_edge_nodes.h"

#include <string.h>

#include "weir_edge_link.h"
#include "weir_edge_slot.h"

// A node that left so many hellos unanswered is not used.
#define UNANSWERED_MAX 3U
#define NS_PER_MS UINT64_C(1000000)

bool weir_edge_same_address(const struct weir_edge_address *a, const struct weir_edge_address *b)
{
    size_t bytes = a->version == 4U ? 4 : 16;
    return a->version == b->version && a->port == b->port && memcmp(a->ip, b->ip, bytes) == 0;
}

bool weir_edge_valid_address(const struct weir_edge_address *address)
{
    return (address->version == 4U || address->version == 6U) && address->port != 0U;
}

uint8_t weir_edge_find_node(const struct weir_edge_client *client, const struct weir_edge_address *address)
{
    uint8_t node = weir_edge_valid_address(address) ? 0 : WEIR_EDGE_NOBODY; // or a free place would be its own
    while (node < WEIR_EDGE_NODES && !weir_edge_same_address(&client->nodes[node].address, address)) {
        node++;
    }
    return node;
}

// Whether a node may be forgotten for another: it was learnt, does not answer, and no task remembers it by its place.
static bool is_replaceable(const struct weir_edge_client *client, uint8_t node)
{
    const struct weir_edge_node *known = &client->nodes[node];
    if (known->configured || known->unanswered <= UNANSWERED_MAX) {
        return false;
    }
    for (size_t i = 0; i < WEIR_EDGE_TASKS; i++) {
        const struct weir_edge_slot *slot = &client->slots[i];
        bool remembers = slot->node == node || (slot->tried >> node & 1U) != 0U;
        if (slot->state != WEIR_EDGE_SLOT_FREE && (remembers || weir_edge_has_news(slot))) {
            return false;
        }
    }
    return true;
}

// splitmix64
static uint64_t next_rank(struct weir_edge_client *client)
{
    client->ranks += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = client->ranks;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void weir_edge_learn(struct weir_edge_client *client, uint64_t now_ns, const struct weir_edge_address *address,
                     bool configured)
{
    if (!weir_edge_valid_address(address) || weir_edge_find_node(client, address) != WEIR_EDGE_NOBODY) {
        return;
    }
    uint8_t place = 0;
    while (place < WEIR_EDGE_NODES && client->nodes[place].address.version != 0U && !is_replaceable(client, place)) {
        place++;
    }
    if (place == WEIR_EDGE_NODES) {
        return;
    }
    struct weir_edge_node *node = &client->nodes[place];
    memset(node, 0, sizeof *node);
    node->address = *address;
    node->configured = configured;
    node->next_hello_ns = now_ns;
    node->rank = next_rank(client);
}

// By which nodes are chosen: the round trip in whole milliseconds, then the client's own order. False if it does not
// answer.
static bool order_of(const struct weir_edge_node *node, uint64_t now_ns, uint64_t *min_ms)
{
    uint64_t min_ns;
    uint64_t max_ns;
    bool answers = node->token != 0U && node->unanswered <= UNANSWERED_MAX;
    if (!answers || !weir_edge_link_round_trip(&node->link, now_ns, &min_ns, &max_ns)) {
        return false;
    }
    *min_ms = min_ns / NS_PER_MS;
    return true;
}

uint8_t weir_edge_nearest(const struct weir_edge_client *client, uint64_t now_ns, uint32_t except)
{
    uint8_t best = WEIR_EDGE_NOBODY;
    uint64_t best_ms = 0;
    for (uint8_t i = 0; i < WEIR_EDGE_NODES; i++) {
        uint64_t ms;
        if ((except >> i & 1U) != 0U || !order_of(&client->nodes[i], now_ns, &ms)) {
            continue;
        }
        bool nearer = best == WEIR_EDGE_NOBODY || ms < best_ms ||
                      (ms == best_ms && client->nodes[i].rank < client->nodes[best].rank);
        if (nearer) {
            best = i;
            best_ms = ms;
        }
    }
    return best;
}

bool weir_edge_is_near(const struct weir_edge_client *client, uint64_t now_ns, uint8_t node)
{
    uint8_t known = 0;
    for (uint8_t i = 0; i < WEIR_EDGE_NODES; i++) {
        known = (uint8_t)(known + (client->nodes[i].address.version != 0U ? 1U : 0U));
    }
    if (known <= client->config.closest) {
        return true;
    }
    uint32_t nearer = 0;
    for (uint8_t i = 0; i < client->config.closest; i++) {
        uint8_t next = weir_edge_nearest(client, now_ns, nearer);
        if (next == node) {
            return true;
        }
        if (next == WEIR_EDGE_NOBODY) {
            return false;
        }
        nearer |= UINT32_C(1) << next;
    }
    return false;
}

void weir_edge_left_unanswered(struct weir_edge_node *node)
{
    if (node->unanswered < UINT8_MAX) {
        node->unanswered++;
    }
}
