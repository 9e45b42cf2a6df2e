// SPDX-License-Identifier: Apache-2.0

/**
 * Registers, counters and interrupt of the plain NIC
 *
 * Purpose: the software's view. 32-bit registers; byte lanes not selected keep their value.
 *
 *   offset  name             access  meaning
 *   0x00    ID               RO      0x4e504c01: "NPL", version 1
 *   0x04    CTRL             RW      bit 0 rx enable, bit 1 tx enable;
 *                                    bit 8 (RO) rx busy, bit 9 (RO) tx busy: may still touch RAM
 *   0x08    IRQ_ENABLE       RW      bit 0 rx: a frame is in RAM; bit 1 rx missed: no descriptor
 *                                    or FIFO full; bit 2 tx done: a tx descriptor was returned
 *   0x0c    IRQ_PENDING      W1C     the same bits; an event in the cycle of a clear wins
 *   0x10    RX_RING          RW      byte address of the receive ring, 8-aligned (bits 2:0 read 0)
 *   0x14    RX_INDEX         RO      next receive descriptor that the NIC will use
 *   0x18    TX_RING          RW      byte address of the transmit ring, 8-aligned
 *   0x1c    TX_INDEX         RO      next transmit descriptor that the NIC will use
 *   0x20    TX_KICK          WO      any write: look at the transmit ring now; reads 0
 *   0x24    RX_FRAMES        RO      frames delivered into RAM
 *   0x28    RX_NO_DESCRIPTOR RO      frames dropped because the NIC owned no descriptor
 *   0x2c    RX_FIFO_FULL     RO      frames discarded for lack of room in the FIFO
 *   0x30    RX_BAD           RO      damaged, under 14 or over 2048 bytes, longer than the buffer
 *   0x34    TX_FRAMES        RO      frames handed to the MAC's side, completely read
 *   0x38    BUS_ERRORS       RO      Wishbone errors; each costs at most one frame
 *   0x3c    IRQ_COUNT        RO      rising edges of the interrupt line
 *   0x40    RX_FILTERED      RO      frames discarded because rx was off during a part of them
 *   0x44    TX_BAD           RO      descriptors skipped: length 0 or over 1518
 *
 * Interface contract: Wishbone B4 classic, one access at a time, never an error; other offsets
 * read 0 and ignore writes. The strobes count in the cycle in which they are high. irq_o is the OR
 * of the enabled pending bits. Counters wrap.
 *
 * Timing: ack in the cycle after stb; a write takes effect together with its ack. A strobe shows in
 * its counter, the pending bit and irq_o in the next cycle; IRQ_COUNT follows one cycle later.
 */
