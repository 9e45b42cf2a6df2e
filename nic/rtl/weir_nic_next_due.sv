// SPDX-License-Identifier: Apache-2.0

/**
 * Earliest due time
 *
 * Purpose: finds the earliest due time of all running timers, so that a simulation knows how far it
 * may skip. Nothing in the NIC depends on it.
 *
 * Interface contract
 *   banks_idle_i  No timer is being set. running_* do not change then but by being due.
 *   scan_*        Reads the due times of one queue.
 *   settled_o     due_o and valid_o are those of the timers that run.
 *
 * Timing: settled_o rises 3 * Queues + 2 cycles after the timers' last change.
 *
 * Parameters
 *   Queues        1 to 64
 *
 * Proved properties, for 2 queues, by induction: settled_o comes 3 * Queues + 2 cycles after
 * the timers' last change and lasts until the next; with it valid_o tells that a timer runs, and due_o is
 * the due time of one that runs, which none of them precedes.
 */
module weir_nic_next_due #(
  parameter  int unsigned Queues = 8,
  localparam int unsigned Qw     = (Queues > 1) ? $clog2(Queues) : 1
) (
  input logic clk_i,
  input logic rst_ni,

  input  logic              banks_idle_i,
  output logic [    Qw-1:0] scan_queue_o,
  input  logic [      31:0] scan_packet_i,
  input  logic [      31:0] scan_absolute_i,
  input  logic [      31:0] scan_credit_i,
  input  logic [Queues-1:0] packet_running_i,
  input  logic [Queues-1:0] absolute_running_i,
  input  logic [Queues-1:0] credit_running_i,

  output logic        settled_o,
  output logic [31:0] due_o,
  output logic        valid_o
);

  typedef enum logic [2:0] {
    Packet,
    Absolute,
    Credit,
    Last,
    Settled
  } state_e;

  state_e state_q;
  logic [Qw-1:0] queue_q;
  logic [31:0] best_q, due, due_q, ahead;
  logic valid_q, running, running_one_q, changed;
  logic [3*Queues-1:0] running_q;

  assign changed = ~banks_idle_i |
                   (running_q != {packet_running_i, absolute_running_i, credit_running_i});
  assign scan_queue_o = queue_q;

  always_comb begin
    unique case (state_q)
      Packet: begin
        due = scan_packet_i;
        running = packet_running_i[queue_q];
      end
      Absolute: begin
        due = scan_absolute_i;
        running = absolute_running_i[queue_q];
      end
      default: begin
        due = scan_credit_i;
        running = credit_running_i[queue_q];
      end
    endcase
  end

  assign ahead = due_q - best_q;  // all lie within half the counter's range

  always_ff @(posedge clk_i) begin
    running_q <= {packet_running_i, absolute_running_i, credit_running_i};
    if (!rst_ni | changed) begin
      state_q <= Packet;
      queue_q <= '0;
      valid_q <= 1'b0;
      running_one_q <= 1'b0;
    end else if (state_q != Settled) begin
      // One is read while the one before is compared.
      due_q <= due;
      running_one_q <= running & (state_q != Last);
      valid_q <= valid_q | running_one_q;
      if (running_one_q & (~valid_q | ahead[31])) best_q <= due_q;
      unique case (state_q)
        Packet:   state_q <= Absolute;
        Absolute: state_q <= Credit;
        Credit: begin
          queue_q <= queue_q + Qw'(1);
          state_q <= (queue_q == Qw'(Queues - 1)) ? Last : Packet;
        end
        default:  state_q <= Settled;
      endcase
    end
  end

  assign settled_o = (state_q == Settled) & ~changed;
  assign due_o = best_q;
  assign valid_o = settled_o & valid_q;

  logic unused_ahead;
  assign unused_ahead = ^ahead;

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // Due times, which change only while a bank is not idle: packet, absolute and credit of queue 0, of 1 ...
  localparam int unsigned FDues = 3 * Queues;
  logic [31:0] f_due_q[FDues], f_base_q;
  logic [FDues-1:0] f_running, f_running_q, f_before_q;  // now, and in the cycle before
  logic [5:0] f_quiet_q;  // cycles since the one after the last change
  logic f_changed;
  assign f_changed = !banks_idle_i || f_running != f_running_q;
  always_comb begin
    for (int i = 0; i < Queues; i++) begin
      f_running[3*i+:3]   = {credit_running_i[i], absolute_running_i[i], packet_running_i[i]};
      f_running_q[3*i+:3] = {running_q[i], running_q[Queues+i], running_q[2*Queues+i]};
    end
  end

  // Any of them
  logic [3:0] f_one_q;

  always_comb begin
    for (int i = 0; i < Queues; i++) begin
      if (banks_idle_i && scan_queue_o == Qw'(i)) begin
        assume (scan_packet_i == f_due_q[3*i]);
        assume (scan_absolute_i == f_due_q[3*i+1]);
        assume (scan_credit_i == f_due_q[3*i+2]);
      end
    end
    for (int i = 0; i < FDues; i++) assume (!f_running[i] || f_due_q[i] - f_base_q < 32'h7fff_ffff);
  end

  // How many were read, and how many of them compared; the earliest one of these
  logic [5:0] f_read, f_compared;
  logic [3:0] f_best_q;
  always_comb begin
    f_read = 6'(3 * queue_q) + 6'(state_q);
    if (state_q == Last) f_read = 6'(FDues);
    if (state_q == Settled) f_read = 6'(FDues + 1);
    f_compared = (f_read == '0) ? '0 : f_read - 6'd1;
  end

  always_ff @(posedge clk_i) begin
    if (!begun_q) f_one_q <= scan_packet_i[3:0];
    f_before_q <= f_running;
    if (!rst_ni || f_changed) f_quiet_q <= '0;
    else if (f_quiet_q != 6'(FDues + 1)) f_quiet_q <= f_quiet_q + 6'd1;
    // What is stored while a bank is not idle: anything, so whatever is read then
    if (!banks_idle_i) begin
      for (int i = 0; i < FDues; i++)
      if (scan_packet_i[3:0] == 4'(i)) f_due_q[i] <= scan_absolute_i;
      f_base_q <= scan_credit_i;
    end
    if (running_one_q && (!valid_q || ahead[31])) f_best_q <= 4'(f_compared);

    if (begun_q && rst_ni) begin
      a_settled :
      assert (settled_o == (banks_idle_i && f_running == f_before_q && f_quiet_q == 6'(FDues + 1)));
      a_valid : assert (valid_o == (settled_o && f_running != '0));
      if (valid_o) begin
        a_runs : assert (f_running[f_best_q] && due_o == f_due_q[f_best_q]);
        if (f_one_q < 4'(FDues) && f_running[f_one_q])
          a_first : assert (f_due_q[f_one_q] - due_o < 32'h8000_0000);
      end
      // Inductive: how far the scan is
      assert (state_q <= Settled && (state_q == Settled || state_q == Last || queue_q < Queues));
      assert (f_quiet_q == f_read);
      assert (f_running_q == f_before_q);
      if (f_read != '0) begin
        for (int i = 0; i < FDues; i++) begin
          assert (!f_running_q[i] || f_due_q[i] - f_base_q < 32'h7fff_ffff);
          if (f_compared == 6'(i)) assert (due_q == f_due_q[i] && running_one_q == f_running_q[i]);
        end
        if (state_q == Settled) assert (!running_one_q);
        assert (valid_q == ((f_running_q & ~({FDues{1'b1}} << f_compared)) != '0));
        if (valid_q) begin
          assert (6'(f_best_q) < f_compared && f_running_q[f_best_q]);
          assert (best_q == f_due_q[f_best_q]);
          if (6'(f_one_q) < f_compared && f_one_q < 4'(FDues) && f_running_q[f_one_q])
            assert (f_due_q[f_one_q] - best_q < 32'h8000_0000);
        end
      end
      c_last : cover (valid_o && (&f_running) && f_best_q == 4'(FDues - 1));
    end
  end
`endif

endmodule
