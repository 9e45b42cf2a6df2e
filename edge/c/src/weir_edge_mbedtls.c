// SPDX-License-Identifier: Apache-2.0
//
// HMAC (RFC 2104) from the hash alone: mbedTLS's own HMAC allocates.

#include "weir_edge/mbedtls.h"

#include <mbedtls/version.h>

#define BLOCK_BYTES 64U
#define KEY_BYTES 32U

#if MBEDTLS_VERSION_NUMBER < 0x03000000
#define starts(sha256) mbedtls_sha256_starts_ret(sha256, 0)
#define update(sha256, bytes, length) mbedtls_sha256_update_ret(sha256, bytes, length)
#define finish(sha256, hash) mbedtls_sha256_finish_ret(sha256, hash)
#else
#define starts(sha256) mbedtls_sha256_starts(sha256, 0)
#define update(sha256, bytes, length) mbedtls_sha256_update(sha256, bytes, length)
#define finish(sha256, hash) mbedtls_sha256_finish(sha256, hash)
#endif

// The hash of the key's first block, which is padded by `pad`.
static int begin(mbedtls_sha256_context *sha256, const uint8_t key[KEY_BYTES], uint8_t pad)
{
    uint8_t block[BLOCK_BYTES];
    for (size_t i = 0; i < BLOCK_BYTES; i++) {
        block[i] = (uint8_t)((i < KEY_BYTES ? key[i] : 0U) ^ pad);
    }
    mbedtls_sha256_init(sha256);
    int error = starts(sha256);
    return error != 0 ? error : update(sha256, block, BLOCK_BYTES);
}

int weir_edge_mbedtls_init(struct weir_edge_mbedtls *hmac, const uint8_t key[KEY_BYTES])
{
    int error = begin(&hmac->inner, key, 0x36);
    return error != 0 ? error : begin(&hmac->outer, key, 0x5c);
}

void weir_edge_mbedtls_free(struct weir_edge_mbedtls *hmac)
{
    mbedtls_sha256_free(&hmac->inner);
    mbedtls_sha256_free(&hmac->outer);
}

// The hash of what `begun` has taken and of these bytes.
static int hash(const mbedtls_sha256_context *begun, const uint8_t *bytes, size_t length, uint8_t out[32])
{
    mbedtls_sha256_context sha256;
    mbedtls_sha256_init(&sha256);
    mbedtls_sha256_clone(&sha256, begun);
    int error = update(&sha256, bytes, length);
    error = error != 0 ? error : finish(&sha256, out);
    mbedtls_sha256_free(&sha256);
    return error;
}

int weir_edge_mbedtls_hmac(void *context, const uint8_t *bytes, size_t length, uint8_t tag[32])
{
    const struct weir_edge_mbedtls *hmac = context;
    uint8_t inner[32];
    int error = hash(&hmac->inner, bytes, length, inner);
    return error != 0 ? error : hash(&hmac->outer, inner, sizeof inner, tag);
}
