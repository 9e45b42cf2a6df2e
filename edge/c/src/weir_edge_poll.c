// SPDX-License-Identifier: Apache-2.0
//
// What is to be done for a client, one thing at a time, so that one buffer does for all datagrams.

#include "weir_edge_link.h"
#include "weir_edge_message.h"
#include "weir_edge_nodes.h"
#include "weir_edge_slot.h"

// How often a task is sent to one node before another is tried, and how many are tried.
#define SENT_MAX 2U
#define ATTEMPTS_MAX 3U

// A task's time has come: it is lost, sent again, or the next node's.
static void slot_timeout(struct weir_edge_client *client, uint64_t now_ns, struct weir_edge_slot *slot)
{
    if (slot->state == WEIR_EDGE_SLOT_ACCEPTED) {
        weir_edge_end(slot, WEIR_EDGE_LOST);
        return;
    }
    slot->tell_node = true;
    if (slot->sent < SENT_MAX) {
        return;
    }
    weir_edge_give_up(slot, slot->node, slot->attempt);
    slot->tell_given_up = true;
    slot->given_up = slot->node;
    weir_edge_left_unanswered(&client->nodes[slot->node]);
    slot->tried |= UINT32_C(1) << slot->node;
    uint8_t next = weir_edge_nearest(client, now_ns, slot->tried);
    if (next == WEIR_EDGE_NOBODY || slot->attempt >= ATTEMPTS_MAX || now_ns + slot->task.wcet_ns > slot->due_ns) {
        slot->refusal = WEIR_EDGE_REFUSED_NO_NODE;
        weir_edge_end(slot, WEIR_EDGE_REJECTED);
        return;
    }
    slot->node = next;
    slot->attempt++;
    slot->sent = 0;
}

static struct weir_edge_seal seal_of(const struct weir_edge_client *client)
{
    return (struct weir_edge_seal){client->config.hmac, client->config.hmac_context};
}

static struct weir_edge_header next_header(struct weir_edge_client *client, uint64_t now_ns, uint64_t token)
{
    client->sequence++;
    return (struct weir_edge_header){client->config.session, token, client->sequence, now_ns};
}

// Of 0 bytes if it could not be sealed: then as if it got lost on its way.
static void emit(struct weir_edge_client *client, const struct weir_edge_address *to, size_t bytes,
                 struct weir_edge_event *event)
{
    if (bytes > 0U) {
        *event = (struct weir_edge_event){
            .kind = WEIR_EDGE_SEND, .address = *to, .datagram = client->buffer, .datagram_bytes = bytes};
    }
}

static void send_ack(struct weir_edge_client *client, uint64_t now_ns, struct weir_edge_event *event)
{
    struct weir_edge_seal seal = seal_of(client);
    struct weir_edge_header header = next_header(client, now_ns, client->ack_token);
    client->ack = false;
    size_t bytes = weir_edge_message_result_ack(&seal, &header, client->ack_number, client->buffer);
    emit(client, &client->ack_to, bytes, event);
}

static void send_hello(struct weir_edge_client *client, uint64_t now_ns, uint8_t place, struct weir_edge_event *event)
{
    struct weir_edge_node *node = &client->nodes[place];
    bool near = weir_edge_is_near(client, now_ns, place);
    weir_edge_left_unanswered(node);
    node->next_hello_ns = now_ns + (near ? client->config.hello_period_ns : WEIR_EDGE_EXCHANGE_PERIOD_NS);
    struct weir_edge_seal seal = seal_of(client);
    struct weir_edge_header header = next_header(client, now_ns, node->token);
    emit(client, &node->address, weir_edge_message_hello(&seal, &header, client->buffer), event);
}

static void send_cancel(struct weir_edge_client *client, uint64_t now_ns, struct weir_edge_slot *slot,
                        struct weir_edge_event *event)
{
    const struct weir_edge_node *node = &client->nodes[slot->cancel_node];
    uint8_t attempt = slot->cancel_attempt;
    slot->cancel_attempt = 0;
    if (slot->state == WEIR_EDGE_SLOT_CANCELLED) {
        slot->state = WEIR_EDGE_SLOT_FREE;
    }
    struct weir_edge_seal seal = seal_of(client);
    struct weir_edge_header header = next_header(client, now_ns, node->token);
    size_t bytes = weir_edge_message_cancel(&seal, &header, slot->number, attempt, client->buffer);
    emit(client, &node->address, bytes, event);
}

