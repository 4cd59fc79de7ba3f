#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Make the documents into pages: docs-site.py --out FOLDER [--top FOLDER]

One HTML file for each Markdown file, none of which needs a network. A word of the glossary is a link to its line there,
where a page first has it. Links are checked in the result: each has a file, and its anchor is in it.
"""
import argparse
import html
import os
import pathlib
import re
import shutil
import sys

STYLE = """:root{color-scheme:light dark;--ground:#fff;--text:#1b2230;--soft:#5d6778;--line:#dfe3ea;--accent:#2457d6;--code:#f3f5f8}
@media(prefers-color-scheme:dark){:root{--ground:#10141b;--text:#e6eaf2;--soft:#9aa6ba;--line:#2a3342;--accent:#7ea6ff;--code:#1a212c}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--text);font:16px/1.6 system-ui,sans-serif;display:grid;
grid-template-columns:230px minmax(0,1fr)}nav{border-right:1px solid var(--line);padding:20px;height:100vh;position:sticky;top:0;overflow:auto;font-size:14px}
nav a{display:block;padding:2px 0;color:var(--soft);text-decoration:none}nav a.on{color:var(--text);font-weight:700}nav b{display:block;margin-top:14px}
img{max-width:100%}main{max-width:900px;padding:20px 32px 80px;overflow-wrap:anywhere}a{color:var(--accent)}a.word{color:inherit;text-decoration:underline dotted var(--soft)}
code,pre{font-family:ui-monospace,monospace;font-size:.88em;background:var(--code);border-radius:5px}code{padding:1px 4px}pre{padding:12px;overflow:auto}
pre code{padding:0}table{border-collapse:collapse;display:block;overflow:auto}th,td{border:1px solid var(--line);padding:5px 10px;text-align:left;vertical-align:top}
tr:target{background:var(--code)}@media(max-width:760px){body{display:block}nav{height:auto;position:static;border:0;columns:2}main{padding:8px 16px}}"""

INLINE = re.compile(r"(`+)(.+?)\1|(!?)\[((?:[^\]`]|`[^`]*`)+)\]\(([^)\s]+)\)|\*\*(.+?)\*\*|<(https?://[^>]+)>")


def anchor(text):
    """The id of a heading, as GitHub makes it."""
    text = re.sub(r"[`*]|\]\([^)]*\)|\[", "", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Page:
    """A document's page."""

    def __init__(self, site, source):
        self.site, self.source = site, source
        self.seen, self.is_glossary = set(), source.name == "glossary.md"

    def link(self, target):
        """Where a link of the document leads in the site: documents to pages, other files to what they are."""
        if re.match(r"https?:|mailto:|#", target):
            return target
        path, _, mark = target.partition("#")
        place = pathlib.Path(os.path.normpath(self.source.parent / path))
        if place in self.site.pages:
            place = self.site.pages[place]
        else:
            place = self.site.keep(place)
        here = self.site.pages[self.source].parent
        return os.path.relpath(place, here) + (f"#{mark}" if mark else "")

    def picture(self, target):
        """Where a picture of the document is in the site."""
        place = self.site.keep_picture(pathlib.Path(os.path.normpath(self.source.parent / target)))
        return os.path.relpath(place, self.site.pages[self.source].parent)

    def inline(self, text, words=True):
        """Text with code, links and emphasis."""
        out, at = [], 0
        for found in INLINE.finditer(text):
            out.append(self.words(text[at:found.start()], words))
            at = found.end()
            code, picture, label, target, bold, url = found[2], found[3], found[4], found[5], found[6], found[7]
            if code is not None:
                out.append(f"<code>{html.escape(code.strip())}</code>")
            elif picture:
                out.append(f'<img src="{html.escape(self.picture(target))}" alt="{html.escape(label)}">')
            elif label is not None:
                out.append(f'<a href="{html.escape(self.link(target))}">{self.inline(label, False)}</a>')
            elif bold is not None:
                out.append(f"<b>{self.inline(bold, words)}</b>")
            else:
                out.append(f'<a href="{html.escape(url)}">{html.escape(url)}</a>')
        return "".join(out) + self.words(text[at:], words)

    def words(self, text, linked):
        """Words of the glossary, each once on a page."""
        if not linked or self.is_glossary:
            return html.escape(text, quote=False)

        def one(found):
            word = found[0]
            if word in self.seen or word not in self.site.glossary:
                return word
            self.seen.add(word)
            mark, meaning = self.site.glossary[word]
            there = os.path.relpath(self.site.pages[self.site.docs / "glossary.md"], self.site.pages[self.source].parent)
            return f'<a class="word" href="{there}#{mark}" title="{html.escape(meaning)}">{word}</a>'

        return re.sub(r"\b[A-Z][A-Za-z]*[A-Z]\b", one, html.escape(text, quote=False))

    def blocks(self, lines):
        """HTML of some lines."""
        out, i = [], 0
        while i < len(lines):
            line = lines[i]
            if not line.strip() or re.fullmatch(r"<!--.*-->", line.strip()):
                i += 1
            elif line.startswith("```"):
                end = next((n for n in range(i + 1, len(lines)) if lines[n].startswith("```")), len(lines))
                out.append(f"<pre><code>{html.escape(chr(10).join(lines[i + 1:end]))}</code></pre>")
                i = end + 1
            elif line.startswith("    "):
                end = next((n for n in range(i, len(lines)) if lines[n].strip() and not lines[n].startswith("    ")), len(lines))
                out.append(f"<pre><code>{html.escape(chr(10).join(x[4:] for x in lines[i:end]).rstrip())}</code></pre>")
                i = end
            elif found := re.match(r"(#+) (.*)", line):
                level = len(found[1])
                out.append(f'<h{level} id="{anchor(found[2])}">{self.inline(found[2], False)}</h{level}>')
                i += 1
            elif line.startswith("|"):
                end = next((n for n in range(i, len(lines)) if not lines[n].startswith("|")), len(lines))
                out.append(self.table(lines[i:end]))
                i = end
            elif found := re.match(r"([*-]|\d+\.) +", line):
                i = self.listing(lines, i, found, out)
            else:
                end = next((n for n in range(i + 1, len(lines)) if not lines[n].strip() or re.match(r"```|#+ |\||[*-] |\d+\. ", lines[n])), len(lines))
                text = " ".join(part.strip() for part in lines[i:end])
                out.append(f"<p>{self.inline(text.lstrip('> '))}</p>" if not line.startswith(">") else f"<blockquote>{self.inline(text.replace('> ', ''))}</blockquote>")
                i = end
        return "\n".join(out)

    def listing(self, lines, i, found, out):
        """A list from line `i` on; where it ends."""
        kind, items = "ul" if found[1] in "*-" else "ol", []
        first = 1 if kind == "ul" else int(found[1][:-1])
        while i < len(lines) and (found := re.match(r"([*-]|\d+\.) +", lines[i])) and (found[1] in "*-") == (kind == "ul"):
            indent, item = len(found[0]), [lines[i][len(found[0]):]]
            i += 1
            while i < len(lines) and (lines[i].startswith(" " * min(indent, 2)) or (not lines[i].strip() and i + 1 < len(lines) and lines[i + 1].startswith(" " * indent))):
                item.append(lines[i][indent:] if lines[i].startswith(" " * indent) else lines[i].strip())
                i += 1
            inner = self.blocks(item)
            items.append("<li>" + re.sub(r"^<p>(.*?)</p>", r"\1", inner, count=1, flags=re.S) + "</li>")
            while i < len(lines) and not lines[i].strip() and i + 1 < len(lines) and re.match(r"([*-]|\d+\.) +", lines[i + 1]):
                i += 1
        start = f' start="{first}"' if first != 1 else ""
        out.append(f"<{kind}{start}>" + "\n".join(items) + f"</{kind}>")
        return i

    def table(self, lines):
        """A table."""
        rows = []
        for nth, line in enumerate(lines):
            if nth == 1:
                continue
            cells = [c.replace("\0", "|").strip() for c in line.strip().strip("|").replace("\\|", "\0").split("|")]
            tag = "th" if nth == 0 else "td"
            mark = f' id="{anchor(cells[0])}"' if self.is_glossary and nth else ""
            rows.append(f"<tr{mark}>" + "".join(f"<{tag}>{self.inline(c)}</{tag}>" for c in cells) + "</tr>")
        return "<table>" + "\n".join(rows) + "</table>"


class Site:
    """All pages."""

    def __init__(self, top, out):
        self.top, self.out, self.docs = top, out, top / "docs"
        sources = [*sorted(top.glob("*.md")), *sorted(top.glob("docs/**/*.md"))]
        self.pages = {s: out / s.relative_to(top).with_suffix(".html") for s in sources}
        self.kept, self.glossary = {}, {}
        for line in (self.docs / "glossary.md").read_text().split("\n")[4:]:
            cells = [c.strip() for c in line.strip("|").split("|")]
            if len(cells) == 2 and cells[0] not in ("word", "---"):
                for word in cells[0].split(", "):
                    self.glossary[word] = (anchor(cells[0]), cells[1].replace("`", ""))

    def keep(self, place):
        """A source that a document links to, so that the link leads somewhere: it is copied as text."""
        if not place.exists():
            raise SystemExit(f"no such file: {place}")
        if place.is_dir():
            listing = "\n".join(sorted(p.name for p in place.iterdir()))
            target = self.out / "files" / place.relative_to(self.top) / "folder.txt"
            self.kept[target] = listing
            return target
        target = self.out / "files" / (str(place.relative_to(self.top)) + ".txt")
        self.kept[target] = place
        return target

    def keep_picture(self, place):
        """A picture that a document shows: it is copied as it is."""
        if not place.is_file():
            raise SystemExit(f"no such file: {place}")
        target = self.out / "files" / place.relative_to(self.top)
        self.kept[target] = place
        return target

    def title(self, source):
        """A page's title: its first heading."""
        return next((line[2:] for line in source.read_text().split("\n") if line.startswith("# ")), source.stem)

    def write(self):
        """Writes all."""
        shutil.rmtree(self.out, ignore_errors=True)
        for source, target in self.pages.items():
            page, links, folder = Page(self, source), [], None
            for other, place in self.pages.items():
                if other.parent != folder:
                    folder = other.parent
                    links.append(f"<b>{folder.relative_to(self.top) if folder != self.top else 'rkfd'}</b>")
                on = ' class="on"' if other == source else ""
                links.append(f'<a{on} href="{os.path.relpath(place, target.parent)}">{html.escape(self.title(other))}</a>')
            body = page.blocks(source.read_text().split("\n"))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
                              f"<title>{html.escape(self.title(source))}</title><style>{STYLE}</style></head>\n<body><nav>{''.join(links)}</nav><main>{body}</main></body></html>\n")
        for target, what in self.kept.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(what if isinstance(what, str) else what.read_text(errors="replace"))

    def dead(self):
        """Links that lead nowhere."""
        ids = {t: set(re.findall(r'\bid="([^"]*)"', t.read_text())) for t in self.pages.values()}
        for target in self.pages.values():
            for link in re.findall(r'(?:href|src)="([^"]*)"', target.read_text()):
                link = html.unescape(link)
                if re.match(r"https?:|mailto:", link):
                    continue
                path, _, mark = link.partition("#")
                place = pathlib.Path(os.path.normpath(target.parent / path)) if path else target
                if not place.exists() or (mark and mark not in ids.get(place, ())):
                    yield f"{target.relative_to(self.out)}: {link} leads nowhere"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--top", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    given = arguments.parse_args()
    site = Site(given.top.resolve(), given.out.resolve())
    site.write()
    dead = list(site.dead())
    print("\n".join(dead), end="\n" if dead else "")
    sys.exit(len(dead) > 0)


if __name__ == "__main__":
    main()
