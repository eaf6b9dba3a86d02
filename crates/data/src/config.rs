//! The configuration file of a user: what holds for every start of askd.
//!
//! In: `ASKD_CONFIG`, or `askd/config.toml` in the platform's folder for configuration; then the environment.
//! Out: typed settings, each with the place that it comes from; or the path, the line and the reason of the
//! first mistake. An unknown key is a mistake: a setting that askd silently passes over is worse than none.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use askd_core::near;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::private::{NotPrivate, quoted};
use super::secret_file::write_secret;
use super::way;

/// 2753 spells ASKD on a phone.
pub const DEFAULT_PORT: u16 = 2753;
/// The variable that names the file.
const CONFIG_VARIABLE: &str = "ASKD_CONFIG";
/// The variable that switches discovery off for every hub that is started with it.
const NO_DISCOVERY_VARIABLE: &str = "ASKD_NO_DISCOVERY";
/// The variable that names the data folder.
const DATA_VARIABLE: &str = "ASKD_DATA";
/// A configuration is typed by hand; a larger file is something else.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;
/// A century.
const MAX_KEEP_DAYS: u32 = 36_500;
const OTHERS_WRITE: u32 = 0o022;

/// The keys of the file, and of its tables `agents` and `discovery`.
const KEYS: [&str; 10] = [
    "listen",
    "data",
    "allow-hosts",
    "allow-origins",
    "expose-beyond-loopback",
    "keep-days",
    "end-agents",
    "observe",
    "discovery",
    "agents",
];
const DISCOVERY_KEYS: [&str; 2] = ["enabled", "passwords"];

/// Where a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// A line of the file.
    Line(usize),
    /// A variable of the environment.
    Variable(&'static str),
}

/// A setting and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    pub value: T,
    pub from: Origin,
}

impl<T> Setting<T> {
    fn default(value: T) -> Self {
        Self { value, from: Origin::Default }
    }

    fn line(value: T, line: usize) -> Self {
        Self { value, from: Origin::Line(line) }
    }
}

/// An agent of the user: a name and its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    pub name: String,
    pub command: String,
}

/// The settings of this user: environment before file before default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `None`: this platform has no place for it, and no variable names one.
    pub path: Option<PathBuf>,
    pub listen: Setting<SocketAddr>,
    /// `None`: the platform's folder.
    pub data: Setting<Option<PathBuf>>,
    pub allow_hosts: Setting<Vec<String>>,
    pub allow_origins: Setting<Vec<String>>,
    pub expose_beyond_loopback: Setting<bool>,
    /// `None`: settled questions are kept for ever.
    pub keep_days: Setting<Option<u32>>,
    pub end_agents: Setting<bool>,
    pub observe: Setting<bool>,
    pub discovery: Setting<bool>,
    pub discovery_passwords: Setting<bool>,
    pub agents: Vec<Setting<AgentCommand>>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{path}, line {line}: {why}")]
    Line { path: PathBuf, line: usize, why: String },
    #[error("cannot {action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{path} is not safe to use as askd's configuration: {why}")]
    NotSafe { path: PathBuf, why: String },
    #[error(transparent)]
    Way(#[from] NotPrivate),
}

/// A mistake in the text, before the path is known.
#[derive(Debug, PartialEq, Eq)]
struct Mistake {
    line: usize,
    why: String,
}

impl Config {
    /// The settings of the process that asks.
    pub fn load() -> Result<Self, ConfigError> {
        let path = Self::usual_path();
        let text = match &path {
            Some(path) => read(path)?,
            None => None,
        };
        let mut config = Self::of(text.as_deref().unwrap_or_default()).map_err(|mistake| {
            ConfigError::Line { path: path.clone().unwrap_or_default(), line: mistake.line, why: mistake.why }
        })?;
        config.path = path;
        config.hear_environment(|name| env::var_os(name).filter(|value| !value.is_empty()));
        Ok(config)
    }

