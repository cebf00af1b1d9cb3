//! Handles requests about programs: compile, run, judge.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use assay_worker::program::{
    Call, Called, Compile, Compiled, CompiledCall, End, File, ImageInfo, Limits, Part, Ran, Reply,
    Request, Run, Test, Translation,
};
use assay_worker::{ExecutableCode, Handler};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use wasmtime::Engine;

use crate::ImageError;
use crate::compiled_tests::{CompileOutcome, CompiledTest, CompiledTests};
use crate::compiler::{self, Subject};
use crate::engine;
use crate::files::Files;
use crate::guest::{Guest, ReplySource, Stopped};
use crate::image::{Folder, Image};
use crate::instances::Role;
use crate::kind::{IMAGES, ImageContent, kind};
use crate::message::{Message, header};
use crate::pages::PageMap;
use crate::peer::{Peer, PeerMessage, connection};
use crate::program_thread::ProgramThread;
use crate::request_error::RequestError;
use crate::run_end::{RunEnd, ran, with_memory_limit};
use crate::session;
use crate::state::{DRIVER_OUTPUT, EPOCH, State};
use crate::toolchain::{Entry, Toolchain};
use crate::translate::Translator;

/// Minimum memory of the instance of a test, in bytes. The limit of the program does not apply to
/// it.
const JUDGE_MEMORY: u64 = 512 << 20;

/// Runs programs in the images of a folder.
pub struct ProgramHandler {
    images: Vec<Result<Loaded, ImageError>>,
    program_thread: ProgramThread,
    translator: Translator,
    tests: CompiledTests,
    /// Whether a program broke its interpreter.
    tainted: Arc<AtomicBool>,
    _engine: Engine,
}

impl ProgramHandler {
    /// Maps every image of the folder. Missing images are reported when they are requested.
    ///
    /// # Errors
    /// [`ImageError::Engine`] if the engine does not work on this machine.
    pub fn load(folder: &Folder) -> Result<Self, ImageError> {
        let engine = engine::for_interpreters()?;
        let page_map = match PageMap::open() {
            Ok(map) => Some(Arc::new(map)),
            Err(error) => {
                tracing::debug!(%error, "every run gets a fresh instance");
                None
            }
        };
        let images = IMAGES
            .iter()
            .map(|kind| match kind.content {
                ImageContent::Interpreter => Image::load(&engine, folder, kind, page_map.as_ref())
                    .map(|image| Loaded::Interpreter(Arc::new(image))),
                ImageContent::Toolchain => Toolchain::load(folder, kind)
                    .map(|toolchain| Loaded::Toolchain(Box::new(toolchain))),
            })
            .collect();
        let no_thread = |error: std::io::Error| ImageError::Engine(error.to_string());
        let program_thread = ProgramThread::start().map_err(no_thread)?;
        let translator = Translator::start().map_err(no_thread)?;
        Ok(Self {
            images,
            program_thread,
            translator,
            tests: CompiledTests::new(),
            tainted: Arc::default(),
            _engine: engine,
        })
    }

    /// The images that are loaded.
    #[must_use]
    pub fn images(&self) -> Vec<ImageInfo> {
        self.images
            .iter()
            .flatten()
            .map(|loaded| match loaded {
                Loaded::Interpreter(image) => image.info.clone(),
                Loaded::Toolchain(toolchain) => toolchain.info.clone(),
            })
            .collect()
    }

    /// The code that a worker with these images runs.
    #[must_use]
    pub fn code(&self) -> ExecutableCode {
        let mut loaded = self.images.iter().flatten();
        if loaded.any(|loaded| matches!(loaded, Loaded::Toolchain(_))) {
            ExecutableCode::Compiled
        } else {
            ExecutableCode::Mapped
        }
    }

    /// Answers one request.
    #[must_use]
    pub fn reply(&self, request: &Request) -> Reply {
        let result = match request {
            Request::Images => Ok(Reply::Images(self.images())),
            Request::Compile(compile) => self.compile(compile).map(Reply::Compiled),
            Request::Run(run) => self.run(run).map(Reply::Ran),
            Request::Call(call) => self.call(call, None).map(Reply::Called),
            Request::CompiledCall(CompiledCall { call, standard }) => {
                self.call(call, Some(standard)).map(Reply::Called)
            }
        };
        result.unwrap_or_else(|error| match error {
            RequestError::Permanent(reason) => Reply::Unable(reason),
            RequestError::Transient(reason) => Reply::Failed(reason),
        })
    }

