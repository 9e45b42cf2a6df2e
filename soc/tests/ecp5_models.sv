// SPDX-License-Identifier: Apache-2.0
//
// What ECP5's cells in front of the pins do, for simulation; delays are left out.

`timescale 1ns / 1ps

module IDDRX1F (
  input  D,
  input  SCLK,
  input  RST,
  output reg Q0,
  output reg Q1
);
  reg rise, fall;
  always @(negedge SCLK) fall <= D;
  always @(posedge SCLK) begin
    rise <= D;
    Q0   <= rise;
    Q1   <= fall;
  end
endmodule

module ODDRX1F (
  input  D0,
  input  D1,
  input  SCLK,
  input  RST,
  output Q
);
  reg high, low;
  always @(posedge SCLK) begin
    high <= D0;
    low  <= D1;
  end
  assign Q = SCLK ? high : low;
endmodule

module DELAYG #(
  parameter DEL_MODE  = "USER_DEFINED",
  parameter DEL_VALUE = 0
) (
  input  A,
  output Z
);
  assign Z = A;
endmodule

module FD1S3BX (
  input PD,
  input D,
  input CK,
  output reg Q
);
  always @(posedge CK or posedge PD)
    if (PD) Q <= 1'b1;
    else Q <= D;
endmodule

module TRELLIS_IO #(
  parameter DIR = "INPUT"
) (
  inout  B,
  input  I,
  input  T,
  output O
);
  generate
    if (DIR == "INPUT") begin : g_in
      assign O = B;
    end else if (DIR == "OUTPUT") begin : g_out
      assign B = I;
    end else begin : g_inout
      assign B = T ? 1'bz : I;
      assign O = B;
    end
  endgenerate
endmodule

module IFS1P3BX (
  input PD,
  input D,
  input SP,
  input SCLK,
  output reg Q
);
  always @(posedge SCLK) if (SP) Q <= D;
endmodule

module OFS1P3BX (
  input PD,
  input D,
  input SP,
  input SCLK,
  output reg Q
);
  always @(posedge SCLK) if (SP) Q <= D;
endmodule

// As the board has it: 40 MHz, and the same half a period later.
module EHXPLLL #(
  parameter CLKI_DIV = 1,
  parameter CLKFB_DIV = 1,
  parameter CLKOP_DIV = 8,
  parameter CLKOP_CPHASE = 0,
  parameter CLKOP_FPHASE = 0,
  parameter CLKOP_ENABLE = "ENABLED",
  parameter CLKOS_DIV = 8,
  parameter CLKOS_CPHASE = 0,
  parameter CLKOS_FPHASE = 0,
  parameter CLKOS_ENABLE = "DISABLED",
  parameter CLKOS2_DIV = 8,
  parameter CLKOS2_CPHASE = 0,
  parameter CLKOS2_FPHASE = 0,
  parameter CLKOS2_ENABLE = "DISABLED",
  parameter FEEDBK_PATH = "CLKOP"
) (
  input CLKI,
  input RST,
  input STDBY,
  output reg CLKOP,
  output CLKOS,
  output CLKOS2,
  output reg LOCK
);
  initial begin
    CLKOP = 1'b0;
    LOCK = 1'b0;
    #1000 LOCK = 1'b1;
    if (32'(CLKFB_DIV) * 25 != 40 * 32'(CLKI_DIV) * 32'(CLKOP_DIV) || 2 * (32'(CLKOS_CPHASE) - 32'(CLKOP_CPHASE)) != 32'(CLKOP_DIV))
      $fatal(1, "PLL: not 40 MHz out of 25 MHz, or the second output is not half a period late");
  end
  always #12.5 CLKOP = ~CLKOP;
  assign CLKOS  = ~CLKOP;
  assign CLKOS2 = CLKOP;
endmodule
