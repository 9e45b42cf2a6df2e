// SPDX-License-Identifier: Apache-2.0

/**
 * Counters of the whole NIC
 *
 * Purpose: counts strobes, and shows the counts.
 *
 * Interface contract: a strobe counts in the cycle in which it is high. word_i counts from
 * REG_ACCEPTED on. Counters wrap.
 *
 * Timing: a count follows its strobe two cycles later.
 *
 * Proved properties: none yet; see tests/weir_nic_cases.py.
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

endmodule
