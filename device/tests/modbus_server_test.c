// SPDX-License-Identifier: Apache-2.0
//
// firmware/modbus_server.c behind sockets that a script feeds, against a second implementation that sees a client's
// whole stream at once.

#include "modbus_server.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>

#include "check.h"
#include "lwip/sockets.h"
#include "message.h"
#include "soc.h"
#include "work.h"

#define CLIENTS_MAX 8U
#define STREAM_MAX 4096U
#define LISTENER 3
#define FIRST_FD 10

struct client {
    uint8_t in[STREAM_MAX]; // what it sends
    size_t in_length;
    bool ends;              // closes its side at the end of `in`
    const size_t *segments; // lengths of what arrives at once; NULL: as random numbers have it, up to segment_max
    uint32_t segment_max;
    size_t in_position;
    size_t segment_left;
    uint8_t out[STREAM_MAX]; // what it gets
    size_t out_length;
    bool accepted;
    bool closed; // by the server
    bool unsendable;
};

struct scenario weir_scenario;

static struct client clients[CLIENTS_MAX];
static uint32_t client_count;
static uint32_t accepted_count;
static uint32_t jobs;
static struct message *message;
static jmp_buf script_ended;
static struct check_random random_state = {1};

static struct client *client_of(int fd)
{
    CHECK(fd >= FIRST_FD && (uint32_t)(fd - FIRST_FD) < client_count);
    struct client *client = &clients[fd - FIRST_FD];
    CHECK(client->accepted && !client->closed);
    return client;
}

// The stubs that modbus_server.c calls.

volatile uint32_t *host_trace(void)
{
    static volatile uint32_t port[16];
    return port;
}

void message_attach(struct message *attached)
{
    message = attached;
}

void work_run(const struct scenario_task *task)
{
    CHECK(task == &weir_scenario.tasks[1]);
    // The job sees one whole request.
    CHECK(message->length >= 8U && message->length == 6U + (size_t)(message->data[4] << 8 | message->data[5]));
    CHECK(!client_of(message->socket)->closed);
    jobs++;
}

static bool is_readable(const struct client *client)
{
    bool data = client->in_position < client->in_length || client->ends;
    return client->accepted && !client->closed && data;
}

int lwip_select(int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *timeout)
{
    CHECK(write == NULL && except == NULL && timeout == NULL);
    int ready = 0;
    bool listens = FD_ISSET(LISTENER, read);
    CHECK(listens && LISTENER < count);
    if (accepted_count < client_count) {
        ready++;
    } else {
        FD_CLR(LISTENER, read);
    }
    for (uint32_t i = 0; i < client_count; i++) {
        int fd = FIRST_FD + (int)i;
        bool watched = FD_ISSET(fd, read);
        CHECK(watched == (clients[i].accepted && !clients[i].closed));
        CHECK(!watched || fd < count);
        if (is_readable(&clients[i])) {
            ready++;
        } else {
            FD_CLR(fd, read);
        }
    }
    if (ready == 0) {
        longjmp(script_ended, 1);
    }
    return ready;
}

int lwip_accept(int listener, struct sockaddr *address, socklen_t *length)
{
    CHECK(listener == LISTENER && address == NULL && length == NULL && accepted_count < client_count);
    clients[accepted_count].accepted = true;
    return FIRST_FD + (int)accepted_count++;
}

int lwip_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    (void)client_of(fd);
    if (level == IPPROTO_TCP) {
        CHECK(name == TCP_NODELAY && length == sizeof(int) && *(const int *)value == 1);
        return 0;
    }
    CHECK(level == SOL_SOCKET && name == SO_SNDTIMEO && length == sizeof(struct timeval));
    const struct timeval *patience = value;
    CHECK(patience->tv_sec == 0 && patience->tv_usec > 0); // an answer that is not read must not block for ever
    return 0;
}

ssize_t lwip_recv(int fd, void *buffer, size_t room, int flags)
{
    struct client *client = client_of(fd);
    CHECK(is_readable(client) && room > 0U && flags == 0);
    size_t left = client->in_length - client->in_position;
    if (left == 0U) {
        return 0;
    }
    if (client->segment_left == 0U) {
        client->segment_left = (client->segments == NULL) ? 1U + check_below(&random_state, client->segment_max)
                                                          : *client->segments++;
    }
    size_t length = (client->segment_left < left) ? client->segment_left : left;
    length = (length < room) ? length : room;
    memcpy(buffer, &client->in[client->in_position], length);
    client->in_position += length;
    client->segment_left -= length;
    return (ssize_t)length;
}

