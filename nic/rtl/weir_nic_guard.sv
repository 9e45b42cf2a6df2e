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
 * Proved properties, bounded to 14 cycles, for 2 queues, INTERVAL below 16 and a constant
 * at_once_i: of a guarded queue never more hand-overs than CREDITS without one that came back; none
 * comes back before its time; a queue is held back only without credit.
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

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // Any queue, with settings that stay while it is used; steps come as the queue manager's do.
  logic f_mine, f_guarded, f_known_q;
  logic [31:0] f_time_q, f_credits_q, f_interval_q;
  logic [31:0] f_used_q;  // hand-overs whose credit is not back
  logic [31:0] f_age_q;  // cycles since the last credit came back, or since the first was taken
  logic [ 1:0] f_since_q;
  logic f_ok_before_q, f_after_q;
  logic [Qw-1:0] f_queue_q;
  logic [7:0] f_taken[Queues];
  always_ff @(posedge clk_i) if (!begun_q) f_queue_q <= scan_queue_i;
  for (genvar i = 0; i < Queues; i++) begin : gen_taken
    assign f_taken[i] = gen_credits[i].used_q;
  end
  assign f_mine = step_i.index[Qw-1:0] == f_queue_q;
  assign f_guarded = at_once_i[f_queue_q] && f_credits_q != '0 && f_interval_q != '0;

  always_comb begin
    assume (step_i.act || !(step_i.handover || step_i.closes || step_i.opens || step_i.commit));
    assume (!step_i.act || f_since_q == 2'd3);
    assume (step_i.index < 6'(Queues) && cfg_i.index < 6'(Queues));
    assume (!(step_i.handover && step_i.closes));
    assume (acted_i == f_time_q - 32'd1);
    assume (!cfg_i.write || (cfg_i.index != 6'(f_queue_q) || f_used_q == '0));
    assume (!cfg_i.write || !step_i.act);
    assume (cfg_i.data < 32'd16);
    if (step_i.handover && f_mine) assume (f_ok_before_q);  // at the time of the act
  end

  always_ff @(posedge clk_i) begin
    f_time_q <= time_i;
    f_after_q <= begun_q && rst_ni;
    f_ok_before_q <= ok_o[f_queue_q];
    f_since_q <= step_i.act ? 2'd0 : (f_since_q == 2'd3) ? 2'd3 : f_since_q + 2'd1;
    if (begun_q)
      assume (time_i == f_time_q + 32'd1 && at_once_i == $past(at_once_i));
      else assume (time_i == 32'hfffffff8);
    if (cfg_i.write && cfg_i.index == 6'(f_queue_q)) begin
      if (cfg_i.word == weir_nic_reg_pkg::Q_CREDITS) f_credits_q <= 32'(cfg_i.data[7:0]);
      if (cfg_i.word == weir_nic_reg_pkg::Q_INTERVAL) f_interval_q <= cfg_i.data;
    end
    f_age_q <= f_age_q + 32'd1;
    if (f_mine && step_i.handover && f_guarded && f_used_q == '0) f_age_q <= 32'd2;
    f_used_q <= f_used_q + 32'(f_mine && step_i.handover && f_guarded) -
                32'(hit[f_queue_q] && f_used_q != '0);
    if (hit[f_queue_q]) f_age_q <= 32'd1;
    if (f_mine && step_i.closes) f_used_q <= '0;
    if (!rst_ni) {f_credits_q, f_interval_q, f_used_q, f_since_q} <= {96'd0, 2'd3};

    if (begun_q && rst_ni) begin
      // Never more hand-overs than credits, and no credit back before its time
      a_credits : assert (!f_guarded || f_used_q <= f_credits_q);
      a_back : assert (!hit[f_queue_q] || f_used_q == '0 || f_age_q >= f_interval_q);
      a_used : assert (32'(f_taken[f_queue_q]) == f_used_q);
      a_free : assert (f_guarded || f_used_q == '0);
      if (f_after_q)
        a_held : assert (ok_o[f_queue_q] || $past(f_guarded && f_used_q >= f_credits_q));
      c_empty : cover (!ok_o[f_queue_q]);
      c_back : cover (hit[f_queue_q] && f_used_q == 32'd2);
    end
  end
`endif

endmodule
