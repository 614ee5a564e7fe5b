//! Whole runs of `fix-loop` with real coding agents, whose model is scripted and on loopback.
//!
//! `tests/run agents` installs the programs, pinned, and names them in the environment; a module whose program is missing
//! is left out there by its name. They are ignored otherwise, since nobody has to have these programs to work on Fix Loop.

mod acp;
mod converge;
mod costs;
mod environment;
mod failing;
mod rounds;
mod stopping;
mod untrusted;
mod world;

use world::Program;

macro_rules! with_both {
    ($($module:ident::$name:ident),* $(,)?) => {
        mod claude {
            $(
                #[test]
                #[ignore = "agents: needs FIX_LOOP_CLAUDE"]
                fn $name() {
                    super::$module::$name(super::Program::Claude);
                }
            )*
        }
        mod codex {
            $(
                #[test]
                #[ignore = "agents: needs FIX_LOOP_CODEX"]
                fn $name() {
                    super::$module::$name(super::Program::Codex);
                }
            )*
        }
    };
}

with_both!(
    rounds::a_fix_in_round_1_is_staged_beside_the_users_work,
    rounds::wrong_then_right_is_resolved_in_round_2,
    rounds::wrong_twice_is_escalated_with_both_attempts,
    rounds::a_second_file_that_is_asked_for_and_approved_is_staged_too,
    rounds::a_second_file_that_is_refused_leaves_the_round_to_be_repeated_in_its_scope,
    rounds::a_second_file_edited_without_asking_is_set_aside_and_asked_about,
    rounds::fixed_without_a_difference_is_never_resolved,
    failing::failures_of_the_service_and_the_account_are_no_attempts,
    failing::an_error_beside_exit_code_0_is_an_error,
    failing::an_agent_that_hangs_is_ended_at_its_limit,
    failing::a_report_that_never_fits_its_schema_is_asked_for_once_and_then_inconclusive,
    stopping::a_signal_ends_the_agents_tool_and_restores_the_tree,
    stopping::cancelling_in_the_editor_ends_the_agents_tool_and_restores_the_tree,
    untrusted::a_finding_that_gives_orders_stays_data_and_the_scope_holds,
);

mod claude_denied {
    #[test]
    #[ignore = "agents: needs FIX_LOOP_CLAUDE"]
    fn fixed_beside_denied_edits_is_the_environments_failure() {
        super::failing::fixed_beside_denied_edits_is_the_environments_failure();
    }
}

macro_rules! with_another {
    ($($module:ident: $program:ident, $variable:literal;)*) => {
        $(
            mod $module {
                #[test]
                #[ignore = $variable]
                fn a_fix_in_round_1_is_staged_beside_the_users_work() {
                    super::rounds::a_fix_in_round_1_is_staged_beside_the_users_work(super::Program::$program);
                }

                #[test]
                #[ignore = $variable]
                fn a_refused_account_is_no_attempt() {
                    super::failing::a_refused_account_is_no_attempt(super::Program::$program);
                }
            }
        )*
    };
}

with_another!(
    gemini: Gemini, "agents: needs FIX_LOOP_GEMINI";
    qwen: Qwen, "agents: needs FIX_LOOP_QWEN";
    opencode: Opencode, "agents: needs FIX_LOOP_OPENCODE";
);

mod claude_acp {
    use super::{Program, rounds, stopping};

    #[test]
    #[ignore = "agents: needs FIX_LOOP_CLAUDE_ACP"]
    fn a_fix_in_round_1_is_staged_beside_the_users_work() {
        rounds::a_fix_in_round_1_is_staged_beside_the_users_work(Program::ClaudeAcp);
    }

    #[test]
    #[ignore = "agents: needs FIX_LOOP_CLAUDE_ACP"]
    fn a_second_file_that_is_asked_for_and_approved_is_staged_too() {
        rounds::a_second_file_that_is_asked_for_and_approved_is_staged_too(Program::ClaudeAcp);
    }

    #[test]
    #[ignore = "agents: needs FIX_LOOP_CLAUDE_ACP"]
    fn a_signal_ends_the_agents_tool_and_restores_the_tree() {
        stopping::a_signal_ends_the_agents_tool_and_restores_the_tree(Program::ClaudeAcp);
    }
}

mod claude_converge {
    #[test]
    #[ignore = "agents: needs FIX_LOOP_CLAUDE"]
    fn a_review_is_checked_fixed_in_the_worktree_and_closed_to_a_passing_gate() {
        super::converge::a_review_is_checked_fixed_in_the_worktree_and_closed_to_a_passing_gate();
    }
}

mod cost_table {
    #[test]
    #[ignore = "agents: measures the programs that are there"]
    fn one_fix_takes_no_request_beyond_the_agents_own() {
        super::costs::what_one_fix_costs();
    }
}
