"""Builds in a new folder: setuptools would pack what ``build/`` kept of modules that are gone since."""

from tempfile import TemporaryDirectory

from setuptools import setup

with TemporaryDirectory() as folder:
    setup(options={"build": {"build_base": folder}})