module nic_plain_regs (
  input logic clk_i,
  input logic rst_ni,

  // Wishbone slave
  input  logic [ 9:0] wbs_adr_i,
  input  logic [31:0] wbs_dat_i,
  output logic [31:0] wbs_dat_o,
  input  logic [ 3:0] wbs_sel_i,
  input  logic        wbs_cyc_i,
  input  logic        wbs_stb_i,
  input  logic        wbs_we_i,
  output logic        wbs_ack_o,
  output logic        wbs_err_o,

  // Engines
  output nic_plain_pkg::ring_cfg_t   rx_cfg_o,
  input  nic_plain_pkg::ring_state_t rx_state_i,
  input  nic_plain_pkg::rx_event_t   rx_event_i,
  output nic_plain_pkg::ring_cfg_t   tx_cfg_o,
  input  nic_plain_pkg::ring_state_t tx_state_i,
  input  nic_plain_pkg::tx_event_t   tx_event_i,
  output logic                       tx_kick_o,

  output logic irq_o,
  output logic idle_o  // nothing changes later without an access or strobe
);

  localparam int unsigned IrqNum = nic_plain_pkg::IRQ_NUM;
  localparam int unsigned CntNum = nic_plain_pkg::CNT_NUM;

  ////////////
  // Access //
  ////////////

  logic access, write, ack_q;
  logic [31:0] mask, wdata, rdata_d, rdata_q;

  assign access = wbs_cyc_i & wbs_stb_i & ~ack_q;
  assign write  = access & wbs_we_i;
  assign mask   = {{8{wbs_sel_i[3]}}, {8{wbs_sel_i[2]}}, {8{wbs_sel_i[1]}}, {8{wbs_sel_i[0]}}};
  assign wdata  = wbs_dat_i & mask;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ack_q   <= 1'b0;
      rdata_q <= '0;
    end else begin
      ack_q <= access;
      if (access) rdata_q <= rdata_d;
    end
  end

  assign wbs_ack_o = ack_q;
  assign wbs_err_o = 1'b0;
  assign wbs_dat_o = rdata_q;

  ////////////
  // Fields //
  ////////////

  logic [1:0] ctrl_q;
  logic [IrqNum-1:0] irq_enable_q, pending_q, irq_set, irq_clear;
  logic [28:0] rx_ring_q, tx_ring_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ctrl_q <= '0;
      irq_enable_q <= '0;
      rx_ring_q <= '0;
      tx_ring_q <= '0;
    end else if (write) begin
      unique case (wbs_adr_i)
        nic_plain_pkg::REG_CTRL: ctrl_q <= (ctrl_q & ~mask[1:0]) | wdata[1:0];
        nic_plain_pkg::REG_IRQ_ENABLE:
        irq_enable_q <= (irq_enable_q & ~mask[IrqNum-1:0]) | wdata[IrqNum-1:0];
        nic_plain_pkg::REG_RX_RING: rx_ring_q <= (rx_ring_q & ~mask[31:3]) | wdata[31:3];
        nic_plain_pkg::REG_TX_RING: tx_ring_q <= (tx_ring_q & ~mask[31:3]) | wdata[31:3];
        default: ;
      endcase
    end
  end

  assign rx_cfg_o.enable = ctrl_q[nic_plain_pkg::CTRL_RX_ENABLE];
  assign rx_cfg_o.ring = rx_ring_q;
  assign tx_cfg_o.enable = ctrl_q[nic_plain_pkg::CTRL_TX_ENABLE];
  assign tx_cfg_o.ring = tx_ring_q;
  assign tx_kick_o = write & (wbs_adr_i == nic_plain_pkg::REG_TX_KICK);

  ///////////////
  // Interrupt //
  ///////////////

  logic irq_last_q;

  always_comb begin
    irq_clear = '0;
    if (write & (wbs_adr_i == nic_plain_pkg::REG_IRQ_PENDING)) irq_clear = wdata[IrqNum-1:0];
    irq_set = '0;
    irq_set[nic_plain_pkg::IRQ_RX] = rx_event_i.done;
    irq_set[nic_plain_pkg::IRQ_RX_MISSED] = rx_event_i.nodesc | rx_event_i.full;
    irq_set[nic_plain_pkg::IRQ_TX_DONE] = tx_event_i.returned;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      pending_q  <= '0;
      irq_last_q <= 1'b0;
    end else begin
      pending_q  <= (pending_q & ~irq_clear) | irq_set;
      irq_last_q <= irq_o;
    end
  end

  assign irq_o  = |(pending_q & irq_enable_q);
  assign idle_o = ~ack_q & (irq_last_q == irq_o);

  //////////////
  // Counters //
  //////////////

  logic [31:0] count_q[CntNum];
  logic [1:0] step[CntNum];

  always_comb begin
    step[nic_plain_pkg::CNT_RX_FRAMES] = {1'b0, rx_event_i.done};
    step[nic_plain_pkg::CNT_RX_NO_DESCRIPTOR] = {1'b0, rx_event_i.nodesc};
    step[nic_plain_pkg::CNT_RX_FIFO_FULL] = {1'b0, rx_event_i.full};
    step[nic_plain_pkg::CNT_RX_BAD] = {1'b0, rx_event_i.bad} + {1'b0, rx_event_i.too_long};
    step[nic_plain_pkg::CNT_TX_FRAMES] = {1'b0, tx_event_i.sent};
    step[nic_plain_pkg::CNT_BUS_ERRORS] = {1'b0, rx_event_i.error | tx_event_i.error};
    step[nic_plain_pkg::CNT_IRQ_COUNT] = {1'b0, irq_o & ~irq_last_q};
    step[nic_plain_pkg::CNT_RX_FILTERED] = {1'b0, rx_event_i.filtered};
    step[nic_plain_pkg::CNT_TX_BAD] = {1'b0, tx_event_i.bad};
  end

  for (genvar i = 0; i < CntNum; i++) begin : gen_count
    always_ff @(posedge clk_i) begin
      if (!rst_ni) count_q[i] <= '0;
      else count_q[i] <= count_q[i] + 32'(step[i]);
    end
  end

  //////////
  // Read //
  //////////

  logic [9:0] counter;  // wraps to a large number below the counters
  assign counter = wbs_adr_i - nic_plain_pkg::REG_COUNTERS;

  always_comb begin
    rdata_d = '0;
    unique case (wbs_adr_i)
      nic_plain_pkg::REG_ID: rdata_d = nic_plain_pkg::ID_VALUE;
      nic_plain_pkg::REG_CTRL: begin
        rdata_d[1:0] = ctrl_q;
        rdata_d[nic_plain_pkg::CTRL_RX_BUSY] = rx_state_i.busy;
        rdata_d[nic_plain_pkg::CTRL_TX_BUSY] = tx_state_i.busy;
      end
      nic_plain_pkg::REG_IRQ_ENABLE: rdata_d[IrqNum-1:0] = irq_enable_q;
      nic_plain_pkg::REG_IRQ_PENDING: rdata_d[IrqNum-1:0] = pending_q;
      nic_plain_pkg::REG_RX_RING: rdata_d = {rx_ring_q, 3'd0};
      nic_plain_pkg::REG_RX_INDEX: rdata_d = {16'd0, rx_state_i.index};
      nic_plain_pkg::REG_TX_RING: rdata_d = {tx_ring_q, 3'd0};
      nic_plain_pkg::REG_TX_INDEX: rdata_d = {16'd0, tx_state_i.index};
      default: begin
        for (int unsigned i = 0; i < CntNum; i++) begin
          if (counter == 10'(i)) rdata_d = count_q[i];
        end
      end
    endcase
  end

endmodule
