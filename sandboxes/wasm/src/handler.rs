//! Requests about programs, answered: compile, run, judge.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use assay_worker::Handler;
use assay_worker::program::{
    COMPILE_MEMORY, COMPILE_WORK, Compile, Compiled, End, ImageInfo, Limits, Ran, Reply, Request,
    Run, Test,
};
use serde_json::{Map, Value, json};
use wasmtime::Engine;

use crate::ImageError;
use crate::engine::{self, THREAD_STACK};
use crate::files::Files;
use crate::guest::{Guest, Speaker, Stopped, end_of, told};
use crate::image::{Folder, Image, LANGUAGES, language};
use crate::judge::{Line, Word, line};
use crate::message::Message;
use crate::state::State;

/// Bytes a compiler, or a text that judges, may write: both have nothing to say.
const DRIVER_OUTPUT: u64 = 1 << 20;

/// Least memory a text that judges has, in bytes: the program's limit is not the judge's.
const JUDGE_MEMORY: u64 = 512 << 20;

/// Runs programs in the images of a folder.
pub struct Programs {
    images: Vec<Result<Image, ImageError>>,
    companion: Companion,
    /// Set when a program broke its interpreter.
    tainted: Arc<AtomicBool>,
    _engine: Engine,
}

impl Programs {
    /// Maps every image there is. What is missing is told when it is asked for.
    ///
    /// # Errors
    /// [`ImageError::Engine`] when the engine does not work on this machine.
    pub fn load(folder: &Folder) -> Result<Self, ImageError> {
        let engine = engine::engine()?;
        let images = LANGUAGES
            .iter()
            .map(|language| Image::load(&engine, folder, language))
            .collect();
        let companion =
            Companion::start().map_err(|error| ImageError::Engine(error.to_string()))?;
        Ok(Self {
            images,
            companion,
            tainted: Arc::default(),
            _engine: engine,
        })
    }

    /// The images that could be mapped.
    #[must_use]
    pub fn images(&self) -> Vec<ImageInfo> {
        self.images
            .iter()
            .flatten()
            .map(|image| image.info.clone())
            .collect()
    }

    /// Answers one request.
    #[must_use]
    pub fn reply(&self, request: &Request) -> Reply {
        let answered = match request {
            Request::Images => Ok(Reply::Images(self.images())),
            Request::Compile(compile) => self.compile(compile).map(Reply::Compiled),
            Request::Run(run) => self.run(run).map(Reply::Ran),
        };
        answered.unwrap_or_else(|trouble| match trouble {
            Trouble::Lasting(reason) => Reply::Unable(reason),
            Trouble::Passing(reason) => Reply::Failed(reason),
        })
    }

    fn image(&self, name: &str) -> Result<&Image, Trouble> {
        let at = language(name)
            .and_then(|known| LANGUAGES.iter().position(|language| language == known));
        match at.and_then(|at| self.images.get(at)) {
            Some(Ok(image)) => Ok(image),
            Some(Err(error)) => Err(Trouble::Lasting(error.to_string())),
            None => Err(Trouble::Lasting(format!("there is no image of `{name}`"))),
        }
    }

    /// Records whether an instance that is no longer used was broken.
    fn finish(&self, guest: &Guest) {
        self.tainted.fetch_or(guest.is_broken(), Ordering::Relaxed);
    }

