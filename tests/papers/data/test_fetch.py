"""Downloads from a loopback server that behaves badly, and mirrors."""

import gzip
import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from papers.data.fetch import MIRROR_VARIABLE, DownloadError, fetch

ROOT = Path(__file__).resolve().parents[3]
CONTENT = b"1.5,2.5,g\n" * 1000


def sha(content):
    return hashlib.sha256(content).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """/good, /wrong, /short (fewer bytes than promised), /slow, /stall (silent midway), /flaky, /moved.

    Anything else is a 404; /flaky answers 500 once, /broken breaks off once.
    """

    tries = 0

    def do_GET(self):
        try:
            self.answer()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up, as it should

    def answer(self):
        name = self.path.rsplit("/", 1)[-1]
        if name == "slow":
            time.sleep(3)
        if name == "stall":
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT[:100])
            self.wfile.flush()
            time.sleep(1)
        if name == "moved":
            self.send_response(302)
            self.send_header("Location", "/good")
            self.end_headers()
            return
        Handler.tries += 1
        if name == "flaky" and Handler.tries == 1:
            self.send_error(500)
            return
        bodies = {
            "good": CONTENT,
            "flaky": CONTENT,
            "wrong": CONTENT[:-1] + b"x",
            "short": CONTENT,
            "broken": CONTENT,
            "cut": CONTENT[:99],
        }
        if name not in bodies:
            self.send_error(404)
            return
        body = bodies[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        broken = name == "short" or (name == "broken" and Handler.tries == 1)
        self.wfile.write(body[:3000] if broken else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    Handler.tries = 0
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "sources.yaml").write_bytes((ROOT / "data" / "sources.yaml").read_bytes())
    return folder


def entry(*urls, path="sub/toy.data"):
    return {"path": path, "sha256": sha(CONTENT), "bytes": len(CONTENT), "urls": list(urls)}


def leftovers(home):
    return [p.name for p in (home / "raw").rglob("*") if p.is_file() and p.name != "toy.data"]


@pytest.mark.parametrize("name", ["good", "flaky", "broken", "moved"])
def test_downloads(server, home, name):
    path = fetch(entry(f"{server}/{name}"), home)
    assert path == home / "raw" / "sub" / "toy.data"
    assert path.read_bytes() == CONTENT
    assert leftovers(home) == []


@pytest.mark.parametrize(
    "name, reason",
    [
        ("gone", "404"),
        ("wrong", "wrong content"),
        ("cut", "truncated"),
        ("short", "truncated"),
        ("stall", "[Tt]imed? ?out"),
        ("slow", "[Tt]imed? ?out"),
    ],
)
def test_failures_say_what_was_tried_and_leave_nothing(server, home, name, reason):
    with pytest.raises(DownloadError, match=reason) as caught:
        fetch(entry(f"{server}/{name}"), home, timeout=0.5)
    message = str(caught.value)
    assert f"{server}/{name}" in message
    assert str(home / "raw" / "sub" / "toy.data") in message  # where to place it by hand
    assert sha(CONTENT) in message and MIRROR_VARIABLE in message
    assert leftovers(home) == [] and not (home / "raw" / "sub" / "toy.data").exists()


def test_no_network(home):
    url = "http://127.0.0.1:9/" + "a-rather-long-address/" * 10 + "x"
    with pytest.raises(DownloadError, match=f"{url}: ConnectionError: Connection refused"):
        fetch(entry(url), home, timeout=0.5)


def test_the_next_source_is_tried(server, home):
    assert fetch(entry(f"{server}/gone", f"{server}/good"), home).read_bytes() == CONTENT


def test_a_present_file_is_used_without_network_and_a_wrong_one_never(home):
    path = home / "raw" / "sub" / "toy.data"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert fetch(entry(), home) == path
    path.write_bytes(CONTENT[:50])
    with pytest.raises(DownloadError, match="delete it and run again"):
        fetch(entry(), home)


@pytest.mark.parametrize("place", ["sub/toy.data", "toy.data"])
def test_mirror_folder(home, tmp_path, monkeypatch, place):
    mirror = tmp_path / "mirror"
    (mirror / place).parent.mkdir(parents=True)
    (mirror / place).write_bytes(CONTENT)
    assert fetch(entry(), home, mirror=str(mirror)).read_bytes() == CONTENT
    (home / "raw" / "sub" / "toy.data").unlink()
    monkeypatch.setenv(MIRROR_VARIABLE, str(mirror))
    assert fetch(entry(), home).read_bytes() == CONTENT


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
def test_mirror_url_comes_first(server, home, scheme):
    item = entry("http://127.0.0.1:9/never", path="good")
    assert fetch(item, home, mirror=server.replace("http", scheme)).read_bytes() == CONTENT


@pytest.mark.parametrize("stored", [True, False])
def test_compressed_files_from_a_mirror_stored_or_plain(home, tmp_path, stored):
    packed = gzip.compress(CONTENT, mtime=7)
    item = {
        "path": "toy.data.gz",
        "sha256": sha(packed),
        "bytes": len(packed),
        "plain_sha256": sha(CONTENT),
        "plain_bytes": len(CONTENT),
        "urls": [],
    }
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / ("toy.data.gz" if stored else "toy.data")).write_bytes(packed if stored else CONTENT)
    path = fetch(item, home, mirror=str(mirror))
    assert gzip.decompress(path.read_bytes()) == CONTENT
    assert fetch(item, home) == path  # and it is accepted the next time


def test_a_wrong_mirror_copy_is_refused_and_the_source_used(server, home, tmp_path):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "toy.data").write_bytes(b"other")
    assert fetch(entry(f"{server}/good"), home, mirror=str(mirror)).read_bytes() == CONTENT


def test_a_damaged_compressed_file_is_refused(home):
    packed = gzip.compress(CONTENT, mtime=7)
    item = {
        "path": "toy.data.gz",
        "sha256": sha(packed),
        "bytes": len(packed),
        "plain_sha256": sha(CONTENT),
        "plain_bytes": len(CONTENT),
        "urls": [],
    }
    path = home / "raw" / "toy.data.gz"
    path.parent.mkdir()
    for place in range(len(packed)):
        path.write_bytes(packed[:place] + bytes([packed[place] ^ 255]) + packed[place + 1 :])
        if place not in range(3, 10):  # flags, time and system say nothing about the content
            with pytest.raises(DownloadError, match="delete it and run again"):
                fetch(item, home)


def test_progress_is_shown_only_when_wanted(server, home, capfd):
    path = fetch(entry(f"{server}/good"), home)
    assert capfd.readouterr().err == ""
    path.unlink()
    fetch(entry(f"{server}/good"), home, progress=True)
    assert "100%" in capfd.readouterr().err
