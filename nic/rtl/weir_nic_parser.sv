// SPDX-License-Identifier: Apache-2.0

/**
 * Header parser
 *
 * Purpose: reads along with the stream and tells what a frame is: class, destination port, sender,
 * and whose destination address it bears.
 *
 *   word  0        1        2        3          4          5      ...
 *       +--------+----+---+--------+----+-----+----+-----+----+-----
 *       | destination |   source   |type|  p0      |  p1      |  p2
 *       +--------+----+---+--------+----+-----+----+-----+----+-----
 *                                  |tag |  |type|  with a VLAN tag all that follows is a word later
 *
 * What follows the EtherType is half a word off: a word p of it is the upper half of a stream word
 * and the lower half of the next one. The EtherType, too, is a lower half.
 *
 * Interface contract
 *   axis_*     As in weir_nic_fifo; every word is taken.
 *   parsed_o   Belongs to the frame whose tlast was in the cycle before. For a frame that the FIFO
 *              does not accept it means nothing.
 *
 *   CLASS_OTHER, with port and sender 0: a third tag, any EtherType but IPv4, IPv6 and ARP; and an
 *   IP header that is cut, of the wrong version, shorter than its minimum or longer than the
 *   packet; an IP packet longer than the frame or without room for its TCP or UDP header.
 *   CLASS_FRAGMENT: also the first one. CLASS_IP: also after more than six IPv6 extension headers.
 *
 * Timing: the answer comes in the cycle after tlast. A word and a frame per cycle.
 *
 * Proved properties, bounded to frames of 72 bytes and walks of two IPv6 extension headers, after
 * whatever frame came before: class, port, sender and destination are what a reading of the whole
 * frame says, in the cycle after its tlast.
 */
