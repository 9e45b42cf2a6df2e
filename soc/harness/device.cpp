// SPDX-License-Identifier: Apache-2.0

#include "device.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "Vdevice.h"
#include "Vdevice___024root.h"
#include "verilated.h"

// What Vdevice::eval() calls, without its bookkeeping for messages that this model never has.
void Vdevice___024root___eval(Vdevice___024root *root);
// The part of it that handles the events in `__VnbaTriggered`.
void Vdevice___024root___eval_nba(Vdevice___024root *root);

// Signals inside the model, by Verilator's names.
#define SOC(signal) root->device__DOT__##signal
#define CPU(signal) root->device__DOT__VexRiscv__DOT__##signal

#define EXPORT __attribute__((visibility("default")))

namespace {

constexpr uint32_t kRamBase = 0x40000000;
constexpr uint32_t kRamBytes = 1 << 20;
constexpr uint32_t kMret = 0x30200073;
constexpr uint32_t kStackPointer = 2;
constexpr uint32_t kContextBytes = 31 * 4; // what FreeRTOS pushes on a task's stack when it is interrupted
constexpr uint64_t kNever = UINT64_MAX;
constexpr size_t kEventsMax = 1 << 16;
constexpr uint64_t kPreambleBytes = 8;
constexpr uint64_t kFcsBytes = 4;
constexpr uint64_t kGapBytes = 12;
constexpr uint32_t kFrameBytesMin = 60;

// Idle time is skipped when the CPU has slept for this long, and this much of it is left to be simulated, so that
// everything that was under way has come to rest, and what comes next starts from rest.
constexpr uint64_t kAsleepCycles = 16;
constexpr uint64_t kMarginCycles = 8;

enum Context { kBoot, kTask, kIsr, kTrap };

// The bit of `__VnbaTriggered` for an edge of the system's clock: soc/Makefile finds it in Verilator's output.
constexpr uint64_t kEdgeSystem = uint64_t{1} << WEIR_SYSTEM_EDGE;

// Bits of the `events` pin (soc/weir_soc.py).
constexpr uint32_t kEventTrace = 1U << 6;
constexpr uint32_t kEventBusError = 1U << 7;
constexpr uint32_t kEventFiltered = 1U << 8;
constexpr uint32_t kEventFull = 1U << 9;

struct Frame {
    uint64_t start;
    std::vector<uint8_t> bytes;
};

// Cycles that `bytes` take on the wire, rounded up.
struct ByteTime {
    uint64_t numerator, denominator;
    uint64_t cycles(uint64_t bytes) const { return (bytes * numerator + denominator - 1) / denominator; }
};

} // namespace

struct weir_device {
    weir_config config;
    ByteTime byte_time;
    std::unique_ptr<VerilatedContext> verilated = std::make_unique<VerilatedContext>();
    std::unique_ptr<Vdevice> top;
    Vdevice___024root *root;

    uint64_t cycle = 0;
    uint64_t simulated = 0;
    uint64_t hash = 0xcbf29ce484222325;
    std::vector<weir_event> events;
    std::vector<weir_event> handed_over;

    std::deque<Frame> rx;
    size_t rx_sent = 0;
    uint64_t rx_due = kNever;

    std::vector<uint8_t> tx;
    std::vector<uint8_t> tx_done;
    uint64_t tx_start = 0;
    uint64_t tx_end = 0;
    uint64_t tx_due = 0;
    bool tx_ready_to_report = false;

    Context context = kBoot;
    uint32_t stack_limit = 0;
    std::unordered_map<uint32_t, uint32_t> stacks; // lowest address, by task
    uint64_t off_since = 0;
    uint64_t off_max = 0;
    bool off = true;
    bool hang = false;
    bool overflow = false;
    bool bus_fault = false;
    uint32_t bus_fault_address = 0;
    bool inputs_changed = true;
    uint64_t nic_due = kNever; // cycle in which a timer in the NIC expires
    uint32_t asleep = 0;
    uint32_t last_pc = 0;
    uint32_t task_pc = 0;

    explicit weir_device(const weir_config &c)
        : config(c), byte_time{c.byte_cycles_numerator, c.byte_cycles_denominator}
    {
        verilated->randReset(0);
        top = std::make_unique<Vdevice>(verilated.get());
        root = top->rootp;
        events.reserve(2 * kEventsMax);
        top->clock_rst = 1;
        for (int i = 0; i < 8; i++) {
            clock();
        }
        top->clock_rst = 0;
        cycle = SOC(weir_mtime);
    }

