//! `/v1/backup`: a copy of the store, made in one step beside running work.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use tokio_util::io::ReaderStream;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::problem::Problem;
use super::state::AppState;
use askd_hub::{Backups, Caller, EngineError};

/// Bytes of one read from the copy.
const CHUNK: usize = 64 << 10;
const SQLITE: &str = "application/vnd.sqlite3";

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(backup))
}

/// A consistent copy of the store as one SQLite file, with the passwords of attached sources and the sealed
/// secret answers, and without the key that opens them.
#[utoipa::path(get, path = "/v1/backup", operation_id = "getBackup", tag = "hub",
    responses((status = 200, content_type = "application/vnd.sqlite3", body = Vec<u8>)))]
async fn backup(State(backups): State<Backups>, caller: Caller) -> Result<Response, Problem> {
    let file = tokio::fs::File::from_std(backups.make(&caller).await?);
    let unread = |error: std::io::Error| Problem::from(EngineError::Store(error.into()));
    let length = file.metadata().await.map_err(unread)?.len();
    let headers = [
        (header::CONTENT_TYPE, SQLITE.to_owned()),
        // A client that receives less knows that the copy is incomplete.
        (header::CONTENT_LENGTH, length.to_string()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    let body = Body::from_stream(ReaderStream::with_capacity(file, CHUNK));
    Ok((headers, body).into_response())
}
