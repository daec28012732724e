//! English: plain words, several words, phrases, operators, names of code, titles and file names.

use super::expectations::Expected::{First, FirstAt, Found, NotFound, Order, Top3, Total};
use super::expectations::{Expectation, check};

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

const WORDS: &[Expectation] = &[
    // One mention each, in the steps of a finished task (2.0 × 0.6) and in a scratch note (0.5).
    Expectation::all("jitter", &[First(RETRY), Total(2)]),
    Expectation::all("JITTER", &[First(RETRY), Total(2)]),
    Expectation::all("forklifts", &[FirstAt("harbor/plans/execution-plan.md", "## Risks"), Total(1)]),
    Expectation::all("regions", &[FirstAt("harbor/status.md", "## Current Status")]),
    // The status page says so under Current Status (3.0 × 2.5), the pending task in its title (2.0 × 1.2).
    Expectation::all("queue drain", &[First("harbor/status.md"), Top3(DRAIN)]),
    Expectation::all("deadline drain", &[FirstAt("harbor/status.md", "## Next Steps"), Top3(DRAIN)]),
    Expectation::all("legal department", &[Top3("harbor/status.md"), Top3("harbor/tasks/005-audit-log.md"), Total(2)]),
    Expectation::all("undelivered messages", &[First("harbor/plans/decision-storage.md")]),
    // Both words, not side by side, in a session and in a scratch note too.
    Expectation::all("token bucket", &[First(LIMITS), Found("harbor/sessions/2025-03-11.md"), Found(IDEAS), Total(3)]),
    Expectation::all("collisions", &[First("atlas/status.md"), Found("atlas/tasks/002-label-collisions.md")]),
    Expectation::all("mercator", &[First(SEAMS), Found(PROJECTIONS), Total(2)]),
    Expectation::all("teacher printable", &[FirstAt("atlas/plans/execution-plan.md", "## Overview")]),
    // Who owns a task is said above the text, and is not part of it.
    Expectation::all("ines", &[NotFound(RENEWAL)]),
    // A letter alone is a word, but not every word with that letter.
    Expectation::project("atlas", "R", &[First("atlas/scratch/names.md"), Total(1)]),
    // The words of a question: those that are nowhere together still lead to where most of them are.
    Expectation::all("why did the probe only look at the listener, zoologically", &[Top3(OUTAGE), Top3(PROBE)]),
    Expectation::all("walrus forklifts", &[First("harbor/plans/execution-plan.md"), Total(1)]),
    Expectation::all(
        "walrus plotter margins",
        &[
            First("atlas/sessions/2025-02-10.md"),
            Found("atlas/scratch/run-book.md"),
            Found("atlas/scratch/running-notes.md"),
        ],
    ),
    // Two of three words in a reference against one in a blocked task.
    Expectation::all("walrus mercator greenland", &[First(PROJECTIONS), Found(SEAMS), Total(2)]),
];

const OPERATORS: &[Expectation] = &[
    Expectation::all("\"token bucket\"", &[First(LIMITS), Total(1)]),
    Expectation::all(
        "\"graceful shutdown\"",
        &[Top3(SHUTDOWN), Found(DRAIN), NotFound("harbor/sessions/2025-03-04.md"), NotFound(IDEAS)],
    ),
    Expectation::all("graceful shutdown", &[Found(SHUTDOWN), Found("harbor/sessions/2025-03-04.md"), Found(IDEAS)]),
    Expectation::all("\"sign of life\"", &[First(POOL), Total(3)]),
    Expectation::all("\"life of sign\"", &[Total(0)]),
    // Alone and unbalanced: a quote is nothing.
    Expectation::all("\"sign of life", &[First(POOL)]),
    Expectation::all("certif*", &[Top3(RENEWAL), Top3("harbor/status.md"), Found("harbor/tasks/005-audit-log.md")]),
    Expectation::all("\"exponential back*", &[First(RETRY)]),
    Expectation::all("jitter OR mercator", &[Found(RETRY), Found(SEAMS), Found(PROJECTIONS), Total(4)]),
    Expectation::all("jitter or mercator", &[Found(RETRY), Found(SEAMS)]),
    // The chunks that say `synthetic` are left out, the others of the same document stay.
    Expectation::all("probe -synthetic", &[First(PROBE), Found(OUTAGE), NotFound(RELEASE_2)]),
    Expectation::all("probe NOT synthetic", &[First(PROBE), Found(OUTAGE), NotFound(RELEASE_2)]),
    Expectation::all("probe synthetic", &[Found(PROBE), Found(RELEASE_2), NotFound(OUTAGE)]),
    // Nothing remains to exclude from.
    Expectation::all("-synthetic", &[Found(RELEASE_2)]),
    Expectation::all("probe -\"synthetic delivery\"", &[Found(OUTAGE), NotFound(RELEASE_2)]),
    Expectation::all("ｊｉｔｔｅｒ", &[First(RETRY), Total(2)]),
    Expectation::all("(jitter)", &[First(RETRY), Total(2)]),
    Expectation::all("jitter AND backoff", &[First(RETRY)]),
    Expectation::all("[jitter] ^backoff\\", &[First(RETRY), Total(2)]),
];

