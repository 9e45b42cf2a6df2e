// SPDX-License-Identifier: Apache-2.0

/**
 * Receive FIFO of whole frames
 *
 * Purpose: judges each frame as it arrives and stores the good ones that fit completely. Nothing
 * of a frame is visible behind the FIFO before its last word is in and the frame is accepted.
 *
 * Interface contract
 *   axis_*     Stream from the MAC, no ready: a word is taken in every cycle with tvalid. The first
 *              byte is in bits 7:0. tkeep matters with tlast only and is then one of 0000, 0001,
 *              0011, 0111, 1111. tuser with tlast: the frame is damaged.
 *   accepted_o, full_o, bad_o, filtered_o
 *              Strobes, exactly one of them in the cycle of each tlast. Precedence: filtered (the
 *              receiver was off during any word of the frame), bad (damaged, shorter than 14 or
 *              longer than 2048 bytes), full (no room at any word), accepted.
 *   frame_*    frame_valid_o: a frame is at the front, frame_bytes_o is its length. word_o is its
 *              next word; word_pop_i goes to the following one. frame_pop_i ends the frame, however
 *              many words were popped, and frees its room.
 *
 * Timing: a frame is at the front two cycles after its tlast at the earliest. One word and one
 * frame per cycle on either side; no idle cycle is needed between frames. word_o and frame_* are
 * registered reads and follow a pop in the next cycle.
 *
 * Parameters
 *   Words      Capacity in 32-bit words, a power of two, at least 16. A frame longer than the FIFO
 *              never fits and is discarded as full. The lengths lie in a second memory of Words / 4
 *              entries; it cannot overflow, since an accepted frame takes at least four words.
 */
module nic_rx_fifo #(
  parameter int unsigned Words = 1024
) (
  input logic clk_i,
  input logic rst_ni,

  input logic enable_i,

  // Stream from the MAC
  input logic [31:0] axis_tdata_i,
  input logic [ 3:0] axis_tkeep_i,
  input logic        axis_tvalid_i,
  input logic        axis_tlast_i,
  input logic        axis_tuser_i,

  // Verdict on the frame that ends in this cycle
  output logic accepted_o,
  output logic full_o,
  output logic bad_o,
  output logic filtered_o,

  // Frame at the front
  output logic        frame_valid_o,
  output logic [11:0] frame_bytes_o,
  output logic [31:0] word_o,
  input  logic        word_pop_i,
  input  logic        frame_pop_i,

  output logic empty_o,  // no whole frame inside
  output logic idle_o    // nothing changes in a later cycle without a word or a pop
);

  localparam int unsigned Aw = $clog2(Words);
  localparam int unsigned Lw = Aw - 2;
  localparam logic [9:0] MaxWords = nic_plain_pkg::MAX_RX_BYTES[11:2];

  logic [31:0] mem[Words];
  logic [11:0] len_mem[Words/4];

  //////////////////
  // Word by word //
  //////////////////

  logic [2:0] last_bytes;
  logic has_bytes, no_room, write_word;

  // Of the current frame: words so far, and what was found wrong with earlier words
  logic [9:0] count_q;
  logic off_q, giant_q, no_room_q;
  logic off_d, giant_d, no_room_d;

  // write_q runs ahead of commit_q within a frame; base_q is the front frame's first word
  logic [Aw:0] write_q, commit_q, base_q, read_q;
  logic [Aw:0] write_d, base_d, read_d;

  always_comb begin
    last_bytes = 3'd4;
    if (axis_tlast_i) begin
      last_bytes = 3'(axis_tkeep_i[0]) + 3'(axis_tkeep_i[1]) + 3'(axis_tkeep_i[2]) +
                   3'(axis_tkeep_i[3]);
    end
  end

  assign has_bytes = last_bytes != 3'd0;
  assign no_room = (write_q - base_q) == (Aw + 1)'(Words);
  assign off_d = off_q | ~enable_i;
  assign giant_d = giant_q | (has_bytes & (count_q == MaxWords));
  assign no_room_d = no_room_q | (has_bytes & no_room);
  assign write_word = axis_tvalid_i & has_bytes & ~off_d & ~giant_d & ~no_room_d;
  assign write_d = write_q + (Aw + 1)'(write_word);

  /////////////
  // Verdict //
  /////////////

  logic ends, bad;
  logic [11:0] bytes;

  assign ends = axis_tvalid_i & axis_tlast_i;
  assign bytes = {count_q, 2'b00} + 12'(last_bytes);
  assign bad = axis_tuser_i | giant_d | (bytes < nic_plain_pkg::MIN_RX_BYTES);

  assign filtered_o = ends & off_d;
  assign bad_o = ends & ~off_d & bad;
  assign full_o = ends & ~off_d & ~bad & no_room_d;
  assign accepted_o = ends & ~off_d & ~bad & ~no_room_d;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
      off_q <= 1'b0;
      giant_q <= 1'b0;
      no_room_q <= 1'b0;
      write_q <= '0;
      commit_q <= '0;
    end else if (axis_tvalid_i) begin
      count_q <= axis_tlast_i ? '0 : (count_q == MaxWords) ? MaxWords : count_q + 10'd1;
      off_q <= off_d & ~axis_tlast_i;
      giant_q <= giant_d & ~axis_tlast_i;
      no_room_q <= no_room_d & ~axis_tlast_i;
      write_q <= (axis_tlast_i & ~accepted_o) ? commit_q : write_d;
      if (accepted_o) commit_q <= write_d;
    end
  end

  ////////////////////////
  // Frame at the front //
  ////////////////////////

  logic [Lw:0] len_write_q, len_read_q, len_read_d;
  logic [ 9:0] frame_words;
  logic [11:0] len_rdata_q;
  logic [31:0] rdata_q;
  logic valid_q, word_q;

  assign frame_words = 10'((len_rdata_q + 12'd3) >> 2);
  assign len_read_d = len_read_q + (Lw + 1)'(frame_pop_i);
  assign base_d = frame_pop_i ? base_q + (Aw + 1)'(frame_words) : base_q;
  assign read_d = frame_pop_i ? base_d : read_q + (Aw + 1)'(word_pop_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      len_write_q <= '0;
      len_read_q <= '0;
      base_q <= '0;
      read_q <= '0;
      valid_q <= 1'b0;
      word_q <= 1'b0;
    end else begin
      len_write_q <= len_write_q + (Lw + 1)'(accepted_o);
      len_read_q <= len_read_d;
      base_q <= base_d;
      read_q <= read_d;
      // A length written in this cycle can be read in the next: the old write pointer decides.
      valid_q <= len_read_d != len_write_q;
      word_q <= axis_tvalid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_word) mem[write_q[Aw-1:0]] <= axis_tdata_i;
    rdata_q <= mem[read_d[Aw-1:0]];
  end

  always_ff @(posedge clk_i) begin
    if (accepted_o) len_mem[len_write_q[Lw-1:0]] <= bytes;
    len_rdata_q <= len_mem[len_read_d[Lw-1:0]];
  end

  assign frame_valid_o = valid_q;
  assign frame_bytes_o = len_rdata_q;
  assign word_o = rdata_q;
  assign empty_o = len_read_q == len_write_q;
  assign idle_o = ~word_q & (valid_q == ~empty_o);

endmodule
