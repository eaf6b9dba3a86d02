//! The attributes of a file beside its text, owner and mode: its user's notes (`user.*`), and its ACL.
//!
//! In: an open file. Out: its attributes, and the same on another file. Labels of a security module are left
//! out: the system gives a new file its own, and a signature of the old text would be wrong.

use std::fs::File;
use std::io;

use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

const ACL: &[u8] = b"system.posix_acl_access";
const USERS_OWN: &[u8] = b"user.";
/// Linux lets neither the names of a file's attributes nor one value be longer.
const MAX_BYTES: usize = 64 << 10;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes(Vec<(Vec<u8>, Vec<u8>)>);

impl Attributes {
    pub(super) fn read(file: &File) -> io::Result<Self> {
        let mut names = Vec::with_capacity(MAX_BYTES);
        match flistxattr(file, spare_capacity(&mut names)) {
            // A file system without attributes.
            Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Self::default()),
            listed => listed?,
        };
        let is_kept = |name: &&[u8]| name.starts_with(USERS_OWN) || *name == ACL;
        let read = |name: &[u8]| {
            let mut value = Vec::with_capacity(MAX_BYTES);
            fgetxattr(file, name, spare_capacity(&mut value))?;
            Ok((name.to_vec(), value))
        };
        names.split(|byte| *byte == 0).filter(is_kept).map(read).collect::<io::Result<_>>().map(Self)
    }

    /// Sets them on a new file, which may have an ACL from its folder.
    pub(super) fn give(&self, file: &File) -> io::Result<()> {
        match fremovexattr(file, ACL) {
            Ok(()) | Err(Errno::NODATA | Errno::NOTSUP | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        for (name, value) in &self.0 {
            fsetxattr(file, name.as_slice(), value, XattrFlags::empty())?;
        }
        Ok(())
    }
}
