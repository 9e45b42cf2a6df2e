# SPDX-License-Identifier: Apache-2.0
"""The images under test, from the command line."""

import pytest


def pytest_addoption(parser):
    """`--image FILE`."""
    parser.addoption("--image", required=True, help="the example's ELF file")


@pytest.fixture(scope="session")
def image(request) -> str:
    """The example's ELF file."""
    return request.config.getoption("--image")
