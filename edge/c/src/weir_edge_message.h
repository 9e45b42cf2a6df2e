// SPDX-License-Identifier: Apache-2.0
//
// The datagrams, as edge/src/core/message.rs has them: version 1, numbers with the most significant byte first, times
// in nanoseconds.
//
//   0        2     3     4        12       20         28        36
//   +--------+-----+-----+--------+--------+----------+---------+------ - - ------+----------+
//   | "WE"   | 1   | type| sender | token  | sequence | sent at | body            | tag (16) |
//   +--------+-----+-----+--------+--------+----------+---------+------ - - ------+----------+

#ifndef WEIR_EDGE_MESSAGE_H
#define WEIR_EDGE_MESSAGE_H

#include "weir_edge/client.h"

#define WEIR_EDGE_HEADER_BYTES 36U
#define WEIR_EDGE_TAG_BYTES 16U
#define WEIR_EDGE_PROGRAM_BYTES 32U
#define WEIR_EDGE_OTHERS 8U

enum weir_edge_type {
    WEIR_EDGE_HELLO = 1,
    WEIR_EDGE_WELCOME = 2,
    WEIR_EDGE_SUBMIT = 3,
    WEIR_EDGE_CANCEL = 4,
    WEIR_EDGE_ACCEPT = 5,
    WEIR_EDGE_REJECT = 6,
    WEIR_EDGE_RESULT_COMES = 7,
    WEIR_EDGE_RESULT_ACK = 8,
    // From here on between nodes.
    WEIR_EDGE_BETWEEN_NODES_FIRST = 16,
    WEIR_EDGE_BETWEEN_NODES_LAST = 23,
};

// What every datagram begins with.
struct weir_edge_header {
    uint64_t sender;     // the sender's session
    uint64_t token;      // what its receiver gave it; to a client, the client's session
    uint64_t sequence;   // counts what the sender sent, from 1
    uint64_t sent_at_ns; // in the sender's clock
};

// What nodes say to clients.
struct weir_edge_message {
    enum weir_edge_type type;
    uint32_t number; // ACCEPT, REJECT, RESULT: which of the client's tasks
    uint8_t attempt; // ACCEPT, REJECT
    union {
        struct {
            uint64_t asked_at_ns; // `sent_at_ns` of the hello
            uint64_t token;
            uint32_t density; // of the node, in thousandths
            uint8_t others_count;
            struct weir_edge_address others[WEIR_EDGE_OTHERS];
        } welcome;
        struct weir_edge_address holder; // ACCEPT
        enum weir_edge_refusal refusal;  // REJECT
        struct {
            enum weir_edge_exit exit;
            uint64_t execution_ns;
            const uint8_t *output; // in the datagram
            uint16_t output_bytes;
        } result;
    };
};

// With what is sealed.
struct weir_edge_seal {
    weir_edge_hmac *hmac;
    void *context;
};

// Reads a datagram that came. WEIR_EDGE_DROPS: all is well; else why it is to be dropped, and what is in *header and
// *message means nothing. Reads `length` bytes and no more; takes the same time wherever a tag is wrong.
enum weir_edge_drop weir_edge_message_read(const struct weir_edge_seal *seal, const uint8_t *bytes, size_t length,
                                           struct weir_edge_header *header, struct weir_edge_message *message);

// Each writes a datagram into out[WEIR_EDGE_DATAGRAM_BYTES] and returns its bytes; 0 if it could not be sealed.
size_t weir_edge_message_hello(const struct weir_edge_seal *seal, const struct weir_edge_header *header, uint8_t *out);
// The task's program and payload have lengths that were checked.
size_t weir_edge_message_submit(const struct weir_edge_seal *seal, const struct weir_edge_header *header,
                                uint32_t number, uint8_t attempt, uint64_t leave_by_ns,
                                const struct weir_edge_task *task, uint8_t *out);
size_t weir_edge_message_cancel(const struct weir_edge_seal *seal, const struct weir_edge_header *header,
                                uint32_t number, uint8_t attempt, uint8_t *out);
size_t weir_edge_message_result_ack(const struct weir_edge_seal *seal, const struct weir_edge_header *header,
                                    uint32_t number, uint8_t *out);

#endif
