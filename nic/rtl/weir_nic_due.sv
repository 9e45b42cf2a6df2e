// SPDX-License-Identifier: Apache-2.0

/**
 * Which queues are to hand over, and why
 *
 * Purpose: keeps of each queue the bits that change by themselves or are needed of all queues at
 * once: on or off, frames in the filled buffer or none, a buffer with software, a hand-over due and
 * its cause.
 *
 * Interface contract
 *   step_i       What the queue manager does. It hands over only what may_o allows, or what step_i
 *                itself made due.
 *   *_hit_i      Timers that are due; without effect on a queue without frames. A hit counts before
 *                the step of the same cycle. Of several causes the first one stays; of one cycle
 *                the absolute timer.
 *   release_i    Software gives the buffer of release_queue_i back; without effect if it has none.
 *   ok_i         See weir_nic_guard.   counting_i: see weir_nic_counters.
 *   enabled_o, filled_o, ready_o
 *                Per queue: on; frames wait; a buffer is with software.
 *   may_o        A hand-over is due and possible.   free_o: one is possible.
 *   select_i, cause_o
 *                Cause of the queue that is one-hot in select_i, if it is in may_o.
 *
 * Timing: may_o, free_o and cause_o are combinational in hits, ok_i and counting_i; all the rest
 * follows in the next cycle.
 *
 * Parameters
 *   Queues       1 to 64
 *
 * Proved properties: nothing is ready, due or filled that is not consistent: due only with frames;
 * a buffer with software stays there until released; what is due stays due until handed over.
 */
module weir_nic_due #(
  parameter int unsigned Queues = 8
) (
  input logic clk_i,
  input logic rst_ni,

  input weir_nic_pkg::step_t              step_i,
  input logic                [Queues-1:0] packet_hit_i,
  input logic                [Queues-1:0] absolute_hit_i,
  input logic                [Queues-1:0] ok_i,
  input logic                [Queues-1:0] counting_i,

  input logic       release_i,
  input logic [5:0] release_queue_i,

  output logic [Queues-1:0] enabled_o,
  output logic [Queues-1:0] filled_o,
  output logic [Queues-1:0] ready_o,
  output logic [Queues-1:0] may_o,
  output logic [Queues-1:0] free_o,

  input  logic [Queues-1:0] select_i,
  output logic [       2:0] cause_o
);

  logic [Queues-1:0] enabled_q, filled_q, ready_q, due_q;
  logic [2:0] cause[Queues];

  for (genvar i = 0; i < Queues; i++) begin : gen_queue
    logic mine, hit;
    logic [1:0] cause_q;

    assign mine = step_i.index == 6'(i);
    assign hit = filled_q[i] & (packet_hit_i[i] | absolute_hit_i[i]);
    assign free_o[i] = ~ready_q[i] & ok_i[i] & ~counting_i[i];
    assign may_o[i] = (due_q[i] | hit) & free_o[i];

    always_comb begin
      cause[i] = {1'b0, cause_q};
      if (!due_q[i])
        cause[i] = absolute_hit_i[i] ? weir_nic_pkg::CAUSE_ABSOLUTE : weir_nic_pkg::CAUSE_PACKET;
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        enabled_q[i] <= 1'b0;
        filled_q[i] <= 1'b0;
        ready_q[i] <= 1'b0;
        due_q[i] <= 1'b0;
        cause_q <= '0;
      end else begin
        if (release_i & (release_queue_i == 6'(i))) ready_q[i] <= 1'b0;
        if (hit) begin
          due_q[i] <= 1'b1;
          cause_q  <= cause[i][1:0];
        end
        if (mine) begin
          if (step_i.commit) filled_q[i] <= 1'b1;
          if (step_i.want & ~due_q[i] & ~hit) begin
            due_q[i] <= 1'b1;
            cause_q  <= step_i.cause[1:0];
          end
          if (step_i.handover) begin
            filled_q[i] <= 1'b0;
            due_q[i] <= 1'b0;
            ready_q[i] <= 1'b1;
          end
          if (step_i.opens) enabled_q[i] <= 1'b1;
          if (step_i.closes) begin
            enabled_q[i] <= 1'b0;
            filled_q[i] <= 1'b0;
            due_q[i] <= 1'b0;
          end
        end
      end
    end
  end

  always_comb begin
    cause_o = '0;
    for (int i = 0; i < Queues; i++) if (select_i[i]) cause_o |= cause[i];
  end

  assign enabled_o = enabled_q;
  assign filled_o  = filled_q;
  assign ready_o   = ready_q;

  logic unused_step;
  assign unused_step = ^step_i;

endmodule