    /// The interpreter at this place in the table.
    pub(crate) fn interpreter(&self, at: usize) -> Option<&Image> {
        match self.images.get(at)?.as_ref().ok()? {
            Loaded::Interpreter(image) => Some(image),
            Loaded::Toolchain(_) => None,
        }
    }

    fn image(&self, name: &str) -> Result<&Loaded, RequestError> {
        let at = kind(name).and_then(|known| IMAGES.iter().position(|kind| kind == known));
        match at.and_then(|at| self.images.get(at)) {
            Some(Ok(image)) => Ok(image),
            Some(Err(error)) => {
                // The next worker loads the image again, which may have been mended.
                self.tainted.store(true, Ordering::Relaxed);
                Err(RequestError::Transient(error.to_string()))
            }
            None => Err(RequestError::Permanent(format!("no image `{name}`"))),
        }
    }

    /// Ends the run of an instance.
    fn finish(&self, image: &Image, role: Role, guest: Guest) {
        image.finish(&self.tainted, role, guest);
    }

    fn compile(&self, compile: &Compile) -> Result<Compiled, RequestError> {
        let image = match self.image(&compile.image)? {
            Loaded::Interpreter(image) => image,
            Loaded::Toolchain(toolchain) => {
                return toolchain.compile(compile);
            }
        };
        let mut texts = Vec::with_capacity(compile.parts.len());
        for Part { name, text } in &compile.parts {
            match self.translator.translate(compile.translation, name, text)? {
                Ok(text) => texts.push(text),
                Err(message) => return Ok(Compiled::Rejected(message)),
            }
        }
        let names: Vec<&str> = compile
            .parts
            .iter()
            .map(|part| part.name.as_str())
            .collect();
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let request = header(json!({"op": "compile", "names": names}));
        let compiled = compiler::compile(image, &self.tainted, Subject::Program, request, &texts)?;
        Ok(match compiled {
            Ok(blobs) => Compiled::Code(blobs.into_iter().next().unwrap_or_default()),
            Err(message) => Compiled::Rejected(message),
        })
    }

    /// Compiles a test, unless it was compiled before.
    fn compile_test(
        &self,
        image: &Image,
        texts: [&str; 2],
    ) -> Result<CompileOutcome, RequestError> {
        self.tests.get(&image.info.name, texts, || {
            let request = header(json!({"op": "compile_test"}));
            let texts = texts.map(str::as_bytes);
            let compiled = compiler::compile(image, &self.tainted, Subject::Test, request, &texts)?;
            compiled
                .map(|blobs| match <[Vec<u8>; 2]>::try_from(blobs) {
                    Ok([code, names]) => Ok(CompiledTest { code, names }),
                    Err(_) => Err(RequestError::Transient(
                        "the compiler did not reply with a test".to_owned(),
                    )),
                })
                .map_or_else(|message| Ok(Err(message)), |test| test.map(Ok))
        })
    }

    fn call(&self, call: &Call, standard: Option<&str>) -> Result<Called, RequestError> {
        match (self.image(&call.image)?, standard) {
            (Loaded::Interpreter(image), None) => session::run(image, &self.tainted, call),
            (Loaded::Toolchain(toolchain), Some(standard)) => toolchain.call(call, standard),
            _ => {
                let message = format!("the image `{}` cannot run such a call", call.image);
                Err(RequestError::Permanent(message))
            }
        }
    }

    fn run(&self, run: &Run) -> Result<Ran, RequestError> {
        let files = match self.translated_files(run)? {
            Ok(files) => files,
            Err(message) => return Ok(not_run(message)),
        };
        let context = RunContext::of(run, &files)?;
        let mut ran = match self.image(&run.image)? {
            Loaded::Interpreter(image) => self.run_test_of(image, run, &files, &context)?,
            Loaded::Toolchain(toolchain) => run_compiled(toolchain, run, &context)?,
        };
        ran.files = context.fetch(&run.fetch);
        Ok(ran)
    }

