mod doctored;
mod enumeration;
mod random;
mod rules;
mod stories;
mod telling;

use crate::protocol::graph;

#[test]
fn the_graph_is_drawn_the_same_each_time() {
    let drawn = graph("bounded").unwrap();
    let edges = [
        "[*] --> checkpointing : started",
        "round_1_checking --> finished : checked",
        "round_1_checking --> round_1_verifying : checked",
        "round_2_checking --> round_2_verifying : checked",
        "putting_back --> waiting_inconclusive : action failed",
        "any_other_state --> cancelling : cancelled",
        "finished --> [*]",
    ];
    for edge in edges {
        assert!(drawn.contains(&format!("\n    {edge}")), "{edge} is missing in\n{drawn}");
    }
    assert!(!drawn.contains("round_3"), "{drawn}");
    assert_eq!(graph("none"), None);
    assert_eq!(drawn, graph("bounded").unwrap());
}