    /// The file: `ASKD_CONFIG`, else the platform's.
    fn usual_path() -> Option<PathBuf> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set(CONFIG_VARIABLE).or_else(|| {
            let home = set("HOME");
            let base = if cfg!(target_os = "macos") {
                home.map(|home| home.join("Library/Application Support"))
            } else {
                set("XDG_CONFIG_HOME")
                    .filter(|path| path.is_absolute())
                    .or_else(|| home.map(|home| home.join(".config")))
            };
            base.map(|base| base.join("askd").join("config.toml"))
        })
    }

    /// The settings of a user who has told askd nothing.
    pub fn defaults() -> Self {
        Self {
            path: None,
            listen: Setting::default(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT)),
            data: Setting::default(None),
            allow_hosts: Setting::default(Vec::new()),
            allow_origins: Setting::default(Vec::new()),
            expose_beyond_loopback: Setting::default(false),
            keep_days: Setting::default(None),
            end_agents: Setting::default(false),
            observe: Setting::default(true),
            discovery: Setting::default(true),
            discovery_passwords: Setting::default(false),
            agents: Vec::new(),
        }
    }

    fn of(text: &str) -> Result<Self, Mistake> {
        let mut config = Self::defaults();
        let table = DeTable::parse(text).map_err(|error| Mistake {
            line: line_at(text, error.span().map_or(0, |span| span.start)),
            why: error.message().to_owned(),
        })?;
        for (key, value) in table.get_ref() {
            config.set(Entry::new(text, key, value))?;
        }
        Ok(config)
    }

    fn set(&mut self, entry: Entry<'_>) -> Result<(), Mistake> {
        let line = entry.line;
        match entry.key {
            "listen" => {
                let text = entry.integer().map_or_else(|_| entry.text(), |port| Ok(port.to_string()))?;
                let listen = parse_listen(&text).map_err(|why| entry.mistake(why))?;
                self.listen = Setting::line(listen, line);
            }
            "data" => self.data = Setting::line(Some(from_home(&entry.text()?)), line),
            "allow-hosts" => self.allow_hosts = Setting::line(entry.texts()?, line),
            "allow-origins" => self.allow_origins = Setting::line(entry.texts()?, line),
            "expose-beyond-loopback" => self.expose_beyond_loopback = Setting::line(entry.yes_or_no()?, line),
            "keep-days" => {
                let days = entry.integer()?;
                let days = u32::try_from(days).ok().filter(|days| (1..=MAX_KEEP_DAYS).contains(days));
                let days = days.ok_or_else(|| {
                    entry.mistake(format!("use a number of days from 1 to {MAX_KEEP_DAYS}"))
                })?;
                self.keep_days = Setting::line(Some(days), line);
            }
            "end-agents" => self.end_agents = Setting::line(entry.yes_or_no()?, line),
            "observe" => self.observe = Setting::line(entry.yes_or_no()?, line),
            "discovery" => {
                for inner in entry.table()? {
                    match inner.key {
                        "enabled" => self.discovery = Setting::line(inner.yes_or_no()?, inner.line),
                        "passwords" => {
                            self.discovery_passwords = Setting::line(inner.yes_or_no()?, inner.line)
                        }
                        _ => return Err(inner.unknown(&DISCOVERY_KEYS)),
                    }
                }
            }
            "agents" => {
                for inner in entry.table()? {
                    let agent = parse_agent(&format!("{}={}", inner.key, inner.text()?));
                    let agent = agent.map_err(|_| {
                        inner.mistake(
                            "use NAME = \"COMMAND\" with letters, digits, '.', '_' and '-' in the name",
                        )
                    })?;
                    self.agents.push(Setting::line(agent, inner.line));
                }
            }
            _ => return Err(entry.unknown(&KEYS)),
        }
        Ok(())
    }

    fn hear_environment(&mut self, variable: impl Fn(&str) -> Option<OsString>) {
        if let Some(data) = variable(DATA_VARIABLE) {
            self.data = Setting { value: Some(data.into()), from: Origin::Variable(DATA_VARIABLE) };
        }
        if variable(NO_DISCOVERY_VARIABLE).is_some() {
            self.discovery = Setting { value: false, from: Origin::Variable(NO_DISCOVERY_VARIABLE) };
        }
    }

    /// Takes the agents of the file that askd used before this one into the configuration, and sets that file
    /// aside. Returns what the user is told, if there was such a file.
    pub fn take_in(&mut self, agents_file: &Path) -> Result<Option<String>, ConfigError> {
        let io = |action: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source| ConfigError::Io { action, path, source }
        };
        let Some(text) = read(agents_file)? else { return Ok(None) };
        let agents = parse_agents(&text).map_err(|(line, why)| ConfigError::Line {
            path: agents_file.to_owned(),
            line,
            why,
        })?;
        let is_new = |agent: &AgentCommand| self.agents.iter().all(|known| known.value.name != agent.name);
        let new: Vec<AgentCommand> = agents.into_iter().filter(|agent| is_new(agent)).collect();
        let Some(path) = self.path.clone() else {
            self.agents.extend(new.into_iter().map(Setting::default));
            return Ok(None);
        };
        let old = read(&path)?.unwrap_or_default();
        let with = with_agents(&old, &new);
        let taken = Self::of(&with).map_err(|_| ConfigError::NotSafe {
            path: path.clone(),
            why: format!(
                "the agents of {} cannot be added to it; add them to its table [agents] and remove that file",
                agents_file.display()
            ),
        })?;
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io("make", folder))?;
        }
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        write_secret(&real, with.as_bytes()).map_err(io("write", &path))?;
        let aside = agents_file.with_extension("taken-over");
        fs::rename(agents_file, &aside).map_err(io("rename", agents_file))?;
        self.agents = taken.agents;
        let names: Vec<&str> = new.iter().map(|agent| agent.name.as_str()).collect();
        Ok(Some(format!(
            "the agents of {} are in {} now ({}); the old file is {}",
            agents_file.display(),
            path.display(),
            if names.is_empty() { "none was new".to_owned() } else { names.join(", ") },
            aside.display()
        )))
    }
}

