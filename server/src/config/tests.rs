use std::time::Duration;

use serde_json::{Value, json};

use super::*;

fn load(workspace: &str, user: &str, settings: Option<Value>) -> Result<Loaded, ConfigError> {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join(FILE_NAME), workspace).unwrap();
    let user_file = root.path().join("user.toml");
    std::fs::write(&user_file, user).unwrap();
    Config::load(root.path(), Some(&user_file), settings.as_ref())
}

fn config(workspace: &str) -> Config {
    load(workspace, "", None).unwrap().config
}

/// `line:column: message` of what a workspace file is refused with.
fn refused(workspace: &str) -> String {
    let error = load(workspace, "", None).unwrap_err();
    assert!(error.file.ends_with(FILE_NAME), "{error}");
    format!("{}:{}: {}", error.line, error.column, error.message)
}

#[test]
fn an_absent_and_an_empty_file_give_the_defaults_of_the_design() {
    let root = tempfile::tempdir().unwrap();
    let absent = Config::load(root.path(), Some(&root.path().join("nowhere/config.toml")), None).unwrap();
    assert!(absent.files.is_empty());
    for config in [absent.config, config("")] {
        assert_eq!(config, Config::default());
        assert_eq!(config.protocol, Protocol::Bounded);
        assert_eq!(config.findings, [".fix-loop/findings/**"]);
        assert_eq!(config.show, Show::Unconfirmed);
        assert_eq!(config.round1_evidence, Round1Evidence::Proven);
        assert_eq!((config.spec, config.standards, config.simplify), (None, vec![], false));
        assert!(config.always_allow.is_empty() && config.checks.is_empty() && config.agents.is_empty());
    }
}

#[test]
fn the_budget_defaults_follow_the_protocol_and_what_is_written_wins() {
    let written = config("[budget]\nminutes = 5\ncost_usd = 2.5");
    let table = [
        (Config::default(), Protocol::Bounded, (8, 60, None)),
        (Config::default(), Protocol::Rereview, (8, 60, None)),
        (Config::default(), Protocol::Converge, (12, 360, None)),
        (written.clone(), Protocol::Bounded, (8, 5, Some(2.5))),
        (written, Protocol::Converge, (12, 5, Some(2.5))),
    ];
    for (config, protocol, expected) in table {
        let budget = config.budget_for(protocol);
        assert_eq!((budget.workers, budget.minutes, budget.cost_usd), expected, "{protocol}");
    }
}

#[test]
fn every_key_of_the_design_is_read() {
    let config = config(
        r#"
        protocol = "rereview"
        findings = ["a/*.json", "b.sarif"]
        show = "all"
        round1_evidence = "touched"
        spec = "docs/spec.md"
        standards = ["CONTRIBUTING.md"]
        simplify = true
        [budget]
        workers = 3
        [scope]
        always_allow = ["CHANGELOG.md"]
        [[check]]
        name = "unit"
        command = ["pytest", "-q"]
        paths = ["src/**/*.py"]
        kind = "typecheck"
        cwd = "sub"
        env = { PYTHONHASHSEED = "0" }
        timeout = "1h30m"
        [[check]]
        name = "plain"
        command = ["true"]
        [agents.mine]
        kind = "command"
        command = ["python3", "agent.py"]
        timeout = "90s"
        [roles.fixer]
        agent = "mine"
        model = "base"
        effort = "low"
        scoped = { model = "sonnet" }
        cross_file = { model = "opus", effort = "high" }
        ladder = [{ model = "opus", effort = "high" }]
        brief = "briefs/fixer.md"
        [roles.final_gate]
        agent = "codex"
        "#,
    );
    assert_eq!(config.protocol, Protocol::Rereview);
    assert_eq!(config.findings.len(), 2);
    assert_eq!(config.always_allow, ["CHANGELOG.md"]);
    let [unit, plain] = &config.checks[..] else { panic!("two checks") };
    assert_eq!(
        (unit.kind, unit.cwd.as_str(), unit.timeout),
        (CheckKind::Typecheck, "sub", Duration::from_secs(5400))
    );
    assert_eq!(unit.env["PYTHONHASHSEED"], "0");
    assert_eq!(
        (plain.kind, plain.cwd.as_str(), plain.timeout),
        (CheckKind::Test, ".", Duration::from_secs(300))
    );
    assert_eq!(plain.paths, None);
    assert_eq!(config.agents["mine"].kind, Some(AgentKind::Command));
    assert_eq!(config.agents["mine"].timeout, Some(Duration::from_secs(90)));
    let fixer = config.role(RoleName::Fixer);
    assert_eq!(fixer.brief.as_deref(), Some("briefs/fixer.md"));
    assert_eq!(fixer.ladder.as_ref().map(Vec::len), Some(1));
    assert_eq!(config.role(RoleName::FinalGate).agent.as_deref(), Some("codex"));
    assert_eq!(config.role(RoleName::Closer), RoleConfig::default());
}

