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


HEADERS = {
    "length": b"200 OK\r\nContent-Length: abc",
    "negative length": b"200 OK\r\nContent-Length: -5",
    "place": b"302 Found\r\nLocation: http://[::1\r\nContent-Length: 0",
    "port": b"302 Found\r\nLocation: http://x:y/\r\nContent-Length: 0",
    "bytes": b"302 Found\r\nLocation: /\xff\xfe\r\nContent-Length: 0",
    "encoding": b"200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3",
    "reason": b"404 \x1b[31mgone\x1b[0m\x07",
    "no status": b"",
    "many": b"200 OK" + b"\r\nX: y" * 200,
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_mirror_whose_answer_cannot_be_read(name, tmp_path, repository, monkeypatch):
    """A failure of that place like any other: its name and a clean reason, and the next place is tried."""
    register(tmp_path, repository / "data/sources.yaml")

    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 " + HEADERS[name] + b"\r\n\r\nabc")
        handler.close_connection = True

    monkeypatch.setattr(Handler, "do_GET", answer)
    httpd = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
    entry = data.file_entry("sonar.all-data", tmp_path)
    try:
        with pytest.raises(data.DownloadError) as caught:
            data.fetch(entry, tmp_path, address(httpd), progress=name == "length")
    finally:
        httpd.shutdown()
        httpd.server_close()
    message = str(caught.value)
    assert f"{address(httpd)}/sonar.all-data: " in message and "https://127.0.0.1:9/sonar: " in message
    assert all(line.isprintable() for line in message.splitlines())
    assert list((tmp_path / "raw").iterdir()) == []


@pytest.mark.parametrize("mirror", ["file:///data", "ftp://example.org", "s3://x/\x1b[2J"])
def test_a_mirror_of_another_kind_is_named(tmp_path, repository, mirror):
    register(tmp_path, repository / "data/sources.yaml")
    with pytest.raises(data.DownloadError, match="a folder, https:// or http://, not ") as caught:
        data.load("sonar", home=tmp_path, mirror=mirror)
    assert str(caught.value).isprintable()


def test_a_mirror_with_a_query_is_refused_without_it(tmp_path, repository):
    """Names stood behind the query, which no server has, and messages repeated its secret."""
    register(tmp_path, repository / "data/sources.yaml")
    with pytest.raises(data.DownloadError, match="it has no . or #") as caught:
        data.load("sonar", home=tmp_path, mirror="https://example.org/raw?sig=secret")
    assert "secret" not in str(caught.value)


def test_a_mirror_with_a_line_end_of_windows_behind_it_is_shown(tmp_path, repository):
    """As in a settings file of Windows: a terminal would write over what was tried."""
    register(tmp_path, repository / "data/sources.yaml")
    with pytest.raises(data.DownloadError, match=r"/raw\\r' is no folder") as caught:
        data.load("sonar", home=tmp_path, mirror=f"{tmp_path}/raw\r")
    assert "\r" not in str(caught.value)


@pytest.mark.parametrize(
    "mirror, said",
    [
        ("/nowhere", "mirror /nowhere"),
        ("~no-one/x", "mirror ~"),
        ("m" * 5000, "mirror m"),
        ("me:s3cret@example.org/raw", "the mirror"),
        ("example.org/raw?sig=s3cret", "the mirror"),
    ],
)
def test_a_mirror_that_is_not_there_is_said_where_a_source_would_do(mirror, said, tmp_path, repository):
    """A folder's name mistyped: nothing is downloaded past it without a word, and no secret is shown."""
    register(tmp_path, repository / "data/sources.yaml")
    with pytest.raises(data.DownloadError, match=f"^{said}.* is no folder, and no address") as caught:
        data.load("sonar", home=tmp_path, mirror=mirror)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "mirror", ["http://me:s3cret@127.0.0.1:9/raw/", "HTTP://me:s3@cret@[::1", "ftp://me:s3cret@x"]
)
def test_a_password_in_the_address_of_a_mirror_is_never_shown(tmp_path, repository, mirror):
    register(tmp_path, repository / "data/sources.yaml")
    with pytest.raises(data.DownloadError, match=r"://\*\*\*@") as caught:
        data.load("sonar", home=tmp_path, mirror=mirror)
    assert not any(part in str(caught.value) for part in ("s3", "cret", "me:"))


def test_what_a_server_says_of_an_address_is_shown_without_its_password(server, tmp_path, repository):
    register(tmp_path, repository / "data/sources.yaml")
    server.mood = "404"
    with pytest.raises(data.DownloadError, match="404") as caught:
        data.load("sonar", home=tmp_path, mirror=address(server).replace("://", "://me:s3cret@"))
    assert "s3cret" not in str(caught.value)


def test_a_mirror_in_the_home_folder(tmp_path, repository, monkeypatch):
    """Settings files give `~` as it is: no shell reads it."""
    for name in ("data", "raw"):
        (tmp_path / name).mkdir()
    register(tmp_path / "data", repository / "data/sources.yaml")
    (tmp_path / "raw/sonar.all-data").write_bytes(made_up_sonar())
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data.load("sonar", home=tmp_path / "data", mirror="~/raw/").X.shape == (208, 60)


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


@pytest.mark.slow
def test_a_mirror_that_is_taken_away_takes_no_file_with_it(server, fresh, repository):
    """Once Snakemake removed what had come from there, and had it from nowhere."""
    register(fresh.folder / "data", repository / "data/sources.yaml")
    config, raw = fresh.folder / "config/small.yaml", "data/raw/sonar.all-data"
    text = config.read_text(encoding="utf-8").replace("coal", "sonar")
    config.write_text(f"{text}mirror: {address(server)}\n", encoding="utf-8")
    fresh(raw, TILTED_DATA_MIRROR="")
    config.write_text(text, encoding="utf-8")
    server.mood = "404"
    assert "Nothing to be done" in fresh(raw, TILTED_DATA_MIRROR="")
    fresh(raw, "--forcerun", "download", TILTED_DATA_MIRROR="")
    assert (fresh.folder / raw).read_bytes() == made_up_sonar() and server.asked == 1
