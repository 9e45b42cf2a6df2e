// SPDX-License-Identifier: Apache-2.0

/**
 * Plain NIC: one receive ring, one transmit ring, one interrupt line
 *
 * Purpose: what a low-cost Ethernet MAC with DMA offers, and nothing more. Register map and
 * interrupt: nic_plain_regs. Descriptor layout and limits: nic_plain_pkg.
 *
 *              nic_plain_rx
 *   rx_axis -> nic_rx_fifo -> nic_rx_dma --+
 *                                          +-- nic_wb_master -- wbm
 *   tx_axis <- nic_tx_fifo <- nic_tx_dma --+
 *              nic_plain_tx
 *   wbs, irq -- nic_plain_regs
 *
 * Interface contract
 *   rst_ni     Synchronous, active low.
 *   rx_axis_*  From the MAC, without the FCS. No ready: a word in every cycle is taken. First byte
 *              in bits 7:0; tkeep of the last word has its ones at the low end; tuser with tlast:
 *              the frame is damaged. No idle cycle is needed between frames.
 *   tx_axis_*  To the MAC, without FCS or padding. Within a frame tvalid does not fall.
 *   wbs_*      Wishbone B4 classic slave, word address. Ack in the cycle after stb.
 *   wbm_*      Wishbone B4 master, registered-feedback bursts, see nic_wb_master. Any latency; err
 *              costs the frame under way.
 *   irq_o      Level: an enabled pending bit is set.
 *   ev_*       Pulses of one cycle for a passive observer.
 *              For each frame, in order, exactly one of ev_rx_accept_o, ev_rx_overrun_o,
 *              ev_rx_bad_o (damaged, too short, too long, receiver off), in the cycle after tlast.
 *              For each accepted frame, in order, exactly one of ev_rx_done_o (in RAM; the cycle in
 *              which the pending bit rises; ev_rx_addr_o is the buffer's byte address),
 *              ev_rx_nodesc_o, ev_rx_error_o (longer than the buffer, or bus error).
 *   quiescent_o
 *              With the inputs as they are in this cycle (no stream word, no register access,
 *              tready) nothing in the NIC changes in this or any later cycle. A transmit word that
 *              waits for tready is quiescent, a register access is not. It is combinational in
 *              rx_axis_tvalid_i, wbs_cyc_i, wbs_stb_i and tx_axis_tready_i.
 *
 * Timing: tlast of a frame of n words to irq_o, on a free bus whose slave answers a burst after one
 * wait cycle: 11 + n + 2 * ceil(n / BurstWords) cycles (two more with BurstWords of 1). The receive
 * path takes a word per cycle as long as the FIFO has room.
 *
 * Parameters
 *   RxFifoWords  Receive FIFO in 32-bit words, a power of two, at least 16
 *   TxFifoWords  Transmit FIFO, a power of two, at least 380 + BurstWords
 *   BurstWords   Largest burst on the bus, 1 to 255
 */
