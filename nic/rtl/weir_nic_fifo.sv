// SPDX-License-Identifier: Apache-2.0

/**
 * Packet buffer
 *
 * Purpose: judges each frame as it arrives and stores the good ones that fit completely, words and
 * what the parser found. Nothing of a frame is visible behind it before its last word is in.
 *
 * Interface contract
 *   axis_*     Stream from the MAC, no ready: a word is taken in every cycle with tvalid. The first
 *              byte is in bits 7:0. tkeep matters with tlast only and is then one of 0000, 0001,
 *              0011, 0111, 1111. tuser with tlast: the frame is damaged.
 *   accepted_o, full_o, bad_o, off_o
 *              Strobes, exactly one of them in the cycle of each tlast. Precedence: off (enable_i
 *              was low during any word of the frame), bad (damaged, shorter than 14 or longer than
 *              2048 bytes), full (no room at any word), accepted.
 *   parsed_i   From weir_nic_parser, in the cycle after tlast.
 *   header_*   The next frame that has no verdict yet; header_pop_i goes to the following one.
 *   word_o     The next word of the front frame; word_pop_i goes to the following one, rewind_i back
 *              to the frame's first. frame_pop_i ends the frame, which has frame_words_i words, and
 *              frees its room; its header has been popped before.
 *
 * Timing: a header is visible three cycles after its tlast at the earliest. One word per cycle on
 * either side; no idle cycle is needed between frames. Reads are registered and follow a pop in the
 * next cycle.
 *
 * Parameters
 *   Words      Capacity in 32-bit words, a power of two, at least 16. A frame longer than the FIFO
 *              never fits and is discarded as full. Headers lie in a memory of Words / 4 entries; it
 *              cannot overflow, since an accepted frame takes at least four words.
 *
 * Proved properties: none yet; see tests/weir_nic_cases.py.
 */
module weir_nic_fifo #(
  parameter int unsigned Words = 1024
) (
  input logic clk_i,
  input logic rst_ni,

  input logic        enable_i,
  input logic [31:0] time_i,

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
  output logic off_o,

  // Headers
  input  weir_nic_pkg::parsed_t parsed_i,
  output logic                  header_valid_o,
  output weir_nic_pkg::header_t header_o,
  input  logic                  header_pop_i,

  // Words of the front frame
  output logic [31:0] word_o,
  input  logic        word_pop_i,
  input  logic        rewind_i,
  input  logic        frame_pop_i,
  input  logic [ 9:0] frame_words_i,

  output logic idle_o  // nothing changes in a later cycle without a word or a pop
);

  localparam int unsigned Aw = $clog2(Words);
  localparam int unsigned Hw = Aw - 2;
  localparam logic [9:0] MaxWords = weir_nic_pkg::MAX_BYTES[11:2];

  // Neither is read where it is being written.
  (* no_rw_check *) logic [31:0] mem[Words];
  (* no_rw_check *) weir_nic_pkg::header_t header_mem[Words/4];

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

  logic ends, runt, bad;
  logic [11:0] bytes;

  assign ends = axis_tvalid_i & axis_tlast_i;
  assign bytes = {count_q, 2'b00} + 12'(last_bytes);
  // No Ethernet header
  assign runt = (count_q < 10'd3) | ((count_q == 10'd3) & (last_bytes < 3'd2));
  assign bad = axis_tuser_i | giant_d | runt;

  assign off_o = ends & off_d;
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

  /////////////
  // Headers //
  /////////////

  logic accepted_q, header_valid_q;
  logic [11:0] bytes_q;
  logic [31:0] stamp_q;
  logic [Hw:0] header_write_q, header_read_q, header_read_d;
  weir_nic_pkg::header_t header_q;

  assign header_read_d = header_read_q + (Hw + 1)'(header_pop_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      accepted_q <= 1'b0;
      header_write_q <= '0;
      header_read_q <= '0;
      header_valid_q <= 1'b0;
    end else begin
      accepted_q <= accepted_o;
      header_write_q <= header_write_q + (Hw + 1)'(accepted_q);
      header_read_q <= header_read_d;
      // A header written in this cycle can be read in the next: the old write pointer decides.
      header_valid_q <= header_read_d != header_write_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (ends) begin
      bytes_q <= bytes;
      stamp_q <= time_i;
    end
    if (accepted_q)
      header_mem[header_write_q[Hw-1:0]] <= '{parsed: parsed_i, bytes: bytes_q, stamp: stamp_q};
    header_q <= header_mem[header_read_d[Hw-1:0]];
  end

  assign header_valid_o = header_valid_q;
  assign header_o = header_q;

  ////////////////////////
  // Frame at the front //
  ////////////////////////

  logic [31:0] rdata_q;
  logic word_q;

  assign base_d = frame_pop_i ? base_q + (Aw + 1)'(frame_words_i) : base_q;
  assign read_d = (frame_pop_i | rewind_i) ? base_d : read_q + (Aw + 1)'(word_pop_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      base_q <= '0;
      read_q <= '0;
      word_q <= 1'b0;
    end else begin
      base_q <= base_d;
      read_q <= read_d;
      word_q <= axis_tvalid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_word) mem[write_q[Aw-1:0]] <= axis_tdata_i;
    rdata_q <= mem[read_d[Aw-1:0]];
  end

  assign word_o = rdata_q;
  assign idle_o = ~word_q & ~accepted_q & (header_valid_q == (header_read_q != header_write_q));

endmodule
