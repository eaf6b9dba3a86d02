//! The rule that a data folder is private: its tokens, its agents and its socket are worth as much as the
//! user's account.
//!
//! In: owner and mode of a path. Out: nothing, or the path, the reason and the command that mends it. Only
//! the owner can change what was looked at, because the folder is closed and so is the way to it
//! ([`way`](super::way)); so a look before a use is enough.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{DataFolder, way};

/// Access of group and others of any kind.
const OTHERS: u32 = 0o077;
/// Write access of group and others.
const OTHERS_WRITE: u32 = 0o022;
/// The folder in the data folder with further folders: one for each managed agent.
const HOLDERS: &str = "holders";

#[derive(Debug, thiserror::Error)]
pub enum NotPrivate {
    #[error("{path} is not safe to use as askd's data: {why}; {mend}")]
    Refused { path: PathBuf, why: String, mend: String },
    #[error("cannot {action} {path}: {error}")]
    Unseen { action: &'static str, path: PathBuf, error: io::Error },
}

/// The kind of a path in a data folder, which decides about its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The data folder itself.
    Folder,
    /// A token or the key.
    Secret,
    /// The hub's socket.
    Socket,
    /// Anything else in the folder.
    Other,
}

/// A fault of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It belongs to this user.
    Owner(u32),
    /// Others have access by these bits of its mode.
    Open(u32),
    /// It is something else than its name says.
    WrongType,
}

/// The rule, for a path of the right type: `mode` are its permission bits, `me` is the effective user.
fn fault(kind: Kind, owner: u32, mode: u32, me: u32) -> Option<Fault> {
    let closed = match kind {
        Kind::Folder | Kind::Secret | Kind::Socket => OTHERS,
        Kind::Other => OTHERS_WRITE,
    };
    if owner != me {
        Some(Fault::Owner(owner))
    } else if mode & closed != 0 {
        Some(Fault::Open(mode))
    } else {
        None
    }
}

/// True if the path exists; an error if another user owns it or can use it.
pub fn check(kind: Kind, path: &Path) -> Result<bool, NotPrivate> {
    if kind == Kind::Folder {
        way::check(path)?;
    }
    let me = rustix::process::geteuid().as_raw();
    let Some(link) = look(path, fs::symlink_metadata(path))? else { return Ok(false) };
    // The owner of a link can point it elsewhere between two looks.
    if link.is_symlink() && link.uid() != me {
        return Err(refused(kind, path, Fault::Owner(link.uid()), me));
    }
    let meta = match kind {
        Kind::Folder | Kind::Secret => look(path, fs::metadata(path))?,
        Kind::Socket => Some(link),
        // The target of a user's own link is the user's decision. A holder closes its socket only after
        // making it, which does no harm in a closed folder.
        Kind::Other if link.uid() == me && (link.is_symlink() || link.file_type().is_socket()) => {
            return Ok(true);
        }
        Kind::Other => Some(link),
    };
    let Some(meta) = meta else { return Ok(false) };
    let is_of_its_type = match kind {
        Kind::Folder => meta.is_dir(),
        Kind::Secret => meta.is_file(),
        Kind::Socket => meta.file_type().is_socket(),
        Kind::Other => true,
    };
    // The mode of something else says nothing, and another mode does not mend it.
    let found = match fault(kind, meta.uid(), meta.permissions().mode() & 0o777, me) {
        found @ Some(Fault::Owner(_)) => found,
        _ if !is_of_its_type => Some(Fault::WrongType),
        found => found,
    };
    found.map_or(Ok(true), |found| Err(refused(kind, path, found, me)))
}

/// Checks the folder, and everything in it that askd reads or writes.
pub(super) fn check_all(folder: &DataFolder) -> Result<(), NotPrivate> {
    if !check(Kind::Folder, folder.path())? {
        return Ok(());
    }
    for path in [folder.token(), folder.ask_token(), folder.secret_key()] {
        check(Kind::Secret, &path)?;
    }
    let mut folders = vec![folder.path().to_owned()];
    while let Some(next) = folders.pop() {
        let unseen = |error| NotPrivate::Unseen { action: "read", path: next.clone(), error };
        let entries = match fs::read_dir(&next) {
            Ok(entries) => entries,
            // A holder that ended is removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unseen(error)),
        };
        for entry in entries {
            let entry = entry.map_err(unseen)?;
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_there = check(Kind::Other, &path)?;
            if is_there && is_folder && (next != folder.path() || entry.file_name() == HOLDERS) {
                folders.push(path);
            }
        }
    }
    Ok(())
}

/// Takes the access of others away from a folder of this user; gives the mode that it had.
pub(super) fn close(path: &Path) -> Option<u32> {
    let meta = fs::symlink_metadata(path).ok()?;
    let mode = meta.permissions().mode() & 0o777;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() || mode & OTHERS == 0 {
        return None;
    }
    // The check after this refuses a path that cannot be closed, with the reason.
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).ok()?;
    Some(mode)
}

fn look(path: &Path, seen: io::Result<Metadata>) -> Result<Option<Metadata>, NotPrivate> {
    match seen {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(NotPrivate::Unseen { action: "look at", path: path.to_owned(), error }),
    }
}

