//! The assertions of a test, how much each demands, and how far it tolerates a difference.

use std::sync::LazyLock;

use regex::Regex;

use crate::checks::source::Language;
use crate::checks::source::{Source, Unit};

/// One assertion, with its white space normalised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assertion {
    pub text: String,
    pub at: usize,
    pub strength: u8,
}

/// A condition that is always true demands nothing.
pub(super) const NOTHING: u8 = 0;
const TRUTH: u8 = 2;
const RELATION: u8 = 3;
const APPROXIMATE: u8 = 4;
const EQUAL: u8 = 5;

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?m)\b(?:assert\b|self\.assert\w+[ \t]*\(|self\.fail[ \t]*\(|(?:with[ \t]+)?(?:pytest|self)\.(?:raises|warns|assertRaises\w*|fail)[ \t]*\(|(?:\w+\.)+assert_\w+[ \t]*\(|assert_\w+[ \t]*\()",
    )
});
static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?:^|[^\w.$])((?:await[ \t]+)?(?:expect\w*(?:\.\w+)*[ \t]*\(|assert(?:\.\w+)*[ \t]*\(|t\.(?:is|not|deepEqual|true|false|truthy|falsy|throws\w*|like|regex|assert|equal|same|ok)[ \t]*\(|should\.\w+))",
    )
});
static RUST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:debug_assert\w*!|(?:\w+::)*assert\w*!|prop_assert\w*!|(?:\w+::)*panic!|unreachable!)[ \t]*[(\[{]|\.(?:unwrap_err|expect_err)\(",
    )
});
static GO: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:[tb]\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)[ \t]*\(|(?:assert|require|is|qt)\.\w+[ \t]*\()",
    )
});

/// All assertions of a unit in order.
pub(super) fn assertions(source: &Source<'_>, unit: &Unit) -> Vec<Assertion> {
    let pattern: &Regex = match source.language {
        Language::Python => &PYTHON,
        Language::Script => &SCRIPT,
        Language::Rust => &RUST,
        Language::Go => &GO,
    };
    let mut found: Vec<Assertion> = Vec::new();
    let mut end = unit.body.start;
    for hit in pattern.captures_iter(&source.mask[unit.body.clone()]) {
        let Some(start) = hit.get(1).or(hit.get(0)).map(|hit| unit.body.start + hit.start()) else {
            continue;
        };
        if start < end {
            // Inside the assertion before, as in `expect(fn(() => expect(...)))`.
            continue;
        }
        let from = match source.language {
            Language::Go => condition(source, unit, start),
            _ => start,
        };
        let range = source.statement(start, unit.body.end);
        end = range.end;
        let text = normal(&source.code[from..range.end]);
        let masked = normal(&source.mask[from..range.end]);
        let strength = strength(source.language, &text, &masked);
        found.push(Assertion { text, at: start, strength });
    }
    found
}

/// In Go the demand is in the `if` around the report: it belongs to the assertion.
fn condition(source: &Source<'_>, unit: &Unit, start: usize) -> usize {
    let above = &source.mask[unit.body.start..start];
    let Some(at) = above.rfind("if ") else { return start };
    let between = &above[at..];
    let opened = between.matches('{').count();
    let closed = between.matches('}').count();
    if opened > closed && between.lines().count() <= 4 { unit.body.start + at } else { start }
}

fn normal(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (from, to) in [("( ", "("), (" )", ")"), ("[ ", "["), (" ]", "]"), (",)", ")"), (" .", ".")] {
        words = words.replace(from, to);
    }
    words.trim_end_matches([';', ' ']).to_owned()
}

