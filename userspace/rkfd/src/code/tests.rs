// SPDX-License-Identifier: MIT OR Apache-2.0

//! Parsing of code objects that clang makes here and now.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;

const SOURCE: &str = r#"
#define kernel extern "C" __attribute__((global))
#define device __attribute__((device))
device float table[4] = {1, 2, 3, 4};
device float *pointer = table;
kernel void vadd(const float *a, const float *b, float *c, int n) {
    unsigned i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x()
               + __builtin_amdgcn_workitem_id_x();
    if (i < n) c[i] = a[i] + b[i];
}
kernel void scaled(float *a, double by) {
    a[__builtin_amdgcn_workitem_id_x()] *= by * pointer[1];
}
"#;

fn compile(target: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (source, object) = (dir.path().join("k.hip"), dir.path().join("k.co"));
    std::fs::write(&source, SOURCE).unwrap();
    let clang = ["/usr/lib/llvm-19/bin/clang", "clang-19", "clang"]
        .into_iter()
        .find(|clang| !clang.starts_with('/') || Path::new(clang).exists())
        .unwrap();
    let arch = format!("--offload-arch={target}");
    let output = Command::new(clang)
        .args([
            "-x",
            "hip",
            &arch,
            "--cuda-device-only",
            "--no-gpu-bundle-output",
        ])
        .args(["-nogpulib", "-nogpuinc", "-O2", "-o"])
        .args([&object, &source])
        .output()
        .expect("clang 19 with the AMDGPU target is needed");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::read(object).unwrap()
}

/// A code object for gfx942 with the kernels `vadd(a, b, c, n)` and `scaled(a, by)`.
pub(crate) fn gfx942() -> &'static [u8] {
    static OBJECT: OnceLock<Vec<u8>> = OnceLock::new();
    OBJECT.get_or_init(|| compile("gfx942"))
}

#[test]
fn kernels_and_their_arguments_are_found() {
    let code = CodeObject::parse(gfx942()).unwrap();
    assert_eq!(code.target(), "gfx942");
    let kernel = &code.kernels()[code.find("vadd").unwrap()];
    let metadata = &kernel.metadata;
    assert_eq!(kernel.descriptor % 64, 0);
    assert_eq!((metadata.wavefront_size, metadata.private_size), (64, 0));
    assert_eq!(metadata.kernarg_size, 288);
    let args: Vec<_> = metadata
        .args
        .iter()
        .map(|a| (a.offset, a.size, &a.kind))
        .take(4)
        .collect();
    assert_eq!(
        args,
        [
            (0, 8, &ArgKind::Buffer),
            (8, 8, &ArgKind::Buffer),
            (16, 8, &ArgKind::Buffer),
            (24, 4, &ArgKind::Value),
        ]
    );
    let size = metadata
        .args
        .iter()
        .find(|a| a.kind == ArgKind::Hidden("group_size_x".into()));
    assert_eq!(size.unwrap().offset, 32 + 12);
    assert_eq!(
        code.find("vmul").unwrap_err(),
        CodeError::NoKernel {
            name: "vmul".into(),
            present: code
                .kernels()
                .iter()
                .map(|k| k.metadata.name.clone())
                .collect(),
        }
    );
}

#[test]
fn relocations_move_with_the_base() {
    let code = CodeObject::parse(gfx942()).unwrap();
    assert!(!code.relocations.is_empty(), "`pointer` needs one");
    let (low, high) = (code.image_at(0), code.image_at(0x7000_0000_0000));
    let differ = low
        .chunks(8)
        .zip(high.chunks(8))
        .filter(|(a, b)| a != b)
        .count();
    assert_eq!(differ, code.relocations.len());
    for relocation in &code.relocations {
        let at = relocation.offset as usize;
        let pointer = u64::from_le_bytes(high[at..at + 8].try_into().unwrap());
        let target = (pointer - 0x7000_0000_0000) as usize;
        assert_eq!(
            low[target..target + 4],
            1f32.to_le_bytes(),
            "`table` starts with 1.0"
        );
    }
}

#[test]
fn another_architecture_is_refused_and_both_are_named() {
    let code = CodeObject::parse(&compile("gfx1201")).unwrap();
    assert_eq!(code.target(), "gfx1201");
    assert_eq!(code.kernels()[0].metadata.wavefront_size, 32);
    assert!(code.check_target("gfx1201").is_ok());
    let error = code.check_target("gfx942").unwrap_err().to_string();
    assert!(
        error.contains("for gfx1201") && error.contains("is gfx942"),
        "{error}"
    );
}

#[test]
fn what_is_not_a_code_object_says_why() {
    let error = |bytes: &[u8]| CodeObject::parse(bytes).unwrap_err();
    assert!(matches!(error(b""), CodeError::Damaged(_)));
    assert_eq!(error(b"__CLANG_OFFLOAD_BUNDLE__\0\0\0"), CodeError::Bundle);
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert!(matches!(error(&own), CodeError::Machine { machine: 62 }));
    let mut old = gfx942().to_vec();
    old[8] = 1;
    assert_eq!(
        error(&old),
        CodeError::Abi {
            os_abi: 64,
            version: 1
        }
    );
}

#[test]
fn a_kernarg_size_that_differs_is_refused() {
    let code = CodeObject::parse(gfx942()).unwrap();
    let kernel = code.kernels()[code.find("vadd").unwrap()].clone();
    let mut bytes = gfx942().to_vec();
    // The first segment maps the file's start to address 0, and the descriptor lies in it.
    bytes[kernel.descriptor as usize + 8..][..4].copy_from_slice(&289u32.to_le_bytes());
    assert!(matches!(
        CodeObject::parse(&bytes).unwrap_err(),
        CodeError::KernargSize {
            descriptor: 289,
            metadata: 288,
            ..
        }
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damage_never_panics(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..8)) {
        let mut bytes = gfx942().to_vec();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        // Damage can ask for much memory, which the parser does not touch but a copy does.
        if let Some(code) = CodeObject::parse(&bytes).ok().filter(|c| c.image_size() < 1 << 20) {
            let _ = code.image_at(u64::MAX);
        }
    }

    #[test]
    fn damaged_headers_never_panic(at in 0usize..0x300, byte in any::<u8>(), cut in 0usize..6000) {
        let mut bytes = gfx942().to_vec();
        bytes[at] = byte;
        bytes.truncate(cut.max(at + 1));
        let _ = CodeObject::parse(&bytes);
    }
}

#[test]
fn a_code_object_may_lie_anywhere_in_memory() {
    let bytes = gfx942();
    let shifted: Vec<u8> = std::iter::once(0).chain(bytes.iter().copied()).collect();
    let object = CodeObject::parse(&shifted[1..]).unwrap();
    assert_eq!(object.kernels().len(), 2);
}
