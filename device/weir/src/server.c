// SPDX-License-Identifier: Apache-2.0

#include "weir/server.h"

#include <errno.h>

int weir_server_init(struct weir_server *server, enum weir_server_kind kind, uint16_t capacity, uint64_t period)
{
    if (kind != WEIR_SERVER_NONE && kind != WEIR_SERVER_DEFERRABLE && kind != WEIR_SERVER_SPORADIC) {
        return EINVAL;
    }
    if (kind != WEIR_SERVER_NONE && (capacity == 0U || period == 0U || period > WEIR_SERVER_PERIOD_MAX)) {
        return EINVAL;
    }
    if (kind == WEIR_SERVER_SPORADIC && capacity > WEIR_SPORADIC_MAX) {
        return EINVAL;
    }
    *server = (struct weir_server){
        .start = 0, .period = (uint32_t)period, .capacity = capacity, .left = capacity, .kind = (uint8_t)kind};
    return 0;
}

static bool deferrable(struct weir_server *server, uint64_t now)
{
    uint64_t into = now - server->start;
    if (into >= server->period) {
        // Periods follow one another on a grid, or a flow could have two capacities within less than a period more
        // than once. The division is for the rare packet after a pause.
        server->start += into < 2U * (uint64_t)server->period ? server->period : into - into % server->period;
        server->left = server->capacity;
    }
    if (server->left == 0U) {
        return false;
    }
    server->left--;
    return true;
}

static bool sporadic(struct weir_server *server, uint64_t now)
{
    if (now - server->start >= server->period) { // even the last one has come back
        server->left = server->capacity;
    }
    while (server->left < server->capacity && (uint32_t)now - server->passed[server->oldest] >= server->period) {
        server->oldest = (uint8_t)((server->oldest + 1U) % WEIR_SPORADIC_MAX);
        server->left++;
    }
    if (server->left == 0U) {
        return false;
    }
    uint32_t out = (uint32_t)server->capacity - server->left;
    server->passed[(server->oldest + out) % WEIR_SPORADIC_MAX] = (uint32_t)now;
    server->left--;
    server->start = now;
    return true;
}

bool weir_server_admit(struct weir_server *server, uint64_t now)
{
    switch (server->kind) {
    case WEIR_SERVER_DEFERRABLE:
        return deferrable(server, now);
    case WEIR_SERVER_SPORADIC:
        return sporadic(server, now);
    default:
        return true;
    }
}

uint64_t weir_server_next(const struct weir_server *server)
{
    uint64_t since = server->start;
    if (server->kind == WEIR_SERVER_SPORADIC) { // the last one passed then, the oldest less than a period before
        since -= (uint32_t)server->start - server->passed[server->oldest];
    }
    return since + server->period;
}
