# SPDX-License-Identifier: Apache-2.0
"""The recorded plant's two masters.

The panel reads what its screen shows every 100 ms; its connection is opened again once, as after
a change of screens. The logger reads two other blocks every 250 ms and passes setpoints on.
"""

import asyncio
import sys

from pymodbus.client import AsyncModbusTcpClient

UNIT = 1
PORT = 502
PANEL_PERIOD_S = 0.100
PANEL_RECONNECT_S = 2.0
LOGGER_PERIOD_S = 0.250


async def connect(server: str, own_address: str) -> AsyncModbusTcpClient:
    """A connection that comes from one of this side's addresses."""
    client = AsyncModbusTcpClient(server, port=PORT, source_address=(own_address, 0), timeout=1, retries=0)
    if not await client.connect():
        raise SystemExit(f"{own_address} cannot connect to {server}")
    return client


def check(answer) -> None:
    """A capture with errors in it is not the one we want."""
    if answer.isError():
        raise SystemExit(f"the server answers {answer}")


async def every(period_s: float, seconds: float):
    """Counts the periods of this many seconds, without drift."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    for turn in range(round(seconds / period_s)):
        await asyncio.sleep(max(0.0, begin + turn * period_s - loop.time()))
        yield turn


async def panel(server: str, own_address: str, seconds: float) -> None:
    """Reads 20 registers of measurements and, every other time, 10 of states."""
    client = await connect(server, own_address)
    async for turn in every(PANEL_PERIOD_S, seconds):
        if turn == round(PANEL_RECONNECT_S / PANEL_PERIOD_S):
            client.close()
            client = await connect(server, own_address)
        check(await client.read_holding_registers(0, count=20, device_id=UNIT))
        if turn % 2 == 1:
            check(await client.read_holding_registers(60, count=10, device_id=UNIT))
    client.close()


async def logger(server: str, own_address: str, seconds: float) -> None:
    """Reads two blocks; writes one setpoint every 0.75 s and a recipe of eight every 1.5 s."""
    await asyncio.sleep(0.03)
    client = await connect(server, own_address)
    async for turn in every(LOGGER_PERIOD_S, seconds - 0.25):
        check(await client.read_holding_registers(20, count=40, device_id=UNIT))
        check(await client.read_holding_registers(100, count=16, device_id=UNIT))
        if turn % 3 == 1:
            check(await client.write_register(64, 1500 + 10 * turn, device_id=UNIT))
        if turn % 6 == 4:
            recipe = [1000 + 25 * turn + step for step in range(8)]
            check(await client.write_registers(80, recipe, device_id=UNIT))
    client.close()


async def main(server: str, panel_address: str, logger_address: str, seconds: float) -> None:
    """Runs both."""
    await asyncio.gather(panel(server, panel_address, seconds), logger(server, logger_address, seconds))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
