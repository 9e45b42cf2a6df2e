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
 * Proved properties: none yet; see tests/weir_nic_cases.py.
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

endmodule
