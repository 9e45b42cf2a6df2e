// SPDX-License-Identifier: Apache-2.0
//
// The codec against what the Rust one writes, and against datagrams that are cut, changed, too long or forged.

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "vectors.h"
#include "weir_edge_message.h"

static struct weir_edge_seal seal;
static uint32_t vectors;

static bool same_address(struct weir_edge_address a, struct weir_edge_address b)
{
    return a.version == b.version && a.port == b.port && memcmp(a.ip, b.ip, sizeof a.ip) == 0;
}

// Reads from memory of exactly this size, so that the sanitizer sees each byte too many.
static enum weir_edge_drop read_exactly(const uint8_t *bytes, size_t length, struct weir_edge_header *header,
                                        struct weir_edge_message *message)
{
    uint8_t *copy = malloc(length > 0U ? length : 1U);
    CHECK(copy != NULL);
    memcpy(copy, bytes, length);
    enum weir_edge_drop drop = weir_edge_message_read(&seal, copy, length, header, message);
    if (drop == WEIR_EDGE_DROPS && message->type == WEIR_EDGE_RESULT_COMES) {
        size_t at = (size_t)(message->result.output - copy);
        CHECK(at + message->result.output_bytes == length - WEIR_EDGE_TAG_BYTES);
        message->result.output = bytes + at;
    }
    free(copy);
    return drop;
}

// Seals the first `length` bytes again.
static size_t seal_again(uint8_t *bytes, size_t length)
{
    uint8_t tag[32];
    CHECK(seal.hmac(seal.context, bytes, length, tag) == 0);
    memcpy(bytes + length, tag, WEIR_EDGE_TAG_BYTES);
    return length + WEIR_EDGE_TAG_BYTES;
}

struct datagram {
    uint8_t bytes[WEIR_EDGE_DATAGRAM_BYTES + 100];
    size_t length;
};

static struct datagram take_datagram(struct vector *line)
{
    struct datagram datagram = {.length = 0};
    datagram.length = vector_bytes(line, datagram.bytes, sizeof datagram.bytes);
    vectors++;
    return datagram;
}

static void is_header(struct weir_edge_header a, struct weir_edge_header b)
{
    CHECK(a.sender == b.sender && a.token == b.token && a.sequence == b.sequence && a.sent_at_ns == b.sent_at_ns);
}

static void is_written(const uint8_t *written, size_t length, struct vector *line)
{
    struct datagram datagram = take_datagram(line);
    CHECK(length == datagram.length && memcmp(written, datagram.bytes, length) == 0);
    struct weir_edge_header header;
    struct weir_edge_message message;
    CHECK(read_exactly(datagram.bytes, length, &header, &message) == WEIR_EDGE_DROP_UNEXPECTED);
}

static void takes_submit(struct vector *line, const struct weir_edge_header *header)
{
    static uint8_t payload[WEIR_EDGE_PAYLOAD_BYTES];
    uint8_t out[WEIR_EDGE_DATAGRAM_BYTES];
    char program[WEIR_EDGE_PROGRAM_BYTES + 1U];
    struct weir_edge_task task = {.program = program, .payload = payload};
    uint32_t number = (uint32_t)vector_number(line);
    uint8_t attempt = (uint8_t)vector_number(line);
    uint64_t leave_by_ns = vector_number(line);
    task.wcet_ns = vector_number(line);
    program[vector_bytes(line, (uint8_t *)program, WEIR_EDGE_PROGRAM_BYTES)] = '\0';
    task.payload_bytes = vector_bytes(line, payload, sizeof payload);
    is_written(out, weir_edge_message_submit(&seal, header, number, attempt, leave_by_ns, &task, out), line);
}

// What clients send: is what we write.
static void takes_own(struct vector *line, const struct weir_edge_header *header)
{
    uint8_t out[WEIR_EDGE_DATAGRAM_BYTES];
    if (strcmp(line->name, "hello") == 0) {
        is_written(out, weir_edge_message_hello(&seal, header, out), line);
    } else if (strcmp(line->name, "submit") == 0) {
        takes_submit(line, header);
    } else if (strcmp(line->name, "cancel") == 0) {
        uint32_t number = (uint32_t)vector_number(line);
        uint8_t attempt = (uint8_t)vector_number(line);
        is_written(out, weir_edge_message_cancel(&seal, header, number, attempt, out), line);
    } else {
        CHECK(strcmp(line->name, "result_ack") == 0);
        uint32_t number = (uint32_t)vector_number(line);
        is_written(out, weir_edge_message_result_ack(&seal, header, number, out), line);
    }
}

