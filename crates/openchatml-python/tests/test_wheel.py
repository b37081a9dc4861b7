"""What the wheel contains beside the package."""

from __future__ import annotations

import importlib.metadata

import pytest


def test_licences_of_dependencies() -> None:
    files = importlib.metadata.files("openchatml")
    assert files
    licences = {file.name: file for file in files if "licenses" in file.parts}
    for name in ("LICENSE-APACHE", "LICENSE-MIT", "openchatml-licences.txt", "openchatml.cdx.json"):
        assert name in licences, name
    text = licences["openchatml-licences.txt"].locate().read_text(encoding="utf-8")
    for package in ("openchatml", "pyo3", "numpy", "tiktoken", "serde_json"):
        assert f"\n{package} v" in text, package


@pytest.mark.parametrize("extra", ["harmony", "numpy"])
def test_extras(extra: str) -> None:
    extras = importlib.metadata.metadata("openchatml").get_all("Provides-Extra")
    assert extras and extra in extras


def test_nothing_is_required() -> None:
    required = importlib.metadata.requires("openchatml") or []
    assert all("extra ==" in it for it in required)