    // The wires from the bus to the NIC, see soc/weir_soc.py.
    void connect_nic()
    {
        top->weir_nic_reg_adr = top->weir_to_nic_reg_adr;
        top->weir_nic_reg_dat_w = top->weir_to_nic_reg_dat_w;
        top->weir_nic_reg_sel = top->weir_to_nic_reg_sel;
        top->weir_nic_reg_cyc = top->weir_to_nic_reg_cyc;
        top->weir_nic_reg_stb = top->weir_to_nic_reg_stb;
        top->weir_nic_reg_we = top->weir_to_nic_reg_we;
        top->weir_nic_dma_dat_r = top->weir_to_nic_dma_dat_r;
        top->weir_nic_dma_ack = top->weir_to_nic_dma_ack;
        top->weir_nic_dma_err = top->weir_to_nic_dma_err;
        top->weir_nic_queues_adr = top->weir_to_nic_queues_adr;
        top->weir_nic_queues_dat_w = top->weir_to_nic_queues_dat_w;
        top->weir_nic_queues_sel = top->weir_to_nic_queues_sel;
        top->weir_nic_queues_cyc = top->weir_to_nic_queues_cyc;
        top->weir_nic_queues_stb = top->weir_to_nic_queues_stb;
        top->weir_nic_queues_we = top->weir_to_nic_queues_we;
        top->weir_nic_mtime = top->weir_to_nic_mtime;
    }

    // The NIC has the low half of the time.
    void look_at_nic_timers()
    {
        int32_t left = static_cast<int32_t>(top->weir_nic_due - static_cast<uint32_t>(cycle));
        nic_due = top->weir_nic_due_valid ? cycle + std::max(left, 0) : kNever;
    }

    void clock()
    {
        connect_nic();
        top->clock_clk = 0;
        top->clock_nic = 0;
        top->eval();
        top->clock_clk = 1;
        top->clock_nic = 1;
        top->eval();
        look_at_nic_timers();
    }

    // The same in a third of the time. Nothing happens at the falling edge, so that Verilator is told that the clock
    // was low; while nothing in the NIC changes, it is not told of the edge, nor of what the bus does; and without
    // changed inputs there is nothing to settle before the edge. A test holds it against clock(), instruction by
    // instruction.
    void clock_fast(bool inputs_change)
    {
        if (inputs_change || inputs_changed || !top->weir_nic_quiescent || cycle >= nic_due) {
            connect_nic();
            root->__Vtrigprevexpr___TOP__clock_clk__0 = 0;
            root->__Vtrigprevexpr___TOP__clock_nic__0 = 0;
            Vdevice___024root___eval(root);
            inputs_changed = inputs_change;
            look_at_nic_timers();
        } else {
            root->__VnbaTriggered[0] = kEdgeSystem;
            Vdevice___024root___eval_nba(root);
        }
    }

    void event(uint32_t kind, uint32_t value) { events.push_back({cycle, kind, value}); }

    uint32_t ram_word(uint32_t address) const { return SOC(main_ram)[(address - kRamBase) / 4]; }

    // Bytes of the frame at the front that are on the wire before its word number `rx_sent` is complete. The last word
    // waits for the frame check sequence, as a MAC cannot know before that the frame ends.
    void rx_schedule()
    {
        if (rx.empty()) {
            rx_due = kNever;
            return;
        }
        const Frame &frame = rx.front();
        uint64_t have = std::min<uint64_t>(frame.bytes.size(), 4 * (rx_sent + 1));
        uint64_t fcs = have == frame.bytes.size() ? kFcsBytes : 0;
        rx_due = frame.start + byte_time.cycles(kPreambleBytes + have + fcs);
    }

    void rx_drive()
    {
        const Frame &frame = rx.front();
        size_t left = frame.bytes.size() - 4 * rx_sent;
        uint32_t word = 0;
        std::memcpy(&word, &frame.bytes[4 * rx_sent], std::min<size_t>(left, 4));
        top->weir_rx_tdata = word;
        top->weir_rx_tkeep = left >= 4 ? 15 : (1U << left) - 1;
        top->weir_rx_tvalid = 1;
        top->weir_rx_tlast = left <= 4;
        if (left <= 4) {
            rx.pop_front();
            rx_sent = 0;
        } else {
            rx_sent++;
        }
        rx_schedule();
    }

