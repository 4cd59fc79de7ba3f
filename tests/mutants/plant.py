#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plants mutants into a copy of the module's sources: tests/mutants/plant.py COPY | --check

All of them go into one build. Each is a place where the module does one thing less if its number
is the module's parameter `mutant`, or one of `also_0` and so on, and all else is as it was. So one module holds all mutants, and
no list of them is written by hand: they come from the sources' own text, by four rules. A mutant's text
begins with the function that it is in.

  field      a field of a register, packet, MQD or frame is zero
  statement  a statement of a function is left out
  guard      a condition that ends a function or a turn of a loop is never true
  flag       a flag of a page-table entry or a word is left out

The copy holds Kbuild, hw/, uapi/ and rust/. Lines stay where they are. COPY/mutants.tsv gets a line
for each: number, rule, file, line, text, and the how manieth with that text it is. COPY/refused.txt, if it
is there, names some that are not planted, because the compiler refuses them: rule, file, text, how manieth.

--check plants into a copy that goes again, and looks whether Kbuild finds its sources there, and whether each line of
equivalent.txt and omissions.txt names a mutant.
"""
import collections
import pathlib
import re
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
# What only describes (types, chip data, contracts), what tests, and what is the kernel's side.
LEFT_OUT = re.compile(r"rust/(glue|types|chip)(/|\.rs)|kunit|rust/rkfd_main\.rs|/microcode_stub")
KEYWORDS = re.compile(
    r"(let|return|use|break|continue|pub|mod|const|static|type|if|match|for|while|loop|unsafe|fn|impl"
    r"|where|else|struct|enum|trait|extern|assert\w*!|build_assert!|static_assert!|pr_\w+!|dev_\w+!|macro_rules!|stack_\w+!)\b|#|//|\$"
)
# So many can be on beside the first (`MOST` of tests/qemu/src/omissions.rs).
ALSO = 80
ROOT = """
/// Which mutants are on, and which places of mutants were met.
pub(crate) mod mutant {
    use kernel::{prelude::*, sync::atomic::{Atomic, Relaxed}};
    const MOST: usize = 8192;
    /// The parameter's value that reports what was met, at the module's end.
    const REPORT: u32 = u32::MAX;
    /// Bits: come to; it would have made a difference; the statement failed.
    static MET: [Atomic<u32>; MOST] = [const { Atomic::new(0) }; MOST];
    /// A bit for each that is on.
    static CHOSEN: [Atomic<u32>; MOST / 32] = [const { Atomic::new(0) }; MOST / 32];
    /// Before anything else: places are met at once.
    pub(crate) fn begin() {
        for n in [VALUES] {
            if let Some(word) = CHOSEN.get(n as usize / 32) {
                word.store(word.load(Relaxed) | 1 << (n % 32), Relaxed);
            }
        }
    }
    #[inline(never)]
    pub(crate) fn on(n: u32) -> bool {
        but(n, true) == false
    }
    /// Another zero would be the same, so that makes no difference. Without a call or a branch: in a chain
    /// that moves a whole MQD from call to call, these would cost stack.
    #[inline(always)]
    pub(crate) fn but<T: Default + PartialEq>(n: u32, value: T) -> T {
        let differs = value != T::default();
        if let Some(met) = MET.get(n as usize) {
            met.store(met.load(Relaxed) | 1 | u32::from(differs) << 1, Relaxed);
        }
        let chosen = CHOSEN.get(n as usize / 32).map_or(0, |word| word.load(Relaxed));
        if chosen >> (n % 32) & 1 != 0 { T::default() } else { value }
    }
    /// Notes that a statement failed, which ends its function: the scenario is likely to notice when it is left out.
    pub(crate) fn tried<T: Tried>(n: u32, result: T) -> T {
        if let (true, Some(met)) = (result.fails(), MET.get(n as usize)) {
            met.store(met.load(Relaxed) | 4, Relaxed);
        }
        result
    }
    pub(crate) trait Tried {
        fn fails(&self) -> bool;
    }
    impl<T, E> Tried for core::result::Result<T, E> {
        fn fails(&self) -> bool {
            self.is_err()
        }
    }
    impl<T> Tried for Option<T> {
        fn fails(&self) -> bool {
            self.is_none()
        }
    }
    /// `self`, or what `f` makes of it.
    pub(crate) trait Unless: Sized {
        #[inline(always)]
        fn unless(self, on: bool, f: impl FnOnce(Self) -> Self) -> Self {
            if on { self } else { f(self) }
        }
    }
    impl<T> Unless for T {}
    pub(crate) struct Report;
    impl Drop for Report {
        fn drop(&mut self) {
            if crate::module_parameters::mutant.value() != REPORT {
                return;
            }
            for (word, bit) in [("come to", 0), ("met", 1), ("failed", 2)] {
                for (at, part) in MET.chunks(32).enumerate() {
                    let bits = part.iter().rev().map(|met| met.load(Relaxed) >> bit & 1);
                    let bits = bits.fold(0u32, |bits, met| bits << 1 | met);
                    if bits != 0 {
                        pr_info!("mutants {word} {at} {bits:08x}\\n");
                    }
                }
            }
        }
    }
}
"""
PARAMETERS = ["mutant", *(f"also_{n}" for n in range(ALSO))]


def close(text, at):
    """The index of the bracket that closes the one at `at`; None if it is not found."""
    depth = 0
    while at < len(text):
        c = text[at]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return at
        elif c == '"':
            at = text.find('"', at + 1)
            if at < 0:
                return None
        at += 1
    return None


def is_tried(statement):
    """Whether a statement is an expression that ends its function where it fails: `...?;`."""
    depth, outside = 0, ""
    for c in statement:
        depth += (c in "([{") - (c in ")]}")
        outside += c if depth == 0 else ""
    return statement.endswith("?;") and not re.search(r"\s\S?=\s", outside)


class Planter:
    def __init__(self, refused):
        self.refused, self.rows, self.functions = refused, [], []
        self.same = collections.Counter()

    def begin(self, text):
        """A file: remembers which function each line is in."""
        self.functions, function = [""], ""
        for line in text.split("\n"):
            begun = re.match(r"\s*(?:pub(?:\([\w:]+\))? )?(?:const )?(?:unsafe )?fn (\w+)", line)
            function = begun[1] if begun else function
            self.functions.append(function)

    def number(self, rule, name, line, text):
        """The number of a mutant, or None if the compiler has refused it."""
        text = f"{self.functions[line]}: " + re.sub(r"\s+", " ", text).strip()
        what = (rule, name, text)
        self.same[what] += 1
        n = len(self.rows) + 1
        planted = (*what, str(self.same[what])) not in self.refused
        self.rows.append((n, rule, name, line, text, self.same[what]) if planted else None)
        return n if planted else None

    def fields(self, name, text):
        """`.with(X::FIELD, value)` and `.having(X::FIELD.is::<1>())`."""
        out, done = [], 0
        for m in re.finditer(r"\.(with|having)\(", text):
            if m.start() < done:
                continue
            end = close(text, m.end() - 1)
            inner = text[m.end() : end] if end else ""
            if not re.match(r"\s*[A-Za-z$]\w*(::\w+)+\s*[,.]", inner) or "?" in inner or "$" in inner:
                continue
            # Nothing changes where 0 is written into zeroes; elsewhere the old value stays.
            nothing = re.search(r",\s*(false|0),?\s*$|\.is::<0>\(\)\s*$", inner)
            if nothing and text.rfind("zeroed()", 0, m.start()) > text.rfind("old", 0, m.start()):
                continue
            n = self.number("field", name, text.count("\n", 0, m.start()) + 1, text[m.start() : end + 1])
            out.append(text[done : m.start()])
            call = text[m.start() : end + 1]
            if n and m[1] == "with" and not nothing:
                # The value's copy is changed, not the whole: these can be large, and stacks are not.
                field, value, rest = re.fullmatch(r"(\s*[\w:]+,)(.*?)(,?\s*)", inner, re.S).groups()
                call = f".with({field} crate::mutant::but({n}, {value}){rest})"
            elif n:
                call = f".unless(crate::mutant::on({n}), |it| it{call})"
            out.append(call)
            done = end + 1
        return "".join(out) + text[done:]

    def flags(self, name, text):
        """`| FLAG`, `FLAG |` and `else { FLAG }` of page-table entries."""
        lines = text.split("\n")
        for i, line in enumerate(lines):
            if "=>" in line or "const" in line or "matches!" in line or line.strip().startswith("//"):
                continue

            def but(m):
                before, flag, behind = m.groups()
                n = self.number("flag", name, i + 1, line.strip() + "  -- " + flag)
                return f"{before}crate::mutant::but({n}, {flag}){behind}" if n else m[0]

            flag = r"((?:\w+::)*[A-Z][A-Z0-9_]{2,}\b(?!::)|(?:\w+::)?mtype\([\w:]+\))"
            for place in (rf"(\| ){flag}()", rf"(^\s*){flag}( \|)", rf"(else {{ ){flag}( }})"):
                lines[i] = re.sub(place, but, lines[i])
        return "\n".join(lines)

    def statements(self, name, text, original):
        """Whole statements, and conditions that end something."""
        lines, was = text.split("\n"), original.split("\n")
        depth_of_macro, before, i = None, "{", 0
        while i < len(lines):
            line, start = lines[i], i
            code = line.strip()
            indent = len(line) - len(line.lstrip())
            i += 1
            if re.match(r"(macro_rules!|module!|kernel::\w+! \{)", code):
                depth_of_macro = indent
            if depth_of_macro is not None:
                if code.startswith("}") and indent == depth_of_macro:
                    depth_of_macro, before = None, "}"
                continue
            if not code or code.startswith("//"):
                continue
            begins, before = before[-1] in ";{}", code
            guard = re.fullmatch(r"(?P<a>(\} else )?if )(?P<cond>.*) \{", code)
            if guard and " let " not in " " + code and re.match(r"\s*(return|break|continue)\b", lines[i]):
                n = self.number("guard", name, start + 1, was[start])
                if n:
                    lines[start] = " " * indent + f"{guard['a']}crate::mutant::but({n}, {guard['cond']}) {{"
                continue
            if not begins or indent < 4 or KEYWORDS.match(code):
                continue
            # What is dropped is dropped a little later all the same.
            if re.fullmatch(r"drop\((\w+|\([\w, ]+\))\);", code):
                continue
            if not re.match(r"(\*?[a-z_][\w.]*(\[[^\]]*\])? [|&+-]?= |[a-zA-Z_][\w:.]*[(.])", code):
                continue
            # The statement's end: `;` at no depth, or another statement's line.
            depth, end = 0, None
            for j in range(start, min(start + 14, len(lines))):
                # Where it closes what it hasn't opened, it is the value of a block.
                deepest = 0
                for c in lines[j]:
                    depth += (c in "([{") - (c in ")]}")
                    deepest = min(deepest, depth)
                if deepest < 0:
                    break
                if depth == 0 and lines[j].rstrip().endswith(";"):
                    end = j
                    break
            if end is None:
                continue
            n = self.number("statement", name, start + 1, " ".join(was[start : end + 1]))
            if n:
                tried = is_tried("\n".join(lines[start : end + 1]).strip())
                if tried:
                    lines[end] = lines[end].rstrip().removesuffix("?;") + ")?;"
                first = f"crate::mutant::tried({n}, " if tried else ""
                lines[start] = " " * indent + f"if !crate::mutant::on({n}) {{ {first}" + lines[start].lstrip()
                lines[end] = lines[end].rstrip() + " }"
            i, before = end + 1, ";"
        return "\n".join(lines)


def plant(copy):
    """Makes the copy: the mutants, and how many more the compiler refuses."""
    refused = copy / "refused.txt"
    refused = refused.read_text().splitlines() if refused.exists() else []
    planter = Planter({tuple(line.split("\t")) for line in refused})
    sources = (p for d in ("hw", "uapi", "rust") for p in (TOP / d).rglob("*") if p.suffix in (".rs", ".c", ".h"))
    for path in [TOP / "Kbuild", *sorted(sources)]:
        name = str(path.relative_to(TOP))
        text = original = path.read_text()
        if name.startswith("rust/") and path.suffix == ".rs" and not LEFT_OUT.search(name):
            planter.begin(original)
            text = planter.fields(name, text)
            if re.match(r"rust/(gmc|vm|bo)", name):
                text = planter.flags(name, text)
            text = planter.statements(name, text, original)
            if ".unless(" in text:
                text = re.sub(r"^use ", "use crate::mutant::Unless as _; use ", text, count=1, flags=re.M)
        elif name == "rust/rkfd_main.rs":
            for old, new in (
                ("    owner: module::Owner,\n}", "    owner: module::Owner,\n    report: mutant::Report,\n}"),
                ("                owner,\n", "                owner,\n                report: mutant::Report,\n"),
                ("            // Before any probe", "            mutant::begin();\n            // Before any probe"),
                ("    params: {\n", "    params: {\n" + "".join(
                    f'        {name}: u32 {{ default: 0, description: "Which mutant", }},\n' for name in PARAMETERS)),
            ):
                assert text.count(old) == 1, old
                text = text.replace(old, new)
            values = ", ".join(f"crate::module_parameters::{name}.value()" for name in PARAMETERS)
            text += ROOT.replace("VALUES", values)
        to = copy / name
        to.parent.mkdir(parents=True, exist_ok=True)
        # A file that stays as it was is not built anew.
        if not to.exists() or to.read_text() != text:
            to.write_text(text)
    rows = ["\t".join(map(str, row)) for row in planter.rows if row]
    (copy / "mutants.tsv").write_text("\n".join(rows) + "\n")
    return [row for row in planter.rows if row], len(planter.rows) - len(rows)


def check():
    """What is wrong with the copy and the lists, a line each."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        rows, _ = plant(copy)
        for name in re.findall(r"(?<!\w)(rust/[\w/]+)\.o\b", (copy / "Kbuild").read_text()):
            if not any((copy / f"{name}.{suffix}").exists() for suffix in ("rs", "c")):
                wrong.append(f"Kbuild's {name}.o has no source in a copy with mutants")
    named = lambda file, text: any(row[2] == file and text in row[4] for row in rows)
    for name, pattern in (("equivalent.txt", r"([^#\t\n]+)\t([^\t\n]+)\t"), ("omissions.txt", r"- (\S+) (.*)")):
        for file, text in re.findall(rf"^{pattern}", (TOP / "tests/mutants" / name).read_text(), re.M):
            if not named(file, text):
                wrong.append(f"tests/mutants/{name}: no mutant of {file} is {text}")
    return wrong


def main():
    if sys.argv[1:] == ["--check"]:
        sys.exit("\n".join(check()) or 0)
    rows, refused = plant(pathlib.Path(sys.argv[1]))
    print(f"{len(rows)} mutants are planted, {refused} more don't compile")


if __name__ == "__main__":
    main()
