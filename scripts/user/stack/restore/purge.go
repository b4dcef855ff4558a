package restore

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/url"
)

// Purge deletes every version of every object of a bucket, and then the bucket.
func (a *Account) Purge(ctx context.Context, bucket string) error {
	r := &Restore{Deployment: Deployment{Bucket: bucket}, Account: a}
	for {
		text, err := a.s3.send(ctx, "GET", "/"+bucket, url.Values{"versions": {""}, "encoding-type": {"url"}}, nil)
		if err != nil {
			return err
		}
		var page versions
		if err := xml.Unmarshal(text, &page); err != nil {
			return fmt.Errorf("versions of bucket %s: %w", bucket, err)
		}
		all := append(page.Version, page.DeleteMarker...)
		if len(all) == 0 {
			break
		}
		if err := r.remove(ctx, all); err != nil {
			return err
		}
	}
	_, err := a.s3.send(ctx, "DELETE", "/"+bucket, nil, nil)
	return err
}
