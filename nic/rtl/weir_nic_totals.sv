// SPDX-License-Identifier: Apache-2.0

/**
 * Counters of the whole NIC
 *
 * Purpose: counts strobes, and shows the counts.
 *
 * Interface contract: a strobe counts in the cycle in which it is high. word_i counts from
 * REG_ACCEPTED on; behind the last counter it reads 0. Counters wrap. No strobe during reset.
 *
 * Timing: a count follows its strobe two cycles later.
 *
 * Proved properties, by induction: each counter is the number of its strobes up to two cycles ago;
 * idle_o is high exactly if none came in the cycle before.
 */
module weir_nic_totals (
  input logic clk_i,
  input logic rst_ni,

  input logic accepted_i,
  input logic bad_i,
  input logic overrun_i,
  input logic off_i,
  input logic filtered_i,
  input logic error_i,
  input logic irq_i,

  output logic idle_o,  // nothing follows without a strobe

  input  logic [ 2:0] word_i,
  output logic [31:0] count_o
);

  localparam int unsigned Counters = 6;

  logic [31:0] count_q[Counters];
  logic [ 1:0] step_q [Counters];  // of the cycle before

  always_ff @(posedge clk_i) begin
    step_q[0] <= {1'b0, accepted_i};
    step_q[1] <= {1'b0, bad_i};
    step_q[2] <= {1'b0, overrun_i};
    step_q[3] <= {1'b0, off_i} + {1'b0, filtered_i};
    step_q[4] <= {1'b0, error_i};
    step_q[5] <= {1'b0, irq_i};
  end

  for (genvar i = 0; i < Counters; i++) begin : gen_count
    always_ff @(posedge clk_i) begin
      if (!rst_ni) count_q[i] <= '0;
      else count_q[i] <= count_q[i] + 32'(step_q[i]);
    end
  end

  always_comb begin
    idle_o = 1'b1;
    for (int unsigned i = 0; i < Counters; i++) if (step_q[i] != 2'd0) idle_o = 1'b0;
  end

  always_comb begin
    count_o = '0;
    for (int unsigned i = 0; i < Counters; i++) if (word_i == 3'(i)) count_o = count_q[i];
  end

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset of two cycles has been
  logic f_first_q = 1'b0;
  always_ff @(posedge clk_i) {begun_q, f_first_q} <= {f_first_q, 1'b1};
  always_comb if (!begun_q) assume (!rst_ni);

  // The strobes of any counter, up to the cycle before, and up to the one before that
  logic [2:0] f_word_q;
  logic [31:0] f_sum_q, f_count_q;
  logic [5:0] f_strobes;
  logic f_none_q;
  assign f_strobes = {irq_i, error_i, off_i | filtered_i, overrun_i, bad_i, accepted_i};
  always_comb assume (rst_ni || f_strobes == '0);

  always_ff @(posedge clk_i) begin
    if (!f_first_q) f_word_q <= word_i;
    f_none_q  <= f_strobes == '0;
    f_count_q <= f_sum_q;
    unique case (f_word_q)
      3'd0: f_sum_q <= f_sum_q + 32'(accepted_i);
      3'd1: f_sum_q <= f_sum_q + 32'(bad_i);
      3'd2: f_sum_q <= f_sum_q + 32'(overrun_i);
      3'd3: f_sum_q <= f_sum_q + 32'(off_i) + 32'(filtered_i);
      3'd4: f_sum_q <= f_sum_q + 32'(error_i);
      3'd5: f_sum_q <= f_sum_q + 32'(irq_i);
      default: ;
    endcase
    if (!rst_ni) {f_sum_q, f_count_q} <= '0;

    if (begun_q && rst_ni) begin
      a_count : assert (word_i != f_word_q || count_o == f_count_q);
      a_idle : assert (idle_o == f_none_q);
      // Inductive: what follows
      for (int i = 0; i < Counters; i++)
      if (f_word_q == 3'(i))
        assert (count_q[i] == f_count_q && 32'(step_q[i]) == f_sum_q - f_count_q);
      assert (f_word_q < 3'(Counters) || (f_sum_q == '0 && f_count_q == '0));
      c_two : cover (word_i == 3'd3 && count_o == 32'd2);
    end
  end
`endif

endmodule
