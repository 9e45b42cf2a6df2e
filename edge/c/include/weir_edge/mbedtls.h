// SPDX-License-Identifier: Apache-2.0
//
// HMAC-SHA-256 for weir_edge/port.h over mbedTLS 2.28 or 3.x. What depends on the key alone is hashed once.

#ifndef WEIR_EDGE_MBEDTLS_H
#define WEIR_EDGE_MBEDTLS_H

#include <mbedtls/sha256.h>

#include "weir_edge/port.h"

struct weir_edge_mbedtls {
    mbedtls_sha256_context inner, outer;
};

// Takes the site's key; it need not be kept. Returns 0, or mbedTLS's error. Not to be called twice without
// weir_edge_mbedtls_free(), which forgets the key.
int weir_edge_mbedtls_init(struct weir_edge_mbedtls *hmac, const uint8_t key[32]);
void weir_edge_mbedtls_free(struct weir_edge_mbedtls *hmac);

// For `hmac` of the configuration; `context` is a struct weir_edge_mbedtls, which it does not change.
int weir_edge_mbedtls_hmac(void *context, const uint8_t *bytes, size_t length, uint8_t tag[32]);

#endif
