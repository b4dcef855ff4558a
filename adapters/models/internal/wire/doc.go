// Package wire is the shared code of the model adapters over HTTP: everything that is the
// same for all providers that stream server-sent events. An adapter encodes its
// provider's request, reads the events of its stream and classifies its failures; this
// package does the rest.
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
// [Client.Stream] makes the one attempt of an inference. It gets the key (a second time
// after a 401), posts, refuses a response that is not a stream, reads events within the
// idle timeout and passes them to the adapter's [Turn], which makes deltas of them. A
// stream that ends before the Turn is finished is an error of kind model.KindInterrupted.
// Every failure is a *model.Error whose text begins with the client's name and never
// contains the key. When the caller's context ends, the error wraps its cause.
//
// A server may cut a text within a character: the halves, \ud83d and \ude00, come in two
// events. They are joined here: an adapter sees marks in their places and passes them on in
// its deltas. Only where it compares or measures texts it needs [JoinHalves] and [HasHalf].
//
// A failure that a provider reports is a [Failure]. Its Kind comes from the provider's
// own code if that is more precise than the status, otherwise from [KindOf] the status
// and the message. Parse makes a Failure of the body of a refusal; Turn.Add returns one
// for an error in a stream.
//
// For requests: [BaseURL], [Source] and [CheckHeader] check options, [CallIDs] gives tool
// calls their ids in a request, [ArgumentObject] their arguments, [AddOptions] adds the
// caller's own members, [Members] and [Object] split and join schemas in their order,
// [Invalid] is the error for a request that the protocol cannot express. Adapters without
// HTTP use them, too.
package wire