#[test]
fn one_file_gets_the_scoped_model_and_several_the_cross_file_one() {
    let fixer = config(
        "[roles.fixer]\nmodel = 'base'\neffort = 'low'\nscoped = { model = 's' }\ncross_file = { effort = 'high' }",
    )
    .role(RoleName::Fixer);
    let choice = |files| {
        let choice = fixer.choice_for(files);
        (choice.model.unwrap(), choice.effort.unwrap())
    };
    assert_eq!(choice(0), ("s".into(), "low".into()));
    assert_eq!(choice(1), ("s".into(), "low".into()));
    assert_eq!(choice(2), ("base".into(), "high".into()));
}

#[test]
fn an_unknown_key_is_refused_at_its_place_with_the_nearest_known_one() {
    let table = [
        ("protocl = 'bounded'", "1:1: unknown key `protocl`", "did you mean `protocol`?"),
        ("\n[budget]\nworker = 3", "3:1: unknown key `worker`", "did you mean `workers`?"),
        ("[scope]\nalways-allow = []", "2:1: unknown key `always-allow`", "did you mean `always_allow`?"),
        (
            "[[check]]\nname='a'\ncommand=['b']\ntimout='5m'",
            "4:1: unknown key `timout`",
            "did you mean `timeout`?",
        ),
        ("[agents.mine]\ncomand=['b']", "2:1: unknown key `comand`", "did you mean `command`?"),
        ("[roles.fixr]\nagent='claude'", "1:8: unknown value `fixr`", "did you mean `fixer`?"),
        ("[roles.fixer]\nmodell='x'", "2:1: unknown key `modell`", "did you mean `model`?"),
        ("[roles.fixer]\nscoped = { modle = 'x' }", "2:12: unknown key `modle`", "did you mean `model`?"),
        ("protocol = 'bound'", "1:12: unknown value `bound`", "did you mean `bounded`?"),
        ("é = 1\n", "1:1: ", ""),
    ];
    for (text, begins, ends) in table {
        let message = refused(text);
        assert!(message.starts_with(begins) && message.ends_with(ends), "{text}\n{message}");
    }
    assert!(!refused("zzzzqqq = 1").contains("did you mean"));
}

