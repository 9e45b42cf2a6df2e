// SPDX-License-Identifier: Apache-2.0
//! What is asked and answered: "MODBUS Application Protocol Specification V1.1b3", section 6. The requests' fields are
//! taken apart by the crate `modbus-core`.

use modbus_core::{Coils, Data, Exception, Request};

use super::map::Map;
use crate::application::endpoint::Endpoint;
use crate::protocol::Nanos;

/// Bytes of the longest protocol data unit.
pub const PDU: usize = 253;

/// The data behind the addresses.
#[derive(Debug)]
pub struct Bank {
    map: Map,
    endpoint: Endpoint,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Bytes of the reply.
    pub length: usize,
    /// Outputs were written.
    pub wrote: bool,
    /// The exception that the reply is.
    pub exception: Option<u8>,
}

impl Bank {
    /// The data points of an endpoint.
    pub fn new(map: Map, endpoint: Endpoint) -> Self {
        Self { map, endpoint }
    }

    /// Answers a request, which is not empty.
    pub fn answer(&mut self, now: Nanos, request: &[u8], reply: &mut [u8; PDU]) -> Answer {
        match self.obey(now, request, reply) {
            Ok((length, wrote)) => Answer { length, wrote, exception: None },
            Err(exception) => {
                let code = exception as u8;
                reply[..2].copy_from_slice(&[request[0] | 0x80, code]);
                Answer { length: 2, wrote: false, exception: Some(code) }
            }
        }
    }

    /// Hands the outputs on once more, so that the application sees that they are not forgotten.
    pub fn refresh(&mut self, now: Nanos) {
        self.endpoint.outputs(now, true, |_| ());
    }

    /// Nobody writes outputs any more.
    pub fn lose_outputs(&mut self, now: Nanos) {
        self.endpoint.outputs_lost(now);
    }

    /// The reply's length, and whether outputs were written.
    fn obey(&mut self, now: Nanos, request: &[u8], reply: &mut [u8; PDU]) -> Result<(usize, bool), Exception> {
        use Exception::{IllegalDataValue, IllegalFunction};
        reply[0] = request[0];
        let length = match Request::try_from(request).map_err(|_| IllegalDataValue)? {
            Request::ReadCoils(from, count) => return Ok((self.read_bits(now, true, from, count, reply)?, false)),
            Request::ReadDiscreteInputs(from, count) => {
                return Ok((self.read_bits(now, false, from, count, reply)?, false));
            }
            Request::ReadHoldingRegisters(from, count) => {
                return Ok((self.read_registers(now, true, from, count, reply)?, false));
            }
            Request::ReadInputRegisters(from, count) => {
                return Ok((self.read_registers(now, false, from, count, reply)?, false));
            }
            Request::WriteSingleCoil(at, value) => {
                exactly(request, 5)?;
                self.write_bits(now, at, 1, std::iter::once(value))?;
                5
            }
            Request::WriteSingleRegister(at, value) => {
                exactly(request, 5)?;
                self.write_registers(now, at, 1, std::iter::once(value))?;
                5
            }
            Request::WriteMultipleCoils(from, coils) => {
                check_coils(request, coils)?;
                self.write_bits(now, from, coils.len(), coils.into_iter())?;
                5
            }
            Request::WriteMultipleRegisters(from, data) => {
                check_data(request, 6, data, 123)?;
                self.write_registers(now, from, data.len(), data.into_iter())?;
                5
            }
            Request::ReadWriteMultipleRegisters(from, count, to, data) => {
                check_data(request, 10, data, 121)?;
                // Nothing is written if it cannot be read afterwards.
                self.read_registers(now, true, from, count, reply)?;
                self.write_registers(now, to, data.len(), data.into_iter())?;
                return Ok((self.read_registers(now, true, from, count, reply)?, true));
            }
            _ => return Err(IllegalFunction),
        };
        // Address and value or quantity come back as they were.
        reply[1..length].copy_from_slice(&request[1..length]);
        Ok((length, true))
    }

