//! The connections that are open, and who has to go when there is no room for another one.
//!
//! Whoever has shown good credentials stays. The others make room, the oldest first, so that nobody can lock out a
//! client with a key by holding connections and saying nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Connections at once; further ones are told to come back if nobody makes room.
pub const MAX_CONNECTIONS: usize = 512;

/// Every connection that is open.
#[derive(Debug, Default)]
pub struct ConnectionTable {
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// How many have shown credentials.
    trusted: usize,
    /// The others, by arrival.
    strangers: BTreeMap<u64, CancellationToken>,
    arrivals: u64,
}

/// The place of one connection, free again when it is dropped.
#[derive(Debug)]
pub struct ConnectionPlace {
    table: Arc<ConnectionTable>,
    arrival: u64,
    evicted: CancellationToken,
}

impl ConnectionTable {
    /// A place for a connection, that of another one perhaps. `None`: everybody here has credentials.
    pub fn admit(self: &Arc<Self>) -> Option<ConnectionPlace> {
        let mut open = self.open.lock();
        if open.trusted + open.strangers.len() >= MAX_CONNECTIONS {
            open.strangers.pop_first()?.1.cancel();
        }
        let evicted = CancellationToken::new();
        open.arrivals += 1;
        let arrival = open.arrivals;
        open.strangers.insert(arrival, evicted.clone());
        Some(ConnectionPlace { table: Arc::clone(self), arrival, evicted })
    }
}

impl ConnectionPlace {
    /// Good credentials came through this connection: it keeps its place.
    pub fn trust(&self) {
        let mut open = self.table.open.lock();
        if open.strangers.remove(&self.arrival).is_some() {
            open.trusted += 1;
        }
    }

    /// Until somebody else has this place.
    pub async fn evicted(&self) {
        self.evicted.cancelled().await;
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut open = self.table.open.lock();
        if open.strangers.remove(&self.arrival).is_none() && !self.evicted.is_cancelled() {
            open.trusted -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(table: &Arc<ConnectionTable>) -> Vec<ConnectionPlace> {
        (0..MAX_CONNECTIONS).map(|_| table.admit().expect("a place")).collect()
    }

    #[test]
    fn the_oldest_stranger_makes_room() {
        let table = Arc::new(ConnectionTable::default());
        let places = full(&table);
        places[0].trust();
        let further = table.admit().expect("a place");
        let gone: Vec<usize> = (0..places.len()).filter(|at| places[*at].evicted.is_cancelled()).collect();
        assert_eq!(gone, [1]);
        drop(places);
        drop(further);
        let open = table.open.lock();
        assert_eq!((open.trusted, open.strangers.len()), (0, 0), "every place is free again");
    }

    #[test]
    fn those_with_credentials_stay() {
        let table = Arc::new(ConnectionTable::default());
        let mut places = full(&table);
        places.iter().for_each(ConnectionPlace::trust);
        assert!(table.admit().is_none());
        places.pop();
        let late = table.admit().expect("a place");
        assert!(table.admit().is_some() && late.evicted.is_cancelled(), "the newcomer had shown nothing");
        late.trust();
        drop(late);
        drop(places);
        assert_eq!(table.open.lock().trusted, 0, "trust that came too late is not counted");
    }
}