#[test]
fn a_wrong_value_is_refused_at_its_place_and_the_message_says_what_to_write() {
    let table = [
        ("[[check]]\nname = 'a'\ncommand = 'pytest -q'", "3:11: ", "never a shell string"),
        ("[[check]]\nname = 'a'\ncommand = ['pytest -q']", "3:11: ", r#"write ["pytest", "-q"]"#),
        ("[[check]]\nname = 'a'\ncommand = []", "3:11: ", "names no program"),
        ("[[check]]\nname = 'a'", "1:1: ", "missing field `command`"),
        (
            "[[check]]\nname='a'\ncommand=['b']\n[[check]]\nname='a'\ncommand=['b']",
            "5:6: ",
            "two checks named `a`",
        ),
        ("[[check]]\nname='a'\ncommand=['b']\ncwd = '../x'", "4:7: ", "leaves the workspace"),
        ("[[check]]\nname='a'\ncommand=['b']\ntimeout = 'soon'", "4:11: ", "write it like `90s`"),
        ("[[check]]\nname='a'\ncommand=['b']\ntimeout = '0s'", "4:11: ", "leaves no time"),
        ("[[check]]\nname='a'\ncommand=['b']\npaths = ['ok', 'a[']", "4:16: ", "is no glob"),
        ("findings = ['{']", "1:13: ", "is no glob"),
        ("[budget]\nworkers = 0", "2:11: ", "never start anything"),
        ("[budget]\nworkers = -1", "2:11: ", ""),
        ("[budget]\ncost_usd = -0.5", "2:12: ", "above 0"),
        ("spec = '/etc/passwd'", "1:8: ", "leaves the workspace"),
        ("[roles.fixer]\nbrief = '../b.md'", "2:9: ", "leaves the workspace"),
        ("[roles.fixer]\nmodel = '--dangerous'", "2:9: ", "cannot be the name of a model"),
        ("[roles.fixer]\nscoped = { model = '-c' }", "2:20: ", "cannot be the name of a model"),
        ("[roles.fixer]\nladder = [{ effort = \"a\\\"b\" }]", "2:", "cannot be the name of a model"),
        ("[roles.fixer]\nmodel = ' '", "2:9: ", "chooses nothing"),
        ("[roles.fixer]\nagent = 'claud'", "2:9: ", "did you mean `claude`?"),
        ("[roles.fixer]\nagent = 'zzz'", "2:9: ", "add a table [agents.zzz]"),
        ("[agents.mine]\nkind = 'command'", "1:1: ", "has no command"),
        ("[agents.mine]\npreset = 'cluade'\ncommand=['x']", "2:10: ", "did you mean `claude`?"),
        ("protocol = ", "1:12: ", ""),
    ];
    for (text, begins, holds) in table {
        let message = refused(text);
        assert!(message.starts_with(begins) && message.contains(holds), "{text}\n{message}");
    }
}

#[test]
fn a_file_that_is_no_text_is_refused_with_its_place() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(FILE_NAME);
    std::fs::write(&path, b"show = 'all'\n# \xff\n").unwrap();
    let error = Config::load(root.path(), None, None).unwrap_err();
    assert_eq!((error.line, error.column), (2, 3), "{error}");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = Config::load(root.path(), None, None).unwrap_err();
    assert_eq!(error.line, 0);
    assert!(error.to_string().ends_with("fix-loop.toml: is not a regular file"), "{error}");
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, vec![b'#'; 1024 * 1024 + 1]).unwrap();
    assert!(Config::load(root.path(), None, None).is_err());
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_no_trouble() {
    assert_eq!(config("\u{feff}show = 'all'\r\n").show, Show::All);
    assert!(refused("\u{feff}shw = 'all'\r\n").starts_with("1:1: unknown key `shw`"));
}

