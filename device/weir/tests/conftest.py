# SPDX-License-Identifier: Apache-2.0
"""Where the program under test is."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--program`."""
    parser.addoption("--program", type=Path, required=True)


@pytest.fixture(name="program")
def _program(request: pytest.FixtureRequest) -> Path:
    return request.config.getoption("--program")
