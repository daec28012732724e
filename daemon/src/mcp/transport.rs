//! Envelopes on one side, rmcp's messages on the other.
//!
//! A reader hands envelopes to the request table and what is admitted to rmcp; answers go out under the sequence
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
use trellis_protocol::envelope::{CloseReason, Envelope, Frame, FrameRole, Payload, Resume};
use trellis_protocol::message::{self, SERVER_ERROR};

use super::handler::{AnswerSlot, Handler, resumed};
use super::requests::{RequestAdmission, RequestTable};
use crate::engine::claims::ConnectionEnd;
use crate::engine::{ClientStatus, Engine};
use crate::ids;
use crate::present::result_body::ResultBody;
use crate::socket::envelope_io::{EnvelopeReader, EnvelopeWriter};
use crate::tools::ClientSession;

/// Notifications and responses that rmcp has not taken yet; more make the sender wait.
const MAX_UNREAD_NOTIFICATIONS: usize = 64;
/// Longer messages are read and written beside the others.
const OFFLOAD_BYTES: usize = 256 << 10;
/// How long a leaving daemon waits for answers that are being worked on.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);
/// And for a client to take its last word.
const GOODBYE_TIMEOUT: Duration = Duration::from_millis(300);

/// Serves one session until its connection ends or the daemon leaves.
pub async fn serve(
    session: Arc<ClientSession>,
    mut reader: EnvelopeReader,
    writer: EnvelopeWriter,
    resume: Option<Resume>,
) {
    let engine = Arc::clone(&session.engine);
    let name = session.context.public_name().unwrap_or_default();
    engine.claims.session_connected(&name);
    let resume = resume.unwrap_or_default();
    let greeted = resume.initialize.as_ref().and_then(|payload| resumed(&payload.0));
    let acknowledged = resume.unanswered.iter().filter(|one| one.acknowledged).map(|one| one.sequence);
    let requests = RequestTable::new(greeted.is_some(), acknowledged);
    let (incoming, messages) = mpsc::unbounded_channel();
    let session_io = Arc::new(SocketSession {
        requests: Mutex::new(requests),
        incoming,
        send_unsolicited: Arc::new(Semaphore::new(MAX_UNREAD_NOTIFICATIONS)),
        quiet: Notify::new(),
        status: Arc::clone(&session.status),
        writer,
        request_base: request_base(),
    });
    for payload in &resume.replay {
        if let Some(message) = session_io.requests.lock().replay(&payload.0) {
            session_io.pass(message, None);
        }
    }
    let transport = FrameTransport { session_io: Arc::clone(&session_io), messages };
    let running = serve_directly(Handler::new(session), transport, greeted);
    running.service().resume(running.peer());

    let why = session_io.read(&engine, &mut reader).await;
    let is_goodbye = matches!(why, ReadLoopExit::Goodbye);
    engine.claims.session_ended(&name, if is_goodbye { ConnectionEnd::Goodbye } else { ConnectionEnd::Broken });
    match why {
        ReadLoopExit::Closed | ReadLoopExit::Goodbye => {}
        ReadLoopExit::Leaving => {
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, session_io.drained()).await;
            let farewell = Envelope::Close(CloseReason::Draining);
            let _ = tokio::time::timeout(GOODBYE_TIMEOUT, session_io.writer.send(&farewell)).await;
        }
        ReadLoopExit::ClientStalled => engine.count(|counters| &counters.dropped_clients),
    }
    drop(session_io);
    let _ = running.cancel().await;
}

/// Why reading ended.
enum ReadLoopExit {
    /// The other side is gone.
    Closed,
    /// It has said so.
    Goodbye,
    /// We are leaving.
    Leaving,
    /// The other side did not read what we sent.
    ClientStalled,
}

/// What reader, rmcp and handlers share.
struct SocketSession {
    requests: Mutex<RequestTable>,
    incoming: mpsc::UnboundedSender<Incoming>,
    send_unsolicited: Arc<Semaphore>,
    quiet: Notify,
    status: Arc<ClientStatus>,
    writer: EnvelopeWriter,
    request_base: i64,
}

/// A message for rmcp, with the place it takes up until rmcp has it.
type Incoming = (Box<ClientJsonRpcMessage>, Option<OwnedSemaphorePermit>);

