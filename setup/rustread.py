# SPDX-License-Identifier: MIT OR Apache-2.0
"""Read Rust sources just well enough to know which module names which other module.

No macro is expanded and no type is resolved: what counts are `use` declarations and paths that
start with `crate::`, `super::` or `self::`, outside of comments, strings and tests.
"""
import re

TEST_FILE = re.compile(r"(^|/)(tests|kunit)(\.rs$|/)")
TOKEN = re.compile(r'''//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\\n])\'''', re.S)
TEST_ITEM = re.compile(r'#\[(?:cfg\((?:test|CONFIG_KUNIT\b[^)]*|all\(test[^)]*\)[^)]*)\)|kunit_tests\([^)]*\))\]')
PATH = re.compile(r"(?<![:\w$])((?:crate|super|self)(?:::\w+)+)")
USE = re.compile(r"\buse\s+([^;]+);")
MOD = re.compile(r"\bmod\s+(\w+)\s*;")


def blank(text):
    """The text with everything but line ends replaced by spaces."""
    return re.sub(r"[^\n]", " ", text)


def item_end(code, start):
    """Where the item that starts at `start` ends: at its `;`, or at the brace that closes it."""
    depth = 0
    for at in range(start, len(code)):
        if code[at] in "{([":
            depth += 1
        elif code[at] in "})]":
            depth -= 1
            if depth == 0 and code[at] == "}":
                return at + 1
        elif code[at] == ";" and depth == 0:
            return at + 1
    return len(code)


class File:
    """One source file: its lines as written, and its code without comments, strings and tests."""

    def __init__(self, path, shown, module="", tests=False):
        self.path, self.module = shown, module
        text = path.read_text()
        self.lines = text.split("\n")
        code = TOKEN.sub(lambda m: blank(m.group()), text)
        if not tests:
            while found := TEST_ITEM.search(code):
                end = item_end(code, found.end())
                code = code[:found.start()] + blank(code[found.start():end]) + code[end:]
        self.code = code
        self.children = set(MOD.findall(code))

    def imports(self, modules):
        """Yield (line, module) for each module that this file names, itself left out."""
        seen = set()
        for line, path in self.paths():
            target = self.resolve(path, modules)
            if target and target != self.module and (target, line) not in seen:
                seen.add((target, line))
                yield line, target

    def paths(self):
        """Yield (line, path) for each path of a `use` and each path in an expression."""
        uses = []
        for found in USE.finditer(self.code):
            uses.append(found.span())
            for offset, path in expand(found.group(1)):
                yield self.code.count("\n", 0, found.start(1) + offset) + 1, path
        for found in PATH.finditer(self.code):
            if not any(a <= found.start() < b for a, b in uses):
                yield self.code.count("\n", 0, found.start()) + 1, found.group(1)

    def resolve(self, path, modules):
        """The longest module of this tree that the path names, re-exports followed, or None."""
        parts = path.split("::")
        here = self.module.split("::") if self.module else []
        if parts[0] == "crate":
            parts = parts[1:]
        elif parts[0] in ("self", "super"):
            if parts[0] == "self":
                parts = parts[1:]
            while parts and parts[0] == "super":
                here, parts = here[:-1], parts[1:]
            parts = here + parts
        elif parts[0] in self.children:
            parts = here + parts
        else:
            return None
        return follow(parts, modules)

    def exports(self):
        """What names of this module stand for: name -> path, by its `use` declarations."""
        names = {}
        for found in USE.finditer(self.code):
            for _, path in expand(found.group(1)):
                path, _, alias = path.partition(" as ")
                names[alias or path.rsplit("::", 1)[-1]] = path
        return names


def follow(parts, modules, depth=0):
    """The module that a path leads to; a name that its module re-exports leads to where it is made."""
    for length in range(len(parts), -1, -1):
        name = "::".join(parts[:length])
        if name in modules:
            break
    else:
        return None
    if length < len(parts) and depth < 4:
        file = modules[name]
        again = file.exports().get(parts[length]) if hasattr(file, "code") else None
        if again and again.split("::")[0] in ({"crate", "self", "super"} | file.children):
            target = again.split("::")
            if target[0] == "crate":
                full = target[1:]
            else:
                base = name.split("::") if name else []
                if target[0] == "self":
                    target = target[1:]
                while target and target[0] == "super":
                    base, target = base[:-1], target[1:]
                full = base + target
            if full != parts:
                return follow(full, modules, depth + 1)
    return name if name else None


def expand(tree, base=""):
    """Yield (offset, path) for each leaf of a use tree such as `a::{b, c::{self, d}}`."""
    at, depth, start = 0, 0, 0
    brace = tree.find("{")
    if brace < 0:
        path = re.sub(r"\s+", " ", tree.strip())
        path = re.sub(r"\s*::\s*", "::", path)
        if path:
            full = base + path
            yield len(tree) - len(tree.lstrip()), re.sub(r"::self( as \w+)?$", r"\1", full)
        return
    prefix, inner = tree[:brace].strip(), brace + 1
    end = tree.rfind("}")
    start = inner
    for at in range(inner, end + 1):
        if tree[at] == "{":
            depth += 1
        elif tree[at] == "}" and at != end:
            depth -= 1
        if at == end or (tree[at] == "," and depth == 0):
            for offset, path in expand(tree[start:at], base + prefix):
                yield start + offset, path
            start = at + 1


def modules(root, top):
    """The files of a tree by module path; the crate's root file has the empty path."""
    found = {}
    folder = root.parent
    for path in sorted(folder.rglob("*.rs")):
        inside = path.relative_to(folder)
        if TEST_FILE.search(str(inside)) or inside.parts[0] == "bin":
            continue
        parts = list(inside.with_suffix("").parts)
        if parts[-1] == "mod":
            parts.pop()
        name = "" if path == root else "::".join(parts)
        found[name] = File(path, path.relative_to(top), name)
    return found


def sources(top, folders, excepted):
    """The Rust files below these folders, without the excepted ones and without test files."""
    for folder in folders:
        base = top / folder
        for path in sorted([base] if base.is_file() else base.rglob("*.rs")):
            shown = str(path.relative_to(top))
            if not any(shown.startswith(start) for start in excepted):
                yield path


def circles(arrows):
    """Groups of modules that reach each other; arrows between a parent and what is below don't count."""
    def related(a, b):
        return (a + "::").startswith(b + "::") or (b + "::").startswith(a + "::")

    graph = {a: {b for b in targets if not related(a, b)} for a, targets in arrows.items()}
    reach = {}
    for start in graph:
        seen, todo = set(), [start]
        while todo:
            for target in graph.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        reach[start] = seen
    groups = {}
    for a in sorted(graph):
        group = tuple(sorted({a} | {b for b in reach[a] if a in reach.get(b, ())}))
        if len(group) > 1:
            groups[group] = True
    return [list(group) for group in groups]
