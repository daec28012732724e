//! Spanish: accents that may be left out, ñ and ü, related forms, and the same operators.

use super::expectations::Expected::{First, FirstAt, Found, NotFound, Order, Top3, Total};
use super::expectations::{Expectation, check};

const STATUS: &str = "cancionero/status.md";
const CHORDS: &str = "cancionero/tasks/001-transportar-acordes.md";
const FINDER: &str = "cancionero/tasks/002-buscador.md";
const STAGE: &str = "cancionero/tasks/004-modo-escenario.md";
const PLAN: &str = "cancionero/plans/execution-plan.md";
const MONDAY: &str = "cancionero/sessions/2025-06-02.md";
const CHOIR: &str = "cancionero/sessions/2025-06-09-coro.md";
const POLL: &str = "cancionero/reports/encuesta.md";
const PLAIN: &str = "cancionero/references/entrada-a.md";
const ACCENTED: &str = "cancionero/references/entrada-b.md";
const OLD_LIST: &str = "cancionero/references/catalogo-ascii.md";
const DATES: &str = "cancionero/references/fechas.md";
const GENRES: &str = "cancionero/references/generos.md";
const SONGS: &str = "cancionero/references/repertorio.md";
const WHIMS: &str = "cancionero/scratch/ocurrencias.md";
const FAULTS: &str = "señales/tasks/001-registro-de-averias.md";
const DIODES: &str = "señales/plans/decision-diodos.md";
const FAULT_CODES: &str = "señales/references/codigos.md";
const QUESTIONS: &str = "señales/scratch/preguntas.md";

const WORDS: &[Expectation] = &[
    // What blocks a blocked task: 2.0 × 1.8 × 2.5.
    Expectation::all("pedal", &[FirstAt(STAGE, "## Bloqueado por"), Found(PLAN)]),
    Expectation::all("enclavamiento", &[FirstAt("señales/status.md", "## Estado actual"), Total(1)]),
    Expectation::all("copia cifrada", &[FirstAt("cancionero/tasks/005-copia-de-seguridad.md", "## Pasos"), Total(1)]),
    Expectation::all("sociedad de autores", &[FirstAt(STATUS, "## Bloqueos")]),
    Expectation::all("recogida autor", &[First(MONDAY), Total(1)]),
    // A task in progress (2.0 × 2.0) mentions it, a reference (0.8) has it as a heading.
    Expectation::all("jota", &[First(FINDER), Found(GENRES), Total(2)]),
    Expectation::all("coro", &[First(CHOIR), Found(MONDAY)]),
    Expectation::all("imprimir", &[Top3(POLL)]),
    Expectation::project("señales", "estado actual", &[FirstAt("señales/status.md", "## Estado actual")]),
    Expectation::folder("tasks", "escenario", &[First(STAGE), NotFound(PLAN)]),
    Expectation::all("dinosaurio habanera", &[FirstAt(GENRES, "## Habanera"), Total(1)]),
    Expectation::all("¿dónde se pone la cejilla, zoólogo?", &[Top3(CHORDS)]),
    Expectation::all("AV-204", &[FirstAt(FAULTS, "## Pasos"), Found(FAULT_CODES), Total(2)]),
    Expectation::all("av204", &[First(FAULTS), Total(2)]),
];

const ACCENTS: &[Expectation] = &[
    // Two texts that differ in nothing but one accent: the spelling that was asked for comes first.
    Expectation::all("búsqueda aproximada", &[Order(&[ACCENTED, PLAIN])]),
    Expectation::all("busqueda aproximada", &[Order(&[PLAIN, ACCENTED])]),
    Expectation::all("BÚSQUEDA APROXIMADA", &[Order(&[ACCENTED, PLAIN])]),
    // The accent as a sign of its own.
    Expectation::all("bu\u{301}squeda aproximada", &[Order(&[ACCENTED, PLAIN])]),
    Expectation::folder("references", "año", &[Order(&[DATES, OLD_LIST])]),
    Expectation::folder("references", "ano", &[Order(&[OLD_LIST, DATES])]),
    Expectation::folder("references", "an\u{303}o", &[Order(&[DATES, OLD_LIST])]),
    Expectation::all("pinguino", &[First(WHIMS), Total(1)]),
    Expectation::all("pingüino", &[First(WHIMS), Total(1)]),
    Expectation::all("GENEROS", &[First(GENRES)]),
    Expectation::all("anso", &[First(CHOIR), Total(1)]),
    Expectation::project("señales", "averias", &[First(FAULTS), Found("señales/reports/invierno.md")]),
    Expectation::project("señales", "senal", &[Found(FAULT_CODES), Found("señales/sessions/2025-01-13-tunel.md")]),
    Expectation::project("señales", "señal", &[Found(FAULT_CODES), Found("señales/tasks/002-aviso-por-radio.md")]),
    Expectation::all("compas", &[FirstAt("cancionero/plans/decision-formato.md", "## Decisiones"), Found(GENRES)]),
    Expectation::all(
        "impresion",
        &[FirstAt(STATUS, "## Estado actual"), Found(POLL), Found("cancionero/changelog/001-impresion.md")],
    ),
    Expectation::all("cuándo pasa el tren", &[First(QUESTIONS), Total(1)]),
    Expectation::folder("scratch", "¿Cuándo?", &[First(QUESTIONS), Total(1)]),
];

const FORMS_AND_OPERATORS: &[Expectation] = &[
    Expectation::folder("references", "canciones", &[Order(&[SONGS, GENRES])]),
    Expectation::folder("references", "canción", &[Order(&[GENRES, SONGS])]),
    Expectation::folder("references", "cancion", &[First(GENRES), Found(SONGS)]),
    Expectation::folder("sessions", "canciones", &[First(MONDAY)]),
    Expectation::all("bombilla dura", &[FirstAt(DIODES, "## Contexto"), Total(1)]),
    Expectation::folder("plans", "diodos túneles", &[FirstAt(DIODES, "## Decisiones")]),
    Expectation::all("\"letra y acordes\"", &[First(STATUS), Total(1)]),
    Expectation::all("\"ano de recogida\"", &[Found(DATES), Found(MONDAY), NotFound(OLD_LIST), Total(2)]),
    Expectation::all("transpo*", &[FirstAt(STATUS, "## Estado actual"), Found(CHORDS)]),
    Expectation::all("estribillo OR capodastro", &[First(FINDER), Found(WHIMS), Total(2)]),
    Expectation::all("cejilla -capodastro", &[First(CHORDS), Found("cancionero/scratch/cuerdas.md"), NotFound(WHIMS)]),
    Expectation::all("escenario -pedal", &[First(STAGE), Found(PLAN), Total(2)]),
    Expectation::all("escenario NOT pedal", &[First(STAGE), Found(PLAN), Total(2)]),
];

#[test]
fn words_lead_to_their_documents() {
    check(WORDS);
}

#[test]
fn accents_may_be_left_out_but_count() {
    check(ACCENTS);
}

#[test]
fn related_forms_and_operators() {
    check(FORMS_AND_OPERATORS);
}
