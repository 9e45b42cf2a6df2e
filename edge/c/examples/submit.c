// SPDX-License-Identifier: Apache-2.0
//
// submit KEY_FILE IPv4:PORT[,IPv4:PORT...] PROGRAM WCET_MS BUDGET_MS [INPUT]
//
// Hands one task to the nearest of the nodes and prints what becomes of it. The key file has 64 hexadecimal digits.
// Exit status: 0 if the program's result came in time, 1 if not, 2 if the arguments are wrong.

#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "weir_edge/mbedtls.h"
#include "weir_edge/socket.h"

static struct weir_edge_socket device;
static struct weir_edge_mbedtls hmac;
static bool ended;
static int status = EXIT_FAILURE;

static uint64_t now_ns(void *context)
{
    (void)context;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void print_event(void *context, const struct weir_edge_event *event)
{
    static const char *const refusals[] = {"", "no time", "no node", "no program", "full", "lost"};
    static const char *const exits[] = {"", "done", "overrun", "failed"};
    (void)context;
    const uint8_t *ip = event->address.ip;
    ended = event->kind != WEIR_EDGE_ACCEPTED && event->kind != WEIR_EDGE_GIVEN_UP;
    if (event->kind == WEIR_EDGE_ACCEPTED || event->kind == WEIR_EDGE_GIVEN_UP) {
        printf("%s %u.%u.%u.%u:%u\n", event->kind == WEIR_EDGE_ACCEPTED ? "accepted by" : "given up:", ip[0], ip[1],
               ip[2], ip[3], event->address.port);
    } else if (event->kind == WEIR_EDGE_RESULT) {
        bool in_time = event->result.lateness_ns <= 0;
        printf("%s, %s: %.*s\n", exits[event->result.exit], in_time ? "in time" : "late",
               (int)event->result.output_bytes, (const char *)event->result.output);
        status = in_time && event->result.exit == WEIR_EDGE_EXIT_DONE ? EXIT_SUCCESS : EXIT_FAILURE;
    } else {
        printf("%s\n", event->kind == WEIR_EDGE_LOST ? "lost" : refusals[event->refusal]);
    }
}

static bool read_key(const char *path, uint8_t key[32])
{
    FILE *file = fopen(path, "r");
    bool good = file != NULL;
    for (int i = 0; i < 32 && good; i++) {
        good = fscanf(file, "%2" SCNx8, &key[i]) == 1;
    }
    return file != NULL && fclose(file) == 0 && good;
}

static size_t read_nodes(char *list, struct weir_edge_address nodes[WEIR_EDGE_NODES])
{
    size_t count = 0;
    for (char *node = strtok(list, ","); node != NULL && count < WEIR_EDGE_NODES; node = strtok(NULL, ",")) {
        char *port = strchr(node, ':');
        nodes[count] = (struct weir_edge_address){.version = 4, .port = (uint16_t)atoi(port != NULL ? port + 1 : "0")};
        *(port != NULL ? port : node) = '\0';
        if (inet_pton(AF_INET, node, nodes[count].ip) != 1 || nodes[count].port == 0U) {
            return 0;
        }
        count++;
    }
    return count;
}

static int wrong(const char *what)
{
    (void)fprintf(stderr, "submit: %s\n", what);
    return 2;
}

int main(int argc, char **argv)
{
    uint8_t key[32];
    static uint8_t output[WEIR_EDGE_PAYLOAD_BYTES];
    struct weir_edge_address nodes[WEIR_EDGE_NODES];
    struct weir_edge_socket_config config = {.now_ns = now_ns, .on_event = print_event};
    if (argc < 6 || argc > 7) {
        return wrong("needs KEY_FILE IPv4:PORT[,IPv4:PORT...] PROGRAM WCET_MS BUDGET_MS [INPUT]");
    }
    if (!read_key(argv[1], key) || weir_edge_mbedtls_init(&hmac, key) != 0) {
        return wrong("the key file has no 64 hexadecimal digits");
    }
    config.client.answer_ns = 100000000; // nodes on a machine that others share may be slow
    config.client.hmac = weir_edge_mbedtls_hmac;
    config.client.hmac_context = &hmac;
    config.client.nodes = nodes;
    config.client.nodes_count = read_nodes(argv[2], nodes);
    if (getrandom(&config.client.session, sizeof config.client.session, 0) != sizeof config.client.session) {
        return wrong("no random numbers");
    }
    if (weir_edge_socket_open(&device, &config) != WEIR_EDGE_OK) {
        return wrong("nodes are IPv4:PORT, separated by commas, as many as WEIR_EDGE_NODES; or there is no socket");
    }
    // Half a second to hear from the nodes, and to learn how far they are.
    for (uint64_t until_ns = now_ns(NULL) + 500000000U; now_ns(NULL) < until_ns;) {
        (void)weir_edge_socket_run(&device, until_ns);
    }
    struct weir_edge_task task = {
        .program = argv[3],
        .payload = (const uint8_t *)argv[argc - 1],
        .payload_bytes = argc == 7 ? strlen(argv[6]) : 0U,
        .output = output,
        .output_bytes_max = sizeof output,
        .wcet_ns = strtoull(argv[4], NULL, 10) * 1000000U,
        .budget_ns = strtoull(argv[5], NULL, 10) * 1000000U,
    };
    enum weir_edge_status submitted = weir_edge_socket_submit(&device, &task, NULL);
    if (submitted == WEIR_EDGE_INVALID) {
        return wrong(
            "PROGRAM has 1 to 32 bytes, WCET_MS is 1 to 3600000, BUDGET_MS up to it, INPUT at most 1200 bytes");
    }
    if (submitted == WEIR_EDGE_NO_NODE) {
        printf("no node answers\n");
    }
    while (submitted == WEIR_EDGE_OK && !ended && weir_edge_socket_run(&device, UINT64_MAX) == WEIR_EDGE_OK) {
    }
    weir_edge_socket_close(&device);
    weir_edge_mbedtls_free(&hmac);
    return status;
}
