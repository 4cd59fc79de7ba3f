# SPDX-License-Identifier: MIT OR Apache-2.0
"""Curves of how costs grow, as SVG: both axes are logarithmic, so that a cost in proportion rises as the dotted lines
do, and one that doesn't grow is level."""
import html
import math

WIDTH, HEIGHT = 880, 460
LEFT, RIGHT, TOP, BOTTOM = 70, 340, 40, 50
COLOURS = ("#1f5fbf", "#c2410c", "#15803d", "#7e22ce", "#b91c1c", "#0e7490", "#a16207", "#4b5563")
# The drawings: what each is called, its title, the texts of which a curve's name has one, and what lies below.
GROUPS = [
    ("queues-of-one", "CREATE_QUEUE and DESTROY_QUEUE beside queues of the same process", ("-of-this-process",), ("_QUEUE/",), "queues there"),
    ("queues-of-many", "CREATE_QUEUE and DESTROY_QUEUE beside queues of 64 processes", ("-of-64-processes",), ("_QUEUE/",), "queues there"),
    ("objects-of-one", "Memory requests beside objects of the same process", ("objects-of-this-process",), ("_GPU/",), "objects there"),
    ("objects-of-another", "Memory requests beside objects of another process", ("objects-of-another-process",), ("_GPU/",), "objects there"),
    ("events", "Waits for events", ("WAIT_EVENTS/events", "threads-that-wait"), ("EVENT",), "events or threads there"),
    ("signals", "From a dispatch to the waiter's waking", ("/processes",), ("dispatch",), "processes there"),
    ("exits", "A process ends", ("exit/",), ("exit/",), "objects, queues or events of it"),
]


def chosen(runs, ends, names):
    """The curves of a drawing, each with its label: (label, is dashed, colour, points)."""
    wanted = [c["name"] for run in runs for c in run["curves"] if any(e in c["name"] for e in ends) and any(n in c["name"] for n in names)]
    wanted = list(dict.fromkeys(wanted))
    for number, run in enumerate(runs):
        for curve in run["curves"]:
            if curve["name"] in wanted:
                colour = COLOURS[wanted.index(curve["name"]) % len(COLOURS)]
                yield f"{curve['name']}, {run['chip']}", number > 0, colour, [(p["n"], p["ratio"]) for p in curve["points"]]


def decades(low, high):
    """The powers of 10 around what lies between two numbers."""
    return math.floor(math.log10(low)), max(math.ceil(math.log10(high)), math.floor(math.log10(low)) + 1)


def draw(title, below, lines):
    """One drawing. A number of 0 is drawn where 1 is, less a bit."""
    place = {0: 0.5}
    xs = [place.get(n, n) for _, _, _, points in lines for n, _ in points]
    ys = [y for _, _, _, points in lines for _, y in points]
    x0, x1 = math.log10(min(xs)) - 0.05, math.log10(max(xs)) + 0.1
    y0, y1 = decades(min(ys), max(ys))

    def across(n):
        return LEFT + (math.log10(place.get(n, n)) - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)

    def down(y):
        return HEIGHT - BOTTOM - (math.log10(y) - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)

    def write(x, y, words, anchor="start", extra=""):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{html.escape(words)}</text>'

    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           f'font-family="system-ui,sans-serif" font-size="12" fill="#1b2230" role="img" aria-label="{html.escape(title)}">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>', write(LEFT, 22, title, extra=' font-size="15"')]
    for power in range(y0, y1 + 1):
        y = down(10 ** power)
        out.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#dfe3ea"/>')
        out.append(write(LEFT - 8, y + 4, f"{10 ** power:,}" if power >= 0 else f"{10 ** power:g}", "end"))
    # Lines of slope 1, each through a power of 10 at the left.
    out.append(f'<clipPath id="inside"><path d="M{LEFT} {TOP}H{right}V{bottom}H{LEFT}Z"/></clipPath>')
    for power in range(y0 - math.ceil(x1 - x0), y1):
        y = HEIGHT - BOTTOM - (power + x1 - x0 - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)
        out.append(f'<path d="M{LEFT} {HEIGHT - BOTTOM - (power - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM):.1f}L{right} {y:.1f}" '
                   'stroke="#c3cad6" stroke-dasharray="1 5" clip-path="url(#inside)"/>')
    for n in sorted({n for _, _, _, points in lines for n, _ in points}):
        x = across(n)
        out.append(f'<path d="M{x:.1f} {bottom}v5" stroke="#5d6778"/>')
        out.append(write(x, bottom + 17, f"{n // 1000}k" if n >= 10_000 else str(n), "middle", ' font-size="10"'))
    out.append(f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#5d6778"/>')
    out.append(write((LEFT + right) / 2, HEIGHT - 12, below, "middle"))
    out.append(write(18, (TOP + bottom) / 2, "times the floor", "middle", f' transform="rotate(-90 18 {(TOP + bottom) / 2:.1f})"'))
    for number, (label, dashed, colour, points) in enumerate(lines):
        path = " ".join(f"{across(n):.1f},{down(y):.1f}" for n, y in points)
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        out += [f'<circle cx="{across(n):.1f}" cy="{down(y):.1f}" r="3" fill="{colour}"/>' for n, y in points]
        y = TOP + 10 + 17 * number
        out.append(f'<path d="M{right + 12} {y - 4}h22" stroke="{colour}" stroke-width="2"{dash}/>')
        out.append(write(right + 40, y, label, extra=' font-size="10"'))
    return "\n".join(out) + "\n</svg>\n"


def drawings(runs):
    """Yield (file's name, title, SVG) of each drawing of which something was measured."""
    for name, title, ends, names, below in GROUPS:
        lines = [line for line in chosen(runs, ends, names) if line[3]]
        if lines:
            yield name, title, draw(title, below, lines)
