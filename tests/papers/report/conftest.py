"""A browser for tests of pages."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def browser():
    """The helper of tests that look at pages; they are skipped where there is no Chromium."""
    spec = importlib.util.spec_from_file_location("browser", Path(__file__).with_name("browser.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.program() is None:
        pytest.skip("no Chromium on this machine")
    return module
