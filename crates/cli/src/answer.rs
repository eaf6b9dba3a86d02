//! `askd answer`: the human decides, from arguments or by being asked.

use std::io::Read;
use std::path::PathBuf;

use askd_core::Question;
use askd_core::answer::Reply;
use askd_core::unseen::is_blank;
use clap::Args;

use super::exit::{Exit, Failure, Outcome};
use super::given::Given;
use super::inside_agent::Guard;
use super::screen::{Screen, say};
use super::{ending, ids, prompt};
use crate::client::{Client, Received};

pub const EXAMPLES: &str = "\
A value is always one whole argument: an option's value or label (upper and lower case do not matter), or own words. Quote \
values with spaces; commas and line breaks in them are safe. After `--` a value may begin with a dash. A text that is number, \
label or value of different options is not sent (7): --pick, --value or --own-words say which is meant.

  askd answer ID                               asks you, with the options shown
  askd answer ID JWT                           one question
  askd answer ID --pick 2                      the same, by the option's number
  askd answer ID --value s                     the same, by the option's value, as `askd show` has it in brackets
  askd answer ID Logging Metrics               one question with several picks
  askd answer ID JWT Postgres ''               three questions, one argument for each; '' skips one
  askd answer ID -i 1=JWT -i 2=Logging -i 2=Metrics -i 3=
                                               the same by number, with two picks for the second
  askd answer ID --pick 1.2 --pick 2.1         question 1 option 2, question 2 option 1
  askd answer ID approve                       a plan; to send it back: askd reject ID --reason TEXT
  askd answer ID --edited-plan plan.md         a plan, as you changed it
  askd answer ID --stdin < words.txt           one question, from a file or another program
  askd answer ID --answers '[[\"JWT\"],[]]'      the API's own form, also [{\"picks\":[\"s\"]},{\"words\":[]}];
                                               `--answers -` reads it from stdin
  askd answer ID Sesions --own-words           own words as they are, although they look like an option or its number
  askd answer --oldest JWT                     the question that has waited longest
  askd answer ID --as-message                  an answer that came too late for its call, as the next message

Words that nearly name an option, such as `Sesions` for `Sessions`, are not sent (7) unless --own-words says so.

The same answer again is the same success (0); another one gets 5 and the answer that won. Inside a known agent's process \
tree, or where ASKD_SESSION is set, it refuses (6).";

#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The question (its id, a unique beginning, or its last 6 characters or more), then the answer
    #[arg(value_name = "ID [ANSWER]", required_unless_present = "oldest", allow_negative_numbers = true)]
    words: Vec<String>,
    /// Answer the open question that has waited longest; give no ID
    #[arg(long)]
    oldest: bool,
    /// The answer to question N (a number from 1, or its header, key or text); repeat for several picks; `N=`
    /// skips it
    #[arg(short = 'i', long = "item", value_name = "N=VALUE")]
    items: Vec<String>,
    /// An option by its number in `askd show`; ITEM.OPTION for several questions
    #[arg(short = 'p', long = "pick", value_name = "OPTION")]
    picks: Vec<String>,
    /// An option by its exact value; N=VALUE for several questions
    #[arg(long = "value", value_name = "VALUE", allow_hyphen_values = true)]
    values: Vec<String>,
    /// The answers as JSON: for each question an array of texts, or an object with picks (values) and words;
    /// `-` reads them from stdin
    #[arg(long, value_name = "JSON", conflicts_with_all = ["items", "picks", "values", "stdin"])]
    answers: Option<String>,
    /// Read the answer of a single question from stdin: for long texts and secrets
    #[arg(long, conflicts_with_all = ["items", "picks", "values"])]
    stdin: bool,
    /// Send words as own words, even if they nearly name an option; an option's own label is that option
    #[arg(long, conflicts_with = "answers")]
    own_words: bool,
    /// A note beside the answer; N=TEXT for several questions
    #[arg(long = "note", value_name = "TEXT")]
    notes: Vec<String>,
    /// The plan as you changed it; approves it. `-` reads stdin
    #[arg(long, value_name = "FILE")]
    edited_plan: Option<PathBuf>,
    /// The mode in which the agent continues after a plan
    #[arg(long, value_name = "MODE")]
    next_mode: Option<String>,
    /// Send the answer that was given, and did not reach the agent, as the next message of its conversation
    #[arg(long, conflicts_with_all = ["oldest", "items", "picks", "values", "answers", "stdin", "notes", "edited_plan", "next_mode", "own_words"])]
    as_message: bool,
}

