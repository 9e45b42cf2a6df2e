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
 *                itself made due. It is of the cycle before.
 *   *_hit_i      Timers that are due; without effect on a queue without frames. A hit counts after
 *                the step that is told in the same cycle. Of several causes the first one stays; of one cycle
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
 * Proved properties: due only with frames; a hand-over only with frames and to a free buffer; a
 * buffer with software stays there until released; a hit with frames is due from then on, for the
 * first cause, until handed over or closed.
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
    logic mine, filled, packet_hit, hit;
    logic [1:0] cause_q;

    assign mine = step_i.index == 6'(i);
    // A step is of the cycle before: a frame was there before the timer, a packet timer restarted.
    assign filled = (filled_q[i] | (mine & step_i.commit)) & ~(mine & step_i.handover);
    assign packet_hit = packet_hit_i[i] & ~(mine & step_i.commit);
    assign hit = filled & (packet_hit | absolute_hit_i[i]);
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
        if (mine) begin
          if (step_i.commit) filled_q[i] <= 1'b1;
          if (step_i.want & ~due_q[i]) begin
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
        if (hit & ~due_q[i] & ~(mine & (step_i.want | step_i.closes))) begin
          due_q[i] <= 1'b1;
          cause_q  <= cause[i][1:0];
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

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // Any queue
  logic [5:0] watched;
  always_ff @(posedge clk_i) if (!begun_q) watched <= release_queue_i;
  always_comb assume (!begun_q || watched < 6'(Queues));
  logic f_mine;
  assign f_mine = step_i.index == watched;

  // The queue manager's part of the contract
  always_comb begin
    assume (step_i.index < 6'(Queues));
    assume (!step_i.want || step_i.commit);
    assume (step_i.commit || step_i.handover || step_i.opens || step_i.closes || !step_i.first);
    assume (!((step_i.commit | step_i.handover) && (step_i.opens | step_i.closes)));
    assume (!(step_i.opens && step_i.closes));
    assume (step_i.cause <= weir_nic_pkg::CAUSE_FULL);
    // Only the two causes of a commit come with want.
    assume (!step_i.want || step_i.cause <= weir_nic_pkg::CAUSE_FRAMES);
    // It hands over what is filled, or a frame that comes with it, to a free buffer.
    if (f_mine && step_i.handover)
      assume (!ready_q[watched] && (filled_q[watched] || step_i.commit));
  end

  // What should be: frames, and whether a hand-over is due
  logic f_filled_q, f_ready_q, f_due_q, f_enabled_q;
  logic f_commit, f_handover, f_hit, f_hit_q;
  logic [2:0] f_cause_q, f_hit_cause, cause_of_due;
  assign f_commit = f_mine && step_i.commit;
  assign f_handover = f_mine && step_i.handover;
  // Of a queue with frames, after this step: the absolute timer, or the packet timer if no frame came
  assign f_hit = (f_filled_q || f_commit) && !f_handover &&
                 (absolute_hit_i[watched] || (packet_hit_i[watched] && !f_commit));
  assign f_hit_cause =
      absolute_hit_i[watched] ? weir_nic_pkg::CAUSE_ABSOLUTE : weir_nic_pkg::CAUSE_PACKET;
  assign cause_of_due = cause[watched];

  always_ff @(posedge clk_i) begin
    f_hit_q <= rst_ni && !(f_mine && (step_i.closes || step_i.handover)) &&
               (f_hit || (f_mine && step_i.want));
    if (!due_q[watched]) f_cause_q <= (f_mine && step_i.want) ? step_i.cause : f_hit_cause;
    if (!rst_ni) {f_filled_q, f_ready_q, f_enabled_q} <= '0;
    else begin
      if (f_mine && step_i.opens) f_enabled_q <= 1'b1;
      if (f_mine && step_i.closes) f_enabled_q <= 1'b0;
      if (f_mine && step_i.commit) f_filled_q <= 1'b1;
      if (f_mine && (step_i.handover || step_i.closes)) f_filled_q <= 1'b0;
      if (release_i && release_queue_i == watched) f_ready_q <= 1'b0;
      if (f_mine && step_i.handover) f_ready_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    f_due_q <= begun_q && rst_ni && due_q[watched] &&
               !(f_mine && (step_i.handover || step_i.closes));
    if (begun_q && rst_ni) begin
      a_due_only_filled : assert (!due_q[watched] || filled_q[watched]);
      a_may_only_filled :
      assert (!may_o[watched] || filled_q[watched] || (f_mine && step_i.commit));
      a_may_only_free : assert (!may_o[watched] || !ready_q[watched]);
      a_filled : assert (filled_q[watched] == f_filled_q);
      a_ready_until_released : assert (ready_q[watched] == f_ready_q);
      a_due_stays : assert (!f_due_q || due_q[watched]);
      // A hit with frames, or what the queue manager wants, is due from then on, for the first cause.
      a_hit_due : assert (!f_hit_q || due_q[watched]);
      a_cause : assert (!due_q[watched] || cause_of_due == f_cause_q);
      a_may : assert (may_o[watched] == ((due_q[watched] || f_hit) && free_o[watched]));
      a_free : assert (free_o[watched] == (!f_ready_q && ok_i[watched] && !counting_i[watched]));
      a_enabled : assert (enabled_o[watched] == f_enabled_q);
      if (select_i == (Queues'(1) << watched) && may_o[watched])
        a_cause_o : assert (cause_o == (due_q[watched] ? f_cause_q : f_hit_cause));
      c_due_held : cover (due_q[watched] && ready_q[watched]);
    end
  end
`endif

endmodule
