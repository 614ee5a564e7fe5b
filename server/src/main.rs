//! `fix-loop`: the command line. Everything that it does is the library's; here are arguments, printing and exit codes.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
