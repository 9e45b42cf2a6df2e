// SPDX-License-Identifier: Apache-2.0

/**
 * AXI4-Lite to the register bus of weir_nic
 *
 * Purpose: lets weir_nic's registers be reached by AXI4-Lite; one access at a time.
 *
 * Interface contract
 *   s_axi_*    AXI4-Lite slave, byte addresses; the two lowest bits are ignored. Every access is
 *              answered with OKAY. A write is taken when address and data are both there; when a
 *              read waits, too, the two alternate.
 *   reg_*      Wishbone classic master, see weir_nic_regs.
 *
 * Timing: an access on an idle bus is answered three cycles after its request.
 *
 * Proved properties: none yet; see tests/weir_nic_cases.py.
 */
module weir_nic_axi_lite (
  input logic clk_i,
  input logic rst_ni,

  // AXI4-Lite
  input  logic [13:0] s_axi_awaddr_i,
  input  logic        s_axi_awvalid_i,
  output logic        s_axi_awready_o,
  input  logic [31:0] s_axi_wdata_i,
  input  logic [ 3:0] s_axi_wstrb_i,
  input  logic        s_axi_wvalid_i,
  output logic        s_axi_wready_o,
  output logic [ 1:0] s_axi_bresp_o,
  output logic        s_axi_bvalid_o,
  input  logic        s_axi_bready_i,
  input  logic [13:0] s_axi_araddr_i,
  input  logic        s_axi_arvalid_i,
  output logic        s_axi_arready_o,
  output logic [31:0] s_axi_rdata_o,
  output logic [ 1:0] s_axi_rresp_o,
  output logic        s_axi_rvalid_o,
  input  logic        s_axi_rready_i,

  // Register bus
  output logic [11:0] reg_adr_o,
  output logic [31:0] reg_dat_o,
  input  logic [31:0] reg_dat_i,
  output logic [ 3:0] reg_sel_o,
  output logic        reg_cyc_o,
  output logic        reg_stb_o,
  output logic        reg_we_o,
  input  logic        reg_ack_i
);

  logic busy_q, we_q, bvalid_q, rvalid_q;
  logic [11:0] adr_q;
  logic [31:0] dat_q, rdata_q;
  logic [3:0] sel_q;
  logic can_write, can_read, take_write, take_read;

  assign can_write  = s_axi_awvalid_i & s_axi_wvalid_i & ~bvalid_q;
  assign can_read   = s_axi_arvalid_i & ~rvalid_q;
  assign take_write = ~busy_q & can_write & (~can_read | ~we_q);
  assign take_read  = ~busy_q & can_read & ~take_write;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      we_q <= 1'b0;
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      if (s_axi_bready_i) bvalid_q <= 1'b0;
      if (s_axi_rready_i) rvalid_q <= 1'b0;
      if (take_write | take_read) begin
        busy_q <= 1'b1;
        we_q   <= take_write;
      end
      if (busy_q & reg_ack_i) begin
        busy_q <= 1'b0;
        if (we_q) bvalid_q <= 1'b1;
        else rvalid_q <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_write | take_read) begin
      adr_q <= take_write ? s_axi_awaddr_i[13:2] : s_axi_araddr_i[13:2];
      dat_q <= s_axi_wdata_i;
      sel_q <= take_write ? s_axi_wstrb_i : 4'b1111;
    end
    if (busy_q & reg_ack_i & ~we_q) rdata_q <= reg_dat_i;
  end

  logic [3:0] unused_adr;
  assign unused_adr = {s_axi_awaddr_i[1:0], s_axi_araddr_i[1:0]};

  assign s_axi_awready_o = take_write;
  assign s_axi_wready_o = take_write;
  assign s_axi_bresp_o = 2'b00;
  assign s_axi_bvalid_o = bvalid_q;
  assign s_axi_arready_o = take_read;
  assign s_axi_rdata_o = rdata_q;
  assign s_axi_rresp_o = 2'b00;
  assign s_axi_rvalid_o = rvalid_q;

  assign reg_adr_o = adr_q;
  assign reg_dat_o = dat_q;
  assign reg_sel_o = sel_q;
  assign reg_cyc_o = busy_q;
  assign reg_stb_o = busy_q;
  assign reg_we_o = we_q;

endmodule
