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

macro_rules! whole_list {
    ($program:ident, $variable:literal, $($list:ident::$name:ident),* $(,)?) => {
        $(
            #[test]
            #[ignore = $variable]
            fn $name() {
                super::$list::$name(super::Program::$program);
            }
        )*
    };
}

/// The whole list, for one program after the other: what holds for one agent holds for each.
macro_rules! each_program {
    ($($module:ident: $program:ident, $variable:literal;)*) => {
        $(
            mod $module {
                whole_list! { $program, $variable,
                    rounds::a_fix_in_round_1_is_staged_beside_the_users_work,
                    rounds::wrong_then_right_is_resolved_in_round_2,
                    rounds::wrong_twice_is_escalated_with_both_attempts,
                    rounds::a_second_file_that_is_asked_for_and_approved_is_staged_too,
                    rounds::a_second_file_that_is_refused_leaves_the_round_to_be_repeated_in_its_scope,
                    rounds::a_second_file_edited_without_asking_is_set_aside_and_asked_about,
                    rounds::fixed_without_a_difference_is_never_resolved,
                    failing::a_refused_account_is_no_attempt,
                    failing::a_rate_limit_is_no_attempt,
                    failing::an_error_of_the_service_is_no_attempt,
                    failing::garbage_from_the_service_is_no_attempt,
                    failing::an_answer_that_is_cut_is_no_attempt,
                    failing::an_error_beside_exit_code_0_is_an_error,
                    failing::an_agent_that_hangs_is_ended_at_its_limit,
                    failing::a_report_that_never_fits_its_schema_is_asked_for_once_and_then_inconclusive,
                    failing::fixed_beside_denied_edits_is_the_environments_failure,
                    stopping::a_signal_ends_the_agents_tool_and_restores_the_tree,
                    stopping::cancelling_in_the_editor_ends_the_agents_tool_and_restores_the_tree,
                    untrusted::a_finding_that_gives_orders_stays_data_and_the_scope_holds,
                }
            }
        )*
    };
}

each_program! {
    claude: Claude, "agents: needs FIX_LOOP_CLAUDE";
    codex: Codex, "agents: needs FIX_LOOP_CODEX";
    claude_acp: ClaudeAcp, "agents: needs FIX_LOOP_CLAUDE_ACP";
    gemini: Gemini, "agents: needs FIX_LOOP_GEMINI";
    qwen: Qwen, "agents: needs FIX_LOOP_QWEN";
    opencode: Opencode, "agents: needs FIX_LOOP_OPENCODE";
}

mod codex_sandbox {
    #[test]
    #[ignore = "agents: needs FIX_LOOP_CODEX"]
    fn fixed_beside_edits_that_the_sandbox_denied_is_the_environments_failure() {
        super::failing::codex_is_denied_edits_by_its_sandbox();
    }
}

/// What a program does over the Agent Client Protocol is the same; these rows show that its preset speaks it.
macro_rules! each_over_acp {
    ($($module:ident: $program:ident, $variable:literal;)*) => {
        $(
            mod $module {
                whole_list! { $program, $variable,
                    rounds::a_fix_in_round_1_is_staged_beside_the_users_work,
                    rounds::wrong_then_right_is_resolved_in_round_2,
                    rounds::wrong_twice_is_escalated_with_both_attempts,
                    rounds::a_second_file_that_is_asked_for_and_approved_is_staged_too,
                    rounds::a_second_file_edited_over_acp_is_never_in_the_tree,
                    failing::a_refused_account_is_no_attempt,
                    failing::an_agent_that_hangs_is_ended_at_its_limit,
                    failing::a_report_that_never_fits_its_schema_is_asked_for_once_and_then_inconclusive,
                    stopping::a_signal_ends_the_agents_tool_and_restores_the_tree,
                }
            }
        )*
    };
}

each_over_acp! {
    gemini_acp: GeminiAcp, "agents: needs FIX_LOOP_GEMINI";
    qwen_acp: QwenAcp, "agents: needs FIX_LOOP_QWEN";
    opencode_acp: OpencodeAcp, "agents: needs FIX_LOOP_OPENCODE";
}

mod claude_converge {
    whole_list! { Claude, "agents: needs FIX_LOOP_CLAUDE",
        converge::a_review_is_checked_fixed_in_the_worktree_and_closed_to_a_passing_gate,
    }
}

mod codex_converge {
    whole_list! { Codex, "agents: needs FIX_LOOP_CODEX",
        converge::a_review_is_checked_fixed_in_the_worktree_and_closed_to_a_passing_gate,
    }
}

mod cost_table {
    #[test]
    #[ignore = "agents: measures the programs that are there"]
    fn one_fix_takes_no_request_beyond_the_agents_own() {
        super::costs::what_one_fix_costs();
    }
}
