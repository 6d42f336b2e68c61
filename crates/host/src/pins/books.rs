//! Which books there are: one of each server's, which is the user's own, and beside
//! it one for every other principal. A server may list to each what is that one's
//! alone, so that what one saw says nothing about what another does.

use super::{book::Book, definition, path, writer::Writer};
use crate::limits;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard_wire::name::normalize;

/// A book, shared by all who look into it.
pub(super) type Shared = Arc<Mutex<Book>>;

/// Which book of a server's it is: the first, or the one in the file of this name.
pub(super) type Place = Option<String>;

/// For whom something is compared or used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whose {
    /// Nobody where it is the user.
    pub(super) principal: Option<Arc<str>>,
    /// Whether that one has a book, or shares the first.
    pub(super) apart: bool,
}

impl Whose {
    /// The user's own.
    pub(crate) const USER: Self = Self {
        principal: None,
        apart: false,
    };

    /// One principal's, who has a book or shares the first.
    pub(crate) fn of(principal: Arc<str>, apart: bool) -> Self {
        Self {
            principal: Some(principal),
            apart,
        }
    }
}

/// The books of all servers.
#[derive(Debug)]
pub(super) struct Books {
    dir: PathBuf,
    shelves: Mutex<HashMap<String, Shelf>>,
    writer: Arc<Writer>,
}

/// Those of one server.
#[derive(Debug)]
struct Shelf {
    first: Shared,
    others: BTreeMap<String, Shared>,
    folder: PathBuf,
    writer: Arc<Writer>,
}

impl Books {
    pub(super) fn in_folder(dir: PathBuf) -> Self {
        Self {
            dir,
            shelves: Mutex::default(),
            writer: Arc::default(),
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The user's own book of a server.
    pub(super) fn first(&self, key: &str) -> Shared {
        self.with(key, |shelf| shelf.first.clone())
    }

    /// The book that is looked into for this one.
    pub(super) fn of(&self, key: &str, whose: &Whose) -> (Place, Shared) {
        let Some(principal) = whose.principal.as_deref().filter(|_| whose.apart) else {
            return (None, self.first(key));
        };
        let (file, book) = self.with(key, |shelf| shelf.of(key, principal));
        (Some(file), book)
    }

    /// Whether a principal has a book of a server that it does not share.
    pub(super) fn has(&self, key: &str, principal: &str) -> bool {
        self.with(key, |shelf| {
            let file = file_name(principal);
            shelf.others.contains_key(&file) || shelf.folder.join(&file).exists()
        })
    }

    /// All books of a server, those that another program has begun among them.
    pub(super) fn all(&self, key: &str) -> Vec<(Place, Shared)> {
        self.with(key, |shelf| {
            shelf.look_around(key);
            let others = shelf.others.iter();
            let others = others.map(|(file, book)| (Some(file.clone()), book.clone()));
            std::iter::once((None, shelf.first.clone()))
                .chain(others)
                .collect()
        })
    }

    /// Removes all books of a principal's that has gone for good. Those of a program
    /// that runs are written no more: nobody comes who would look into them.
    pub(super) fn remove(&self, principal: &str) -> io::Result<()> {
        let file = file_name(principal);
        for shelf in self.shelves.lock().values_mut() {
            shelf.others.remove(&file);
        }
        let found = match fs::read_dir(&self.dir) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for shelf in found {
            let shelf = shelf?;
            if !shelf.file_type()?.is_dir() {
                continue;
            }
            match fs::remove_file(shelf.path().join(&file)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Those that were opened, with the keys of their servers.
    pub(super) fn opened(&self) -> Vec<(String, Shared)> {
        let shelves = self.shelves.lock();
        let all = shelves.iter().flat_map(|(key, shelf)| {
            let books = std::iter::once(&shelf.first).chain(shelf.others.values());
            books.map(|book| (key.clone(), book.clone()))
        });
        all.collect()
    }

    /// The same of one server.
    pub(super) fn opened_of(&self, key: &str) -> Vec<Shared> {
        let shelves = self.shelves.lock();
        let shelf = shelves.get(key).into_iter();
        let books =
            shelf.flat_map(|shelf| std::iter::once(&shelf.first).chain(shelf.others.values()));
        books.cloned().collect()
    }

    fn with<T>(&self, key: &str, then: impl FnOnce(&mut Shelf) -> T) -> T {
        let mut shelves = self.shelves.lock();
        if let Some(shelf) = shelves.get_mut(key) {
            return then(shelf);
        }
        let file = path(&self.dir, key);
        let shelf = Shelf {
            folder: file.with_extension(""),
            first: Arc::new(Mutex::new(Book::open(key, file, &self.writer))),
            others: BTreeMap::new(),
            writer: self.writer.clone(),
        };
        then(shelves.entry(key.to_owned()).or_insert(shelf))
    }
}

impl Shelf {
    fn of(&mut self, key: &str, principal: &str) -> (String, Shared) {
        let mut file = file_name(principal);
        if !self.others.contains_key(&file) {
            self.look_around(key);
        }
        if !self.others.contains_key(&file) && self.others.len() >= limits::PIN_BOOKS {
            // Whoever comes when there are too many shares one with others who did.
            file = file_name("");
        }
        let book = self.open(key, &file);
        (file, book)
    }

    fn open(&mut self, key: &str, file: &str) -> Shared {
        let path = self.folder.join(file);
        let new = || Arc::new(Mutex::new(Book::open(key, path, &self.writer)));
        self.others
            .entry(file.to_owned())
            .or_insert_with(new)
            .clone()
    }

    /// Opens what is there.
    fn look_around(&mut self, key: &str) {
        let Ok(found) = fs::read_dir(&self.folder) else {
            return;
        };
        let names = found.flatten().map(|file| file.file_name());
        let names = names.filter_map(|name| name.into_string().ok());
        for name in names.filter(|name| name.ends_with(".json")) {
            // One more than there are principals: the one that is shared.
            if self.others.len() > limits::PIN_BOOKS {
                break;
            }
            self.open(key, &name);
        }
    }
}

/// A file name that tells principals apart whose safe names are the same.
fn file_name(principal: &str) -> String {
    let mut safe = normalize(principal);
    safe.truncate(40);
    let hash = definition::hash(principal.as_bytes());
    format!("{safe}-{}.json", &hash[..24])
}
