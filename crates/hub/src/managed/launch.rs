//! Finds the program for a start command, checks its version, and makes the command line for a holder.
//!
//! In: an adapter and a request. Out: the holder's command, or a refusal that says what to do. It starts
//! nothing but the program itself, to print its version.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use askd_agents::{Adapter, AdapterError, Launch, LaunchRequest};
use askd_core::SessionId;
use askd_core::field::Collector;
use askd_holder::{Folder, HolderId, HolderLimits, HolderSpec, SESSION_VARIABLE};

use super::Connections;
use super::start::{StartError, StartRequest};

/// The prefix of askd's own variables. They must not reach an agent: with a token it could answer for its
/// human.
const OWN_VARIABLES: &str = "ASKD_";

impl Connections {
    pub(super) async fn holder_spec(
        &self,
        adapter: &dyn Adapter,
        request: &StartRequest,
        cwd: &Path,
        session: &SessionId,
    ) -> Result<HolderSpec, StartError> {
        let launch = self.launch(adapter, request, cwd).await?;
        let inherited = std::env::vars().filter(|(name, _)| !name.starts_with(OWN_VARIABLES));
        let mut env: BTreeMap<String, String> = inherited.collect();
        env.extend(request.env.clone());
        env.extend(launch.env);
        env.retain(|name, _| !name.starts_with(OWN_VARIABLES) && !launch.env_remove.contains(name));
        env.insert(SESSION_VARIABLE.to_owned(), session.to_string());
        // Short, because it is part of a socket's path; the session's own digits keep it unique.
        let digits = session.as_str().trim_start_matches("ses_");
        let id = HolderId::new(digits.to_ascii_lowercase()).map_err(|error| failed(request, error))?;
        let data = &self.inner.settings.data;
        Ok(HolderSpec {
            folder: Folder::in_data(data, &id).path().to_owned(),
            id,
            command: launch.command.display().to_string(),
            args: launch.args,
            cwd: cwd.to_owned(),
            env,
            // The journal must survive hub and holder; if the machine dies, the agent dies with it and
            // nothing is redelivered.
            limits: HolderLimits {
                journal_sync: false,
                linger_seconds: self.inner.settings.linger.as_secs(),
                ..HolderLimits::default()
            },
        })
    }

    /// The command line for the version that was found.
    async fn launch(
        &self,
        adapter: &dyn Adapter,
        request: &StartRequest,
        cwd: &Path,
    ) -> Result<Launch, StartError> {
        let given = request.env.get("PATH").map(OsString::from);
        let path = given.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        let program = adapter.find(&path).into_iter().next().ok_or_else(|| StartError::NotInstalled {
            agent: request.agent.clone(),
            why: adapter.descriptor().not_found(),
        })?;
        let mut wish = LaunchRequest {
            cwd: cwd.to_owned(),
            prompt: request.prompt.clone(),
            args: request.args.clone(),
            version: self.hub().agents.version_of(adapter, &program.path, &path).await,
            program: program.path,
        };
        let mut launch = adapter.launch(&wish);
        if matches!(launch, Err(AdapterError::Unsupported { .. })) {
            // Not by memory alone.
            wish.version = self.hub().agents.version_now(adapter, &wish.program, &path).await;
            launch = adapter.launch(&wish);
        }
        launch.map_err(|error| match error {
            AdapterError::Unsupported { .. } => StartError::Unsupported(error),
            error => failed(request, error),
        })
    }
}

fn failed(request: &StartRequest, why: impl ToString) -> StartError {
    StartError::Failed { agent: request.agent.clone(), why: why.to_string() }
}

/// The agent's folder and environment, without anything of askd's.
pub(super) fn folder_of(request: &StartRequest) -> Result<PathBuf, StartError> {
    let mut errors = Collector::default();
    let cwd = match &request.cwd {
        Some(cwd) => cwd.clone(),
        None => std::env::current_dir().unwrap_or_default(),
    };
    if !cwd.is_absolute() {
        errors.add("cwd", "not_absolute", "must be an absolute path");
    } else if !cwd.is_dir() {
        errors.add("cwd", "not_found", format!("{} is not a folder", cwd.display()));
    }
    for name in request.env.keys().filter(|name| name.starts_with(OWN_VARIABLES)) {
        errors.add(format!("env.{name}"), "reserved", "askd sets its own variables itself");
    }
    Ok(errors.finish(cwd)?)
}
