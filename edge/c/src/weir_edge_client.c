// SPDX-License-Identifier: Apache-2.0
//
// What comes from outside changes nodes and slots, and leaves in them what is to be told: weir_edge_poll.c tells it.

#include "weir_edge/client.h"

#include <string.h>

#include "weir_edge_link.h"
#include "weir_edge_message.h"
#include "weir_edge_nodes.h"
#include "weir_edge_replay.h"
#include "weir_edge_slot.h"

// How long after its deadline a result is still waited for, to tell late from lost.
#define LATE_MAX_NS UINT64_C(500000000)
// How old the hello may be whose answer brings a node's new session.
#define WELCOME_AGE_MAX_NS UINT64_C(1000000000)
#define BUDGET_MAX_NS UINT64_C(3600000000000)

static struct weir_edge_slot *find_slot(struct weir_edge_client *client, uint32_t number)
{
    for (size_t i = 0; i < WEIR_EDGE_TASKS; i++) {
        struct weir_edge_slot *slot = &client->slots[i];
        bool waits = slot->state == WEIR_EDGE_SLOT_ASKING || slot->state == WEIR_EDGE_SLOT_ACCEPTED;
        if (waits && slot->number == number) {
            return slot;
        }
    }
    return NULL;
}

static void accepted(struct weir_edge_slot *slot, uint8_t from, const struct weir_edge_message *message)
{
    if (message->attempt < slot->attempt && slot->state == WEIR_EDGE_SLOT_ASKING) {
        if (from != WEIR_EDGE_NOBODY) { // given up meanwhile; it may not have heard of it
            weir_edge_give_up(slot, from, message->attempt);
        }
        return;
    }
    if (slot->state == WEIR_EDGE_SLOT_ASKING || !weir_edge_same_address(&slot->holder, &message->holder)) {
        slot->tell_accepted = true;
    }
    slot->holder = message->holder;
    slot->state = WEIR_EDGE_SLOT_ACCEPTED;
    slot->tell_node = false;
    slot->next_ns = slot->due_ns + LATE_MAX_NS;
}

static void result(struct weir_edge_slot *slot, uint64_t now_ns, const struct weir_edge_message *message)
{
    size_t room = slot->task.output_bytes_max;
    size_t bytes = message->result.output_bytes < room ? message->result.output_bytes : room;
    if (bytes > 0U) { // else there may be no memory
        memcpy(slot->task.output, message->result.output, bytes);
    }
    slot->result = (struct weir_edge_result){
        .exit = message->result.exit,
        .output = slot->task.output,
        .output_bytes = bytes,
        .output_cut = message->result.output_bytes > bytes,
        .execution_ns = message->result.execution_ns,
        .lateness_ns = (int64_t)(now_ns - slot->due_ns),
    };
    weir_edge_end(slot, WEIR_EDGE_RESULT);
}

// Whether a message from the address of a node that we know is new.
static enum weir_edge_drop check_sender(struct weir_edge_node *node, uint64_t now_ns,
                                        const struct weir_edge_header *header, const struct weir_edge_message *message)
{
    if (node->session != header->sender) {
        if (message->type != WEIR_EDGE_WELCOME) {
            // Started anew, and already works for us at another node's request. Tasks are numbered once, so that a
            // recording of its answers means nothing.
            node->next_hello_ns = now_ns;
            return WEIR_EDGE_DROPS;
        }
        // Only the answer to a hello of ours brings a new session: a recording has an old time in it.
        uint64_t asked_at_ns = message->welcome.asked_at_ns;
        if (asked_at_ns > now_ns || now_ns - asked_at_ns > WELCOME_AGE_MAX_NS) {
            return WEIR_EDGE_DROP_REPLAYED;
        }
        node->session = header->sender;
        memset(&node->link, 0, sizeof node->link);
        memset(&node->window, 0, sizeof node->window);
    }
    if (!weir_edge_replay_accept(&node->window, header->sequence)) {
        return WEIR_EDGE_DROP_REPLAYED;
    }
    weir_edge_link_came(&node->link, now_ns, header->sent_at_ns);
    return WEIR_EDGE_DROPS;
}

