# SPDX-License-Identifier: Apache-2.0
"""Figures of a run in results.json, for tools/beside and tools/figures."""


def figure(run: dict, path: str) -> float | None:
    """What `path` leads to: keys joined by dots, elements of lists by their name; PATH:PATH is a share."""
    part, _, whole = path.partition(":")
    if whole:
        return (figure(run, part) or 0) / figure(run, whole) if figure(run, whole) else None
    value: object = run
    for key in path.split("."):
        if isinstance(value, list):
            value = next((element for element in value if element["name"] == key), None)
        elif isinstance(value, dict):
            value = value[key]
    return value


def shown(value: float | None) -> str:
    """Numbers as people write them."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}"
