// SPDX-License-Identifier: Apache-2.0
//
// What the client needs of the product: one function that authenticates. Time comes in with each call, as do datagrams;
// the sockets that carry them are weir_edge/socket.h's business, or the product's own.

#ifndef WEIR_EDGE_PORT_H
#define WEIR_EDGE_PORT_H

#include <stddef.h>
#include <stdint.h>

// HMAC-SHA-256 of `length` bytes, at most 1,400, with the site's key into tag[32]; `context` is what the configuration
// has. Returns 0, or another number if it failed: then what was to be sent is not sent, and what came is dropped as
// forged. It is called from weir_edge_client_receive() and weir_edge_client_poll(), at most once in each, and must not
// call the client. The key is its own affair and may stay in a secure element.
//
// weir_edge/mbedtls.h has one over mbedTLS.
typedef int weir_edge_hmac(void *context, const uint8_t *bytes, size_t length, uint8_t tag[32]);

#endif