module weir_nic_parser (
  input logic clk_i,
  input logic rst_ni,

  input logic [47:0] station_i,  // first byte in bits 7:0

  // Stream from the MAC
  input logic [31:0] axis_tdata_i,
  input logic [ 3:0] axis_tkeep_i,
  input logic        axis_tvalid_i,
  input logic        axis_tlast_i,

  output weir_nic_pkg::parsed_t parsed_o
);

  typedef enum logic [3:0] {
    Dst0,
    Dst1,
    Source,
    EtherType,
    Ip0,
    Ipv4Id,
    Ipv4Protocol,
    Ipv4Source,
    Ipv6Length,
    Ipv6Address,
    Skip,
    Extension,
    Transport,
    Done,
    Bad
  } state_e;

  state_e state_q, state_d;

  // Of the frame under way
  logic v6_q;
  logic [1:0] tags_q, tags_d;
  logic [2:0] extensions_q, extensions_d;
  logic [7:0] next_q, next_d;  // protocol of what follows this header
  logic [9:0] skip_q, skip_d;  // words left in this header
  logic [12:0] left_q, left_d;  // bytes of the IP packet from p on
  weir_nic_pkg::parsed_t found_q, found_d, answer_q;

  //////////
  // Word //
  //////////

  logic [15:0] upper_q, half;
  logic [31:0] p;
  logic [ 2:0] kept;
  logic is_tag, cut;

  assign half = {axis_tdata_i[7:0], axis_tdata_i[15:8]};
  assign p = {upper_q, half};
  assign is_tag = (half == 16'h8100) | (half == 16'h88a8);

  always_comb begin
    kept = 3'd4;
    if (axis_tlast_i) begin
      kept = 3'(axis_tkeep_i[0]) + 3'(axis_tkeep_i[1]) + 3'(axis_tkeep_i[2]) + 3'(axis_tkeep_i[3]);
    end
  end

  assign cut = left_q > (13'(kept) + 13'd2);  // at tlast: the packet is longer than the frame

  /////////////
  // Headers //
  /////////////

  // A length beyond any frame is cut to one that is still beyond any.
  function automatic logic [12:0] clip(logic [15:0] length);
    return (|length[15:12]) ? 13'h0fff : {1'b0, length[11:0]};
  endfunction

  // What follows an IP or extension header
  function automatic state_e after_ip(logic [7:0] protocol, logic v6, logic [2:0] extensions);
    unique case (protocol)
      8'd6, 8'd17: return Transport;
      8'd0, 8'd43, 8'd44, 8'd60:
      return (v6 & (extensions != weir_nic_pkg::MAX_EXTENSIONS)) ? Extension : Done;
      default: return Done;
    endcase
  endfunction

  function automatic logic [2:0] class_of(logic [7:0] protocol, logic v6);
    unique case (protocol)
      8'd6: return weir_nic_pkg::CLASS_TCP;
      8'd17: return weir_nic_pkg::CLASS_UDP;
      8'd1: return v6 ? weir_nic_pkg::CLASS_IP : weir_nic_pkg::CLASS_ICMP;
      8'd58: return v6 ? weir_nic_pkg::CLASS_ICMP : weir_nic_pkg::CLASS_IP;
      default: return weir_nic_pkg::CLASS_IP;
    endcase
  endfunction

  always_comb begin
    state_d = state_q;
    tags_d = tags_q;
    extensions_d = extensions_q;
    next_d = next_q;
    skip_d = skip_q - 10'd1;
    left_d = (left_q < 13'd4) ? 13'd0 : left_q - 13'd4;
    found_d = found_q;

    unique case (state_q)
      Dst0: state_d = Dst1;
      Dst1: state_d = Source;
      Source: state_d = EtherType;
      EtherType: begin
        tags_d = tags_q + 2'd1;
        if ((kept < 3'd2) | (is_tag & (tags_q == 2'd2))) state_d = Bad;
        else if ((half == 16'h0800) | (half == 16'h86dd)) state_d = Ip0;
        else if (!is_tag) state_d = Done;
        if (half == 16'h0806) found_d.class_id = weir_nic_pkg::CLASS_ARP;
      end
      Ip0: begin
        state_d = Bad;
        skip_d  = 10'(p[27:24]) - 10'd4;  // after Ipv4Source
        left_d  = clip(p[15:0]) - 13'd4;
        if (v6_q & (p[31:28] == 4'd6)) state_d = Ipv6Length;
        if (~v6_q & (p[31:28] == 4'd4) & (p[27:24] > 4'd4) & (clip(
                p[15:0]
            ) >= 13'({p[27:24], 2'b00})))
          state_d = Ipv4Id;
      end
      Ipv4Id: begin
        state_d = Ipv4Protocol;
        skip_d  = skip_q;
        if (|p[13:0]) found_d.class_id = weir_nic_pkg::CLASS_FRAGMENT;
      end
      Ipv4Protocol: begin
        state_d = Ipv4Source;
        skip_d  = skip_q;
        next_d  = p[23:16];
        if (found_q.class_id != weir_nic_pkg::CLASS_FRAGMENT)
          found_d.class_id = class_of(p[23:16], 1'b0);
      end
      Ipv4Source: begin
        state_d = (found_q.class_id == weir_nic_pkg::CLASS_FRAGMENT) ? Done : Skip;
        skip_d = skip_q;
        found_d.sender = p;
      end
      Ipv6Length: begin
        state_d = Ipv6Address;
        next_d  = p[15:8];
        skip_d  = 10'd8;
        left_d  = clip(p[31:16]) + 13'd32;
      end
      Ipv6Address: begin
        if (skip_q == 10'd5) begin
          found_d.sender = p;
          state_d = Skip;
        end
      end
      Skip: begin
        if (skip_q == 10'd1) begin
          state_d = after_ip(next_q, v6_q, extensions_q);
          found_d.class_id = class_of(next_q, v6_q);
        end
      end
      Extension: begin
        state_d = Skip;
        extensions_d = extensions_q + 3'd1;
        next_d = p[31:24];
        skip_d = {1'b0, p[23:16], 1'b1};
        if (next_q == 8'd44) begin
          skip_d = 10'd1;
          if ((|p[15:3]) | p[0]) begin
            state_d = Done;
            found_d.class_id = weir_nic_pkg::CLASS_FRAGMENT;
          end
        end
        if ((left_q < 13'd8) | ((next_q != 8'd44) & (left_q < {2'b00, p[23:16], 3'b000} + 13'd8)))
          state_d = Bad;
      end
      Transport: begin
        state_d = (left_q < ((next_q == 8'd6) ? 13'd20 : 13'd8)) ? Bad : Done;
        found_d.port = half;
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Dst0;
    end else if (axis_tvalid_i) begin
      state_q <= axis_tlast_i ? Dst0 : state_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (axis_tvalid_i) begin
      upper_q <= {axis_tdata_i[23:16], axis_tdata_i[31:24]};
      tags_q <= tags_d;
      next_q <= next_d;
      skip_q <= skip_d;
      left_q <= left_d;
      extensions_q <= extensions_d;
      found_q <= found_d;
      if (state_q == EtherType) v6_q <= half == 16'h86dd;
      if (state_q == Dst0) begin
        tags_q <= '0;
        left_q <= '0;
        extensions_q <= '0;
        found_q <= '{class_id: weir_nic_pkg::CLASS_OTHER, default: '0};
      end
    end
  end

  /////////////////////////
  // Destination address //
  /////////////////////////

  logic station_q, ones_q, group_q;
  logic [1:0] dst_q;

  always_ff @(posedge clk_i) begin
    if (axis_tvalid_i & (state_q == Dst0)) begin
      station_q <= axis_tdata_i == station_i[31:0];
      ones_q <= &axis_tdata_i;
      group_q <= axis_tdata_i[0];
    end
    if (axis_tvalid_i & (state_q == Dst1)) begin
      if (ones_q & (&axis_tdata_i[15:0])) dst_q <= weir_nic_pkg::DST_BROADCAST;
      else if (group_q) dst_q <= weir_nic_pkg::DST_MULTICAST;
      else if (station_q & (axis_tdata_i[15:0] == station_i[47:32]))
        dst_q <= weir_nic_pkg::DST_STATION;
      else dst_q <= weir_nic_pkg::DST_OTHER;
    end
  end

  ////////////
  // Answer //
  ////////////

  logic done_q, cut_q;

  always_ff @(posedge clk_i) begin
    if (axis_tvalid_i & axis_tlast_i) begin
      answer_q <= found_d;
      done_q <= state_d == Done;
      cut_q <= cut;
    end
  end

  always_comb begin
    parsed_o = answer_q;
    if (~done_q | cut_q) parsed_o = '{class_id: weir_nic_pkg::CLASS_OTHER, default: '0};
    parsed_o.dst = dst_q;
  end

  ////////////
  // Proofs //
  ////////////

`ifdef FORMAL
  logic begun_q = 1'b0;  // a reset has been
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // One frame, after whatever was before it: byte n at bit 8 * n
  localparam int unsigned FWords = 18;
  logic [32*FWords-1:0] f_frame_q;
  logic [5:0] f_words_q;
  logic [7:0] f_bytes_q, f_bytes;
  logic f_ended_q, f_over_q;

  always_comb begin
    f_bytes = {f_words_q, 2'd0};
    for (int i = 0; i < 4; i++) if (!axis_tlast_i || axis_tkeep_i[i]) f_bytes += 8'd1;
    assume (!axis_tlast_i || (axis_tkeep_i & (axis_tkeep_i + 4'd1)) == '0);
    if (begun_q) assume (rst_ni && axis_tvalid_i && (f_words_q < 6'(FWords) || f_over_q));
  end

  logic [47:0] f_station_q;
  always_ff @(posedge clk_i) begin
    f_station_q <= station_i;
    if (begun_q) assume (station_i == f_station_q);
    for (int i = 0; i < FWords; i++) if (f_words_q == 6'(i)) f_frame_q[32*i+:32] <= axis_tdata_i;
    f_words_q <= f_words_q + 6'd1;
    f_bytes_q <= f_bytes;
    f_ended_q <= axis_tlast_i && !f_over_q;
    f_over_q  <= f_over_q || axis_tlast_i;
    if (!rst_ni) {f_words_q, f_ended_q, f_over_q} <= '0;
  end

  // What a reading of its bytes says
  function automatic logic [15:0] f_half(logic [32*FWords-1:0] from, int unsigned at);
    return {from[8*at+:8], from[8*at+8+:8]};
  endfunction
  function automatic logic [31:0] f_word(logic [32*FWords-1:0] from, logic [7:0] at);
    logic [31:0] bytes;
    bytes = '0;
    for (int i = 0; i < FWords; i++) if (at == 8'(i)) bytes = from[32*i+:32];
    return {bytes[7:0], bytes[15:8], bytes[23:16], bytes[31:24]};
  endfunction
  function automatic logic f_tag(logic [15:0] kind);
    return kind == 16'h8100 || kind == 16'h88a8;
  endfunction

  logic [32*FWords-1:0] f_packet;
  logic [15:0] f_kind, f_length, f_next_at;
  logic [7:0] f_begin, f_at, f_protocol;
  logic [31:0] f_extension;
  logic f_bad, f_fragment, f_stop;
  weir_nic_pkg::parsed_t f_parsed;

  always_comb begin
    {f_begin, f_kind} = {8'd14, f_half(f_frame_q, 12)};
    if (f_tag(f_kind)) begin
      {f_begin, f_kind} = {8'd18, f_half(f_frame_q, 16)};
      if (f_tag(f_kind)) {f_begin, f_kind} = {8'd22, f_half(f_frame_q, 20)};
    end
    f_packet = f_frame_q >> (8 * 14);
    if (f_begin == 8'd18) f_packet = f_frame_q >> (8 * 18);
    if (f_begin == 8'd22) f_packet = f_frame_q >> (8 * 22);

    f_bad = f_bytes_q < f_begin;
    {f_fragment, f_stop} = '0;
    f_extension = '0;
    f_next_at = '0;
    f_length = '0;  // of the packet
    {f_at, f_protocol} = '0;  // word of what follows the IP headers, and what it is
    f_parsed = '{class_id: weir_nic_pkg::CLASS_IP, default: '0};
    if (f_kind == 16'h0800) begin
      f_length = f_half(f_packet, 2);
      f_at = {4'd0, f_packet[3:0]};
      f_bad |= f_packet[7:4] != 4'd4 || f_at < 8'd5 || f_length < 16'(f_at) * 16'd4;
      f_fragment = (f_half(f_packet, 6) & 16'h3fff) != '0;
      f_protocol = f_packet[8*9+:8];
      f_parsed.sender = f_word(f_packet, 8'd3);
      if (f_protocol == 8'd1) f_parsed.class_id = weir_nic_pkg::CLASS_ICMP;
    end else if (f_kind == 16'h86dd) begin
      // A length near 2^16 is beyond any frame, too.
      f_length = (f_half(f_packet, 4) > 16'h7fff) ? 16'h7fff : f_half(f_packet, 4) + 16'd40;
      f_at = 8'd10;
      f_bad |= f_packet[7:4] != 4'd6;
      f_protocol = f_packet[8*6+:8];
      f_parsed.sender = f_word(f_packet, 8'd5);
      for (int i = 0; i < weir_nic_pkg::MAX_EXTENSIONS; i++) begin
        f_stop |= f_protocol != 8'd0 && f_protocol != 8'd43 && f_protocol != 8'd44 &&
                  f_protocol != 8'd60;
        if (!f_stop && !f_bad) begin
          f_extension = f_word(f_packet, f_at);
          f_next_at   = 16'(f_at) + 16'd2;
          if (f_protocol != 8'd44) f_next_at += 16'(f_extension[23:16]) * 16'd2;
          if (f_length < 16'(f_at) * 16'd4 + 16'd8) f_bad = 1'b1;
          else if (f_protocol == 8'd44 && (f_extension[15:0] & 16'hfff9) != '0)
            {f_fragment, f_stop} = '1;
          else if (f_length < f_next_at * 16'd4) f_bad = 1'b1;
          else {f_protocol, f_at} = {f_extension[31:24], f_next_at[7:0]};
        end
      end
      if (f_protocol == 8'd58) f_parsed.class_id = weir_nic_pkg::CLASS_ICMP;
    end else f_parsed.class_id = weir_nic_pkg::CLASS_OTHER;

    f_bad |= 17'(f_bytes_q) < 17'(f_begin) + 17'(f_length);
    if (f_fragment) f_parsed.class_id = weir_nic_pkg::CLASS_FRAGMENT;
    else if (f_length != '0 && (f_protocol == 8'd6 || f_protocol == 8'd17)) begin
      f_parsed.class_id = (f_protocol == 8'd6) ? weir_nic_pkg::CLASS_TCP : weir_nic_pkg::CLASS_UDP;
      f_parsed.port = f_word(f_packet, f_at) [15:0];
      f_bad |= f_length < 16'(f_at) * 16'd4 + ((f_protocol == 8'd6) ? 16'd20 : 16'd8);
    end
    if (f_kind == 16'h0806) f_parsed.class_id = weir_nic_pkg::CLASS_ARP;
    if (f_bad) f_parsed = '{class_id: weir_nic_pkg::CLASS_OTHER, default: '0};

    f_parsed.dst = weir_nic_pkg::DST_OTHER;
    if (f_frame_q[47:0] == '1) f_parsed.dst = weir_nic_pkg::DST_BROADCAST;
    else if (f_frame_q[0]) f_parsed.dst = weir_nic_pkg::DST_MULTICAST;
    else if (f_frame_q[47:0] == station_i) f_parsed.dst = weir_nic_pkg::DST_STATION;
  end

  always_ff @(posedge clk_i) begin
    if (begun_q && f_ended_q && f_bytes_q >= 8'd14) begin
      a_class : assert (parsed_o.class_id == f_parsed.class_id);
      a_port : assert (parsed_o.port == f_parsed.port);
      a_sender : assert (parsed_o.sender == f_parsed.sender);
      a_dst : assert (parsed_o.dst == f_parsed.dst);
    end
    if (begun_q && f_ended_q) begin
      c_udp : cover (parsed_o.class_id == weir_nic_pkg::CLASS_UDP && f_begin == 8'd22);
      c_extension : cover (parsed_o.class_id == weir_nic_pkg::CLASS_UDP && f_at == 8'd12);
    end
  end
`endif

endmodule
