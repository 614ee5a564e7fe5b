//! Which edits of Rust and Go tests weaken them.

use super::weaken::check_table;
use crate::checks::weaken::WeakeningKind::*;

pub(super) const RUST: &str = "\
pub fn total(items: &[i32]) -> i32 {
    assert!(items.len() < 10);
    items.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        let text = \"#[ignore] {\";
        assert_eq!(total(&[1, 2]), 3, \"{text}\");
        assert!((half(3) - 1.5).abs() < 1e-9);
    }

    #[tokio::test]
    async fn fails() {
        let c = '{';
        assert!(matches!(load(c).await, Err(Error::Missing)));
    }
}
";

#[test]
fn rust_tests_inside_of_a_source_file() {
    check_table(
        "src/shop.rs",
        RUST,
        &[
            (
                "assertion deleted",
                "        assert_eq!(total(&[1, 2]), 3, \"{text}\");\n",
                "",
                &[AssertionDeleted],
            ),
            (
                "loosened",
                "assert_eq!(total(&[1, 2]), 3, \"{text}\")",
                "assert!(total(&[1, 2]) > 0)",
                &[ComparisonLoosened],
            ),
            (
                "not equal",
                "assert_eq!(total(&[1, 2]), 3, ",
                "assert_ne!(total(&[1, 2]), 4, ",
                &[ComparisonLoosened],
            ),
            (
                "any error",
                "assert!(matches!(load(c).await, Err(Error::Missing)))",
                "assert!(load(c).await.is_err())",
                &[ComparisonLoosened],
            ),
            (
                "always true",
                "assert!(matches!(load(c).await, Err(Error::Missing)))",
                "assert!(true)",
                &[ComparisonLoosened],
            ),
            ("tolerance", "1e-9", "10.0", &[ToleranceWidened]),
            ("expected value", "&[1, 2]), 3,", "&[1, 2]), -1,", &[ExpectationChanged]),
            ("ignore", "    #[test]\n", "    #[test]\n    #[ignore]\n", &[Skipped]),
            ("should panic", "    #[test]\n", "    #[test]\n    #[should_panic]\n", &[Skipped]),
            ("no test any more", "    #[tokio::test]\n", "", &[TestDeleted]),
            ("leaves", "        let c = '{';\n", "        let c = '{';\n        return;\n", &[Skipped]),
            ("only with a feature", "#[cfg(test)]", "#[cfg(all(test, feature = \"never\"))]", &[Skipped]),
            (
                "caught",
                "        let c = '{';\n",
                "        let _ = std::panic::catch_unwind(|| ());\n",
                &[ErrorSwallowed],
            ),
            (
                "a local name",
                "let text = \"#[ignore] {\";\n        assert_eq!(total(&[1, 2]), 3, \"{text}\");",
                "let text = \"#[ignore] {\";\n        assert_eq!(3, total(&[1, 2]), \"{text}\");",
                &[],
            ),
            ("no message", "3, \"{text}\")", "3)", &[]),
            ("a feature of the code", "pub fn total", "#[cfg(feature = \"shop\")]\npub fn total", &[]),
            ("assertion of the code itself", "    assert!(items.len() < 10);\n", "", &[]),
            ("code", "items.iter().sum()", "items.iter().copied().sum()", &[]),
            (
                "test added",
                "    #[test]\n",
                "    #[test]\n    fn new() {\n        assert!(true);\n    }\n\n    #[test]\n",
                &[],
            ),
        ],
    );
}

pub(super) const GO: &str = "\
package shop

import \"testing\"

func TestTotal(t *testing.T) {
	got := Total(1, 2)
	if got != 3 {
		t.Errorf(\"got %d {\", got)
	}
	require.Equal(t, 3, got)
}

func TestLoad(t *testing.T) {
	for _, c := range []struct{ in string }{
		{\"a\"},
		{\"b\"},
	} {
		if err := Load(c.in); err == nil {
			t.Fatal(\"no error\")
		}
	}
}
";

#[test]
fn go_tests() {
    check_table(
        "shop/shop_test.go",
        GO,
        &[
            (
                "report deleted",
                "\tif got != 3 {\n\t\tt.Errorf(\"got %d {\", got)\n\t}\n",
                "",
                &[AssertionDeleted],
            ),
            ("loosened", "if got != 3", "if got < 0", &[ComparisonLoosened]),
            ("not nil", "require.Equal(t, 3, got)", "require.NotNil(t, got)", &[ComparisonLoosened]),
            ("expected value", "if got != 3", "if got != -1", &[ExpectationChanged]),
            ("skip", "\tgot := Total(1, 2)\n", "\tt.Skip(\"later\")\n\tgot := Total(1, 2)\n", &[Skipped]),
            ("build tag", "package shop", "//go:build never\n\npackage shop", &[Skipped]),
            (
                "recover",
                "\tgot := Total(1, 2)\n",
                "\tdefer func() { recover() }()\n\tgot := Total(1, 2)\n",
                &[ErrorSwallowed],
            ),
            ("case removed", "\t\t{\"b\"},\n", "", &[CasesRemoved]),
            ("not run any more", "func TestLoad", "func testLoad", &[TestDeleted]),
            ("only logged", "t.Errorf(", "t.Logf(", &[AssertionDeleted]),
            (
                "a local name",
                "\tgot := Total(1, 2)\n\tif got != 3 {\n\t\tt.Errorf(\"got %d {\", got)\n\t}\n\trequire.Equal(t, 3, got)\n",
                "\tsum := Total(1, 2)\n\tif sum != 3 {\n\t\tt.Errorf(\"got %d {\", sum)\n\t}\n\trequire.Equal(t, 3, sum)\n",
                &[],
            ),
            ("in parallel", "\tgot := Total(1, 2)\n", "\tt.Parallel()\n\tgot := Total(1, 2)\n", &[]),
            (
                "only when asked",
                "\tgot := Total(1, 2)\n",
                "\tif testing.Short() {\n\t\tt.SkipNow()\n\t}\n\tgot := Total(1, 2)\n",
                &[Skipped, Skipped],
            ),
            (
                "assertion added",
                "\trequire.Equal(t, 3, got)\n",
                "\trequire.Equal(t, 3, got)\n\trequire.True(t, got > 0)\n",
                &[],
            ),
        ],
    );
}
