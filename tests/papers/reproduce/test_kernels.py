"""Receipts pass whichever BLAS kernel computes them, in processes of their own."""

import json
import os
import subprocess
import sys

import pytest

NAMES = ["QP3", "QP6", "OURS1", "PEP5", "PEP8", "PEP10", "REP1", "REP3", "PESC1", "Table1:Glass"]
SECONDS = 20
CODE = f"""
from papers.cli import main
from papers.reproduce import command
command.BUDGET = {SECONDS}
raise SystemExit(main("reproduce {" ".join(NAMES)} --json --output".split() + ["OUTPUT"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["Nehalem", "Sandybridge", "Haswell"])
def test_receipts_pass_with_every_kernel(kernel, mirror, tmp_path):
    environment = {**os.environ, "OPENBLAS_CORETYPE": kernel, "TILTED_DATA_MIRROR": str(mirror)}
    code = CODE.replace("OUTPUT", str(tmp_path))
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    receipts = json.loads(run.stdout)
    assert {receipt["name"]: receipt["failures"] for receipt in receipts} == {name: [] for name in NAMES}
    assert all(kernel in receipt["environment"] and receipt["rows"]["same"] for receipt in receipts)
    assert run.returncode == 0
