// SPDX-License-Identifier: Apache-2.0

/**
 * Memory of the queues' registers, and their counters
 *
 * Purpose: one word of memory for each register of each queue: what software wrote there, and the
 * counters, which are counted up one after the other in the background.
 *
 * Interface contract
 *   read_*, write_*
 *              The registers' side. Always served at once; read_data_o follows in the next cycle.
 *   step_i     A hand-over adds to FRAMES_IN, BYTES_IN and one of the IRQS. Until that is done
 *              counting_o of the queue is high, and it must not hand over again.
 *   look_*     What was handed over, of the queue asked for.
 *   drop_*     Adds to FULL or DISCARDED; drop_taken_o: done.
 *   init_o     After reset, while the memory is cleared: one word per cycle.
 *
 * Timing: each addition takes five cycles or more, if the registers' side is busy; a hand-over is
 * three additions.
 *
 * Parameters
 *   Queues     1 to 64
 *
 * Proved properties, for 2 queues, by induction: each word is 0 after the clearing, then what
 * software wrote, or the sum of all hand-overs and drops once counting_o is low and drop_taken_o
 * was given; reads see it at once.
 */
module weir_nic_counters #(
  parameter int unsigned Queues = 8
) (
  input logic clk_i,
  input logic rst_ni,

  // Registers' side
  input  logic        read_i,
  input  logic [10:0] read_adr_i,   // queue, word
  output logic [31:0] read_data_o,
  input  logic        write_i,
  input  logic [10:0] write_adr_i,
  input  logic [31:0] write_data_i,

  // Hand-overs
  input  weir_nic_pkg::step_t               step_i,
  output logic                 [Queues-1:0] counting_o,
  output logic                 [       5:0] look_queue_o,
  input  weir_nic_pkg::ready_t              look_i,

  // Drops
  input  logic        drop_valid_i,
  input  logic        drop_closed_i,
  input  logic [ 5:0] drop_queue_i,
  input  logic [13:0] drop_frames_i,
  output logic        drop_taken_o,

  output logic init_o,
  output logic idle_o
);

  localparam int unsigned Qw = (Queues > 1) ? $clog2(Queues) : 1;
  localparam int unsigned Aw = Qw + 5;

  typedef enum logic [2:0] {
    Choose,
    Fetch,
    Fetched,
    Add,
    Store
  } state_e;

  state_e state_q, state_d;

  //////////////////
  // What to count //
  //////////////////

  logic [Queues-1:0] pending_q;
  logic [Qw-1:0] first, queue_q;
  logic [1:0] part_q;  // of a hand-over: frames, bytes, cause
  logic drop_q;
  logic [4:0] word;
  logic [17:0] amount;
  logic ends, last;

  always_comb begin
    first = '0;
    for (int i = Queues - 1; i >= 0; i--) if (pending_q[i]) first = Qw'(i);
  end

  assign ends = (state_q == Store) & ~write_i;
  assign last = drop_q | (part_q == 2'd2);
  assign drop_taken_o = ends & drop_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) pending_q <= '0;
    else begin
      if (ends & ~drop_q & last) pending_q[queue_q] <= 1'b0;
      if (step_i.handover) pending_q[step_i.index[Qw-1:0]] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Choose) begin
      drop_q  <= drop_valid_i;
      queue_q <= drop_valid_i ? drop_queue_i[Qw-1:0] : first;
      part_q  <= '0;
    end else if (ends) part_q <= part_q + 2'd1;
  end

  always_comb begin
    word   = weir_nic_reg_pkg::Q_FRAMES_IN;
    amount = 18'(look_i.frames);
    unique case (part_q)
      2'd0: ;
      2'd1: begin
        word   = weir_nic_reg_pkg::Q_BYTES_IN;
        amount = look_i.bytes;
      end
      default: begin
        word   = weir_nic_reg_pkg::Q_IRQS_AT_ONCE + 5'(look_i.cause);
        amount = 18'd1;
      end
    endcase
    if (drop_q) begin
      word   = drop_closed_i ? weir_nic_reg_pkg::Q_DISCARDED : weir_nic_reg_pkg::Q_FULL;
      amount = 18'(drop_frames_i);
    end
  end

  assign look_queue_o = 6'(queue_q);

  //////////////////////
  // Read, add, write //
  //////////////////////

  logic [31:0] mem[2**Aw];
  logic [31:0] rdata_q, value_q;
  logic [Aw-1:0] adr, init_q;
  logic init_busy_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Choose: if (drop_valid_i | (|pending_q)) state_d = Fetch;
      Fetch: if (~read_i) state_d = Fetched;
      Fetched: state_d = Add;
      Add: state_d = Store;
      Store: if (ends) state_d = last ? Choose : Fetch;
      default: state_d = Choose;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Choose;
      init_busy_q <= 1'b1;
      init_q <= '0;
    end else begin
      state_q <= state_d;
      if (init_busy_q) init_q <= init_q + Aw'(1);
      if (&init_q) init_busy_q <= 1'b0;
    end
  end

  assign adr = {queue_q, word};

  always_ff @(posedge clk_i) begin
    rdata_q <= mem[read_i?read_adr_i[Aw-1:0] : adr];
    if (state_q == Fetched) value_q <= rdata_q;
    if (state_q == Add) value_q <= value_q + 32'(amount);
  end

  logic mem_write;
  logic [Aw-1:0] mem_adr;
  logic [31:0] mem_data;

  assign mem_write = init_busy_q | write_i | (state_q == Store);
  assign mem_adr   = init_busy_q ? init_q : write_i ? write_adr_i[Aw-1:0] : adr;
  assign mem_data  = init_busy_q ? '0 : write_i ? write_data_i : value_q;

  always_ff @(posedge clk_i) begin
    if (mem_write) mem[mem_adr] <= mem_data;
  end

  assign counting_o = pending_q;
  assign read_data_o = rdata_q;
  assign init_o = init_busy_q;
  assign idle_o = (state_q == Choose) & (state_d == Choose) & ~init_busy_q;

  logic unused_bits;
  assign unused_bits = ^{read_adr_i, write_adr_i, step_i, look_i, drop_queue_i};

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been, or the memory is already cleared
  always_ff @(posedge clk_i) begun_q <= 1'b1;

  // Any word of memory, and what it should be when nothing waits to be added
  logic [Aw-1:0] f_adr_q;
  logic [4:0] f_word;
  logic [Qw-1:0] f_queue;
  logic [31:0] f_value_q;
  assign {f_queue, f_word} = f_adr_q;

  // What the queue manager shows of the watched queue
  weir_nic_pkg::ready_t f_look_q;

  function automatic logic [31:0] f_amount(logic [4:0] name, weir_nic_pkg::ready_t ready);
    if (name == weir_nic_reg_pkg::Q_FRAMES_IN) return 32'(ready.frames);
    if (name == weir_nic_reg_pkg::Q_BYTES_IN) return 32'(ready.bytes);
    return 32'(name == weir_nic_reg_pkg::Q_IRQS_AT_ONCE + 5'(ready.cause));
  endfunction

  logic f_drop_q, f_dropped;
  logic [20:0] f_drop_what_q, f_drop_what;
  assign f_drop_what = {drop_closed_i, drop_queue_i, drop_frames_i};
  assign f_dropped = drop_taken_o && drop_queue_i[Qw-1:0] == f_queue && f_word ==
      (drop_closed_i ? weir_nic_reg_pkg::Q_DISCARDED : weir_nic_reg_pkg::Q_FULL);

  always_comb begin
    if (!begun_q)
      assume (!rst_ni || (!init_busy_q && pending_q == '0 && state_q == Choose && !f_drop_q &&
                          mem[f_adr_q] == f_value_q));
    assume (!write_i || write_adr_i[4:0] < weir_nic_reg_pkg::Q_READY);
    assume (look_i.cause <= weir_nic_pkg::CAUSE_FULL);
    assume (step_i.index < 6'(Queues) && drop_queue_i < 6'(Queues));
    assume (!step_i.handover || !pending_q[step_i.index[Qw-1:0]]);
    if (look_queue_o == 6'(f_queue) && pending_q[f_queue]) assume (look_i == f_look_q);
    if (f_drop_q) assume (drop_valid_i && f_drop_what == f_drop_what_q);
    if (init_o) assume (!step_i.handover && !drop_valid_i && !write_i);
  end

  logic f_read_q;
  logic [31:0] f_read_value_q;

  always_ff @(posedge clk_i) begin
    if (!begun_q && !rst_ni) f_adr_q <= read_adr_i[Aw-1:0];
    f_drop_q <= drop_valid_i && !drop_taken_o;
    f_drop_what_q <= f_drop_what;
    if (step_i.handover && step_i.index[Qw-1:0] == f_queue) begin
      f_look_q  <= look_i;
      f_value_q <= f_value_q + f_amount(f_word, look_i);
    end
    if (f_dropped) f_value_q <= f_value_q + 32'(drop_frames_i);
    if (write_i && write_adr_i[Aw-1:0] == f_adr_q) f_value_q <= write_data_i;
    f_read_q <= read_i && read_adr_i[Aw-1:0] == f_adr_q;
    f_read_value_q <= mem[f_adr_q];
    if (!rst_ni) {f_value_q, f_drop_q} <= '0;
  end

  // Which of a hand-over's additions the word is; what of them is still to come
  logic [1:0] f_part;
  logic f_working, f_to_come;
  always_comb begin
    f_part = 2'd2;
    if (f_word == weir_nic_reg_pkg::Q_FRAMES_IN) f_part = 2'd0;
    if (f_word == weir_nic_reg_pkg::Q_BYTES_IN) f_part = 2'd1;
  end
  assign f_working = state_q != Choose && !drop_q && queue_q == f_queue;
  assign f_to_come = pending_q[f_queue] && !(f_working && part_q > f_part);

  always_ff @(posedge clk_i) begin
    if (begun_q && rst_ni) begin
      if (!init_o && !counting_o[f_queue]) a_value : assert (mem[f_adr_q] == f_value_q);
      if (f_read_q) a_read : assert (read_data_o == f_read_value_q);
      a_taken : assert (!drop_taken_o || drop_valid_i);
      // Inductive: what is under way
      if (init_o) assert (state_q == Choose && pending_q == '0 && f_value_q == '0);
      if (init_o) assert (init_q <= f_adr_q || mem[f_adr_q] == '0);
      if (!init_o)
        assert (mem[f_adr_q] + (f_to_come ? f_amount(f_word, f_look_q) : '0) == f_value_q);
      if (state_q != Choose) begin
        assert (state_q <= Store && part_q <= 2'd2);
        assert (drop_q ? f_drop_q : pending_q[queue_q]);
        if (drop_q) assert (queue_q == f_drop_what_q[14+:Qw]);
        if (adr == f_adr_q) begin
          assert (state_q != Fetched || rdata_q == mem[f_adr_q]);
          assert (state_q != Add || value_q == mem[f_adr_q]);
          assert (state_q != Store || value_q == mem[f_adr_q] + 32'(amount));
        end
      end
      c_handover : cover (f_word == weir_nic_reg_pkg::Q_FRAMES_IN && ends && f_working);
      c_drop : cover (f_dropped);
    end
  end
`endif

endmodule
