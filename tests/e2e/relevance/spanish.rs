//! Spanish: accents that may be left out, ñ and ü, related forms, and the same operators.

use super::ask::Want::{First, FirstAt, Found, NotFound, Order, Top3, Total};
use super::ask::{Ask, check};

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

const WORDS: &[Ask] = &[
    // What blocks a blocked task: 2.0 × 1.8 × 2.5.
    Ask::all("pedal", &[FirstAt(STAGE, "## Bloqueado por"), Found(PLAN)]),
    Ask::all("enclavamiento", &[FirstAt("señales/status.md", "## Estado actual"), Total(1)]),
    Ask::all("copia cifrada", &[FirstAt("cancionero/tasks/005-copia-de-seguridad.md", "## Pasos"), Total(1)]),
    Ask::all("sociedad de autores", &[FirstAt(STATUS, "## Bloqueos")]),
    Ask::all("recogida autor", &[First(MONDAY), Total(1)]),
    // A task in progress (2.0 × 2.0) mentions it, a reference (0.8) has it as a heading.
    Ask::all("jota", &[First(FINDER), Found(GENRES), Total(2)]),
    Ask::all("coro", &[First(CHOIR), Found(MONDAY)]),
    Ask::all("imprimir", &[Top3(POLL)]),
    Ask::project("señales", "estado actual", &[FirstAt("señales/status.md", "## Estado actual")]),
    Ask::folder("tasks", "escenario", &[First(STAGE), NotFound(PLAN)]),
    Ask::all("dinosaurio habanera", &[FirstAt(GENRES, "## Habanera"), Total(1)]),
    Ask::all("¿dónde se pone la cejilla, zoólogo?", &[Top3(CHORDS)]),
    Ask::all("AV-204", &[FirstAt(FAULTS, "## Pasos"), Found(FAULT_CODES), Total(2)]),
    Ask::all("av204", &[First(FAULTS), Total(2)]),
];

const ACCENTS: &[Ask] = &[
    // Two texts that differ in nothing but one accent: the spelling that was asked for comes first.
    Ask::all("búsqueda aproximada", &[Order(&[ACCENTED, PLAIN])]),
    Ask::all("busqueda aproximada", &[Order(&[PLAIN, ACCENTED])]),
    Ask::all("BÚSQUEDA APROXIMADA", &[Order(&[ACCENTED, PLAIN])]),
    // The accent as a sign of its own.
    Ask::all("bu\u{301}squeda aproximada", &[Order(&[ACCENTED, PLAIN])]),
    Ask::folder("references", "año", &[Order(&[DATES, OLD_LIST])]),
    Ask::folder("references", "ano", &[Order(&[OLD_LIST, DATES])]),
    Ask::folder("references", "an\u{303}o", &[Order(&[DATES, OLD_LIST])]),
    Ask::all("pinguino", &[First(WHIMS), Total(1)]),
    Ask::all("pingüino", &[First(WHIMS), Total(1)]),
    Ask::all("GENEROS", &[First(GENRES)]),
    Ask::all("anso", &[First(CHOIR), Total(1)]),
    Ask::project("señales", "averias", &[First(FAULTS), Found("señales/reports/invierno.md")]),
    Ask::project("señales", "senal", &[Found(FAULT_CODES), Found("señales/sessions/2025-01-13-tunel.md")]),
    Ask::project("señales", "señal", &[Found(FAULT_CODES), Found("señales/tasks/002-aviso-por-radio.md")]),
    Ask::all("compas", &[FirstAt("cancionero/plans/decision-formato.md", "## Decisiones"), Found(GENRES)]),
    Ask::all(
        "impresion",
        &[FirstAt(STATUS, "## Estado actual"), Found(POLL), Found("cancionero/changelog/001-impresion.md")],
    ),
    Ask::all("cuándo pasa el tren", &[First(QUESTIONS), Total(1)]),
    Ask::folder("scratch", "¿Cuándo?", &[First(QUESTIONS), Total(1)]),
];

const FORMS_AND_OPERATORS: &[Ask] = &[
    Ask::folder("references", "canciones", &[Order(&[SONGS, GENRES])]),
    Ask::folder("references", "canción", &[Order(&[GENRES, SONGS])]),
    Ask::folder("references", "cancion", &[First(GENRES), Found(SONGS)]),
    Ask::folder("sessions", "canciones", &[First(MONDAY)]),
    Ask::all("bombilla dura", &[FirstAt(DIODES, "## Contexto"), Total(1)]),
    Ask::folder("plans", "diodos túneles", &[FirstAt(DIODES, "## Decisiones")]),
    Ask::all("\"letra y acordes\"", &[First(STATUS), Total(1)]),
    Ask::all("\"ano de recogida\"", &[Found(DATES), Found(MONDAY), NotFound(OLD_LIST), Total(2)]),
    Ask::all("transpo*", &[FirstAt(STATUS, "## Estado actual"), Found(CHORDS)]),
    Ask::all("estribillo OR capodastro", &[First(FINDER), Found(WHIMS), Total(2)]),
    Ask::all("cejilla -capodastro", &[First(CHORDS), Found("cancionero/scratch/cuerdas.md"), NotFound(WHIMS)]),
    Ask::all("escenario -pedal", &[First(STAGE), Found(PLAN), Total(2)]),
    Ask::all("escenario NOT pedal", &[First(STAGE), Found(PLAN), Total(2)]),
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
