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
 * Proved properties, for 8 words and frames of up to 28 bytes, by induction: the strobes are as
 * above, exactly one for each frame; no word or header is written where one is still needed, nor
 * read in the cycle in which it is written; each accepted frame leaves with its header and words as
 * they came, in order, and nothing else is seen.
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

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // Frames, counted: accepted (and one and two cycles later), header popped, ended; their words
  logic [Hw:0] f_accepted_q, f_accepted_1_q, f_accepted_2_q, f_popped_q, f_ended_q;
  logic [Aw:0] f_words_q[Words/4];
  logic [Aw:0] f_front;
  assign f_front = f_words_q[f_ended_q[Hw-1:0]];

  // Words that accepted frames hold, that this one has, that were read of the front one
  logic [Aw:0] f_used_q, f_at_q, f_read_q;
  logic [15:0] f_length_q, f_length;
  logic [2:0] f_bytes;
  logic f_off_q, f_no_room_q, f_off, f_bad, f_no_room;

  always_comb begin
    assume (!axis_tlast_i || (axis_tkeep_i & (axis_tkeep_i + 4'd1)) == '0);
    // The filter and the DMA
    assume (!header_pop_i || header_valid_o);
    assume (2'(word_pop_i) + 2'(rewind_i) + 2'(frame_pop_i) <= 2'd1);
    if (word_pop_i || rewind_i || frame_pop_i) assume (f_ended_q != f_popped_q);
    if (word_pop_i) assume (f_read_q < f_front);
    if (frame_pop_i) assume (frame_words_i == 10'(f_front));
  end

  always_comb begin
    f_bytes = '0;
    for (int i = 0; i < 4; i++) if (!axis_tlast_i || axis_tkeep_i[i]) f_bytes += 3'd1;
    f_length = f_length_q;  // beyond any frame it stays
    if (f_length_q <= 16'(weir_nic_pkg::MAX_BYTES)) f_length = f_length_q + 16'(f_bytes);
    f_off = f_off_q || !enable_i;
    f_bad = axis_tuser_i || f_length < 16'd14 || f_length > 16'(weir_nic_pkg::MAX_BYTES);
    f_no_room = f_no_room_q || (f_bytes != '0 && f_used_q + f_at_q == (Aw + 1)'(Words));
  end

  // Of any frame any word, its bytes, and what is known of it
  logic [Hw:0] f_frame_q;
  logic [Aw:0] f_word_q, f_whole;
  logic [31:0] f_seen_q, f_data_q;
  weir_nic_pkg::header_t f_header_q;
  assign f_whole = f_at_q + (Aw + 1)'(f_bytes != '0);

  // Frames in the FIFO, those without a popped header, the watched one's place, words before it
  logic [Hw:0] f_here, f_waiting, f_place;
  logic [Aw:0] f_start_q;
  logic [Aw+2:0] f_sum, f_before;
  assign f_here = f_accepted_q - f_ended_q;
  assign f_waiting = f_accepted_q - f_popped_q;
  assign f_place = f_frame_q - f_ended_q;
  always_comb begin
    f_sum = '0;
    f_before = '0;
    for (int i = 0; i < Words / 4; i++) begin
      if ((Hw + 1)'(i) < f_here) f_sum += (Aw + 3)'(f_words_q[Hw'(f_ended_q+(Hw+1)'(i))]);
      if ((Hw + 1)'(i) < f_place) f_before += (Aw + 3)'(f_words_q[Hw'(f_ended_q+(Hw+1)'(i))]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!begun_q) {f_frame_q, f_word_q} <= axis_tdata_i[Hw+Aw+1:0];
    f_accepted_1_q <= f_accepted_q;
    f_accepted_2_q <= f_accepted_1_q;
    if (axis_tvalid_i) begin
      f_length_q <= f_length;
      f_off_q <= f_off;
      f_no_room_q <= f_no_room;
      f_at_q <= f_whole;
      if (f_at_q == f_word_q) f_seen_q <= axis_tdata_i;
      if (axis_tlast_i) {f_length_q, f_off_q, f_no_room_q, f_at_q} <= '0;
    end
    if (accepted_o) begin
      f_accepted_q <= f_accepted_q + (Hw + 1)'(1);
      f_words_q[f_accepted_q[Hw-1:0]] <= f_whole;
      if (f_accepted_q == f_frame_q) begin
        f_start_q <= commit_q;
        f_data_q <= (f_at_q == f_word_q) ? axis_tdata_i : f_seen_q;
        f_header_q.bytes <= f_length[11:0];
        f_header_q.stamp <= time_i;
      end
    end
    if (accepted_q && f_accepted_q == f_frame_q + (Hw + 1)'(1)) f_header_q.parsed <= parsed_i;
    f_used_q   <= f_used_q + (accepted_o ? f_whole : '0) - (frame_pop_i ? f_front : '0);
    f_popped_q <= f_popped_q + (Hw + 1)'(header_pop_i);
    f_ended_q  <= f_ended_q + (Hw + 1)'(frame_pop_i);
    f_read_q   <= (frame_pop_i || rewind_i) ? '0 : f_read_q + (Aw + 1)'(word_pop_i);
    if (!rst_ni) begin
      {f_length_q, f_off_q, f_no_room_q, f_at_q, f_used_q, f_read_q} <= '0;
      {f_accepted_q, f_accepted_1_q, f_accepted_2_q, f_popped_q, f_ended_q} <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (begun_q && rst_ni) begin
      a_off : assert (off_o == (ends && f_off));
      a_bad : assert (bad_o == (ends && !f_off && f_bad));
      a_full : assert (full_o == (ends && !f_off && !f_bad && f_no_room));
      a_accepted : assert (accepted_o == (ends && !f_off && !f_bad && !f_no_room));
      a_one : assert (3'(off_o) + 3'(bad_o) + 3'(full_o) + 3'(accepted_o) == 3'(ends));

      // Nothing is written over, nor read while it is written.
      a_no_overflow : assert (!write_word || write_q - base_q < (Aw + 1)'(Words));
      a_headers : assert (f_accepted_q - f_ended_q <= (Hw + 1)'(Words / 4));
      a_word_written :
      assert (!write_word || write_q[Aw-1:0] != read_d[Aw-1:0] || read_d == commit_q);
      a_header_written :
      assert (!accepted_q || header_write_q[Hw-1:0] != header_read_d[Hw-1:0] ||
              header_read_d == header_write_q);

      // All that was accepted leaves, and nothing else.
      a_visible : assert (header_valid_o == (f_popped_q != f_accepted_2_q));
      if (header_valid_o && f_popped_q == f_frame_q) a_header : assert (header_o == f_header_q);
      if (f_ended_q != f_popped_q && f_ended_q == f_frame_q && f_read_q == f_word_q &&
          f_word_q < f_front)
        a_word : assert (word_o == f_data_q);

      // Inductive: where everything lies
      assert (f_used_q <= (Aw + 1)'(Words) && commit_q - base_q == f_used_q);
      assert (f_sum == (Aw + 3)'(f_used_q) && read_q - base_q == f_read_q && f_read_q <= f_used_q);
      assert (write_q - base_q <= (Aw + 1)'(Words) && write_q - base_q >= f_used_q);
      assert (f_off_q == off_q && giant_q == (f_length_q > 16'(weir_nic_pkg::MAX_BYTES)));
      assert (f_length_q <= 16'(weir_nic_pkg::MAX_BYTES) + 16'd4 && f_length_q[1:0] == '0);
      assert (count_q == ((f_length_q[11:2] > MaxWords) ? MaxWords : f_length_q[11:2]));
      if (!off_q && !giant_q) begin
        assert (no_room_q == f_no_room_q && (Aw + 1)'(f_length_q[11:2]) == f_at_q);
        assert (no_room_q || write_q - commit_q == f_at_q);
        if (!no_room_q && f_at_q > f_word_q && f_at_q <= (Aw + 1)'(Words))
          assert (mem[Aw'(commit_q+f_word_q)] == f_seen_q);
      end
      assert (f_accepted_q - f_accepted_1_q == (Hw + 1)'(accepted_q));
      assert (f_accepted_1_q - f_accepted_2_q <= (Hw + 1)'(1));
      assert (f_waiting <= f_here && f_accepted_q - f_accepted_2_q <= f_waiting);
      assert (header_write_q == f_accepted_1_q && header_read_q == f_popped_q);
      if (f_place < f_here) begin
        assert ((Aw + 1)'(f_before) == f_start_q - base_q);
        assert (f_word_q >= f_words_q[f_frame_q[Hw-1:0]] ||
                mem[Aw'(f_start_q+f_word_q)] == f_data_q);
        if (accepted_q && f_accepted_1_q == f_frame_q)
          assert (bytes_q == f_header_q.bytes && stamp_q == f_header_q.stamp);
          else assert (header_mem[f_frame_q[Hw-1:0]] == f_header_q);
      end
      for (int i = 0; i < Words / 4; i++)
      if ((Hw + 1)'(i) < f_here)
        assert (f_words_q[Hw'(f_ended_q+(Hw+1)'(i))] - (Aw + 1)'(4) <= (Aw + 1)'(Words - 4));

      c_full : cover (full_o);
      c_giant : cover (bad_o && f_length > 16'(weir_nic_pkg::MAX_BYTES));
      c_last_word : cover (f_ended_q == (Hw + 1)'(1) && f_read_q == f_front - (Aw + 1)'(1));
    end
  end
`endif

endmodule
