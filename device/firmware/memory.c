// SPDX-License-Identifier: Apache-2.0
//
// memcpy by words. The C library's copies bytes, which made every large frame cost three times as much; the compiler
// libraries that products use do not.

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict destination, const void *restrict source, size_t count);

typedef uint32_t __attribute__((may_alias)) word;
typedef uint16_t __attribute__((may_alias)) half;

#define BOTH_ALIGNED(to, from, bytes) ((((uintptr_t)(to) | (uintptr_t)(from)) & ((bytes)-1U)) == 0U)
#define EQUALLY_ALIGNED(to, from, bytes) ((((uintptr_t)(to) ^ (uintptr_t)(from)) & ((bytes)-1U)) == 0U)

// The compiler must not turn these loops into calls of memcpy.
__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *memcpy(void *restrict destination,
                                                                           const void *restrict source, size_t count)
{
    uint8_t *to = destination;
    const uint8_t *from = source;
    if (EQUALLY_ALIGNED(to, from, 4U)) {
        for (; count > 0U && !BOTH_ALIGNED(to, from, 4U); count--) {
            *to++ = *from++;
        }
        for (; count >= 16U; count -= 16U, to += 16, from += 16) {
            word a = ((const word *)from)[0];
            word b = ((const word *)from)[1];
            word c = ((const word *)from)[2];
            word d = ((const word *)from)[3];
            ((word *)to)[0] = a;
            ((word *)to)[1] = b;
            ((word *)to)[2] = c;
            ((word *)to)[3] = d;
        }
        for (; count >= 4U; count -= 4U, to += 4, from += 4) {
            *(word *)to = *(const word *)from;
        }
    } else if (EQUALLY_ALIGNED(to, from, 2U)) { // the payload of a frame, 42 bytes into a buffer, is such a case
        for (; count > 0U && !BOTH_ALIGNED(to, from, 2U); count--) {
            *to++ = *from++;
        }
        for (; count >= 8U; count -= 8U, to += 8, from += 8) {
            half a = ((const half *)from)[0];
            half b = ((const half *)from)[1];
            half c = ((const half *)from)[2];
            half d = ((const half *)from)[3];
            ((half *)to)[0] = a;
            ((half *)to)[1] = b;
            ((half *)to)[2] = c;
            ((half *)to)[3] = d;
        }
        for (; count >= 2U; count -= 2U, to += 2, from += 2) {
            *(half *)to = *(const half *)from;
        }
    }
    for (; count > 0U; count--) {
        *to++ = *from++;
    }
    return destination;
}
