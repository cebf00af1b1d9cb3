//! Opens sessions and forks them.

use std::sync::Arc;

use assay_wire::sessions::{OpenSession, SessionBody};

use crate::error::SessionError;
use crate::files;
use crate::journal::{Line, Opened};
use crate::limits::{self, MAX_FORKS};
use crate::run::blocking;
use crate::session::{Progress, Session, Turn};
use crate::table::{Sender, Sessions};

impl Sessions {
    /// Opens a session of the sender, or returns the open one with the same name.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn create(
        &self,
        sender: &Sender,
        request: OpenSession,
    ) -> Result<SessionBody, SessionError> {
        limits::check(&request.limits)?;
        files::decode(&request.files)?;
        let image = self
            .interpreters()
            .image(&request.language, request.image.as_deref())
            .map_err(|(field, message)| SessionError::invalid(format!("/{field}"), message))?;
        let idle_most = self.settings().idle.as_secs();
        let idle_seconds = request.idle_seconds.unwrap_or(idle_most);
        if !(1..=idle_most).contains(&idle_seconds) {
            let message = format!(
                "`idle_seconds` must be 1 to {idle_most} (`sessions.idle_seconds`), not \
                 {idle_seconds}"
            );
            return Err(SessionError::invalid("/idle_seconds", message));
        }
        if let Some(name) = &request.name {
            limits::check_name(name)?;
            if let Some(named) = self.named(&sender.caller, name) {
                return self.opened_before(&named, &request, image);
            }
        }
        self.check_quota(&sender.caller, 1)?;
        let info = self.interpreters().prepare(image).await;
        let info = info.map_err(SessionError::Failed)?;
        let opened = Opened {
            id: self.new_id(),
            caller: sender.caller.clone(),
            name: request.name.clone(),
            language: request.language.clone(),
            image: image.to_owned(),
            image_hash: info.hash.clone(),
            seed: request.seed,
            limits: request.limits,
            idle_seconds,
            opened_us: self.now_us(),
            forked_from: None,
            files: request.files.clone(),
        };
        let this = self.clone();
        let opened = blocking(move || {
            let session = this.new_session(opened, None)?;
            this.add(&[session])
        })
        .await;
        match opened {
            // Another request opened it meanwhile.
            Err(SessionError::NameTaken(named)) => {
                let named = self.find(sender, &named.to_string())?;
                self.opened_before(&named, &request, image)
            }
            Ok(mut opened) => {
                let body = opened.pop();
                body.ok_or_else(|| SessionError::Storage("no session was opened".to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    /// The open session that a request names.
    fn opened_before(
        &self,
        named: &Session,
        request: &OpenSession,
        image: &str,
    ) -> Result<SessionBody, SessionError> {
        let opened = &named.opened;
        let differs = [
            ("language", opened.language != request.language),
            ("image", opened.image != image),
            ("seed", opened.seed != request.seed),
            ("limits", opened.limits != request.limits),
        ];
        if let Some((field, _)) = differs.iter().find(|(_, differs)| *differs) {
            let message = format!(
                "an open session has this name, but another `{field}`; use another name, or end it"
            );
            return Err(SessionError::invalid("/name", message));
        }
        Ok(named.body(self.states()))
    }

    /// Opens `count` sessions of the sender that continue from the state of another one. They share
    /// its memory until they change it.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn fork(
        &self,
        sender: &Sender,
        id: &str,
        count: u32,
    ) -> Result<Vec<SessionBody>, SessionError> {
        if !(1..=MAX_FORKS).contains(&count) {
            let message = format!("`count` must be 1 to {MAX_FORKS}, not {count}");
            return Err(SessionError::invalid("/count", message));
        }
        let session = self.find(sender, id)?;
        self.check_quota(&sender.caller, count as usize)?;
        // After the calls that were sent before.
        let turn = session.turn().await?;
        let (this, caller) = (self.clone(), sender.caller.clone());
        let original = Arc::clone(&session);
        let forks = blocking(move || this.add_forks(&original, &turn, &caller, count)).await;
        forks.map_err(|error| session.error(error))
    }

    fn add_forks(
        &self,
        session: &Session,
        _turn: &Turn,
        caller: &str,
        count: u32,
    ) -> Result<Vec<SessionBody>, SessionError> {
        let lines = session.journal.read()?;
        let Some(Line::Opened(first)) = lines.first() else {
            return Err(SessionError::Storage("its journal is damaged".to_owned()));
        };
        let mut forks = Vec::new();
        for _ in 0..count {
            let opened = Opened {
                id: self.new_id(),
                caller: caller.to_owned(),
                name: None,
                opened_us: self.now_us(),
                forked_from: Some(session.opened.id),
                ..first.clone()
            };
            match self.new_session(opened, Some(session)) {
                Ok(fork) => forks.push(fork),
                Err(error) => {
                    forks.iter().for_each(|fork| self.discard(fork));
                    return Err(error);
                }
            }
        }
        self.add(&forks)
    }

    /// A session with a new journal, and with the calls and the state of `original`.
    fn new_session(
        &self,
        opened: Opened,
        original: Option<&Session>,
    ) -> Result<Arc<Session>, SessionError> {
        let journal = self.new_journal(opened.id)?;
        let mut progress = Progress::new(&opened);
        let mut written = journal.append(&Line::Opened(opened.clone()));
        if let Some(original) = original {
            written = written.and_then(|()| journal.append_calls_of(&original.journal));
            progress = Progress {
                used_us: opened.opened_us,
                has_ended: false,
                ..original.progress().clone()
            };
        }
        if let Err(error) = written {
            journal.delete();
            return Err(error.into());
        }
        if let Some(state) = &progress.state {
            self.states().retain(state);
        }
        Ok(Arc::new(Session::new(opened, journal, progress)))
    }

    /// Adds new sessions to the table, all or none.
    fn add(&self, sessions: &[Arc<Session>]) -> Result<Vec<SessionBody>, SessionError> {
        if let Err(error) = self.insert(sessions) {
            sessions.iter().for_each(|session| self.discard(session));
            return Err(error);
        }
        let bodies = sessions.iter().map(|session| session.body(self.states()));
        Ok(bodies.collect())
    }

    /// Deletes a session that is not in the table.
    fn discard(&self, session: &Session) {
        if let Some(state) = session.progress().state.take() {
            self.states().release(&state);
        }
        session.journal.delete();
    }
}
