# SPDX-License-Identifier: MIT OR Apache-2.0
"""A headless Chromium, driven by its DevTools protocol over a pipe."""

import base64
import json
import os
import shlex
import subprocess
import tempfile

# Where the folder with the page is, in the browser's root.
PLACE = "/mnt"


class Browser:
    """A page in a browser of a Debian root of its own, which sees one folder."""

    def __init__(self, root, folder, page):
        commands, answers = os.pipe(), os.pipe()
        self.to, self.of = commands[1], os.fdopen(answers[0], "rb")
        mounts = (f"mount -t proc proc {root}/proc; mount --rbind /dev {root}/dev; mount -t tmpfs tmpfs {root}/tmp; "
                  f"mount --bind {shlex.quote(folder)} {root}{PLACE}; ")
        # Chromium takes its commands from file 3 and answers to file 4.
        run = (f"exec 3<&{commands[0]} 4>&{answers[1]}; exec chroot {root} /usr/bin/env -i HOME=/tmp PATH=/usr/bin:/bin "
               "chromium-headless-shell --no-sandbox --disable-gpu --remote-debugging-pipe --user-data-dir=/tmp/profile about:blank")
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(["unshare", "-m", "--propagation", "unchanged", "bash", "-ec", mounts + run], stderr=self.log,
                                        pass_fds=(commands[0], answers[1]))
        os.close(commands[0])
        os.close(answers[1])
        self.number, self.session, self.events, self.wrong = 0, None, [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(domain + ".enable")
        self.open(page)

    def open(self, page):
        """Opens a file of the folder, and waits until it is loaded."""
        self.call("Page.navigate", url=f"file://{PLACE}/{page}")
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self.read()
        self.events.clear()

    def call(self, method, **params):
        """A command's result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def read(self):
        """The next message; what a page should not do is kept."""
        data = bytearray()
        while (byte := self.of.read(1)) != b"\0":
            if not byte:
                self.log.seek(0)
                raise RuntimeError("the browser has ended: " + self.log.read().decode()[-800:])
            data += byte
        message = json.loads(data)
        method, params = message.get("method", ""), message.get("params", {})
        if method:
            self.events.append(message)
        if method == "Runtime.exceptionThrown":
            self.wrong.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.wrong.append(f"console: {params['args']}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.wrong.append(f"log: {params['entry']['text']}")
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith((f"file://{PLACE}/", "data:")):
            self.wrong.append(f"request of {params['request']['url']}")
        return message

    def value(self, script):
        """What a script evaluates to."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, key, text=None):
        """A key that a reader presses."""
        text = text or (key if len(key) == 1 else None)
        for kind in ["keyDown", "keyUp"]:
            event = {"type": kind, "key": key, "windowsVirtualKeyCode": ord(key.upper()) if len(key) == 1 else 0}
            self.call("Input.dispatchKeyEvent", **event, **({"text": text} if text and kind == "keyDown" else {}))

    def screen(self, width, height, dark=False, small=False):
        """The screen's size, and what its system prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if small else 1, mobile=small)
        preference = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[preference, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def shot(self, path, whole=False):
        """A picture of the page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        """Ends the browser."""
        self.session = None
        self.call("Browser.close")
        self.process.wait(30)
