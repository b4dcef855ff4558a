package secret

import "context"

// Source returns a secret as it is now, for who keeps using one that may be replaced. It
// is cheap: it is asked for every use. refused is the value that a server has just
// refused, which is then looked for anew; the zero value: none was. The value may be the
// refused one again, when there is no other.
type Source func(ctx context.Context, refused String) (String, error)
