// SPDX-License-Identifier: Apache-2.0

/**
 * Transmit DMA: frames of a descriptor ring into the transmit FIFO
 *
 * Purpose: after a kick reads descriptors as long as the NIC owns them, brings each frame into the
 * FIFO and returns the descriptor.
 *
 * Interface contract
 *   enable_i   While off, no frame is begun, kicks are ignored, a frame under way is finished, and
 *              then the ring index returns to 0.
 *   kick_i     Look at the ring. A kick is never lost while enable_i is on: one that comes while
 *              the engine works makes it look once more.
 *   ring_i     8-byte number of the ring's first descriptor; stable while enable_i is on.
 *   bus_*      Client side of nic_wb_master.
 *   push_*, drop_o, room_i
 *              See nic_tx_fifo.
 *   returned_o Strobe: the descriptor is back in RAM with OWN cleared. Together with it sent_o (the
 *              frame is in the FIFO) or, for a length of 0 or over 1518 bytes, bad_o; neither after
 *              a bus error in the frame's data, which costs the frame.
 *   error_o    Strobe: bus error. One at the ring itself stops the engine until the next kick; the
 *              index then stays.
 *
 * Timing: one word per cycle when the bus gives it; a burst is requested only with room for it.
 */
module nic_tx_dma (
  input logic clk_i,
  input logic rst_ni,

  input  logic        enable_i,
  input  logic        kick_i,
  input  logic [28:0] ring_i,
  output logic [15:0] index_o,

  // Bus client
  output nic_plain_pkg::bus_req_t bus_o,
  input  nic_plain_pkg::bus_rsp_t bus_i,

  // FIFO
  output logic        push_o,
  output logic [31:0] push_data_o,
  output logic        push_last_o,
  output logic [ 1:0] push_tail_o,
  output logic        drop_o,
  input  logic        room_i,

  // Outcome
  output logic returned_o,
  output logic sent_o,
  output logic bad_o,
  output logic error_o,

  output logic busy_o,  // a frame is under way or the ring is to be looked at
  output logic idle_o   // nothing changes in a later cycle without a kick or room
);

  typedef enum logic [2:0] {
    Idle,
    FetchCtl,
    FetchBuffer,
    Check,
    Data,
    Return
  } state_e;

  state_e state_q, state_d;

  logic look_q, restart_q;
  logic own_q, wrap_q, bad_q, lost_q;
  logic [15:0] length_q;
  logic [29:0] adr_q;
  logic [ 9:0] left_q;
  logic [15:0] index_q;

  logic [29:0] desc_adr;
  logic start, bad_length;

  assign desc_adr = {ring_i, 1'b0} + {13'd0, index_q, 1'b0};
  assign bad_length = (length_q == 16'd0) | (length_q > nic_plain_pkg::MAX_TX_BYTES);
  assign start = (state_q == Idle) & look_q & enable_i & ~restart_q;

  ///////////////////
  // State machine //
  ///////////////////

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (start) state_d = FetchCtl;
      FetchCtl: if (bus_i.beat) state_d = FetchBuffer;
      FetchBuffer: if (bus_i.beat) state_d = Check;
      Check: state_d = ~own_q ? Idle : bad_length ? Return : Data;
      Data: if (bus_i.err | (bus_i.beat & (left_q == 10'd1))) state_d = Return;
      Return: if (bus_i.beat) state_d = Idle;
      default: state_d = Idle;
    endcase
    if (bus_i.err & (state_q != Data)) state_d = Idle;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Idle;
    else state_q <= state_d;
  end

  assign returned_o = (state_q == Return) & bus_i.beat;
  assign sent_o = returned_o & ~bad_q & ~lost_q;
  assign bad_o = returned_o & bad_q;
  assign error_o = bus_i.err;

  // Look again: after a kick, and after each returned descriptor
  always_ff @(posedge clk_i) begin
    if (!rst_ni) look_q <= 1'b0;
    else if (!enable_i) look_q <= 1'b0;
    else if (kick_i | returned_o) look_q <= 1'b1;
    else if (start) look_q <= 1'b0;
  end

  ////////////////////////////////
  // Descriptor, address, index //
  ////////////////////////////////

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      own_q <= 1'b0;
      wrap_q <= 1'b0;
      length_q <= '0;
      bad_q <= 1'b0;
      lost_q <= 1'b0;
      adr_q <= '0;
      left_q <= '0;
    end else begin
      if ((state_q == FetchCtl) & bus_i.beat) begin
        own_q <= bus_i.rdata[nic_plain_pkg::DESC_OWN];
        wrap_q <= bus_i.rdata[nic_plain_pkg::DESC_WRAP];
        length_q <= bus_i.rdata[15:0];
      end
      if ((state_q == FetchBuffer) & bus_i.beat) adr_q <= bus_i.rdata[31:2];
      if (state_q == Check) begin
        bad_q  <= bad_length;
        lost_q <= 1'b0;
        left_q <= 10'((length_q[11:0] + 12'd3) >> 2);
      end
      if ((state_q == Data) & bus_i.err) lost_q <= 1'b1;
      if (push_o) begin
        adr_q  <= adr_q + 30'd1;
        left_q <= left_q - 10'd1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      index_q   <= '0;
      restart_q <= 1'b0;
    end else if (state_q == Idle) begin
      restart_q <= 1'b0;
      if (restart_q | ~enable_i) index_q <= '0;
    end else begin
      if (~enable_i) restart_q <= 1'b1;
      if (returned_o) index_q <= wrap_q ? '0 : index_q + 16'd1;
    end
  end

  //////////////////
  // Bus and FIFO //
  //////////////////

  always_comb begin
    bus_o.req = 1'b1;
    bus_o.we = 1'b0;
    bus_o.adr = desc_adr;
    bus_o.words = 10'd1;
    bus_o.wdata = {1'b0, wrap_q, 14'd0, length_q};
    bus_o.sel = 4'b1111;
    unique case (state_q)
      FetchCtl: bus_o.words = 10'd2;
      FetchBuffer: bus_o.adr = desc_adr | 30'd1;
      Data: begin
        bus_o.req   = room_i;
        bus_o.adr   = adr_q;
        bus_o.words = left_q;
      end
      Return: bus_o.we = 1'b1;
      default: bus_o.req = 1'b0;
    endcase
  end

  assign push_o = (state_q == Data) & bus_i.beat;
  assign push_data_o = bus_i.rdata;
  assign push_last_o = left_q == 10'd1;
  assign push_tail_o = length_q[1:0];
  assign drop_o = (state_q == Data) & bus_i.err;

  assign index_o = index_q;
  assign busy_o = (state_q != Idle) | look_q;
  assign idle_o = ((state_q == Data) & ~room_i) |
                  ((state_q == Idle) & ~look_q & ~restart_q & (enable_i | (index_q == '0)));

endmodule
