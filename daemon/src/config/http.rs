//! What can be set for the gateway: the table `[http]` of the configuration file, and the variables.
//!
//! A port that makes no sense is kept as what was said, because another one must never be used instead.
//! Keys and the secret are readable to the guard alone: reports and logs show only that they are there.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use trellis_protocol::control::SettingStatus;
use trellis_protocol::endpoint::Variables;
use zeroize::Zeroizing;

use super::{Setting, Source};

/// Where the gateway listens unless told otherwise.
pub const DEFAULT_PORT: u16 = 4001;

/// A secret with fewer bytes can be guessed.
const SECRET_BYTES: usize = 32;

/// Variables whose values are secrets.
pub const SECRET_VARIABLES: [&str; 2] = ["API_KEYS", "JWT_SECRET"];

/// A text that no log and no report shows, and that is wiped from memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    fn new(text: String) -> Self {
        Self(text.into())
    }

    /// The text itself, for whoever compares it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

/// Everything that can be set for the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// `http.enabled`, `ENABLE_HTTP`: only the exact word `true` turns it on.
    pub enabled: Setting<bool>,
    /// `http.port`, `PORT`, `HTTP_PORT`; or what was said instead of a port.
    pub port: Setting<Result<u16, String>>,
    /// `http.host`, `HOST`: the address to listen at.
    pub host: Setting<String>,
    /// Set by `http.api_keys` or by `API_KEYS`.
    pub api_keys: Setting<Vec<Secret>>,
    /// Set by `http.jwt_secret` or by `JWT_SECRET`.
    pub jwt_secret: Setting<Option<Secret>>,
    /// `http.jwt_issuer`, `JWT_ISSUER`: who must have made a token; nobody in particular if it is not set.
    pub jwt_issuer: Setting<Option<String>>,
    /// `http.jwt_audience`, `JWT_AUDIENCE`: for whom a token must be meant.
    pub jwt_audience: Setting<Option<String>>,
    /// `http.allowed_origins`, `ALLOWED_ORIGINS`: exact origins of web pages that may call us.
    pub allowed_origins: Setting<Vec<String>>,
    /// `http.allowed_hosts`, `ALLOWED_HOSTS`: further names under which we may be called.
    pub allowed_hosts: Setting<Vec<String>>,
    /// `http.allow_unauthenticated`, `ALLOW_UNAUTHENTICATED`: no credentials needed, on loopback only.
    pub allow_unauthenticated: Setting<bool>,
    /// `http.project`, `TRELLIS_HTTP_PROJECT`: where requests that name no project work.
    pub project: Setting<Option<PathBuf>>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            enabled: Setting::default(false),
            port: Setting::default(Ok(DEFAULT_PORT)),
            host: Setting::default("127.0.0.1".to_owned()),
            api_keys: Setting::default(Vec::new()),
            jwt_secret: Setting::default(None),
            jwt_issuer: Setting::default(None),
            jwt_audience: Setting::default(None),
            allowed_origins: Setting::default(Vec::new()),
            allowed_hosts: Setting::default(Vec::new()),
            allow_unauthenticated: Setting::default(false),
            project: Setting::default(None),
        }
    }
}

impl HttpSettings {
    /// Takes the table `[http]`.
    pub fn take_table(&mut self, table: &toml::Table, warnings: &mut Vec<String>) {
        const FROM: Source = Source::ConfigFile;
        for (name, value) in table {
            let text = || value.as_str().map(str::to_owned);
            let some_text = || value.as_str().map(|text| (!text.is_empty()).then(|| text.to_owned()));
            let taken = match name.as_str() {
                "enabled" => value.as_bool().map(|on| self.enabled.set(on, FROM)),
                "port" => value.as_integer().map(|port| self.port.set(port_of(&port.to_string()), FROM)),
                "host" => text().map(|host| self.host.set(host, FROM)),
                "api_keys" => list(value).map(|keys| self.api_keys.set(secrets(keys), FROM)),
                "jwt_secret" => text().map(|secret| self.jwt_secret.set(secret_of(secret), FROM)),
                "jwt_issuer" => some_text().map(|issuer| self.jwt_issuer.set(issuer, FROM)),
                "jwt_audience" => some_text().map(|audience| self.jwt_audience.set(audience, FROM)),
                "allowed_origins" => list(value).map(|origins| self.allowed_origins.set(origins, FROM)),
                "allowed_hosts" => list(value).map(|hosts| self.allowed_hosts.set(hosts, FROM)),
                "allow_unauthenticated" => value.as_bool().map(|on| self.allow_unauthenticated.set(on, FROM)),
                "project" => project_of(value.as_str()).map(|project| self.project.set(Some(project), FROM)),
                _ => {
                    warnings.push(format!("config.toml: there is no setting `http.{name}`"));
                    continue;
                }
            };
            if taken.is_none() {
                warnings.push(format!("config.toml: `http.{name}` cannot have that value and is left as it was"));
            }
        }
    }

