// Package modeltest is the contract of package model as tests: an adapter of a
// provider is right when it passes [Provider.Run].
//
// The suite knows an adapter only through model.Model, and the provider only through
// transcripts: what a server of it answers, one for each stream of the suite, which the
// adapter's tests keep in a folder and serve over HTTP. Package
// adapters/models/internal/wire/wiretest does that for the adapters of this module. serve
// stands for it:
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
//	call_without_arguments       get_time
//	reasoning                    Let me think. With the provider's signature; then get_weather of Oslo
//	usage                        Hi. Of 100 tokens, 40 from the cache and 10 into it, 20 said, 5 of them reasoning
//	huge_delta                   900,000 times x, in one delta
//	rate_limited                 a refusal that asks for 7 seconds
//	rate_limited_without_a_time  a refusal that asks for no pause
//	quota                        a refusal that waiting does not cure
//	overloaded, server_error, unauthorized, not_found, overflow, invalid
//	error_in_stream              Hel, then an error of an overloaded or broken server
//	cut, no_terminal_event       Hel, and the connection or the stream ends
//	cut_arguments                get_weather with {"city":"Os, at the limit of tokens
//	slow_headers, slow_first_byte  nothing comes
//	idle                         Hel, then nothing comes
//	too_huge_delta, malformed, not_a_stream
//
// and one for each of Provider.Stops. A transcript says the same in each provider's words, so that one literal turn is
// expected of all of them. With slow_headers a server takes the request and sends nothing,
// headers neither. What a provider has no word for stands in
// Provider.Exceptions with the reason.
package modeltest
