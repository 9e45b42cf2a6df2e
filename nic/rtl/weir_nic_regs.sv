// SPDX-License-Identifier: Apache-2.0

/**
 * Registers
 *
 * Purpose: the software's view. The registers are listed in weir_nic_registers.toml and README.md.
 *
 * Interface contract
 *   reg_*      Wishbone classic, one access at a time, word address: the NIC's registers from 0 on,
 *              those of a queue from 0x800 + 32 * queue on. Writes need all four byte lanes, others
 *              are ignored. Other addresses read 0 and ignore writes.
 *   queue_*    The queues' memory, see weir_nic_counters.
 *   load_*     A write to a queue's CTRL, which weir_nic_loader carries out while loading_i is high.
 *   release_*  A write to RELEASE.
 *
 * Timing: ack in the cycle after stb; a write takes effect together with its ack. Exceptions: the
 * queues' memory is being cleared after reset: as soon as that is over; NEXT and ACTIVE: five cycles
 * after stb, so that they show what was written before;
 * a write to a queue's words 0 to 13 while one to CTRL is carried out: as soon as that is done
 * (about 20 cycles, and a frame's time if the queue is turned off while one is written to it).
 *
 * Parameters
 *   Queues     1 to 64
 *
 * Proved properties, for 3 queues, by induction: one ack to each access and none without, within
 * five cycles but for the exceptions; settings, orders and the queues' memory change with a write
 * of all lanes to what exists, and not otherwise; what is read is the register's.
 */