/// The text of a file, if there is one. Others must not be able to write it: it names programs that the hub
/// starts.
fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let io = |source| ConfigError::Io { action: "read", path: path.to_owned(), source };
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        // A folder that this user may not enter, such as the home of another user, has no configuration of
        // this user.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return Ok(None);
        }
        Err(error) => return Err(io(error)),
    };
    way::check(path)?;
    let not_safe = |why: String| ConfigError::NotSafe { path: path.to_owned(), why };
    let me = rustix::process::geteuid().as_raw();
    if !meta.is_file() {
        return Err(not_safe("it is not a regular file".to_owned()));
    }
    if meta.uid() != me && meta.uid() != 0 {
        return Err(not_safe(format!("it belongs to the user {}, and this is the user {me}", meta.uid())));
    }
    if meta.mode() & OTHERS_WRITE != 0 {
        let mode = meta.mode() & 0o777;
        return Err(not_safe(format!("others can write it (mode {mode:o}); chmod go-w {}", quoted(path))));
    }
    if meta.len() > MAX_CONFIG_BYTES {
        return Err(not_safe(format!("it has more than {MAX_CONFIG_BYTES} bytes")));
    }
    fs::read_to_string(path).map(Some).map_err(io)
}

/// The text with agents added at the beginning of its table, or in a table at its end.
fn with_agents(text: &str, agents: &[AgentCommand]) -> String {
    let quote = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let lines: String =
        agents.iter().map(|agent| format!("{} = {}\n", quote(&agent.name), quote(&agent.command))).collect();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim() == "[agents]" {
            let gap = if line.ends_with('\n') { "" } else { "\n" };
            return format!("{}{gap}{lines}{}", &text[..at], &text[at..]);
        }
    }
    if lines.is_empty() {
        return text.to_owned();
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{gap}[agents]\n{lines}")
}

