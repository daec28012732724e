//! Japanese: words inside runs without blanks, kana in both widths and with their marks, single signs, names of code
//! between kana.

use super::expectations::Expected::{First, FirstAt, Found, NotFound, Top3, Total};
use super::expectations::{Expectation, check};

const STATUS: &str = "図書館/status.md";
const LENDING: &str = "図書館/tasks/001-貸出登録.md";
const SETTINGS: &str = "図書館/tasks/002-設定画面を直す.md";
const REMINDERS: &str = "図書館/tasks/003-延滞の督促.md";
const SEATS: &str = "図書館/tasks/004-座席予約.md";
const CATALOGUE: &str = "図書館/tasks/005-蔵書検索.md";
const PLAN: &str = "図書館/plans/execution-plan.md";
const NOTICES: &str = "図書館/plans/decision-通知.md";
const MAY: &str = "図書館/sessions/2025-05-12.md";
const BRANCH: &str = "図書館/sessions/2025-05-19-分館.md";
const BUYING: &str = "図書館/reports/選書会議.md";
const ERRORS: &str = "図書館/references/エラー一覧.md";
const NEARBY: &str = "図書館/references/近隣の図書館.md";
const TRAVEL: &str = "図書館/references/旅の資料.md";
const DEVICES: &str = "図書館/references/機器.md";
const CHILDREN: &str = "図書館/references/児童書.md";
const HISTORY: &str = "図書館/references/歴史.md";
const COOKING: &str = "図書館/scratch/料理の本.md";
const IDEAS: &str = "図書館/scratch/思いつき.md";
const FROST: &str = "tenki/tasks/001-霜の警報.md";
const RADAR: &str = "tenki/tasks/002-雨雲レーダー.md";
const MARCH: &str = "tenki/sessions/2025-03-02.md";
const VILLAGE: &str = "tenki/sessions/2025-03-09-村の集まり.md";
const TERMS: &str = "tenki/references/用語.md";
const SOUNDS: &str = "tenki/scratch/音.md";

const RUNS: &[Expectation] = &[
    Expectation::all("設定", &[First(SETTINGS)]),
    Expectation::all("設定画面", &[First(SETTINGS)]),
    Expectation::all("画面", &[First(SETTINGS), Found(DEVICES)]),
    Expectation::all("初期設定値", &[FirstAt(SETTINGS, "## 目的"), Total(1)]),
    Expectation::all("参政権", &[FirstAt(BUYING, "## 購入"), Total(1)]),
    Expectation::all("外国人参政権", &[FirstAt(BUYING, "## 購入"), Total(1)]),
    Expectation::inside("図書館", "scratch", "人参", &[First(COOKING), Total(1)]),
    // 東京と京都 has both pairs of 東京都, but never side by side.
    Expectation::all("東京都", &[FirstAt(NEARBY, "## 都内"), NotFound(TRAVEL), Total(1)]),
    Expectation::all("京都", &[Found(TRAVEL)]),
    Expectation::all("北海道", &[First(TRAVEL), Total(1)]),
    Expectation::all("検索", &[First(CATALOGUE)]),
    Expectation::all("相互貸借", &[First(PLAN), Found(NEARBY), Total(2)]),
    Expectation::all("回線工事", &[First(STATUS), Total(2)]),
    // What is planned next on the status page (3.0 × 2.5), and what a pending task is for (2.0 × 1.2 × 1.5).
    Expectation::all("返却期限", &[FirstAt(STATUS, "## 次のステップ"), Found(REMINDERS), Total(2)]),
    Expectation::all("電話は職員の時間を取り、葉書は遅い", &[FirstAt(NOTICES, "## 背景"), Total(1)]),
    Expectation::all("放射冷却とは", &[First(TERMS), Total(1)]),
    Expectation::inside("図書館", "tasks", "貸出", &[First(LENDING), NotFound(PLAN)]),
    Expectation::folder("sessions", "分館", &[First(BRANCH), Found(MAY), NotFound(STATUS)]),
    Expectation::project("tenki", "地図", &[Top3("tenki/plans/decision-地図.md"), Top3(RADAR), NotFound(CATALOGUE)]),
    Expectation::all("背比べ", &[FirstAt(HISTORY, "## 創立"), Total(1)]),
];

