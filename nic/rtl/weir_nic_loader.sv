// SPDX-License-Identifier: Apache-2.0

/**
 * A queue's settings come into force
 *
 * Purpose: after a write to a queue's CTRL reads the words of its block from the queues' memory and
 * tells them to all modules that work with them; then lets the queue manager open or close it.
 *
 * Interface contract
 *   load_i     Begin; not while busy_o.
 *   hold_o     Asks weir_nic_filter to stop between two lookups; held_i answers. Until the end no
 *              frame gets a verdict.
 *   read_*     The queues' memory, data in the next cycle; not while soft_read_i.
 *   cfg_o      Words 13 to 1 of the block, then CTRL.
 *   ctrl_*     To the queue manager; stays until ctrl_done_i.
 *
 * Timing: a word per cycle while the memory is not read by software.
 *
 * Proved properties, by induction: words 13 to 0 are told in this order, each once, of the queue
 * asked for and as the memory has them; ctrl_valid_o comes after the last of them and not before;
 * hold_o lasts from load_i to ctrl_done_i.
 */
module weir_nic_loader (
  input logic clk_i,
  input logic rst_ni,

  input  logic       load_i,
  input  logic [5:0] queue_i,
  input  logic       enable_i,
  output logic       busy_o,

  output logic hold_o,
  input  logic held_i,

  // Queues' memory
  output logic        read_o,
  output logic [10:0] read_adr_o,
  input  logic [31:0] read_data_i,
  input  logic        soft_read_i,

  output weir_nic_pkg::cfg_t       cfg_o,
  output logic                     ctrl_valid_o,
  output logic                     ctrl_enable_o,
  output logic               [5:0] ctrl_queue_o,
  input  logic                     ctrl_done_i
);

  typedef enum logic [1:0] {
    Idle,
    Hold,
    Load,
    Tell
  } state_e;

  state_e state_q, state_d;
  logic fetch, fetched_q, cfg_write_q, enable_q;
  logic [5:0] queue_q;
  logic [4:0] word_q, fetched_word_q, cfg_word_q;
  logic [31:0] cfg_data_q;

  assign fetch = (state_q == Load) & ~soft_read_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (load_i) state_d = Hold;
      Hold: if (held_i) state_d = Load;
      Load: if (fetch & (word_q == weir_nic_reg_pkg::Q_CTRL)) state_d = Tell;
      Tell: if (ctrl_done_i) state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      fetched_q <= 1'b0;
      cfg_write_q <= 1'b0;
    end else begin
      state_q <= state_d;
      fetched_q <= fetch;
      cfg_write_q <= fetched_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      queue_q  <= queue_i;
      enable_q <= enable_i;
      word_q   <= weir_nic_reg_pkg::Q_INTERVAL;
    end else if (fetch) word_q <= word_q - 5'd1;
    fetched_word_q <= word_q;
    cfg_word_q <= fetched_word_q;
    cfg_data_q <= read_data_i;
  end

  assign busy_o = state_q != Idle;
  assign hold_o = busy_o;
  assign read_o = state_q == Load;
  assign read_adr_o = {queue_q, word_q};
  assign cfg_o.write = cfg_write_q;
  assign cfg_o.index = queue_q;
  assign cfg_o.word = cfg_word_q;
  assign cfg_o.data = cfg_data_q;
  assign ctrl_valid_o = (state_q == Tell) & ~fetched_q & ~cfg_write_q;
  assign ctrl_enable_o = enable_q;
  assign ctrl_queue_o = queue_q;

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // One word of the block, any
  logic [4:0] f_word_q;
  logic [31:0] f_data_q;
  logic f_read_q;  // it is read
  logic [4:0] f_next_q;  // word that is to be told next; beyond: none
  logic f_told_q;
  logic [5:0] f_queue_q;
  logic f_enable_q, f_busy_q;

  always_comb begin
    assume (!load_i || !busy_o);
    assume (!ctrl_done_i || ctrl_valid_o);
    if (f_read_q) assume (read_data_i == f_data_q);
  end

  always_ff @(posedge clk_i) begin
    if (!begun_q) {f_word_q, f_data_q} <= {queue_i[4:0], read_data_i};
    f_read_q <= read_o && !soft_read_i && read_adr_o[4:0] == f_word_q;
    if (load_i) begin
      {f_busy_q, f_queue_q, f_enable_q} <= {1'b1, queue_i, enable_i};
      f_next_q <= weir_nic_reg_pkg::Q_INTERVAL;
      f_told_q <= 1'b0;
    end
    if (cfg_o.write) begin
      f_next_q <= f_next_q - 5'd1;
      f_told_q <= f_next_q == weir_nic_reg_pkg::Q_CTRL;
    end
    if (ctrl_done_i) f_busy_q <= 1'b0;
    if (!rst_ni) {f_busy_q, f_read_q} <= '0;

    if (begun_q && rst_ni) begin
      a_busy : assert (busy_o == f_busy_q && hold_o == f_busy_q);
      if (cfg_o.write) begin
        // Words 13 to 0, each once, of the queue asked for and as the memory has them
        a_order : assert (f_busy_q && !f_told_q && cfg_o.word == f_next_q);
        a_queue : assert (cfg_o.index == f_queue_q);
        a_data : assert (cfg_o.word != f_word_q || cfg_o.data == f_data_q);
      end
      a_read : assert (!read_o || read_adr_o[10:5] == f_queue_q);
      // Then, and not before, the queue opens or closes.
      a_last : assert (!ctrl_valid_o || (f_busy_q && f_told_q));
      a_ctrl : assert (!ctrl_valid_o || (ctrl_queue_o == f_queue_q && ctrl_enable_o == f_enable_q));
      // Inductive: how far it is
      assert (f_busy_q == (state_q != Idle));
      if (state_q != Idle) assert (queue_q == f_queue_q && enable_q == f_enable_q);
      if (state_q == Hold) assert (!f_told_q && word_q == weir_nic_reg_pkg::Q_INTERVAL);
      if (state_q == Hold) assert (f_next_q == weir_nic_reg_pkg::Q_INTERVAL);
      if (state_q == Idle || state_q == Hold) assert (!fetched_q && !cfg_write_q);
      if (state_q == Load)
        assert (!f_told_q && word_q <= weir_nic_reg_pkg::Q_INTERVAL &&
                f_next_q == word_q + 5'(fetched_q) + 5'(cfg_write_q));
      if (state_q == Tell) begin
        assert (f_told_q == (!fetched_q && !cfg_write_q));
        assert (f_told_q || f_next_q == 5'(fetched_q) + 5'(cfg_write_q) - 5'd1);
      end
      if (fetched_q) assert (fetched_word_q == f_next_q - 5'(cfg_write_q));
      if (cfg_write_q) assert (cfg_word_q == f_next_q);
      assert (f_read_q == (fetched_q && fetched_word_q == f_word_q));
      if (cfg_write_q && cfg_word_q == f_word_q) assert (cfg_data_q == f_data_q);
      c_done : cover (ctrl_done_i);
      c_held_off : cover (state_q == Load && soft_read_i && cfg_write_q);
    end
  end
`endif

endmodule
