// SPDX-License-Identifier: Apache-2.0
//
// ECP5's pad, as far as LiteX uses it, for read_slang: it takes parameters of a cell only from a declaration that it has
// read itself. Yosys' own declarations of the other cells (cells_bb.v) are read with it; this one is not among them.

(* blackbox *)
module TRELLIS_IO #(
  parameter DIR = "INPUT"
) (
  inout  B,
  input  I,
  input  T,
  output O
);
endmodule
