// SPDX-License-Identifier: Apache-2.0

/**
 * The streams of LiteEth's MAC to those of the NICs, and back
 *
 * Purpose: joins LiteEthMACCore with 32 bits to weir_nic or nic_plain. Where the last byte is, LiteEth
 * says with a one in last_be, AXI-Stream with as many ones in tkeep; of an error LiteEth tells at any
 * byte, the NICs ask at the last.
 *
 * Interface contract
 *   mac_rx_*   The MAC's source. It never waits. An error in any of a frame's words damages the frame.
 *   rx_axis_*  To a NIC: see weir_nic.
 *   tx_axis_*  From nic_plain.
 *   mac_tx_*   The MAC's sink; the MAC adds preamble and FCS. Frames are padded to 60 bytes here: with a
 *              width of 32 bits, LiteEth 2024.12 leaves the frame after one of 57 to 59 bytes short.
 *
 * Timing: received words leave in the cycle after, words to send in the same cycle.
 */
module weir_nic_liteeth (
  input logic clk_i,
  input logic rst_ni,

  // From the MAC
  input  logic        mac_rx_valid_i,
  output logic        mac_rx_ready_o,
  input  logic        mac_rx_last_i,
  input  logic [31:0] mac_rx_data_i,
  input  logic [ 3:0] mac_rx_last_be_i,
  input  logic [ 3:0] mac_rx_error_i,

  // To the NIC
  output logic [31:0] rx_axis_tdata_o,
  output logic [ 3:0] rx_axis_tkeep_o,
  output logic        rx_axis_tvalid_o,
  output logic        rx_axis_tlast_o,
  output logic        rx_axis_tuser_o,

  // From the NIC
  input  logic [31:0] tx_axis_tdata_i,
  input  logic [ 3:0] tx_axis_tkeep_i,
  input  logic        tx_axis_tvalid_i,
  output logic        tx_axis_tready_o,
  input  logic        tx_axis_tlast_i,

  // To the MAC
  output logic        mac_tx_valid_o,
  input  logic        mac_tx_ready_i,
  output logic        mac_tx_last_o,
  output logic [31:0] mac_tx_data_o,
  output logic [ 3:0] mac_tx_last_be_o,
  output logic [ 3:0] mac_tx_error_o
);

  logic damaged, damaged_q;
  logic [3:0] keep;

  // Behind the last byte, last_be and the data are what was there before: the lowest one counts.
  always_comb begin
    keep = 4'b1111;
    if (mac_rx_last_i) begin
      unique casez (mac_rx_last_be_i)
        4'b???1: keep = 4'b0001;
        4'b??10: keep = 4'b0011;
        4'b?100: keep = 4'b0111;
        default: keep = 4'b1111;
      endcase
    end
  end

  assign damaged = damaged_q | (|mac_rx_error_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      damaged_q <= 1'b0;
      rx_axis_tvalid_o <= 1'b0;
    end else begin
      if (mac_rx_valid_i) damaged_q <= damaged & ~mac_rx_last_i;
      rx_axis_tvalid_o <= mac_rx_valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    rx_axis_tdata_o <= mac_rx_data_i;
    rx_axis_tkeep_o <= keep;
    rx_axis_tlast_o <= mac_rx_last_i;
    rx_axis_tuser_o <= mac_rx_last_i & damaged;
  end

  assign mac_rx_ready_o = 1'b1;

  //////////////////
  // What is sent //
  //////////////////

  localparam logic [3:0] LastWord = 14;  // of the shortest frame, 60 bytes

  logic padding_q, shortest;
  logic [3:0] word_q;  // index of the next word, up to LastWord + 1
  logic [3:0] tx_keep;

  assign shortest = (word_q == LastWord) & (padding_q | tx_axis_tlast_i);
  assign tx_keep = tx_axis_tlast_i ? tx_axis_tkeep_i : 4'b1111;

  assign mac_tx_valid_o = padding_q | tx_axis_tvalid_i;
  assign tx_axis_tready_o = mac_tx_ready_i & ~padding_q;
  assign mac_tx_last_o = (padding_q | tx_axis_tlast_i) & (word_q >= LastWord);
  assign mac_tx_error_o = '0;

  always_comb begin
    mac_tx_data_o = '0;
    for (int unsigned i = 0; i < 4; i++) begin
      if (!padding_q && tx_keep[i]) mac_tx_data_o[8*i+:8] = tx_axis_tdata_i[8*i+:8];
    end
    mac_tx_last_be_o = '0;
    if (shortest) mac_tx_last_be_o = 4'b1000;
    else if (mac_tx_last_o) mac_tx_last_be_o = tx_keep & ~(tx_keep >> 1);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      padding_q <= 1'b0;
      word_q <= '0;
    end else if (mac_tx_valid_o & mac_tx_ready_i) begin
      padding_q <= (padding_q | tx_axis_tlast_i) & ~mac_tx_last_o;
      if (mac_tx_last_o) word_q <= '0;
      else if (word_q <= LastWord) word_q <= word_q + 4'd1;
    end
  end

endmodule
