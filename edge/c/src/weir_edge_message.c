// SPDX-License-Identifier: Apache-2.0

#include "weir_edge_message.h"

#include <string.h>

static const uint8_t magic_and_version[3] = {'W', 'E', 1};

// What is left of a datagram. Once something did not fit, `left` is 0, `cut` is set, and numbers read as 0.
struct reader {
    const uint8_t *at;
    size_t left;
    bool cut;
};

// The next `count` bytes; null if there are not so many.
static const uint8_t *take(struct reader *reader, size_t count)
{
    if (count > reader->left) {
        reader->left = 0;
        reader->cut = true;
        return NULL;
    }
    const uint8_t *bytes = reader->at;
    reader->at += count;
    reader->left -= count;
    return bytes;
}

// A number of `count` bytes, up to 8.
static uint64_t take_number(struct reader *reader, size_t count)
{
    const uint8_t *bytes = take(reader, count);
    uint64_t number = 0;
    if (bytes != NULL) {
        for (size_t i = 0; i < count; i++) {
            number = number << 8 | bytes[i];
        }
    }
    return number;
}

static struct weir_edge_address take_address(struct reader *reader)
{
    struct weir_edge_address address = {.version = (uint8_t)take_number(reader, 1)};
    size_t count = address.version == 4U ? 4 : 16;
    if (address.version != 4U && address.version != 6U) {
        reader->cut = true;
    }
    const uint8_t *ip = take(reader, count);
    if (ip != NULL) {
        memcpy(address.ip, ip, count);
    }
    address.port = (uint16_t)take_number(reader, 2);
    return address;
}

// A number of one byte from 1 to `max`.
static uint8_t take_choice(struct reader *reader, uint8_t max)
{
    uint8_t number = (uint8_t)take_number(reader, 1);
    if (number < 1U || number > max) {
        reader->cut = true;
    }
    return number;
}

static void take_welcome(struct reader *reader, struct weir_edge_message *message)
{
    message->welcome.asked_at_ns = take_number(reader, 8);
    message->welcome.token = take_number(reader, 8);
    message->welcome.density = (uint32_t)take_number(reader, 4);
    message->welcome.others_count = (uint8_t)take_number(reader, 1);
    if (message->welcome.others_count > WEIR_EDGE_OTHERS) {
        reader->cut = true;
        return;
    }
    for (uint8_t i = 0; i < message->welcome.others_count; i++) {
        message->welcome.others[i] = take_address(reader);
    }
}

static void take_result(struct reader *reader, struct weir_edge_message *message)
{
    message->result.exit = (enum weir_edge_exit)take_choice(reader, WEIR_EDGE_EXIT_FAILED);
    message->result.execution_ns = take_number(reader, 8);
    message->result.output_bytes = (uint16_t)take_number(reader, 2);
    if (message->result.output_bytes > WEIR_EDGE_PAYLOAD_BYTES) {
        reader->cut = true;
    }
    message->result.output = take(reader, message->result.output_bytes);
}

static enum weir_edge_drop take_body(struct reader *reader, struct weir_edge_message *message)
{
    switch (message->type) {
    case WEIR_EDGE_WELCOME:
        take_welcome(reader, message);
        break;
    case WEIR_EDGE_ACCEPT:
        message->number = (uint32_t)take_number(reader, 4);
        message->attempt = (uint8_t)take_number(reader, 1);
        message->holder = take_address(reader);
        break;
    case WEIR_EDGE_REJECT:
        message->number = (uint32_t)take_number(reader, 4);
        message->attempt = (uint8_t)take_number(reader, 1);
        message->refusal = (enum weir_edge_refusal)take_choice(reader, WEIR_EDGE_REFUSED_LOST);
        break;
    case WEIR_EDGE_RESULT_COMES:
        message->number = (uint32_t)take_number(reader, 4);
        take_result(reader, message);
        break;
    case WEIR_EDGE_HELLO:
    case WEIR_EDGE_SUBMIT:
    case WEIR_EDGE_CANCEL:
    case WEIR_EDGE_RESULT_ACK:
        return WEIR_EDGE_DROP_UNEXPECTED;
    default:
        return message->type >= WEIR_EDGE_BETWEEN_NODES_FIRST && message->type <= WEIR_EDGE_BETWEEN_NODES_LAST
                   ? WEIR_EDGE_DROP_UNEXPECTED
                   : WEIR_EDGE_DROP_MALFORMED;
    }
    return reader->cut || reader->left > 0U ? WEIR_EDGE_DROP_MALFORMED : WEIR_EDGE_DROPS;
}