    fn compile(&self, compile: &Compile) -> Result<Compiled, Trouble> {
        let image = self.image(&compile.language)?;
        let limits = Limits {
            work: COMPILE_WORK,
            memory_bytes: COMPILE_MEMORY,
            output_bytes: DRIVER_OUTPUT,
        };
        let mut guest = start(image, State::new(limits, 0, Vec::new()))?;
        guest.begin(limits).map_err(broken)?;
        let names: Vec<&str> = compile
            .parts
            .iter()
            .map(|part| part.name.as_str())
            .collect();
        let texts: Vec<&[u8]> = compile
            .parts
            .iter()
            .map(|part| part.text.as_bytes())
            .collect();
        let answer = guest.ask(header(json!({"op": "compile", "names": names})), &texts);
        self.finish(&guest);
        Ok(match answer {
            Ok(answer) => match Message::read(&answer) {
                Some(message) if message.text("end") == "compiled" => {
                    Compiled::Code(message.blob().to_vec())
                }
                Some(message) => Compiled::Refused(message.text("message").to_owned()),
                None => {
                    return Err(Trouble::Passing(
                        "the answer of the compiler is malformed".to_owned(),
                    ));
                }
            },
            Err(Stopped::Ended(End::OutOfWork)) => {
                Compiled::Refused("the program takes too long to compile".to_owned())
            }
            Err(Stopped::Ended(End::OutOfMemory)) => {
                Compiled::Refused("the program takes too much memory to compile".to_owned())
            }
            Err(Stopped::Ended(End::Raised(message))) => Compiled::Refused(message),
            Err(Stopped::Ended(end)) => Compiled::Refused(format!("the compiler ended: {end:?}")),
            Err(stopped @ (Stopped::ByPeer | Stopped::ByHost)) => return Err(no_result(&stopped)),
        })
    }

    fn run(&self, run: &Run) -> Result<Ran, Trouble> {
        let image = self.image(&run.language)?;
        let setting = Setting::of(run);
        match &run.test {
            Test::Stdin(input) => {
                let (guest, ended) = execute(image, run, &setting, "__main__", input.clone())?;
                self.finish(&guest);
                Ok(ran(&guest, run, ended))
            }
            Test::Call {
                function,
                args,
                kwargs,
            } => {
                let (mut guest, mut ended) = execute(image, run, &setting, "solution", Vec::new())?;
                if ended.end == End::Finished {
                    let call = header(json!({"op": "call", "function": function}));
                    let answer = guest.ask(call, &[args.as_bytes(), kwargs.as_bytes()]);
                    ended = Ended::of(answer, Speaker::Program)?;
                }
                self.finish(&guest);
                Ok(ran(&guest, run, ended))
            }
            Test::Assert { setup, text } => self.judge(image, run, setup, text),
        }
    }

    /// Runs the program on the companion's thread and the text that judges it on this one.
    fn judge(&self, image: &Image, run: &Run, setup: &str, text: &str) -> Result<Ran, Trouble> {
        let setting = Setting::of(run);
        let (mine, theirs) = line();
        let (finished, program_ran) = channel();
        let program = {
            let (ready, run, setting) = (image.ready.clone(), run.clone(), setting.clone());
            let (info, tainted) = (image.info.clone(), Arc::clone(&self.tainted));
            move || {
                let served = serve(&Image { info, ready }, &run, &setting, &theirs, &tainted);
                // Nobody waits any more when the judge broke; then there is nothing to tell.
                let _ = finished.send(served);
            }
        };
        self.companion.run(Box::new(program));
        // The program says when it is loaded; silence means that it ended before.
        let verdict = match mine.hear() {
            Some(Word::Reply(_)) => Some(self.verdict(image, run, &setting, &mine, setup, text)?),
            _ => None,
        };
        drop(mine);
        let gone = |_| Trouble::Passing("the thread of the program is gone".to_owned());
        let mut ran = program_ran.recv().map_err(gone)??;
        if ran.end == End::Finished {
            let unloaded =
                || Ended::without_words(End::Raised("the program could not be loaded".to_owned()));
            let Ended { end, told } = verdict.unwrap_or_else(unloaded);
            (ran.end, ran.told) = (end, told);
        }
        Ok(ran)
    }

    /// Runs the judge of a program that answers on `line`.
    fn verdict(
        &self,
        image: &Image,
        run: &Run,
        setting: &Setting,
        line: &Line,
        setup: &str,
        text: &str,
    ) -> Result<Ended, Trouble> {
        let memory_bytes = run.limits.memory_bytes.max(JUDGE_MEMORY);
        let limits = Limits {
            memory_bytes,
            output_bytes: DRIVER_OUTPUT,
            ..run.limits
        };
        let mut judge = start(image, setting.state(limits, Vec::new()))?;
        judge.connect(line.clone());
        judge.begin(limits).map_err(broken)?;
        let answer = judge.ask(
            header(json!({"op": "judge"})),
            &[setup.as_bytes(), text.as_bytes()],
        );
        self.finish(&judge);
        match answer {
            // The program's own thread reports how the program ended.
            Err(Stopped::ByPeer) => Ok(Ended::without_words(End::Finished)),
            other => Ended::of(other, Speaker::Driver),
        }
    }
}

