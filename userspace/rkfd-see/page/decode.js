// SPDX-License-Identifier: MIT OR Apache-2.0
// Bytes and numbers: fields of layouts, and how they are written.

const DATA = JSON.parse(document.getElementById("data").textContent);

/** The value of `width` bits from bit `bit` on. */
function readBits(words, bit, width) {
  const first = bit >> 5, count = Math.ceil(((bit & 31) + width) / 32);
  let value = 0n;
  for (let i = count - 1; i >= 0; i--) value = (value << 32n) | BigInt((words[first + i] ?? 0) >>> 0);
  return (value >> BigInt(bit & 31)) & ((1n << BigInt(width)) - 1n);
}

const hex = (value, digits = 0) => "0x" + BigInt(value).toString(16).padStart(digits, "0");
const word = value => (value >>> 0).toString(16).padStart(8, "0");

/** What a number is, besides hexadecimal. */
function plain(value, width) {
  if (value < 10n) return "";
  if (width > 32 || value > 99_999_999n) return "";
  return value.toString();
}

/** All fields of some words, by their layout. */
function fieldsOf(layout, words, before) {
  return layout.fields.map(([name, bit, width, c, line, cLine]) => {
    const value = readBits(words, bit, width);
    const old = before ? readBits(before, bit, width) : value;
    return { name, bit, width, c, line, cLine, value, old };
  });
}

const bytesOf = step => step.words === undefined ? null : DATA.pool[step.words];
const beforeOf = step => step.before === undefined ? null : DATA.pool[step.before];
const factOf = (step, name) => (step.facts ?? []).find(([n]) => n === name)?.[1];
const layoutOf = step => step.layout ? DATA.layouts[step.layout] : null;

/** Nanoseconds, for people. */
function time(ns) {
  if (Math.abs(ns) < 1000) return ns + " ns";
  if (Math.abs(ns) < 1e6) return (ns / 1e3).toFixed(1) + " µs";
  return (ns / 1e6).toFixed(3) + " ms";
}

/** Makes an element: its tag and classes, what is in it, and attributes. */
function make(tag, inside = [], attributes = {}) {
  const [name, ...classes] = tag.split(".");
  const svg = ["svg", "g", "rect", "text", "path", "title", "defs", "marker", "line"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value);
  }
  for (const part of [inside].flat(Infinity)) if (part !== null && part !== undefined) element.append(part);
  return element;
}
