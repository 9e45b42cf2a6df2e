// SPDX-License-Identifier: Apache-2.0

/**
 * weir_nic: receive side of a priority-aware multiqueue NIC
 *
 * Purpose: sorts frames into queues by protocol, port and sender, writes them in series into two
 * buffers per queue, and interrupts per queue as rarely as its timers allow, and never below the
 * running task's priority.
 *
 *               +- weir_nic_parser -+
 *   rx_axis ----+                   +-> weir_nic_filter -> weir_nic_dma ---- mem
 *               +- weir_nic_fifo ---+                           |
 *                                                        weir_nic_queues --- weir_nic_counters
 *                weir_nic_timers, weir_nic_guard -> weir_nic_due --+              |
 *   irq -------------------------- weir_nic_irq -----------+                      |
 *   reg -----------------------------------------------------------------  weir_nic_regs
 *
 * Interface contract
 *   rst_ni     Synchronous, active low.
 *   time_i     The platform's cycle counter, one more in each cycle; see quiescent_o.
 *   rx_axis_*  From the MAC, without the FCS. No ready: a word in every cycle is taken. First byte
 *              in bits 7:0; tkeep of the last word has its ones at the low end; tuser with tlast:
 *              the frame is damaged. No idle cycle is needed between frames.
 *   reg_*      Registers, Wishbone classic; see weir_nic_regs and README.md.
 *   mem_*      Writes to packet memory; see weir_nic_dma. For a RAM that takes a word per cycle:
 *              ready is 1 and done is valid, one cycle later or not.
 *   irq_o      Level: a queue has a buffer for software, and its priority reaches THRESHOLD.
 *   ev_*       Pulses of one cycle for a passive observer.
 *              For each frame, in order, exactly one of ev_rx_accept_o, ev_rx_overrun_o,
 *              ev_rx_bad_o (damaged, too short, too long, receiver off), in the cycle after tlast.
 *              For each accepted frame, in order, exactly one of ev_rx_done_o (in its queue;
 *              ev_rx_addr_o is its byte offset in packet memory, metadata before it),
 *              ev_rx_filtered_o (nobody's), ev_rx_full_o, ev_rx_error_o.
 *   quiescent_o, next_due_*
 *              With the inputs as they are in this cycle (no stream word, no register access)
 *              nothing in the NIC changes in this or any later cycle before the one in which time_i
 *              is next_due_o, if next_due_valid_o. Until then the clock may be gated, and time may
 *              pass without it. quiescent_o is combinational in rx_axis_tvalid_i, reg_cyc_i and
 *              reg_stb_i.
 *
 * Timing: with a free memory that answers in the next cycle, a frame of n words to an otherwise idle
 * queue is in it n + Queues + 22 cycles after its tlast. irq_o of a queue that is not moderated rises 6
 * cycles after the frame's last write was answered, at most 8 if other queues are due as well. irq_o of
 * a timer rises 7 cycles after its due time, and 4 later for each other queue that is due.
 *
 * Parameters
 *   Queues       1 to 64
 *   BufferWords  Frame FIFO in 32-bit words, a power of two, at least 16
 *   AddrWidth    Word address of packet memory, 3 to 30
 *
 * Proved properties: those of its modules, which README.md puts together.
 */
