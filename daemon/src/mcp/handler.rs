//! rmcp's questions, answered from the families' tables.
#![expect(deprecated, reason = "log levels and single subscriptions belong to the handshake era, which we serve too")]

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, ClientRequest, CompleteRequestParams, CompleteResult,
    DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, JsonRpcMessage, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::mpsc;

use super::listing::{self, page};
use super::notices::{self, Subscriptions};
use super::offers;
use super::roots::HostRoots;
use crate::disk::reporter::{Reporter, Step};
use crate::engine::{Attended, Connected};
use crate::present;
use crate::present::rendered::Rendered;
use crate::tools::{Call, Request};

/// Tools on one page: all of them, but a cursor is honoured.
const TOOLS_ON_A_PAGE: usize = 1000;
/// A surface shows the same list for as long as the session lives.
const LIST_LASTS_MS: u64 = 300_000;
/// The newest revision that still has a handshake.
const NEWEST_WITH_HANDSHAKE: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// A caller's own name for a request, in `_meta`.
const REQUEST_KEY: &str = "trellis/requestKey";

/// What travels with a request through rmcp, and back to our transport.
#[derive(Debug, Clone, Default)]
pub struct Slip {
    /// The session's number of the request.
    pub sequence: u64,
    /// The long parts of its answer.
    pub rendered: Arc<OnceLock<Rendered>>,
}

/// One session's view of the families.
#[derive(Debug)]
pub struct Handler {
    pub(super) call: Call,
    connected: Arc<Connected>,
    attended: Arc<Attended>,
    level: Arc<Mutex<Option<LoggingLevel>>>,
    subscriptions: Arc<Subscriptions>,
    roots: HostRoots,
}

/// The `initialize` that an earlier daemon answered, with the version that was agreed on then.
pub fn resumed(bytes: &[u8]) -> Option<InitializeRequestParams> {
    let Ok(JsonRpcMessage::Request(request)) = serde_json::from_slice::<rmcp::model::ClientJsonRpcMessage>(bytes)
    else {
        return None;
    };
    let ClientRequest::InitializeRequest(initialize) = request.request else { return None };
    let mut params = initialize.params;
    params.protocol_version = agreed(&params.protocol_version);
    Some(params)
}

/// The client's revision if it has a handshake and we know it, else our newest that has one.
fn agreed(asked: &ProtocolVersion) -> ProtocolVersion {
    let known = ProtocolVersion::KNOWN_VERSIONS.contains(asked);
    if known && asked.has_initialize() { asked.clone() } else { NEWEST_WITH_HANDSHAKE }
}

impl Handler {
    /// A handler for one session.
    pub fn new(call: Call, connected: Arc<Connected>, attended: Arc<Attended>) -> Self {
        let roots = HostRoots::new(Arc::clone(&attended));
        Self { call, connected, attended, level: Arc::default(), subscriptions: Arc::default(), roots }
    }

    fn introduced(&self, client: &Implementation) {
        self.connected.client.store(Some(Arc::new(format!("{} {}", client.name, client.version))));
    }

    /// A modern host introduces itself with every request; the first is enough.
    fn meet(&self, context: &RequestContext<RoleServer>) {
        if self.connected.client.load().is_none()
            && let Some(client) = context.client_info()
        {
            self.introduced(&client);
        }
    }

    /// What a session of the handshake era hears without asking again.
    fn attend(&self, peer: &Peer<RoleServer>) {
        self.subscriptions.attend(&self.call, peer, &self.level);
    }

    /// A session that shook hands with an earlier daemon goes on.
    pub fn resume(&self, peer: &Peer<RoleServer>) {
        if let Some(opening) = peer.peer_info() {
            self.introduced(&opening.client_info);
            self.attend(peer);
        }
    }

