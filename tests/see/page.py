# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the page of `make see` in a browser as a reader would, and compares what it shows with the traces.

page.py BROWSER-ROOT FOLDER CHIP...: FOLDER has dispatch.html; the traces of a chip are in FOLDER/vm/CHIP/see, and the
pictures go into FOLDER/see. What is expected is read from the traces here, with the structures of HSA and Linux written
down once more.
"""

import json
import os
import re
import struct
import sys

from browser import Browser

# hsa_kernel_dispatch_packet_t (hsa.h): the fields as the page names them, in order.
PACKET = struct.Struct("<HHHHHHIIIIIQQQQ")
PACKET_FIELDS = ["HEADER", "SETUP", "WORKGROUP_SIZE_X", "WORKGROUP_SIZE_Y", "WORKGROUP_SIZE_Z", "RESERVED0", "GRID_SIZE_X", "GRID_SIZE_Y",
                 "GRID_SIZE_Z", "PRIVATE_SEGMENT_SIZE", "GROUP_SEGMENT_SIZE", "KERNEL_OBJECT", "KERNARG_ADDRESS", "RESERVED2", "COMPLETION_SIGNAL"]


class Results:
    """What was compared."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def same(self, what, shown, expected):
        """Counts a comparison, and says which failed."""
        if shown == expected:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {what}: the page shows {shown!r}, the trace has {expected!r}", flush=True)


def words(event, member="words"):
    """A member's numbers."""
    return [int(word, 16) for word in event[member]]


class Traces:
    """Both traces of a chip's run, as far as one scene goes."""

    def __init__(self, folder):
        with open(os.path.join(folder, "trace.jsonl"), encoding="utf-8") as file:
            self.device = [json.loads(line) for line in file]
        with open(os.path.join(folder, "driver.txt"), encoding="utf-8", errors="replace") as file:
            self.driver = file.read().splitlines()

    def scene(self, name):
        """The driver's lines of a scene."""
        begin = next(i for i, line in enumerate(self.driver) if f"scene={name}" in line and "tracing_mark_write" in line)
        rest = self.driver[begin + 1:]
        end = next(i for i, line in enumerate(rest) if "tracing_mark_write" in line)
        return rest[:end]

    def first(self, ev, **members):
        """The device's first event of a kind."""
        return next(e for e in self.device if e["ev"] == ev and all(e.get(k) == v for k, v in members.items()))


def field(name):
    """The script that reads a field's value from the page."""
    return f"document.querySelector('.step [data-field={name}]')?.dataset.value"


def go(browser, address):
    """Follows a link into the page."""
    browser.value(f"location.hash = '{address}'; new Promise(done => setTimeout(done, 50))")


def find(browser, kind):
    """Steps forward, by keys, until a step of a kind; whether there is one."""
    for _ in range(3000):
        if browser.value("document.querySelector('.step').dataset.kind") == kind:
            return True
        before = browser.value("document.body.dataset.step")
        browser.key("ArrowRight")
        if browser.value("document.body.dataset.step") == before:
            return False
    return False


def dump(browser):
    """The words of the dump, by their place."""
    return {int(k): int(v, 16) for k, v in browser.value(
        "Object.fromEntries([...document.querySelectorAll('.step .dump [data-word]')].map(e => [e.dataset.word, e.textContent]))").items()}


