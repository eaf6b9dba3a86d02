//! The names of coding agents in a process table, including those without an adapter.
//!
//! In: the name and arguments of a process. Out: true for a known agent. The command line refuses to answer
//! inside such a process tree, because an agent must not answer for its human.

use std::path::Path;

/// Agents without an entry in the registry.
const OTHERS: [&str; 20] = [
    "aider",
    "auggie",
    "claude-agent-acp",
    "claude-code-acp",
    "cline",
    "codex-acp",
    "copilot",
    "crush",
    "cursor-agent",
    "droid",
    "gemini",
    "goose",
    "kilocode",
    "kimi",
    "kiro-cli",
    "openhands",
    "pi",
    "plandex",
    "qodo",
    "qwen",
];

/// Programs that run agents as scripts: their first argument names the agent.
const RUNTIMES: [&str; 8] = ["node", "bun", "deno", "python", "python3", "npx", "uv", "uvx"];

/// The agent of a process, by its name and arguments (the first argument is the program itself).
pub fn agent_of<'a>(
    known: impl IntoIterator<Item = &'a str>,
    process_name: &str,
    arguments: &[String],
) -> Option<String> {
    let known: Vec<&str> = known.into_iter().chain(OTHERS).collect();
    let matches = |text: &str| {
        let stem = base_name(text);
        known.iter().find(|name| **name == stem).map(|name| (*name).to_owned())
    };
    let program = arguments.first().map(String::as_str).unwrap_or(process_name);
    if let Some(agent) = matches(process_name).or_else(|| matches(program)) {
        return Some(agent);
    }
    if !RUNTIMES.contains(&base_name(program)) && !RUNTIMES.contains(&base_name(process_name)) {
        return None;
    }
    let script = arguments.iter().skip(1).find(|argument| !argument.starts_with('-'))?;
    // A package's entry is called cli.js or index.js; the folder of the package has the name.
    matches(script).or_else(|| {
        let folders = Path::new(script).iter().filter_map(|part| part.to_str());
        let mut package = folders.skip_while(|folder| *folder != "node_modules");
        package.find_map(|folder| matches(folder.strip_suffix("-code").unwrap_or(folder)))
    })
}

fn base_name(text: &str) -> &str {
    let name = Path::new(text).file_name().and_then(|name| name.to_str()).unwrap_or(text);
    [".js", ".mjs", ".cjs", ".py", ".exe"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, arguments: &[&str]) -> Option<String> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        agent_of(["claude", "opencode", "codex", "amp"], name, &arguments)
    }

    #[test]
    fn agents_are_known_by_name_and_as_scripts() {
        assert_eq!(agent("claude", &[]), Some("claude".to_owned()));
        assert_eq!(agent("MainThread", &["/opt/bin/claude", "-p"]), Some("claude".to_owned()));
        assert_eq!(agent("node", &["node", "/usr/bin/gemini"]), Some("gemini".to_owned()));
        assert_eq!(
            agent("node", &["node", "--no-warnings", "/lib/node_modules/@anthropic-ai/claude-code/cli.js"]),
            Some("claude".to_owned())
        );
        assert_eq!(agent("cursor-agent", &[]), Some("cursor-agent".to_owned()));
    }

    #[test]
    fn other_processes_are_not_agents() {
        assert_eq!(agent("bash", &["bash", "-c", "claude"]), None);
        assert_eq!(agent("node", &["node", "/home/dev/codex/server.js"]), None);
        assert_eq!(agent("vim", &["vim", "/home/dev/codex/notes.md"]), None);
        assert_eq!(agent("", &[]), None);
    }
}
