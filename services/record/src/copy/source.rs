//! The database that is copied, in one state.

use assay_base::url::redacted;
use futures::stream::BoxStream;

use super::digest::TableCopy;
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
    /// Keeps a node from using the spool; `None` without a spool.
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
        require_unused(&mut connection, &name).await?;
        let spool = claim_spool(options, &location).await?;
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

    /// Ends the state that is read, so that the server need not keep it.
    pub(super) async fn end_reading(&mut self) -> Result<(), CopyError> {
        let failed = self.errors();
        let ended = sql::query("rollback").execute(&mut self.connection).await;
        ended.map(drop).map_err(|error| failed(&error))
    }

    /// Fails if nodes use it again, or if its tables have other numbers of rows than those that
    /// were copied.
    pub(super) async fn require_unchanged(
        &mut self,
        copied: &[TableCopy],
    ) -> Result<(), CopyError> {
        require_unused(&mut self.connection, &self.name).await?;
        for (table, copied) in self.tables().await?.iter().zip(copied) {
            if self.rows(table).await? != copied.rows {
                return Err(CopyError::Changed {
                    database: self.name.clone(),
                    table: table.name.clone(),
                });
            }
        }
        Ok(())
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

/// Fails if nodes or commands are connected to the server of the source. The lock of its spool
/// protects a file.
async fn require_unused(connection: &mut Connection, name: &str) -> Result<(), CopyError> {
    if matches!(connection, Connection::Sqlite(_)) {
        return Ok(());
    }
    let failed = CopyError::of_source(name);
    let others = sql::query_scalar(postgres::OTHERS);
    let connections: i64 = others
        .fetch_one(connection)
        .await
        .map_err(|error| failed(&error))?;
    if connections > 0 {
        return Err(CopyError::InUse {
            database: name.to_owned(),
            connections,
        });
    }
    Ok(())
}

/// Locks the spool; fails if a node uses it, or if it has entries. The spools of other nodes that
/// shared a database on a server are not known here.
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
