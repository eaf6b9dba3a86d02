//! The plugin that an OpenCode without a port runs for askd, and what keeps OpenCode from waiting for npm
//! before it loads it.
//!
//! In: the data folder of the hub. Out: the text of the plugin, and of a lock file. No file is touched here.
//!
//! OpenCode installs `@opencode-ai/plugin` into every config folder at its start, and if there is a plugin it
//! draws nothing until that is done: more than a minute where no registry can be reached. It is content with
//! a folder `node_modules` and a lock file that names the package. askd's plugin needs neither.

const PLUGIN: &str = include_str!("plugin.js");
/// Stands for the data folder, quotes and all.
const PLACE: &str = "\"@DATA@\"";
const HEAD: &str = "// askd in OpenCode: put here by `askd install opencode`";

/// The plugin's path in a config folder of OpenCode.
pub const PLUGIN_FILE: &str = "plugins/askd.js";
/// The two paths that keep OpenCode from calling npm.
pub const LOCK_FILE: &str = "package-lock.json";
pub const MODULES_FOLDER: &str = "node_modules";
/// Files of a person that need the package, or that show that npm ran in the folder.
pub const OTHERS: [&str; 7] =
    ["package.json", LOCK_FILE, MODULES_FOLDER, "plugin", "plugins", "tool", "tools"];

/// The plugin for the hub of a data folder.
pub fn plugin_text(data: &str) -> String {
    PLUGIN.replace(PLACE, &serde_json::Value::from(data).to_string())
}

/// True for a plugin of askd, of any version.
pub fn is_plugin(text: &str) -> bool {
    text.starts_with(HEAD)
}

/// The data folder in a plugin's text.
pub fn plugin_data(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("const DATA = "))?;
    serde_json::from_str(line.trim_end_matches(';')).ok()
}

/// A lock file with the package's name and nothing else.
pub fn lock_text() -> String {
    let package = serde_json::json!({ "dependencies": { "@opencode-ai/plugin": "*" } });
    let lock = serde_json::json!({
        "name": "made-by-askd-install-opencode", "lockfileVersion": 3, "requires": true, "packages": { "": package },
    });
    format!("{lock:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_knows_its_data_folder_and_is_known_again() {
        let text = plugin_text("/home/a \"b\"/askd");
        assert!(text.contains("const DATA = \"/home/a \\\"b\\\"/askd\"\n"), "{text}");
        assert!(!text.contains(PLACE) && is_plugin(&text));
        assert_eq!(plugin_data(&text).as_deref(), Some("/home/a \"b\"/askd"));
        assert!(!is_plugin("export const Mine = async () => ({})"));
    }

    #[test]
    fn no_export_but_one_function() {
        // OpenCode lets go of a whole file whose exports are not all plugins.
        let exports: Vec<&str> = PLUGIN.lines().filter(|line| line.starts_with("export")).collect();
        assert_eq!(exports, ["export const Askd = async ({ client, directory }) => {"]);
    }
}
