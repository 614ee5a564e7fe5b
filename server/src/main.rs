fn main() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "supervise") {
        fix_loop::process::supervise_main();
    }
}
