//! The head of the pages about the verifier: channels, disagreements and the queue.

use crate::page::Menu;

/// A tab of the verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Channels,
    Disagreements,
    Queue,
}

/// A link to a tab.
pub(crate) struct TabLink {
    pub(crate) name: &'static str,
    pub(crate) address: String,
    /// The key after `g` that opens the tab.
    pub(crate) key: &'static str,
    pub(crate) current: bool,
}

/// The head of a page.
pub(crate) struct Head {
    pub(crate) tabs: Vec<TabLink>,
}

impl Head {
    /// The head of a page of a tab. Links keep the run that the page is about.
    pub(crate) fn new(menu: &Menu, current: Tab) -> Self {
        let tabs = [
            (Tab::Channels, "/ui/channels", "Channels", "c"),
            (
                Tab::Disagreements,
                "/ui/disagreements",
                "Disagreements",
                "d",
            ),
            (Tab::Queue, "/ui/queue", "Queue", "q"),
        ];
        let link = |(tab, address, name, key)| TabLink {
            name,
            address: menu.focus().link(address),
            key,
            current: tab == current,
        };
        Self {
            tabs: tabs.map(link).into(),
        }
    }
}