const NAMES: &[Expectation] = &[
    Expectation::all("retry-policy", &[First(RETRY), NotFound(GLOSSARY)]),
    Expectation::all("retry policy", &[First(RETRY), Found(GLOSSARY)]),
    Expectation::all("\"retry policy\"", &[First(RETRY), NotFound(GLOSSARY)]),
    Expectation::all("retrypolicy", &[First(RETRY)]),
    // A decision in a plan (1.8 × 2.0) against a list of codes (0.8).
    Expectation::all("E_TIMEOUT_17", &[FirstAt(TIMEOUTS, "## Decisions"), Found(CODES), Total(2)]),
    Expectation::all("e_timeout_17", &[First(TIMEOUTS), Total(2)]),
    Expectation::all("timeout_17", &[First(TIMEOUTS), Total(2)]),
    Expectation::all("etimeout17", &[First(TIMEOUTS), Total(2)]),
    Expectation::all("E_TIMEOUT_23", &[FirstAt(CODES, "## Timeouts"), Total(1)]),
    // The front matter says in progress (2.0 × 2.0), whatever the status line says.
    Expectation::all("E_HEADER_SIZE_3", &[First("harbor/tasks/009-header-limits.md"), Found(CODES), Total(2)]),
    Expectation::all("lib/a/b.rs", &[FirstAt(TILES, "## Context"), Found(SOURCES), Total(2)]),
    Expectation::all("cache.rs", &[FirstAt(TILES, "## Context"), Found(SOURCES), Total(2)]),
    Expectation::all(
        "parseTileIndex",
        &[FirstAt(TILES, "## Steps"), Found(SOURCES), Found("atlas/changelog/2025-01-20-tiles.md")],
    ),
    Expectation::all("parsetileindex", &[FirstAt(TILES, "## Steps"), Total(3)]),
    Expectation::all("x-budget-ms", &[FirstAt("harbor/references/http-headers.md", "## Budget"), Total(1)]),
    // Words that stand in the name of the file only, in the title only, in a heading only.
    Expectation::all("kestrel", &[First("harbor/scratch/kestrel.md"), Total(1)]),
    Expectation::all("survey spreadsheets", &[First("atlas/reports/survey-of-formats.md"), Total(1)]),
    Expectation::all("mercator seams", &[FirstAt(SEAMS, "## Steps"), Total(1)]),
    Expectation::all("hachures", &[FirstAt(STYLES, "## Hachures"), Total(1)]),
    Expectation::all("kerning", &[FirstAt(STYLES, "## Kerning"), Total(1)]),
];

const STEMS_AND_PLACES: &[Expectation] = &[
    Expectation::inside(
        "atlas",
        "scratch",
        "running",
        &[Order(&["atlas/scratch/running-notes.md", "atlas/scratch/run-book.md"])],
    ),
    Expectation::inside(
        "atlas",
        "scratch",
        "run",
        &[Order(&["atlas/scratch/run-book.md", "atlas/scratch/running-notes.md"])],
    ),
    Expectation::inside(
        "harbor",
        "sessions",
        "pool",
        &[Top3(OUTAGE), Top3("harbor/sessions/2025-03-04.md"), NotFound(POOL)],
    ),
    Expectation::folder(
        "plans",
        "overview",
        &[Found("harbor/plans/execution-plan.md"), Found("atlas/plans/execution-plan.md")],
    ),
    Expectation::project(
        "atlas",
        "execution plan",
        &[First("atlas/plans/execution-plan.md"), NotFound("harbor/plans/execution-plan.md")],
    ),
    Expectation::project("ledger", "jitter", &[Total(0)]),
    Expectation::inside("harbor", "assets", "topology", &[First("harbor/assets/diagrams/topology.md")]),
    Expectation::folder("references", "timeouts", &[FirstAt(CODES, "## Timeouts"), NotFound(TIMEOUTS)]),
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
