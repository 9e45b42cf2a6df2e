// SPDX-License-Identifier: Apache-2.0

/**
 * Queue manager
 *
 * Purpose: keeps the two buffers of each queue, at BASE and BASE + SIZE. One is filled, frame after
 * frame; the other is software's or free. Does one thing to one queue at a time and tells it to all
 * others as step_o.
 *
 *   commit     the frame under way is in memory and counts from now on
 *   hand-over  the filled buffer becomes software's and the other one is filled
 *   reserve    finds room for a frame; hands over (cause "full") to get it
 *   control    opens or closes a queue; what a queue holds that closes is discarded
 *
 * Interface contract
 *   frame_i    The frame under way in weir_nic_dma; reserve and commit stay until answered by
 *              frame_o, a pulse. restart: its buffer was handed over while it was written (a timer
 *              expired, or a buffer was released); it has to reserve again.
 *   ctrl_*     Open or close a queue; ctrl_done_o is a pulse. A queue closes when no frame is under
 *              way to it.
 *   cfg_i      BASE, SIZE, FRAMES. BASE and SIZE are ignored while the queue is on.
 *   drop_*     To weir_nic_counters: frames lost for want of room or discarded, held until taken.
 *   enabled, filled, ready, may, free, select, cause: weir_nic_due. counting: weir_nic_counters.
 *   look_*, show_*
 *              The buffer handed over last of any queue, for counters and registers.
 *
 * Order in one cycle: timers first, then the frame. A frame is not committed while its queue has a
 * hand-over due that is possible; that comes first, and the frame goes to the other buffer.
 *
 * Timing: each thing takes three cycles, choose, read and act (reserve five), if drop_* is free.
 * step_o tells of an act in the cycle after it; its time is that of the act.
 * A commit that makes its buffer due hands it over in the same act.
 *
 * Parameters
 *   Queues     1 to 64
 *   AddrWidth  Word address of packet memory
 *
 * Proved properties, bounded to 10 cycles from any contents of 2 queues, between orders, with or
 * without a frame that has room: a hand-over only with frames and without a buffer at software, of
 * all frames that were committed; a grant lies in the other buffer, behind what is there and within
 * SIZE; no frame is committed to a buffer that was handed over since; a queue does not close under
 * a frame; reserve, commit and control are answered when asked for, once; a hand-over that may be comes
 * within five cycles if nothing else is asked for.
 */