    /// The files of the task, with modules in the language of the image. The inner error is the
    /// message about a file that cannot be translated.
    fn translated_files<'a>(
        &self,
        run: &'a Run,
    ) -> Result<Result<Cow<'a, [File]>, String>, RequestError> {
        let is_module = |path: &str| {
            let endings = [".ts", ".mts", ".cts"];
            endings.iter().any(|ending| path.ends_with(ending))
        };
        if run.translation == Translation::None || !run.files.iter().any(|f| is_module(&f.path)) {
            return Ok(Ok(Cow::Borrowed(&run.files)));
        }
        let mut files = run.files.clone();
        for File { path, bytes } in files.iter_mut().filter(|file| is_module(&file.path)) {
            let Ok(text) = str::from_utf8(bytes) else {
                return Ok(Err(format!("the file `{path}` is not UTF-8")));
            };
            match self.translator.translate(run.translation, path, text)? {
                Ok(text) => *bytes = text.into_owned().into_bytes(),
                Err(message) => {
                    return Ok(Err(format!("a file cannot be translated: {message}")));
                }
            }
        }
        Ok(Ok(Cow::Owned(files)))
    }

    fn run_test_of(
        &self,
        image: &Arc<Image>,
        run: &Run,
        files: &[File],
        context: &RunContext,
    ) -> Result<Ran, RequestError> {
        match &run.test {
            Test::Stdin(input) | Test::Check(input) => {
                let (guest, ended) = execute(image, run, context, "__main__", input.clone())?;
                let ran = ran(&guest, run.limits, ended);
                self.finish(image, Role::of_program(&run.test), guest);
                Ok(ran)
            }
            Test::Call {
                function,
                args,
                kwargs,
            } => {
                let (mut guest, mut ended) = execute(image, run, context, "solution", Vec::new())?;
                if ended.end == End::Finished {
                    let call = header(json!({"op": "call", "function": function}));
                    let reply = guest.request(call, &[args.as_bytes(), kwargs.as_bytes()]);
                    ended = RunEnd::of(reply, ReplySource::Program)?;
                }
                let ran = ran(&guest, run.limits, ended);
                self.finish(image, Role::Program, guest);
                Ok(ran)
            }
            Test::Assert {
                setup,
                text,
                module,
                pytest,
                shares_files,
            } => {
                let translate = |text| self.translator.translate(run.translation, "test.js", text);
                match (translate(setup)?, translate(text)?) {
                    (Ok(setup), Ok(text)) => {
                        let compiled = self.compile_test(image, [&setup, &text])?;
                        let compiled = match compiled.as_ref() {
                            Ok(test) => test,
                            Err(message) => return Ok(not_run(message.clone())),
                        };
                        let own_files;
                        let test_context = if *shares_files {
                            context
                        } else {
                            own_files = RunContext::of(run, files)?;
                            &own_files
                        };
                        let judge = Judge {
                            request: header(
                                json!({"op": "judge", "module": module, "pytest": pytest}),
                            ),
                            compiled,
                            texts: [&setup, &text],
                        };
                        self.judge(image, run, [context, test_context], &judge)
                    }
                    (Err(message), _) | (_, Err(message)) => Ok(not_run(message)),
                }
            }
        }
    }

    /// Runs the program on its own thread and the test code on this one.
    fn judge(
        &self,
        image: &Arc<Image>,
        run: &Run,
        [context, test_context]: [&RunContext; 2],
        judge: &Judge<'_>,
    ) -> Result<Ran, RequestError> {
        let (program, test) = connection();
        let (finished, program_ran) = channel();
        let job = {
            let (image, run, context) = (Arc::clone(image), run.clone(), context.clone());
            let (names, tainted) = (judge.compiled.names.clone(), Arc::clone(&self.tainted));
            move || {
                let served = serve(&image, &run, &context, &names, &test, &tainted);
                // Fails if the test broke, because then the receiver was dropped.
                let _ = finished.send(served);
            }
        };
        self.program_thread.run(Box::new(job));
        // The program sends the values of the names when it is loaded, or disconnects if it ended
        // before.
        let test_end = match program.receive() {
            Some(PeerMessage::Reply(names)) => {
                Some(self.run_judge(image, run, test_context, &program, (judge, &names))?)
            }
            _ => None,
        };
        drop(program);
        let gone = |_| RequestError::Transient("the thread of the program has ended".to_owned());
        let (mut ran, is_short_of_memory) = program_ran.recv().map_err(gone)??;
        if ran.end == End::Finished {
            let not_loaded = || {
                RunEnd::without_evidence(End::Raised("the program could not be loaded".to_owned()))
            };
            let RunEnd {
                end,
                driver_evidence,
            } = test_end.unwrap_or_else(not_loaded);
            ran.end = with_memory_limit(end, is_short_of_memory);
            ran.driver_evidence = driver_evidence;
        }
        Ok(ran)
    }

    /// Runs the test code in its own instance, connected to the program.
    fn run_judge(
        &self,
        image: &Image,
        run: &Run,
        context: &RunContext,
        program: &Peer,
        (test, names): (&Judge<'_>, &[u8]),
    ) -> Result<RunEnd, RequestError> {
        let memory_bytes = run.limits.memory_bytes.max(JUDGE_MEMORY);
        let limits = Limits {
            memory_bytes,
            output_bytes: DRIVER_OUTPUT,
            ..run.limits
        };
        let mut state = context.state(limits, Vec::new());
        state.keeps_stdout = false;
        let mut judge = image.start(Role::Judge, state)?;
        judge.connect(program.clone());
        judge.begin(limits).map_err(RequestError::no_instance)?;
        let [setup, text] = test.texts.map(str::as_bytes);
        let blobs = [&test.compiled.code, names, setup, text];
        let reply = judge.request(test.request.clone(), &blobs);
        self.finish(image, Role::Judge, judge);
        match reply {
            // The program's own thread reports how the program ended.
            Err(Stopped::PeerEnded) => Ok(RunEnd::without_evidence(End::Finished)),
            other => RunEnd::of(other, ReplySource::Driver),
        }
    }
}