static void send_task(struct weir_edge_client *client, uint64_t now_ns, struct weir_edge_slot *slot,
                      struct weir_edge_event *event)
{
    const struct weir_edge_config *config = &client->config;
    const struct weir_edge_node *node = &client->nodes[slot->node];
    uint64_t min_ns;
    uint64_t max_ns;
    (void)weir_edge_link_round_trip(&node->link, now_ns, &min_ns, &max_ns);
    uint64_t due_ns = slot->due_ns > config->margin_ns ? slot->due_ns - config->margin_ns : 0U;
    uint64_t leave_by_ns = weir_edge_link_leave_by(&node->link, now_ns, due_ns, config->share_permille,
                                                   config->uncertainty_permille);
    slot->tell_node = false;
    slot->sent++;
    slot->next_ns = now_ns + max_ns + config->answer_ns;
    struct weir_edge_seal seal = seal_of(client);
    struct weir_edge_header header = next_header(client, now_ns, node->token);
    size_t bytes = weir_edge_message_submit(&seal, &header, slot->number, slot->attempt, leave_by_ns, &slot->task,
                                            client->buffer);
    emit(client, &node->address, bytes, event);
}

static void tell(const struct weir_edge_slot *slot, enum weir_edge_event_kind kind,
                 const struct weir_edge_address *address, struct weir_edge_event *event)
{
    *event = (struct weir_edge_event){.kind = kind, .number = slot->number, .context = slot->task.context};
    if (address != NULL) {
        event->address = *address;
    }
}

// Whether there was something to be done for a task.
static bool poll_slot(struct weir_edge_client *client, uint64_t now_ns, struct weir_edge_slot *slot,
                      struct weir_edge_event *event)
{
    bool waits = slot->state == WEIR_EDGE_SLOT_ASKING || slot->state == WEIR_EDGE_SLOT_ACCEPTED;
    if (waits && !weir_edge_has_news(slot) && slot->next_ns <= now_ns) {
        slot_timeout(client, now_ns, slot);
    }
    if (slot->cancel_attempt != 0U) {
        send_cancel(client, now_ns, slot, event);
    } else if (slot->tell_given_up) {
        slot->tell_given_up = false;
        tell(slot, WEIR_EDGE_GIVEN_UP, &client->nodes[slot->given_up].address, event);
    } else if (slot->tell_accepted) {
        slot->tell_accepted = false;
        tell(slot, WEIR_EDGE_ACCEPTED, &slot->holder, event);
    } else if (slot->state == WEIR_EDGE_SLOT_ENDED) {
        slot->state = WEIR_EDGE_SLOT_FREE;
        tell(slot, slot->ending, NULL, event);
        event->refusal = slot->refusal;
        event->result = slot->result;
    } else if (slot->tell_node) {
        send_task(client, now_ns, slot, event);
    } else {
        return false;
    }
    return true;
}

void weir_edge_client_poll(struct weir_edge_client *client, uint64_t now_ns, struct weir_edge_event *event)
{
    *event = (struct weir_edge_event){.kind = WEIR_EDGE_NOTHING};
    if (client->ack) {
        send_ack(client, now_ns, event);
        return;
    }
    for (size_t i = 0; i < WEIR_EDGE_TASKS; i++) {
        if (poll_slot(client, now_ns, &client->slots[i], event)) {
            return;
        }
    }
    for (uint8_t i = 0; i < WEIR_EDGE_NODES; i++) {
        if (client->nodes[i].address.version != 0U && client->nodes[i].next_hello_ns <= now_ns) {
            send_hello(client, now_ns, i, event);
            return;
        }
    }
}

uint64_t weir_edge_client_timeout(const struct weir_edge_client *client)
{
    uint64_t at_ns = client->ack ? 0U : UINT64_MAX;
    for (size_t i = 0; i < WEIR_EDGE_TASKS; i++) {
        const struct weir_edge_slot *slot = &client->slots[i];
        if (slot->state != WEIR_EDGE_SLOT_FREE) {
            uint64_t next_ns = weir_edge_has_news(slot) ? 0U : slot->next_ns;
            at_ns = next_ns < at_ns ? next_ns : at_ns;
        }
    }
    for (size_t i = 0; i < WEIR_EDGE_NODES; i++) {
        const struct weir_edge_node *node = &client->nodes[i];
        at_ns = node->address.version != 0U && node->next_hello_ns < at_ns ? node->next_hello_ns : at_ns;
    }
    return at_ns;
}
