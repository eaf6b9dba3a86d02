//! The rule for the way to a data folder: no other user may exchange a folder on it, because the data folder
//! could then be another one between a look and a use.
//!
//! In: a path. Out: nothing, or the first folder or link on the way that another user can exchange, as a
//! refusal. It is the rule of sshd's `StrictModes`, with two differences: below a folder with the sticky bit
//! (`/tmp`) only an entry's own owner can exchange it, and a group with the user's own number is that user
//! alone.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::private::{NotPrivate, quoted};

/// Links on one way; the kernel follows as many.
const MAX_LINKS: usize = 40;
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const ROOT: u32 = 0;

/// A fault of a folder or link on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Owner(u32),
    Open(u32),
}

/// The users who may own a part of the path.
#[derive(Debug, Clone, Copy)]
struct Trusted {
    me: u32,
    /// In a user namespace all unknown users share this number, root among them: which of them owns a folder
    /// cannot be seen there.
    unknown: Option<u32>,
}

impl Trusted {
    fn owner(self, owner: u32) -> bool {
        owner == self.me || owner == ROOT || Some(owner) == self.unknown
    }

    /// The rule for a folder on the way.
    fn fault(self, owner: u32, group: u32, mode: u32) -> Option<Fault> {
        let group_writes = mode & GROUP_WRITES != 0 && group != self.me && group != ROOT;
        if !self.owner(owner) {
            Some(Fault::Owner(owner))
        } else if mode & STICKY == 0 && (mode & OTHERS_WRITE != 0 || group_writes) {
            Some(Fault::Open(mode))
        } else {
            None
        }
    }
}

/// Looks at every folder above `path` and every link on the way to it; the path itself is not looked at.
pub(super) fn check(path: &Path) -> Result<(), NotPrivate> {
    walk(path, Trusted { me: rustix::process::geteuid().as_raw(), unknown: unknown_user() })
}

fn walk(path: &Path, trusted: Trusted) -> Result<(), NotPrivate> {
    let unseen = |path: &Path, error| NotPrivate::Unseen { action: "look at", path: path.to_owned(), error };
    let whole = std::path::absolute(path).map_err(|error| unseen(path, error))?;
    let mut at = PathBuf::from("/");
    let mut ahead = steps(&whole);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        let above = fs::symlink_metadata(&at).map_err(|error| unseen(&at, error))?;
        if let Some(fault) = trusted.fault(above.uid(), above.gid(), above.mode() & 0o7777) {
            return Err(refused(path, &at, fault));
        }
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&name);
        let Some(meta) = look(&next).map_err(|error| unseen(&next, error))? else { return Ok(()) };
        if !meta.is_symlink() {
            at = next;
            continue;
        }
        if !trusted.owner(meta.uid()) {
            return Err(refused(path, &next, Fault::Owner(meta.uid())));
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(unseen(&next, rustix::io::Errno::LOOP.into()));
        }
        let target = fs::read_link(&next).map_err(|error| unseen(&next, error))?;
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        ahead.extend(steps(&target));
    }
    Ok(())
}

/// The names of a path, the first one last.
fn steps(path: &Path) -> Vec<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(name).collect()
}

fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The number for users that this process's user namespace does not know.
fn unknown_user() -> Option<u32> {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    let knows_all = map.split_whitespace().eq(["0", "0", "4294967295"]);
    let number = fs::read_to_string("/proc/sys/fs/overflowuid").ok()?;
    if knows_all { None } else { number.trim().parse().ok() }
}

fn refused(data: &Path, at: &Path, fault: Fault) -> NotPrivate {
    let data = data.display();
    let me = rustix::process::geteuid().as_raw();
    let another = "choose another folder with --data";
    let (why, mend) = match fault {
        Fault::Owner(owner) => (
            format!(
                "it belongs to the user {owner}, and this is the user {me}; {data} is reached through it"
            ),
            another.to_owned(),
        ),
        Fault::Open(mode) => (
            format!("{data} is below it, and others can exchange what is in it (mode {mode:o})"),
            format!("{another}, or close it with: chmod go-w {}", quoted(at)),
        ),
    };
    NotPrivate::Refused { path: at.to_owned(), why, mend }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const ME: Trusted = Trusted { me: 1000, unknown: None };

    #[test]
    fn only_root_and_the_user_can_exchange_a_folder_on_the_way() {
        let (users, mine, stranger) = (100, 1000, 1001);
        for (owner, group, mode, wanted) in [
            (ROOT, ROOT, 0o755, None),
            (ROOT, ROOT, 0o1777, None),
            (ROOT, ROOT, 0o775, None),
            (1000, mine, 0o775, None),
            (1000, mine, 0o2775, None),
            (1000, users, 0o755, None),
            (1000, users, 0o775, Some(Fault::Open(0o775))),
            (1000, users, 0o1775, None),
            (1000, mine, 0o777, Some(Fault::Open(0o777))),
            (ROOT, ROOT, 0o777, Some(Fault::Open(0o777))),
            (stranger, mine, 0o755, Some(Fault::Owner(stranger))),
            (stranger, mine, 0o1777, Some(Fault::Owner(stranger))),
        ] {
            assert_eq!(ME.fault(owner, group, mode), wanted, "{owner} {group} {mode:o}");
        }
        let inside = Trusted { unknown: Some(65534), ..ME };
        assert_eq!(inside.fault(65534, 65534, 0o755), None);
        assert_eq!(inside.fault(65534, 65534, 0o777), Some(Fault::Open(0o777)));
    }

    #[test]
    fn each_folder_and_link_on_the_way_is_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let (open, data) = (dir.path().join("an open one"), dir.path().join("an open one/deep/data"));
        fs::create_dir_all(&data).unwrap();
        let mode = |mode| fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o700);
        // By a link to a link, one of them with `..`, and where the folder is still to be made.
        symlink(&data, dir.path().join("absolute")).unwrap();
        symlink("an open one/../absolute", dir.path().join("relative")).unwrap();
        let ways =
            [data.clone(), data.join("not/yet"), dir.path().join("absolute"), dir.path().join("relative")];
        for way in &ways {
            check(way).unwrap();
        }
        mode(0o777);
        for way in &ways {
            let said = check(way).unwrap_err().to_string();
            let words = "an open one is not safe to use as askd's data: ";
            assert!(said.contains(words) && said.contains("(mode 777)"), "{said}");
            assert!(said.ends_with("an open one'") && said.contains("chmod go-w '"), "{said}");
        }
        mode(0o1777);
        for way in &ways {
            check(way).unwrap();
        }
        check(&open).unwrap();

        symlink("circle", dir.path().join("circle")).unwrap();
        assert!(matches!(check(&dir.path().join("circle")), Err(NotPrivate::Unseen { .. })));
    }
}