    /// What is not offered is not there.
    fn has_prompts(&self, method: &'static str) -> Result<(), ErrorData> {
        match self.call.catalogue.prompts().next() {
            Some(_) => Ok(()),
            None => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)),
        }
    }

    fn is_legacy(context: &RequestContext<RoleServer>) -> bool {
        context.protocol_version().is_none_or(|version| version.has_initialize())
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
        if self.call.catalogue.prompts().next().is_none() {
            capabilities.prompts = None;
        }
        let implementation = Implementation::new("trellis", env!("CARGO_PKG_VERSION")).with_title("Trellis");
        InitializeResult::new(capabilities)
            .with_protocol_version(NEWEST_WITH_HANDSHAKE)
            .with_server_info(implementation)
            .with_instructions(listing::instructions(&self.call.catalogue))
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.get_info().with_protocol_version(agreed(&request.protocol_version));
        self.introduced(&request.client_info);
        request.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(request);
        self.attend(&context.peer);
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.meet(&context);
        let mut result =
            DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), self.get_info());
        result.ttl_ms = LIST_LASTS_MS;
        Ok(result)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !Self::is_legacy(&context) {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "logging/setLevel", None));
        }
        *self.level.lock() = Some(request.level);
        self.attend(&context.peer);
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.meet(&context);
        let tools = listing::tools(&self.call.catalogue);
        listing::remember(&self.call, &tools);
        let cursor = request.and_then(|request| request.cursor);
        let (tools, next_cursor) = page(tools, cursor.as_deref(), TOOLS_ON_A_PAGE)?;
        let mut result =
            ListToolsResult::with_all_items(tools).with_ttl_ms(LIST_LASTS_MS).with_cache_scope(CacheScope::Private);
        result.next_cursor = next_cursor;
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.meet(&context);
        self.attended.looked().await;
        self.roots.ask_if_needed(&self.call.session, &context).await;
        if self.call.needs_roots(&request.name, request.arguments.as_ref()) {
            self.roots.ask(&self.call.session, &context.peer).await;
        }
        let slip = context.extensions.get::<Slip>();
        let (steps, mut reported) = mpsc::unbounded_channel();
        let token = context.meta.get_progress_token();
        let reporter = Reporter::new(token.is_some().then_some(steps), context.ct.clone());
        let work = self.call.tool(Request {
            tool: request.name.to_string(),
            arguments: request.arguments.unwrap_or_default(),
            sequence: slip.map(|slip| slip.sequence),
            key: context.meta.get(REQUEST_KEY).and_then(|key| key.as_str()).map(str::to_owned),
            reporter,
        });
        tokio::pin!(work);
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut work => break outcome,
                Some(step) = reported.recv() => {
                    // Nothing is said about a call that was taken back.
                    if let Some(token) = token.as_ref().filter(|_| !context.ct.is_cancelled()) {
                        let Step { done, total, message } = step;
                        let mut note = ProgressNotificationParam::new(token.clone(), done as f64).with_message(message);
                        note.total = total.map(|total| total as f64);
                        let _ = context.peer.notify_progress(note).await;
                    }
                }
            }
        };
        let result = match outcome {
            Some(Ok(answer)) => {
                let (result, rendered) = present::mcp::answered(answer);
                match slip {
                    // Our transport fills the blanks.
                    Some(slip) => {
                        slip.rendered.get_or_init(|| rendered);
                        result
                    }
                    None => rendered.fill(result),
                }
            }
            Some(Err(caught)) => present::mcp::failed(&caught.failure, caught.envelope),
            None => return Err(unknown_tool(&request.name)),
        };
        Ok(present::mcp::warned(result, self.attended.news()).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.roots.ask_if_needed(&self.call.session, &context).await;
        offers::resources(&self.call, request.and_then(|request| request.cursor).as_deref()).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        offers::templates(&self.call.catalogue, request.and_then(|request| request.cursor).as_deref())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.roots.ask_if_needed(&self.call.session, &context).await;
        offers::read(&self.call, &request.uri).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.has_prompts("prompts/list")?;
        offers::prompts(&self.call.catalogue, request.and_then(|request| request.cursor).as_deref())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.has_prompts("prompts/get")?;
        self.roots.ask_if_needed(&self.call.session, &context).await;
        offers::prompt(&self.call, request).await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.roots.ask_if_needed(&self.call.session, &context).await;
        offers::complete(&self.call, request).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        offers::known(&self.call.catalogue, &request.uri)?;
        self.subscriptions.add(request.uri);
        self.attend(&context.peer);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| offers::known(&self.call.catalogue, uri).is_ok());
        }
        // rmcp asks this once for each subscription, just before it acknowledges it.
        self.subscriptions.prepare(&self.call);
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        notices::listen(&self.call, &self.subscriptions, &context).await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Over HTTP nobody may be listening yet; the first call that needs the roots asks on its own stream.
        if context.extensions.get::<axum::http::request::Parts>().is_none() {
            self.roots.ask(&self.call.session, &context.peer).await;
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.roots.ask_again(&self.call.session, &context.peer).await;
    }
}

fn unknown_tool(name: &str) -> ErrorData {
    let name: String = name.chars().take(80).collect();
    ErrorData::invalid_params(
        format!("there is no tool `{name}` in this session: ask for tools/list"),
        Some(json!({ "code": "unknown_tool", "tool": name })),
    )
}
