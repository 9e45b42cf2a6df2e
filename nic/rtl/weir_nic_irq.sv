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
 * Timing: active_o and irq_o follow ready_i and threshold_i in the next cycle, take_i in the one
 * after that; next_*_o follow active_o after three.
 *
 * Parameters
 *   Queues       1 to 64
 *
 * Proved properties: an interrupt exactly with a queue that is ready, not acknowledged and not below
 * the threshold; next_*_o is the highest of them, and among equals the lowest index.
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
  // Nothing follows without a change of ready, enable or threshold, nor of a priority in the last
  // three cycles
  output logic idle_o
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
      irq_q <= enable_i & (|open);
      last_q <= irq_q;
    end
  end

  //////////////////////
  // Highest priority //
  //////////////////////

  // From the highest bit on, queues without it drop out if there is one with it: two bits a stage.
  logic [Queues-1:0] level_bit[4];
  logic [Queues-1:0] high_q, highest_q;
  logic [5:0] index, next_queue_q;
  logic next_valid_q;

  for (genvar i = 0; i < Queues; i++) begin : gen_bits
    for (genvar j = 0; j < 4; j++) begin : gen_bit
      assign level_bit[j][i] = level_q[i][j];
    end
  end

  function automatic logic [Queues-1:0] narrow(logic [Queues-1:0] left, logic [Queues-1:0] bits);
    return (|(left & bits)) ? left & bits : left;
  endfunction

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
      high_q <= narrow(narrow(active_q, level_bit[3]), level_bit[2]);
      highest_q <= narrow(narrow(high_q, level_bit[1]), level_bit[0]);
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
                  (irq_q == (enable_i & (|open)));

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  logic [4:0] f_held_q;  // cycles in which nothing changed
  logic [Queues-1:0] f_open, f_open_q, f_taken_q;
  logic [3:0] f_level_q[Queues];
  logic f_enable_q, f_idle_q;
  logic [3:0] f_set_q;  // a priority may have changed in one of the last cycles
  logic [Queues+8:0] f_out, f_out_q;
  assign f_out = {active_o, next_valid_o, next_queue_o, irq_o, rise_o};

  // As it should be: ready, not acknowledged since, not below the threshold
  always_comb begin
    for (int i = 0; i < Queues; i++)
    f_open[i] = ready_i[i] && !f_taken_q[i] && 5'(f_level_q[i]) >= threshold_i;
  end

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < Queues; i++) begin
      if (take_i && take_queue_i == 6'(i)) f_taken_q[i] <= 1'b1;
      if (!ready_i[i] || !rst_ni) f_taken_q[i] <= 1'b0;
      if (cfg_i.write && cfg_i.index == 6'(i) && cfg_i.word == weir_nic_reg_pkg::Q_PRIORITY)
        f_level_q[i] <= cfg_i.data[3:0];
      if (!rst_ni) f_level_q[i] <= '0;
    end
    f_open_q <= f_open;
    f_idle_q <= begun_q && rst_ni && idle_o;
    f_out_q  <= f_out;
    f_set_q  <= {f_set_q[2:0], cfg_i.write};
    if (!rst_ni) f_set_q <= '1;
    f_enable_q <= enable_i;
    if (!begun_q || !rst_ni || f_open != f_open_q || cfg_i.write) f_held_q <= '0;
    else if (f_held_q != '1) f_held_q <= f_held_q + 5'd1;

    if (begun_q && rst_ni) begin
      // Since the cycle before: a queue that is ready, not acknowledged and not held back
      if ($past(begun_q && rst_ni)) begin
        a_irq : assert (irq_o == (f_enable_q && f_open_q != '0));
        a_active : assert (active_o == f_open_q);
        a_rise : assert (rise_o == (irq_o && !$past(irq_o)));
      end
      // Idle: it stays as it is, and all that follows has followed.
      if (f_idle_q && f_open == f_open_q && enable_i == f_enable_q && f_set_q == '0)
        a_idle : assert (f_out == f_out_q);
      for (int i = 0; i < Queues; i++) begin
        if (f_held_q > 5'd3 && next_valid_o) begin
          assert (!f_open_q[i] || f_level_q[i] <= f_level_q[next_queue_o]);
          assert (!f_open_q[i] || f_level_q[i] != f_level_q[next_queue_o] || 6'(i) >= next_queue_o);
        end
      end
      if (f_held_q > 5'd3) begin
        a_next_valid : assert (next_valid_o == (f_open_q != '0));
        a_next_active :
        assert (!next_valid_o || (next_queue_o < 6'(Queues) && f_open_q[next_queue_o]));
      end
      c_held_back : cover (ready_i != '0 && f_open == '0 && f_taken_q == '0);
    end
  end
`endif

endmodule
