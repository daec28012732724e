//! Carries out what a tool needs to find.

use super::entry::day_of;
use super::search::Viewer;
use crate::clock::Now;
use crate::disk::Eyes;
use crate::families::facts::{Compared, Hits, NoAnswer, Reindex, SearchFor};
use crate::families::need::Look;

impl Look for SearchFor {
    type Seen = Result<Hits, NoAnswer>;
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        let root = self.place.tree(eyes).map_err(NoAnswer::Unseen)?;
        eyes.may_look_in(&root).map_err(NoAnswer::Unseen)?;
        let now = Now::read(&eyes.session.zone.0);
        let today = day_of(now.at.to_zoned(now.zone).date());
        let index = eyes.index.ok_or_else(nobody_searches)?;
        let (tree, rebuilding) = match eyes.glance {
            Some(glance) => match index.known(self.family, &root) {
                Some(tree) => (Some(tree), None),
                None => return Err(NoAnswer::Unseen(glance.refuse())),
            },
            None => index.wait_for(self.family, &root)?,
        };
        let Some(tree) = tree else { return Ok(Hits { rebuilding, ..Hits::default() }) };
        let hits = index.keeper().search(&self, Viewer { tree, root: &root, today }, eyes.glance)?;
        Ok(Hits { rebuilding, ..hits })
    }
}

impl Look for Reindex {
    type Seen = Result<Compared, NoAnswer>;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        let root = self.place.tree(eyes).map_err(NoAnswer::Unseen)?;
        eyes.roots.open(&root).map_err(NoAnswer::Unseen)?;
        let index = eyes.index.ok_or_else(nobody_searches)?;
        match index.wait_for(self.family, &root)? {
            (Some(tree), None) => index.keeper().reindex(&self, tree, eyes.reporter),
            _ => Err(NoAnswer::Index("it is still being built: try again in a moment".to_owned())),
        }
    }
}

fn nobody_searches() -> NoAnswer {
    NoAnswer::Index("there is none here".to_owned())
}
