//! Batches: findings fixed together because they share files (DESIGN 2).

use std::collections::{BTreeMap, BTreeSet};

/// Connected components over the file sets, each in the given order, ordered by their first member. A finding without
/// files stands alone.
pub fn batches(file_sets: &[BTreeSet<String>]) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..file_sets.len()).collect();
    let mut owner: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, files) in file_sets.iter().enumerate() {
        for file in files {
            match owner.get(file.as_str()) {
                Some(&other) => {
                    let (a, b) = (root(&group, index), root(&group, other));
                    group[a.max(b)] = a.min(b);
                }
                None => {
                    owner.insert(file, index);
                }
            }
        }
    }
    let mut by_root: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in 0..file_sets.len() {
        by_root.entry(root(&group, index)).or_default().push(index);
    }
    by_root.into_values().collect()
}

fn root(group: &[usize], mut index: usize) -> usize {
    while group[index] != index {
        index = group[index];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_that_share_a_file_directly_or_through_others_are_one_batch() {
        let sets = |sets: &[&[&str]]| -> Vec<BTreeSet<String>> {
            sets.iter().map(|files| files.iter().map(|file| file.to_string()).collect()).collect()
        };
        for (files, expected) in [
            (sets(&[]), vec![]),
            (sets(&[&["a"], &["b"]]), vec![vec![0], vec![1]]),
            (sets(&[&["a"], &["b"], &["a"]]), vec![vec![0, 2], vec![1]]),
            (sets(&[&["a"], &["b"], &["b", "a"]]), vec![vec![0, 1, 2]]),
            (sets(&[&["a", "b"], &["c", "d"], &["b", "c"], &["e"]]), vec![vec![0, 1, 2], vec![3]]),
            (sets(&[&[], &[], &["a"]]), vec![vec![0], vec![1], vec![2]]),
        ] {
            assert_eq!(batches(&files), expected, "{files:?}");
        }
    }
}
