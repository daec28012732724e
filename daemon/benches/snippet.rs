//! How long the snippet of one hit takes, in texts of usual length and in a long one.

use divan::Bencher;
use trellisd::index::query::Query;
use trellisd::index::snippet::Highlighter;
use trellisd::index::stems::StemCache;

const TEXTS: [(&str, &str, &str); 4] = [
    (
        "english",
        "connections retrying",
        "The proxy retries each connection once before it reports a failure. Connecting again costs a few milliseconds, \
         and every retry is counted, so that a person can see how often a daemon was away. Reconnected sessions keep their \
         numbers; requests that were sent before come again, and nobody answers them twice. Conventions about names, \
         repeated in each folder, reduce surprises for those who come later.\n",
    ),
    (
        "spanish",
        "búsqueda conexiones",
        "La búsqueda encuentra palabras con acentos o sin ellos. Después de una conexión perdida, el programa vuelve a \
         conectarse y continúa donde estaba; las sesiones conservan sus números. Cada decisión se anota con su razón, para \
         que mañana alguien más entienda por qué se eligió así y qué otras opciones había.\n",
    ),
    (
        "japanese",
        "全文検索",
        "索引は一つだけで、すべての家族が共有する。書き込んだ文書はすぐに検索できる。日本語の全文検索では、二文字の語も長い文の\
         中から見つかる。半角カナは全角に直し、濁点は残す。設定を変更した後は、サーバーを再起動しなくてもよい。\n",
    ),
    ("long", "needle", ""),
];

fn main() {
    divan::main();
}

#[divan::bench(args = TEXTS.map(|(name, ..)| name))]
fn snippet(bencher: Bencher<'_, '_>, name: &str) {
    let (_, query, text) = TEXTS.into_iter().find(|(other, ..)| *other == name).expect("a text");
    let text = match text {
        "" => format!("{} needle", TEXTS[0].2.repeat(40)),
        text => text.to_owned(),
    };
    let query = Query::read(query);
    let mut stems = StemCache::default();
    bencher.bench_local(|| Highlighter::new(&query, &mut stems).snippet(&text, None));
}
