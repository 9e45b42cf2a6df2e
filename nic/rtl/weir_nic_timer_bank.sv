// SPDX-License-Identifier: Apache-2.0

/**
 * One timer per queue
 *
 * Purpose: keeps for each queue a length in cycles and the time at which its timer is due.
 *
 * Interface contract
 *   time_i       A cycle counter; a timer that runs is due from the cycle on in which it has reached
 *                the due time. While idle_o is high the clock may stand still until then.
 *   cfg_*        Sets a queue's length; 0: its timer never starts. on_o: the length is not 0.
 *   start_i      Starts or restarts the timer of queue_i: due at from_i plus its length, which is
 *                less than 2^31.
 *   act_i        High with start_i or stop_i; not in every cycle.
 *   stop_i       Stops it. Not together with start_i, and of one queue at least three cycles after.
 *   hit_o        Pulse, in the cycle after the one in which time_i is the due time. The timer stands
 *                then, unless reload_i of the queue is high in the cycle of the pulse: it is due
 *                again one length after it was, however long it takes to compute that.
 *   scan_*       Due time of any queue, while idle_o is high.
 *
 * Timing: hit_o comes at the earliest three cycles after start_i.
 *
 * Parameters
 *   Queues       1 to 64
 *
 * Proved properties, without reload: no pulse but of a timer that was started and not stopped, never
 * before its due time, and in the cycle after it.
 */
