package restore

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/url"
	"sync"
	"time"
)

// versioned reports whether the bucket keeps versions. It is false without a bucket.
func (r *Restore) versioned(ctx context.Context) (bool, error) {
	if r.Bucket == "" {
		return false, nil
	}
	text, err := r.Account.s3.send(ctx, "GET", "/"+r.Bucket, url.Values{"versioning": {""}}, nil)
	if err != nil {
		return false, err
	}
	var answer struct{ Status string }
	if err := xml.Unmarshal(text, &answer); err != nil {
		return false, fmt.Errorf("versions of bucket %s: %w", r.Bucket, err)
	}
	return answer.Status == "Enabled", nil
}

// version is a version of an object, or a delete marker.
type version struct {
	Key, VersionId string
	IsLatest       bool
	LastModified   time.Time
}

// versions is a page of a list. XML has the two kinds apart, each sorted by key, the newest
// first.
type versions struct {
	Version, DeleteMarker              []version
	IsTruncated                        bool
	NextKeyMarker, NextVersionIdMarker string
}

// skew is by how much the clocks of S3 and DynamoDB may differ. Times of S3 also have no
// fraction of a second. Where it is not known which came first, an object exists again: one
// too many costs storage, a missing one damages its thread.
const skew = time.Minute

// objects removes the delete markers that may have been set after the moment, of objects that
// may have existed at it. An object's name has the digest of its content, so an older version
// is never another content.
func (r *Restore) objects(ctx context.Context) error {
	if ok, err := r.versioned(ctx); !ok {
		return err
	}
	markers, objects, err := r.deleted(ctx)
	if err != nil {
		return err
	}
	if err := r.remove(ctx, markers); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "  %d objects\n", objects)
	return nil
}

// deleted lists the delete markers to remove, and how many objects they hide.
func (r *Restore) deleted(ctx context.Context) (markers []version, objects int, err error) {
	existed, later := map[string]bool{}, map[string][]version{}
	query := url.Values{"versions": {""}, "encoding-type": {"url"}}
	for {
		text, err := r.Account.s3.send(ctx, "GET", "/"+r.Bucket, query, nil)
		if err != nil {
			return nil, 0, err
		}
		var page versions
		if err := xml.Unmarshal(text, &page); err != nil {
			return nil, 0, fmt.Errorf("versions of bucket %s: %w", r.Bucket, err)
		}
		for _, v := range page.Version {
			if !v.IsLatest && !v.LastModified.After(r.To.Add(skew)) {
				existed[v.Key] = true
			}
		}
		for _, m := range page.DeleteMarker {
			if !m.LastModified.Before(r.To.Add(-skew)) {
				later[m.Key] = append(later[m.Key], m)
			}
		}
		if !page.IsTruncated {
			break
		}
		query.Set("key-marker", unescape(page.NextKeyMarker))
		query.Set("version-id-marker", page.NextVersionIdMarker)
	}
	for key, all := range later {
		if existed[key] {
			markers, objects = append(markers, all...), objects+1
		}
	}
	return markers, objects, nil
}

// atOnce is how many delete markers are removed at the same time.
const atOnce = 16

// remove deletes versions for good. Without its newest delete marker, an object exists again.
func (r *Restore) remove(ctx context.Context, all []version) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for _, m := range all {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			if _, err := r.Account.s3.send(ctx, "DELETE", "/"+r.Bucket+"/"+unescape(m.Key), url.Values{"versionId": {m.VersionId}}, nil); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// unescape is a key of a list with encoding-type url.
func unescape(key string) string {
	if plain, err := url.QueryUnescape(key); err == nil {
		return plain
	}
	return key
}
