//! A PostgreSQL server for the tests, in a temporary folder and on a free port. Concurrent tests
//! share it.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The superuser and its password, which needs escaping in a URL.
const USER: &str = "assay";
const PASSWORD: &str = "pass:word@of/tests";

/// The user `nobody`, because the server refuses to run as root.
const NOBODY: u32 = 65_534;

/// Address space limit of each process of the server, in bytes. The server has no setting for it.
const MEMORY: u64 = 1 << 30;

/// Beginning of the names of the folders, before the id of the process.
const PREFIX: &str = "assay-test-postgres-";

/// Removes the folders of processes that have ended: a server that is shared until the end of its
/// process is never dropped.
fn remove_abandoned() {
    for entry in std::fs::read_dir(std::env::temp_dir()).unwrap().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let process = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            // Another process may remove it as well.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A running server, which stops when it is dropped.
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    running: Option<Running>,
}

/// The process of a server.
struct Running {
    process: u32,
    /// Receives the log of the server when its process has ended.
    log_receiver: Mutex<mpsc::Receiver<String>>,
}

/// The shared server, which is started if it is not running.
pub(crate) fn server() -> Arc<Server> {
    static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Server::start());
        *running = Arc::downgrade(&server);
        server
    })
}

impl Server {
    /// Starts a server that is not shared.
    pub(crate) fn start() -> Self {
        remove_abandoned();
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir().unwrap();
        let is_root = folder.path().metadata().unwrap().uid() == 0;
        let secret = folder.path().join("password");
        std::fs::write(&secret, PASSWORD).unwrap();
        if is_root {
            std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o644)).unwrap();
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut initdb = command("initdb", is_root, &[]);
        initdb.arg("-D").arg(folder.path().join("data")).args([
            "-U",
            USER,
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]);
        let output = initdb
            .arg("--auth=scram-sha-256")
            .arg("--pwfile")
            .arg(&secret)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let port = TcpListener::bind(("127.0.0.1", 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut server = Self {
            folder,
            port,
            running: None,
        };
        server.run();
        server
    }

    /// Starts the process, also after [`stop`](Self::stop).
    pub(crate) fn run(&mut self) {
        let (started, starting) = mpsc::channel();
        let (ended, log_receiver) = mpsc::channel();
        let (path, port) = (self.folder.path().to_owned(), self.port);
        let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
        // The thread must live as long as the server, which ends with it.
        std::thread::spawn(move || run_server(&path, port, is_root, &started, &ended));
        let process = starting.recv().unwrap_or_else(|_| {
            panic!(
                "the server does not start: {}",
                log_receiver.recv().unwrap()
            )
        });
        self.running = Some(Running {
            process,
            log_receiver: Mutex::new(log_receiver),
        });
    }

    /// Closes all connections and stops the process.
    pub(crate) fn stop(&mut self) {
        let Some(Running {
            process,
            log_receiver,
        }) = self.running.take()
        else {
            return;
        };
        let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
        kill_process(process, Signal::INT).unwrap();
        let _ = log_receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
    }

    /// The URL of the superuser.
    pub(crate) fn url(&self) -> String {
        format!(
            "postgres://{USER}:pass%3Aword%40of%2Ftests@127.0.0.1:{}/postgres",
            self.port
        )
    }

    /// The URL of another role.
    pub(crate) fn url_of(&self, user: &str, password: &str) -> String {
        format!(
            "postgres://{user}:{password}@127.0.0.1:{}/postgres",
            self.port
        )
    }

    /// Runs a statement as the superuser. Returns a line for each row.
    pub(crate) fn query(&self, database: &str, sql: &str) -> String {
        let mut psql = Command::new(binary("psql"));
        let port = self.port.to_string();
        psql.args([
            "-XAtq",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            USER,
            "-d",
            database,
            "-c",
            sql,
        ]);
        let output = psql.env("PGPASSWORD", PASSWORD).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Creates a file with this text that the server can read.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs the server until it ends, then sends its log.
fn run_server(
    folder: &Path,
    port: u16,
    is_root: bool,
    started: &mpsc::Sender<u32>,
    ended: &mpsc::Sender<String>,
) {
    let memory = format!("--as={MEMORY}");
    let mut postgres = command("postgres", is_root, &["prlimit", &memory]);
    postgres
        .arg("-D")
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder)
        .args(["-h", "127.0.0.1", "-F"]);
    postgres.args([
        "-p",
        &port.to_string(),
        "-c",
        "shared_buffers=32MB",
        "-c",
        "log_statement=all",
    ]);
    let mut child = postgres
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut log = String::new();
    while lines.read_line(&mut log).unwrap_or(0) > 0 {
        if log.ends_with("database system is ready to accept connections\n") {
            let _ = started.send(child.id());
            break;
        }
    }
    let mut rest = Vec::new();
    let _ = lines.read_to_end(&mut rest);
    log += &String::from_utf8_lossy(&rest);
    let _ = child.wait();
    let _ = ended.send(log);
}

/// A command that is killed when the thread that starts it ends, runs through `wrapper`, and never
/// runs as root.
fn command(name: &str, is_root: bool, wrapper: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if is_root {
        command.args([
            &format!("--reuid={NOBODY}"),
            &format!("--regid={NOBODY}"),
            "--clear-groups",
        ]);
    }
    command.args(wrapper).arg(binary(name)).current_dir("/");
    command
}

/// The path of a program of PostgreSQL: the newest version that Debian installed, or its name on
/// the search path.
fn binary(name: &str) -> PathBuf {
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let number = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.parse::<u32>().ok())
    };
    versions.sort_by_key(number);
    let installed = versions
        .iter()
        .rev()
        .map(|version| version.join("bin").join(name))
        .find(|path| path.exists());
    installed.unwrap_or_else(|| {
        let found = Command::new(name).arg("--version").output().is_ok();
        assert!(
            found,
            "`{name}` is not installed, which these tests need; run `make postgres` or \
             `apt-get install postgresql`"
        );
        PathBuf::from(name)
    })
}