#[test]
fn the_workspace_lies_over_the_users_own_file_key_by_key() {
    let user = r#"
        show = "all"
        standards = ["MINE.md"]
        [budget]
        workers = 2
        minutes = 3
        [[check]]
        name = "shared"
        command = ["user"]
        [[check]]
        name = "users"
        command = ["user"]
        [agents.mine]
        command = ["mine"]
        timeout = "1m"
        [roles.fixer]
        agent = "mine"
        model = "m"
    "#;
    let workspace = r#"
        standards = []
        [budget]
        minutes = 9
        [[check]]
        name = "shared"
        command = ["workspace"]
        [agents.mine]
        timeout = "2m"
        [roles.fixer]
        model = "w"
    "#;
    let loaded = load(workspace, user, None).unwrap();
    assert_eq!(loaded.files.len(), 2);
    let config = loaded.config;
    assert_eq!(config.show, Show::All);
    assert!(config.standards.is_empty(), "an explicit empty list is a value");
    assert_eq!((config.budget.workers, config.budget.minutes), (Some(2), Some(9)));
    let commands: Vec<_> =
        config.checks.iter().map(|check| (check.name.as_str(), check.command[0].as_str())).collect();
    assert_eq!(commands, [("shared", "workspace"), ("users", "user")]);
    assert_eq!(config.agents["mine"].command.as_deref(), Some(&["mine".to_owned()][..]));
    assert_eq!(config.agents["mine"].timeout, Some(Duration::from_secs(120)));
    let fixer = config.role(RoleName::Fixer);
    assert_eq!((fixer.agent.as_deref(), fixer.model.as_deref()), (Some("mine"), Some("w")));
}

#[test]
fn an_error_in_the_users_own_file_names_that_file() {
    let error = load("", "\nshow = 'al'", None).unwrap_err();
    assert!(error.file.ends_with("user.toml"));
    assert_eq!((error.line, error.column), (2, 8));
    // The fault shows only in the whole, and stands in the user's file.
    let error = load("show = 'all'", "[roles.fixer]\nagent = 'nobody'", None).unwrap_err();
    assert!(error.file.ends_with("user.toml") && error.line == 2, "{error}");
}

#[test]
fn editor_settings_override_the_file_in_either_shape_and_nulls_say_nothing() {
    let inner = json!({"show": "confirmed", "protocol": null, "budget": {"workers": 1, "minutes": null}});
    for settings in [inner.clone(), json!({"fixLoop": inner})] {
        let loaded =
            load("protocol = 'rereview'\nshow = 'all'\n[budget]\nminutes = 7", "", Some(settings)).unwrap();
        assert_eq!(loaded.config.show, Show::Confirmed);
        assert_eq!(loaded.config.protocol, Protocol::Rereview);
        assert_eq!((loaded.config.budget.workers, loaded.config.budget.minutes), (Some(1), Some(7)));
        assert!(loaded.notes.is_empty());
    }
    assert_eq!(load("", "", Some(Value::Null)).unwrap().config, Config::default());
}

#[test]
fn editor_settings_can_never_name_a_command() {
    let file = "[[check]]\nname = 'unit'\ncommand = ['real']\n[agents.mine]\ncommand = ['real']";
    let settings = json!({
        "check": [{"name": "unit", "command": ["evil"]}],
        "agents": {
            "mine": {"command": ["evil"], "env": {"LD_PRELOAD": "evil.so"}, "pass_env": ["SECRET"], "preset": "claude",
                "kind": "cli", "model_args": ["-c", "evil"], "effort_args": ["--evil"], "timeout": "1m"},
            "other": {"command": ["evil"]},
        },
        "roles": {"fixer": {"brief": "evil.md", "model": "small"}},
    });
    let plain = load(file, "", None).unwrap();
    let loaded = load(file, "", Some(settings)).unwrap();
    assert_eq!(loaded.config.checks, plain.config.checks);
    assert_eq!(loaded.config.agents.len(), 1);
    assert_eq!(loaded.config.agents["mine"].command, plain.config.agents["mine"].command);
    assert!(loaded.config.agents["mine"].env.is_empty() && loaded.config.agents["mine"].pass_env.is_none());
    assert_eq!(loaded.config.agents["mine"].timeout, Some(Duration::from_secs(60)));
    assert_eq!(loaded.commands_hash, plain.commands_hash);
    assert_eq!(
        loaded.config.agents["mine"],
        AgentConfig { timeout: Some(Duration::from_secs(60)), ..plain.config.agents["mine"].clone() }
    );
    let fixer = loaded.config.role(RoleName::Fixer);
    assert_eq!((fixer.brief, fixer.model.as_deref()), (None, Some("small")));
    let keys = [
        "check",
        "roles.fixer.brief",
        "agents.mine.command",
        "agents.mine.env",
        "agents.mine.pass_env",
        "agents.mine.preset",
        "agents.mine.kind",
        "agents.mine.model_args",
        "agents.mine.effort_args",
        "agents.other.command",
    ];
    assert_eq!(loaded.notes.len(), keys.len(), "{:?}", loaded.notes);
    for (note, key) in loaded.notes.iter().zip(keys) {
        assert!(note.contains(&format!("`fixLoop.{key}`")), "{note}");
    }
}