    /// The image of outputs, or that of inputs, if it is good.
    fn image(&mut self, now: Nanos, of_outputs: bool) -> Result<(&Map, &[u8]), Exception> {
        if of_outputs {
            return Ok((&self.map, self.endpoint.sent()));
        }
        let (image, good) = self.endpoint.inputs(now);
        // There is no other way to say that the application is gone.
        if good { Ok((&self.map, image)) } else { Err(Exception::ServerDeviceFailure) }
    }

    fn read_bits(
        &mut self,
        now: Nanos,
        coils: bool,
        from: u16,
        count: u16,
        reply: &mut [u8; PDU],
    ) -> Result<usize, Exception> {
        let count = within(count, 2_000)?;
        let bytes = count.div_ceil(8);
        reply[1] = bytes as u8;
        let (map, image) = self.image(now, coils)?;
        let bits = if coils { &map.coils } else { &map.discrete_inputs };
        let read = bits.read(image, from.into(), count, &mut reply[2..2 + bytes]);
        read.map(|()| 2 + bytes).ok_or(Exception::IllegalDataAddress)
    }

    fn read_registers(
        &mut self,
        now: Nanos,
        holding: bool,
        from: u16,
        count: u16,
        reply: &mut [u8; PDU],
    ) -> Result<usize, Exception> {
        let count = within(count, 125)?;
        reply[1] = 2 * count as u8;
        let (map, image) = self.image(now, holding)?;
        let registers = if holding { &map.holding_registers } else { &map.input_registers };
        let read = registers.read(image, from.into(), count, &mut reply[2..2 + 2 * count]);
        read.map(|()| 2 + 2 * count).ok_or(Exception::IllegalDataAddress)
    }

    fn write_bits(
        &mut self,
        now: Nanos,
        from: u16,
        count: usize,
        bits: impl Iterator<Item = bool>,
    ) -> Result<(), Exception> {
        let coils = &self.map.coils;
        coils.has(from.into(), count).then_some(()).ok_or(Exception::IllegalDataAddress)?;
        self.endpoint.outputs(now, true, |image| coils.write(image, from.into(), bits));
        Ok(())
    }

    fn write_registers(
        &mut self,
        now: Nanos,
        from: u16,
        count: usize,
        values: impl Iterator<Item = u16> + Clone,
    ) -> Result<(), Exception> {
        let registers = &self.map.holding_registers;
        registers.has(from.into(), count).then_some(()).ok_or(Exception::IllegalDataAddress)?;
        registers.can_hold(from.into(), values.clone()).then_some(()).ok_or(Exception::IllegalDataValue)?;
        self.endpoint.outputs(now, true, |image| registers.write(image, from.into(), values));
        Ok(())
    }
}

/// A quantity from 1 to `most`.
fn within(quantity: u16, most: usize) -> Result<usize, Exception> {
    Some(usize::from(quantity)).filter(|count| (1..=most).contains(count)).ok_or(Exception::IllegalDataValue)
}

fn exactly(request: &[u8], length: usize) -> Result<(), Exception> {
    (request.len() == length).then_some(()).ok_or(Exception::IllegalDataValue)
}

/// The crate leaves open whether quantity, number of bytes and length fit together.
fn check_coils(request: &[u8], coils: Coils<'_>) -> Result<(), Exception> {
    within(coils.len() as u16, 1_968)?;
    (usize::from(request[5]) == coils.packed_len()).then_some(()).ok_or(Exception::IllegalDataValue)?;
    exactly(request, 6 + coils.packed_len())
}

fn check_data(request: &[u8], header: usize, data: Data<'_>, most: usize) -> Result<(), Exception> {
    within(data.len() as u16, most)?;
    (usize::from(request[header - 1]) == 2 * data.len()).then_some(()).ok_or(Exception::IllegalDataValue)?;
    exactly(request, header + 2 * data.len())
}