static enum weir_edge_drop welcome(struct weir_edge_client *client, uint64_t now_ns, uint8_t from,
                                   const struct weir_edge_message *message)
{
    if (from == WEIR_EDGE_NOBODY) {
        return WEIR_EDGE_DROP_STRANGER;
    }
    struct weir_edge_node *node = &client->nodes[from];
    node->token = message->welcome.token;
    node->unanswered = 0;
    node->load = message->welcome.density / 250U;
    weir_edge_link_answered(&node->link, now_ns, message->welcome.asked_at_ns);
    for (uint8_t i = 0; i < message->welcome.others_count; i++) {
        weir_edge_learn(client, now_ns, &message->welcome.others[i]);
    }
    return WEIR_EDGE_DROPS;
}

static enum weir_edge_drop handle(struct weir_edge_client *client, uint64_t now_ns,
                                  const struct weir_edge_address *address, const struct weir_edge_header *header,
                                  const struct weir_edge_message *message)
{
    if (header->token != client->config.session) {
        return WEIR_EDGE_DROP_STRANGER;
    }
    // Machines that a node handed our task to are not known here; they have the key, and our session.
    uint8_t from = weir_edge_find_node(client, address);
    if (from != WEIR_EDGE_NOBODY) {
        enum weir_edge_drop drop = check_sender(&client->nodes[from], now_ns, header, message);
        if (drop != WEIR_EDGE_DROPS) {
            return drop;
        }
    }
    if (message->type == WEIR_EDGE_WELCOME) {
        return welcome(client, now_ns, from, message);
    }
    struct weir_edge_slot *slot = find_slot(client, message->number);
    if (message->type == WEIR_EDGE_RESULT_COMES) {
        client->ack = true;
        client->ack_number = message->number;
        client->ack_token = from == WEIR_EDGE_NOBODY ? 0U : client->nodes[from].token;
        client->ack_to = *address;
    }
    if (slot == NULL) {
        return WEIR_EDGE_DROPS; // it ended meanwhile
    }
    if (message->type == WEIR_EDGE_ACCEPT) {
        accepted(slot, from, message);
    } else if (message->type == WEIR_EDGE_RESULT_COMES) {
        result(slot, now_ns, message);
    } else if (message->attempt == slot->attempt) {
        slot->refusal = message->refusal;
        weir_edge_end(slot, WEIR_EDGE_REJECTED);
    }
    return WEIR_EDGE_DROPS;
}

static bool valid_config(const struct weir_edge_config *config)
{
    if (config->hmac == NULL || config->session == 0U || config->nodes == NULL) {
        return false;
    }
    if (config->nodes_count < 1U || config->nodes_count > WEIR_EDGE_NODES) {
        return false;
    }
    for (size_t i = 0; i < config->nodes_count; i++) {
        if (!weir_edge_valid_address(&config->nodes[i])) {
            return false;
        }
    }
    return config->share_permille <= 1000U && config->uncertainty_permille <= 10000U;
}

enum weir_edge_status weir_edge_client_init(struct weir_edge_client *client, const struct weir_edge_config *config,
                                            uint64_t now_ns)
{
    if (!valid_config(config)) {
        return WEIR_EDGE_INVALID;
    }
    memset(client, 0, sizeof *client);
    client->config = *config;
    client->config.nodes = NULL;
    client->config.share_permille = config->share_permille != 0U ? config->share_permille : 990U;
    client->config.uncertainty_permille = config->uncertainty_permille != 0U ? config->uncertainty_permille : 1000U;
    client->config.margin_ns = config->margin_ns != 0U ? config->margin_ns : 1000000U;
    client->config.closest = config->closest != 0U ? config->closest : 3U;
    client->config.hello_period_ns = config->hello_period_ns != 0U ? config->hello_period_ns : 200000000U;
    client->config.answer_ns = config->answer_ns != 0U ? config->answer_ns : 15000000U;
    client->random = config->session;
    client->next_exchange_ns = now_ns;
    for (size_t i = 0; i < config->nodes_count; i++) {
        weir_edge_learn(client, now_ns, &config->nodes[i]);
    }
    return WEIR_EDGE_OK;
}

