// SPDX-License-Identifier: Apache-2.0

/**
 * Transmit FIFO, store and forward
 *
 * Purpose: collects a frame from the bus and offers it to the MAC only when it is complete.
 *
 * Interface contract
 *   push_*     One word per cycle with push_i, never without room_o of the cycle in which the burst
 *              was requested. push_last_i ends and commits the frame; push_tail_i is then the
 *              number of bytes in the word, modulo 4.
 *   drop_i     Forgets the words since the last commit. Not together with push_i.
 *   room_o     At least BurstWords words are free.
 *   axis_*     Stream to the MAC. Within a frame tvalid never falls between words.
 *
 * Timing: tvalid rises two cycles after the push of the last word; then one word per cycle.
 *
 * Parameters
 *   Words      Capacity in 32-bit words, a power of two, at least 380 + BurstWords.
 *   BurstWords Largest burst on the bus.
 */
module nic_tx_fifo #(
  parameter int unsigned Words = 512,
  parameter int unsigned BurstWords = 8
) (
  input logic clk_i,
  input logic rst_ni,

  // Words from the bus
  input  logic        push_i,
  input  logic [31:0] push_data_i,
  input  logic        push_last_i,
  input  logic [ 1:0] push_tail_i,
  input  logic        drop_i,
  output logic        room_o,

  // Stream to the MAC
  output logic [31:0] axis_tdata_o,
  output logic [ 3:0] axis_tkeep_o,
  output logic        axis_tvalid_o,
  input  logic        axis_tready_i,
  output logic        axis_tlast_o,

  output logic idle_o  // nothing changes in a later cycle without a push or tready
);

  localparam int unsigned Aw = $clog2(Words);

  logic [34:0] mem[Words];  // {last, tail, data}
  logic [34:0] rdata_q;
  logic [Aw:0] write_q, commit_q, read_q, write_d, read_d, used;
  logic valid_q, pop;

  assign used = write_q - read_q;
  assign room_o = used <= (Aw + 1)'(Words - BurstWords);

  assign pop = valid_q & axis_tready_i;
  assign read_d = read_q + (Aw + 1)'(pop);
  assign write_d = drop_i ? commit_q : write_q + (Aw + 1)'(push_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q  <= '0;
      commit_q <= '0;
      read_q   <= '0;
      valid_q  <= 1'b0;
    end else begin
      write_q <= write_d;
      if (push_i & push_last_i) commit_q <= write_d;
      read_q  <= read_d;
      // A word written in this cycle can be read in the next: the old commit pointer decides.
      valid_q <= read_d != commit_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) mem[write_q[Aw-1:0]] <= {push_last_i, push_tail_i, push_data_i};
    rdata_q <= mem[read_d[Aw-1:0]];
  end

  assign axis_tvalid_o = valid_q;
  assign axis_tdata_o  = rdata_q[31:0];
  assign axis_tlast_o  = rdata_q[34];

  always_comb begin
    axis_tkeep_o = 4'b1111;
    if (rdata_q[34]) begin
      unique case (rdata_q[33:32])
        2'd1: axis_tkeep_o = 4'b0001;
        2'd2: axis_tkeep_o = 4'b0011;
        2'd3: axis_tkeep_o = 4'b0111;
        default: axis_tkeep_o = 4'b1111;
      endcase
    end
  end

  assign idle_o = ~pop & (valid_q == (read_q != commit_q));

endmodule
