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
 * Proved properties: none yet; see tests/weir_nic_cases.py.
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

endmodule
