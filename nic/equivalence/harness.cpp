// SPDX-License-Identifier: Apache-2.0
//
// weir_nic with a driver that gives each buffer back at once: frames go in, hand-overs come out. See Makefile.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>

#include "Vnic.h"
#include "Vnic___024root.h"
#include "verilated.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr uint32_t kQueueBase = 0x800; // word addresses, see weir_nic_registers.toml
constexpr uint32_t kQueueWords = 32;
constexpr uint32_t kCtrl = 3;
constexpr uint32_t kRelease = 15;
constexpr uint32_t kPromiscuousAndOn = 7;
// Fields of weir_nic_pkg::step_t, lowest bit first.
constexpr int kCloses = 0, kOpens = 1, kCause = 2, kHandover = 5, kCommit = 8, kIndex = 9;

} // namespace

// What is told: a frame that counts from this cycle on, or a hand-over.
struct nic_event {
    uint64_t cycle;
    uint32_t queue;
    uint32_t kind; // 0 to 4: hand-over by this cause; 16: frame; 17: the queue was opened; 18: frame filtered; 19: full
};

struct nic {
    std::unique_ptr<VerilatedContext> verilated = std::make_unique<VerilatedContext>();
    std::unique_ptr<Vnic> top = std::make_unique<Vnic>(verilated.get());
    uint64_t cycle = 0;
    uint64_t simulated = 0;
    std::deque<uint32_t> releases;
    bool releasing = false;
    nic_event *events = nullptr;
    uint32_t count = 0, room = 0;

    nic()
    {
        top->mem_ready_i = 1;
        top->reg_sel_i = 15;
        top->rst_ni = 0;
        for (int i = 0; i < 4; i++) {
            clock();
        }
        top->rst_ni = 1;
    }

    void event(uint32_t queue, uint32_t kind)
    {
        if (count < room) {
            events[count] = {cycle, queue, kind};
        }
        count++;
    }

    void clock()
    {
        top->time_i = static_cast<uint32_t>(cycle);
        top->clk_i = 0;
        top->eval();
        bool done = top->mem_valid_o;
        top->clk_i = 1;
        top->eval();
        top->mem_done_i = done;
        cycle++;
        simulated++;
        observe();
    }

    void observe()
    {
        uint32_t step = top->rootp->weir_nic__DOT__step;
        uint32_t queue = step >> kIndex & 63;
        if ((step >> kCommit & 1) != 0) {
            event(queue, 16);
        }
        if ((step >> kHandover & 1) != 0) {
            event(queue, step >> kCause & 7);
            releases.push_back(queue);
        }
        if ((step >> kOpens & 1) != 0) {
            event(queue, 17);
        }
        if (top->ev_rx_filtered_o || top->ev_rx_bad_o || top->ev_rx_overrun_o) {
            event(0, 18);
        }
        if (top->ev_rx_full_o || top->ev_rx_error_o) {
            event(0, 19);
        }
    }

    void bus(bool on, uint32_t address = 0, uint32_t data = 0)
    {
        top->reg_cyc_i = top->reg_stb_i = top->reg_we_i = on;
        top->reg_adr_i = address;
        top->reg_dat_i = data;
    }

    void write(uint32_t address, uint32_t data)
    {
        bus(true, address, data);
        do {
            clock();
        } while (!top->reg_ack_o);
        bus(false);
        clock();
    }

    // A cycle in which buffers are given back as the bus allows.
    void live()
    {
        if (releasing && top->reg_ack_o) {
            bus(false);
            releasing = false;
        } else if (!releasing && !releases.empty()) {
            bus(true, kQueueBase + kQueueWords * releases.front() + kRelease);
            releases.pop_front();
            releasing = true;
        }
        clock();
    }

    // To `until`; where nothing happens, without a clock.
    void run(uint64_t until)
    {
        while (cycle < until) {
            if (top->quiescent_o && releases.empty() && !releasing) {
                uint64_t next = until;
                if (top->next_due_valid_o) {
                    int32_t left = static_cast<int32_t>(top->next_due_o - static_cast<uint32_t>(cycle));
                    next = std::min(until, cycle + static_cast<uint64_t>(std::max(left, 0)));
                }
                if (next > cycle) {
                    cycle = next;
                    continue;
                }
            }
            live();
        }
    }

    void frame(const uint8_t *bytes, uint32_t length)
    {
        for (uint32_t at = 0; at < length; at += 4) {
            uint32_t have = std::min<uint32_t>(4, length - at);
            uint32_t word = 0;
            std::memcpy(&word, bytes + at, have);
            top->rx_axis_tdata_i = word;
            top->rx_axis_tkeep_i = (1U << have) - 1;
            top->rx_axis_tvalid_i = 1;
            top->rx_axis_tlast_i = at + 4 >= length;
            live();
        }
        top->rx_axis_tvalid_i = 0;
        top->rx_axis_tlast_i = 0;
    }
};

EXPORT nic *nic_new()
{
    return new nic;
}

EXPORT void nic_free(nic *nic)
{
    delete nic;
}

// Words 1 to 13 of a queue, then its CTRL: on.
EXPORT void nic_open(nic *nic, uint32_t queue, const uint32_t *words)
{
    for (uint32_t i = 1; i <= 13; i++) {
        nic->write(kQueueBase + kQueueWords * queue + i, words[i - 1]);
    }
    nic->write(kQueueBase + kQueueWords * queue, 1);
}

EXPORT void nic_start(nic *nic)
{
    nic->write(kCtrl, kPromiscuousAndOn);
}

// Where events go from now on. Returns how many there have been since the last call.
EXPORT uint32_t nic_events(nic *nic, nic_event *events, uint32_t room)
{
    uint32_t count = nic->count;
    nic->events = events;
    nic->room = room;
    nic->count = 0;
    return count;
}

EXPORT uint64_t nic_cycle(const nic *nic)
{
    return nic->cycle;
}

EXPORT uint64_t nic_simulated(const nic *nic)
{
    return nic->simulated;
}

// Lets time pass until `cycle`.
EXPORT void nic_run(nic *nic, uint64_t cycle)
{
    nic->run(cycle);
}

// A frame on the stream, a word per cycle, from now on.
EXPORT void nic_frame(nic *nic, const uint8_t *bytes, uint32_t length)
{
    nic->frame(bytes, length);
}