ssize_t lwip_send(int fd, const void *data, size_t length, int flags)
{
    struct client *client = client_of(fd);
    CHECK(flags == 0 && length >= 9U && length <= 260U);
    if (client->unsendable) {
        errno = ECONNRESET;
        return -1;
    }
    CHECK(client->out_length + length <= STREAM_MAX);
    memcpy(&client->out[client->out_length], data, length);
    client->out_length += length;
    return (ssize_t)length;
}

int lwip_close(int fd)
{
    client_of(fd)->closed = true;
    return 0;
}

// Tools.

static void serve(void)
{
    accepted_count = 0;
    jobs = 0;
    if (setjmp(script_ended) == 0) {
        modbus_server(LISTENER, &weir_scenario.tasks[1]);
    }
}

static struct client *new_client(void)
{
    CHECK(client_count < CLIENTS_MAX);
    struct client *client = &clients[client_count++];
    memset(client, 0, sizeof *client);
    client->segment_max = STREAM_MAX;
    return client;
}

static struct client *only_client(void)
{
    client_count = 0;
    return new_client();
}

static void put16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

static uint32_t get16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

// Appends a message with this PDU to what `client` sends.
static void ask(struct client *client, const uint8_t *pdu, size_t length)
{
    static uint32_t transaction;
    uint8_t *adu = &client->in[client->in_length];
    CHECK(client->in_length + 7U + length <= STREAM_MAX);
    put16(&adu[0], transaction++ * 257U);
    put16(&adu[2], 0);
    put16(&adu[4], (uint32_t)length + 1U);
    adu[6] = 0x11;
    memcpy(&adu[7], pdu, length);
    client->in_length += 7U + length;
}

static size_t pdu_short(uint8_t *pdu, uint8_t function, uint32_t a, uint32_t b)
{
    pdu[0] = function;
    put16(&pdu[1], a);
    put16(&pdu[3], b);
    return 5;
}

static size_t pdu_write(uint8_t *pdu, uint32_t first, uint32_t count)
{
    (void)pdu_short(pdu, 16, first, count);
    pdu[5] = (uint8_t)(2U * count);
    for (uint32_t i = 0; i < 2U * count; i++) {
        pdu[6U + i] = (uint8_t)check_random(&random_state);
    }
    return 6U + 2U * count;
}

// Sends one PDU and expects exactly this one back.
static void expect(const uint8_t *pdu, size_t length, const uint8_t *answer, size_t answer_length)
{
    struct client *client = only_client();
    ask(client, pdu, length);
    serve();
    CHECK(!client->closed && jobs == 1U);
    CHECK(client->out_length == 7U + answer_length);
    CHECK(memcmp(client->out, client->in, 4) == 0 && client->out[6] == client->in[6]);
    CHECK(get16(&client->out[4]) == answer_length + 1U);
    CHECK(memcmp(&client->out[7], answer, answer_length) == 0);
}

static void expect_exception(const uint8_t *pdu, size_t length, uint8_t code)
{
    uint8_t answer[2] = {pdu[0] | 0x80, code};
    expect(pdu, length, answer, 2);
}

// The reference.

static uint16_t reference_registers[MODBUS_REGISTERS];

struct answer {
    uint8_t bytes[STREAM_MAX];
    size_t length;
    bool closed;
    uint32_t jobs;
};

static void answer16(struct answer *answer, uint32_t value)
{
    put16(&answer->bytes[answer->length], value);
    answer->length += 2U;
}

static void answer8(struct answer *answer, uint32_t value)
{
    answer->bytes[answer->length++] = (uint8_t)value;
}