/// What the instances of one run share.
#[derive(Clone)]
struct Setting {
    seed: u64,
    files: Arc<Mutex<Files>>,
}

impl Setting {
    fn of(run: &Run) -> Self {
        Self {
            seed: run.seed,
            files: State::fresh_files(),
        }
    }

    /// The host's side of an instance.
    fn state(&self, limits: Limits, stdin: Vec<u8>) -> State {
        State::with_files(limits, self.seed, stdin, Arc::clone(&self.files))
    }
}

/// How an instance ended, and the evidence of its driver.
struct Ended {
    end: End,
    told: Option<String>,
}

impl Ended {
    fn without_words(end: End) -> Self {
        Self { end, told: None }
    }

    fn of(answer: Result<Vec<u8>, Stopped>, speaker: Speaker) -> Result<Self, Trouble> {
        match answer {
            Ok(answer) => {
                let end = match (end_of(&answer), speaker) {
                    // A program cannot blame the task.
                    (End::Unjudgeable(text), Speaker::Program) => End::Raised(text),
                    (end, _) => end,
                };
                // A good end needs no explanation, and reading a long answer again costs time.
                let is_good = matches!(end, End::Finished | End::Returned(_));
                let told = if is_good {
                    None
                } else {
                    told(&answer, speaker)
                };
                Ok(Self { end, told })
            }
            Err(Stopped::Ended(end)) => Ok(Self::without_words(end)),
            Err(Stopped::ByPeer) => Ok(Self::without_words(End::Finished)),
            Err(Stopped::ByHost) => Err(no_result(&Stopped::ByHost)),
        }
    }
}

/// Why there is no answer. Never the fault of the program.
enum Trouble {
    /// Another attempt would fail as well.
    Lasting(String),
    /// Another attempt may succeed.
    Passing(String),
}

/// The program's side: runs it, then answers what the judge asks until the line is gone.
fn serve(
    image: &Image,
    run: &Run,
    setting: &Setting,
    line: &Line,
    tainted: &AtomicBool,
) -> Result<Ran, Trouble> {
    let (mut guest, mut how) = execute(image, run, setting, "solution", Vec::new())?;
    if how.end == End::Finished {
        guest.connect(line.clone());
        line.say(Word::Reply(Vec::new()));
        while let Some(Word::Ask(question)) = line.hear() {
            match guest.ask_bytes(&question) {
                Ok(answer) => {
                    line.say(Word::Reply(answer));
                }
                Err(stopped) => {
                    how = Ended::of(Err(stopped), Speaker::Program)?;
                    break;
                }
            }
        }
    }
    tainted.fetch_or(guest.is_broken(), Ordering::Relaxed);
    Ok(ran(&guest, run, how))
}

/// Runs a program to the end of its text in a new instance: first the task's prelude, then the
/// completion's part.
fn execute(
    image: &Image,
    run: &Run,
    setting: &Setting,
    module: &str,
    stdin: Vec<u8>,
) -> Result<(Guest, Ended), Trouble> {
    let (mut guest, has_prelude) = load(image, run, setting, module, stdin)?;
    if has_prelude {
        // No code of the completion has run in this instance, so any failure is the task's fault.
        let prelude = Ended::of(
            guest.ask(header(json!({"op": "prelude"})), &[]),
            Speaker::Driver,
        )?;
        if prelude.end != End::Finished {
            let end = End::Unjudgeable(prelude_fault(
                &prelude.end,
                guest.state().memory_refusals > 0,
            ));
            return Ok((guest, Ended { end, ..prelude }));
        }
    }
    let ended = Ended::of(
        guest.ask(header(json!({"op": "main"})), &[]),
        Speaker::Program,
    )?;
    Ok((guest, ended))
}

