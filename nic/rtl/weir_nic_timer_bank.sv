// SPDX-License-Identifier: Apache-2.0

/**
 * One timer per queue
 *
 * Purpose: keeps for each queue a length in cycles and the time at which its timer is due.
 *
 * Interface contract
 *   time_i       Counts one up per cycle; where nothing is due in between, it may be set forward
 *                while idle_o is high.
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
 * Timing: a time is compared from the second cycle after start_i on. One that is past by then gives
 * hit_o in the third.
 *
 * Parameters
 *   Queues       1 to 64
 *
 * Proved properties: a pulse comes exactly in the cycle after the due time, only of a timer that was
 * started and not stopped, and once per start; a reloaded timer does not drift.
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

  // Stage 1: which timer and from when; stage 2: the sum is stored; stage 3: was it past?
  logic reload, order, set_q, check_q, late;
  logic [Qw-1:0] pick, queue, set_queue_q, check_queue_q;
  logic [31:0] due, set_due_q, check_due_q;
  logic [31:0] passed;

  always_comb begin
    pick = '0;
    for (int i = Queues - 1; i >= 0; i--) if (reload_q[i]) pick = Qw'(i);
  end

  assign order = start_i | stop_i;
  assign reload = (|reload_q) & ~act_i;
  assign queue = act_i ? queue_i : pick;
  assign scan_due_o = due_mem[(|reload_q)?pick : scan_queue_i];
  assign due = (act_i ? from_i : scan_due_o) + cycles_mem[queue];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      set_q   <= 1'b0;
      check_q <= 1'b0;
    end else begin
      set_q   <= (start_i & on_q[queue_i]) | reload;
      check_q <= set_q & ~(order & (queue_i == set_queue_q));
    end
  end

  always_ff @(posedge clk_i) begin
    set_queue_q <= queue;
    set_due_q <= due;
    check_queue_q <= set_queue_q;
    check_due_q <= set_due_q;
    if (set_q) due_mem[set_queue_q] <= set_due_q;
  end

  assign passed = check_due_q - time_i;
  assign late   = check_q & passed[31];

  ///////////////
  // Per queue //
  ///////////////

  for (genvar i = 0; i < Queues; i++) begin : gen_timer
    logic ordered, set, equal;

    assign ordered = order & (queue_i == Qw'(i));
    assign set = set_q & (set_queue_q == Qw'(i));
    assign equal = (due_q[i] == time_i) | (late & (check_queue_q == Qw'(i)));

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        running_q[i] <= 1'b0;
        reload_q[i] <= 1'b0;
        hit_q[i] <= 1'b0;
      end else begin
        hit_q[i] <= running_q[i] & equal & ~ordered;
        if (hit_q[i]) reload_q[i] <= reload_i[i];
        if (reload & (pick == Qw'(i))) reload_q[i] <= 1'b0;
        if (equal) running_q[i] <= 1'b0;
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
  end

  assign hit_o = hit_q;
  assign running_o = running_q;
  assign idle_o = ~(|reload_q) & ~(|hit_q) & ~set_q & ~check_q;

  logic unused_passed;
  assign unused_passed = ^passed;

endmodule