/// A key with its value and line.
struct Entry<'a> {
    text: &'a str,
    key: &'a str,
    value: &'a DeValue<'a>,
    line: usize,
}

impl<'a> Entry<'a> {
    fn new(
        text: &'a str,
        key: &'a Spanned<std::borrow::Cow<'a, str>>,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Self {
        Self { text, key: key.get_ref(), value: value.get_ref(), line: line_at(text, key.span().start) }
    }

    fn mistake(&self, why: impl Into<String>) -> Mistake {
        Mistake { line: self.line, why: format!("{}: {}", self.key, why.into()) }
    }

    fn wrong_type(&self, wanted: &str) -> Mistake {
        self.mistake(format!("use {wanted}, not {}", self.value.type_str()))
    }

    fn unknown(&self, known: &[&str]) -> Mistake {
        let meant = near::name(self.key, known);
        let tip = meant.map_or_else(
            || format!("the keys are {}", known.join(", ")),
            |meant| format!("did you mean {meant}?"),
        );
        Mistake { line: self.line, why: format!("there is no key {}; {tip}", self.key) }
    }

    fn text(&self) -> Result<String, Mistake> {
        self.value.as_str().map(str::to_owned).ok_or_else(|| self.wrong_type("a text in quotes"))
    }

    fn texts(&self) -> Result<Vec<String>, Mistake> {
        let wrong = || self.wrong_type("a list of texts such as [\"a\", \"b\"]");
        let items = self.value.as_array().ok_or_else(wrong)?;
        items.iter().map(|item| item.get_ref().as_str().map(str::to_owned).ok_or_else(wrong)).collect()
    }

    fn yes_or_no(&self) -> Result<bool, Mistake> {
        self.value.as_bool().ok_or_else(|| self.wrong_type("true or false"))
    }

    fn integer(&self) -> Result<i64, Mistake> {
        let number = self.value.as_integer().ok_or_else(|| self.wrong_type("a whole number"))?;
        i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| self.wrong_type("a smaller number"))
    }

    fn table(&self) -> Result<Vec<Entry<'a>>, Mistake> {
        let table =
            self.value.as_table().ok_or_else(|| self.wrong_type(&format!("a table [{}]", self.key)))?;
        Ok(table.iter().map(|(key, value)| Entry::new(self.text, key, value)).collect())
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// A path with the user's home for a `~` at its beginning.
fn from_home(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => text.into(),
    }
}

/// An address and port, or a port of this machine only.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    if let Ok(port) = text.parse::<u16>() {
        return Ok(loopback(port));
    }
    if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(loopback(port));
    }
    text.parse().map_err(|_| "use an address and a port such as 127.0.0.1:2753, or a port alone".to_owned())
}

/// `NAME=COMMAND`, as a flag has it.
pub fn parse_agent(text: &str) -> Result<AgentCommand, String> {
    let valid = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    };
    match text.split_once('=') {
        Some((name, command)) if valid(name) && !command.trim().is_empty() => {
            Ok(AgentCommand { name: name.to_owned(), command: command.trim().to_owned() })
        }
        _ => Err("use NAME=COMMAND, such as 'gemini=gemini --acp'".to_owned()),
    }
}