static void is_welcome(struct vector *line, const struct weir_edge_message *expected, const struct datagram *datagram,
                       const struct weir_edge_header *header)
{
    struct weir_edge_header read;
    struct weir_edge_message message;
    (void)line;
    CHECK(read_exactly(datagram->bytes, datagram->length, &read, &message) == WEIR_EDGE_DROPS);
    is_header(read, *header);
    CHECK(message.type == WEIR_EDGE_WELCOME && message.welcome.asked_at_ns == expected->welcome.asked_at_ns);
    CHECK(message.welcome.token == expected->welcome.token && message.welcome.density == expected->welcome.density);
    CHECK(message.welcome.others_count == expected->welcome.others_count);
    for (uint8_t i = 0; i < expected->welcome.others_count; i++) {
        CHECK(same_address(message.welcome.others[i], expected->welcome.others[i]));
    }
}

static void takes_welcome(struct vector *line, const struct weir_edge_header *header)
{
    struct weir_edge_message expected = {.type = WEIR_EDGE_WELCOME};
    expected.welcome.asked_at_ns = vector_number(line);
    expected.welcome.token = vector_number(line);
    expected.welcome.density = (uint32_t)vector_number(line);
    expected.welcome.others_count = (uint8_t)vector_number(line);
    CHECK(expected.welcome.others_count <= WEIR_EDGE_OTHERS);
    for (uint8_t i = 0; i < expected.welcome.others_count; i++) {
        expected.welcome.others[i] = vector_address(line);
    }
    struct datagram datagram = take_datagram(line);
    is_welcome(line, &expected, &datagram, header);
}