#[test]
fn a_wrong_editor_setting_is_refused_by_its_key() {
    let table = [
        (json!({"shw": "all"}), "did you mean `show`?"),
        (json!({"budget": {"workrs": 1}}), "budget: unknown key `workrs`"),
        (json!({"budget": {"workers": 0}}), "budget.workers: 0 would never"),
        (json!({"show": 3}), "show: "),
        (json!([]), "must be an object"),
        (json!({"roles": {"fixer": {"agent": "nobody"}}}), "roles.fixer.agent: there is no agent `nobody`"),
    ];
    for (settings, holds) in table {
        let error = load("", "", Some(settings.clone())).unwrap_err();
        assert_eq!(error.line, 0);
        assert!(error.to_string().starts_with("editor settings (fixLoop): "), "{error}");
        assert!(error.message.contains(holds), "{settings}\n{error}");
    }
    // What belongs to the client is not the server's to refuse.
    assert!(load("", "", Some(json!({"server": {"path": "x"}, "trace": {"server": "off"}}))).is_ok());
}

#[test]
fn the_commands_hash_changes_with_what_runs_and_with_nothing_else() {
    let base = "[[check]]\nname = 'u'\ncommand = ['a']\n[agents.m]\ncommand = ['x']\n";
    let hash = |text: &str| load(text, "", None).unwrap().commands_hash;
    let before = hash(base);
    assert_eq!(before.len(), 64);
    let same = ["show = 'all'\n", "protocol = 'converge'\n", "# a comment\n", "[budget]\nworkers = 2\n"];
    for text in same {
        assert_eq!(hash(&format!("{text}{base}")), before, "{text}");
    }
    assert_eq!(
        hash(&format!("{base}timeout = '1m'\n[roles.fixer]\nmodel = 'x'")),
        hash(&format!("{base}[roles.fixer]"))
    );
    let other = [
        base.replace("['a']", "['a', 'b']"),
        base.replace("['a']", "['a']\ncwd = 'b'"),
        base.replace("['a']", "['a']\nenv = { PATH = 'b' }"),
        base.replace("['x']", "['y']"),
        base.replace("['x']", "['x']\npass_env = ['TOKEN']"),
        base.replace("agents.m", "agents.n"),
        format!("{base}[roles.fixer]\nagent = 'm'"),
        String::new(),
    ];
    let mut seen = vec![before];
    for text in other {
        let hash = hash(&text);
        assert!(!seen.contains(&hash), "{text}");
        seen.push(hash);
    }
}

#[test]
fn lengths_of_time_are_read_as_people_write_them_and_written_back() {
    let table = [
        ("5m", 300_000),
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("250ms", 250),
        ("2h", 7_200_000),
    ];
    for (text, milliseconds) in table {
        let parsed = duration::parse(text).unwrap();
        assert_eq!(parsed, Duration::from_millis(milliseconds), "{text}");
        assert_eq!(duration::parse(&duration::format(parsed)), Ok(parsed), "{text}");
    }
    for text in
        ["", " ", "5", "m", "5 m5m", "-5m", "1.5h", "5m5m", "0s", "9999999h", "99999999999999999999s", "5µ"]
    {
        assert!(duration::parse(text).is_err(), "{text}");
    }
}