// Is the tag behind the first `length` bytes theirs?
static bool is_sealed(const struct weir_edge_seal *seal, const uint8_t *bytes, size_t length)
{
    uint8_t tag[32];
    if (seal->hmac(seal->context, bytes, length, tag) != 0) {
        return false;
    }
    uint8_t differs = 0;
    for (size_t i = 0; i < WEIR_EDGE_TAG_BYTES; i++) {
        differs |= (uint8_t)(tag[i] ^ bytes[length + i]);
    }
    return differs == 0U;
}

enum weir_edge_drop weir_edge_message_read(const struct weir_edge_seal *seal, const uint8_t *bytes, size_t length,
                                           struct weir_edge_header *header, struct weir_edge_message *message)
{
    if (length < WEIR_EDGE_HEADER_BYTES + WEIR_EDGE_TAG_BYTES || length > WEIR_EDGE_DATAGRAM_BYTES) {
        return WEIR_EDGE_DROP_LENGTH;
    }
    if (memcmp(bytes, magic_and_version, sizeof magic_and_version) != 0) {
        return WEIR_EDGE_DROP_VERSION;
    }
    size_t sealed = length - WEIR_EDGE_TAG_BYTES;
    if (!is_sealed(seal, bytes, sealed)) {
        return WEIR_EDGE_DROP_FORGED;
    }
    struct reader reader = {.at = bytes + sizeof magic_and_version, .left = sealed - sizeof magic_and_version};
    message->type = (enum weir_edge_type)take_number(&reader, 1);
    header->sender = take_number(&reader, 8);
    header->token = take_number(&reader, 8);
    header->sequence = take_number(&reader, 8);
    header->sent_at_ns = take_number(&reader, 8);
    return take_body(&reader, message);
}

// Where the next byte goes. What is written has lengths that were checked, and fits.
static uint8_t *put_number(uint8_t *out, uint64_t number, size_t count)
{
    for (size_t i = count; i > 0U; i--) {
        out[i - 1U] = (uint8_t)number;
        number >>= 8;
    }
    return out + count;
}

static uint8_t *put_bytes(uint8_t *out, const void *bytes, size_t count)
{
    if (count > 0U) { // else it may be null
        memcpy(out, bytes, count);
    }
    return out + count;
}

static uint8_t *put_header(uint8_t *out, enum weir_edge_type type, const struct weir_edge_header *header)
{
    out = put_bytes(out, magic_and_version, sizeof magic_and_version);
    out = put_number(out, (uint64_t)type, 1);
    out = put_number(out, header->sender, 8);
    out = put_number(out, header->token, 8);
    out = put_number(out, header->sequence, 8);
    return put_number(out, header->sent_at_ns, 8);
}

static size_t put_tag(const struct weir_edge_seal *seal, const uint8_t *begin, uint8_t *end)
{
    uint8_t tag[32];
    if (seal->hmac(seal->context, begin, (size_t)(end - begin), tag) != 0) {
        return 0;
    }
    return (size_t)(put_bytes(end, tag, WEIR_EDGE_TAG_BYTES) - begin);
}

size_t weir_edge_message_hello(const struct weir_edge_seal *seal, const struct weir_edge_header *header, uint8_t *out)
{
    return put_tag(seal, out, put_header(out, WEIR_EDGE_HELLO, header));
}

size_t weir_edge_message_submit(const struct weir_edge_seal *seal, const struct weir_edge_header *header,
                                uint32_t number, uint8_t attempt, uint64_t leave_by_ns,
                                const struct weir_edge_task *task, uint8_t *out)
{
    size_t program_bytes = strlen(task->program);
    uint8_t *end = put_header(out, WEIR_EDGE_SUBMIT, header);
    end = put_number(end, number, 4);
    end = put_number(end, attempt, 1);
    end = put_number(end, leave_by_ns, 8);
    end = put_number(end, task->wcet_ns, 8);
    end = put_number(end, program_bytes, 1);
    end = put_bytes(end, task->program, program_bytes);
    end = put_number(end, task->payload_bytes, 2);
    end = put_bytes(end, task->payload, task->payload_bytes);
    return put_tag(seal, out, end);
}

size_t weir_edge_message_cancel(const struct weir_edge_seal *seal, const struct weir_edge_header *header,
                                uint32_t number, uint8_t attempt, uint8_t *out)
{
    uint8_t *end = put_header(out, WEIR_EDGE_CANCEL, header);
    end = put_number(end, number, 4);
    return put_tag(seal, out, put_number(end, attempt, 1));
}

size_t weir_edge_message_result_ack(const struct weir_edge_seal *seal, const struct weir_edge_header *header,
                                    uint32_t number, uint8_t *out)
{
    uint8_t *end = put_header(out, WEIR_EDGE_RESULT_ACK, header);
    return put_tag(seal, out, put_number(end, number, 4));
}