static bool valid_task(const struct weir_edge_task *task)
{
    if (task->program == NULL || task->program[0] == '\0' ||
        memchr(task->program, '\0', WEIR_EDGE_PROGRAM_BYTES + 1U) == NULL) {
        return false;
    }
    if (task->payload_bytes > WEIR_EDGE_PAYLOAD_BYTES || (task->payload == NULL && task->payload_bytes > 0U)) {
        return false;
    }
    if (task->output == NULL && task->output_bytes_max > 0U) {
        return false;
    }
    return task->wcet_ns > 0U && task->wcet_ns <= BUDGET_MAX_NS && task->budget_ns <= BUDGET_MAX_NS;
}

enum weir_edge_status weir_edge_client_submit(struct weir_edge_client *client, uint64_t now_ns,
                                              const struct weir_edge_task *task, uint32_t *number)
{
    if (!valid_task(task)) {
        return WEIR_EDGE_INVALID;
    }
    size_t place = 0;
    while (place < WEIR_EDGE_TASKS && client->slots[place].state != WEIR_EDGE_SLOT_FREE) {
        place++;
    }
    if (place == WEIR_EDGE_TASKS) {
        return WEIR_EDGE_FULL;
    }
    uint8_t node = weir_edge_nearest(client, now_ns, 0);
    if (node == WEIR_EDGE_NOBODY) {
        return WEIR_EDGE_NO_NODE;
    }
    client->submitted++;
    client->slots[place] = (struct weir_edge_slot){
        .task = *task,
        .due_ns = now_ns + task->budget_ns,
        .number = client->submitted,
        .state = WEIR_EDGE_SLOT_ASKING,
        .node = node,
        .attempt = 1,
        .tell_node = true,
    };
    if (number != NULL) {
        *number = client->submitted;
    }
    return WEIR_EDGE_OK;
}

enum weir_edge_status weir_edge_client_cancel(struct weir_edge_client *client, uint32_t number)
{
    struct weir_edge_slot *slot = find_slot(client, number);
    if (slot == NULL) {
        return WEIR_EDGE_UNKNOWN;
    }
    slot->state = WEIR_EDGE_SLOT_CANCELLED;
    slot->tell_accepted = false;
    slot->tell_given_up = false;
    slot->tell_node = false;
    weir_edge_give_up(slot, slot->node, slot->attempt);
    return WEIR_EDGE_OK;
}

void weir_edge_client_receive(struct weir_edge_client *client, uint64_t now_ns, const struct weir_edge_address *from,
                              const uint8_t *bytes, size_t length)
{
    struct weir_edge_seal seal = {client->config.hmac, client->config.hmac_context};
    struct weir_edge_header header;
    struct weir_edge_message message;
    enum weir_edge_drop drop = weir_edge_message_read(&seal, bytes, length, &header, &message);
    if (drop == WEIR_EDGE_DROPS) {
        drop = handle(client, now_ns, from, &header, &message);
    }
    if (drop != WEIR_EDGE_DROPS) {
        client->dropped[drop]++;
    }
}

enum weir_edge_status weir_edge_client_nearest(const struct weir_edge_client *client, uint64_t now_ns,
                                               struct weir_edge_address *node, uint64_t *round_trip_ns)
{
    uint8_t place = weir_edge_nearest(client, now_ns, 0);
    if (place == WEIR_EDGE_NOBODY) {
        return WEIR_EDGE_NO_NODE;
    }
    uint64_t max_ns;
    *node = client->nodes[place].address;
    (void)weir_edge_link_round_trip(&client->nodes[place].link, now_ns, round_trip_ns, &max_ns);
    return WEIR_EDGE_OK;
}

size_t weir_edge_client_under_way(const struct weir_edge_client *client)
{
    size_t count = 0;
    for (size_t i = 0; i < WEIR_EDGE_TASKS; i++) {
        uint8_t state = client->slots[i].state;
        count += state != WEIR_EDGE_SLOT_FREE && state != WEIR_EDGE_SLOT_CANCELLED ? 1U : 0U;
    }
    return count;
}

uint32_t weir_edge_client_dropped(const struct weir_edge_client *client, enum weir_edge_drop why)
{
    return client->dropped[why];
}

uint8_t *weir_edge_client_buffer(struct weir_edge_client *client)
{
    return client->buffer;
}
