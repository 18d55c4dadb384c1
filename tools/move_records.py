"""The records' one move to ``runs.csv``: stamps out of the lines, names of runs in; no other cell changes.

    python tools/move_records.py FROM TO

FROM is the folder ``results`` of commit b08d090, TO a new one. Stamps stood in columns (source, date,
environment) or in files beside the records (provenance.json and the like); their commit was never recorded.
A run is made of the lines of one record and stamp. What ``verified.csv`` and its like said is left behind: it
rested on hashes of sources that had been rewritten after refactorings. Kept so that the move can be checked
(tests/project/test_move_records.py); there is no other use for it.
"""

import csv
import gzip
import hashlib
import io
import json
import sys
from pathlib import Path

STAMP = ("source", "date", "environment")
PROVENANCE = {
    **{f"qp/{name}.csv.gz": "qp/provenance.json" for name in ("as-released", "as-described", "corrected")},
    "qp/variances.csv.gz": "qp/provenance.json",
    "qp/differences.csv.gz": "qp/differences.json",
    "pep/regression.csv.gz": "pep/provenance.json",
    "pep/classification.csv.gz": "pep/provenance-classification.json",
}
"""Record -> the file of its stamps, where they are not in its lines."""
KEYS = {
    "qp": ("protocol", "dataset", "method", "seed"),
    "pep/provenance.json": ("dataset", "alpha", "m", "start", "split"),
    "pep/provenance-classification.json": ("dataset", "alpha", "m", "protocol", "split"),
}
NO_PROTOCOL = "44136fa355b3678a"  # what stood for an empty choice
LEFT_BEHIND = ("verified.csv", "verified_truth.csv")
HEADER = "run study commit version protocol environment date core_seconds lines replaced".split()


def numbers(text):
    """Numbers of a text such as 0-2,5."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def versions(environment):
    """Versions and processor as the lines of studies had them."""
    names = [f"{name} {environment[name]}" for name in ("python", "numpy", "scipy")]
    return ", ".join([*names, environment["cpu"]])


def stamps_of(path, key):
    """Key of a line -> (source, protocol, environment, date)."""
    content = json.loads(path.read_text(encoding="utf-8"))
    found = {}
    for entry in content["runs"]:
        where = versions(content["environments"][entry["environment"]])
        for number in numbers(entry[f"{key[-1]}s"]):
            name = (*(str(entry[part]) for part in key[:-1]), str(number))
            choices = "" if entry["choices"] == NO_PROTOCOL else entry["choices"]
            found[name] = (entry["source"], choices, where, entry["date"])
    return found


class Runs:
    """The runs made so far."""

    def __init__(self):
        self.lines = {}

    def name(self, study, stamp, seconds):
        """The run of a line, which is counted."""
        digest = hashlib.sha256(json.dumps([study, *stamp]).encode()).hexdigest()[:8]
        name = f"{stamp[3]}-{digest}"
        run = self.lines.setdefault(name, [study, *stamp[1:], 0.0, 0])
        run[-2] += seconds
        run[-1] += 1
        return name

    def text(self):
        """``runs.csv``."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for name, (study, protocol, environment, date, seconds, lines) in self.lines.items():
            spent = f"{seconds:.6g}" if seconds else ""
            writer.writerow([name, study, "", "", protocol, environment, date, spent, lines, 0])
        return file.getvalue()


def moved_table(content, study, folder, runs):
    """Bytes of a table with the column ``run`` in place of its stamps."""
    packed = study.endswith(".gz")
    text = gzip.decompress(content).decode() if packed else content.decode()
    header, *lines = csv.reader(io.StringIO(text))
    kept = [k for k, name in enumerate(header) if name not in STAMP]
    beside = None
    if study in PROVENANCE:
        file = PROVENANCE[study]
        key = KEYS.get(file, KEYS["qp"])
        beside = stamps_of(folder / file, key)
        fixed = {"protocol": Path(study).name.split(".")[0], "method": "qp"}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([header[k] for k in kept] + ["run"])
    for cells in lines:
        line = dict(zip(header, cells, strict=True))
        if beside is None:
            stamp = (line["source"], "", line["environment"], line["date"])
        else:
            stamp = beside[tuple(({**fixed, **line})[part] for part in key)]
        name = runs.name(study, stamp, float(line.get("seconds") or 0))
        writer.writerow([cells[k] for k in kept] + [name])
    new = out.getvalue().encode()
    return zipped(new, 9) if packed else new


def moved_truth(content, study, runs):
    """Bytes of a record of ground truth with its run in place of its stamp."""
    record = json.loads(gzip.decompress(content))
    stamp = (record.pop("source"), "", versions(record.pop("environment")), record.pop("date", ""))
    record["run"] = runs.name(study, stamp, 0.0)
    return zipped(json.dumps(record, separators=(",", ":")).encode() + b"\n", 6)


def zipped(content, level):
    """Content gzipped, the same bytes every time."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=buffer, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()


def move(old, new):
    """Write all records of a folder into another, with ``runs.csv`` and ``SHA256SUMS``."""
    runs, contents = Runs(), {}
    for path in sorted(old.rglob("*.gz")) + sorted(old.rglob("*.csv")):
        study = path.relative_to(old).as_posix()
        if path.name in LEFT_BEHIND:
            continue
        if study.endswith(".json.gz"):
            contents[study] = moved_truth(path.read_bytes(), study, runs)
        else:
            contents[study] = moved_table(path.read_bytes(), study, old, runs)
    contents["runs.csv"] = runs.text().encode()
    sums = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(contents.items()))
    contents["SHA256SUMS"] = "".join(sums).encode()
    for name, content in contents.items():
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).write_bytes(content)


if __name__ == "__main__":
    move(Path(sys.argv[1]), Path(sys.argv[2]))
