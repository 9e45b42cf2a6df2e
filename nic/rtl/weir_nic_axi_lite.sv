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
 * Proved properties, by induction: a request is taken only when valid, and at once on an idle bus;
 * an answer stays until taken; each request has exactly one, a read's data are the register bus's;
 * an access on the register bus is what was asked for and stays until acknowledged.
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

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // Requests taken and not answered
  logic f_write_q, f_read_q;
  logic [31:0] f_dat_q;  // the register bus's answer to the read
  logic [13:0] f_adr_q;
  logic [35:0] f_data_q;

  always_ff @(posedge clk_i) begin
    if (s_axi_bvalid_o && s_axi_bready_i) f_write_q <= 1'b0;
    if (s_axi_rvalid_o && s_axi_rready_i) f_read_q <= 1'b0;
    if (s_axi_awready_o)
      {f_write_q, f_adr_q, f_data_q} <= {1'b1, s_axi_awaddr_i, s_axi_wdata_i, s_axi_wstrb_i};
    if (s_axi_arready_o) {f_read_q, f_adr_q} <= {1'b1, s_axi_araddr_i};
    if (reg_stb_o && reg_ack_i && !reg_we_o) f_dat_q <= reg_dat_i;
    if (!rst_ni) {f_write_q, f_read_q} <= '0;
  end

  logic f_rvalid_q, f_bvalid_q, f_stb_q;
  logic [31:0] f_rdata_q;
  logic [48:0] f_bus_q, f_bus;
  assign f_bus = {reg_we_o, reg_adr_o, reg_dat_o, reg_sel_o};

  always_ff @(posedge clk_i) begin
    f_rvalid_q <= rst_ni && s_axi_rvalid_o && !s_axi_rready_i;
    f_bvalid_q <= rst_ni && s_axi_bvalid_o && !s_axi_bready_i;
    f_rdata_q  <= s_axi_rdata_o;
    f_stb_q    <= rst_ni && reg_stb_o && !reg_ack_i;
    f_bus_q    <= f_bus;
    if (begun_q && rst_ni) begin
      // A handshake needs both sides; address and data are taken together.
      a_write_taken :
      assert (!s_axi_awready_o || (s_axi_awvalid_i && s_axi_wvalid_i && !f_write_q));
      a_together : assert (s_axi_awready_o == s_axi_wready_o);
      a_read_taken : assert (!s_axi_arready_o || (s_axi_arvalid_i && !f_read_q));
      a_one : assert (!(s_axi_awready_o && s_axi_arready_o));
      // An answer stays until taken, and belongs to a request: never more than one to each.
      a_bvalid : assert (!f_bvalid_q || s_axi_bvalid_o);
      a_rvalid : assert (!f_rvalid_q || (s_axi_rvalid_o && s_axi_rdata_o == f_rdata_q));
      a_one_b : assert (f_write_q == (s_axi_bvalid_o || (busy_q && we_q)));
      a_one_r : assert (f_read_q == (s_axi_rvalid_o || (busy_q && !we_q)));
      a_okay : assert (s_axi_bresp_o == 2'b00 && s_axi_rresp_o == 2'b00);
      a_rdata : assert (!s_axi_rvalid_o || f_dat_q == s_axi_rdata_o);
      // The register bus: stable until acknowledged, and what was asked for
      a_bus : assert (!f_stb_q || (reg_stb_o && f_bus == f_bus_q));
      a_cyc : assert (reg_cyc_o == reg_stb_o);
      if (reg_stb_o) begin
        a_adr : assert (reg_adr_o == f_adr_q[13:2]);
        a_data : assert ({reg_dat_o, reg_sel_o} == f_data_q || (!reg_we_o && reg_sel_o == 4'b1111));
      end
      assert (!busy_q || !(we_q ? s_axi_bvalid_o : s_axi_rvalid_o));  // inductive
      // Work is taken at once, and the two kinds alternate.
      a_write_at_once :
      assert (busy_q || !s_axi_awvalid_i || !s_axi_wvalid_i || s_axi_bvalid_o ||
              s_axi_awready_o || s_axi_arready_o);
      a_read_at_once :
      assert (busy_q || !s_axi_arvalid_i || s_axi_rvalid_o || s_axi_awready_o || s_axi_arready_o);
      c_both : cover (s_axi_bvalid_o && s_axi_rvalid_o);
      c_alternate : cover (s_axi_awready_o && s_axi_arvalid_i && s_axi_rvalid_o && s_axi_rready_i);
    end
  end
`endif

endmodule
