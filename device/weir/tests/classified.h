// SPDX-License-Identifier: Apache-2.0

#ifndef CLASSIFIED_H
#define CLASSIFIED_H

#include <stddef.h>
#include <stdint.h>

#include "weir/classify.h"

// The library's classification of a frame, in memory that ends with the last word that it may read. Checks that all
// three functions and the dissector say the same.
weir_match classified_alike(const uint8_t *bytes, size_t length);

#endif
