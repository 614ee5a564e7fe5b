//! Which paths are tests, recorded expectations, or the machinery that runs tests.

use std::path::Path;

/// Whether a path is a test file by the conventions of Python, JavaScript, Rust, Go and others.
pub fn is_test_path(path: &Path) -> bool {
    let parts: Vec<&str> = path.components().filter_map(|part| part.as_os_str().to_str()).collect();
    let Some((name, folders)) = parts.split_last() else { return false };
    let stem = name.rsplit_once('.').map_or(*name, |(stem, _)| stem);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let in_test_folder = folders.iter().any(|folder| {
        matches!(*folder, "test" | "tests" | "__tests__" | "spec" | "specs" | "testdata" | "e2e")
    });
    let named = match extension {
        "py" | "pyi" => {
            stem.starts_with("test_")
                || stem.ends_with("_test")
                || matches!(stem, "tests" | "test" | "conftest")
        }
        "go" => stem.ends_with("_test"),
        "rs" => matches!(stem, "tests" | "test") || stem.ends_with("_test") || stem.ends_with("_tests"),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => {
            [".test", ".spec", "-test", "_test", ".tests", ".cy", ".e2e"]
                .iter()
                .any(|end| stem.ends_with(end))
                || stem == "test"
                || stem.starts_with("test-")
        }
        "java" | "kt" | "cs" | "swift" | "php" | "scala" => {
            stem.ends_with("Test") || stem.ends_with("Tests") || stem.ends_with("Spec")
        }
        "rb" => stem.ends_with("_spec") || stem.ends_with("_test"),
        "bats" => true,
        _ => false,
    };
    named || in_test_folder || is_snapshot_path(path)
}

/// Recorded expectations: changing them changes what a test demands.
pub fn is_snapshot_path(path: &Path) -> bool {
    let text = path.to_string_lossy().replace('\\', "/");
    let folders = ["__snapshots__/", "/snapshots/", "golden/", "goldens/"];
    [".snap", ".ambr", ".golden", ".approved.txt"].iter().any(|end| text.ends_with(end))
        || folders.iter().any(|folder| text.contains(folder))
}

/// Files that decide which tests run, and where.
pub fn is_ci_path(path: &Path) -> bool {
    let text = path.to_string_lossy().replace('\\', "/");
    let name = text.rsplit('/').next().unwrap_or(&text);
    [".github/workflows/", ".github/actions/", ".circleci/", ".buildkite/", ".gitlab/ci/", ".woodpecker/"]
        .iter()
        .any(|folder| text.starts_with(folder) || text.contains(&format!("/{folder}")))
        || matches!(
            name,
            ".gitlab-ci.yml"
                | ".gitlab-ci.yaml"
                | ".travis.yml"
                | "azure-pipelines.yml"
                | "Jenkinsfile"
                | "appveyor.yml"
                | ".appveyor.yml"
                | "bitbucket-pipelines.yml"
                | ".cirrus.yml"
                | ".drone.yml"
                | "noxfile.py"
                | "tox.ini"
                | "pytest.ini"
                | "fix-loop.toml"
                | "nextest.toml"
                | ".pytest.ini"
                | "sitecustomize.py"
                | "usercustomize.py"
        )
        || name.ends_with(".pth")
        || text.ends_with(".cargo/config.toml")
        || text.ends_with(".cargo/config")
        || [
            "jest.config.",
            "vitest.config.",
            "vitest.workspace.",
            "playwright.config.",
            "karma.conf.",
            ".mocharc",
        ]
        .iter()
        .any(|start| name.starts_with(start))
}