// Answers the message of `length` bytes at `adu` as the specification's state diagrams do.
static void reference_answer(struct answer *answer, const uint8_t *adu, size_t length)
{
    size_t start = answer->length;
    uint8_t function = adu[7];
    bool short_form = (function == 3 || function == 6) && length == 12U;
    bool long_form = function == 16 && length >= 13U;
    uint32_t first = (length >= 12U) ? get16(&adu[8]) : 0U;
    uint32_t value = (length >= 12U) ? get16(&adu[10]) : 0U;
    uint32_t count = (function == 6) ? 1U : value;
    uint32_t limit = (function == 3) ? 125U : 123U;
    uint8_t code = 0;
    if (function != 3 && function != 6 && function != 16) {
        code = 1;
    } else if (!short_form && !long_form) {
        code = 3;
    } else if (count < 1U || count > limit || (long_form && (length != 13U + 2U * count || adu[12] != 2U * count))) {
        code = 3;
    } else if (first + count > MODBUS_REGISTERS) {
        code = 2;
    }
    answer16(answer, get16(&adu[0]));
    answer16(answer, 0);
    answer16(answer, 0); // length, below
    answer8(answer, adu[6]);
    answer8(answer, (code == 0) ? function : function | 0x80U);
    if (code != 0) {
        answer8(answer, code);
    } else if (function == 3) {
        answer8(answer, 2U * count);
        for (uint32_t i = 0; i < count; i++) {
            answer16(answer, reference_registers[first + i]);
        }
    } else {
        answer16(answer, first);
        answer16(answer, value);
        for (uint32_t i = 0; i < count; i++) {
            reference_registers[first + i] = (uint16_t)((function == 6) ? value : get16(&adu[13U + 2U * i]));
        }
    }
    put16(&answer->bytes[start + 4U], (uint32_t)(answer->length - start - 6U));
    answer->jobs++;
}

static void reference_stream(struct answer *answer, const struct client *client)
{
    memset(answer, 0, sizeof *answer);
    size_t position = 0;
    while (client->in_length - position >= 7U) {
        const uint8_t *adu = &client->in[position];
        size_t length = 6U + get16(&adu[4]);
        if (get16(&adu[2]) != 0U || length < 8U || length > 260U) {
            answer->closed = true;
            return;
        }
        if (client->in_length - position < length) {
            break;
        }
        reference_answer(answer, adu, length);
        position += length;
    }
    answer->closed = client->ends;
}

static void check_as_reference(struct client *client)
{
    static struct answer answer;
    reference_stream(&answer, client);
    serve();
    CHECK(jobs == answer.jobs);
    CHECK(client->out_length == answer.length);
    CHECK(memcmp(client->out, answer.bytes, answer.length) == 0);
    CHECK(client->closed == answer.closed);
}

// Tests.

static void functions_do_what_they_say(void)
{
    uint8_t pdu[253];
    uint8_t answer[253];
    size_t length = pdu_short(pdu, 6, 127, 0xabcd);
    expect(pdu, length, pdu, length);
    (void)pdu_short(pdu, 3, 127, 1);
    expect(pdu, 5, (const uint8_t[]){3, 2, 0xab, 0xcd}, 4);
    uint8_t write[253];
    length = pdu_write(write, 2, 123);
    expect(write, length, write, 5);
    (void)pdu_short(pdu, 3, 2, 123);
    answer[0] = 3;
    answer[1] = 246;
    memcpy(&answer[2], &write[6], 246);
    expect(pdu, 5, answer, 248);
    // The longest answer: registers 3 to 127, of which the last three are written one by one.
    static const uint16_t last[3] = {0x1111, 0x2222, 0x3333};
    for (uint32_t i = 0; i < 3U; i++) {
        (void)pdu_short(pdu, 6, 125U + i, last[i]);
        expect(pdu, 5, pdu, 5);
        put16(&answer[246U + 2U * i], last[i]);
    }
    (void)pdu_short(pdu, 3, 3, 125);
    answer[1] = 250;
    memcpy(&answer[2], &write[8], 244);
    expect(pdu, 5, answer, 252);
}

static void unknown_functions_are_exception_1(void)
{
    for (uint32_t function = 0; function <= 255U; function++) {
        if (function != 3U && function != 6U && function != 16U) {
            check_context("function %u", function);
            uint8_t pdu[5] = {(uint8_t)function, 0, 0, 0, 1};
            expect_exception(pdu, 5, 1);
            expect_exception(pdu, 1, 1);
        }
    }
}

