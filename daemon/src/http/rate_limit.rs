//! How many wrong credentials come from where: peers and moments in, how long to wait out.
//!
//! It slows down guessing, and is asked about wrong credentials only: whoever has the right ones never waits.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Wrong credentials that a peer may send in one interval.
const MAX_WRONG: u32 = 20;
const INTERVAL: Duration = Duration::from_secs(60);
/// Peers that are remembered; for another one the longest remembered is forgotten.
const MAX_PEERS: usize = 1024;

/// The wrong credentials of all peers.
#[derive(Debug, Default)]
pub struct WrongCredentialLimit {
    peers: Mutex<HashMap<IpAddr, Attempts>>,
}

/// Of one peer, since the first one of its interval.
#[derive(Debug, Clone, Copy)]
struct Attempts {
    since: Instant,
    count: u32,
}

impl WrongCredentialLimit {
    /// Counts wrong credentials of a peer. If there were too many: for how long it should not try again.
    pub fn count(&self, peer: IpAddr, now: Instant) -> Option<Duration> {
        let peer = network(peer);
        let mut peers = self.peers.lock();
        if peers.len() >= MAX_PEERS && !peers.contains_key(&peer) {
            let oldest = peers.iter().min_by_key(|(_, attempts)| attempts.since).map(|(peer, _)| *peer);
            oldest.and_then(|oldest| peers.remove(&oldest));
        }
        let attempts = peers.entry(peer).or_insert(Attempts { since: now, count: 0 });
        if now.duration_since(attempts.since) >= INTERVAL {
            *attempts = Attempts { since: now, count: 0 };
        }
        attempts.count = attempts.count.saturating_add(1);
        (attempts.count > MAX_WRONG).then(|| INTERVAL - now.duration_since(attempts.since))
    }
}

/// What one machine can choose freely counts as one peer: the second half of an IPv6 address.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_twenty_first_in_a_minute_waits_for_its_end() {
        let limit = WrongCredentialLimit::default();
        let began = Instant::now();
        for _ in 0..20 {
            assert_eq!(limit.count(peer("192.0.2.1"), began), None);
        }
        let later = began + Duration::from_secs(45);
        assert_eq!(limit.count(peer("192.0.2.1"), later), Some(Duration::from_secs(15)));
        assert_eq!(limit.count(peer("192.0.2.2"), later), None, "another peer is another matter");
        assert_eq!(limit.count(peer("::ffff:192.0.2.1"), later), Some(Duration::from_secs(15)), "the same peer");
        assert_eq!(limit.count(peer("192.0.2.1"), began + INTERVAL), None);
    }

    #[test]
    fn addresses_of_one_network_count_together_and_few_are_remembered() {
        let limit = WrongCredentialLimit::default();
        let now = Instant::now();
        let slowed = (0..30).filter(|number| limit.count(peer(&format!("2001:db8::{number:x}")), now).is_some());
        assert_eq!(slowed.count(), 10);
        for number in 0..3 * MAX_PEERS as u32 {
            limit.count(std::net::Ipv4Addr::from_bits(number).into(), now + Duration::from_millis(number.into()));
        }
        assert_eq!(limit.peers.lock().len(), MAX_PEERS);
    }
}
