// SPDX-License-Identifier: Apache-2.0

/**
 * Interrupt
 *
 * Purpose: one line for the queues that have a buffer for software, without those that the running
 * task's priority holds back.
 *
 * Interface contract
 *   ready_i      Queues with a buffer for software.
 *   cfg_i        PRIORITY of a queue.
 *   threshold_i  A queue below it is held back.
 *   take_*       Acknowledges the queue's interrupt, until its next buffer is handed over.
 *   active_o     Queues that are not, nor acknowledged.
 *   next_*_o     The active queue of the highest priority, of several the lowest index.
 *   irq_o        Level: enable_i, and a queue is active.
 *   rise_o       Pulse in the first cycle of irq_o.
 *
 * Timing: active_o follows ready_i and threshold_i in the next cycle, take_i in the one after that, irq_o in the one after that,
 * next_*_o after four.
 *
 * Parameters
 *   Queues       1 to 64
 *
 * Proved properties: no interrupt without a ready queue that the threshold lets through; one within
 * two cycles if there is; next_*_o is active, and none of a higher priority is.
 */
module weir_nic_irq #(
  parameter int unsigned Queues = 8
) (
  input logic clk_i,
  input logic rst_ni,

  input weir_nic_pkg::cfg_t              cfg_i,
  input logic               [Queues-1:0] ready_i,
  input logic                            enable_i,
  input logic               [       4:0] threshold_i,
  input logic                            take_i,
  input logic               [       5:0] take_queue_i,

  output logic [Queues-1:0] active_o,
  output logic              next_valid_o,
  output logic [       5:0] next_queue_o,

  output logic irq_o,
  output logic rise_o,
  output logic idle_o   // nothing follows without a change of ready, enable, or threshold
);

  logic [Queues-1:0] passes, taken_q, open, active_q;
  logic [3:0] level_q[Queues];
  logic irq_q, last_q;

  for (genvar i = 0; i < Queues; i++) begin : gen_level
    always_ff @(posedge clk_i) begin
      if (!rst_ni) level_q[i] <= '0;
      else if (cfg_i.write & (cfg_i.index == 6'(i)) & (cfg_i.word == weir_nic_reg_pkg::Q_PRIORITY))
        level_q[i] <= cfg_i.data[3:0];
    end
    assign passes[i] = {1'b0, level_q[i]} >= threshold_i;

    always_ff @(posedge clk_i) begin
      if (!rst_ni | ~ready_i[i]) taken_q[i] <= 1'b0;
      else if (take_i & (take_queue_i == 6'(i))) taken_q[i] <= 1'b1;
    end
  end

  assign open = ready_i & ~taken_q & passes;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= '0;
      irq_q <= 1'b0;
      last_q <= 1'b0;
    end else begin
      active_q <= open;
      irq_q <= enable_i & (|active_q);
      last_q <= irq_q;
    end
  end

  //////////////////////
  // Highest priority //
  //////////////////////

  // From the highest bit on, queues without it drop out if there is one with it: two bits a stage.
  logic [Queues-1:0] left[5];
  logic [Queues-1:0] high_q, highest_q;
  logic [5:0] index, next_queue_q;
  logic next_valid_q;

  assign left[0] = active_q;

  for (genvar bit_no = 0; bit_no < 4; bit_no++) begin : gen_bit
    logic [Queues-1:0] with_bit, candidates;
    assign candidates = (bit_no == 2) ? high_q : left[bit_no];
    for (genvar i = 0; i < Queues; i++) begin : gen_queue
      assign with_bit[i] = candidates[i] & level_q[i][3-bit_no];
    end
    assign left[bit_no+1] = (|with_bit) ? with_bit : candidates;
  end

  always_comb begin
    index = '0;
    for (int i = Queues - 1; i >= 0; i--) if (highest_q[i]) index = 6'(i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      high_q <= '0;
      highest_q <= '0;
      next_valid_q <= 1'b0;
      next_queue_q <= '0;
    end else begin
      high_q <= left[2];
      highest_q <= left[4];
      next_valid_q <= |highest_q;
      next_queue_q <= index;
    end
  end

  assign active_o = active_q;
  assign next_valid_o = next_valid_q;
  assign next_queue_o = next_queue_q;
  assign irq_o = irq_q;
  assign rise_o = irq_q & ~last_q;

  // Three stages behind active_q, counted down after its last change
  logic [2:0] settle_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) settle_q <= '0;
    else settle_q <= {settle_q[1:0], active_q != open};
  end
  assign idle_o = (settle_q == '0) & (active_q == open) & (last_q == irq_q) &
                  (irq_q == (enable_i & (|active_q)));

endmodule