    /// Takes the variables. One that is empty counts as not set.
    pub fn take_variables(&mut self, variables: &Variables, warnings: &mut Vec<String>) {
        const FROM: Source = Source::Environment;
        let variable = |name: &str| {
            variables.get(name).map(OsStr::to_string_lossy).filter(|value| !value.is_empty()).map(String::from)
        };
        self.enabled.set_some(variable("ENABLE_HTTP").map(|value| value == "true"), FROM);
        let port = variable("PORT").or_else(|| variable("HTTP_PORT"));
        self.port.set_some(port.map(|value| port_of(&value)), FROM);
        self.host.set_some(variable("HOST").map(|value| value.trim().to_owned()), FROM);
        self.api_keys.set_some(variable("API_KEYS").map(Zeroizing::new).map(|value| secrets(split(&value))), FROM);
        self.jwt_secret.set_some(variable("JWT_SECRET").map(secret_of), FROM);
        self.jwt_issuer.set_some(variable("JWT_ISSUER").map(Some), FROM);
        self.jwt_audience.set_some(variable("JWT_AUDIENCE").map(Some), FROM);
        self.allowed_origins.set_some(variable("ALLOWED_ORIGINS").map(|value| split(&value)), FROM);
        self.allowed_hosts.set_some(variable("ALLOWED_HOSTS").map(|value| split(&value)), FROM);
        self.allow_unauthenticated.set_some(variable("ALLOW_UNAUTHENTICATED").map(|value| value == "true"), FROM);
        if let Some(value) = variable("TRELLIS_HTTP_PROJECT") {
            match project_of(Some(&value)) {
                Some(project) => self.project.set(Some(project), FROM),
                None => warnings.push(format!("TRELLIS_HTTP_PROJECT must be an absolute path, not `{value}`")),
            }
        }
    }

    /// What a person should know about settings that are used although they are weak.
    pub fn weaknesses(&self) -> Option<String> {
        let secret = self.jwt_secret.value.as_ref().filter(|_| self.enabled.value)?;
        let length = secret.reveal().len();
        (length < SECRET_BYTES).then(|| {
            format!("JWT_SECRET has {length} bytes and can be guessed: use at least {SECRET_BYTES} random ones")
        })
    }

    /// For `trellisd status --settings`.
    pub fn report(&self) -> Vec<SettingStatus> {
        let port = |port: &Result<u16, String>| match port {
            Ok(port) => port.to_string(),
            Err(said) => said.clone(),
        };
        let text_or_nothing = |text: &Option<String>| text.clone().unwrap_or_default();
        vec![
            self.enabled.report("http.enabled", bool::to_string),
            self.port.report("http.port", port),
            self.host.report("http.host", String::clone),
            self.api_keys.report("http.api_keys", |keys| format!("{} set", keys.len())),
            self.jwt_secret
                .report("http.jwt_secret", |secret| if secret.is_some() { "set" } else { "not set" }.to_owned()),
            self.jwt_issuer.report("http.jwt_issuer", text_or_nothing),
            self.jwt_audience.report("http.jwt_audience", text_or_nothing),
            self.allowed_origins.report("http.allowed_origins", |origins| origins.join(", ")),
            self.allowed_hosts.report("http.allowed_hosts", |hosts| hosts.join(", ")),
            self.allow_unauthenticated.report("http.allow_unauthenticated", bool::to_string),
            self.project
                .report("http.project", |path| path.as_ref().map_or(String::new(), |path| path.display().to_string())),
        ]
    }
}

