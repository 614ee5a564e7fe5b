//! Lines that keep a test from running, or from failing.

use std::sync::LazyLock;

use regex::Regex;

use crate::checks::source::Language;

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

static PYTHON_SKIP: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"@(?:unittest\.|pytest\.mark\.)?(?:skip|skipIf|skipUnless|skipif|xfail|expectedFailure)\b|\bpytest\.(?:skip|xfail|importorskip)\(|\bself\.skipTest\(|\bSkipTest\b|\bpytestmark\b.*\b(?:skip|skipif|xfail)\b|\bpytest\.mark\.(?:skip|skipif|xfail)\b|\bcollect_ignore\w*\b|\b__test__ *= *False|\badd_marker\(|\bdeselect",
    )
});
static SCRIPT_SKIP: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:it|test|describe|suite|context)\.(?:skip|todo|failing|fails|fixme|only|skipIf|runIf|concurrent\.skip)\b|\b(?:xit|xtest|xdescribe|xcontext|fit|fdescribe)\b *\(|\bt\.(?:skip|todo)\(|\bthis\.skip\(|\b(?:skip|todo|only) *: *(?:true|['\x22])",
    )
});
static RUST_SKIP: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"#\[ *(?:ignore\b|should_panic\b|cfg\((?:any\(\)|FALSE|not\(test\)|not\(all\(\)\))\)|cfg\(all\(test, *feature|cfg_attr\([^\]]*\bignore\b)",
    )
});
static GO_SKIP: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"\bt\.(?:Skip|Skipf|SkipNow)\(|\btesting\.Short\(\)|^//go:build\b|^// \+build\b")
});

static PYTHON_SWALLOW: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^\s*except\b.*:|\bcontextlib\.suppress\(|\bsuppress\((?:Exception|BaseException|AssertionError)")
});
static SCRIPT_SWALLOW: LazyLock<Regex> = LazyLock::new(|| regex(r"\bcatch *(?:\([^)]*\))? *\{|\.catch\("));
static RUST_SWALLOW: LazyLock<Regex> = LazyLock::new(|| regex(r"\bcatch_unwind\b"));
static GO_SWALLOW: LazyLock<Regex> = LazyLock::new(|| regex(r"\brecover\(\)"));

/// Puts something else in the place of the code under test.
static PYTHON_REPLACES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"@(?:\w+\.)*patch\b|\b(?:mock|mocker)\.patch\b|\bpatch(?:\.object|\.dict)?\(|\bmonkeypatch\.(?:setattr|setitem)\(",
    )
});
static SCRIPT_REPLACES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:jest|vi)\.(?:mock|doMock|spyOn|unstable_mockModule)\(|\bsinon\.(?:stub|replace|fake)\b|\bmock\.(?:method|module|getter)\(",
    )
});

static DEAD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\s*(?:if *\(? *(?:False|false|0)\)? *[:{]|while *\(? *(?:False|false|0)\b)"));
static LEAVES: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*return\b *;? *(?:\(\);?)?$"));

/// Keeps a test from running.
pub(super) fn skips(language: Language, line: &str) -> bool {
    match language {
        Language::Python => PYTHON_SKIP.is_match(line),
        Language::Script => SCRIPT_SKIP.is_match(line),
        Language::Rust => RUST_SKIP.is_match(line),
        Language::Go => GO_SKIP.is_match(line),
    }
}

/// Keeps a failure from being seen.
pub(super) fn swallows(language: Language, line: &str) -> bool {
    match language {
        Language::Python => PYTHON_SWALLOW.is_match(line),
        Language::Script => SCRIPT_SWALLOW.is_match(line),
        Language::Rust => RUST_SWALLOW.is_match(line),
        Language::Go => GO_SWALLOW.is_match(line),
    }
}

/// Replaces code that the test is about.
pub(super) fn replaces(language: Language, line: &str) -> bool {
    match language {
        Language::Python => PYTHON_REPLACES.is_match(line),
        Language::Script => SCRIPT_REPLACES.is_match(line),
        Language::Rust | Language::Go => false,
    }
}

/// Code that never runs.
pub(super) fn is_dead(line: &str) -> bool {
    DEAD.is_match(line)
}

/// Leaves the test.
pub(super) fn leaves(line: &str) -> bool {
    LEAVES.is_match(line)
}
