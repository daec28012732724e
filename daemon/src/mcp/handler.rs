//! rmcp's questions, answered from the families' tables.
#![expect(deprecated, reason = "log levels and single subscriptions belong to the handshake era, which we serve too")]

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ClientJsonRpcMessage, ClientRequest,
    CompleteRequestParams, CompleteResult, DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    Implementation, InitializeRequestParams, InitializeResult, JsonRpcMessage, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::mpsc;

use super::notifications::{self, Subscriptions};
use super::requests::RequestShare;
use super::resources;
use super::roots::HostRoots;
use super::tool_list::{self, page};
use crate::families::{ErrorFormat, ProgressReporter, ProgressStep};
use crate::present;
use crate::present::result_body::ResultBody;
use crate::tools::{ClientSession, CredentialsName, ToolCall, ToolError};

/// Tools on one page: all of them, but a cursor is honoured.
const TOOLS_PER_PAGE: usize = 1000;
/// A surface shows the same list for as long as the session lives.
const LIST_TTL_MS: u64 = 300_000;
/// The newest revision that still has a handshake.
const NEWEST_HANDSHAKE_REVISION: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// A caller's own name for a request, in `_meta`.
const REQUEST_KEY: &str = "trellis/requestKey";

/// What travels with a request through rmcp, and back to our transport.
#[derive(Debug, Clone, Default)]
pub struct AnswerSlot {
    /// The session's number of the request.
    pub sequence: u64,
    /// The long parts of its answer.
    pub result_body: Arc<OnceLock<ResultBody>>,
    /// Counted against the session's limits for as long as anybody holds it.
    pub share: Option<Arc<RequestShare>>,
}

/// One session's view of the families.
#[derive(Debug)]
pub struct Handler {
    session: Arc<ClientSession>,
    level: Arc<Mutex<Option<LoggingLevel>>>,
    subscriptions: Arc<Subscriptions>,
    roots: HostRoots,
}

/// The `initialize` that an earlier daemon answered, with the version that was agreed on then.
pub fn resumed(bytes: &[u8]) -> Option<InitializeRequestParams> {
    let message = serde_json::from_slice::<ClientJsonRpcMessage>(bytes).ok()?;
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::InitializeRequest(initialize) = request.request else { return None };
    let mut params = initialize.params;
    params.protocol_version = negotiate_revision(&params.protocol_version);
    Some(params)
}

/// The client's revision if it has a handshake and we know it, else our newest that has one.
fn negotiate_revision(asked: &ProtocolVersion) -> ProtocolVersion {
    let known = ProtocolVersion::KNOWN_VERSIONS.contains(asked);
    if known && asked.has_initialize() { asked.clone() } else { NEWEST_HANDSHAKE_REVISION }
}

impl Handler {
    /// A handler for one session.
    pub fn new(session: Arc<ClientSession>) -> Self {
        let roots = HostRoots::new(Arc::clone(&session));
        Self { session, level: Arc::default(), subscriptions: Arc::default(), roots }
    }

    fn set_client_name(&self, client: &Implementation) {
        self.session.status.client.store(Some(Arc::new(format!("{} {}", client.name, client.version))));
    }

    /// A modern host introduces itself with every request; the first is enough.
    fn note_client(&self, context: &RequestContext<RoleServer>) {
        if self.session.status.client.load().is_none()
            && let Some(client) = context.client_info()
        {
            self.set_client_name(&client);
        }
    }

    /// What a session with a handshake hears without asking again.
    fn start_notifications(&self, peer: &Peer<RoleServer>) {
        self.subscriptions.start(&self.session, peer, &self.level);
    }

    /// A session that shook hands with an earlier daemon goes on.
    pub fn resume(&self, peer: &Peer<RoleServer>) {
        if let Some(opening) = peer.peer_info() {
            self.set_client_name(&opening.client_info);
            self.start_notifications(peer);
        }
    }

    /// A failure as its family shows it. Beside others a message is said once: programs that know where a family
    /// repeats it ask for that family alone.
    fn error_result(&self, error: ToolError, context: &RequestContext<RoleServer>) -> CallToolResult {
        let ToolError { mut failure, mut error_format } = error;
        if !self.session.catalogue.is_alone() {
            if let (ErrorFormat::Numbered, Some(data)) = (error_format, failure.details.as_object_mut()) {
                data.shift_remove("issue");
            }
            if error_format == ErrorFormat::ErrorAndTop {
                error_format = ErrorFormat::Error;
            }
        }
        let mut result = present::mcp::error_result(&failure, error_format);
        if !has_structured_content(context) {
            result.structured_content = None;
        }
        result
    }

