// SPDX-License-Identifier: Apache-2.0
//
// The board: FPGA, oscillator and SDRAM. The SDRAM is what the FPGA's commands need of one: 4 banks of 2048 rows of 256
// words, reads after two clocks, one word each. It stops the simulation at what a real one would not do.

`timescale 1ns / 1ps

module board_bench (
  input        serial_rx,
  output       serial_tx,
  input        eth_clocks0_rx,
  input        eth0_rx_ctl,
  input  [3:0] eth0_rx_data,
  output       eth0_tx_ctl,
  output [3:0] eth0_tx_data
);
  reg clk25 = 1'b0;
  always #20 clk25 = ~clk25;

  wire [10:0] a;
  wire [1:0] ba;
  wire [31:0] dq;
  wire ras_n, cas_n, we_n, clk, mdio;

  board u_board (
    .clk25         (clk25),
    .cpu_reset_n   (1'b1),
    .serial_rx     (serial_rx),
    .serial_tx     (serial_tx),
    .sdram_clock   (clk),
    .sdram_a       (a),
    .sdram_ba      (ba),
    .sdram_dq      (dq),
    .sdram_ras_n   (ras_n),
    .sdram_cas_n   (cas_n),
    .sdram_we_n    (we_n),
    .eth_clocks0_rx(eth_clocks0_rx),
    .eth_clocks0_tx(),
    .eth0_rst_n    (),
    .eth0_mdc      (),
    .eth0_mdio     (mdio),
    .eth0_rx_ctl   (eth0_rx_ctl),
    .eth0_rx_data  (eth0_rx_data),
    .eth0_tx_ctl   (eth0_tx_ctl),
    .eth0_tx_data  (eth0_tx_data)
  );

  reg [31:0] words[0:2097151];
  reg [10:0] row[0:3];
  reg [3:0] open = 4'b0;
  reg ready = 1'b0;  // its mode is set
  reg [31:0] out1, out2;
  reg drive1 = 1'b0, drive2 = 1'b0;
  wire [20:0] at = {row[ba], ba, a[7:0]};

  // After the edge at which a read's second clock begins, until the next.
  assign dq = drive2 ? out2 : 32'hz;

  always @(posedge clk) begin
    drive2 <= drive1;
    out2   <= out1;
    drive1 <= 1'b0;
    case ({ras_n, cas_n, we_n})
      3'b000: begin
        if (a[6:0] != 7'h20) $fatal(1, "SDRAM: mode %h is not reads after two clocks, one word", a);
        ready <= 1'b1;
      end
      3'b001: if (open != 0) $fatal(1, "SDRAM: refresh while a row is open");
      3'b010: open <= a[10] ? 4'b0 : open & ~(4'b1 << ba);
      3'b011: begin
        if (open[ba] || !ready) $fatal(1, "SDRAM: a row is opened in bank %d, which is not ready", ba);
        open[ba] <= 1'b1;
        row[ba]  <= a;
      end
      3'b100, 3'b101: begin
        if (!open[ba]) $fatal(1, "SDRAM: access to bank %d without an open row", ba);
        if (a[10]) open[ba] <= 1'b0;
        if (we_n) begin
          drive1 <= 1'b1;
          out1   <= words[at];
        end else words[at] <= dq;
      end
      default: ;
    endcase
  end
endmodule
