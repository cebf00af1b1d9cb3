//! The pages of the verifier and the search for texts, with the keyboard only.

use crate::browser::chromium::Browser;
use crate::browser::looks::conversation;
use crate::browser::service::Service;

/// The key that moves the focus to the next control.
const TAB: &str = "\u{e004}";

/// Moves the focus with the tabulator key until it is on an element that matches.
async fn tab_to(browser: &Browser, css: &str) {
    let is_there = format!("return document.activeElement.matches({css:?})");
    for _ in 0..200 {
        if browser.script(&is_there).await == true {
            return;
        }
        browser.press(TAB).await;
    }
    panic!("the focus does not reach `{css}`");
}

#[tokio::test]
async fn from_a_channel_to_an_adjudication_by_keyboard() {
    let service = Service::with_run(3).await;
    service.grade(&conversation()).await;
    let browser = Browser::start(&service.address).await;
    for (width, colours) in [(1_280, "light"), (390, "dark")] {
        browser.widen(width).await;
        browser.prefer(colours).await;
        browser.open("/ui").await;
        browser.go("gv").await;
        assert_eq!(browser.address().await, "/ui/channels");
        let rows = browser.text("table.list").await;
        assert!(rows.contains("Next: "), "{rows}");
        browser.picture(&format!("verifier-channels-{width}")).await;
        tab_to(&browser, "tr[data-channel^='math/pizza'] a.open").await;
        browser.go("\n").await;
        assert_eq!(browser.count("svg.chart").await, 5);
        browser.picture(&format!("verifier-judged-{width}")).await;
        browser.go("gc").await;
        tab_to(&browser, "tr[data-channel^='math/default'] a.open").await;
        browser.go("\n").await;
        let address = browser.address().await;
        assert!(
            address.starts_with("/ui/channel?name=math%2Fdefault"),
            "{address}"
        );
        assert!(browser.count("svg.chart").await >= 2);
        browser.picture(&format!("verifier-channel-{width}")).await;
        tab_to(&browser, "#next-steps a[href^='/ui/queue']").await;
        browser.go("\n").await;
        assert!(
            browser.address().await.contains("channel=math%2Fdefault"),
            "the queue has the channel of the advice"
        );
        // Draws a grade, and gives it to any operator.
        tab_to(&browser, "#draw").await;
        browser.go("\n").await;
        assert!(browser.address().await.starts_with("/ui/queue/0"));
        tab_to(&browser, "select[name=operator]").await;
        browser.press("any").await;
        tab_to(&browser, "#assign").await;
        browser.go("\n").await;
        let assigned = browser.text("#assigned").await;
        assert!(assigned.contains("None."), "{assigned}");
        tab_to(&browser, "#assigned a").await;
        browser.go("\n").await;
        assert!(browser.address().await.contains("assigned=all"));
        let open = browser.count("#assigned .row").await;
        assert!(open > 0);
        browser.picture(&format!("verifier-queue-{width}")).await;
        browser.go("j\n").await;
        browser.picture(&format!("verifier-drawn-{width}")).await;
        browser.go("w").await;
        // The next grade is drawn, and assigned to who adjudicated.
        let operator = "return document.querySelector('select[name=operator]').value";
        assert_eq!(browser.script(operator).await, "local");
        browser.go("gd").await;
        assert_eq!(browser.address().await, "/ui/disagreements");
        browser
            .picture(&format!("verifier-disagreements-{width}"))
            .await;
        browser.go("gq").await;
        assert_eq!(browser.count("#assigned .row").await, 1);
        // So that the second round starts without a grade of this operator.
        browser.go("j\n").await;
        browser.go("r").await;
        tab_to(&browser, "select[name=operator]").await;
        browser.press("any").await;
        tab_to(&browser, "#assign").await;
        browser.go("\n").await;
    }
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn searches_words_and_regular_expressions_by_keyboard() {
    let service = Service::searching().await;
    for step in 0..3 {
        service.grade(&crate::browser::service::of_step(step)).await;
    }
    let browser = Browser::start(&service.address).await;
    for (width, colours) in [(1_280, "light"), (390, "dark")] {
        browser.widen(width).await;
        browser.prefer(colours).await;
        for (search, got) in [("slices", None), (r"slices /\{8\}\}\.$/", Some("5/8"))] {
            browser.open("/ui/grades").await;
            tab_to(&browser, "input[name=text]").await;
            browser.go(&format!("{search}\n")).await;
            let shown = "return document.querySelector('input[name=text]').value";
            assert_eq!(browser.script(shown).await, search);
            assert!(browser.count(".list .row").await > 5, "{search}");
            if got.is_some() {
                let list = browser.text(".list tbody").await;
                assert!(
                    list.contains("wrong_answer") && !list.contains("correct"),
                    "{list}"
                );
            }
            browser
                .picture(&format!("search-{width}-{}", got.is_some()))
                .await;
        }
        // An invalid search is explained beside its field.
        browser.open("/ui/grades").await;
        tab_to(&browser, "input[name=text]").await;
        browser.go("/(a/\n").await;
        assert!(
            browser
                .text("[role=alert]")
                .await
                .contains("unclosed group")
        );
        assert_eq!(browser.count("input[name=text][aria-invalid]").await, 1);
        browser.picture(&format!("search-invalid-{width}")).await;
    }
    browser.close_after(&[400]).await;
    service.stop().await;
}
