// SPDX-License-Identifier: Apache-2.0

/**
 * DMA: frames and their metadata into packet memory
 *
 * Purpose: takes each verdict in turn. A frame that is nobody's is dropped; for one of a queue it
 * gets room from the queue manager, writes the frame and then its metadata, waits until the last
 * write is answered, and commits the frame to the queue.
 *
 * Interface contract
 *   verdict_*, header_i
 *              From weir_nic_filter; taken with take_o.
 *   headroom_i Words of room before each frame's data, at least 4: the last four of them are its
 *              metadata, the others are not written. Stable while a frame is under way.
 *   word_*, rewind_o, frame_*
 *              The front of weir_nic_fifo.
 *   queue_o, queue_i
 *              To the queue manager, see there. After a restart the frame is written once more.
 *   mem_*      Writes: a word is accepted in a cycle with valid and ready; until then it does not
 *              change. Each accepted write is answered once, in order, by mem_done_i, in the cycle
 *              of its acceptance or later; mem_err_i with it: the write failed. At most 516 are
 *              under way.
 *   filtered_o, done_o, full_o, error_o
 *              Strobes, exactly one of them for each frame, in order. done_o: committed; the frame's
 *              data begins at byte_adr_o. full_o: no room in its queue. error_o: a write failed;
 *              the queue is as if the frame had not been.
 *
 * Only the frame's bytes and its metadata are written: the last word carries byte selects.
 *
 * Timing: with a memory that is always ready and answers one cycle later, a frame of n words takes
 * n + 17 cycles from its verdict to done_o. Restarts add to it.
 *
 * Parameters
 *   AddrWidth  Word address of packet memory
 *
 * Proved properties, for memories of 64 words (wrapping), by induction: a write lies in the room
 * that was granted, is word by word the frame and its metadata, of the queue of its verdict, with its byte selects, and
 * stays until accepted; commit comes only after all of them were answered without an error and the
 * buffer was not handed over; each frame has exactly one strobe, and leaves the FIFO with it.
 */
