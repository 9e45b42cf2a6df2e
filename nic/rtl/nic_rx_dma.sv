// SPDX-License-Identifier: Apache-2.0

/**
 * Receive DMA: frames from the FIFO into the buffers of a descriptor ring
 *
 * Purpose: for each frame at the front of the FIFO reads the next descriptor, writes the frame into
 * its buffer and returns the descriptor. A frame that finds no descriptor is dropped at once.
 *
 * Interface contract
 *   enable_i   While off, no frame is begun (one at the front is dropped as without descriptor), a
 *              frame under way is finished, and then the ring index returns to 0.
 *   ring_i     8-byte number of the ring's first descriptor; stable while enable_i is on.
 *   frame_*    The FIFO's front, see nic_rx_fifo.
 *   bus_*      Client side of nic_wb_master.
 *   done_o, nodesc_o, long_o, error_o
 *              Strobes, exactly one of them for each frame taken from the FIFO, in order. done_o:
 *              all data and then the descriptor are in RAM (acknowledged). long_o: longer than the
 *              buffer. error_o: bus error. Only done_o advances the index; after the others the
 *              descriptor is still the NIC's and serves the next frame.
 *   buffer_o   Byte address of the buffer of the frame that done_o announces.
 *
 * Only the bytes of the frame are written: the last word carries byte selects.
 *
 * Timing: with a bus that answers each burst after one wait cycle a frame of n words takes
 * 8 + n + 2 * ceil(n / BurstWords) cycles from the front of the FIFO to done_o.
 */
module nic_rx_dma (
  input logic clk_i,
  input logic rst_ni,

  input  logic        enable_i,
  input  logic [28:0] ring_i,
  output logic [15:0] index_o,

  // Front of the FIFO
  input  logic        frame_valid_i,
  input  logic [11:0] frame_bytes_i,
  input  logic [31:0] word_i,
  output logic        word_pop_o,
  output logic        frame_pop_o,

  // Bus client
  output nic_plain_pkg::bus_req_t bus_o,
  input  nic_plain_pkg::bus_rsp_t bus_i,

  // Outcome
  output logic        done_o,
  output logic        nodesc_o,
  output logic        long_o,
  output logic        error_o,
  output logic [31:0] buffer_o,

  output logic busy_o,  // a frame is under way
  output logic idle_o   // nothing changes in a later cycle without a frame
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

  logic own_q, wrap_q;
  logic [15:0] length_q;  // the buffer's capacity
  logic [29:0] buffer_q;  // word address
  logic [29:0] adr_q;
  logic [9:0] left_q;
  logic [15:0] index_q;
  logic restart_q;  // the receiver was off while a frame was under way

  logic [29:0] desc_adr;
  logic [3:0] last_sel;

  assign desc_adr = {ring_i, 1'b0} + {13'd0, index_q, 1'b0};

  ///////////////////
  // State machine //
  ///////////////////

  always_comb begin
    state_d  = state_q;
    done_o   = 1'b0;
    nodesc_o = 1'b0;
    long_o   = 1'b0;
    error_o  = 1'b0;

    unique case (state_q)
      Idle: begin
        if (frame_valid_i & enable_i & ~restart_q) state_d = FetchCtl;
        nodesc_o = frame_valid_i & ~enable_i;
      end
      FetchCtl: begin
        if (bus_i.beat) state_d = FetchBuffer;
        error_o = bus_i.err;
      end
      FetchBuffer: begin
        if (bus_i.beat) state_d = Check;
        error_o = bus_i.err;
      end
      Check: begin
        state_d  = Data;
        nodesc_o = ~own_q;
        long_o   = own_q & ({4'd0, frame_bytes_i} > length_q);
      end
      Data: begin
        if (bus_i.beat & (left_q == 10'd1)) state_d = Return;
        error_o = bus_i.err;
      end
      Return: begin
        done_o  = bus_i.beat;
        error_o = bus_i.err;
      end
      default: state_d = Idle;
    endcase

    if (frame_pop_o) state_d = Idle;
  end

  assign frame_pop_o = done_o | nodesc_o | long_o | error_o;
  assign word_pop_o  = (state_q == Data) & bus_i.beat;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Idle;
    else state_q <= state_d;
  end

  ////////////////////////////////
  // Descriptor, address, index //
  ////////////////////////////////

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      own_q <= 1'b0;
      wrap_q <= 1'b0;
      length_q <= '0;
      buffer_q <= '0;
      adr_q <= '0;
      left_q <= '0;
    end else begin
      if ((state_q == FetchCtl) & bus_i.beat) begin
        own_q <= bus_i.rdata[nic_plain_pkg::DESC_OWN];
        wrap_q <= bus_i.rdata[nic_plain_pkg::DESC_WRAP];
        length_q <= bus_i.rdata[15:0];
      end
      if ((state_q == FetchBuffer) & bus_i.beat) begin
        buffer_q <= bus_i.rdata[31:2];
        adr_q <= bus_i.rdata[31:2];
        left_q <= 10'((frame_bytes_i + 12'd3) >> 2);
      end
      if (word_pop_o) begin
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
      if (done_o) index_q <= wrap_q ? '0 : index_q + 16'd1;
    end
  end

  /////////
  // Bus //
  /////////

  always_comb begin
    unique case (frame_bytes_i[1:0])
      2'd1: last_sel = 4'b0001;
      2'd2: last_sel = 4'b0011;
      2'd3: last_sel = 4'b0111;
      default: last_sel = 4'b1111;
    endcase
  end

  always_comb begin
    bus_o.req = 1'b1;
    bus_o.we = 1'b0;
    bus_o.adr = desc_adr;
    bus_o.words = 10'd1;
    bus_o.wdata = word_i;
    bus_o.sel = 4'b1111;

    unique case (state_q)
      FetchCtl: bus_o.words = 10'd2;
      FetchBuffer: bus_o.adr = desc_adr | 30'd1;
      Data: begin
        bus_o.we = 1'b1;
        bus_o.adr = adr_q;
        bus_o.words = left_q;
        if (left_q == 10'd1) bus_o.sel = last_sel;
      end
      Return: begin
        bus_o.we = 1'b1;
        bus_o.wdata = {1'b0, wrap_q, 18'd0, frame_bytes_i};
      end
      default: bus_o.req = 1'b0;
    endcase
  end

  assign index_o  = index_q;
  assign buffer_o = {buffer_q, 2'b00};
  assign busy_o   = state_q != Idle;
  assign idle_o   = (state_q == Idle) & ~frame_valid_i & ~restart_q & (enable_i | (index_q == '0));

endmodule
