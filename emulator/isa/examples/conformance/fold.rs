// SPDX-License-Identifier: MIT OR Apache-2.0
//! LLVM as a calculator: `opt` folds functions of constants.

use crate::table::{Row, Type};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// A constant of a type in LLVM's language.
fn constant(ty: Type, bits: u64) -> String {
    match ty {
        Type::F16 => format!("bitcast (i16 {bits} to half)"),
        Type::F32 => format!("bitcast (i32 {bits} to float)"),
        Type::F64 => format!("bitcast (i64 {bits} to double)"),
        _ => bits.to_string(),
    }
}

/// A function without arguments that returns the operation's result as an integer of 64 bits.
fn function(text: &mut String, number: usize, row: &Row, operands: &[u64; 3]) {
    let mut body = row.llvm.to_string();
    for (n, ty) in row.from.iter().enumerate() {
        body = body.replace(&format!("${n}"), &constant(*ty, operands[n]));
    }
    let integer = match row.to {
        Type::Bit => "%i = zext i1 %r to i64",
        Type::I16 => "%i = zext i16 %r to i64",
        Type::I32 => "%i = zext i32 %r to i64",
        Type::I64 => "%i = add i64 %r, 0",
        Type::F16 => "%bits = bitcast half %r to i16\n%i = zext i16 %bits to i64",
        Type::F32 => "%bits = bitcast float %r to i32\n%i = zext i32 %bits to i64",
        Type::F64 => "%i = bitcast double %r to i64",
    };
    let _ = writeln!(
        text,
        "define i64 @f{number}() {{\n{body}\n{integer}\nret i64 %i\n}}"
    );
}

/// The results of each row's operands. Panics if LLVM leaves one of them to be computed.
pub fn fold(rows: &[Row], operands: &[Vec<[u64; 3]>]) -> Vec<Vec<u64>> {
    let mut text = String::from(crate::table::DECLARATIONS);
    let mut number = 0;
    for (row, operands) in rows.iter().zip(operands) {
        for operands in operands {
            function(&mut text, number, row, operands);
            number += 1;
        }
    }
    let mut opt = Command::new("opt-19")
        .args(["-S", "-passes=instsimplify", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("opt-19 runs");
    let mut stdin = opt.stdin.take().expect("stdin");
    // It reads all before it writes anything.
    stdin.write_all(text.as_bytes()).expect("feed");
    drop(stdin);
    let out = opt.wait_with_output().expect("opt-19");
    assert!(out.status.success(), "opt-19 accepts the table");
    let out = String::from_utf8_lossy(&out.stdout);
    let mut results = out
        .split("\ndefine i64 @f")
        .skip(1)
        .enumerate()
        .map(|(n, function)| {
            let result = function
                .lines()
                .nth(1)
                .and_then(|l| l.trim().strip_prefix("ret i64 "));
            let value = result.and_then(|value| value.parse::<i64>().ok());
            let value = value.unwrap_or_else(|| panic!("LLVM does not fold: {function}"));
            assert!(
                function.starts_with(&format!("{n}()")),
                "functions in order"
            );
            value as u64
        });
    let mut next = || results.next().expect("as many functions as cases");
    operands
        .iter()
        .map(|cases| cases.iter().map(|_| next()).collect())
        .collect()
}
