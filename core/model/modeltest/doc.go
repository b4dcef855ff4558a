// Package modeltest is the contract of package model as tests: an adapter of a
// provider is right when it passes [Run].
//
// The suite knows an adapter only through model.Model, and the provider only through
// transcripts: what a server of it answers, one for each of [Cases], which the
// adapter's tests keep in a folder and serve over HTTP. Package
// adapters/models/internal/wire/wiretest does that for the adapters of this module. serve
// stands for it:
//
//	func TestContract(t *testing.T) {
//		modeltest.Run(t, modeltest.Provider{
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
//		})
//	}
//
// A transcript says the same in each provider's words, so that one literal turn is
// expected of all of them. With slow_headers a server takes the request and sends nothing,
// headers neither. What a provider has no word for stands in
// Provider.Exceptions with the reason.
package modeltest
