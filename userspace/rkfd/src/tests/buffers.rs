// SPDX-License-Identifier: MIT OR Apache-2.0

//! Buffers, parts of them and their elements.

use crate::{fake, zerocopy, Error};

#[test]
fn buffers_check_their_bounds() {
    let (gpu, fake) = fake::open();
    let buffer = gpu.upload(&[1u16, 2, 3]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3]);
    assert_eq!((buffer.get(2), buffer.get(3)), (Some(3), None));
    assert!(buffer.set(3, 0).is_none() && buffer.set(0, 9).is_some());
    assert!(matches!(
        buffer.write(&[1, 2]),
        Err(Error::Length {
            buffer: 3,
            slice: 2
        })
    ));
    assert!(
        buffer.read_at(2, &mut [0; 2]).is_err() && buffer.read_at(usize::MAX, &mut [0]).is_err()
    );
    assert!(matches!(gpu.alloc::<f64>(0), Err(Error::Size { .. })));
    assert!(matches!(
        gpu.alloc::<f64>(usize::MAX / 4),
        Err(Error::Size { .. })
    ));
    drop(buffer);
    assert_eq!(fake.objects(), 0);
}

#[test]
fn parts_of_buffers_are_the_same_memory() {
    let (gpu, fake) = fake::open();
    let all = gpu.upload(&[0u32, 1, 2, 3, 4, 5]).unwrap();
    let part = all.slice(2..5).unwrap();
    assert_eq!((part.len(), part.bytes()), (3, 12));
    assert_eq!(part.address(), all.address() + 8);
    part.write(&[20, 30, 40]).unwrap();
    assert_eq!(all.to_vec().unwrap(), [0, 1, 20, 30, 40, 5]);
    let last = part.slice(1..).unwrap().slice(1..=1).unwrap();
    assert_eq!((last.get(0), last.get(1)), (Some(40), None));
    last.fill_with(|i| i as u32 + 7).unwrap();
    assert_eq!(all.get(4), Some(7));
    let nothing = all.slice(6..).unwrap();
    assert!(nothing.is_empty() && nothing.to_vec().unwrap().is_empty());
    for range in [0..7, 7..7, usize::MAX..usize::MAX] {
        assert!(matches!(all.slice(range), Err(Error::Range { len: 6 })));
    }
    let turned = (std::ops::Bound::Included(4), std::ops::Bound::Excluded(3));
    assert!(all.slice(turned).is_err() && all.slice(..=usize::MAX).is_err());
    drop((all, part, nothing));
    assert_eq!(fake.objects(), 1, "a part keeps the whole");
    drop(last);
    assert_eq!(fake.objects(), 0);
}

#[test]
fn structures_are_elements_and_arguments() {
    #[derive(
        Clone, Copy, PartialEq, Debug, zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable,
    )]
    #[repr(C)]
    struct Pair {
        place: [u16; 3],
        flag: u16,
        weight: f64,
    }
    let pair = |i: u16| Pair {
        place: [i, 2 * i, 3 * i],
        flag: 1,
        weight: f64::from(i) / 3.0,
    };
    let (gpu, _fake) = fake::open();
    let buffer = gpu.alloc::<Pair>(10_000).unwrap();
    buffer.fill_with(|i| pair(i as u16)).unwrap();
    let all = buffer.to_vec().unwrap();
    assert!(all.iter().enumerate().all(|(i, p)| *p == pair(i as u16)));
    // Elements that are larger than what is copied at a time.
    let large = gpu.upload(&[[3u8; 100_000], [4; 100_000]]).unwrap();
    large.fill([5; 100_000]).unwrap();
    assert_eq!(large.get(1), Some([5; 100_000]));
}