module weir_nic_dma #(
  parameter int unsigned AddrWidth = 14
) (
  input logic clk_i,
  input logic rst_ni,

  // Frame
  input  logic                          verdict_valid_i,
  input  weir_nic_pkg::verdict_t        verdict_i,
  input  weir_nic_pkg::header_t         header_i,
  input  logic                   [ 4:0] headroom_i,
  output logic                          take_o,
  input  logic                   [31:0] word_i,
  output logic                          word_pop_o,
  output logic                          rewind_o,
  output logic                          frame_pop_o,
  output logic                   [ 9:0] frame_words_o,

  // Queue
  output weir_nic_pkg::frame_req_t queue_o,
  input  weir_nic_pkg::frame_rsp_t queue_i,

  // Packet memory
  output logic                 mem_valid_o,
  input  logic                 mem_ready_i,
  output logic [AddrWidth-1:0] mem_adr_o,
  output logic [         31:0] mem_dat_o,
  output logic [          3:0] mem_sel_o,
  input  logic                 mem_done_i,
  input  logic                 mem_err_i,

  // Outcome
  output logic        filtered_o,
  output logic        done_o,
  output logic        full_o,
  output logic        error_o,
  output logic [31:0] byte_adr_o,

  output logic idle_o
);

  typedef enum logic [2:0] {
    Idle,
    Reserve,
    Data,
    Meta,
    Drain,
    Drop,
    Dropped
  } state_e;

  state_e state_q, state_d;

  // The frame
  logic [ 5:0] index_q;
  logic [ 3:0] level_q;
  logic [11:0] bytes_q;
  logic [ 2:0] class_q;
  logic [31:0] sender_q, stamp_q;
  logic [9:0] words_q, left_q;
  logic [15:0] room_q;
  logic [AddrWidth-1:0] start_q, next_q;  // word address of the room, of the next word
  logic [1:0] meta_q;
  logic restart_q, failed_q;

  // The memory's side
  logic valid_q, load, wanted, settled, stop;
  logic [AddrWidth-1:0] adr_q;
  logic [31:0] dat_q, meta;
  logic [3:0] sel_q, last_sel;
  logic [9:0] waiting_q;  // accepted and not answered

  assign stop    = restart_q | failed_q;
  assign load    = ~valid_q | mem_ready_i;
  assign settled = ~valid_q & (waiting_q == 10'd0);

  ///////////////////
  // State machine //
  ///////////////////

  logic ends, again;

  assign take_o = (state_q == Idle) & verdict_valid_i;
  assign filtered_o = state_q == Dropped;
  assign full_o = (state_q == Reserve) & queue_i.full;
  assign done_o = (state_q == Drain) & queue_i.done;
  assign error_o = (state_q == Drain) & settled & failed_q;
  assign ends = filtered_o | full_o | done_o | error_o;
  assign again = (state_q == Drain) & settled & restart_q & ~failed_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (take_o) state_d = verdict_i.hit ? Reserve : Drop;
      Reserve: if (queue_i.grant) state_d = Data;
      Data: begin
        if (load & (left_q == 10'd1)) state_d = Meta;
        if (stop) state_d = Drain;
      end
      Meta: if (stop | (load & (&meta_q))) state_d = Drain;
      Drain: if (again) state_d = Reserve;
      Drop: state_d = Dropped;
      default: state_d = Idle;
    endcase
    if (ends) state_d = Idle;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      restart_q <= 1'b0;
      failed_q  <= 1'b0;
    end else begin
      state_q <= state_d;
      if ((state_q == Idle) | (state_q == Reserve)) begin
        restart_q <= 1'b0;
        failed_q  <= 1'b0;
      end else begin
        if (queue_i.restart) restart_q <= 1'b1;
        if (mem_done_i & mem_err_i) failed_q <= 1'b1;
      end
    end
  end

  ///////////
  // Frame //
  ///////////

  always_ff @(posedge clk_i) begin
    if (take_o) begin
      index_q  <= verdict_i.index;
      level_q  <= verdict_i.level;
      bytes_q  <= header_i.bytes;
      class_q  <= header_i.parsed.class_id;
      sender_q <= header_i.parsed.sender;
      stamp_q  <= header_i.stamp;
    end
    // Needed two cycles later only
    words_q <= 10'((bytes_q + 12'd3) >> 2);
    room_q  <= {6'd0, words_q + 10'(headroom_i) + 10'd3} & ~16'd3;
    if (queue_i.grant) start_q <= queue_i.adr[AddrWidth-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      frame_pop_o <= 1'b0;
      rewind_o <= 1'b0;
    end else begin
      frame_pop_o <= ends;
      rewind_o <= again;
    end
    frame_words_o <= words_q;
  end

  assign word_pop_o = (state_q == Data) & load & ~stop;

  always_comb begin
    queue_o.active  = (state_q != Idle) & (state_q != Drop) & (state_q != Dropped);
    queue_o.reserve = state_q == Reserve;
    queue_o.commit  = (state_q == Drain) & settled & ~stop;
    queue_o.index   = index_q;
    queue_o.words   = room_q;
    queue_o.bytes   = bytes_q;
  end

  ////////////
  // Memory //
  ////////////

  always_comb begin
    unique case (bytes_q[1:0])
      2'd1: last_sel = 4'b0001;
      2'd2: last_sel = 4'b0011;
      2'd3: last_sel = 4'b0111;
      default: last_sel = 4'b1111;
    endcase
    unique case (meta_q)
      2'd0: meta = {8'd0, 5'd0, class_q, 4'd0, bytes_q};
      2'd1: meta = {16'd0, 4'd0, level_q, 2'd0, index_q};
      2'd2: meta = stamp_q;
      default: meta = sender_q;
    endcase
  end

  assign wanted = ((state_q == Data) | (state_q == Meta)) & ~stop;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (load) valid_q <= wanted;
  end

  always_ff @(posedge clk_i) begin
    if (load & wanted) begin
      adr_q <= next_q;
      dat_q <= (state_q == Data) ? word_i : meta;
      sel_q <= ((state_q == Data) & (left_q == 10'd1)) ? last_sel : 4'b1111;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Reserve) begin
      next_q <= queue_i.adr[AddrWidth-1:0] + AddrWidth'(headroom_i);
      left_q <= words_q;
      meta_q <= '0;
    end else if (load & wanted) begin
      next_q <= next_q + AddrWidth'(1);
      if (state_d == Meta && state_q == Data)
        next_q <= start_q + AddrWidth'(headroom_i) - AddrWidth'(weir_nic_pkg::META_WORDS);
      left_q <= left_q - 10'd1;
      if (state_q == Meta) meta_q <= meta_q + 2'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) waiting_q <= '0;
    else waiting_q <= waiting_q + 10'(valid_q & mem_ready_i) - 10'(mem_done_i);
  end

  assign mem_valid_o = valid_q;
  assign mem_adr_o = adr_q;
  assign mem_dat_o = dat_q;
  assign mem_sel_o = sel_q;
  assign byte_adr_o = 32'({start_q + AddrWidth'(headroom_i), 2'b00});
  assign idle_o = (state_q == Idle) & ~verdict_valid_i & ~frame_pop_o & ~rewind_o;

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // The frame under way, and its room, words after the metadata's
  logic f_busy_q, f_hit_q, f_granted_q, f_failed_q, f_restart_q;
  logic [11:0] f_bytes_q;
  logic [AddrWidth-1:0] f_adr_q, f_at;
  logic [9:0] f_words, f_popped_q, f_written_q, f_waiting_q;
  logic [15:0] f_room;
  logic [ 4:0] f_headroom_q;
  logic [ 1:0] f_asked_q;  // cycles of the reservation, up to 3
  logic f_strobe, f_strobe_q, f_again_q;
  weir_nic_pkg::verdict_t f_verdict_q;
  weir_nic_pkg::header_t f_header_q;
  logic [31:0] f_meta[4];
  assign f_meta[0] = {8'd0, 5'd0, f_header_q.parsed.class_id, 4'd0, f_header_q.bytes};
  assign f_meta[1] = {16'd0, 4'd0, f_verdict_q.level, 2'd0, f_verdict_q.index};
  assign f_meta[2] = f_header_q.stamp;
  assign f_meta[3] = f_header_q.parsed.sender;

  assign f_words   = 10'((13'(f_bytes_q) + 13'd3) / 13'd4);
  assign f_room    = 16'((16'(f_headroom_q) + 16'(f_words) + 16'd3) / 16'd4 * 16'd4);
  assign f_strobe  = filtered_o || done_o || full_o || error_o;
  assign f_at      = mem_adr_o - f_adr_q - AddrWidth'(f_headroom_q);

  // One word of the frame, any
  logic [9:0] f_word_q;
  logic [31:0] f_data_q;
  logic f_written_once_q;

  always_comb begin
    assume (header_i.bytes >= 12'd14 && header_i.bytes <= weir_nic_pkg::MAX_BYTES);
    assume (headroom_i[1:0] == '0 && headroom_i >= 5'd4);
    if (f_busy_q) assume (headroom_i == f_headroom_q);
    // The queue manager answers a reservation later, a commit, and may let the frame restart.
    assume (3'(queue_i.grant) + 3'(queue_i.full) + 3'(queue_i.done) + 3'(queue_i.restart) <= 3'd1);
    if (queue_i.grant || queue_i.full) assume (queue_o.reserve && f_asked_q == 2'd3);
    if (queue_i.done) assume (queue_o.commit);
    if (queue_i.restart) assume (queue_o.active);
    // The memory answers what it has accepted.
    if (mem_done_i) assume (f_waiting_q != '0 || (mem_valid_o && mem_ready_i));
  end

  always_ff @(posedge clk_i) begin
    if (!begun_q) {f_word_q, f_headroom_q} <= {word_i[9:0], 5'd4};
    f_headroom_q <= headroom_i;
    f_asked_q <= !queue_o.reserve ? '0 : (f_asked_q == 2'd3) ? 2'd3 : f_asked_q + 2'd1;
    f_strobe_q <= rst_ni && f_strobe;
    if (take_o) {f_verdict_q, f_header_q} <= {verdict_i, header_i};
    if (take_o) {f_busy_q, f_hit_q, f_bytes_q} <= {1'b1, verdict_i.hit, header_i.bytes};
    if (f_strobe) f_busy_q <= 1'b0;
    if (queue_i.grant) begin
      {f_granted_q, f_failed_q, f_restart_q, f_adr_q} <= {3'b100, queue_i.adr[AddrWidth-1:0]};
      {f_popped_q, f_written_q} <= '0;
    end
    if (f_granted_q && queue_i.restart) f_restart_q <= 1'b1;
    if (mem_done_i && mem_err_i) f_failed_q <= 1'b1;
    if (f_strobe || again) f_granted_q <= 1'b0;
    if (word_pop_o) begin
      f_popped_q <= f_popped_q + 10'd1;
      if (f_popped_q == f_word_q) f_data_q <= word_i;
    end
    if (mem_valid_o && mem_ready_i) f_written_q <= f_written_q + 10'd1;
    f_waiting_q <= f_waiting_q + 10'(mem_valid_o && mem_ready_i) - 10'(mem_done_i);
    if (!rst_ni) begin
      {f_busy_q, f_granted_q, f_failed_q, f_restart_q, f_waiting_q} <= '0;
      {f_popped_q, f_written_q, f_asked_q} <= '0;
    end
  end

  logic f_held_q;
  logic [AddrWidth+35:0] f_write_q, f_write;
  assign f_write = {mem_adr_o, mem_dat_o, mem_sel_o};

  always_ff @(posedge clk_i) begin
    f_held_q  <= rst_ni && mem_valid_o && !mem_ready_i;
    f_write_q <= f_write;
    if (begun_q && rst_ni) begin
      // The memory's side: stable until accepted, in order, never more than 516 under way
      a_stable : assert (!f_held_q || (mem_valid_o && f_write == f_write_q));
      a_under_way : assert (f_waiting_q <= f_written_q && f_written_q <= 10'd516);
      if (mem_valid_o) begin
        a_granted : assert (f_granted_q);
        // Data from the first word on, then the four words before them
        a_place :
        assert (f_at == ((f_written_q < f_words) ? AddrWidth'(f_written_q) :
                AddrWidth'(f_written_q) - AddrWidth'(f_words) - AddrWidth'(4)));
        a_room : assert (16'(f_written_q) < 16'(f_words) + 16'd4);
        a_sel :
        assert (mem_sel_o == ((f_written_q + 10'd1 == f_words && f_bytes_q[1:0] != '0) ?
                4'((5'd1 << f_bytes_q[1:0]) - 5'd1) : 4'b1111));
        a_data : assert (f_written_q != f_word_q || f_word_q >= f_words || mem_dat_o == f_data_q);
        for (int i = 0; i < 4; i++)
        if (f_written_q == f_words + 10'(i)) assert (mem_dat_o == f_meta[i]);  // the metadata
      end
      a_words : assert (!queue_i.grant || (queue_o.words == f_room && queue_o.bytes == f_bytes_q));
      a_index : assert (!queue_o.active || queue_o.index == f_verdict_q.index);
      // Committed when all is answered and nothing failed
      if (queue_o.commit) begin
        a_commit : assert (f_granted_q && !f_failed_q && !f_restart_q && !mem_valid_o);
        a_answered : assert (f_waiting_q == '0 && f_written_q == f_words + 10'd4);
      end
      // One strobe to each frame
      a_take : assert (!take_o || (!f_busy_q && verdict_valid_i));
      a_strobe : assert (!f_strobe || f_busy_q);
      a_one : assert (3'(filtered_o) + 3'(done_o) + 3'(full_o) + 3'(error_o) <= 3'd1);
      a_filtered : assert (!f_strobe || filtered_o == !f_hit_q);
      a_done : assert (done_o == queue_i.done && full_o == queue_i.full);
      a_error : assert (!error_o || (f_failed_q && f_waiting_q == '0));
      a_byte_adr :
      assert (!done_o || byte_adr_o == 32'({f_adr_q + AddrWidth'(f_headroom_q), 2'b00}));
      a_pop : assert (frame_pop_o == f_strobe_q && (!frame_pop_o || frame_words_o == f_words));
      a_words_popped : assert (!word_pop_o || f_popped_q < f_words);
      // Inductive: how far the frame is
      if (f_busy_q) begin
        assert (f_hit_q == f_verdict_q.hit && f_bytes_q == f_header_q.bytes);
        assert (index_q == f_verdict_q.index && level_q == f_verdict_q.level);
        assert (class_q == f_header_q.parsed.class_id && sender_q == f_header_q.parsed.sender);
        assert (stamp_q == f_header_q.stamp);
      end
      if (f_granted_q && valid_q && f_written_q >= f_words && f_written_q < f_words + 10'd4)
        assert (dat_q == f_meta[2'(f_written_q-f_words)]);
      assert (f_busy_q == (state_q != Idle) && (!f_busy_q || bytes_q == f_bytes_q));
      assert (!f_busy_q || (f_bytes_q >= 12'd14 && f_bytes_q <= weir_nic_pkg::MAX_BYTES));
      assert (!f_busy_q || f_hit_q == (state_q != Drop && state_q != Dropped));
      assert (f_granted_q == (state_q == Data || state_q == Meta || state_q == Drain));
      assert (waiting_q == f_waiting_q && state_q != state_e'(7));
      if (state_q == Reserve && f_asked_q != '0) assert (words_q == f_words);
      if (state_q == Reserve && f_asked_q >= 2'd2) assert (room_q == f_room);
      if (state_q == Dropped) assert (words_q == f_words);
      if (f_strobe_q) assert (frame_words_o == f_words && !f_busy_q);
      if (!f_granted_q) assert (!valid_q && waiting_q == '0);
      if (f_granted_q) begin
        assert (words_q == f_words && start_q == f_adr_q);
        assert (restart_q == f_restart_q && failed_q == f_failed_q);
        assert (f_popped_q <= f_words);
        assert (f_written_q + 10'(valid_q) <= f_popped_q + 10'd4);
        if (f_word_q < f_popped_q && f_written_q == f_word_q && valid_q) assert (dat_q == f_data_q);
      end
      if (state_q == Data) begin
        assert (left_q == f_words - f_popped_q && left_q != '0 && meta_q == '0);
        assert (f_popped_q == f_written_q + 10'(valid_q));
        assert (next_q == f_adr_q + AddrWidth'(f_headroom_q) + AddrWidth'(f_popped_q));
      end
      if (state_q == Meta) begin
        assert (f_popped_q == f_words && f_words + 10'(meta_q) == f_written_q + 10'(valid_q));
        assert (next_q == f_adr_q + AddrWidth'(f_headroom_q) + AddrWidth'(meta_q) - AddrWidth'(4));
      end
      if (state_q == Drain && !stop)
        assert (f_popped_q == f_words && f_words + 10'd4 == f_written_q + 10'(valid_q));
      c_done : cover (done_o);
      c_restarted : cover (rewind_o);
      c_error : cover (error_o && f_written_q != f_words + 10'd4);
    end
  end
`endif

endmodule