/// Runs a compiled program.
fn run_compiled(
    toolchain: &Toolchain,
    run: &Run,
    context: &RunContext,
) -> Result<Ran, RequestError> {
    let (entry, input) = match &run.test {
        Test::Stdin(input) | Test::Check(input) => {
            (Entry::Main(run.arguments.clone()), input.clone())
        }
        Test::Call { function, args, .. } => {
            let args: Vec<&RawValue> = serde_json::from_str(args).map_err(|error| {
                RequestError::Permanent(format!("the arguments are not a JSON array: {error}"))
            })?;
            let args = args.iter().map(|one| one.get().to_owned()).collect();
            (Entry::Call(function.clone(), args), Vec::new())
        }
        Test::Assert { .. } => {
            return Err(RequestError::Permanent(
                "asserts cannot test compiled programs".to_owned(),
            ));
        }
    };
    let limits = toolchain.limits(run.limits);
    let ran = toolchain.run(&run.code, entry, limits, context.state(limits, input));
    ran.map(|(ran, _)| ran)
}

/// An image that is ready for programs.
enum Loaded {
    Interpreter(Arc<Image>),
    Toolchain(Box<Toolchain>),
}

/// A test that judges a program in its own instance.
struct Judge<'a> {
    request: Map<String, Value>,
    compiled: &'a CompiledTest,
    /// The setup and the test, whose lines are quoted in reports.
    texts: [&'a str; 2],
}

/// State that the instances of one run share.
#[derive(Clone)]
struct RunContext {
    seed: u64,
    files: Arc<Mutex<Files>>,
}

impl RunContext {
    fn of(run: &Run, task_files: &[File]) -> Result<Self, RequestError> {
        let mut files = State::fresh_files();
        for File { path, bytes } in task_files {
            files.store(path, bytes, EPOCH).map_err(|error| {
                RequestError::Permanent(format!("the file `{path}` cannot be created: {error:?}"))
            })?;
        }
        Ok(Self {
            seed: run.seed,
            files: Arc::new(Mutex::new(files)),
        })
    }

