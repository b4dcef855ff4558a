// Package wiretest plays model providers over HTTP for the tests of their adapters:
// transcripts, sent byte by byte, with the failures that only a wire has.
//
// A transcript is a text file NAME.txt:
//
//	# Where it comes from.
//	200
//	Content-Type: text/event-stream
//
//	data: {"text":"Hel"}
//	@hang
//
// Lines of # come first; the first of them names the source. Then come the status,
// headers, an empty line and the body as it is, but for these lines, which are not sent.
// With the status 0 no headers come before the body.
//
//	@cut   the connection breaks off here
//	@hang  nothing more comes until the client leaves
//
// and these words within it:
//
//	{{key}}       modeltest.Key, which servers like to quote
//	{{x*900000}}  so many x
package wiretest