// What nodes send to clients: is read as it was meant.
static void takes_foreign(struct vector *line, const struct weir_edge_header *header)
{
    static uint8_t output[WEIR_EDGE_PAYLOAD_BYTES];
    struct weir_edge_header read;
    struct weir_edge_message message;
    struct weir_edge_message expected = {.number = (uint32_t)vector_number(line)};
    bool has_attempt = strcmp(line->name, "result") != 0;
    if (has_attempt) {
        expected.attempt = (uint8_t)vector_number(line);
    }
    if (strcmp(line->name, "accept") == 0) {
        expected.holder = vector_address(line);
    } else if (strcmp(line->name, "reject") == 0) {
        expected.refusal = (enum weir_edge_refusal)vector_number(line);
    } else {
        expected.result.exit = (enum weir_edge_exit)vector_number(line);
        expected.result.execution_ns = vector_number(line);
        expected.result.output_bytes = (uint16_t)vector_bytes(line, output, sizeof output);
    }
    struct datagram datagram = take_datagram(line);
    CHECK(read_exactly(datagram.bytes, datagram.length, &read, &message) == WEIR_EDGE_DROPS);
    is_header(read, *header);
    CHECK(message.number == expected.number && (!has_attempt || message.attempt == expected.attempt));
    if (message.type == WEIR_EDGE_ACCEPT) {
        CHECK(strcmp(line->name, "accept") == 0 && same_address(message.holder, expected.holder));
    } else if (message.type == WEIR_EDGE_REJECT) {
        CHECK(strcmp(line->name, "reject") == 0 && message.refusal == expected.refusal);
    } else {
        CHECK(message.type == WEIR_EDGE_RESULT_COMES && message.result.exit == expected.result.exit);
        CHECK(message.result.execution_ns == expected.result.execution_ns);
        CHECK(message.result.output_bytes == expected.result.output_bytes);
        CHECK(memcmp(message.result.output, output, expected.result.output_bytes) == 0);
    }
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

static const char *const own[] = {"hello", "submit", "cancel", "result_ack", NULL};
static const char *const foreign[] = {"accept", "reject", "result", NULL};

static void takes_message(struct vector *line)
{
    bool welcome = strcmp(line->name, "welcome") == 0;
    bool unexpected = strcmp(line->name, "unexpected") == 0;
    if (!welcome && !unexpected && !is_one_of(line->name, own) && !is_one_of(line->name, foreign)) {
        return;
    }
    struct weir_edge_header header = {.sender = vector_number(line)};
    header.token = vector_number(line);
    header.sequence = vector_number(line);
    header.sent_at_ns = vector_number(line);
    if (welcome) {
        takes_welcome(line, &header);
    } else if (unexpected) {
        struct weir_edge_message message;
        struct datagram datagram = take_datagram(line);
        CHECK(read_exactly(datagram.bytes, datagram.length, &header, &message) == WEIR_EDGE_DROP_UNEXPECTED);
    } else if (is_one_of(line->name, own)) {
        takes_own(line, &header);
    } else {
        takes_foreign(line, &header);
    }
}

static void both_codecs_are_alike(void)
{
    seal = vectors_seal();
    vectors_each(takes_message);
    CHECK(vectors == 16U * 4U);
}

// Calls `spoil` with each datagram that nodes send to clients.
static void (*spoil)(struct datagram *datagram);

static void spoils_line(struct vector *line)
{
    if (strcmp(line->name, "welcome") != 0 && !is_one_of(line->name, foreign)) {
        return;
    }
    char *last = strrchr(line->rest, ' ');
    CHECK(last != NULL);
    line->rest = last;
    struct datagram datagram = take_datagram(line);
    spoil(&datagram);
}

static void spoil_all(void (*how)(struct datagram *datagram))
{
    seal = vectors_seal();
    spoil = how;
    vectors_each(spoils_line);
    CHECK(vectors == 4U * 4U);
}

static void cuts(struct datagram *datagram)
{
    struct weir_edge_header header;
    struct weir_edge_message message;
    size_t shortest = WEIR_EDGE_HEADER_BYTES + WEIR_EDGE_TAG_BYTES;
    for (size_t length = 0; length < datagram->length; length++) {
        enum weir_edge_drop drop = read_exactly(datagram->bytes, length, &header, &message);
        CHECK(drop == (length < shortest ? WEIR_EDGE_DROP_LENGTH : WEIR_EDGE_DROP_FORGED));
    }
    struct datagram original = *datagram;
    for (size_t length = 0; length < original.length - WEIR_EDGE_TAG_BYTES; length++) {
        *datagram = original;
        enum weir_edge_drop drop = read_exactly(datagram->bytes, seal_again(datagram->bytes, length), &header,
                                                &message);
        CHECK(drop == (length < WEIR_EDGE_HEADER_BYTES ? WEIR_EDGE_DROP_LENGTH : WEIR_EDGE_DROP_MALFORMED));
    }
}

static void datagrams_that_are_cut_are_dropped(void)
{
    spoil_all(cuts);
}

static void lengthens(struct datagram *datagram)
{
    struct weir_edge_header header;
    struct weir_edge_message message;
    size_t sealed = datagram->length - WEIR_EDGE_TAG_BYTES;
    for (size_t more = 1; sealed + more + WEIR_EDGE_TAG_BYTES <= sizeof datagram->bytes && more < 300U; more++) {
        memset(datagram->bytes + sealed, 0, more);
        size_t length = seal_again(datagram->bytes, sealed + more);
        enum weir_edge_drop drop = read_exactly(datagram->bytes, length, &header, &message);
        CHECK(drop == (length > WEIR_EDGE_DATAGRAM_BYTES ? WEIR_EDGE_DROP_LENGTH : WEIR_EDGE_DROP_MALFORMED));
    }
}

static void datagrams_that_are_too_long_are_dropped(void)
{
    spoil_all(lengthens);
}

static void flips(struct datagram *datagram)
{
    struct weir_edge_header header;
    struct weir_edge_message message;
    for (size_t bit = 0; bit < 8U * datagram->length; bit++) {
        datagram->bytes[bit / 8U] ^= (uint8_t)(1U << bit % 8U);
        enum weir_edge_drop drop = read_exactly(datagram->bytes, datagram->length, &header, &message);
        CHECK(drop == (bit / 8U < 3U ? WEIR_EDGE_DROP_VERSION : WEIR_EDGE_DROP_FORGED));
        datagram->bytes[bit / 8U] ^= (uint8_t)(1U << bit % 8U);
    }
}

static void datagrams_with_a_changed_bit_are_forged(void)
{
    spoil_all(flips);
}

// Every value of every byte up to the longest fixed part, and one bit of those behind. What the parser lets through
// must be within its ranges; that it reads no byte too many is the sanitizer's to see.
static void changes(struct datagram *datagram)
{
    size_t sealed = datagram->length - WEIR_EDGE_TAG_BYTES;
    struct datagram original = *datagram;
    for (size_t at = 3; at < sealed; at++) {
        for (uint32_t value = 0; value < (at < 80U ? 256U : 2U); value++) {
            *datagram = original;
            datagram->bytes[at] = (uint8_t)(at < 80U ? value : datagram->bytes[at] ^ 1U << value);
            struct weir_edge_header header;
            struct weir_edge_message message;
            size_t length = seal_again(datagram->bytes, sealed);
            enum weir_edge_drop drop = read_exactly(datagram->bytes, length, &header, &message);
            CHECK(drop == WEIR_EDGE_DROPS || drop == WEIR_EDGE_DROP_MALFORMED || drop == WEIR_EDGE_DROP_UNEXPECTED);
            CHECK(drop != WEIR_EDGE_DROP_UNEXPECTED || at == 3U);
            if (drop == WEIR_EDGE_DROPS && message.type == WEIR_EDGE_WELCOME) {
                CHECK(message.welcome.others_count <= WEIR_EDGE_OTHERS);
            } else if (drop == WEIR_EDGE_DROPS && message.type == WEIR_EDGE_REJECT) {
                CHECK(message.refusal >= WEIR_EDGE_REFUSED_NO_TIME && message.refusal <= WEIR_EDGE_REFUSED_LOST);
            } else if (drop == WEIR_EDGE_DROPS && message.type == WEIR_EDGE_RESULT_COMES) {
                CHECK(message.result.exit >= WEIR_EDGE_EXIT_DONE && message.result.exit <= WEIR_EDGE_EXIT_FAILED);
                CHECK(message.result.output_bytes <= WEIR_EDGE_PAYLOAD_BYTES);
            }
        }
    }
}

static void sealed_datagrams_with_a_changed_byte_are_read_within_bounds(void)
{
    spoil_all(changes);
}

// 1,201 bytes fit into a datagram, but are not allowed.
static void outputs_that_are_too_long_are_malformed(void)
{
    struct datagram datagram = {.bytes = {'W', 'E', 1, WEIR_EDGE_RESULT_COMES}};
    struct weir_edge_header header;
    struct weir_edge_message message;
    seal = vectors_seal();
    size_t begin = WEIR_EDGE_HEADER_BYTES + 4U;
    datagram.bytes[begin] = WEIR_EDGE_EXIT_DONE;
    for (size_t output = 0; output <= WEIR_EDGE_PAYLOAD_BYTES + 1U; output++) {
        datagram.bytes[begin + 9U] = (uint8_t)(output >> 8);
        datagram.bytes[begin + 10U] = (uint8_t)output;
        size_t length = seal_again(datagram.bytes, begin + 11U + output);
        enum weir_edge_drop drop = read_exactly(datagram.bytes, length, &header, &message);
        CHECK(drop == (output <= WEIR_EDGE_PAYLOAD_BYTES ? WEIR_EDGE_DROPS : WEIR_EDGE_DROP_MALFORMED));
        memset(datagram.bytes + begin + 11U + output, 0, WEIR_EDGE_TAG_BYTES);
    }
}

static int fails(void *context, const uint8_t *bytes, size_t length, uint8_t tag[32])
{
    (void)context;
    (void)bytes;
    (void)length;
    (void)tag;
    return -1;
}

static void nothing_is_sent_or_believed_if_the_hash_fails(void)
{
    uint8_t out[WEIR_EDGE_DATAGRAM_BYTES];
    struct weir_edge_header header = {.sender = 1};
    struct weir_edge_message message;
    struct weir_edge_seal broken = {fails, NULL};
    seal = vectors_seal();
    size_t length = weir_edge_message_hello(&seal, &header, out);
    CHECK(length == WEIR_EDGE_HEADER_BYTES + WEIR_EDGE_TAG_BYTES);
    CHECK(weir_edge_message_read(&broken, out, length, &header, &message) == WEIR_EDGE_DROP_FORGED);
    CHECK(weir_edge_message_hello(&broken, &header, out) == 0U);
    CHECK(weir_edge_message_cancel(&broken, &header, 1, 1, out) == 0U);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"every message is written and read as the Rust codec does", both_codecs_are_alike},
        {"cut at every length, also sealed again: dropped", datagrams_that_are_cut_are_dropped},
        {"lengthened, sealed again: dropped", datagrams_that_are_too_long_are_dropped},
        {"every bit flipped: forged", datagrams_with_a_changed_bit_are_forged},
        {"every byte changed, sealed again: within bounds",
         sealed_datagrams_with_a_changed_byte_are_read_within_bounds},
        {"outputs of up to 1,200 bytes, and one more", outputs_that_are_too_long_are_malformed},
        {"nothing is sent or believed if the hash fails", nothing_is_sent_or_believed_if_the_hash_fails},
    };
    CHECK(argc == 2);
    return check_run("weir_edge_message", tests, sizeof tests / sizeof tests[0], argv[1]);
}