fn refused(kind: Kind, path: &Path, fault: Fault, me: u32) -> NotPrivate {
    let shown = quoted(path);
    let (why, mend) = match (fault, kind) {
        (Fault::Owner(owner), Kind::Folder) => (
            format!("it belongs to the user {owner}, and this is the user {me}"),
            format!(
                "choose another folder with --data, run askd as that user, or, if all in it is yours: chown -R {me} {shown}"
            ),
        ),
        (Fault::Owner(owner), _) => (
            format!("it belongs to the user {owner}, and this is the user {me}"),
            format!("if you did not put it there, remove it: rm -r {shown}"),
        ),
        (Fault::Open(mode), Kind::Folder) => {
            (format!("others can use it (mode {mode:o})"), format!("close it with: chmod 700 {shown}"))
        }
        (Fault::Open(mode), Kind::Secret | Kind::Socket) => {
            (format!("others can use it (mode {mode:o})"), format!("close it with: chmod 600 {shown}"))
        }
        (Fault::Open(mode), Kind::Other) => {
            (format!("others can write it (mode {mode:o})"), format!("close it with: chmod go-w {shown}"))
        }
        (Fault::WrongType, Kind::Folder) => {
            ("it is not a folder".to_owned(), "choose another with --data".to_owned())
        }
        (Fault::WrongType, Kind::Socket) => {
            ("it is not a socket".to_owned(), format!("remove it: rm -r {shown}; and start the hub anew"))
        }
        (Fault::WrongType, _) => ("it is not a file".to_owned(), format!("remove it: rm -r {shown}")),
    };
    NotPrivate::Refused { path: path.to_owned(), why, mend }
}

/// A path as a word of a shell.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@%".contains(&byte);
    if text.bytes().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_alone_has_access_and_others_may_read_only_what_is_no_secret() {
        let (me, other) = (1000, 1001);
        for (kind, mode, wanted) in [
            (Kind::Folder, 0o700, None),
            (Kind::Folder, 0o750, Some(Fault::Open(0o750))),
            (Kind::Folder, 0o701, Some(Fault::Open(0o701))),
            (Kind::Folder, 0o777, Some(Fault::Open(0o777))),
            (Kind::Secret, 0o600, None),
            (Kind::Secret, 0o400, None),
            (Kind::Secret, 0o644, Some(Fault::Open(0o644))),
            (Kind::Secret, 0o620, Some(Fault::Open(0o620))),
            (Kind::Socket, 0o600, None),
            (Kind::Socket, 0o666, Some(Fault::Open(0o666))),
            (Kind::Other, 0o644, None),
            (Kind::Other, 0o755, None),
            (Kind::Other, 0o664, Some(Fault::Open(0o664))),
            (Kind::Other, 0o602, Some(Fault::Open(0o602))),
        ] {
            assert_eq!(fault(kind, me, mode, me), wanted, "{kind:?} {mode:o}");
            assert_eq!(fault(kind, other, mode, me), Some(Fault::Owner(other)), "{kind:?} {mode:o}");
            // Root sees all, and still takes nobody else's folder for its own.
            assert_eq!(fault(kind, other, mode, 0), Some(Fault::Owner(other)), "{kind:?} {mode:o}");
        }
    }

    #[test]
    fn each_refusal_says_path_reason_and_command() {
        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::at(dir.path().join("a 'folder'"));
        assert!(!folder.check().unwrap() && folder.read_token(&folder.token()).unwrap().is_none());
        folder.create().unwrap();
        folder.check_all().unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let refusal = |folder: &DataFolder| folder.check_all().unwrap_err().to_string();

        mode(folder.path(), 0o755);
        let said = refusal(&folder);
        assert!(said.contains("others can use it (mode 755); close it with: chmod 700 '"), "{said}");
        assert!(said.ends_with(r"a '\''folder'\'''"), "{said}");
        assert!(folder.mend_default().is_none(), "the user chose it, so the user mends it");
        mode(folder.path(), 0o700);

        fs::write(folder.token(), "x").unwrap();
        mode(&folder.token(), 0o644);
        assert!(refusal(&folder).contains("others can use it (mode 644); close it with: chmod 600 "));
        assert!(folder.read_token(&folder.token()).is_err());
        mode(&folder.token(), 0o600);
        assert_eq!(folder.read_token(&folder.token()).unwrap().as_deref(), Some("x"));

        let deep = folder.path().join("holders/one");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("spec.json"), "{}").unwrap();
        mode(&deep.join("spec.json"), 0o666);
        assert!(refusal(&folder).contains("chmod go-w"));
        mode(&deep.join("spec.json"), 0o600);

        let remove = |path: &Path| format!("remove it: rm -r {}", quoted(path));
        let socket = folder.socket();
        for kind in ["file", "open file", "link", "folder"] {
            match kind {
                "link" => std::os::unix::fs::symlink("elsewhere", &socket).unwrap(),
                "folder" => fs::create_dir(&socket).unwrap(),
                _ => {
                    fs::write(&socket, "").unwrap();
                    mode(&socket, if kind == "file" { 0o600 } else { 0o644 });
                }
            }
            let said = folder.check_socket().unwrap_err().to_string();
            assert!(said.contains("it is not a socket") && said.contains(&remove(&socket)), "{kind}: {said}");
            if kind == "folder" { fs::remove_dir(&socket) } else { fs::remove_file(&socket) }.unwrap();
        }
        fs::remove_file(folder.token()).unwrap();
        fs::create_dir(folder.token()).unwrap();
        assert!(refusal(&folder).contains(&remove(&folder.token())));
    }

    #[test]
    fn the_default_folder_is_closed_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(close(dir.path()), Some(0o755));
        assert_eq!(close(dir.path()), None);
        check(Kind::Folder, dir.path()).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        assert_eq!(close(&link), None);
        // A link of the user's own to a folder of the user's own is as good as the folder.
        assert!(check(Kind::Folder, &link).unwrap());
    }
}
