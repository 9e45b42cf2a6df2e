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

// splitmix64
static uint64_t next_random(struct weir_edge_client *client)
{
    client->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = client->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// By which nodes are chosen: the round trip in whole milliseconds, then how much they have to do, then the client's own
// order, so that not all clients turn to the same of several equals.
struct order {
    uint64_t round_trip_ms;
    uint32_t load;
    uint64_t rank;
};

static bool is_before(const struct order *a, const struct order *b)
{
    if (a->round_trip_ms != b->round_trip_ms) {
        return a->round_trip_ms < b->round_trip_ms;
    }
    return a->load != b->load ? a->load < b->load : a->rank < b->rank;
}

// False if it does not answer.
static bool order_of(const struct weir_edge_node *node, uint64_t now_ns, struct order *order)
{
    uint64_t min_ns;
    uint64_t max_ns;
    bool answers = node->token != 0U && node->unanswered <= UNANSWERED_MAX;
    if (!answers || !weir_edge_link_round_trip(&node->link, now_ns, &min_ns, &max_ns)) {
        return false;
    }
    *order = (struct order){min_ns / NS_PER_MS, node->load, node->rank};
    return true;
}

uint8_t weir_edge_nearest(const struct weir_edge_client *client, uint64_t now_ns, uint32_t except)
{
    uint8_t best = WEIR_EDGE_NOBODY;
    struct order best_order = {0};
    for (uint8_t i = 0; i < WEIR_EDGE_NODES; i++) {
        struct order order;
        bool asked = (except >> i & 1U) == 0U && order_of(&client->nodes[i], now_ns, &order);
        if (asked && (best == WEIR_EDGE_NOBODY || is_before(&order, &best_order))) {
            best = i;
            best_order = order;
        }
    }
    return best;
}

// Those with the shortest round trips, as many as the configuration says; a bit each.
static uint32_t closest(const struct weir_edge_client *client, uint64_t now_ns)
{
    uint32_t found = 0;
    for (uint8_t i = 0; i < client->config.closest; i++) {
        uint8_t next = weir_edge_nearest(client, now_ns, found);
        if (next == WEIR_EDGE_NOBODY) {
            break;
        }
        found |= UINT32_C(1) << next;
    }
    return found;
}

bool weir_edge_is_near(const struct weir_edge_client *client, uint64_t now_ns, uint8_t node)
{
    uint8_t known = 0;
    for (uint8_t i = 0; i < WEIR_EDGE_NODES; i++) {
        known = (uint8_t)(known + (client->nodes[i].address.version != 0U ? 1U : 0U));
    }
    return known <= client->config.closest || (closest(client, now_ns) >> node & 1U) != 0U;
}

// Whether a task knows a node by its place.
static bool is_remembered(const struct weir_edge_client *client, uint8_t node)
{
    for (size_t i = 0; i < WEIR_EDGE_TASKS; i++) {
        const struct weir_edge_slot *slot = &client->slots[i];
        bool remembers = slot->node == node || (slot->tried >> node & 1U) != 0U || weir_edge_has_news(slot);
        if (slot->state != WEIR_EDGE_SLOT_FREE && remembers) {
            return true;
        }
    }
    return false;
}

// A place for another node: a free one, or now and then that of one that is not close and that no task has to do with.
static uint8_t place_for_another(struct weir_edge_client *client, uint64_t now_ns)
{
    for (uint8_t i = 0; i < WEIR_EDGE_NODES; i++) {
        if (client->nodes[i].address.version == 0U) {
            return i;
        }
    }
    if (now_ns < client->next_exchange_ns) {
        return WEIR_EDGE_NOBODY;
    }
    client->next_exchange_ns = now_ns + WEIR_EDGE_EXCHANGE_PERIOD_NS;
    uint8_t idle[WEIR_EDGE_NODES] = {0};
    uint8_t count = 0;
    uint32_t close = closest(client, now_ns);
    for (uint8_t i = 0; i < WEIR_EDGE_NODES; i++) {
        if ((close >> i & 1U) == 0U && !is_remembered(client, i)) {
            idle[count++] = i;
        }
    }
    return count > 0U ? idle[next_random(client) % count] : WEIR_EDGE_NOBODY;
}

void weir_edge_learn(struct weir_edge_client *client, uint64_t now_ns, const struct weir_edge_address *address)
{
    if (!weir_edge_valid_address(address) || weir_edge_find_node(client, address) != WEIR_EDGE_NOBODY) {
        return;
    }
    uint8_t place = place_for_another(client, now_ns);
    if (place == WEIR_EDGE_NOBODY) {
        return;
    }
    struct weir_edge_node *node = &client->nodes[place];
    memset(node, 0, sizeof *node);
    node->address = *address;
    node->next_hello_ns = now_ns;
    node->rank = next_random(client);
}

void weir_edge_left_unanswered(struct weir_edge_node *node)
{
    if (node->unanswered < UINT8_MAX) {
        node->unanswered++;
    }
}