    // The MAC takes a word as soon as the wire has room for it.
    void tx_take()
    {
        if (tx.empty()) {
            tx_start = cycle;
        }
        uint32_t word = top->weir_tx_tdata;
        uint32_t keep = top->weir_tx_tkeep;
        for (uint32_t i = 0; i < 4 && (keep >> i & 1) != 0; i++) {
            tx.push_back(static_cast<uint8_t>(word >> (8 * i)));
        }
        top->weir_tx_tready = 1;
        tx_due = tx_start + byte_time.cycles(kPreambleBytes + tx.size());
        if (top->weir_tx_tlast) {
            tx.resize(std::max<size_t>(tx.size(), kFrameBytesMin));
            tx_end = tx_start + byte_time.cycles(kPreambleBytes + tx.size() + kFcsBytes);
            tx_due = tx_start + byte_time.cycles(kPreambleBytes + tx.size() + kFcsBytes + kGapBytes);
            tx_done.swap(tx);
            tx.clear();
            tx_ready_to_report = true;
        }
    }

    void step()
    {
        bool receiving = cycle >= rx_due;
        bool sending = top->weir_tx_tvalid && cycle >= tx_due;
        if (__builtin_expect(receiving, 0)) {
            rx_drive();
        }
        if (__builtin_expect(sending, 0)) {
            tx_take();
        }
        if (config.shortcuts) {
            clock_fast(receiving || sending);
        } else {
            clock();
        }
        cycle++;
        simulated++;
        if (__builtin_expect(receiving || sending, 0)) {
            top->weir_rx_tvalid = 0;
            top->weir_rx_tlast = 0;
            top->weir_tx_tready = 0;
        }
        observe();
    }

    void observe()
    {
        if (__builtin_expect(top->weir_events, 0)) {
            observe_pins();
        }
        if (CPU(lastStageIsFiring)) {
            observe_retired(CPU(lastStagePc));
        }
        if (__builtin_expect(CPU(CsrPlugin_interruptJump), 0)) {
            task_pc = context == kTask ? last_pc : task_pc;
            context = kIsr;
            event(WEIR_ENTER_ISR, top->weir_nic_irq);
        }
        bool now_off = !CPU(CsrPlugin_mstatus_MIE);
        if (now_off != off) {
            if (now_off) {
                off_since = cycle;
            } else {
                off_max = std::max(off_max, cycle - off_since);
            }
            off = now_off;
        } else if (__builtin_expect(now_off && cycle - off_since > config.hang_cycles, 0)) {
            hang = true;
        }
        asleep = CPU(CsrPlugin_inWfi) ? asleep + 1 : 0;
    }

    void observe_retired(uint32_t pc)
    {
        uint32_t before = last_pc;
        last_pc = pc;
        hash = (hash ^ (cycle << 20 ^ pc)) * 0x100000001b3;
        if (__builtin_expect(CPU(lastStageInstruction) == kMret, 0)) {
            context = kTask;
            uint32_t tcb = ram_word(config.current_tcb);
            set_limit(tcb);
            event(WEIR_ENTER_TASK, tcb);
            return;
        }
        if (__builtin_expect(pc == config.trap_handler && context != kIsr, 0)) {
            context = kTrap;
            task_pc = before;
            event(WEIR_ENTER_TRAP, 0);
        }
        for (uint32_t i = 0; i < WEIR_WATCH_MAX; i++) {
            if (__builtin_expect(pc == config.watch[i] && pc != 0, 0)) {
                event(WEIR_WATCH, i);
            }
        }
        if (CPU(lastStageRegFileWrite_valid) && CPU(lastStageRegFileWrite_payload_address) == kStackPointer &&
            context == kTask && CPU(lastStageRegFileWrite_payload_data) < stack_limit) {
            overflow = true;
        }
    }

    void observe_pins()
    {
        uint32_t pins = top->weir_events;
        static const uint32_t kinds[] = {WEIR_RX_ACCEPT, WEIR_RX_OVERRUN, WEIR_RX_BAD,
                                         WEIR_RX_DONE,   WEIR_RX_NODESC,  WEIR_RX_ERROR};
        for (uint32_t i = 0; i < 6; i++) {
            if ((pins >> i & 1) != 0) {
                event(kinds[i], kinds[i] == WEIR_RX_DONE ? top->weir_rx_addr : 0);
            }
        }
        if ((pins & kEventFiltered) != 0) {
            event(WEIR_RX_ERROR, 0);
        }
        if ((pins & kEventFull) != 0) {
            event(WEIR_RX_NODESC, 0);
        }
        if ((pins & kEventTrace) != 0) {
            event(WEIR_TRACE + top->weir_trace_kind, top->weir_trace_data);
        }
        if ((pins & kEventBusError) != 0) {
            bus_fault = true;
            bus_fault_address = top->weir_bus_error_adr << 2;
        }
    }

    void set_limit(uint32_t tcb)
    {
        auto stack = stacks.find(tcb);
        stack_limit = stack == stacks.end() ? 0 : stack->second + kContextBytes;
    }

