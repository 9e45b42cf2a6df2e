// SPDX-License-Identifier: Apache-2.0
//
// Sizes. A product defines those that do not suit on the compiler's command line, the same for all its files.
// `make -C edge/c sizes` prints what the defaults cost.

#ifndef WEIR_EDGE_LIMITS_H
#define WEIR_EDGE_LIMITS_H

// Nodes that are known at once. 1 to 32.
#ifndef WEIR_EDGE_NODES
#define WEIR_EDGE_NODES 4
#endif

// Tasks under way at once. 1 to 255.
#ifndef WEIR_EDGE_TASKS
#define WEIR_EDGE_TASKS 8
#endif

// Of how many datagrams a link's estimate is. 1 to 128. What counts is the last five seconds: more samples than come
// in that time are of no use.
#ifndef WEIR_EDGE_SAMPLES
#define WEIR_EDGE_SAMPLES 32
#endif

// A task's input, and its output, in bytes. 32 to 1,200, which is what nodes take. A task whose program writes more is
// lost, as are datagrams that are longer than the client's buffer.
#ifndef WEIR_EDGE_PAYLOAD_BYTES
#define WEIR_EDGE_PAYLOAD_BYTES 1200
#endif

#if WEIR_EDGE_NODES < 1 || WEIR_EDGE_NODES > 32
#error "WEIR_EDGE_NODES is 1 to 32"
#endif
#if WEIR_EDGE_TASKS < 1 || WEIR_EDGE_TASKS > 255
#error "WEIR_EDGE_TASKS is 1 to 255"
#endif
#if WEIR_EDGE_SAMPLES < 1 || WEIR_EDGE_SAMPLES > 128
#error "WEIR_EDGE_SAMPLES is 1 to 128"
#endif
#if WEIR_EDGE_PAYLOAD_BYTES < 32 || WEIR_EDGE_PAYLOAD_BYTES > 1200
#error "WEIR_EDGE_PAYLOAD_BYTES is 32 to 1200"
#endif

#endif
