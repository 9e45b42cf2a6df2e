// SPDX-License-Identifier: Apache-2.0

#define _POSIX_C_SOURCE 200809L

#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "weir_edge/mbedtls.h"

void vectors_each(void (*take)(struct vector *line))
{
    char *text = NULL;
    size_t size = 0;
    uint32_t number = 0;
    FILE *file = fopen(VECTORS, "r");
    CHECK(file != NULL);
    while (getline(&text, &size, file) > 0) {
        number++;
        check_context("%s:%u", VECTORS, number);
        struct vector line = {.rest = NULL};
        line.name = strtok_r(text, " \n", &line.rest);
        if (line.name != NULL && line.name[0] != '#') {
            take(&line);
        }
    }
    free(text);
    CHECK(fclose(file) == 0);
    check_context("after %u lines", number);
    CHECK(number > 500U);
}

static char *next(struct vector *line)
{
    char *field = strtok_r(NULL, " \n", &line->rest);
    CHECK(field != NULL);
    return field;
}

uint64_t vector_number(struct vector *line)
{
    char *end;
    uint64_t number = strtoull(next(line), &end, 16);
    CHECK(*end == '\0');
    return number;
}

size_t vector_bytes(struct vector *line, uint8_t *out, size_t max)
{
    const char *digits = next(line);
    size_t count = strcmp(digits, "-") == 0 ? 0 : strlen(digits) / 2U;
    CHECK(count <= max);
    for (size_t i = 0; i < count; i++) {
        char pair[3] = {digits[2U * i], digits[2U * i + 1U], '\0'};
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return count;
}

struct weir_edge_address vector_address(struct vector *line)
{
    struct weir_edge_address address = {.version = (uint8_t)vector_number(line)};
    CHECK(vector_bytes(line, address.ip, sizeof address.ip) == (address.version == 4U ? 4U : 16U));
    address.port = (uint16_t)vector_number(line);
    return address;
}

static uint8_t key[32];

static void take_key(struct vector *line)
{
    if (strcmp(line->name, "key") == 0) {
        CHECK(vector_bytes(line, key, sizeof key) == sizeof key);
    }
}

struct weir_edge_seal vectors_seal(void)
{
    static struct weir_edge_mbedtls hmac;
    vectors_each(take_key);
    CHECK(weir_edge_mbedtls_init(&hmac, key) == 0);
    return (struct weir_edge_seal){weir_edge_mbedtls_hmac, &hmac};
}