    // Nothing happens until a timer, the wire or `until`: go there.
    void skip(uint64_t until)
    {
        if (asleep < kAsleepCycles || !top->weir_nic_quiescent || top->weir_bus_busy || top->weir_nic_irq) {
            return;
        }
        uint64_t next = std::min(
            {until, rx_due, nic_due, top->weir_timer_compare, top->weir_release_compare, top->weir_poll_compare});
        if (top->weir_tx_tvalid) {
            next = std::min(next, tx_due);
        }
        if (next <= cycle + 2 * kMarginCycles) {
            return;
        }
        uint64_t cycles = next - cycle - kMarginCycles;
        SOC(weir_mtime) += cycles;
        CPU(CsrPlugin_mcycle) += cycles;
        cycle += cycles;
    }

    weir_stop run(uint64_t until)
    {
        tx_ready_to_report = false;
        while (cycle < until) {
            step();
            if (__builtin_expect(tx_ready_to_report, 0)) {
                return WEIR_STOP_FRAME;
            }
            if (__builtin_expect(hang || overflow || bus_fault, 0)) {
                return hang ? WEIR_STOP_HANG : overflow ? WEIR_STOP_STACK : WEIR_STOP_BUS;
            }
            if (__builtin_expect(events.size() >= kEventsMax, 0)) {
                return WEIR_STOP_EVENTS;
            }
            if (asleep >= kAsleepCycles && config.shortcuts) {
                skip(until);
            }
        }
        return WEIR_STOP_CYCLE;
    }
};

extern "C" {

EXPORT weir_device *weir_device_new(const weir_config *config)
{
    return new weir_device(*config);
}

EXPORT void weir_device_free(weir_device *device)
{
    delete device;
}

static bool in_ram(uint32_t address, uint32_t count)
{
    return address >= kRamBase && address - kRamBase <= kRamBytes && count <= kRamBytes - (address - kRamBase);
}

EXPORT int weir_device_write(weir_device *device, uint32_t address, const void *bytes, uint32_t count)
{
    if (!in_ram(address, count)) {
        return -1;
    }
    std::memcpy(reinterpret_cast<uint8_t *>(&device->root->device__DOT__main_ram[0]) + (address - kRamBase), bytes,
                count);
    return 0;
}

EXPORT int weir_device_read(weir_device *device, uint32_t address, void *bytes, uint32_t count)
{
    if (!in_ram(address, count)) {
        return -1;
    }
    std::memcpy(bytes,
                reinterpret_cast<const uint8_t *>(&device->root->device__DOT__main_ram[0]) + (address - kRamBase),
                count);
    return 0;
}

EXPORT void weir_device_set_stack(weir_device *device, uint32_t tcb, uint32_t lowest)
{
    device->stacks[tcb] = lowest;
}

EXPORT void weir_device_receive(weir_device *device, const uint8_t *bytes, uint32_t length, uint64_t start)
{
    device->rx.push_back({start, std::vector<uint8_t>(bytes, bytes + length)});
    if (device->rx.size() == 1) {
        device->rx_schedule();
    }
}

EXPORT weir_stop weir_device_run(weir_device *device, uint64_t until)
{
    return device->run(until);
}

EXPORT uint64_t weir_device_cycle(const weir_device *device)
{
    return device->cycle;
}

EXPORT uint64_t weir_device_events(weir_device *device, const weir_event **events)
{
    device->handed_over.swap(device->events);
    device->events.clear();
    *events = device->handed_over.data();
    return device->handed_over.size();
}

EXPORT uint32_t weir_device_sent(const weir_device *device, const uint8_t **bytes, uint64_t *end)
{
    *bytes = device->tx_done.data();
    *end = device->tx_end;
    return static_cast<uint32_t>(device->tx_done.size());
}

EXPORT uint64_t weir_device_hash(const weir_device *device)
{
    return device->hash;
}

EXPORT uint64_t weir_device_simulated(const weir_device *device)
{
    return device->simulated;
}

EXPORT uint64_t weir_device_off_max(weir_device *device)
{
    uint64_t max = device->off_max;
    if (device->off) {
        max = std::max(max, device->cycle - device->off_since);
    }
    device->off_max = 0;
    return max;
}

EXPORT uint64_t weir_device_next_tick(const weir_device *device)
{
    return device->top->weir_timer_compare;
}

EXPORT uint32_t weir_device_fault_address(const weir_device *device)
{
    return device->bus_fault_address;
}

EXPORT uint32_t weir_device_task_pc(const weir_device *device)
{
    return device->context == kTask ? device->last_pc : device->task_pc;
}

EXPORT uint32_t weir_device_pc(const weir_device *device)
{
    return device->last_pc;
}
}