impl SocketSession {
    async fn read(&self, engine: &Engine, reader: &mut EnvelopeReader) -> ReadLoopExit {
        loop {
            let envelope = tokio::select! {
                envelope = reader.next() => envelope,
                () = engine.lifecycle.leaving().cancelled() => return ReadLoopExit::Leaving,
                () = self.writer.closed() => return if self.writer.is_stalled() { ReadLoopExit::ClientStalled } else { ReadLoopExit::Closed },
            };
            match envelope {
                Ok(Some(Envelope::Frame(Frame { sequence, payload: Payload(bytes), .. }))) => {
                    self.take(sequence, &bytes).await;
                }
                Ok(Some(Envelope::Close(CloseReason::Done))) => return ReadLoopExit::Goodbye,
                Ok(None | Some(Envelope::Close(_))) => return ReadLoopExit::Closed,
                Ok(Some(Envelope::ControlRequest(_) | Envelope::ControlReply(_))) | Err(_) => {
                    let _ = self.writer.send(&Envelope::Close(CloseReason::Dropped)).await;
                    return ReadLoopExit::Closed;
                }
            }
        }
    }

    async fn take(&self, sequence: u64, bytes: &[u8]) {
        let admission = offload_if_long(bytes.len(), || self.requests.lock().admit(sequence, bytes));
        match admission {
            RequestAdmission::Pass(message) if matches!(*message, JsonRpcMessage::Request(_)) => {
                self.pass(message, None);
            }
            RequestAdmission::Pass(message) => {
                let Some(message) = self.own_response(message) else { return };
                let place = Arc::clone(&self.send_unsolicited).acquire_owned().await.ok();
                self.pass(message, place);
            }
            RequestAdmission::Answer(answer) => self.writer.message(sequence, answer, FrameRole::Answer).await,
            RequestAdmission::Ignore => {}
        }
        self.count();
    }

    fn pass(&self, message: Box<ClientJsonRpcMessage>, place: Option<OwnedSemaphorePermit>) {
        // rmcp not listening any more means that the session is ending.
        let _ = self.incoming.send((message, place));
    }

    /// Our requests carry ids that no earlier daemon used; answers to anybody else's are dropped.
    fn own_response(&self, mut message: Box<ClientJsonRpcMessage>) -> Option<Box<ClientJsonRpcMessage>> {
        let id = match message.as_mut() {
            JsonRpcMessage::Response(response) => &mut response.id,
            JsonRpcMessage::Error(error) => error.id.as_mut()?,
            _ => return Some(message),
        };
        let RequestId::Number(number) = id else { return None };
        *number = number.checked_sub(self.request_base).filter(|number| (0..1 << 20).contains(number))?;
        Some(message)
    }

    async fn answer(&self, id: &RequestId, slot: AnswerSlot, message: &ServerJsonRpcMessage) {
        let AnswerSlot { sequence, result_body, share } = slot;
        // The table gives back what the request took up, before the client can have read the answer.
        drop(share);
        let result_body = result_body.get();
        let weight = result_body.map_or_else(|| weight(message), ResultBody::byte_size);
        let bytes = offload_if_long(weight, || {
            let bytes = serialised(message);
            within_limit(message, result_body.map(|result_body| result_body.splice_into(&bytes)).unwrap_or(bytes))
        });
        let turn = self.writer.turn().await;
        // A client that has this answer may send another request at once: it must not be one too many.
        if self.requests.lock().complete(id, sequence) && sequence != 0 {
            turn.message(sequence, bytes, FrameRole::Answer).await;
        }
        drop(turn);
        self.count();
        self.quiet.notify_waiters();
    }

    async fn send_unsolicited(&self, mut message: ServerJsonRpcMessage) {
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
                    && let Some((owner, heard)) = self.requests.lock().acknowledging(&id)
                {
                    if heard {
                        return;
                    }
                    sequence = owner;
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        self.writer.message(sequence, serialised(&message), FrameRole::Unsolicited).await;
    }

    async fn drained(&self) {
        loop {
            let notified = self.quiet.notified();
            if self.requests.lock().in_flight() == 0 {
                // The last answer may be on its way: whoever has the turn now has it for that.
                drop(self.writer.turn().await);
                return;
            }
            notified.await;
        }
    }

    fn count(&self) {
        self.status.in_flight.store(self.requests.lock().in_flight() as u32, Ordering::Relaxed);
    }
}

/// Reading or writing a long message takes a while: others are served meanwhile, by another thread.
fn offload_if_long<T>(length: usize, work: impl FnOnce() -> T) -> T {
    if length > OFFLOAD_BYTES { tokio::task::block_in_place(work) } else { work() }
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
    ((ids::random_u64() & 0xffff_ffff) as i64) << 20
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
    session_io: Arc<SocketSession>,
    messages: mpsc::UnboundedReceiver<Incoming>,
}

impl Transport<RoleServer> for FrameTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let session_io = Arc::clone(&self.session_io);
        async move {
            let answered = match &item {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {
                    session_io.send_unsolicited(item).await;
                    return Ok(());
                }
            };
            // If it was taken back, nobody wants to hear it.
            let slot = answered.and_then(|id| Some((id, session_io.requests.lock().take_running(id)?)));
            if let Some((id, slot)) = slot {
                session_io.answer(id, slot, &item).await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.messages.recv().await.map(|(message, _)| *message)
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
