// SPDX-License-Identifier: Apache-2.0
//
// The client of weir-edge for devices: hands a task with a deadline to a machine nearby. It is told at once whether the
// task is accepted; an accepted one comes back in time.
//
//                                        +--------+
//   weir_edge_client_submit(), cancel() -> |        | -> weir_edge_client_poll(): datagrams to be sent, outcomes
//   weir_edge_client_receive()          -> | client | -> weir_edge_client_timeout(): when poll() has more
//                                        +--------+
//
// There is no input or output in it, no allocation and no clock: datagrams and times are given to it. After every call,
// poll() is called until it says that there is nothing; and again at timeout(). weir_edge/socket.h does all this on
// sockets, and is what most products call.
//
// Times are nanoseconds of any clock of the device that never goes back and never wraps. Nobody else's clock has to
// agree with it. One task (thread) at a time may be in these functions with the same client: they lock nothing. None
// is for interrupts. No function waits. What each costs is bounded by the numbers of weir_edge/limits.h, whatever is
// received: at most one HMAC, and steps in proportion to tasks, samples times nodes squared, and samples squared.

#ifndef WEIR_EDGE_CLIENT_H
#define WEIR_EDGE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir_edge/limits.h"
#include "weir_edge/port.h"

// What a function returns.
enum weir_edge_status {
    WEIR_EDGE_OK = 0,
    WEIR_EDGE_INVALID = -1, // an argument is out of the range that is given beside it; nothing was done
    WEIR_EDGE_FULL = -2,    // WEIR_EDGE_TASKS are under way
    WEIR_EDGE_NO_NODE = -3, // no node answers, or none was reached yet
    WEIR_EDGE_UNKNOWN = -4, // there is no such task, or not any more
    WEIR_EDGE_SYSTEM = -5,  // weir_edge/socket.h: the system refused, errno says why
};

// Where somebody is.
struct weir_edge_address {
    uint8_t ip[16];  // as in packets; of IPv4 the first four, the others 0
    uint16_t port;   // in the CPU's byte order
    uint8_t version; // 4 or 6
};

// What a client is told before it starts. 0 means the default. It is copied, but for what it points to.
struct weir_edge_config {
    // With what the site authenticates, see weir_edge/port.h. Not null.
    weir_edge_hmac *hmac;
    void *hmac_context; // must outlive the client

    // Random for each start, from a generator that is seeded by noise; not 0. With the number of a former start,
    // recordings of that time would pass.
    uint64_t session;

    // Nodes that it knows from the start, 1 to WEIR_EDGE_NODES. Copied. It hears of others from them: these take the
    // remaining places, and then, every two seconds, that of a node which is not one of the `closest`.
    const struct weir_edge_address *nodes;
    size_t nodes_count;

    // What is reserved for the way back: the delay that `share_permille` of the last datagrams kept, times
    // `uncertainty_permille` / 1,000, and `margin_ns`. The more, the fewer tasks are accepted and the fewer are late.
    uint16_t share_permille;       // 1 to 1,000; default 990
    uint16_t uncertainty_permille; // 1 to 10,000; default 1,000
    uint32_t margin_ns;            // default 1,000,000 (1 ms)

    // How many nodes, those with the shortest round trips, are measured every hello period; the others once in a
    // second.
    uint8_t closest;          // default 3
    uint32_t hello_period_ns; // default 200,000,000 (200 ms)

    // How much longer than the longest round trip a node's answer may take before the task is sent again, and then to
    // the next node.
    uint32_t answer_ns; // default 15,000,000 (15 ms)
};

// A task.
struct weir_edge_task {
    // Under which name nodes have the program: 1 to 32 bytes of UTF-8, ended by 0.
    const char *program;
    // Its input, up to WEIR_EDGE_PAYLOAD_BYTES; may be null if there is none.
    const uint8_t *payload;
    size_t payload_bytes;
    // Where its output is put; may be null if there is no room. What is more than fits is cut off.
    uint8_t *output;
    size_t output_bytes_max;
    // Worst-case execution time on a node; a job that exceeds it is stopped. 1 to 3,600,000,000,000 (an hour).
    uint64_t wcet_ns;
    // From now to the deadline. Up to an hour.
    uint64_t budget_ns;
    // The caller's; comes with each of the task's events.
    void *context;
};

// Why a task will not be done.
enum weir_edge_refusal {
    WEIR_EDGE_REFUSED_NO_TIME = 1,    // no node that was asked can finish it in time
    WEIR_EDGE_REFUSED_NO_NODE = 2,    // none of those that were asked answered
    WEIR_EDGE_REFUSED_NO_PROGRAM = 3, // no node that was asked has a program of this name
    WEIR_EDGE_REFUSED_FULL = 4,       // the node has as many tasks as it may
    WEIR_EDGE_REFUSED_LOST = 5,       // the machine that ran it was lost, and no other can finish it in time
};

// How a program ended.
enum weir_edge_exit {
    WEIR_EDGE_EXIT_DONE = 1,    // well; the output is its result
    WEIR_EDGE_EXIT_OVERRUN = 2, // it took longer than its worst case and was stopped
    WEIR_EDGE_EXIT_FAILED = 3,  // it could not be started, or reported failure; the output says what is known
};

