#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The checks of documents find what they are for: setup/docs.py and setup/docs-site.py, on documents made here."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SETUP = pathlib.Path(__file__).resolve().parents[2] / "setup"
GLOSSARY = "# Glossary\n\nText.\n\n| word | meaning |\n|---|---|\n| HQD | Hardware queue descriptor |\n"


def run(script, files, *arguments):
    """The script's exit status and output, for a checkout of some files."""
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        for name, text in {"docs/dispatch.md": "# D\n", "docs/glossary.md": GLOSSARY, **files}.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text)
        command = [sys.executable, SETUP / script, "--top", folder, *(a.replace("TOP", folder) for a in arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        pages = {str(p.relative_to(top)): p.read_text() for p in top.glob("out/**/*.html")}
        return done.returncode, done.stdout + done.stderr, pages


class Docs(unittest.TestCase):
    """setup/docs.py."""

    def test_good(self):
        files = {"README.md": "[d](docs/dispatch.md#d-e) `rust/a.rs::f` [own](#x)\n\n# X\n", "rust/a.rs": "pub fn f() {}\n",
                 "docs/dispatch.md": "# D `e`\n\n1. It\n   [`rust/a.rs::f`](../rust/a.rs).\n\n## More\n"}
        self.assertEqual(run("docs.py", files)[:2], (0, ""))

    def test_bad(self):
        code = {"rust/a.rs": "pub fn f() {}\n"}
        for text, message in [("[d](docs/absent.md)", "no such file"), ("[d](docs/dispatch.md#e)", "no such file: docs/dispatch.md#e"),
                              ("`rust/a.rs::g`", "not defined there"), ("`rust/b.rs`", "no such file")]:
            status, output, _ = run("docs.py", {"README.md": text, **code})
            self.assertEqual(status, 1, text)
            self.assertIn(message, output)
        status, output, _ = run("docs.py", {"docs/dispatch.md": "# D\n\n1. It: `rust/a.rs`.\n2. `rust/a.rs::f`.\n", **code})
        self.assertEqual((status, output), (1, "docs/dispatch.md: step 1 names no function\n"))


    def test_tables(self):
        code = {"rust/a.rs": "one\ntwo two\n"}
        block = "A rust/a.rs\n- {}\n+ else\n"
        for text, count in [("one", None), ("two", 2), ("three", 0)]:
            files = {"tests/kunit/mutants.txt": "# No.\n\nround 1\n\n" + block.format(text), **code}
            status, output, _ = run("docs.py", files)
            wanted = "" if count is None else f"tests/kunit/mutants.txt: A: its text is {count} times in rust/a.rs\n"
            self.assertEqual((status, output), (int(count is not None), wanted), text)


class Site(unittest.TestCase):
    """setup/docs-site.py."""

    def test_pages(self):
        text = "# T & U\n\nAn HQD, again HQD, `HQD`.\n\n* one\n  more\n* **two**\n\n| a | b |\n|---|---|\n| 1 | `x\\|y` |\n\n    <code>\n"
        status, output, pages = run("docs-site.py", {"docs/a.md": text, "README.md": "[a](docs/a.md#t--u)"}, "--out", "TOP/out")
        self.assertEqual((status, output), (0, ""))
        page = pages["out/docs/a.html"]
        for part in ['<h1 id="t--u">T &amp; U</h1>', "<li>one more</li>", "<li><b>two</b></li>", "<td><code>x|y</code></td>", "&lt;code&gt;"]:
            self.assertIn(part, page)
        self.assertEqual(page.count('<a class="word" href="glossary.html#hqd"'), 1)

    def test_pictures(self):
        picture = '<svg xmlns="http://www.w3.org/2000/svg"/>'
        files = {"docs/a.md": "# A\n\n<!-- nobody sees this -->\n\n![curve](a/b.svg)\n", "docs/a/b.svg": picture}
        status, output, pages = run("docs-site.py", files, "--out", "TOP/out")
        self.assertEqual((status, output), (0, ""))
        self.assertIn('<img src="../files/docs/a/b.svg" alt="curve">', pages["out/docs/a.html"])
        self.assertNotIn("nobody", pages["out/docs/a.html"])
        status, output, _ = run("docs-site.py", {"docs/a.md": "![curve](absent.svg)"}, "--out", "TOP/out")
        self.assertEqual(status, 1)
        self.assertIn("no such file", output)

    def test_dead_links(self):
        status, output, _ = run("docs-site.py", {"README.md": "# R\n\n[a](docs/dispatch.md#absent)"}, "--out", "TOP/out")
        self.assertEqual((status, output), (1, "README.html: docs/dispatch.html#absent leads nowhere\n"))
        self.assertIn("no such file", run("docs-site.py", {"README.md": "[a](absent.md)"}, "--out", "TOP/out")[1])


if __name__ == "__main__":
    unittest.main()
