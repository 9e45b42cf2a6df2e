// SPDX-License-Identifier: Apache-2.0

/**
 * Receive side of the plain NIC: FIFO of whole frames and DMA
 *
 * Purpose: wires nic_rx_fifo to nic_rx_dma.
 *
 * Interface contract: that of the two; event_o holds the strobes of both.
 *
 * Timing: from tlast of a frame of n words to event_o.done on a free bus whose slave answers a
 * burst after one wait cycle: 10 + n + 2 * ceil(n / BurstWords) cycles.
 *
 * Parameters
 *   FifoWords  FIFO in 32-bit words, a power of two, at least 16
 */
module nic_plain_rx #(
  parameter int unsigned FifoWords = 1024
) (
  input logic clk_i,
  input logic rst_ni,

  // Stream from the MAC
  input logic [31:0] axis_tdata_i,
  input logic [ 3:0] axis_tkeep_i,
  input logic        axis_tvalid_i,
  input logic        axis_tlast_i,
  input logic        axis_tuser_i,

  // Bus client
  output nic_plain_pkg::bus_req_t bus_o,
  input  nic_plain_pkg::bus_rsp_t bus_i,

  // Software
  input  nic_plain_pkg::ring_cfg_t          cfg_i,
  output nic_plain_pkg::ring_state_t        state_o,
  output nic_plain_pkg::rx_event_t          event_o,
  output logic                              accepted_o,  // by the FIFO
  output logic                       [31:0] buffer_o,    // of the frame that event_o.done announces

  output logic idle_o  // nothing changes in a later cycle without a word
);

  logic frame_valid, word_pop, frame_pop;
  logic [11:0] frame_bytes;
  logic [31:0] word;
  logic fifo_empty, fifo_idle, dma_busy, dma_idle;

  nic_rx_fifo #(
    .Words(FifoWords)
  ) u_fifo (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .enable_i     (cfg_i.enable),
    .axis_tdata_i (axis_tdata_i),
    .axis_tkeep_i (axis_tkeep_i),
    .axis_tvalid_i(axis_tvalid_i),
    .axis_tlast_i (axis_tlast_i),
    .axis_tuser_i (axis_tuser_i),
    .accepted_o   (accepted_o),
    .full_o       (event_o.full),
    .bad_o        (event_o.bad),
    .filtered_o   (event_o.filtered),
    .frame_valid_o(frame_valid),
    .frame_bytes_o(frame_bytes),
    .word_o       (word),
    .word_pop_i   (word_pop),
    .frame_pop_i  (frame_pop),
    .empty_o      (fifo_empty),
    .idle_o       (fifo_idle)
  );

  nic_rx_dma u_dma (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .enable_i     (cfg_i.enable),
    .ring_i       (cfg_i.ring),
    .index_o      (state_o.index),
    .frame_valid_i(frame_valid),
    .frame_bytes_i(frame_bytes),
    .word_i       (word),
    .word_pop_o   (word_pop),
    .frame_pop_o  (frame_pop),
    .bus_o        (bus_o),
    .bus_i        (bus_i),
    .done_o       (event_o.done),
    .nodesc_o     (event_o.nodesc),
    .long_o       (event_o.too_long),
    .error_o      (event_o.error),
    .buffer_o     (buffer_o),
    .busy_o       (dma_busy),
    .idle_o       (dma_idle)
  );

  assign state_o.busy = dma_busy | ~fifo_empty;
  assign idle_o = fifo_idle & dma_idle;

endmodule
