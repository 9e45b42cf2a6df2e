// SPDX-License-Identifier: Apache-2.0

/**
 * Register offsets, fields and masks of weir_nic
 *
 * Made by nic/generate_registers from nic/weir_nic_registers.toml.
 */
package weir_nic_reg_pkg;

  // Some are for software only.
  /* verilator lint_off UNUSEDPARAM */

  parameter logic [31:0] ID_VALUE = 32'h574e4943;
  parameter logic [31:0] VERSION_VALUE = 32'd1;

  // Word offsets
  parameter logic [4:0] REG_ID = 5'd0;
  parameter logic [4:0] REG_VERSION = 5'd1;
  parameter logic [4:0] REG_QUEUES = 5'd2;
  parameter logic [4:0] REG_CTRL = 5'd3;
  parameter logic [4:0] REG_TIME = 5'd4;
  parameter logic [4:0] REG_MAC_LO = 5'd5;
  parameter logic [4:0] REG_MAC_HI = 5'd6;
  parameter logic [4:0] REG_IRQ_ENABLE = 5'd7;
  parameter logic [4:0] REG_THRESHOLD = 5'd8;
  parameter logic [4:0] REG_READY_LO = 5'd9;
  parameter logic [4:0] REG_READY_HI = 5'd10;
  parameter logic [4:0] REG_ACTIVE_LO = 5'd11;
  parameter logic [4:0] REG_ACTIVE_HI = 5'd12;
  parameter logic [4:0] REG_NEXT = 5'd13;
  parameter logic [4:0] REG_TAKE = 5'd14;
  parameter logic [4:0] REG_HEADROOM = 5'd15;
  parameter logic [4:0] REG_ACCEPTED = 5'd16;
  parameter logic [4:0] REG_BAD = 5'd17;
  parameter logic [4:0] REG_OVERRUN = 5'd18;
  parameter logic [4:0] REG_FILTERED = 5'd19;
  parameter logic [4:0] REG_BUS_ERRORS = 5'd20;
  parameter logic [4:0] REG_IRQ_COUNT = 5'd21;

  // Word offsets in a queue's block
  parameter logic [4:0] Q_CTRL = 5'd0;
  parameter logic [4:0] Q_MATCH = 5'd1;
  parameter logic [4:0] Q_SENDER = 5'd2;
  parameter logic [4:0] Q_MASK = 5'd3;
  parameter logic [4:0] Q_PRIORITY = 5'd4;
  parameter logic [4:0] Q_BASE = 5'd5;
  parameter logic [4:0] Q_SIZE = 5'd6;
  parameter logic [4:0] Q_PACKET_TIMER = 5'd7;
  parameter logic [4:0] Q_ABSOLUTE_TIMER = 5'd8;
  parameter logic [4:0] Q_MODE = 5'd9;
  parameter logic [4:0] Q_OFFSET = 5'd10;
  parameter logic [4:0] Q_FRAMES = 5'd11;
  parameter logic [4:0] Q_CREDITS = 5'd12;
  parameter logic [4:0] Q_INTERVAL = 5'd13;
  parameter logic [4:0] Q_READY = 5'd14;
  parameter logic [4:0] Q_RELEASE = 5'd15;
  parameter logic [4:0] Q_FRAMES_IN = 5'd16;
  parameter logic [4:0] Q_BYTES_IN = 5'd17;
  parameter logic [4:0] Q_FULL = 5'd18;
  parameter logic [4:0] Q_DISCARDED = 5'd19;
  parameter logic [4:0] Q_IRQS_AT_ONCE = 5'd20;
  parameter logic [4:0] Q_IRQS_FRAMES = 5'd21;
  parameter logic [4:0] Q_IRQS_PACKET = 5'd22;
  parameter logic [4:0] Q_IRQS_ABSOLUTE = 5'd23;
  parameter logic [4:0] Q_IRQS_FULL = 5'd24;

  // Fields: lowest bit
  parameter int unsigned REG_CTRL_ENABLE = 0;
  parameter int unsigned REG_CTRL_PROMISCUOUS = 1;
  parameter int unsigned REG_CTRL_ALL_MULTICAST = 2;
  parameter int unsigned REG_CTRL_BUSY = 8;
  parameter int unsigned REG_NEXT_QUEUE = 0;
  parameter int unsigned REG_NEXT_VALID = 31;
  parameter int unsigned Q_MATCH_PORT = 0;
  parameter int unsigned Q_MATCH_CLASSES = 16;
  parameter int unsigned Q_READY_WORDS = 0;
  parameter int unsigned Q_READY_FRAMES = 16;
  parameter int unsigned Q_READY_BUFFER = 30;
  parameter int unsigned Q_READY_VALID = 31;

  // Bits of a queue's word that software writes
  function automatic logic [31:0] queue_mask(logic [4:0] word);
    unique case (word)
      Q_CTRL: return 32'h00000001;
      Q_MATCH: return 32'h007fffff;
      Q_SENDER: return 32'hffffffff;
      Q_MASK: return 32'hffffffff;
      Q_PRIORITY: return 32'h0000000f;
      Q_BASE: return 32'h3ffffffc;
      Q_SIZE: return 32'h0000fffc;
      Q_PACKET_TIMER: return 32'hffffffff;
      Q_ABSOLUTE_TIMER: return 32'hffffffff;
      Q_MODE: return 32'h00000001;
      Q_OFFSET: return 32'hffffffff;
      Q_FRAMES: return 32'h00003fff;
      Q_CREDITS: return 32'h000000ff;
      Q_INTERVAL: return 32'hffffffff;
      default: return 32'h00000000;
    endcase
  endfunction

endpackage