static ALWAYS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:assert(?: True| 1)\b(?:$|,)|assert!?\(true\b|self\.assertTrue\(True\b|expect\(true\)\.to(?:Be\(true\)|BeTruthy\(\)|Equal\(true\))|assert(?:\.ok|\.equal)?\(true\b|assert .*\bor True\b|assert!\(.*\|\| ?true\b|assert\.True\(t, true\b|if false \{)",
    )
});
/// How much an assertion demands: the same value, about the same, some relation, that something is there, nothing.
fn strength(language: Language, text: &str, masked: &str) -> u8 {
    if ALWAYS.is_match(text) || is_the_same_on_both_sides(language, text) {
        return NOTHING;
    }
    let has = |words: &[&str]| words.iter().any(|word| masked.contains(word));
    match language {
        Language::Python => python(text, masked),
        Language::Script => {
            if has(&["CloseTo", "approximately", "closeTo"]) {
                APPROXIMATE
            } else if has(&[
                "toBeTruthy",
                "toBeFalsy",
                "toBeDefined",
                "toBeUndefined",
                "toBeInstanceOf",
                "assert.ok(",
                ".truthy(",
                ".falsy(",
                "expect.anything",
                "expect.any(",
                ".exist",
                "toHaveBeenCalled(",
            ]) {
                TRUTH
            } else if has(&[
                "toContain",
                "toMatch(",
                "toMatchObject",
                "Greater",
                "Less",
                "notEqual",
                "notStrictEqual",
                "notDeep",
                ".not.",
                "assert.match",
                "objectContaining",
                "arrayContaining",
                "stringContaining",
                "stringMatching",
                "toHaveLength",
                "toHaveProperty",
                ".include",
                ".match(",
            ]) {
                RELATION
            } else if has(&["toThrow()", "assert.throws(", ".throws("])
                && !text.contains(", ")
                && !has(&["toThrow("])
                || has(&["toThrow()", "toThrowError()"])
            {
                TRUTH
            } else if has(&[
                "toBe(",
                "oEqual(",
                "StrictEqual(",
                "trictEqual(",
                "deepEqual(",
                ".equal(",
                "toThrow",
                "CalledWith",
                "CalledTimes",
                "Snapshot",
                ".is(",
                ".eql(",
                "throws(",
                "rejects(",
            ]) {
                EQUAL
            } else if masked.starts_with("assert(") {
                by_operator(masked, "===", "!==")
            } else {
                RELATION
            }
        }
        Language::Rust => {
            if has(&["assert_eq!", "assert_snapshot!", "assert_debug_snapshot!", "assert_json_snapshot!"]) {
                EQUAL
            } else if has(&["relative_eq!", "abs_diff_eq!", "ulps_eq!"]) || has(&["abs() <", ".abs()<"]) {
                APPROXIMATE
            } else if has(&["assert_ne!"]) {
                RELATION
            } else if has(&["assert!"]) {
                if has(&["is_ok()", "is_some()", "is_err()", "is_none()", "is_empty()"]) {
                    TRUTH
                } else {
                    by_operator(masked, "==", "!=")
                }
            } else {
                RELATION
            }
        }
        Language::Go => {
            if has(&[".NotNil(", ".NotEmpty(", ".True(", ".NoError(", ".Error(t", ".IsType(", ".False("]) {
                TRUTH
            } else if has(&[".InDelta(", ".InEpsilon("]) {
                APPROXIMATE
            } else if has(&[".Contains(", ".NotEqual(", ".Greater", ".Less", ".Subset(", ".Len(", ".Regexp("])
            {
                RELATION
            } else if has(&[
                ".Equal",
                ".EqualValues(",
                ".Exactly(",
                ".JSONEq(",
                ".ElementsMatch(",
                ".EqualError(",
            ]) {
                EQUAL
            } else if masked.starts_with("if ") {
                // The report comes when the demand is not met, so the operators are the other way round.
                if has(&["!= nil", "== nil", "len("]) {
                    TRUTH
                } else if has(&[
                    "!=",
                    "!reflect.DeepEqual",
                    "!cmp.Equal",
                    "!bytes.Equal",
                    "cmp.Diff",
                    "!slices.Equal",
                ]) {
                    EQUAL
                } else if has(&["Abs("]) {
                    APPROXIMATE
                } else {
                    RELATION
                }
            } else {
                RELATION
            }
        }
    }
}

fn python(text: &str, masked: &str) -> u8 {
    let has = |words: &[&str]| words.iter().any(|word| masked.contains(word));
    if has(&["raises(", "assertRaises", "warns("]) {
        let broad = has(&[
            "raises(Exception)",
            "raises(BaseException)",
            "assertRaises(Exception)",
            "raises((Exception",
            "assertRaises(BaseException)",
        ]);
        let exact = has(&["match=", "Regex("]);
        return if broad {
            TRUTH
        } else if exact {
            EQUAL
        } else {
            APPROXIMATE
        };
    }
    if has(&["approx(", "AlmostEqual", "allclose", "isclose", "assert_almost", "abs("]) {
        return APPROXIMATE;
    }
    if has(&[
        "assertIsNotNone",
        "assertTrue(",
        "assertFalse(",
        "assertIsInstance",
        "is not None",
        "isinstance(",
        "assert_called()",
        "assert_called_once()",
        "hasattr(",
    ]) {
        // `assertTrue(a == b)` demands what it compares.
        return if masked.contains("==") { EQUAL } else { TRUTH };
    }
    if has(&[
        "assertIn(",
        "assertNotEqual",
        "assertGreater",
        "assertLess",
        "assertRegex",
        "assertNotIn",
        "assertCountEqual",
    ]) {
        return RELATION;
    }
    if has(&[
        "assertEqual",
        "assertListEqual",
        "assertDictEqual",
        "assertIs(",
        "assertIsNone",
        "assert_equal",
        "assert_array_equal",
        "assert_frame_equal",
        "assert_called_with",
        "assert_called_once_with",
        "assertMultiLineEqual",
        "assertSequenceEqual",
        "assertTupleEqual",
        "assertSetEqual",
    ]) {
        return EQUAL;
    }
    let Some(condition) = masked.strip_prefix("assert ") else { return RELATION };
    if text.contains(" or ") && masked.contains(" or ") {
        return TRUTH;
    }
    if condition.contains("==") || condition.contains(" is ") && !condition.contains(" is not ") {
        EQUAL
    } else if [" in ", "!=", "<", ">", ".startswith(", ".endswith(", "is not "]
        .iter()
        .any(|word| condition.contains(word))
    {
        RELATION
    } else {
        TRUTH
    }
}

fn by_operator(masked: &str, equal: &str, unequal: &str) -> u8 {
    if masked.contains("||") {
        TRUTH
    } else if masked.contains(equal) {
        EQUAL
    } else if masked.contains(unequal)
        || masked.contains(['<', '>'])
        || masked.contains("contains(")
        || masked.contains("matches!")
    {
        RELATION
    } else {
        TRUTH
    }
}

static SIDES: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [
        regex(r"^assert (.+) == (.+)$"),
        regex(r"^self\.assertEqual\((.+), (.+)\)$"),
        regex(r"^assert_eq!\((.+), (.+)\)$"),
        regex(r"^expect\((.+)\)\.to(?:Be|Equal|StrictEqual)\((.+)\)$"),
    ]
});