/// The agents of the file that askd used before: a line `NAME=COMMAND` for each; empty lines and those that
/// begin with `#` say nothing.
fn parse_agents(text: &str) -> Result<Vec<AgentCommand>, (usize, String)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let told = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    told.map(|(n, line)| parse_agent(line).map_err(|why| (n, why))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &str) -> (usize, String) {
        let mistake = Config::of(text).unwrap_err();
        (mistake.line, mistake.why)
    }

    #[test]
    fn every_key_is_typed_and_knows_its_line() {
        let text = "listen = 2000\ndata = \"/d\"\nallow-hosts = [\"hub.lan\"]\nallow-origins = []\nexpose-beyond-loopback = true\n\
                    keep-days = 30\nend-agents = true\nobserve = false\n[discovery]\nenabled = false\npasswords = true\n\
                    [agents]\ngemini = \"gemini --acp\"\n";
        let config = Config::of(text).unwrap();
        assert_eq!(config.listen, Setting::line("127.0.0.1:2000".parse().unwrap(), 1));
        assert_eq!(config.data, Setting::line(Some("/d".into()), 2));
        assert_eq!(config.allow_hosts, Setting::line(vec!["hub.lan".to_owned()], 3));
        assert_eq!(config.keep_days, Setting::line(Some(30), 6));
        assert_eq!(config.discovery, Setting::line(false, 10));
        assert_eq!(config.discovery_passwords, Setting::line(true, 11));
        let gemini = AgentCommand { name: "gemini".to_owned(), command: "gemini --acp".to_owned() };
        assert_eq!(config.agents, [Setting::line(gemini, 13)]);
        let known = Config::of("").unwrap();
        assert_eq!(known.listen, Setting::default("127.0.0.1:2753".parse().unwrap()));
    }

    #[test]
    fn a_mistake_names_its_line_and_the_nearest_key() {
        assert_eq!(
            mistake("\n\nlisten = 1\nkep-days = 3\n"),
            (4, "there is no key kep-days; did you mean keep-days?".to_owned())
        );
        assert_eq!(
            mistake("[discovery]\nenable = true\n"),
            (2, "there is no key enable; did you mean enabled?".to_owned())
        );
        assert!(mistake("colour = 1").1.starts_with("there is no key colour; the keys are listen, data,"));
        assert_eq!(mistake("keep-days = \"3\"").1, "keep-days: use a whole number, not string");
        assert_eq!(mistake("keep-days = 0").1, "keep-days: use a number of days from 1 to 36500");
        assert_eq!(
            mistake("allow-hosts = \"a\"").1,
            "allow-hosts: use a list of texts such as [\"a\", \"b\"], not string"
        );
        assert_eq!(mistake("a = 1\nlisten = = 2").0, 2);
        assert_eq!(mistake("[agents]\n\"a b\" = \"c\"").0, 2);
        assert_eq!(mistake("agents = 3").1, "agents: use a table [agents], not integer");
    }

    #[test]
    fn the_environment_beats_the_file() {
        let mut config = Config::of("data = \"/file\"\n[discovery]\nenabled = true").unwrap();
        config.hear_environment(|name| (name == "ASKD_DATA").then(|| "/variable".into()));
        assert_eq!(config.data.value.as_deref(), Some(Path::new("/variable")));
        assert_eq!((config.discovery.value, config.discovery.from), (true, Origin::Line(3)));
        config.hear_environment(|name| (name == "ASKD_NO_DISCOVERY").then(|| "1".into()));
        assert_eq!(config.discovery.from, Origin::Variable("ASKD_NO_DISCOVERY"));
    }

    #[test]
    fn agents_are_added_to_a_text_without_a_change_of_its_own() {
        let agents = [AgentCommand { name: "g.2".to_owned(), command: "say \"hi\" \\o/".to_owned() }];
        for old in [
            "",
            "listen = 1",
            "# mine\n[agents]\nold = \"o\" # why\n\n[discovery]\nenabled = false\n",
            "[agents]",
        ] {
            let new = with_agents(old, &agents);
            let config = Config::of(&new).unwrap();
            let added = config.agents.iter().find(|agent| agent.value.name == "g.2");
            assert_eq!(added.unwrap().value, agents[0], "{new}");
            assert!(old.lines().all(|line| new.contains(line)), "{new}");
        }
        assert_eq!(with_agents("# a\n", &[]), "# a\n");
    }
}
