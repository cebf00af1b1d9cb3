//! Sends notifications to the configured URL, from a bounded queue and one at a time. The URL is
//! the operator's; redirects are not followed, so that no other server is called.

use std::time::Duration;

use assay_base::causes::with_causes;
use assay_base::url::redacted;
use assay_wire::alerts::NotificationBody;
use reqwest::redirect::Policy;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::metrics::{Delivery, notified};

/// Maximum number of notifications that wait.
const QUEUE: usize = 64;

/// Maximum time of one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of requests for one notification.
const ATTEMPTS: u32 = 5;

/// Pause before the second request; each further one is twice as long.
const PAUSE: Duration = Duration::from_secs(1);

/// The queue of the webhook.
#[derive(Debug)]
pub(crate) struct Webhook(Sender<NotificationBody>);

impl Webhook {
    /// Starts the task that sends what is queued. It ends when the queue is dropped. Must be called
    /// in a runtime.
    ///
    /// # Errors
    /// If the client for HTTP cannot be created.
    pub(crate) fn start(url: String) -> Result<Self, String> {
        // Fails if a provider is already installed, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(Policy::none())
            .build()
            .map_err(|error| with_causes(&error))?;
        let (queue, queued) = mpsc::channel(QUEUE);
        tokio::spawn(send_all(client, url, queued));
        Ok(Self(queue))
    }

    /// Queues a notification. Drops it if the queue is full.
    pub(crate) fn notify(&self, notification: NotificationBody) {
        if self.0.try_send(notification).is_err() {
            notified(Delivery::Dropped);
            tracing::warn!(
                queued = QUEUE,
                "a notification was dropped: the webhook for alerts is too slow"
            );
        }
    }
}

async fn send_all(client: reqwest::Client, url: String, mut queued: Receiver<NotificationBody>) {
    while let Some(notification) = queued.recv().await {
        match send(&client, &url, &notification).await {
            Ok(()) => notified(Delivery::Sent),
            Err(reason) => {
                notified(Delivery::Failed);
                let url = redacted(&url);
                tracing::warn!(url, reason, "the webhook for alerts was not reached");
            }
        }
    }
}

/// Sends one notification, again after a pause if it fails in a way that may pass.
async fn send(
    client: &reqwest::Client,
    url: &str,
    notification: &NotificationBody,
) -> Result<(), String> {
    let mut pause = PAUSE;
    for attempt in 1.. {
        let reply = client.post(url).json(notification).send().await;
        let (reason, may_pass) = match reply {
            Ok(reply) if reply.status().is_success() => return Ok(()),
            Ok(reply) => {
                let status = reply.status();
                let may_pass = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
                (status.to_string(), may_pass)
            }
            // The error would contain the URL, which may contain a password.
            Err(error) => (with_causes(&error.without_url()), true),
        };
        if !may_pass || attempt >= ATTEMPTS {
            return Err(reason);
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use assay_wire::alerts::{AlertBody, AlertStatus, Severity};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_queue_is_bounded_and_never_blocks() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let webhook = Webhook::start(format!("http://{address}")).unwrap();
        for _ in 0..10 * QUEUE {
            webhook.notify(NotificationBody {
                status: AlertStatus::Firing,
                text: String::new(),
                alert: AlertBody {
                    rule: "failures".to_owned(),
                    severity: Severity::Critical,
                    run: None,
                    channel: None,
                    message: String::new(),
                    since_us: 0,
                    value: 1.0,
                    threshold: 0.01,
                    grades: 7,
                    link: None,
                },
            });
        }
        assert_eq!(webhook.0.capacity(), 0);
    }
}
