//! Random orders of events.

use super::super::super::walking;
use super::super::{Rereview, world};
use super::rules::Watcher;

#[test]
fn no_order_of_events_breaks_a_rule() {
    let begin = || (Rereview::new(world::input()), Watcher::new(&world::input()));
    walking::random_orders(begin, world::events, Watcher::see);
}
