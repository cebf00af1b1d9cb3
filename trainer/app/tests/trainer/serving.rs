//! A running service.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::path::Path;
use std::sync::mpsc;

use assay_node::{Config, Node};

/// Starts a service; returns its URL and a handle that stops it when dropped. With a folder, the
/// record and the reward models are in it.
pub(crate) fn service(folder: Option<&Path>) -> (String, tokio::sync::oneshot::Sender<()>) {
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let (url_sender, url_receiver) = mpsc::channel();
    let models = folder.map(Path::to_owned);
    let database = folder.map_or(String::new(), |folder| {
        format!("sqlite://{}", folder.join("record.db").display())
    });
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let mut config = Config::default();
            config.store.database = database.into();
            config.server.listen = "127.0.0.1:0".parse().unwrap();
            config.reward_models.folder = models.unwrap_or(config.reward_models.folder);
            // The sandbox workers are the trainer binary, because the test binary has no worker
            // role.
            config.sandbox_workers.program = env!("CARGO_BIN_EXE_assay-trainer").into();
            let node = Node::start(config).await.unwrap();
            let listener = node.listen().await.unwrap();
            url_sender
                .send(format!("http://{}", listener.local_addr().unwrap()))
                .unwrap();
            let stop = async {
                let _ = stopped.await;
            };
            node.serve(listener, stop).await.unwrap();
        });
    });
    (url_receiver.recv().unwrap(), stop)
}