module nic_plain #(
  parameter int unsigned RxFifoWords = 1024,
  parameter int unsigned TxFifoWords = 512,
  parameter int unsigned BurstWords  = 8
) (
  input logic clk_i,
  input logic rst_ni,

  // Receive stream
  input logic [31:0] rx_axis_tdata_i,
  input logic [ 3:0] rx_axis_tkeep_i,
  input logic        rx_axis_tvalid_i,
  input logic        rx_axis_tlast_i,
  input logic        rx_axis_tuser_i,

  // Transmit stream
  output logic [31:0] tx_axis_tdata_o,
  output logic [ 3:0] tx_axis_tkeep_o,
  output logic        tx_axis_tvalid_o,
  input  logic        tx_axis_tready_i,
  output logic        tx_axis_tlast_o,

  // Registers
  input  logic [ 9:0] wbs_adr_i,
  input  logic [31:0] wbs_dat_i,
  output logic [31:0] wbs_dat_o,
  input  logic [ 3:0] wbs_sel_i,
  input  logic        wbs_cyc_i,
  input  logic        wbs_stb_i,
  input  logic        wbs_we_i,
  output logic        wbs_ack_o,
  output logic        wbs_err_o,

  // DMA
  output logic [29:0] wbm_adr_o,
  output logic [31:0] wbm_dat_o,
  input  logic [31:0] wbm_dat_i,
  output logic [ 3:0] wbm_sel_o,
  output logic        wbm_cyc_o,
  output logic        wbm_stb_o,
  output logic        wbm_we_o,
  output logic [ 2:0] wbm_cti_o,
  output logic [ 1:0] wbm_bte_o,
  input  logic        wbm_ack_i,
  input  logic        wbm_err_i,

  output logic irq_o,

  // Observation
  output logic        ev_rx_accept_o,
  output logic        ev_rx_overrun_o,
  output logic        ev_rx_bad_o,
  output logic        ev_rx_done_o,
  output logic [31:0] ev_rx_addr_o,
  output logic        ev_rx_nodesc_o,
  output logic        ev_rx_error_o,
  output logic        quiescent_o
);

  nic_plain_pkg::bus_req_t rx_bus_req, tx_bus_req;
  nic_plain_pkg::bus_rsp_t rx_bus_rsp, tx_bus_rsp;
  nic_plain_pkg::ring_cfg_t rx_cfg, tx_cfg;
  nic_plain_pkg::ring_state_t rx_state, tx_state;
  nic_plain_pkg::rx_event_t rx_event;
  nic_plain_pkg::tx_event_t tx_event;
  logic rx_accepted, tx_kick;
  logic [31:0] rx_buffer;
  logic rx_idle, tx_idle, bus_idle, regs_idle;

  nic_plain_rx #(
    .FifoWords(RxFifoWords)
  ) u_rx (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .axis_tdata_i (rx_axis_tdata_i),
    .axis_tkeep_i (rx_axis_tkeep_i),
    .axis_tvalid_i(rx_axis_tvalid_i),
    .axis_tlast_i (rx_axis_tlast_i),
    .axis_tuser_i (rx_axis_tuser_i),
    .bus_o        (rx_bus_req),
    .bus_i        (rx_bus_rsp),
    .cfg_i        (rx_cfg),
    .state_o      (rx_state),
    .event_o      (rx_event),
    .accepted_o   (rx_accepted),
    .buffer_o     (rx_buffer),
    .idle_o       (rx_idle)
  );

  nic_plain_tx #(
    .FifoWords (TxFifoWords),
    .BurstWords(BurstWords)
  ) u_tx (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .bus_o        (tx_bus_req),
    .bus_i        (tx_bus_rsp),
    .cfg_i        (tx_cfg),
    .kick_i       (tx_kick),
    .state_o      (tx_state),
    .event_o      (tx_event),
    .axis_tdata_o (tx_axis_tdata_o),
    .axis_tkeep_o (tx_axis_tkeep_o),
    .axis_tvalid_o(tx_axis_tvalid_o),
    .axis_tready_i(tx_axis_tready_i),
    .axis_tlast_o (tx_axis_tlast_o),
    .idle_o       (tx_idle)
  );

  nic_wb_master #(
    .BurstWords(BurstWords)
  ) u_wb_master (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .rx_i     (rx_bus_req),
    .rx_o     (rx_bus_rsp),
    .tx_i     (tx_bus_req),
    .tx_o     (tx_bus_rsp),
    .idle_o   (bus_idle),
    .wbm_adr_o(wbm_adr_o),
    .wbm_dat_o(wbm_dat_o),
    .wbm_dat_i(wbm_dat_i),
    .wbm_sel_o(wbm_sel_o),
    .wbm_cyc_o(wbm_cyc_o),
    .wbm_stb_o(wbm_stb_o),
    .wbm_we_o (wbm_we_o),
    .wbm_cti_o(wbm_cti_o),
    .wbm_bte_o(wbm_bte_o),
    .wbm_ack_i(wbm_ack_i),
    .wbm_err_i(wbm_err_i)
  );

  nic_plain_regs u_regs (
    .clk_i     (clk_i),
    .rst_ni    (rst_ni),
    .wbs_adr_i (wbs_adr_i),
    .wbs_dat_i (wbs_dat_i),
    .wbs_dat_o (wbs_dat_o),
    .wbs_sel_i (wbs_sel_i),
    .wbs_cyc_i (wbs_cyc_i),
    .wbs_stb_i (wbs_stb_i),
    .wbs_we_i  (wbs_we_i),
    .wbs_ack_o (wbs_ack_o),
    .wbs_err_o (wbs_err_o),
    .rx_cfg_o  (rx_cfg),
    .rx_state_i(rx_state),
    .rx_event_i(rx_event),
    .tx_cfg_o  (tx_cfg),
    .tx_state_i(tx_state),
    .tx_event_i(tx_event),
    .tx_kick_o (tx_kick),
    .irq_o     (irq_o),
    .idle_o    (regs_idle)
  );

  /////////////////
  // Observation //
  /////////////////

  logic events;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ev_rx_accept_o <= 1'b0;
      ev_rx_overrun_o <= 1'b0;
      ev_rx_bad_o <= 1'b0;
      ev_rx_done_o <= 1'b0;
      ev_rx_addr_o <= '0;
      ev_rx_nodesc_o <= 1'b0;
      ev_rx_error_o <= 1'b0;
    end else begin
      ev_rx_accept_o <= rx_accepted;
      ev_rx_overrun_o <= rx_event.full;
      ev_rx_bad_o <= rx_event.bad | rx_event.filtered;
      ev_rx_done_o <= rx_event.done;
      if (rx_event.done) ev_rx_addr_o <= rx_buffer;
      ev_rx_nodesc_o <= rx_event.nodesc;
      ev_rx_error_o  <= rx_event.too_long | rx_event.error;
    end
  end

  assign events = ev_rx_accept_o | ev_rx_overrun_o | ev_rx_bad_o | ev_rx_done_o |
                  ev_rx_nodesc_o | ev_rx_error_o;

  assign quiescent_o = rx_idle & tx_idle & bus_idle & regs_idle & ~events & ~rx_axis_tvalid_i &
                       ~(wbs_cyc_i & wbs_stb_i);

endmodule
