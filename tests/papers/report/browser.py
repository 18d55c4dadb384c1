"""Headless Chromium for tests of pages: a page is opened without any network and asked about itself.

Driven by the DevTools protocol over a pipe (messages end with a zero byte), so that nothing but Chromium is
needed.
"""

import itertools
import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run "
    "--disable-background-networking --disable-extensions --disable-component-update "
    "--remote-debugging-pipe --force-color-profile=srgb"
).split()
NOWHERE = "--host-resolver-rules=MAP * ~NOTFOUND"
LIMIT = 240.0
"""Seconds to wait for an answer; the machine may be busy."""


def program() -> str | None:
    """Path of a Chromium, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Page:
    """An opened page: `ask` evaluates an expression in it; `errors` and `requests` are what it did."""

    call: object
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def ask(self, expression):
        asked = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key, text=""):
        """Press a key as a person would."""
        code = {"Tab": 9, "Enter": 13, "ArrowDown": 40, "Escape": 27}.get(key, 0)
        of_key = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **of_key, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **of_key)

    def wait(self, expression):
        """Until an expression is true."""
        end = time.monotonic() + LIMIT
        while not self.ask(f"Boolean({expression})"):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.05)


class Pipe:
    """Messages to and from Chromium."""

    def __init__(self, process, to, back):
        self.process, self.to, self.back = process, to, back
        self.numbers, self.rest, self.seen = itertools.count(1), b"", lambda message: None

    def call(self, method, session=None, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.until(lambda m: m.get("id") == number)["result"]

    def until(self, wanted):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            while b"\0" not in self.rest:
                part = os.read(self.back, 1 << 20)
                assert part, "Chromium ended"
                self.rest += part
            text, _, self.rest = self.rest.partition(b"\0")
            message = json.loads(text)
            self.seen(message)
            if wanted(message):
                assert "error" not in message, message
                return message
        raise TimeoutError(f"no answer from Chromium in {LIMIT} s")


@contextmanager
def opened(path, width, height, folder, dark=False):
    """A page in a window of a size; its scripts, requests and messages are watched from the start.

    Parameters
    ----------
    path : path of an HTML file
    width, height : int
        CSS pixels; below 600 a phone.
    folder : path
        For Chromium's profile.
    """
    to_child, to = os.pipe()
    back, from_child = os.pipe()
    command = [program(), *FLAGS, NOWHERE, f"--user-data-dir={folder}"]
    process = subprocess.Popen(
        ["bash", "-c", 'exec "$@" 3<&"$IN" 4>&"$OUT"', "-", *command],
        pass_fds=(to_child, from_child),
        env=os.environ | {"IN": str(to_child), "OUT": str(from_child)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_child)
    os.close(from_child)
    pipe = Pipe(process, to, back)
    try:
        target = pipe.call("Target.createTarget", url="about:blank")["targetId"]
        session = pipe.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(lambda method, **params: pipe.call(method, session, **params))
        pipe.seen = lambda message: _note(page, message)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Page.navigate", url=Path(path).resolve().as_uri())
        pipe.until(lambda message: message.get("method") == "Page.loadEventFired")
        yield page
    finally:
        process.kill()
        process.wait()
        os.close(to)
        os.close(back)


def _note(page, message):
    params = message.get("params", {})
    if message.get("method") == "Network.requestWillBeSent":
        page.requests.append(params["request"]["url"])
    elif message.get("method") == "Log.entryAdded":
        page.errors.append(params["entry"]["text"])
    elif message.get("method") == "Runtime.exceptionThrown":
        page.errors.append(str(params["exceptionDetails"]))
    elif message.get("method") == "Runtime.consoleAPICalled":
        page.errors.append(f"{params['type']}: {params['args']}")
