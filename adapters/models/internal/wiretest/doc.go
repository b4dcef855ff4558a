// Package wiretest simulates model providers over HTTP for the tests of their adapters.
// It sends transcripts byte by byte, with the failures of a real connection.
//
// A transcript is a text file NAME.txt:
//
//	# The source of the transcript.
//	200
//	Content-Type: text/event-stream
//
//	data: {"text":"Hel"}
//	@hang
//
// Lines of # come first; the first of them names the source. Then follow the status,
// headers, an empty line and the body. The status 0 sends no headers before the body.
// These lines in the body are not sent:
//
//	@cut    the connection breaks here
//	@hang   the server sends nothing more until the client disconnects
//
// These words in it are replaced:
//
//	{{key}}         modeltest.Key, which servers like to quote
//	{{x*900000}}    so many x
package wiretest
