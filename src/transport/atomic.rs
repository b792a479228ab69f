//! Files that take their name when they are complete.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that takes its name when it is complete, or never: what was there before stays until
/// then, whatever fails.
///
/// On Linux the file has no name at all until [`commit`](Self::commit), if the file system can do
/// that: a process that is interrupted or killed leaves nothing behind. Elsewhere it has a temporary
/// name in the same folder, `.arrow-frames-….part`, which stays if the process is killed. (Linux
/// needs such a name too, between two system calls, to replace a file.)
///
/// A link is replaced itself, not the file that it leads to.
///
/// A file that is replaced hands on its permissions, and its owner and group as far as the system
/// lets this process set them; if it does not, the group gets no permissions. Lists of access
/// rights and other attributes are not handed on. What a new file has says [`Access`]. At no time
/// do others have more rights to it than in the end.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use std::io::Write;
///
/// use arrow_frames::spill::{Access, AtomicFile};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("notes");
///
/// let mut file = AtomicFile::create(&path, Access::Private)?;
/// file.as_file_mut().write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    file: Unfinished,
    path: PathBuf,
}

/// Who may read and write a file that is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its owner alone. A file of another owner is replaced by one of this process, as if it were
    /// new.
    Private,
    /// Whom the process's mask (`umask`) allows it, as for any new file.
    Usual,
}

#[derive(Debug)]
enum Unfinished {
    #[cfg(target_os = "linux")]
    Nameless(File),
    Named(NamedTempFile),
}

impl AtomicFile {
    /// Starts a file in the folder of its name.
    ///
    /// # Errors
    ///
    /// The folder is gone, or not to be written to.
    pub fn create(path: impl Into<PathBuf>, access: Access) -> io::Result<AtomicFile> {
        let path = path.into();
        let replaced = fs::symlink_metadata(&path).ok().filter(Metadata::is_file);
        let is_open = access == Access::Usual && replaced.is_none();
        let file = Unfinished::create(folder(&path), if is_open { 0o666 } else { 0o600 })?;
        if let Some(old) = replaced
            && (access == Access::Usual || has_same_owner(&old, &file.as_file().metadata()?))
        {
            hand_on(&old, file.as_file())?;
        }
        Ok(AtomicFile { file, path })
    }

    /// The file, to write to.
    pub fn as_file_mut(&mut self) -> &mut File {
        match &mut self.file {
            #[cfg(target_os = "linux")]
            Unfinished::Nameless(file) => file,
            Unfinished::Named(file) => file.as_file_mut(),
        }
    }

    /// Gives the file its name. What was written may still be in the system's memory, as may the
    /// name.
    ///
    /// # Errors
    ///
    /// The name is that of a folder, or the folder is gone.
    pub fn commit(self) -> io::Result<()> {
        match self.file {
            Unfinished::Named(file) => file.persist(&self.path).map(drop).map_err(|error| error.error),
            #[cfg(target_os = "linux")]
            Unfinished::Nameless(file) => {
                let name = |path: &Path| name_file(&file, path);
                match name(&self.path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        // No system call replaces a file by one that has no name.
                        let named = builder().make_in(folder(&self.path), name)?;
                        named.persist(&self.path).map(drop).map_err(|error| error.error)
                    }
                    named => named,
                }
            }
        }
    }
}

impl Unfinished {
    /// Creates it with these permissions, from which the process's mask takes what it takes.
    fn create(folder: &Path, mode: u32) -> io::Result<Unfinished> {
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless(folder, mode) {
            return Ok(Unfinished::Nameless(file));
        }
        Self::named(folder, mode)
    }

    fn named(folder: &Path, mode: u32) -> io::Result<Unfinished> {
        let mut builder = builder();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        #[cfg(not(unix))]
        let _ = mode;
        builder.tempfile_in(folder).map(Unfinished::Named)
    }

    fn as_file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Unfinished::Nameless(file) => file,
            Unfinished::Named(file) => file.as_file(),
        }
    }
}

/// A file without a name, where the file system has such files and the system names them later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path, mode: u32) -> Option<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    if !Path::new(OPEN_FILES).exists() {
        return None;
    }
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    openat(CWD, folder, flags, Mode::from_bits_truncate(mode)).ok().map(File::from)
}

/// Where this process's open files have names.
#[cfg(target_os = "linux")]
const OPEN_FILES: &str = "/proc/self/fd";

/// Gives a file that has none a name that is free.
#[cfg(target_os = "linux")]
fn name_file(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, linkat};
    let open = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Names of files in the making.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".arrow-frames-").suffix(".part");
    builder
}

/// The folder of a file.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a file the owner, the group and the permissions that another one has.
#[cfg(unix)]
fn hand_on(old: &Metadata, file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    // The owner is root's to change; the group, within its own, anybody's.
    let owned = fchown(file, Some(old.uid()), Some(old.gid()));
    let owned = owned.or_else(|_| fchown(file, None, Some(old.gid())));
    // Of the group that the file has instead, the old file's owner knew nothing.
    let lost = if owned.is_err() { 0o070 } else { 0 };
    // What runs as its owner does not go on doing so with other contents.
    file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777 & !lost))
}

#[cfg(not(unix))]
fn hand_on(_: &Metadata, _: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn has_same_owner(left: &Metadata, right: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    left.uid() == right.uid()
}

#[cfg(not(unix))]
fn has_same_owner(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// As where no file is without a name.
    #[test]
    fn a_file_with_a_temporary_name_is_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(&folder).unwrap().count();
        let path = folder.path().join("file");
        for content in ["new", "replaced"] {
            let file = Unfinished::named(folder.path(), 0o600).unwrap();
            let mut file = AtomicFile { file, path: path.clone() };
            file.as_file_mut().write_all(content.as_bytes()).unwrap();
            file.commit().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(names(), 1);
        }
        let file = Unfinished::named(folder.path(), 0o600).unwrap();
        assert_eq!(names(), 2);
        drop(AtomicFile { file, path: path.clone() });
        assert_eq!(names(), 1);
    }
}
