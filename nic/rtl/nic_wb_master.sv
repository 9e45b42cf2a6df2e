// SPDX-License-Identifier: Apache-2.0

/**
 * Wishbone B4 master for two clients
 *
 * Purpose: turns the transfers of the two DMA engines into registered-feedback bursts on one bus.
 *
 * Interface contract
 *   rx, tx     Clients. req asks for a transfer of `words` words (at least one) from word address
 *              adr on. adr, words, wdata and sel belong to the next word; the client moves them in
 *              the cycle after a beat. we does not change before all words have been transferred or
 *              err came. req may fall between bursts; within one it is not looked at. beat: a word
 *              was transferred, rdata is valid for reads. err: the transfer ended with a bus error
 *              at this word.
 *   wbm_*      Incrementing linear bursts of at most BurstWords (CTI 010, 111 at the last word), a
 *              single word as a classic cycle (CTI 000). cyc falls for at least one cycle between
 *              bursts, so that an arbiter that holds its grant while cyc is high can pass it on.
 *              stb equals cyc. err together with ack counts as err.
 *
 * Timing: cyc rises in the cycle after req. One word per cycle when the bus gives it. When both
 * clients ask, bursts alternate.
 *
 * Parameters
 *   BurstWords Largest burst, 1 to 255.
 */
module nic_wb_master #(
  parameter int unsigned BurstWords = 8
) (
  input logic clk_i,
  input logic rst_ni,

  // Clients
  input  nic_plain_pkg::bus_req_t rx_i,
  output nic_plain_pkg::bus_rsp_t rx_o,
  input  nic_plain_pkg::bus_req_t tx_i,
  output nic_plain_pkg::bus_rsp_t tx_o,

  output logic idle_o,  // no burst running

  // Bus
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
  input  logic        wbm_err_i
);

  logic busy_q, single_q, tx_q;  // tx_q: the current or last burst is the transmit client's
  logic [7:0] left_q;

  logic pick_tx, beat, err;
  logic [9:0] words;
  logic [7:0] burst;

  assign pick_tx = tx_i.req & (~rx_i.req | ~tx_q);
  assign words = pick_tx ? tx_i.words : rx_i.words;
  assign burst = (words > 10'(BurstWords)) ? 8'(BurstWords) : words[7:0];

  assign err = busy_q & wbm_err_i;
  assign beat = busy_q & wbm_ack_i & ~wbm_err_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      single_q <= 1'b0;
      tx_q <= 1'b0;
      left_q <= '0;
    end else if (!busy_q) begin
      if (rx_i.req | tx_i.req) begin
        busy_q <= 1'b1;
        single_q <= burst == 8'd1;
        tx_q <= pick_tx;
        left_q <= burst;
      end
    end else begin
      if (err | (beat & (left_q == 8'd1))) busy_q <= 1'b0;
      if (beat) left_q <= left_q - 8'd1;
    end
  end

  assign rx_o.beat = beat & ~tx_q;
  assign rx_o.err = err & ~tx_q;
  assign rx_o.rdata = wbm_dat_i;
  assign tx_o.beat = beat & tx_q;
  assign tx_o.err = err & tx_q;
  assign tx_o.rdata = wbm_dat_i;
  assign idle_o = ~busy_q;

  assign wbm_cyc_o = busy_q;
  assign wbm_stb_o = busy_q;
  assign wbm_we_o = busy_q & (tx_q ? tx_i.we : rx_i.we);
  assign wbm_adr_o = tx_q ? tx_i.adr : rx_i.adr;
  assign wbm_dat_o = tx_q ? tx_i.wdata : rx_i.wdata;
  assign wbm_sel_o = tx_q ? tx_i.sel : rx_i.sel;
  assign wbm_bte_o = 2'b00;

  always_comb begin
    wbm_cti_o = nic_plain_pkg::CTI_INCREMENT;
    if (single_q) wbm_cti_o = nic_plain_pkg::CTI_CLASSIC;
    else if (left_q == 8'd1) wbm_cti_o = nic_plain_pkg::CTI_END;
  end

endmodule