const SIGNS: &[Expectation] = &[
    Expectation::all("駅", &[First(BRANCH), Found(HISTORY), Total(2)]),
    Expectation::all("鍵", &[Top3(MAY), Top3(MARCH), Total(2)]),
    Expectation::all("霜", &[Top3("tenki/status.md"), Top3(FROST), Found(MARCH)]),
    Expectation::all("人々", &[First(MAY), Total(1)]),
    Expectation::all("時々", &[First(IDEAS), Total(1)]),
    Expectation::all("第3章", &[FirstAt(TERMS, "## 第3章"), Total(1)]),
    Expectation::all("第３章", &[FirstAt(TERMS, "## 第3章"), Total(1)]),
    Expectation::all("バーコード", &[First(LENDING), Found(DEVICES), Total(2)]),
    Expectation::all("ﾊﾞｰｺｰﾄﾞ", &[First(LENDING), Found(DEVICES), Total(2)]),
    Expectation::all("ヨミトリ", &[First(DEVICES), Total(1)]),
    Expectation::all("エラー", &[Top3(ERRORS), Found(DEVICES)]),
    // Marks make another sign of it.
    Expectation::all("バス", &[FirstAt(CHILDREN, "## 乗り物"), Total(1)]),
    Expectation::all("ハス", &[FirstAt(CHILDREN, "## 植物"), Total(1)]),
    Expectation::all("かき", &[First(MARCH), NotFound(VILLAGE), Total(1)]),
    Expectation::all("がき", &[First(VILLAGE), NotFound(MARCH), Total(1)]),
    Expectation::all("か\u{3099}き", &[First(VILLAGE), NotFound(MARCH), Total(1)]),
    Expectation::all("サーバ", &[First(RADAR), Found(SOUNDS), Total(2)]),
    Expectation::all("サーバー", &[First(RADAR), NotFound(SOUNDS), Total(1)]),
    Expectation::all("ＡＰＩ", &[First(MARCH), Total(1)]),
    Expectation::all("APIの鍵", &[First(MARCH), Total(1)]),
    Expectation::all("E_LOAN_42", &[First(ERRORS), Total(1)]),
    Expectation::all("E_LOAN_42が出たら", &[First(ERRORS), Total(1)]),
];

const SEVERAL: &[Expectation] = &[
    Expectation::all("延滞 督促", &[First(REMINDERS), NotFound("図書館/reports/利用統計.md")]),
    Expectation::all("延滞　督促", &[First(REMINDERS), NotFound("図書館/reports/利用統計.md")]),
    Expectation::all("延滞", &[First(REMINDERS), Found("図書館/reports/利用統計.md")]),
    Expectation::all("予約 -座席", &[FirstAt(STATUS, "## 現状"), Found(IDEAS), NotFound(SEATS)]),
    Expectation::all("予約*", &[Found(STATUS), Found(SEATS), Found(IDEAS)]),
    Expectation::all("駅 OR 鍵", &[Found(BRANCH), Found(MAY), Found(MARCH), Total(4)]),
    Expectation::all("\"毎朝七時\"", &[First(STATUS), Found(NOTICES), Total(2)]),
    Expectation::all("「夜の頁」", &[First(IDEAS), Total(1)]),
    Expectation::all("督促 ペンギン", &[First(REMINDERS)]),
];

#[test]
fn words_are_found_inside_long_runs() {
    check(RUNS);
}

const SENTENCES: &[Expectation] = &[
    Expectation::all("延滞した本の督促は何回までですか", &[First(REMINDERS)]),
    Expectation::all("雨雲の画像は何分ごとに取りますか", &[First("tenki/tasks/002-雨雲レーダー.md")]),
    Expectation::all("E_LOAN_42が出たときはどうしますか", &[First(ERRORS)]),
    Expectation::all("\"延滞した本の督促は何回までですか\"", &[Total(0)]),
];

#[test]
fn sentences_without_blanks_fall_into_pieces() {
    check(SENTENCES);
}

#[test]
fn signs_widths_and_marks() {
    check(SIGNS);
}

#[test]
fn several_words_and_operators() {
    check(SEVERAL);
}
