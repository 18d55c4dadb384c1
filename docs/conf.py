"""Configuration of Sphinx: ``make docs`` writes the documents, the API reference and the claims to report/.

The source folder is the root of the repository, so that links between its files work here as on a forge.
"""

import sys
from pathlib import Path

import tilted

sys.path.insert(0, str(Path(__file__).with_name("_ext")))

project = "Tilted"
author = "The Tilted developers"
version = release = tilted.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "pages",
]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/generated/**"]
include_patterns += [f"{folder}/*.md" for folder in ("benchmarks", "config", "data", "tables")]
exclude_patterns = [".*", "build", "figures", "report", "results", "src", "tests", "workflow", "**/raw"]

myst_enable_extensions = ["html_image"]
myst_heading_anchors = 3
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", ".*")]  # a word in single backticks need not be documented
autodoc_typehints = "none"  # the docstrings describe the types
autodoc_default_options = {"members": True, "inherited-members": "tuple, object"}
autosummary_generate = ["docs/generated/api/index.rst"]
smartquotes = False  # in docstrings, quotes are part of values
numpydoc_show_class_members = False  # autodoc lists them

html_theme = "furo"
html_show_copyright = False
html_title = f"Tilted {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = [str(Path(__file__).with_name("_templates"))]
html_copy_source = False
html_show_search_summary = False  # a page opened from a file may not read others
