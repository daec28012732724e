//! Frames on one side, rmcp's messages on the other.
//!
//! A reader hands frames to the ledger and what passes to rmcp; answers go out under the sequence
//! number of their request. Receiving is cancel-safe, because rmcp polls it in a `select!`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, GetMeta, JsonRpcMessage, RequestId, ResourceContents, ServerJsonRpcMessage,
    ServerNotification, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage, serve_directly};
use rmcp::transport::Transport;
use serde_json::json;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use trellis_protocol::codec::ANSWER_LIMIT;
use trellis_protocol::envelope::{Bye, Envelope, Frame, Part, Payload, Resume};
use trellis_protocol::message::{self, SERVER_ERROR};

use super::handler::{Handler, Slip, resumed};
use super::ledger::{Admission, Flight, Ledger};
use crate::chance;
use crate::engine::{Attended, Connected, Engine};
use crate::present::rendered::Rendered;
use crate::socket::link::{Outbox, Reader};
use crate::tools::Call;

/// Notifications and responses that rmcp has not taken yet; more make the sender wait.
const MOST_ASIDE: usize = 64;
/// Longer messages are read and written beside the others.
const LONG_MESSAGE: usize = 256 << 10;
/// How long a leaving daemon waits for answers that are being worked on.
const DRAIN: Duration = Duration::from_secs(4);
/// And for a client to take its last word.
const LAST_WORD: Duration = Duration::from_millis(300);

/// Serves one session until its connection ends or the daemon leaves.
pub async fn serve(
    call: Call,
    connected: Arc<Connected>,
    attended: Arc<Attended>,
    mut reader: Reader,
    outbox: Outbox,
    resume: Option<Resume>,
) {
    let engine = Arc::clone(&call.engine);
    let resume = resume.unwrap_or_default();
    let greeted = resume.initialize.as_ref().and_then(|payload| resumed(&payload.0));
    let acknowledged = resume.unanswered.iter().filter(|one| one.acknowledged).map(|one| one.sequence);
    let ledger = Ledger::new(greeted.is_some(), acknowledged);
    let (incoming, messages) = mpsc::unbounded_channel();
    let desk = Arc::new(Desk {
        ledger: Mutex::new(ledger),
        incoming,
        aside: Arc::new(Semaphore::new(MOST_ASIDE)),
        quiet: Notify::new(),
        connected: Arc::clone(&connected),
        outbox,
        request_base: request_base(),
    });
    for payload in &resume.renew {
        if let Some(message) = desk.ledger.lock().renew(&payload.0) {
            desk.pass(message, None);
        }
    }
    let transport = FrameTransport { desk: Arc::clone(&desk), messages };
    let running = serve_directly(Handler::new(call, connected, attended), transport, greeted);
    running.service().resume(running.peer());

    let why = desk.read(&engine, &mut reader).await;
    match why {
        End::Closed => {}
        End::Leaving => {
            let _ = tokio::time::timeout(DRAIN, desk.until_quiet()).await;
            let farewell = Envelope::Bye(Bye::Draining);
            let _ = tokio::time::timeout(LAST_WORD, desk.outbox.send(&farewell)).await;
        }
        End::Deaf => engine.count(|counters| &counters.dropped_clients),
    }
    drop(desk);
    let _ = running.cancel().await;
}

/// Why reading ended.
enum End {
    /// The other side is gone.
    Closed,
    /// We are leaving.
    Leaving,
    /// The other side did not read what we sent.
    Deaf,
}

/// What reader, rmcp and handlers share.
struct Desk {
    ledger: Mutex<Ledger>,
    incoming: mpsc::UnboundedSender<Incoming>,
    aside: Arc<Semaphore>,
    quiet: Notify,
    connected: Arc<Connected>,
    outbox: Outbox,
    request_base: i64,
}