module weir_nic #(
  parameter int unsigned Queues = 8,
  parameter int unsigned BufferWords = 1024,
  parameter int unsigned AddrWidth = 14
) (
  input logic clk_i,
  input logic rst_ni,

  input logic [31:0] time_i,

  // Receive stream
  input logic [31:0] rx_axis_tdata_i,
  input logic [ 3:0] rx_axis_tkeep_i,
  input logic        rx_axis_tvalid_i,
  input logic        rx_axis_tlast_i,
  input logic        rx_axis_tuser_i,

  // Registers
  input  logic [11:0] reg_adr_i,
  input  logic [31:0] reg_dat_i,
  output logic [31:0] reg_dat_o,
  input  logic [ 3:0] reg_sel_i,
  input  logic        reg_cyc_i,
  input  logic        reg_stb_i,
  input  logic        reg_we_i,
  output logic        reg_ack_o,

  // Packet memory
  output logic                 mem_valid_o,
  input  logic                 mem_ready_i,
  output logic [AddrWidth-1:0] mem_adr_o,
  output logic [         31:0] mem_dat_o,
  output logic [          3:0] mem_sel_o,
  input  logic                 mem_done_i,
  input  logic                 mem_err_i,

  output logic irq_o,

  // Observation
  output logic        ev_rx_accept_o,
  output logic        ev_rx_overrun_o,
  output logic        ev_rx_bad_o,
  output logic        ev_rx_filtered_o,
  output logic        ev_rx_done_o,
  output logic [31:0] ev_rx_addr_o,
  output logic        ev_rx_full_o,
  output logic        ev_rx_error_o,
  output logic        quiescent_o,
  output logic [31:0] next_due_o,
  output logic        next_due_valid_o
);

  localparam int unsigned Qw = (Queues > 1) ? $clog2(Queues) : 1;

  weir_nic_pkg::cfg_t cfg;
  weir_nic_pkg::step_t step;
  weir_nic_pkg::parsed_t parsed;
  weir_nic_pkg::header_t header, judged;
  weir_nic_pkg::verdict_t   verdict;
  weir_nic_pkg::frame_req_t frame_req;
  weir_nic_pkg::frame_rsp_t frame_rsp;
  weir_nic_pkg::ready_t look, show;

  //////////
  // Time //
  //////////

  // Of the cycle before: what the queues' side works with. What that works on has begun cycles
  // before, so that the clock has been running.
  logic [31:0] now_q, acted_q;

  always_ff @(posedge clk_i) begin
    now_q   <= time_i;
    acted_q <= now_q;
  end

  //////////////////////
  // Stream to memory //
  //////////////////////

  logic enable, promiscuous, all_multicast;
  logic [ 4:0] headroom;
  logic [47:0] station;
  logic accepted, overrun, bad, off, filtered, done, full, failed;
  logic header_valid, header_pop, verdict_valid, take, hold, held;
  logic [31:0] word, byte_adr;
  logic word_pop, rewind, frame_pop;
  logic [9:0] frame_words;
  logic fifo_idle, filter_idle, dma_idle;

  weir_nic_parser u_parser (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .station_i    (station),
    .axis_tdata_i (rx_axis_tdata_i),
    .axis_tkeep_i (rx_axis_tkeep_i),
    .axis_tvalid_i(rx_axis_tvalid_i),
    .axis_tlast_i (rx_axis_tlast_i),
    .parsed_o     (parsed)
  );

  weir_nic_fifo #(
    .Words(BufferWords)
  ) u_fifo (
    .clk_i         (clk_i),
    .rst_ni        (rst_ni),
    .enable_i      (enable),
    .time_i        (time_i),
    .axis_tdata_i  (rx_axis_tdata_i),
    .axis_tkeep_i  (rx_axis_tkeep_i),
    .axis_tvalid_i (rx_axis_tvalid_i),
    .axis_tlast_i  (rx_axis_tlast_i),
    .axis_tuser_i  (rx_axis_tuser_i),
    .accepted_o    (accepted),
    .full_o        (overrun),
    .bad_o         (bad),
    .off_o         (off),
    .parsed_i      (parsed),
    .header_valid_o(header_valid),
    .header_o      (header),
    .header_pop_i  (header_pop),
    .word_o        (word),
    .word_pop_i    (word_pop),
    .rewind_i      (rewind),
    .frame_pop_i   (frame_pop),
    .frame_words_i (frame_words),
    .idle_o        (fifo_idle)
  );

  weir_nic_filter #(
    .Queues(Queues)
  ) u_filter (
    .clk_i          (clk_i),
    .rst_ni         (rst_ni),
    .promiscuous_i  (promiscuous),
    .all_multicast_i(all_multicast),
    .cfg_i          (cfg),
    .hold_i         (hold),
    .held_o         (held),
    .header_valid_i (header_valid),
    .header_i       (header),
    .header_pop_o   (header_pop),
    .verdict_valid_o(verdict_valid),
    .verdict_o      (verdict),
    .frame_o        (judged),
    .take_i         (take),
    .idle_o         (filter_idle)
  );

  weir_nic_dma #(
    .AddrWidth(AddrWidth)
  ) u_dma (
    .clk_i          (clk_i),
    .rst_ni         (rst_ni),
    .verdict_valid_i(verdict_valid),
    .verdict_i      (verdict),
    .header_i       (judged),
    .headroom_i     (headroom),
    .take_o         (take),
    .word_i         (word),
    .word_pop_o     (word_pop),
    .rewind_o       (rewind),
    .frame_pop_o    (frame_pop),
    .frame_words_o  (frame_words),
    .queue_o        (frame_req),
    .queue_i        (frame_rsp),
    .mem_valid_o    (mem_valid_o),
    .mem_ready_i    (mem_ready_i),
    .mem_adr_o      (mem_adr_o),
    .mem_dat_o      (mem_dat_o),
    .mem_sel_o      (mem_sel_o),
    .mem_done_i     (mem_done_i),
    .mem_err_i      (mem_err_i),
    .filtered_o     (filtered),
    .done_o         (done),
    .full_o         (full),
    .error_o        (failed),
    .byte_adr_o     (byte_adr),
    .idle_o         (dma_idle)
  );

  ////////////
  // Queues //
  ////////////

  logic [Queues-1:0] packet_hit, absolute_hit, at_once, credit_ok, counting;
  logic [Queues-1:0] enabled, filled, ready, may, free, selected;
  logic [Queues-1:0] packet_running, absolute_running, credit_running;
  logic [Qw-1:0] scan_queue;
  logic [31:0] scan_packet, scan_absolute, scan_credit;
  logic [2:0] cause;
  logic step_empty, ctrl_valid, ctrl_enable, ctrl_done, release_valid, settled;
  logic [5:0] ctrl_queue, release_queue, look_queue, show_queue, drop_queue;
  logic drop_valid, drop_closed, drop_taken;
  logic [13:0] drop_frames;
  logic timers_idle, guard_idle, queues_idle;

  weir_nic_timers #(
    .Queues(Queues)
  ) u_timers (
    .clk_i             (clk_i),
    .rst_ni            (rst_ni),
    .time_i            (time_i),
    .now_i             (now_q),
    .acted_i           (acted_q),
    .cfg_i             (cfg),
    .step_i            (step),
    .empty_i           (step_empty),
    .packet_hit_o      (packet_hit),
    .absolute_hit_o    (absolute_hit),
    .at_once_o         (at_once),
    .scan_queue_i      (scan_queue),
    .scan_packet_o     (scan_packet),
    .scan_absolute_o   (scan_absolute),
    .packet_running_o  (packet_running),
    .absolute_running_o(absolute_running),
    .idle_o            (timers_idle)
  );

  weir_nic_guard #(
    .Queues(Queues)
  ) u_guard (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .time_i      (time_i),
    .acted_i     (acted_q),
    .cfg_i       (cfg),
    .step_i      (step),
    .at_once_i   (at_once),
    .ok_o        (credit_ok),
    .scan_queue_i(scan_queue),
    .scan_due_o  (scan_credit),
    .running_o   (credit_running),
    .idle_o      (guard_idle)
  );

  weir_nic_next_due #(
    .Queues(Queues)
  ) u_next_due (
    .clk_i             (clk_i),
    .rst_ni            (rst_ni),
    .banks_idle_i      (timers_idle & guard_idle),
    .scan_queue_o      (scan_queue),
    .scan_packet_i     (scan_packet),
    .scan_absolute_i   (scan_absolute),
    .scan_credit_i     (scan_credit),
    .packet_running_i  (packet_running),
    .absolute_running_i(absolute_running),
    .credit_running_i  (credit_running),
    .settled_o         (settled),
    .due_o             (next_due_o),
    .valid_o           (next_due_valid_o)
  );

  weir_nic_due #(
    .Queues(Queues)
  ) u_due (
    .clk_i          (clk_i),
    .rst_ni         (rst_ni),
    .step_i         (step),
    .packet_hit_i   (packet_hit),
    .absolute_hit_i (absolute_hit),
    .ok_i           (credit_ok),
    .counting_i     (counting),
    .release_i      (release_valid),
    .release_queue_i(release_queue),
    .enabled_o      (enabled),
    .filled_o       (filled),
    .ready_o        (ready),
    .may_o          (may),
    .free_o         (free),
    .select_i       (selected),
    .cause_o        (cause)
  );

  weir_nic_queues #(
    .Queues   (Queues),
    .AddrWidth(AddrWidth)
  ) u_queues (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .cfg_i        (cfg),
    .frame_i      (frame_req),
    .frame_o      (frame_rsp),
    .ctrl_valid_i (ctrl_valid),
    .ctrl_enable_i(ctrl_enable),
    .ctrl_queue_i (ctrl_queue),
    .ctrl_done_o  (ctrl_done),
    .at_once_i    (at_once),
    .enabled_i    (enabled),
    .filled_i     (filled),
    .ready_i      (ready),
    .counting_i   (counting),
    .may_i        (may),
    .free_i       (free),
    .select_o     (selected),
    .cause_i      (cause),
    .step_o       (step),
    .step_empty_o (step_empty),
    .drop_valid_o (drop_valid),
    .drop_closed_o(drop_closed),
    .drop_queue_o (drop_queue),
    .drop_frames_o(drop_frames),
    .drop_taken_i (drop_taken),
    .look_queue_i (look_queue),
    .look_o       (look),
    .show_queue_i (show_queue),
    .show_o       (show),
    .idle_o       (queues_idle)
  );

  /////////////////////////////
  // Interrupt and registers //
  /////////////////////////////

  logic irq_enable, next_valid, irq_rise, irq_idle, regs_idle, counters_idle, totals_idle, init;
  logic [4:0] threshold;
  logic irq_taken;
  logic [5:0] next_queue, irq_taken_queue;
  logic [Queues-1:0] active;
  logic [2:0] total_word;
  logic [31:0] total;
  logic soft_read, load_read, queue_write;
  logic [10:0] soft_read_adr, load_read_adr, queue_write_adr;
  logic load, load_enable, loading;
  logic [5:0] load_queue;
  logic [31:0] queue_read_data, queue_write_data;

  weir_nic_irq #(
    .Queues(Queues)
  ) u_irq (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .cfg_i       (cfg),
    .ready_i     (ready),
    .enable_i    (irq_enable),
    .threshold_i (threshold),
    .take_i      (irq_taken),
    .take_queue_i(irq_taken_queue),
    .active_o    (active),
    .next_valid_o(next_valid),
    .next_queue_o(next_queue),
    .irq_o       (irq_o),
    .rise_o      (irq_rise),
    .idle_o      (irq_idle)
  );

  weir_nic_totals u_totals (
    .clk_i     (clk_i),
    .rst_ni    (rst_ni),
    .accepted_i(accepted),
    .bad_i     (bad),
    .overrun_i (overrun),
    .off_i     (off),
    .filtered_i(filtered),
    .error_i   (failed),
    .irq_i     (irq_rise),
    .idle_o    (totals_idle),
    .word_i    (total_word),
    .count_o   (total)
  );

  weir_nic_counters #(
    .Queues(Queues)
  ) u_counters (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .read_i       (soft_read | load_read),
    .read_adr_i   (soft_read ? soft_read_adr : load_read_adr),
    .read_data_o  (queue_read_data),
    .write_i      (queue_write),
    .write_adr_i  (queue_write_adr),
    .write_data_i (queue_write_data),
    .step_i       (step),
    .counting_o   (counting),
    .look_queue_o (look_queue),
    .look_i       (look),
    .drop_valid_i (drop_valid),
    .drop_closed_i(drop_closed),
    .drop_queue_i (drop_queue),
    .drop_frames_i(drop_frames),
    .drop_taken_o (drop_taken),
    .init_o       (init),
    .idle_o       (counters_idle)
  );

  weir_nic_regs #(
    .Queues(Queues)
  ) u_regs (
    .clk_i             (clk_i),
    .rst_ni            (rst_ni),
    .reg_adr_i         (reg_adr_i),
    .reg_dat_i         (reg_dat_i),
    .reg_dat_o         (reg_dat_o),
    .reg_sel_i         (reg_sel_i),
    .reg_cyc_i         (reg_cyc_i),
    .reg_stb_i         (reg_stb_i),
    .reg_we_i          (reg_we_i),
    .reg_ack_o         (reg_ack_o),
    .enable_o          (enable),
    .promiscuous_o     (promiscuous),
    .all_multicast_o   (all_multicast),
    .station_o         (station),
    .irq_enable_o      (irq_enable),
    .threshold_o       (threshold),
    .headroom_o        (headroom),
    .take_o            (irq_taken),
    .take_queue_o      (irq_taken_queue),
    .time_i            (time_i),
    .ready_i           (64'(ready)),
    .active_i          (64'(active)),
    .next_valid_i      (next_valid),
    .next_queue_i      (next_queue),
    .total_word_o      (total_word),
    .total_i           (total),
    .init_i            (init),
    .queue_read_o      (soft_read),
    .queue_read_adr_o  (soft_read_adr),
    .queue_read_data_i (queue_read_data),
    .queue_write_o     (queue_write),
    .queue_write_adr_o (queue_write_adr),
    .queue_write_data_o(queue_write_data),
    .load_o            (load),
    .load_queue_o      (load_queue),
    .load_enable_o     (load_enable),
    .loading_i         (loading),
    .release_o         (release_valid),
    .release_queue_o   (release_queue),
    .show_queue_o      (show_queue),
    .show_i            (show),
    .idle_o            (regs_idle)
  );

  weir_nic_loader u_loader (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .load_i       (load),
    .queue_i      (load_queue),
    .enable_i     (load_enable),
    .busy_o       (loading),
    .hold_o       (hold),
    .held_i       (held),
    .read_o       (load_read),
    .read_adr_o   (load_read_adr),
    .read_data_i  (queue_read_data),
    .soft_read_i  (soft_read),
    .cfg_o        (cfg),
    .ctrl_valid_o (ctrl_valid),
    .ctrl_enable_o(ctrl_enable),
    .ctrl_queue_o (ctrl_queue),
    .ctrl_done_i  (ctrl_done)
  );

  /////////////////
  // Observation //
  /////////////////

  logic events;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ev_rx_accept_o <= 1'b0;
      ev_rx_overrun_o <= 1'b0;
      ev_rx_bad_o <= 1'b0;
      ev_rx_filtered_o <= 1'b0;
      ev_rx_done_o <= 1'b0;
      ev_rx_addr_o <= '0;
      ev_rx_full_o <= 1'b0;
      ev_rx_error_o <= 1'b0;
    end else begin
      ev_rx_accept_o <= accepted;
      ev_rx_overrun_o <= overrun;
      ev_rx_bad_o <= bad | off;
      ev_rx_filtered_o <= filtered;
      ev_rx_done_o <= done;
      if (done) ev_rx_addr_o <= byte_adr;
      ev_rx_full_o  <= full;
      ev_rx_error_o <= failed;
    end
  end

  assign events = ev_rx_accept_o | ev_rx_overrun_o | ev_rx_bad_o | ev_rx_filtered_o |
                  ev_rx_done_o | ev_rx_full_o | ev_rx_error_o;

  assign quiescent_o = fifo_idle & filter_idle & dma_idle & timers_idle & guard_idle & settled &
                       queues_idle & irq_idle & counters_idle &
 totals_idle & regs_idle & ~loading & ~events &
                       ~rx_axis_tvalid_i & ~(reg_cyc_i & reg_stb_i);

endmodule