module weir_nic_regs #(
  parameter int unsigned Queues = 8
) (
  input logic clk_i,
  input logic rst_ni,

  // Bus
  input  logic [11:0] reg_adr_i,
  input  logic [31:0] reg_dat_i,
  output logic [31:0] reg_dat_o,
  input  logic [ 3:0] reg_sel_i,
  input  logic        reg_cyc_i,
  input  logic        reg_stb_i,
  input  logic        reg_we_i,
  output logic        reg_ack_o,

  // Settings
  output logic        enable_o,
  output logic        promiscuous_o,
  output logic        all_multicast_o,
  output logic [47:0] station_o,
  output logic        irq_enable_o,
  output logic [ 4:0] threshold_o,
  output logic [ 4:0] headroom_o,
  output logic        take_o,
  output logic [ 5:0] take_queue_o,

  // State
  input  logic [31:0] time_i,
  input  logic [63:0] ready_i,
  input  logic [63:0] active_i,
  input  logic        next_valid_i,
  input  logic [ 5:0] next_queue_i,
  output logic [ 2:0] total_word_o,
  input  logic [31:0] total_i,

  // Queues' memory
  input  logic        init_i,
  output logic        queue_read_o,
  output logic [10:0] queue_read_adr_o,
  input  logic [31:0] queue_read_data_i,
  output logic        queue_write_o,
  output logic [10:0] queue_write_adr_o,
  output logic [31:0] queue_write_data_o,

  // A write to CTRL, to weir_nic_loader
  output logic       load_o,
  output logic [5:0] load_queue_o,
  output logic       load_enable_o,
  input  logic       loading_i,

  // Buffers
  output logic                       release_o,
  output logic                 [5:0] release_queue_o,
  output logic                 [5:0] show_queue_o,
  input  weir_nic_pkg::ready_t       show_i,

  output logic idle_o  // nothing changes later without an access
);

  ////////////
  // Access //
  ////////////

  logic request, access, write, ack_q, of_queue, exists, setting, is_next, waits;
  logic [5:0] index;
  logic [4:0] word;
  logic [2:0] next_wait_q;
  logic [31:0] rdata_d, rdata_q;
  logic from_memory_q;

  assign of_queue = reg_adr_i[11];
  assign index = reg_adr_i[10:5];
  assign word = reg_adr_i[4:0];
  assign exists = of_queue & ({1'b0, index} < 7'(Queues));
  assign setting = exists & reg_we_i & (word < weir_nic_reg_pkg::Q_READY);

  assign is_next = ~of_queue & ~reg_we_i &
                   ((word == weir_nic_reg_pkg::REG_NEXT) |
                    (word == weir_nic_reg_pkg::REG_ACTIVE_LO) |
                    (word == weir_nic_reg_pkg::REG_ACTIVE_HI));

  assign request = reg_cyc_i & reg_stb_i & ~ack_q;
  assign waits = init_i | (setting & loading_i) | (is_next & (next_wait_q != 3'd4));
  assign access = request & ~waits;
  assign write = access & reg_we_i & (&reg_sel_i);


  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ack_q <= 1'b0;
      next_wait_q <= '0;
    end else begin
      ack_q <= access;
      // It stays at its end while the memory is cleared.
      next_wait_q <= (request & is_next & waits) ? next_wait_q + 3'(next_wait_q != 3'd4) : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (access) begin
      rdata_q <= rdata_d;
      from_memory_q <= exists & (word != weir_nic_reg_pkg::Q_READY) &
                       (word != weir_nic_reg_pkg::Q_RELEASE);
    end
  end

  assign reg_ack_o = ack_q;
  assign reg_dat_o = from_memory_q ? queue_read_data_i : rdata_q;

  ////////////
  // Fields //
  ////////////

  logic [2:0] ctrl_q;
  logic irq_enable_q;
  logic [4:0] threshold_q;
  logic [2:0] headroom_q;  // in units of four words
  logic [47:0] station_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ctrl_q <= '0;
      irq_enable_q <= 1'b0;
      threshold_q <= '0;
      headroom_q <= 3'd1;
      station_q <= '0;
    end else if (write & (reg_adr_i[11:5] == '0)) begin
      unique case (word)
        weir_nic_reg_pkg::REG_CTRL: ctrl_q <= reg_dat_i[2:0];
        weir_nic_reg_pkg::REG_IRQ_ENABLE: irq_enable_q <= reg_dat_i[0];
        weir_nic_reg_pkg::REG_THRESHOLD: threshold_q <= reg_dat_i[4:0];
        weir_nic_reg_pkg::REG_HEADROOM: if (|reg_dat_i[4:2]) headroom_q <= reg_dat_i[4:2];
        weir_nic_reg_pkg::REG_MAC_LO: station_q[31:0] <= reg_dat_i;
        weir_nic_reg_pkg::REG_MAC_HI: station_q[47:32] <= reg_dat_i[15:0];
        default: ;
      endcase
    end
  end

  assign enable_o = ctrl_q[weir_nic_reg_pkg::REG_CTRL_ENABLE];
  assign promiscuous_o = ctrl_q[weir_nic_reg_pkg::REG_CTRL_PROMISCUOUS];
  assign all_multicast_o = ctrl_q[weir_nic_reg_pkg::REG_CTRL_ALL_MULTICAST];
  assign station_o = station_q;
  assign irq_enable_o = irq_enable_q;
  assign threshold_o = threshold_q;
  assign headroom_o = {headroom_q, 2'd0};

  // A cycle later, since much hangs on them
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      take_o <= 1'b0;
      release_o <= 1'b0;
    end else begin
      take_o <= write & (reg_adr_i[11:5] == '0) & (word == weir_nic_reg_pkg::REG_TAKE);
      release_o <= write & exists & (word == weir_nic_reg_pkg::Q_RELEASE);
    end
    if (access) begin
      take_queue_o <= reg_dat_i[5:0];
      release_queue_o <= index;
    end
  end


  /////////////////////
  // Queues' memory  //
  /////////////////////

  assign queue_read_o = access & exists & ~reg_we_i;
  assign queue_read_adr_o = {index, word};
  assign queue_write_o = write & setting;
  assign queue_write_adr_o = {index, word};
  assign queue_write_data_o = reg_dat_i & weir_nic_reg_pkg::queue_mask(word);

  assign load_o = write & setting & (word == weir_nic_reg_pkg::Q_CTRL);
  assign load_queue_o = index;
  assign load_enable_o = reg_dat_i[0];

  //////////
  // Read //
  //////////

  logic shown;
  assign shown = ready_i[index];
  assign show_queue_o = index;
  assign total_word_o = word[2:0];

  always_comb begin
    rdata_d = '0;
    if (reg_adr_i[11:5] == '0) begin
      unique case (word)
        weir_nic_reg_pkg::REG_ID: rdata_d = weir_nic_reg_pkg::ID_VALUE;
        weir_nic_reg_pkg::REG_VERSION: rdata_d = weir_nic_reg_pkg::VERSION_VALUE;
        weir_nic_reg_pkg::REG_QUEUES: rdata_d = 32'(Queues);
        weir_nic_reg_pkg::REG_CTRL: begin
          rdata_d[2:0] = ctrl_q;
          rdata_d[weir_nic_reg_pkg::REG_CTRL_BUSY] = loading_i;
        end
        weir_nic_reg_pkg::REG_TIME: rdata_d = time_i;
        weir_nic_reg_pkg::REG_MAC_LO: rdata_d = station_q[31:0];
        weir_nic_reg_pkg::REG_MAC_HI: rdata_d = {16'd0, station_q[47:32]};
        weir_nic_reg_pkg::REG_IRQ_ENABLE: rdata_d = {31'd0, irq_enable_q};
        weir_nic_reg_pkg::REG_THRESHOLD: rdata_d = {27'd0, threshold_q};
        weir_nic_reg_pkg::REG_HEADROOM: rdata_d = {27'd0, headroom_o};
        weir_nic_reg_pkg::REG_READY_LO: rdata_d = ready_i[31:0];
        weir_nic_reg_pkg::REG_READY_HI: rdata_d = ready_i[63:32];
        weir_nic_reg_pkg::REG_ACTIVE_LO: rdata_d = active_i[31:0];
        weir_nic_reg_pkg::REG_ACTIVE_HI: rdata_d = active_i[63:32];
        weir_nic_reg_pkg::REG_NEXT: rdata_d = {next_valid_i, 25'd0, next_queue_i};
        default: if (word[4:3] == 2'b10) rdata_d = total_i;
      endcase
    end else if (exists & (word == weir_nic_reg_pkg::Q_READY) & shown)
      rdata_d = {1'b1, show_i.buffer, show_i.frames, show_i.words};
  end

  assign idle_o = ~ack_q & ~init_i;

  logic unused_show;
  assign unused_show = ^show_i;

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // The access under way, which the master holds until acknowledged; cycles it has waited
  logic f_stb, f_open_q, f_acked_q;
  logic [48:0] f_access_q, f_access;
  logic [3:0] f_waited_q;
  assign f_stb = reg_cyc_i && reg_stb_i;
  assign f_access = {reg_we_i, reg_adr_i, reg_dat_i, reg_sel_i};
  always_comb if (f_open_q) assume (f_stb && f_access == f_access_q);

  // Writes to some registers, in the cycle before their ack
  logic f_global, f_queue, f_effect;
  logic [ 4:0] f_threshold_q;
  logic [47:0] f_station_q;
  assign f_effect = f_stb && !reg_ack_o && !waits && reg_we_i && reg_sel_i == 4'b1111;
  assign f_global = f_effect && reg_adr_i < 12'h020;
  assign f_queue  = f_effect && reg_adr_i >= 12'h800 && reg_adr_i < 12'h800 + 12'(32 * Queues);

  logic f_exists;
  logic [31:0] f_read_q, f_show_q;
  assign f_exists = reg_adr_i >= 12'h800 && reg_adr_i < 12'h800 + 12'(32 * Queues);

  logic f_take_q, f_release_q;
  logic [5:0] f_take_queue_q, f_release_queue_q;

  always_ff @(posedge clk_i) begin
    f_open_q   <= rst_ni && f_stb && !reg_ack_o;
    f_access_q <= f_access;
    f_acked_q  <= rst_ni && reg_ack_o;
    f_waited_q <= f_waited_q + 4'd1;
    if (!f_stb || reg_ack_o || init_i || (setting && loading_i)) f_waited_q <= '0;
    if (f_global && reg_adr_i[4:0] == weir_nic_reg_pkg::REG_THRESHOLD)
      f_threshold_q <= reg_dat_i[4:0];
    if (f_global && reg_adr_i[4:0] == weir_nic_reg_pkg::REG_MAC_LO) f_station_q[31:0] <= reg_dat_i;
    if (f_global && reg_adr_i[4:0] == weir_nic_reg_pkg::REG_MAC_HI)
      f_station_q[47:32] <= reg_dat_i[15:0];
    f_take_q <= rst_ni && f_global && reg_adr_i[4:0] == weir_nic_reg_pkg::REG_TAKE;
    f_release_q <= rst_ni && f_queue && reg_adr_i[4:0] == weir_nic_reg_pkg::Q_RELEASE;
    f_take_queue_q <= reg_dat_i[5:0];
    f_release_queue_q <= reg_adr_i[10:5];
    if (!rst_ni) {f_threshold_q, f_station_q, f_waited_q} <= '0;

    unique case (reg_adr_i[4:0])
      weir_nic_reg_pkg::REG_ID: f_read_q <= weir_nic_reg_pkg::ID_VALUE;
      weir_nic_reg_pkg::REG_VERSION: f_read_q <= 32'd1;
      weir_nic_reg_pkg::REG_QUEUES: f_read_q <= 32'(Queues);
      weir_nic_reg_pkg::REG_CTRL:
      f_read_q <= {23'd0, loading_i, 5'd0, all_multicast_o, promiscuous_o, enable_o};
      weir_nic_reg_pkg::REG_TIME: f_read_q <= time_i;
      weir_nic_reg_pkg::REG_MAC_LO: f_read_q <= f_station_q[31:0];
      weir_nic_reg_pkg::REG_MAC_HI: f_read_q <= {16'd0, f_station_q[47:32]};
      weir_nic_reg_pkg::REG_IRQ_ENABLE: f_read_q <= {31'd0, irq_enable_o};
      weir_nic_reg_pkg::REG_THRESHOLD: f_read_q <= {27'd0, f_threshold_q};
      weir_nic_reg_pkg::REG_READY_LO: f_read_q <= ready_i[31:0];
      weir_nic_reg_pkg::REG_READY_HI: f_read_q <= ready_i[63:32];
      weir_nic_reg_pkg::REG_ACTIVE_LO: f_read_q <= active_i[31:0];
      weir_nic_reg_pkg::REG_ACTIVE_HI: f_read_q <= active_i[63:32];
      weir_nic_reg_pkg::REG_NEXT: f_read_q <= {next_valid_i, 25'd0, next_queue_i};
      weir_nic_reg_pkg::REG_TAKE: f_read_q <= '0;
      weir_nic_reg_pkg::REG_HEADROOM: f_read_q <= {27'd0, headroom_o};
      default: f_read_q <= (reg_adr_i[4:3] == 2'b10) ? total_i : '0;
    endcase
    f_show_q <= ready_i[reg_adr_i[10:5]] ? {1'b1, show_i.buffer, show_i.frames, show_i.words} : '0;

    if (begun_q && rst_ni) begin
      // One ack to each access, none without
      a_ack : assert (!reg_ack_o || (f_open_q && f_stb));
      a_one_ack : assert (!reg_ack_o || !f_acked_q);
      a_in_time : assert (f_waited_q < 4'd5 || reg_ack_o);
      a_init : assert (!(init_i && (queue_read_o || queue_write_o || load_o)));
      // Writes with all lanes, to what exists; nothing else changes anything.
      a_threshold : assert (threshold_o == f_threshold_q && station_o == f_station_q);
      a_take : assert (take_o == f_take_q && (!take_o || take_queue_o == f_take_queue_q));
      a_release :
      assert (release_o == f_release_q && (!release_o || release_queue_o == f_release_queue_q));
      a_write : assert (queue_write_o == (f_queue && reg_adr_i[4:0] < weir_nic_reg_pkg::Q_READY));
      a_write_adr : assert (!queue_write_o || queue_write_adr_o == reg_adr_i[10:0]);
      a_load :
      assert (load_o == (f_queue && reg_adr_i[4:0] == weir_nic_reg_pkg::Q_CTRL) &&
              (!load_o || (!loading_i && load_queue_o == reg_adr_i[10:5])));
      // What is read: of the cycle before the ack
      if (reg_ack_o && !reg_we_i && reg_adr_i < 12'h020) a_read : assert (reg_dat_o == f_read_q);
      if (reg_ack_o && !reg_we_i && f_exists && reg_adr_i[4:0] == weir_nic_reg_pkg::Q_READY)
        a_ready : assert (reg_dat_o == f_show_q);
      if (reg_ack_o && !reg_we_i && f_exists && reg_adr_i[4:0] < weir_nic_reg_pkg::Q_READY)
        a_read_memory : assert (reg_dat_o == queue_read_data_i);
      a_read_adr : assert (!queue_read_o || (!reg_we_i && queue_read_adr_o == reg_adr_i[10:0]));
      a_headroom : assert (headroom_o >= 5'd4 && headroom_o[1:0] == '0);
      // Inductive: NEXT and ACTIVE wait four cycles.
      assert (f_waited_q == '0 || f_open_q || reg_ack_o);
      assert (next_wait_q == '0 || f_open_q);
      assert (next_wait_q <= 3'd4);
      assert (f_waited_q == '0 || reg_ack_o || is_next);
      if (!reg_ack_o && f_waited_q != '0) assert (4'(next_wait_q) >= f_waited_q);
      c_waited : cover (reg_ack_o && f_waited_q == 4'd5);
      c_release : cover (release_o);
      c_behind_load : cover (queue_write_o && $past(loading_i));
    end
  end
`endif

endmodule