def dispatch(browser, results, chip, traces, pictures):
    """The scene of one dispatch."""
    go(browser, f"dispatch/{chip}/1")
    lines = traces.scene("dispatch")
    requests = sum("rkfd_ioctl_enter" in line for line in lines)

    results.same(f"{chip}: CREATE_QUEUE is there", find_title(browser, "CREATE_QUEUE"), True)
    line = next(x for x in lines if "rkfd_ioctl_enter: number=0x2 " in x)
    given = bytes.fromhex(re.search(r"argument=([0-9a-f]+)", line)[1])
    # struct kfd_ioctl_create_queue_args: ring_base_address, write_pointer_address, read_pointer_address, doorbell_offset, ring_size.
    ring, write, read, _, size = struct.unpack_from("<QQQQI", given)
    for name, value in [("ring_base_address", ring), ("write_pointer_address", write), ("read_pointer_address", read), ("ring_size", size)]:
        results.same(f"{chip}: {name}", browser.value(field(name)), hex(value))
    browser.shot(os.path.join(pictures, f"{chip}-create-queue.png"))

    results.same(f"{chip}: an MQD is there", find(browser, "device.mqd_word"), True)
    mqd = browser.value("document.querySelector('.step [data-fact=mqd]').textContent")
    expected = {}
    for e in traces.device:
        if e["ev"] == "mqd_word" and e["mqd"] == mqd:
            if e["index"] in expected:
                break
            expected[e["index"]] = int(e["value"], 16)
    shown = dump(browser)
    results.same(f"{chip}: words of the MQD", {k: v for k, v in shown.items() if v}, expected)
    browser.shot(os.path.join(pictures, f"{chip}-mqd.png"))

    results.same(f"{chip}: a packet is there", find(browser, "device.aql"), True)
    packet = traces.first("aql", type="KERNEL_DISPATCH")
    values = PACKET.unpack(struct.pack("<16I", *words(packet)))
    for name, value in zip(PACKET_FIELDS, values):
        results.same(f"{chip}: {name}", browser.value(field(name)), hex(value))
    browser.shot(os.path.join(pictures, f"{chip}-packet.png"))

    results.same(f"{chip}: a walk is there", find(browser, "device.page_walk"), True)
    va = browser.value("document.querySelector('.step [data-fact=va]').textContent")
    walk = next(e for e in traces.device if e["ev"] == "page_walk" and e["va"] == va)
    entries = browser.value("[...document.querySelectorAll('.step [data-entry]')].map(e => e.dataset.entry)")
    results.same(f"{chip}: entries of {va}", entries, [walk["base"], *walk["entries"]])
    browser.shot(os.path.join(pictures, f"{chip}-walk.png"))

    results.same(f"{chip}: the signal is there", find(browser, "device.signal"), True)
    signal = traces.first("signal")
    low, high = words(signal)[2:4]
    results.same(f"{chip}: the signal's value", browser.value(field("VALUE")), hex((low | high << 32) - 1))
    results.same(f"{chip}: the signal's event", browser.value(field("EVENT_ID")), hex(words(signal)[6]))

    results.same(f"{chip}: an IH entry is there", find(browser, "device.ih_write"), True)
    # amdgpu_ih_decode_iv_helper: client and source in the first word, PASID in the fourth.
    entry = words(traces.first("ih_write"))
    for name, value in [("CLIENT_ID", entry[0] & 0xff), ("SOURCE_ID", entry[0] >> 8 & 0xff), ("PASID", entry[3] & 0xffff), ("DATA_0", entry[4])]:
        results.same(f"{chip}: {name}", browser.value(field(name)), hex(value))
    browser.shot(os.path.join(pictures, f"{chip}-interrupt.png"))

    # By keys to the end: each step is drawn.
    while browser.value("document.body.dataset.step !== String(Number(document.getElementById('time').max) + 1)"):
        browser.key("ArrowRight")
    results.same(f"{chip}: requests", browser.value("document.querySelector('[data-count=requests]').textContent"), str(requests))
    results.same(f"{chip}: packets", browser.value("document.querySelector('[data-count=packets]').textContent"), "1")


def find_title(browser, title):
    """Steps forward until a title."""
    for _ in range(3000):
        if browser.value("document.querySelector('.step h2').textContent") == title:
            return True
        before = browser.value("document.body.dataset.step")
        browser.key("ArrowRight")
        if browser.value("document.body.dataset.step") == before:
            return False
    return False