    /// What is not offered is not there.
    fn has_prompts(&self, method: &'static str) -> Result<(), ErrorData> {
        let first = self.session.catalogue.prompts().next();
        first.map(drop).ok_or_else(|| ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        if self.session.catalogue.prompts().next().is_none() {
            capabilities.prompts = None;
        }
        let implementation = Implementation::new("trellis", env!("CARGO_PKG_VERSION")).with_title("Trellis");
        InitializeResult::new(capabilities)
            .with_protocol_version(NEWEST_HANDSHAKE_REVISION)
            .with_server_info(implementation)
            .with_instructions(tool_list::instructions(&self.session.catalogue))
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.get_info().with_protocol_version(negotiate_revision(&request.protocol_version));
        self.set_client_name(&request.client_info);
        request.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(request);
        self.start_notifications(&context.peer);
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.note_client(&context);
        let mut result =
            DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), self.get_info());
        result.ttl_ms = LIST_TTL_MS;
        Ok(result)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if context.protocol_version().is_some_and(|version| !version.has_initialize()) {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "logging/setLevel", None));
        }
        *self.level.lock() = Some(request.level);
        self.start_notifications(&context.peer);
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.note_client(&context);
        let tools = tool_list::tools(&self.session.catalogue);
        tool_list::remember(&self.session, &tools);
        let cursor = request.and_then(|request| request.cursor);
        let (tools, next_cursor) = page(tools, cursor.as_deref(), TOOLS_PER_PAGE)?;
        let mut result =
            ListToolsResult::with_all_items(tools).with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private);
        result.next_cursor = next_cursor;
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.note_client(&context);
        self.session.wait_for_trees().await;
        let found = match self.session.find_tool(&request.name) {
            Some(Ok(found)) => found,
            Some(Err(refused)) => return Ok(self.error_result(refused, &context).into()),
            None => return Err(unknown_tool(&request.name)),
        };
        self.roots.ask_if_needed(&self.session.context, &context).await;
        if self.session.needs_roots(&found, request.arguments.as_ref()) {
            self.roots.ask(&self.session.context, &context.peer).await;
        }
        let slot = context.extensions.get::<AnswerSlot>();
        let (steps, mut reported) = mpsc::unbounded_channel();
        let token = context.meta.get_progress_token();
        let reporter = ProgressReporter::new(token.is_some().then_some(steps), context.ct.clone());
        let call = ToolCall {
            arguments: request.arguments.unwrap_or_default(),
            sequence: slot.map(|slot| slot.sequence),
            key: context.meta.get(REQUEST_KEY).and_then(|key| key.as_str()).map(str::to_owned),
            by: host_name(&context),
            credentials: credentials_name(&context),
            reporter,
        };
        let work = self.session.call_tool(found, call);
        tokio::pin!(work);
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut work => break outcome,
                Some(step) = reported.recv() => {
                    // Nothing is said about a call that was taken back.
                    if let Some(token) = token.as_ref().filter(|_| !context.ct.is_cancelled()) {
                        let ProgressStep { done, total, message } = step;
                        let mut note = ProgressNotificationParam::new(token.clone(), done as f64).with_message(message);
                        note.total = total.map(|total| total as f64);
                        let _ = context.peer.notify_progress(note).await;
                    }
                }
            }
        };
        let result = match outcome {
            Ok(answer) => {
                let answer = if has_structured_content(&context) { answer } else { answer.as_text() };
                let (result, result_body) = present::mcp::tool_result(answer);
                match slot {
                    // Our transport fills the blanks.
                    Some(slot) => {
                        slot.result_body.get_or_init(|| result_body);
                        result
                    }
                    None => result_body.fill(result),
                }
            }
            Err(tool_error) => self.error_result(tool_error, &context),
        };
        Ok(present::mcp::with_warnings(result, self.session.unsent_warnings()).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.roots.ask_if_needed(&self.session.context, &context).await;
        resources::resources(&self.session, request.and_then(|request| request.cursor).as_deref()).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        resources::templates(&self.session.catalogue, request.and_then(|request| request.cursor).as_deref())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.roots.ask_if_needed(&self.session.context, &context).await;
        resources::read(&self.session, &request.uri).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.has_prompts("prompts/list")?;
        resources::prompts(&self.session.catalogue, request.and_then(|request| request.cursor).as_deref())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.has_prompts("prompts/get")?;
        self.roots.ask_if_needed(&self.session.context, &context).await;
        resources::prompt(&self.session, request).await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.roots.ask_if_needed(&self.session.context, &context).await;
        resources::complete(&self.session, request).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        resources::check_uri(&self.session.catalogue, &request.uri)?;
        self.session.wait_until_watched().await;
        self.subscriptions.uris.lock().insert(request.uri);
        self.start_notifications(&context.peer);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.uris.lock().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| resources::check_uri(&self.session.catalogue, uri).is_ok());
        }
        // rmcp asks this once for each subscription, just before it acknowledges it.
        let runtime = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| runtime.block_on(self.session.wait_until_watched()));
        self.subscriptions.prepare(&self.session);
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        notifications::listen(&self.session, &self.subscriptions, &context).await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Over HTTP nobody may be listening yet; the first call that needs the roots asks on its own stream.
        if context.extensions.get::<axum::http::request::Parts>().is_none() {
            self.roots.ask(&self.session.context, &context.peer).await;
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.roots.refresh(&self.session.context, &context.peer).await;
    }
}

/// The host's own name: told with every request, or once in the handshake.
fn host_name(context: &RequestContext<RoleServer>) -> Option<String> {
    let told = context.client_info().map(|client| client.name);
    told.or_else(|| context.peer.peer_info().map(|opening| opening.client_info.name.clone()))
}

/// What the credentials of a request over HTTP are called.
fn credentials_name(context: &RequestContext<RoleServer>) -> Option<String> {
    let parts = context.extensions.get::<axum::http::request::Parts>()?;
    parts.extensions.get::<CredentialsName>().map(|CredentialsName(name)| name.clone())
}

/// Whether the client's revision knows structured content; older ones get the same as text alone.
fn has_structured_content(context: &RequestContext<RoleServer>) -> bool {
    let agreed = || context.peer.peer_info().map(|opening| opening.protocol_version.clone());
    let version = context.protocol_version().or_else(agreed);
    version.is_none_or(|version| version >= ProtocolVersion::V_2025_06_18)
}

fn unknown_tool(name: &str) -> ErrorData {
    let name: String = name.chars().take(80).collect();
    ErrorData::invalid_params(
        format!("there is no tool `{name}` in this session: ask for tools/list"),
        Some(json!({ "code": "unknown_tool", "tool": name })),
    )
}
