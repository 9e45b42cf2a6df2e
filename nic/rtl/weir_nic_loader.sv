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
 * Proved properties: none yet; see tests/weir_nic_cases.py.
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

endmodule
