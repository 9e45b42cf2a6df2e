// SPDX-License-Identifier: Apache-2.0

/**
 * Urgent guard
 *
 * Purpose: a queue without moderation could flood the CPU with interrupts. Each of its hand-overs
 * takes a credit; CREDITS of them can be saved up, one comes back every INTERVAL cycles.
 *
 * Interface contract
 *   at_once_i  The queues that are guarded, unless their CREDITS or INTERVAL is 0.
 *   step_i     Hand-overs, which take a credit; closing gives all back.
 *   ok_o       The queue may hand over: it has a credit or needs none.
 *
 * Timing: ok_o follows a step two cycles later. A credit comes back INTERVAL cycles after it was
 * taken, or after the one before came back.
 *
 * Parameters
 *   Queues     1 to 64
 *
 * Proved properties: none yet; see tests/weir_nic_cases.py.
 */
module weir_nic_guard #(
  parameter  int unsigned Queues = 8,
  localparam int unsigned Qw     = (Queues > 1) ? $clog2(Queues) : 1
) (
  input logic clk_i,
  input logic rst_ni,

  input logic [31:0] time_i,
  input logic [31:0] acted_i, // time of the act that step_i tells

  input  weir_nic_pkg::cfg_t               cfg_i,
  input  weir_nic_pkg::step_t              step_i,
  input  logic                [Queues-1:0] at_once_i,
  output logic                [Queues-1:0] ok_o,

  // For the earliest due time
  input  logic [    Qw-1:0] scan_queue_i,
  output logic [      31:0] scan_due_o,
  output logic [Queues-1:0] running_o,
  output logic              idle_o
);

  logic [Queues-1:0] on, hit, use_one, used_some, used_more;
  logic start;

  for (genvar i = 0; i < Queues; i++) begin : gen_credits
    logic [7:0] credits_q, used_q;  // at most, and taken
    logic guarded, ok_q;

    assign guarded = at_once_i[i] & on[i] & (credits_q != 8'd0);
    assign ok_o[i] = ok_q;
    assign use_one[i] = step_i.handover & (step_i.index == 6'(i)) & guarded;
    assign used_some[i] = used_q != 8'd0;
    assign used_more[i] = (used_q != 8'd0) & ((used_q != 8'd1) | use_one[i]);

    always_ff @(posedge clk_i) begin
      ok_q <= ~guarded | (used_q < credits_q);
      if (!rst_ni) begin
        credits_q <= '0;
        used_q <= '0;
      end else begin
        if (cfg_i.write & (cfg_i.index == 6'(i)) & (cfg_i.word == weir_nic_reg_pkg::Q_CREDITS))
          credits_q <= cfg_i.data[7:0];
        if (step_i.closes & (step_i.index == 6'(i))) used_q <= '0;
        else if (use_one[i] & ~hit[i]) used_q <= used_q + 8'd1;
        else if (~use_one[i] & hit[i] & used_some[i]) used_q <= used_q - 8'd1;
      end
    end
  end

  assign start = |(use_one & ~used_some);

  weir_nic_timer_bank #(
    .Queues(Queues)
  ) u_timers (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .time_i      (time_i),
    .cfg_write_i (cfg_i.write & (cfg_i.word == weir_nic_reg_pkg::Q_INTERVAL)),
    .cfg_queue_i (cfg_i.index[Qw-1:0]),
    .cfg_cycles_i(cfg_i.data),
    .on_o        (on),
    .act_i       (step_i.act),
    .start_i     (start),
    .stop_i      (step_i.closes),
    .queue_i     (step_i.index[Qw-1:0]),
    .from_i      (acted_i),
    .reload_i    (used_more),
    .hit_o       (hit),
    .scan_queue_i(scan_queue_i),
    .scan_due_o  (scan_due_o),
    .running_o   (running_o),
    .idle_o      (idle_o)
  );

  logic unused_step;
  assign unused_step = ^step_i;

endmodule