module weir_nic_queues #(
  parameter  int unsigned Queues    = 8,
  parameter  int unsigned AddrWidth = 14,
  localparam int unsigned Qw        = (Queues > 1) ? $clog2(Queues) : 1
) (
  input logic clk_i,
  input logic rst_ni,

  input weir_nic_pkg::cfg_t cfg_i,

  // Frame under way
  input  weir_nic_pkg::frame_req_t frame_i,
  output weir_nic_pkg::frame_rsp_t frame_o,

  // Control
  input  logic       ctrl_valid_i,
  input  logic       ctrl_enable_i,
  input  logic [5:0] ctrl_queue_i,
  output logic       ctrl_done_o,

  // State of all queues
  input  logic [Queues-1:0] at_once_i,
  input  logic [Queues-1:0] enabled_i,
  input  logic [Queues-1:0] filled_i,
  input  logic [Queues-1:0] ready_i,
  input  logic [Queues-1:0] counting_i,
  input  logic [Queues-1:0] may_i,
  input  logic [Queues-1:0] free_i,
  output logic [Queues-1:0] select_o,
  input  logic [       2:0] cause_i,

  output weir_nic_pkg::step_t step_o,
  output logic                step_empty_o, // the queue had no frames

  // Frames lost
  output logic        drop_valid_o,
  output logic        drop_closed_o,  // discarded, else no room
  output logic [ 5:0] drop_queue_o,
  output logic [13:0] drop_frames_o,
  input  logic        drop_taken_i,

  // Buffer handed over
  input  logic                 [5:0] look_queue_i,
  output weir_nic_pkg::ready_t       look_o,
  input  logic                 [5:0] show_queue_i,
  output weir_nic_pkg::ready_t       show_o,

  output logic idle_o
);

  typedef struct packed {
    logic        buffer;
    logic [13:0] frames;
    logic [15:0] words;
    logic [17:0] bytes;
  } fill_t;

  typedef enum logic [1:0] {
    Commit,
    Handover,
    Reserve,
    Control
  } what_e;

  typedef enum logic [2:0] {
    Choose,
    Read,
    Left,
    Fit,
    Act
  } state_e;

  //////////////
  // Memories //
  //////////////

  fill_t fill_mem[2**Qw];
  weir_nic_pkg::ready_t ready_mem[2**Qw];
  logic [AddrWidth-1:0] base_mem[2**Qw];
  logic [15:0] size_mem[2**Qw];
  logic [13:0] below_mem[2**Qw];  // FRAMES - 1
  logic [Queues-1:0] counted_q;  // FRAMES is not 0

  logic [Qw-1:0] cfg_queue, queue_q;
  logic cfg_off;
  fill_t fill_q, fill_d;
  weir_nic_pkg::step_t act;
  logic fill_write;
  logic [AddrWidth-1:0] base_q, adr_q;
  logic [15:0] size_q;

  // The filled buffer with the frame under way
  logic [15:0] words_after;
  logic [17:0] bytes_after;

  assign words_after = fill_q.words + frame_i.words;
  assign bytes_after = fill_q.bytes + 18'(frame_i.bytes);

  assign cfg_queue = cfg_i.index[Qw-1:0];
  assign cfg_off = ~enabled_i[cfg_queue];

  always_ff @(posedge clk_i) begin
    if (cfg_i.write & cfg_off & (cfg_i.word == weir_nic_reg_pkg::Q_BASE))
      base_mem[cfg_queue] <= cfg_i.data[AddrWidth-1:0];
    if (cfg_i.write & cfg_off & (cfg_i.word == weir_nic_reg_pkg::Q_SIZE))
      size_mem[cfg_queue] <= cfg_i.data[15:0];
    if (cfg_i.write & (cfg_i.word == weir_nic_reg_pkg::Q_FRAMES))
      below_mem[cfg_queue] <= cfg_i.data[13:0] - 14'd1;
    base_q <= base_mem[queue_q];
    size_q <= size_mem[queue_q];
    fill_q <= fill_mem[queue_q];
    if (fill_write) fill_mem[queue_q] <= fill_d;
    if (act.handover)
      ready_mem[queue_q] <= '{
          buffer: fill_q.buffer,
          frames: act.commit ? fill_q.frames + 14'd1 : fill_q.frames,
          words: act.commit ? words_after : fill_q.words,
          bytes: act.commit ? bytes_after : fill_q.bytes,
          cause: act.cause
      };
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) counted_q <= '0;
    else if (cfg_i.write & (cfg_i.word == weir_nic_reg_pkg::Q_FRAMES))
      counted_q[cfg_queue] <= |cfg_i.data[13:0];
  end

  assign look_o = ready_mem[look_queue_i[Qw-1:0]];
  assign show_o = ready_mem[show_queue_i[Qw-1:0]];

  ////////////
  // Choose //
  ////////////

  state_e state_q, state_d;
  what_e what_q, what_d;
  logic [Qw-1:0] queue_d, due_queue;
  logic [Queues-1:0] select_q;
  logic ctrl_possible, chosen, frame_answered;

  // Answers
  logic drop, drop_valid_q, drop_closed_q, ctrl_done_d, ctrl_done_q, answered_q;
  logic [ 2:0] settle_q;  // what was read follows
  logic [ 5:0] drop_queue_q;
  logic [13:0] drop_frames_q;
  weir_nic_pkg::frame_rsp_t answer_d, answer_q;

  always_comb begin
    due_queue = '0;
    for (int i = Queues - 1; i >= 0; i--) if (may_i[i]) due_queue = Qw'(i);
  end

  assign frame_answered = answer_q.grant | answer_q.full | answer_q.done | answer_q.restart;
  assign ctrl_possible = ctrl_valid_i & ~drop_valid_q &
                         (ctrl_enable_i | ~frame_i.active | (frame_i.index != ctrl_queue_i));

  always_comb begin
    chosen  = 1'b1;
    what_d  = Commit;
    queue_d = frame_i.index[Qw-1:0];
    if (frame_i.commit) what_d = Commit;
    else if ((|may_i) & ~answered_q) begin
      what_d  = Handover;
      queue_d = due_queue;
    end else if (ctrl_possible & ~ctrl_done_q) begin
      what_d  = Control;
      queue_d = ctrl_queue_i[Qw-1:0];
    end else if (frame_i.reserve & ~drop_valid_q) what_d = Reserve;
    else chosen = 1'b0;
    // Its answer is on the way.
    if (frame_answered & ((what_d == Commit) | (what_d == Reserve))) chosen = 1'b0;
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Choose: if (chosen) state_d = Read;
      Read: state_d = (what_q == Reserve) ? Left : Act;
      Left: state_d = Fit;
      Fit: state_d = Act;
      Act: state_d = Choose;
      default: state_d = Choose;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Choose;
    else state_q <= state_d;
    if (state_q == Choose) begin
      what_q  <= what_d;
      queue_q <= queue_d;
      for (int i = 0; i < Queues; i++) select_q[i] <= queue_d == Qw'(i);
    end
  end

  assign select_o = select_q;

  /////////
  // Act //
  /////////

  logic may, free, at_once, enabled, filled, ready, counting, reached_q, fits_q, fits_empty_q;
  logic [15:0] left_q;
  assign may = |(may_i & select_q);
  assign free = |(free_i & select_q);
  assign at_once = |(at_once_i & select_q);
  assign enabled = |(enabled_i & select_q);
  assign filled = |(filled_i & select_q);
  assign ready = |(ready_i & select_q);
  assign counting = |(counting_i & select_q);
  always_ff @(posedge clk_i) begin
    reached_q <= at_once | (counted_q[queue_q] & (fill_mem[queue_q].frames >= below_mem[queue_q]));
    fits_empty_q <= frame_i.words <= size_q;
    fits_q <= frame_i.words <= left_q;
    left_q <= size_q - fill_q.words;
    adr_q <= base_q + AddrWidth'(fill_q.words) + (fill_q.buffer ? AddrWidth'(size_q) : '0);
  end

  always_comb begin
    act = '0;
    act.act = state_q == Act;
    act.index = 6'(queue_q);
    act.cause = cause_i;
    fill_write = 1'b0;
    fill_d = fill_q;
    drop = 1'b0;
    answer_d = '0;
    ctrl_done_d = 1'b0;

    if (state_q == Act) begin
      answer_d.adr = 32'(adr_q);
      unique case (what_q)
        Commit: begin
          if (may) begin
            act.handover = 1'b1;
          end else begin
            act.commit = 1'b1;
            act.first = ~filled;
            act.want = reached_q;
            act.handover = reached_q & free;
            act.cause = at_once ? weir_nic_pkg::CAUSE_AT_ONCE : weir_nic_pkg::CAUSE_FRAMES;
            answer_d.done = 1'b1;
          end
        end
        Handover: act.handover = may;
        Reserve: begin
          if (may) act.handover = 1'b1;
          else if (enabled & fits_q) answer_d.grant = 1'b1;
          else if (enabled & filled & free & fits_empty_q) begin
            act.handover = 1'b1;
            act.cause = weir_nic_pkg::CAUSE_FULL;
          end else if (~counting) begin
            answer_d.full = 1'b1;
            drop = 1'b1;
          end
        end
        Control: begin
          act.opens = ctrl_enable_i;
          act.closes = ~ctrl_enable_i;
          ctrl_done_d = 1'b1;
          drop = ~ctrl_enable_i & filled;
          // The first time the memory holds anything. Later the buffer at software stays there.
          if (ctrl_enable_i & ~enabled) begin
            fill_write = 1'b1;
            fill_d = '{buffer: fill_q.buffer & ready, default: '0};
          end
        end
        default:  ;
      endcase

      // A frame that is being written into the buffer must go to the other one.
      answer_d.restart = act.handover & ~act.commit & (what_q != Reserve) &
                         frame_i.active & (frame_i.index == 6'(queue_q));

      if (act.handover) begin
        fill_write = 1'b1;
        fill_d = '{buffer: ~fill_q.buffer, default: '0};
      end else if (act.commit) begin
        fill_write = 1'b1;
        fill_d.frames = fill_q.frames + 14'd1;
        fill_d.words = words_after;
        fill_d.bytes = bytes_after;
      end
    end
  end

  /////////////
  // Answers //
  /////////////

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      answer_q <= '0;
      answered_q <= 1'b0;
      settle_q <= '0;
      ctrl_done_q <= 1'b0;
      drop_valid_q <= 1'b0;
    end else begin
      answer_q <= answer_d;
      answered_q <= state_q == Act;
      settle_q <= {settle_q[1:0], answered_q};
      ctrl_done_q <= ctrl_done_d;
      if (drop_taken_i) drop_valid_q <= 1'b0;
      if (drop) drop_valid_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (drop) begin
      drop_closed_q <= what_q == Control;
      drop_queue_q  <= 6'(queue_q);
      drop_frames_q <= (what_q == Control) ? fill_q.frames : 14'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) step_o <= '0;
    else step_o <= act;
    step_empty_o <= ~filled;
  end

  assign frame_o = answer_q;
  assign ctrl_done_o = ctrl_done_q;
  assign drop_valid_o = drop_valid_q;
  assign drop_closed_o = drop_closed_q;
  assign drop_queue_o = drop_queue_q;
  assign drop_frames_o = drop_frames_q;
  assign idle_o = (state_q == Choose) & ~chosen & ~answered_q & ~drop_valid_q & ~(|may_i) &
 ~(|settle_q);

  logic unused_queues;
  assign unused_queues = ^{look_queue_i, show_queue_i};

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset of two cycles has been, or it began with any contents
  logic f_first_q = 1'b0;
  always_ff @(posedge clk_i) {begun_q, f_first_q} <= {f_first_q, 1'b1};
  logic f_reset_q = 1'b1;
  logic f_start;
  always_ff @(posedge clk_i) if (!f_first_q) f_reset_q <= !rst_ni;
  always_comb
    if (!begun_q) assume ((f_first_q && !f_reset_q) || !rst_ni || (!f_first_q && f_start));

  // Others keep their contracts: weir_nic_due
  logic [Queues-1:0] f_enabled_q, f_filled_q, f_ready_q;
  always_comb begin
    assume (enabled_i == f_enabled_q && filled_i == f_filled_q && (ready_i & ~f_ready_q) == '0);
    assume ((free_i & (ready_i | counting_i)) == '0);
    for (int i = 0; i < Queues; i++)
    if (may_i[i]) assume (free_i[i] && (filled_i[i] || (step_o.commit && step_o.index == 6'(i))));
  end

  // weir_nic_dma
  weir_nic_pkg::frame_req_t f_req_q;
  weir_nic_pkg::frame_rsp_t f_rsp_q;
  logic f_restart_q, f_here;
  logic f_granted_q, f_clean_q;  // room was given; no hand-over since
  assign f_here = frame_i.active && !frame_i.reserve && !frame_i.commit;
  always_comb begin
    assume (frame_i.index < 6'(Queues) && frame_i.words != '0 && frame_i.words[15:10] == '0);
    assume (!(frame_i.reserve && frame_i.commit));
    assume (frame_i.active || !(frame_i.reserve || frame_i.commit));
    if (f_req_q.active && frame_i.active)
      assume (frame_i.index == f_req_q.index && frame_i.words == f_req_q.words &&
              frame_i.bytes == f_req_q.bytes);
    if (!f_req_q.active)
      assume (!frame_i.active || frame_i.reserve);
      else if (f_req_q.reserve)
        assume (f_rsp_q.grant ? f_here : f_rsp_q.full ? !frame_i.active : frame_i.reserve);
        else if (f_req_q.commit)
          assume (f_rsp_q.done ? !frame_i.active : f_rsp_q.restart ? f_here : frame_i.commit);
          else assume (f_restart_q ? !frame_i.commit : !frame_i.reserve);
  end

  // weir_nic_loader, weir_nic_counters
  logic f_ctrl_q, f_ctrl_enable_q;
  logic [5:0] f_ctrl_queue_q;
  always_comb begin
    assume (ctrl_queue_i < 6'(Queues) && cfg_i.index < 6'(Queues));
    if (f_ctrl_q) assume (ctrl_valid_i && ctrl_enable_i == f_ctrl_enable_q);
    if (f_ctrl_q) assume (ctrl_queue_i == f_ctrl_queue_q);
    assume (!cfg_i.write || (rst_ni && !ctrl_valid_i));
    assume (!drop_taken_i || drop_valid_o);
  end

  // Any queue, as it should be
  logic [Qw-1:0] f_queue_q;
  logic f_mine, f_buffer_q, f_soft_q;
  logic [2:0] f_alone_q;
  logic [AddrWidth-1:0] f_base_q;
  logic [15:0] f_size_q, f_words_q;
  logic [13:0] f_frames_q, f_frames;
  logic [17:0] f_bytes_q;
  weir_nic_pkg::ready_t f_handed_q;
  assign f_mine = queue_q == f_queue_q;
  assign f_frames = f_frames_q + 14'(act.commit);

  // Any contents, perhaps a frame that has room, no order under way
  assign f_start = state_q == Choose && answer_q == '0 && step_o == '0 && !ctrl_done_q &&
                   !answered_q && !drop_valid_q && !f_ctrl_q && !f_restart_q &&
                   (f_req_q == '0 ? !f_granted_q : f_granted_q && f_clean_q && f_req_q.active &&
                    !f_req_q.reserve && !f_req_q.commit && f_req_q.index < 6'(Queues) &&
                    f_enabled_q[f_req_q.index[Qw-1:0]] && f_req_q.words[15:10] == '0 &&
                    (f_req_q.index != 6'(f_queue_q) ||
                     17'(f_words_q) + 17'(f_req_q.words) <= 17'(f_size_q))) &&
                   f_rsp_q == '0 && f_alone_q == '0 && f_queue_q < Queues &&
                   f_base_q == base_mem[f_queue_q] &&
                   f_size_q == size_mem[f_queue_q] && (f_filled_q & ~f_enabled_q) == '0 &&
                   f_words_q <= f_size_q && f_filled_q[f_queue_q] == (f_frames_q != '0) &&
                   fill_mem[f_queue_q] == {f_buffer_q, f_frames_q, f_words_q, f_bytes_q} &&
                   f_frames_q < 14'd99 && (!f_ready_q[f_queue_q] || (f_soft_q != f_buffer_q &&
                   ready_mem[f_queue_q] == f_handed_q && f_handed_q.buffer == f_soft_q));

  always_ff @(posedge clk_i) begin
    if (!f_first_q && !rst_ni) begin
      f_queue_q <= frame_i.index[Qw-1:0];
    end else if (cfg_i.write && cfg_queue == f_queue_q && !f_enabled_q[f_queue_q]) begin
      if (cfg_i.word == weir_nic_reg_pkg::Q_BASE) f_base_q <= cfg_i.data[AddrWidth-1:0];
      if (cfg_i.word == weir_nic_reg_pkg::Q_SIZE) f_size_q <= cfg_i.data[15:0];
    end
    for (int i = 0; i < Queues; i++) f_ready_q[i] <= ready_i[i];
    if (step_o.commit) f_filled_q[step_o.index[Qw-1:0]] <= 1'b1;
    if (step_o.handover || step_o.closes) f_filled_q[step_o.index[Qw-1:0]] <= 1'b0;
    if (step_o.handover) f_ready_q[step_o.index[Qw-1:0]] <= 1'b1;
    if (step_o.opens) f_enabled_q[step_o.index[Qw-1:0]] <= 1'b1;
    if (step_o.closes) f_enabled_q[step_o.index[Qw-1:0]] <= 1'b0;

    {f_req_q, f_rsp_q} <= {frame_i, frame_o};
    if (frame_o.restart && frame_i.active && !frame_i.reserve) f_restart_q <= 1'b1;
    if (!frame_i.active || frame_i.reserve) f_restart_q <= 1'b0;
    f_ctrl_q <= ctrl_valid_i && !ctrl_done_o;
    {f_ctrl_queue_q, f_ctrl_enable_q} <= {ctrl_queue_i, ctrl_enable_i};
    if (answer_d.grant) {f_granted_q, f_clean_q} <= '1;
    else if (!frame_i.active || (frame_i.reserve && !answer_q.grant)) f_granted_q <= 1'b0;
    if (act.handover && !act.commit && act.index == frame_i.index) f_clean_q <= 1'b0;

    // Cycles for which it may hand over, and nothing else is asked for
    if (may_i[f_queue_q] && (may_i & ~(Queues'(1) << f_queue_q)) == '0 && !ctrl_valid_i &&
        !frame_i.reserve && !frame_i.commit && !(act.handover && f_mine))
      f_alone_q <= f_alone_q + 3'd1;
    else f_alone_q <= '0;

    if (f_mine) begin
      if (act.handover) begin
        f_handed_q <= '{
            buffer: f_buffer_q,
            frames: f_frames,
            words: f_words_q + (act.commit ? frame_i.words : '0),
            bytes: f_bytes_q + (act.commit ? 18'(frame_i.bytes) : '0),
            cause: act.cause
        };
        {f_soft_q, f_buffer_q} <= {f_buffer_q, !f_buffer_q};
        {f_frames_q, f_words_q, f_bytes_q} <= '0;
      end else if (act.commit) begin
        f_frames_q <= f_frames;
        f_words_q  <= f_words_q + frame_i.words;
        f_bytes_q  <= f_bytes_q + 18'(frame_i.bytes);
      end else if (act.opens && !enabled) begin
        {f_frames_q, f_words_q, f_bytes_q} <= '0;
        if (!ready) f_buffer_q <= 1'b0;
      end
    end
    if (!rst_ni) begin  // the memories hold anything
      f_base_q <= base_mem[f_queue_q];
      f_size_q <= size_mem[f_queue_q];
      {f_enabled_q, f_filled_q, f_ready_q, f_restart_q, f_ctrl_q, f_granted_q} <= '0;
      {f_req_q, f_rsp_q, f_alone_q} <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (begun_q && rst_ni) begin
      // Only with frames, and without a buffer at software
      a_handover : assert (!act.handover || (!ready && (filled || act.commit)));
      a_commit : assert (!act.commit || (enabled && f_granted_q && f_clean_q && frame_i.commit));
      a_close :
      assert (!act.closes || !frame_i.active || frame_i.reserve || frame_i.index != act.index);
      a_whose : assert (!act.commit || act.index == frame_i.index);
      a_alone : assert (f_alone_q <= 3'd5);
      a_step : assert (!act.act || act.index < 6'(Queues));
      if (f_mine && act.handover && fill_write) begin
        a_count : assert (f_frames != '0 && fill_q.frames == f_frames_q);
        a_other : assert (fill_q.buffer == f_buffer_q);
      end
      if (f_ready_q[f_queue_q]) begin
        a_shown : assert (ready_mem[f_queue_q] == f_handed_q && f_handed_q.buffer == f_soft_q);
        a_not_software : assert (f_buffer_q != f_soft_q);
      end
      // Room: in the buffer that is filled, behind what is there
      if (f_mine && answer_d.grant) begin
        a_enabled : assert (enabled);
        a_room : assert (17'(f_words_q) + 17'(frame_i.words) <= 17'(f_size_q));
        a_place :
        assert (answer_d.adr == 32'(AddrWidth'(f_base_q + AddrWidth'(f_words_q) +
                (f_buffer_q ? AddrWidth'(f_size_q) : '0))));
      end
      // Answers to what asks only, and one
      a_one :
      assert (3'(frame_o.grant) + 3'(frame_o.full) + 3'(frame_o.done) <= 3'(!frame_o.restart));
      a_grant : assert (!(frame_o.grant || frame_o.full) || frame_i.reserve);
      a_done : assert (!frame_o.done || frame_i.commit);
      a_ctrl : assert (!ctrl_done_o || ctrl_valid_i);
      a_full : assert (!frame_o.full || (drop_valid_o && !drop_closed_o && drop_frames_o == 14'd1));
      a_drop : assert (!drop || !drop_valid_q);
      if (f_mine && act.closes && filled)
        a_discarded : assert (drop && fill_q.frames == f_frames_q);
      c_done : cover (frame_o.done);
      c_full : cover (frame_o.full && f_ready_q[f_queue_q] && frame_i.index[Qw-1:0] == f_queue_q);
      c_restart : cover (frame_o.restart);
    end
  end
`endif

endmodule