fn port_of(text: &str) -> Result<u16, String> {
    let digits = text.trim();
    let port = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u16>().ok()).flatten();
    port.filter(|port| *port > 0).ok_or_else(|| text.to_owned())
}

fn split(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// A list of texts, or one text with commas as in the variable.
fn list(value: &toml::Value) -> Option<Vec<String>> {
    match value {
        toml::Value::String(text) => Some(split(text)),
        toml::Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(toml::Value::as_str).collect();
            Some(items?.into_iter().map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
        }
        _ => None,
    }
}

fn secrets(keys: Vec<String>) -> Vec<Secret> {
    keys.into_iter().map(Secret::new).collect()
}

fn secret_of(text: String) -> Option<Secret> {
    (!text.is_empty()).then(|| Secret::new(text))
}

fn project_of(text: Option<&str>) -> Option<PathBuf> {
    text.map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str, pairs: &[(&str, &str)]) -> (HttpSettings, Vec<String>) {
        let mut settings = HttpSettings::default();
        let mut warnings = Vec::new();
        settings.take_table(&file.parse().expect("a table"), &mut warnings);
        let variables = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        settings.take_variables(&variables, &mut warnings);
        (settings, warnings)
    }

    #[test]
    fn only_the_exact_word_turns_it_on() {
        for (word, on) in [("true", true), ("TRUE", false), ("1", false), ("yes", false), (" true", false)] {
            assert_eq!(read("", &[("ENABLE_HTTP", word)]).0.enabled.value, on, "`{word}`");
        }
        assert!(read("enabled = true", &[]).0.enabled.value);
        assert!(!read("enabled = true", &[("ENABLE_HTTP", "false")]).0.enabled.value);
    }

    #[test]
    fn a_port_that_is_none_is_not_replaced_by_another() {
        for said in ["0", "65536", "-1", "+80", "http", "40 01"] {
            assert_eq!(read("", &[("PORT", said)]).0.port.value, Err(said.to_owned()));
        }
        assert_eq!(read("port = 70000", &[]).0.port.value, Err("70000".to_owned()));
        assert_eq!(read("", &[("HTTP_PORT", "8080")]).0.port.value, Ok(8080));
        assert_eq!(read("", &[("HTTP_PORT", "8080"), ("PORT", "9090")]).0.port.value, Ok(9090));
        assert_eq!(read("", &[("HTTP_PORT", "8080"), ("PORT", "x")]).0.port.value, Err("x".to_owned()));
        assert_eq!(read("", &[]).0.port.value, Ok(4001));
    }

    #[test]
    fn an_empty_item_is_no_key() {
        let keys = |list| read("", &[("API_KEYS", list)]).0.api_keys.value;
        assert_eq!(keys(" a , ,b,,"), [Secret::new("a".into()), Secret::new("b".into())]);
        assert!(keys(",").is_empty() && keys(" ").is_empty());
        assert_eq!(read("jwt_secret = \"\"", &[]).0.jwt_secret.value, None);
    }

    #[test]
    fn secrets_are_never_shown() {
        let (settings, _) =
            read("", &[("API_KEYS", "hush-key"), ("JWT_SECRET", "hush-secret"), ("ENABLE_HTTP", "true")]);
        let shown = format!("{settings:?} {:?} {:?}", settings.report(), settings.weaknesses());
        assert!(!shown.contains("hush"), "{shown}");
        assert!(settings.weaknesses().is_some_and(|warning| warning.contains("11 bytes")));
    }

    #[test]
    fn nonsense_in_the_file_is_named() {
        let (settings, warnings) = read("enabled = \"yes\"\ncolour = 1\nproject = \"here\"", &[]);
        assert_eq!(settings, HttpSettings::default());
        assert_eq!(warnings.len(), 3, "{warnings:?}");
    }
}