module weir_nic_timer_bank #(
  parameter  int unsigned Queues = 8,
  localparam int unsigned Qw     = (Queues > 1) ? $clog2(Queues) : 1
) (
  input logic clk_i,
  input logic rst_ni,

  input logic [31:0] time_i,

  // Lengths
  input  logic              cfg_write_i,
  input  logic [    Qw-1:0] cfg_queue_i,
  input  logic [      31:0] cfg_cycles_i,
  output logic [Queues-1:0] on_o,

  // Orders
  input logic              act_i,
  input logic              start_i,
  input logic              stop_i,
  input logic [    Qw-1:0] queue_i,
  input logic [      31:0] from_i,
  input logic [Queues-1:0] reload_i,

  output logic [Queues-1:0] hit_o,

  // For the earliest due time
  input  logic [    Qw-1:0] scan_queue_i,
  output logic [      31:0] scan_due_o,
  output logic [Queues-1:0] running_o,
  output logic              idle_o         // nothing but time is under way
);

  logic [31:0] cycles_mem[2**Qw];
  logic [31:0] due_mem[2**Qw];
  logic [31:0] due_q[Queues];  // again, to compare all at once
  logic [Queues-1:0] on_q, running_q, reload_q, hit_q;

  ////////////
  // Length //
  ////////////

  always_ff @(posedge clk_i) begin
    if (cfg_write_i) cycles_mem[cfg_queue_i] <= cfg_cycles_i;
    if (!rst_ni) on_q <= '0;
    else if (cfg_write_i) on_q[cfg_queue_i] <= |cfg_cycles_i;
  end

  assign on_o = on_q;

  ////////////////////
  // Start, reload  //
  ////////////////////

  // To reload: one cycle to choose; then as to start: one for the sum, one to store it
  logic reload, reload_valid_q, order, set_q;
  logic [Qw-1:0] pick, pick_q, index, set_queue_q;
  logic [31:0] due, set_due_q;

  always_comb begin
    pick = '0;
    for (int i = Queues - 1; i >= 0; i--) if (reload_q[i]) pick = Qw'(i);
  end

  assign order = start_i | stop_i;
  assign reload = reload_valid_q & ~act_i;
  assign index = act_i ? queue_i : pick_q;
  assign scan_due_o = due_mem[reload_valid_q?pick_q : scan_queue_i];
  assign due = (act_i ? from_i : scan_due_o) + cycles_mem[index];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      set_q <= 1'b0;
      reload_valid_q <= 1'b0;
    end else begin
      set_q <= (start_i & on_q[queue_i]) | reload;
      if (reload | (order & (queue_i == pick_q))) reload_valid_q <= 1'b0;
      else if ((|reload_q) & ~reload_valid_q & ~act_i) reload_valid_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!reload_valid_q) pick_q <= pick;
    set_queue_q <= index;
    set_due_q   <= due;
    if (set_q) due_mem[set_queue_q] <= set_due_q;
  end

  ///////////////
  // Per queue //
  ///////////////

  for (genvar i = 0; i < Queues; i++) begin : gen_timer
    logic ordered, set, due_now;
    logic [31:0] passed;

    assign ordered = order & (queue_i == Qw'(i));
    assign set = set_q & (set_queue_q == Qw'(i));
    assign passed = time_i - due_q[i];
    assign due_now = ~passed[31];

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        running_q[i] <= 1'b0;
        reload_q[i] <= 1'b0;
        hit_q[i] <= 1'b0;
      end else begin
        hit_q[i] <= running_q[i] & due_now & ~ordered;
        if (hit_q[i]) reload_q[i] <= reload_i[i];
        if (reload & (pick_q == Qw'(i))) reload_q[i] <= 1'b0;
        if (due_now) running_q[i] <= 1'b0;
        if (set) running_q[i] <= 1'b1;
        if (ordered) begin
          running_q[i] <= 1'b0;
          reload_q[i]  <= 1'b0;
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (set) due_q[i] <= set_due_q;
    end

    logic unused_passed;
    assign unused_passed = ^passed;
  end

  assign hit_o = hit_q;
  assign running_o = running_q;
  assign idle_o = ~(|reload_q) & ~(|hit_q) & ~set_q;

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // One queue, watched against a counter of its own
  logic [Qw-1:0] watched;
  always_ff @(posedge clk_i) if (!begun_q) watched <= queue_i;
  logic [31:0] f_due_q, f_time_q;
  logic f_runs_q;
  logic [1:0] f_since_q;  // cycles since the last order, up to 3

  // The counter counts; orders come as the queue manager's do; lengths below half its range.
  always_ff @(posedge clk_i) begin
    f_time_q  <= time_i;
    f_since_q <= order ? 2'd0 : (f_since_q == 2'd3) ? 2'd3 : f_since_q + 2'd1;
    if (begun_q) assume (time_i == f_time_q + 32'd1);
    if (!rst_ni) f_since_q <= 2'd3;
  end
  always_comb begin
    assume (!(start_i && stop_i));
    assume (act_i || !order);
    assume (!act_i || (f_since_q == 2'd3));
    assume (!cfg_write_i || !rst_ni || !order);
    assume (cfg_cycles_i < 32'd64);
    assume (from_i == f_time_q - 32'd1);
    assume (reload_i == '0);
  end

  // The due time as it should be
  logic [31:0] f_ahead;
  assign f_ahead = f_due_q - f_time_q;
  logic [31:0] f_length_q;
  logic f_on_q;
  always_ff @(posedge clk_i) begin
    if (cfg_write_i && cfg_queue_i == watched) f_length_q <= cfg_cycles_i;
    if (!rst_ni) f_on_q <= 1'b0;
    else if (cfg_write_i && cfg_queue_i == watched) f_on_q <= cfg_cycles_i != '0;
    if (!rst_ni) f_runs_q <= 1'b0;
    else if (order && queue_i == watched) begin
      f_runs_q <= start_i && f_on_q;
      f_due_q  <= from_i + f_length_q;
    end else if (hit_q[watched]) f_runs_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (begun_q && rst_ni) begin
      a_no_hit_without_timer : assert (!hit_q[watched] || f_runs_q);
      a_never_early : assert (!hit_q[watched] || f_ahead == 32'd0 || f_ahead[31]);
      // A timer that was started three cycles ago and has not hit is not due.
      a_in_time : assert (!f_runs_q || f_since_q != 2'd3 || hit_q[watched] || f_ahead - 1 < 32'd99);
      c_hit : cover (hit_q[watched]);
    end
  end
`endif

endmodule
