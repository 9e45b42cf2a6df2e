// SPDX-License-Identifier: Apache-2.0

/**
 * Constants and types of the plain NIC: limits, register offsets, bit positions, inner bundles.
 *
 * Descriptor, 8 bytes in RAM, little endian, 8-aligned:
 *
 *      31  30   29 .. 16   15 .. 0
 *     +---+---+----------+---------+
 *  +0 |OWN|WRP|    0     | length  |   OWN: the NIC owns it.  WRP: the next one is index 0.
 *     +---+---+----------+---------+
 *  +4 |   buffer byte address      |   bits 1:0 are ignored (taken as 0)
 *     +----------------------------+
 *
 *  length, receive:  capacity of the buffer when handed over, length of the frame when returned
 *  length, transmit: length of the frame
 */
package nic_plain_pkg;

  // Limits, in bytes
  parameter logic [11:0] MIN_RX_BYTES = 12'd14;  // an Ethernet header
  parameter logic [11:0] MAX_RX_BYTES = 12'd2048;
  parameter logic [15:0] MAX_TX_BYTES = 16'd1518;

  // Descriptor control word
  parameter int unsigned DESC_OWN = 31;
  parameter int unsigned DESC_WRAP = 30;

  // Wishbone cycle type identifiers
  parameter logic [2:0] CTI_CLASSIC = 3'b000;
  parameter logic [2:0] CTI_INCREMENT = 3'b010;
  parameter logic [2:0] CTI_END = 3'b111;

  // Registers: word offsets (byte offset / 4)
  parameter logic [9:0] REG_ID = 10'h000;
  parameter logic [9:0] REG_CTRL = 10'h001;
  parameter logic [9:0] REG_IRQ_ENABLE = 10'h002;
  parameter logic [9:0] REG_IRQ_PENDING = 10'h003;
  parameter logic [9:0] REG_RX_RING = 10'h004;
  parameter logic [9:0] REG_RX_INDEX = 10'h005;
  parameter logic [9:0] REG_TX_RING = 10'h006;
  parameter logic [9:0] REG_TX_INDEX = 10'h007;
  parameter logic [9:0] REG_TX_KICK = 10'h008;
  // Counters follow each other; CNT_* below numbers them from REG_COUNTERS on.
  parameter logic [9:0] REG_COUNTERS = 10'h009;

  parameter int unsigned CNT_RX_FRAMES = 0;  // 0x24
  parameter int unsigned CNT_RX_NO_DESCRIPTOR = 1;  // 0x28
  parameter int unsigned CNT_RX_FIFO_FULL = 2;  // 0x2C
  parameter int unsigned CNT_RX_BAD = 3;  // 0x30
  parameter int unsigned CNT_TX_FRAMES = 4;  // 0x34
  parameter int unsigned CNT_BUS_ERRORS = 5;  // 0x38
  parameter int unsigned CNT_IRQ_COUNT = 6;  // 0x3C
  parameter int unsigned CNT_RX_FILTERED = 7;  // 0x40
  parameter int unsigned CNT_TX_BAD = 8;  // 0x44
  parameter int unsigned CNT_NUM = 9;

  parameter logic [31:0] ID_VALUE = 32'h4e50_4c01;  // "NPL", version 1

  // CTRL bits
  parameter int unsigned CTRL_RX_ENABLE = 0;
  parameter int unsigned CTRL_TX_ENABLE = 1;
  parameter int unsigned CTRL_RX_BUSY = 8;
  parameter int unsigned CTRL_TX_BUSY = 9;

  // Interrupt causes
  parameter int unsigned IRQ_RX = 0;
  parameter int unsigned IRQ_RX_MISSED = 1;
  parameter int unsigned IRQ_TX_DONE = 2;
  parameter int unsigned IRQ_NUM = 3;

  // Client side of nic_wb_master, see there
  typedef struct packed {
    logic        req;
    logic        we;
    logic [29:0] adr;
    logic [9:0]  words;
    logic [31:0] wdata;
    logic [3:0]  sel;
  } bus_req_t;

  typedef struct packed {
    logic        beat;
    logic        err;
    logic [31:0] rdata;
  } bus_rsp_t;

  // What an engine's software interface sets, and what it shows
  typedef struct packed {
    logic        enable;
    logic [28:0] ring;    // byte address / 8
  } ring_cfg_t;

  typedef struct packed {
    logic [15:0] index;
    logic        busy;
  } ring_state_t;

  // Strobes: the fate of a receive frame (three at the FIFO, four at the DMA) ...
  typedef struct packed {
    logic full;
    logic bad;
    logic filtered;
    logic done;
    logic nodesc;
    logic too_long;
    logic error;
  } rx_event_t;

  // ... and of a transmit descriptor
  typedef struct packed {
    logic returned;
    logic sent;
    logic bad;
    logic error;
  } tx_event_t;

endpackage
