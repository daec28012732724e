//! Settings → a listening socket, or the reason why there is none.
//!
//! A gateway that cannot start as it was asked to does not start: no other port, no other address, and
//! never an open door to other machines. The daemon serves on without it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use crate::config::http::HttpSettings;
use crate::engine::GatewayState;

/// Opens the socket that the settings ask for. `keys_made`: keys exist besides those in the settings.
pub fn open(settings: &HttpSettings, keys_made: bool) -> (GatewayState, Option<(SocketAddr, TcpListener)>) {
    if !settings.enabled.value {
        return (GatewayState::Off, None);
    }
    match address(settings, keys_made).and_then(bind) {
        Ok((address, listener)) => (GatewayState::On(address), Some((address, listener))),
        Err(why) => (GatewayState::Failed(why), None),
    }
}

fn address(settings: &HttpSettings, keys_made: bool) -> Result<SocketAddr, String> {
    let port = settings.port.value.clone();
    let port = port.map_err(|said| format!("the port `{said}` is not a number from 1 to 65535; set PORT"))?;
    let host = settings.host.value.as_str();
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let address = if host.eq_ignore_ascii_case("localhost") {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    } else {
        bare.parse().map_err(|_| format!("the host `{host}` is not an address; set HOST to one, such as 127.0.0.1"))?
    };
    let has_credentials = keys_made || !settings.api_keys.value.is_empty() || settings.jwt_secret.value.is_some();
    if !address.is_loopback() && !has_credentials {
        return Err(format!(
            "the host `{host}` can be reached by other machines, and no credentials are set; set API_KEYS or \
             JWT_SECRET, or make a key with `trellisd http key new`"
        ));
    }
    Ok(SocketAddr::new(address, port))
}

fn bind(address: SocketAddr) -> Result<(SocketAddr, TcpListener), String> {
    let bound = TcpListener::bind(address);
    let listener = bound.and_then(|listener| listener.set_nonblocking(true).map(|()| (address, listener)));
    listener.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            format!("port {} is in use by another program; set PORT to a free one", address.port())
        }
        _ => format!("cannot listen at {address}: {error}"),
    })
}

/// What a session is told that asks for a gateway of a daemon that already runs: only the daemon's own
/// settings count.
pub fn late_settings_notice<'a>(state: &GatewayState, variable: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    if variable("ENABLE_HTTP") != Some("true") {
        return None;
    }
    const HOW: &str = "run `trellisd stop`, and the next host starts a daemon with this one's settings, or put them \
                       under [http] in config.toml";
    match state {
        GatewayState::Off => Some(format!("the daemon already runs without the HTTP gateway; {HOW}")),
        GatewayState::Failed(why) => Some(format!("the HTTP gateway is not running: {why}")),
        GatewayState::On(address) => {
            let port = variable("PORT").or_else(|| variable("HTTP_PORT"));
            let moved = port.is_some_and(|port| port.trim() != address.port().to_string());
            moved.then(|| format!("the HTTP gateway already listens at http://{address}; {HOW}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> HttpSettings {
        let mut settings = HttpSettings::default();
        let variables = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        settings.take_variables(&variables, &mut Vec::new());
        settings
    }

    fn check(pairs: &[(&str, &str)], keys_made: bool, expected: Result<&str, &str>) {
        match (address(&settings(pairs), keys_made), expected) {
            (Ok(address), Ok(expected)) => assert_eq!(address.to_string(), expected),
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn only_loopback_needs_no_credentials() {
        check(&[], false, Ok("127.0.0.1:4001"));
        check(&[("HOST", "localhost"), ("PORT", "80")], false, Ok("127.0.0.1:80"));
        check(&[("HOST", "::1")], false, Ok("[::1]:4001"));
        check(&[("HOST", "[::1]")], false, Ok("[::1]:4001"));
        check(&[("HOST", "0.0.0.0")], false, Err("no credentials"));
        check(&[("HOST", "0.0.0.0"), ("ALLOW_UNAUTHENTICATED", "true")], false, Err("no credentials"));
        check(&[("HOST", "0.0.0.0"), ("API_KEYS", " , ")], false, Err("no credentials"));
        check(&[("HOST", "0.0.0.0"), ("API_KEYS", "k")], false, Ok("0.0.0.0:4001"));
        check(&[("HOST", "::"), ("JWT_SECRET", "s")], false, Ok("[::]:4001"));
        check(&[("HOST", "0.0.0.0")], true, Ok("0.0.0.0:4001"));
        check(&[("HOST", "example.org")], true, Err("not an address"));
        check(&[("PORT", "0")], false, Err("`0` is not a number from 1 to 65535"));
    }

    #[test]
    fn a_session_hears_that_its_switches_came_too_late() {
        let on = GatewayState::On("127.0.0.1:4001".parse().expect("an address"));
        let told = |state: &GatewayState, pairs: &[(&str, &'static str)]| {
            late_settings_notice(state, |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
        };
        assert_eq!(told(&GatewayState::Off, &[("ENABLE_HTTP", "1")]), None);
        assert_eq!(told(&on, &[("ENABLE_HTTP", "true")]), None);
        assert_eq!(told(&on, &[("ENABLE_HTTP", "true"), ("PORT", "4001")]), None);
        assert!(told(&on, &[("ENABLE_HTTP", "true"), ("HTTP_PORT", "80")]).is_some());
        assert!(told(&GatewayState::Off, &[("ENABLE_HTTP", "true")]).is_some());
        let failed = GatewayState::Failed("port 1 is in use".into());
        assert!(told(&failed, &[("ENABLE_HTTP", "true")]).is_some_and(|line| line.contains("port 1 is in use")));
    }
}
