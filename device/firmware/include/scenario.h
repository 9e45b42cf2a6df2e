// SPDX-License-Identifier: Apache-2.0
//
// The scenario, as the simulator writes it into RAM before the CPU starts (host/src/soc/scenario_block.rs has the same
// layout). All variants and loads run in one image, so that its layout cannot favour one of them.

#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#define SCENARIO_MAGIC UINT32_C(0x57454952)
#define SCENARIO_TASKS_MAX 12
#define SCENARIO_NAME_BYTES 16
// The tasks; driver or network task, tcpip_thread, idle; two more that a receive path may have.
#define SCENARIO_THREADS_MAX (SCENARIO_TASKS_MAX + 5)

// The receive path.
enum scenario_variant {
    SCENARIO_STOCK = 0,
    SCENARIO_BURST = 1,
    SCENARIO_HYSTERESIS = 2,
    SCENARIO_BUDGET = 3,
    SCENARIO_QUEUE = 4,
    SCENARIO_CAPPED = 5,
    SCENARIO_NAPI = 6,
    SCENARIO_CLASSES = 7,
    SCENARIO_DRIVER = 8,
    SCENARIO_NIC = 9,
    SCENARIO_CODESIGN = 10,
};

enum scenario_kind { SCENARIO_PERIODIC = 0, SCENARIO_BACKGROUND = 1, SCENARIO_UDP = 2, SCENARIO_TCP = 3 };

enum scenario_work { SCENARIO_SPIN = 0, SCENARIO_BINOMIAL = 1, SCENARIO_SOURCE = 2 };

// A queue of the multiqueue NIC; 0: no such timer, no threshold.
struct scenario_queue {
    uint32_t packet_timer_us;
    uint32_t absolute_timer_us;
    uint32_t frames;
    uint32_t bytes; // of each of its two buffers
};

struct scenario_task {
    char name[SCENARIO_NAME_BYTES]; // zero-terminated
    uint32_t kind;                  // enum scenario_kind
    uint32_t priority;              // FreeRTOS
    uint32_t stack_bytes;
    uint32_t period_us;   // periodic
    uint32_t deadline_us; // periodic: from the release
    uint32_t port;        // UDP, TCP
    uint32_t reply_bytes; // UDP
    uint32_t work;        // enum scenario_work
    uint32_t work_a;      // spin: cycles; binomial: n; source: index into weir_jobs
    uint32_t work_b;      // binomial: k
    struct {              // UDP, TCP: what the task asks of its flow: variants with the library
        uint32_t server;  // enum weir_server; WEIR_SERVER_NONE: nothing is asked
        uint32_t capacity;
        uint32_t period_us;
        uint32_t priority; // 0: the task's
        uint32_t from;     // network byte order; 0: any sender
    } flow;
    struct scenario_queue queue; // UDP, TCP
};

// What decides when the stock path stops receiving, see lwip/mitigation.h.
struct scenario_mitigation {
    uint32_t mended;         // 0: as the thesis has it
    uint32_t task;           // index of the watched task; SCENARIO_TASKS_MAX: none
    uint32_t capacity;       // burst: packets per slice
    uint32_t slice_us;       // burst
    uint32_t stop_percent;   // hysteresis: earliness below which receiving stops, of the deadline
    uint32_t resume_percent; // hysteresis: above which it goes on
    uint32_t queue;          // queue: frames that are a full queue, up to the ring's descriptors
};

struct scenario {
    uint32_t magic;
    uint32_t trace; // 0: only what a run cannot do without
    uint32_t seed;
    uint32_t cycles_per_us;
    uint32_t net_priority;
    uint32_t rx_buffers;
    uint32_t variant;        // enum scenario_variant
    uint32_t limit_capacity; // overall limit in packets per period; 0: the variant's default
    uint32_t limit_period_us;
    uint32_t eager_invalidation; // variant `driver`, for comparison: 1: the cache is invalidated in the interrupt
    struct scenario_mitigation mitigation;
    uint32_t periodic;           // the absolute timers run by themselves
    struct scenario_queue queue; // of those that are no task's
    uint32_t address;            // network byte order
    uint32_t netmask;            // network byte order
    uint8_t mac[8];              // 6 used
    uint32_t task_count;
    struct scenario_task tasks[SCENARIO_TASKS_MAX];
};

extern struct scenario weir_scenario;

// Is the library in the receive path?
static inline bool scenario_has_library(void)
{
    return weir_scenario.variant == SCENARIO_DRIVER || weir_scenario.variant == SCENARIO_CODESIGN;
}

// Does the device have the multiqueue NIC?
static inline bool scenario_has_queues(void)
{
    return weir_scenario.variant == SCENARIO_NIC || weir_scenario.variant == SCENARIO_CODESIGN;
}

// What the simulator reads, without the CPU noticing.
struct scenario_status {
    uint32_t loops[SCENARIO_TASKS_MAX]; // of background tasks
    // Handle 0: none.
    struct {
        uint32_t handle; // TCB
        uint32_t stack;  // lowest address of its stack
    } threads[SCENARIO_THREADS_MAX];
    uint32_t rx_free;  // buffers on the free list
    uint32_t fault[3]; // mcause, mepc, mtval
    uint32_t failure;  // enum failure
    uint32_t failure_detail;
};

extern struct scenario_status weir_status;

enum failure {
    FAILURE_NONE = 0,
    FAILURE_EXCEPTION = 1, // see fault[]
    FAILURE_NO_MEMORY = 2, // detail: 1 + task, or 0
    FAILURE_SOCKET = 3,    // detail: errno
    FAILURE_ASSERT = 4,    // detail: line
    FAILURE_SCENARIO = 5,  // the block is not a scenario
};

// Of lwIP's own thread: `stock` has it where all network tasks are; with the library it only runs timers, for which
// the most urgent receiving task is waiting, if anybody is.
int scenario_tcpip_priority(void);

// Reports to the simulator and does not return. Any context.
_Noreturn void scenario_fail(enum failure failure, uint32_t detail);

#endif
