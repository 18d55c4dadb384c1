"""A download server on loopback that misbehaves, as the workflow's mirror (plain http is for mirrors only).

Single faults of a server, one by one, are in tests/papers/data/test_fetch.py.
"""

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


class Server(ThreadingHTTPServer):
    """Answers every request in the way `mood` says, and counts them."""

    mood, asked = "good", 0


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked += 1
        body = made_up_sonar()
        mood = self.server.mood
        if mood in ("404", "500"):
            self.send_error(int(mood))
        elif mood == "loop" or (mood == "moved" and self.path != "/there"):
            self.send_response(302)
            self.send_header("Location", self.path if mood == "loop" else "/there")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            sent = {"wrong": body[::-1], "cut": body[:5000], "page": b"<html>please log in</html>"}.get(
                mood, body
            )
            self.send_response(200)
            self.send_header("Content-Length", str(len(body) if mood == "short" else len(sent)))
            self.end_headers()
            self.wfile.write(sent[:5000] if mood == "short" else sent)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    httpd = Server(("127.0.0.1", 0), Handler)
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


@pytest.mark.parametrize(
    "mood, said",
    [
        ("404", "404"),
        ("500", "500"),
        ("loop", "TooManyRedirects"),
        ("wrong", "wrong content"),
        ("cut", "truncated"),
        ("short", "truncated"),
        ("page", "truncated"),
    ],
)
def test_a_mirror_that_misbehaves(server, tmp_path, repository, mood, said):
    """What was tried and why it failed is said, nothing is left; when the server is well again all is."""
    register(tmp_path, repository / "data/sources.yaml")
    server.mood = mood
    with pytest.raises(data.DownloadError) as caught:
        data.load("sonar", home=tmp_path, mirror=address(server))
    message = str(caught.value)
    assert said in message and f"{address(server)}/sonar.all-data" in message
    assert "https://127.0.0.1:9/sonar" in message and "To place it by hand" in message
    assert server.asked == {"500": 3, "short": 3, "loop": 93}.get(mood, 1)  # three tries; 31 redirects a try
    assert list((tmp_path / "raw").iterdir()) == []
    server.mood = "moved"
    assert data.load("sonar", home=tmp_path, mirror=address(server)).X.shape == (208, 60)


def test_what_a_server_says_of_an_address_is_shown_without_its_password(server, tmp_path, repository):
    register(tmp_path, repository / "data/sources.yaml")
    server.mood = "404"
    with pytest.raises(data.DownloadError, match="404") as caught:
        data.load("sonar", home=tmp_path, mirror=address(server).replace("://", "://me:s3cret@"))
    assert "s3cret" not in str(caught.value)


@pytest.mark.slow
def test_the_workflow_with_a_mirror_that_sends_wrong_bytes(server, fresh, tools, repository):
    """The job fails, says why, and leaves nothing; the next run, with a sound mirror, succeeds."""
    register(fresh.folder / "data", repository / "data/sources.yaml")
    config = fresh.folder / "config/small.yaml"
    text = config.read_text(encoding="utf-8").replace("coal", "sonar")
    config.write_text(f"{text}mirror: {address(server)}\n", encoding="utf-8")
    server.mood = "wrong"
    out = fresh(TARGET, code=1, TILTED_DATA_MIRROR="")
    assert "could not get 'sonar.all-data'" in out and "wrong content" in out
    assert list((fresh.folder / "data/raw").glob("*")) == [] and fresh.partial() == []
    server.mood = "good"
    fresh(TARGET, TILTED_DATA_MIRROR="")
    assert (fresh.folder / "data/raw/sonar.all-data").read_bytes() == made_up_sonar()
    assert data.read_standard(fresh.folder / TARGET).X.shape == (208, 60)
    raw = fresh.folder / "data/raw/sonar.all-data"
    raw.write_bytes(made_up_sonar()[:-9])  # a newer, damaged raw file
    out = fresh(TARGET, code=1, TILTED_DATA_MIRROR="")
    assert "sonar.all-data has sha256" in out and "delete it and run again" in out
    raw.unlink()
    fresh(TARGET, TILTED_DATA_MIRROR="")
    assert data.read_standard(fresh.folder / TARGET).X.shape == (208, 60) and fresh.partial() == []
