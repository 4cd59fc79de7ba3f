// SPDX-License-Identifier: GPL-2.0

//! Numbers as `idr_alloc` gives them: the lowest free one from `first` to below `end`.

use super::IdTable;
use crate::kunit::Random;
use kernel::prelude::*;

const FIRST: u32 = 5;
const END: u32 = 45;

#[kunit_tests(rkfd_ids)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_is_given() -> Result {
        let mut table = IdTable::new(FIRST);
        let (mut model, mut random) = ([None::<u64>; END as usize], Random::new());
        let (mut full, mut empty) = (0, 0);
        // More come than go, then more go than come.
        for round in 0..1200u64 {
            let coming = if round / 200 % 2 == 0 { 7 } else { 3 };
            if random.below(10) < coming {
                let lowest = (FIRST..END).find(|id| model.get(*id as usize) == Some(&None));
                match table.insert(END, round) {
                    Ok(id) => {
                        assert_eq!(Some(id), lowest);
                        *model.get_mut(id as usize).ok_or(EINVAL)? = Some(round);
                    }
                    Err(error) => {
                        assert_eq!((error, lowest), (ENOSPC, None));
                        full += 1;
                    }
                }
            } else {
                let id = random.below(END.into()) as u32;
                let wanted = model.get_mut(id as usize).and_then(Option::take);
                assert_eq!(table.remove(id), wanted);
                empty += usize::from(wanted.is_none());
            }
            assert_eq!(table.len(), model.iter().flatten().count());
            assert_eq!(table.is_empty(), table.len() == 0);
            let last = (0..END).rfind(|id| model.get(*id as usize).is_some_and(Option::is_some));
            assert_eq!(table.last_id(), last);
            let pairs = || (0..END).zip(model).filter_map(|(id, v)| Some((id, v?)));
            assert!(table.iter_mut().map(|(id, v)| (id, *v)).eq(pairs()));
        }
        assert!(full > 0 && empty > 0);
        Ok(())
    }

    #[test]
    fn taking_the_last_empties_the_table_from_above() -> Result {
        let mut table = IdTable::new(1);
        for value in [10, 20, 30] {
            table.insert(u32::MAX, value)?;
        }
        assert_eq!(table.remove(2), Some(20));
        assert_eq!(table.pop(), Some((3, 30)));
        assert_eq!(table.pop(), Some((1, 10)));
        assert_eq!(table.pop(), None);
        assert_eq!(table.insert(2, 1), Ok(1));
        assert_eq!(table.insert(2, 1), Err(ENOSPC));
        Ok(())
    }

    /// An error of whoever makes the thing leaves no number taken.
    #[test]
    fn what_was_not_made_takes_no_number() -> Result {
        let mut table = IdTable::<u32>::new(0);
        assert_eq!(table.insert_with(10, || None), Err(EINVAL));
        assert_eq!((table.len(), table.get(0)), (0, None));
        assert_eq!(table.remove(0), None);
        assert_eq!((table.last_id(), table.pop()), (None, None));
        assert_eq!(table.insert(10, 7), Ok(0));
        assert_eq!((table.get(0), table.get(1)), (Some(&7), None));
        Ok(())
    }

    #[test]
    fn numbers_end_where_their_type_does() -> Result {
        let mut table = IdTable::new(u32::MAX - 1);
        assert_eq!(table.insert(u32::MAX, 1), Ok(u32::MAX - 1));
        assert_eq!(table.insert(u32::MAX, 1), Err(ENOSPC));
        assert_eq!(table.get(0), None);
        assert_eq!(table.remove(u32::MAX), None);
        Ok(())
    }
}
