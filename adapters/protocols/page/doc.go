// Package page is the page that the host shows at /: a chat with every agent, the calls
// that wait for a decision, and the steps, state and events of each run. It uses only the
// public routes of the host, so that a client with curl can do the same; if a host does
// not offer a route, the page omits its pane.
//
// [Before] serves its files: one document, one script, one style sheet. They contain
// nothing about the deployment and are public. The requests of the page are authenticated
// like any others: if a host requires a token, the page asks the person for it.
//
// The files in dist are bundled from src with the packages in packages, which are copies
// of what their authors publish: Preact, its signals, and the lexer of marked. `make
// page` writes them, `make check` compares them. No text is ever parsed as HTML.
//
// # Where to look
//
//   - The shell, and the place of each pane: src/main.tsx. The panes that are drawers at a width:
//     src/layout.ts, src/style/narrow.css. The address of each view: src/route.ts.
//   - Changes by other tabs of this browser: src/tabs.ts. Lists, and how they are
//     read again: src/lists.ts.
//   - The record that is made of a run's events, from which the chat and all panes are
//     drawn: src/record.ts. How its stream is read, lost and found again: src/follow.ts.
//   - Colours, sizes and distances: src/style/base.css.
package page