/// A message for rmcp, with the place it takes up until rmcp has it.
#[derive(Debug)]
struct Incoming {
    message: Box<ClientJsonRpcMessage>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Desk {
    async fn read(&self, engine: &Engine, reader: &mut Reader) -> End {
        loop {
            let envelope = tokio::select! {
                envelope = reader.next() => envelope,
                () = engine.leaving.cancelled() => return End::Leaving,
                () = self.outbox.broken() => return if self.outbox.is_deaf() { End::Deaf } else { End::Closed },
            };
            match envelope {
                Ok(Some(Envelope::Frame(Frame { sequence, payload: Payload(bytes), .. }))) => {
                    self.take(sequence, &bytes).await;
                }
                Ok(None | Some(Envelope::Bye(_))) => return End::Closed,
                Ok(Some(Envelope::Order(_) | Envelope::Report(_))) | Err(_) => {
                    let _ = self.outbox.send(&Envelope::Bye(Bye::Dropped)).await;
                    return End::Closed;
                }
            }
        }
    }

    async fn take(&self, sequence: u64, bytes: &[u8]) {
        let admission = beside_others(bytes.len(), || self.ledger.lock().admit(sequence, bytes));
        match admission {
            Admission::Pass(message) if matches!(*message, JsonRpcMessage::Request(_)) => self.pass(message, None),
            Admission::Pass(message) => {
                let Some(message) = self.ours(message) else { return };
                let released = self.ledger.lock().taken_back(&message);
                let place = Arc::clone(&self.aside).acquire_owned().await.ok();
                self.pass(message, place);
                released.into_iter().for_each(|message| self.pass(message, None));
            }
            Admission::Answer(answer) => self.outbox.message(sequence, answer, Part::Answer).await,
            Admission::Hold | Admission::Ignore => {}
        }
        self.count();
    }

    fn pass(&self, message: Box<ClientJsonRpcMessage>, place: Option<OwnedSemaphorePermit>) {
        // rmcp not listening any more means that the session is ending.
        let _ = self.incoming.send(Incoming { message, _place: place });
    }

    /// Our requests carry ids that no earlier daemon used; answers to anybody else's are dropped.
    fn ours(&self, mut message: Box<ClientJsonRpcMessage>) -> Option<Box<ClientJsonRpcMessage>> {
        let id = match message.as_mut() {
            JsonRpcMessage::Response(response) => &mut response.id,
            JsonRpcMessage::Error(error) => error.id.as_mut()?,
            _ => return Some(message),
        };
        let RequestId::Number(number) = id else { return None };
        *number = number.checked_sub(self.request_base).filter(|number| (0..1 << 20).contains(number))?;
        Some(message)
    }

    async fn answer(&self, flight: Flight, message: &ServerJsonRpcMessage) {
        let Slip { sequence, rendered } = &flight.slip;
        if *sequence != 0 {
            let rendered = rendered.get();
            let weight = rendered.map_or_else(|| weight(message), Rendered::weight);
            let bytes = beside_others(weight, || {
                let bytes = serialised(message);
                within_limit(message, rendered.map(|rendered| rendered.put_into(&bytes)).unwrap_or(bytes))
            });
            self.outbox.message(*sequence, bytes, Part::Answer).await;
        }
        let released = self.ledger.lock().landed(flight);
        released.into_iter().for_each(|message| self.pass(message, None));
        self.count();
        self.quiet.notify_waiters();
    }

    async fn aside(&self, mut message: ServerJsonRpcMessage) {
        let mut sequence = 0;
        match &mut message {
            JsonRpcMessage::Request(request) => {
                if let RequestId::Number(number) = &mut request.id {
                    *number += self.request_base;
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::SubscriptionsAcknowledgedNotification(_) = &notification.notification
                    && let Some(id) = notification.notification.get_meta().subscription_id()
                    && let Some((owner, heard)) = self.ledger.lock().acknowledging(&id)
                {
                    if heard {
                        return;
                    }
                    sequence = owner;
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        self.outbox.message(sequence, serialised(&message), Part::Aside).await;
    }

    async fn until_quiet(&self) {
        loop {
            let notified = self.quiet.notified();
            if self.ledger.lock().is_quiet() {
                return;
            }
            notified.await;
        }
    }

    fn count(&self) {
        self.connected.in_flight.store(self.ledger.lock().in_flight() as u32, Ordering::Relaxed);
    }
}

/// Reading or writing a long message takes a while: others are served meanwhile, by another thread.
fn beside_others<T>(length: usize, work: impl FnOnce() -> T) -> T {
    if length > LONG_MESSAGE { tokio::task::block_in_place(work) } else { work() }
}

/// About how long a message will be: its texts, which are all that grows.
fn weight(message: &ServerJsonRpcMessage) -> usize {
    let JsonRpcMessage::Response(response) = message else { return 0 };
    match &response.result {
        ServerResult::CallToolResult(result) => {
            result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.len()).sum()
        }
        ServerResult::ReadResourceResult(result) => result
            .contents
            .iter()
            .map(|contents| match contents {
                ResourceContents::TextResourceContents { text, .. } => text.len(),
                _ => 0,
            })
            .sum(),
        _ => 0,
    }
}

/// Ids of our own requests begin at a random place, so that the answer to one of an earlier daemon's
/// requests is never taken for an answer to ours. They stay below 2^53, which every host can read.
fn request_base() -> i64 {
    ((chance::number() & 0xffff_ffff) as i64) << 20
}

fn serialised(message: &ServerJsonRpcMessage) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}

fn within_limit(message: &ServerJsonRpcMessage, bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.is_empty() && bytes.len() <= ANSWER_LIMIT {
        return bytes;
    }
    let id = match message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        _ => None,
    };
    let id = id.map_or_else(|| "null".to_owned(), |id| id.into_json_value().to_string());
    let sentence = format!(
        "the answer has {} bytes, over the limit of {ANSWER_LIMIT}: ask for less, with a filter or a range",
        bytes.len()
    );
    let data = json!({ "code": "too_large", "size": bytes.len(), "limit": ANSWER_LIMIT }).to_string();
    message::error_answer(&id, SERVER_ERROR, &sentence, Some(&data))
}

/// What rmcp reads from and writes to.
struct FrameTransport {
    desk: Arc<Desk>,
    messages: mpsc::UnboundedReceiver<Incoming>,
}

impl Transport<RoleServer> for FrameTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let desk = Arc::clone(&self.desk);
        let flight = match &item {
            JsonRpcMessage::Response(response) => Some(desk.ledger.lock().answering(&response.id)),
            JsonRpcMessage::Error(error) => Some(error.id.as_ref().and_then(|id| desk.ledger.lock().answering(id))),
            _ => None,
        };
        async move {
            match flight {
                Some(Some(flight)) => desk.answer(flight, &item).await,
                // It was taken back: nobody wants to hear it.
                Some(None) => {}
                None => desk.aside(item).await,
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.messages.recv().await.map(|incoming| *incoming.message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.messages.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_our_own_requests_stay_readable_everywhere() {
        for _ in 0..100 {
            assert!(request_base() >= 0 && request_base() + (1 << 20) < 1 << 53);
        }
    }
}
