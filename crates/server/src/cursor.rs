//! Cursors of lists: opaque to clients, and good for the store and the order that they were made for.

use askd_core::Seq;
use askd_hub::Order;

use super::problem::{Code, Problem};

pub struct Cursor;

fn letter(order: Order) -> &'static str {
    match order {
        Order::Desc => "d",
        Order::Asc => "a",
    }
}

impl Cursor {
    pub fn text(seq: Seq, identity: &str, order: Order) -> String {
        format!("{}{identity}{seq}", letter(order))
    }

    pub fn parse(text: &str, identity: &str, order: Order) -> Result<Seq, Problem> {
        let refused = |detail: &str| Problem::named(Code::InvalidCursor, "cursor", "invalid", detail);
        let rest = text
            .strip_prefix(letter(order))
            .ok_or_else(|| refused("this cursor belongs to another order"))?;
        let seq = rest
            .strip_prefix(identity)
            .ok_or_else(|| refused("this cursor belongs to another store; list again"))?;
        seq.parse().map_err(|_| refused("this cursor is damaged; list again"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_own_store_and_order() {
        let cursor = Cursor::text(42, "abc", Order::Desc);
        assert_eq!(Cursor::parse(&cursor, "abc", Order::Desc).unwrap(), 42);
        assert!(Cursor::parse(&cursor, "abd", Order::Desc).is_err());
        assert!(Cursor::parse(&cursor, "abc", Order::Asc).is_err());
        assert!(Cursor::parse("dabc-1", "abc", Order::Desc).is_err());
    }
}