/// The message about a prelude that failed.
fn prelude_fault(end: &End, is_short_of_memory: bool) -> String {
    match end {
        End::OutOfMemory => "the prelude exceeds `limits.memory_mb` of the task".to_owned(),
        End::Raised(_) if is_short_of_memory => {
            "the prelude exceeds `limits.memory_mb` of the task".to_owned()
        }
        End::OutOfWork => "the prelude exceeds `limits.seconds` of the task".to_owned(),
        End::OutOfOutput => "the prelude exceeds `limits.output_kb` of the task".to_owned(),
        End::Exited(status) => format!("the prelude exits with status {status}"),
        End::Raised(text) => format!("the prelude raises an exception: {text}"),
        End::Finished | End::Returned(_) | End::Refuted(_) | End::Unjudgeable(_) => {
            "the prelude does not end".to_owned()
        }
    }
}

/// An instance with the program's code in it, its work and its clock about to begin; and whether
/// its first part is a prelude.
fn load(
    image: &Image,
    run: &Run,
    setting: &Setting,
    module: &str,
    stdin: Vec<u8>,
) -> Result<(Guest, bool), Trouble> {
    let mut guest = start(image, setting.state(run.limits, stdin))?;
    let loaded = guest.ask(
        header(json!({"op": "load", "module": module})),
        &[&run.code],
    );
    let has_prelude = match loaded {
        Ok(answer) => Message::read(&answer).is_some_and(|message| message.flag("prelude")),
        Err(Stopped::Ended(End::OutOfMemory)) => false,
        Err(Stopped::ByHost) => return Err(no_result(&Stopped::ByHost)),
        Err(other) => {
            return Err(Trouble::Lasting(format!(
                "compiled code cannot be loaded: {other:?}"
            )));
        }
    };
    guest.begin(run.limits).map_err(broken)?;
    Ok((guest, has_prelude))
}

fn start(image: &Image, state: State) -> Result<Guest, Trouble> {
    Guest::start(&image.ready, state).map_err(broken)
}

#[expect(clippy::needless_pass_by_value, reason = "shaped for `map_err`")]
fn broken(error: wasmtime::Error) -> Trouble {
    Trouble::Passing(format!("an instance cannot be created: {error:#}"))
}

fn header(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(header) => header,
        _ => Map::new(),
    }
}

fn no_result(stopped: &Stopped) -> Trouble {
    Trouble::Passing(match stopped {
        Stopped::ByHost => "the system is out of memory".to_owned(),
        other => format!("the instance ended without a result: {other:?}"),
    })
}

fn ran(guest: &Guest, run: &Run, ended: Ended) -> Ran {
    let state = guest.state();
    let end = match ended.end {
        // What a program does that is refused memory is for it to say, unless it ends badly.
        End::Raised(_) | End::OutOfWork if state.memory_refusals > 0 => End::OutOfMemory,
        end => end,
    };
    Ran {
        end,
        told: ended.told,
        stdout: state.stdout.clone(),
        stderr: state.stderr_tail().to_vec(),
        work: run.limits.work.saturating_sub(guest.work_left()),
        memory_bytes: guest.memory_bytes(),
    }
}

impl Handler for Programs {
    type Request = Request;

    fn answer(&mut self, request: Request) -> Reply {
        self.reply(&request)
    }

    fn is_tainted(&self) -> bool {
        self.tainted.load(Ordering::Relaxed)
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// A second thread with a stack as large as the first's, for programs that are judged by another
/// instance.
struct Companion(Sender<Work>);

impl Companion {
    fn start() -> std::io::Result<Self> {
        let (sender, receiver) = channel::<Work>();
        std::thread::Builder::new()
            .name("assay-program".to_owned())
            .stack_size(THREAD_STACK)
            .spawn(move || {
                receiver.into_iter().for_each(|work| work());
            })?;
        Ok(Self(sender))
    }

    fn run(&self, work: Work) {
        // The thread ends only with this sender.
        let _ = self.0.send(work);
    }
}
