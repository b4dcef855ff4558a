// Package page is the page that the host shows at /: a chat with every agent, the calls
// that wait for a person, what a run did, its state and its events. It asks nothing of
// the host but the public routes that every client has, so that whatever it shows can be
// had with curl too; a route that a host does not offer is a pane that it does not show.
//
// [Before] serves its files: one document, one script, one style sheet.
// They say nothing of a deployment and are anybody's to read. What the page then asks
// for is authenticated like any other request: where a host wants a token, the page asks
// the person for it.
//
// The files in dist are bundled from src with the packages in packages, which are copies
// of what their authors publish: Preact, its signals, and the lexer of marked. `make
// page` writes them, `make check` compares them. No text is ever parsed as HTML.
//
// # Where to look
//
//   - The shell, and which pane is where: src/main.tsx. Which address shows what:
//     src/route.ts.
//   - What a run's events come to, from which the chat and all panes are drawn:
//     src/record.ts. How its stream is read, lost and found again: src/follow.ts.
//   - Colours, sizes and distances: the first lines of src/style.css.
package page
