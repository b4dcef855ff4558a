// Package modeltest contains the contract of package model as tests. The adapter of a
// provider is correct if it passes [Provider.Run].
//
// The suite uses an adapter only through model.Model, and the provider only through
// transcripts: responses of its server, one for each stream of the suite. The adapter's
// tests keep them in a folder and serve them over HTTP. For the adapters of this module
// the package adapters/models/internal/wiretest does that. In this example, serve does:
//
//	func TestContract(t *testing.T) {
//		modeltest.Provider{
//			Name: "vendor", Model: "vendor-1", Echo: "signature-1", Own: "messages",
//			Open: func(t *testing.T, play string) modeltest.Opened {
//				s := serve(t, "testdata/transcripts", play)
//				m, err := openai.New(openai.Options{APIKey: modeltest.Key, BaseURL: s.URL})
//				if err != nil {
//					t.Fatal(err)
//				}
//				return modeltest.Opened{Model: m, Requests: s.Requests, Gone: s.Gone}
//			},
//			Stops: map[string]core.StopReason{"stop_end": core.StopEndTurn},
//		}.Run(t)
//	}
//
// # Transcripts
//
//	text                         Hello, wörld 🌍.
//	two_calls                    I look. Then get_weather of Oslo for 2 days, and of Rome
//	split_character              Hi 😀. Then get_weather of 😀, with the two halves of each 😀 in two events
//	call_without_arguments       get_time
//	reasoning                    Let me think. With the provider's signature; then get_weather of Oslo
//	usage                        Hi. 100 input tokens, 40 from the cache and 10 into it; 20 output tokens, 5 for reasoning
//	huge_delta                   900,000 times x, in one delta
//	rate_limited                 a refusal that requests a pause of 7 seconds
//	rate_limited_without_a_time  a refusal that requests no pause
//	quota                        a refusal that a pause does not resolve
//	overloaded, server_error, unauthorized, not_found, overflow, invalid
//	error_in_stream              Hel, then an error of an overloaded or broken server
//	cut, no_terminal_event       Hel, and the connection or the stream ends
//	cut_arguments                get_weather with {"city":"Os, at the token limit
//	slow_headers, slow_first_byte  the server sends nothing
//	idle                         Hel, then nothing
//	too_huge_delta               an event of more than 16 MB, which no other attempt makes shorter
//	malformed, not_a_stream
//
// and one for each of Provider.Stops. A transcript has the same content in each provider's
// format, so that the suite expects one literal turn from all of them. With slow_headers a
// server accepts the request and sends nothing, not even headers. Provider.Exceptions lists
// the cases that a provider's format cannot express, with the reason.
package modeltest