pub async fn answer(args: AnswerArgs, client: &Client, screen: Screen, guard: Guard) -> Outcome {
    guard.refuse_inside_agent("answer a question")?;
    let mut words = args.words.clone();
    let target = if args.oldest || words.is_empty() { None } else { Some(words.remove(0)) };
    if args.as_message {
        return match &target {
            Some(id) if words.is_empty() => send_as_message(id, client, screen).await,
            _ => Err(Failure::usage(
                "--as-message sends an answer that was given before: give the question's id alone",
            )),
        };
    }
    let in_arguments = !words.is_empty()
        || !args.items.is_empty()
        || !args.values.is_empty()
        || args.answers.as_deref().is_some_and(|json| json != "-");
    let mut given = given(args, words)?;
    let question = match &target {
        Some(id) => ids::find(client, id).await?.value,
        None => ids::oldest(client).await?.value,
    };
    let settled = if given.has_answer() {
        let body = question.ask.body.as_ref().map(|body| body.text.as_str());
        // Sent back unchanged it is the same plan: approved, and not edited.
        let is_same =
            |plan: &String| body.is_some_and(|body| without_line_end(plan) == without_line_end(body));
        given.edited_plan = given.edited_plan.filter(|plan| !is_same(plan));
        let reply = given.reply(&question.ask).map_err(Failure::invalid)?;
        if in_arguments {
            warn_of_secrets(&reply, &question);
        }
        let sent = client.reply(&question.id, &reply).await;
        sent.map_err(|error| Failure::of_answer(error, &question.ask))?
    } else if !question.is_open() {
        return Err(Failure::new(Exit::Conflict, ending::conflict(&question)));
    } else {
        let notes = given.notes(&question.ask).map_err(Failure::invalid)?;
        let settled = prompt::ask(&question, client, prompt::Seen::Nothing, notes).await?;
        settled.ok_or_else(|| Failure::new(Exit::Interrupted, prompt::STILL_OPEN))?
    };
    report(&settled, screen)
}

async fn send_as_message(id: &str, client: &Client, screen: Screen) -> Outcome {
    let question = ids::find(client, id).await?.value;
    let session = client.send_as_message(&question.id).await?;
    if screen.json {
        return Ok(screen.json(&session.json)?);
    }
    Ok(screen.line(&format!("sent as the next message of {}", session.value.id))?)
}

fn given(args: AnswerArgs, words: Vec<String>) -> Outcome<Given> {
    let counted = [
        !words.is_empty(),
        !args.items.is_empty() || !args.picks.is_empty() || !args.values.is_empty(),
        args.answers.is_some(),
        args.stdin,
    ];
    if counted.iter().filter(|used| **used).count() > 1 {
        return Err(Failure::usage(
            "give the answer in one way only: as arguments, with -i, --pick and --value, --answers or --stdin",
        ));
    }
    let plan_from_stdin = args.edited_plan.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if args.own_words && words.is_empty() && args.items.is_empty() && !args.stdin {
        return Err(Failure::usage("--own-words needs the words: as arguments, with -i or by --stdin"));
    }
    if plan_from_stdin && (args.stdin || args.answers.as_deref() == Some("-")) {
        return Err(Failure::usage("only one thing can be read from stdin"));
    }
    let edited_plan: Option<String> =
        match &args.edited_plan {
            Some(_) if plan_from_stdin => Some(read_stdin()?),
            Some(path) => Some(std::fs::read_to_string(path).map_err(|error| {
                Failure::usage(format!("cannot read the plan {}: {error}", path.display()))
            })?),
            None => None,
        };
    if edited_plan.as_deref().is_some_and(is_blank) {
        let message = "the edited plan is empty; nothing was sent. To approve the plan as it is: askd answer ID approve";
        return Err(Failure::invalid(message));
    }
    let json = match args.answers {
        Some(text) if text == "-" => Some(read_answer()?),
        other => other,
    };
    let stdin = if args.stdin { Some(read_answer()?) } else { None };
    Ok(Given {
        words,
        items: args.items,
        picks: args.picks,
        values: args.values,
        json,
        stdin,
        notes: args.notes,
        edited_plan,
        next_mode: args.next_mode,
        own_words: args.own_words,
    })
}

/// The output of the program before this one in a pipe. If that program failed, there is none, which is no
/// answer.
fn read_answer() -> Outcome<String> {
    let text = read_stdin()?;
    if is_blank(&text) {
        let message =
            "there is no answer on standard input; nothing was sent. To skip a question: askd answer ID ''";
        return Err(Failure::invalid(message));
    }
    Ok(text)
}

/// Editors and `show --body` end a text with a line break.
fn without_line_end(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

fn read_stdin() -> Outcome<String> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(format!("cannot read the answer from stdin: {error}")))?;
    Ok(text)
}

fn warn_of_secrets(reply: &Reply, question: &Question) {
    let has_secret = question
        .secret_items()
        .iter()
        .any(|i| reply.answers.get(*i).is_some_and(|answer| !answer.is_empty()));
    if has_secret {
        say(
            "askd: a secret on the command line can be seen by others in the process list and your history; --stdin or the prompt hides it",
        );
    }
}

fn report(settled: &Received<Question>, screen: Screen) -> Outcome {
    if screen.json {
        return Ok(screen.json(&settled.json)?);
    }
    let question = &settled.value;
    let Some(outcome) = &question.outcome else {
        return Ok(screen.line(&format!("{}  {}", ids::short(&question.id), question.status.as_str()))?);
    };
    let mut text = format!("{}  {}", ids::short(&question.id), ending::ended(outcome));
    let answer = ending::answer_line(question);
    if !answer.is_empty() {
        text.push_str(&format!(": {answer}"));
    }
    text.push('\n');
    text.push_str(&ending::delivery(question.delivery.as_ref(), question.ask.session_id.is_some()));
    Ok(screen.line(&text)?)
}