/// `assert x == x`.
fn is_the_same_on_both_sides(_language: Language, text: &str) -> bool {
    SIDES.iter().any(|sides| sides.captures(text).is_some_and(|hit| hit[1].trim() == hit[2].trim()))
}

static TOLERANCE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?:\b(?:rel|abs|rtol|atol|delta|rel_tol|abs_tol|tolerance|eps|epsilon|max_relative)\s*[=:]\s*|(?:<=?|InDelta\([^)]*,|InEpsilon\([^)]*,)\s*)([0-9][0-9_]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)",
    )
});
static DIGITS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?:places\s*=\s*|decimal\s*=\s*|toBeCloseTo\([^()]*,\s*|AlmostEqual\([^()]*,[^()]*,\s*)([0-9]+)")
});

/// Whether `after` tolerates more than `before`.
pub(super) fn tolerates_more(before: &str, after: &str) -> bool {
    let numbers = |pattern: &Regex, text: &str| -> Vec<f64> {
        pattern.captures_iter(text).filter_map(|hit| hit[1].replace('_', "").parse().ok()).collect()
    };
    let wider = |was: Vec<f64>, now: Vec<f64>| {
        was.len() == now.len() && was.iter().zip(&now).any(|(was, now)| now > was)
    };
    wider(numbers(&TOLERANCE, before), numbers(&TOLERANCE, after))
        || wider(numbers(&DIGITS, after), numbers(&DIGITS, before))
}

/// How many cases a parametrised test has; `None` for an ordinary one.
pub(super) fn cases(source: &Source<'_>, unit: &Unit) -> Option<usize> {
    let header = &source.mask[unit.header.clone()];
    match source.language {
        Language::Python => header.contains("parametrize").then(|| items(header, b'[')),
        Language::Script => header.contains(".each").then(|| items(header, b'[')),
        Language::Rust => {
            let cases = header.matches("#[case").count() + header.matches("test_case(").count();
            (cases > 0).then_some(cases)
        }
        Language::Go => {
            let at = unit.body.start + source.mask[unit.body.clone()].find("[]struct")?;
            let fields = at + source.mask[at..unit.body.end].find('{')?;
            let table = source.matching(fields);
            Some(items(&source.mask[table..source.matching(table).min(unit.body.end)], b'{'))
        }
    }
}

/// The items of the outermost lists that begin with `open`: `[(1, 2), (3, 4)]` has two.
fn items(masked: &str, open: u8) -> usize {
    let mut stack: Vec<u8> = Vec::new();
    let mut items = 0;
    let mut some = false;
    for byte in masked.bytes() {
        let outermost =
            stack.last() == Some(&open) && stack.iter().filter(|byte| **byte == open).count() == 1;
        match byte {
            b'(' | b'[' | b'{' => {
                some |= outermost;
                stack.push(byte);
            }
            b')' | b']' | b'}' => {
                stack.pop();
                if outermost {
                    items += usize::from(some);
                    some = false;
                }
            }
            b',' if outermost => {
                items += usize::from(some);
                some = false;
            }
            byte => some |= outermost && !byte.is_ascii_whitespace(),
        }
    }
    items
}