#[test]
fn the_init_template_is_the_defaults_and_its_examples_are_valid() {
    assert_eq!(config(INIT_TEMPLATE), Config::default());
    let uncommented: Vec<&str> = INIT_TEMPLATE
        .lines()
        .filter(|line| !line.starts_with("# "))
        .map(|line| line.strip_prefix('#').unwrap_or(line))
        .collect();
    let config = config(&uncommented.join("\n"));
    assert_eq!(config.checks[0].command, ["pytest", "-q"]);
    assert_eq!(config.role(RoleName::Verifier).agent.as_deref(), Some("codex"));
    assert_eq!(config.budget_for(Protocol::Bounded).workers, 8);
    // What the template says is a default is one.
    let default = Config::default();
    assert_eq!(
        (config.protocol, &config.findings, config.show, config.round1_evidence, config.simplify),
        (default.protocol, &default.findings, default.show, default.round1_evidence, default.simplify)
    );
}

#[test]
fn the_users_own_file_follows_the_base_directory_specification() {
    let path = |xdg: Option<&str>, home: Option<&str>| user_file(xdg.map(Into::into), home.map(Into::into));
    let table = [
        (path(Some("/x"), Some("/h")), Some("/x/fix-loop/config.toml")),
        (path(None, Some("/h")), Some("/h/.config/fix-loop/config.toml")),
        (path(Some(""), Some("/h")), Some("/h/.config/fix-loop/config.toml")),
        (path(Some("relative"), Some("/h")), Some("/h/.config/fix-loop/config.toml")),
        (path(None, Some("")), None),
        (path(None, None), None),
    ];
    for (got, expected) in table {
        assert_eq!(got, expected.map(PathBuf::from));
    }
}

#[test]
fn the_schema_knows_every_key_refuses_others_and_accepts_the_template() {
    let schema = schema();
    let keys: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    for key in [
        "protocol",
        "findings",
        "show",
        "round1_evidence",
        "spec",
        "standards",
        "simplify",
        "budget",
        "scope",
        "check",
        "agents",
        "roles",
    ] {
        assert!(keys.contains(&key), "{key}");
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    let good = json!({
        "protocol": "converge",
        "check": [{"name": "a", "command": ["b"], "timeout": "5m"}],
        "roles": {"fixer": {"agent": "claude", "scoped": {"model": "m"}}},
        "agents": {"mine": {"kind": "command", "command": ["x"], "timeout": "1m"}},
    });
    assert!(validator.is_valid(&good));
    for bad in [json!({"protocl": "bounded"}), json!({"show": "some"}), json!({"check": [{"name": "a"}]})] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}

#[test]
fn what_could_never_work_is_refused_where_it_is_written() {
    let suggested = "`suggested` applies the fixes that findings carry, and can only be fixer";
    for (written, expected) in [
        (
            "findings = [\"../elsewhere/**\"]",
            "1:13: `../elsewhere/**` leaves the workspace; give a path relative to its root",
        ),
        (
            "findings = [\"a/**\", \"/tmp/**\"]",
            "1:21: `/tmp/**` leaves the workspace; give a path relative to its root",
        ),
        (
            "findings = \".fix-loop\"",
            "1:12: invalid type: string \".fix-loop\", expected a sequence; write a list: [\".fix-loop\"]",
        ),
        ("[roles.verifier]\nagent = \"suggested\"", &format!("2:9: {suggested}")),
        ("[roles.reviewer]\nagent = \"suggested\"", &format!("2:9: {suggested}")),
        (
            "[agents.s]\nkind = \"suggested\"\n[roles.closer]\nagent = \"s\"",
            "4:9: `s` applies the fixes that findings carry, and can only be fixer",
        ),
    ] {
        assert_eq!(refused(written), expected, "{written}");
    }
    config("[roles.fixer]\nagent = \"suggested\"");
}
