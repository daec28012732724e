//! English: plain words, several words, phrases, operators, names of code, titles and file names.

use super::ask::Want::{First, FirstAt, Found, NotFound, Order, Top3, Total};
use super::ask::{Ask, check};

const RETRY: &str = "harbor/tasks/001-retry-policy.md";
const POOL: &str = "harbor/tasks/002-connection-pool.md";
const LIMITS: &str = "harbor/tasks/003-rate-limits.md";
const SHUTDOWN: &str = "harbor/tasks/004-graceful-shutdown.md";
const RENEWAL: &str = "harbor/tasks/006-tls-renewal.md";
const DRAIN: &str = "harbor/tasks/007-queue-drain.md";
const PROBE: &str = "harbor/tasks/008-health-probe.md";
const TIMEOUTS: &str = "harbor/plans/decision-timeouts.md";
const OUTAGE: &str = "harbor/sessions/2025-03-05-incident.md";
const RELEASE_2: &str = "harbor/changelog/002-pool-and-probe.md";
const CODES: &str = "harbor/references/error-codes.md";
const GLOSSARY: &str = "harbor/references/glossary.md";
const IDEAS: &str = "harbor/scratch/ideas.md";
const TILES: &str = "atlas/tasks/001-tile-cache.md";
const SEAMS: &str = "atlas/tasks/005-projection-seams.md";
const SOURCES: &str = "atlas/references/source-map.md";
const STYLES: &str = "atlas/references/style-rules.md";
const PROJECTIONS: &str = "atlas/references/projections.md";

const WORDS: &[Ask] = &[
    // One mention each, in the steps of a finished task (2.0 × 0.6) and in a scratch note (0.5).
    Ask::all("jitter", &[First(RETRY), Total(2)]),
    Ask::all("JITTER", &[First(RETRY), Total(2)]),
    Ask::all("forklifts", &[FirstAt("harbor/plans/execution-plan.md", "## Risks"), Total(1)]),
    Ask::all("regions", &[FirstAt("harbor/status.md", "## Current Status")]),
    // The status page says so under Current Status (3.0 × 2.5), the pending task in its title (2.0 × 1.2).
    Ask::all("queue drain", &[First("harbor/status.md"), Top3(DRAIN)]),
    Ask::all("deadline drain", &[FirstAt("harbor/status.md", "## Next Steps"), Top3(DRAIN)]),
    Ask::all("legal department", &[Top3("harbor/status.md"), Top3("harbor/tasks/005-audit-log.md"), Total(2)]),
    Ask::all("undelivered messages", &[First("harbor/plans/decision-storage.md")]),
    // Both words, not side by side, in a session and in a scratch note too.
    Ask::all("token bucket", &[First(LIMITS), Found("harbor/sessions/2025-03-11.md"), Found(IDEAS), Total(3)]),
    Ask::all("collisions", &[First("atlas/status.md"), Found("atlas/tasks/002-label-collisions.md")]),
    Ask::all("mercator", &[First(SEAMS), Found(PROJECTIONS), Total(2)]),
    Ask::all("teacher printable", &[FirstAt("atlas/plans/execution-plan.md", "## Overview")]),
    // Who owns a task is said above the text, and is not part of it.
    Ask::all("ines", &[NotFound(RENEWAL)]),
    // A letter alone is a word, but not every word with that letter.
    Ask::project("atlas", "R", &[First("atlas/scratch/names.md"), Total(1)]),
    // The words of a question: those that are nowhere together still lead to where most of them are.
    Ask::all("why did the probe only look at the listener, zoologically", &[Top3(OUTAGE), Top3(PROBE)]),
    Ask::all("walrus forklifts", &[First("harbor/plans/execution-plan.md"), Total(1)]),
    Ask::all(
        "walrus plotter margins",
        &[
            First("atlas/sessions/2025-02-10.md"),
            Found("atlas/scratch/run-book.md"),
            Found("atlas/scratch/running-notes.md"),
        ],
    ),
    // Two of three words in a reference against one in a blocked task.
    Ask::all("walrus mercator greenland", &[First(PROJECTIONS), Found(SEAMS), Total(2)]),
];

const OPERATORS: &[Ask] = &[
    Ask::all("\"token bucket\"", &[First(LIMITS), Total(1)]),
    Ask::all(
        "\"graceful shutdown\"",
        &[Top3(SHUTDOWN), Found(DRAIN), NotFound("harbor/sessions/2025-03-04.md"), NotFound(IDEAS)],
    ),
    Ask::all("graceful shutdown", &[Found(SHUTDOWN), Found("harbor/sessions/2025-03-04.md"), Found(IDEAS)]),
    Ask::all("\"sign of life\"", &[First(POOL), Total(3)]),
    Ask::all("\"life of sign\"", &[Total(0)]),
    // Alone and unbalanced: a quote is nothing.
    Ask::all("\"sign of life", &[First(POOL)]),
    Ask::all("certif*", &[Top3(RENEWAL), Top3("harbor/status.md"), Found("harbor/tasks/005-audit-log.md")]),
    Ask::all("\"exponential back*", &[First(RETRY)]),
    Ask::all("jitter OR mercator", &[Found(RETRY), Found(SEAMS), Found(PROJECTIONS), Total(4)]),
    Ask::all("jitter or mercator", &[Found(RETRY), Found(SEAMS)]),
    // The chunks that say `synthetic` are left out, the others of the same document stay.
    Ask::all("probe -synthetic", &[First(PROBE), Found(OUTAGE), NotFound(RELEASE_2)]),
    Ask::all("probe NOT synthetic", &[First(PROBE), Found(OUTAGE), NotFound(RELEASE_2)]),
    Ask::all("probe synthetic", &[Found(PROBE), Found(RELEASE_2), NotFound(OUTAGE)]),
    // Nothing remains to exclude from.
    Ask::all("-synthetic", &[Found(RELEASE_2)]),
    Ask::all("probe -\"synthetic delivery\"", &[Found(OUTAGE), NotFound(RELEASE_2)]),
    Ask::all("ｊｉｔｔｅｒ", &[First(RETRY), Total(2)]),
    Ask::all("(jitter)", &[First(RETRY), Total(2)]),
    Ask::all("jitter AND backoff", &[First(RETRY)]),
    Ask::all("[jitter] ^backoff\\", &[First(RETRY), Total(2)]),
];

