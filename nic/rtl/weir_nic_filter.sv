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
 * Proved properties, for 3 entries, by induction: a verdict is that of the lowest entry that
 * matches and of no other, with this entry's priority, or none if none matches; it comes Queues + 2
 * cycles after its lookup began; no entry changes during one; each header gets one verdict that is
 * taken.
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

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset of two cycles has been
  logic f_first_q = 1'b0;
  always_ff @(posedge clk_i) {begun_q, f_first_q} <= {f_first_q, 1'b1};
  always_comb if (!begun_q) assume (!rst_ni);

  always_comb begin
    assume (!cfg_i.write || (rst_ni && held_o && cfg_i.index < 6'(Queues)));
    assume (!take_i || verdict_valid_o);
    assume (header_i.parsed.class_id <= weir_nic_pkg::CLASS_OTHER);
  end

  // Any entry, by what was written to it
  logic [Qw-1:0] f_entry_q;
  entry_t f_is_q;
  logic f_on_q, f_fits, f_passes;

  assign f_fits = f_on_q && f_is_q.classes[frame_o.parsed.class_id] &&
                  (f_is_q.port == '0 || f_is_q.port == frame_o.parsed.port) &&
                  (f_is_q.sender & f_is_q.mask) == (frame_o.parsed.sender & f_is_q.mask);

  // The modes when the lookup began, cycles since then, whether a frame is here
  logic f_promiscuous_q, f_all_multicast_q, f_have_q;
  logic [Qw+1:0] f_age_q;  // 0: no lookup, nor a verdict
  weir_nic_pkg::header_t f_frame_q;

  always_comb begin
    f_passes = frame_o.parsed.dst == weir_nic_pkg::DST_STATION ||
               frame_o.parsed.dst == weir_nic_pkg::DST_BROADCAST ||
               (frame_o.parsed.dst == weir_nic_pkg::DST_OTHER && f_promiscuous_q) ||
               (frame_o.parsed.dst == weir_nic_pkg::DST_MULTICAST && f_all_multicast_q);
  end

  always_ff @(posedge clk_i) begin
    if (!f_first_q) begin
      f_entry_q <= cfg_i.index[Qw-1:0];
      assume (cfg_i.index < 6'(Queues));
    end else if (cfg_i.write && cfg_queue == f_entry_q) begin
      if (cfg_i.word == weir_nic_reg_pkg::Q_MATCH)
        {f_is_q.classes, f_is_q.port} <= cfg_i.data[22:0];
      if (cfg_i.word == weir_nic_reg_pkg::Q_SENDER) f_is_q.sender <= cfg_i.data;
      if (cfg_i.word == weir_nic_reg_pkg::Q_MASK) f_is_q.mask <= cfg_i.data;
      if (cfg_i.word == weir_nic_reg_pkg::Q_PRIORITY) f_is_q.level <= cfg_i.data[3:0];
      if (cfg_i.word == weir_nic_reg_pkg::Q_CTRL) f_on_q <= cfg_i.data[0];
    end
    if (!rst_ni) begin  // the memories hold anything
      f_on_q <= 1'b0;
      f_is_q <= '{
          classes: match_mem[f_entry_q][22:16],
          port: match_mem[f_entry_q][15:0],
          sender: sender_mem[f_entry_q],
          mask: mask_mem[f_entry_q],
          level: level_mem[f_entry_q]
      };
    end

    if (start) begin
      f_age_q <= (Qw + 2)'(1);
      f_promiscuous_q <= promiscuous_i;
      f_all_multicast_q <= all_multicast_i;
    end else if (f_age_q != '0 && f_age_q != (Qw + 2)'(Queues + 2)) f_age_q <= f_age_q + 1'b1;
    if (f_age_q == (Qw + 2)'(Queues + 2) && (take_i || hold_i)) f_age_q <= '0;
    if (header_pop_o) {f_have_q, f_frame_q} <= {1'b1, header_i};
    else if (take_i) f_have_q <= 1'b0;
    if (!rst_ni) {f_age_q, f_have_q} <= '0;
  end

  // The same in the design: entry that is compared
  logic [Qw+1:0] f_compared;
  assign f_compared = f_age_q - (Qw + 2)'(2);

  always_ff @(posedge clk_i) begin
    if (begun_q && rst_ni && f_entry_q < Queues) begin
      a_pop : assert (!header_pop_o || (header_valid_i && !f_have_q));
      a_latency : assert (verdict_valid_o == (f_age_q == (Qw + 2)'(Queues + 2) && !hold_i));
      a_held : assert (held_o == (hold_i && (f_age_q == '0 || f_age_q == (Qw + 2)'(Queues + 2))));
      if (verdict_valid_o) begin
        a_frame : assert (f_have_q && frame_o == f_frame_q);
        a_index : assert (!verdict_o.hit || verdict_o.index < 6'(Queues));
        if (verdict_o.hit && verdict_o.index == 6'(f_entry_q)) begin
          a_matches : assert (f_fits && f_passes);
          a_level : assert (verdict_o.level == f_is_q.level);
        end
        a_lowest :
        assert (!f_fits || !f_passes || (verdict_o.hit && verdict_o.index <= 6'(f_entry_q)));
      end
      // Inductive: how far the lookup is
      assert (f_is_q == {match_mem[f_entry_q], sender_mem[f_entry_q], mask_mem[f_entry_q],
                         level_mem[f_entry_q]} && f_on_q == enable_q[f_entry_q]);
      assert (f_have_q == have_q && (!have_q || frame_q == f_frame_q) && (have_q || f_age_q == '0));
      assert (!have_q || frame_q.parsed.class_id <= weir_nic_pkg::CLASS_OTHER);
      assert (f_age_q <= (Qw + 2)'(Queues + 2));
      assert ((state_q == Idle) == (f_age_q == '0) && state_q != state_e'(3));
      assert ((state_q == Found) == (f_age_q == (Qw + 2)'(Queues + 2)));
      assert (state_q == Look || !entry_valid_q);
      if (state_q == Look) begin
        assert (f_promiscuous_q == promiscuous_q && f_all_multicast_q == all_multicast_q);
        assert (entry_valid_q == (f_age_q >= (Qw + 2)'(2)));
        assert (index_q == Qw'(f_age_q - 1'b1) || f_age_q == (Qw + 2)'(Queues + 1));
        if (entry_valid_q) begin
          assert (entry_index_q == Qw'(f_compared));
          assert (entry_last_q == (entry_index_q == Qw'(Queues - 1)));
          if (entry_index_q == f_entry_q) assert (entry_q == f_is_q && entry_enable_q == f_on_q);
        end
      end
      if (state_q != Idle) begin
        assert (!verdict_q.hit || verdict_q.index < 6'(f_compared));
        assert (f_age_q > 2 || !verdict_q.hit);
        if (verdict_q.hit && verdict_q.index == 6'(f_entry_q))
          assert (f_fits && f_passes && verdict_q.level == f_is_q.level);
        if (f_age_q > 2 && (Qw + 2)'(f_entry_q) < f_compared && f_fits && f_passes)
          assert (verdict_q.hit && verdict_q.index <= 6'(f_entry_q));
      end
      c_second : cover (verdict_valid_o && verdict_o.hit && verdict_o.index == 6'd1 && f_fits);
      c_anew : cover (verdict_valid_o && $past(cfg_i.write, 6));
    end
  end
`endif

endmodule