    /// The files at these paths.
    fn fetch(&self, paths: &[String]) -> Vec<File> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.fetch(paths)
    }

    /// The host's state of a new instance.
    fn state(&self, limits: Limits, stdin: Vec<u8>) -> State {
        State::with_files(limits, self.seed, stdin, Arc::clone(&self.files))
    }
}

/// Runs the program, sends the values of the names that the test uses, then handles requests of the
/// test until it disconnects. Also returns whether the program was refused memory.
fn serve(
    image: &Image,
    run: &Run,
    context: &RunContext,
    names: &[u8],
    test: &Peer,
    tainted: &AtomicBool,
) -> Result<(Ran, bool), RequestError> {
    let (mut guest, mut ended) = execute(image, run, context, "solution", Vec::new())?;
    if ended.end == End::Finished {
        guest.connect(test.clone());
        let mut reply = match names {
            [] => Ok(Vec::new()),
            names => guest.request_bytes(names),
        };
        loop {
            match reply {
                Ok(reply) => {
                    test.send(PeerMessage::Reply(reply));
                }
                Err(stopped) => {
                    ended = RunEnd::of(Err(stopped), ReplySource::Program)?;
                    break;
                }
            }
            let Some(PeerMessage::Request(request)) = test.receive() else {
                break;
            };
            reply = guest.request_bytes(&request);
        }
    }
    let ran = ran(&guest, run.limits, ended);
    let is_short_of_memory = guest.state().memory_refusals > 0;
    image.finish(tainted, Role::Program, guest);
    Ok((ran, is_short_of_memory))
}

/// Runs a program in a new instance: first the task's prelude, then the completion's part.
fn execute(
    image: &Image,
    run: &Run,
    context: &RunContext,
    module: &str,
    stdin: Vec<u8>,
) -> Result<(Guest, RunEnd), RequestError> {
    let (mut guest, has_prelude) = load(image, run, context, module, stdin)?;
    if has_prelude {
        // No code of the completion has run in this instance, so any failure is the task's fault.
        let prelude = RunEnd::of(
            guest.request(header(json!({"op": "prelude"})), &[]),
            ReplySource::Driver,
        )?;
        if prelude.end != End::Finished {
            let end = End::TaskFailed(prelude_fault(
                &prelude.end,
                guest.state().memory_refusals > 0,
            ));
            return Ok((guest, RunEnd { end, ..prelude }));
        }
    }
    let ended = RunEnd::of(
        guest.request(header(json!({"op": "main"})), &[]),
        ReplySource::Program,
    )?;
    Ok((guest, ended))
}

/// The message for a prelude that failed.
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
        End::Finished
        | End::Returned(_)
        | End::TestFailed(_)
        | End::TaskFailed(_)
        | End::FailedEarly(_) => "the prelude does not end".to_owned(),
    }
}

/// Creates an instance, loads the program's code and starts its clock. Also returns whether the
/// program has a prelude.
fn load(
    image: &Image,
    run: &Run,
    context: &RunContext,
    module: &str,
    stdin: Vec<u8>,
) -> Result<(Guest, bool), RequestError> {
    let role = Role::of_program(&run.test);
    let mut guest = image.start(role, context.state(run.limits, stdin))?;
    let loaded = guest.request(
        header(json!({"op": "load", "module": module})),
        &[&run.code],
    );
    let has_prelude = match loaded {
        Ok(reply) => Message::read(&reply).is_some_and(|message| message.flag("prelude")),
        Err(Stopped::Ended(End::OutOfMemory)) => false,
        Err(Stopped::HostOutOfMemory) => {
            return Err(RequestError::no_result(&Stopped::HostOutOfMemory));
        }
        Err(other) => {
            return Err(RequestError::Permanent(format!(
                "cannot load compiled code: {other:?}"
            )));
        }
    };
    guest.begin(run.limits).map_err(RequestError::no_instance)?;
    Ok((guest, has_prelude))
}

/// The result of a run that did not start because the test code is invalid.
fn not_run(message: String) -> Ran {
    Ran::without_output(End::TaskFailed(message))
}

impl Handler for ProgramHandler {
    type Request = Request;

    fn answer(&mut self, request: Request) -> Reply {
        self.reply(&request)
    }

    fn is_tainted(&self) -> bool {
        self.tainted.load(Ordering::Relaxed)
    }
}
