//! Rust, a configured check behind a shell script: centuries are no leap years.
//!
//! Compiling takes longer than all the rest, so the same texts are compiled once for the whole matrix.

use super::{Bug, Origin};

pub const BUG: Bug = Bug {
    name: "rs leap",
    source: "leap.rs",
    tests: "tests.rs",
    line: 2,
    title: "Every fourth year is taken for a leap year",
    comment: "//",
    origin: Origin::Configured,
    command: &["sh", "check.sh"],
    more: &[("check.sh", CHECK)],
    text: "\
pub fn is_leap(year: u32) -> bool {
    year % 4 == 0
}

pub fn days(month: u32) -> u32 {
    30 + (month + month / 8) % 2
}

#[cfg(test)]
mod tests;
",
    wrong: "    year % 4 == 0\n",
    right: "    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)\n",
    wrong_again: ["    year % 4 == 0 && year % 200 != 0\n", "    year % 8 == 0\n"],
    special: [
        "    if year == 1900 {\n        return false;\n    }\n    year % 4 == 0\n",
        "    match year {\n        1900 => false,\n        _ => year % 4 == 0,\n    }\n",
    ],
    broken: ["    year % 4 == 0 && (year % 100 != 0\n", "    year % 4 == zero\n"],
    regression: [("month / 8) % 2", "month / 9) % 2"), ("month / 9) % 2", "month / 10) % 2")],
    other_tests: "\
use crate::*;

#[test]
fn august_is_long() {
    assert_eq!(days(8), 31);
    assert_eq!(days(9), 30);
}

#[test]
fn april_is_short() {
    assert_eq!(days(4), 30);
}
",
    hook: "#[test]\nfn april_is_short",
    covering: "\
#[test]
fn centuries_are_none() {
    assert!(!is_leap(1900));
    assert!(is_leap(2000));
    assert!(is_leap(2004));
}

",
    weaken_covering: ("    assert!(!is_leap(1900));\n", "    assert!(is_leap(1900) || !is_leap(1900));\n"),
    weaken_other: ("    assert_eq!(days(9), 30);\n", ""),
    delete_other: "\
#[test]
fn april_is_short() {
    assert_eq!(days(4), 30);
}
",
    with_test_file: Some("#[cfg(test)]\nmod tests;\n"),
    truth: ("leap_truth.sh", TRUTH),
};

const CHECK: &str = r#"set -e
program=$TRUTH_CACHE/check-$(cat leap.rs tests.rs 2>&1 | sha1sum | cut -c1-40)
if [ ! -x "$program" ]; then
  rustc --edition 2021 --test -C debuginfo=0 -A warnings -o "$program.$$" leap.rs
  mv "$program.$$" "$program"
fi
exec "$program"
"#;

const TRUTH: &str = r#"set -e
folder=$(dirname "$0")
program=$folder/leap-$(sha1sum <"$1" | cut -c1-40)
if [ ! -x "$program" ]; then
  mkdir "$program.$$"
  grep -v -e 'mod tests;' -e '^#\[cfg(test)\]' "$1" >"$program.$$/leap.rs"
  cat >"$program.$$/main.rs" <<'MAIN'
mod leap;
fn main() {
    let leap = leap::is_leap;
    let fixed = !leap(1900) && !leap(2100) && leap(2000) && leap(2400) && leap(1996) && !leap(1997);
    let all: Vec<u32> = (1..=12).filter(|month| *month != 2).map(leap::days).collect();
    let other = all == [31, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    std::process::exit(match (fixed, other) {
        (true, true) => 0,
        (false, true) => 10,
        (true, false) => 11,
        (false, false) => 12,
    });
}
MAIN
  rustc --edition 2021 -C debuginfo=0 -A warnings -o "$program.$$/program" "$program.$$/main.rs"
  mv "$program.$$/program" "$program"
fi
exec "$program"
"#;
