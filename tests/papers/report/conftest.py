"""A browser for tests of pages, and what to ask of their links."""

import importlib.util
import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

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


@pytest.fixture(scope="session")
def dangling():
    """Links and sources of a folder of pages that lead nowhere: (page, target)."""

    def found(folder):
        shown = {path.resolve(): path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
        named = {path: set(re.findall(r'\bid="([^"]*)"', text)) for path, text in shown.items()}
        wrong = []
        for path, text in shown.items():
            for target in re.findall(r'\b(?:href|src|data-script)="([^"]*)"', text):
                if re.match(r"https?://|data:", target):
                    continue
                name, _, anchor = unescape(target).partition("#")
                there = (path.parent / unquote(name)).resolve() if name else path
                if not there.is_file() or (anchor and unquote(anchor) not in named.get(there, ())):
                    wrong.append((str(path.relative_to(folder.resolve())), target))
        return wrong

    return found
