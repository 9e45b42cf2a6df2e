// SPDX-License-Identifier: Apache-2.0

/**
 * Transmit side of the plain NIC: DMA and FIFO, store and forward
 *
 * Purpose: wires nic_tx_dma to nic_tx_fifo.
 *
 * Interface contract: that of the two; event_o holds the DMA's strobes.
 *
 * Timing: tvalid rises two cycles after the last word came over the bus.
 *
 * Parameters
 *   FifoWords  FIFO in 32-bit words, a power of two, at least 380 + BurstWords
 *   BurstWords Largest burst on the bus
 */
module nic_plain_tx #(
  parameter int unsigned FifoWords  = 512,
  parameter int unsigned BurstWords = 8
) (
  input logic clk_i,
  input logic rst_ni,

  // Bus client
  output nic_plain_pkg::bus_req_t bus_o,
  input  nic_plain_pkg::bus_rsp_t bus_i,

  // Software
  input  nic_plain_pkg::ring_cfg_t   cfg_i,
  input  logic                       kick_i,
  output nic_plain_pkg::ring_state_t state_o,
  output nic_plain_pkg::tx_event_t   event_o,

  // Stream to the MAC
  output logic [31:0] axis_tdata_o,
  output logic [ 3:0] axis_tkeep_o,
  output logic        axis_tvalid_o,
  input  logic        axis_tready_i,
  output logic        axis_tlast_o,

  output logic idle_o  // nothing changes in a later cycle without a kick or tready
);

  logic push, push_last, drop, room;
  logic [31:0] push_data;
  logic [ 1:0] push_tail;
  logic fifo_idle, dma_idle;

  nic_tx_dma u_dma (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .enable_i   (cfg_i.enable),
    .kick_i     (kick_i),
    .ring_i     (cfg_i.ring),
    .index_o    (state_o.index),
    .bus_o      (bus_o),
    .bus_i      (bus_i),
    .push_o     (push),
    .push_data_o(push_data),
    .push_last_o(push_last),
    .push_tail_o(push_tail),
    .drop_o     (drop),
    .room_i     (room),
    .returned_o (event_o.returned),
    .sent_o     (event_o.sent),
    .bad_o      (event_o.bad),
    .error_o    (event_o.error),
    .busy_o     (state_o.busy),
    .idle_o     (dma_idle)
  );

  nic_tx_fifo #(
    .Words     (FifoWords),
    .BurstWords(BurstWords)
  ) u_fifo (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .push_i       (push),
    .push_data_i  (push_data),
    .push_last_i  (push_last),
    .push_tail_i  (push_tail),
    .drop_i       (drop),
    .room_o       (room),
    .axis_tdata_o (axis_tdata_o),
    .axis_tkeep_o (axis_tkeep_o),
    .axis_tvalid_o(axis_tvalid_o),
    .axis_tready_i(axis_tready_i),
    .axis_tlast_o (axis_tlast_o),
    .idle_o       (fifo_idle)
  );

  assign idle_o = dma_idle & fifo_idle;

endmodule
