//! The ids of askd's own requests. Each id contains its request and session, so a restarted hub understands
//! the response.

use super::wire::RpcId;

/// A request of askd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ours {
    Initialize,
    NewSession,
    Prompt(String),
    Close(String),
}

#[derive(Debug, Default)]
pub(crate) struct Ids {
    epoch: u32,
    count: u64,
}

impl Ids {
    /// `epoch` keeps the requests of a restarted hub apart from those of the one before.
    pub(crate) fn new(epoch: u32) -> Self {
        Self { epoch, count: 0 }
    }

    pub(crate) fn next(&mut self, what: &Ours) -> String {
        let (epoch, count) = (self.epoch, self.count);
        self.count += 1;
        match what {
            Ours::Initialize => format!("askd:{epoch}.{count}:initialize"),
            Ours::NewSession => format!("askd:{epoch}.{count}:new"),
            Ours::Prompt(session) => format!("askd:{epoch}.{count}:prompt:{session}"),
            Ours::Close(session) => format!("askd:{epoch}.{count}:close:{session}"),
        }
    }
}

impl Ours {
    pub(crate) fn read(id: &RpcId) -> Option<Self> {
        let text: String = serde_json::from_str(id.as_str()).ok()?;
        let (_, what) = text.strip_prefix("askd:")?.split_once(':')?;
        match what.split_once(':') {
            Some(("prompt", session)) => Some(Self::Prompt(session.to_owned())),
            Some(("close", session)) => Some(Self::Close(session.to_owned())),
            Some(_) => None,
            None if what == "initialize" => Some(Self::Initialize),
            None if what == "new" => Some(Self::NewSession),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_what_it_was_also_with_odd_session_names() {
        let mut ids = Ids::new(3);
        for ours in [
            Ours::Initialize,
            Ours::NewSession,
            Ours::Prompt("a:b \"c\"".to_owned()),
            Ours::Close(String::new()),
        ] {
            let id = serde_json::to_string(&ids.next(&ours)).unwrap();
            assert_eq!(Ours::read(&serde_json::from_str(&id).unwrap()), Some(ours));
        }
        for other in ["7", "null", "\"askd:\"", "\"askd:1.2:load:x\"", "\"uuid\""] {
            assert_eq!(Ours::read(&serde_json::from_str(other).unwrap()), None);
        }
    }
}
