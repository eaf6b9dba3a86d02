//! Sessions of terminals from the agent's own list, including those without a question, with their activity.
//!
//! In: the list. Out: a session for each live conversation, and its activity for the surfaces. So an agent
//! that waits for something outside of askd, such as a permission, is visible.

use std::collections::{HashMap, HashSet};

use askd_core::Cause;
use askd_store::SessionSeen;

use super::LocalAgents;
use super::liveness::seen_again;
use super::registry::{Registered, holder, is_managed, later};
use super::session::Conversation;
use crate::EngineError;

/// What earlier looks found about the entries of the list.
#[derive(Default)]
pub(super) struct Listed {
    /// True for a process that askd started. Its environment does not change.
    managed: HashMap<(u32, i64), bool>,
    /// Conversations with a session, and their processes.
    told: HashSet<(String, u32)>,
    /// The conversation of each process at the last look.
    held: HashMap<(u32, i64), String>,
}

impl LocalAgents {
    /// Reads the list, and returns the entries of live processes.
    pub(super) async fn look_at_registry(&self, listed: &mut Listed) -> Result<Vec<Registered>, EngineError> {
        let living = self.inner.observed.registered().await;
        let is_there = |pid: u32| living.iter().any(|entry| entry.pid == pid);
        listed.managed.retain(|(pid, _), _| is_there(*pid));
        listed.told.retain(|(_, pid)| is_there(*pid));
        listed.held.retain(|(pid, _), _| is_there(*pid));
        let mut left: Vec<(String, &Registered)> = Vec::new();
        let mut holders: HashMap<&str, &Registered> = HashMap::new();
        for entry in &living {
            let managed = listed.managed.entry((entry.pid, entry.started_at));
            if *managed.or_insert_with(|| is_managed(entry.pid)) || !entry.has_terminal() {
                continue;
            }
            let held = listed.held.insert((entry.pid, entry.started_at), entry.session_id.clone());
            left.extend(held.filter(|held| *held != entry.session_id).map(|held| (held, entry)));
            let holder = holders.entry(&entry.session_id).or_insert(entry);
            *holder = later(holder, entry);
        }
        for holder in holders.values() {
            let key = (holder.session_id.clone(), holder.pid);
            if !listed.told.contains(&key) && self.list_session(holder).await? {
                listed.told.insert(key);
            }
        }
        for (held, entry) in left {
            listed.told.remove(&(held.clone(), entry.pid));
            let _place = self.inner.observed.turn.lock().await;
            self.left_for_another(&held, entry, &living).await?;
        }
        let activities =
            holders.values().filter_map(|holder| Some((holder.session_id.clone(), holder.activity()?)));
        let activities = activities.collect();
        let source = self.inner.observed.memory().source.clone();
        if let Some(source) = source {
            self.hub().sessions.set_activities(source, activities);
        }
        Ok(living)
    }

    /// Makes a session of an entry, unless there is one. `false`: askd's own agent has the conversation at
    /// this moment.
    async fn list_session(&self, entry: &Registered) -> Result<bool, EngineError> {
        let known = self.store().sessions_called(&entry.session_id).await?;
        if known.iter().any(|session| session.managed && session.live) {
            return Ok(false);
        }
        // A live session keeps its process: the next process takes its place after its end.
        if !known.iter().any(|session| !session.managed && session.live && session.pid.is_some()) {
            let mut place = self.inner.observed.turn.lock().await;
            let source = self.hook_source(&mut place).await?;
            let conversation = Conversation {
                native_id: entry.session_id.clone(),
                cwd: entry.cwd.clone(),
                pid: Some(entry.pid),
                times_out: None,
                has_no_hook: false,
            };
            self.hook_session(&source, &conversation).await?;
        }
        Ok(true)
    }

    /// A process that held a conversation has gone on with another one, as by `/clear` or `/resume`: the
    /// first one is over, unless another process holds it. The caller has the turn.
    pub(super) async fn left_for_another(
        &self,
        held: &str,
        entry: &Registered,
        living: &[Registered],
    ) -> Result<(), EngineError> {
        let source = self.inner.observed.memory().source.clone();
        for session in self.store().sessions_called(held).await? {
            if !session.live || session.pid != Some(entry.pid) || Some(&session.source_id) != source.as_ref()
            {
                continue;
            }
            match holder(living, held) {
                Some(next) => {
                    self.hub()
                        .sessions
                        .see(SessionSeen { pid: Some(next.pid), ..seen_again(&session) })
                        .await?;
                    self.inner.observed.look_after(next.pid);
                }
                None => {
                    let went =
                        format!("its terminal went on with another conversation, {}", entry.session_id);
                    self.hub().sessions.end(&session.id, Cause::SessionEnded { detail: Some(went) }).await?;
                }
            }
        }
        Ok(())
    }
}
