use crate::protocol::graph;

#[test]
fn the_graph_is_drawn_the_same_each_time() {
    let drawn = graph("bounded").unwrap();
    println!("{drawn}");
    assert_eq!(drawn, graph("bounded").unwrap());
}

#[test]
fn count() {
    use crate::protocol::{bounded::world::*, bounded::*, explore::*, *};
    use std::collections::BTreeSet;
    let subject = |k: &str| Subject {
        key: FindingKey(k.into()),
        severity: Severity::P1,
        files: BTreeSet::from(["src/a.rs".to_owned()]),
    };
    for n in [vec![subject("one")], vec![subject("one"), subject("two")]] {
        for world in World::EACH {
            let mut input = BoundedInput::fix(n.clone());
            input.budget = Budget { workers: 0, minutes: 0, cost_usd: None };
            let t = std::time::Instant::now();
            let e = explore(
                Bounded::new(input),
                (),
                |m| events(m, world),
                |m, ()| Some(shape(m)),
                |_, _| Ok(()),
                Limits { states: 30_000, depth: 999 },
            );
            println!("{:?} {world:?} {e:?} {:?}", n.len(), t.elapsed());
        }
    }
}
