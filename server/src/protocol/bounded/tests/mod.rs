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
    assert_eq!(drawn, graph("bounded").unwrap());
}
