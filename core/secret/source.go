package secret

import "context"

// Source returns the current value of a secret, for code that keeps using one that may be
// replaced. It is cheap: call it for every use. refused is the value that a server has just
// refused; Source then reads the secret again. The zero value: none was refused. The
// returned value may be the refused one again, when there is no other.
type Source func(ctx context.Context, refused String) (String, error)
