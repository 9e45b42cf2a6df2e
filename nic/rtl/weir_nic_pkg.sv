// SPDX-License-Identifier: Apache-2.0

/**
 * Constants and types of weir_nic
 *
 * Metadata, four words before each frame in packet memory:
 *
 *         31 .. 24     23 .. 16    15 .. 8   7 .. 0
 *       +------------+-----------+---------------------+
 *    +0 | checksum 0 |   class   |    frame's bytes    |
 *       +------------+-----------+----------+----------+
 *    +1 |            0           | priority |  queue   |
 *       +------------------------+----------+----------+
 *    +2 |            TIME at the frame's end           |
 *       +----------------------------------------------+
 *    +3 |   sender: IPv4, or the last 4 bytes of IPv6  |
 *       +----------------------------------------------+
 *    +4 |   the frame; the next metadata begins at a multiple of 4 words
 */
package weir_nic_pkg;

  // Longest frame, in bytes
  parameter logic [11:0] MAX_BYTES = 12'd2048;

  parameter logic [9:0] META_WORDS = 10'd4;

  // IPv6 extension headers that are walked
  parameter logic [2:0] MAX_EXTENSIONS = 3'd6;

  // Classes of frames, bit numbers in MATCH.CLASSES
  parameter logic [2:0] CLASS_TCP = 3'd0;
  parameter logic [2:0] CLASS_UDP = 3'd1;
  parameter logic [2:0] CLASS_ARP = 3'd2;
  parameter logic [2:0] CLASS_ICMP = 3'd3;  // ICMPv6, too
  parameter logic [2:0] CLASS_FRAGMENT = 3'd4;
  parameter logic [2:0] CLASS_IP = 3'd5;  // any other
  parameter logic [2:0] CLASS_OTHER = 3'd6;  // another EtherType, or a damaged header

  // Destination addresses
  parameter logic [1:0] DST_OTHER = 2'd0;
  parameter logic [1:0] DST_STATION = 2'd1;
  parameter logic [1:0] DST_BROADCAST = 2'd2;
  parameter logic [1:0] DST_MULTICAST = 2'd3;

  // Why a buffer is handed over; the order of the IRQS counters
  parameter logic [2:0] CAUSE_AT_ONCE = 3'd0;
  parameter logic [2:0] CAUSE_FRAMES = 3'd1;
  parameter logic [2:0] CAUSE_PACKET = 3'd2;
  parameter logic [2:0] CAUSE_ABSOLUTE = 3'd3;
  parameter logic [2:0] CAUSE_FULL = 3'd4;

  // What the parser finds
  typedef struct packed {
    logic [2:0]  class_id;
    logic [15:0] port;
    logic [31:0] sender;
    logic [1:0]  dst;
  } parsed_t;

  // What is known of a frame in the FIFO
  typedef struct packed {
    parsed_t     parsed;
    logic [11:0] bytes;
    logic [31:0] stamp;
  } header_t;

  // Where it goes
  typedef struct packed {
    logic       hit;
    logic [5:0] index;
    logic [3:0] level;
  } verdict_t;

  // One word of a queue's settings comes into force
  typedef struct packed {
    logic        write;
    logic [5:0]  index;
    logic [4:0]  word;
    logic [31:0] data;
  } cfg_t;

  // What happens to a queue in this cycle, told to all who keep state of it. commit and handover
  // together: the frame is the last one of the buffer that is handed over.
  typedef struct packed {
    logic       act;       // something may be set; in the cycle after it nothing is
    logic [5:0] index;
    logic       commit;    // a frame was added
    logic       first;     // ... to an empty buffer
    logic       want;      // ... and the hand-over is due
    logic       handover;  // the filled buffer becomes software's
    logic [2:0] cause;     // of want or handover
    logic       opens;     // a write to CTRL with enable
    logic       closes;    // one without
  } step_t;

  // A buffer handed over
  typedef struct packed {
    logic        buffer;
    logic [13:0] frames;
    logic [15:0] words;
    logic [17:0] bytes;
    logic [2:0]  cause;
  } ready_t;

  // DMA: the frame under way
  typedef struct packed {
    logic        active;   // until its fate is known
    logic        reserve;  // wants room
    logic        commit;   // is in memory
    logic [5:0]  index;
    logic [15:0] words;    // of room, metadata included
    logic [11:0] bytes;
  } frame_req_t;

  typedef struct packed {
    logic        grant;    // room at adr
    logic        full;     // no room
    logic        done;     // committed
    logic        restart;  // the buffer was handed over: the frame must go to the other one
    logic [31:0] adr;
  } frame_rsp_t;

endpackage
