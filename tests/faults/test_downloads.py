"""A mirror on loopback that sends wrong bytes to the workflow; single faults are in test_fetch.py."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from papers import data

TARGET = "data/standard/as-released/sonar.h5"


def made_up_sonar():
    """A file in the shape of the Sonar data, so that no test needs the network."""
    rng = np.random.default_rng(0)
    lines = [",".join(f"{x:.4f}" for x in rng.random(60)) + "," + "RM"[i % 2] for i in range(208)]
    return "\n".join(lines).encode() + b"\n"


class Handler(BaseHTTPRequestHandler):
    """Sends the file, or the same bytes in another order if the server's `broken` is true."""

    def do_GET(self):
        body = made_up_sonar()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[::-1] if self.server.broken else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.broken = True
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield httpd
    httpd.shutdown()
    httpd.server_close()


def address(server):
    return f"http://127.0.0.1:{server.server_port}"


def register(folder, sources):
    """A registry that knows the made-up file, and whose source nobody answers at."""
    body = made_up_sonar()
    text = sources.read_text(encoding="utf-8")
    entry = text[text.index("  sonar:") :]
    entry = entry[: entry.index("\n  glass:")]
    new = (
        f"  sonar:\n    path: sonar.all-data\n    sha256: {hashlib.sha256(body).hexdigest()}\n"
        f"    bytes: {len(body)}\n    urls: [https://127.0.0.1:9/sonar]"
    )
    (folder / "sources.yaml").write_text(text.replace(entry, new, 1), encoding="utf-8")


@pytest.mark.slow
def test_the_workflow_with_a_mirror_that_sends_wrong_bytes(server, fresh, tools, repository):
    """The job fails, says why, and leaves nothing; the next run, with a sound mirror, succeeds."""
    register(fresh.folder / "data", repository / "data/sources.yaml")
    config = fresh.folder / "config/small.yaml"
    text = config.read_text(encoding="utf-8").replace("coal", "sonar")
    config.write_text(f"{text}mirror: {address(server)}\n", encoding="utf-8")
    out = fresh(TARGET, code=1, TILTED_DATA_MIRROR="")
    assert "could not get 'sonar.all-data'" in out and "wrong content" in out
    assert list((fresh.folder / "data/raw").glob("*")) == [] and fresh.partial() == []
    server.broken = False
    fresh(TARGET, TILTED_DATA_MIRROR="")
    assert (fresh.folder / "data/raw/sonar.all-data").read_bytes() == made_up_sonar()
    assert data.read_standard(fresh.folder / TARGET).X.shape == (208, 60) and fresh.partial() == []
