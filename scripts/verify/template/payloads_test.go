package template

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type payloads struct {
	PublicAccessBlockConfiguration map[string]bool
	BucketEncryption               struct{ ServerSideEncryptionConfiguration []string }
	OwnershipControls              any
	VersioningConfiguration        map[string]any
	LifecycleConfiguration         map[string]any
}

// TestPayloadsAreNobodyElses: the bucket is closed, encrypted, asks for TLS. It keeps each
// object until its thread is erased, and then a version of it as long as the tables can be restored.
func TestPayloadsAreNobodyElses(t *testing.T) {
	of := read(t)
	b := resources[payloads](t, of, "AWS::S3::Bucket")["Payloads"]
	closed := map[string]bool{"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true}
	if diff := cmp.Diff(closed, b.PublicAccessBlockConfiguration); diff != "" {
		t.Error(diff)
	}
	encryption := []string{`!If ["HasKey",{"BucketKeyEnabled":true,"ServerSideEncryptionByDefault":{"KMSMasterKeyID":"!Ref KeyArn","SSEAlgorithm":"aws:kms"}},{"ServerSideEncryptionByDefault":{"SSEAlgorithm":"AES256"}}]`}
	if diff := cmp.Diff(encryption, b.BucketEncryption.ServerSideEncryptionConfiguration); diff != "" {
		t.Error(diff)
	}
	if b.OwnershipControls == nil {
		t.Error("who owns objects is not said")
	}
	if diff := cmp.Diff(map[string]any{"Status": "Enabled"}, b.VersioningConfiguration); diff != "" {
		t.Error(diff)
	}
	rules := map[string]any{"Rules": []any{map[string]any{
		"Id": "deleted-objects", "Status": "Enabled", "NoncurrentVersionExpiration": map[string]any{"NoncurrentDays": 35.0}, "ExpiredObjectDeleteMarker": true,
	}}}
	if diff := cmp.Diff(rules, b.LifecycleConfiguration); diff != "" {
		t.Error(diff)
	}
	type policy struct {
		Bucket         string
		PolicyDocument struct {
			Statement []struct {
				Effect, Principal string
				Action, Resource  texts
				Condition         map[string]map[string]string
			}
		}
	}
	p := resources[policy](t, of, "AWS::S3::BucketPolicy")["PayloadsInTheClear"]
	if len(p.PolicyDocument.Statement) != 1 || p.Bucket != either["!Ref Payloads"] {
		t.Fatalf("policy %+v", p)
	}
	s := p.PolicyDocument.Statement[0]
	if s.Effect != "Deny" || s.Principal != "*" || s.Condition["Bool"]["aws:SecureTransport"] != "false" {
		t.Errorf("statement %+v", s)
	}
	if diff := cmp.Diff(texts{either["!GetAtt Payloads.Arn"], either["!Sub ${Payloads.Arn}/*"]}, s.Resource); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(texts{"s3:*"}, s.Action); diff != "" {
		t.Error(diff)
	}
}