// What poll() says. Of a task: at first one of ACCEPTED, REJECTED and RESULT; after ACCEPTED perhaps another one, when
// another machine had to take it over, and then one of REJECTED, RESULT and LOST. After these nothing: the task is
// ended, and its program, payload and output are the caller's again.
enum weir_edge_event_kind {
    WEIR_EDGE_NOTHING = 0,
    WEIR_EDGE_SEND,     // `datagram` is to be sent to `address`; whether that succeeds need not be reported
    WEIR_EDGE_ACCEPTED, // it will be back in time; `address` is the machine that runs it
    WEIR_EDGE_REJECTED, // it will not be done, see `refusal`: time for the fallback
    WEIR_EDGE_RESULT,   // it is back, see `result`; late if `result.lateness_ns` is above 0
    WEIR_EDGE_LOST,     // it was accepted and did not come back within 500 ms after its deadline: the fallback, too
    WEIR_EDGE_GIVEN_UP, // for those who watch: `address` does not answer, and is not counted on for this task
};

struct weir_edge_event {
    enum weir_edge_event_kind kind;
    struct weir_edge_address address;
    // SEND. In the client, until its next call.
    const uint8_t *datagram;
    size_t datagram_bytes;
    // All others: which task.
    uint32_t number;
    void *context;
    // REJECTED.
    enum weir_edge_refusal refusal;
    // RESULT.
    struct weir_edge_result {
        enum weir_edge_exit exit;
        const uint8_t *output; // the task's
        size_t output_bytes;   // what was put there
        bool output_cut;       // there was more than it holds
        uint64_t execution_ns;
        int64_t lateness_ns; // completion less deadline: negative is in time
    } result;
};

// Why a datagram that came changed nothing.
enum weir_edge_drop {
    WEIR_EDGE_DROP_LENGTH = 0, // shorter than a header and its tag, or longer than any message
    WEIR_EDGE_DROP_VERSION,    // not of this protocol, or of a version that is not known
    WEIR_EDGE_DROP_FORGED,     // its tag is not the site key's: forged, or damaged
    WEIR_EDGE_DROP_MALFORMED,  // sealed with the key, but no message
    WEIR_EDGE_DROP_REPLAYED,   // seen before
    WEIR_EDGE_DROP_STRANGER,   // for somebody else or an earlier start, or from a node that was not asked
    WEIR_EDGE_DROP_UNEXPECTED, // a message that nodes have no business to send to clients
    WEIR_EDGE_DROPS
};

struct weir_edge_client;

// Starts a client in the caller's memory, which needs not be cleared. OK or INVALID.
enum weir_edge_status weir_edge_client_init(struct weir_edge_client *client, const struct weir_edge_config *config,
                                            uint64_t now_ns);

// Hands a task to the nearest node. `*task` is copied; its program and payload must stay as they are until the task is
// accepted or ended, and its output until it is ended. *number, which may be null, becomes the task's name in events.
// OK; INVALID, FULL or NO_NODE: then nothing was begun, no event follows, and it is time for the fallback.
enum weir_edge_status weir_edge_client_submit(struct weir_edge_client *client, uint64_t now_ns,
                                              const struct weir_edge_task *task, uint32_t *number);

// Gives a task up: no event of it follows, and its memory is the caller's again. OK or UNKNOWN.
enum weir_edge_status weir_edge_client_cancel(struct weir_edge_client *client, uint32_t number);

// A datagram came. `bytes` may be the client's own buffer, see weir_edge_client_buffer(), and is not kept. Anybody may
// have sent it: what is not from the site changes nothing but one of the counters.
void weir_edge_client_receive(struct weir_edge_client *client, uint64_t now_ns, const struct weir_edge_address *from,
                              const uint8_t *bytes, size_t length);

// The next thing to be done, into *event, until there is NOTHING.
void weir_edge_client_poll(struct weir_edge_client *client, uint64_t now_ns, struct weir_edge_event *event);

// When poll() has something to say: 0 if it has now. There is always a hello to come.
uint64_t weir_edge_client_timeout(const struct weir_edge_client *client);

// The node to which a task would go now, and in *round_trip_ns its shortest round trip. OK or NO_NODE.
enum weir_edge_status weir_edge_client_nearest(const struct weir_edge_client *client, uint64_t now_ns,
                                               struct weir_edge_address *node, uint64_t *round_trip_ns);

// Tasks that are not ended.
size_t weir_edge_client_under_way(const struct weir_edge_client *client);

// Datagrams that changed nothing, for this reason, since the start. Wraps at 2^32.
uint32_t weir_edge_client_dropped(const struct weir_edge_client *client, enum weir_edge_drop why);

// No datagram is longer; by default 1,400.
#define WEIR_EDGE_DATAGRAM_BYTES (WEIR_EDGE_PAYLOAD_BYTES + 200)

// Room for a datagram to be received into, of WEIR_EDGE_DATAGRAM_BYTES + 1: one that fills it is too long. It is also
// where SEND's datagram is, so that one buffer does for both; that datagram must have been sent before.
uint8_t *weir_edge_client_buffer(struct weir_edge_client *client);

// What is in a client, so that the caller can have one: `static struct weir_edge_client client;`.
#include "weir_edge/state.h"

#endif