static void limits_are_kept(void)
{
    uint8_t pdu[253];
    static const struct {
        uint8_t function;
        uint32_t first;
        uint32_t count;
        uint8_t code; // 0: none
    } cases[] = {
        {3, 0, 0, 3},      {3, 0, 126, 3},      {3, 0, 65535, 3}, {3, 128, 1, 2},  {3, 127, 2, 2},  {3, 4, 125, 2},
        {3, 65535, 1, 2},  {3, 65535, 125, 2},  {3, 127, 1, 0},   {3, 3, 125, 0},  {6, 128, 5, 2},  {6, 65535, 5, 2},
        {6, 127, 5, 0},    {6, 0, 65535, 0},    {16, 0, 0, 3},    {16, 128, 1, 2}, {16, 6, 123, 2}, {16, 5, 123, 0},
        {16, 65535, 2, 2}, {16, 65535, 123, 2}, {16, 127, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("case %zu", i);
        size_t length = (cases[i].function == 16) ? pdu_write(pdu, cases[i].first, cases[i].count)
                                                  : pdu_short(pdu, cases[i].function, cases[i].first, cases[i].count);
        if (cases[i].code != 0) {
            expect_exception(pdu, length, cases[i].code);
        } else {
            struct client *client = only_client();
            ask(client, pdu, length);
            serve();
            CHECK(client->out[7] == cases[i].function);
        }
    }
}

static void wrong_lengths_are_exception_3(void)
{
    uint8_t pdu[253] = {0};
    for (size_t length = 1; length <= 253U; length++) {
        check_context("length %zu", length);
        (void)pdu_short(pdu, 3, 0, 1);
        if (length != 5U) {
            expect_exception(pdu, length, 3);
            pdu[0] = 6;
            expect_exception(pdu, length, 3);
        }
        (void)pdu_write(pdu, 0, 7);
        if (length != 20U) {
            expect_exception(pdu, length, 3);
        }
    }
    (void)pdu_write(pdu, 0, 7);
    pdu[5] = 13;
    expect_exception(pdu, 20, 3);
    (void)pdu_short(pdu, 16, 0, 124);
    pdu[5] = 248;
    expect_exception(pdu, 253, 3);
    put16(&pdu[3], 135); // twice that is 14 in eight bits
    pdu[5] = 14;
    expect_exception(pdu, 20, 3);
}

static void some_requests(struct client *client)
{
    uint8_t pdu[253];
    ask(client, pdu, pdu_short(pdu, 6, 9, 0xbeef));
    ask(client, pdu, pdu_write(pdu, 10, 20));
    ask(client, pdu, pdu_short(pdu, 3, 8, 30));
    ask(client, pdu, pdu_short(pdu, 7, 0, 0));
    ask(client, pdu, pdu_write(pdu, 0, 123));
    ask(client, pdu, pdu_short(pdu, 3, 0, 125));
}

static void requests_may_be_cut_anywhere(void)
{
    for (size_t cut = 1; cut < 600U; cut++) {
        check_context("cut at %zu", cut);
        random_state.state = 7;
        struct client *client = only_client();
        some_requests(client);
        const size_t segments[2] = {cut, STREAM_MAX};
        client->segments = segments;
        client->ends = cut % 2U == 0U;
        if (cut < client->in_length) {
            check_as_reference(client);
        }
    }
    for (uint32_t segment_max = 1; segment_max < 40U; segment_max++) { // 1: byte by byte
        struct client *client = only_client();
        some_requests(client);
        client->segment_max = segment_max;
        check_as_reference(client);
    }
}

static void requests_may_come_together(void)
{
    struct client *client = only_client();
    uint8_t pdu[5];
    for (uint32_t i = 0; i < 128U; i++) {
        ask(client, pdu, pdu_short(pdu, 6, i, i * 3U));
    }
    check_as_reference(client);
    CHECK(jobs == 128U);
}

static void incomplete_requests_wait(void)
{
    uint8_t pdu[253];
    struct client *client = only_client();
    ask(client, pdu, pdu_write(pdu, 0, 123));
    CHECK(client->in_length == 259U);
    client->in_length--;
    serve();
    CHECK(!client->closed && client->out_length == 0U && jobs == 0U);
}

static void broken_framing_disconnects(void)
{
    static const struct {
        uint32_t protocol;
        uint32_t length;
        bool closes;
    } cases[] = {
        {1, 6, true},   {256, 6, true}, {65535, 6, true}, {0, 0, true},  {0, 1, true},
        {0, 255, true}, {0, 256, true}, {0, 65535, true}, {0, 2, false}, {0, 254, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("case %zu", i);
        struct client *client = only_client();
        uint8_t pdu[5];
        ask(client, pdu, pdu_short(pdu, 3, 0, 1));
        size_t second = client->in_length;
        ask(client, pdu, pdu_short(pdu, 3, 0, 1));
        put16(&client->in[second + 2U], cases[i].protocol);
        put16(&client->in[second + 4U], cases[i].length);
        check_as_reference(client);
        CHECK(client->closed == cases[i].closes);
        CHECK(client->out_length >= 11U); // the first one was answered
    }
}

static void a_connection_that_cannot_send_is_closed(void)
{
    struct client *client = only_client();
    some_requests(client);
    client->unsendable = true;
    serve();
    CHECK(client->closed && jobs == 1U);
}

static void connections_are_served_side_by_side(void)
{
    client_count = 0;
    for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = new_client();
        uint8_t pdu[5];
        client->segment_max = 5;
        for (uint32_t request = 0; request < 100U; request++) {
            ask(client, pdu, pdu_short(pdu, 6, i, request));
        }
    }
    serve();
    for (uint32_t i = 0; i < CLIENTS_MAX; i++) { // beyond the fourth there is no room
        CHECK(clients[i].closed == (i >= MODBUS_CONNECTIONS));
        CHECK(clients[i].out_length == ((i >= MODBUS_CONNECTIONS) ? 0U : 1200U));
    }
    CHECK(jobs == 100U * MODBUS_CONNECTIONS);
}

static void a_closed_connection_makes_room(void)
{
    client_count = 0;
    for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = new_client();
        uint8_t pdu[5];
        ask(client, pdu, pdu_short(pdu, 3, 0, 1));
        client->ends = true;
    }
    serve();
    for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
        CHECK(clients[i].closed && clients[i].out_length == 11U);
    }
}

