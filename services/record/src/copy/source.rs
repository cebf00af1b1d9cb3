//! The database that is copied, in one state.

use assay_base::url::redacted;
use futures::stream::BoxStream;

use super::error::CopyError;
use crate::RecordOptions;
use crate::database::copying::{self, CopiedTable, Schema};
use crate::database::sql::{self, Connection, Row};
use crate::database::{Location, postgres};
use crate::record::blocking;
use crate::spool::segment::Folder;

/// A source that no node uses.
pub(super) struct Source {
    connection: Connection,
    /// The URL without its password.
    name: String,
    /// Keeps nodes from using a spool beside a file; `None` without a spool.
    _spool: Option<Folder>,
}

impl Source {
    /// Opens the record with these options, and checks that all of it is in the database.
    pub(super) async fn open(options: &RecordOptions) -> Result<Self, CopyError> {
        let name = redacted(&options.database);
        let location = Location::parse(&options.database)
            .filter(|location| !location.is_in_memory())
            .ok_or_else(|| CopyError::NoDatabase(name.clone()))?;
        if location.path().is_some_and(|path| !path.exists()) {
            return Err(CopyError::NoRecord(name));
        }
        let spool = match location.path() {
            Some(_) => claim_spool(options, &location).await?,
            None => None,
        };
        let failed = CopyError::of_source(&name);
        let connected = location.connect_reading().await;
        let mut connection = connected.map_err(|error| failed(&error))?;
        let schema = copying::schema(&mut connection).await;
        match schema.map_err(|error| failed(&error))? {
            Schema::Current => {}
            Schema::Earlier => return Err(CopyError::EarlierSchema(name)),
            Schema::Later => return Err(CopyError::LaterSchema(name)),
            Schema::None => return Err(CopyError::NoRecord(name)),
        }
        let others = match connection {
            Connection::Sqlite(_) => 0,
            Connection::Postgres(_) => {
                let others = sql::query_scalar(postgres::OTHERS);
                let others = others.fetch_one(&mut connection).await;
                others.map_err(|error| failed(&error))?
            }
        };
        if others > 0 {
            return Err(CopyError::InUse {
                database: name,
                connections: others,
            });
        }
        let begun = connection.begin_reading().await;
        begun.map_err(|error| failed(&error))?;
        Ok(Self {
            connection,
            name,
            _spool: spool,
        })
    }

    pub(super) async fn tables(&mut self) -> Result<Vec<CopiedTable>, CopyError> {
        let failed = self.errors();
        let tables = copying::tables(&mut self.connection).await;
        tables.map_err(|error| failed(&error))
    }

    pub(super) async fn rows(&mut self, table: &CopiedTable) -> Result<u64, CopyError> {
        let failed = self.errors();
        let rows = copying::rows(&mut self.connection, table).await;
        rows.map_err(|error| failed(&error))
    }

    /// All rows of a table.
    pub(super) fn read(&mut self, table: &CopiedTable) -> BoxStream<'_, Result<Row, sqlx::Error>> {
        copying::read(&mut self.connection, table)
    }

    /// Its tables are not those of the target.
    pub(super) fn other_schema(&self) -> CopyError {
        CopyError::LaterSchema(self.name.clone())
    }

    /// Makes errors of reading it.
    pub(super) fn errors(&self) -> impl Fn(&dyn std::fmt::Display) -> CopyError + use<> {
        CopyError::of_source(&self.name)
    }

    pub(super) async fn close(self) {
        // All that is needed was read.
        let _ = self.connection.close().await;
    }
}

/// Locks the spool of a database in a file; fails if a node uses it, or if it has entries.
async fn claim_spool(
    options: &RecordOptions,
    location: &Location,
) -> Result<Option<Folder>, CopyError> {
    let path = options.spool.clone().or_else(|| location.spool());
    let Some(path) = path.filter(|path| path.exists()) else {
        return Ok(None);
    };
    let shown = path.display().to_string();
    let folder = blocking(move || Folder::open(&path, "copied")).await?;
    if folder.segments().is_empty() {
        Ok(Some(folder))
    } else {
        Err(CopyError::Pending(shown))
    }
}
