// Package wire is the shared room of the model adapters over HTTP: what is the
// same for every provider that streams server-sent events. An adapter has its
// provider's request, the events of its stream and its words for failures; the rest
// is here.
//
//	client := wire.Client{Name: "acme", Key: key, Parse: parse}
//
//	func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
//		body, err := encode(r)
//		if err != nil {
//			return wire.Failed(err)
//		}
//		post := wire.Post{URL: m.url, Body: body, Header: m.header, Idle: r.StreamIdleTimeout}
//		return m.client.Stream(ctx, post, func() wire.Turn { return &turn{} })
//	}
//
// [Client.Stream] makes the one attempt of an inference: it asks for the key (once more
// after a 401), posts, refuses what is no stream, reads events within the idle timeout
// and gives them to the adapter's [Turn], which makes deltas of them. A stream that ends
// before the Turn says it may is an error of kind model.KindInterrupted. Every failure is a *model.Error whose text begins with the client's name and
// never holds the key; when the caller's context ends, the error wraps its cause.
//
// What a provider said went wrong is a [Failure]: its Kind where the provider's own code
// says more than the status, else [KindOf] the status and the message. Parse makes one of
// the body of a refusal; Turn.Add returns one for an error in a stream.
//
// For requests: [BaseURL], [Source] and [CheckHeader] check options, [CallIDs] gives tool
// calls their ids on the wire, [ArgumentObject] their arguments,
// [AddOptions] adds the caller's own members, [Members] and [Object] take schemas apart
// and put them together in their order, [Invalid] is the error of what has no form.
// They serve adapters without HTTP as well.
package wire
