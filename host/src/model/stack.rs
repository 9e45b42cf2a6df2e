// SPDX-License-Identifier: Apache-2.0
//! The IP stack, in `tcpip_thread` or the network task: from a frame to its socket.

use super::costs::{Class, Mark, Regime, Role};
use super::device::{Device, Path};
use super::paths::{COPIES, PLACES};
use super::threads::FIRST_TASK;
use crate::observe::Observed;

/// Depth of a UDP socket's mailbox, and datagrams that lwIP puts together at a time.
const SOCKET_MESSAGES: usize = 16;
const REASSEMBLED: usize = 2;

impl Device<'_> {
    pub(super) fn aim_stack(&mut self) -> Result<(), String> {
        let index = self.running;
        let network = self.threads[index].role == Some(Role::Network);
        match self.threads[index].last {
            Mark::Stack => {
                let (class, x) = self.class_of(self.threads[index].frame);
                self.go(if class == Class::Udp { Mark::Socket } else { Mark::Done }, class, x, 0)
            }
            Mark::Socket => {
                let (class, x) = self.class_of(self.threads[index].frame);
                let receiver = self.receiver_of(self.threads[index].frame);
                let urgent = receiver.is_some_and(|receiver| {
                    !self.threads[receiver].ready && self.threads[receiver].priority > self.threads[index].priority
                });
                self.go(if urgent { Mark::Out } else { Mark::Done }, class, x, 0)
            }
            _ if self.threads[index].posted => self.go(Mark::Done, Class::Udp, 0.0, 0),
            _ if network => self.aim_network(),
            _ => {
                let to = if self.tcpip.is_empty() { Mark::Out } else { Mark::Stack };
                self.go(to, Class::Any, 0.0, 0)
            }
        }
    }

    fn receiver_of(&self, buffer: Option<usize>) -> Option<usize> {
        self.buffers[buffer?].as_ref()?.task.map(|task| FIRST_TASK + task)
    }

    pub(super) fn stack_mark(&mut self, mark: Mark) -> Result<(), String> {
        let index = self.running;
        match mark {
            Mark::Stack => {
                if self.threads[index].role == Some(Role::Tcpip) {
                    self.threads[index].frame = self.tcpip.pop_front();
                }
                if let Some(buffer) = self.threads[index].frame {
                    self.emit(Observed::Stack(buffer));
                }
                self.threads[index].posted = false;
            }
            Mark::Socket => self.emit(Observed::Watch(0)),
            Mark::Done => {
                if !self.threads[index].posted {
                    self.stack_ends(index);
                }
                if let Some(buffer) = self.threads[index].frame.take() {
                    self.emit(Observed::StackDone(buffer));
                }
                self.threads[index].posted = false;
                self.threads[index].regime = Regime::Next;
            }
            Mark::Out => self.stack_out(index),
            _ => {}
        }
        Ok(())
    }

    fn stack_out(&mut self, index: usize) {
        if self.threads[index].last == Mark::Socket && !self.threads[index].posted {
            // The message is in the socket, and its task is more urgent.
            self.stack_ends(index);
            self.threads[index].posted = true;
            self.threads[index].yields = true;
        } else if self.threads[index].yields {
            // Only the CPU goes to another one.
        } else if self.threads[index].role == Some(Role::Network) {
            let waits = match &self.path {
                Path::Library(path) => path.flows.priority().is_none(),
                Path::Multiqueue(path) => path.flows.priority().is_none(),
                Path::Stock(_) => true,
            };
            if waits {
                self.net_idle = true;
                self.block(index);
            } else {
                self.threads[index].last = Mark::In;
            }
        } else if self.tcpip.is_empty() {
            self.block(index);
        } else {
            self.threads[index].last = Mark::In;
        }
    }

    /// What the stack does with the frame in hand.
    fn stack_ends(&mut self, index: usize) {
        let Some(buffer) = self.threads[index].frame else { return };
        let Some(frame) = self.buffers[buffer].clone() else { return };
        match frame.class {
            Class::Udp => {
                let task = frame.task.unwrap_or(0);
                if self.sockets[task].len() < SOCKET_MESSAGES {
                    self.sockets[task].push_back(buffer);
                    self.wake(FIRST_TASK + task);
                    return;
                }
            }
            Class::Fragment => return self.keep_fragment(buffer),
            Class::Arp => self.meet(&frame),
            Class::Closed => {
                self.look_up(&frame);
            }
            _ => {}
        }
        self.free(buffer);
    }

    /// It waits for the others of its datagram, on the multiqueue NIC as a copy; the oldest one is given up for it.
    fn keep_fragment(&mut self, buffer: usize) {
        let mut kept = buffer;
        if let Path::Multiqueue(path) = &mut self.path {
            self.copies += 1;
            kept = PLACES + self.copies % COPIES;
            self.buffers[kept] = self.buffers[buffer].take();
            path.free(buffer);
            self.emit(Observed::Copied(buffer, kept));
        }
        self.fragments.push_back(kept);
        if self.fragments.len() > REASSEMBLED
            && let Some(oldest) = self.fragments.pop_front()
        {
            self.free(oldest);
        }
    }

    /// A buffer is free.
    pub(super) fn free(&mut self, buffer: usize) {
        self.buffers[buffer] = None;
        self.emit(Observed::Freed(buffer));
        match &mut self.path {
            Path::Stock(path) => {
                if path.free(buffer) {
                    self.notify_driver();
                }
            }
            Path::Library(path) => path.free(buffer),
            Path::Multiqueue(path) if buffer < PLACES => path.free(buffer),
            Path::Multiqueue(_) => {} // a copy
        }
    }
}