// A stream of requests, some of them damaged.
static void random_stream(struct client *client)
{
    uint8_t pdu[253];
    while (client->in_length < STREAM_MAX / 8U) {
        size_t start = client->in_length;
        uint32_t first = check_below(&random_state, check_once_in(&random_state, 4) ? 65536 : 130);
        uint32_t count = check_below(&random_state, check_once_in(&random_state, 4) ? 65536 : 130);
        switch (check_below(&random_state, 4)) {
        case 0:
            ask(client, pdu, pdu_short(pdu, 3, first, count));
            break;
        case 1:
            ask(client, pdu, pdu_short(pdu, 6, first, count));
            break;
        case 2:
            ask(client, pdu, pdu_write(pdu, first, count % 124U));
            break;
        default:
            for (size_t i = 0; i < sizeof pdu; i++) {
                pdu[i] = (uint8_t)check_random(&random_state);
            }
            ask(client, pdu, 1U + check_below(&random_state, 253));
            break;
        }
        if (check_once_in(&random_state, 6)) {
            size_t at = start + check_below(&random_state, (uint32_t)(client->in_length - start));
            client->in[at] = (uint8_t)check_random(&random_state);
        }
    }
}

static void random_requests_are_answered_as_by_the_reference(void)
{
    for (uint64_t seed = 1; seed <= 20000U; seed++) {
        check_context("seed %llu", (unsigned long long)seed);
        random_state.state = seed;
        struct client *client = only_client();
        random_stream(client);
        client->segment_max = 1U + check_below(&random_state, 300);
        client->ends = check_once_in(&random_state, 2);
        check_as_reference(client);
    }
}

static void random_bytes_are_answered_or_disconnected(void)
{
    for (uint64_t seed = 1; seed <= 50000U; seed++) {
        check_context("seed %llu", (unsigned long long)seed);
        random_state.state = seed;
        struct client *client = only_client();
        client->in_length = check_below(&random_state, 600);
        for (size_t i = 0; i < client->in_length; i++) {
            client->in[i] = (uint8_t)check_random(&random_state);
        }
        for (size_t i = 0; i + 6U < client->in_length && check_below(&random_state, 3) != 0U; i += 12U) {
            put16(&client->in[i + 2U], 0); // a header that gets through
            put16(&client->in[i + 4U], 6);
        }
        client->segment_max = 1U + check_below(&random_state, 300);
        client->ends = check_once_in(&random_state, 2);
        check_as_reference(client);
    }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"functions do what they say", functions_do_what_they_say},
        {"unknown functions are exception 1", unknown_functions_are_exception_1},
        {"limits are kept", limits_are_kept},
        {"wrong lengths are exception 3", wrong_lengths_are_exception_3},
        {"requests may be cut anywhere", requests_may_be_cut_anywhere},
        {"requests may come together", requests_may_come_together},
        {"incomplete requests wait", incomplete_requests_wait},
        {"broken framing disconnects", broken_framing_disconnects},
        {"a connection that cannot send is closed", a_connection_that_cannot_send_is_closed},
        {"connections are served side by side", connections_are_served_side_by_side},
        {"a closed connection makes room", a_closed_connection_makes_room},
        {"random requests are answered as by the reference", random_requests_are_answered_as_by_the_reference},
        {"random bytes are answered or disconnected", random_bytes_are_answered_or_disconnected},
    };
    CHECK(argc == 2);
    return check_run("modbus_server", tests, sizeof tests / sizeof tests[0], argv[1]);
}
