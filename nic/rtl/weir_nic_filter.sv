// SPDX-License-Identifier: Apache-2.0

/**
 * Filter table
 *
 * Purpose: finds the queue of a frame. One entry per queue; the lowest one that matches wins. A
 * frame that no entry matches, and one that is not for this station, is nobody's.
 *
 *   An entry matches if it is enabled, names the frame's class, and its port (unless 0) and the
 *   masked bits of its sender are the frame's.
 *   For this station are its own address, broadcasts, with promiscuous_i every unicast address, and
 *   with all_multicast_i every multicast.
 *
 * Interface contract
 *   header_*   Front of the headers, taken with header_pop_o.
 *   verdict_*, frame_o
 *              The verdict and the header that it is about. They stay until take_i.
 *   cfg_i      Words of entries, while held_o is high only.
 *   hold_i     Asks for a change of entries; held_o answers between two lookups. A verdict that was
 *              not yet taken is then found anew: what is taken always accords with all entries.
 *
 * Timing: a lookup takes Queues + 2 cycles, whatever matches.
 *
 * Parameters
 *   Queues     1 to 64
 *
 * Proved properties: none yet; see tests/weir_nic_cases.py.
 */
module weir_nic_filter #(
  parameter int unsigned Queues = 8
) (
  input logic clk_i,
  input logic rst_ni,

  input logic promiscuous_i,
  input logic all_multicast_i,

  // Entries
  input  weir_nic_pkg::cfg_t cfg_i,
  input  logic               hold_i,
  output logic               held_o,

  // Frames
  input  logic                   header_valid_i,
  input  weir_nic_pkg::header_t  header_i,
  output logic                   header_pop_o,
  output logic                   verdict_valid_o,
  output weir_nic_pkg::verdict_t verdict_o,
  output weir_nic_pkg::header_t  frame_o,
  input  logic                   take_i,

  output logic idle_o  // nothing changes in a later cycle without a header, hold or take
);

  localparam int unsigned Qw = (Queues > 1) ? $clog2(Queues) : 1;

  typedef struct packed {
    logic [6:0]  classes;
    logic [15:0] port;
    logic [31:0] sender;
    logic [31:0] mask;
    logic [3:0]  level;
  } entry_t;

  /////////////
  // Entries //
  /////////////

  logic [22:0] match_mem[2**Qw];
  logic [31:0] sender_mem[2**Qw];
  logic [31:0] mask_mem[2**Qw];
  logic [3:0] level_mem[2**Qw];
  logic [Queues-1:0] enable_q;

  logic [Qw-1:0] cfg_queue;
  assign cfg_queue = cfg_i.index[Qw-1:0];

  always_ff @(posedge clk_i) begin
    if (cfg_i.write) begin
      unique case (cfg_i.word)
        weir_nic_reg_pkg::Q_MATCH: match_mem[cfg_queue] <= cfg_i.data[22:0];
        weir_nic_reg_pkg::Q_SENDER: sender_mem[cfg_queue] <= cfg_i.data;
        weir_nic_reg_pkg::Q_MASK: mask_mem[cfg_queue] <= cfg_i.data;
        weir_nic_reg_pkg::Q_PRIORITY: level_mem[cfg_queue] <= cfg_i.data[3:0];
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) enable_q <= '0;
    else if (cfg_i.write & (cfg_i.word == weir_nic_reg_pkg::Q_CTRL))
      enable_q[cfg_queue] <= cfg_i.data[0];
  end

  ////////////
  // Lookup //
  ////////////

  typedef enum logic [1:0] {
    Idle,
    Look,
    Found
  } state_e;

  state_e state_q, state_d;

  logic [Qw-1:0] index_q, entry_index_q;
  logic entry_valid_q, entry_last_q, entry_enable_q;
  logic start, fitting, passes;
  entry_t entry_q;
  weir_nic_pkg::verdict_t verdict_q;

  logic promiscuous_q, all_multicast_q;  // of this lookup
  logic have_q;  // a frame whose verdict was not taken
  weir_nic_pkg::header_t frame_q;

  assign start = (state_q == Idle) & (have_q | header_valid_i) & ~hold_i;
  assign header_pop_o = start & ~have_q;
  assign held_o = hold_i & (state_q != Look);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (start) state_d = Look;
      Look: if (entry_valid_q & entry_last_q) state_d = Found;
      Found: if (take_i | hold_i) state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      index_q <= '0;
      entry_valid_q <= 1'b0;
      have_q <= 1'b0;
    end else begin
      have_q <= (have_q | start) & ~take_i;
      state_q <= state_d;
      index_q <= (state_q == Look) ? index_q + Qw'(1) : '0;
      entry_valid_q <= (state_q == Look) & (state_d == Look);
    end
  end

  always_ff @(posedge clk_i) begin
    if (header_pop_o) frame_q <= header_i;
    if (start) begin
      promiscuous_q   <= promiscuous_i;
      all_multicast_q <= all_multicast_i;
    end
  end

  always_ff @(posedge clk_i) begin
    entry_q <= '{
        classes: match_mem[index_q][22:16],
        port: match_mem[index_q][15:0],
        sender: sender_mem[index_q],
        mask: mask_mem[index_q],
        level: level_mem[index_q]
    };
    entry_enable_q <= enable_q[index_q];
    entry_index_q <= index_q;
    entry_last_q <= index_q == Qw'(Queues - 1);
  end

  assign fitting = entry_valid_q & entry_enable_q & entry_q.classes[frame_q.parsed.class_id] &
                   ((entry_q.port == 16'd0) | (entry_q.port == frame_q.parsed.port)) &
                   (((entry_q.sender ^ frame_q.parsed.sender) & entry_q.mask) == 32'd0);

  always_comb begin
    unique case (frame_q.parsed.dst)
      weir_nic_pkg::DST_OTHER: passes = promiscuous_q;
      weir_nic_pkg::DST_MULTICAST: passes = all_multicast_q;
      default: passes = 1'b1;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) verdict_q <= '0;
    else if (fitting & passes & ~verdict_q.hit) begin
      verdict_q.hit   <= 1'b1;
      verdict_q.index <= 6'(entry_index_q);
      verdict_q.level <= entry_q.level;
    end
  end

  assign verdict_valid_o = (state_q == Found) & ~hold_i;
  assign verdict_o = verdict_q;
  assign frame_o = frame_q;
  assign idle_o = (state_q == Found) | ((state_q == Idle) & ~header_valid_i & ~have_q);

endmodule
