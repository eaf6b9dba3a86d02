//! Tokens: looked up by hash from memory, which never says other than the store.

use askd_core::{Right, Rights};
use askd_store::{Questions, TokenRecord, Tokens};

use super::props::*;
use super::stage::Stage;

fn record(n: u8) -> TokenRecord {
    TokenRecord {
        id: token(u128::from(n)),
        name: format!("token {n}"),
        rights: Rights::new([Right::Ask, Right::Read]),
        hash: [n; 32],
        created_at: at(i64::from(n)),
    }
}

pub(crate) async fn tokens_are_found_by_their_hash_until_revoked<S: Stage>() {
    let mut stage = S::fresh().await;
    assert_eq!(stage.store().tokens(), []);
    for n in [2, 1, 3] {
        stage.store().add_token(record(n)).await.unwrap();
    }
    assert!(stage.store().revoke_token(&record(2).id).await.unwrap());
    assert!(!stage.store().revoke_token(&record(2).id).await.unwrap());
    for _ in 0..2 {
        let store = stage.store();
        assert_eq!(store.tokens(), [record(1), record(3)]);
        assert_eq!(store.token_by_hash(&[1; 32]), Some(record(1)));
        assert_eq!(store.token_by_hash(&[2; 32]), None);
        assert_eq!(store.token_by_hash(&[9; 32]), None);
        stage.reopen().await;
    }
}

/// Starts `work` and goes away, as a client does that hangs up; then waits until the store has nothing left
/// to do.
async fn abandoned<S: Stage, F: Future>(stage: &S, work: F) {
    tokio::select! {
        biased;
        _ = work => {}
        () = std::future::ready(()) => {}
    }
    stage.store().probe().await.unwrap();
}

pub(crate) async fn an_abandoned_revocation_is_all_or_nothing<S: Stage>() {
    let mut stage = S::fresh().await;
    stage.store().add_token(record(1)).await.unwrap();
    abandoned(&stage, stage.store().revoke_token(&record(1).id)).await;
    let in_memory = stage.store().tokens();
    stage.reopen().await;
    assert_eq!(stage.store().tokens(), in_memory);
}

pub(crate) async fn an_abandoned_creation_is_all_or_nothing<S: Stage>() {
    let mut stage = S::fresh().await;
    abandoned(&stage, stage.store().add_token(record(1))).await;
    let in_memory = stage.store().tokens();
    stage.reopen().await;
    assert_eq!(stage.store().tokens(), in_memory);
}
