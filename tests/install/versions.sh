# The pinned versions of the programs that the tests run against. Sourced by tests/run and by the installers.
NEOVIM=0.11.4
CODE_SERVER=4.139.1
NODE=24.22.3
PLAYWRIGHT=1.65.1
PYTEST=9.2.0
CLAUDE_CODE=2.1.332
CODEX=0.171.0
INFLECTION=0.5.1
RUFF=0.17.6
CLAUDE_ACP=0.49.0
GEMINI=0.61.0
QWEN=0.24.4
OPENCODE=1.18.33