const NAMES: &[Ask] = &[
    Ask::all("retry-policy", &[First(RETRY), NotFound(GLOSSARY)]),
    Ask::all("retry policy", &[First(RETRY), Found(GLOSSARY)]),
    Ask::all("\"retry policy\"", &[First(RETRY), NotFound(GLOSSARY)]),
    Ask::all("retrypolicy", &[First(RETRY)]),
    // A decision in a plan (1.8 × 2.0) against a list of codes (0.8).
    Ask::all("E_TIMEOUT_17", &[FirstAt(TIMEOUTS, "## Decisions"), Found(CODES), Total(2)]),
    Ask::all("e_timeout_17", &[First(TIMEOUTS), Total(2)]),
    Ask::all("timeout_17", &[First(TIMEOUTS), Total(2)]),
    Ask::all("etimeout17", &[First(TIMEOUTS), Total(2)]),
    Ask::all("E_TIMEOUT_23", &[FirstAt(CODES, "## Timeouts"), Total(1)]),
    // The front matter says in progress (2.0 × 2.0), whatever the status line says.
    Ask::all("E_HEADER_SIZE_3", &[First("harbor/tasks/009-header-limits.md"), Found(CODES), Total(2)]),
    Ask::all("lib/a/b.rs", &[FirstAt(TILES, "## Context"), Found(SOURCES), Total(2)]),
    Ask::all("cache.rs", &[FirstAt(TILES, "## Context"), Found(SOURCES), Total(2)]),
    Ask::all(
        "parseTileIndex",
        &[FirstAt(TILES, "## Steps"), Found(SOURCES), Found("atlas/changelog/2025-01-20-tiles.md")],
    ),
    Ask::all("parsetileindex", &[FirstAt(TILES, "## Steps"), Total(3)]),
    Ask::all("x-budget-ms", &[FirstAt("harbor/references/http-headers.md", "## Budget"), Total(1)]),
    // Words that stand in the name of the file only, in the title only, in a heading only.
    Ask::all("kestrel", &[First("harbor/scratch/kestrel.md"), Total(1)]),
    Ask::all("survey spreadsheets", &[First("atlas/reports/survey-of-formats.md"), Total(1)]),
    Ask::all("mercator seams", &[FirstAt(SEAMS, "## Steps"), Total(1)]),
    Ask::all("hachures", &[FirstAt(STYLES, "## Hachures"), Total(1)]),
    Ask::all("kerning", &[FirstAt(STYLES, "## Kerning"), Total(1)]),
];

const STEMS_AND_PLACES: &[Ask] = &[
    Ask::inside(
        "atlas",
        "scratch",
        "running",
        &[Order(&["atlas/scratch/running-notes.md", "atlas/scratch/run-book.md"])],
    ),
    Ask::inside("atlas", "scratch", "run", &[Order(&["atlas/scratch/run-book.md", "atlas/scratch/running-notes.md"])]),
    Ask::inside("harbor", "sessions", "pool", &[Top3(OUTAGE), Top3("harbor/sessions/2025-03-04.md"), NotFound(POOL)]),
    Ask::folder(
        "plans",
        "overview",
        &[Found("harbor/plans/execution-plan.md"), Found("atlas/plans/execution-plan.md")],
    ),
    Ask::project(
        "atlas",
        "execution plan",
        &[First("atlas/plans/execution-plan.md"), NotFound("harbor/plans/execution-plan.md")],
    ),
    Ask::project("ledger", "jitter", &[Total(0)]),
    Ask::inside("harbor", "assets", "topology", &[First("harbor/assets/diagrams/topology.md")]),
    Ask::folder("references", "timeouts", &[FirstAt(CODES, "## Timeouts"), NotFound(TIMEOUTS)]),
];

#[test]
fn words_lead_to_their_documents() {
    check(WORDS);
}

#[test]
fn operators_do_what_they_say() {
    check(OPERATORS);
}

#[test]
fn names_of_code_and_files_are_found_whole_and_in_parts() {
    check(NAMES);
}

#[test]
fn related_forms_come_after_the_word_itself_and_filters_hold() {
    check(STEMS_AND_PLACES);
}