def queues(browser, results, chip, traces, pictures):
    """The scene with more queues than hardware queues."""
    go(browser, f"queues/{chip}/1")
    # The most hardware queues that were taken at a time, at the ends of the page's steps.
    taken = browser.value("""(async () => {
        let most = 0, at = 0;
        for (let i = 0; i <= Number(document.getElementById('time').max); i++) {
            const now = document.querySelectorAll('.slot.taken').length;
            if (now > most) [most, at] = [now, i];
            document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
        }
        return [most, at];
    })()""")
    names = {e["queue"] for e in traces.device if e["ev"] == "queue_connect" and e["queue"].startswith("me1")}
    created = sum("rkfd_ioctl_enter: number=0x2 " in line for line in traces.scene("queues"))
    results.same(f"{chip}: hardware queues taken at once", taken[0], len(names))
    results.same(f"{chip}: more queues than these", created > len(names), True)
    go(browser, f"queues/{chip}/{taken[1] + 1}")
    browser.shot(os.path.join(pictures, f"{chip}-queues.png"))


def fault(browser, results, chip, traces, pictures):
    """The scene with a page fault."""
    go(browser, f"fault/{chip}/1")
    told = next(line for line in traces.scene("fault") if "rkfd_fault:" in line)
    results.same(f"{chip}: a fault is there", find(browser, "device.vm_fault"), True)
    browser.shot(os.path.join(pictures, f"{chip}-fault.png"))
    results.same(f"{chip}: the driver's fault is there", find(browser, "driver.fault"), True)
    address = browser.value("document.querySelector('.step [data-fact=address]').textContent")
    results.same(f"{chip}: the address of the fault", address, re.search(r"address=(0x[0-9a-f]+)", told)[1])


def looks(browser, results, chips, pictures):
    """Small screens, dark and light, both chips side by side, boxes and keys."""
    go(browser, f"dispatch/{chips[0]}/1")
    find(browser, "device.aql")
    at = browser.value("document.body.dataset.step")
    browser.key("ArrowLeft")
    results.same("a step back", browser.value("document.body.dataset.step"), str(int(at) - 1))
    browser.key("ArrowRight")
    if len(chips) > 1:
        browser.key("s")
        kinds = browser.value("[...document.querySelectorAll('.step')].map(e => e.dataset.kind)")
        results.same("side by side", kinds, ["device.aql", "device.aql"])
        browser.screen(1800, 1300)
        browser.shot(os.path.join(pictures, "side-by-side.png"))
        browser.key("s")
    browser.screen(1440, 1000, dark=True)
    browser.shot(os.path.join(pictures, "dark.png"))
    browser.screen(390, 844, small=True)
    wide = browser.value("document.documentElement.scrollWidth - innerWidth")
    results.same("nothing is wider than a small screen", wide <= 0, True)
    browser.shot(os.path.join(pictures, "small.png"), whole=True)
    browser.screen(1440, 1000)
    browser.value("document.querySelector('[data-box=mqd]').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    shown = browser.value("document.querySelector('.step').dataset.kind")
    results.same("a box shows what it had last", shown in ("driver.mqd", "driver.queue"), True)


def main():
    root, folder, *chips = sys.argv[1:]
    pictures = os.path.join(folder, "see")
    os.makedirs(pictures, exist_ok=True)
    results, browser = Results(), Browser(root, folder, "dispatch.html")
    browser.screen(1440, 1000)
    for chip in chips:
        traces = Traces(os.path.join(folder, "vm", chip, "see"))
        dispatch(browser, results, chip, traces, pictures)
        queues(browser, results, chip, traces, pictures)
        fault(browser, results, chip, traces, pictures)
    looks(browser, results, chips, pictures)
    browser.close()
    for wrong in browser.wrong:
        print(f"FAIL the browser reports: {wrong}")
    failed = results.failed + len(browser.wrong)
    print(f"{results.passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
