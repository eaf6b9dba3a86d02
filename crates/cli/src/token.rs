//! `askd token`: keys for programs and people, each with the rights it needs and no more.

use askd_core::Right;
use clap::{Args, Subcommand};

use super::exit::{Exit, Failure, Outcome};
use super::inside_agent::Guard;
use super::screen::{Screen, say};
use super::table::{Fit, table};
use super::text::one_line;
use super::when::ago;
use crate::client::Client;

#[derive(Debug, Args)]
pub struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token and print it; it is shown only now
    #[command(after_help = "\
Rights:
  ask     ask, and read, wait on and take back one's own questions
  answer  answer and reject; includes reading
  read    read every question, session and event
  manage  sources, sessions and tokens

Examples:
  askd token create --right ask --name ci
  askd token create --right answer --right ask --name phone
  export ASKD_TOKEN=$(askd token create --right read)")]
    Create(CreateArgs),
    /// List the tokens by name and rights; the tokens themselves are not kept
    #[command(after_help = "Examples:\n  askd token list\n  askd token list --json | jq -r '.tokens[].name'")]
    List,
    /// Make a token useless
    #[command(
        after_help = "Examples:\n  askd token revoke tok_01J9ZK3V4M5N6P7Q8R9S0TABCD\n  askd token revoke ci"
    )]
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// A right: ask, answer, read or manage; repeat for several
    #[arg(long = "right", value_name = "RIGHT", required = true)]
    rights: Vec<Right>,
    /// The user of the token, shown with every answer; unless given, its rights
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

#[derive(Debug, Args)]
struct RevokeArgs {
    /// The token's id, or its name if that is unique
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn token(args: TokenArgs, client: &Client, screen: Screen, guard: Guard) -> Outcome {
    match args.command {
        TokenCommand::Create(args) => create(args, client, screen, guard).await,
        TokenCommand::List => list(client, screen).await,
        TokenCommand::Revoke(args) => revoke(&args.id, client, screen).await,
    }
}

async fn create(args: CreateArgs, client: &Client, screen: Screen, guard: Guard) -> Outcome {
    // `manage` can make another token, so it is as good as `answer` where the maker has both.
    if args.rights.iter().any(|right| matches!(right, Right::Answer | Right::Manage)) {
        guard.refuse_inside_agent("create a token that can answer")?;
    }
    let name = args.name.unwrap_or_else(|| rights(&args.rights));
    let created = client.create_token(&name, &args.rights).await?;
    if screen.json {
        return Ok(screen.json(&created.json)?);
    }
    say(&format!(
        "Token {} with the rights {}. Keep it: it is not shown again.",
        created.value.info.id,
        rights(&created.value.info.rights)
    ));
    Ok(screen.line(&one_line(&created.value.token))?)
}

async fn list(client: &Client, screen: Screen) -> Outcome {
    let tokens = client.tokens().await?;
    if screen.json {
        return Ok(screen.json(&tokens.json)?);
    }
    let rows: Vec<Vec<String>> = tokens
        .value
        .tokens
        .iter()
        .map(|token| {
            let name = token.name.as_deref().map(one_line).unwrap_or_default();
            vec![
                one_line(&token.id),
                name,
                rights(&token.rights),
                token.created_at.map(ago).unwrap_or_default(),
            ]
        })
        .collect();
    let columns = [("ID", Fit::Whole), ("NAME", Fit::End), ("RIGHTS", Fit::Whole), ("CREATED", Fit::Whole)];
    Ok(screen.line(&table(&columns, &rows, screen.width, screen.paint))?)
}

async fn revoke(text: &str, client: &Client, screen: Screen) -> Outcome {
    let tokens = client.tokens().await?.value.tokens;
    let named = |name: &Option<String>| name.as_deref() == Some(text);
    let found: Vec<_> = tokens.iter().filter(|token| token.id == text || named(&token.name)).collect();
    let id = match found.as_slice() {
        [only] => &only.id,
        [] => {
            return Err(Failure::new(
                Exit::NotFound,
                format!("there is no token {text:?}; see: askd token list"),
            ));
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|token| token.id.as_str()).collect();
            let message =
                format!("{} tokens are called {text:?}; give an id: {}", several.len(), ids.join(", "));
            return Err(Failure::new(Exit::NotFound, message));
        }
    };
    client.revoke_token(id).await?;
    if screen.json {
        return Ok(screen.json(&serde_json::json!({ "id": id, "revoked": true }))?);
    }
    Ok(screen.line(&format!("Revoked {id}."))?)
}

fn rights(rights: &[Right]) -> String {
    rights.iter().map(|right| right.as_str()).collect::<Vec<_>>().join(", ")
}
