//! Drives Chromium through chromedriver: the part of the WebDriver protocol that the tests
//! need.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use reqwest::{Client, Method};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

/// Key under which the protocol names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Timeout of waits for a page, and the polling interval.
const TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// A headless browser, and the origin it may access.
pub(crate) struct Browser {
    driver: Child,
    /// The folder of its temporary files, which it leaves behind when it is killed.
    _folder: tempfile::TempDir,
    client: Client,
    session: String,
    service: String,
}

impl Browser {
    /// Starts one for the pages of `service`.
    pub(crate) async fn start(service: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .env("TMPDIR", folder.path())
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("chromedriver does not start ({error}): run `make browser`")
            });
        let port = port(&mut driver);
        let client = client();
        let arguments = [
            "--headless=new",
            // Tests of a container run as root, where Chromium's own sandbox refuses to start.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
            "--hide-scrollbars",
            "--window-size=1280,900",
        ];
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let root = format!("http://127.0.0.1:{port}/session");
        let made: Value = client
            .post(&root)
            .json(&capabilities)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        let id = made["value"]["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("no browser: {made}"));
        Self {
            driver,
            _folder: folder,
            client,
            session: format!("{root}/{id}"),
            service: service.to_owned(),
        }
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.session));
        if let Some(body) = body {
            request = request.json(&body);
        }
        let mut reply: Value = request.send().await.unwrap().json().await.unwrap();
        let value = reply["value"].take();
        assert!(value["error"].is_null(), "{path}: {value}");
        value
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.call(Method::POST, path, Some(body)).await
    }

    /// A command of the browser itself.
    async fn command(&self, name: &str, parameters: Value) -> Value {
        self.post(
            "/goog/cdp/execute",
            json!({ "cmd": name, "params": parameters }),
        )
        .await
    }

    /// Opens a page of the service.
    pub(crate) async fn open(&self, path: &str) {
        self.post("/url", json!({ "url": format!("{}{path}", self.service) }))
            .await;
        self.wait("return true").await;
    }

    /// Path and query of the page that is open.
    pub(crate) async fn address(&self) -> String {
        let url = self.call(Method::GET, "/url", None).await;
        url.as_str()
            .unwrap()
            .trim_start_matches(&self.service)
            .to_owned()
    }

    async fn find(&self, css: &str) -> String {
        let found = self
            .post("/element", json!({ "using": "css selector", "value": css }))
            .await;
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    /// The visible text of the first matching element.
    pub(crate) async fn text(&self, css: &str) -> String {
        let element = self.find(css).await;
        let text = self
            .call(Method::GET, &format!("/element/{element}/text"), None)
            .await;
        text.as_str().unwrap().to_owned()
    }

    /// The number of matching elements.
    pub(crate) async fn count(&self, css: &str) -> usize {
        let found = self
            .post(
                "/elements",
                json!({ "using": "css selector", "value": css }),
            )
            .await;
        found.as_array().unwrap().len()
    }

    pub(crate) async fn click(&self, css: &str) {
        let element = self.find(css).await;
        self.post(&format!("/element/{element}/click"), json!({}))
            .await;
    }

    /// Types into a field, or presses keys where the focus is.
    pub(crate) async fn write(&self, css: &str, text: &str) {
        let element = self.find(css).await;
        self.post(
            &format!("/element/{element}/value"),
            json!({ "text": text }),
        )
        .await;
    }

    /// Presses keys, wherever the focus is. `\n` is Enter.
    pub(crate) async fn press(&self, keys: &str) {
        for key in keys.chars() {
            let key = if key == '\n' { '\u{e007}' } else { key };
            let actions = [
                json!({ "type": "keyDown", "value": key }),
                json!({ "type": "keyUp", "value": key }),
            ];
            self.post(
                "/actions",
                json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }),
            )
            .await;
        }
    }

    /// Presses keys that lead to another page, and waits for it.
    pub(crate) async fn go(&self, keys: &str) {
        self.script("window.left = false").await;
        self.press(keys).await;
        self.arrive().await;
    }

    /// Clicks what leads to another page, and waits for it.
    pub(crate) async fn follow(&self, css: &str) {
        self.script("window.left = false").await;
        self.click(css).await;
        self.arrive().await;
    }

    async fn arrive(&self) {
        self.wait("return window.left === undefined && document.readyState === 'complete'")
            .await;
    }

    /// Waits until a script returns true on a painted page: earlier key presses are lost.
    async fn wait(&self, script: &str) {
        let there = format!(
            "if (performance.getEntriesByType('paint').length === 0) return false; {script}"
        );
        for _ in 0..TIMEOUT.as_millis() / PAUSE.as_millis() {
            if self.script(&there).await == true {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("no page came within {TIMEOUT:?}");
    }

    /// Chooses in a list of the form.
    pub(crate) async fn choose(&self, name: &str, value: &str) {
        let script = format!(
            "document.querySelector('select[name={name}]').value = {}",
            json!(value)
        );
        self.script(&script).await;
    }

    /// Runs a script and returns its result.
    pub(crate) async fn script(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] }))
            .await
    }

    /// Runs a script that returns its result by a call of its last argument.
    pub(crate) async fn script_later(&self, script: &str) -> Value {
        self.post("/execute/async", json!({ "script": script, "args": [] }))
            .await
    }

    /// Sets the width of the page in pixels.
    pub(crate) async fn widen(&self, pixels: u32) {
        let size =
            json!({ "width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.command("Emulation.setDeviceMetricsOverride", size)
            .await;
    }

    /// Sets the preferred colour scheme, `light` or `dark`.
    pub(crate) async fn prefer(&self, colours: &str) {
        let features =
            json!({ "features": [{ "name": "prefers-color-scheme", "value": colours }] });
        self.command("Emulation.setEmulatedMedia", features).await;
    }

    /// Saves a screenshot of the whole page.
    pub(crate) async fn picture(&self, name: &str) {
        let shot = self
            .command(
                "Page.captureScreenshot",
                json!({ "captureBeyondViewport": true }),
            )
            .await;
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(shot["data"].as_str().unwrap())
            .unwrap();
        std::fs::create_dir_all(pictures()).unwrap();
        std::fs::write(pictures().join(format!("{name}.png")), bytes).unwrap();
    }

    /// Closes the browser. Asserts that its console is empty and that pages sent requests only to
    /// the service.
    pub(crate) async fn close(self) {
        self.close_after(&[]).await;
    }

    /// Closes the browser as [`Browser::close`] does, after pages with these statuses, which the
    /// console reports.
    pub(crate) async fn close_after(self, statuses: &[u16]) {
        let console = self.post("/se/log", json!({ "type": "browser" })).await;
        let is_expected = |line: &&Value| {
            let message = line["message"].as_str().unwrap();
            let status = |status: &u16| message.contains(&format!("with a status of {status} "));
            statuses.iter().any(status)
        };
        let console = console.as_array().unwrap().iter();
        let unexpected: Vec<&Value> = console.filter(|line| !is_expected(line)).collect();
        assert!(
            unexpected.is_empty(),
            "the console is empty: {unexpected:?}"
        );
        let events = self.post("/se/log", json!({ "type": "performance" })).await;
        for event in events.as_array().unwrap() {
            let event: Value = serde_json::from_str(event["message"].as_str().unwrap()).unwrap();
            let url = event["message"]["params"]["request"]["url"].as_str();
            if let Some(url) =
                url.filter(|_| event["message"]["method"] == "Network.requestWillBeSent")
            {
                assert!(
                    url.starts_with(&self.service) || url.starts_with("data:"),
                    "a page url {url}"
                );
            }
        }
        self.call(Method::DELETE, "", None).await;
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser outlives its driver when a test fails, and is in the driver's group.
        if let Some(group) = i32::try_from(self.driver.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.driver.wait();
    }
}

/// A client of local addresses. A TLS provider must be installed although
/// none is used.
pub(crate) fn client() -> Client {
    // Another test has installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::new()
}

fn pictures() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser")
}

/// The port that the driver chose. Its later output is not read; it writes too little to fill the
/// pipe.
fn port(driver: &mut Child) -> u16 {
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    port.unwrap_or_else(|| panic!("chromedriver ended without printing its port"))
}
