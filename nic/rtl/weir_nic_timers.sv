// SPDX-License-Identifier: Apache-2.0

/**
 * Moderation timers
 *
 * Purpose: per queue a packet timer, restarted by each frame, and an absolute timer: from the first
 * frame on, never restarted, or periodic.
 *
 * Interface contract
 *   step_i      What happens to a queue. A frame (re)starts the packet timer, and the absolute one if
 *               it is the first and the timer is not periodic. A hand-over stops both, but not a
 *               periodic one. Opening starts a periodic timer: due one OFFSET and one period later.
 *   packet_hit_o, absolute_hit_o
 *               Pulses. now_i of that cycle is the due time.
 *   at_once_o   The queue has neither timer nor threshold.
 *
 * Timing: see weir_nic_timer_bank. Against a frame whose act was at now_i = t, a timer of n cycles
 * hits at t + n, for n of 4 and more; below that at t + 4.
 *
 * Parameters
 *   Queues      1 to 64
 *
 * Proved properties, bounded to 16 cycles, for 2 queues, timers below 16 cycles and periods of 8 or more:
 * both pulses come in exactly the cycles named above, and no others; at_once_o is as above.
 */
module weir_nic_timers #(
  parameter  int unsigned Queues = 8,
  localparam int unsigned Qw     = (Queues > 1) ? $clog2(Queues) : 1
) (
  input logic clk_i,
  input logic rst_ni,

  input logic [31:0] time_i,
  input logic [31:0] now_i,   // time_i of the cycle before
  input logic [31:0] acted_i, // now_i of the cycle before: of the act that step_i tells

  input weir_nic_pkg::cfg_t  cfg_i,
  input weir_nic_pkg::step_t step_i,
  input logic                empty_i, // of the queue that opens

  output logic [Queues-1:0] packet_hit_o,
  output logic [Queues-1:0] absolute_hit_o,
  output logic [Queues-1:0] at_once_o,

  // For the earliest due time
  input  logic [    Qw-1:0] scan_queue_i,
  output logic [      31:0] scan_packet_o,
  output logic [      31:0] scan_absolute_o,
  output logic [Queues-1:0] packet_running_o,
  output logic [Queues-1:0] absolute_running_o,
  output logic              idle_o
);

  logic [Queues-1:0] packet_on, absolute_on, threshold_on_q, periodic_q;
  logic [Qw-1:0] cfg_queue, step_queue;
  logic packet_idle, absolute_idle;
  logic packet_start, packet_stop, absolute_start, absolute_stop, periodic;

  assign cfg_queue  = cfg_i.index[Qw-1:0];
  assign step_queue = step_i.index[Qw-1:0];
  assign at_once_o  = ~(packet_on | absolute_on | threshold_on_q);
  assign periodic   = periodic_q[step_queue];

  // The beginning of the first period. A queue opens long after its OFFSET came.
  logic [31:0] offset_q, begin_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      periodic_q <= '0;
      threshold_on_q <= '0;
    end else if (cfg_i.write) begin
      if (cfg_i.word == weir_nic_reg_pkg::Q_MODE) periodic_q[cfg_queue] <= cfg_i.data[0];
      if (cfg_i.word == weir_nic_reg_pkg::Q_FRAMES) threshold_on_q[cfg_queue] <= |cfg_i.data[13:0];
    end
  end

  always_ff @(posedge clk_i) begin
    if (cfg_i.write & (cfg_i.word == weir_nic_reg_pkg::Q_OFFSET)) offset_q <= cfg_i.data;
    begin_q <= now_i + offset_q;
  end

  // A frame that is handed over at once starts nothing.
  assign packet_start = step_i.commit & ~step_i.handover;
  assign packet_stop = step_i.handover | step_i.closes;
  assign absolute_start = (packet_start & step_i.first & ~periodic) | (step_i.opens & periodic);
  assign absolute_stop = (step_i.handover & ~periodic) | step_i.closes |
                         (step_i.opens & ~periodic & empty_i);

  weir_nic_timer_bank #(
    .Queues(Queues)
  ) u_packet (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .time_i      (time_i),
    .cfg_write_i (cfg_i.write & (cfg_i.word == weir_nic_reg_pkg::Q_PACKET_TIMER)),
    .cfg_queue_i (cfg_queue),
    .cfg_cycles_i(cfg_i.data),
    .on_o        (packet_on),
    .act_i       (step_i.act),
    .start_i     (packet_start),
    .stop_i      (packet_stop),
    .queue_i     (step_queue),
    .from_i      (acted_i),
    .reload_i    ('0),
    .hit_o       (packet_hit_o),
    .scan_queue_i(scan_queue_i),
    .scan_due_o  (scan_packet_o),
    .running_o   (packet_running_o),
    .idle_o      (packet_idle)
  );

  weir_nic_timer_bank #(
    .Queues(Queues)
  ) u_absolute (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .time_i      (time_i),
    .cfg_write_i (cfg_i.write & (cfg_i.word == weir_nic_reg_pkg::Q_ABSOLUTE_TIMER)),
    .cfg_queue_i (cfg_queue),
    .cfg_cycles_i(cfg_i.data),
    .on_o        (absolute_on),
    .act_i       (step_i.act),
    .start_i     (absolute_start),
    .stop_i      (absolute_stop),
    .queue_i     (step_queue),
    .from_i      (step_i.opens ? begin_q : acted_i),
    .reload_i    (periodic_q),
    .hit_o       (absolute_hit_o),
    .scan_queue_i(scan_queue_i),
    .scan_due_o  (scan_absolute_o),
    .running_o   (absolute_running_o),
    .idle_o      (absolute_idle)
  );

  assign idle_o = packet_idle & absolute_idle;

  logic unused_step;
  assign unused_step = ^step_i;

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // Any queue, with settings that stay while a timer runs; steps come as the queue
  // manager's do.
  logic f_mine, f_filled_q;
  logic [31:0] f_packet_q, f_absolute_q, f_frames_q;  // settings
  logic f_packet_runs_q, f_absolute_runs_q, f_periodic_q;
  logic [31:0] f_offset_q;  // of whichever queue was set last
  logic [ 1:0] f_periods_q;
  logic [ 1:0] f_set_q;  // something was set one or two cycles ago
  logic [31:0] f_packet_due_q, f_absolute_due_q;
  logic [1:0] f_since_q;
  logic [Qw-1:0] f_queue_q;
  always_ff @(posedge clk_i) if (!begun_q) f_queue_q <= scan_queue_i;
  assign f_mine = step_i.index[Qw-1:0] == f_queue_q;

  always_comb begin
    assume (step_i.act || !(step_i.handover || step_i.closes || step_i.opens || step_i.commit));
    assume (!step_i.act || f_since_q == 2'd3);
    assume (step_i.index < 6'(Queues) && cfg_i.index < 6'(Queues));
    assume (!((step_i.commit || step_i.handover) && (step_i.opens || step_i.closes)));
    assume (!(step_i.opens && step_i.closes));
    assume (!step_i.first || step_i.commit);
    if (f_mine && step_i.commit) assume (step_i.first == !f_filled_q);
    if (f_mine && step_i.handover) assume (f_filled_q || step_i.commit);
    if (f_mine && step_i.opens) assume (empty_i == !f_filled_q);
    assume (!cfg_i.write || (rst_ni && !step_i.act && f_since_q == 2'd3));
    if (cfg_i.write && cfg_i.index == 6'(f_queue_q))
      assume (!f_packet_runs_q && !f_absolute_runs_q);
    // A period is long enough to be reloaded.
    if (f_periodic_q) assume (f_absolute_q == '0 || f_absolute_q >= 32'd8);
    // The queue opens that the OFFSET is of.
    if (step_i.opens) assume (f_set_q == '0 && f_offset_q < 32'd16);
    assume (cfg_i.data < 32'd16);
  end

  // A timer below four cycles is one of four.
  function automatic logic [31:0] f_long(logic [31:0] length);
    return (length < 32'd4) ? 32'd4 : length;
  endfunction

  always_ff @(posedge clk_i) begin
    f_since_q <= step_i.act ? 2'd0 : (f_since_q == 2'd3) ? 2'd3 : f_since_q + 2'd1;
    if (begun_q)
      assume (time_i == $past(time_i) + 32'd1 && now_i == $past(time_i) && acted_i == $past(now_i));
      else assume (time_i == 32'hfffffffa && now_i == 32'hfffffff9 && acted_i == 32'hfffffff8);
    if (cfg_i.write && cfg_i.index == 6'(f_queue_q)) begin
      if (cfg_i.word == weir_nic_reg_pkg::Q_PACKET_TIMER) f_packet_q <= cfg_i.data;
      if (cfg_i.word == weir_nic_reg_pkg::Q_ABSOLUTE_TIMER) f_absolute_q <= cfg_i.data;
      if (cfg_i.word == weir_nic_reg_pkg::Q_FRAMES) f_frames_q <= cfg_i.data;
      if (cfg_i.word == weir_nic_reg_pkg::Q_MODE) f_periodic_q <= cfg_i.data[0];
    end
    if (f_packet_due_q == now_i) f_packet_runs_q <= 1'b0;
    if (f_absolute_due_q == now_i) begin
      if (f_periodic_q) f_absolute_due_q <= f_absolute_due_q + f_absolute_q;
      else f_absolute_runs_q <= 1'b0;
    end
    if (f_mine && step_i.commit) begin
      f_filled_q <= 1'b1;
      {f_packet_runs_q, f_packet_due_q} <= {f_packet_q != '0, acted_i + f_long(f_packet_q)};
      if (step_i.first && !f_periodic_q)
        {f_absolute_runs_q, f_absolute_due_q} <= {
          f_absolute_q != '0, acted_i + f_long(f_absolute_q)
        };
    end
    if (f_mine && (step_i.handover || step_i.closes)) {f_filled_q, f_packet_runs_q} <= '0;
    if (f_mine && (step_i.closes || (step_i.handover && !f_periodic_q))) f_absolute_runs_q <= 1'b0;
    if (f_mine && step_i.opens && f_periodic_q)
      {f_absolute_runs_q, f_absolute_due_q} <= {
        f_absolute_q != '0, acted_i + f_offset_q + f_absolute_q
      };
    if (absolute_hit_o[f_queue_q]) f_periods_q <= f_periods_q + 2'd1;
    f_set_q <= {f_set_q[0], cfg_i.write};
    if (cfg_i.write && cfg_i.word == weir_nic_reg_pkg::Q_OFFSET) f_offset_q <= cfg_i.data;
    if (!rst_ni) begin
      {f_packet_q, f_absolute_q, f_frames_q, f_periodic_q, f_set_q, f_periods_q} <= '0;
      f_offset_q <= offset_q;
      {f_filled_q, f_packet_runs_q, f_absolute_runs_q, f_since_q} <= 5'b00011;
    end

    if (begun_q && rst_ni) begin
      a_packet : assert (packet_hit_o[f_queue_q] == (f_packet_runs_q && f_packet_due_q == now_i));
      a_absolute :
      assert (absolute_hit_o[f_queue_q] == (f_absolute_runs_q && f_absolute_due_q == now_i));
      a_at_once : assert (at_once_o[f_queue_q] == ({f_packet_q, f_absolute_q, f_frames_q} == '0));
      c_both : cover (packet_hit_o[f_queue_q] && absolute_hit_o[f_queue_q]);
      c_restarted :
      cover (absolute_hit_o[f_queue_q] && f_packet_runs_q && !packet_hit_o[f_queue_q]);
    end
  end
`endif

endmodule
